"""Memory access over the emitter: a `FunctionWriter` writes one LLVM function as `operations`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from . import strided_reads
from .control_operations import Origins
from .control_writer import Bound as Bound
from .emitter import Emitter
from .function import Declarations
from .operations import (
    AtomicUpdate,
    Clear,
    CompareExchange,
    Compute,
    Copy,
    Fence,
    FunctionCall,
    Load,
    MaskedAccess,
    Offset,
    Slot,
    Store,
)
from .registers import BITS, Number, Reg, constant, memory_type, pointer, suffix


class FunctionWriter(Emitter):
    """Writes one LLVM function from its entry block on."""

    def __init__(self, declarations: Declarations | None = None) -> None:
        super().__init__(declarations)
        self.origins: tuple[int, ...] = ()
        #: Slots with pointers to memory that the function allocates, or null.
        self.held: list[str] = []
        #: Whether minima and maxima of scalar integers are moves under a condition, and no branches: LLVM
        #: takes branches on them for foreseen in loops, and one that is not costs some 20 cycles.
        self.moves_extrema = False

    # -- blocks -----------------------------------------------------------------------------------

    def rounded(self, value: Reg) -> Reg:
        """`value`, just written, rounded as it is: a product that no sum may be joined with."""
        last = self.operations[-1] if self.operations else None
        if isinstance(last, Compute) and last.code == "fmul contract" and last.text == value.text:
            last.code = "fmul"
        return value

    def select(self, condition: Reg, x: Number, y: Number) -> Reg:
        if not (
            self.moves_extrema and isinstance(x, Reg) and isinstance(y, Reg) and _orders(condition, x, y)
        ):
            return super().select(condition, x, y)
        # by its operand LLVM would know a minimum, and forget the hint
        unknown = FunctionCall('asm "", "=r,0"', (x,), self.fresh(), x.dtype)
        self.operations.append(unknown)
        return self.arrange("select", x.dtype, 1, condition, unknown, y, tail=", !unpredictable !{}")

    def for_ops(self, origins: tuple[int, ...]) -> None:
        """Say which traced ops, by number, all that follows is for."""
        if origins != self.origins:
            self.origins = origins
            self.operations.append(Origins(origins))

    # -- memory -----------------------------------------------------------------------------------

    def holder(self) -> str:
        """A slot for a pointer to a block of a stack (`control.loop_records`), and an i64 beside it; both
        0."""
        name = self.fresh("held")
        self.slots.take(Slot(name, "i64", 2, 8))
        self.slots.append(Store(Reg("zeroinitializer", "[2 x i64]"), name, 8))
        self.held.append(name)
        return name

    def free_held(self) -> None:
        """Give back what `holder`s hold: before each return, once the function is written."""
        for slot in self.held:
            self.run("stack_give_back", pointer(self.load_pointer(slot, 8)))

    def slot(self, dtype: str, count: int) -> str:
        """An array of `count` elements, aligned for vectors, on the stack if it has room; returns its
        pointer."""
        return self.slots.take_any(Slot(self.fresh("slot"), memory_type(dtype), max(count, 1), 64))

    def offset(self, pointer: str, dtype: str, elements: Number) -> str:
        """`pointer` moved by `elements` of `dtype`."""
        if isinstance(elements, int) and elements == 0:
            return pointer
        by = elements if isinstance(elements, Reg) else Reg(str(elements), "i64")
        if by.text == "0":
            return pointer
        name = self.fresh("p")
        self.operations.append(Offset(name, memory_type(dtype), pointer, by))
        return name

    def load_pointer(self, place: str, align: int = 0) -> str:
        """The pointer that is stored at `place`."""
        name = self.fresh("p")
        self.operations.append(Load(name, "ptr", 1, place, align))
        return name

    def store_pointer(self, pointer: str, place: str) -> None:
        """Store `pointer` at `place`."""
        self.operations.append(Store(Reg(pointer, "ptr"), place))

    def choose(self, condition: Reg, pointer: str, other: str) -> str:
        """`pointer` where the scalar `condition` holds, else `other`."""
        return self.arrange("select", "ptr", 1, condition, Reg(pointer, "ptr"), Reg(other, "ptr")).text

    def exchange(self, pointer: str, value: Reg, order: str = "acq_rel") -> Reg:
        """Store `value` at `pointer` and return what was there, as one step to other threads."""
        return self.update("xchg", pointer, value, order)

    def load_atomic(self, pointer: str) -> Reg:
        """The i64 at `pointer`, as other threads may just have stored it."""
        result = Load(self.fresh(), "i64", 1, pointer, 8, "monotonic")
        self.operations.append(result)
        return result

    def update(self, code: str, pointer: str, value: Reg, order: str = "seq_cst") -> Reg:
        """Store what ``code`` (add, or) makes of `value` and what is at `pointer`, and return what was there,
        as one step to other threads."""
        result = AtomicUpdate(self.fresh(), code, pointer, value, order)
        self.operations.append(result)
        return result

    def compare_exchange(self, pointer: str, expected: Reg, value: Reg) -> Reg:
        """Store `value` at `pointer` where `expected` is there; whether it was."""
        pair = CompareExchange(self.fresh("pair"), pointer, expected, value)
        self.operations.append(pair)
        return self.arrange("extractvalue", "bool", 1, pair, tail=", 1")

    def fence(self) -> None:
        """Keep loads and stores from moving across this place."""
        self.operations.append(Fence())

    def same_place(self, pointer: str, other: str) -> Reg:
        """Whether two pointers are the same."""
        return self.compute("icmp eq", "bool", 1, Reg(pointer, "ptr"), Reg(other, "ptr"))

    def before(self, pointer: str, other: str) -> Reg:
        """Whether `pointer` comes before `other` in memory."""
        return self.compute("icmp ult", "bool", 1, Reg(pointer, "ptr"), Reg(other, "ptr"))

    def aligned_down(self, pointer: str, to: Number) -> str:
        """`pointer`, or the nearest place before it that is a multiple of `to`, a power of two."""
        index = f"i{self.declarations.address_bits}"
        mask = self.sub(0, to) if isinstance(to, Reg) else constant(-to, index)
        return self.call(f"llvm.ptrmask.p0.{index}", "ptr", 1, Reg(pointer, "ptr"), mask).text

    def load(self, pointer: str, dtype: str, lanes: int = 1, mask: Reg | None = None) -> Reg:
        """Elements from contiguous memory; masked-out lanes are zero."""
        memory = "u8" if dtype == "bool" else dtype
        align = _alignment(memory)
        if mask is None:
            loaded = Load(self.fresh(), memory, lanes, pointer, align)
            self.operations.append(loaded)
            raw: Reg = loaded
        else:
            name, others = (
                f"llvm.masked.load.{suffix(memory, lanes)}.p0",
                Reg("zeroinitializer", memory, lanes),
            )
            self.declare(name, f"{others.type} @{name}(ptr, i32, <{lanes} x i1>, {others.type})")
            raw = self._masked_load(name, Reg(pointer, "ptr"), align, mask, others)
        return self.ne(raw, 0) if dtype == "bool" else raw

    def store(self, value: Reg, pointer: str, mask: Reg | None = None) -> None:
        """Elements to contiguous memory, except masked-out lanes."""
        if value.dtype == "bool":
            value = self.convert("zext", value, "u8")
        align = _alignment(value.dtype)
        if mask is None:
            self.operations.append(Store(value, pointer, align))
            return
        if mask.text.count("true") == 1 and mask.text[0] == "<":
            # LLVM 22 stores one lane of what was truncated as wide as it was before (llvm-project#179489)
            lane = mask.text[: mask.text.index("true")].count(",")
            self.store(self.extract(value, lane), self.offset(pointer, value.dtype, lane))
            return
        name = f"llvm.masked.store.{suffix(value.dtype, value.lanes)}.p0"
        self.declare(name, f"void @{name}({value.type}, ptr, i32, <{value.lanes} x i1>)")
        self._masked_store(name, value, Reg(pointer, "ptr"), align, mask)

    def store_past_cache(self, value: Reg, pointer: str) -> None:
        """Elements to contiguous memory that is aligned to them, without a place in the caches."""
        nbytes = value.lanes * _alignment(value.dtype)
        self.operations.append(Store(value, pointer, nbytes, past_cache=True))

    def _masked_load(self, name: str, pointer: Reg, align: int, mask: Reg, others: Reg) -> Reg:
        """A load by the intrinsic `name`, with `others` where it is masked."""
        arguments = (pointer, Reg(str(align), "i32"), mask, others)
        result = MaskedAccess(
            f"@{name}", arguments, self.fresh(), others.dtype, others.lanes,
            pointer, align, mask, BITS[others.dtype] // 8,
        )  # fmt: skip
        self.operations.append(result)
        return result

    def _masked_store(self, name: str, value: Reg, pointer: Reg, align: int, mask: Reg) -> None:
        """A store by the intrinsic `name`."""
        arguments = (value, pointer, Reg(str(align), "i32"), mask)
        size = BITS[value.dtype] // 8
        self.operations.append(MaskedAccess(f"@{name}", arguments, "", "void", 1, pointer, align, mask, size))

    def prefetch(self, pointer: str, *, near: bool = True, write: bool = False) -> None:
        """Ask for the line at `pointer`, which need not be there, to come to the first cache if `near`, else
        to the second; to be written if `write`."""
        self.declare("llvm.prefetch.p0", "void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        level = Reg("3" if near else "2", "i32")
        self.run("llvm.prefetch.p0", Reg(pointer, "ptr"), Reg(str(int(write)), "i32"), level, Reg("1", "i32"))

    def aligned(self, pointers: Sequence[str], to: int = 64) -> Reg:
        """Whether all of `pointers` are multiples of `to`."""
        tests = [self.same_place(pointer, self.aligned_down(pointer, to)) for pointer in pointers]
        return functools.reduce(self.and_, tests)

    def _lane_pointers(self, pointer: str, dtype: str, places: Reg) -> Reg:
        """Pointers to the elements of `places`, one for each lane."""
        pointers = Offset(self.fresh("g"), memory_type(dtype), pointer, places)
        self.operations.append(pointers)
        return pointers

    def gather(self, pointer: str, dtype: str, stride: int, lanes: int, mask: Reg | None = None) -> Reg:
        """`lanes` elements `stride` apart."""
        if stride == 1:
            return self.load(pointer, dtype, lanes, mask)
        if lanes == 1:
            return self.load(pointer, dtype)
        if stride == 0 and mask is None:
            return self.splat(self.load(pointer, dtype), lanes)
        memory = "u8" if dtype == "bool" else dtype
        if mask is None and strided_reads.pays(stride, lanes):
            raw = self._near(pointer, memory, stride, lanes)
            return self.ne(raw, 0) if dtype == "bool" else raw
        return self.gather_at(pointer, dtype, _steps(stride, lanes), mask)

    def gather_at(self, pointer: str, dtype: str, places: Reg, mask: Reg | None = None) -> Reg:
        """The elements of `places` (i64), one for each lane."""
        lanes = places.lanes
        if lanes == 1:
            return self.load(self.offset(pointer, dtype, places), dtype)
        memory = "u8" if dtype == "bool" else dtype
        pointers = self._lane_pointers(pointer, dtype, places)
        name = f"llvm.masked.gather.{suffix(memory, lanes)}.v{lanes}p0"
        others = Reg("zeroinitializer", memory, lanes)
        self.declare(name, f"{others.type} @{name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {others.type})")
        raw = self._masked_load(name, pointers, _alignment(memory), mask or _all(lanes), others)
        return self.ne(raw, 0) if dtype == "bool" else raw

    def _near(self, pointer: str, dtype: str, stride: int, lanes: int) -> Reg:
        """`lanes` elements a few places apart, by whole vectors; nothing before the first or behind the last
        one is read."""
        step = abs(stride)
        first = pointer if stride > 0 else self.offset(pointer, dtype, (lanes - 1) * stride)
        ends = [None] * (step - 1) + [self.tail_mask(lanes - step + 1, lanes) if step > 1 else None]
        vectors = [
            self.load(self.offset(first, dtype, number * lanes), dtype, lanes, mask)
            for number, mask in enumerate(ends)
        ]
        elements = vectors[0]
        for chosen, vector in zip(strided_reads.picks(stride, lanes), vectors[1:] or vectors, strict=True):
            elements = self.shuffle(elements, vector, chosen)
        return elements

    def scatter(self, value: Reg, pointer: str, stride: int, mask: Reg | None = None) -> None:
        """Store lanes `stride` elements apart."""
        if stride == 1 or value.lanes == 1:
            self.store(value, pointer, mask if value.lanes > 1 else None)
            return
        if value.dtype == "bool":
            value = self.convert("zext", value, "u8")
        self._scatter(value, self._lane_pointers(pointer, value.dtype, _steps(stride, value.lanes)), mask)

    def scatter_at(self, value: Reg, pointer: str, places: Reg, mask: Reg | None = None) -> None:
        """Store each lane at its element of `places` (i64)."""
        if value.lanes == 1:
            self.store(value, self.offset(pointer, value.dtype, places))
            return
        self._scatter(value, self._lane_pointers(pointer, value.dtype, places), mask)

    def _scatter(self, value: Reg, pointers: Reg, mask: Reg | None) -> None:
        name = f"llvm.masked.scatter.{suffix(value.dtype, value.lanes)}.v{value.lanes}p0"
        self.declare(name, f"void @{name}({value.type}, <{value.lanes} x ptr>, i32, <{value.lanes} x i1>)")
        chosen = mask or _all(value.lanes)
        self._masked_store(name, value, pointers, _alignment(value.dtype), chosen)

    def copy(self, target: str, source: str, nbytes: Number) -> None:
        """Copy bytes between places that do not overlap."""
        self.declare("llvm.memcpy.p0.p0.i64", "void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        count = nbytes if isinstance(nbytes, Reg) else Reg(str(nbytes), "i64")
        arguments = (pointer(target), pointer(source), count, Reg("false", "bool"))
        self.operations.append(Copy("@llvm.memcpy.p0.p0.i64", arguments))

    def clear(self, target: str, nbytes: Number) -> None:
        """Set bytes to zero."""
        self.declare("llvm.memset.p0.i64", "void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        count = nbytes if isinstance(nbytes, Reg) else Reg(str(nbytes), "i64")
        arguments = (pointer(target), Reg("0", "i8"), count, Reg("false", "bool"))
        self.operations.append(Clear("@llvm.memset.p0.i64", arguments))

    def tail_mask(self, remaining: int, lanes: int) -> Reg:
        """The first `remaining` lanes."""
        bits = ", ".join(f"i1 {'true' if lane < remaining else 'false'}" for lane in range(lanes))
        return Reg(f"<{bits}>", "bool", lanes)

    def fold_lanes(self, total: Reg, combine: Callable[[Reg, Reg], Reg]) -> Reg:
        """A vector's lanes folded to a scalar by halves, in a fixed order."""
        while total.lanes > 1:
            half = total.lanes // 2
            if half == 1:
                parts = [self.extract(total, lane) for lane in range(2)]
            else:
                parts = [self.shuffle(total, None, range(start, start + half)) for start in (0, half)]
            total = combine(parts[0], parts[1])
        return total

    def mask_bits(self, mask: Reg) -> Reg:
        """Pack up to 64 lanes of bools into the bits of an i64, the first one lowest."""
        packed = mask
        if mask.lanes > 1:
            packed = self.packed(mask)
        if mask.lanes == 64:
            return Reg(packed.text, "i64")
        return self.convert("zext", packed, "i64")

    def trailing_zeros(self, x: Reg) -> Reg:
        """The number of the lowest bit that is set, the width where none is."""
        return self.call(f"llvm.cttz.{suffix(x.dtype)}", x.dtype, 1, x, Reg("false", "bool"))


def _orders(condition: Reg, x: Reg, y: Reg) -> bool:
    """Whether `condition` compares the scalar integers `x` and `y`, neither of which is a constant."""
    return (
        isinstance(condition, Compute)
        and condition.lanes == 1
        and condition.code.startswith("icmp")
        and {x.text, y.text} == {argument.text for argument in condition.arguments}
        and x.text[0] == y.text[0] == "%"
    )


def _steps(stride: int, lanes: int) -> Reg:
    """The constant 0, `stride`, 2 `stride`, ... over `lanes`."""
    return Reg(f"<{', '.join([f'i64 {lane * stride}' for lane in range(lanes)])}>", "i64", lanes)


def _all(lanes: int) -> Reg:
    """The mask of all lanes."""
    return Reg("splat (i1 true)", "bool", lanes)


def _alignment(dtype: str) -> int:
    return max(1, int(dtype[1:]) // 8)
