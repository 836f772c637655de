"""Shuffles of squares and of records, on vectors of numbers that stand for registers."""

from collections.abc import Sequence
from typing import Any

import pytest

from tracejit.codegen.llvm.transpose import is_record, joined, separated, transposed


class Vector:
    """The lanes of a register."""

    def __init__(self, values: Sequence[int], dtype: str = "f64") -> None:
        self.values, self.dtype, self.lanes = list(values), dtype, len(values)


class Shuffles:
    """A writer that shuffles at once."""

    def shuffle(self, x: Vector, y: Vector, places: Sequence[int]) -> Vector:
        lanes = x.values + y.values
        return Vector([lanes[place] for place in places], x.dtype)


WRITER: Any = Shuffles()


def rows(count: int, lanes: int, dtype: str = "f64") -> list[Any]:
    return [Vector(range(start, start + lanes), dtype) for start in range(0, count * lanes, lanes)]


def values(vectors: Sequence[Any]) -> list[list[int]]:
    return [vector.values for vector in vectors]


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
def test_squares(lanes: int, dtype: str) -> None:
    square = rows(lanes, lanes, dtype)
    assert values(transposed(WRITER, square)) == [list(line) for line in zip(*values(square), strict=True)]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8, 9, 12])
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_records(count: int, lanes: int) -> None:
    memory = rows(count, lanes)
    fields = separated(WRITER, memory)
    assert values(fields) == [list(range(field, count * lanes, count)) for field in range(count)]
    assert values(joined(WRITER, fields)) == values(memory)


def test_sizes_of_records() -> None:
    assert [count for count in range(1, 17) if is_record(count)] == [1, 2, 3, 4, 6, 8, 12, 16]
