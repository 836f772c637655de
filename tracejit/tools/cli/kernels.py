"""Files of kernels in the loop form, with errors that name their line, and arrays for their buffers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ...base.errors import ParseError
from ...codegen.loops.nodes import Call, Kernel, Load
from ...codegen.loops.parser import KernelDocument, parse_kernels
from ...codegen.loops.rewriting import statements_in
from ...codegen.loops.verifier import LoopFormError, verify_kernel
from ...ir.dtypes import BY_NAME
from ...ir.text.lexer import line_of
from ...ir.types import TensorType
from .documents import read_text, shown
from .errors import TargetError, UsageError, error_in_text
from .inputs import Array, random_array, type_of

#: The end of such files' names.
SUFFIX: Final = ".loops"
_FIRST_WORD: Final = re.compile(r"(?:\s|;[^\n]*)*(\w*)")


def has_kernels(path: str, text: str) -> bool:
    """Whether `text`, which is that of `path`, is of kernels, and not of Functions."""
    match = _FIRST_WORD.match(text)
    return path.endswith(SUFFIX) or (match is not None and match[1] == "kernel")


def names_kernel(target: str) -> bool:
    """Whether `target` is a file of kernels, or one of them, as ``file.loops:name``."""
    return target.endswith(SUFFIX) or target.rpartition(":")[0].endswith(SUFFIX)


def parse_kernel_text(text: str, path: str) -> KernelDocument:
    """`text`, which is that of `path`. Raises TargetError with file, line and column, and a caret."""
    try:
        return parse_kernels(text)
    except ParseError as error:
        raise error_in_text(shown(path), error.line, error.column, error.problem, error.caret) from error


def check_kernels(document: KernelDocument, path: str) -> None:
    """Verify the kernels of a document. Raises TargetError with file and line."""
    for kernel in document.kernels:
        try:
            verify_kernel(kernel)
        except LoopFormError as error:
            offset = document.places[error.node or kernel]
            raise error_at(document.text, path, offset, f"@{kernel.name}: {error.problem}") from error


def error_at(text: str, path: str, offset: int, problem: str) -> TargetError:
    """The error for the line of `text` on which something begins at `offset`."""
    start = text.rfind("\n", 0, offset) + 1
    source = text[start:].split("\n", 1)[0].rstrip("\r")
    column = offset - start
    marks = "^" * max(1, len(source.split(";")[0].rstrip()) - column)
    return error_in_text(
        shown(path), line_of(text, offset), column + 1, problem, f"  {source}\n  {' ' * column}{marks}"
    )


def kernel_of(target: str) -> tuple[Kernel, str]:
    """The valid kernel that ``file.loops`` or ``file.loops:name`` names, and the file. Raises UsageError and
    TargetError."""
    path, name = target, ""
    if not target.endswith(SUFFIX):
        path, _, name = target.rpartition(":")
    document = parse_kernel_text(read_text(path), path)
    check_kernels(document, path)
    kernels = {kernel.name: kernel for kernel in document.kernels}
    if name and name not in kernels:
        raise UsageError(f"{shown(path)} has no kernel {name!r}; it has {', '.join(kernels) or 'none'}")
    if not name and len(kernels) != 1:
        which = f"name one as {path}:NAME: {', '.join(kernels)}" if kernels else "there is none"
        raise UsageError(f"{shown(path)}: expected one kernel; {which}")
    return kernels[name or next(iter(kernels))], path


# -- arrays ----------------------------------------------------------------------------------------


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
