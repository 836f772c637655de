"""Loops whose steps do not depend on each other become operations on arrays, as if written so.

    for i in range(n - 1):                            y[1:] = exp(x[:-1])
        y[i + 1] = exp(x[i])

Each operation of a step is applied to all steps at once, by its batching rule, in the order of the body.
That is right where no step touches an element of an array that another step writes (`affine_accesses`), and
where scalars that go from step to step are counters, or sums, products, extrema (`step_folds`). Sums are
those of arrays then, whose order is not that of the steps. Inner loops are taken first, so that a nest
becomes arrays of as many dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...analysis.affine import AffineValues, loop_forms
from ...analysis.loop_arrays import MAX_ELEMENTS
from ...builder import Builder, inline
from ...dataflow import has_effect, increment, read_counts
from ...dtypes import INT64
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from ...transforms.batching import all_mapped, rule_of, spread
from ..algebra.cleanup import dce
from .affine_accesses import has_large_windows, slice_accesses
from .branch_writes import writes_behind_branches
from .conditional_folds import select_terms
from .early_reads import reads_before
from .forwarded_elements import forward_elements
from .mapped_loops import can_run, is_map, mapped_loop, pays
from .product_sums import contract_product_sums
from .rounded_products import products_to_round, rounded_inside
from .step_dependence import StepAccess, access_of, independent, is_inside
from .step_folds import FOLDS, Extremum, Fold, folds

#: A value of all steps has at most so many elements: it may have to lie in memory.
MAX_NEST: Final = 1 << 24
#: Least elements of arrays inside of a loop that stays one: smaller ones are faster as carries.
MIN_NEST: Final = 256

_KINDS: Final = frozenset(
    (
        Kind.ELEMENTWISE, Kind.VIEW, Kind.CREATION, Kind.REDUCTION, Kind.CONCAT,
        Kind.GATHER, Kind.SCATTER, Kind.UPDATE, Kind.COMPOSITE, Kind.SWITCH,
    )
)  # fmt: skip


def loops_to_arrays(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results up to the order of sums; of scans whose steps work on
    single elements, those whose steps do not depend on each other are operations on arrays, except for small
    ones in other loops. Itself where there is none."""
    if not function.has_control:
        return function
    rewritten = forward_elements(_rewritten(function, pays, inside=False))
    if rewritten is function:
        return function
    return dce(contract_product_sums(dce(slice_accesses(rewritten))))


def _rewritten(function: Function, accepts: Callable[[Function], bool], *, inside: bool) -> Function:
    """`function`, whose loops are operations on arrays where they can be and `accepts` says so."""
    b = Builder()
    b.params = list(function.params)
    table = Substitution()
    changed = False
    for original in function.body:
        instruction = table.apply(original)
        if instruction.op.kind.traits.control:
            defs = _definitions(b.body)
            arrays = _as_arrays(writes_behind_branches(instruction, defs), AffineValues(defs))
            if arrays is not None and accepts(arrays):
                for old, new in zip(original.results, inline(b, arrays, instruction.operands), strict=True):
                    table[old] = new
                changed = True
                continue
            loop = inside or instruction.op.kind is not Kind.SWITCH
            inner = _is_large if loop else accepts
            regions = tuple([_rewritten(region, inner, inside=loop) for region in instruction.regions])
            if any(new is not old for new, old in zip(regions, instruction.regions, strict=True)):
                instruction = instruction.replace(regions=regions)
                changed = True
        b.body.append(instruction)
    if not changed:
        return function
    return b.finish(function.name, table.all(function.results))


def _definitions(body: list[Instruction] | tuple[Instruction, ...]) -> dict[Value, Instruction]:
    return {result: instruction for instruction in body for result in instruction.results}


def _is_large(arrays: Function) -> bool:
    """Whether the arrays that a loop became are worth it inside of another loop."""
    return pays(arrays) and any(
        result.type.size >= MIN_NEST
        for step in arrays.body
        for result in step.results
        if step.op.kind.traits.computes or step.op.kind is Kind.SCAN
    )


def _as_arrays(scan: Instruction, outer: AffineValues) -> Function | None:
    """A function of the operands of `scan` that has its results without a loop; None where steps depend on
    each other, or are operations on arrays themselves."""
    if scan.op.kind is not Kind.SCAN or not scan.attrs["length"] or not _is_elementwise(scan):
        return None
    body = select_terms(scan.regions[0])
    rewritten = _rewritten(body, lambda arrays: True, inside=True)
    try:
        arrays = _Steps(scan, rewritten, outer).arrays()
        if rewritten is not body and has_large_windows(arrays):
            arrays = _Steps(scan, body, outer).arrays()
        return arrays
    except _Dependent:
        return None


def _is_elementwise(loop: Instruction) -> bool:
    """Whether the steps of `loop`, and of loops in it, compute values of few elements, and read and write
    arrays by element."""
    return all(
        (step.op.kind.traits.control and all(_is_elementwise(step) for _ in step.regions))
        or step.op.kind is Kind.VIEW
        or step.op.kind.traits.updates_operand
        or all(result.type.size <= MAX_ELEMENTS for result in step.results)
        or step.op.name == "copy"
        for region in loop.regions
        for step in region.body
    )


class _Dependent(Exception):
    """The steps of a loop depend on each other, as far as is known."""


class _Steps:
    """All steps of one scan at once."""

    def __init__(self, scan: Instruction, body: Function, outer: AffineValues) -> None:
        self.scan, self.body = scan, body
        self.length: int = scan.attrs["length"]
        self.count: int = scan.attrs["carries"]
        self.first_slice = len(scan.operands) - scan.attrs["slices"]
        self.b = Builder()
        self.operands = [self.b.parameter(operand.type, operand.hint) for operand in scan.operands]
        #: The array-level values of a step's values; those in `many` have a leading axis of steps.
        self.values: dict[Value, Value] = {}
        self.many: set[Value] = set()
        self.defs = _definitions(body.body)
        self.uses = read_counts(body)
        self.results: dict[int, Value] = {}
        self.rounded = products_to_round(body, body.results[self.count :])
        self.affine = loop_forms(scan, outer, body)
        counters = {i for i in range(self.count) if body.params[i] in self.affine.forms}
        self.folds = [fold for fold in folds(body, self.count) if not counters & set(_carries_of(fold))]
        self.folded = {carry for fold in self.folds for carry in _carries_of(fold)}
        self.members = {member for fold in self.folds for member in fold.members}
        #: Elements to which all steps add: what writes each, with what reads it, what adds, and the term.
        self.accumulated: dict[Instruction, tuple[Instruction, Instruction, Value]] = {}
        #: Carries by the versions of the arrays that are written.
        self.versions: dict[Value, int] = {}

    def arrays(self) -> Function:
        self._check_carries()
        self._enter()
        for step in self.body.body:
            self.b.location = step.location
            self._append(step)
        self.b.location = self.scan.location
        return dce(self.b.finish(self.body.name, self._results()))

    # -- what is carried ----------------------------------------------------------------------------

    def _check_carries(self) -> None:
        """Find out what each carry is. Raises _Dependent where steps wait for each other."""
        for carry in range(self.count):
            param = self.body.params[carry]
            if carry in self.folded or self.affine.forms.get(param) is not None:
                continue
            if self.body.results[carry] is not param:
                self._check_array(carry)

    def _check_array(self, carry: int) -> None:
        """Follow the versions of an array that is written, and check that steps touch different elements."""
        latest = self.body.params[carry]
        self.versions[latest] = carry
        touched: list[Instruction] = []
        for step in self.body.body:
            which = [operand for operand in step.operands if self.versions.get(operand) == carry]
            if not which:
                continue
            indexed = step.op.kind in (Kind.GATHER, Kind.SCATTER)
            if len(which) > 1 or (indexed and step.operands[0] is not which[0]):
                raise _Dependent
            if step.op.kind is Kind.GATHER:
                touched.append(step)
            elif which[0] is latest and (step.op.name in ("scatter", "copy")):
                latest = step.result
                self.versions[latest] = carry
                if step.op.name == "scatter":
                    touched.append(step)
            else:
                raise _Dependent
        if self.body.results[carry] is not latest:
            raise _Dependent
        self._check_accesses(carry, touched)

    def _check_accesses(self, carry: int, touched: list[Instruction]) -> None:
        reads = set[Instruction]()
        for step in touched:
            sum_ = self._accumulation(step)
            if sum_ is not None:
                self.accumulated[step] = sum_
                reads.add(sum_[0])
        accesses: list[StepAccess] = []
        for step in touched:
            if step in reads:
                continue
            access = access_of(step, self.affine, alone=step in self.accumulated)
            if access is None:
                raise _Dependent
            accesses.append(access)
        if not independent(accesses, self.body.params[carry].shape, self.length):
            raise _Dependent

    def _accumulation(self, write: Instruction) -> tuple[Instruction, Instruction, Value] | None:
        """Match `write` as an accumulation into the same elements in all steps: the read, the fold, and the
        value that it adds."""
        if write.op.name != "scatter" or write.attrs["mode"] != "set":
            return None
        fold = self.defs.get(write.operands[1])
        if fold is None or fold.op.name not in FOLDS or self.uses[fold.result] != 1:
            return None
        for position, operand in enumerate(fold.operands):
            read = self.defs.get(operand)
            if (
                read is None
                or read.op.kind is not Kind.GATHER
                or self.versions.get(read.operands[0]) != self.versions[write.operands[0]]
                or self.uses[read.result] != 1
                or read.attrs["axes"] != write.attrs["axes"]
                or (fold.op.name == "sub" and position == 1)
            ):
                continue
            if len(read.operands) - 1 == len(write.operands) - 2 and all(
                self._fixed(x, y) for x, y in zip(read.operands[1:], write.operands[2:], strict=True)
            ):
                return read, fold, fold.operands[1 - position]
        return None

    def _fixed(self, x: Value, y: Value) -> bool:
        """Whether two indices are one, the same in all steps."""
        form, other = self.affine.of(x), self.affine.of(y)
        return form is not None and form == other and form.step == 0

    # -- steps at once ------------------------------------------------------------------------------

    def _enter(self) -> None:
        b: Any = self.b
        for position, (param, operand) in enumerate(zip(self.body.params, self.operands, strict=True)):
            self.values[param] = operand
            if position >= self.first_slice:
                self.values[param] = _reversed(b, operand) if self.scan.attrs["reverse"] else operand
                self.many.add(param)
                continue
            form = self.affine.forms.get(param) if position < self.count else None
            if form is not None:
                steps = b.iota(shape=(self.length,), axis=0, dtype=INT64)
                scaled = steps if form.step == 1 else b.mul(steps, form.step)
                start = (form.constant or None) if not form.scalars else operand
                self.values[param] = scaled if start is None else b.add(scaled, start)
                self.many.add(param)

    def _append(self, step: Instruction) -> None:
        b: Any = self.b
        if step in self.members or self._belongs(step):
            return
        if step in self.accumulated:
            self._accumulate(step)
            return
        if step.op.kind in (Kind.SCAN, Kind.WHILE, Kind.SWITCH) and not can_run(step):
            reads, step = ([], step) if is_map(step) else self._reads_before(step)
            for read in reads:
                self._append(read)
            if not can_run(step):
                self._map(step)
                return
        operands = [self._value(operand) for operand in step.operands]
        flags = [operand in self.many for operand in step.operands]
        if step.op.kind not in _KINDS or has_effect(step) or not can_run(step):
            raise _Dependent
        step = rounded_inside(step)
        if step.op.name == "scatter" and step.result in self.versions:
            value, *indices = all_mapped(self.b, operands[1:], flags[1:], self.length)
            self.values[step.result] = self.b.append(step.op, (operands[0], value, *indices), step.attrs)[0]
            return
        if step.op.name == "copy" and step.result in self.versions:
            self.values[step.result] = operands[0]
            return
        if any(flags):
            results = rule_of(step)(self.b, step, operands, flags, self.length)
            self.many.update(step.results)
        else:
            results = self.b.repeat(step, tuple(operands))
        for result, value in zip(step.results, results, strict=True):
            if value.type.size > MAX_NEST:
                raise _Dependent
            self.values[result] = value if result not in self.rounded else b.rounded(value)

    def _map(self, step: Instruction) -> None:
        """A loop or a branch in the steps, for all of them."""
        operands = [self._value(operand) for operand in step.operands]
        flags = [operand in self.many for operand in step.operands]
        if not any(flags) and not has_effect(step):
            self.values.update(zip(step.results, self.b.repeat(step, tuple(operands)), strict=True))
            return
        results = mapped_loop(self.b, step, operands, flags, self.length, self.defs)
        if results is None or any(result.type.size > MAX_NEST for result in results):
            raise _Dependent
        self.many.update(step.results)
        self.values.update(zip(step.results, results, strict=True))

    def _reads_before(self, step: Instruction) -> tuple[list[Instruction], Instruction]:
        """Hoist reads of elements that are known to exist out of a loop or a branch: the reads, and the rest
        of it."""
        reads, step = reads_before(step, self._is_inside, self.affine.define)
        self.defs.update({read.result: read for read in reads})
        return reads, step

    def _is_inside(self, read: Instruction, operands: Sequence[Value]) -> bool:
        return operands[0] not in self.versions and is_inside(read, operands, self.affine, self.length)

    def _value(self, value: Value) -> Value:
        if value not in self.values:
            raise _Dependent  # what is folded up is read
        return self.values[value]

    def _belongs(self, step: Instruction) -> bool:
        """Whether `step` is the read or the fold of an accumulation."""
        return any(step is read or step is fold for read, fold, _ in self.accumulated.values())

    def _accumulate(self, write: Instruction) -> None:
        """Fold all steps into the elements that all of them write."""
        read, fold, term = self.accumulated[write]
        array = self._value(write.operands[0])
        indices = [self._value(index) for index in write.operands[2:]]
        if any(index in self.many for index in write.operands[2:]):
            raise _Dependent
        (old,) = self.b.append(read.op, (array, *indices), read.attrs)
        terms = self._spread(term)
        name = fold.op.name
        total = Fold(-1, name, (fold,), ((term, name == "sub"),)).appended(self.b, old, [terms])
        self.values[write.result] = self.b.append(write.op, (array, total, *indices), write.attrs)[0]

    def _spread(self, value: Value) -> Value:
        inner = self._value(value)
        return inner if value in self.many else spread(self.b, inner, self.length)

    # -- after --------------------------------------------------------------------------------------

    def _results(self) -> list[Value]:
        b: Any = self.b
        for fold in self.folds:
            if isinstance(fold, Fold):
                terms = [self._spread(term) for term, _ in fold.terms]
                self.results[fold.carry] = fold.appended(b, self.operands[fold.carry], terms)
            else:
                others = {
                    carry: (self.operands[carry], self._spread(value), self.affine.of(value))
                    for carry, value in fold.companions.items()
                }
                candidates = self._spread(fold.candidate)
                self.results.update(fold.appended(b, self.operands[fold.carry], candidates, others))
        results = []
        for position, value in enumerate(self.body.results):
            if position in self.results:
                results.append(self.results[position])
            elif position >= self.count:
                stacked = self._spread(value)
                results.append(_reversed(b, stacked) if self.scan.attrs["reverse"] else stacked)
            elif self.body.params[position] in self.many:
                each = increment(self.body, position)
                assert each is not None
                results.append(b.add(self.operands[position], each * self.length))
            else:
                results.append(self._value(value))
        return results


def _carries_of(fold: Fold | Extremum) -> tuple[int, ...]:
    return (fold.carry,) if isinstance(fold, Fold) else (fold.carry, *fold.companions)


def _reversed(b: Any, value: Value) -> Value:
    """`value` with its first axis the other way round."""
    size = value.shape[0]
    start = (size - 1, *[0] * (len(value.shape) - 1))
    result: Value = b.slice(value, start=start, size=value.shape, step=(-1, *[1] * (len(value.shape) - 1)))
    return result
