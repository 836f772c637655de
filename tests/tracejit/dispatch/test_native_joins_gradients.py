"""Gradients of `concatenate` and `stack` of small tensors: one node each, with the gradients, hooks and modes
of the Python functions."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.dispatch import native_ops
from tracejit.ir.registry import OPS

from .native_calls import native_calls

if sys.implementation.name != "cpython" or sys.platform != "linux":
    pytest.skip("native code for eager ops is for CPython on Linux", allow_module_level=True)


@pytest.fixture(autouse=True)
def _loaded() -> None:
    assert native_ops.load() == ""


def parts_of(mixed: bool) -> list[Any]:
    rng = np.random.default_rng(5)
    x, y, z = (tj.tensor(rng.normal(size=(2, 3)), requires_grad=True) for _ in range(3))
    if mixed:
        y = y.detach()
    return [x, y, tj.sin(z), x]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("name", ["concatenate", "stack"])
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_gradients(name: str, axis: int, mixed: bool) -> None:
    def program() -> list[Any]:
        x, y, z, _ = parts_of(mixed)
        joined = getattr(tj, name)([x, y, z, x], axis)
        weights = np.arange(1.0, 1 + joined.size).reshape(joined.shape)
        loss = (joined**3 * weights).sum()
        leaves = [x] if mixed else [x, y]
        first = tj.autograd.grad(loss, leaves, create_graph=True)
        second = tj.autograd.grad(sum((slope**2).sum() for slope in first), leaves)
        loss2 = (getattr(tj, name)((x, y, x), axis) ** 2).sum()
        loss2.backward(retain_graph=True)
        loss2.backward()
        results = joined, *first, *second, *(leaf.grad for leaf in leaves)
        return [(result.detach().numpy().tobytes(), result.shape) for result in results]

    native = program()
    with native_calls(False):
        assert native == program()


@pytest.mark.parametrize("name", ["concatenate", "stack"])
def test_gradgradcheck(name: str) -> None:
    x, y = (tj.tensor(np.array([[1.5, -2.0], [0.5, 3.0]]) * k, requires_grad=True) for k in (1, 0.3))
    for axis in (0, -1):
        assert tj.autograd.gradcheck(lambda x, y, axis=axis: getattr(tj, name)([x, y, x], axis) ** 2, (x, y))
        assert tj.autograd.gradgradcheck(
            lambda x, y, axis=axis: (getattr(tj, name)([x, y, x], axis) ** 3).sum(), (x, y)
        )


def test_what_the_graph_shows() -> None:
    x, y, _, _ = parts_of(True)
    stacked, joined = tj.stack([x, y, x], 1), tj.concatenate([y, x])
    assert stacked.grad_fn.name() == "StackBackward"
    assert joined.grad_fn.name() == "ConcatBackward"
    assert [node is None for node, _ in stacked.grad_fn.next_functions] == [False, True, False]
    assert stacked.grad_fn.next_functions[0][0].variable is x
    for result in (stacked, joined):
        graph = tj.graph_of(result)
        assert graph.leaves[0] is (x if result is stacked else y)
        values = [leaf.detach() * 2 for leaf in graph.leaves]
        assert graph.run(*values).tolist() == (result.detach() * 2).tolist()
        assert "concat" in graph.dot().lower() or "stack" in graph.dot().lower()
    del y
    with pytest.raises(tj.GradientError, match="is gone"):
        tj.graph_of(tj.stack([x, tj.ones((2, 3))])).to_ir()
    with tj.no_grad():
        assert not tj.stack([x, x]).requires_grad
        assert not tj.concatenate([x, x]).requires_grad
    assert not tj.stack([tj.ones(2), tj.ones(2)]).requires_grad


@pytest.mark.parametrize("name", ["concatenate", "stack"])
def test_hooks_and_modes(name: str) -> None:
    def program() -> list[Any]:
        x, y, z, _ = parts_of(False)
        seen: list[Any] = []
        joined = getattr(tj, name)([x, y, z])
        joined.register_hook(lambda ct: seen.append(ct.tolist()) or ct * 2)
        joined.grad_fn.register_hook(
            lambda ins, outs: seen.extend([tensor.tolist() for tensor in (*ins, *outs)])
        )
        y.register_hook(lambda ct: ct * 10)
        (joined**2).sum().backward()
        (only,) = tj.autograd.grad((getattr(tj, name)([x, y, z]) ** 2).sum(), [y])
        with tj.autograd.graph.saved_tensors_hooks(lambda t: seen.append("packed") or t, lambda t: t):
            held = getattr(tj, name)([x, y])
        held.sum().backward()
        return [seen, x.grad.tolist(), y.grad.tolist(), only.tolist()]

    native = program()
    with native_calls(False):
        plain = program()
    # what the nodes of expand_dims are to slow code is one node here
    assert native[1:] == plain[1:]
    assert ("packed" in native[0]) is ("packed" in plain[0]) is False
    assert native[0][0] == plain[0][0]


@pytest.mark.parametrize("name", ["concatenate", "stack"])
def test_anomalies_name_the_line(name: str) -> None:
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    with tj.autograd.detect_anomaly():
        joined = getattr(tj, name)([x, x])
        with pytest.raises(
            tj.GradientError, match=r"(Stack|Concat)Backward.*dispatch/test_native_joins_gradients.py"
        ):
            joined.backward(tj.full(joined.shape, np.nan))


@pytest.mark.parametrize("name", ["concatenate", "stack"])
def test_a_registered_gradient_is_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OPS, "foreign", set(OPS.foreign))

    def program() -> list[Any]:
        x, y, z, _ = parts_of(True)
        y = tj.tensor(y, requires_grad=True)
        with tj.extend.isolated():
            tj.register_gradient(
                "concat",
                lambda ct, *xs, axis: tuple(5 * x for x in xs),
                save_all_inputs=True,
                override=True,
            )
            loss = getattr(tj, name)([x, y, z.detach()], 1).sum()
            loss.backward()
            again = getattr(tj, name)([x, y], -1).sum()
        y.detach().mul_(3)
        with pytest.raises(tj.GradientError, match="modified in place"):
            again.backward()
        return [x.grad.tolist(), y.grad.tolist(), x.tolist()]

    native = program()
    assert native[0] == (5 * np.array(native[2])).tolist()
    with native_calls(False):
        assert native == program()
    x = tj.ones(2, requires_grad=True)
    getattr(tj, name)([x, x]).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_node_of_many_operands() -> None:
    x, y = tj.ones(1, requires_grad=True), tj.ones(1)
    for function in (tj.concatenate, tj.stack):
        joined = function([x, y] * 250)
        assert [parent is None for parent in joined.grad_fn.parents] == [False, True] * 250
        (gradient,) = tj.autograd.grad((joined * np.arange(500.0).reshape(joined.shape)).sum(), [x])
        assert gradient.tolist() == [np.arange(0.0, 500.0, 2).sum()]
