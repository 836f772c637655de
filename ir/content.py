"""The content of a Function as text that names nothing: equal for Functions that are the same but for names.

It is made to be compared or digested, not to be read: see `text` for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from .callbacks import CallbackName
from .dtypes import DType
from .graph import Function, Instruction, Value
from .registry import OPS
from .types import Shape, TensorType

#: Types of values that `repr` tells apart.
_PLAIN: Final = frozenset((bool, int, float, complex, str))


class NoContent(Exception):
    """Exception for a Function that does not alone determine its results: they also depend on Python
    callables, or on ops that were registered or changed in this process."""


def content(function: Function, remark: Callable[[Instruction], str] | None = None) -> str:
    """`function` as text; ``remark(instruction)`` is added to each instruction. Raises NoContent.

    Example:
        >>> import tracejit as tj
        >>> one, two = (tj.trace(lambda x, y: x * y, tj.ones(n), tj.ones(n)) for n in (3, 3))
        >>> content(one) == content(two)
        True
    """
    lines: list[str] = []
    _write(lines, function, {}, {}, remark)
    return "\n".join(lines)


def _write(
    lines: list[str],
    function: Function,
    numbers: dict[Value, int],
    types: dict[tuple[DType, Shape], str],
    remark: Callable[[Instruction], str] | None,
) -> None:
    """Append the lines of `function`; `types` are the texts of types so far."""

    def type_text(type_: TensorType) -> str:
        text = types.get((type_.dtype, type_.shape))
        if text is None:
            text = types[type_.dtype, type_.shape] = _type(type_)
        return text

    for param in function.params:
        numbers[param] = len(numbers)
        lines.append(type_text(param.type))
    for instruction in function.body:
        if (
            instruction.op.name in OPS.foreign
            or instruction.op.native is not None
            or OPS.get(instruction.op.name) is not instruction.op
        ):
            raise NoContent(f"the op {instruction.op.name} was registered or changed in this process")
        operands = [numbers[operand] for operand in instruction.operands]
        attrs = attributes(instruction.attrs) if instruction.attrs else ""
        for result in instruction.results:
            numbers[result] = len(numbers)
        result_types = ",".join([type_text(result.type) for result in instruction.results])
        note = remark(instruction) if remark is not None else ""
        lines.append(f"{instruction.op.name}{operands}{attrs}{result_types}{note}")
        for region in instruction.regions:
            lines.append("{")
            _write(lines, region, numbers, types, remark)
            lines.append("}")
    lines.append(repr([numbers[result] for result in function.results]))


def attributes(attrs: Mapping[str, Any]) -> list[str]:
    """Attributes as texts, so that different ones differ. Raises NoContent."""
    return [f"{name}={_attr(attrs[name])}" for name in sorted(attrs)]


def _type(type_: TensorType) -> str:
    return f"{type_.dtype.str}{type_.shape}"


def _attr(value: Any) -> str:
    if isinstance(value, CallbackName):
        raise NoContent("a Python function is called")
    if value is None or type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, (tuple, list)):
        if _PLAIN.issuperset(map(type, value)):
            return repr(tuple(value))
        return f"({','.join(map(_attr, value))})"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{_attr(k)}:{_attr(value[k])}' for k in sorted(value))}}}"
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return f"{array.dtype.str}{array.shape}{array.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return value.str
    if isinstance(value, TensorType):
        return _type(value)
    raise NoContent(f"an attribute of type {type(value).__name__}")
