"""Formatter of the text of the loop form: the printer's layout with the author's comments."""

from __future__ import annotations

from ...ir.text.formatter import placed_comments
from .parser import parse_kernels
from .printer import lines_of


def format_kernels(text: str) -> str:
    """`text` in its one layout. What it means, its names and its comments stay; formatting twice changes
    nothing more.

    Example:
        >>> print(format_kernels("kernel @f(b0:out f64[3]){store b0[1+1],0.0:f64 ; last\\n}"), end="")
        kernel @f(b0: out f64[3]) {
          store b0[2], 0.0:f64  ; last
        }

    Raises ParseError.
    """
    document = parse_kernels(text)
    before, behind, outside = placed_comments(text, document.places, document.comments)
    blocks: list[list[str]] = []
    for kernel in document.kernels:
        block: list[str] = []
        for line, anchor in lines_of(kernel):
            indent = " " * (len(line) - len(line.lstrip()))
            if isinstance(anchor, tuple) and before.get(anchor):
                indent += "  "
            block += [indent + comment for comment in before.get(anchor, ())]
            block.append("  ".join([line, *behind.get(anchor, ())]))
        blocks.append(block)
    if outside["first"] or outside["last"]:
        blocks.append([*outside["first"], *outside["last"]])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"
