"""Facts that a Function states of its body, and the number of times that passes look at it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.ir.dataflow import read_counts
from tracejit.ir.passes import PIPELINE, Pass, run_passes
from tracejit.ir.passes.algebra.cleanup import dce
from tracejit.ir.passes.layout.updates import place_updates


def test_ops_and_dtypes_are_those_of_the_body() -> None:
    function = tj.trace(lambda x: tj.sin(x).astype(tj.float32) + 1, np.ones(3))
    assert {op.name for op in function.ops} == {instruction.op.name for instruction in function.body}
    assert function.dtypes == {np.dtype("f4"), np.dtype("f8")}
    assert not function.has_control


def test_those_of_regions_are_not_among_them() -> None:
    def step(i: Any, x: Any) -> Any:
        return tj.cos(x).astype(tj.float32).astype(tj.float64)

    function = tj.trace(lambda x: tj.fori_loop(0, 3, step, x), np.ones(3))
    assert function.has_control
    assert "cos" not in {op.name for op in function.ops}
    assert np.dtype("f4") not in function.dtypes


def test_reads_are_counted_with_results() -> None:
    function = tj.trace(lambda x: (x * x, x), np.ones(2))
    (product,) = function.body
    assert read_counts(function) == {function.params[0]: 3, product.result: 1}


def test_a_pass_that_comes_again_is_left_out_where_nothing_changed() -> None:
    calls: list[str] = []

    def noted(function: Any) -> Any:
        calls.append(function.name)
        return dce(function)

    function = tj.trace(lambda x: x * 2, 1.0)
    pass_ = Pass("noted", noted)
    run_passes(function, [pass_, pass_, Pass("dce", dce), pass_])
    assert len(calls) == 1


def test_many_writes_to_one_array_take_time_in_proportion() -> None:
    def steps(count: int) -> int:
        def fn(x: Any) -> Any:
            zeros = tj.zeros(64)
            total = x
            for k in range(count):
                part = zeros.copy()
                part[k % 60 : k % 60 + 2] = x[:2] * k
                total = total + part
            return total

        apart = [pass_ for pass_ in PIPELINE[:11] if pass_.name != "reroll-loops"]
        function = run_passes(tj.trace(fn, np.ones(64)), apart)
        assert sum(instruction.op.name == "update" for instruction in function.body) == count
        return python_lines(lambda: place_updates(function))

    assert steps(400) < 6 * steps(100)


#: Calls of Python functions for each traced op. On Python 3.11 there are 10.9 and 39, of which the verifier
#: makes 28; there were 13.6 and 53 when each pass collected definitions, fusion placed each op by general
#: rules and outlining copied all.
MAX_CALLS_OF_A_TRACE = 14
MAX_CALLS_OF_PASSES = 46


def test_work_for_each_op_is_bounded() -> None:
    names = np.random.default_rng(0).choice(["sin", "cos", "tanh", "exp", "sqrt"], 500)

    def fn(x: Any) -> Any:
        for number, name in enumerate(names):
            x = getattr(tj, name)(x * (1.0 - number % 7 / 10))
        return x

    f = tj.jit(fn, loops="unrolled")
    x = np.linspace(0.1, 1.0, 4096)
    f._trace((x,), {})
    function = f._trace((x,), {}).function
    traced = python_calls(lambda: f._trace((x,), {}))
    passed = python_calls(lambda: run_passes(function))
    assert traced / len(function.body) < MAX_CALLS_OF_A_TRACE
    assert passed / len(function.body) < MAX_CALLS_OF_PASSES


def python_calls(action: Any) -> int:
    """Number of Python functions that `action` calls."""
    count = 0

    def observe(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(observe)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def python_lines(action: Any) -> int:
    """Number of lines that `action` runs, and steps of comprehensions."""
    count = 0

    def observe(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return observe

    sys.settrace(observe)
    try:
        action()
    finally:
        sys.settrace(None)
    return count


def test_definitions_are_those_of_the_body() -> None:
    function = tj.trace(lambda x: tj.sin(x) * tj.sin(x), tj.ones(3))
    assert function.defs == {each.result: each for each in function.body}
    assert function.defs is function.defs
    assert dce(function).defs is function.defs  # nothing is dead
    assert all(param not in function.defs for param in function.params)
