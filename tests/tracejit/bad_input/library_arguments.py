"""Arguments of linear algebra, Fourier transforms, convolutions and special functions, by their name."""

from __future__ import annotations

from typing import Any

import numpy as np

#: A matrix that is positive definite, and so has every factorization; a vector; complex numbers.
A = np.array([[2.0, 0.5, 0.25], [0.5, 1.5, 0.125], [0.25, 0.125, 1.0]])
V = np.array([0.5, 0.25, 0.75])
Z = np.array([[1.0 + 0.5j, 2.0, 0.5j], [0.25, 1.0 - 1.0j, 0.5], [1.0, 0.5, 2.0 + 1.0j]])
_FACTOR = np.linalg.cholesky(A)
_LINE = {"a": Z, "n": 4, "axis": 0, "norm": "ortho"}
_SEVERAL = {"a": Z, "s": (4, 2), "axes": (0, 1), "norm": "forward"}
_COSINES = {"x": A, "type": 2, "n": 4, "axis": 0, "norm": "ortho", "orthogonalize": False}
_CONVOLUTION = {"in1": V, "in2": V, "mode": "same", "method": "fft"}
_FLAGS = {"check_finite": True}
_TRANSFORMS: dict[str, Any] = {
    **dict.fromkeys(("fft", "ifft", "irfft", "hfft"), _LINE),
    **{name: {**_LINE, "a": A} for name in ("rfft", "ihfft")},
    **dict.fromkeys(("fft2", "ifft2", "irfft2", "fftn", "ifftn", "irfftn"), _SEVERAL),
    **{name: {**_SEVERAL, "a": A} for name in ("rfft2", "rfftn")},
    **{name: {"n": 5, "d": 0.5, "dtype": "float64"} for name in ("fftfreq", "rfftfreq")},
    **{name: {"x": A, "axes": 0} for name in ("fftshift", "ifftshift")},
}
_SPECIAL: dict[str, Any] = {
    "betaincinv": {"a": V, "b": V, "y": V},
    "comb": {"N": 5, "k": 2, "exact": False, "repetition": True},
    "eval_legendre": {"n": 2, "x": V},
    "expn": {"n": 2, "x": V},
    "factorial": {"n": 3, "exact": False},
    "hyp2f1": {"a": V, "b": V, "c": V + 1.0, "z": V},
    "lambertw": {"z": V, "k": 0},
    "lpmv": {"m": 1, "v": 2, "x": V},
    "logsumexp": {"a": A, "axis": 0, "b": A, "keepdims": True, "return_sign": True},
    "multigammaln": {"a": V + 2.0, "d": 2},
    "polygamma": {"n": 1, "x": V},
    "zeta": {"x": V + 2.0, "q": V},
    **{name: {"x": A, "axis": 0} for name in ("softmax", "log_softmax")},
    **{name: {"m": V} for name in ("ellipe", "ellipk")},
    **{name: {"y": V} for name in ("erfinv", "erfcinv", "ndtri")},
    **{name: {"a": V, "y": V} for name in ("gammaincinv", "gammainccinv")},
    **{name: {"v": 0.5, "x": V} for name in ("iv", "ive", "jv", "kv", "kve")},
    "spence": {"z": V},
    "sph_harm": {"m": 1, "n": 2, "theta": V, "phi": V + 0.5},
    "sph_harm_y": {"n": 2, "m": 1, "theta": V, "phi": V + 0.5},
    "sph_legendre_p": {"n": 2, "m": 1, "theta": V},
}
OF_LIBRARIES: dict[str, Any] = {
    "linalg.cholesky": {"a": A, "upper": True, "on_error": "nan"},
    "linalg.cond": {"x": A, "p": 2},
    "linalg.diagonal": {"x": A, "offset": 0},
    "linalg.eigh": {"a": A, "UPLO": "L"},
    "linalg.eigvalsh": {"a": Z + Z.conj().T, "UPLO": "U"},
    "linalg.lstsq": {"a": A, "b": A, "rcond": 1e-9},
    "linalg.matrix_norm": {"x": A, "keepdims": True, "ord": "nuc"},
    "linalg.matrix_power": {"a": A, "n": -2},
    "linalg.matrix_rank": {"A": A, "hermitian": True, "rtol": 1e-9},
    "linalg.multi_dot": {"arrays": [A, A, A]},
    "linalg.norm": {"x": Z, "ord": 2, "axis": (0, 1), "keepdims": True},
    "linalg.pinv": {"a": A, "hermitian": False, "rtol": 1e-9},
    "linalg.qr": {"a": A, "mode": "complete"},
    "linalg.solve": {"a": Z, "b": A},
    "linalg.svd": {"a": A, "full_matrices": True, "compute_uv": True, "hermitian": False},
    "linalg.tensorinv": {"a": np.eye(4).reshape(2, 2, 2, 2), "ind": 2},
    "linalg.tensorsolve": {"a": np.eye(4).reshape(2, 2, 2, 2), "b": A[:2, :2], "axes": None},
    "linalg.trace": {"x": A, "offset": 0, "dtype": "float64"},
    "linalg.vecdot": {"x": Z, "y": Z, "axis": 0},
    "linalg.vector_norm": {"x": A, "axis": 0, "keepdims": True, "ord": 3},
    **{f"linalg.{name}": {"a": A} for name in ("det", "eig", "eigvals", "inv", "slogdet")},
    "scipy.linalg.block_diag": {"arrs": (A, V)},
    "scipy.linalg.cho_factor": {"a": A, "lower": True, "overwrite_a": False, **_FLAGS},
    "scipy.linalg.cho_solve": {"c_and_lower": (_FACTOR, True), "b": A, "overwrite_b": False, **_FLAGS},
    "scipy.linalg.cholesky": {"a": A, "lower": True, "overwrite_a": False, **_FLAGS},
    "scipy.linalg.circulant": {"c": V},
    "scipy.linalg.expm": {"A": A},
    "scipy.linalg.expm_frechet": {"A": A, "E": A, "compute_expm": True},
    **{f"scipy.linalg.{name}": {"c": V, "r": V} for name in ("hankel", "toeplitz")},
    **{f"scipy.linalg.{name}": {"A": A} for name in ("logm", "sqrtm")},
    "scipy.linalg.ldl": {"A": A, "lower": True, "hermitian": True, "overwrite_a": False, **_FLAGS},
    "scipy.linalg.schur": {"a": A, "output": "complex", "overwrite_a": False, "sort": None, **_FLAGS},
    "scipy.linalg.lu": {"a": A, "permute_l": False, "overwrite_a": False, "p_indices": True, **_FLAGS},
    "scipy.linalg.lu_factor": {"a": A, "overwrite_a": False, **_FLAGS},
    "scipy.linalg.lu_solve": {
        "lu_and_piv": (A, np.array([0, 1, 2])), "b": A, "trans": 1, "overwrite_b": False, **_FLAGS,
    },
    "scipy.linalg.polar": {"a": A, "side": "left"},
    "scipy.linalg.solve_banded": {
        "l_and_u": (1, 1), "ab": A, "b": V, "overwrite_ab": False, "overwrite_b": False, **_FLAGS,
    },
    "scipy.linalg.solve_sylvester": {"a": A, "b": A, "q": A},
    "scipy.linalg.solve_toeplitz": {"c_or_cr": (V + 1.0, V + 1.0), "b": A, **_FLAGS},
    "scipy.linalg.solve_triangular": {
        "a": A, "b": A, "trans": "T", "lower": True, "unit_diagonal": True, "overwrite_b": False, **_FLAGS,
    },
    "scipy.linalg.solveh_banded": {
        "ab": np.array([[0.0, 0.25, 0.25], [2.0, 2.0, 2.0]]), "b": V, "overwrite_ab": False,
        "overwrite_b": False, "lower": False, **_FLAGS,
    },
    **{f"{module}.{name}": row for module in ("fft", "scipy.fft") for name, row in _TRANSFORMS.items()},
    **{f"scipy.fft.{name}": _COSINES for name in ("dct", "idct", "dst", "idst")},
    "scipy.fft.next_fast_len": {"target": 7, "real": True},
    **{f"scipy.signal.{name}": _CONVOLUTION for name in ("convolve", "correlate")},
    "scipy.signal.choose_conv_method": {"in1": V, "in2": V, "mode": "same"},
    "scipy.signal.fftconvolve": {"in1": A, "in2": A, "mode": "full", "axes": 0},
    **{f"scipy.special.{name}": row for name, row in _SPECIAL.items()},
    "emath.logn": {"n": 2.0, "x": V},
    "emath.power": {"x": V, "p": 0.5},
}  # fmt: skip
