"""Object code in this process: compiled or found, then linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..codegen.llvm import Library, emit_object, link_object


def load_support(text: str, exports: Sequence[str], imports: Mapping[str, int]) -> Library:
    """The machine code of a part of the runtime itself, from its LLVM text."""
    image, milliseconds = emit_object(text)
    library = link_object(image, exports, imports)
    library.milliseconds = milliseconds
    return library
