"""Memory that tensors, compiled code and its arenas take: ``tj.memory``."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from ..base.records import record
from ..ir.graph import Value
from ..tape.nodes import Node
from ..tensors.tensor import Tensor
from .records import owner_of


@record
class MemoryInfo:
    """The tensors and the tape that are alive: the result of ``tj.memory``.

    Attributes:
        tensors: how many Tensors there are.
        bytes: bytes of the arrays that Tensors and the tape hold, shared memory counted once.
        saved_bytes: those of them that only the tape holds.
        nodes: how many operations the tape holds.
    """

    tensors: int
    bytes: int
    saved_bytes: int
    nodes: int


def memory() -> MemoryInfo:
    """Count what is alive: tensors, their bytes, and what the tape keeps for backward passes.

    It asks Python's garbage collector for its objects, so it costs time here, and none anywhere else.

    Example:
        >>> import tracejit as tj
        >>> before = tj.memory()
        >>> x = tj.ones(1000)
        >>> after = tj.memory()
        >>> after.tensors - before.tensors, after.bytes - before.bytes
        (1, 8000)

    Semantics: ``tf.memory`` of TensorFlow.js.
    """
    gc.collect()
    held: dict[int, int] = {}
    saved: dict[int, int] = {}
    tensors = nodes = 0
    for item in gc.get_objects():
        kind = type(item)
        if kind is Tensor:
            data = getattr(item, "_data", None)
            if isinstance(data, np.ndarray):
                tensors += 1
                owner = owner_of(data)
                held[id(owner)] = owner.nbytes
            elif isinstance(data, Value):
                tensors += 1
        elif issubclass(kind, Node):
            nodes += 1
            for array in _arrays_of(item):
                owner = owner_of(array)
                saved[id(owner)] = owner.nbytes
    only_saved = sum(nbytes for key, nbytes in saved.items() if key not in held)
    return MemoryInfo(tensors, sum(held.values()) + only_saved, only_saved, nodes)


def _arrays_of(node: Any) -> list[Any]:
    """The arrays that a node holds, directly or in a list or tuple of its own."""
    arrays = []
    for referent in gc.get_referents(node):
        parts = referent if type(referent) in (list, tuple) else [referent]
        arrays += [part for part in parts if isinstance(part, np.ndarray)]
    return arrays
