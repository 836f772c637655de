"""Conversions of float16 against NumPy's: every float16, and what lies around every tie between two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.codegen.llvm.compiler import assembly
from tracejit.codegen.llvm.targets import named_target
from tracejit.codegen.module.writer import generate
from tracejit.ir.dtypes import BY_NAME
from tracejit.ir.passes import run_passes
from tracejit.runtime.executable import Executable

from ...forked import forked
from ...support import Array, function_of

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def converted(x: Array, dtype: str) -> Array:
    """`x` converted by machine code."""
    function = function_of("convert", [x], lambda b, value: b.cast(value, dtype=BY_NAME[dtype]))
    return Executable(function)([x])[0]


def around_ties(dtype: type) -> Array:
    """Every finite float16, every middle of two neighbours, and floats of `dtype` around both; among what
    overflows, what is smaller than all of float16, and random bits."""
    finite = np.sort(HALVES[np.isfinite(HALVES)].astype(dtype))
    middles = np.append((finite[1:] + finite[:-1]) / 2, [dtype(65520), dtype(-65520)])
    values = [finite, middles]
    for exact in (finite, middles):
        for towards in (-np.inf, np.inf):
            near = np.nextafter(exact, dtype(towards))
            values += [near, np.nextafter(near, dtype(towards))]
    far = [np.inf, -np.inf, np.nan, -np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny, 1e-30, 65536, 1e6]
    if dtype is np.float64:
        # ties but for bits that float32 drops
        values += [middles * (1 + 2.0**-k) for k in (25, 30, 40, 52)]
        values += [middles * (1 - 2.0**-k) for k in (25, 30, 40, 53)]
        far += [5e-324, 1e-300, 1e300, 2.0**-25, np.nextafter(2.0**-25, 1), 3.5e38]
        far += np.array([0x7FF0000000000001, 0xFFF0000010000000], np.uint64).view(np.float64).tolist()
    rng = np.random.default_rng(0)
    kind = np.uint32 if dtype is np.float32 else np.uint64
    values.append(rng.integers(0, np.iinfo(kind).max, 100_000, kind).view(dtype))
    values.append((rng.normal(size=100_000) * 2.0 ** rng.integers(-26, 17, 100_000)).astype(dtype))
    return np.concatenate([*values, np.array(far, dtype)])


def check(source: Array, target: str) -> None:
    with np.errstate(all="ignore"):
        want = source.astype(BY_NAME[target])
    for x in (source, source[:7], source[-1:]):  # whole vectors, a part of one, a scalar
        got, expected = converted(x, target), want[:7] if x.size == 7 else want[-x.size :]
        if want.dtype.kind == "f":
            assert np.array_equal(np.isnan(got), np.isnan(expected))
            got, expected = (np.where(np.isnan(y), 0, y) for y in (got, expected))
        assert got.tobytes() == expected.tobytes()


def check_all() -> None:
    check(HALVES, "f32")
    check(HALVES, "f64")
    check(HALVES, "bool")
    check(HALVES[np.isfinite(HALVES)], "i32")
    check(around_ties(np.float32), "f16")
    check(around_ties(np.float64), "f16")
    check(np.arange(-(1 << 17), 1 << 17, 1), "f16")
    check(np.arange(1 << 16, dtype=np.uint16), "f16")
    check(np.array([False, True] * 9), "f16")


def test_conversions() -> None:
    check_all()


def test_conversions_by_integer_operations() -> None:
    """Conversions on machines without F16C."""
    program = "from tests.codegen.llvm.test_half_conversions import check_all\ncheck_all()\nprint('fine')"
    assert forked(program, TRACEJIT_CPU_FEATURES="-f16c").strip() == "fine"


@pytest.mark.parametrize(
    ("name", "converts"),
    [("x86-64", False), ("x86-64-v2", False), ("x86-64-v3", True), ("x86-64-v3,-f16c", False),
     ("x86-64-v4", True), ("aarch64", True), ("riscv64,+v", False)],
)  # fmt: skip
def test_no_target_calls_a_function(name: str, converts: bool) -> None:
    """LLVM's own conversions may be calls of functions that the process lacks."""
    target = named_target(name)
    assert target.half_conversions is converts
    x = HALVES[:100]

    def build(b: Any, value: Any) -> Any:
        return b.mul(value, value), b.cast(b.cast(value, dtype=BY_NAME["f64"]), dtype=BY_NAME["f16"])

    text = generate(run_passes(function_of("f", [x], build)), target).text
    assert ("half" in text) is converts
    code = assembly(text, target)
    assert not any(function in code for function in ("__extendhf", "__trunc", "__gnu_"))
