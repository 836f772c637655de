"""Every family of kernels has a program whose code LLVM optimizes, as users run it, in each run of the tests.

Most tests of values do without LLVM's optimization (`tests/conftest.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.module.families import LOWERINGS
from tracejit.ir.kinds import Kind
from tracejit.ir.text.parser import parse_function

from ...emission import CODE

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(40, 40)), RNG.normal(size=(40, 40))
V, K = RNG.normal(size=200), RNG.integers(0, 200, 50)
IMAGE = RNG.normal(size=(1, 2, 20, 20))


def _stops_late(x: Any) -> Any:
    return tj.while_loop(lambda s: tj.abs(s).sum() > 1.0, lambda s: tj.sin(s) * 0.5, x)


def _steps(x: Any) -> Any:
    return tj.scan(lambda s, row: (s * 0.5 + tj.sin(row), s.sum()), x[0], x)


#: Programs that have an op of a kind once they are optimized, and their arguments.
PROGRAMS: dict[Kind, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    Kind.REGION: (lambda x, y: np.tanh(x * y + 1.0) / (1.0 + np.abs(x)).sum(axis=1, keepdims=True), (X, Y)),
    Kind.CONTRACTION: (lambda x, y: x @ y, (X, Y)),
    Kind.CONVOLUTION: (lambda x, w: tj.nn.conv2d(x, w), (IMAGE, RNG.normal(size=(3, 2, 3, 3)))),
    Kind.FOURIER: (lambda x: np.fft.fft(x), (V,)),
    Kind.TILED: (lambda x: np.abs(np.fft.fft(x * 0.5, axis=1)) ** 2, (RNG.normal(size=(600, 512)),)),
    Kind.CONCAT: (lambda x, y: np.concatenate([x, y[:, :3]], axis=1), (X, Y)),
    Kind.UPDATE: (lambda x, y: tj.asarray(x).at[3:9, ::2].set(y[:6, :20]), (X, Y)),
    Kind.GATHER: (lambda v, k: v[k], (V, K)),
    Kind.SCATTER: (lambda v, k: tj.asarray(v).at[k].add(1.0), (V, K)),
    Kind.CUMULATIVE: (lambda x: np.cumsum(x, axis=1), (X,)),
    Kind.ARG_REDUCTION: (lambda x: np.argmax(x, axis=1), (X,)),
    Kind.SORT: (lambda x: np.sort(x, axis=1), (X,)),
    Kind.ARG_SORT: (lambda x: np.argsort(x, axis=1), (X,)),
    Kind.SEARCH: (lambda v, x: np.searchsorted(np.sort(v), x), (V, X)),
    Kind.HISTOGRAM: (lambda k: np.bincount(k, minlength=201), (K,)),
    Kind.COMPACTION: (lambda v: tj.nonzero(v > 0.0, size=90)[0], (V,)),
    Kind.LINALG: (lambda x, y: np.linalg.solve(x @ x.T + 40.0 * np.eye(40), y), (X, Y)),
    Kind.SWITCH: (lambda x: tj.cond(x[0, 0] > 0.0, lambda x: np.sin(x), lambda x: np.cos(x) @ x, x), (X,)),
    Kind.WHILE: (_stops_late, (V,)),
    Kind.REWIND: (tj.grad(lambda x: (_stops_late(x) ** 2).sum()), (V,)),
    Kind.SCAN: (_steps, (X,)),
    Kind.HOST: (lambda x: tj.pure_callback(np.negative, x, x), (X,)),
}  # fmt: skip


def test_every_family_has_a_program() -> None:
    assert set(PROGRAMS) == set(LOWERINGS)


@pytest.mark.parametrize("kind", PROGRAMS, ids=lambda kind: str(kind.value))
def test_optimized_code_of_a_family(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    function, arguments = PROGRAMS[kind]
    monkeypatch.setenv(CODE, "anew")
    jitted = tj.jit(function)
    compiled = parse_function(jitted.lower(*arguments).as_text("fused"))
    assert kind in {instruction.op.kind for instruction in compiled.instructions()}
    results, expected = jitted(*arguments), function(*map(tj.asarray, arguments))
    for result, value in zip(tj.tree.leaves(results), tj.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-10, atol=1e-12)
