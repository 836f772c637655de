"""Constants under NumPy's names: dtypes, ``newaxis`` and the array class; the Array API's version."""

from __future__ import annotations

from typing import Final

from ..ir.dtypes import BY_NAME
from ..tensors.tensor import Tensor

__array_api_version__: Final = "2024.12"

bool_: Final = BY_NAME["bool"]
int8, int16, int32, int64 = (BY_NAME[f"i{bits}"] for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (BY_NAME[f"u{bits}"] for bits in (8, 16, 32, 64))
float16, float32, float64 = (BY_NAME[f"f{bits}"] for bits in (16, 32, 64))
complex64, complex128 = BY_NAME["c64"], BY_NAME["c128"]

newaxis = None
ndarray = Tensor
