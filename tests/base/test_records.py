"""Records: what their methods do, and that code is compiled for numbers of fields, not for classes."""

from __future__ import annotations

import inspect
import itertools

import pytest

from tracejit.base import records
from tracejit.base.records import field, record


@record
class Point:
    x: int
    y: int = 0


@record
class Pair:
    first: int
    second: int = 0


@record(eq=False, frozen=False)
class Counter:
    name: str
    counts: dict[str, int] = field(default_factory=dict)
    step: int = 1


@record
class Nothing:
    pass


def test_fields_are_parameters_in_order() -> None:
    assert str(inspect.signature(Point)) == "(x, y=0)"
    assert (Point(1).x, Point(1).y, Point(y=3, x=2).x) == (1, 0, 2)
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]


def test_values_compare_within_a_class() -> None:
    points = [Point(x, y) for x, y in itertools.product(range(3), repeat=2)]
    for a, b in itertools.product(points, repeat=2):
        assert (a == b) is ((a.x, a.y) == (b.x, b.y))
        assert a != b or hash(a) == hash(b)
    assert len(set(points)) == 9
    assert Point(1, 2) != Pair(1, 2)
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())


def test_identities_compare_without_eq() -> None:
    assert Counter("a") != Counter("a")
    counter = Counter("a")
    assert counter == counter
    assert Counter("a").counts is not Counter("a").counts
    assert repr(Counter("a", step=2)) == "Counter(name='a', counts={}, step=2)"


def test_comparisons_are_made_when_they_are_called_and_stay_with_the_record() -> None:
    @record
    class Late:
        x: int

    class Heir(Late):
        def __eq__(self, other: object) -> bool:
            return super().__eq__(other)

        __hash__ = Late.__hash__

    made_later = Late.__eq__
    assert Heir(1) == Heir(1)
    assert Heir(1) != Heir(2)
    assert Late.__eq__ is not made_later
    assert made_later(Late(1), Late(1)) is True
    assert made_later(Late(1), Heir(1)) is NotImplemented
    assert hash(Heir(1)) == hash(Late(1)) == hash((1,))


def test_a_default_in_front_of_a_field_without_one_is_refused() -> None:
    with pytest.raises(TypeError, match="a field without a default follows one with a default"):

        @record
        class Wrong:
            x: int = 0
            y: int


def test_records_share_code_by_their_number_of_fields() -> None:
    compiled = records._code.cache_info().misses

    @record
    class Other:
        other: int
        another: int

    assert records._code.cache_info().misses == compiled
    assert Other.__init__.__code__.co_varnames == ("self", "other", "another")
