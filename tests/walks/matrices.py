"""Cases of factorizations: matrices whose diagonals dominate, so that errors stay near rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import Case, Draw, Program, View

#: Functions that need a Hermitian matrix.
_HERMITIAN = ("cholesky", "cho_solve", "eigvalsh", "eigh")


def factorization(draw: Draw) -> Case:
    """Solutions, inverses, determinants, factors and spectra of one matrix or many."""
    dtype = draw.choose(("f4", "f8", "f8", "c8", "c16"))
    form = draw.choose((*_HERMITIAN, *_SOLUTIONS, "inv", "qr", "svdvals", "svd", "det", "banded", "toeplitz"))
    n = draw.size(draw.choose((9, 33, 130)))
    batch: tuple[int, ...] = ()
    if draw.chance(0.55):
        batch = (draw.size(max(1, min(130, 80_000 // (n * n)))),)
        if draw.chance(0.2):
            batch = (*batch, 2)
    elif draw.scale > 1:  # which are factored by blocks
        n = draw.choose((256, 300, 385, 513))
    a = draw.values((*batch, n, n), dtype, -1, 1)
    if form in _HERMITIAN:
        a = a + np.conj(np.swapaxes(a, -1, -2))
    a = (a + 4 * n * np.eye(n)).astype(dtype)
    # norms are between 2 n and 6 n, so conditions are below 3: 40 n roundings of the largest element
    eps = float(np.finfo(dtype).eps)

    def tolerance(want: Any) -> Any:
        return 40 * max(n, 4) * eps * np.max(np.abs(want), initial=1e-30)

    if form in ("banded", "toeplitz"):
        return _structured(draw, form, dtype, n, tolerance)
    draw.give(*_lying(draw, a))
    if form in _SOLUTIONS:
        columns = draw.choose((1, draw.size(64), n))
        shape: tuple[int, ...] = (*batch, n, columns)
        if form == "solve" and not batch and draw.chance(0.3):
            shape = (n,)
        draw.operand(shape, dtype)
        lower = draw.chance(0.5)
        program: Program = {
            "solve": lambda xp, a, b: xp.linalg.solve(a, b),
            "triangular": lambda xp, a, b: xp.scipy.linalg.solve_triangular(a, b, lower=lower),
        }[form]
        return draw.case("factorizations", f"{form}, lower {lower}", program, tolerance)
    if form == "cho_solve":
        draw.operand((*batch, n, draw.size(64)), dtype)
    return draw.case("factorizations", form, _PROGRAMS[form], tolerance)


_SOLUTIONS = ("solve", "triangular")


def _qr(xp: Any, a: Any) -> Any:
    """Results that do not depend on signs."""
    q, r = xp.linalg.qr(a)
    return [q @ r, xp.abs(xp.einsum("...ii->...i", r)), xp.conj(xp.swapaxes(q, -1, -2)) @ q]


def _svd(xp: Any, a: Any) -> Any:
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    return [(u * s[..., None, :]) @ vh, s]


def _eigh(xp: Any, a: Any) -> Any:
    w, v = xp.linalg.eigh(a)
    return [w, (v * w[..., None, :]) @ xp.conj(xp.swapaxes(v, -1, -2))]


_PROGRAMS: dict[str, Program] = {
    "inv": lambda xp, a: xp.linalg.inv(a),
    "det": lambda xp, a: list(xp.linalg.slogdet(a)),
    "cholesky": lambda xp, a: xp.linalg.cholesky(a),
    "cho_solve": lambda xp, a, b: xp.scipy.linalg.cho_solve((xp.linalg.cholesky(a), True), b),
    "eigvalsh": lambda xp, a: xp.linalg.eigvalsh(a),
    "svdvals": lambda xp, a: xp.linalg.svd(a, compute_uv=False),
    "qr": _qr,
    "svd": _svd,
    "eigh": _eigh,
}


def _structured(draw: Draw, form: str, dtype: str, n: int, tolerance: Any) -> Case:
    """Systems with a banded matrix or a Toeplitz matrix."""
    columns = draw.size(33)
    if form == "banded":
        below, above = min(n - 1, draw.choose((0, 1, 2, 3))), min(n - 1, draw.choose((0, 1, 2, 5)))
        band = draw.values((below + above + 1, n), dtype, -1, 1)
        band[above] += 4 * (below + above + 1)
        draw.give(band)
        draw.operand((n, columns), dtype)

        def banded(xp: Any, band: Any, b: Any) -> Any:
            return xp.scipy.linalg.solve_banded((below, above), band, b)

        return draw.case("factorizations", f"solve_banded {below} {above}", banded, tolerance)
    line = draw.values((n,), dtype, -1, 1)
    line[0] = 4 * n
    draw.give(line)
    draw.operand((n, columns), dtype)
    return draw.case(
        "factorizations", "solve_toeplitz", lambda xp, c, b: xp.scipy.linalg.solve_toeplitz(c, b), tolerance
    )


def _lying(draw: Draw, a: Any) -> tuple[Any, View]:
    """A matrix as rows or as columns in memory."""
    if draw.chance(0.4):
        return np.ascontiguousarray(np.swapaxes(a, -1, -2)), View(
            "columns", lambda xp, x: xp.swapaxes(x, -1, -2)
        )
    return a, View("rows", lambda xp, x: x)
