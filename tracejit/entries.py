"""Native call entries for the signatures of jitted functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from .codegen.entry import ArraySpec, Capture, EntrySpec, Layout, ScalarSpec
from .codegen.module import Module
from .pytree import TreeDef, flatten
from .runtime.bypass import BYPASS_ADDRESS
from .runtime.entry import entry_layout, make_entry
from .runtime.executable import RELEASE_GIL_CYCLES, Executable
from .tensor import Tensor

if TYPE_CHECKING:
    from .captures import Source
    from .jit import Signature

_SLOTS: Final = ("_data", "_grad", "_node", "_requires_grad", "_version")


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
    captures = [
        _native(source, array_spec(param.dtype, param.shape))
        for source, param in zip(signature.sources, params, strict=True)
    ]
    if layout is None or None in captures:
        return None, None

    def spec(module: Module) -> tuple[EntrySpec, Layout]:
        made = EntrySpec(
            tuple(_leaf_spec(one) for one in signature.leaf_types),
            tuple(one for one in captures if one is not None),
            tuple(array_spec(one.dtype, one.shape) for one in signature.function.results),
            not signature.result.is_leaf,
            module.cycles > RELEASE_GIL_CYCLES,
            BYPASS_ADDRESS,
        )
        return made, layout

    executable = Executable(signature.function, spec)
    signature.compiled.use(executable)
    flat = make_entry(name, executable, miss, signature.sources)
    as_given = signature.structure == flatten((tuple([0] * len(signature.leaf_types)), {}))[1]
    simple = signature.result.is_leaf or _is_flat_tuple(signature.result)
    if not (as_given and simple) or signature.static:
        return flat, None
    return flat, make_entry(name, executable, otherwise(), signature.sources)


def array_spec(dtype: Any, shape: tuple[int, ...]) -> ArraySpec:
    """What the entry checks of an array: its descriptor object and shape."""
    return ArraySpec(id(dtype), shape, dtype.itemsize)


def _leaf_spec(leaf_type: Any) -> ArraySpec | ScalarSpec:
    if isinstance(leaf_type, str):
        return ScalarSpec(leaf_type)
    return array_spec(leaf_type[0], leaf_type[1])


def _native(source: Source, spec: ArraySpec) -> Capture | None:
    """Where the entry finds a capture, None where only Python can look it up."""
    if source.kind == "object":
        return Capture("object", id(source.holder), 0, spec)
    if source.leaf is not None:
        return None
    if source.kind == "cell":
        return Capture("cell", id(source.holder), 0, spec)
    return Capture("global", id(source.holder), id(source.key), spec)


def _is_flat_tuple(structure: TreeDef) -> bool:
    shape = structure.shape
    return (
        shape is not None and shape[0] == "tuple" and bool(shape[2]) and all(one is None for one in shape[2])
    )
