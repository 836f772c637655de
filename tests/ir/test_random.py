"""Threefry-2x32 with 20 rounds against the answers published with Random123, in every way it can be run."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.support import function_of, interpret, native
from tracejit.base.errors import DTypeError
from tracejit.ir.ops.random import threefry_of_ints
from tracejit.ir.registry import OPS
from tracejit.runtime.executable import Executable

#: key, counter, result: "threefry2x32 20" in Random123's kat_vectors, word 0 as the high half.
KNOWN = [
    (0x0000000000000000, 0x0000000000000000, 0x6B20015999BA4EFE),
    (0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x1CB996FCBB002BE7),
    (0x13198A2E03707344, 0x243F6A8885A308D3, 0xC4923A9C483DF7A0),
]
EVAL = OPS["threefry"].eval


def u64(value):
    return np.array(value, np.uint64)


@pytest.mark.parametrize(("key", "counter", "result"), KNOWN)
def test_known_answers(key, counter, result):
    assert threefry_of_ints(key, counter) == result
    for shape in [(), (1,), (3,), (37,), (2, 50)]:
        keys, counters = (np.full(shape, word, np.uint64) for word in (key, counter))
        function = function_of("f", [keys, counters], lambda b, k, c: b.threefry(k, c))
        assert np.all(EVAL(keys, counters) == u64(result))
        assert np.all(interpret(function, [keys, counters])[0] == u64(result))
        assert np.all(native(function, [keys, counters])[0] == u64(result))


def test_numpy_meaning_broadcasts_without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        words = EVAL(u64(2**64 - 1), u64(2**64 - 1))
        assert words.shape == ()
        assert words.dtype == np.uint64
        many = EVAL(u64(2**64 - 1), np.arange(40_000, dtype=np.uint64))
        assert [int(many[i]) for i in (0, 16_383, 16_384, 39_999)] == [
            threefry_of_ints(2**64 - 1, i) for i in (0, 16_383, 16_384, 39_999)
        ]
        table = EVAL(np.arange(3, dtype=np.uint64)[:, None], np.arange(50, dtype=np.uint64))
        assert table.shape == (3, 50)
        assert int(table[2, 49]) == threefry_of_ints(2, 49)
        assert EVAL(u64([]), u64(3)).shape == (0,)
        assert EVAL(np.arange(50, dtype=np.uint64)[::-2], u64(7)).tolist() == [
            threefry_of_ints(i, 7) for i in range(49, -1, -2)
        ]


@pytest.mark.parametrize("bad", [np.arange(3), np.ones(3), np.ones(3, np.uint32), True, 1.5])
def test_other_dtypes_are_refused(bad):
    with pytest.raises(DTypeError, match="threefry: expected operands of dtype uint64"):
        EVAL(bad, u64(1))


def test_it_fuses_with_its_neighbours():
    """Bits, shift and scaling are one kernel, and no element is left to NumPy."""
    key, counters = u64(5), np.arange(1000, dtype=np.uint64)

    def build(b, k, c):
        return b.mul(b.cast(b.shift_right(b.threefry(k, c), 11), dtype=np.dtype(np.float64)), 2.0**-53)

    function = function_of("uniform", [key, counters], build)
    executable = Executable(function)
    assert len(executable.module.kernels) == 1
    assert executable.not_lowered == []
    assert np.array_equal(executable([key, counters])[0], interpret(function, [key, counters])[0])
