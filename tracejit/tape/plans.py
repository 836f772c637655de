"""Plans: what recording and differentiating an op take, worked out once per op and set of tracked operands.

A plan says which values a node saves, and has the gradient rules as functions of what a node holds. Rules ask
for their arguments by name (see `ir.registry`); the function that supplies them is generated from that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Final

from ..ir.errors import GradientError
from ..ir.registry import Attrs, Op, Rule
from ..ir.transforms.reverse import variadic_index
from ..ir.types import TensorType

#: The cotangents of an op's operands, as a function ``(b, ct, inputs, out, types, attrs)`` of what a node
#: holds.
Pull = Callable[[Any, Any, Sequence[Any], Any, Sequence[Any], Attrs], Sequence[Any]]

#: The file of generated functions: below the package, so that no line of theirs counts as the user's.
_GENERATED: Final = f"{__file__}.generated"

#: Where a generated call finds what a rule asks for: see `ir.registry.Rule`.
_SOURCES: Final = {
    "input": "inputs[{}]",
    "rest": "tuple(inputs[{}:])",
    "out": "out",
    "type": "tensor_type(types[{}])",
    "rest_types": "tuple(map(tensor_type, types[{}:]))",
    "index": "{}",
    "attr": "attrs[{!r}]",
}


def tensor_type(type_: tuple[Any, Any] | None) -> TensorType | None:
    """The type of an operand from its (shape, dtype)."""
    return None if type_ is None else TensorType(type_[1], type_[0])


class SavePlan:
    """What recording and differentiating `op` take when just the `tracked` operands require gradients."""

    __slots__ = ("inputs", "op", "output", "pull", "saves", "tracked")

    def __init__(self, op: Op, tracked: tuple[bool, ...]) -> None:
        rules = [op.rule_for(i) if flag else None for i, flag in enumerate(tracked)]
        present = [rule for rule in rules if rule is not None]
        self.op = op
        self.tracked = tracked
        #: Per operand, whether to save it; and whether to save the output.
        self.inputs = tuple([any(rule.saves_input(i) for rule in present) for i in range(len(tracked))])
        self.output = any(rule.saves_output for rule in present)
        self.saves = self.output or any(self.inputs)
        #: Gives the cotangents of all tracked operands, and None for the others.
        self.pull: Pull = _joint_pull(present[0]) if present and present[0].joint else _pull(op, tracked)

    def pull_some(self, needed: Sequence[bool]) -> Pull:
        """The same for those that are `needed` alone."""
        return plan_of(
            self.op, tuple([flag and need for flag, need in zip(self.tracked, needed, strict=True)])
        ).pull


def _joint_pull(rule: Rule) -> Pull:
    """What gives the cotangents of all operands at once."""

    def pull(b: Any, ct: Any, inputs: Any, out: Any, types: Any, attrs: Any) -> Sequence[Any]:
        assert rule.joint is not None
        return rule.joint(b, ct, inputs, out, list(map(tensor_type, types)), attrs)  # type: ignore[no-any-return]

    return pull


def _pull(op: Op, tracked: tuple[bool, ...]) -> Pull:
    """What calls the rule of each tracked operand with what that asks for."""
    scope: dict[str, Any] = {"tensor_type": tensor_type}
    parts = []
    for position, flag in enumerate(tracked):
        if not flag:
            parts.append("None")
            continue
        rule = op.rule_for(position) or _missing(op, position)
        index = variadic_index(op, position)
        arguments = [
            _SOURCES[source].format(index if source == "index" else which) for source, which in rule.wants
        ]
        parts.append(f"rule{position}({', '.join(['b', 'ct', *arguments])})")
        scope[f"rule{position}"] = rule.fn
    pull: Pull = eval(
        _code(f"lambda b, ct, inputs, out, types, attrs: ({' '.join(part + ',' for part in parts)})"), scope
    )
    return pull


@functools.cache
def _code(source: str) -> CodeType:
    return compile(source, _GENERATED, "eval")


def _missing(op: Op, position: int) -> Rule:
    """The rule of an operand that has none."""

    def missing(b: Any, ct: Any) -> Any:
        raise GradientError(f"{op.name}: no gradient with respect to operand {position}")

    return Rule(missing, ())


_PLANS: Final[dict[tuple[Op, tuple[bool, ...]], SavePlan]] = {}


def plan_of(op: Op, tracked: tuple[bool, ...]) -> SavePlan:
    """The plan of `op` where just the `tracked` operands require gradients."""
    plan = _PLANS.get((op, tracked))
    if plan is None:
        plan = _PLANS[op, tracked] = SavePlan(op, tracked)
    return plan


def forget_plans(op: Op) -> None:
    """Plan `op` anew from now on: it has got another gradient."""
    for key in [plan for plan in _PLANS if plan[0] is op]:
        del _PLANS[key]
