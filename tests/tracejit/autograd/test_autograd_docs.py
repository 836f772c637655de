"""The examples of ``docs/autograd.md`` are true, and so are rows of its table that no example shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracejit as tj

from ...support import check_document

DOCUMENT = Path(__file__).parents[3] / "docs" / "autograd.md"


def test_examples() -> None:
    check_document("autograd.md", least=55)


@pytest.mark.parametrize(
    ("place", "inner"),
    [
        (tj.autograd, {"FunctionCtx", "GradcheckError", "once_differentiable", "functional", "graph"}),
        (tj.autograd.functional, set()),
        (tj.autograd.graph, {"AccumulateGrad", "MultiHandle", "Node", "RemovableHandle"}),
    ],
)
def test_every_name_is_documented(place: object, inner: set[str]) -> None:
    text = DOCUMENT.read_text()
    asked = {name for name in vars(place)["__all__"] if not name.startswith("is_")}
    assert {name for name in asked - inner if name not in text} == set()


def test_the_names_of_its_table_exist() -> None:
    owners = {"`tj`": tj, "`tj.Tensor`": tj.Tensor, "in place": tj.Tensor}
    owners |= {"`tj.autograd`": tj.autograd, "`tj.autograd.graph`": tj.autograd.graph}
    owners["`tj.autograd.functional`"] = tj.autograd.functional
    count = 0
    for line in DOCUMENT.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 2 and cells[0] in owners:
            for name in cells[1].split("`")[1].split():
                assert hasattr(owners[cells[0]], name), f"{cells[0]}: {name}"
                count += 1
    assert count > 50


def test_assigned_data_leaves_recorded_graphs_as_they_are() -> None:
    w = tj.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    w.data = tj.tensor([5.0, 5.0])
    with pytest.raises(tj.GradientError, match="given new data"):
        tj.autograd.grad(loss, w, create_graph=True)
    loss.backward()
    assert w.grad.tolist() == [2, 4]  # PyTorch: 10, 10


def test_view_copies_where_strides_demand_it() -> None:
    x = tj.tensor([[1.0, 2.0], [3.0, 4.0]])
    x.T.view(4).zero_()  # PyTorch refuses this view
    assert x.tolist() == [[1, 2], [3, 4]]
    x.view(4)[1:3].zero_()
    assert x.tolist() == [[1, 0], [0, 4]]


def test_a_batch_of_cotangents_under_jit_is_compiled_together() -> None:
    @tj.jit
    def jacobian(x: tj.Tensor) -> tj.Tensor:
        x = x.detach().requires_grad_()
        return tj.autograd.grad(x**3, x, tj.eye(2), is_grads_batched=True)[0]

    assert jacobian(tj.tensor([1.0, 2.0])).tolist() == [[3, 0], [0, 12]]


def test_grad_has_the_dtype_of_the_tensor() -> None:
    x = tj.ones(2, dtype=tj.float32, requires_grad=True)
    with pytest.raises(tj.DTypeError, match="expected dtype float32, got float64"):
        x.grad = tj.ones(2)


def test_a_hook_inside_a_jitted_function_needs_the_gradient_to_be_asked_for_inside() -> None:
    def loss(x: tj.Tensor) -> tj.Tensor:
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return y.sum()

    assert tj.jit(tj.grad(loss))(tj.ones(2)).tolist() == [20, 20]
    with pytest.raises(tj.GradientError, match=r"inside a jitted function use tj.autograd.Function"):
        tj.jit(loss)(tj.ones(2))
