"""``jit(donate_argnums=...)``: arguments whose memory results take over, and those that are left alone."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def _step(params: Any, gradients: Any) -> Any:
    return tj.tree_map(lambda p, g: p - 0.5 * g, params, gradients)


def _params() -> dict[str, Any]:
    return {"w": tj.ones((3, 4)), "b": [tj.ones(4), np.ones(2)]}


def test_a_training_step_is_in_place() -> None:
    step = tj.jit(_step, donate_argnums=0)
    step(_params(), _params())  # the first entry of a process may be linked behind its first call
    params, gradients = _params(), _params()
    memory = params["b"][1]
    for expected in (0.5, 0.0, -0.5):
        new = step(params, gradients)
        assert new["w"] is params["w"]
        assert new["b"][0] is params["b"][0]
        assert new["b"][1].numpy() is memory  # of an ndarray the memory is kept, in a Tensor
        for leaf in (new["w"], *new["b"]):
            assert np.all(leaf.numpy() == expected)
        params = new
    assert np.all(gradients["w"].numpy() == 1.0)
    assert "donated arrays: 3, memory reused by results: 3" in step.explain()


@pytest.mark.parametrize("how", [{"donate_argnums": (1,)}, {"donate_argnames": "p"}, {"donate_argnums": -1}])
def test_by_position_and_by_name(how: dict[str, Any]) -> None:
    f = tj.jit(lambda g, p: p - g, **how)
    for kwargs in (False, True):
        p, g = tj.ones(3), tj.ones(3)
        out = f(g, p=p) if kwargs else f(g, p)
        assert out is p
        assert np.all(g.numpy() == 1.0)


def test_with_static_arguments_before() -> None:
    f = tj.jit(lambda n, p, q: p * n + q, static_argnums=0, donate_argnums=1)
    p, q = tj.ones(3), tj.ones(3)
    assert f(2, p, q) is p
    assert p.tolist() == [3.0] * 3
    assert q.tolist() == [1.0] * 3


def _left_alone() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Cases that cannot reuse memory: the donated argument and the other one."""

    def read_only() -> Any:
        x = np.ones((4, 4))
        x.flags.writeable = False
        return x

    whole = np.ones((5, 4))
    watched = tj.ones((4, 4))
    view = watched[0]
    saved = tj.ones((4, 4))
    leaf = tj.ones((4, 4), requires_grad=True)
    graph = (leaf * saved).sum()
    with_gradient = tj.ones((4, 4), requires_grad=True)
    (with_gradient * 2).sum().backward()
    with_gradient.requires_grad_(False)
    same = tj.ones((4, 4))
    array = np.ones((4, 4))
    return {
        "read only": lambda: (read_only(), np.ones((4, 4))),
        "not contiguous": lambda: (np.ones((4, 4)).T[::1].copy(order="F"), np.ones((4, 4))),
        "a stride": lambda: (np.ones((8, 4))[::2], np.ones((4, 4))),
        "overlaps the other": lambda: (whole[:4], whole[1:]),
        "the same object": lambda: (same, same),
        "the same memory": lambda: (array, tj.asarray(array)),
        "has a view": lambda: (watched, view + np.ones((4, 4)) if view is None else np.ones((4, 4))),
        "saved by a graph": lambda: (saved, np.ones((4, 4)) if graph is not None else None),
        "requires grad": lambda: (tj.ones((4, 4), requires_grad=True), np.ones((4, 4))),
        "has a gradient": lambda: (with_gradient, np.ones((4, 4))),
        "another byte order": lambda: (np.ones((4, 4), ">f8"), np.ones((4, 4))),
        "a subclass": lambda: (np.ones((4, 4)).view(Subclass), np.ones((4, 4))),
    }


class Subclass(np.ndarray):
    """An array with ndarray's operations."""


@pytest.mark.parametrize("name", _left_alone())
def test_left_alone(name: str) -> None:
    f = tj.jit(lambda p, g: p - 0.5 * g, donate_argnums=0)
    f(np.ones((4, 4)), np.ones((4, 4)))  # compiled for arguments that can be reused
    p, g = _left_alone()[name]()
    for _ in range(2):
        out = f(p, g)
        assert np.all(np.asarray(out.detach()) == 0.5)
        assert np.all(np.asarray(p.detach() if isinstance(p, tj.Tensor) else p) == 1.0)
        assert np.all(np.asarray(g) == 1.0)


@pytest.mark.parametrize(("kind", "shape"), [("c16", (2,)), ("i8", (2, 2)), ("f4", (2, 4)), ("f8", (4,))])
def test_arrays_of_other_types_and_as_many_bytes(kind: str, shape: tuple[int, ...]) -> None:
    for function in (lambda a, x: (x,), lambda a, x: (x * 2, a)):
        f = tj.jit(function, donate_argnums=0)
        for _ in range(3):
            a, x = np.ones(shape, kind), np.arange(4.0).reshape(2, 2)
            for result, expected in zip(f(a, x), function(np.ones(shape, kind), x), strict=True):
                assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
                np.testing.assert_array_equal(result, expected)
        g = tj.jit(lambda x, z: x + z.real, donate_argnums=(0, 1))
        for _ in range(3):
            assert g(np.ones((2, 2)), np.ones((2, 2), complex)).tolist() == [[2.0, 2.0]] * 2


def test_a_capture_with_the_same_memory() -> None:
    held = tj.ones(4)
    f = tj.jit(lambda p: p - 0.5 * tj.flip(held, 0), donate_argnums=0)
    assert f(held).tolist() == [0.5] * 4
    assert held.tolist() == [1.0] * 4
    assert f(tj.ones(4)).tolist() == [0.5] * 4


def test_gradients_flow_without_reuse() -> None:
    f = tj.jit(lambda p, g: p * g, donate_argnums=0)
    p = tj.ones(3, requires_grad=True)
    f(p, np.full(3, 2.0)).sum().backward()
    assert p.grad is not None
    assert p.grad.tolist() == [2.0] * 3
    assert p.tolist() == [1.0] * 3
    q = tj.ones(3)
    assert f(q, np.full(3, 2.0)) is q  # after a call that was recorded


def test_a_slice_is_written_in_place() -> None:
    def put(x: Any, i: Any, v: Any) -> Any:
        x[i] = v
        return x

    f = tj.jit(put, donate_argnums=0)
    x = tj.zeros(1000)
    memory = x.numpy()
    out = f(x, np.array([3, 5]), np.array([1.0, 2.0]))
    assert out is x
    assert memory[3] == 1.0
    assert memory[5] == 2.0
    with pytest.raises(IndexError, match="out of bounds"):
        f(x, np.array([3, 5000]), np.array([1.0, 2.0]))
    with pytest.raises(IndexError, match="out of bounds"):
        f(x, np.array([3, 5000]), np.array([1.0, 2.0]))


def test_under_a_trace_and_with_branches_nothing_is_reused() -> None:
    f = tj.jit(lambda p: p * 2, donate_argnums=0)
    g = tj.jit(lambda p: f(p) + p)
    p = tj.ones(3)
    assert g(p).tolist() == [3.0] * 3
    assert p.tolist() == [1.0] * 3
    h = tj.jit(lambda p: p * 2 if p.sum() > 0 else p, donate_argnums=0)
    assert h(p).tolist() == [2.0] * 3
    assert p.tolist() == [1.0] * 3
    assert tj.grad(lambda p: f(p).sum())(p).tolist() == [2.0] * 3


def test_messages() -> None:
    with pytest.raises(tj.TracejitError, match="cannot be both static and donated"):
        tj.jit(lambda x: x, static_argnums=0, donate_argnums=0)
    with pytest.raises(tj.TracejitError, match="donate_argnums 3 is out of range for 1 parameters"):
        tj.jit(lambda x: x, donate_argnums=3)
    with pytest.raises(tj.TracejitError, match="donate_argnames 'y' is not a parameter"):
        tj.jit(lambda x: x, donate_argnames="y")


def test_references_balance() -> None:
    f = tj.jit(_step, donate_argnums=0)
    params, gradients = _params(), _params()
    params = f(params, gradients)
    overlapping = {"w": params["w"], "b": [params["b"][0], params["b"][1]]}
    every = [params["w"], *params["b"], gradients["w"], *gradients["b"], params["w"].numpy()]
    gc.collect()
    before = [sys.getrefcount(leaf) for leaf in every]
    for _ in range(1000):
        f(params, gradients)
        f(overlapping, overlapping)
    gc.collect()
    assert [sys.getrefcount(leaf) for leaf in every] == before


def test_large_results_take_no_memory() -> None:
    """Ten million elements, 50 steps: without reuse each would need 80 MB more while it runs."""
    f = tj.jit(lambda p, g: p - 0.5 * g, donate_argnums=0)
    p, g = tj.ones(1_000_000), tj.ones(1_000_000)
    address = p.numpy().ctypes.data
    for _ in range(50):
        p = f(p, g)
    assert p.numpy().ctypes.data == address
    assert p.tolist()[0] == 1 - 25.0


def test_the_program_in_the_documentation() -> None:
    text = (Path(__file__).parents[3] / "docs" / "calls.md").read_text()
    (program,) = [
        example
        for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        if "donate_argnums" in example
    ]
    exec(compile(program, "docs/calls.md", "exec"), {})


@pytest.mark.parametrize("arguments", [1.0, [1.0], {"w": np.ones(3), "lr": 0.5}, (True, 3, tj.ones(2))])
def test_python_numbers_among_donated_arguments_are_not_donated(arguments: Any) -> None:
    """Python numbers have no memory; calls after the first one go through the native entry."""
    step = tj.jit(lambda tree: tj.tree_map(lambda leaf: leaf * 2, tree), donate_argnums=0)
    for _ in range(3):
        expected = [np.asarray(leaf) * 2 for leaf in tj.tree_leaves(arguments)]
        for result, value in zip(tj.tree_leaves(step(arguments)), expected, strict=True):
            np.testing.assert_array_equal(result.numpy(), value)


def test_a_scalar_of_numpys_has_no_memory_to_give():
    jitted = tj.jit(lambda x, y: (y,), donate_argnums=(0,))
    for _ in range(3):
        (result,) = jitted(np.float32(1.5), np.ones((), np.float32))
        assert result == 1
