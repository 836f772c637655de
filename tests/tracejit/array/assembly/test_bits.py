"""``tracejit/array/assembly/bits.py``: NumPy's results in every mode, errors."""

from __future__ import annotations

import pytest

import tracejit as tj

from ..agreement import Cases, check
from ..operands import BYTES, INTEGERS, MASK

cases = Cases()
cases("packbits", INTEGERS)
cases("packbits", MASK, axis=1, bitorder="little")
cases("unpackbits", BYTES)
cases("unpackbits", BYTES, axis=0, count=13)
cases("unpackbits", BYTES, axis=1, count=-3, bitorder="little")
cases("packbits", BYTES, axis=0)
cases("unpackbits", BYTES, count=200)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.packbits([1.5]), tj.DTypeError, "bools or integers"),
        (lambda: tj.unpackbits([1]), tj.DTypeError, "must have dtype uint8"),
        (lambda: tj.packbits([1], bitorder="middle"), tj.DomainError, "bitorder must be"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
