"""Recording of ops under a trace: the short ways give the graph that the general one does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.registry import OPS
from tracejit.tensors.tensor import wrap
from tracejit.tracing.tracer import Tracer

SCALE = tj.ones(3, dtype="float32")
HALF = 0.5


def weak_numbers(x: Any, n: Any) -> Any:
    return x * (n + 1) - HALF * n * 2.5 + (-n) / 3


def booleans(x: Any, n: Any) -> Any:
    return (x > n) + True + (n > 2) * n


def captured(x: Any, n: Any) -> Any:
    return tj.sin(SCALE) * x + np.ones(3) * n


def compared(x: Any, n: Any) -> Any:
    return tj.where(x == 1 << 40, x, n) + (x < 3)


def elements(x: Any, n: Any) -> Any:
    return x[0] * x[-1] + x[n] + SCALE[1]


def differentiated(x: Any, n: Any) -> Any:
    return tj.grad(lambda y: (tj.tanh(y) * n + y[1] * y[0] ** 2).sum())(x)


def without_gradients(x: Any, n: Any) -> Any:
    with tj.no_grad():
        y = tj.exp(x) * x[0]
    return y + x


def in_a_region(x: Any, n: Any) -> Any:
    return tj.fori_loop(0, 4, lambda i, y: (tj.sin(y) * n + x[1] * HALF + i).astype(x.dtype), x)


PROGRAMS = (
    weak_numbers, booleans, captured, compared, elements, differentiated, without_gradients, in_a_region,
)  # fmt: skip


def general_element(tracer: Tracer, x: Any, slice_attrs: Any) -> Any:
    """The result of `Tracer.element`, by the way that any op takes."""
    part = wrap(tracer.run(OPS["slice"], (x,), slice_attrs))
    return tracer.run(OPS["reshape"], (part,), {"shape": ()})


def text(program: Callable[..., Any], x: Any, n: Any) -> str:
    """The trace of `program`, with source lines."""
    function = tj.jit(program)._trace((x, n), {}).function
    lines = [str(instruction.location) for instruction in function.instructions()]
    return "\n".join([str(function), *lines])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_short_ways_record_what_the_general_one_does(
    program: Callable[..., Any], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype == "int64" and program is differentiated:
        pytest.skip("integers have no gradient")
    x = np.array([1, 2, 3], dtype)
    for n in (2, 2.0) if program is not elements else (2,):
        short = [text(program, x, n) for _ in range(2)]  # planned at first, then known
        with monkeypatch.context() as patch:
            patch.setattr(Tracer, "elementwise", lambda tracer, op, operands: tracer.run(op, operands, {}))
            patch.setattr(Tracer, "element", general_element)
            general = text(program, x, n)
        assert short == [general, general]
