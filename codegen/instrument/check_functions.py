"""Functions that check an access: where it would leave its buffer, they return a spare place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..interface import REPORT
from ..llvm.function import Code, Declarations, FunctionCode
from ..llvm.loops import FunctionWriter
from ..llvm.registers import Reg, llvm_type, pointer

#: Memory that is read and written in place of what lies outside a buffer.
TRASH: Final = "check_trash"
TRASH_BYTES: Final = 4096

_PLACE, _BASE = pointer("%p"), pointer("%base")
_EXTENT, _SIZE, _ALIGN, _SITE = [Reg(name, "i64") for name in ("%extent", "%size", "%align", "%site")]
_BUFFER: Final = "ptr %base, i64 %extent, i64 %size, i64 %align, i64 %site"


def check_functions(lanes: Iterable[int], declarations: Declarations) -> Code:
    """The functions of a module that checks accesses, some of them of vectors of `lanes` pointers."""
    return [
        _failed(),
        _good(),
        _check(),
        _copy(),
        _masked(declarations),
        *(_by_lanes(count) for count in sorted(lanes)),
    ]


def _failed() -> FunctionCode:
    """Report a site, with the place and where its buffer begins, unless another one is reported."""
    w = FunctionWriter()

    def report() -> None:
        for number, place in enumerate((_PLACE, _BASE), 1):
            w.store_pointer(place.text, w.offset(f"@{REPORT}", "i64", number))

    w.when(w.compare_exchange(f"@{REPORT}", Reg("0", "i64"), _SITE), report)
    w.ret()
    return w.function("internal void @check_failed(i64 %site, ptr %p, ptr %base)", "nounwind noinline")


def _good() -> FunctionCode:
    """Whether `size` bytes lie in the buffer, aligned; reports the site where not."""
    w = FunctionWriter()
    place, base = _PLACE.text, _BASE.text
    end, past = w.offset(base, "u8", _EXTENT), w.offset(place, "u8", _SIZE)
    outside = w.or_(w.before(place, base), w.or_(w.before(end, place), w.before(end, past)))
    bad = w.or_(outside, w.not_(w.same_place(place, w.aligned_down(place, _ALIGN))))
    w.when(bad, lambda: w.run("check_failed", _SITE, _PLACE, _BASE))
    w.ret(w.not_(bad))
    return w.function(f"internal i1 @check_good(ptr %p, {_BUFFER})", "nounwind")


def _safe(w: FunctionWriter, place: Reg, size: Reg) -> Reg:
    return w.result_of("check_good", "bool", 1, place, _BASE, _EXTENT, size, _ALIGN, _SITE)


def _check() -> FunctionCode:
    """``@check``: the pointer where the access is good, else `TRASH`."""
    w = FunctionWriter()
    w.ret(pointer(w.choose(_safe(w, _PLACE, _SIZE), _PLACE.text, f"@{TRASH}")))
    return w.function(f"internal ptr @check(ptr %p, {_BUFFER})", "nounwind noinline")


def _copy() -> FunctionCode:
    """``@check_copy``: the count of bytes where the access is good, else 0."""
    w, count = FunctionWriter(), Reg("%count", "i64")
    arguments = _PLACE, _BASE, _EXTENT, count, Reg("1", "i64"), _SITE
    w.ret(w.select(w.result_of("check_good", "bool", 1, *arguments), count, 0))
    signature = "internal i64 @check_copy(ptr %p, ptr %base, i64 %extent, i64 %count, i64 %site)"
    return w.function(signature, "nounwind noinline")


def _masked(declarations: Declarations) -> FunctionCode:
    """``@check_masked``: the pointer, or `TRASH`, where only the lanes from the first to the last set bit of
    the mask count."""
    w, mask = FunctionWriter(declarations), Reg("%mask", "i128")
    w.when(w.eq(mask, 0), lambda: w.ret(_PLACE))
    below, above = [
        w.convert("trunc", w.call(f"llvm.{name}.i128", "i128", 1, mask, Reg("true", "bool")), "i64")
        for name in ("cttz", "ctlz")
    ]
    begin = w.offset(_PLACE.text, "i8", w.mul(below, _SIZE))
    nbytes = w.mul(w.sub(w.sub(128, above), below), _SIZE)
    w.ret(pointer(w.choose(_safe(w, pointer(begin), nbytes), _PLACE.text, f"@{TRASH}")))
    return w.function(f"internal ptr @check_masked(ptr %p, {_BUFFER}, i128 %mask)", "nounwind noinline")


def _by_lanes(count: int) -> FunctionCode:
    """``@check_lanes8``: each lane of a gather or scatter by itself."""
    w, places, mask = FunctionWriter(), Reg("%p", "ptr", count), Reg("%mask", "bool", count)

    def check(lane: Reg, checked: list[Reg]) -> Sequence[Reg]:
        def looked_at() -> list[Reg]:
            place = w.arrange("extractelement", "ptr", 1, places, lane)
            safe = w.result_of("check", "ptr", 1, place, _BASE, _EXTENT, _SIZE, _ALIGN, _SITE)
            return [w.arrange("insertelement", "ptr", count, *checked, safe, lane)]

        return w.when(w.arrange("extractelement", "bool", 1, mask, lane), looked_at, checked)

    w.ret(*w.loop(0, count, 1, check, [places]))
    kind = llvm_type("ptr", count)
    signature = f"internal {kind} @check_lanes{count}({kind} %p, {_BUFFER}, <{count} x i1> %mask)"
    return w.function(signature, "nounwind noinline")
