"""Generated recorders put the same nodes on the tape as `record`, which serves every op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import Tensor
from tracejit.array import joining
from tracejit.ir.registry import OPS, Op
from tracejit.tape.nodes import OpNode
from tracejit.tape.plans import Composite
from tracejit.tape.recording import observe_recording, record, recorder
from tracejit.tensors.tensor import wrap


def tensor(*, tracked: bool) -> Tensor:
    return tj.tensor([1.0, 2.0], requires_grad=tracked)


def facts(result: Tensor) -> list[Any]:
    """The contents of the node of `result`; objects by identity."""
    node = result._node
    assert type(node) is OpNode
    assert node.saved is not None
    constants = {i: id(held()) for i, held in (node.constants or {}).items()}
    return [
        node.plan.op, node.attrs, list(map(id, node.parents)), list(node.types), list(map(id, node.saved)),
        node.output is None or node.output is result._data, [id(memory) for memory, _ in node.memories],
        [version for _, version in node.memories], constants, node.hooks, node.location,
        result._requires_grad,
    ]  # fmt: skip


OPERANDS = {
    "exp": ["t"], "neg": ["t"], "reciprocal": ["t"],
    "mul": ["tt", "tc", "ct", "tn", "nt"], "add": ["tt", "tc", "nt"], "div": ["tt", "ct", "tn"],
    "where": ["ctt", "ctc", "cct", "ctn", "cnt"],
}  # fmt: skip
CASES = [(name, kinds) for name, cases in OPERANDS.items() for kinds in cases]


@pytest.mark.parametrize(("name", "kinds"), CASES)
def test_a_recorder_does_what_record_does(name: str, kinds: str) -> None:
    op = OPS[name]
    operands = [2.0 if kind == "n" else tensor(tracked=kind == "t") for kind in kinds]
    fast, slow, observed = (wrap(np.ones(2)) for _ in range(3))
    generated = recorder(op)
    generated(fast, *operands)
    record(op, operands, {}, slow)
    observe_recording(+1)
    try:
        generated(observed, *operands)
    finally:
        observe_recording(-1)
    memories = [memory for memory, _ in (*fast._node.memories, *slow._node.memories)]
    assert len({id(memory) for memory in memories}) <= len(kinds) + 2
    if not fast._node.plan.output:
        assert facts(fast) == facts(slow) == facts(observed)
    else:  # results have memories of their own
        assert facts(fast)[:6] == facts(slow)[:6] == facts(observed)[:6]
    with tj.no_grad():
        unrecorded = wrap(np.ones(2))
        generated(unrecorded, *operands)
        assert unrecorded._node is None


def test_nodes_of_arrays_are_left_to_record() -> None:
    x, array, result = tensor(tracked=True), np.array([3.0, 4.0]), wrap(np.ones(2))
    recorder(OPS["mul"])(result, x, array)
    saved = result._node.saved
    array[0] = 9.0
    assert saved[1].tolist() == [3.0, 4.0], "nobody counts the writes to a user's array: it is copied"


@pytest.mark.parametrize("keepdims", [False, True])
def test_attributes_follow_from_arguments(keepdims: bool) -> None:
    x, result = tj.tensor(np.ones((2, 3)), requires_grad=True), wrap(np.ones(2))
    recorder(OPS["sum"])(result, x, -1, None, None, keepdims)
    node = result._node
    assert node.attrs == {"axes": (1,)}
    assert isinstance(node.op, Composite) == keepdims
    assert node.op.name == "sum"
    recorder(OPS["cast"])(result, x, np.dtype("f4"))
    assert result._node.attrs == {"dtype": np.dtype("f4")}
    recorder(OPS["reshape"])(result, x, (3, -1))
    assert result._node.attrs == {"shape": (3, 2)}


@pytest.mark.parametrize("op", [op for op in OPS if op.builtin is not None], ids=lambda op: op.name)
def test_builtin_functions_have_the_attributes(op: Op) -> None:
    builtin = op.builtin
    assert builtin is not None
    if builtin.attrs is None:
        assert set(builtin.arguments) == set(op.attrs)
    else:
        arguments = {"shape": (6,), "axis": (0, 1), "axes": (0, 1)}
        given = [arguments.get(name) for name in builtin.arguments]
        assert set(builtin.attrs((2, 3), *given)) == set(op.attrs)


@pytest.mark.parametrize("kinds", ["t", "tt", "tc", "cct"])
@pytest.mark.parametrize("op", [OPS["concat"], joining._STACK_OP])
def test_the_recorder_of_joins_does_what_record_does(kinds: str, op: Op | Composite) -> None:
    operands = [tensor(tracked=kind == "t") for kind in kinds]
    fast, slow = wrap(np.ones(2)), wrap(np.ones(2))
    recorder(op)(fast, -1, *operands)
    record(op, operands, {"axis": 0}, slow)
    assert facts(fast) == facts(slow)
    with tj.no_grad():
        unrecorded = wrap(np.ones(2))
        recorder(op)(unrecorded, 0, *operands)
        assert unrecorded._node is None
