"""Files of kernels in the loop form, and how they are told from those of Functions."""

from __future__ import annotations

import re
from typing import Any, Final

from ...codegen.loops.nodes import Kernel
from ...codegen.loops.parser import KernelDocument, parse_kernels
from ...codegen.loops.verifier import LoopFormError, verify_kernel
from .documents import FUNCTIONS, Fault, Form

_FIRST_WORD: Final = re.compile(r"(?:\s|;[^\n]*)*(\w*)")


def _fault_of_kernel(document: KernelDocument, kernel: Kernel) -> Fault | None:
    try:
        verify_kernel(kernel)
    except LoopFormError as error:
        return Fault(document.places[error.node or kernel], f"@{kernel.name}: {error.problem}", error)
    return None


#: Files of kernels.
KERNELS: Final = Form[KernelDocument, Kernel](
    ".loops", "kernel", parse_kernels, lambda document: document.kernels, _fault_of_kernel
)


def form_of(path: str, text: str) -> Form[Any, Any]:
    """The form of `text`, which is that of `path`: by the end of the file's name, or by its first word."""
    match = _FIRST_WORD.match(text)
    kernels = path.endswith(KERNELS.suffix) or (match is not None and match[1] == "kernel")
    return KERNELS if kernels else FUNCTIONS
