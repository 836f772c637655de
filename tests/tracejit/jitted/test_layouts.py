"""Arguments of every memory layout."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

_BASE = np.arange(1.0, 25.0)


def _misaligned():
    out = np.frombuffer(bytearray(1 + _BASE.nbytes), np.uint8)[1:].view(np.float64)
    out[:] = _BASE
    assert not out.flags.aligned
    return out


def _read_only():
    out = _BASE.copy()
    out.flags.writeable = False
    return out


LAYOUTS = {
    "contiguous": _BASE,
    "strided": np.repeat(_BASE, 2)[::2],
    "reversed": _BASE[::-1],
    "misaligned": _misaligned(),
    "read-only": _read_only(),
    "byte-swapped": _BASE.astype(_BASE.dtype.newbyteorder()),
    "byte-swapped ints": np.arange(24).astype(">i4"),
    "transposed": _BASE.reshape(4, 6).T,
    "fortran": np.asfortranarray(_BASE.reshape(4, 6)),
    "both reversed": _BASE.reshape(4, 6)[::-1, ::-1],
    "field": np.ones(24, [("a", "i1"), ("b", "f8")])["b"],
    "broadcast": np.broadcast_to(np.arange(6.0), (4, 6)),
    "stride 0": np.lib.stride_tricks.as_strided(_BASE, (24,), (0,)),
    "overlapping": np.lib.stride_tricks.as_strided(_BASE, (20, 4), (8, 8)),
    "empty": np.zeros((0, 3)),
    "empty in the middle": np.zeros((3, 0, 2)),
    "rank 0": np.array(2.5),
    "numpy scalar": np.float64(2.5),
    "float32 scalar": np.float32(2.5),
    "int scalar": np.int16(3),
    "bool scalar": np.True_,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    x = LAYOUTS[name]
    before = np.array(x)
    want = np.array(x) * 2 + 1
    f = tj.jit(lambda x: x * 2 + 1)
    if np.shape(x) == (24,) and x.dtype.kind == "f":
        f(_BASE)  # the native entry of this type is there already
    for _ in range(2):
        for argument in (x, tj.asarray(x)):
            out = f(argument)
            assert out.dtype == want.dtype.newbyteorder("=")
            assert out.shape == want.shape
            np.testing.assert_array_equal(out.numpy(), want)
            assert not np.shares_memory(out.numpy(), np.asarray(x))
            total = tj.jit(lambda x: x.sum())(argument)
            assert total.item() == np.asarray(before, np.float64).sum()  # small whole numbers: exact
    np.testing.assert_array_equal(np.asarray(x), before)
