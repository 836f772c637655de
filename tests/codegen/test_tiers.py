"""Code in the sizes of the baseline tier gives the bits of code in full sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.instrument.access_checks import AccessChecks
from tracejit.codegen.llvm.target import host
from tracejit.codegen.llvm.targets import named_target
from tracejit.codegen.module.writer import generate
from tracejit.codegen.tiers import BASELINE
from tracejit.runtime import executable as executables
from tracejit.runtime import tiers
from tracejit.runtime.executable import Executable

_RNG = np.random.default_rng(7)


def normal(*shape: int, dtype: str = "f8") -> np.ndarray[Any, Any]:
    return _RNG.standard_normal(shape).astype(dtype)


def _ties(*shape: int) -> np.ndarray[Any, Any]:
    """Numbers of which many are equal, and some NaN."""
    array = _RNG.integers(0, 9, shape).astype("f8")
    array[:, ::7] = np.nan
    return array


CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray[Any, Any], ...]]] = {
    "small product": (lambda x, y: x @ y, (normal(8, 8, dtype="f4"), normal(8, 8, dtype="f4"))),
    "odd product": (lambda x, y: x @ y, (normal(37, 51), normal(51, 29))),
    "long sums": (lambda x, y: x @ y, (normal(9, 2500, dtype="f4"), normal(2500, 40, dtype="f4"))),
    "batch": (lambda x, y: x @ y, (normal(20, 16, 16), normal(20, 16, 16))),
    "transposed": (lambda x, y: x.T @ y + 1.0, (normal(30, 30), normal(30, 70))),
    "integers": (lambda x, y: x @ y, (normal(30, 30).astype("i4"), normal(30, 20).astype("i4"))),
    "large map": (lambda x: x * 1.5 + tj.sqrt(tj.abs(x)), (normal(2200, 2100, dtype="f4"),)),
    "large rows": (lambda x: x / x.sum(axis=1, keepdims=True), (normal(2200, 2112, dtype="f4"),)),
    "columns": (lambda x: x.max(axis=0) - x.sum(axis=0), (normal(300, 77, dtype="f4"),)),
    "many columns": (lambda x: (x * x).sum(axis=0), (normal(2100, 203, dtype="f4"),)),
    "lines": (lambda x: tj.sort(x, axis=1), (normal(19, 37, dtype="f4"),)),
    "few lines": (lambda x: tj.sort(x, axis=1), (normal(5, 300),)),
    "short lines": (lambda x: tj.sort(x, axis=1), (normal(50, 3, dtype="f4"),)),
    "places": (lambda x: tj.argsort(x, axis=1), (_ties(23, 70),)),
    "places of bytes": (lambda x: tj.argsort(x, axis=1), (np.nan_to_num(_ties(9, 41)).astype("u1"),)),
    "maxima of rows": (lambda x: x.max(axis=1), (normal(45, 203, dtype="f4"),)),
    "zeros of both signs": (lambda x: (x.max(axis=1), x.min(axis=1)), (np.copysign(0.0, normal(30, 130)),)),
    "the largest of many": (lambda x: x.max(), (normal(300_007, dtype="f4"),)),
    "the smallest of many rows": (lambda x: tj.abs(x).min(), (normal(999, 333),)),
    "all of many": (lambda x: (x > -9).all(axis=1), (normal(50, 400),)),
    "any of integers": (lambda x: x.max(axis=1) + x.min(axis=1), (normal(30, 500).astype("i2"),)),
    "sums of what is long": (lambda x: tj.exp(tj.sin(x)).sum(axis=1), (normal(33, 1007, dtype="f4"),)),
    "sum of what is long": (lambda x: tj.exp(x).sum(), (normal(400_003, dtype="f4"),)),
    "softmax": (
        lambda x: tj.exp(x - x.max(axis=1, keepdims=True)) / tj.exp(x).sum(axis=1, keepdims=True),
        (normal(60, 517, dtype="f4"),),
    ),
    "two sums": (
        lambda x: (tj.tanh(x).sum(axis=1), (tj.tanh(x) * x).sum(axis=1), x.max(axis=1)),
        (normal(21, 190),),
    ),
    "columns of many chunks": (lambda x: x.sum(axis=0) + x.max(axis=0), (normal(20_000, 40),)),
    "means of columns": (lambda x: (x - x.mean(axis=0)) / x.std(axis=0), (normal(40_000, 33, dtype="f4"),)),
    "convolution": (
        lambda x, k: tj.nn.conv2d(x, k, padding=1),
        (normal(3, 5, 17, 19, dtype="f4"), normal(37, 5, 3, 3, dtype="f4")),
    ),
    "strided convolution": (
        lambda x, k: tj.nn.conv2d(x, k, stride=2, padding=2, dilation=2, groups=2),
        (normal(2, 6, 21, 23), normal(10, 3, 3, 2)),
    ),
    "convolution of rows": (
        lambda x, k: tj.nn.conv1d(x, k) + 1.0,
        (normal(4, 40, 50, dtype="f4"), normal(20, 40, 7, dtype="f4")),
    ),
    "long convolution": (
        lambda x, k: tj.nn.conv2d(x, k),
        (normal(1, 700, 6, 6, dtype="f4"), normal(33, 700, 3, 3, dtype="f4")),
    ),
    "convolution of integers": (
        lambda x, k: tj.nn.conv2d(x, k),
        (normal(2, 3, 9, 9).astype("i4"), normal(4, 3, 2, 2).astype("i4")),
    ),
    "plain sums": (lambda x: x.sum(axis=1), (normal(45, 203),)),
    "long sums of rows": (lambda x: (tj.exp(tj.sin(x)).sum(axis=1), x.max(axis=1)), (normal(5, 30_007),)),
    "long sum": (lambda x: tj.exp(tj.sin(x)).sum(), (normal(700_011, dtype="f4"),)),
    "long columns": (lambda x: (x * x).sum(axis=0), (normal(30_000, 70, dtype="f4"),)),
    "columns read across": (lambda x: (x.T * x.T[0]).sum(axis=0), (normal(80, 3000, dtype="f4"),)),
    "long dot products": (lambda x: x @ x[0], (normal(5, 70_001, dtype="f4"),)),
    "loss of many rows": (lambda x: tj.log(tj.exp(x).sum(axis=1)).mean(), (normal(5000, 7, dtype="f4"),)),
    "rest": (lambda x: x * 0.1 + x.max(axis=1, keepdims=True), (normal(45, 203),)),
}
#: Blocked factorizations of one matrix.
FACTORIZATIONS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray[Any, Any], ...]]] = {
    "Cholesky factors": (lambda x: tj.linalg.cholesky(x @ x.T + 150.0 * tj.eye(150)), (normal(150, 150),)),
    "solutions": (lambda a, b: tj.linalg.solve(a, b), (normal(110, 110), normal(110, 37))),
    "inverse": (tj.linalg.inv, (normal(70, 70, dtype="f4"),)),
}
#: Vectors of 512 bits, and stores past the cache.
WIDE = named_target("x86-64-v4")
#: Fast code of these is longer on `WIDE`, that of some also elsewhere. The others have nothing to leave out,
#: and are here for the comparison.
SHORTER = frozenset(CASES) - {"integers", "plain sums", "long dot products", "loss of many rows"}


@pytest.fixture(autouse=True)
def baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_TIERS", "always")


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits(case: str) -> None:
    function, arrays = CASES[case]
    traced = tj.trace(function, *arrays)
    executable = Executable(traced)
    fused = executable.fused
    short, fast = generate(fused, host(), parameters=BASELINE.parameters), generate(fused, host())
    assert (len(short.text) < len(fast.text)) == short.shortened
    assert generate(fused, WIDE, parameters=BASELINE.parameters).shortened == (case in SHORTER)
    assert not fast.shortened
    baseline = [result.tobytes() for result in executable(arrays)]
    assert tiers.BACKGROUND.wait(60)
    assert executable.tier == "optimized"
    assert [result.tobytes() for result in executable(arrays)] == baseline


@pytest.mark.parametrize("case", FACTORIZATIONS)
def test_factorizations_have_the_same_bits(case: str) -> None:
    function, arrays = FACTORIZATIONS[case]
    executable = Executable(tj.trace(function, *arrays))
    fused = executable.fused
    short, fast = generate(fused, WIDE, parameters=BASELINE.parameters), generate(fused, WIDE)
    assert short.shortened
    assert len(short.text) < len(fast.text)
    baseline = [result.tobytes() for result in executable(arrays)]
    assert tiers.BACKGROUND.wait(60)
    assert executable.tier == "optimized"
    assert [result.tobytes() for result in executable(arrays)] == baseline


@pytest.mark.parametrize("case", CASES)
def test_both_tiers_keep_within_their_buffers(case: str) -> None:
    """Checked code has two tiers as well, with the same bits."""
    function, arrays = CASES[case]
    expected = Executable(tj.trace(function, *arrays))(arrays)
    checks = AccessChecks(tiered=True)
    checked = Executable(tj.trace(function, *arrays), checks)
    for tier in ("baseline", "optimized"):
        assert checked.tier == tier
        assert checks.unchecked == []
        for actual, other in zip(checked(arrays), expected, strict=True):
            np.testing.assert_array_equal(actual, other)
        assert tiers.BACKGROUND.wait(60)


def test_text_that_is_not_shortened_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    original = executables._upgrade

    def counted(executable: Any, upgrade: Any) -> None:
        results.append(upgrade.module)
        original(executable, upgrade)

    monkeypatch.setattr(executables, "_upgrade", counted)
    small, two = Executable(tj.trace(lambda x: x + 1, normal(3))), Executable(tj.trace(*_product()))
    assert tiers.BACKGROUND.wait(60)
    assert small.tier == two.tier == "optimized"
    assert results[0] is not None
    assert results[1] is None


def _product() -> tuple[Callable[[Any, Any], Any], Any, Any]:
    return lambda x, y: x @ y, normal(24, 24), normal(24, 24)
