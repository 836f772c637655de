"""Registration of ops at run time with ``register_op``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.errors import DTypeError, TracejitError
from ..ir.dtypes import DType, Operand, is_inexact, result_type, ufunc_types
from ..ir.ops.define import same_shape
from ..ir.registry import OPS, Attrs, Infer, Kind, Op
from ..ir.transforms.batching import batch_each
from .calling import OpCall, declared, is_name
from .checked import missing_kernel
from .composite import (
    Types,
    by_decomposition,
    composite_infer,
    composite_rules,
    decomposition,
    text_of,
    type_rule,
)
from .pullback import raising_rules
from .several import several_results
from .tables import LOCK, NUMPY, TABLES, missing_message, registrations_changed, tear_down

#: The default cost of one element of an elementwise op, in cycles.
_CYCLES = 10.0


def register_op(
    name: str,
    infer: Callable[..., Any] | None = None,
    *,
    inputs: str | Sequence[str] | None = None,
    attrs: Mapping[str, Any] | None = None,
    elementwise: bool = False,
    floating: bool = True,
    decompose: Callable[..., Any] | None = None,
    doc: str = "",
    cycles: float = _CYCLES,
) -> OpCall:
    """Register an op and return it as a function. ``tj.ops.<name>`` is that function, too.

    `inputs` names the inputs ("x y"); the last may be ``*name`` for any number. Without, they are the
    positional parameters of `infer` or `decompose`. `attrs` declares attributes as ``{name: (type,
    default)}``, or ``{name: type}`` for those that must be given; the types are bool, int, float, str, tuple
    and np.dtype.

    ``infer(*types, **attrs)`` gets a ``tj.TensorType`` per input and returns the result's, or a tuple of
    them. An `elementwise` op broadcasts its inputs and brings them to one dtype, a floating one if
    `floating`; its `infer` may be left out and is then the type of the inputs. With `decompose`, a function
    of tensors, the op is that function: it needs no `infer`, kernel or gradient. Other ops need a kernel
    (`register_kernel`), and to be differentiated a gradient (`register_gradient`). `cycles` guesses the cost
    of an element.

    Example:
        >>> import tracejit as tj
        >>> with tj.extend.isolated():
        ...     outer = tj.register_op("outer_product", lambda x, y: x.with_shape(x.shape + y.shape))
        ...     _ = tj.register_kernel("outer_product", "numpy", lambda x, y: x[:, None] * y)
        ...     outer(tj.tensor([1.0, 2.0]), tj.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])

    Raises TracejitError for a name that is taken or is no identifier, and for declarations that do not fit.
    """
    if not is_name(name):
        raise TracejitError(f"register_op: {name!r} is not a name; use letters, digits and underscores")
    if name in OPS:
        raise TracejitError(
            f"register_op: op {name!r} is registered already; choose another name, or replace its kernels "
            "with tj.register_kernel and its gradient with tj.register_gradient"
        )
    params = _inputs(name, inputs, infer, decompose, attrs or {})
    types, defaults = declared(name, attrs or {}, params)
    op = _record(name, params, infer, elementwise, floating, decompose)
    op = Op(
        name, op.kind, params, op.infer, op.eval, {}, doc or f"the op {name}", types, promote=op.promote,
        decompose=op.decompose, regions=op.regions, batch=op.batch, defaults=defaults, cost=cycles,
    )  # fmt: skip
    with LOCK:
        OPS.add(op)
        TABLES.ops.add(name)
        if decompose:
            OPS.change(op, vjp=composite_rules(op), eval=by_decomposition(op))
        else:
            OPS.change(op, vjp=raising_rules(op))
    return OpCall(op)


def _record(
    name: str,
    params: tuple[str, ...],
    infer: Callable[..., Any] | None,
    elementwise: bool,
    floating: bool,
    decompose: Callable[..., Any] | None,
) -> Op:
    """The op record as far as it follows from the kind of the op; the caller fills in attributes and
    gradient."""
    missing = missing_kernel(lambda: missing_message(name, NUMPY))
    if decompose is not None:
        if infer is not None or elementwise:
            raise TracejitError(f"register_op {name!r}: with decompose, infer and elementwise follow from it")
        if params and params[-1].startswith("*"):
            raise TracejitError(f"register_op {name!r}: an op with decompose has a fixed number of inputs")
        build = decomposition(name, decompose)
        rule = type_rule_of(composite_infer(build))
        return Op(name, Kind.COMPOSITE, params, rule, missing, {}, "", decompose=build)
    if elementwise:
        if not params or params[-1].startswith("*"):
            raise TracejitError(
                f"register_op {name!r}: an elementwise op has a fixed number of inputs, at least one"
            )
        return Op(
            name, Kind.ELEMENTWISE, params, _elementwise_infer(name, infer), missing, {}, "",
            promote=_promotion(len(params), floating=floating),
        )  # fmt: skip
    if infer is None:
        raise TracejitError(
            f"register_op {name!r}: give infer, the function from the inputs' types to the result's; or "
            "elementwise=True, or decompose"
        )
    return Op(
        name, Kind.HOST, params, type_rule(name, infer), missing, {}, "", regions=several_results(name),
        batch=batch_each,
    )  # fmt: skip


def type_rule_of(infer: Infer) -> Infer:
    """`infer`, remembering its answers."""
    return type_rule("", lambda *types, **attrs: infer(types, attrs))


def _inputs(
    name: str, inputs: str | Sequence[str] | None, infer: Any, decompose: Any, attrs: Mapping[str, Any]
) -> tuple[str, ...]:
    if inputs is None:
        source = decompose or infer
        if source is None:
            raise TracejitError(f"register_op {name!r}: name the inputs, as in inputs='x y'")
        inputs = [
            ("*" if parameter.kind is parameter.VAR_POSITIONAL else "") + parameter.name
            for parameter in inspect.signature(source).parameters.values()
            if parameter.name not in attrs
            and parameter.kind not in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
        ]
    names = tuple(inputs.replace(",", " ").split()) if isinstance(inputs, str) else tuple(inputs)
    for position, text in enumerate(names):
        bare = (
            text[1:]
            if isinstance(text, str) and text.startswith("*") and position == len(names) - 1
            else text
        )
        if not is_name(bare) or names.count(text) > 1:
            raise TracejitError(f"register_op {name!r}: {text!r} cannot name an input")
    return names


def _promotion(count: int, *, floating: bool) -> Callable[[tuple[Operand, ...]], tuple[DType, ...]]:
    def promote(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
        dtype = result_type(*operands)
        if floating and not is_inexact(dtype):
            dtype = ufunc_types(np.sin, (dtype,))[0]
        return (dtype,) * count

    return promote


def _elementwise_infer(name: str, infer: Callable[..., Any] | None) -> Infer:
    own_rule = type_rule(name, infer) if infer is not None else lambda types, attrs: (types[0],)

    def rule(types: Types, attrs: Attrs) -> Types:
        shape = same_shape(name, types)
        if any(type_.dtype is not types[0].dtype for type_ in types):
            raise DTypeError(f"{name}: inputs must be cast to one dtype, got ({text_of(types)})")
        results = own_rule(types, attrs)
        if len(results) != 1 or results[0].shape != shape:
            raise TracejitError(
                f"{name}: the infer of an elementwise op must return one type of shape {shape}, got "
                f"({text_of(results)})"
            )
        return results

    return rule


def unregister_op(name: str) -> None:
    """Take an op that was registered at run time out again, with its kernels and gradient.

    Example:
        >>> import tracejit as tj
        >>> _ = tj.register_op("double", decompose=lambda x: 2 * x)
        >>> tj.unregister_op("double")

    Raises TracejitError for built-in ops and ops that there are not.
    """
    if name not in TABLES.ops:
        raise TracejitError(f"unregister_op: {name!r} is not an op that was registered at run time")
    with LOCK:
        OPS.remove(name)
        TABLES.ops.discard(name)
        TABLES.gradients.pop(name, None)
        gone = [TABLES.kernels.pop(key) for key in list(TABLES.kernels) if key[0] == name]
    for kernel in gone:
        tear_down(kernel)
    registrations_changed(name, f"op {name!r} was taken away")
