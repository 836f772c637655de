"""Native call entries of jitted functions: branches of their guard trees, as tables for machine code."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...codegen.native.entry.table import (
    NO_KEYS,
    Absent,
    Anything,
    ArraySpec,
    Capture,
    ContainerSpec,
    EntrySpec,
    EqualSpec,
    Keys,
    ResultSpec,
    Same,
    ScalarSpec,
    SizedSpec,
    Spec,
    Structure,
)
from ...dispatch.native_ops import entry_layout_of_tensors
from ...frontend.guards import (
    ArrayTypeGuard,
    ChangedGuard,
    ConstantGuard,
    ContentGuard,
    ElementsGuard,
    Guard,
    KeysGuard,
    LengthGuard,
    MissingGuard,
)
from ...generator import Draws
from ...ir import dtypes
from ...pytree import _key_order, tree_leaves, tree_map
from ...runtime.native.entry import array_spec, can_enter, make_entry, make_passing_entry, scalar_spec
from ...state import LINALG_NAN, LINALG_RAISE, STATE
from ...tensors.tensor import Tensor
from ..signatures import is_numpy_scalar, is_rank_0_array

if TYPE_CHECKING:
    from ...frontend.values import Source
    from ...ir.graph import Value
    from ..calls import CallPlan
    from .specializations import Specialization

#: The name of the global that holds the default dtype, which everything compiled depends on.
_DEFAULT: Final = "_default_float"
#: The name of the global that is the default dtype while other settings are the usual ones.
_USUAL: Final = "_usual_float"
#: Whether this thread records.
_RECORDING: Final = sys.intern("recording")
_RECORDED, _UNRECORDED = [
    Capture("object", id(STATE), 0, Same(id(recording)), (("attr", id(_RECORDING)),))
    for recording in (True, False)
]
#: Static arguments that are the same for good when they are the same object.
_IMMUTABLE: Final = (int, float, bool, str, bytes, type(None), type, types.FunctionType)
#: Whether failures of linear algebra are NaN in this thread.
_LINALG: Final = sys.intern("linalg")
_GIVES_NAN: Final = Capture("object", id(STATE), 0, Same(id(LINALG_NAN)), (("attr", id(_LINALG)),))


class _Unsupported(Exception):
    """A lookup or a result that only Python code can handle."""


def make_entries(
    leaf: Specialization,
    miss: Callable[..., Any],
    otherwise: Callable[[], Any],
    wrt: tuple[int, ...] = (),
    plan: CallPlan | None = None,
) -> tuple[Any, Any]:
    """Two entries of `leaf`: a function of the flat leaves, which gives a flat tuple (or one result) and
    `miss()` where it does not fit, and a function of the arguments as they are given, which then calls
    ``otherwise()``. None where there cannot be one. Of a function that writes its arguments, or returns
    containers that Python makes, they give all results of the program, for the caller to write and to make.

    They take calls of which just the inputs at `wrt` require gradients: with a `plan` those that are
    recorded by it, without one those that are not recorded."""
    layout = entry_layout_of_tensors()
    compiled = leaf.compiled if plan is None else plan.forward
    if layout is None or not can_enter(compiled.function) or any(map(is_rank_0_array, leaf.leaf_types)):
        return None, None
    bindings, executable, results = leaf.bindings, compiled.executable, compiled.function.results
    keep: list[Any] = [bindings, leaf.static, leaf.namespace]
    reuses = executable.reuses if leaf.writes is None and not wrt else {}
    if any(is_numpy_scalar(leaf.leaf_types[i]) for i in reuses.values() if i < len(leaf.leaf_types)):
        return None, None  # whose memory no array has
    tracked = [position in wrt for position in range(len(leaf.function.params))]
    specs = [
        _leaf_spec(type_, leaf.ranges.get(i), i in reuses.values(), tracked[i])
        for i, type_ in enumerate(leaf.leaf_types)
    ]
    params = leaf.function.params[len(specs) :]
    returned = len(leaf.function.results)
    flat: Structure = ("tuple", NO_KEYS, (None,) * returned)
    python_finishes = leaf.writes is not None or leaf.has_python_containers

    def entry(arguments: Any, keywords: Any, structure: Structure, following: Callable[..., Any]) -> Any:
        spec = EntrySpec(
            tuple(arguments), tuple(keywords), tuple(captures), tuple(guards), tuple(outputs), structure,
            executable.slow_enough, 0 if plan is None else len(tracked), len(results) - returned,
            id(leaf.namespace),
        )  # fmt: skip
        return make_entry(spec, layout, executable, following, keep, None if plan is None else plan.record)

    try:
        captures = [
            _capture(source, _input_spec(source, param, requires_grad), keep)
            for source, param, requires_grad in zip(
                bindings.sources, params, tracked[len(specs) :], strict=True
            )
        ]
        guards = _settings(leaf, None if not wrt else plan is not None)
        guards += [_capture(guard.source, _guard_spec(guard, keep), keep) for guard in bindings.guards]
    except _Unsupported:
        return None, None
    outputs = [
        ResultSpec(array_spec(result.dtype, result.shape), reuses.get(i, -1), i >= returned)
        for i, result in enumerate(results)
    ]
    by_leaves = entry(specs, (), None if leaf.result.is_leaf and leaf.writes is None else flat, miss)
    try:
        arguments, keywords = _arguments(leaf, specs, keep)
        structure = flat if python_finishes else _structure(leaf.result.shape, keep)
    except _Unsupported:
        return by_leaves, None
    return by_leaves, entry(arguments, keywords, structure, otherwise())


def _settings(leaf: Specialization, recorded: bool | None) -> list[Capture]:
    """The settings that hold for calls of `leaf`, and whether the thread records, unless that is None."""
    # of a function that raises where linear algebra fails, no thread may be where that is NaN
    name = _USUAL if leaf.linalg is LINALG_RAISE else _DEFAULT
    settings = [Capture("global", id(vars(dtypes)), id(name), Same(id(dtypes.default_dtype())))]
    if recorded is not None:
        settings.append(_RECORDED if recorded else _UNRECORDED)
    return [*settings, _GIVES_NAN] if leaf.linalg is LINALG_NAN else settings


def results_as_arrays(result: Any) -> Any:
    """`result` with arrays, and scalars for those of rank 0, in place of its tensors: for callers that take
    arrays. Where one of the tensors requires a gradient or is traced, `result` as it is."""
    leaves = tree_leaves(result)
    if any(isinstance(leaf, Tensor) and (leaf._requires_grad or leaf.is_traced) for leaf in leaves):
        return result
    return tree_map(_as_array, result)


def _as_array(leaf: Any) -> Any:
    return leaf if not isinstance(leaf, Tensor) else leaf._data if leaf.ndim else leaf._data[()]


def entry_of(function: Callable[..., Any], namespace: Any) -> Callable[..., Any]:
    """`function` as an entry, whose results are arrays to callers that take these. It belongs to a jitted
    function with the globals `namespace`."""
    layout = entry_layout_of_tensors()
    assert layout is not None  # it calls a native entry
    entry: Callable[..., Any] = make_passing_entry(function, results_as_arrays, namespace, layout)
    return entry


def _leaf_spec(
    leaf_type: Any, limits: tuple[int, int] | None, donated: bool, requires_grad: bool
) -> ArraySpec | ScalarSpec:
    if isinstance(leaf_type, str):
        return ScalarSpec(leaf_type, limits)
    if is_numpy_scalar(leaf_type):
        return scalar_spec(leaf_type[0])
    return array_spec(leaf_type[0], leaf_type[1], donated=donated, requires_grad=requires_grad)


# -- the arguments as they are given -----------------------------------------------------------------


def _arguments(
    leaf: Specialization, leaves: Sequence[ArraySpec | ScalarSpec], keep: list[Any]
) -> tuple[list[Spec], list[tuple[int, Spec]]]:
    """Positional and keyword arguments. Raises _Unsupported where the entry does not know a container in
    them, or a static argument may change while it stays the same object."""
    following = iter(leaves)
    _, _, (args, kwargs) = leaf.structure.shape
    positional = [_tree(child, following, keep) for child in args[2]]
    kind, names = kwargs[1][:2]
    if kind is not dict:  # their order matters, which the entry does not look at
        raise _Unsupported
    named = {name: _tree(child, following, keep) for name, child in zip(names, kwargs[2], strict=True)}
    for which, _, value, _ in leaf.static:
        if not _stays(value):
            raise _Unsupported
        if isinstance(which, str):
            named[which] = Same(id(value))
        else:
            positional.insert(which, Same(id(value)))  # they come in ascending order
    names = [sys.intern(name) for name in named]  # as the names at call sites are
    keep.append(names)
    return positional, [(id(name), named[name]) for name in names]


def _stays(value: Any) -> bool:
    """Whether a static argument is the same as long as it is the same object."""
    if type(value) is tuple:
        return all(map(_stays, value))
    return type(value) in _IMMUTABLE or isinstance(value, type)


def _tree(shape: Any, leaves: Iterator[Spec], keep: list[Any]) -> Spec:
    """The spec of a pytree that the entry expects."""
    if shape is None:
        return next(leaves)
    kind, meta, children = shape
    parts = tuple([_tree(child, leaves, keep) for child in children])
    if kind in ("none", "static"):
        keep.append(meta)
        return Same(id(meta))
    if kind == "tuple":
        return ContainerSpec("tuple", id(tuple), parts)
    if kind == "list":
        return ContainerSpec("list", id(list), parts)
    if kind == "namedtuple":
        keep.append(meta)
        return ContainerSpec("tuple", id(meta), parts)
    if kind == "dict" and meta[0] is dict and all(type(key) is str for key in meta[1]):
        return ContainerSpec("dict", id(dict), parts, *_key_addresses(meta, keep))
    raise _Unsupported


def _structure(shape: Any, keep: list[Any]) -> Structure:
    """The structure from which the entry builds the result, which `is_native`."""
    if shape is None:
        return None
    kind, meta, children = shape
    keys = _key_addresses(meta, keep) if kind == "dict" else NO_KEYS
    return kind, keys, tuple([_structure(child, keep) for child in children])


def is_native(shape: Any) -> bool:
    """Whether entries build results of the structure `shape` themselves."""
    if shape is None:
        return True
    kind, meta, children = shape
    plain = kind in ("tuple", "list", "none") or (
        kind == "dict" and meta[0] is dict and all(type(key) is str for key in meta[1])
    )
    return plain and all(map(is_native, children))


def _key_addresses(meta: tuple[Any, ...], keep: list[Any]) -> Keys:
    """The addresses of a dict's keys, in the order of the leaves and in its own."""
    keys, order = meta[1], _key_order(meta)
    keep += (keys, order)
    return tuple(map(id, keys)), () if order is keys else tuple(map(id, order))


# -- captures ----------------------------------------------------------------------------------------


def _input_spec(source: Source, param: Value, requires_grad: bool) -> ArraySpec | ScalarSpec:
    if source.is_number:
        return ScalarSpec("float")
    return array_spec(param.dtype, param.shape, requires_grad=requires_grad)


def _guard_spec(guard: Guard, keep: list[Any]) -> Spec:
    """The check that the entry makes for `guard`. Raises _Unsupported where only Python can check it."""
    expected = guard.expected
    if isinstance(guard, ConstantGuard) and (
        (type(expected) is float and expected == expected)
        or (type(expected) is int and -(2**63) <= expected < 2**63)
    ):
        return EqualSpec(expected)
    if isinstance(guard, MissingGuard):
        return Absent()
    if isinstance(guard, LengthGuard):
        return SizedSpec(id(expected[0]), expected[1])
    if isinstance(guard, KeysGuard):
        kind, keys = expected
        if kind is not dict or not all(type(key) is str for key in keys):
            raise _Unsupported
        keep.append(keys)
        return ContainerSpec("dict", id(dict), (Anything(),) * len(keys), tuple(map(id, keys)))
    if isinstance(guard, ArrayTypeGuard):
        return array_spec(expected[1], expected[2], requires_grad=None)
    if isinstance(guard, ContentGuard):
        if not expected.flags.c_contiguous:  # a large array that repeats elements, which Python reads once
            raise _Unsupported
        keep.append(expected)
        return array_spec(expected.dtype, expected.shape, content=expected.ctypes.data, requires_grad=None)
    if isinstance(guard, (ElementsGuard, ChangedGuard)):
        raise _Unsupported
    return Same(id(expected))


def _capture(source: Source, expected: Spec, keep: list[Any]) -> Capture:
    """The place where the entry finds a capture or guarded object. Raises _Unsupported where only Python can
    find it."""
    if isinstance(source.holder, Draws):  # drawing advances the generator
        raise _Unsupported
    steps: list[tuple[str, int]] = []
    for (how, step), container in zip(source.path, source.containers(), strict=True):
        if how == "attr" and step == "__class__":
            steps.append(("class", 0))
        elif step == "__code__" and type(container) is types.FunctionType:
            steps.append(("code", 0))
        elif how == "attr" or (type(container) is dict and type(step) is str):
            keep.append(step)
            steps.append(("attr" if how == "attr" else "key", id(step)))
        elif type(container) in (list, tuple):
            steps.append((type(container).__name__, step))
        else:
            raise _Unsupported
    key = id(source.key) if source.kind == "global" else 0
    return Capture(source.kind, id(source.holder), key, expected, tuple(steps))
