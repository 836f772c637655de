"""Ops that are functions of existing ops: their record's decomposition, meaning, types and gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backward.engine import TENSOR_OPS
from ..base.errors import TracejitError
from ..dispatch.regions import apply_with_regions
from ..ir.builder import Builder, inline
from ..ir.graph import Function, Value
from ..ir.passes.algebra.cleanup import cse, dce
from ..ir.registry import Attrs, Infer, Op, Rule
from ..ir.transforms.differentiation import pull_back
from ..ir.types import TensorType
from ..tensors.tensor import Tensor, as_array, wrap
from .calling import call_op
from .pullback import append_function

Types = tuple[TensorType, ...]
#: Number of answers that are remembered per op.
_MAX_ANSWERS = 4096


def type_rule(name: str, infer: Callable[..., Any]) -> Infer:
    """The record's `infer` from the user's, ``infer(*types, **attrs) -> type or several``."""
    inferred: dict[Any, Types] = {}

    def rule(types: Types, attrs: Attrs) -> Types:
        key = (types, tuple(attrs.items()))
        results = inferred.get(key)
        if results is None:
            results = result_types(name, infer(*types, **attrs))
            if len(inferred) >= _MAX_ANSWERS:
                inferred.clear()
            inferred[key] = results
        return results

    return rule


def result_types(name: str, returned: Any) -> Types:
    """The result of an ``infer`` function as a tuple of types. Raises TracejitError for any other result."""
    several: Sequence[Any] = returned if isinstance(returned, (tuple, list)) else (returned,)
    for type_ in several:
        if not isinstance(type_, TensorType):
            raise TracejitError(
                f"{name}: its infer must return a TensorType or a tuple of them, got {returned!r}; for "
                "instance x.with_shape((3,)) or tj.TensorType(tj.float64, (3,))"
            )
    if not several:
        raise TracejitError(f"{name}: its infer returned no type; an op has at least one result")
    return tuple(several)


def text_of(types: Sequence[TensorType]) -> str:
    """Types for messages."""
    return ", ".join(map(str, types)) or "none"


#: Number of pullbacks that are remembered per op.
_MAX_PULLBACKS = 256


def decomposition(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The record's `decompose` from the user's function on Tensors."""

    def decompose(b: Any, *operands: Any, **attrs: Any) -> Any:
        def run(*tensors: Tensor) -> tuple[list[Any], None]:
            return [_one(name, fn(*tensors, **attrs))], None

        if isinstance(b, Builder):
            (value,), _ = append_function(b, f"the decomposition of {name!r}", run, operands)
            return value
        if b is TENSOR_OPS:
            return run(*operands)[0][0]
        return run(*[wrap(as_array(operand)) for operand in operands])[0][0]._data

    return decompose


def _one(name: str, result: Any) -> Tensor:
    if isinstance(result, Tensor):
        return result
    if isinstance(result, (np.ndarray, np.generic, bool, int, float, complex)):
        return wrap(as_array(result))
    raise TracejitError(f"{name}: its decompose must return one tensor, got {type(result).__name__}")


def by_decomposition(op: Op) -> Callable[..., Any]:
    """The NumPy meaning of a composite: its function, on arrays."""

    def evaluate(*operands: Any, **attrs: Any) -> Any:
        assert op.decompose is not None
        return op.decompose(None, *operands, **attrs)

    return evaluate


def composite_infer(decompose: Callable[..., Any]) -> Callable[..., Types]:
    """The type rule of a decomposition: what it builds."""

    def infer(types: Types, attrs: Attrs) -> Types:
        b = Builder()
        value: Value = decompose(b, *[b.parameter(type_) for type_ in types], **attrs)
        return (value.type,)

    return infer


def composite_rules(op: Op) -> dict[str, Rule]:
    """Gradient rules that differentiate the decomposition; they save every input."""
    pullbacks: dict[Any, tuple[Function, list[bool]]] = {}

    def joint(
        b: Any, ct: Any, inputs: Sequence[Any], out: Any, types: Sequence[Any], attrs: Attrs
    ) -> list[Any]:
        arguments = [ct, *inputs]
        kinds = [TensorType(argument.dtype, argument.shape) for argument in arguments]
        key = (*kinds, *attrs.items())
        if key not in pullbacks:
            if len(pullbacks) >= _MAX_PULLBACKS:
                pullbacks.clear()
            pullbacks[key] = _pullback(op, kinds[0], kinds[1:], attrs)
        function, present = pullbacks[key]
        if isinstance(b, Builder):
            values: Sequence[Any] = inline(b, function, arguments)
        else:
            tensors = [
                tensor if isinstance(tensor, Tensor) else wrap(as_array(tensor)) for tensor in arguments
            ]
            results = _run(function, tensors)
            values = results if b is TENSOR_OPS else [tensor._data for tensor in results]
        following = iter(values)
        return [next(following) if flag else None for flag in present]

    wants = tuple(("input", i) for i in range(len(op.params))) + tuple(("attr", attr) for attr in op.attrs)

    def single(position: int) -> Callable[..., Any]:
        def rule(b: Any, ct: Any, *arguments: Any) -> Any:
            count = len(op.params)
            attrs = dict(zip(op.attrs, arguments[count:], strict=True))
            return joint(b, ct, arguments[:count], None, (), attrs)[position]

        return rule

    return {name: Rule(single(i), wants, joint) for i, name in enumerate(op.params)}


def _run(function: Function, arguments: Sequence[Tensor]) -> list[Tensor]:
    """The results of `function` on Tensors, op by op, so that they are recorded or traced."""
    values = dict(zip(function.params, arguments, strict=True))
    for instruction in function.body:
        operands = [values[operand] for operand in instruction.operands]
        if instruction.regions:
            results: Sequence[Tensor] = apply_with_regions(
                instruction.op, operands, instruction.attrs, instruction.regions
            )
        else:
            result = call_op(instruction.op, operands, instruction.attrs)
            results = result if isinstance(result, tuple) else (result,)
        values.update(zip(instruction.results, results, strict=True))
    return [values[result] for result in function.results]


def _pullback(
    op: Op, ct: TensorType, types: Sequence[TensorType], attrs: Attrs
) -> tuple[Function, list[bool]]:
    """``(ct, *inputs) -> cotangents`` of those inputs that have one, and which those are."""
    assert op.decompose is not None
    b = Builder()
    seed = b.parameter(ct, "ct")
    inputs = [b.parameter(type_) for type_ in types]
    result = op.decompose(b, *inputs, **attrs)
    cotangents = pull_back(b, tuple(b.body), {result: seed}, inputs)
    function = b.finish(f"{op.name}_backward", [value for value in cotangents if value is not None])
    return dce(cse(function)), [value is not None for value in cotangents]
