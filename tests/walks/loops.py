"""Cases of loops: over elements as Python writes them, over rows, and with carries."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import Case, Draw


def _running(xp: Any, x: Any) -> Any:
    out, total = np.zeros_like(x) if xp is not None else x, x[0] * 0
    for i in range(len(x)):
        if x[i] > 0:
            total = total + x[i] * x[i]
        out[i] = total
    return out


def _stencil(xp: Any, x: Any, y: Any) -> Any:
    out = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        out[i] = x[i - 1] - y[i] + x[i + 1]
    return out


def _nested(xp: Any, x: Any) -> Any:
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * 2 + x[i, x.shape[1] - 1 - j]
    return out


def _lattice(xp: Any, x: Any, y: Any) -> Any:
    out = np.zeros((len(x) + 1, len(y) + 1), x.dtype)
    for i in range(len(x)):
        for j in range(len(y)):
            step = out[i, j] + (1 if x[i] == y[j] else 0)
            out[i + 1, j + 1] = max(step, out[i, j + 1], out[i + 1, j])
    return out


def _counted(xp: Any, x: Any, index: Any) -> Any:
    out = np.zeros_like(x)
    for i in range(len(index)):
        out[index[i]] += 1
    return out


def loop(draw: Draw) -> Case:
    """Loops over elements and rows: the interpreter says what they give."""
    dtype = draw.choose(("f4", "f8", "f8", "i8", "i4"))
    form = draw.choose(
        ("running", "stencil", "nested", "lattice", "counted", "rows", "fori", "scan", "while", "each")
    )
    size = draw.size(700)
    if form == "running":
        draw.operand((size,), draw.choose(("f4", "f8")))
        return draw.case("loops", form, _running)
    if form == "stencil":
        draw.operand((size,), dtype)
        draw.operand((size,), dtype)
        return draw.case("loops", form, _stencil)
    if form == "nested":
        draw.operand((draw.size(40), draw.size(40)), dtype)
        return draw.case("loops", form, _nested)
    if form == "lattice":
        draw.operand((draw.size(33),), "i8")
        draw.operand((draw.size(33),), "i8")
        return draw.case("loops", form, _lattice)
    if form == "counted":
        draw.operand((size,), dtype)
        draw.give(draw.numbers.integers(-size, size, draw.size(700)))
        return draw.case("loops", form, _counted)
    shape = (draw.size(65), draw.size(130))
    draw.operand(shape, dtype)
    if form == "rows":

        def rows(xp: Any, x: Any) -> Any:
            return xp.map(lambda row: xp.sum(row) - row, x)

        return draw.case("loops", form, rows)
    if form == "fori":
        return draw.case(
            "loops", form, lambda xp, x: xp.fori_loop(0, x.shape[0], lambda i, s: s - x[i], x[0])
        )
    if form == "each":  # elements that do not see one another

        def each(xp: Any, x: Any) -> Any:
            return xp.fori_loop(0, 20, lambda i, s: xp.where(s > 3, s - 5, s + 1), x)

        return draw.case("loops", form, each)
    if form == "while":

        def halved(xp: Any, x: Any) -> Any:
            return xp.while_loop(lambda s: xp.max(s) > 0, lambda s: s - 1, x)

        return draw.case("loops", form, halved)
    reverse = draw.chance(0.5)

    def scanned(xp: Any, x: Any) -> Any:
        carry, out = xp.scan(lambda c, row: (row - c, c * 2), x[0], x, reverse=reverse)
        return [carry, out]

    # a step doubles what is carried at most by adding: exact in integers and in floats of so few steps
    return draw.case("loops", f"scan{', reversed' if reverse else ''}", scanned)
