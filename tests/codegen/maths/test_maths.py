"""Accuracy of the maths functions against mpmath, in ULPs, under the bounds that `ULP_BOUND` states."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from tracejit.codegen.maths import ULP_BOUND, MathsWriter

from ..narrow import narrower, run_narrow
from .maths_harness import NATIVE, NUMPY, Array, compiled, module_text, ulp_errors

POINTS = 60  # in each of a function's intervals, for each dtype and each number of lanes
with mp.workprec(1300):
    LN2 = mp.log(2)

#: The function in mpmath, and intervals to sample uniformly: (f32 low, f32 high), then f64's where they
#: differ.
UNARY: dict[str, tuple[Callable[[Any], Any], list[tuple[float, ...]]]] = {
    "exp": (mp.exp, [(-1, 1), (-104, 89, -746, 710)]),
    "exp2": (lambda x: mp.mpf(2) ** x, [(-1, 1), (-150, 128, -1075, 1024)]),
    "expm1": (mp.expm1, [(-1, 1), (-20, 89, -40, 710)]),
    "log": (mp.log, [(0.6, 1.5), (0.9, 1.1)]),
    "log2": (lambda x: mp.log(x) / LN2, [(0.6, 1.5), (0.9, 1.1)]),
    "log10": (mp.log10, [(0.6, 1.5), (0.9, 1.1)]),
    "log1p": (mp.log1p, [(-0.9, 1.5), (-1e-3, 1e-3)]),
    "sin": (mp.sin, [(-4, 4), (-1e5, 1e5, -1e9, 1e9)]),
    "cos": (mp.cos, [(-4, 4), (-1e5, 1e5, -1e9, 1e9)]),
    "tan": (mp.tan, [(-4, 4), (-1e5, 1e5, -1e9, 1e9)]),
    "asin": (mp.asin, [(-1, 1)]),
    "acos": (mp.acos, [(-1, 1), (0.99, 1)]),
    "atan": (mp.atan, [(-2, 2)]),
    "sinh": (mp.sinh, [(-2, 2), (-89, 89, -710, 710)]),
    "cosh": (mp.cosh, [(-2, 2), (-89, 89, -710, 710)]),
    "tanh": (mp.tanh, [(-1, 1), (-9, 9, -20, 20)]),
    "sech_squared": (lambda x: mp.sech(x) ** 2, [(-2, 2), (-40, 40, -350, 350)]),
    "asinh": (mp.asinh, [(-2, 2)]),
    "acosh": (mp.acosh, [(1, 3), (1, 1.01)]),
    "atanh": (mp.atanh, [(-1, 1)]),
    "erf": (mp.erf, [(-2, 2), (0.9, 4, 0.9, 6)]),
    "erfc": (mp.erfc, [(-2, 2), (1, 10.1, 1, 27.3)]),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), [(-8, 8)]),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), [(0.5, 4)]),
    "reciprocal": (lambda x: 1 / x, [(1, 2)]),
}
#: Functions that are also sampled over all floats, log-uniformly: of either sign, or positive.
EVERYWHERE = {"sin", "cos", "tan", "atan", "asinh", "cbrt", "reciprocal"}
EVERYWHERE_POSITIVE = {"log", "log2", "log10", "log1p", "acosh", "rsqrt"}
#: Functions near the identity, or near a constant, for tiny arguments.
TINY = set(UNARY) - EVERYWHERE - EVERYWHERE_POSITIVE | {"log1p"}


def mp_logaddexp(x: Any, y: Any) -> Any:
    return mp.log(mp.exp(x) + mp.exp(y))


def mp_logaddexp2(x: Any, y: Any) -> Any:
    return mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y) / LN2


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "pow": mp.power,
    "atan2": mp.atan2,
    "hypot": mp.hypot,
    "logaddexp": mp_logaddexp,
    "logaddexp2": mp_logaddexp2,
}
LANES = [(dtype, lanes) for dtype in ("f32", "f64") for lanes in (1, NATIVE[dtype])]


#: Methods that have two ways: with tables in AVX-512's registers, and without.
TABLED = (
    "exp",
    "exp2",
    "log",
    "log2",
    "log10",
    "log1p",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "cbrt",
    "rsqrt",
    "pow",
)
#: Arguments where an exhaustive search in f32, or a long one in f64, found the largest errors.
WORST: dict[str, tuple[float, ...]] = {
    "exp": (48.86541, 37.848598, 26.690063, -0.9788651061898523, 0.3532465331120138),
    "exp2": (-8.473252, 2.6034851, -0.49600968, 0.507312461510361, 0.5008287884189231),
    "expm1": (0.3592541217803955, 17.005386, 16.994963, 0.35120881, 0.3779891344425401),
    "log": (0.972191, 0.953321, 1.0313418, 1.0641508377826476, 1.0626515743440414),
    "log2": (0.9703857, 1.0616692, 1.3977439, 1.4133563, 1.3545363387872524, 1.0626786189097825),
    "log10": (0.9838405, 1.0570225, 1.073409480597646, 1.0665663903306604),
    "log1p": (0.031715963, 0.031342894, 0.054733932, -0.05788541309386434, 0.41833844, 0.0635821251),
    "sin": (7.758952617645264, -159.9692428806302, 1718.3261068000338),
    "cos": (0.5635179877281189, 6154.390251943196, -2156.451996627675),
    "tan": (
        2.038081, 484.90942, 696.3267, 3992.179, 9983.196, 19351.426, 42649.4765625, 47515.8046875,
        44082.828, 52516.434, 95604.164, -1.1053707647813247,
    ),
    "asin": (0.5359120965003967, -0.6090590529664175),
    "acos": (-0.5049013495445251, 0.5561961807381018935),
    "atan": (1.0051201581954956, 1.084259271621704, 0.9908472693815581, 1.0035167392504445),
    "sinh": (0.3936288058757782, 0.3691261874993892),
    "cosh": (4.556782245635986, -3.849542901475033),
    "tanh": (
        0.015583749, 0.0038936427, 0.20416576, 0.21741241, 0.011357517, 0.0121915, 8.664844, 18.73734,
        0.2028285264968872, -0.012074818364239404, -0.011487379558809074,
    ),
    "asinh": (0.056446955, 0.4164496, 1.1470265, 0.031048420816659927, 0.25182777643203735),
    "acosh": (1.0308986, 1.0014616, 1.00606, 1.0308319330215454, 1.0309983491897583, 1.0311233529948913),
    "atanh": (0.015429836, 0.030943451876296895, 0.18967596, 0.12097696214914322),
    "erf": (2.036212921142578, 1.0625076293945312, 0.0034468770027160645, 0.3906, 0.3984, 5.578, 5.9),
    "erfc": (8.81231689453125, 7.1293487548828125, 6.937231540679932),
    "cbrt": (0.55247665, 7.366360009842879, 7.3219967, 5.49923038482666),
    "rsqrt": (1.0149213075637817, 1.0473278634896146),
}  # fmt: skip


def generator(*key: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def log_uniform(
    rng: np.random.Generator, dtype: str, low: int | None = None, high: int | None = None
) -> Array:
    """Floats of either sign with uniformly distributed exponents, denormals too."""
    info = np.finfo(NUMPY[dtype])
    exponents = rng.integers(
        info.minexp - info.nmant if low is None else low, info.maxexp if high is None else high, POINTS
    )
    values = np.ldexp(rng.uniform(1, 2, POINTS), exponents).astype(NUMPY[dtype])
    return (values * rng.choice([-1, 1], POINTS)).astype(NUMPY[dtype])


def samples(method: str, dtype: str, lanes: int) -> Array:
    rng = generator(method, dtype, lanes)
    parts = []
    for interval in UNARY[method][1]:
        low, high = interval[:2] if dtype == "f32" else interval[-2:]
        parts.append(rng.uniform(low, high, POINTS).astype(NUMPY[dtype]))
    if method in EVERYWHERE | EVERYWHERE_POSITIVE:
        everywhere = log_uniform(rng, dtype)
        parts.append(abs(everywhere) if method in EVERYWHERE_POSITIVE else everywhere)
    if method in TINY:
        smallest = np.finfo(NUMPY[dtype]).minexp - np.finfo(NUMPY[dtype]).nmant
        parts += [log_uniform(rng, dtype, smallest, -1), log_uniform(rng, dtype, -30, -1)]
    if method in ("sin", "cos", "tan"):  # as near to multiples of pi/2 as floats come
        parts.append((rng.integers(1, 2**20, POINTS) * (np.pi / 2)).astype(NUMPY[dtype]))
    x = np.concatenate(parts)
    if method == "acosh":
        x = np.where(x < 1, 1 + x, x).astype(NUMPY[dtype])
    return x


def exact(function: Callable[..., Any], *arrays: Array) -> list[Any]:
    # Angles near 2^1024 need their bits above the point, and as many below; everything else cancels less.
    widest = max(float(np.max(np.abs(array))) for array in arrays)
    with mp.workprec(1300 if widest > 1e40 else 400):
        return [
            function(*map(mp.mpf, row)) for row in zip(*(array.tolist() for array in arrays), strict=True)
        ]


def check(method: str, dtype: str, errors: Array, *arrays: Array) -> None:
    worst = int(np.argmax(errors))
    where = ", ".join(repr(float(array[worst])) for array in arrays)
    assert errors[worst] <= ULP_BOUND[method][dtype], f"{method}({where}) in {dtype}: {errors[worst]:.3f} ulp"


@pytest.mark.parametrize(("dtype", "lanes"), LANES)
@pytest.mark.parametrize("method", UNARY)
def test_unary_accuracy(method: str, dtype: str, lanes: int) -> None:
    x = samples(method, dtype, lanes)
    got = compiled(method, (dtype,), dtype, lanes)(x)
    check(method, dtype, ulp_errors(got, exact(UNARY[method][0], x)), x)


def test_the_way_of_other_machines_is_as_accurate() -> None:
    """Functions without tables in registers, which the tests above use where this machine has them."""
    for method in TABLED:
        for dtype in ("f32", "f64"):
            lanes = NATIVE[dtype]
            if method == "pow":
                x, y = pairs(method, dtype, lanes)
                got = compiled(method, (dtype, dtype), dtype, lanes, True, False)(x, y)
                check(method, dtype, ulp_errors(got, exact(mp.power, x, y)), x, y)
            else:
                x = samples(method, dtype, lanes)
                got = compiled(method, (dtype,), dtype, lanes, True, False)(x)
                check(method, dtype, ulp_errors(got, exact(UNARY[method][0], x)), x)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("method", WORST)
def test_worst_cases(method: str, dtype: str) -> None:
    """Arguments with the largest errors that a search found, and the floats around them."""
    spread = np.arange(-40, 41)
    words = {"f32": np.int32, "f64": np.int64}[dtype]
    for wide_tables in (None, False):
        for bad in WORST[method]:
            x = (np.array([bad], NUMPY[dtype]).view(words) + spread.astype(words)).view(NUMPY[dtype])
            got = compiled(method, (dtype,), dtype, NATIVE[dtype], True, wide_tables)(x)
            check(method, dtype, ulp_errors(got, exact(UNARY[method][0], x)), x)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("method", [name for name in TABLED if name in UNARY])
def test_the_number_of_lanes_does_not_matter(method: str, dtype: str) -> None:
    x = samples(method, dtype, 2)
    expected = compiled(method, (dtype,), dtype, NATIVE[dtype])(x)
    for lanes in (1, 2):
        np.testing.assert_array_equal(compiled(method, (dtype,), dtype, lanes)(x), expected)


#: Arguments of f64 whose results are nearest to the middle of two floats, or that are nearest to multiples of
#: pi/2 (Muller et al., Handbook of Floating-Point Arithmetic); the second of f32.
HARD: dict[str, tuple[float, ...]] = {
    "exp": (float.fromhex("-0x1.ed318efb627eap-27"),),
    "log": (float.fromhex("0x1.62a88613629b6p678"),),
    "sin": (6381956970095103 * 2.0**797, 16367173 * 2.0**72),
    "cos": (6381956970095103 * 2.0**797, 16367173 * 2.0**72),
    "tan": (6381956970095103 * 2.0**797, 16367173 * 2.0**72),
}


@pytest.mark.parametrize("method", HARD)
def test_hard_cases_of_the_literature(method: str) -> None:
    for dtype in ("f32", "f64"):
        x = np.array(
            [number for number in HARD[method] if abs(number) < float(np.finfo(NUMPY[dtype]).max)],
            NUMPY[dtype],
        )
        if x.size:
            got = compiled(method, (dtype,), dtype, NATIVE[dtype])(x)
            check(method, dtype, ulp_errors(got, exact(UNARY[method][0], x)), x)


def pairs(method: str, dtype: str, lanes: int) -> tuple[Array, Array]:
    rng = generator(method, dtype, lanes)
    kind = NUMPY[dtype]
    if method == "pow":  # powers over the whole range of results, some of them denormal
        x = abs(np.concatenate([log_uniform(rng, dtype), rng.uniform(0.5, 2, 2 * POINTS).astype(kind)]))
        top = 149 if dtype == "f32" else 1074
        y = rng.uniform(-top, top, x.size) / np.log2(x.astype(np.float64))
        return x, np.clip(y, -1e30, 1e30).astype(kind)
    if method in ("atan2", "hypot"):
        x = np.concatenate([log_uniform(rng, dtype), rng.uniform(-2, 2, POINTS).astype(kind)])
        ratio = np.exp(rng.uniform(-4, 4, x.size))
        with np.errstate(over="ignore"):
            y = np.where(abs(x) < np.finfo(kind).max / 1e3, x * ratio, x / ratio)
        y = np.clip(y, -float(np.finfo(kind).max), float(np.finfo(kind).max))
        return x, (y * rng.choice([-1, 1], x.size)).astype(kind)
    x = np.concatenate([rng.uniform(-2, 2, POINTS), rng.uniform(-100, 100, POINTS)])
    return x.astype(kind), (x + rng.uniform(-40, 40, x.size)).astype(kind)


@pytest.mark.parametrize(("dtype", "lanes"), LANES)
@pytest.mark.parametrize("method", BINARY)
def test_binary_accuracy(method: str, dtype: str, lanes: int) -> None:
    x, y = pairs(method, dtype, lanes)
    got = compiled(method, (dtype, dtype), dtype, lanes)(x, y)
    floor = abs(np.maximum(x, y)).tolist() if method.startswith("logadd") else None
    check(method, dtype, ulp_errors(got, exact(BINARY[method], x, y), floor), x, y)


@pytest.mark.parametrize("method", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_calls_agree_with_branches(method: str, dtype: str) -> None:
    x = samples(method, dtype, 1)
    inline = compiled(method, (dtype,), dtype, NATIVE[dtype])(x)
    called = compiled(method, (dtype,), dtype, NATIVE[dtype], False)(x)
    scalar = compiled(method, (dtype,), dtype, 1)(x)
    np.testing.assert_array_equal(inline, called)
    np.testing.assert_array_equal(inline, scalar)


def test_sines_and_cosines_stay_within_one() -> None:
    for dtype in ("f32", "f64"):
        near = (np.arange(1, 4000) * (np.pi / 2)).astype(NUMPY[dtype])
        x = np.concatenate([near, np.nextafter(near, 0), np.linspace(-1e-7, 1e-7, 999).astype(NUMPY[dtype])])
        for method in ("sin", "cos"):
            assert np.max(np.abs(compiled(method, (dtype,), dtype, NATIVE[dtype])(x))) == 1.0
        wide = np.linspace(0, 50, 5000).astype(NUMPY[dtype])
        assert np.max(compiled("tanh", (dtype,), dtype, NATIVE[dtype])(wide)) == 1.0
        assert np.max(compiled("erf", (dtype,), dtype, NATIVE[dtype])(wide)) == 1.0


def test_the_documented_bounds_are_these() -> None:
    text = (Path(__file__).parents[3] / "docs" / "maths.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \|$", text, re.MULTILINE)
    assert {name: {"f32": float(a), "f64": float(b)} for name, a, b in rows} == ULP_BOUND


NARROW = """
import numpy as np, tracejit as tj

rng = np.random.default_rng(0)
for dtype, close in ((np.float32, 4e-7), (np.float64, 8e-16)):
    for name in ("exp", "exp2", "log", "log2", "log10", "log1p", "tan", "tanh", "cbrt", "arcsinh", "arctanh"):
        x = rng.uniform(0.01, 0.99, 37).astype(dtype)
        ours = np.asarray(tj.jit(getattr(tj, name))(tj.tensor(x)))
        np.testing.assert_allclose(ours, getattr(np, name)(x), rtol=close, err_msg=name)
    x, y = rng.uniform(0.1, 5, (2, 37)).astype(dtype)
    np.testing.assert_allclose(np.asarray(tj.jit(tj.power)(tj.tensor(x), tj.tensor(y))), x**y, rtol=close)
print("fine")
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW, features, bits)


def test_every_bound_is_stated_and_of_a_method() -> None:
    assert set(ULP_BOUND) == set(UNARY) | set(BINARY)
    assert all(
        callable(getattr(MathsWriter, name)) and set(row) == {"f32", "f64"} for name, row in ULP_BOUND.items()
    )


@pytest.mark.parametrize("method", [*UNARY, *BINARY])
def test_nothing_outside_the_module_is_called(method: str) -> None:
    text = module_text(method, ("f64",) * (1 if method in UNARY else 2), 8)
    declared = [line.split("@")[1].split("(")[0] for line in text.splitlines() if line.startswith("declare")]
    assert all(name.startswith("llvm.") for name in declared)
    assert not {"llvm.pow", "llvm.exp", "llvm.log", "llvm.sin", "llvm.cos"} & {
        ".".join(name.split(".")[:2]) for name in declared
    }
