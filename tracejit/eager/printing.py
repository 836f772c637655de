"""The text of tensors, laid out as PyTorch does it.

Floats share one format: ``1.`` where all are whole, four decimals, or exponents where they span more than
a factor of 1000 or leave the range of 1e-4 to 1e8. More than a thousand elements are summarised by the first
and last three along each dimension. Semantics: ``torch.set_printoptions`` defaults.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]

_PRECISION: Final = 4
_THRESHOLD: Final = 1000
_EDGE: Final = 3
_LINE: Final = 80
_PREFIX: Final = "tensor("


def tensor_text(data: Array, suffixes: Sequence[str]) -> str:
    """``tensor(...)`` of `data` with `suffixes` such as ``requires_grad=True`` after it."""
    text = _PREFIX + (_elements(data) if data.size else "[]")
    last_line = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last_line + len(suffix) + 2 > _LINE:
            text += ",\n" + " " * len(_PREFIX) + suffix
            last_line = len(_PREFIX) + len(suffix)
        else:
            text += ", " + suffix
            last_line += len(suffix) + 2
    return text + ")"


def _elements(data: Array) -> str:
    summarise = data.size > _THRESHOLD
    shown = data
    if summarise:
        for axis, size in enumerate(data.shape):
            if size > 2 * _EDGE:
                ends = [*range(_EDGE), *range(size - _EDGE, size)]
                shown = shown.take(ends, axis)
    width, one = _format(shown)
    return _nested(data, len(_PREFIX), width, one, summarise=summarise)


def _format(data: Array) -> tuple[int, Callable[[Any], str]]:
    """The width of an element, and its text without padding."""
    if data.dtype.kind != "f":
        return max(len(str(value)) for value in data.ravel().tolist()), str
    finite = data[np.isfinite(data) & (data != 0)].astype(np.float64)
    if not finite.size:
        return 1, _whole
    largest, smallest = np.abs(finite).max(), np.abs(finite).min()
    whole = bool((finite == np.ceil(finite)).all())
    one: Callable[[Any], str] = _whole if whole else _fixed
    if largest / smallest > 1000.0 or largest > 1.0e8 or (not whole and smallest < 1.0e-4):
        one = _scientific
    return max(len(one(value)) for value in finite.tolist()), one


def _whole(value: float) -> str:
    return f"{value:.0f}" + ("." if math.isfinite(value) else "")


def _fixed(value: float) -> str:
    return f"{value:.{_PRECISION}f}"


def _scientific(value: float) -> str:
    return f"{value:.{_PRECISION}e}"


def _nested(data: Array, indent: int, width: int, one: Callable[[Any], str], *, summarise: bool) -> str:
    if data.ndim == 0:
        return one(data.item()).rjust(width)
    cut = summarise and len(data) > 2 * _EDGE
    if data.ndim == 1:
        if cut:
            head, tail = data[:_EDGE].tolist(), data[-_EDGE:].tolist()
            words = [*(one(v).rjust(width) for v in head), " ...", *(one(v).rjust(width) for v in tail)]
        else:
            words = [one(value).rjust(width) for value in data.tolist()]
        per_line = max(1, (_LINE - indent) // (width + 2))
        lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = [*range(_EDGE), None, *range(len(data) - _EDGE, len(data))] if cut else list(range(len(data)))
    parts = [
        "..." if row is None else _nested(data[row], indent + 1, width, one, summarise=summarise)
        for row in rows
    ]
    return "[" + (",\n" + "\n" * (data.ndim - 2) + " " * (indent + 1)).join(parts) + "]"
