"""Generated recorders put the same nodes on the tape as `record`, which serves every op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import Tensor
from tracejit.eager.tensor import wrap
from tracejit.ir.registry import OPS
from tracejit.tape.nodes import OpNode
from tracejit.tape.recording import joint_recorder, observe_recording, record, recorder


def tensor(*, tracked: bool) -> Tensor:
    return tj.tensor([1.0, 2.0], requires_grad=tracked)


def facts(result: Tensor) -> list[Any]:
    """What the node of `result` holds; objects by identity."""
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
    generated = recorder(op, len(kinds))
    assert generated(*operands, fast) is True
    record(op, operands, {}, slow)
    observe_recording(+1)
    try:
        assert generated(*operands, observed) is True
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
        assert generated(*operands, unrecorded) is False
        assert unrecorded._node is None


def test_nodes_of_arrays_are_left_to_record() -> None:
    x, array, result = tensor(tracked=True), np.array([3.0, 4.0]), wrap(np.ones(2))
    recorder(OPS["mul"], 2)(x, array, result)
    saved = result._node.saved
    array[0] = 9.0
    assert saved[1].tolist() == [3.0, 4.0], "nobody counts the writes to a user's array: it is copied"


@pytest.mark.parametrize("kinds", ["t", "tt", "tc", "cct"])
@pytest.mark.parametrize("alike", [True, False])
def test_the_recorder_of_joins_does_what_record_does(kinds: str, alike: bool) -> None:
    op = OPS["concat"]
    operands = [tensor(tracked=kind == "t") for kind in kinds]
    fast, slow = wrap(np.ones(2)), wrap(np.ones(2))
    joint_recorder(op, "axis", alike=alike)(0, fast, *operands)
    record(op, operands, {"axis": 0}, slow)
    assert facts(fast) == facts(slow)
    with tj.no_grad():
        unrecorded = wrap(np.ones(2))
        joint_recorder(op, "axis")(0, unrecorded, *operands)
        assert unrecorded._node is None
