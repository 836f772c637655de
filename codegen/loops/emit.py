"""Code of kernels in the loop form: the only writer of its loops.

Each access has a *place*, a pointer that every loop moves by its index as it begins, so that no address is
computed in an inner loop that an outer one can compute. Constants and copies are added where it is used.
Lanes are vectors, and values that they share are splat where lanes need them, before the loops inside.

Copies that take turns are written side by side, statement after statement; loops inside of them are one loop,
which hands on the values of all copies. Each copy knows values of its own (`_Copy`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ...base.loading import LazyModule
from ...base.records import record
from ...ir.registry import Op
from ..llvm.control_writer import Bound
from ..llvm.emitter import Reg, constant
from ..llvm.function import Code, Declarations
from ..lowering.exits import poll_or_return
from ..lowering.packing import OpWriter
from ..maths import MathsWriter
from ..maths.support import add_compensated, compensated
from .accesses import accesses_of
from .affine import Affine, affine
from .clocks import clocked
from .nodes import (
    AHEAD,
    INTERLEAVED,
    LANES,
    SERIAL,
    STREAM,
    TASKS,
    UNROLLED,
    Accumulate,
    Aligned,
    Alloc,
    Call,
    Compute,
    Condition,
    Constant,
    Fence,
    Fold,
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
    Prefetch,
    Quotient,
    Store,
    Total,
    While,
    unit_of,
)
from .rewriting import folding_op, operands_of

if TYPE_CHECKING:
    from ..maths import divisors
    from . import columns, guards, interleaving, intrinsics, lines
else:  # with the first kernel that has such statements
    columns, guards = LazyModule(".columns", __package__), LazyModule(".guards", __package__)
    interleaving = LazyModule(".interleaving", __package__)
    intrinsics, lines = LazyModule(".intrinsics", __package__), LazyModule(".lines", __package__)
    divisors = LazyModule("..maths.divisors", __package__)

#: Expensive ops are written in place so many times in a kernel, remainders and all, and called from then on.
INLINED_USES: Final = 12


@record(eq=False)
class _Place:
    """A place in memory that moves with loops: a buffer and an index without its constant, lanes and copies.
    Without a buffer it is a number, the index itself, of a dtype."""

    buffer: str
    dtype: str
    index: Affine


@record(eq=False)
class _Access:
    """The place of an index, the constant behind it, and the factors of lanes and copies, and of values."""

    place: _Place
    constant: int
    factors: dict[str, int]
    values: tuple[tuple[str, int], ...]


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


class _Copy:
    """The values that are known of one of the copies that are written side by side: by their names, the
    inverted divisors, and the numbers that the indices of copies are."""

    def __init__(
        self,
        values: dict[str, Reg],
        inverses: dict[str, tuple[divisors.Divisor, Reg]],
        numbers: dict[str, int],
    ) -> None:
        self.values, self.inverses, self.numbers = values, inverses, numbers


class _Survey:
    """Readers of values in a kernel: what the statements in each loop of lanes read, and the values that one
    fold reads and nothing else, whose products are rounded once with its sum."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.read: dict[For, dict[str, None]] = {}
        #: The folds that read a value, by their names, and "" where something else does.
        self.readers: dict[str, set[str]] = {}
        #: The bodies that were walked, and for which lanes: loops share them.
        self.seen: set[tuple[int, int]] = set()
        self._walk(nodes, {})
        self.alone = {name for name, by in self.readers.items() if len(by) == 1 and "" not in by}

    def _walk(self, nodes: Sequence[Node], read: dict[str, None]) -> None:
        if (id(nodes), id(read)) in self.seen:
            return
        self.seen.add((id(nodes), id(read)))
        readers = self.readers
        for node in nodes:
            kind, reader = type(node), ""
            if kind is Compute:
                operands = node.operands  # type: ignore[union-attr]
            elif kind is Load and node.mask is None:  # type: ignore[union-attr]
                continue
            else:
                if isinstance(node, For):
                    inner = self.read.setdefault(node, {}) if node.kind == LANES else read
                    self._walk(node.body, inner)
                elif isinstance(node, If):
                    self._walk(node.then, read)
                    self._walk(node.otherwise, read)
                elif isinstance(node, Fold):
                    reader = node.name
                operands = operands_of(node)
            for operand in operands:
                if type(operand) is str:
                    read[operand] = None
                    if operand in readers:
                        readers[operand].add(reader)
                    else:
                        readers[operand] = {reader}


class _Writer:
    def __init__(self, kernel: Kernel, w: MathsWriter, pointers: Mapping[str, str]) -> None:
        self.kernel, self.w, self.pointers = kernel, w, dict(pointers)
        self.ops = OpWriter(kernel.name, w, INLINED_USES)
        self.dtypes = {buffer.name: buffer.dtype for buffer in kernel.buffers}
        self.has_folds = False
        #: Memory of the kernel's own, and its elements; behind them there is room for a vector more.
        self.slots: dict[str, int] = {}
        #: The places in each loop, in the order in which they come; all places by what they are; and the
        #: accesses by their buffers or dtypes, indices, and the lanes and copies that they are in.
        self.reached: dict[For | While, list[_Place]] = {}
        self.known: dict[tuple[str, str, tuple[tuple[str, int], ...]], _Place] = {}
        self.accesses: dict[tuple[str, int, tuple[str, ...]], _Access] = {}
        self.seen: dict[tuple[int, tuple[str, ...]], list[_Place]] = {}
        self.fixed: tuple[str, ...] = ()
        #: The copies that are written side by side, and the one that is being written.
        self.copies = [_Copy({}, {}, {})]
        self.copy = self.copies[0]
        #: Indices and symbols.
        self.indices: dict[str, Reg] = {name: Reg(f"%{name}", "i64") for name, _ in kernel.symbols}
        #: Locations of places: pointers, or for numbers their values.
        self.places: dict[_Place, str | Reg] = {}
        #: The index of the lanes that are being written, how many there are, and which of them take part.
        self.lane, self.lanes, self.mask = "", 1, None
        #: The lanes that fold, where others are to fold nothing; and the loop that leaves those out, with how
        #: many take part.
        self.folds = None
        self.left_out: tuple[For, int] | None = None
        self.surveyed: _Survey | None = None
        #: Values that the loop around hands on.
        self.held = 0
        #: Lanes of the kernel's vectors.
        self.width = 1
        self.tasks = Reg("%begin", "i64"), Reg("%end", "i64")
        #: The loops that were entered, by their indices.
        self.around: dict[str, For] = {}

    mask: Reg | None
    folds: Reg | None

    def run(self) -> None:
        """Write the kernel."""
        w = self.w
        own = [node for node in self.kernel.body if isinstance(node, Alloc)]
        self.dtypes.update({node.name: node.dtype for node in own})
        reached = self._reach(self.kernel.body)
        for node in own:
            assert node.size.number is not None, "memory on the stack has a known size"
            self.slots[node.name] = node.size.number
            self.pointers[node.name] = w.slot(node.dtype, node.size.number + self.width)
        for place in reached:
            self.places[place] = self.pointers[place.buffer] if place.buffer else constant(0, place.dtype)
            for name in place.index.names if self.indices else ():
                if name in self.indices:
                    self._move(place, place.index.coefficient(name), self.indices[name], {})
        self.block(self.kernel.body)
        w.for_ops(())

    def _reach(self, nodes: Sequence[Node], fixed: tuple[str, ...] = ()) -> list[_Place]:
        """The places of `nodes`, without the lanes and the copies in them and around them, which are `fixed`;
        those of loops are noted."""
        # loops share bodies
        there = self.seen.get((id(nodes), fixed))
        if there is not None:
            return there
        places: dict[_Place, None] = {}
        dtypes = self.dtypes

        def add(buffer: str, dtype: str, index: Affine) -> None:
            terms, factors, values = list[tuple[str, int]](), dict[str, int](), list[tuple[str, int]]()
            for term in index.terms:
                name, factor = term
                if name in fixed:
                    factors[name] = factor
                elif name[0] == "%":
                    values.append((name[1:], factor))
                elif "*" not in name or not any(one in fixed for one in name.split("*")):
                    terms.append(term)
            key = buffer, dtype, tuple(terms)
            place = self.known.get(key)
            if place is None:
                place = self.known[key] = _Place(buffer, dtype, Affine(0, key[2]))
            self.accesses[buffer or dtype, id(index), fixed] = _Access(
                place, index.constant, factors, tuple(values)
            )
            places[place] = None

        for node in nodes:
            kind = type(node)
            if kind is Compute or kind is Fold:
                continue
            if isinstance(node, (Load, Store)):
                for check in node.guard:
                    add("", "i64", check.index)
                add(node.buffer, dtypes[node.buffer], node.index)
            elif isinstance(node, For):
                if node.kind == LANES:
                    self.width = max(self.width, node.width)
                self.has_folds = self.has_folds or bool(node.carried)
                inside = fixed if node.kind in (SERIAL, TASKS) else (*fixed, node.index)
                self.reached[node] = inner = self._reach(node.body, inside)
                places.update(dict.fromkeys(inner))
            elif isinstance(node, Holds):
                for check in node.conditions:
                    add("", "i64", check.index)
            elif isinstance(node, Let):
                add("", node.dtype, node.index)
            elif isinstance(node, If):
                if isinstance(node.condition, Aligned):
                    for buffer, index in _places(node.condition):
                        add(buffer, dtypes[buffer], index)
                places.update(
                    dict.fromkeys([*self._reach(node.then, fixed), *self._reach(node.otherwise, fixed)])
                )
            elif isinstance(node, Prefetch):
                add(node.buffer, dtypes[node.buffer], node.index)
            elif isinstance(node, Call):
                for buffer, index, _ in node.places:
                    add(buffer, dtypes[buffer], index)
        self.seen[id(nodes), fixed] = reached = list(places)
        return reached

    def _survey(self) -> _Survey:
        """Readers of the values of a kernel that folds."""
        if self.surveyed is None:
            self.surveyed = _Survey(self.kernel.body)
        return self.surveyed

    # -- places and numbers -----------------------------------------------------------------------

    def _move(self, place: _Place, factor: Affine, index: Reg, scaled: dict[Affine, Reg]) -> None:
        """Move `place` by `factor` times `index`."""
        w = self.w
        if factor not in scaled:
            scaled[factor] = w.mul(index, self._number(factor))
        there = self.places[place]
        if isinstance(there, Reg):
            self.places[place] = w.add(there, w.cast(scaled[factor], place.dtype))
        else:
            self.places[place] = w.offset(there, place.dtype, scaled[factor])

    def _number(self, expression: Affine) -> Reg:
        """The value of `expression`."""
        w, total = self.w, constant(expression.constant, "i64")
        for product, factor in expression.terms:
            term = constant(factor, "i64")
            for name in product.split("*"):
                term = w.mul(self._scalar(name[1:]) if name[0] == "%" else self.indices[name], term)
            total = w.add(term, total)
        return total

    def _bound(self, bounds: Sequence[Affine], least: bool) -> Bound:
        if len(bounds) == 1 and not bounds[0].terms:
            return bounds[0].constant
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
        for place in self.reached[loop]:
            factor = place.index.coefficient(loop.index)
            if factor.constant or factor.terms:
                self._move(place, factor, index, scaled)
        write()
        self.places = before

    def _access(self, buffer: str, index: Affine) -> tuple[str | Reg, int, int]:
        """The place of `index` in `buffer`, or of the number that it is of the dtype `buffer`; how far behind
        it the index is in this copy; and the elements from one lane to the next."""
        access, w = self.accesses[buffer, id(index), self.fixed], self.w
        behind, factors, place = access.constant, access.factors, self.places[access.place]
        for name, factor in access.values:
            dtype, step = access.place.dtype, w.mul(self._scalar(name), factor)
            place = (
                w.add(place, w.cast(step, dtype)) if isinstance(place, Reg) else w.offset(place, dtype, step)
            )
        if factors:
            behind += self._before(index)
        return place, behind, factors.get(self.lane, 0)

    def _place(self, buffer: str, index: Affine) -> tuple[str, int]:
        """The pointer to the element `index` of `buffer`, of lanes to the first one; and how many elements
        further on the next lane's is."""
        place, behind, stride = self._access(buffer, index)
        return self.w.offset(str(place), self.dtypes[buffer], behind), stride

    # -- statements -------------------------------------------------------------------------------

    def block(self, nodes: Sequence[Node]) -> None:
        """Write `nodes`, for all copies."""
        if len(self.copies) == 1:
            for node in nodes:
                self._node(node)
            return
        apart: list[Node] = []
        for node in nodes:
            if not self._is_shared(node):
                apart.append(node)
                continue
            self._side_by_side(apart)
            apart = []
            self._node(node)
        self._side_by_side(apart)

    def _is_shared(self, node: Node) -> bool:
        """Whether `node` is for all copies together: a loop where none has bounds of its own."""
        return isinstance(node, Poll) or (
            isinstance(node, For)
            and node.kind not in (UNROLLED, TASKS)
            and not any(_names_any(bound, self.copy.numbers) for bound in (*node.lo, *node.hi))
        )

    def _side_by_side(self, nodes: Sequence[Node]) -> None:
        """Write `nodes` for each of the copies, which take turns."""
        if not nodes:
            return
        copies, outer = self.copies, self.copy

        def write(number: int) -> None:
            self._write_copies([copies[number]])
            for node in nodes:
                self._node(node)

        interleaving.side_by_side(self.w, len(copies), write, self.held)
        self.copies, self.copy = copies, outer

    def _write_copies(self, copies: list[_Copy]) -> None:
        """Write for `copies` from here on."""
        self.copies, self.copy = copies, copies[0]
        if len(copies) == 1:
            self.indices.update({name: constant(n, "i64") for name, n in self.copy.numbers.items()})

    def _node(self, node: Node) -> None:
        """Write `node`, for one copy."""
        kind = type(node)
        if kind is Compute:
            self._compute(node)  # type: ignore[arg-type]
        elif kind is Load:
            self._load(node)  # type: ignore[arg-type]
        elif kind is Store:
            self._store(node)  # type: ignore[arg-type]
        elif kind is For:
            self._loop(node)  # type: ignore[arg-type]
        elif isinstance(node, (Fold, Accumulate, Total)):
            self._fold(node)
        elif isinstance(node, Let):
            self.copy.values[node.name] = self._value(node.dtype, node.index)
        elif isinstance(node, Holds):
            self.copy.values[node.name] = self._holds(node.conditions, None)
        elif isinstance(node, Quotient):
            self._quotient(node)
        elif isinstance(node, Invert):
            divisor = self._operand(node.divisor)
            inverse = divisors.divisor_of(self.w, divisor, self.width)
            self.copy.inverses[node.name] = inverse, self.w.splat(divisor, self.width)
        elif kind is not Alloc:
            self._other(node)

    def _compute(self, node: Compute) -> None:
        self.w.for_ops(node.origins)
        operands = [self._operand(operand) for operand in node.operands]
        alone = self.has_folds and node.name in self._survey().alone
        self.copy.values[node.name] = self.ops.emitted_op(node.op, node.attrs, operands, alone=alone)

    def _fold(self, node: Fold | Accumulate | Total) -> None:
        w, values = self.w, self.copy.values
        if isinstance(node, Total):
            values[node.name] = compensated(w, self._operand(node.total), self._operand(node.error))
            return
        w.for_ops(node.origins)
        operand = self._operand(node.operand)
        if isinstance(node, Accumulate):
            if self.folds is not None:
                operand = w.select(self.folds, operand, w.const(0.0, operand))
            total, error = self._operand(node.total), self._operand(node.error)
            sums = add_compensated(w, total, error, operand)
            values.update(zip(node.names, sums, strict=True))
            return
        if self.folds is not None:
            operand = w.select(self.folds, operand, _identity(node.op, operand.dtype, operand.lanes))
        values[node.name] = _combined(w, node.op, self._operand(node.accumulator), operand)

    def _other(self, node: Node) -> None:
        w = self.w
        if isinstance(node, If):
            condition = self._condition(node.condition)
            if node.otherwise:
                w.one_of(condition, [lambda: self.block(node.then), lambda: self.block(node.otherwise)])
            else:
                w.when(condition, lambda: self.block(node.then))
        elif isinstance(node, Call):
            places = [(self._place(buffer, index)[0], step) for buffer, index, step in node.places]
            dtype = self.dtypes[node.places[0][0]]
            intrinsics.INTRINSICS[node.callee].emit(w, "u8" if dtype == "bool" else dtype, places, node.sizes)
        elif isinstance(node, Poll):
            poll_or_return(w)
        elif isinstance(node, Prefetch):
            if self.mask is None and lines.begins_line(self.dtypes[node.buffer], self._before(node.index)):
                w.prefetch(self._place(node.buffer, node.index)[0], near=node.near)
        else:
            assert isinstance(node, Fence), f"no kernel has code for {type(node).__name__} yet"
            w.fence()

    def _operand(self, operand: Operand) -> Reg:
        if isinstance(operand, Constant):
            return constant(operand.value, operand.dtype, self.lanes)
        return self.w.splat(self.copy.values[operand], self.lanes)

    def _scalar(self, name: str) -> Reg:
        """A value that stands in an index."""
        value = self.copy.values[name]
        assert value.lanes == 1, "no kernel has code for indices of each lane yet"
        return value

    def _value(self, dtype: str, index: Affine) -> Reg:
        """The number that `index` is, of `dtype`; of lanes that of each."""
        w, (place, behind, stride) = self.w, self._access(dtype, index)
        assert isinstance(place, Reg)
        value = w.splat(place, self.lanes)
        if stride:
            value = w.add(value, w.mul(w.ramp(self.lanes, dtype), stride))
        return w.add(value, behind) if behind else value

    def _holds(self, conditions: Sequence[InRange], mask: Reg | None) -> Reg:
        """Whether `conditions` and `mask` hold, in each lane."""
        for check in conditions:
            assert check.count is not None
            assert check.count.number is not None, "windows are of known sizes"
            mask = guards.within(self.w, self._value("i64", check.index), check.count.number, mask)
        assert mask is not None
        return mask

    def _load(self, node: Load) -> None:
        assert node.mask is None, "no kernel has code for masks that are values yet"
        w, dtype, lanes, values = self.w, node.dtype, self.lanes, self.copy.values
        place, stride = self._place(node.buffer, node.index)
        if node.guard:
            inside, buffer = self._holds(node.guard, self.mask), self.pointers[node.buffer]
            by_line = any(self.lane not in check.index.names for check in node.guard)
            values[node.names[0]] = guards.guarded_load(
                w, inside, place, dtype, stride, buffer, by_line=by_line
            )
        elif not self.lane:
            for number, name in enumerate(node.names):
                values[name] = w.load(w.offset(place, dtype, number), dtype)
        elif len(node.names) > 1:
            count = len(node.names)
            values.update(
                zip(node.names, columns.read_columns(w, dtype, count, place, lanes, self.mask), strict=True)
            )
        elif stride:
            values[node.names[0]] = w.gather(place, dtype, stride, lanes, self._mask_of(node))
        else:
            values[node.names[0]] = w.splat(w.load(place, dtype), lanes)
        if node.hint == AHEAD and self.mask is None and stride == len(node.names):
            before = self._before(node.index)
            for number in range(stride):
                lines.ask_for(w, dtype, place, number * lanes, write=False, before=before)

    def _before(self, index: Affine) -> int:
        """Elements of copies that lie between where the loops are and `index`."""
        numbers, before = self.copy.numbers, 0
        if numbers:
            for name, factor in index.terms:
                if name in numbers:
                    before += factor * numbers[name]
        return before

    def _store(self, node: Store) -> None:
        assert node.mask is None, "no kernel has code for masks that are values yet"
        assert not node.guard, "no kernel has code for guarded stores yet"
        w, dtype, lanes = self.w, self.dtypes[node.buffer], self.lanes
        w.for_ops(node.origins)
        place, stride = self._place(node.buffer, node.index)
        values = [self._operand(value) for value in node.values]
        past_cache, asked = node.hint == STREAM and self.mask is None, node.hint == AHEAD
        if not self.lane:
            for number, value in enumerate(values):
                w.store(value, w.offset(place, dtype, number))
        elif len(values) > 1:
            columns.put_columns(
                w, values, place, lanes, self.mask, past_cache=past_cache, asked=asked,
                before=self._before(node.index),
            )  # fmt: skip
        elif past_cache:
            w.store_past_cache(values[0], place)
        else:
            if asked and self.mask is None and stride == 1:
                lines.ask_for(w, dtype, place, 0, write=True, before=self._before(node.index))
            w.scatter(values[0], place, stride, self._mask_of(node))

    def _mask_of(self, node: Load | Store) -> Reg | None:
        """The lanes that take part in `node`: all where the others are behind the end of the kernel's own
        memory, from which nothing is read. What was stored under a mask is waited for."""
        size = self.slots.get(node.buffer)
        if self.left_out is None or size is None:
            return self.mask
        loop, count = self.left_out
        last = node.index.replaced(loop.index, loop.lo[0]).replaced(self.lane, affine(count - 1))
        return None if last.number == size - 1 else self.mask

    def _quotient(self, node: Quotient) -> None:
        w = self.w
        w.for_ops(node.origins)
        divisor, number = self.copy.inverses[node.inverse]
        self.copy.values[node.name] = divisors.quotient(w, self._operand(node.operand), number, divisor)

    def _condition(self, condition: Condition) -> Reg:
        w = self.w
        if isinstance(condition, str):
            return self.copy.values[condition]
        if isinstance(condition, Aligned):
            at = {place: self._place(*place)[0] for place in _places(condition)}
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
        if loop.kind == LANES:
            self._lanes(loop)
        elif loop.kind == TASKS:
            self.indices[loop.index], self.indices[loop.end] = self.tasks
            assert not any(_names_any(place.index, (loop.index, loop.end)) for place in self.reached[loop]), (
                "accesses move with the loops inside of tasks"
            )
            self.block(loop.body)
        elif loop.kind == INTERLEAVED:
            self._interleaved(loop)
        elif loop.kind == UNROLLED:
            self._unrolled(loop)
        elif self.lane and any(_names_any(bound, (self.lane,)) for bound in loop.hi):
            self._left_out(loop)
        else:
            self._serial(loop)

    def _of_copies(self, operands: Sequence[Operand]) -> list[Reg]:
        """The values of `operands`, copy after copy."""
        if len(self.copies) == 1:
            return [self._operand(operand) for operand in operands]
        values, outer = list[Reg](), self.copy
        for copy in self.copies if operands else ():
            self.copy = copy
            values += [self._operand(operand) for operand in operands]
        self.copy = outer
        return values

    def _firsts(self, loop: For) -> list[Reg]:
        """The values that `loop` begins with, copy after copy."""
        return self._of_copies([carry.first for carry in loop.carried])

    def _next_values(self, loop: For) -> list[Reg]:
        """The values that an iteration of `loop` hands on, copy after copy."""
        return self._of_copies([carry.following for carry in loop.carried])

    def _know(self, names: Sequence[str], values: Sequence[Reg]) -> None:
        """Give `values`, copy after copy, their `names`."""
        if not names:
            return
        size = len(names)
        for number, copy in enumerate(self.copies):
            copy.values.update(zip(names, values[number * size : (number + 1) * size], strict=True))

    def _body(self, loop: For, index: Reg, state: Sequence[Reg]) -> list[Reg]:
        """Write one iteration of `loop`; the values that it hands on."""
        self._know([carry.name for carry in loop.carried], state)
        held, self.held = self.held, len(loop.carried)
        self._inside(loop, index, lambda: self.block(loop.body))
        self.held = held
        return self._next_values(loop)

    def _serial(self, loop: For) -> None:
        first, stop = self._bound(loop.lo, least=False), self._bound(loop.hi, least=True)
        nonempty = isinstance(first, Reg) and self._has_iterations(loop)
        self.around[loop.index] = loop
        state = self.w.loop(
            first, stop, loop.step, lambda index, state: self._body(loop, index, state), self._firsts(loop),
            nonempty=nonempty,
        )  # fmt: skip
        self._know([carry.result for carry in loop.carried], state)

    def _has_iterations(self, loop: For) -> bool:
        """Whether `loop`, which begins where another one is, or a part of tasks, has an iteration for
        certain."""
        if len(loop.lo) > 1 or loop.lo[0].constant or len(loop.lo[0].terms) != 1:
            return False
        ((name, factor),) = loop.lo[0].terms
        if self.indices[name] is self.tasks[0]:
            ends = [bound.names for bound in loop.hi]
            return len(ends) == 1 and len(ends[0]) == 1 and self.indices[ends[0][0]] is self.tasks[1]
        outer = self.around.get(name)
        last = None if outer is None else outer.hi[0].number
        spans = [bound.plus(loop.lo[0], -1) for bound in loop.hi]
        if last is not None and factor > 0:
            spans = [span.replaced(name, affine(last - 1)) for span in spans]
        return all(span.number is not None and span.number > 0 for span in spans)

    def _left_out(self, loop: For) -> None:
        """The only iteration of a loop inside of lanes, some of which it leaves out."""
        (lo,), (hi,), outer = loop.lo, loop.hi, (self.mask, self.folds)
        assert hi.coefficient(self.lane).number == -1, "of lanes some at the end are left out"
        first, count = lo.number, hi.without(self.lane).plus(lo, -1).number
        assert first is not None, "where lanes are left out is known"
        assert count is not None, "how many lanes take part is known"
        assert count <= loop.step, "lanes are left out of one iteration"
        state = self._firsts(loop)
        if count > 0:
            if count < self.lanes:
                assert self.mask is None, "lanes are left out once"
                self.mask = self.folds = self.w.tail_mask(count, self.lanes)
                self.left_out = loop, count
            state = self._body(loop, constant(first, "i64"), state)
            self.mask, self.folds = outer
            self.left_out = None
        self._know([carry.result for carry in loop.carried], state)

    def _unrolled(self, loop: For) -> None:
        """Copies one after the other, within one of those that are side by side if any are."""
        state, fixed = self._firsts(loop), self.fixed
        self.fixed = (*fixed, loop.index)
        for number in _numbers_of(loop):
            self._know([carry.name for carry in loop.carried], state)
            self.copy.numbers[loop.index] = number
            self.indices[loop.index] = constant(number, "i64")
            self.block(loop.body)
            state = self._next_values(loop)
        self.copy.numbers.pop(loop.index, None)
        self.fixed = fixed
        self._know([carry.result for carry in loop.carried], state)

    def _interleaved(self, loop: For) -> None:
        """Copies side by side: the first one goes on with the values that there are, the others begin anew;
        what they fold is folded in pairs."""
        outer, numbers, firsts = self.copies, _numbers_of(loop), self._firsts(loop)
        names, ops = [carry.name for carry in loop.carried], _ops(loop)
        units, size, inner = self._units(loop, ops), len(names), list[_Copy]()
        for place, copy in enumerate(outer):
            begins = firsts[place * size : (place + 1) * size]
            for number in numbers:
                own = _Copy(dict(copy.values), dict(copy.inverses), {**copy.numbers, loop.index: number})
                own.values.update(zip(names, begins, strict=True))
                begins = units
                inner.append(own)
        if not inner:
            return
        fixed, self.fixed = self.fixed, (*self.fixed, loop.index)
        next_values = list[Reg]()
        for together in [inner] if self._take_turns(loop) else [[copy] for copy in inner]:
            self._write_copies(together)
            self.block(loop.body)
            next_values += self._next_values(loop)
        self._write_copies(outer)
        self.fixed = fixed
        parts = [next_values[start : start + size] for start in range(0, len(next_values), size or 1)]
        while len(parts) > len(outer):
            parts = [
                [_combined(self.w, op, x, y) for op, x, y in zip(ops, low, high, strict=True)]
                for low, high in zip(parts[::2], parts[1::2], strict=True)
            ]
        self._know([carry.result for carry in loop.carried], [total for part in parts for total in part])

    def _take_turns(self, loop: For) -> bool:
        """Whether the copies of `loop`, which has loops inside, have memory of the kernel's own apart; others
        run through these one after the other. Iterations are independent in all other memory."""
        if not any(isinstance(node, For) for node in loop.body) or len(self.slots) == 0:
            return True
        return not any(
            access.buffer in self.slots and loop.index not in access.index.names
            for access in accesses_of(loop.body)
        )

    def _lanes(self, loop: For) -> None:
        w, outer = self.w, (self.lane, self.lanes, self.mask, self.folds)
        count = self._bound(loop.hi, least=True)
        fixed, self.fixed = self.fixed, (*self.fixed, loop.index)
        self.lane, self.lanes, self.mask = loop.index, loop.width, None
        if isinstance(count, Reg):
            self.mask = w.lt(w.ramp(loop.width), w.splat(count, loop.width))
        elif count < loop.width:
            self.mask = w.tail_mask(count, loop.width)
        ops = _ops(loop)
        units = self._units(loop, ops)
        shared = self._splat(loop)
        self._know([carry.name for carry in loop.carried], units * len(self.copies))
        self.block(loop.body)
        next_values, mask = self._next_values(loop), self.mask
        w.for_ops(())
        self.lane, self.lanes, self.mask, self.folds = outer
        self.fixed = fixed
        for copy, values in zip(self.copies, shared, strict=True):
            copy.values.update(values)
        totals = list[Reg]()
        for number, (value, first) in enumerate(zip(next_values, self._firsts(loop), strict=True)):
            unit, op = units[number % len(ops)], ops[number % len(ops)]
            combine = functools.partial(_combined, w, op)
            total = w.fold_lanes(value if mask is None else w.select(mask, value, unit), combine)
            begins = first.text != _identity(op, value.dtype, 1).text
            totals.append(combine(first, total) if begins else total)
        self._know([carry.result for carry in loop.carried], totals)

    def _splat(self, loop: For) -> list[dict[str, Reg]]:
        """Splat what loops inside of the lanes of `loop` read of what is known before; the values that there
        were, by their names, of each copy."""
        shared: list[dict[str, Reg]] = [{} for _ in self.copies]
        if self.lanes == 1 or not self.has_folds or not any(copy.values for copy in self.copies):
            return shared
        for copy, scalars in zip(self.copies, shared, strict=True):
            for name in self._survey().read[loop]:
                value = copy.values.get(name)
                if value is not None and value.lanes == 1:
                    scalars[name], copy.values[name] = value, self.w.splat(value, self.lanes)
        return shared

    def _units(self, loop: For, ops: Sequence[Op]) -> list[Reg]:
        """The identities of what `loop` folds by `ops`."""
        return [_identity(op, carry.dtype, self.lanes) for op, carry in zip(ops, loop.carried, strict=True)]


def _ops(loop: For) -> list[Op]:
    """The reductions by which lanes or copies make what they hand on."""
    ops = [folding_op(loop.body, carry.name, carry.following) for carry in loop.carried]
    assert all(op is not None for op in ops), "lanes and copies hand on what folds make"
    return [op for op in ops if op is not None]


def _numbers_of(loop: For) -> list[int]:
    """The indices of the copies of a loop."""
    return list(range(loop.lo[0].constant, loop.hi[0].constant, loop.step))


def _identity(op: Op, dtype: str, lanes: int) -> Reg:
    return constant(unit_of(op, dtype).value, dtype, lanes)


def _combined(w: MathsWriter, op: Op, accumulator: Reg, operand: Reg) -> Reg:
    assert op.reduction is not None
    result: Reg = op.reduction.combine(w, accumulator, operand)
    return result


def _names_any(expression: Affine, names: Container[str]) -> bool:
    """Whether any of `names` takes part in `expression`."""
    return bool(expression.terms) and any(name in names for name in expression.names)


def _places(condition: Aligned) -> list[tuple[str, Affine]]:
    return [*condition.places, *[place for pair in condition.apart for place in pair]]
