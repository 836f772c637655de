"""Cases of products: matrices, vectors, batches, contractions, and what is fused behind them."""

from __future__ import annotations

from typing import Any

from .drawing import OPERAND_ELEMENTS, RESULT_ELEMENTS, Case, Draw

#: Multiplications of one case at most.
_WORK = 12_000_000
#: Elements of an operand at most, so that there is room for a view of it and for others; and of a product,
#: beside which a case may have another result.
_OPERAND, _PRODUCT = 2 * OPERAND_ELEMENTS // 5, RESULT_ELEMENTS // 2


def _is_too_large(m: int, k: int, n: int, batch: int = 1) -> bool:
    operand, product = batch * k * max(m, n), batch * m * n
    return operand > _OPERAND or product > _PRODUCT or product * k > _WORK


def _sizes(draw: Draw) -> tuple[int, int, int]:
    """m, k, n: any sizes of the pool, or one that is long between two that are small."""
    if draw.chance(0.45):
        m, k, n = draw.size(257), draw.size(257), draw.size(257)
        long = draw.choose("mkn")
        small = [draw.choose(range(1, 41)), draw.choose(range(1, 41))]
        if draw.chance(0.3):
            small[1] = small[0]
        most = _OPERAND if long == "k" else _PRODUCT
        size = min(draw.long, _WORK // (small[0] * small[1]), most // max(small))
        if long == "m":
            m, k, n = size, *small
        elif long == "k":
            k, m, n = size, *small
        else:
            n, m, k = size, *small
    else:
        m, k, n = draw.size(), draw.size(), draw.size()
        while _is_too_large(m, k, n):
            m, k, n = (m + 1) // 2, k, n
            if draw.chance(0.5):
                m, k, n = n, m, k
    return m, k, n


def product(draw: Draw) -> Case:
    """``x @ y``, ``dot`` and other products, of two operands in any layout, or of one with itself."""
    dtype = draw.choose(("f4", "f4", "f8", "f8", "i4", "i8", "i1", "u2", "c8", "c16"))
    m, k, n = _sizes(draw)
    square = min(m, int(min(_WORK / k, _PRODUCT) ** 0.5) or 1)
    form = draw.choose(("xy", "xy", "xy", "xyT", "xTy", "xxT", "xTx", "xv", "vx", "dot", "vecdot", "windows"))
    if form == "xxT":
        draw.operand((square, k), dtype)
        return draw.case("products", "x @ x.T", lambda xp, x: x @ x.T)
    if form == "xTx":
        draw.operand((k, square), dtype)
        return draw.case("products", "x.T @ x", lambda xp, x: x.T @ x)
    if form == "windows":  # two operands that overlap in memory
        draw.operand((square + 1, k), dtype)
        return draw.case("products", "x[:-1] @ x[1:].T", lambda xp, x: x[:-1] @ x[1:].T)
    if form == "xv":
        draw.operand((m, k), dtype)
        draw.operand((k,), dtype)
        return draw.case("products", "x @ v", lambda xp, x, v: x @ v)
    if form == "vx":
        draw.operand((k,), dtype)
        draw.operand((k, n), dtype)
        return draw.case("products", "v @ x", lambda xp, v, x: v @ x)
    if form in ("dot", "vecdot"):
        shape = (k,) if form == "dot" else (m, k)
        draw.operand(shape, dtype)
        draw.operand(shape, dtype)
        if form == "dot":
            return draw.case("products", "dot(x, y)", lambda xp, x, y: xp.dot(x, y))
        return draw.case("products", "vecdot(x, y)", lambda xp, x, y: xp.vecdot(x, y))
    if form == "xyT":
        draw.operand((m, k), dtype)
        draw.operand((n, k), dtype)
        return draw.case("products", "x @ y.T", lambda xp, x, y: x @ y.T)
    if form == "xTy":
        draw.operand((k, m), dtype)
        draw.operand((k, n), dtype)
        return draw.case("products", "x.T @ y", lambda xp, x, y: x.T @ y)
    draw.operand((m, k), dtype)
    draw.operand((k, n), dtype)
    behind = draw.choose(("", "", "bias", "relu", "scaled", "sums"))
    if not behind:
        return draw.case("products", "x @ y", lambda xp, x, y: x @ y)
    if behind == "bias":
        draw.operand((n,), dtype)
        return draw.case("products", "x @ y + b", lambda xp, x, y, b: x @ y + b)
    if behind == "relu":
        return draw.case("products", "relu(x @ y)", lambda xp, x, y: xp.where(x @ y == 0, x @ y, -(x @ y)))
    if behind == "scaled":
        return draw.case("products", "(x * 2) @ (y + 1)", lambda xp, x, y: (x * 2) @ (y + 1))
    return draw.case("products", "(x @ y).sum(0)", lambda xp, x, y: [(x @ y).sum(axis=0), x @ y])


def batch(draw: Draw) -> Case:
    """Products of batches, one of which may be repeated; contractions over several axes."""
    dtype = draw.choose(("f4", "f4", "f8", "f8", "i4", "c8"))
    b, m, k, n = draw.size(130), draw.size(65), draw.size(65), draw.size(65)
    while _is_too_large(m, k, n, b):
        m, k, n = (m + 1) // 2, (k + 1) // 2, n
    form = draw.choose(("bmk,bkn", "bmk,kn", "mk,bkn", "bik,bjk", "bmk,bk", "heads", "tensordot", "both"))
    if form == "bmk,bkn":
        draw.operand((b, m, k), dtype)
        draw.operand((b, k, n), dtype)
    elif form in ("bmk,kn", "mk,bkn"):
        draw.operand((b, m, k) if form[0] == "b" else (m, k), dtype)
        draw.operand((k, n) if form[0] == "b" else (b, k, n), dtype)
    else:
        return _contraction(draw, form, dtype, (b, m, k, n))
    return draw.case("batches", form, lambda xp, x, y: x @ y)


def _contraction(draw: Draw, form: str, dtype: str, sizes: tuple[int, int, int, int]) -> Case:
    b, m, k, n = sizes
    if form == "bik,bjk":
        text: str = "bik,bjk->bij"
        draw.operand((b, m, k), dtype)
        draw.operand((b, n, k), dtype)
    elif form == "bmk,bk":
        text = "bmk,bk->bm"
        draw.operand((b, m, k), dtype)
        draw.operand((b, k), dtype)
    elif form == "heads":
        text, heads = "bmhk,bnhk->bhmn", draw.choose((1, 2, 3, 8))
        b = max(1, b // (heads * 2))
        draw.operand((b, m, heads, k), dtype)
        draw.operand((b, n, heads, k), dtype)
    elif form == "both":
        text = "bmk,bmn->kn"
        draw.operand((b, m, k), dtype)
        draw.operand((b, m, n), dtype)
    else:
        draw.operand((b, m, k), dtype)
        draw.operand((n, b, k), dtype)

        def contracted(xp: Any, x: Any, y: Any) -> Any:
            return xp.tensordot(x, y, axes=([0, 2], [1, 2]))

        return draw.case("batches", "tensordot", contracted)
    return draw.case("batches", text, lambda xp, x, y: xp.einsum(text, x, y))
