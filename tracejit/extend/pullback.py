"""A user's gradient as the records want it: as rules for the tape and for symbolic differentiation.

The user's function always computes on Tensors. In a plain backward pass they wrap the arrays; where the
gradient is differentiated they are in their place in the graph; in a graph under construction they are
symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..backward.engine import TENSOR_OPS
from ..base.errors import GradientError, ShapeError, TraceError
from ..generator import Draws
from ..ir.builder import Builder, inline
from ..ir.dtypes import is_differentiable
from ..ir.graph import Value
from ..ir.registry import Attrs, Kind, Op, Rule
from ..ir.transforms.differentiation import rule_arguments, variadic_index
from ..ir.types import TensorType, broadcastable
from ..tensors.tensor import Tensor, as_array, wrap
from ..tracing.traces import trace_flat
from .tables import Gradient


def append_function(
    b: Builder, what: str, fn: Callable[..., tuple[list[Any], Any]], operands: Sequence[Value]
) -> tuple[list[Value], Any]:
    """Trace ``fn(*symbols) -> (tensors, rest)`` and append it to `b` on `operands`; its results, and `rest`.

    Tensors that `fn` closes over become constants with the values they have now. `what` names `fn` in errors.
    """
    location = b.location
    traced = trace_flat(fn, [(operand.type, False, "") for operand in operands])
    captured = [_constant(b, what, holder) for holder in traced.captured]
    results = inline(b, traced.function, [*operands, *captured])
    b.location = location
    return list(results), traced.rest


def _constant(b: Builder, what: str, holder: Any) -> Value:
    if isinstance(holder, Draws):
        raise TraceError(f"{what} draws random numbers; give it a key as an input instead")
    data = holder._data if isinstance(holder, Tensor) else np.asarray(holder)
    if isinstance(data, Value):
        raise TraceError(
            f"{what} closes over a traced tensor of type {data.type}; give it as an input instead"
        )
    elements = tuple(data.ravel().tolist())
    value: Value = b.constant(data=elements, shape=data.shape, dtype=data.dtype)
    return value


#: ``joint(b, ct, inputs, out, types, attrs) -> cotangents``, one per operand; `ct` and `out` are tuples for
#: ops with several results.
Joint = Callable[..., list[Any]]


def joint_of(op: Op, gradient: Gradient) -> Joint:
    """`gradient` as a function of what a node or an instruction holds."""
    places = _saved_places(op, gradient)

    def joint(
        b: Any, ct: Any, inputs: Sequence[Any], out: Any, types: Sequence[Any], attrs: Attrs
    ) -> list[Any]:
        several = isinstance(ct, tuple)
        cotangents = list(ct) if several else [ct]
        outs = out if isinstance(out, tuple) else (out,)
        saved = [inputs[position] for position in _positions(op, places, len(inputs))]
        saved += [outs[position] for position in gradient.outputs_to_save]
        seeds = [cotangent for cotangent in cotangents if cotangent is not None]

        def run(*tensors: Tensor) -> tuple[list[Tensor], list[bool]]:
            parts = iter(tensors)
            shown = [None if cotangent is None else next(parts) for cotangent in cotangents]
            result = _called(op, gradient, tuple(shown) if several else shown[0], tuple(parts), attrs)
            parts_found = _checked(op, result, types, shown)
            return [tensor for tensor in parts_found if tensor is not None], [
                tensor is not None for tensor in parts_found
            ]

        if isinstance(b, Builder):
            values, present = append_function(b, f"the gradient of {op.name!r}", run, [*seeds, *saved])
        else:
            gradients, present = run(*[_tensor(operand) for operand in [*seeds, *saved]])
            # rules compute on what their namespace works with
            values = gradients if b is TENSOR_OPS else [tensor._data for tensor in gradients]  # type: ignore[assignment]
        following = iter(values)
        return [next(following) if flag else None for flag in present]

    return joint


def rules_of(op: Op, gradient: Gradient) -> dict[str, Rule]:
    """`gradient` as one rule per operand, all of which ask for what it saves."""
    joint = joint_of(op, gradient)
    saved = list(dict.fromkeys(op.params[place] for place in _saved_places(op, gradient)))
    wants: list[tuple[str, Any]] = [_want(op, text, "input", "rest") for text in saved]
    wants += [("out", 0)] * bool(gradient.outputs_to_save)
    wants += [_want(op, param, "type", "rest_types") for param in op.params]
    wants += [("attr", attr) for attr in op.attrs]
    if op.variadic:
        wants.append(("index", 0))
    return {
        name: Rule(
            _single(op, joint, saved, position, outs=bool(gradient.outputs_to_save)), tuple(wants), joint
        )
        for position, name in enumerate(op.params)
    }


def _single(op: Op, joint: Joint, saved: list[str], position: int, *, outs: bool) -> Callable[..., Any]:
    """The rule of the operand at `position` alone."""

    def rule(b: Any, ct: Any, *arguments: Any) -> Any:
        rest = iter(arguments)
        values = {name: next(rest) for name in saved}
        out = next(rest) if outs else None
        types = _flat(op, [next(rest) for _ in op.params])
        attrs = {name: next(rest) for name in op.attrs}
        index = next(rest) if op.params[position].startswith("*") else 0
        by_name = dict.fromkeys(op.params, None) | values
        fixed = len(op.params) - op.variadic
        inputs = [by_name[name] for name in op.params[:fixed]]
        if op.variadic:
            inputs += by_name[op.params[-1]] or [None] * (len(types) - fixed)
        return joint(b, ct, inputs, out, types, attrs)[position + index]

    return rule


def _flat(op: Op, groups: list[Any]) -> list[Any]:
    return [*groups[:-1], *groups[-1]] if op.variadic else groups


def _want(op: Op, name: str, text: str, rest: str) -> tuple[str, int]:
    return (rest if name.startswith("*") else text, op.params.index(name))


def _saved_places(op: Op, gradient: Gradient) -> list[int]:
    """The operands that `gradient` names, as positions among the parameters."""
    if gradient.save_all_inputs:
        return list(range(len(op.params)))
    bare = [param.lstrip("*") for param in op.params]
    return [bare.index(text) for text in gradient.inputs_to_save]


def _positions(op: Op, places: list[int], count: int) -> list[int]:
    """Positions among `count` operands; a variadic parameter stands for all of its."""
    last = len(op.params) - 1
    positions: list[int] = []
    for place in places:
        positions += range(last, count) if op.variadic and place == last else [place]
    return positions


def _tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else wrap(as_array(value))


def _called(op: Op, gradient: Gradient, ct: Any, saved: tuple[Any, ...], attrs: Attrs) -> Any:
    try:
        return gradient.fn(ct, *saved, **attrs)
    except Exception as error:
        error.add_note(f"in the gradient that was registered for op {op.name!r}")
        raise


def _checked(op: Op, result: Any, types: Sequence[Any], cts: Sequence[Any]) -> list[Tensor | None]:
    """One gradient per input, of its type, or None; as the user's function returned them."""
    gradients = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(gradients) != len(types):
        raise GradientError(
            f"the gradient of {op.name!r} returned {len(gradients)} gradient{'s' * (len(gradients) != 1)}, "
            f"expected {len(types)}: one per input ({', '.join(op.params)}), None where there is none"
        )
    checked: list[Tensor | None] = []
    for position, (gradient, type_) in enumerate(zip(gradients, types, strict=True)):
        if gradient is None or type_ is None or not is_differentiable(type_.dtype):
            checked.append(None)
            continue
        checked.append(_fitted(op, position, gradient, type_, cts))
    return checked


def _fitted(op: Op, position: int, gradient: Any, type_: TensorType, cts: Sequence[Any]) -> Tensor:
    name = (
        f"the gradient of {op.name!r} for input {position} ({op.params[min(position, len(op.params) - 1)]})"
    )
    if not isinstance(gradient, (Tensor, np.ndarray, np.generic, float, int)):
        raise GradientError(f"{name} must be a tensor of type {type_} or None, got {type(gradient).__name__}")
    tensor = _tensor(gradient)
    if not is_differentiable(tensor.dtype):
        raise GradientError(f"{name} must be a floating tensor of type {type_}, got {tensor.type}")
    # in eager mode an elementwise op broadcasts, and the tape sums the cotangent back
    spread = op.kind is Kind.ELEMENTWISE and tensor.shape == cts[0].shape
    if tensor.shape != type_.shape and not (spread and broadcastable(type_.shape, tensor.shape)):
        raise ShapeError(f"{name} has shape {tensor.shape}, expected {type_.shape}")
    return tensor if tensor.dtype is type_.dtype else TENSOR_OPS.cast(tensor, dtype=type_.dtype)


def no_gradient(name: str) -> GradientError:
    """The error of who differentiates through an op without a gradient."""
    return GradientError(f"no gradient for {name!r}; give it one with tj.register_gradient({name!r}, fn)")


class Refusal:
    """The rule of an op without a gradient: an error for those who ask."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, b: Any, ct: Any) -> Any:
        raise no_gradient(self._name)


def raising_rules(op: Op) -> dict[str, Rule]:
    """Rules that say that there is no gradient, to those who ask."""
    return dict.fromkeys(op.params, Rule(Refusal(op.name), ()))


def adapted(op: Op, rules: Mapping[str, Rule]) -> Gradient:
    """The rules of a built-in op as a Gradient, ``fn(ct, *inputs, out, **attrs)`` on Tensors."""

    def fn(ct: Any, *saved: Any, **attrs: Any) -> tuple[Any, ...]:
        *inputs, out = [_tensor(operand) for operand in saved]
        types = [input_.type for input_ in inputs]
        parts: list[Any] = []
        for position in range(len(inputs)):
            rule = rules.get(op.params[min(position, len(op.params) - 1)])
            if rule is None:
                parts.append(None)
                continue
            index = variadic_index(op, position)
            parts.append(rule.fn(TENSOR_OPS, ct, *rule_arguments(rule, inputs, types, out, index, attrs)))
        return tuple(parts)

    return Gradient(op.name, fn, outputs_to_save=(0,), save_all_inputs=True)
