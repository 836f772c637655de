"""Native call entries for the signatures of jitted functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from .codegen.entry import ArraySpec, Capture, EntrySpec, Layout, Same, ScalarSpec
from .codegen.module import Module
from .generator import Draws
from .ir import dtypes
from .pytree import TreeDef, flatten
from .runtime.bypass import BYPASS_ADDRESS
from .runtime.entry import entry_layout, make_entry
from .runtime.executable import RELEASE_GIL_CYCLES, Executable
from .tensor import Tensor

if TYPE_CHECKING:
    from .captures import Source
    from .signatures import Signature

#: The name of the global that holds the default dtype, which every compiled signature depends on.
_DEFAULT: Final = "_default_float"
_SLOTS: Final = ("_data", "_grad", "_node", "_requires_grad", "_version", "_aliases", "_hooks")


def entry_layout_of_tensors() -> Layout | None:
    """What native entries need to know of Tensors, None where this interpreter does not allow them."""
    return entry_layout(Tensor, _SLOTS)


def make_entries(
    name: str, signature: Signature, miss: Callable[..., Any], otherwise: Callable[[], Any]
) -> tuple[Any, Any]:
    """Compile `signature` with an entry. Returns it twice: as a function of the flat leaves that gives
    `miss()` where it does not fit, and, where the arguments are flat as they are, as a function that then
    calls ``otherwise()``. None where there cannot be one."""
    layout = entry_layout_of_tensors()
    params = signature.function.params[len(signature.leaf_types) :]
    bindings = signature.bindings
    if any("callback" in one.attrs for one in signature.function.instructions()):
        return None, None  # a call that fails is repeated by the slow path, and callbacks ran already
    captures = [
        _capture(source, array_spec(param.dtype, param.shape))
        for source, param in zip(bindings.sources, params, strict=True)
    ]
    guards = [_capture(guard.source, guard.expected) for guard in bindings.guards]
    if layout is None or None in captures or None in guards:
        return None, None
    settings = Capture("global", id(vars(dtypes)), id(_DEFAULT), Same(id(dtypes.default_dtype())))

    def spec(module: Module) -> tuple[EntrySpec, Layout]:
        made = EntrySpec(
            tuple(_leaf_spec(one, signature.ranges.get(i)) for i, one in enumerate(signature.leaf_types)),
            tuple(one for one in captures if one is not None),
            (settings, *(one for one in guards if one is not None)),
            tuple(array_spec(one.dtype, one.shape) for one in signature.function.results),
            not signature.result.is_leaf,
            module.cycles > RELEASE_GIL_CYCLES,
            BYPASS_ADDRESS,
        )
        return made, layout

    executable = Executable(signature.function, spec)
    signature.compiled.use(executable)
    flat = make_entry(name, executable, miss, bindings)
    as_given = signature.structure == flatten((tuple([0] * len(signature.leaf_types)), {}))[1]
    simple = signature.result.is_leaf or _is_flat_tuple(signature.result)
    if not (as_given and simple) or signature.static:
        return flat, None
    return flat, make_entry(name, executable, otherwise(), bindings)


def array_spec(dtype: Any, shape: tuple[int, ...]) -> ArraySpec:
    """What the entry checks of an array: its descriptor object and shape."""
    return ArraySpec(id(dtype), shape, dtype.itemsize)


def _leaf_spec(leaf_type: Any, limits: tuple[int, int] | None) -> ArraySpec | ScalarSpec:
    if isinstance(leaf_type, str):
        return ScalarSpec(leaf_type, limits)
    return array_spec(leaf_type[0], leaf_type[1])


def _capture(source: Source, expected: Any) -> Capture | None:
    """Where the entry finds a capture or guarded object, None where only Python can look it up."""
    spec = expected if isinstance(expected, ArraySpec) else Same(id(expected))
    if source.path or isinstance(source.holder, Draws):  # drawing advances the generator
        return None
    if source.kind == "object":
        return Capture("object", id(source.holder), 0, spec)
    if source.kind == "cell":
        return Capture("cell", id(source.holder), 0, spec)
    return Capture("global", id(source.holder), id(source.key), spec)


def _is_flat_tuple(structure: TreeDef) -> bool:
    shape = structure.shape
    return (
        shape is not None and shape[0] == "tuple" and bool(shape[2]) and all(one is None for one in shape[2])
    )
