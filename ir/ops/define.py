"""Constructors of op records, one per kind, that fill in what a kind has in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...base.errors import DTypeError, ShapeError, TracejitError
from ..dtypes import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOATS,
    NUMBERS,
    DType,
    Operand,
    default_dtype,
    describe,
    is_complex,
    is_inexact,
    is_real_floating,
    ufunc_types,
)
from ..registry import NONDIFF, OPS, Attrs, Infer, Kind, Nondiff, Op, Regions, make_rules
from ..types import TensorType, tensor_type

Vjp = Mapping[str, Callable[..., Any]] | Nondiff


def define(
    name: str,
    kind: Kind,
    params: str,
    *,
    infer: Infer,
    eval: Callable[..., Any],
    vjp: Vjp,
    doc: str,
    attrs: Mapping[str, tuple[type, ...]] | None = None,
    joint: Callable[..., Any] | None = None,
    **more: Any,
) -> Op:
    """Build the record of op `name` with operands `params` (space-separated) and register it.

    `joint` gives the cotangents of all operands at once, where that is quicker than a rule per operand: see
    ``registry.Rule``.
    """
    operands = tuple(params.split())
    attrs = attrs or {}
    rules = make_rules(name, operands, attrs, vjp, joint)
    return OPS.add(Op(name, kind, operands, infer, eval, rules, doc, attrs, **more))


def define_with_regions(
    name: str,
    kind: Kind,
    params: str,
    *,
    regions: Regions,
    vjp: Vjp,
    doc: str,
    attrs: Mapping[str, tuple[type, ...]] | None = None,
    **more: Any,
) -> Op:
    """Build and register the record of an op with regions, which give its types and its meaning."""

    def infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
        raise TracejitError(f"{name}: the result types are those of its regions")

    def evaluate(*operands: object, **attrs: object) -> object:
        raise TracejitError(f"{name}: the interpreter runs its regions")

    return define(
        name, kind, params, infer=infer, eval=evaluate, vjp=vjp, doc=doc, attrs=attrs, regions=regions,
        **more,
    )  # fmt: skip


def region_count(name: str, regions: tuple[Any, ...], count: int) -> None:
    """Raise ShapeError unless there are `count` regions."""
    if len(regions) != count:
        raise ShapeError(f"{name}: expected {count} region{'s' * (count != 1)}, got {len(regions)}")


def check_parameters(name: str, which: str, region: Any, types: tuple[TensorType, ...]) -> None:
    """Raise ShapeError unless `region` takes arguments of `types`."""
    param_types = tuple(param.type for param in region.params)
    if param_types != types:
        raise ShapeError(
            f"{name}: the parameters of {which} must have types ({', '.join(map(str, types))}), got "
            f"({', '.join(map(str, param_types))})"
        )


def same_as_region(
    types: tuple[TensorType, ...], attrs: Attrs, regions: tuple[Any, ...]
) -> tuple[TensorType, ...]:
    """The type rule of an op that is its one region applied to its operands."""
    region_count("fusion", regions, 1)
    check_parameters("fusion", "the region", regions[0], types)
    return tuple(result.type for result in regions[0].results)


def elementwise(
    name: str,
    params: str,
    ufunc: np.ufunc,
    *,
    vjp: Vjp,
    emit: Callable[..., Any] | None,
    doc: str,
    eval: Callable[..., Any] | None = None,
    floating: bool = False,
    **more: Any,
) -> Op:
    """An op that NumPy has as a ufunc: its dtype rule is the ufunc's.

    `floating` marks ops that turn integers into floats, as `ufunc_types` says. With `eval`, the op is one of
    the dtypes of `ufunc`, and computes something else.
    """

    def promote(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
        return ufunc_types(ufunc, operands)[: ufunc.nin]

    def infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
        dtypes = tuple([type_.dtype for type_ in types])
        loop = ufunc_types(ufunc, dtypes)
        if loop[: ufunc.nin] != dtypes and not (floating and all(map(is_inexact, dtypes))):
            listed = ", ".join(map(str, types))
            raise DTypeError(f"{name}: operands must be cast to the types of its loop, got ({listed})")
        shape = same_shape(name, types)
        return (types[0] if types[0].dtype is loop[-1] else tensor_type(loop[-1], shape),)

    kernel = floating_kernel(ufunc, eval) if floating else eval or ufunc
    return define(
        name,
        Kind.ELEMENTWISE,
        params,
        infer=infer,
        eval=kernel,
        vjp=vjp,
        doc=doc,
        promote=promote,
        emit=emit,
        **more,
    )


def same_shape(name: str, types: tuple[TensorType, ...]) -> tuple[int, ...]:
    """The one shape of `types`; in the IR broadcasting is explicit."""
    shapes = [type_.shape for type_ in types]
    if shapes.count(shapes[0]) != len(shapes):
        listed = ", ".join(map(str, types))
        raise ShapeError(f"{name}: operands must have equal shapes (broadcast is an op), got ({listed})")
    return shapes[0]


def floating_kernel(ufunc: np.ufunc, function: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """`ufunc`, or `function` in its place: integers are computed in the dtype that `ufunc_types` says."""
    compute = function or ufunc

    def kernel(*operands: Any) -> Any:
        for operand in operands:
            if getattr(operand, "dtype", None) not in FLOATS:
                types = ufunc_types(ufunc, tuple(map(_operand_of, operands)))
                return compute(*(np.asarray(operand, t) for operand, t in zip(operands, types, strict=False)))
        return compute(*operands)

    if function is None:
        setattr(kernel, "ufunc", ufunc)  # noqa: B010
    return kernel


def floating_function(
    name: str,
    function: Callable[[Any, DType], Any],
    *,
    doc: str,
    rule: Callable[..., Any],
    cost: float,
    emit: Callable[..., Any] | None = None,
) -> Op:
    """A unary op on floats that NumPy lacks: `function` of an array and the dtype of its result, and `emit`,
    or the emitter's function of the same name. Integers of up to 16 bits become float32, as SciPy's do."""

    def kernel(x: Any) -> Any:
        x = np.asarray(x)
        if is_complex(x.dtype):
            raise DTypeError(f"{name}: no meaning for operands of type ({x.dtype.name})")
        return function(x, x.dtype if is_real_floating(x.dtype) else _float_for(x.dtype))

    def promote(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
        operand = operands[0]
        if operand is complex or (isinstance(operand, np.dtype) and is_complex(operand)):
            raise DTypeError(f"{name}: no meaning for operands of type ({describe(operand)})")
        if isinstance(operand, type):
            return (default_dtype(),)
        return (operand if is_real_floating(operand) else _float_for(operand),)

    def infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
        if not is_real_floating(types[0].dtype):
            raise DTypeError(f"{name}: expected a floating operand, got {types[0]}")
        return (types[0],)

    return define(
        name, Kind.ELEMENTWISE, "x", doc=doc, infer=infer, eval=kernel, promote=promote,
        vjp={"x": rule}, emit=emit or (lambda b, x: getattr(b, name)(x)), cost=cost,
    )  # fmt: skip


def _float_for(dtype: DType) -> DType:
    wide = FLOAT64 if dtype.itemsize > 2 else FLOAT32
    return FLOAT32 if default_dtype() is FLOAT32 else wide


def in_float32(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a `kernel` of sums or products to compute float16 operands in float32, and to round the result
    once."""

    def widened(*operands: Any, **attrs: Any) -> Any:
        if not any(getattr(operand, "dtype", None) is FLOAT16 for operand in operands):
            return kernel(*operands, **attrs)
        wide = [x.astype(FLOAT32) if getattr(x, "dtype", None) is FLOAT16 else x for x in operands]
        return kernel(*wide, **attrs).astype(FLOAT16)

    return widened


def ufunc_behind(kernel: Callable[..., Any]) -> tuple[np.ufunc, bool] | None:
    """The ufunc that `kernel` is, or that it calls for operands of floating dtypes, and whether that is for
    those alone; None of other kernels."""
    if isinstance(kernel, np.ufunc):
        return kernel, False
    ufunc = getattr(kernel, "ufunc", None)
    return None if ufunc is None else (ufunc, True)


def _operand_of(value: Any) -> Operand:
    if isinstance(value, bool):
        return np.dtype(np.bool_)
    if type(value) in NUMBERS:
        return type(value)
    return np.asarray(value).dtype


def comparison(name: str, ufunc: np.ufunc, emit: Callable[..., Any], doc: str, **more: Any) -> Op:
    """A binary op with a bool result."""
    return elementwise(name, "x y", ufunc, vjp=NONDIFF, emit=emit, doc=doc, **more)
