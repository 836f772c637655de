"""Matrix factorizations: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..array.operands import cast, real_where_known, run
from ..base.errors import AttributeValueError
from ..ir.dtypes import FLOAT64, complex_dtype, result_type
from ..tensors.tensor import Tensor
from .failures import decomposed, on_failure
from .operands import adjoint, matrices, several, square_matrices


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Tensor
    R: Tensor


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def cholesky(a: Any, /, *, upper: bool = False, on_error: str | None = None) -> Tensor:
    """The lower triangular L with L Lᴴ = a, or with `upper` the upper triangular U with Uᴴ U = a.

    Just that triangle of `a` is read; the gradient is symmetric, as if (a + aᴴ) / 2 were factored. With
    ``on_error="nan"`` a matrix that is not positive definite gives NaN, without an error and for it alone;
    unless given, it is as ``tj.errstate(linalg=...)`` says.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
        tensor([[2., 0.],
                [1., 2.]])

    Raises LinAlgError where a matrix is not positive definite. Semantics: ``numpy.linalg.cholesky``.
    """
    name = "linalg.cholesky"
    if on_error not in (None, "raise", "nan"):
        raise AttributeValueError(f"{name}: on_error must be 'raise' or 'nan', got {on_error!r}")
    x = square_matrices(name, a)
    factor = run("cholesky", adjoint(x) if upper else x, on_error=on_error or on_failure())
    return adjoint(factor) if upper else factor


def qr(a: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R, with Q R = a.

    `mode` is "reduced", "complete" (Q is square) or "r" (R alone). The gradient needs independent columns (of
    wide matrices, independent leading ones). "raw", LAPACK's own form, is not there.

    Example:
        >>> import tracejit as tj
        >>> q, r = tj.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
        >>> abs(r)
        tensor([[5. , 2.2],
                [0. , 0.4]])

    Raises LinAlgError for rank 0 and 1. Semantics: ``numpy.linalg.qr``.
    """
    name = "linalg.qr"
    if mode not in ("reduced", "complete", "r"):
        raise AttributeValueError(f"{name}: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    x = matrices(name, a)
    return run("qr", x, mode="r") if mode == "r" else QRResult(*several("qr", x, mode=mode))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """U, S and Vh with a = U diag(S) Vh; S is in descending order.

    With `full_matrices`, U and Vh are square. Without `compute_uv` it is `svdvals`. `hermitian` promises
    that `a` is, which is not made use of. Vectors of equal singular values are not determined: gradients
    are right for results that do not depend on the choice.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.svd([[3.0, 0.0], [0.0, 4.0]]).S
        tensor([4., 3.])

    Raises LinAlgError where it does not converge, as with NaN. Semantics: ``numpy.linalg.svd``.
    """
    x = matrices("linalg.svd", a)
    if not compute_uv:
        return decomposed("svdvals", x)[0]
    return SVDResult(*decomposed("svd", x, full_matrices=bool(full_matrices)))


def svdvals(x: Any, /) -> Tensor:
    """The singular values in descending order; no vectors are computed, but for gradients.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.svdvals([[3.0, 0.0], [0.0, 4.0]])
        tensor([4., 3.])

    Raises LinAlgError where it does not converge, as with NaN. Semantics: ``numpy.linalg.svdvals``.
    """
    return decomposed("svdvals", matrices("linalg.svdvals", x, "x"))[0]


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """The eigenvalues of symmetric matrices in ascending order, and eigenvectors as columns.

    Just the triangle `UPLO` is read, lower or upper; the gradient is symmetric, as if (a + aᴴ) / 2 were
    decomposed. Vectors of equal eigenvalues are not determined: gradients are right for results that do not
    depend on the choice.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues
        tensor([1., 3.])

    Raises LinAlgError where it does not converge, as with NaN. Semantics: ``numpy.linalg.eigh``.
    """
    return EighResult(*decomposed("eigh", _lower("linalg.eigh", a, UPLO), lower=True))


def eigvalsh(a: Any, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices in ascending order; no vectors are computed, but for gradients.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]])
        tensor([1., 3.])

    Raises LinAlgError where it does not converge, as with NaN. Semantics: ``numpy.linalg.eigvalsh``.
    """
    return decomposed("eigvalsh", _lower("linalg.eigvalsh", a, UPLO), lower=True)[0]


def eig(a: Any) -> EigResult:
    """The eigenvalues of square matrices, and right eigenvectors as columns of length 1.

    The results are complex, but for real matrices of which all eigenvalues are real and known: under a trace
    they are not, and results are always complex. Gradients are those of vectors with a real largest element,
    as LAPACK gives them; a matrix without a basis of eigenvectors has none.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.eig([[0.0, -4.0], [1.0, 0.0]]).eigenvalues
        tensor([0.+2.j, 0.-2.j])

    Raises LinAlgError for NaN and infinities. Semantics: ``numpy.linalg.eig``.
    """
    x = square_matrices("linalg.eig", a)
    dtype = complex_dtype(x.dtype)
    values, vectors = (cast(result, dtype) for result in decomposed("eig", _wide(x)))
    if x.dtype.kind != "c":
        values, vectors = real_where_known(values, vectors)
    return EigResult(values, vectors)


def eigvals(a: Any) -> Tensor:
    """The eigenvalues of square matrices; no vectors are computed, but for gradients.

    The result is complex as that of `eig` is.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.eigvals([[2.0, 1.0], [0.0, 3.0]])
        tensor([2., 3.])

    Raises LinAlgError for NaN and infinities. Semantics: ``numpy.linalg.eigvals``.
    """
    x = square_matrices("linalg.eigvals", a)
    values = cast(decomposed("eigvals", _wide(x))[0], complex_dtype(x.dtype))
    return values if x.dtype.kind == "c" else real_where_known(values)[0]


def _wide(x: Tensor) -> Tensor:
    """`x` in double precision, in which NumPy computes, so that eigenvalues have the same order."""
    return cast(x, result_type(x.dtype, FLOAT64))


def _lower(name: str, a: Any, triangle: str) -> Tensor:
    """`a` with the triangle that is to be read below."""
    x = square_matrices(name, a)
    if not isinstance(triangle, str) or triangle.upper() not in ("L", "U"):
        raise AttributeValueError(f"{name}: UPLO must be 'L' or 'U', got {triangle!r}")
    return adjoint(x) if triangle.upper() == "U" else x
