"""``graph_of``: the graph behind an eager tensor as a Function of its leaves."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.interpreter import interpret
from tracejit.ir.text.parser import parse_function
from tracejit.ir.verifier import verify


def arrays(graph):
    return [np.asarray(leaf.detach() if isinstance(leaf, tj.Tensor) else leaf) for leaf in graph.leaves]


def test_ops_leaves_and_constants():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    w = tj.tensor([3.0, 4.0])
    graph = tj.graph_of((x * w + 1).sum())
    function = graph.to_ir()
    assert [param.hint for param in function.params] == ["leaf0", "const1"]
    assert graph.leaves[0] is x
    assert graph.leaves[1] is w
    assert [
        line.split("= ")[1].split("(")[0]
        for line in str(graph).splitlines()
        if "= " in line and "%" in line and "return" not in line and "func" not in line
    ] == ["mul", "full", "broadcast", "add", "sum"]
    verify(function)
    (value,) = interpret(function, arrays(graph))
    assert value == 13.0  # 3 + 8 + 2
    assert str(parse_function(str(function))) == str(function)


def test_the_function_is_of_other_values_too():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    graph = tj.graph_of((tj.exp(x) * x).sum())
    (value,) = interpret(graph.to_ir(), [np.array([0.0, 1.0])])
    assert value == pytest.approx(np.e, rel=1e-15)


def test_shared_subgraphs_appear_once():
    x = tj.tensor(2.0, requires_grad=True)
    y = x * x
    for _ in range(50):  # 2^50 paths
        y = y + y
    graph = tj.graph_of(y)
    assert str(graph).count("add(") == 50
    assert interpret(graph.to_ir(), arrays(graph))[0] == 4.0 * 2**50


def test_jitted_calls_are_inlined():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = tj.jit(lambda a: (a * 3, a + 1))(x * 2)
    graph = tj.graph_of((y[0] * y[1]).sum())
    verify(graph.to_ir())
    assert "# test_live_graph.py:" in str(graph)
    # 6x (2x + 1): 6 * 3 + 12 * 5
    assert interpret(graph.to_ir(), arrays(graph))[0] == 78


def test_a_leaf_and_a_tensor_without_a_graph():
    for requires_grad, name in ((True, "leaf0"), (False, "const0")):
        x = tj.ones(2, requires_grad=requires_grad)
        graph = tj.graph_of(x)
        assert graph.leaves == (x,) or graph.leaves[0] is x
        assert str(graph).splitlines() == [
            f"func @graph(%{name}: f64[2]) -> f64[2] {{",
            f"  return %{name}",
            "}",
        ]


def test_a_deep_graph():
    x = tj.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(3000):
        y = y + 1.0
    assert interpret(tj.graph_of(y).to_ir(), arrays(tj.graph_of(y)))[0] == 3001


def test_what_is_gone_is_an_error():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = (x + tj.tensor([1.0, 1.0])).sum()
    with pytest.raises(tj.GradientError, match=r"operand 1 of AddBackward is gone: .* not saved"):
        tj.graph_of(y).to_ir()
    z = (x * tj.tensor([3.0, 3.0])).sum()
    z.backward()
    with pytest.raises(tj.GradientError, match="retain_graph=True"):
        tj.graph_of(z).to_ir()


def test_running_it_on_other_leaves():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    w = tj.tensor([3.0, 4.0])
    graph = tj.graph_of((x * w).sum())
    assert graph.run([10.0, 20.0], [1.0, 2.0]).item() == 50
    other = tj.tensor([5.0, 6.0], requires_grad=True)
    graph.run(other, w).backward()
    assert other.grad.tolist() == [3, 4]
    with pytest.raises(tj.GradientError, match="expected 2 leaves, got 1"):
        graph.run([1.0, 2.0])
    with pytest.raises(tj.ShapeError, match=r"leaf leaf0 is f64\[2\], got f64\[3\]"):
        graph.run([1.0, 2.0, 3.0], w)


def test_python_code_has_a_picture_and_no_ir():
    class Twice(tj.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, ct):
            return ct * 2

    graph = tj.graph_of(Twice.apply(tj.tensor(1.0, requires_grad=True)))
    assert "TwiceBackward" in graph.dot()
    with pytest.raises(tj.GradientError, match="TwiceBackward is Python code"):
        graph.to_ir()


def test_something_else_than_a_tensor():
    with pytest.raises(tj.TracejitError):
        tj.graph_of(3)
