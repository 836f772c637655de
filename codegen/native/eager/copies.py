"""Copies blocks of bytes to places that are a step apart. See `joins`."""

from __future__ import annotations

from ..functions import Bytes, Int, native
from ..writer import NativeWriter


@native()
def copy_blocks(f: NativeWriter, source: Bytes, target: Bytes, times: Int, block: Int, step: Int) -> None:
    """Copy `times` blocks of `block` bytes, which lie one behind the other, to places `step` bytes apart."""

    def copy_each(dtype: str = "") -> None:
        with f.for_(times) as i:
            place, value = target.at(f.mul(i, step)), source.at(f.mul(i, block))
            if dtype:  # blocks of one element: between two of them there is no call
                f.store_unaligned(f.load_unaligned(value, dtype), place)
            else:
                f.copy(place.text, value.text, block)
        f.ret()

    f.switch(block, {8: lambda: copy_each("i64"), 4: lambda: copy_each("i32")})
    copy_each()
