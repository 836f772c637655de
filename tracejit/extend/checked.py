"""Kernels that keep their promises: what they are given, and that they give what ``infer`` says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.errors import KernelError
from ..codegen.llvm.emitter import Reg
from ..ir.builder import operand_of
from ..ir.dtypes import BY_NAME, SHORT_NAME
from ..ir.registry import Kind, Op
from ..ir.types import TensorType, broadcast_shapes
from .composite import text_of

Array = np.ndarray[Any, Any]


def checked_kernel(op: Op, backend: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` on ndarrays that it cannot write, with its results checked against ``op.infer``.

    The operands of an elementwise op come in one shape and in the dtypes it computes in. Raises KernelError,
    from `fn`'s own error where that raises.
    """
    where = f"op {op.name!r}: its {backend} kernel"

    def kernel(*operands: Any, **attrs: Any) -> Any:
        arrays = _arrays(op, operands)
        attrs = {**op.defaults, **attrs}
        expected = op.infer(tuple([TensorType(array.dtype, array.shape) for array in arrays]), attrs)
        try:
            outcome = fn(*[_read_only(array) for array in arrays], **attrs)
        except Exception as error:
            types = text_of([TensorType(array.dtype, array.shape) for array in arrays])
            raise KernelError(
                f"{where} raised {type(error).__name__}: {error}; it was given ({types}) and expected to "
                f"return ({text_of(expected)})"
            ) from error
        if len(expected) == 1:
            return _result(where, outcome, expected[0], arrays)
        if not isinstance(outcome, (tuple, list)) or len(outcome) != len(expected):
            got = f"{len(outcome)} results" if isinstance(outcome, (tuple, list)) else type(outcome).__name__
            raise KernelError(
                f"{where} returned {got}, expected {len(expected)} results ({text_of(expected)})"
            )
        return tuple(
            _result(where, part, type_, arrays) for part, type_ in zip(outcome, expected, strict=True)
        )

    return kernel


def _arrays(op: Op, operands: Sequence[Any]) -> list[Array]:
    if op.kind is not Kind.ELEMENTWISE:
        return [np.asarray(operand) for operand in operands]
    if op.promote is not None:
        dtypes: Sequence[Any] = op.promote(tuple([operand_of(operand) for operand in operands]))
        arrays = [np.asarray(operand, dtype) for operand, dtype in zip(operands, dtypes, strict=True)]
    else:
        arrays = [np.asarray(operand) for operand in operands]
    shape = broadcast_shapes(op.name, *[array.shape for array in arrays])
    return [array if array.shape == shape else np.broadcast_to(array, shape) for array in arrays]


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _result(where: str, outcome: Any, expected: TensorType, arrays: Sequence[Array]) -> Array:
    if not isinstance(outcome, (np.ndarray, np.generic, bool, int, float, complex)):
        raise KernelError(f"{where} returned {type(outcome).__name__}, expected an array of type {expected}")
    array = np.asarray(outcome)
    if array.dtype != expected.dtype or array.shape != expected.shape:
        raise KernelError(
            f"{where} returned {_text(array)}, expected {expected}, which is what its infer says"
        )
    if not array.flags.writeable or any(np.may_share_memory(array, operand) for operand in arrays):
        array = array.copy()  # a tensor of its own: neither may see writes to the other
    return array


def _text(array: Array) -> str:
    name = SHORT_NAME.get(array.dtype, array.dtype.name)
    return f"{name}[{','.join(map(str, array.shape))}]"


def checked_emitter(op: Op, fn: Callable[..., Any]) -> Callable[..., Reg]:
    """`fn` as scalar code, with its register checked against ``op.infer``. Raises KernelError."""
    where = f"op {op.name!r}: its llvm kernel"

    def emit(b: Any, *operands: Reg, **attrs: Any) -> Reg:
        types = tuple(TensorType(BY_NAME[operand.dtype], ()) for operand in operands)
        (expected,) = op.infer(types, attrs)
        try:
            result = fn(b, *operands, **attrs)
        except Exception as error:
            raise KernelError(
                f"{where} raised {type(error).__name__}: {error}; it was given registers of types "
                f"({', '.join(operand.dtype for operand in operands)}) and expected to return "
                f"{expected.dtype.name}"
            ) from error
        lanes = max([operand.lanes for operand in operands], default=1)
        short_name = SHORT_NAME[expected.dtype]
        if not isinstance(result, Reg) or result.dtype != short_name or result.lanes not in (1, lanes):
            got = f"{result.dtype} x {result.lanes}" if isinstance(result, Reg) else type(result).__name__
            raise KernelError(f"{where} returned {got}, expected a register of {short_name} x {lanes}")
        return result if result.lanes == lanes else b.splat(result, lanes)

    return emit


def missing_kernel(message: Callable[[], str]) -> Callable[..., Any]:
    """The kernel of an op that has none: the error `message()` when it is called."""

    def kernel(*operands: Any, **attrs: Any) -> Any:
        raise KernelError(message())

    kernel.is_missing = True  # type: ignore[attr-defined]
    return kernel
