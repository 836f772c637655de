"""Signatures of calls: structure and types of the arguments, for which a jitted function is compiled."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..base.errors import DTypeError, TraceError, UncompilableError
from ..base.loading import LazyModule
from ..ir.dtypes import BY_NAME, SHORT_NAME, as_dtype, default_dtype
from ..ir.graph import Value
from ..ir.types import TensorType, tensor_type
from ..pytree import TreeDef, count_leaves, flatten
from ..state import STATE
from ..tensors.foreign_arrays import check_class, is_foreign
from ..tensors.generator_states import LAYOUTS, GeneratorState, kind_of
from ..tensors.tensor import Tensor, as_array, is_eager_scalar, noted_array, wrap
from ..tensors.texts import shows_traced
from ..tracing.tracer import scalar_type

if TYPE_CHECKING:
    from ..array.selection import results as selection_results
else:
    selection_results = LazyModule("..array.selection.results", __package__)

#: The result of an entry whose signature does not fit the call.
MISS: Final = object()
SCALARS: Final[dict[type, str]] = {
    float: "float",
    int: "int",
    bool: "bool",
    complex: "complex",
}
_PLAIN: Final = frozenset({Tensor, np.ndarray, *SCALARS})

#: The mark of a NumPy scalar's leaf type, behind its dtype and shape. Unlike arrays of rank 0, scalars select
#: views where they index, and an augmented assignment gives their name a new value.
NUMPY_SCALAR: Final = "NumPy scalar"
_GENERATOR: Final = "generator"

#: The mark of the leaf type of an array of rank 0, of functions that write such arguments: native entries do
#: not know it from an eager Tensor that is a scalar.
RANK_0_ARRAY: Final = "rank-0 array"

#: The type of one leaf: (dtype, shape); these and `NUMPY_SCALAR` or `RANK_0_ARRAY`; (dtype, shape,
#: (`_GENERATOR`, kind)) of the words of a generator of NumPy's; or the name of a Python scalar type.
LeafType = Any


def settings() -> tuple[Any, str]:
    """Settings that traces depend on beside arguments and what they read: the default dtype, and how linear
    algebra fails."""
    return default_dtype(), STATE.linalg


class JittedCall:
    """A call on its way down the guard tree.

    Attributes:
        args: the positional arguments as they came, and `kwargs` the others.
        dynamic: those that are not static, as ``(positional, named)``.
        leaves: the leaves of these.
        structure_key: their structure, the static arguments, and the settings.
        types: the types of the leaves, once they are asked for; `key` is both.
        random: the state of the default generator before draws were taken for a specialization.
    """

    __slots__ = ("args", "dynamic", "kwargs", "leaves", "random", "structure_key", "types")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], static: Any, dynamic: Any) -> None:
        self.args, self.kwargs, self.dynamic = args, kwargs, dynamic
        self.leaves, structure = flatten(dynamic, exact=True)
        self.structure_key = structure, static, settings()
        self.types: tuple[LeafType, ...] = ()
        self.random: Any = None

    def with_types(self, name: str, *, tells_scalars: bool) -> JittedCall:
        """The call with the types of its leaves, and with other libraries' arrays as ndarrays. Raises
        DTypeError for what a jitted function does not take; messages call it `name`. Where the function
        `tells_scalars`, arrays of rank 0 and Tensors that are scalars have types of their own."""
        self.leaves = plain_leaves(name, self.leaves, self.dynamic)
        self.types = tuple([leaf_type(name, leaf, i, self.dynamic) for i, leaf in enumerate(self.leaves)])
        if tells_scalars:
            self.types = tuple(map(_marked_type, self.leaves, self.types))
        return self

    @property
    def structure(self) -> TreeDef:
        return self.structure_key[0]

    @property
    def key(self) -> tuple[Any, tuple[LeafType, ...]]:
        return self.structure_key, self.types


def _marked_type(leaf: Any, type_: LeafType) -> LeafType:
    """The type of `leaf` with the mark of scalars, or of arrays, where it has rank 0."""
    if isinstance(type_, str) or len(type_) > 2 or type_[1]:
        return type_
    return (*type_, NUMPY_SCALAR if isinstance(leaf, Tensor) and is_eager_scalar(leaf) else RANK_0_ARRAY)


def donated_leaves(
    structure: TreeDef,
    types: Sequence[Any],
    static: frozenset[int],
    nums: frozenset[int],
    names: frozenset[str],
) -> frozenset[int]:
    """The positions of the leaves of ``(args, kwargs)`` that are arrays of donated arguments. `types` are the
    types of the leaves; `args` are without the static ones. Python numbers have no memory to give."""
    _, _, (args, kwargs) = structure.shape
    positions = (position for position in itertools.count() if position not in static)
    children = [(shape, position in nums) for shape, position in zip(args[2], positions, strict=False)]
    children += [(shape, name in names) for shape, name in zip(kwargs[2], kwargs[1][1], strict=True)]
    leaves: set[int] = set()
    first = 0
    for shape, donated in children:
        behind = first + count_leaves(shape)
        if donated:
            leaves |= {leaf for leaf in range(first, behind) if _has_memory(types[leaf])}
        first = behind
    return frozenset(leaves)


def _has_memory(leaf_type: LeafType) -> bool:
    return not isinstance(leaf_type, str) and not is_generator(leaf_type)


def argument_names(fn: Callable[..., Any], static: frozenset[int], structure: TreeDef) -> list[str]:
    """The user's name of each leaf of ``(args, kwargs)``: ``x``, ``p['w']``, ``layers[2]``."""
    order = parameters(fn, static)
    names = []
    for path in structure.paths():
        group, position, rest = _take_index(path)
        if group == "0":
            number = int(position)
            name = order[number] if number < len(order) else f"arg{number}"
        else:
            name = position.strip("'\"")
        names.append(name + rest)
    return names


def parameters(fn: Callable[..., Any], static: frozenset[int]) -> list[str]:
    """The names of the parameters of `fn` that are not `static`."""
    try:
        return [parameter for i, parameter in enumerate(inspect.signature(fn).parameters) if i not in static]
    except (TypeError, ValueError):  # a builtin that does not tell
        return []


def parameter_name(argument: str) -> str:
    """The name of the IR's parameter for an argument's leaf: ``p_w`` for ``p['w']``."""
    letters = [text if text.isascii() and text.isalnum() else " " for text in argument]
    return "_".join("".join(letters).split()) or "arg"


def _take_index(path: str) -> tuple[str, str, str]:
    """``[0][2]['w']`` as ("0", "2", "['w']")."""
    group, rest = path[1:].split("]", 1)
    position, rest = rest[1:].split("]", 1)
    return group, position, rest


def argument_path(position: int, dynamic: Any) -> str:
    """The name in messages of the leaf at `position` of ``(args, kwargs)``."""
    path = flatten(dynamic, exact=True)[1].paths()[position]
    for prefix, name in (("[0]", "args"), ("[1]", "kwargs")):
        if path.startswith(prefix):
            return name + path[len(prefix) :]
    return path


def leaf_type(name: str, leaf: Any, position: int, dynamic: Any) -> LeafType:
    """The type on which the leaf at `position` of ``(args, kwargs)`` is specialised."""
    if type(leaf) is Tensor or isinstance(leaf, (Tensor, np.ndarray, np.generic)):
        data = leaf._data if isinstance(leaf, Tensor) else np.asarray(leaf)
        if isinstance(data, Value):
            raise TraceError(
                f"{name}: argument {argument_path(position, dynamic)} is a traced tensor of type "
                f"{data.type} that outlived its trace; return it from the function instead of storing it"
            )
        try:
            type_ = (as_dtype(data.dtype), data.shape)
            return (*type_, NUMPY_SCALAR) if isinstance(leaf, np.generic) else type_
        except DTypeError as error:
            raise DTypeError(f"{name}: argument {argument_path(position, dynamic)}: {error}") from error
    if isinstance(leaf, GeneratorState):
        return (BY_NAME["u64"], (LAYOUTS[leaf.kind].size,), (_GENERATOR, leaf.kind))
    scalar = SCALARS.get(type(leaf))
    if scalar is not None:
        if scalar == "int" and not -(2**63) <= leaf < 2**63:
            raise DTypeError(
                f"{name}: argument {argument_path(position, dynamic)} is {leaf}, which does not fit 64 bits"
            )
        return scalar
    if isinstance(leaf, TensorType):
        return (leaf.dtype, leaf.shape)
    raise DTypeError(
        f"{name}: argument {argument_path(position, dynamic)} has type {type(leaf).__name__}; "
        "expected a tensor, an array, a number, or containers of those. Mark other arguments with "
        "static_argnums or static_argnames"
    )


def plain_leaves(name: str, leaves: list[Any], dynamic: Any) -> list[Any]:
    """`leaves` of ``(args, kwargs)`` with arrays of other libraries as ndarrays, and NumPy's generators as
    their states; `leaves` itself where there are none."""
    if _PLAIN.issuperset(map(type, leaves)):
        return leaves
    for position, leaf in enumerate(leaves):
        if type(leaf) not in _PLAIN:
            check_class(f"{name}: argument {argument_path(position, dynamic)}", leaf)
    kinds = [kind_of(leaf) for leaf in leaves]
    foreign = [not isinstance(leaf, Tensor) and is_foreign(leaf) for leaf in leaves]
    if not any(kinds) and not any(foreign):
        return leaves
    plain = list(leaves)
    for position, (leaf, kind) in enumerate(zip(leaves, kinds, strict=True)):
        if kind is not None:
            plain[position] = GeneratorState(leaf, kind)
        elif foreign[position]:
            try:
                plain[position] = as_array(leaf)
            except DTypeError as error:
                raise DTypeError(f"{name}: argument {argument_path(position, dynamic)}: {error}") from error
    return plain


def is_numpy_scalar(leaf_type: Any) -> bool:
    """Whether a leaf of this type is one of NumPy's scalars."""
    # not `in`: a dtype that is compared with a text takes it for the name of one, and in the error that NumPy
    # makes and drops then, signals come in and are lost
    return not isinstance(leaf_type, str) and leaf_type[-1] == NUMPY_SCALAR


def is_rank_0_array(leaf_type: Any) -> bool:
    """Whether a leaf of this type is noted as an array of rank 0."""
    return not isinstance(leaf_type, str) and leaf_type[-1] == RANK_0_ARRAY


def is_generator(leaf_type: Any) -> bool:
    """Whether a leaf of this type is the state of a generator of NumPy's."""
    return not isinstance(leaf_type, str) and len(leaf_type) > 2 and leaf_type[2][0] == _GENERATOR


def symbol_type(leaf_type: LeafType) -> tuple[TensorType, bool]:
    """The type of the symbol that stands for a leaf, and whether it is weak."""
    if isinstance(leaf_type, str):
        return scalar_type({"float": 0.0, "int": 0, "bool": False, "complex": 0j}[leaf_type]), True
    return tensor_type(leaf_type[0], leaf_type[1]), False


def type_text(leaf_type: LeafType) -> str:
    """A leaf's type for messages."""
    if isinstance(leaf_type, str):
        return f"Python {leaf_type}"
    if is_generator(leaf_type):
        kind = leaf_type[2][1]
        return kind if kind == "RandomState" else f"Generator({kind})"
    text = f"{SHORT_NAME[leaf_type[0]]}[{','.join(map(str, leaf_type[1]))}]"
    return f"{NUMPY_SCALAR} {text}" if is_numpy_scalar(leaf_type) else text


def as_input(leaf: Any) -> Tensor:
    """A leaf as a Tensor in plain memory."""
    if isinstance(leaf, Tensor):
        return leaf
    if isinstance(leaf, GeneratorState):
        return wrap(leaf.peek())
    if type(leaf) in SCALARS:
        return wrap(np.asarray(leaf, scalar_type(leaf).dtype))
    tensor = wrap(as_array(leaf))
    return noted_array(tensor) if isinstance(leaf, np.ndarray) else tensor


def miss(*args: Any, **kwargs: Any) -> Any:
    """Return `MISS`: the continuation of an entry that does not fit, where Python goes on behind it."""
    return MISS


def check_ranges(name: str, ranges: dict[int, tuple[int, int]], leaves: Sequence[Any]) -> None:
    """Raise DTypeError where a Python integer does not fit the dtype it meets, as NumPy does."""
    for position, (low, high) in ranges.items():
        if not low <= leaves[position] <= high:
            raise DTypeError(
                f"{name}: the Python integer {leaves[position]} does not fit the dtype it is combined with, "
                f"which holds {low} to {high}"
            )


class TracedTextError(UncompilableError):
    """A call that returns text with the value of a tensor."""

    advice = "return the value, and make the text outside"


def checked_results(name: str, result: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of what the function returned, and its structure. Raises DTypeError for what is no tensor,
    array or number, and TracedTextError for the text of a traced tensor."""
    leaves, structure = flatten(result, exact=True)
    if any(hasattr(leaf, "apply_selected") for leaf in leaves):
        fitting = [
            selection_results.in_front(leaf) if hasattr(leaf, "apply_selected") else leaf for leaf in leaves
        ]
        leaves, structure = flatten(structure.unflatten(fitting), exact=True)
    for position, leaf in enumerate(leaves):
        if not isinstance(leaf, (Tensor, np.ndarray, np.generic, bool, int, float, complex)):
            raise DTypeError(
                f"{name}: result {structure.paths()[position] or 'value'} has type {type(leaf).__name__}; a "
                "jitted function returns tensors, arrays and numbers"
            )
    if shows_traced(repr(structure)):
        raise TracedTextError(f"{name} returns the text of a tensor whose value is not known yet")
    return leaves, structure
