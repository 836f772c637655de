"""Identifiers of C for names of Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..base.errors import ArgumentError

#: Words of C and C++ that are no names, and functions that the code itself may call.
_RESERVED: Final = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept
    const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend
    goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public register reinterpret_cast requires restrict return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef
    typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq main memcpy
    memset memmove free realloc fma fmaf fmod fmodf sqrt sqrtf floor floorf ceil ceilf trunc truncf
    rint rintf
    """.split()  # noqa: SIM905
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def checked_name(name: str) -> str:
    """`name`, which a function is to have in C. Raises ArgumentError where it can be none."""
    if not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        raise ArgumentError(
            f"export: the name must be an identifier of C that begins with a letter and is no word of C's or "
            f"C++'s, got {name!r}"
        )
    return name


def identifier(text: str) -> str:
    """`text` as a name of a parameter: ``result['w'][0]`` as ``result_w_0``."""
    name = "_".join(re.findall(r"[A-Za-z0-9_]+", text)) or "x"
    name = name if name[0].isalpha() else f"x{name}"
    return f"{name}_" if name in _RESERVED else name


def unique(names: Sequence[str], *taken: str) -> list[str]:
    """`names`, with a number behind those that are there already or `taken`."""
    seen, result = set(taken), []
    for name in names:
        free, number = name, 1
        while free in seen:
            number += 1
            free = f"{name}_{number}"
        seen.add(free)
        result.append(free)
    return result
