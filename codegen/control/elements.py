"""Values as elements: each value is a list of registers, or lies in memory and is read where it is used."""

from __future__ import annotations

import abc
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...base.loading import load_module
from ...base.records import record
from ...ir.access import element_strides, view_access
from ...ir.analysis.index_ranges import UNKNOWN, Interval
from ...ir.analysis.loop_arrays import MAX_ELEMENTS
from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Function, Instruction, Value
from ...ir.ops.indexing import SCATTER_FOLDS
from ...ir.registry import Kind
from ...ir.types import contiguous_strides
from ..kernels.indexing.slices import Slices, index_messages, slices_of
from ..llvm.emitter import Reg, constant
from ..llvm.target import Target
from ..lowering.packing import PackingWriter, in_groups
from ..maths import MathsWriter


@record(eq=False)
class Stored:
    """A value in memory, read by element where it is used."""

    pointer: str
    dtype: str


def _folded_alone(function: Function) -> frozenset[Value]:
    """Values that one fold reads and nothing else."""
    readers = Counter(operand for instruction in function.body for operand in instruction.operands)
    readers.update(function.results)
    return frozenset(
        instruction.operands[0]
        for instruction in function.body
        if instruction.op.kind is Kind.REDUCTION and readers[instruction.operands[0]] == 1
    )


#: A value's elements in row-major order.
Elements: TypeAlias = "list[Reg] | Stored"


class ElementWriter(PackingWriter, abc.ABC):
    """Writes functions of small values as straight-line scalar code."""

    def __init__(self, name: str, w: MathsWriter, target: Target) -> None:
        super().__init__(name, w, target)
        #: Numbers between which integers are known to lie.
        self.ranges: Mapping[Value, Interval] = {}
        #: Indices that were checked on the way to what is being written, counted from the front: by value,
        #: element and size of the axis.
        self.checked: dict[tuple[Value, int, int], Reg] = {}
        #: Indices that lie inside, counted from the front, in the loop that is being written.
        self.proven: set[Value] = set()
        #: Messages of errors that can occur, and the labels to branch to where they do.
        self.errors: list[str] = []
        self.failed: list[str] = []

    @abc.abstractmethod
    def control(self, instruction: Instruction, operands: list[Elements]) -> Sequence[Elements]:
        """Write a control flow instruction."""

    # -- elements ---------------------------------------------------------------------------------

    def load(self, stored: Stored, like: Value) -> list[Reg]:
        """All elements of `stored`."""
        return [self.element(stored, i) for i in range(like.type.size)]

    def element(self, elements: Elements, index: int) -> Reg:
        """The element at `index`, which is loaded where it lies in memory."""
        if isinstance(elements, list):
            return elements[index]
        return self.w.load(self.w.offset(elements.pointer, elements.dtype, index), elements.dtype)

    def store(self, elements: Elements, target: Stored, first: int) -> None:
        """Write registers to `target`, from element `first` on; an array in memory must be at `target`
        already."""
        if isinstance(elements, Stored):
            assert elements.pointer == target.pointer
            return
        for i, element in enumerate(elements):
            self.w.store(element, self.w.offset(target.pointer, target.dtype, first + i))

    # -- functions --------------------------------------------------------------------------------

    def function(
        self,
        function: Function,
        arguments: Sequence[Elements],
        places: Sequence[tuple[Value, Stored]] = (),
        outside: Sequence[Value] = (),
    ) -> list[Elements]:
        """Write the instructions of `function`; its results. `outside` has what its parameters are in the
        function around it, if anything of that was checked.

        Values of few elements in memory are loaded where they are needed first, and those that have `places`
        are stored where they are computed: of many, few are in registers at a time.
        """
        values: dict[Value, Elements] = dict(zip(function.params, arguments, strict=True))
        before, proven = self.checked, self.proven
        inner = dict(zip(outside, function.params, strict=False))
        self.proven = proven | {inner[value] for value in proven if value in inner}
        self.checked = {
            (inner[value], number, size): at for (value, number, size), at in before.items() if value in inner
        }
        self.folded_alone |= _folded_alone(function)
        targets: dict[Value, list[Stored]] = {}
        for value, place in places:
            targets.setdefault(value, []).append(place)
        for group in in_groups(function):
            self.w.for_ops(tuple(number for instruction in group for number in instruction.origins))
            for instruction in group:
                self._load_operands(instruction, values)
            if len(group) > 1 or group[0].op.kind is Kind.ELEMENTWISE:
                self._elementwise(group, values)
            else:
                (instruction,) = group
                operands = [values[operand] for operand in instruction.operands]
                values.update(zip(instruction.results, self._instruction(instruction, operands), strict=True))
            for result in [result for instruction in group for result in instruction.results]:
                for place in targets.pop(result, ()):
                    self.store(values[result], place, 0)
        self.w.for_ops(())
        for value, left in targets.items():  # parameters
            for place in left:
                self.store(self._loaded(value, values), place, 0)
        self.checked, self.proven = before, proven
        return [self._loaded(result, values) for result in function.results]

    def _load_operands(self, instruction: Instruction, values: dict[Value, Elements]) -> None:
        """Load what `instruction` reads as a whole: neither what it reads at some indices, nor slices."""
        first, last = 0, len(instruction.operands)
        if instruction.op.kind.traits.indexes_operand:
            first = 1
        if instruction.op.kind is Kind.SCAN:
            last -= instruction.attrs["slices"]
        for operand in instruction.operands[first:last]:
            self._loaded(operand, values)

    def _loaded(self, value: Value, values: dict[Value, Elements]) -> Elements:
        """`value`, in registers from now on if it has few elements."""
        elements = values[value]
        if isinstance(elements, Stored) and value.type.size <= MAX_ELEMENTS:
            elements = values[value] = self.load(elements, value)
        return elements

    def _instruction(self, instruction: Instruction, operands: list[Elements]) -> Sequence[Elements]:
        kind = instruction.op.kind
        if kind.traits.control:
            return self.control(instruction, operands)
        if kind is Kind.LINALG:
            return self._linear_algebra(instruction, operands)
        if kind is Kind.GATHER:
            return [self.gather(instruction, operands)]
        return [_WRITERS[kind](self, instruction, operands)]

    def _linear_algebra(self, instruction: Instruction, operands: list[Elements]) -> Sequence[Elements]:
        """Factorizations and solutions, each matrix as unrolled code."""
        matrices: list[list[Reg]] = []
        for elements in operands:
            assert isinstance(elements, list)
            matrices.append(elements)
        operations: Any = load_module("..kernels.linalg.lowering", __package__)  # for those who need it
        results: list[Elements]
        results, failed = operations.elementwise_results(self.w, instruction, matrices)
        if failed is not None:
            self.fail_where(failed, operations.message(instruction))
        return results

    def fail_where(self, failed: Reg, message: str) -> None:
        """Leave with `message` where `failed` holds."""
        if message not in self.errors:
            self.errors.append(message)
            self.failed.append(self.w.label("bad"))
        self.w.exit_if(failed, self.failed[self.errors.index(message)])

    def _elementwise(self, group: Sequence[Instruction], values: dict[Value, Elements]) -> None:
        """Write elementwise instructions with one op, none of whose elements depends on another."""
        rows = [
            [self.element(values[x], i) for x in instruction.operands]
            for instruction in group
            for i in range(instruction.result.type.size)
        ]
        results = self.packed(group[0], rows)
        start = 0
        for instruction in group:
            values[instruction.result] = results[start : start + instruction.result.type.size]
            start += instruction.result.type.size

    def move(self, instruction: Instruction, operands: list[Elements]) -> Elements:
        """Move elements: the op's NumPy function is called on numbers that stand for the elements."""
        if isinstance(operands[0], Stored):
            return (
                self._write_slice(instruction, operands)
                if operands[1:]
                else self._part(instruction, operands)
            )
        numbers, start = [], 0
        for operand in instruction.operands:
            numbers.append(np.arange(start, start + operand.type.size).reshape(operand.shape))
            start += operand.type.size
        starts = np.cumsum([0, *[operand.type.size for operand in instruction.operands]])
        elements: list[Reg] = []
        for number in np.asarray(instruction.op.eval(*numbers, **instruction.attrs)).reshape(-1).tolist():
            which = int(np.searchsorted(starts, number, side="right")) - 1
            elements.append(self.element(operands[which], number - int(starts[which])))
        return elements

    def _part(self, instruction: Instruction, operands: list[Elements]) -> Elements:
        """A view of few elements of an array."""
        access = view_access(instruction)
        assert access is not None
        strides = contiguous_strides(instruction.operands[0].shape)
        by, first = element_strides(access, strides, len(instruction.result.shape))
        return [
            self.element(operands[0], first + sum(map(operator.mul, place, by)))
            for place in np.ndindex(*instruction.result.shape)
        ]

    def _write_slice(self, instruction: Instruction, operands: list[Elements]) -> Elements:
        """Write a slice of few elements of an array in place."""
        (x, value), (source, written) = operands, instruction.operands
        assert isinstance(x, Stored)
        strides, attrs = contiguous_strides(source.shape), instruction.attrs
        first = sum(map(operator.mul, attrs["start"], strides))
        by = list(map(operator.mul, attrs["step"], strides))
        for number, place in enumerate(np.ndindex(*written.shape)):
            offset = first + sum(map(operator.mul, place, by))
            self.w.store(self.element(value, number), self.w.offset(x.pointer, x.dtype, offset))
        return x

    def create(self, instruction: Instruction, operands: list[Elements]) -> Elements:
        """Constants."""
        values = (
            np.asarray(instruction.op.eval(**instruction.attrs), instruction.result.dtype)
            .reshape(-1)
            .tolist()
        )
        return [constant(value, SHORT_NAME[instruction.result.dtype]) for value in values]

    def reduce(self, instruction: Instruction, operands: list[Elements]) -> Elements:
        """Reductions, folded in order."""
        reduction = instruction.op.reduction
        assert reduction is not None
        shape, axes = instruction.operands[0].shape, instruction.attrs["axes"]
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        numbers = np.arange(instruction.operands[0].type.size).reshape(shape).transpose([*kept, *axes])
        dtype = SHORT_NAME[instruction.result.dtype]
        totals: list[Reg] = []
        length = int(np.prod([shape[axis] for axis in axes], dtype=np.int64))
        for row in numbers.reshape(instruction.result.type.size, length).tolist():
            total = constant(reduction.identity(dtype), dtype)
            for number in row:
                total = reduction.combine(self.w, total, self.element(operands[0], number))
            totals.append(total)
        return totals

    def contract(self, instruction: Instruction, operands: list[Elements]) -> Elements:
        """Products of small matrices."""
        x, y = [np.arange(operand.type.size).reshape(operand.shape) for operand in instruction.operands]
        w, totals = self.w, []
        for *batch, row, column in np.ndindex(*instruction.result.shape):
            left, right = x[(*batch, row)], y[(*batch, slice(None), column)]
            dtype = SHORT_NAME[instruction.result.dtype]
            multiply, add = (w.and_, w.or_) if dtype == "bool" else (w.mul, w.add)
            total = constant(0, dtype)
            for a, b in zip(left.tolist(), right.tolist(), strict=True):
                total = add(multiply(self.element(operands[0], a), self.element(operands[1], b)), total)
            totals.append(total)
        return totals

    def gather(self, instruction: Instruction, operands: list[Elements]) -> Elements:
        """Read elements at traced indices from memory, to which registers are stored first."""
        w, (x, *indices) = self.w, operands
        source = instruction.operands[0]
        if source.shape == (1,) and isinstance(x, list):  # all indices inside lead to one element
            return self._only_element(instruction, x[0], indices[0])
        x = self._in_memory(x, source)
        slices = slices_of(source.shape, len(indices), instruction.attrs["axes"])
        elements: list[Reg] = []
        for place in self._places(instruction, slices, indices):
            here = Stored(w.offset(x.pointer, x.dtype, place), x.dtype)
            elements += [self.element(here, offset) for offset in slices.offsets()]
        return elements

    def _only_element(self, instruction: Instruction, element: Reg, indices: Elements) -> Elements:
        """Read the only element of a line in registers at each of `indices`."""
        w, value = self.w, instruction.operands[1]
        (text,) = index_messages(instruction, slices_of((1,), 1, instruction.attrs["axes"]))
        low, high = self.ranges.get(value, UNKNOWN)
        inside = low is not None and low >= -1 and high is not None and high <= 0
        if value not in self.proven and not inside:
            for number in range(value.type.size):
                self.fail_where(self._is_outside(w.add(self.element(indices, number), 1), 2), text)
        return [element] * value.type.size

    def scatter(self, instruction: Instruction, operands: list[Elements]) -> Elements:
        """Write some elements of an array in place; registers are stored to memory first."""
        w, (x, value, *indices) = self.w, operands
        source, small = instruction.operands[0], isinstance(x, list)
        x = self._in_memory(x, source)
        slices = slices_of(source.shape, len(indices), instruction.attrs["axes"])
        fold = SCATTER_FOLDS.get(instruction.attrs["mode"])
        number = 0
        for place in self._places(instruction, slices, indices):
            start = w.offset(x.pointer, x.dtype, place)
            for offset in slices.offsets():
                new, target = self.element(value, number), w.offset(start, x.dtype, offset)
                if fold is not None:
                    assert fold.emit is not None
                    new = w.rounded(fold.emit(w, w.load(target, x.dtype), new))
                w.store(new, target)
                number += 1
        return self.load(x, source) if small else x

    def _in_memory(self, elements: Elements, like: Value) -> Stored:
        if isinstance(elements, Stored):
            return elements
        dtype = SHORT_NAME[like.dtype]
        spilled = Stored(self.w.slot(dtype, len(elements)), dtype)
        self.store(elements, spilled, 0)
        return spilled

    def _places(self, instruction: Instruction, slices: Slices, indices: Sequence[Elements]) -> list[Reg]:
        """The offset of the slice that each tuple of indices leads to; code that leaves where one is out of
        range comes first."""
        w, count = self.w, instruction.operands[-1].type.size
        values = instruction.operands[len(instruction.operands) - len(indices) :]
        texts = index_messages(instruction, slices)
        axes = list(zip(texts, values, indices, slices.sizes, slices.steps, strict=True))
        places = []
        for number in range(count):
            place = constant(0, "i64")
            for text, value, index, size, step in axes:
                at = self._inside(value, number, self.element(index, number), size, text)
                place = w.add(place, w.mul(at, step))
            places.append(w.mul(place, slices.unit))
        return places

    def _inside(self, value: Value, number: int, at: Reg, size: int, text: str) -> Reg:
        """The element `number` of the indices `value` into an axis of `size`, which is `at`, counted from the
        front; code that leaves with the message `text` where it is out of range comes first."""
        w = self.w
        if value in self.proven:
            return at
        low, high = self.ranges.get(value, UNKNOWN)
        if low is not None and high is not None and -size <= low and high < size:
            return at if low >= 0 else w.select(w.lt(at, 0), w.add(at, size), at)
        key = value, number, size
        if key not in self.checked:

            def from_the_end() -> list[Reg]:
                moved = w.add(at, size)
                self.fail_where(self._is_outside(moved, size), text)
                return [moved]

            (self.checked[key],) = w.when(self._is_outside(at, size), from_the_end, [at], rare=True)
        return self.checked[key]

    def _is_outside(self, at: Reg, size: int) -> Reg:
        """Whether `at` is negative, or `size` or more."""
        return self.w.ge(self.w.cast(at, "u64"), constant(size, "u64"))


def flattened(values: Sequence[Elements]) -> list[Reg]:
    """The registers of `values` in a row, as `parted` takes them; arrays have none."""
    return [register for elements in values if isinstance(elements, list) for register in elements]


def parted(regs: Sequence[Reg], like: Sequence[Elements]) -> list[Elements]:
    """`regs` as values like those that they were `flattened` from; arrays stay where they lie."""
    parts: list[Elements] = []
    start = 0
    for elements in like:
        if isinstance(elements, Stored):
            parts.append(elements)
            continue
        parts.append(list(regs[start : start + len(elements)]))
        start += len(elements)
    return parts


_WRITERS: Final[dict[Kind, Callable[[ElementWriter, Instruction, list[Elements]], Elements]]] = {
    Kind.VIEW: ElementWriter.move,
    Kind.CONCAT: ElementWriter.move,
    Kind.UPDATE: ElementWriter.move,
    Kind.CREATION: ElementWriter.create,
    Kind.REDUCTION: ElementWriter.reduce,
    Kind.CONTRACTION: ElementWriter.contract,
    Kind.SCATTER: ElementWriter.scatter,
}
