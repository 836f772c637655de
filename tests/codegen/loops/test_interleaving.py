"""Copies of a body that take turns: as far as registers go, and only where they are independent."""

from __future__ import annotations

from tracejit.codegen.llvm.control_operations import Origins
from tracejit.codegen.llvm.emitter import Reg
from tracejit.codegen.llvm.loops import FunctionWriter
from tracejit.codegen.llvm.operations import Operation
from tracejit.codegen.loops.interleaving import independent, interleaved, live_vectors, side_by_side

LANES = 4


def chain(w: FunctionWriter, copy: int, length: int = 3, pointer: str = "%x") -> list[Operation]:
    """A load, some multiplications in a row and a store, `copy` vectors behind `pointer`."""
    start = len(w.operations)
    place = w.offset(pointer, "f64", copy * LANES)
    value = w.load(place, "f64", LANES)
    for _ in range(length):
        value = w.mul(value, value)
    w.store(value, place)
    copied = w.operations[start:]
    del w.operations[start:]
    return copied


def numbers(order: list[Operation], copies: list[list[Operation]]) -> list[int]:
    """The number of the copy that each operation belongs to; marks are left out."""
    place = {id(operation): number for number, copy in enumerate(copies) for operation in copy}
    return [place[id(operation)] for operation in order if not isinstance(operation, Origins)]


def test_copies_take_turns() -> None:
    w = FunctionWriter()
    copies = [chain(w, copy) for copy in range(1, 5)]
    merged = interleaved(copies, 16)
    assert numbers(merged, copies) == [0, 1, 2, 3] * len(copies[0])
    assert {id(operation) for copy in copies for operation in copy} <= {id(o) for o in merged}


def test_copies_keep_their_own_order() -> None:
    w = FunctionWriter()
    copies = [chain(w, 0), chain(w, 1, length=7)]  # the first one has no offset either
    merged = interleaved(copies, 16)
    for copy in copies:
        places = [merged.index(operation) for operation in copy]
        assert places == sorted(places)


def test_registers_bound_how_many_take_turns() -> None:
    w = FunctionWriter()
    copies = []
    for copy in range(1, 5):
        start = len(w.operations)
        values = [w.load(w.offset("%x", "f64", copy * 100 + i), "f64", LANES) for i in range(6)]
        total = values[0]
        for value in values[1:]:
            total = w.add(total, value)
        w.store(total, w.offset("%y", "f64", copy * LANES))
        copies.append(w.operations[start:])
    assert live_vectors(copies[0]) == 6
    assert numbers(interleaved(copies, 24), copies)[:4] == [0, 1, 2, 3]
    assert numbers(interleaved(copies, 23), copies)[:4] == [0, 1, 0, 1]
    behind_one_another = [number for number, copy in enumerate(copies) for _ in copy]
    assert numbers(interleaved(copies, 11), copies) == behind_one_another


def test_what_reads_another_copys_results_stays_behind_it() -> None:
    w = FunctionWriter()
    total, copies = Reg("%t", "f64", LANES), []
    for copy in range(2):
        start = len(w.operations)
        total = w.add(total, w.load(w.offset("%x", "f64", copy * LANES), "f64", LANES))
        copies.append(w.operations[start:])
    assert not independent(copies)
    assert numbers(interleaved(copies, 16), copies) == [0, 0, 1, 1, 1]


def test_what_is_stored_where_another_copy_reads_stays_in_order() -> None:
    w = FunctionWriter()
    copies = [chain(w, 0), chain(w, 0)]
    assert not independent(copies)


def test_calls_and_loops_do_not_take_turns() -> None:
    w = FunctionWriter()
    copies = []
    for copy in range(2):
        start = len(w.operations)
        w.run("f", w.load(w.offset("%x", "f64", copy * LANES), "f64", LANES))
        copies.append(w.operations[start:])
    assert not independent(copies)
    start = len(w.operations)
    w.loop(0, 5, 1, lambda index, _: [])
    assert not independent([w.operations[start:], chain(w, 1)])


def test_marks_of_traced_ops_stay_true() -> None:
    w = FunctionWriter()

    def marked(copy: int) -> None:
        w.for_ops((1,))
        value = w.load(w.offset("%x", "f64", (copy + 1) * LANES), "f64", LANES)
        w.for_ops((2,))
        w.store(w.mul(value, value), w.offset("%y", "f64", (copy + 1) * LANES))
        w.for_ops(())

    side_by_side(w, 2, marked)
    origins: tuple[int, ...] = ()
    of: dict[str, set[tuple[int, ...]]] = {}
    for operation in w.operations:
        if isinstance(operation, Origins):
            origins = operation.numbers
        else:
            of.setdefault(type(operation).__name__, set()).add(origins)
    assert of == {"Offset": {(1,), (2,)}, "Load": {(1,)}, "Compute": {(2,)}, "Store": {(2,)}}
    assert origins == w.origins == ()
