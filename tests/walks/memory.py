"""Arrays that begin or end at a protected page: an access beside them ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: PROT_NONE and PROT_READ | PROT_WRITE of <sys/mman.h>.
_NONE, _BOTH = 0, 3
#: The byte that fills memory before results are written: a float that nobody computes, an index far off.
POISON = 0xA5


class GuardedArray:
    """Memory for one contiguous array, which ends at a protected page, or begins behind one.

    On its other side is a rest of a page, which is read without harm; `check` tells whether it was written.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], at_end: bool) -> None:
        page = mmap.PAGESIZE
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        room = -(-max(nbytes, 1) // page) * page
        self._map = mmap.mmap(-1, room + 2 * page)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        _protect(base, page, _NONE)
        _protect(base + page + room, page, _NONE)
        offset = page + (room - nbytes if at_end else 0)
        self._rest = np.frombuffer(self._map, np.uint8, room - nbytes, page if at_end else page + nbytes)
        self._rest[...] = POISON
        self.array: Array = np.ndarray(shape, dtype, self._map, offset)
        self._bytes = np.frombuffer(self._map, np.uint8, nbytes, offset)

    def poison(self) -> None:
        """Forget what is in the array."""
        self._bytes[...] = POISON

    def holds(self, array: Array) -> bool:
        """Whether its bytes are those of `array`."""
        return np.array_equal(self._bytes, np.ravel(array).view(np.uint8))

    def check(self) -> bool:
        """Whether nothing was written beside the array."""
        return bool((self._rest == POISON).all())


def guarded(array: Array, at_end: bool) -> GuardedArray:
    """A copy of `array` beside a protected page."""
    memory = GuardedArray(array.shape, array.dtype, at_end)
    memory.array[...] = array
    return memory


def _protect(address: int, nbytes: int, access: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(nbytes), access):
        raise OSError(ctypes.get_errno(), "mprotect failed")
