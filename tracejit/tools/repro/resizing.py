"""Cases of other sizes: a size that dimensions have made smaller in all of a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.errors import TracejitError
from ...ir.graph import Function, Instruction, Value
from ...ir.types import TensorType
from .cases import Case


def resized(case: Case, size: int, smaller: int) -> Iterator[Case]:
    """The case with every dimension of `size` made `smaller`, of inputs the first or the last elements;
    nothing where an op does not allow it."""
    try:
        function = _resized(case.function, size, smaller)
    except (TracejitError, ValueError, LookupError):
        return
    for last in (False, True):
        inputs = []
        for array, param in zip(case.inputs, function.params, strict=True):
            cut = [
                slice(n - m if last else 0, n if last else m)
                for n, m in zip(array.shape, param.shape, strict=True)
            ]
            inputs.append(np.asarray(array[tuple(cut)], order="C"))
        yield Case(function, tuple(inputs))


def _resized(function: Function, size: int, smaller: int) -> Function:
    table: dict[Value, Value] = {}
    for param in function.params:
        shape = tuple(smaller if number == size else number for number in param.shape)
        table[param] = Value(TensorType(param.dtype, shape), param.hint)
    body = []
    for instruction in function.body:
        attrs = _smaller_attrs(instruction, size, smaller)
        regions = tuple(_resized(region, size, smaller) for region in instruction.regions)
        operands = tuple(table[operand] for operand in instruction.operands)
        operand_types = tuple(operand.type for operand in operands)
        if instruction.op.regions is not None:
            types = instruction.op.regions.types(operand_types, attrs, regions)
        else:
            types = instruction.op.infer(operand_types, attrs)
        results = tuple(Value(type) for type in types)
        table.update(zip(instruction.results, results, strict=True))
        body.append(instruction.replace(operands=operands, attrs=attrs, results=results, regions=regions))
    params = tuple(table[param] for param in function.params)
    return Function(function.name, params, tuple(body), tuple(table[result] for result in function.results))


def _smaller_attrs(instruction: Instruction, size: int, smaller: int) -> dict[str, Any]:
    """The attributes, where they speak of sizes with the new one."""
    attrs = {name: _smaller_attr(name, value, size, smaller) for name, value in instruction.attrs.items()}
    if "data" in attrs:  # the elements of a constant
        array = instruction.op.eval(**instruction.attrs)
        attrs["data"] = tuple(array[tuple(slice(n) for n in attrs["shape"])].reshape(-1).tolist())
    return attrs


def _smaller_attr(name: str, value: Any, size: int, smaller: int) -> Any:
    if name in ("shape", "size") and isinstance(value, tuple):
        return tuple(smaller if n == size else n for n in value)
    return smaller if name in ("length", "size") and value == size else value
