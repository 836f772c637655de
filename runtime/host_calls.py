"""Host calls: the NumPy kernels that compiled code calls back, on arrays over its buffers."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..codegen.interface import HostCall
from ..ir.graph import Instruction
from ..ir.interpreter import interpret

Array = np.ndarray[Any, Any]


def callback_of(call: HostCall, raised: threading.local) -> Callable[[int], int]:
    """A function that runs `call`'s NumPy kernel on the buffers at an address; it returns 1 if that raised.

    A user's own function among them (ops with an attribute `callback`) has its exceptions raised as they are.
    """
    instruction = call.instruction
    operands = [(operand.shape, operand.dtype) for operand in instruction.operands]
    results = [(result.shape, result.dtype) for result in instruction.results]

    def run(pointers: int) -> int:
        addresses = (ctypes.c_void_p * (len(operands) + len(results))).from_address(pointers)
        try:
            arrays = [
                _array_at(address, shape, dtype)
                for address, (shape, dtype) in zip(addresses, operands + results, strict=True)
            ]
            for array in arrays[: len(operands)]:
                array.flags.writeable = False
            with np.errstate(all="ignore"):
                outcomes = _results_of(instruction, arrays[: len(operands)])
            for target, value in zip(arrays[len(operands) :], outcomes, strict=True):
                target[...] = value
        except BaseException as error:  # handed to the caller: it must not unwind native frames
            raised.error, raised.users = error, _calls_users(instruction)
            return 1
        return 0

    return run


def _results_of(instruction: Instruction, operands: list[Array]) -> Any:
    """Compute the results of an instruction for arrays as operands."""
    regions = instruction.op.regions
    if instruction.regions and regions is not None:
        return regions.run(interpret, instruction.regions, operands, instruction.attrs)
    outcome = instruction.op.eval(*operands, **instruction.attrs)
    return outcome if len(instruction.results) > 1 else [outcome]


def _calls_users(instruction: Instruction) -> bool:
    """Whether an instruction runs a user's own function."""
    inside = [inner for region in instruction.regions for inner in region.instructions()]
    return any("callback" in inner.attrs for inner in (instruction, *inside))


def _array_at(address: int | None, shape: tuple[int, ...], dtype: Any) -> Array:
    """An ndarray over `address`, valid while the native call runs."""
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if count == 0:
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * count).from_address(address or 0)
    return np.frombuffer(memory, dtype).reshape(shape)
