"""Plans of ops: gradient rules get what they ask for, and composites are differentiated by the rules of the
ops that they are written with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.backward.engine import NUMPY_OPS
from tracejit.dispatch import native_ops
from tracejit.ir.kinds import Kind
from tracejit.ir.registry import OPS, Attrs, Op, make_rules
from tracejit.ir.types import TensorType
from tracejit.tape import plans
from tracejit.tape.plans import Composite, SavePlan, Written, plan_of, plans_of, tensor_type

F64 = np.dtype("float64")


@pytest.fixture(autouse=True, scope="module")
def _native() -> None:
    assert native_ops.load() == ""


@pytest.fixture
def _isolated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(OPS, "foreign", set(OPS.foreign))
    with tj.extend.isolated():
        yield


def op_with(params: str, attrs: dict[str, Any] | None = None, **rules: Any) -> Op:
    names, attrs = tuple(params.split()), attrs or {}
    vjp = make_rules(
        "probe", names, attrs, {name.replace("rest", "*rest"): rule for name, rule in rules.items()}
    )
    return Op("probe", Kind.HOST, names, lambda types, attrs: types, lambda *xs: xs, vjp, "", attrs)


def test_rules_get_what_they_ask_for() -> None:
    calls: list[Any] = []

    def of_x(b: Any, ct: Any, x: Any, out: Any, x_type: Any, k: Any, rest: Any) -> Any:
        calls.append((b, ct, x, out, x_type, k, rest))
        return "x"

    def of_rest(b: Any, ct: Any, index: Any, rest_types: Any) -> Any:
        calls.append((index, rest_types))
        return f"rest {index}"

    op = op_with("x *rest", {"k": (int,)}, x=of_x, rest=of_rest)
    plan = SavePlan(op, (True, False, True))
    types = [((2,), F64), ((3,), F64), ((4,), F64)]
    parts = plan.pull("b", "ct", ["x", "r0", "r1"], "out", types, {"k": 7})
    assert list(parts) == ["x", None, "rest 1"]
    x_type, *rest_types = [TensorType(F64, (n,)) for n in (2, 3, 4)]
    assert calls == [("b", "ct", "x", "out", x_type, 7, ("r0", "r1")), (1, tuple(rest_types))]
    assert (plan.inputs, plan.output, plan.saves) == ((True, True, True), True, True)
    assert list(plan.pull_some([False, True, True])("b", "ct", [None] * 3, None, types, {})) == [
        None, None, "rest 1",
    ]  # fmt: skip


def test_only_what_the_tracked_operands_ask_for_is_saved() -> None:
    mul = OPS["mul"]
    assert SavePlan(mul, (True, True)).inputs == (True, True)
    assert SavePlan(mul, (True, False)).inputs == (False, True)
    assert SavePlan(mul, (False, True)).inputs == (True, False)
    exp = SavePlan(OPS["exp"], (True,))
    assert (exp.inputs, exp.output, exp.saves) == ((False,), True, True)
    add = SavePlan(OPS["add"], (True, True))
    assert (add.inputs, add.output, add.saves) == ((False, False), False, False)


def test_an_operand_without_a_rule_is_an_error_for_who_asks() -> None:
    op = op_with("x y", x=lambda b, ct: ct)
    assert list(SavePlan(op, (True, False)).pull(None, 1.0, [None] * 2, None, [None] * 2, {})) == [1.0, None]
    with pytest.raises(tj.GradientError, match="probe: no gradient with respect to operand 1"):
        SavePlan(op, (True, True)).pull(None, 1.0, [None] * 2, None, [None] * 2, {})


def test_the_joint_rule_of_concat_is_its_rules() -> None:
    concat, rng = OPS["concat"], np.random.default_rng(0)
    arrays = [rng.random((2, n, 3)) for n in (1, 4, 0, 2)]
    types = [(array.shape, array.dtype) for array in arrays]
    ct = rng.random((2, 7, 3))
    plan = SavePlan(concat, (True,) * 4)
    assert plan.joint
    joint = plan.pull(NUMPY_OPS, ct, [None] * 4, None, types, {"axis": 1})
    rule = concat.rule_for(0)
    assert rule is not None
    for index, part in enumerate(joint):
        single = rule.fn(NUMPY_OPS, ct, index, tuple(map(tensor_type, types)), 1)
        assert part.shape == arrays[index].shape
        np.testing.assert_array_equal(part, single)


def test_composites_are_their_ops() -> None:
    def written(types: Any, attrs: Attrs) -> Written:
        (shape, _) = types[0]
        return Written(OPS["concat"], {"axis": 0}, (2, *shape), (*shape, 2), [(1, *shape)] * 2)

    pair = Composite("pair", (OPS["concat"],), written)
    x, y, ct = (np.random.default_rng(k).random(3) for k in (0, 1, 2))
    plan = SavePlan(pair, (True, True))
    types = [((3,), F64)] * 2
    np.testing.assert_array_equal(plan.run(NUMPY_OPS, [x, y], types, {}), np.stack([x, y]).reshape(3, 2))
    ct = np.arange(6.0).reshape(3, 2)
    parts = plan.pull(NUMPY_OPS, ct, [None] * 2, None, types, {})
    np.testing.assert_array_equal(np.stack(parts), ct.reshape(2, 3))


@pytest.mark.usefixtures("_isolated")
def test_a_registered_gradient_serves_composites() -> None:
    x = tj.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    before = x[1]
    tj.register_gradient(
        "slice", lambda ct, x, start, size, step: x * 10, inputs_to_save=["x"], override=True
    )
    tj.register_gradient("sum", lambda ct, x, axes: x * 100, inputs_to_save=["x"], override=True)
    programs = {"key": lambda: x[1], "kept axes": lambda: tj.sum(x, axis=1, keepdims=True)}
    for name, factor in {"key": 10, "kept axes": 100}.items():
        (gradient,) = tj.autograd.grad(programs[name](), x, tj.ones(programs[name]().shape))
        assert gradient.tolist() == (x.detach() * factor).tolist(), name
    (gradient,) = tj.autograd.grad(before, x, tj.ones(3))
    assert gradient.tolist() == [[0.0] * 3, [1.0] * 3], "what was recorded before keeps its rules"


def test_plans_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_PLANS_LIMIT", 3)
    for count in range(1, 9):
        plan_of(OPS["concat"], (True,) * count)
    assert len(plans_of(OPS["concat"])) <= 3
    assert plan_of(OPS["mul"], (True, True)) is plan_of(OPS["mul"], (True, True))
