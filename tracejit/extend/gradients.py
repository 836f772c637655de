"""Gradients by op name: registration, lookup and removal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import GradientError, TracejitError
from ..base.user_code import user_stacklevel
from ..ir.registry import OPS, Kind, Nondiff, Op
from .composite import composite_rules
from .pullback import Refusal, adapted, no_gradient, raising_rules, rules_of
from .tables import LOCK, TABLES, Gradient, registrations_changed


def register_gradient(
    name: str,
    fn: Callable[..., Any] | None = None,
    *,
    inputs_to_save: Sequence[str] = (),
    outputs_to_save: bool | Sequence[bool] = (),
    save_all_inputs: bool = False,
    override: bool = False,
) -> Any:
    """Make `fn` the gradient of the op `name`. Without `fn` it is a decorator.

    ``fn(ct, *saved, **attrs)`` gets the cotangent of the result (a tuple of them, None for integers, where
    the op has several results), the inputs and then the outputs it asked for, and the op's attributes; it
    returns one gradient per input, None where there is none. It computes with tracejit's functions on
    Tensors, so that it can be compiled and differentiated itself. Only what is named is kept alive until the
    backward pass: `inputs_to_save` names inputs, `save_all_inputs` all of them in order, and
    `outputs_to_save` is True or one bool per result.

    Replacing a gradient warns unless `override`; compiled functions compile again at their next call.

    Example:
        >>> import tracejit as tj
        >>> with tj.extend.isolated():
        ...     # the gradient of round as if it were the identity
        ...     tj.register_gradient("rint", lambda ct: ct, override=True) and None
        ...     tj.grad(lambda x: tj.round(x) * x)(2.6)
        tensor(5.6)

    Raises TracejitError for an op that there is not, or names that are not its inputs. Semantics:
    ``tf.registerGradient`` of TensorFlow.js.
    """
    if fn is None:
        return lambda function: (
            register_gradient(
                name, function, inputs_to_save=inputs_to_save, outputs_to_save=outputs_to_save,
                save_all_inputs=save_all_inputs, override=override,
            )
            and function
        )  # fmt: skip
    op = OPS[name]
    gradient = _gradient(op, fn, inputs_to_save, outputs_to_save, save_all_inputs=save_all_inputs)
    with LOCK:
        if not override and has_gradient(op):
            warnings.warn(
                f"the gradient of {name!r} is replaced; pass override=True if that is meant",
                stacklevel=user_stacklevel(),
            )
        TABLES.gradients[name] = gradient
        OPS.change(op, vjp=rules_of(op, gradient))
    registrations_changed(name, f"op {name!r} has another gradient")
    return gradient


def _gradient(
    op: Op, fn: Callable[..., Any], inputs: Any, outputs: Any, *, save_all_inputs: bool
) -> Gradient:
    where = f"register_gradient {op.name!r}"
    if op.kind.traits.grouped or op.kind is Kind.CREATION:
        raise TracejitError(f"{where}: an op of kind {op.kind.value} has no gradient to replace")
    if not callable(fn):
        raise TracejitError(f"{where}: expected a function, got {type(fn).__name__}")
    names = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    bare = [param.lstrip("*") for param in op.params]
    for name in names:
        if name not in bare:
            raise TracejitError(f"{where}: there is no input {name!r}; the inputs are {', '.join(bare)}")
    if save_all_inputs and names:
        raise TracejitError(f"{where}: give inputs_to_save or save_all_inputs, not both")
    flags = (outputs,) if isinstance(outputs, int) else tuple(outputs)
    if not all(isinstance(flag, bool) for flag in flags):
        raise TracejitError(f"{where}: outputs_to_save must be True or one bool per result, got {outputs!r}")
    if len(flags) > 1 and op.regions is None:
        raise TracejitError(f"{where}: outputs_to_save has {len(flags)} bools, but the op has one result")
    saved = tuple(i for i, flag in enumerate(flags) if flag)
    return Gradient(op.name, fn, names, saved, save_all_inputs)


def has_gradient(op: Op) -> bool:
    """Whether a gradient is registered for `op`, or built in."""
    if op.name in TABLES.gradients:
        return True
    if op.name in TABLES.ops or isinstance(op.vjp, Nondiff):
        return False
    return any(not isinstance(rule.fn, Refusal) for rule in op.vjp.values())


def get_gradient(name: str) -> Gradient:
    """The gradient of the op `name`.

    For a built-in op its `fn` is ``fn(ct, *inputs, out, **attrs)`` on Tensors, so that a new gradient can
    build on it.

    Example:
        >>> import tracejit as tj
        >>> tj.get_gradient("exp").fn(tj.tensor(2.0), tj.tensor(0.0), tj.tensor(1.0))
        (tensor(2.),)

    Raises GradientError where there is none.
    """
    op = OPS[name]
    gradient = TABLES.gradients.get(name)
    if gradient is not None:
        return gradient
    if not has_gradient(op) or not isinstance(op.vjp, Mapping):
        raise GradientError(f"get_gradient: {no_gradient(name)}")
    return adapted(op, op.vjp)


def unregister_gradient(name: str) -> None:
    """Take the gradient of `name` away: differentiating through the op is an error from now on.
    An op with a decomposition is differentiated through that again.

    Example:
        >>> import tracejit as tj
        >>> with tj.extend.isolated():
        ...     tj.unregister_gradient("sin")
        ...     tj.grad(tj.sin)(1.0)
        Traceback (most recent call last):
        tracejit.base.errors.GradientError: no gradient for 'sin'; ...

    Raises GradientError where there is none.
    """
    op = OPS[name]
    with LOCK:
        if not has_gradient(op):
            raise GradientError(f"unregister_gradient: {no_gradient(name)}")
        TABLES.gradients.pop(name, None)
        OPS.change(
            op, vjp=composite_rules(op) if op.name in TABLES.ops and op.decompose else raising_rules(op)
        )
    registrations_changed(name, f"the gradient of op {name!r} was taken away")
