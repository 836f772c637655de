"""Signatures of jitted functions: what a call is specialised on, and what is kept for each."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import AliasedError, DTypeError, TraceError
from ..base.records import field, record
from ..callback_results import KeptResults
from ..generator import Draws
from ..ir.dtypes import SHORT_NAME, as_dtype, default_dtype
from ..ir.graph import Function, Value
from ..ir.types import TensorType, tensor_type
from ..loops.reports import LoopReport
from ..pytree import TreeDef, count_leaves, flatten
from ..state import STATE
from ..tensors.foreign_arrays import is_foreign
from ..tensors.tensor import Tensor, as_array, wrap
from ..tracing.branches import Decision
from ..tracing.tracer import scalar_type
from .aliasing import NoAlias
from .argument_writes import COPIED_BYTES, ArgumentWrites, acts
from .calls import CompiledFunction, call, requiring_grad
from .captures import Bindings
from .entries import NUMPY_SCALAR, entry_of, is_numpy_scalar, make_entries

#: The result of an entry whose signature does not fit the call.
MISS: Final = object()
SCALARS: Final[dict[type, str]] = {
    float: "float",
    int: "int",
    bool: "bool",
    complex: "complex",
}
_PLAIN: Final = frozenset({Tensor, np.ndarray, *SCALARS})

#: The type of one leaf: (dtype, shape); (dtype, shape, `NUMPY_SCALAR`); or the name of a Python scalar type.
LeafType = Any


@record(eq=False, frozen=False)
class Signature:
    """One compiled specialisation of a jitted function."""

    structure: TreeDef
    leaf_types: tuple[LeafType, ...]
    static: tuple[Any, ...]
    function: Function
    compiled: CompiledFunction
    bindings: Bindings
    result: TreeDef
    #: Ranges of the Python integers that meet a narrower dtype, by position.
    ranges: dict[int, tuple[int, int]]
    #: The native entry on flat leaves, None where it cannot be used.
    flat_entry: Any = None
    #: Native entries for inputs that require gradients, by the positions of these leaves, and by whether the
    #: call is recorded.
    gradient_entries: dict[tuple[tuple[int, ...], bool], Any] = field(default_factory=dict)
    #: The keys for which native entries were asked for: positions of all inputs that require gradients, and
    #: whether the call is recorded.
    entered: set[tuple[tuple[int, ...], bool]] = field(default_factory=set)
    milliseconds: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    #: The reasons for which it was compiled before, where it was compiled again.
    earlier: list[str] = field(default_factory=list)
    #: Variants: specializations for the same arguments, whose guards hold for other values of what they read.
    variants: list[Signature] = field(default_factory=list)
    #: The values that Python code saw of traced values, in order; they are the Function's last results. See
    #: `paths`.
    decisions: list[Decision] = field(default_factory=list)
    #: The checks before a call runs the path, a `paths.Checks`; None until they are asked for.
    checks: Any = None
    #: The results of callbacks from the trace of the path, for the call that it was traced for.
    callback_results: KeptResults | None = None
    #: The leaves whose memory results may take over.
    donated: frozenset[int] = frozenset()
    #: The calls that took a path.
    hits: int = 0
    #: The arguments that the function writes, None where it writes none.
    writes: ArgumentWrites | None = None
    #: The conditions on aliases of arguments; None where arguments may be anything.
    no_alias: NoAlias | None = None
    #: Handling of failures in linear algebra, where what was traced depends on it: see `STATE.linalg`.
    linalg: str | None = None
    #: Reports on the loops in the function.
    loops: tuple[LoopReport, ...] = ()
    #: The globals of the function, None where it has none.
    namespace: Any = None

    def run(self, arguments: Any, leaves: Sequence[Any], inputs: Sequence[Tensor]) -> Any:
        """The result for ``arguments = (positional, named)``, whose leaves are `leaves`; `inputs` are these
        as tensors, and the captures."""
        if self.writes is None:
            return self.result.unflatten(call(self.compiled, inputs))
        pending = self.writes.begin(arguments, leaves, inputs, self.bindings.sources)
        return self.result.unflatten(pending.finish(pending.run(self.compiled)))


def settings() -> tuple[Any, str]:
    """Settings that traces depend on beside arguments and what they read: the default dtype, and how linear
    algebra fails."""
    return default_dtype(), STATE.linalg


def writing_entry(signature: Signature, otherwise: Callable[[], Any]) -> Callable[..., Any] | None:
    """The entry of a signature that writes its arguments: the native entry gives the results, from which they
    are written. Where it does not fit, it calls ``otherwise()``. None where there cannot be one."""
    writes, result = signature.writes, signature.result
    assert writes is not None
    written = sum(signature.function.params[position].type.nbytes for position in writes.positions)
    looked_at = signature.static or signature.bindings.sources or signature.no_alias is not None
    if looked_at or written > COPIED_BYTES or acts(signature.function):
        return None
    entry = make_entries(signature, miss, lambda: miss)[1]
    if entry is None:
        return None
    following = otherwise()

    def enter(*args: Any, **kwargs: Any) -> Any:
        try:
            results = entry(*args, **kwargs)
        except Exception:  # the slow path runs the call as Python, if that is an error there as well
            return following(*args, **kwargs)
        if results is MISS:
            return following(*args, **kwargs)
        try:
            returned = writes.finish((args, kwargs), results)
        except AliasedError:
            return following(*args, **kwargs)
        return result.unflatten(returned)

    return entry_of(enter, signature.namespace)


def no_alias_entry(signature: Signature, otherwise: Callable[[], Any]) -> Callable[..., Any] | None:
    """The entry of a signature whose arguments must be distinct; it calls ``otherwise()`` where they are not,
    or do not fit. None where there cannot be one."""
    no_alias = signature.no_alias
    assert no_alias is not None
    following = otherwise()
    entry = make_entries(signature, miss, lambda: following)[1]
    if entry is None:
        return None

    def enter(*args: Any, **kwargs: Any) -> Any:
        arguments = args, kwargs
        if no_alias.problem(arguments, flatten(arguments)[0]):
            return following(*args, **kwargs)
        return entry(*args, **kwargs)

    return entry_of(enter, signature.namespace)


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
            leaves |= {leaf for leaf in range(first, behind) if not isinstance(types[leaf], str)}
        first = behind
    return frozenset(leaves)


def parameter_names(fn: Callable[..., Any], paths: list[str], static: frozenset[int]) -> list[str]:
    """Names for the IR's parameters, from the arguments' names and the leaves' paths."""
    try:
        order = [parameter for i, parameter in enumerate(inspect.signature(fn).parameters) if i not in static]
    except (TypeError, ValueError):
        order = []
    names = []
    for path in paths:
        kind, position, rest = _take_index(path)
        if kind == "0":
            base = order[int(position)] if int(position) < len(order) else f"arg{position}"
        else:
            base = position.strip("'\"")
        letters = [text if text.isascii() and text.isalnum() else " " for text in base + rest]
        names.append("_".join("".join(letters).split()) or "arg")
    return names


def _take_index(path: str) -> tuple[str, str, str]:
    """``[0][2]['w']`` as ("0", "2", "['w']")."""
    kind, rest = path[1:].split("]", 1)
    position, rest = rest[1:].split("]", 1)
    return kind, position, rest


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
    scalar = SCALARS.get(type(leaf))
    if scalar is None and is_foreign(leaf):
        array = plain_leaves(name, [leaf], position, dynamic)[0]
        return (array.dtype, array.shape)
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


def plain_leaves(name: str, leaves: list[Any], first: int, dynamic: Any) -> list[Any]:
    """`leaves` with arrays of other libraries as ndarrays; `leaves` itself where there are none.

    The first of them is the leaf at `first` of ``(args, kwargs)``, which errors name."""
    if _PLAIN.issuperset(map(type, leaves)) or not any(map(is_foreign, leaves)):
        return leaves
    plain = []
    for position, leaf in enumerate(leaves, first):
        try:
            plain.append(as_array(leaf) if is_foreign(leaf) else leaf)
        except DTypeError as error:
            raise DTypeError(f"{name}: argument {argument_path(position, dynamic)}: {error}") from error
    return plain


def symbol_type(leaf_type: LeafType) -> tuple[TensorType, bool]:
    """The type of the symbol that stands for a leaf, and whether it is weak."""
    if isinstance(leaf_type, str):
        return scalar_type({"float": 0.0, "int": 0, "bool": False, "complex": 0j}[leaf_type]), True
    return tensor_type(leaf_type[0], leaf_type[1]), False


def type_text(leaf_type: LeafType) -> str:
    """A leaf's type for messages."""
    if isinstance(leaf_type, str):
        return f"Python {leaf_type}"
    text = f"{SHORT_NAME[leaf_type[0]]}[{','.join(map(str, leaf_type[1]))}]"
    return f"{NUMPY_SCALAR} {text}" if is_numpy_scalar(leaf_type) else text


def as_input(leaf: Any) -> Tensor:
    """A leaf as a Tensor in plain memory."""
    if isinstance(leaf, Tensor):
        return leaf
    if type(leaf) in SCALARS:
        return wrap(np.asarray(leaf, scalar_type(leaf).dtype))
    return wrap(as_array(leaf))


def miss(*args: Any) -> Any:
    """Return `MISS`: the continuation of an entry on flat leaves that does not fit."""
    return MISS


def native(signature: Signature, leaves: list[Any]) -> Any:
    """The result by the native entry, `MISS` where that does not apply."""
    gradients = (requiring_grad(leaves), STATE.recording)
    for entry in (signature.flat_entry, signature.gradient_entries.get(gradients)):
        results: Any = MISS if entry is None else entry(*leaves)
        if results is not MISS:
            return results if signature.result.is_leaf else signature.result.unflatten(results)
    return MISS


def read_captures(signature: Signature) -> list[Tensor] | None:
    """The captured values now; None where a guard is broken or one has not the type it was compiled for.

    Where it gives values, and only then, the draws of the call have been taken from the generator."""
    values: list[Any] = []
    params = signature.function.params[len(signature.leaf_types) :]
    for source, param in zip(signature.bindings.sources, params, strict=True):
        value = source.read()
        if isinstance(value, Draws):
            values.append(value)
            continue
        if source.is_number:
            if type(value) is not float:
                return None
            values.append(wrap(np.asarray(value)))
            continue
        if not isinstance(value, (Tensor, np.ndarray)):
            return None
        data = value._data if isinstance(value, Tensor) else value
        if isinstance(data, Value) or data.shape != param.shape or as_dtype(data.dtype) is not param.dtype:
            return None
        values.append(as_input(value))
    if not all(guard.holds() for guard in signature.bindings.guards):
        return None
    return [wrap(draws.claim()) if isinstance(draws, Draws) else draws for draws in values]


def captured_now(signature: Signature) -> list[Tensor] | None:
    """The captures by `read_captures`; empty for a signature with paths, which read their own captures."""
    return [] if signature.decisions else read_captures(signature)


def captured_first(signature: Signature) -> list[Tensor] | None:
    """`captured_now` for a fresh trace; adds the guards for what the traced function itself changed."""
    captured = captured_now(signature)
    if captured is not None:
        signature.bindings.guards.extend(signature.bindings.changed)
    return captured


def broken_guard(signature: Signature) -> str:
    """Reason why a signature that was compiled must be compiled again."""
    for guard in signature.bindings.guards:
        if not guard.holds():
            before, after = guard.shown()
            change = f" ({before} before, {after} now)" if len(before) + len(after) < 80 else ""
            return f"{guard.source}, which the function closes over, was bound to another value{change}"
    params = signature.function.params[len(signature.leaf_types) :]
    for source, param in zip(signature.bindings.sources, params, strict=True):
        value = source.read()
        data = value._data if isinstance(value, Tensor) else value
        if isinstance(data, np.ndarray) and (data.shape, data.dtype) != (param.shape, param.dtype):
            now = type_text((data.dtype, data.shape)) if data.dtype in SHORT_NAME else str(data.dtype)
            return f"{source}, which the function closes over, changed from {param.type} to {now}"
    return "a tensor that the function closes over changed its type"


def check_ranges(name: str, signature: Signature, leaves: list[Any]) -> None:
    """Raise DTypeError where a Python integer does not fit the dtype it meets, as NumPy does."""
    for position, (low, high) in signature.ranges.items():
        if not low <= leaves[position] <= high:
            raise DTypeError(
                f"{name}: the Python integer {leaves[position]} does not fit the dtype it is combined with, "
                f"which holds {low} to {high}"
            )


def checked_results(name: str, result: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of what the function returned, and its structure. Raises DTypeError for what is no tensor,
    array or number."""
    leaves, structure = flatten(result, exact=True)
    for position, leaf in enumerate(leaves):
        if hasattr(leaf, "apply_selected"):
            leaf.__array__(asked=f"{name}: result {structure.paths()[position] or 'value'}")
        if not isinstance(leaf, (Tensor, np.ndarray, np.generic, bool, int, float, complex)):
            raise DTypeError(
                f"{name}: result {structure.paths()[position] or 'value'} has type {type(leaf).__name__}; a "
                "jitted function returns tensors, arrays and numbers"
            )
    return leaves, structure
