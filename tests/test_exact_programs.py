"""Random programs of the public functions: jitted, on any layout, donated, differentiated, mapped: equal to
eager ones.

They are made so that rounding has no part in them (`exact`), so results are compared bit for bit,
and gradients nearly so. A failure names the seed and the steps.
``pytest -m slow tests/test_exact_programs.py`` runs for minutes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.runtime.threads import threads

from .codegen.narrow import NARROWER, run_narrow
from .exact.programs import Exact, exact_program, smooth_exact_program
from .support import Array, mismatch

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0"))
CHUNK = 10


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Casts and sums of NaN and infinities, which some programs are about, warn."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def compare(got: Any, want: list[Array], program: Exact, seed: int, way: str) -> None:
    for position, (one, wanted) in enumerate(zip(got, want, strict=True)):
        problem = mismatch(np.asarray(one), wanted, zero_sign=False)
        assert not problem, f"seed {seed}, {way}, result {position} of {program.names}: {problem}"


def check_program(seed: int, largest: int = 6000) -> None:
    """Eagerly and jitted, with arguments as they lie in memory and contiguous, on one to three threads."""
    program = exact_program(seed, largest)
    kept = [one.copy() for one in program.arguments]
    want = [np.array(one) for one in program(*map(tj.asarray, kept))]
    f = tj.jit(program)
    for count in (1, 2, 3):
        with threads(count):
            compare(f(*program.arguments), want, program, seed, f"{count} threads")
            compare(f(*map(tj.asarray, kept)), want, program, seed, f"{count} threads, contiguous")
    for one, copy in zip(program.arguments, kept, strict=True):
        assert one.tobytes() == copy.tobytes(), f"seed {seed}: an argument of {program.names} was changed"


def check_donated(seed: int) -> None:
    """What is donated may be overwritten; results are the same, also where one array is given twice."""
    program, chosen = exact_program(seed), np.random.default_rng(seed)
    donated = tuple(i for i in range(len(program.arguments)) if chosen.random() < 0.6)
    f = tj.jit(program, donate_argnums=donated)
    for twice in (False, True):
        given: list[Array] = []
        for one in program.arguments:
            same = [other for other in given if (other.shape, other.dtype) == (one.shape, one.dtype)]
            given.append(same[0] if same and twice else one.copy())
        kept = [one.copy() for one in given]
        want = [np.array(one) for one in program(*map(tj.asarray, kept))]
        compare(f(*given), want, program, seed, f"donated {donated}, twice: {twice}")
        lost = [id(given[i]) for i in donated]
        for one, copy in zip(given, kept, strict=True):
            assert id(one) in lost or one.tobytes() == copy.tobytes(), (
                f"seed {seed}: not donated, but changed"
            )


def check_gradient(seed: int) -> None:
    """backward(), grad, jit of grad and grad of jit."""
    program = smooth_exact_program(seed)
    rng = np.random.default_rng(seed)
    weights = [np.asarray(rng.integers(-3, 4, one.shape), float) for one in program(*program.arguments)]

    def loss(*given: Any) -> Any:
        parts = [(tj.asarray(one) * w).sum() for one, w in zip(program(*given), weights, strict=True)]
        return sum(parts[1:], parts[0]) + 0.0 * sum(tj.sum(one) for one in given)

    leaves = [tj.tensor(one.copy(), requires_grad=True) for one in program.arguments]
    loss(*leaves).backward()
    every = tuple(range(len(leaves)))
    ways = {
        "grad": tj.grad(loss, argnums=every),
        "jit of grad": tj.jit(tj.grad(loss, argnums=every)),
        "grad of jit": tj.grad(tj.jit(loss), argnums=every),
    }
    for way, derived in ways.items():
        for leaf, got in zip(leaves, derived(*program.arguments), strict=True):
            want = np.asarray(leaf.grad)
            # sums beyond 2^53 round; the largest terms are not known here, the largest gradients are
            problem = mismatch(
                np.asarray(got), want, atol=1e-9 * np.abs(want).max(initial=0), zero_sign=False
            )
            assert not problem, f"gradient seed {seed}, {way} of {program.names}: {problem}"


@pytest.mark.parametrize("first", range(FIRST, FIRST + 40, CHUNK))
def test_programs(first: int) -> None:
    for seed in range(first, first + CHUNK):
        check_program(seed)


def test_donated_programs() -> None:
    for seed in range(FIRST + 200, FIRST + 200 + 2 * CHUNK):
        check_donated(seed)


@pytest.mark.parametrize("first", range(FIRST, FIRST + 20, CHUNK))
def test_gradients(first: int) -> None:
    for seed in range(first, first + CHUNK):
        check_gradient(seed)


def test_programs_are_varied() -> None:
    """The generator reaches every kind of step, or the tests above test less than they say."""
    made = [exact_program(seed) for seed in range(120)]
    seen = {name for program in made for name in program.names}
    assert {
        "unary", "mixed", "where", "sum", "argmax", "cumsum", "sort", "argsort", "median", "by_key", "slice",
        "partition", "searchsorted", "write", "gather", "take", "scatter", "move", "concatenate", "stack",
        "columns", "gram", "conv2d", "max_pool2d", "scan", "fori_loop", "while_loop", "cond", "vmap", "grad",
        "associative_scan",
    } <= seen  # fmt: skip
    assert sum(not one.flags.c_contiguous for program in made for one in program.arguments) > 20
    assert sum(len(program.steps) for program in made) > 700


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FIRST + 1000, FIRST + 2000, 10 * CHUNK))
def test_many_programs(first: int) -> None:
    for seed in range(first, first + 10 * CHUNK):
        check_program(seed)
        check_donated(seed)
        check_gradient(seed)


@pytest.mark.slow
def test_large_programs() -> None:
    for seed in range(FIRST + 2000, FIRST + 2200):
        check_program(seed, 200_000)


@pytest.mark.slow
@NARROWER
def test_programs_on_narrow_vectors(features: str, bits: int) -> None:
    run_narrow(
        """
import numpy as np
from tests.test_exact_programs import check_program
np.seterr(all="ignore")
for seed in range(3000, 3060):
    check_program(seed)
print("fine")
""",
        features, bits, 600,
    )  # fmt: skip
