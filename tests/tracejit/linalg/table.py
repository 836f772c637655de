"""Each function of matrices beside the same in mpmath, and the matrices at which it and its derivatives are
looked at.

A loss is a weighted sum of the function's results, and derivatives are those along one direction: the first
by central differences of mpmath's values, the second by second differences, with a step that is far beyond
what double precision sees. Where slopes to both sides, or of two steps, are not the same, there is no
derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import mpmath
import numpy as np

import tracejit as tj

L, S = tj.linalg, tj.scipy.linalg
Exact: TypeAlias = Callable[[Any], Any]
DIGITS = 80
STEP = mpmath.mpf(10) ** -18

RNG = np.random.default_rng(37)


def rounded(x: Any) -> Any:
    """`x` in numbers that single precision has, too."""
    return np.asarray(x, np.float32).astype(np.float64)


GENERIC = rounded(RNG.normal(size=(3, 3)) + 2 * np.eye(3))
TURN = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0], [1.0, 0.0, -1.0]])
#: Definite, with the eigenvalues 1, 1 and 4 exactly.
REPEATED = np.eye(3) + np.ones((3, 3))
DEFECTIVE = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])
#: A matrix of rank 2, positive semidefinite.
SINGULAR = np.array([[2.0, 1.0, 3.0], [1.0, 2.0, 3.0], [3.0, 3.0, 6.0]])
DEFINITE = rounded(GENERIC @ GENERIC.T + np.eye(3))
POINTS: dict[str, Any] = {
    "generic": GENERIC, "definite": DEFINITE, "identity": np.eye(3), "zero": np.zeros((3, 3)),
    "repeated": REPEATED, "singular": SINGULAR, "defective": DEFECTIVE,
    "tiny": DEFINITE * 2.0**-498, "huge": DEFINITE * 2.0**498,
    "vanishing": DEFINITE * 2.0**-1000, "beyond": DEFINITE * 2.0**1000,
}  # fmt: skip
#: Points whose powers are 0 or infinite, where norms, which are NumPy's, are so too, and slopes are not.
BEYOND = ("vanishing", "beyond")
#: The scales of the tiny and the huge one in single precision.
SINGLE = {
    "tiny": DEFINITE * 2.0**-36, "huge": DEFINITE * 2.0**36,
    "vanishing": DEFINITE * 2.0**-116, "beyond": DEFINITE * 2.0**116,
}  # fmt: skip
DIRECTION = rounded(RNG.normal(size=(3, 3)))
OTHER = rounded(RNG.normal(size=(3, 3)) + np.eye(3))
SIDE = rounded(RNG.normal(size=(3, 2)))


# -- mpmath's functions, of arrays of its numbers ---------------------------------------------------


def matrix(a: Any) -> Any:
    return mpmath.matrix(np.asarray(a).tolist())


def array(m: Any) -> Any:
    return np.array(m.tolist(), object)


def number(a: Any) -> Any:
    return np.vectorize(mpmath.mpf, otypes=[object])(a)


def inverse(a: Any) -> Any:
    return array(mpmath.inverse(matrix(a)))


def symmetric(a: Any) -> Any:
    return (a + a.T) / 2


def of_lower(a: Any) -> Any:
    return np.tril(a) + np.tril(a, -1).T


def eigenvalues(a: Any) -> Any:
    return np.array(list(mpmath.eigsy(matrix(of_lower(symmetric(a))), eigvals_only=True)), object)


def singular_values(a: Any) -> Any:
    return np.array(list(mpmath.svd_r(matrix(a), compute_uv=False)), object)


def lower_factor(a: Any) -> Any:
    """Cholesky's: mpmath's own takes small pivots for zeros."""
    a, factor = symmetric(a), a * 0
    for j in range(3):
        square = a[j, j] - (factor[j, :j] ** 2).sum()
        if square <= 0:
            raise ValueError("not positive definite")
        factor[j, j] = mpmath.sqrt(square)
        for i in range(j + 1, 3):
            factor[i, j] = (a[i, j] - (factor[i, :j] * factor[j, :j]).sum()) / factor[j, j]
    return factor


def positive_triangle(x: Any) -> Any:
    """R of the QR factorization with a positive diagonal."""
    r = L.qr(x).R
    return tj.sign(L.diagonal(r))[:, None] * r


def determinant(a: Any) -> Any:
    return a[0] @ np.cross(a[1], a[2])


def function(by: Callable[[Any], Any]) -> Exact:
    def apply(a: Any) -> Any:
        result = by(matrix(a))
        return np.vectorize(mpmath.re, otypes=[object])(array(result))

    return apply


def eigenvectors_squared(a: Any) -> Any:
    return array(mpmath.eigsy(matrix(of_lower(symmetric(a))))[1]) ** 2


def polar_factor(a: Any) -> Any:
    u, _, vh = mpmath.svd_r(matrix(a))
    return array(u * vh)


def pseudoinverse(a: Any) -> Any:
    u, s, vh = mpmath.svd_r(matrix(a))
    inverted = [0 if x <= mpmath.mpf(10) ** -13 * s[0] else 1 / x for x in s]
    return array(vh.T * mpmath.diag(inverted) * u.T)


def sylvester(a: Any, q: Any) -> Any:
    eye = number(np.eye(3))
    return array(
        mpmath.lu_solve(matrix(np.kron(a, eye) + np.kron(eye, a.T)), matrix(q.reshape(-1, 1)))
    ).reshape(3, 3)


def without_pivots(a: Any) -> Any:
    """L and U of a matrix whose rows stay in order."""
    u, low = a.copy(), number(np.eye(3))
    for j in range(3):
        for i in range(j + 1, 3):
            low[i, j] = u[i, j] / u[j, j]
            u[i] = u[i] - low[i, j] * u[j]
    return low, u


def pivoted(a: Any) -> Any:
    """L U of rows in the order that partial pivoting takes, by rows in one matrix."""
    a = a.copy()
    for j in range(3):
        row = max(range(j, 3), key=lambda i: abs(a[i, j]))
        a[[j, row]] = a[[row, j]]
        for i in range(j + 1, 3):
            a[i, j] = a[i, j] / a[j, j] if a[j, j] else a[i, j] * 0
            a[i, j + 1 :] = a[i, j + 1 :] - a[i, j] * a[j, j + 1 :]
    return a


def toeplitz_of(column: Any, row: Any) -> Any:
    return np.array([[column[i - j] if i >= j else row[j - i] for j in range(3)] for i in range(3)], object)


def banded(a: Any, below: int, above: int) -> Any:
    zero = mpmath.mpf(0)
    return np.array(
        [[a[above + i - j, j] if -above <= i - j <= below else zero for j in range(3)] for i in range(3)],
        object,
    )


def p_norm(a: Any, p: Any) -> Any:
    return (abs(a) ** mpmath.mpf(p)).sum() ** (1 / mpmath.mpf(p))


# -- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A function of matrices, here and in mpmath."""

    ours: Callable[[Any], Any]
    exact: Exact
    #: Points where NaN stands for what there is: the order from which on it does. From order 0 on, the value
    #: is open, too.
    undetermined: dict[str, int] = None  # type: ignore[assignment]
    #: Points where there is no derivative and a number stands for it (docs/linalg.md), by point.
    convention: tuple[str, ...] = ()
    #: The roundings that are allowed beside those that inputs bring.
    roundings: float = 64.0
    #: Points where the value is open, and slopes are not.
    beyond: tuple[str, ...] = ()


def row(ours: Any, exact: Any, convention: Any = (), roundings: float = 64.0, **undetermined: int) -> Row:
    return Row(ours, exact, undetermined, tuple(convention), roundings)


def norm(ours: Any, exact: Any, convention: Any, roundings: float = 64.0) -> Row:
    """A row of a root of a sum of powers."""
    open_values = dict.fromkeys(("tiny", "huge", *BEYOND), 0)
    return Row(ours, exact, open_values, tuple(convention), roundings, ("tiny", "huge", *BEYOND))


def herm(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``(v * f(w)) @ v.T``"""

    def apply(x: Any) -> Any:
        w, v = L.eigh((x + x.mT) / 2)
        return (v * f(w)) @ v.mT

    return apply


def reassembled(x: Any) -> Any:
    u, s, vh = L.svd(x)
    return (u * s) @ vh


EQUAL = {"identity": 1, "zero": 1, "repeated": 1}
#: Matrices whose last pivot is 0 or a rounding, according to the order of operations.
NEARLY_SINGULAR = ("singular",)
EQUAL_SECOND = {"identity": 2, "zero": 2, "repeated": 2}
TABLE: dict[str, Row] = {
    "linalg.det": row(L.det, determinant),
    "linalg.slogdet": row(
        lambda x: L.slogdet(x).logabsdet, lambda a: mpmath.log(abs(determinant(a))), ["zero", "singular"]
    ),
    "linalg.inv": row(L.inv, inverse, convention=NEARLY_SINGULAR),
    "linalg.solve": row(
        lambda x: L.solve(x, SIDE), lambda a: inverse(a) @ number(SIDE), convention=NEARLY_SINGULAR
    ),
    "linalg.solve, of the right side": row(
        lambda x: L.solve(OTHER, x @ x), lambda a: inverse(number(OTHER)) @ a @ a
    ),
    "linalg.tensorsolve": row(
        lambda x: L.tensorsolve(x, SIDE[:, 0]),
        lambda a: inverse(a) @ number(SIDE[:, 0]),
        convention=NEARLY_SINGULAR,
    ),
    "linalg.tensorinv": row(lambda x: L.tensorinv(x, 1), inverse, convention=NEARLY_SINGULAR),
    "linalg.matrix_power": row(lambda x: L.matrix_power(x, 3), lambda a: a @ a @ a),
    "linalg.matrix_power, -2": row(
        lambda x: L.matrix_power(x, -2), lambda a: inverse(a @ a), convention=NEARLY_SINGULAR
    ),
    "linalg.cholesky": row(lambda x: L.cholesky((x + x.mT) / 2), lower_factor, convention=NEARLY_SINGULAR),
    "linalg.qr": row(positive_triangle, lambda a: lower_factor(a.T @ a).T, zero=0, singular=0),
    "linalg.eigvalsh": row(lambda x: L.eigvalsh((x + x.mT) / 2), eigenvalues, EQUAL),
    "linalg.eigvalsh, cubes": row(
        lambda x: (L.eigvalsh((x + x.mT) / 2) ** 3).sum(),
        lambda a: np.trace(symmetric(a) @ symmetric(a) @ symmetric(a)),
        **EQUAL_SECOND,
    ),
    "linalg.eigh": row(
        lambda x: L.eigh((x + x.mT) / 2).eigenvectors ** 2,
        eigenvectors_squared,
        roundings=512.0,
        **dict.fromkeys(EQUAL, 0),
    ),
    "linalg.eigh, of squares": row(
        herm(lambda w: w * w), lambda a: symmetric(a) @ symmetric(a), roundings=512.0, **EQUAL
    ),
    "linalg.eigh, of values": row(herm(lambda w: w), symmetric, roundings=512.0, **EQUAL),
    "linalg.eigvals": row(
        lambda x: (L.eigvals(x) ** 2).real.sum(),
        lambda a: np.trace(a @ a),
        **EQUAL_SECOND,
        defective=1,
        roundings=512.0,
    ),
    "linalg.eig": row(
        lambda x: (L.eig(x).eigenvalues ** 2).real.sum(),
        lambda a: np.trace(a @ a),
        **EQUAL_SECOND,
        defective=1,
        roundings=512.0,
    ),
    "linalg.svdvals": row(L.svdvals, singular_values, [*EQUAL, "singular"]),
    "linalg.svdvals, squares": row(
        lambda x: (L.svdvals(x) ** 2).sum(), lambda a: (a * a).sum(), **EQUAL_SECOND, singular=2
    ),
    "linalg.svd": row(reassembled, lambda a: a, **EQUAL, singular=2),
    "linalg.pinv": row(L.pinv, pseudoinverse, ["zero", "singular"], **dict.fromkeys(EQUAL, 3)),
    "linalg.lstsq": row(
        lambda x: L.lstsq(x, SIDE).x, lambda a: pseudoinverse(a) @ number(SIDE), ["zero", "singular"]
    ),
    "linalg.norm": norm(L.norm, lambda a: p_norm(a, 2), ["zero"]),
    "linalg.norm, 3": norm(lambda x: L.norm(x.reshape(-1), 3), lambda a: p_norm(a, 3), ["zero"]),
    "linalg.norm, 4": norm(lambda x: L.norm(x.reshape(-1), 4), lambda a: p_norm(a, 4), ["zero"]),
    "linalg.norm, 1.5": norm(
        lambda x: L.norm(x.reshape(-1), 1.5),
        lambda a: p_norm(a, 1.5),
        ["zero", "identity", "defective"],
    ),
    "linalg.norm, 0.5": norm(
        lambda x: L.norm(x.reshape(-1), 0.5), lambda a: p_norm(a, 0.5), ["zero", "identity", "defective"]
    ),
    "linalg.norm, -1": norm(
        lambda x: L.norm(x.reshape(-1), -1), lambda a: p_norm(a, -1), ["zero", "identity", "defective"]
    ),
    "linalg.norm, -3": norm(
        lambda x: L.norm(x.reshape(-1), -3), lambda a: p_norm(a, -3), ["zero", "identity", "defective"]
    ),
    "linalg.norm, nuc": row(
        lambda x: L.norm(x, "nuc"),
        lambda a: singular_values(a).sum(),
        ["zero", "singular"],
        **EQUAL_SECOND,
        singular=2,
    ),
    "linalg.matrix_norm": row(
        lambda x: L.matrix_norm(x, ord=2), lambda a: singular_values(a).max(), EQUAL, repeated=2
    ),
    "linalg.matrix_norm, 1": row(
        lambda x: L.matrix_norm(x, ord=1),
        lambda a: abs(a).sum(axis=0).max(),
        ["identity", "zero", "repeated", "defective"],
    ),
    "linalg.vector_norm": norm(L.vector_norm, lambda a: p_norm(a, 2), ["zero"]),
    "linalg.vector_norm, squared": row(lambda x: L.vector_norm(x) ** 2, lambda a: (a * a).sum(), zero=2),
    "linalg.cond": row(
        L.cond,
        lambda a: singular_values(a).max() / singular_values(a).min(),
        [*EQUAL, "singular"],
        singular=0,
    ),
    "linalg.matmul": row(lambda x: L.matmul(x, x), lambda a: a @ a),
    "linalg.multi_dot": row(lambda x: L.multi_dot([x, OTHER, x]), lambda a: a @ number(OTHER) @ a),
    "linalg.outer": row(lambda x: L.outer(x[0], x[1]), lambda a: np.outer(a[0], a[1])),
    "linalg.tensordot": row(lambda x: L.tensordot(x, x, axes=2), lambda a: (a * a).sum()),
    "linalg.vecdot": row(lambda x: L.vecdot(x, x), lambda a: (a * a).sum(axis=-1)),
    "linalg.cross": row(lambda x: L.cross(x[0], x[1]), lambda a: np.cross(a[0], a[1])),
    "linalg.trace": row(lambda x: L.trace(x @ x), lambda a: np.trace(a @ a)),
    "linalg.diagonal": row(lambda x: L.diagonal(x @ x), lambda a: np.diagonal(a @ a)),
    "linalg.matrix_transpose": row(lambda x: L.matrix_transpose(x) @ x, lambda a: a.T @ a),
    "scipy.linalg.expm": row(lambda x: S.expm(x), function(mpmath.expm)),
    "scipy.linalg.expm_frechet": row(
        lambda x: S.expm_frechet(x, OTHER)[1],
        lambda a: function(mpmath.expm)(np.block([[a, number(OTHER)], [a * 0, a]]))[:3, 3:],
        roundings=256.0,
    ),
    "scipy.linalg.sqrtm": row(S.sqrtm, function(mpmath.sqrtm), ["zero", "singular"], zero=0, singular=0),
    "scipy.linalg.logm": row(
        S.logm, function(mpmath.logm), roundings=1024.0, convention=["singular"], singular=0
    ),
    "scipy.linalg.polar": row(lambda x: S.polar(x)[0], polar_factor, singular=0, zero=0),
    "scipy.linalg.cholesky": row(
        lambda x: S.cholesky((x + x.mT) / 2), lambda a: lower_factor(a).T, convention=NEARLY_SINGULAR
    ),
    "scipy.linalg.cho_factor": row(
        lambda x: S.cho_factor((x + x.mT) / 2, lower=True)[0], lower_factor, convention=NEARLY_SINGULAR
    ),
    "scipy.linalg.cho_solve": row(
        lambda x: S.cho_solve(S.cho_factor((x + x.mT) / 2), SIDE),
        lambda a: inverse(lower_factor(a) @ lower_factor(a).T) @ number(SIDE),
        convention=NEARLY_SINGULAR,
    ),
    "scipy.linalg.lu": row(
        lambda x: S.lu(x)[2],
        lambda a: np.triu(pivoted(a)),
        ["identity", "zero", "repeated", "singular", "defective"],
        zero=1,
    ),
    "scipy.linalg.lu_factor": row(
        lambda x: S.lu_factor(x)[0],
        pivoted,
        ["identity", "zero", "singular", "defective", "repeated"],
        zero=1,
    ),
    "scipy.linalg.lu_solve": row(
        lambda x: S.lu_solve(S.lu_factor(x), SIDE),
        lambda a: inverse(a) @ number(SIDE),
        convention=NEARLY_SINGULAR,
    ),
    "scipy.linalg.solve_triangular": row(
        lambda x: S.solve_triangular(x, SIDE), lambda a: inverse(np.triu(a)) @ number(SIDE)
    ),
    "scipy.linalg.solve_sylvester": row(
        lambda x: S.solve_sylvester(x, x, OTHER),
        lambda a: sylvester(a, number(OTHER)),
        convention=["zero", "singular"],
    ),
    "scipy.linalg.solve_banded": row(
        lambda x: S.solve_banded((1, 1), x[[1, 0, 2]], SIDE),
        lambda a: inverse(banded(a[[1, 0, 2]], 1, 1)) @ number(SIDE),
    ),
    "scipy.linalg.solveh_banded": row(
        lambda x: S.solveh_banded(x[:1] ** 2 + 1, SIDE),
        lambda a: inverse(np.diag(a[0] ** 2 + 1) + number(np.zeros((3, 3)))) @ number(SIDE),
    ),
    "scipy.linalg.solve_toeplitz": row(
        lambda x: S.solve_toeplitz((x[:, 0], x[0]), SIDE),
        lambda a: inverse(toeplitz_of(a[:, 0], a[0])) @ number(SIDE),
    ),
    "scipy.linalg.toeplitz": row(
        lambda x: S.toeplitz(x[0], x[1]) ** 2, lambda a: toeplitz_of(a[0], a[1]) ** 2
    ),
    "scipy.linalg.hankel": row(
        lambda x: S.hankel(x[0], x[1]) ** 2,
        lambda a: (
            np.array(
                [[a[0][i + j] if i + j < 3 else a[1][i + j - 2] for j in range(3)] for i in range(3)], object
            )
            ** 2
        ),
    ),
    "scipy.linalg.circulant": row(
        lambda x: S.circulant(x[0]) ** 2,
        lambda a: np.array([[a[0][(i - j) % 3] for j in range(3)] for i in range(3)], object) ** 2,
    ),
    "scipy.linalg.block_diag": row(
        lambda x: S.block_diag(x, x) ** 2, lambda a: np.block([[a, a * 0], [a * 0, a]]) ** 2
    ),
}
#: Public functions that have no row, and why.
LEFT_OUT = {
    "linalg.LinAlgError": "an error",
    "linalg.matrix_rank": "an integer: test_values.py",
    "scipy.linalg.ldl": "its pivots are LAPACK's: test_schur_and_ldl.py",
    "scipy.linalg.schur": "its form is LAPACK's: test_schur_and_ldl.py",
}  # fmt: skip
