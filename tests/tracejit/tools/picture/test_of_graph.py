"""Live autograd graphs as pictures."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.tools.picture import picture_of_graph, to_dot, to_svg


def lines(picture):
    return [node.lines for node in picture.nodes]


def arrows(picture):
    titles = {node.id: node.lines[0] for node in picture.nodes}
    return [(titles[edge.source], titles[edge.target], edge.label, edge.port) for edge in picture.edges]


def test_nodes_leaves_constants_and_the_result():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    w = tj.tensor([3.0, 4.0])
    picture = picture_of_graph((x * w - 1).sum())
    assert lines(picture) == [
        ("leaf f64[2]",),
        ("constant f64[2]",),
        ("MulBackward", "f64[2]"),
        ("1",),
        ("SubBackward", "f64[2]"),
        ("SumBackward", "f64[]"),
        ("result f64[]", "= 9.0"),  # 3 - 1 + 8 - 1
    ]
    assert [node.kind for node in picture.nodes] == [
        "leaf",
        "constant",
        "op",
        "constant",
        "op",
        "op",
        "result",
    ]
    assert arrows(picture) == [
        ("leaf f64[2]", "MulBackward", "", ""),
        ("constant f64[2]", "MulBackward", "", ""),
        ("MulBackward", "SubBackward", "", "x"),
        ("1", "SubBackward", "", "y"),
        ("SubBackward", "SumBackward", "", ""),
        ("SumBackward", "result f64[]", "", ""),
    ]


def test_single_values_are_shown():
    x = tj.tensor([[1 / 3]], dtype=tj.float32, requires_grad=True)
    picture = picture_of_graph(x * tj.tensor(4))
    assert lines(picture)[:2] == [("leaf f32[1,1]", "= 0.333333"), ("constant i64[]", "= 4")]


def test_x_times_x_has_two_edges_from_one_leaf():
    x = tj.tensor(3.0, requires_grad=True)
    picture = picture_of_graph(x * x)
    assert arrows(picture)[:2] == [("leaf f64[]", "MulBackward", "", "")] * 2
    assert to_dot(picture).count("n0 -> n1;") == 2
    assert to_svg(picture).count('data-source="v0"') == 2


def test_shared_nodes_appear_once():
    x = tj.tensor(2.0, requires_grad=True)
    y = x
    for _ in range(50):  # 2^50 paths
        y = y + y
    picture = picture_of_graph(y)
    assert len(picture.nodes) == 52
    assert len(picture.edges) == 101


def test_jitted_calls_are_calls_with_several_outputs():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    first, second = tj.jit(lambda a: (a * 3, a.sum()))(x * 2)
    picture = picture_of_graph(first * second)
    (call,) = [node for node in picture.nodes if node.kind == "call"]
    assert call.lines == ("JitBackward", "0: f64[2]", "1: f64[]")
    assert [arrow for arrow in arrows(picture) if arrow[0] == "JitBackward"] == [
        ("JitBackward", "MulBackward", "0", ""),
        ("JitBackward", "MulBackward", "1", ""),
    ]
    # the second output alone
    assert arrows(picture_of_graph(second))[-1] == ("JitBackward", "result f64[]", "1", "")


def test_several_roots_share_what_they_share():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = tj.exp(x)
    picture = picture_of_graph(y.sum(), y * 2)
    assert [line for line in lines(picture) if line[0].startswith(("result", "Exp"))] == [
        ("ExpBackward", "f64[2]"),
        ("result 0 f64[]", "= 10.1073"),  # e + e^2
        ("result 1 f64[2]",),
    ]


def test_from_a_node_and_from_the_end_of_a_graph():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = tj.exp(x)
    assert lines(picture_of_graph(y.grad_fn)) == [("leaf f64[2]",), ("ExpBackward",)]
    (end, _), *_ = y.grad_fn.next_functions
    assert lines(picture_of_graph(end)) == [("leaf f64[2]",)]


@pytest.mark.parametrize(("requires_grad", "kind"), [(True, "leaf"), (False, "constant")])
def test_a_tensor_without_a_graph(requires_grad, kind):
    picture = picture_of_graph(tj.ones(2, requires_grad=requires_grad))
    assert [(node.lines, node.kind) for node in picture.nodes] == [((f"{kind} f64[2]",), kind)]
    assert picture.edges == ()


def test_a_freed_graph_can_still_be_seen():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = (x * tj.tensor([3.0, 4.0])).sum()
    y.backward()
    picture = picture_of_graph(y)
    assert [line[0] for line in lines(picture)] == [
        "leaf f64[2]", "constant", "MulBackward", "SumBackward", "result f64[]",
    ]  # fmt: skip
    assert lines(picture)[1][-1] == "not kept"


def test_higher_orders():
    x = tj.tensor(2.0, requires_grad=True)
    (g,) = tj.autograd.grad(x**3, x, create_graph=True)
    picture = picture_of_graph(g)
    assert lines(picture)[-1] == ("result f64[]", "= 12.0")
    assert [node.kind for node in picture.nodes].count("leaf") == 1


def test_a_deep_graph():
    x = tj.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y + x
    picture = picture_of_graph(y)
    assert len(picture.nodes) == 5002
    assert len(picture.edges) == 10_001
    assert to_svg(picture).count('class="edge"') == 10_001


class Foreign:
    """A node as this module may meet it: nothing but its public face."""

    def __init__(self, *sources):
        self.next_functions = tuple((source, 0) for source in sources)
        self.types = (None,) * len(sources)
        self.location = None

    def constant(self, position):
        return None

    def name(self):
        return "ForeignBackward"


def test_nodes_that_show_no_more_than_they_must():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    picture = picture_of_graph(Foreign(tj.exp(x).grad_fn, None))
    assert lines(picture) == [
        ("leaf f64[2]",),
        ("ExpBackward",),
        ("constant", "not kept"),
        ("ForeignBackward",),
    ]
    assert picture.nodes[-1].kind == "call"
    assert arrows(picture)[1:] == [
        ("ExpBackward", "ForeignBackward", "", "0"),
        ("constant", "ForeignBackward", "", "1"),
    ]


def test_errors():
    for wrong, name in ((3, "int"), ("x", "str"), (np.ones(2), "ndarray"), (None, "NoneType")):
        with pytest.raises(tj.TracejitError, match=rf"expected a tensor or an autograd node.*got {name}"):
            picture_of_graph(wrong)
    with pytest.raises(tj.TracejitError, match="at least one"):
        picture_of_graph()
    with pytest.raises(tj.TracejitError, match=r"inside a traced function.*f\.trace"):
        tj.jit(lambda x: picture_of_graph(x) and x).trace(tj.ones(2))
