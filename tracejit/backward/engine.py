"""Representations of cotangents in a backward pass: ndarrays, or Tensors where the gradient itself is to be
differentiated or traced."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import GradientError, TraceError
from ..dispatch.dispatch import apply
from ..dispatch.eager_functions import ELEMENTWISE, kernel_on_arrays, when_changed
from ..ir.dtypes import NUMBERS
from ..ir.graph import Value
from ..ir.ops.shape import sum_to
from ..ir.registry import OPS, Attrs, Op, OpNamespace, Strength
from ..ir.transforms.strong_zeros import with_zeros
from ..ir.types import Shape
from ..state import STATE
from ..tape.liveness import is_live
from ..tape.nodes import Node, OpNode, Output
from ..tape.plans import Pull
from ..tape.recording import record
from ..tensors.tensor import Tensor, noted_array, wrap

#: Most elements for which a number is written out as a row: native kernels read no views of one element.
_ROW: Final = 1024
_BROADCAST_VIEW: Final = OPS["broadcast"].eval
_SQRT: Final = OPS["sqrt"]


def _broadcast(x: Any, shape: Shape) -> Any:
    """The op's result: of one number a row in memory of its own, or a view made more quickly than NumPy's.
    Nobody can write it either."""
    if type(x) is not np.ndarray or x.size != 1:
        return _BROADCAST_VIEW(x, shape)
    result: Any
    if len(shape) == 1 and shape[0] <= _ROW:
        result = np.empty(shape, x.dtype)
        result[...] = x
    else:
        result = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
    result.flags.writeable = False
    return result


class _NumpyOps(OpNamespace):
    """Ops on ndarrays: the fast way, where nobody differentiates the gradient."""

    has_graph = False

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        return op.kernel(*operands, **attrs)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = OPS.get(name)
        if op is None:
            raise AttributeError(name)
        kernel = kernel_on_arrays(op)
        if kernel is _BROADCAST_VIEW:
            kernel = _broadcast
        if op.defaults:
            kernel = functools.partial(kernel, **op.defaults)
        setattr(self, name, kernel)  # nothing between a rule and the kernel
        return kernel


def forget_ops() -> None:
    """Look ops and their kernels up again: registrations have changed."""
    vars(NUMPY_OPS).clear()
    vars(TENSOR_OPS).clear()
    vars(_TRACED_OPS).clear()


when_changed(forget_ops)


class TensorOps(OpNamespace):
    """Ops on Tensors: recorded or traced like the user's own."""

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        return apply(op, operands, attrs)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = OPS.get(name)
        function = None if op is None else ELEMENTWISE.get(op)
        if function is None or function.method is None:
            return super().__getattr__(name)
        setattr(self, name, function.method)
        return function.method

    def without_factor(self, product: Any, factor: Any) -> Any:
        if product._requires_grad or factor._requires_grad:
            rest = _other_factors(product._node, factor if factor._node is None else factor._node)
            return None if rest is None else _in_graph_of(_of_type(rest, product), factor)
        if not (isinstance(product._data, Value) and isinstance(factor._data, Value)):
            return None
        rest = STATE.tracer.without_factor(product._data, factor._data)
        return None if rest is None else wrap(rest)


def _of_type(x: Any, like: Any) -> Any:
    """`x` in the dtype and shape of a Tensor, to which an op on both has promoted it."""
    if x.dtype is not like.dtype:
        x = TENSOR_OPS.cast(x, dtype=like.dtype)
    return x if x.shape == like.shape else TENSOR_OPS.broadcast(x, shape=like.shape)


def _in_graph_of(rest: Any, factor: Any) -> Any:
    """`rest`, other factors of a root, with the slope 0 by what that is the root of: they need not depend on
    it, as the quotient does, which may be differentiated again."""
    node = factor._node
    if not STATE.recording or not isinstance(node, OpNode) or node.op is not _SQRT:
        return rest
    return TENSOR_OPS.add(rest, TENSOR_OPS.strong_mul(_tensor_at(node.parents[0], factor._data), 0.0))


def _other_factors(node: Any, factor: Any) -> Any:
    """The product at `node` without the factor that stands at another place of the graph; None where that is
    not one of its factors, or of those of each term."""
    if not isinstance(node, OpNode) or node.op.name not in ("add", "mul", "pow") or node.saved is None:
        return None
    saved, parents = node.values()[0], node.parents
    if node.op.name == "pow":
        x, power = saved
        if not _are_same(parents[0], factor) or type(power) not in NUMBERS or power < 2:
            return None
        return TENSOR_OPS.pow(_tensor_at(parents[0], x), power - 1)
    if node.op.name == "add":
        rests = [_other_factors(parent, factor) for parent in parents]
        return None if any(rest is None for rest in rests) else TENSOR_OPS.add(*rests)
    for position, other in ((0, 1), (1, 0)):
        if saved[other] is None:
            continue
        operand = parents[position]
        rest = 1.0 if _are_same(operand, factor) else _other_factors(operand, factor)
        if rest is not None:
            return TENSOR_OPS.mul(_tensor_at(parents[other], saved[other]), rest)
    return None


def _are_same(place: Any, other: Any) -> bool:
    """Whether two places of the graph are one, or of the same op of the same place."""
    if place is other:
        return True
    return (
        isinstance(place, OpNode)
        and isinstance(other, OpNode)
        and place.op is other.op
        and len(place.parents) == 1
        and place.parents[0] is other.parents[0] is not None
        and place.attrs == other.attrs
    )


def _tensor_at(parent: Any, saved: Any) -> Any:
    """A saved operand as a Tensor in its place in the graph; a number as it is."""
    if not isinstance(saved, (np.ndarray, Value)):
        return saved
    return (
        wrap(saved) if parent is None else parent if isinstance(parent, Tensor) else connected(saved, parent)
    )


class _TracedOps(OpNamespace):
    """Ops on the Values of the running trace, in which they are recorded as on the Tensors around them."""

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        return STATE.tracer.run_lifted(op, operands, attrs)

    def without_factor(self, product: Any, factor: Any) -> Any:
        return STATE.tracer.without_factor(product, factor)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = OPS.get(name)
        if op is None or op.defaults:
            return super().__getattr__(name)

        def method(*operands: Any, **attrs: Any) -> Any:
            return STATE.tracer.run_lifted(op, operands, attrs)

        setattr(self, name, method)  # nothing between a rule and the trace
        return method


_TRACED_OPS: Final = _TracedOps()
NUMPY_OPS = _NumpyOps()
TENSOR_OPS = TensorOps()


class Engine:
    """The representation of cotangents in one backward pass: ndarrays, or Tensors."""

    __slots__ = ("by_strength", "connects", "namespace", "strength", "tensors", "traced")

    def __init__(self, *, tensors: bool, connects: bool = True, strength: Strength = Strength.NONE) -> None:
        self.tensors = tensors
        #: Whether the gradient is recorded, so that saved values must be in their place in the graph.
        self.connects = connects
        self.namespace: Any = TENSOR_OPS if tensors else NUMPY_OPS
        #: The ops on Values of a running trace.
        self.traced: Any = _TRACED_OPS
        #: The strength of zeros in the cotangents.
        self.strength = strength
        #: The engines for nodes behind a choice, by `Strength`: the same, with strong zeros.
        self.by_strength: tuple[Engine, ...] = ()
        if strength:
            self.namespace = with_zeros(self.namespace, strength)
            self.traced = with_zeros(self.traced, strength)
        else:
            others = list(Strength)[1:]
            self.by_strength = (
                self,
                *[Engine(tensors=tensors, connects=connects, strength=each) for each in others],
            )

    # -- saved values, where cotangents are Tensors -----------------------------------------------

    def operand(self, node: Node, position: int, saved: Any) -> Any:
        """The saved operand at `position` as a Tensor in its place in the graph; numbers as they are."""
        if not isinstance(saved, (np.ndarray, Value)):
            return saved
        if not self.connects:
            return wrap(saved)
        parent = node.parents[position]
        if parent is None or not is_live(parent):
            return wrap(saved)
        if isinstance(parent, Tensor):
            if parent._data is saved:
                return parent
            if node.packed:
                return standing_for(parent, saved)
            raise GradientError(
                f"a leaf of shape {parent.shape} was given new data after {node.name()} saved its value, so "
                "the gradient cannot be differentiated again with respect to it"
            )
        return connected(saved, parent)

    def pull_values(
        self, pull: Pull, cotangent: Any, inputs: Sequence[Any], out: Any, node: OpNode
    ) -> Sequence[Any] | None:
        """The results of `pull` for the traced `cotangent` and the saved values of `node`. The ops run on the
        traced values without Tensors around them. None where not all of them are `_symbols`."""
        value = cotangent._data
        if not self._symbols(value, out, *inputs):
            return None
        parts = pull(self.traced, value, inputs, out, node.types, node.attrs)
        return [None if part is None else wrap(part) for part in parts]

    def _symbols(self, *values: Any) -> bool:
        """Whether `values` are symbols of this trace, numbers or None, of a gradient that is not recorded."""
        tracer = STATE.tracer
        if self.connects or tracer is None or STATE.blocked:
            return False
        for value in values:
            if type(value) is Value:
                if not tracer.owns(value):
                    return False
            elif value is not None and type(value) not in NUMBERS:
                return False
        return True

    def output(self, node: Node, index: int, data: Any) -> Tensor:
        """A node's saved output, connected to the node again."""
        if not self.connects or not is_live(node):
            return wrap(data)
        return connected(data, Output(node, index) if node.several else node)

    # -- cotangents -------------------------------------------------------------------------------

    def as_tensor(self, cotangent: Any) -> Tensor:
        """A cotangent as hooks and users see it."""
        return cotangent if isinstance(cotangent, Tensor) else wrap(np.asarray(cotangent))

    def from_tensor(self, tensor: Tensor, like: Tensor | None = None) -> Any:
        """The result of a hook or of a user's backward as a cotangent of the dtype of `like`."""
        cotangent = tensor if self.tensors else tensor._data
        if like is not None and tensor.dtype is not like.dtype:
            cotangent = self.namespace.cast(cotangent, dtype=like.dtype)
        return cotangent

    def as_gradient(self, cotangent: Any) -> Tensor:
        """A cotangent as PyTorch's interface has it, where it is the conjugate: see docs/complex.md."""
        return self.as_tensor(self.conjugated(cotangent))

    def from_gradient(self, gradient: Tensor, like: Tensor | None = None) -> Any:
        """`from_tensor` of what `as_gradient` gives."""
        return self.conjugated(self.from_tensor(gradient, like))

    def conjugated(self, cotangent: Any) -> Any:
        """The conjugate of a complex cotangent, other ones as they are."""
        return self.namespace.conj(cotangent) if cotangent.dtype.kind == "c" else cotangent

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """The cotangent of something that nothing depends on."""
        return self.namespace.full(value=0.0, shape=shape, dtype=dtype)

    def fit(self, cotangent: Any, shape: Any, dtype: Any) -> Any:
        """`cotangent` with the shape and dtype of what it belongs to: the transpose of broadcasting."""
        if self.tensors and self._symbols(cotangent._data):
            return wrap(_fitted(_TRACED_OPS, cotangent._data, shape, dtype))
        return _fitted(self.namespace, cotangent, shape, dtype)

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two cotangents."""
        if self.tensors and self._symbols(x._data, y._data):
            return wrap(_TRACED_OPS.add(x._data, y._data))
        return self.namespace.add(x, y)

    def accumulate(self, tensor: Tensor, cotangent: Any) -> None:
        """Add `cotangent`, or its conjugate where it is complex, into ``tensor.grad``."""
        grad = tensor._grad
        cotangent = self.conjugated(cotangent)
        if self.tensors:
            if isinstance(cotangent._data, Value) and not isinstance(tensor._data, Value):
                raise TraceError(
                    f"backward: the grad of a tensor of type {tensor.type} from outside the traced function "
                    "is being written inside it. Return gradients instead, from tj.value_and_grad or "
                    "tj.autograd.grad, or call backward() outside"
                )
            tensor._grad = cotangent if grad is None else self.namespace.add(grad, cotangent)
        elif grad is None:
            # a copy: rules may hand on the array of another gradient, or a view
            tensor._grad = noted_array(wrap(np.array(cotangent)))
        elif isinstance(grad._data, Value) or not grad._data.flags.writeable:
            tensor._grad = TENSOR_OPS.add(grad, self.as_tensor(cotangent))
        else:
            np.add(grad._data, cotangent, out=grad._data)
            if grad._memory is not None:
                grad._memory[0] += 1
                grad._memory[1:] = ["backward"]


def _fitted(b: Any, cotangent: Any, shape: Any, dtype: Any) -> Any:
    if cotangent.shape != shape:
        cotangent = sum_to(b, cotangent, shape)
    if cotangent.dtype != dtype:
        cotangent = b.cast(cotangent, dtype=dtype)
    return cotangent


#: The engines, by whether cotangents are Tensors and whether the gradient is recorded.
ENGINES: Final = {
    (tensors, connects): Engine(tensors=tensors, connects=connects)
    for tensors in (False, True)
    for connects in (False, True)
}


#: The engine whose cotangents are Tensors and whose gradients are recorded.
TENSOR_ENGINE: Final = ENGINES[True, True]


def standing_for(leaf: Tensor, data: Any) -> Tensor:
    """A Tensor of `data`, an unpacked copy of the value of `leaf`, whose gradient is the leaf's."""
    result = wrap(data)
    if leaf._requires_grad and STATE.recording:
        record(OPS["barrier"], (leaf,), {}, result)
    return result


def connected(data: Any, place: Any) -> Tensor:
    """A Tensor of `data` that belongs to `place` of the graph."""
    result = wrap(data)
    result._node = place
    result._requires_grad = True
    return result
