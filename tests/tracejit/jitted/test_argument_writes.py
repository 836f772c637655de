"""Functions that write their arguments do the same jitted as eagerly: results and arguments."""

from __future__ import annotations

import copy
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .written import (
    KINDS,
    PROGRAMS,
    adds,
    branches_to_write,
    fresh,
    keeps_state,
    read_only,
    rebinds_in_dicts,
    same,
    swaps,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_arguments_are_written(program: str, kind: str) -> None:
    function, arguments = PROGRAMS[program]
    if kind in ("array", "strided array") and program in ("methods", "mask and places"):
        pytest.skip("an ndarray has no such methods, and takes no tensors as indices")
    compiled = tj.jit(function)
    eager_args, jit_args = arguments(KINDS[kind]), arguments(KINDS[kind])
    for step in range(4):
        tj.random.seed(step)
        expected = function(*eager_args)
        tj.random.seed(step)
        result = compiled(*jit_args)
        if kind != "array" or program != "returns out":
            same(result, expected, f"result of call {step}")
        same(jit_args, eager_args, f"arguments after call {step}")
        with tj.disable_jit():
            tj.random.seed(step)
            third = copy.deepcopy(eager_args)
            compiled(*third)
        tj.random.seed(step)
        fourth = copy.deepcopy(jit_args)
        compiled(*fourth)
        same(fourth, third, "the same under disable_jit")


def test_containers_keep_what_was_not_touched() -> None:
    """The caller's dict has the same tensors where the function left them, and what it returned."""
    kept, array, inner = tj.ones(2), np.ones(2), [tj.zeros(2)]
    state: Any = {"kept": kept, "array": array, "inner": inner, "changed": kept, "count": 1}

    def f(state: Any) -> Any:
        state["changed"] = state["kept"] * 2.0
        state["count"] += 1
        state["alias"] = state["inner"]
        state["name"] = state["kept"]
        return state["changed"]

    compiled = tj.jit(f)
    result = compiled(state)
    assert state["kept"] is state["name"] is kept
    assert state["array"] is array
    assert state["inner"] is state["alias"] is inner
    assert state["changed"] is result
    assert type(state["count"]) is int
    assert state["count"] == 2
    assert "writes to arguments: state" in compiled.explain()


def test_numbers_in_containers_do_not_compile_again() -> None:
    compiled = tj.jit(keeps_state)
    state: Any = {
        "n": 0,
        "mean": tj.zeros(4),
        "last": [tj.zeros(4), {"n": 0}],
        "inner": {"same": 1.0, "other": 1.0},
    }
    for step in range(5):
        compiled(state, tj.tensor(fresh(step)))
    assert state["n"] == 5
    assert len(compiled.explain().signatures) == 1


def test_donated_containers_are_given_up() -> None:
    compiled = tj.jit(rebinds_in_dicts, donate_argnums=0)
    params = {"w": tj.ones(3)}
    for _ in range(2):
        params = compiled(params, {"w": tj.ones(3)})
    assert params["w"].tolist() == [0.0] * 3


def test_views_and_bases_outside_see_the_write() -> None:
    base = tj.tensor(fresh())
    view = base[1:]
    tj.jit(adds)(view)
    assert base.tolist() == [1.0, 3.0, 4.0, 5.0]
    tj.jit(adds)(base)
    assert view.tolist() == [4.0, 5.0, 6.0]
    array = fresh()
    shared = tj.asarray(array)
    tj.jit(adds)(shared)
    assert array.tolist() == [2.0, 3.0, 4.0, 5.0]


def test_writes_are_counted() -> None:
    w = tj.tensor(fresh(), requires_grad=True)
    x = tj.tensor(fresh())
    loss = (w * x).sum()
    tj.jit(adds)(x)
    with pytest.raises(tj.GradientError, match=r"modified in place by adds \(argument x\)"):
        loss.backward()


def test_interleaved_arguments_are_separate() -> None:
    array = np.arange(8.0)
    tj.jit(swaps)(array[::2], array[1::2])
    assert array.tolist() == [1.0, 0.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0]


def test_layouts() -> None:
    """Arrays without elements, transposed, with negative strides, of another byte order, and in a file."""
    block = np.arange(24.0).reshape(2, 3, 4)
    for make in (
        lambda: np.zeros((0, 3)),
        lambda: np.zeros((3, 0)).T,
        lambda: block.copy().transpose(2, 0, 1),
        lambda: block.copy()[::-1, ::2, ::-3],
        lambda: np.asfortranarray(block),
        lambda: block.astype(">f8"),
        lambda: block.copy().diagonal(axis1=1, axis2=2).copy()[None],
        lambda: np.float32(block[:, 1:2]),
    ):
        expected, array = make(), make()
        compiled = tj.jit(adds)
        for _ in range(2):
            same(compiled(array), adds(expected), "result")
            assert array.dtype == expected.dtype
            np.testing.assert_array_equal(array, expected)


def test_numbers_and_scalars_are_rebound() -> None:
    """``x += 1`` of what is immutable gives the name another value."""
    f = tj.jit(adds)
    for number in (2.0, np.float64(2.0), np.float32(2.0)):
        assert float(f(number)) == 6.0
        assert number == 2.0
    array, tensor = np.array(2.0), tj.tensor(2.0)
    assert float(f(array)) == float(f(tensor)) == 6.0
    assert float(array) == float(tensor) == 3.0


def scaled_into(n: int, x: Any, *, out: Any) -> Any:
    x *= n
    out[:] = x
    return x


def test_static_and_keyword_arguments() -> None:
    compiled = tj.jit(scaled_into, static_argnums=0)
    x, out = tj.tensor(fresh()), tj.zeros(4)
    for power in (1, 2, 3):
        result = compiled(2, x, out=out)
        assert result.tolist() == out.tolist() == x.tolist() == (fresh() * 2**power).tolist()


def test_donated_arguments_are_given_up() -> None:
    """Donated arguments are not read after the call, so that only results are written."""
    compiled = tj.jit(scaled_into, static_argnums=0, donate_argnums=1)
    x, out = tj.tensor(fresh()), tj.zeros(4)
    for power in (1, 2, 3):
        x = compiled(2, x, out=out)
        assert out.tolist() == x.tolist() == (fresh() * 2**power).tolist()
    in_place = tj.jit(adds, donate_argnums=0)
    x = tj.tensor(fresh())
    in_place(x)
    assert in_place(x) is x


def test_an_error_on_another_path_is_none() -> None:
    """A path that is not taken may write what cannot be written."""
    compiled = tj.jit(branches_to_write)
    compiled(fresh(), fresh())  # writes x
    x, y = read_only(), fresh()
    x = x + 1.0
    x.flags.writeable = False
    compiled(x, y)
    assert y.tolist() == [2.0, 2.0, 3.0, 4.0]
    with pytest.raises(tj.TracejitError, match=r"argument x .* read-only"):
        compiled(read_only(), fresh())


def test_failing_calls_write_what_python_writes() -> None:
    def f(x: Any, i: Any) -> Any:
        x += 1.0
        return x[i]

    compiled = tj.jit(f)
    x = tj.tensor(fresh())
    with pytest.raises(tj.OutOfBoundsError):
        compiled(x, np.array([9]))
    assert x.tolist() == [2.0, 3.0, 4.0, 5.0]
    assert compiled(x, np.array([0])).tolist() == [3.0]


def test_threads_write_their_own() -> None:
    compiled = tj.jit(adds)
    results: list[Any] = []

    def work() -> None:
        x = tj.zeros(4)
        for _ in range(50):
            compiled(x)
        results.append(x.tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[50.0] * 4] * 4


def test_explain_names_what_is_written() -> None:
    compiled = tj.jit(swaps)
    compiled(tj.ones(3), tj.zeros(3))
    assert "writes to arguments: x, y" in compiled.explain()
    assert compiled.explain().signatures[0].writes == ("x", "y")


def test_the_program_in_the_documentation() -> None:
    text = (Path(__file__).parents[3] / "docs" / "calls.md").read_text()
    (program,) = [
        example for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "state[" in example
    ]
    exec(compile(program, "calls.md", "exec"), {})


def test_large_arrays_are_written_by_the_program_itself() -> None:
    """The program writes arguments that nothing else reads after their result is written; the value agrees
    elsewhere."""

    def f(x: Any, y: Any) -> Any:
        x *= 2.0
        y[...] = tj.cumsum(y) + x[::-1]
        return x[:3] + y[:3]

    compiled = tj.jit(f)
    eager = np.arange(50_000.0), np.ones(50_000)
    for args in (
        [array.copy() for array in eager],
        list(map(tj.tensor, eager)),
        [array.repeat(2)[::2] for array in eager],
    ):
        expected = [array.copy() for array in eager]
        for _ in range(3):
            same(compiled(*args), f(*map(tj.asarray, expected)), "result")
            same(args, expected, "arguments")
    (signature,) = compiled.explain().signatures
    assert signature.reused == 2
