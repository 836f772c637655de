"""Unified diffs of two Functions, in which values keep their names."""

from __future__ import annotations

import difflib

from ..graph import Function
from .printer import Names, print_function


def difference(old: Function | str, new: Function | str, before: str = "", after: str = "") -> str:
    """A unified diff of two Functions, or texts, called `before` and `after`; empty where they are the same.

    A value that is in both Functions has the same name in both, so that what passes left alone is not in the
    diff.

    Example:
        >>> from tracejit.ir.passes.algebra.cleanup import dce
        >>> from tracejit.ir.text.parser import parse_function
        >>> f = parse_function("func @f(%x: f64[]) -> f64[] { %0: f64[] = neg(%x) return %x }")
        >>> print(difference(f, dce(f), "f", "dce").splitlines()[4])
        -  %0: f64[] = neg(%x)
    """
    names = Names()
    first, second = (
        print_function(text, names=names, aligned=False) + "\n" if isinstance(text, Function) else text
        for text in (old, new)
    )
    lines = difflib.unified_diff(
        first.splitlines(keepends=True), second.splitlines(keepends=True), before, after
    )
    return "".join(lines)
