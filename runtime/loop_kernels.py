"""Machine code of single kernels in the loop form, run on NumPy arrays: for tools and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base.machine import machine
from ..codegen.interface import POLL
from ..codegen.llvm.compiler import emit_object
from ..codegen.llvm.target import host
from ..codegen.loops.nodes import TASKS, Kernel
from ..codegen.loops.phases import has_phases, shared_by, workspace_bytes
from ..codegen.loops.rewriting import loops_in
from ..codegen.loops.standalone import kernel_module
from ..codegen.tiers import OPTIMIZED, Tier
from .interrupts import interruptible, poll_imports
from .loading.objects import link
from .threads import POOL

Array = np.ndarray[Any, Any]


class NativeKernel:
    """Machine code of `kernel`, which is valid, of a `tier`. Raises CompileError where there is none for such
    kernels yet."""

    def __init__(self, kernel: Kernel, tier: Tier = OPTIMIZED) -> None:
        self.kernel = kernel
        text = kernel_module(kernel, host())
        image, _ = emit_object(text, tier.effort, reduce_loops=tier.reduces_loops)
        imports = poll_imports() if f"@{POLL}(" in text else {}
        self.library = link(image, ["main"], imports | (POOL.imports() if has_phases(kernel) else {}))
        self._call = interruptible(self.library.addresses["main"])

    def tasks(self, symbols: Mapping[str, int] | None = None) -> int:
        """The number of tasks where `symbols` have values; 1 where it has none, or phases."""
        if has_phases(self.kernel):
            return 1
        loops = [loop for loop in loops_in(self.kernel.body) if loop.kind == TASKS]
        return min(bound.value(symbols or {}) for bound in loops[0].hi) if loops else 1

    def __call__(
        self,
        buffers: Sequence[Array],
        symbols: Mapping[str, int] | None = None,
        tasks: tuple[int, int] | None = None,
    ) -> None:
        """Run all tasks, or those of a range, over `buffers`: flat contiguous arrays of the sizes and dtypes
        of the kernel's own, where `symbols` have values."""
        values = symbols or {}
        for declared, array in zip(self.kernel.buffers, buffers, strict=True):
            assert array.flags.c_contiguous, declared.name
            assert array.size == declared.size.value(values), declared.name
        begin, end = tasks or (0, self.tasks(values))
        numbers, arrays = [values[name] for name, _ in self.kernel.symbols], [*buffers]
        if has_phases(self.kernel):
            arrays.append(_workspace(self.kernel))
        inputs = np.array([*[array.ctypes.data for array in arrays], *numbers, begin, end], np.int64)
        self._call(inputs.ctypes.data, 0)


def _workspace(kernel: Kernel) -> Array:
    """Memory for the phases of `kernel`, which begins where a line of the cache does."""
    line = machine().line_bytes
    memory = np.empty(workspace_bytes(shared_by(kernel)) + line, np.uint8)
    first = -memory.ctypes.data % line
    return memory[first:]
