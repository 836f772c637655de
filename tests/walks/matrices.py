"""Cases of factorizations: matrices whose diagonals dominate, so that errors stay near rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import Case, Draw, View


def factorization(draw: Draw) -> Case:
    """Solutions, inverses, determinants, factors and spectra of one matrix or many."""
    dtype = draw.choose(("f4", "f8", "f8", "c8", "c16"))
    form = draw.choose(
        ("solve", "solve", "inv", "cholesky", "qr", "eigvalsh", "svdvals", "triangular", "det", "cho_solve")
    )
    n = draw.size(draw.choose((9, 33, 130)))
    batch: tuple[int, ...] = ()
    if draw.chance(0.55):
        batch = (draw.size(max(1, min(130, 80_000 // (n * n)))),)
        if draw.chance(0.2):
            batch = (*batch, 2)
    a = draw.values((*batch, n, n), dtype, -1, 1)
    if form in ("cholesky", "eigvalsh", "cho_solve"):
        a = a + np.conj(np.swapaxes(a, -1, -2))
    a = (a + 4 * n * np.eye(n)).astype(dtype)
    memory, view = _lying(draw, a)
    draw.give(memory, view)
    # norms are between 2 n and 6 n, so conditions are below 3: 40 n roundings of the largest element
    eps = float(np.finfo(dtype).eps)

    def tolerance(want: Any) -> Any:
        return 40 * max(n, 4) * eps * np.max(np.abs(want), initial=1e-30)

    if form in ("solve", "triangular", "cho_solve"):
        columns = draw.choose((1, draw.size(64), n))
        shape = (*batch, n, columns)
        if form == "solve" and not batch and draw.chance(0.3):
            shape = (n,)
        draw.operand(shape, dtype)
        if form == "solve":
            return draw.case("factorizations", form, lambda xp, a, b: xp.linalg.solve(a, b), tolerance)
        if form == "cho_solve":

            def solved(xp: Any, a: Any, b: Any) -> Any:
                return xp.scipy.linalg.cho_solve((xp.linalg.cholesky(a), True), b)

            return draw.case("factorizations", form, solved, tolerance)
        lower = draw.chance(0.5)

        def triangular(xp: Any, a: Any, b: Any) -> Any:
            return xp.scipy.linalg.solve_triangular(a, b, lower=lower)

        return draw.case("factorizations", f"solve_triangular, lower {lower}", triangular, tolerance)
    if form == "inv":
        return draw.case("factorizations", form, lambda xp, a: xp.linalg.inv(a), tolerance)
    if form == "det":
        return draw.case("factorizations", "slogdet", lambda xp, a: list(xp.linalg.slogdet(a)), tolerance)
    if form == "cholesky":
        return draw.case("factorizations", form, lambda xp, a: xp.linalg.cholesky(a), tolerance)
    if form == "eigvalsh":
        return draw.case("factorizations", form, lambda xp, a: xp.linalg.eigvalsh(a), tolerance)
    if form == "svdvals":
        return draw.case("factorizations", form, lambda xp, a: xp.linalg.svd(a, compute_uv=False), tolerance)

    def qr(xp: Any, a: Any) -> Any:
        q, r = xp.linalg.qr(a)
        return [q @ r, xp.abs(xp.einsum("...ii->...i", r)), xp.conj(xp.swapaxes(q, -1, -2)) @ q]

    return draw.case("factorizations", form, qr, tolerance)


def _lying(draw: Draw, a: Any) -> tuple[Any, View]:
    """A matrix as rows or as columns in memory."""
    if draw.chance(0.4):
        return np.ascontiguousarray(np.swapaxes(a, -1, -2)), View(
            "columns", lambda xp, x: xp.swapaxes(x, -1, -2)
        )
    return a, View("rows", lambda xp, x: x)
