"""Tensor: what users hold. Its value is an ndarray or, while tracing, a Value of the graph.

Operators and NumPy-named methods are bound by ``tracejit.array.methods``; this module has what a tensor
is: its value, its place in the autograd graph, its conversions and its text.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from ..base.errors import DTypeError, GradientError, OneElementError, ShapeError
from ..ir.dtypes import BOOL, FLOAT64, DType, as_dtype, is_differentiable, is_inexact
from ..ir.graph import Value
from ..ir.types import Shape, TensorType
from ..provided import TENSOR_HTML
from ..pytree import KEYS, LEAVES
from ..state import STATE
from . import python_values, texts
from .array_callers import class_for_caller
from .foreign_arrays import is_foreign, read_foreign

if TYPE_CHECKING:
    from .signatures import Signatures
else:
    Signatures = object

Array = np.ndarray[Any, Any]


class Tensor(Signatures):
    """An n-dimensional array that can record how it was computed.

    Make one with ``tj.tensor``, ``tj.asarray`` or a creation function. Arithmetic, methods and dtype
    promotion follow NumPy 2; ``requires_grad``, ``backward``, ``grad``, ``grad_fn`` and ``detach`` follow
    PyTorch. NumPy's functions of a Tensor are this library's: ``np.sin(x)`` is ``tj.sin(x)``.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0, 3.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4., 6.])
    """

    __slots__ = (
        "__weakref__", "_aliases", "_data", "_grad", "_hooks", "_memory", "_node", "_requires_grad",
    )  # fmt: skip

    #: The ndarray, or the Value while tracing.
    _data: Any
    #: The Node, or the output of a Node, that computed it; None for a leaf.
    _node: Any
    _requires_grad: bool
    _grad: Tensor | None
    #: Counts writes to the memory; shared with views; None while nobody has looked.
    _memory: list[Any] | None
    #: The base of a view and the steps to it, or weak references to the views of a base, which one of rank 0
    #: has where it is an array (`noted_array`). See `views`.
    _aliases: Any
    #: The `tape.hooks.Hooks` of a leaf, None while it has none.
    _hooks: Any

    # ndarray operators give way to ours
    __array_priority__ = 1000.0

    # what ``isinstance`` asks where the type itself does not answer
    __class__ = property(class_for_caller)

    __hash__ = python_values.hash_of

    def __init__(self, data: Any = None, *, requires_grad: bool = False) -> None:
        if python_values.is_of_call():  # code that makes another number of the class of one
            raise python_values.runs_as_python("type(x)(...)", python_values.users_frame()[1])
        raise TypeError("use tj.tensor(data) to make a Tensor")

    # -- what it is -------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The sizes of the dimensions."""
        return self._data.shape  # type: ignore[no-any-return]  # a cast is a call

    @property
    def dtype(self) -> DType:
        """The element type, a ``numpy.dtype``."""
        return self._data.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._data.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._data.shape)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.type.nbytes

    @property
    def type(self) -> TensorType:
        """Dtype and shape as the IR writes them."""
        return TensorType(self._data.dtype, self._data.shape)

    @property
    def is_traced(self) -> bool:
        """Whether the value is a symbol of a running trace."""
        return isinstance(self._data, Value)

    # -- its Python value -------------------------------------------------------------------------

    def _concrete(self, asked: str, instead: str, *, decides: bool = False) -> Array:
        """The ndarray, or an error that names the user's line. An integer of Python's, and one element that
        `decides` what Python code does next, are known where a trace runs for a real call."""
        data = self._data
        if isinstance(data, Value):
            tracer = STATE.tracer
            asks = (decides and data.type.size == 1) or python_values.is_integer(data)
            if asks and tracer is not None and tracer.can_decide(data):
                return cast(Array, tracer.decide(data))
            error = python_values.no_value(asked, instead, data, tracing=tracer is not None)
            if tracer is not None and tracer.handled is not None:
                tracer.handled.note_refusal(error)
            raise error
        if STATE.tracer is not None:
            STATE.tracer.note_inspected(self)
        return cast(Array, data)

    def numpy(self) -> Array:
        """The value as an ndarray that shares memory.

        Raises GradientError on a tensor that requires grad, as PyTorch does: use ``detach()`` first.
        """
        data = self._concrete(
            "numpy(), and with it np.array(x) or a[i] = x for a NumPy array a,",
            python_values.INSTEAD_OF_NUMPY,
        )
        if self._requires_grad:
            raise GradientError(
                "numpy() on a tensor that requires grad would lose the graph; use x.detach().numpy(), or in "
                "place of np.array([x, y]) np.stack([x, y]); tj.jit(tj.grad(f)) follows np.array"
            )
        return data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        data = self.numpy()
        if dtype is not None and np.dtype(dtype) != data.dtype:
            if copy is False:
                raise ValueError(f"a copy is needed to convert {data.dtype} to {np.dtype(dtype)}")
            return data.astype(dtype)
        return data.copy() if copy else data

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return self.numpy().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return cast(tuple[int, int], self.numpy().__dlpack_device__())

    def item(self, *index: Any) -> Any:
        """The value of a tensor of one element, or of the element at `index`, as a Python number: while a
        function is traced, one of the trace, through which no gradient flows."""
        if index:
            key = index if len(index) > 1 else index[0]
            return (self if isinstance(key, tuple) else self.reshape(-1))[key].item()
        if self.size != 1:
            raise ShapeError(f"item: expected one element, got shape {self.shape}; use tolist()")
        if python_values.is_followed(self._data):
            return wrap(python_values.number_of(self))
        return self._concrete("item()", "the tensor itself", decides=True).item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers, traced ones as by `item`."""
        if python_values.is_followed(self._data):
            return [row.tolist() for row in self] if self.shape else self.item()
        return self._concrete("tolist()", "the tensor itself").tolist()

    def __bool__(self) -> bool:
        data = self._concrete(
            "bool(x), and with it `if x:` and `while x:`,", "tj.where(...) or tj.cond", decides=True
        )
        if data.size != 1:
            raise ShapeError(
                f"bool: the truth of a tensor of shape {data.shape} is ambiguous; use .any() or .all()"
            )
        return bool(data)

    def __float__(self) -> float:
        return float(self._one("float(x)"))

    def __int__(self) -> int:
        return int(self._one("int(x)"))

    def __complex__(self) -> complex:
        return complex(self._one("complex(x)"))

    def _one(self, asked: str) -> Any:
        python_values.warn_of_lost_gradient(self, asked)
        instead = "the tensor itself, tj.debug.print, or an argument named in static_argnums"
        data = self._concrete(asked, instead, decides=True)
        if data.size != 1:
            raise OneElementError(f"{asked}: expected one element, got shape {data.shape}; reduce it first")
        return data.item()

    def __index__(self) -> int:
        is_bool = self.dtype is BOOL and not python_values.is_of_python(self._data)
        if self.shape != () or is_inexact(self.dtype) or is_bool:
            raise DTypeError(f"only a rank-0 integer tensor can be an index, got {self.type}")
        data = self._concrete(
            "using x as a Python integer",
            "tj operations, or mark the argument static with static_argnums",
            decides=True,
        )
        return int(data)

    def __len__(self) -> int:
        if not self.shape:
            raise DTypeError("len() of a tensor of rank 0")
        return self.shape[0]

    def __contains__(self, item: Any) -> bool:
        equal = self == item
        return bool(equal.any() if isinstance(equal, Tensor) else np.any(equal))

    # -- its place in the graph -------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor. Settable on leaves of floating dtype."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, value: bool = True) -> Tensor:
        """Change ``requires_grad`` in place and return the tensor. Semantics: PyTorch."""
        if self._node is not None:
            if value:
                return self
            raise GradientError("you can only change requires_grad of leaf tensors; use detach() for others")
        if value and not is_differentiable(self.dtype):
            raise DTypeError(
                f"only floating tensors can require gradients, not of dtype {self.dtype}: astype(float)"
            )
        self._requires_grad = bool(value)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether nothing recorded computed it."""
        return self._node is None

    @property
    def grad_fn(self) -> Any:
        """The graph node that computed it, None for a leaf."""
        node = self._node
        return None if node is None else node.node

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward`` accumulated, None before. Settable.

        Of a tensor that is no leaf it is kept only after ``retain_grad()``; without, reading it warns.
        """
        if self._grad is None and self._node is not None and self._requires_grad and not self.retains_grad:
            warnings.warn(
                "the grad of a tensor that is not a leaf is being accessed: backward does not keep it. Call "
                "retain_grad() on it before backward, or look at a leaf",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is self:
            raise GradientError("grad: a tensor cannot be its own gradient")
        if value is not None and (not isinstance(value, Tensor) or value.shape != self.shape):
            shape = value.shape if isinstance(value, Tensor) else type(value).__name__
            raise ShapeError(f"grad: expected None or a tensor of shape {self.shape}, got {shape}")
        if value is not None and value.dtype is not self.dtype:
            raise DTypeError(f"grad: expected dtype {self.dtype.name}, got {value.dtype.name}")
        self._grad = value

    @property
    def retains_grad(self) -> bool:
        """Whether this tensor is no leaf, but keeps its gradient: see ``retain_grad``."""
        place = self._node
        if place is None or place.node.hooks is None:
            return False
        kept = place.node.hooks.retained.get(getattr(place, "index", 0))
        return kept is not None and kept() is self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradient, or with ``set_to_none=False`` make it zeros."""
        gradient = self._grad
        self._grad = None
        if not set_to_none and gradient is not None:
            self._grad = wrap(np.zeros(self.shape, self.dtype))

    @property
    def data(self) -> Tensor:
        """A tensor that shares this memory, outside the graph. Assigning replaces the value, unrecorded."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        array = value._data if isinstance(value, Tensor) else as_array(value)
        if self._requires_grad and not is_differentiable(array.dtype):
            raise DTypeError(f"data: a tensor that requires grad must stay floating, got {array.dtype.name}")
        self._data = array

    def detach(self) -> Tensor:
        """Return a tensor of this value outside the graph, which shares the memory. Semantics: PyTorch."""
        if STATE.tracer is not None:
            return cast(Tensor, STATE.tracer.detach(self))
        result = wrap(self._data)
        if self._memory is None:
            self._memory = [0]
        result._memory = self._memory
        return result if is_eager_scalar(self) else noted_array(result)

    # -- its text ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        data = self._data
        if isinstance(data, Value):
            return texts.represented(self)
        suffix = "requires_grad=True" if self._requires_grad else ""
        if self._node is not None:
            suffix = f"grad_fn=<{self._node.node.name()}>"
        return texts.tensor_text(data, suffix)

    def _repr_html_(self) -> str | None:
        """The HTML for notebooks; None for a traced tensor, of which they show the text."""
        return None if isinstance(self._data, Value) else TENSOR_HTML()(self)

    __str__ = texts.text_of
    __format__ = texts.formatted
    __getattr__ = python_values.attribute_of

    def __reduce__(self) -> Any:
        if self._node is not None:
            raise GradientError("a tensor inside a graph cannot be pickled; use x.detach()")
        array = self._concrete("pickling", "the result outside the function")
        return rebuilt, (array, self._requires_grad, not is_eager_scalar(self))


LEAVES.add(Tensor)
KEYS[Tensor] = python_values.key_value


def rebuilt(array: Array, requires_grad: bool, is_array: bool = False) -> Tensor:
    """A leaf of what pickles and copies hold of another."""
    result = wrap(as_array(array))
    result._requires_grad = requires_grad
    return noted_array(result) if is_array else result


def is_eager_scalar(tensor: Tensor) -> bool:
    """Whether an eager `tensor` is one of rank 0 for what NumPy has an immutable scalar: an element of an
    array, or what is computed.

    New arrays (``tensor(1.0)``, ``zeros(())``), their copies, views and leaves that require grad are arrays.
    """
    return not (
        tensor._data.shape or tensor._aliases is not None or (tensor._requires_grad and tensor._node is None)
    )


def noted_array(tensor: Tensor) -> Tensor:
    """The eager `tensor`, noted as an array where it has rank 0."""
    if not tensor._data.shape and tensor._aliases is None:
        tensor._aliases = [SHORTEST]
    return tensor


#: A list of views is not made shorter before it is as long: see `tape.views`.
SHORTEST: Final = 64

_new = object.__new__


def wrap(data: Any) -> Tensor:
    """A leaf Tensor around an ndarray or Value, sharing it."""
    result = _new(Tensor)
    result._data = data
    result._node = None
    result._requires_grad = False
    result._grad = None
    result._memory = None
    result._aliases = None
    result._hooks = None
    return result


def as_array(value: Any) -> Array:
    """`value`, of Python or of any array library, as an ndarray of a supported dtype in native byte order,
    without copying where it can.

    Python floats take the default dtype. Raises DTypeError for objects and strings, and
    ShapeError for ragged nesting.
    """
    if isinstance(value, np.ndarray):
        array = value if type(value) is np.ndarray else np.asarray(value)
    elif isinstance(value, Tensor):
        return value._concrete("converting to an array", "the tensor itself")
    else:
        array = read_foreign(value) if is_foreign(value) else python_values.from_python(value)
    dtype = array.dtype
    if dtype is FLOAT64:
        return array
    dtype = as_dtype(dtype)
    if dtype is not array.dtype:  # another type, or the same as an object of its own (after unpickling)
        array = array.view(dtype) if array.dtype == dtype else array.astype(dtype)
    return array
