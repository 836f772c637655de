"""Addresses as sums of registers."""

from __future__ import annotations

import pytest

from tracejit.codegen.instrument.addresses import Address, Addresses, Sum
from tracejit.codegen.llvm.loops import FunctionWriter
from tracejit.codegen.llvm.registers import Reg

FIRST, SECOND = Sum(0, (("%i", 1),)), Sum(0, (("%j", 1),))


def read(w: FunctionWriter) -> Addresses:
    addresses = Addresses()
    for operation in w.operations:
        addresses.read(operation)
    return addresses


def test_sums_cancel() -> None:
    assert FIRST.plus(SECOND, 3).plus(FIRST, -1) == SECOND.times(3)
    assert FIRST.plus(FIRST, -1) == Sum(0)


@pytest.mark.parametrize(
    ("total", "unit", "text"),
    [
        (Sum(0), 8, "0"),
        (FIRST.times(64).plus(Sum(-24)), 8, "8*%i - 3"),
        (SECOND.times(-8).plus(Sum(8)), 8, "-%j + 1"),
        (FIRST.times(12), 8, "12*%i bytes"),
    ],
)
def test_text(total: Sum, unit: int, text: str) -> None:
    assert total.text(unit) == text


def test_ranges() -> None:
    total = FIRST.times(4).plus(SECOND, -2).plus(Sum(1))
    assert total.range({"%i": (0, 9), "%j": (1, 3)}) == (1 - 6, 36 - 2 + 1)
    assert total.range({"%i": (0, 9)}) is None


def test_moves_of_a_pointer_add_up() -> None:
    w = FunctionWriter()
    index = Reg("%n", "i64")
    row = w.offset("%p", "f64", w.mul(w.add(index, 2), 10))
    place = w.offset(row, "u8", 8)
    assert read(w).address(place) == Address("%p", Sum(168, (("%n", 80),)))


def test_products_of_registers_are_registers() -> None:
    w = FunctionWriter()
    product = w.mul(Reg("%n", "i64"), Reg("%m", "i64"))
    assert read(w).sum_of(product) == Sum(0, ((product.text, 1),))


def test_indices_of_loops_with_bounds() -> None:
    w = FunctionWriter()
    seen: list[Reg] = []

    def outer(i: Reg, _: list[Reg]) -> tuple[()]:
        seen.append(i)
        w.loop(0, i, 1, lambda j, _: seen.append(j) or ())  # type: ignore[func-returns-value]
        return ()

    w.loop(3, 20, 8, outer)
    ranges = read(w).ranges
    assert ranges == {seen[0].text: (3, 19)}
