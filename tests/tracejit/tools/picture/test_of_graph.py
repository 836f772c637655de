"""Pictures of Functions and of live graphs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.ops.fusion import FUSION
from tracejit.ir.registry import OPS
from tracejit.ir.text.parser import parse_function
from tracejit.jitted.lowered import Lowered
from tracejit.tools.picture import picture_of_function, picture_of_graph, to_dot, to_svg
from tracejit.tools.picture.of_function import operand_name


def test_parameters_instructions_and_results():
    function = parse_function("""
func @f(%x: f64[3], %y: f64[3]) -> (f64[], f64[3]) {
  %0: f64[3] = sub(%x, %y)
  %1: f64[]  = sum(%0) {axes=[0]}
  %2: f64[]  = full() {value=2.0, shape=[], dtype=f64}
  %3: f64[]  = mul(%1, %2)
  return %3, %0
}
""")
    picture = picture_of_function(function)
    assert picture.title == "func @f"
    assert lines(picture) == [
        ("%x", "f64[3]"),
        ("%y", "f64[3]"),
        ("sub", "f64[3]"),
        ("sum", "axes=[0]", "f64[]"),
        ("full", "value=2.0", "shape=[]", "dtype=f64", "f64[]"),
        ("mul", "f64[]"),
        ("result 0", "f64[]"),
        ("result 1", "f64[3]"),
    ]
    assert [node.kind for node in picture.nodes] == ["parameter"] * 2 + ["op"] * 2 + ["constant", "op"] + [
        "result"
    ] * 2
    assert arrows(picture) == [
        ("%x", "sub", "", "x"),  # the order matters, so operands are named
        ("%y", "sub", "", "y"),
        ("sub", "sum", "", ""),
        ("sum", "mul", "", ""),
        ("full", "mul", "", ""),
        ("mul", "result 0", "", ""),
        ("sub", "result 1", "", ""),
    ]


def test_the_source_line_is_the_tooltip():
    picture = picture_of_function(tj.jit(lambda x: tj.exp(x)).trace(tj.ones(3)))
    assert picture.nodes[1].tooltip.startswith("test_of_graph.py:")
    assert picture.nodes[0].tooltip == ""


def test_an_operand_twice_is_two_edges():
    picture = picture_of_function(tj.jit(lambda x: x * x).trace(tj.ones(3)))
    assert arrows(picture)[:2] == [("%x", "mul", "", "")] * 2


def test_a_parameter_that_is_the_result_and_one_that_is_unused():
    picture = picture_of_function(parse_function("func @f(%x: f64[], %y: i64[2]) -> f64[] {\n  return %x\n}"))
    assert arrows(picture) == [("%x", "result", "", "")]
    assert len(picture.nodes) == 3
    assert to_svg(picture).count("<title>") == 3


def test_fusions_are_groups_in_their_place():
    def f(x, w):
        return tj.exp(x @ w + 1).sum(axis=1)

    fused = Lowered(tj.jit(f).trace(tj.ones((5, 4)), tj.ones((4, 3)))).fused
    assert any(instruction.op is FUSION for instruction in fused.body)
    picture = picture_of_function(fused)
    titles = {node.lines[0]: node for node in picture.nodes}
    assert "fusion" not in titles
    assert titles["exp"].group == titles["sum"].group == picture.groups[0].id
    assert titles["matmul"].group is None
    assert picture.groups[0].label.startswith("fusion @")
    drawn = arrows(picture)
    assert ("matmul", "add", "", "") in drawn
    assert ("sum", "result", "", "") in drawn
    assert "subgraph cluster_0" in to_dot(picture)


def test_every_op_names_its_operands_or_has_no_order():
    for op in OPS:
        for position in range(3):
            name = operand_name(op, position, 3)
            assert bool(name) != op.commutative, op
            assert "*" not in name
            assert operand_name(op, position, 1) == ""
    assert [operand_name(None, number, 2) for number in range(2)] == ["0", "1"]


def test_errors_of_functions():
    with pytest.raises(tj.TracejitError, match=r"expected a Function.*f\.trace.*got function"):
        picture_of_function(lambda x: x)
    whole = tj.jit(lambda x: tj.exp(tj.sin(x))).trace(tj.ones(3))
    broken = type(whole)("f", whole.params, whole.body[1:], whole.results)
    with pytest.raises(tj.TracejitError, match=r"f64\[3\] is used before it is defined"):
        picture_of_function(broken)


def test_pictures_are_not_loaded_before_they_are_wanted():
    code = "import sys, tracejit; print([one for one in sys.modules if 'picture' in one])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
