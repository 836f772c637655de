"""Files of kernels in the loop form: reading and checking them, with errors that name the line."""

from __future__ import annotations

import re
from typing import Final

from ...codegen.loops.nodes import Kernel
from ...codegen.loops.parser import KernelDocument, parse_kernels
from ...codegen.loops.verifier import LoopFormError, verify_kernel
from .documents import error_at, named, parsed, read_text, split_target

#: The end of such files' names.
SUFFIX: Final = ".loops"
_FIRST_WORD: Final = re.compile(r"(?:\s|;[^\n]*)*(\w*)")


def has_kernels(path: str, text: str) -> bool:
    """Whether `text`, which is that of `path`, is of kernels, and not of Functions."""
    match = _FIRST_WORD.match(text)
    return path.endswith(SUFFIX) or (match is not None and match[1] == "kernel")


def names_kernel(target: str) -> bool:
    """Whether `target` is a file of kernels, or one of them, as ``file.loops:name``."""
    return split_target(target, SUFFIX)[0].endswith(SUFFIX)


def valid_kernels(text: str, path: str) -> KernelDocument:
    """The document `text`, which is that of `path`. Raises TargetError with file and line where it is
    malformed or not valid."""
    document = parsed(parse_kernels, text, path)
    for kernel in document.kernels:
        try:
            verify_kernel(kernel)
        except LoopFormError as error:
            offset = document.places[error.node or kernel]
            raise error_at(text, path, offset, f"@{kernel.name}: {error.problem}") from error
    return document


def kernel_of(target: str) -> Kernel:
    """The valid kernel that ``file.loops`` or ``file.loops:name`` names. Raises UsageError and
    TargetError."""
    path, name = split_target(target, SUFFIX)
    return named(valid_kernels(read_text(path), path).kernels, path, name, "kernel")
