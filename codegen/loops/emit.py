"""Code of kernels in the loop form: the only writer of its loops.

Each access has a *place*, a pointer that every loop moves by its index as it begins, so that no address is
computed in an inner loop that an outer one can compute. Constants and copies are added where it is used.
Lanes are vectors, and values that they share are splat where lanes need them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ..llvm.control_writer import Bound
from ..llvm.emitter import Reg, constant
from ..llvm.function import Code, Declarations
from ..lowering.exits import poll_or_return
from ..lowering.packing import OpWriter
from ..maths import MathsWriter
from ..maths.divisors import Divisor, divisor_of, quotient
from .affine import Affine
from .clocks import clocked
from .columns import put_columns, read_columns
from .guards import guarded_load, within
from .interleaving import side_by_side
from .intrinsics import INTRINSICS
from .lines import ask_for
from .nodes import (
    AHEAD,
    INTERLEAVED,
    LANES,
    STREAM,
    TASKS,
    UNROLLED,
    Aligned,
    Alloc,
    Call,
    Compute,
    Condition,
    Constant,
    Fence,
    For,
    Holds,
    If,
    InRange,
    Invert,
    Kernel,
    Let,
    Load,
    Node,
    Operand,
    Poll,
    Quotient,
    Store,
    While,
)

#: Expensive ops are written in place so many times in a kernel, remainders and all, and called from then on.
INLINED_USES: Final = 12

#: An access: its buffer, or where that is empty a number of a dtype; and its index.
Access: TypeAlias = "tuple[str, str, Affine]"


@clocked("emit")
def emit_kernel(kernel: Kernel, declarations: Declarations, signature: str) -> Code:
    """The code of a function that runs the tasks from ``%begin`` up to ``%end``, with the buffers at ``%b0``
    and so on, and symbols as i64 by their names."""
    w = MathsWriter(declarations)
    pointers = {buffer.name: f"%b{number}" for number, buffer in enumerate(kernel.buffers)}
    writer = _Writer(kernel, w, pointers)
    writer.run()
    w.ret()
    return [w.function(signature, "nounwind"), *writer.ops.functions]


@clocked("emit")
def emit_inside(kernel: Kernel, w: MathsWriter, pointers: Sequence[str]) -> Code:
    """Write `kernel`, which has no tasks, into the function of `w`, its buffers at `pointers`; the functions
    that it calls."""
    names = [buffer.name for buffer in kernel.buffers]
    writer = _Writer(kernel, w, dict(zip(names, pointers, strict=True)))
    writer.run()
    return writer.ops.functions


class _Writer:
    def __init__(self, kernel: Kernel, w: MathsWriter, pointers: Mapping[str, str]) -> None:
        self.kernel, self.w, self.pointers = kernel, w, dict(pointers)
        self.ops = OpWriter(kernel.name, w, INLINED_USES)
        self.dtypes = {buffer.name: buffer.dtype for buffer in kernel.buffers}
        #: The accesses in each loop, in the order in which they come.
        self.reached: dict[For | While, list[Access]] = {}
        self.values: dict[str, Reg] = {}
        self.inverses: dict[str, tuple[Divisor, Reg]] = {}
        #: Indices and symbols: registers, and of copies that are being written numbers.
        self.indices: dict[str, Reg] = {name: Reg(f"%{name}", "i64") for name, _ in kernel.symbols}
        self.copies: dict[str, int] = {}
        #: The place of each access, without its constant: a pointer, or for numbers their value.
        self.places: dict[Access, str | Reg] = {}
        #: The index of the lanes that are being written, how many there are, and which of them take part.
        self.lane, self.lanes, self.mask = "", 1, None
        #: Lanes of the kernel's vectors.
        self.width = 1
        self.tasks = Reg("%begin", "i64"), Reg("%end", "i64")

    mask: Reg | None

    def run(self) -> None:
        """Write the kernel."""
        w = self.w
        for node in self.kernel.body:
            if isinstance(node, Alloc):
                assert node.size.number is not None, "memory on the stack has a known size"
                self.dtypes[node.name] = node.dtype
                self.pointers[node.name] = w.slot(node.dtype, node.size.number)
        for access in self._reach(self.kernel.body):
            buffer, dtype, index = access
            names = [name for name in index.names if name in self.indices]
            self.places[access] = self.pointers[buffer] if buffer else constant(0, dtype)
            for name in names:
                self._move(access, index.coefficient(name), self.indices[name], {})
        self.block(self.kernel.body)
        w.for_ops(())

    def _reach(self, nodes: Sequence[Node], fixed: tuple[str, ...] = ()) -> list[Access]:
        """The accesses of `nodes`, without the lanes and the copies in them and around them, which are
        `fixed`; those of loops are noted."""
        accesses: dict[Access, None] = {}

        def add(buffer: str, dtype: str, index: Affine) -> None:
            for name in fixed:
                index = index.without(name)
            accesses[buffer, dtype, _moving(index)] = None

        for node in nodes:
            if isinstance(node, (Load, Store)):
                for access in _numbers(node.guard):
                    add(*access)
                add(node.buffer, self.dtypes[node.buffer], node.index)
            elif isinstance(node, Holds):
                for access in _numbers(node.conditions):
                    add(*access)
            elif isinstance(node, Let):
                add("", node.dtype, node.index)
            elif isinstance(node, For):
                if node.kind == LANES:
                    self.width = max(self.width, node.width)
                inside = (*fixed, node.index) if node.kind in (LANES, UNROLLED, INTERLEAVED) else fixed
                self.reached[node] = self._reach(node.body, inside)
                accesses.update(dict.fromkeys(self.reached[node]))
            elif isinstance(node, If):
                if isinstance(node.condition, Aligned):
                    for buffer, index in _places(node.condition):
                        add(buffer, self.dtypes[buffer], index)
                accesses.update(
                    dict.fromkeys([*self._reach(node.then, fixed), *self._reach(node.otherwise, fixed)])
                )
            elif isinstance(node, Call):
                for buffer, index, _ in node.places:
                    add(buffer, self.dtypes[buffer], index)
        return list(accesses)

    # -- places and numbers -----------------------------------------------------------------------

    def _move(self, access: Access, factor: Affine, index: Reg, scaled: dict[Affine, Reg]) -> None:
        """Move the place of `access` by `factor` times `index`."""
        w = self.w
        if factor not in scaled:
            scaled[factor] = w.mul(index, self._number(factor))
        place, (_, dtype, _) = self.places[access], access
        if isinstance(place, Reg):
            self.places[access] = w.add(place, w.cast(scaled[factor], dtype))
        else:
            self.places[access] = w.offset(place, dtype, scaled[factor])

    def _number(self, expression: Affine) -> Reg:
        """The value of `expression`."""
        w, total = self.w, constant(expression.constant, "i64")
        for product, factor in expression.terms:
            term = constant(factor, "i64")
            for name in product.split("*"):
                term = w.mul(self.indices[name], term)
            total = w.add(term, total)
        return total

    def _bound(self, bounds: Sequence[Affine], least: bool) -> Bound:
        number = bounds[0].number
        if number is not None and len(bounds) == 1:
            return number
        values = [self._number(bound) for bound in bounds]
        total = values[0]
        for value in values[1:]:
            total = self.w.min(total, value) if least else self.w.max(total, value)
        return total

    def _inside(self, loop: For, index: Reg, write: Callable[[], None]) -> None:
        """``write()`` with the index of `loop` known, and places moved by it."""
        self.indices[loop.index] = index
        if index.text == "0":
            write()
            return
        before, scaled = self.places, dict[Affine, Reg]()
        self.places = dict(before)
        for access in self.reached[loop]:
            factor = access[2].coefficient(loop.index)
            if factor.constant or factor.terms:
                self._move(access, factor, index, scaled)
        write()
        self.places = before

    def _place(self, buffer: str, index: Affine) -> str:
        """The pointer to the element `index` of `buffer`, of lanes to the first one."""
        dtype = self.dtypes[buffer]
        rest, before = self._split(index)
        return self.w.offset(str(self.places[buffer, dtype, rest]), dtype, before)

    def _split(self, index: Affine) -> tuple[Affine, int]:
        """The part of `index` that moves with loops, and the number that copies and its constant make."""
        before, terms = index.constant, list[tuple[str, int]]()
        for name, factor in index.terms:
            if name in self.copies:
                before += factor * self.copies[name]
            elif name != self.lane:
                terms.append((name, factor))
        return Affine(0, tuple(terms)), before

    # -- statements -------------------------------------------------------------------------------

    def block(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, Load):
                self._load(node)
            elif isinstance(node, Compute):
                self.w.for_ops(node.origins)
                operands = [self._operand(operand) for operand in node.operands]
                self.values[node.name] = self.ops.emitted_op(node.op, node.attrs, operands)
            elif isinstance(node, Store):
                self._store(node)
            elif isinstance(node, Let):
                self.values[node.name] = self._value(node.dtype, node.index)
            elif isinstance(node, Holds):
                self.values[node.name] = self._holds(node.conditions, None)
            elif isinstance(node, Quotient):
                self._quotient(node)
            elif isinstance(node, Invert):
                divisor = self._operand(node.divisor)
                self.inverses[node.name] = divisor_of(self.w, divisor, self.width), divisor
            elif isinstance(node, For):
                self._loop(node)
            elif not isinstance(node, Alloc):
                self._other(node)

    def _other(self, node: Node) -> None:
        w = self.w
        if isinstance(node, If):
            condition = self._condition(node.condition)
            if node.otherwise:
                w.one_of(condition, [lambda: self.block(node.then), lambda: self.block(node.otherwise)])
            else:
                w.when(condition, lambda: self.block(node.then))
        elif isinstance(node, Call):
            places = [(self._place(buffer, index), step) for buffer, index, step in node.places]
            dtype = self.dtypes[node.places[0][0]]
            INTRINSICS[node.callee].emit(w, "u8" if dtype == "bool" else dtype, places, node.sizes)
        elif isinstance(node, Poll):
            poll_or_return(w)
        else:
            assert isinstance(node, Fence), f"no kernel has code for {type(node).__name__} yet"
            w.fence()

    def _operand(self, operand: Operand) -> Reg:
        if isinstance(operand, Constant):
            return constant(operand.value, operand.dtype, self.lanes)
        return self.w.splat(self.values[operand], self.lanes)

    def _value(self, dtype: str, index: Affine) -> Reg:
        """The number that `index` is, of `dtype`; of lanes that of each."""
        w, (rest, before) = self.w, self._split(index)
        place = self.places["", dtype, rest]
        assert isinstance(place, Reg)
        stride = index.coefficient(self.lane).constant if self.lane else 0
        value = w.splat(w.add(place, w.const(before, place)) if before else place, self.lanes)
        return w.add(value, w.mul(w.ramp(self.lanes, dtype), stride)) if stride else value

    def _holds(self, conditions: Sequence[InRange], mask: Reg | None) -> Reg:
        """Whether `conditions` and `mask` hold, in each lane."""
        for check in conditions:
            assert check.count is not None
            assert check.count.number is not None, "windows are of known sizes"
            mask = within(self.w, self._value("i64", check.index), check.count.number, mask)
        assert mask is not None
        return mask

    def _load(self, node: Load) -> None:
        assert node.mask is None, "no kernel has code for masks that are values yet"
        w, dtype, lanes = self.w, node.dtype, self.lanes
        place = self._place(node.buffer, node.index)
        stride = node.index.coefficient(self.lane).constant if self.lane else 0
        if node.guard:
            inside, buffer = self._holds(node.guard, self.mask), self.pointers[node.buffer]
            by_line = any(self.lane not in check.index.names for check in node.guard)
            self.values[node.names[0]] = guarded_load(
                w, inside, place, dtype, stride, buffer, by_line=by_line
            )
        elif len(node.names) > 1:
            count = len(node.names)
            self.values.update(
                zip(node.names, read_columns(w, dtype, count, place, lanes, self.mask), strict=True)
            )
        elif stride:
            self.values[node.names[0]] = w.gather(place, dtype, stride, lanes, self.mask)
        else:
            self.values[node.names[0]] = w.splat(w.load(place, dtype), lanes)
        if node.hint == AHEAD and self.mask is None and stride == len(node.names):
            before = self._before(node.index)
            for number in range(stride):
                ask_for(w, dtype, place, number * lanes, write=False, before=before)

    def _before(self, index: Affine) -> int:
        """Elements of copies that lie between where the loops are and `index`."""
        return sum(index.coefficient(name).constant * number for name, number in self.copies.items())

    def _store(self, node: Store) -> None:
        assert node.mask is None, "no kernel has code for masks that are values yet"
        assert not node.guard, "no kernel has code for guarded stores yet"
        w, dtype, lanes = self.w, self.dtypes[node.buffer], self.lanes
        w.for_ops(node.origins)
        place = self._place(node.buffer, node.index)
        values = [self._operand(value) for value in node.values]
        stride = node.index.coefficient(self.lane).constant if self.lane else 0
        past_cache, asked = node.hint == STREAM and self.mask is None, node.hint == AHEAD
        if len(values) > 1:
            put_columns(
                w, values, place, lanes, self.mask, past_cache=past_cache, asked=asked,
                before=self._before(node.index),
            )  # fmt: skip
        elif past_cache:
            w.store_past_cache(values[0], place)
        elif not self.lane:
            w.store(values[0], place)
        else:
            if asked and self.mask is None and stride == 1:
                ask_for(w, dtype, place, 0, write=True, before=self._before(node.index))
            w.scatter(values[0], place, stride, self.mask)

    def _quotient(self, node: Quotient) -> None:
        w = self.w
        w.for_ops(node.origins)
        divisor, number = self.inverses[node.inverse]
        x = self._operand(node.operand)
        self.values[node.name] = quotient(w, x, w.splat(number, self.lanes), divisor)

    def _condition(self, condition: Condition) -> Reg:
        w = self.w
        if isinstance(condition, str):
            return self.values[condition]
        if isinstance(condition, Aligned):
            at = {place: self._place(*place) for place in _places(condition)}
            holds = w.aligned([at[place] for place in condition.places])
            for place, other in condition.apart:
                holds = w.and_(holds, w.not_(w.same_place(at[place], at[other])))
            return holds
        holds = constant(True, "bool")
        for check in condition:
            holds = w.and_(holds, w.ge(self._number(check.index), 0))
            if check.count is not None:
                holds = w.and_(holds, w.lt(self._number(check.index), self._number(check.count)))
        return holds

    # -- loops ------------------------------------------------------------------------------------

    def _loop(self, loop: For) -> None:
        assert not loop.carried, "no kernel has code for values that are handed on yet"
        if loop.kind == LANES:
            self._lanes(loop)
        elif loop.kind == TASKS:
            self.indices[loop.index], self.indices[loop.end] = self.tasks
            assert not any({loop.index, loop.end} & set(index.names) for _, _, index in self.reached[loop]), (
                "accesses move with the loops inside of tasks"
            )
            self.block(loop.body)
        elif loop.kind in (UNROLLED, INTERLEAVED):
            self._copies(loop)
        else:
            self._serial(loop)

    def _serial(self, loop: For) -> None:
        first, stop = self._bound(loop.lo, least=False), self._bound(loop.hi, least=True)
        tasks = tuple(
            bounds[0].names[0] if len(bounds) == 1 and len(bounds[0].names) == 1 else ""
            for bounds in (loop.lo, loop.hi)
        )
        nonempty = isinstance(first, Reg) and all(
            name and self.indices[name] is task for name, task in zip(tasks, self.tasks, strict=True)
        )

        def body(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self._inside(loop, index, lambda: self.block(loop.body))
            return ()

        self.w.loop(first, stop, loop.step, body, nonempty=nonempty)

    def _copies(self, loop: For) -> None:
        lo, hi = loop.lo[0].constant, loop.hi[0].constant

        def copy(number: int) -> None:
            index = lo + number * loop.step
            self.copies[loop.index] = index
            self.indices[loop.index] = constant(index, "i64")
            self.block(loop.body)
            del self.copies[loop.index]

        count = max(0, -(-(hi - lo) // loop.step))
        if loop.kind == INTERLEAVED:
            side_by_side(self.w, count, copy)
        else:
            for number in range(count):
                copy(number)

    def _lanes(self, loop: For) -> None:
        w, outer = self.w, (self.lane, self.lanes, self.mask)
        count = self._bound(loop.hi, least=True)
        self.lane, self.lanes, self.mask = loop.index, loop.width, None
        if isinstance(count, Reg):
            self.mask = w.lt(w.ramp(loop.width), w.splat(count, loop.width))
        elif count < loop.width:
            self.mask = w.tail_mask(count, loop.width)
        self.block(loop.body)
        w.for_ops(())
        self.lane, self.lanes, self.mask = outer


def _moving(index: Affine) -> Affine:
    """`index` without its constant."""
    return Affine(0, index.terms)


def _numbers(conditions: Sequence[InRange]) -> list[Access]:
    """The indices of `conditions`, as numbers that move with loops."""
    return [("", "i64", _moving(check.index)) for check in conditions]


def _places(condition: Aligned) -> list[tuple[str, Affine]]:
    return [*condition.places, *[place for pair in condition.apart for place in pair]]
