"""``autograd.test_util``: derivatives beside differences of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final

from ...base.errors import ArgumentError
from .derivatives import ArgumentNumbers, checked_argnum, unary
from .products import make_jvp, make_vjp
from .vector_spaces import vspace

__all__ = ["check_equivalent", "check_grads", "combo_check"]

#: Differences are taken this far apart; derivatives may be this far off, absolutely or relatively.
_STEP: Final = 1e-6
_TOLERANCE: Final = 1e-6


def check_grads(
    f: Callable[..., Any],
    argnum: ArgumentNumbers = 0,
    modes: Sequence[str] | None = None,
    order: int = 2,
) -> Callable[..., None]:
    """A function of the arguments of `f` that checks derivatives up to this `order`, in random directions.

    `modes` are ``"fwd"`` and ``"rev"``, both where it is None.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd.test_util import check_grads
        >>> check_grads(np.sin)(np.array([0.0, 1.0]))

    Raises AssertionError where a derivative is wrong. Semantics: ``autograd.test_util.check_grads``.
    """
    number = checked_argnum("check_grads", argnum)
    chosen_modes = ("fwd", "rev") if modes is None else tuple(modes)
    if not set(chosen_modes) <= {"fwd", "rev"}:
        raise ArgumentError(f'check_grads: modes must be of "fwd" and "rev", got {modes!r}')

    def check(*args: Any, **kwargs: Any) -> None:
        of_chosen, x = unary("check_grads", f, number, args, kwargs)
        if "fwd" in chosen_modes:
            _check_forward(of_chosen, x)
            if order > 1:
                of_tangent = _product_of(of_chosen, lambda at, t: make_jvp(of_chosen)(at)(t)[1])
                check_grads(of_tangent, (0, 1), chosen_modes, order - 1)(x, vspace(x).randn())
        if "rev" in chosen_modes:
            _check_reverse(of_chosen, x)
            if order > 1:
                of_cotangent = _product_of(of_chosen, lambda at, u: make_vjp(of_chosen)(at)[0](u))
                cotangent = vspace(of_chosen(x)).randn()
                check_grads(of_cotangent, (0, 1), chosen_modes, order - 1)(x, cotangent)

    return check


def _product_of(f: Callable[..., Any], of_both: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    of_both.__name__ = f"derivative of {_name_of(f)}"
    return of_both


def _difference(f: Callable[[Any], Any], x: Any, direction: Any) -> Any:
    """The derivative of `f` in a direction, by a central difference."""
    space = vspace(x)
    above = f(space.add(x, space.scalar_mul(direction, _STEP / 2)))
    below = f(space.add(x, space.scalar_mul(direction, -_STEP / 2)))
    results = vspace(above)
    return results.scalar_mul(results.add(above, results.scalar_mul(below, -1.0)), 1 / _STEP)


def _check_reverse(f: Callable[[Any], Any], x: Any) -> None:
    pullback, value = make_vjp(f)(x)
    inputs, results = vspace(x), vspace(value)
    direction, cotangent = inputs.randn(), results.randn()
    gradient = inputs.covector(pullback(results.covector(cotangent)))
    assert vspace(gradient) == inputs, f"the gradient of {_name_of(f)} is of {vspace(gradient)}, not {inputs}"
    exact = inputs.inner_prod(direction, gradient)
    numeric = results.inner_prod(cotangent, _difference(f, x, direction))
    assert _close(numeric, exact), (
        f"the reverse-mode derivative of {_name_of(f)} at {x} is {exact}, its difference quotient {numeric}"
    )


def _check_forward(f: Callable[[Any], Any], x: Any) -> None:
    direction = vspace(x).randn()
    check_equivalent(make_jvp(f)(x)(direction)[1], _difference(f, x, direction))


def check_equivalent(x: Any, y: Any) -> None:
    """Raise AssertionError unless `x` and `y` are of one vector space and nearly equal. Semantics:
    ``autograd.test_util.check_equivalent``."""
    space, other = vspace(x), vspace(y)
    assert space == other, f"{x} is of {space}, {y} of {other}"
    direction = space.randn()
    assert _close(space.inner_prod(x, direction), space.inner_prod(y, direction)), f"{x} and {y} differ"


def combo_check(fun: Callable[..., Any], *check_args: Any, **check_options: Any) -> Callable[..., None]:
    """Check gradients, as `check_grads` does, for each combination of arguments and options from lists of
    them. Semantics: ``autograd.test_util.combo_check``."""

    def check(*args: Any, **kwargs: Any) -> None:
        options = [[(name, value) for value in values] for name, values in kwargs.items()]
        for positional in product(*args):
            for named in product(*options):
                check_grads(fun, *check_args, **check_options)(*positional, **dict(named))

    return check


def _close(a: Any, b: Any) -> bool:
    return bool(abs(a - b) < _TOLERANCE or abs(a - b) < _TOLERANCE * abs(a + b))


def _name_of(f: Any) -> str:
    return str(getattr(f, "__name__", type(f).__name__))
