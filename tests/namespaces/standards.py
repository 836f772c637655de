"""The Array API standard, and the packages of NumPy beside its main namespace."""

from __future__ import annotations

from typing import Final

import numpy as np

from tests.array_api.standard import CONSTANTS, DTYPES, signatures

from .namespace import Namespace

ARRAY_API: Final = Namespace(
    "Array API",
    "the main namespace of 2024.12",
    "tracejit",
    (*signatures(""), *CONSTANTS, *DTYPES),
    {
        "bool": "NumPy's scalar type, which is taken as a dtype; `bool_` is the dtype",
        "broadcast_arrays": "a tuple, as the standard asks from 2025.12 on",
        "finfo": "numbers are NumPy's scalars",
        "floor_divide": "as NumPy's, inf // 2 is nan and 2 // -inf is -1",
        "meshgrid": "a tuple, as the standard asks from 2025.12 on",
    },
    {},
)
NUMPY_LINALG: Final = Namespace(
    "numpy.linalg",
    "NumPy 2.4",
    "tracejit.linalg",
    tuple(np.linalg.__all__),
    {
        **dict.fromkeys(("eig", "eigvals"), "traced, the results are complex whatever the eigenvalues are"),
        "lstsq": "batches too; under `jit` residuals whenever rows are more than columns",
        "qr": 'no `mode="raw"`',
    },
    {},
)
NUMPY_FFT: Final = Namespace(
    "numpy.fft",
    "NumPy 2.4",
    "tracejit.fft",
    tuple(np.fft.__all__),
    {},
    {},
)
