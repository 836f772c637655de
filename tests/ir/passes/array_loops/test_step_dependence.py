"""Dependence of steps beside the elements that they access, on random affine indices."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from tracejit.ir.analysis.affine import Affine
from tracejit.ir.passes.array_loops.step_dependence import StepAccess, independent


def _elements(access: StepAccess, step: int, shape: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The elements that an access touches in one step."""
    places = set()
    for position in np.ndindex(*access.shape):
        element = []
        for axis, size in enumerate(shape):
            form = access.indices[axis]
            along = sum(factor * p for factor, p in zip(form.axes, position, strict=True))
            element.append((form.constant + form.step * step + along) % size)
        places.add(tuple(element))
    return places


@pytest.mark.parametrize("seed", range(200))
def test_independent_accesses_never_meet(seed: int) -> None:
    rng = random.Random(seed)
    shape, length = (7, 9), rng.randint(1, 5)
    accesses = []
    for number in range(rng.randint(1, 3)):
        inner = (rng.randint(1, 3),) if rng.random() < 0.3 else ()

        def form(size: int, inner: tuple[int, ...] = inner) -> Affine:
            while True:
                axes = tuple(rng.randint(-1, 2) for _ in inner)
                chosen = Affine(rng.randint(-size, size - 1), rng.choice((0, 1, 1, -1, 2)), axes)
                low, high = chosen.bounds(inner, length) or (0, 0)
                if -size <= low and high < size:
                    return chosen

        writes = number == 0 or rng.random() < 0.4
        accesses.append(StepAccess({0: form(7), 1: form(9)}, inner, writes, alone=rng.random() < 0.1))
    if not independent(accesses, shape, length):
        return
    for (i, x), (j, y) in itertools.product(enumerate(accesses), repeat=2):
        if not (x.writes or y.writes) or i > j or (i == j and x.alone):
            continue
        for first, second in itertools.product(range(length), repeat=2):
            if first > second or ((x.alone or y.alone) and (i != j or first != second)):
                assert not _elements(x, first, shape) & _elements(y, second, shape)


def test_many_accesses_are_found_independent() -> None:
    """Neighbours that are only read, the two halves of an array, rows before and after."""
    step = Affine(0, 1, ())
    ahead, behind = Affine(1, 1, ()), Affine(-1, 1, ())
    write = StepAccess({0: step}, (), True)
    assert independent([StepAccess({0: ahead}, (), False), write], (9,), 8)
    assert not independent([write, StepAccess({0: ahead}, (), False)], (9,), 8)
    assert not independent([StepAccess({0: behind}, (), False), write], (9,), 9)
    assert independent([write, StepAccess({0: Affine(8, 1, ())}, (), False)], (16,), 8)
    assert not independent([write, StepAccess({0: Affine(8, 1, ())}, (), False)], (16,), 9)
    assert independent([write], (9,), 9)
    assert not independent([StepAccess({0: Affine(3, 0, ())}, (), True)], (9,), 9)
    assert independent([StepAccess({0: Affine(3, 0, ())}, (), True, alone=True)], (9,), 9)
