"""Structured control flow over the emitter: counted loops, branches, and memory access.

A `FunctionWriter` writes one LLVM function. Loops are rotated (test at the end) and carry values through
phi nodes; bounds may be constants or registers, and are i64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..maths import MathsEmitter
from . import strided_reads
from .emitter import LLVM_SCALAR, Number, Reg, constant, llvm_type, suffix

Bound = Reg | int


class FunctionWriter(MathsEmitter):
    """Writes one LLVM function from its entry block on."""

    def __init__(self, declarations: dict[str, str] | None = None) -> None:
        super().__init__(declarations)
        self.block = "entry"
        self._labels = 0
        #: Stack slots, written at the top of the entry block.
        self.allocas: list[str] = []
        #: Slots with pointers to memory that the function allocates, or null.
        self.held: list[str] = []

    # -- blocks -----------------------------------------------------------------------------------

    def rounded(self, value: Reg) -> Reg:
        """`value`, just written, rounded as it is: a product that no sum may be joined with."""
        product = f"  {value.text} = fmul {self.flags} "
        if self.lines and self.lines[-1].startswith(product):
            self.lines[-1] = f"  {value.text} = fmul " + self.lines[-1][len(product) :]
        return value

    def label(self, name: str) -> str:
        self._labels += 1
        return f"{name}.{self._labels}"  # not a name that `fresh` gives: LLVM has one space of names

    def start(self, label: str) -> None:
        """Begin the block `label`; the previous one must have been ended."""
        self.lines.append(f"{label}:")
        self.block = label

    def branch(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch_if(self, condition: Reg, then: str, otherwise: str) -> None:
        self.line(f"br i1 {condition.text}, label %{then}, label %{otherwise}")

    def when(self, condition: Reg, body: Callable[[], None]) -> None:
        """Run `body` where the scalar `condition` holds."""
        then, after = self.label("then"), self.label("after")
        self.branch_if(condition, then, after)
        self.start(then)
        body()
        self.branch(after)
        self.start(after)

    # -- loops ------------------------------------------------------------------------------------

    def loop(
        self,
        start: Bound,
        stop: Bound,
        step: int,
        body: Callable[[Reg, list[Reg]], Sequence[Reg]],
        carried: Sequence[Reg] = (),
        *,
        nonempty: bool = False,
    ) -> list[Reg]:
        """``for i in range(start, stop, step)``, with `body(i, carried) -> carried`.

        Without registers the trip count is known: no iterations write nothing, one writes the body alone.
        `nonempty` promises at least one iteration where bounds are registers.
        """
        if isinstance(start, int) and isinstance(stop, int):
            trips = -(-(stop - start) // step)
            if trips <= 0:
                return list(carried)
            if trips == 1:
                return list(body(constant(start, "i64"), list(carried)))
            nonempty = True
        first, last = _bound(start), _bound(stop)
        head, done = self.label("loop"), self.label("done")
        skipped = None
        if not nonempty:
            skipped = self.label("skip")
            enter = self.label("enter")
            self.branch_if(self.lt(first, last), enter, skipped)
            self.start(enter)
        before = self.block
        self.branch(head)
        self.start(head)
        index = Reg(self.fresh("i"), "i64")
        phis = [Reg(self.fresh("c"), reg.dtype, reg.lanes) for reg in carried]
        position = len(self.lines)
        out = list(body(index, phis))
        following = self.add(index, step)
        latch = self.block
        head_lines = [f"  {index.text} = phi i64 [ {first.text}, %{before} ], [ {following.text}, %{latch} ]"]
        for phi, init, new in zip(phis, carried, out, strict=True):
            head_lines.append(
                f"  {phi.text} = phi {phi.type} [ {init.text}, %{before} ], [ {new.text}, %{latch} ]"
            )
        self.lines[position:position] = head_lines
        self.branch_if(self.lt(following, last), head, done)
        self.start(done)
        if skipped is None:
            return out
        joined = self.label("joined")
        self.branch(joined)
        self.start(skipped)
        self.branch(joined)
        self.start(joined)
        merged = []
        for init, new in zip(carried, out, strict=True):
            choice = f"phi {new.type} [ {new.text}, %{done} ], [ {init.text}, %{skipped} ]"
            merged.append(self.assign(choice, new.dtype, new.lanes))
        return merged

    def until(
        self, start: Reg, stop: Bound, step: int, body: Callable[[Reg], tuple[Reg, Reg]]
    ) -> tuple[Reg, Reg]:
        """``body(i) -> (whether to end, value)`` for i in range(start, stop, step), at least once, until it
        says so; the last i and its value."""
        before, head, done = self.block, self.label("loop"), self.label("done")
        self.branch(head)
        self.start(head)
        index = Reg(self.fresh("i"), "i64")
        position = len(self.lines)
        ends, value = body(index)
        following = self.add(index, step)
        text = f"  {index.text} = phi i64 [ {start.text}, %{before} ], [ {following.text}, %{self.block} ]"
        self.lines.insert(position, text)
        self.branch_if(self.and_(self.not_(ends), self.lt(following, stop)), head, done)
        self.start(done)
        return index, value

    # -- memory -----------------------------------------------------------------------------------

    def holder(self) -> str:
        """A slot for a pointer to a block of a stack (`growing`), and an i64 beside it; both 0."""
        name = self.fresh("held")
        self.allocas.append(f"  {name} = alloca [2 x i64], align 8")
        self.allocas.append(f"  store [2 x i64] zeroinitializer, ptr {name}, align 8")
        self.held.append(name)
        return name

    def free_held(self) -> None:
        """Give back what `holder`s hold: before each return, once the function is written."""
        for slot in self.held:
            pointer = self.fresh("p")
            self.line(f"{pointer} = load ptr, ptr {slot}, align 8")
            self.line(f"call void @stack_give_back(ptr {pointer})")

    def slot(self, dtype: str, count: int) -> str:
        """A stack array of `count` elements, aligned for vectors; returns its pointer."""
        name = self.fresh("slot")
        memory = "i8" if dtype == "bool" else LLVM_SCALAR[dtype]
        self.allocas.append(f"  {name} = alloca [{max(count, 1)} x {memory}], align 64")
        return name

    def offset(self, pointer: str, dtype: str, elements: Number) -> str:
        """`pointer` moved by `elements` of `dtype`."""
        if isinstance(elements, int) and elements == 0:
            return pointer
        by = elements.text if isinstance(elements, Reg) else str(elements)
        name = self.fresh("p")
        memory = "i8" if dtype == "bool" else LLVM_SCALAR[dtype]
        self.line(f"{name} = getelementptr {memory}, ptr {pointer}, i64 {by}")
        return name

    def load(self, pointer: str, dtype: str, lanes: int = 1, mask: Reg | None = None) -> Reg:
        """Elements from contiguous memory; masked-out lanes are zero."""
        memory = "u8" if dtype == "bool" else dtype
        align = _alignment(memory)
        if mask is None:
            raw = self.assign(f"load {llvm_type(memory, lanes)}, ptr {pointer}, align {align}", memory, lanes)
        else:
            kind = llvm_type(memory, lanes)
            name = f"llvm.masked.load.{suffix(memory, lanes)}.p0"
            self.declare(name, f"{kind} @{name}(ptr, i32, <{lanes} x i1>, {kind})")
            raw = self.assign(
                f"call {kind} @{name}(ptr {pointer}, i32 {align}, {mask}, {kind} zeroinitializer)",
                memory,
                lanes,
            )
        return self.ne(raw, 0) if dtype == "bool" else raw

    def store(self, value: Reg, pointer: str, mask: Reg | None = None) -> None:
        """Elements to contiguous memory, except masked-out lanes."""
        if value.dtype == "bool":
            value = self.assign(f"zext {value} to {llvm_type('u8', value.lanes)}", "u8", value.lanes)
        align = _alignment(value.dtype)
        if mask is None:
            self.line(f"store {value}, ptr {pointer}, align {align}")
            return
        if mask.text.count("true") == 1 and mask.text[0] == "<":
            # LLVM 22 stores one lane of what was truncated as wide as it was before (llvm-project#179489)
            lane = mask.text[: mask.text.index("true")].count(",")
            self.store(self.extract(value, lane), self.offset(pointer, value.dtype, lane))
            return
        name = f"llvm.masked.store.{suffix(value.dtype, value.lanes)}.p0"
        self.declare(name, f"void @{name}({value.type}, ptr, i32, <{value.lanes} x i1>)")
        self.line(f"call void @{name}({value}, ptr {pointer}, i32 {align}, {mask})")

    def store_past_cache(self, value: Reg, pointer: str) -> None:
        """Elements to contiguous memory that is aligned to them, without a place in the caches."""
        nbytes = value.lanes * _alignment(value.dtype)
        self.line(f"store {value}, ptr {pointer}, align {nbytes}, !nontemporal !{{i32 1}}")

    def prefetch(self, pointer: str, *, near: bool = True) -> None:
        """Ask for the line at `pointer`, which need not be there, to come to the first cache if `near`, else
        to the second."""
        self.declare("llvm.prefetch.p0", "void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.line(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 {3 if near else 2}, i32 1)")

    def aligned(self, pointers: Sequence[str], to: int = 64) -> Reg:
        """Whether all of `pointers` are multiples of `to`."""
        places = [self.assign(f"ptrtoint ptr {pointer} to i64", "i64") for pointer in pointers]
        together = places[0]
        for place in places[1:]:
            together = self.or_(together, place)
        return self.eq(self.and_(together, to - 1), 0)

    def _lane_pointers(self, pointer: str, dtype: str, stride: int, lanes: int) -> str:
        memory = "i8" if dtype == "bool" else LLVM_SCALAR[dtype]
        steps = ", ".join(f"i64 {lane * stride}" for lane in range(lanes))
        name = self.fresh("g")
        self.line(f"{name} = getelementptr {memory}, ptr {pointer}, <{lanes} x i64> <{steps}>")
        return name

    def gather(self, pointer: str, dtype: str, stride: int, lanes: int, mask: Reg | None = None) -> Reg:
        """`lanes` elements `stride` apart."""
        if stride == 1:
            return self.load(pointer, dtype, lanes, mask)
        if lanes == 1:
            return self.load(pointer, dtype)
        memory = "u8" if dtype == "bool" else dtype
        if mask is None and strided_reads.pays(stride, lanes):
            raw = self._near(pointer, memory, stride, lanes)
            return self.ne(raw, 0) if dtype == "bool" else raw
        kind = llvm_type(memory, lanes)
        pointers = self._lane_pointers(pointer, dtype, stride, lanes)
        name = f"llvm.masked.gather.{suffix(memory, lanes)}.v{lanes}p0"
        self.declare(name, f"{kind} @{name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {kind})")
        chosen = mask.text if mask is not None else "splat (i1 true)"
        raw = self.assign(
            f"call {kind} @{name}(<{lanes} x ptr> {pointers}, i32 {_alignment(memory)}, "
            f"<{lanes} x i1> {chosen}, {kind} zeroinitializer)",
            memory,
            lanes,
        )
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
        found = vectors[0]
        for chosen, vector in zip(strided_reads.picks(stride, lanes), vectors[1:] or vectors, strict=True):
            found = self.shuffle(found, vector, chosen)
        return found

    def scatter(self, value: Reg, pointer: str, stride: int, mask: Reg | None = None) -> None:
        """Store lanes `stride` elements apart."""
        if stride == 1 or value.lanes == 1:
            self.store(value, pointer, mask if value.lanes > 1 else None)
            return
        if value.dtype == "bool":
            value = self.assign(f"zext {value} to {llvm_type('u8', value.lanes)}", "u8", value.lanes)
        self._scatter(value, self._lane_pointers(pointer, value.dtype, stride, value.lanes), mask)

    def scatter_at(self, value: Reg, pointer: str, places: Reg, mask: Reg | None = None) -> None:
        """Store each lane at its element of `places` (i64)."""
        if value.lanes == 1:
            self.store(value, self.offset(pointer, value.dtype, places))
            return
        name = self.fresh("g")
        self.line(f"{name} = getelementptr {LLVM_SCALAR[value.dtype]}, ptr {pointer}, {places}")
        self._scatter(value, name, mask)

    def _scatter(self, value: Reg, pointers: str, mask: Reg | None) -> None:
        name = f"llvm.masked.scatter.{suffix(value.dtype, value.lanes)}.v{value.lanes}p0"
        self.declare(name, f"void @{name}({value.type}, <{value.lanes} x ptr>, i32, <{value.lanes} x i1>)")
        chosen = mask.text if mask is not None else "splat (i1 true)"
        self.line(
            f"call void @{name}({value}, <{value.lanes} x ptr> {pointers}, i32 {_alignment(value.dtype)}, "
            f"<{value.lanes} x i1> {chosen})"
        )

    def copy(self, target: str, source: str, nbytes: Number) -> None:
        """Copy bytes between places that do not overlap."""
        self.declare("llvm.memcpy.p0.p0.i64", "void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        count = nbytes.text if isinstance(nbytes, Reg) else str(nbytes)
        self.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {count}, i1 false)")

    def clear(self, target: str, nbytes: Number) -> None:
        """Set bytes to zero."""
        self.declare("llvm.memset.p0.i64", "void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        count = nbytes.text if isinstance(nbytes, Reg) else str(nbytes)
        self.line(f"call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {count}, i1 false)")

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

    def fold_lanes_in_memory(self, total: Reg, combine: Callable[[Reg, Reg], Reg]) -> Reg:
        """A vector's lanes folded to a scalar, one after the other: text for one element."""
        if total.lanes == 1:
            return total
        kept = self.slot(total.dtype, total.lanes)
        self.store(total, kept)

        def fold(index: Reg, folded: list[Reg]) -> Sequence[Reg]:
            return [combine(folded[0], self.load(self.offset(kept, total.dtype, index), total.dtype))]

        return self.loop(1, total.lanes, 1, fold, [self.load(kept, total.dtype)])[0]

    def shuffle(self, x: Reg, y: Reg | None, lanes: Sequence[int]) -> Reg:
        """Lanes of `x` (from 0) and of `y`, where there is one (behind those of `x`)."""
        picks = ", ".join(f"i32 {lane}" for lane in lanes)
        other = f"{x.type} poison" if y is None else str(y)
        return self.assign(f"shufflevector {x}, {other}, <{len(lanes)} x i32> <{picks}>", x.dtype, len(lanes))

    def mask_bits(self, mask: Reg) -> Reg:
        """Up to 64 lanes of bools as the bits of an i64, the first one lowest."""
        packed = mask.text
        if mask.lanes > 1:
            packed = self.assign(f"bitcast {mask} to i{mask.lanes}", "i64").text
        if mask.lanes == 64:
            return Reg(packed, "i64")
        return self.assign(f"zext i{mask.lanes} {packed} to i64", "i64")

    def trailing_zeros(self, x: Reg) -> Reg:
        """The number of the lowest bit that is set, the width where none is."""
        return self.call(f"llvm.cttz.{suffix(x.dtype)}", x.dtype, 1, x, extra=", i1 false")

    # -- the text ---------------------------------------------------------------------------------

    def function(self, signature: str, attributes: str = "") -> str:
        """The finished function: ``define <signature> { ... }``."""
        body = "\n".join(["entry:", *self.allocas, *self.lines])
        return f"define {signature} {attributes} {{\n{body}\n}}"


def _bound(value: Bound) -> Reg:
    return value if isinstance(value, Reg) else constant(value, "i64")


def _alignment(dtype: str) -> int:
    return max(1, int(dtype[1:]) // 8)
