"""Tensors as buffers: by the callback of ctypes, which stands in the slot first, and by native code."""

from __future__ import annotations

import gc
import sys
import textwrap

import numpy as np
import pytest

import tracejit as tj
from tests.runtime.programs import python
from tracejit.runtime.native.buffers import SLOTS

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python asks for __buffer__")


@pytest.fixture(params=["callback", "native"])
def way(request):
    slot = SLOTS[0]
    slot.link()
    if request.param == "callback":
        slot.fill()
    yield request.param
    slot._use(slot._libraries[-1])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i1", "u2", "i4", "i8", "?"])
def test_buffers_are_those_of_the_arrays(way, dtype):
    a = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for array in (a, a.T, a[::2, ::-1], a[:, :0], a[0, 0, 0, ...], np.broadcast_to(a, (2, 2, 3, 4))):
        x = tj.asarray(array)
        seen, wanted = memoryview(x), memoryview(array)
        assert (seen.format, seen.shape, seen.strides) == (wanted.format, wanted.shape, wanted.strides)
        assert seen.tobytes() == array.tobytes()
        assert np.shares_memory(np.asarray(x), array) == bool(array.size)


def test_a_buffer_is_written_and_outlives_its_tensor(way):
    x = tj.tensor([1.0, 2.0])
    view = memoryview(x)
    view[0] = 5.0
    assert x.tolist() == [5.0, 2.0]
    del x
    gc.collect()
    assert view.tolist() == [5.0, 2.0]


def test_no_reference_is_kept(way):
    array = np.zeros(3)
    before = sys.getrefcount(array)
    for _ in range(100):
        memoryview(tj.asarray(array)).release()
        np.asarray(tj.asarray(array))
    assert sys.getrefcount(array) == before


def test_read_only_memory_stays_so(way):
    array = np.zeros(3)
    array.flags.writeable = False
    assert memoryview(tj.asarray(array)).readonly
    assert not np.asarray(tj.asarray(array)).flags.writeable


def test_what_has_no_buffer():
    SLOTS[0].link()
    w = tj.ones(2, requires_grad=True)
    with pytest.raises(tj.GradientError, match="requires grad"):
        memoryview(w)
    with pytest.raises(tj.ConcretizationError, match="needs the value of a traced tensor"):
        tj.jit(lambda x: memoryview(x))(tj.ones(2))
    with pytest.raises(AttributeError):
        memoryview(tj.Tensor.__new__(tj.Tensor))


def test_the_first_calls_of_a_process():
    printed = python(
        textwrap.dedent("""
        import tracejit as tj, numpy as np
        assert memoryview(tj.ones(3)).tolist() == [1.0] * 3
        w = tj.ones(2, requires_grad=True)
        for convert in (np.asarray, memoryview):
            try:
                convert(w)
            except tj.GradientError:
                print("refused")
        assert memoryview(w.detach()).tolist() == [1.0] * 2
    """)
    )
    assert printed.split() == ["refused"] * 2
