"""The generator, and the first hundred programs: those that ``python -m tests.fuzz`` runs by the thousand."""

from __future__ import annotations

import json
import os
import re
from collections import Counter

import numpy as np
import pytest

import tracejit as tj
from tracejit.surface.namespaces import ARRAY

from .. import rotation
from ..codegen.narrow import narrower, run_narrow
from ..rotation import one_in, share_of
from . import reference
from .generator import Generator, write_program
from .oracle import modes_of, run_program
from .program import Program
from .subject import Subject

SEED = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0"))
CHUNK = 15
#: Public functions that programs leave out, and why.
LEFT_OUT = {
    "allclose": "a Python bool", "array_equal": "a Python bool", "argwhere": "a shape that depends on values",
    "nonzero": "a shape that depends on values", "unique": "a shape that depends on values",
    "empty": "memory that is not set", "empty_like": "memory that is not set",
    "argpartition": "any order will do",
    "array": "gated", "tensor": "gated",
    "bmm": "matmul", "topk": "argsort", "from_dlpack": "asarray",
    "dynamic_slice": "an index array", "dynamic_update_slice": "an index array",
    **dict.fromkeys(("segment_sum", "segment_prod", "segment_max", "segment_min"), "not NumPy's"),
    "setitem": "written as x[key] = value", "getitem": "written as x[key]",
    "left_shift": "written as <<", "right_shift": "written as >>", "bitwise_left_shift": "written as <<",
    **dict.fromkeys(
        ("ravel_multi_index", "resize", "unravel_index"), "in numpy_differences/test_random_calls.py"
    ),
    "bitwise_right_shift": "written as >>", "atleast_1d": "as atleast_2d", "atleast_3d": "as atleast_2d",
}  # fmt: skip


@pytest.mark.parametrize("first", share_of(range(0, 90, CHUNK), 2))
def test_programs(first: int) -> None:
    for index in range(first, first + CHUNK):
        program = write_program(SEED, index)
        failures = [f for f in run_program(program, modes_of(index)) if not f.known]
        assert not failures, f"seed {SEED}, program {index}: {failures}\n{program.source()}"


def test_programs_of_matrices_whose_axes_coincide() -> None:
    """Programs are others each time, as ``python -m tests.fuzz --kind matrices`` runs them by the
    thousand."""
    seed = rotation.SEED
    for index in range(16):
        program = write_program(seed, index, "matrices")
        failures = [f for f in run_program(program, modes_of(index)) if not f.known]
        assert not failures, f"--kind matrices, seed {seed}, program {index}: {failures}\n{program.source()}"


@pytest.mark.slow
@narrower
def test_programs_on_narrow_vectors(features: str, bits: int) -> None:
    """Compiled as for a machine without AVX-512, and without AVX."""
    code = """
import sys
sys.path.insert(0, ".")
from tests.fuzz.generator import write_program
from tests.fuzz.oracle import modes_of, run_program
for index in range(3000, 3060):
    failures = [f for f in run_program(write_program(0, index), modes_of(index)) if not f.known]
    assert not failures, (index, failures)
print("fine")
"""
    run_narrow(code, features, bits)


@pytest.mark.slow
@pytest.mark.parametrize("first", share_of(range(100, 500, 50), 2))
def test_many_programs(first: int) -> None:
    for index in range(first, first + 50):
        failures = [f for f in run_program(write_program(SEED, index), modes_of(index)) if not f.known]
        assert not failures, f"seed {SEED}, program {index}: {failures}"


def test_a_seed_gives_the_same_programs() -> None:
    for index in range(20):
        assert write_program(3, index) == write_program(3, index)
    assert write_program(3, 0) != write_program(4, 0)


def test_programs_survive_json() -> None:
    for index in range(20):
        program = write_program(3, index)
        assert Program.from_json(json.loads(json.dumps(program.to_json()))) == program


def test_the_text_computes_what_the_generator_saw() -> None:
    for index in range(40):
        generator = Generator((5, index))
        program = generator.write_program()
        if program.captures:
            continue  # rebound by now
        for name, expected in zip(program.results, Subject.of(program).expected, strict=True):
            assert np.array_equal(generator.array(name), expected, equal_nan=expected.dtype.kind == "f")


def test_every_step_is_taken() -> None:
    """The generator reaches all of its steps, or the net has holes."""
    steps: Counter[str] = Counter()
    for index in range(400):
        steps.update(write_program(SEED, index).steps)
    gated = {"write_argument", "remake"}
    missing = {step.__name__ for step in Generator((0, 0)).table()} - set(steps) - gated
    assert not missing


@one_in(5)
def test_every_array_function_is_in_some_program() -> None:
    missing = set(ARRAY_FUNCTIONS) - set(LEFT_OUT)
    for index in range(2000):
        if not missing:
            break
        source = "\n".join(statement.text for statement in write_program(SEED, index).statements)
        missing -= set(re.findall(r"\bxp\.(\w+)\(", source))
    assert not missing


#: Packages whose functions run in numpy_differences/test_random_calls.py.
_ELSEWHERE = (".aggregates", ".assembly", ".information", ".numerical", ".selection")
#: Functions of arrays, in all other packages.
ARRAY_FUNCTIONS = [
    name
    for name, home in ARRAY.homes.items()
    if home.startswith(".")
    and not home.startswith(_ELSEWHERE)
    and callable(getattr(tj, name))
    and getattr(getattr(tj, name), "__module__", "").startswith("tracejit.array")
]


def test_the_reference_is_numpy() -> None:
    assert reference.sin is np.sin
    assert reference.nn.softmax(np.zeros(4)).tolist() == [0.25] * 4
