"""Workaround for LLVM's fast instruction selection: text that it compiles correctly.

Without optimization LLVM 20 to 22 select ``vblendvps`` and ``vblendvpd`` for a choice between two numbers on
machines with AVX, and fold the load of the first into it. The instruction reads 16 bytes: of a number that
ends a page, the page behind it too, which ended the process. What is frozen is not folded.
"""

from __future__ import annotations

import re
from typing import Final

#: A choice between two numbers, of which the first is a register.
_CHOICE: Final = re.compile(
    r"^  (?P<result>%\S+) = select (?P<test>i1 \S+), (?P<type>float|double) (?P<first>%[^,\s]+), ",
    re.MULTILINE,
)
_FROZEN: Final = (
    r"  \g<result>.frozen = freeze \g<type> \g<first>"
    "\n"
    r"  \g<result> = select \g<test>, \g<type> \g<result>.frozen, "
)


def with_frozen_choices(text: str) -> str:
    """`text`, in which choices between numbers are of values that no load is folded into."""
    return _CHOICE.sub(_FROZEN, text)
