"""Hooks on saved values: how users keep what backward needs somewhere else, or make it again.

Semantics: ``torch.autograd.graph.saved_tensors_hooks``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import GradientError, ShapeError
from ..state import STATE
from ..tensors.tensor import Tensor, wrap

if TYPE_CHECKING:
    from .nodes import OpNode

SavedHooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


class Packed:
    """A saved array in the form that a pack hook gave it."""

    __slots__ = ("dtype", "packed", "shape", "unpack")

    def __init__(self, data: Any, hooks: SavedHooks) -> None:
        pack_hook, self.unpack = hooks
        self.shape, self.dtype = data.shape, data.dtype
        # what the hooks themselves compute is neither recorded nor packed
        recording, STATE.recording, STATE.saved_hooks = STATE.recording, False, None
        tensor = wrap(data)
        try:
            self.packed = pack_hook(tensor)
        finally:
            STATE.recording, STATE.saved_hooks = recording, hooks
        if tensor._memory is not None and tensor._memory[0]:
            raise GradientError(
                "the pack hook of saved_tensors_hooks modified its argument in place; it must not change "
                "what is saved"
            )

    def array(self) -> Any:
        """The array again, by the unpack hook."""
        value = self.unpack(self.packed)
        if not isinstance(value, Tensor):
            raise GradientError(
                f"the unpack hook of saved_tensors_hooks must return a tensor, got {type(value).__name__}"
            )
        if value.shape != self.shape or value.dtype is not self.dtype:
            raise ShapeError(
                f"the unpack hook of saved_tensors_hooks returned {value.type} for a saved tensor of shape "
                f"{tuple(self.shape)} and dtype {self.dtype.name}"
            )
        return value._data


class PackedValues(tuple[Any, ...]):
    """The saved values of a node, with `Packed` values in place of arrays."""

    __slots__ = ()


def pack(node: OpNode) -> None:
    """Pass what `node` has saved through the hooks of this thread."""
    hooks = STATE.saved_hooks
    assert node.saved is not None
    assert hooks is not None
    node.saved = PackedValues(
        [Packed(array, hooks) if isinstance(array, np.ndarray) else array for array in node.saved]
    )
    if isinstance(node.output, np.ndarray):
        node.output = Packed(node.output, hooks)


def modified_in_place(what: str, memory: Sequence[Any], version: int) -> GradientError:
    """The error of a saved value, called `what`, whose count of writes in `memory` is no longer `version`."""
    return GradientError(
        f"{what} was modified in place by {memory[1]}: it is at version {memory[0]}, expected version "
        f"{version}. Compute a new tensor instead of writing this one, or write it after backward"
    )


def unpacked(saved: Any) -> Any:
    """A saved value as the array it was; what was not packed as it is."""
    return saved.array() if isinstance(saved, Packed) else saved
