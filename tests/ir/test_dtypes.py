"""``ir/dtypes.py``: names of dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.ir.dtypes import BY_NAME, as_dtype


@pytest.mark.parametrize("name", ["i1", "i8", "u8", "f4", "f8", "?", "b1", "d", "l", "int64", "bool"])
def test_names_of_numpy_mean_what_they_mean_there(name: str) -> None:
    assert as_dtype(name) is as_dtype(np.dtype(name))
    assert as_dtype(name) == np.dtype(name)


@pytest.mark.parametrize("name", sorted(set(BY_NAME) - {"i8", "u8", "f16"}))
def test_other_names_are_those_of_the_ir(name: str) -> None:
    assert as_dtype(name) is BY_NAME[name]
