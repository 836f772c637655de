"""Plans: what recording and differentiating an op take, worked out once per op and set of tracked operands.

A plan says which values a node saves, and gives the operands' cotangents by the gradient rules of the op's
record. Rules ask for their arguments by name (see `ir.registry`); the function that supplies them is
generated from that. A `Composite` has no rules: it says how it is written with an op that has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Final

from ..ir.errors import GradientError
from ..ir.records import record
from ..ir.registry import Attrs, Op, Rule
from ..ir.transforms.reverse import variadic_index
from ..ir.types import Shape, TensorType

#: (shape, dtype) of an operand, as nodes hold it; None of one that requires no gradient.
OperandType = tuple[Any, Any] | None
#: The cotangents of an op's operands, as a function ``(b, ct, inputs, out, types, attrs)`` of what a node
#: holds.
Pull = Callable[[Any, Any, Sequence[Any], Any, Sequence[OperandType], Attrs], Sequence[Any]]

#: The file of generated functions: below the package, so that no line of theirs counts as the user's.
GENERATED: Final = f"{__file__}.generated"

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


@record
class Written:
    """A composite in ops: `op`, whose result of the shape `inner` is reshaped to `result`. It takes the
    operands in the shapes `operands`, or where that is None in their own."""

    op: Op
    attrs: Attrs
    inner: Shape
    result: Shape
    operands: Sequence[Shape] | None = None

    def run(self, b: Any, operands: Sequence[Any]) -> Any:
        """The result, of `operands`, in the ops of the namespace `b`."""
        return _reshaped(b, b.apply(self.op, tuple(self.inputs(b, operands)), self.attrs), self.result)

    def inputs(self, b: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """What `op` takes for `operands`, of which some may be None."""
        if self.operands is None:
            return operands
        return [
            None if operand is None else _reshaped(b, operand, shape)
            for operand, shape in zip(operands, self.operands, strict=True)
        ]


@record(eq=False)
class Composite:
    """What eager code does at once, and the IR by an op between reshapes.

    Attributes:
        name: what its nodes are called, as those of an op.
        ops: the ops that it may be written with.
        written: ``written(operand types, attributes)``.
    """

    name: str
    ops: tuple[Op, ...]
    written: Callable[[Sequence[Any], Attrs], Written]


class SavePlan:
    """What recording and differentiating `op` take when just the `tracked` operands require gradients."""

    __slots__ = ("inputs", "joint", "op", "output", "pull", "saves", "tracked")

    def __init__(self, op: Op | Composite, tracked: tuple[bool, ...]) -> None:
        self.op, self.tracked = op, tracked
        ops = op.ops if isinstance(op, Composite) else (op,)
        rules = [rule for each in ops for rule in _rules_of(each, tracked)]
        last = max(len(each.params) for each in ops) - 1
        saved = [any(rule.saves_input(i) for rule in rules) for i in range(last + 1)]
        #: Per operand, whether to save it; and whether to save the output.
        self.inputs = tuple([saved[min(i, last)] for i in range(len(tracked))])
        self.output = any(rule.saves_output for rule in rules)
        self.saves = self.output or any(self.inputs)
        #: Whether one rule gives the cotangents of all operands, tracked or not, and asks for no values.
        self.joint = bool(rules) and rules[0].joint is not None and not self.saves
        #: Gives the cotangents of all tracked operands, and None for the others.
        self.pull: Pull = _pull_of_written(op, tracked) if isinstance(op, Composite) else _pull(op, tracked)

    def pull_some(self, needed: Sequence[bool]) -> Pull:
        """`pull` for the tracked operands that are `needed`."""
        if self.joint:
            return self.pull
        some = tuple([flag and need for flag, need in zip(self.tracked, needed, strict=True)])
        return plan_of(self.op, some).pull

    def run(self, b: Any, operands: Sequence[Any], types: Sequence[OperandType], attrs: Attrs) -> Any:
        """The op's result, in the ops of the namespace `b`."""
        if isinstance(self.op, Composite):
            return self.op.written(types, attrs).run(b, operands)
        return b.apply(self.op, tuple(operands), attrs)


def _rules_of(op: Op, tracked: tuple[bool, ...]) -> list[Rule]:
    """The different rules of the tracked operands."""
    last = len(op.params) - 1
    positions = sorted({min(i, last) for i, flag in enumerate(tracked) if flag})
    return [rule for i in positions if (rule := op.rule_for(i)) is not None]


@functools.lru_cache(maxsize=4096)
def tensor_type(type_: OperandType) -> TensorType | None:
    """The type of an operand from its (shape, dtype)."""
    return None if type_ is None else TensorType(type_[1], type_[0])


def _pull(op: Op, tracked: tuple[bool, ...]) -> Pull:
    """What calls the rule of each tracked operand with what it asks for, or the one rule of all."""
    rules = _rules_of(op, tracked)
    if rules and (joint := rules[0].joint) is not None:
        return lambda b, ct, inputs, out, types, attrs: joint(
            b, ct, inputs, out, list(map(tensor_type, types)), attrs
        )
    scope: dict[str, Any] = {"tensor_type": tensor_type}
    parts = ""
    for position, flag in enumerate(tracked):
        if not flag:
            parts += "None, "
            continue
        rule = op.rule_for(position) or _missing(op, position)
        index = variadic_index(op, position)
        arguments = [
            _SOURCES[source].format(index if source == "index" else which) for source, which in rule.wants
        ]
        parts += f"rule{position}({', '.join(['b', 'ct', *arguments])}), "
        scope[f"rule{position}"] = rule.fn
    pull: Pull = eval(_code(f"lambda b, ct, inputs, out, types, attrs: ({parts})"), scope)
    return pull


@functools.cache
def _code(source: str) -> CodeType:
    return compile(source, GENERATED, "eval")


def _missing(op: Op, position: int) -> Rule:
    """The rule of an operand that has none."""

    def missing(b: Any, ct: Any) -> Any:
        raise GradientError(f"{op.name}: no gradient with respect to operand {position}")

    return Rule(missing, ())


def _pull_of_written(composite: Composite, tracked: tuple[bool, ...]) -> Pull:
    """The same by the rules of the op that `composite` is written with, between the transposed reshapes."""

    plans = {op: plan_of(op, tracked) for op in composite.ops}

    def pull(b: Any, ct: Any, inputs: Any, out: Any, types: Any, attrs: Attrs) -> Sequence[Any]:
        written = composite.written(types, attrs)
        inner = plans[written.op]
        ct = _reshaped(b, ct, written.inner)
        if inner.saves:
            inputs = written.inputs(b, inputs)
            out = None if out is None else _reshaped(b, out, written.inner)
        shapes = written.operands
        if shapes is None:
            return inner.pull(b, ct, inputs, out, types, written.attrs)
        shown = [(shape, type_[1]) for type_, shape in zip(types, shapes, strict=True)]
        parts = inner.pull(b, ct, inputs, out, shown, written.attrs)
        return [
            None if part is None else b.reshape(part, shape=type_[0])
            for part, type_ in zip(parts, types, strict=True)
        ]

    return pull


def _reshaped(b: Any, x: Any, shape: Shape) -> Any:
    return x if x.shape == shape else b.reshape(x, shape=shape)


#: The plans by op and tracked operands; ops of any number of operands have many.
PLANS: Final[dict[tuple[Op | Composite, tuple[bool, ...]], SavePlan]] = {}
_PLANS_LIMIT: Final = 1 << 12


def plan_of(op: Op | Composite, tracked: tuple[bool, ...]) -> SavePlan:
    """The plan of `op` where just the `tracked` operands require gradients."""
    plan = PLANS.get((op, tracked))
    if plan is None:
        if len(PLANS) >= _PLANS_LIMIT:
            PLANS.clear()
        plan = PLANS[op, tracked] = SavePlan(op, tracked)
    return plan


def forget_plans(op: Op) -> None:
    """Plan `op`, and what is written with it, anew from now on: it has got another gradient."""
    for key in [key for key in PLANS if key[0] is op or (isinstance(key[0], Composite) and op in key[0].ops)]:
        PLANS.pop(key, None)
