"""Plans: what recording and differentiating an op take, worked out once per op and set of tracked operands.

A plan says which values a node saves, and gives the operands' cotangents by the gradient rules of the op's
record. Rules ask for their arguments by name (see `ir.registry`); the function that supplies them is
generated from that. A `Composite` has no rules: it says how it is written with an op that has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, Final, Protocol

from ..base.errors import GradientError
from ..base.records import record
from ..ir import ops
from ..ir.registry import Attrs, Builtin, Kind, Op, Rule, Strength
from ..ir.transforms.differentiation import variadic_index
from ..ir.types import Shape, TensorType, remove_axes

#: (shape, dtype) of an operand, as nodes hold it; None of one that requires no gradient.
OperandType = tuple[Any, Any] | None
#: The cotangents of an op's operands, as a function ``(b, ct, inputs, out, types, attrs)`` of what a node
#: holds.
Pull = Callable[[Any, Any, Sequence[Any], Any, Sequence[OperandType], Attrs], Sequence[Any]]

#: The file of generated functions: below the package, so that no line of theirs counts as the user's.
GENERATED: Final = f"{__file__}.generated"


def functions_of(code: CodeType, scope: dict[str, Any], *names: str) -> list[Callable[..., Any]]:
    """The functions `names` that generated `code` defines in `scope`. Each has code of its own, in which the
    interpreter caches where its globals are."""
    exec(code, scope)
    functions: list[Any] = [scope[name] for name in names]
    for function in functions:
        function.__code__ = function.__code__.replace()
    return functions


#: The package with the rules of the ops.
_OPS_PACKAGE: Final = f"{ops.__name__}."

#: Expressions in a generated call for the arguments that a rule asks for: see `ir.registry.Rule`.
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
        """The arguments of `op` for `operands`, of which some may be None."""
        if self.operands is None:
            return operands
        return [
            None if operand is None else _reshaped(b, operand, shape)
            for operand, shape in zip(operands, self.operands, strict=True)
        ]


class InOps(Protocol):
    """A composite in ops."""

    def run(self, b: Any, operands: Sequence[Any]) -> Any:
        """The result, of `operands`, in the ops of the namespace `b`."""


@record(eq=False)
class Composite:
    """A function that eager code runs in one step and the IR in several ops: one op between reshapes, unless
    `transposed` is given.

    Attributes:
        name: what its nodes are called, as those of an op.
        ops: the ops that it may be written with.
        written: ``written(operand types, attributes)``.
        builtin: the function of NumPy's that does it.
        transposed: ``transposed(b, ct, attributes)``, the cotangent of the one operand of a linear function.
    """

    name: str
    ops: tuple[Op, ...]
    written: Callable[[Sequence[Any], Attrs], InOps]
    builtin: Builtin | None = None
    transposed: Callable[[Any, Any, Attrs], Any] | None = None

    @property
    def params(self) -> tuple[str, ...]:
        """The operands' names: those of the ops that it is written with."""
        return self.ops[0].params


def ops_of(op: Op | Composite) -> tuple[Op, ...]:
    """`op`, or the ops that it may be written with."""
    return op.ops if isinstance(op, Composite) else (op,)


def with_kept_axes(op: Op) -> Composite:
    """The reduction `op` with the reduced axes left at size 1."""

    def written(types: Sequence[Any], attrs: Attrs) -> Written:
        (shape, _), axes = types[0], attrs["axes"]
        return Written(op, attrs, remove_axes(shape, axes), remove_axes(shape, axes, keepdims=True))

    return Composite(op.name, (op,), written)


class SavePlan:
    """The plan for recording and differentiating `op` when exactly the `tracked` operands require
    gradients."""

    __slots__ = (
        "_some",
        "chooses",
        "ends_zeros",
        "inputs",
        "joint",
        "on_values",
        "op",
        "output",
        "parts",
        "pull",
        "saves",
        "tracked",
    )

    def __init__(self, op: Op | Composite, tracked: tuple[bool, ...]) -> None:
        self.op, self.tracked = op, tracked
        #: Strength of the zeros in cotangents of its operands where these were not chosen.
        self.chooses: Strength = max(each.chooses for each in ops_of(op))
        #: The most strength of zeros that ends here.
        self.ends_zeros: Strength = max(each.kind.traits.ends_zeros for each in ops_of(op))
        #: The rules of the tracked operands by parameter; of a composite, the plans of its ops.
        self.parts: dict[Any, Any] = {}
        #: Whether to save each operand; and whether to save the output.
        self.inputs: tuple[bool, ...]
        if isinstance(op, Composite) and op.transposed is not None:
            self.inputs, self.output, joint, own_rules = (False,), False, False, True
        elif isinstance(op, Composite):
            self.parts = {each: plan_of(each, tracked) for each in op.ops}
            plans = list(self.parts.values())
            self.inputs = tuple([any(saved) for saved in zip(*[plan.inputs for plan in plans], strict=True)])
            self.output = any(plan.output for plan in plans)
            joint = all(plan.joint for plan in plans)
            own_rules = all(plan.on_values for plan in plans)
        else:
            last = len(op.params) - 1
            places = sorted({min(i, last) for i, flag in enumerate(tracked) if flag})
            self.parts = {place: op.rule_for(place) or _missing(op, place) for place in places}
            rules = list(self.parts.values())
            saved = [any(rule.saves_input(i) for rule in rules) for i in range(last + 1)]
            self.inputs = tuple([saved[min(i, last)] for i in range(len(tracked))])
            self.output = any(rule.saves_output for rule in rules)
            joint = bool(rules) and rules[0].joint is not None
            own_rules = op.kind is not Kind.LINALG and all(map(_is_own, rules))
        #: Whether what is traced can be pulled without Tensors around it: by rules of this package, in which
        #: each op is one of the namespace.
        self.on_values = own_rules
        self.saves = self.output or any(self.inputs)
        #: Whether one rule gives the cotangents of all operands, tracked or not, and asks for no values.
        self.joint = joint and not self.saves
        self._some: dict[tuple[bool, ...], Pull] = {}
        #: Gives the cotangents of all tracked operands, and None for the others. What does is written at the
        #: first call, so that recording does not wait for it.
        self.pull: Pull = self._write_pull

    def _write_pull(self, *arguments: Any) -> Sequence[Any]:
        self.pull = self._pull(self.tracked)
        return self.pull(*arguments)

    def pull_some(self, needed: Sequence[bool]) -> Pull:
        """`pull` for the tracked operands that are `needed`."""
        if self.joint:
            return self.pull
        flags = tuple([flag and need for flag, need in zip(self.tracked, needed, strict=True)])
        if flags == self.tracked:
            return self.pull
        pull = self._some.get(flags)
        if pull is None:
            pull = self._some[flags] = self._pull(flags)
        return pull

    def _pull(self, needed: tuple[bool, ...]) -> Pull:
        if isinstance(self.op, Composite):
            transposed = self.op.transposed
            if transposed is not None:
                return lambda b, ct, inputs, out, types, attrs: (transposed(b, ct, attrs),)
            return _pull_of_written(self.op, self.parts, needed)
        return _pull(self.op, self.parts, needed)

    def run(self, b: Any, operands: Sequence[Any], types: Sequence[OperandType], attrs: Attrs) -> Any:
        """The op's result, in the ops of the namespace `b`."""
        if isinstance(self.op, Composite):
            return self.op.written(types, attrs).run(b, operands)
        return b.apply(self.op, tuple(operands), attrs)


@functools.lru_cache(maxsize=4096)
def tensor_type(type_: OperandType) -> TensorType | None:
    """The type of an operand from its (shape, dtype)."""
    return None if type_ is None else TensorType(type_[1], type_[0])


def _pull(op: Op, rules: Mapping[int, Rule], needed: tuple[bool, ...]) -> Pull:
    """The function that calls the rule of each needed operand with the arguments it asks for, or the joint
    rule of all operands."""
    if rules and (joint := next(iter(rules.values())).joint) is not None:
        return lambda b, ct, inputs, out, types, attrs: joint(
            b, ct, inputs, out, list(map(tensor_type, types)), attrs
        )
    scope: dict[str, Any] = {"tensor_type": tensor_type}
    parts = ""
    for position, flag in enumerate(needed):
        if not flag:
            parts += "None, "
            continue
        rule, index = rules[min(position, len(op.params) - 1)], variadic_index(op, position)
        arguments = [
            _SOURCES[source].format(index if source == "index" else which) for source, which in rule.wants
        ]
        parts += f"rule{position}({', '.join(['b', 'ct', *arguments])}), "
        scope[f"rule{position}"] = rule.fn
    (pull,) = functions_of(_pull_code(parts), scope, "pull")
    return pull


@functools.cache
def _pull_code(parts: str) -> CodeType:
    source = f"def pull(b, ct, inputs, out, types, attrs):\n    return ({parts})"
    return compile(source, GENERATED, "exec")


def _is_own(rule: Rule) -> bool:
    """Whether `rule` is one of the package's, and not the user's."""
    module = getattr(rule.joint or rule.fn, "__module__", "")
    return module.startswith(_OPS_PACKAGE)


def _missing(op: Op, position: int) -> Rule:
    """The rule of an operand that has none."""

    def missing(b: Any, ct: Any) -> Any:
        raise GradientError(f"{op.name}: no gradient with respect to operand {position}")

    return Rule(missing, ())


def _pull_of_written(composite: Composite, plans: Mapping[Op, SavePlan], needed: tuple[bool, ...]) -> Pull:
    """The pull of `composite`: by the rules of the op that it is written with, between the transposed
    reshapes."""

    def pull(b: Any, ct: Any, inputs: Any, out: Any, types: Any, attrs: Attrs) -> Sequence[Any]:
        written = composite.written(types, attrs)
        assert isinstance(written, Written)
        inner = plans[written.op]
        pull_inner = inner.pull_some(needed)
        ct = _reshaped(b, ct, written.inner)
        if inner.saves:
            inputs = written.inputs(b, inputs)
            out = None if out is None else _reshaped(b, out, written.inner)
        shapes = written.operands
        if shapes is None:
            return pull_inner(b, ct, inputs, out, types, written.attrs)
        shown = [(shape, type_[1]) for type_, shape in zip(types, shapes, strict=True)]
        parts = pull_inner(b, ct, inputs, out, shown, written.attrs)
        return [
            None if part is None else b.reshape(part, shape=type_[0])
            for part, type_ in zip(parts, types, strict=True)
        ]

    return pull


def _reshaped(b: Any, x: Any, shape: Shape) -> Any:
    return x if x.shape == shape else b.reshape(x, shape=shape)


#: The plans by tracked operands, of each op; those of any number of operands have many.
_PLANS: Final[dict[Op | Composite, dict[tuple[bool, ...], SavePlan]]] = {}
_PLANS_LIMIT: Final = 1 << 10


def plans_of(op: Op | Composite) -> dict[tuple[bool, ...], SavePlan]:
    """The plans of `op` that there are, by tracked operands."""
    return _PLANS.setdefault(op, {})


def plan_of(op: Op | Composite, tracked: tuple[bool, ...]) -> SavePlan:
    """The plan of `op` where just the `tracked` operands require gradients."""
    plans = plans_of(op)
    plan = plans.get(tracked)
    if plan is None:
        if len(plans) >= _PLANS_LIMIT:
            plans.clear()
        plan = plans[tracked] = SavePlan(op, tracked)
    return plan


def forget_plans(op: Op) -> None:
    """Plan `op`, and what is written with it, anew from now on: it has got another gradient."""
    for planned, plans in list(_PLANS.items()):
        if op in ops_of(planned):
            plans.clear()
