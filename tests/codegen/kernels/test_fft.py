"""Fourier transforms in native code against NumPy's: all short sizes and long ones, in every layout."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.machine import Machine, machine, use_machine
from tracejit.codegen.instrument.access_checks import AccessChecks
from tracejit.codegen.kernels.fft.codelets import PRIMES
from tracejit.codegen.kernels.fft.plan import _middle_divisor, convolution_radices, radices
from tracejit.codegen.kernels.fft.roots import unit_roots
from tracejit.codegen.llvm.target import host
from tracejit.codegen.module.deduplication import KernelMemory
from tracejit.codegen.module.writer import generate
from tracejit.codegen.nest.fusions import Fusions
from tracejit.codegen.plan.buffers import plan_buffers
from tracejit.ir.graph import Function
from tracejit.runtime.executable import Executable

from ...rotation import share_of
from ...support import Array, function_of, interpret
from ..narrow import narrower, run_narrow

#: Shapes before and behind an axis: a single line, fewer and more lines than lanes, columns.
LAYOUTS = [((), ()), ((3,), ()), ((37,), ()), ((2,), (5,)), ((), (24,)), ((3,), (17,))]
#: Relative to the largest element; errors grow with the logarithm of the size.
BOUND = {"f8": 2e-15, "f4": 1e-6}


def cases(n: int, layout: Any, dtype: str) -> list[tuple[str, Array, dict[str, Any]]]:
    """Ops, operands and attributes for transforms of `n` elements."""
    before, behind = layout
    rng = np.random.default_rng([n, *before, *behind])
    axis = len(before)
    real = rng.normal(size=(*before, n, *behind)).astype(dtype)
    pairs = rng.normal(size=(*real.shape, 2)).astype(dtype)
    half = rng.normal(size=(*before, n // 2 + 1, *behind, 2)).astype(dtype)
    return [
        ("fft", pairs, {"axis": axis, "inverse": False, "scale": 1.0}),
        ("fft", pairs, {"axis": axis, "inverse": True, "scale": 0.5}),
        ("rfft", real, {"axis": axis, "scale": 2.0}),
        ("rfft", real, {"axis": axis, "scale": 0.5, "interior": 2.0}),
        ("irfft", half, {"axis": axis, "n": n, "scale": -0.25}),
        ("irfft", half, {"axis": axis, "n": n, "scale": 3.0, "interior": 0.5}),
    ]


def together(chosen: list[tuple[str, Array, dict[str, Any]]]) -> tuple[Function, list[Array]]:
    """One Function of all cases: one compilation."""
    arrays = [array for _, array, _ in chosen]

    def build(b: Any, *params: Any) -> list[Any]:
        return [getattr(b, op)(x, **attrs) for x, (op, _, attrs) in zip(params, chosen, strict=True)]

    return function_of("transforms", arrays, build), arrays


def check(chosen: list[tuple[str, Array, dict[str, Any]]], *instruments: Any) -> list[Array]:
    """Compare native code with NumPy's transforms; its results."""
    function, arrays = together(chosen)
    executable = Executable(function, *instruments)
    assert not executable.not_lowered
    results = executable(arrays)
    for (op, array, attrs), result, expected in zip(
        chosen, results, interpret(function, arrays), strict=True
    ):
        assert result.dtype == expected.dtype
        assert result.shape == expected.shape
        error = np.max(np.abs(result - expected)) / np.max(np.abs(expected))
        assert error < BOUND[array.dtype.str[1:]], f"{op} of {array.dtype}{array.shape} {attrs}: {error}"
    return list(results)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n", share_of(range(1, 131), 5))
def test_every_short_size(n: int, dtype: str) -> None:
    """Each in the layout that its number chooses; in all some powers and primes, among them one whose
    predecessor has small factors alone (17), and one whose has not (47)."""
    everywhere = n in (1, 2, 3, 4, 7, 8, 16, 17, 30, 47, 64, 81)
    for number, layout in enumerate(LAYOUTS):
        if everywhere or n % len(LAYOUTS) == number:
            check(cases(n, layout, dtype))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n", share_of([243, 256, 1000, 1009, 1019, 1024, 1155, 2048, 2401, 3125, 4096], 5))
def test_longer_sizes(n: int, dtype: str) -> None:
    check([case for layout in LAYOUTS[1:4] for case in cases(n, layout, dtype)])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n", [10_000, 2 * 8_232, 2 * 3**9, 1 << 17])
def test_two_steps(n: int, dtype: str) -> None:
    """Transforms that do not fit in the caches, one and some."""
    check(cases(n, LAYOUTS[0], dtype))
    check(cases(n, ((2,), ()), dtype)[1:])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(
    ("shape", "axis", "in_place"),
    [
        ((64, 24), 0, True),  # whole blocks of columns
        ((64, 37), 0, True),  # whose last one is not whole
        ((2, 48, 19), 1, True),
        ((9, 128), 1, True),
        ((1 << 14,), 0, True),  # in two steps
        ((2 * 3**9,), 0, True),
        ((170, 24), 1, False),  # lines that are transposed, and overlap
        ((103, 24), 0, False),  # primes, whose first element is read once more
    ],
)
def test_written_over_the_operand(
    shape: tuple[int, ...], axis: int, in_place: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of two transforms is written over the first, where tasks read first what they write over."""
    monkeypatch.setattr("tracejit.codegen.plan.buffers.large_bytes", lambda: 1)
    x = np.random.default_rng(1).normal(size=(*shape, 2)).astype(dtype)

    def build(b: Any, x: Any) -> Any:
        attrs = {"axis": axis, "scale": 0.5}
        return b.fft(b.fft(x, inverse=False, **attrs), inverse=True, **attrs)

    function = function_of("both", [x], build)
    places = plan_buffers(function, KernelMemory(Fusions(host()))).places
    first, second = (places[instruction.result] for instruction in function.body)
    assert (first == second) == in_place
    executable = Executable(function, AccessChecks())
    for count in (1, 3):
        with tj.threads(count):
            (result,) = executable([x])
        expected = 0.25 * shape[axis] * x
        np.testing.assert_allclose(result, expected, rtol=0, atol=BOUND[dtype] * 4 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(
    ("n", "layout"), [(64, ((70,), ())), (64, ((2,), (37,))), (45, ((2,), (37,))), (45, ((3,), (24,)))]
)
def test_lines_behind_are_asked_for(n: int, layout: Any, dtype: str) -> None:
    """Signals that do not fit into the second cache are asked for one line, or block of columns, ahead, where
    two vectors fill a line of the cache: results are the same, and what fits is not asked for."""
    chosen = cases(n, layout, dtype)
    function, arrays = together(chosen)
    near = Executable(function)(arrays)
    with use_machine(Machine(l2_bytes=1 << 10)):
        text = generate(function, host()).text
        far = Executable(function)(arrays)
        check(chosen, AccessChecks())
    for result, expected in zip(far, near, strict=True):
        np.testing.assert_array_equal(result, expected)
    assert "prefetch" not in generate(function, host()).text
    fill_lines = 2 * host().vector_bits // 8 >= machine().line_bytes
    for write in "01":
        asked = re.search(rf"call void @llvm.prefetch.p0\(ptr %\w+, i32 {write}, i32 2", text)
        assert (asked is not None) == fill_lines


def test_what_numpy_computes() -> None:
    """Long columns, and long sizes with large prime factors, are host calls, and say so."""
    for n, layout in ((10_000, ((), (2,))), (10_007, ((), ())), (4_099, ((), ()))):
        function, arrays = together(cases(n, layout, "f8")[:1])
        executable = Executable(function)
        assert executable.not_lowered
        (result,), (expected,) = executable(arrays), interpret(function, arrays)
        np.testing.assert_array_equal(result, expected)


def test_no_transforms() -> None:
    for layout in (((0,), ()), ((2,), (0,)), ((0, 3), (5,))):
        results = check_empty(layout)
        assert all(result.size == 0 for result in results)


def check_empty(layout: Any) -> list[Array]:
    function, arrays = together(cases(6, layout, "f8"))
    results = list(Executable(function)(arrays))
    for result, expected in zip(results, interpret(function, arrays), strict=True):
        assert result.shape == expected.shape
    return results


@pytest.mark.parametrize("n", share_of([7, 8, 17, 30, 64, 100, 1000, 10_000], 2))
def test_accesses_stay_in_their_buffers(n: int) -> None:
    layouts = LAYOUTS[:1] if n > 1000 else LAYOUTS
    checks = AccessChecks()
    for dtype in BOUND:
        for layout in layouts:
            check(cases(n, layout, dtype), checks)


@pytest.mark.parametrize(
    ("n", "before"), [(64, (500,)), (1000, (64,)), (12, (5000,)), (1 << 15, (2,)), (2 * 3**9, ())]
)
def test_threads_change_no_bit(n: int, before: tuple[int, ...]) -> None:
    chosen = cases(n, (before, ()), "f8")
    function, arrays = together(chosen)
    executable = Executable(function)
    results = []
    for count in (1, 3):
        with tj.threads(count):
            results.append([result.tobytes() for result in executable(arrays)])
    assert results[0] == results[1]


def test_lines_do_not_depend_on_their_neighbours() -> None:
    """A transform among others, and the same in another place, have the same bits."""
    for n in (6, 8, 64, 100):
        line = np.random.default_rng(n).normal(size=(n, 2))
        lines = np.repeat(line[None], 37, 0)
        function, arrays = together([("fft", lines, {"axis": 1, "inverse": False, "scale": 1.0})])
        (result,) = Executable(function)(arrays)
        assert (result == result[0]).all()


# -- accuracy -------------------------------------------------------------------------------------


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long doubles have no more bits here")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_root_mean_square_errors(dtype: str) -> None:
    """Bounds: 0.36 eps sqrt(log2 n), 0.55 by a chirp: less than NumPy's in float64, in which it computes
    float32, too."""
    eps = float(np.finfo(dtype).eps)
    for n in (16, 64, 100, 256, 1000, 1024, 4096, 1 << 15, 1009):
        (_, pairs, attrs), *_ = cases(n, ((max(1, 10_000 // n),), ()), dtype)
        function, arrays = together([("fft", pairs, attrs)])
        (result,) = Executable(function)(arrays)
        values = pairs[..., 0] + 1j * pairs[..., 1]
        truth = np.fft.fft(values.astype(np.clongdouble))

        def error(transform: Any, truth: Any = truth) -> float:
            difference = np.abs(transform.astype(np.clongdouble) - truth)
            return float(np.sqrt(np.sum(difference**2) / np.sum(np.abs(truth) ** 2))) / eps

        own = error(result[..., 0] + 1j * result[..., 1])
        assert own < (0.55 if radices(n) is None else 0.36) * np.sqrt(np.log2(n)), f"{dtype} {n}"
        if dtype == "f8":
            assert own < 1.05 * error(np.fft.fft(values)), f"{n}"


def test_roots_are_rounded_once() -> None:
    mpmath = pytest.importorskip("mpmath")
    for n in (1, 2, 3, 8, 12, 1000, 1009):
        real, imaginary = (part.astype(np.float64) for part in unit_roots(np.arange(-1, n + 1), n))
        for place, k in enumerate(range(-1, n + 1)):
            with mpmath.workprec(120):
                angle = mpmath.mpf(-2 * k) / n
                expected = float(mpmath.cospi(angle)), float(mpmath.sinpi(angle))
            assert abs(real[place] - expected[0]) <= np.spacing(abs(expected[0])) / 2
            assert abs(imaginary[place] - expected[1]) <= np.spacing(abs(expected[1])) / 2


# -- plans ----------------------------------------------------------------------------------------


def test_radices_multiply_to_the_size() -> None:
    for n in range(1, 5000):
        factors = radices(n)
        rest = n
        for prime in PRIMES:
            while rest % prime == 0:
                rest //= prime
        assert (factors is None) == (rest > 1)
        assert factors is None or np.prod(factors) == n


@pytest.mark.parametrize("size", [1, 2, 4096, 6006, 2**20, 9 * 10**18])
def test_middle_divisors(size: int) -> None:
    """Divisors of sizes that nobody has memory for are found at once, too."""
    divisor = _middle_divisor(size)
    assert size % divisor == 0
    assert divisor**2 <= size
    assert not any(size % larger == 0 for larger in range(divisor + 1, min(math.isqrt(size), 10**4) + 1))


def test_convolution_sizes_are_long_enough() -> None:
    for least in range(1, 4000, 7):
        size = int(np.prod(convolution_radices(least)))
        assert least <= size < max(2 * least, 9)


NARROW = """
import sys
sys.path.insert(0, '.')
from tests.codegen.kernels.test_fft import LAYOUTS, cases, check, share_of
from tracejit.codegen.llvm.target import host

assert host().vector_bits == {bits}, host()
for dtype in ("f8", "f4"):
    for n in share_of((5, 8, 12, 17, 64, 100, 1000), 2):
        for layout in LAYOUTS[:5]:
            check(cases(n, layout, dtype))
check(cases(10_000, LAYOUTS[0], "f4"))
print("fine")
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)
