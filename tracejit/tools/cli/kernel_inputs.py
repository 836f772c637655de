"""Inputs of kernels in the loop form: values of their symbols, and arrays for their buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...codegen.loops.nodes import Call, Kernel, Load
from ...codegen.loops.rewriting import statements_in
from ...ir.dtypes import BY_NAME
from ...ir.types import TensorType
from .errors import TargetError, UsageError
from .inputs import Array, random_array, type_of


def symbol_values(kernel: Kernel, texts: Sequence[str], given: Mapping[str, Array]) -> dict[str, int]:
    """The values of the symbols of `kernel`: from texts such as ``n=100``, or the sizes of `given` arrays.
    Raises UsageError."""
    least = dict(kernel.symbols)
    values: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in least:
            names = ", ".join(least) or "none"
            raise UsageError(f"--symbol {text}: @{kernel.name} has no symbol {name!r}; it has {names}")
        if not number.isdigit() or int(number) < least[name]:
            raise UsageError(f"--symbol {text}: expected {name}=NUMBER, a number from {least[name]} on")
        values[name] = int(number)
    for position, buffer in enumerate(kernel.buffers):
        array = given.get(buffer.name, given.get(f"arr_{position}"))
        if array is not None and str(buffer.size) in least:
            values.setdefault(str(buffer.size), array.size)
    missing = [name for name in least if name not in values]
    if missing:
        raise UsageError(f"@{kernel.name}: give {' '.join(f'--symbol {name}=NUMBER' for name in missing)}")
    return values


def buffer_arrays(
    kernel: Kernel, symbols: Mapping[str, int], given: Mapping[str, Array], path: str, seed: int
) -> list[Array]:
    """An array for each buffer of `kernel`: from the `given` ones of the file `path`; else zeros for results
    that are only written, and for all others, where there is no file, random numbers. Raises TargetError."""
    rng = np.random.default_rng(seed)
    read = {node.buffer for node in statements_in(kernel.body) if isinstance(node, Load)}
    for node in statements_in(kernel.body):
        if isinstance(node, Call):
            read.update(buffer for buffer, _, _ in node.places)
    arrays: list[Array] = []
    for position, buffer in enumerate(kernel.buffers):
        size, dtype = buffer.size.value(symbols), BY_NAME[buffer.dtype]
        if size < 0:
            raise TargetError(
                f"@{kernel.name}: {buffer.name} would have {size} elements, which are {buffer.size}"
            )
        array = given.get(buffer.name, given.get(f"arr_{position}"))
        if array is None:
            if path and not buffer.out:
                raise TargetError(f"{path} has no array {buffer.name!r}, it has {', '.join(given) or 'none'}")
            is_random = not path and (not buffer.out or buffer.name in read)
            arrays.append(
                random_array(rng, TensorType(dtype, (size,))) if is_random else np.zeros(size, dtype)
            )
        elif array.size != size or array.dtype != dtype:
            expected = f"{buffer.dtype}[{size}]"
            raise TargetError(f"{path}: array {buffer.name!r} must be {expected}, is {type_of(array)}")
        else:
            arrays.append(np.array(array).reshape(-1))
    return arrays
