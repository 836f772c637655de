"""A call of a function with its own derivative in a trace without a tape: the op ``custom_rule``.

Its three regions are the rule's forward, its backward, and the function itself, each traced here. What
backward uses of forward becomes a result of the op. A rule's forward may call the function it belongs to, and
does so often; that call has a rule again, and so on, to a fixed depth.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from ...backward.engine import TENSOR_OPS
from ...dispatch.dispatch import apply
from ...ir.dtypes import is_differentiable
from ...ir.graph import Function, Value
from ...ir.registry import OPS
from ...location import user_location
from ...pytree import TreeDef, flatten
from ...state import STATE
from ...tape.modes import enable_grad, untaped
from ...tensors.tensor import Tensor, wrap
from ...tracing.regions import RegionTracer
from ...tracing.tracer import Tracer, as_value, tracing
from .rule import DerivativeRule, as_tensors, checked_gradients, closed_over, leaf_of, refuse_closed_over

#: Depth to which a rule may be traced within itself: the order up to which rules that use their function can
#: be differentiated through a trace.
DEPTH: Final = 3


class _Open(threading.local):
    """The rules being traced in this thread, by key."""

    def __init__(self) -> None:
        self.keys: list[Any] = []


_OPEN = _Open()


def call_in_trace(rule: DerivativeRule, leaves: Sequence[Any], structure: TreeDef) -> Any:
    """The call on traced arguments, none of which is on a tape."""
    if _OPEN.keys.count(rule.key) >= DEPTH:
        message = (
            f"{rule.name}: its rule uses the function itself, and was differentiated more than {DEPTH} times "
            "through a jitted function; differentiate inside the jitted function instead"
        )
        return _undifferentiable(rule, leaves, structure, message)
    _OPEN.keys.append(rule.key)
    try:
        call = _Call(rule, leaves, structure)
        call.trace_rule()
    except Exception as error:  # an error only for those who differentiate
        message = f"{rule.name}: its rule cannot be traced: {type(error).__name__}: {error}"
        return _undifferentiable(rule, leaves, structure, message)
    finally:
        _OPEN.keys.pop()
    call.trace_primal()
    if call.mismatch():
        return _undifferentiable(rule, leaves, structure, call.mismatch())
    return call.emit()


def _undifferentiable(rule: DerivativeRule, leaves: Sequence[Any], structure: TreeDef, message: str) -> Any:
    output = rule.primal(structure.unflatten(leaves))
    results, output_structure = flatten(output)
    return output_structure.unflatten([
        apply(OPS["undifferentiable"], (tensor,), {"message": message})
        if is_differentiable(tensor.dtype)
        else tensor
        for tensor in as_tensors(results)
    ])  # fmt: skip


class _Call:
    """One call, region by region."""

    def __init__(self, rule: DerivativeRule, leaves: Sequence[Any], structure: TreeDef) -> None:
        assert STATE.tracer is not None
        self.outer: Tracer = STATE.tracer
        self.rule, self.leaves, self.structure = rule, list(leaves), structure
        self.positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        self.values: list[Value] = [self.outer.lift(leaves[i]) for i in self.positions]
        self.forward_tracer = RegionTracer(self.outer)
        self.backward_tracer = RegionTracer(self.forward_tracer)
        self.primal_tracer = RegionTracer(self.outer)
        self.outputs: list[Value] = []
        self.wrt: list[int] = []
        self.gradients: list[Value] = []
        self.primal_outputs: list[Value] = []
        self.output_structure = self.primal_structure = structure
        #: The values of the surrounding trace that forward closes over.
        self.used: set[Value] = set()

    def _traced(self, tracer: RegionTracer, fn: Callable[[tuple[Any, ...]], Any]) -> Any:
        """`fn` of the arguments as symbols of `tracer`."""
        full = list(self.leaves)
        with tracing(tracer), enable_grad():
            for position, value in zip(self.positions, self.values, strict=True):
                weak = self.outer.is_weak(value)
                full[position] = tracer.argument(value.type, f"x{position}", weak=weak)
            return fn(self.structure.unflatten(full))

    def trace_rule(self) -> None:
        """Trace forward, and backward on what forward kept."""
        output, residuals = self._traced(self.forward_tracer, self.rule.forward)
        self.used = set(self.forward_tracer.captured)
        results, self.output_structure = flatten(output)
        refuse_closed_over(self.rule.name, results)
        with tracing(self.forward_tracer):
            self.outputs = [as_value(self.forward_tracer, result) for result in results]
        with tracing(self.backward_tracer), untaped():
            cotangents = [
                self.backward_tracer.argument(output.type, f"ct{i}")
                if is_differentiable(output.dtype)
                else TENSOR_OPS.full(
                    value=output.dtype.type(0).item(), shape=output.shape, dtype=output.dtype
                )
                for i, output in enumerate(self.outputs)
            ]
            returned = self.rule.backward(residuals, self.output_structure.unflatten(cotangents))
            leaves = [leaf_of(leaf) for leaf in self.leaves]
            parts = checked_gradients(self.rule.gradients_by, self.structure, leaves, returned)
            for number, position in enumerate(self.positions):
                part = parts[position]
                if part is not None:
                    self.wrt.append(number)
                    self.gradients.append(as_value(self.backward_tracer, part))

    def trace_primal(self) -> None:
        """Trace the function itself."""
        output = self._traced(self.primal_tracer, self.rule.primal)
        results, self.primal_structure = flatten(output)
        refuse_closed_over(self.rule.name, results)
        with tracing(self.primal_tracer):
            self.primal_outputs = [as_value(self.primal_tracer, result) for result in results]

    def emit(self) -> Any:
        """Append the op."""
        forward, backward, primal_tracer = self.forward_tracer, self.backward_tracer, self.primal_tracer
        captures = list(dict.fromkeys([*forward.captured, *primal_tracer.captured]))
        params = [*forward.params, *[_parameter(forward, capture) for capture in captures]]
        operands = [*self.values, *self._closed_over(captures, self.used | set(primal_tracer.captured))]
        kept = [value for value in backward.captured if value not in set(params)]
        returned = [*self.outputs, *kept]
        taken: set[Value] = set()

        def inner(value: Value, name: str) -> Value:
            """The parameter by which backward knows a value of forward; a fresh one where it does not."""
            captured = backward.captured.get(value)
            if captured is None or captured in taken:
                return Value(value.type, name)
            taken.add(captured)
            captured.hint = name
            return captured

        into = [inner(param, param.hint or f"x{i}") for i, param in enumerate(params)]
        into += [Value(output.type, f"y{i}") for i, output in enumerate(self.outputs)]
        into += [inner(value, f"kept{i}") for i, value in enumerate(kept)]
        name = self.rule.name
        regions = (
            Function(name, tuple(params), tuple(forward.body), tuple(returned)),
            Function(
                f"{name}_backward", (*into, *backward.params), tuple(backward.body), tuple(self.gradients)
            ),
            Function(
                f"{name}_primal",
                (*primal_tracer.params, *[_parameter(primal_tracer, capture) for capture in captures]),
                tuple(primal_tracer.body),
                tuple(self.primal_outputs),
            ),
        )
        if not self.outer.pinned_location:
            self.outer.location = user_location()
        attrs = {"name": name, "outputs": len(self.outputs), "wrt": tuple(self.wrt)}
        values = self.outer.append(OPS["custom_rule"], tuple(operands), attrs, regions=regions)
        return self.output_structure.unflatten([wrap(value) for value in values[: len(self.outputs)]])

    def _closed_over(self, captures: list[Value], used: set[Value]) -> list[Value]:
        """The values that the function closes over, as operands. A gradient with respect to them is an
        error."""
        operands = []
        for position, value in enumerate(captures):
            if is_differentiable(value.dtype) and not self.outer.is_constant(value):
                attrs = {"message": closed_over(self.rule.name)}
                if value in used:
                    self.wrt.append(len(self.values) + position)
                    zeros = self.backward_tracer.full(value=0.0, shape=value.shape, dtype=value.dtype)
                    self.gradients.append(zeros)
                (value,) = self.outer.append(OPS["undifferentiable"], (value,), attrs)
            operands.append(value)
        return operands

    def mismatch(self) -> str:
        """The error message if the output of the rule's forward differs from that of the function; else
        empty."""
        primal_types, rule_types = (
            [output.type for output in self.primal_outputs],
            [output.type for output in self.outputs],
        )
        if self.primal_structure == self.output_structure and primal_types == rule_types:
            return ""
        return (
            f"{self.rule.name}: its rule gives another output than the function: expected "
            f"{self.primal_structure} of ({', '.join(map(str, primal_types))}), got {self.output_structure} "
            f"of ({', '.join(map(str, rule_types))})"
        )


def _parameter(tracer: RegionTracer, outer: Value) -> Value:
    """The parameter of a region for a value of the surrounding trace, whether the region uses it or not."""
    return tracer.captured.get(outer) or Value(outer.type, outer.hint)
