"""``primitive`` and the definitions of its derivatives. Semantics: HIPS autograd.

A primitive is called with arrays, as it may be any Python code; so are the functions that its rules return,
unless the derivative is itself differentiated. Under a trace both are traced.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from ...autograd import checkpoint as _checkpoint
from ...base.errors import ArgumentError, GradientError
from ...pytree import LEAVES, flatten, tree_map
from ...state import STATE
from ...tensors.tensor import Tensor
from ...transforms.custom.jvp import custom_jvp
from ...transforms.custom.rule import DerivativeRule
from ...transforms.custom.vjp import apply_rule
from .arrays import as_arrays, is_followed, values_of
from .primitive_nodes import Rules, of_dtypes, recorded, takes, values_at

Maker = Callable[..., Any]


def primitive(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun` as a function that derivatives do not look into: a decorator, completed by ``defvjp``.

    It is called with arrays, and may be any Python code; under ``tj.jit`` and in ``jacobian`` it is traced,
    and has to be made of functions that take tensors, such as ``tj.pure_callback``.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import grad
        >>> from tracejit.compat.autograd.extend import defvjp, primitive
        >>> @primitive
        ... def cube(x):
        ...     return x**3
        >>> defvjp(cube, lambda ans, x: lambda g: g * 3 * x**2)
        >>> grad(cube)(2.0)
        np.float64(12.0)

    Semantics: ``autograd.extend.primitive``.
    """
    if not callable(fun):
        raise ArgumentError(f"primitive: expected a function, got {type(fun).__name__}")
    rules, name = Rules(), _name_of(fun)

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        followed = [position for position, argument in enumerate(args) if _is_followed(argument)]
        if not followed:
            return fun(*values_of(args), **kwargs)
        if rules.vjps is None and rules.jvps is not None:
            return _by_tangents(call, fun, rules.jvps, followed, args, kwargs)
        first = None
        if takes(args, followed):
            values = values_at(args, followed)
            first = fun(*values, **kwargs)
            result = recorded(name, rules, followed, args, values, kwargs, first)
            if result is not None:
                return result
        rule = _Call(call, fun, rules, followed, args, kwargs, first)
        return apply_rule(rule, tuple([args[position] for position in followed]))

    call.rules = rules  # type: ignore[attr-defined]
    return call


def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun`, whose intermediate values are computed again for the gradient in place of being kept.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import checkpoint, grad
        >>> grad(checkpoint(lambda x: np.sum(np.sin(np.exp(x)))))(0.0).round(6)
        np.float64(0.540302)

    Semantics: ``autograd.checkpoint``.
    """

    @functools.wraps(fun)
    def again(*args: Any, **kwargs: Any) -> Any:
        if not args and not kwargs:
            return fun()
        return _checkpoint(fun, *args, **kwargs)

    return again


def notrace_primitive(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun`, called with the values of its arguments, whose results are constants to every derivative.

    Example:
        >>> from tracejit.compat.autograd import grad
        >>> from tracejit.compat.autograd.extend import notrace_primitive
        >>> grad(lambda x: x * notrace_primitive(round)(x))(2.2)
        np.float64(2.0)

    Semantics: ``autograd.extend.notrace_primitive``.
    """

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        return fun(*values_of(args), **values_of(kwargs))

    return call


# -- rules ----------------------------------------------------------------------------------------


def defvjp_argnums(fun: Callable[..., Any], vjpmaker: Maker) -> None:
    """Set the reverse-mode rule of a primitive, for all arguments that a derivative follows at once.

    ``vjpmaker(argnums, ans, args, kwargs)`` returns a function from the cotangent to a sequence of products,
    one for each of `argnums`. Semantics: ``autograd.extend.defvjp_argnums``.
    """
    rules_of("defvjp_argnums", fun).vjps = vjpmaker
    _set_followed_rules(fun, vjpmaker)


def defvjp_argnum(fun: Callable[..., Any], vjpmaker: Maker) -> None:
    """Set the reverse-mode rule of a primitive: ``vjpmaker(argnum, ans, args, kwargs)`` returns the function
    from the cotangent to the product for one argument. Semantics: ``autograd.extend.defvjp_argnum``."""

    def several(argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        products = [vjpmaker(argnum, ans, args, kwargs) for argnum in argnums]
        return lambda cotangent: [product(cotangent) for product in products]

    rules_of("defvjp_argnum", fun).vjps = several
    _set_followed_rules(fun, vjpmaker)


def defvjp(fun: Callable[..., Any], *vjpmakers: Maker | None, argnums: Sequence[int] | None = None) -> None:
    """Set the reverse-mode rules of a primitive, one per argument, or for those of `argnums`.

    ``vjpmaker(ans, *args, **kwargs)`` returns the function from the cotangent of the result `ans` to its
    product with the Jacobian; None stands for zeros. Semantics: ``autograd.extend.defvjp``.
    """
    rules = rules_of("defvjp", fun)
    by_number = _by_number("defvjp", vjpmakers, argnums)
    name = _name_of(fun)

    def several(argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        products = []
        for argnum in argnums:
            if argnum not in by_number:
                raise GradientError(
                    f"{name}: no rule is defined for argument {argnum}; give one to defvjp, or None for zeros"
                )
            maker = by_number[argnum]
            products.append(None if maker is None else maker(ans, *args, **kwargs))
        return lambda cotangent: [None if product is None else product(cotangent) for product in products]

    rules.vjps = several
    _set_followed_rules(fun, *vjpmakers)


def defjvp_argnums(fun: Callable[..., Any], jvpmaker: Maker) -> None:
    """Set the forward-mode rule of a primitive: ``jvpmaker(argnums, tangents, ans, args, kwargs)`` returns
    the tangent of the result. It is used, for every derivative, where there is no reverse-mode rule; so it
    has to be made of functions that take tensors. Semantics: ``autograd.extend.defjvp_argnums``."""
    rules_of("defjvp_argnums", fun).jvps = jvpmaker
    _set_followed_rules(fun, jvpmaker)


def defjvp_argnum(fun: Callable[..., Any], jvpmaker: Maker) -> None:
    """Set the forward-mode rule of a primitive, one argument at a time:
    ``jvpmaker(argnum, tangent, ans, args, kwargs)`` returns that argument's part of the tangent of the
    result. Semantics: ``autograd.extend.defjvp_argnum``."""

    def several(argnums: Sequence[int], tangents: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        return _sum_of(
            jvpmaker(argnum, tangent, ans, args, kwargs)
            for argnum, tangent in zip(argnums, tangents, strict=True)
        )

    rules_of("defjvp_argnum", fun).jvps = several
    _set_followed_rules(fun, jvpmaker)


def defjvp(
    fun: Callable[..., Any], *jvpmakers: Maker | str | None, argnums: Sequence[int] | None = None
) -> None:
    """Set the forward-mode rules of a primitive, one per argument, or for those of `argnums`.

    ``jvpmaker(tangent, ans, *args, **kwargs)`` returns that argument's part of the tangent of the result.
    ``"same"`` stands for a result that is linear in the argument, None for zeros. Semantics:
    ``autograd.extend.defjvp``.
    """
    rules = rules_of("defjvp", fun)
    by_number = _by_number("defjvp", jvpmakers, argnums)
    name, raw = _name_of(fun), fun.__wrapped__  # type: ignore[attr-defined]

    def several(argnums: Sequence[int], tangents: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        parts = []
        for argnum, tangent in zip(argnums, tangents, strict=True):
            if argnum not in by_number:
                raise GradientError(f"{name}: no rule is defined for argument {argnum}; give one to defjvp")
            maker = by_number[argnum]
            if maker == "same":
                parts.append(raw(*[tangent if i == argnum else x for i, x in enumerate(args)], **kwargs))
            elif callable(maker):
                parts.append(maker(tangent, ans, *args, **kwargs))
        return _sum_of(iter(parts)) if parts else tree_map(np.zeros_like, ans)

    rules.jvps = several
    _set_followed_rules(fun, *[maker for maker in jvpmakers if callable(maker)])


def def_linear(fun: Callable[..., Any]) -> None:
    """Say that a primitive is linear in each of its arguments: ``defjvp`` with ``"same"`` for all of them.
    Semantics: ``autograd.extend.def_linear``."""
    rules_of("def_linear", fun)
    raw = fun.__wrapped__  # type: ignore[attr-defined]

    def product(argnum: int, tangent: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        return raw(*[tangent if i == argnum else x for i, x in enumerate(args)], **kwargs)

    defjvp_argnum(fun, product)


def rules_of(name: str, fun: Any) -> Rules:
    """The rules of a primitive. Raises ArgumentError for other functions."""
    rules = getattr(fun, "rules", None)
    if not isinstance(rules, Rules):
        raise ArgumentError(f"{name}: {_name_of(fun)} is no primitive; decorate it with @primitive")
    return rules


def _by_number(name: str, makers: Sequence[Any], argnums: Sequence[int] | None) -> dict[int, Any]:
    for maker in makers:
        if maker is not None and not callable(maker) and maker != "same":
            raise ArgumentError(f"{name}: expected functions and None, got {maker!r}")
    return dict(zip(count() if argnums is None else argnums, makers))  # noqa: B905  # counts on without end


def _set_followed_rules(fun: Any, *makers: Any) -> None:
    """Tell ``tj.jit`` which functions run where `fun` is differentiated: they may read variables."""
    fun.__rules__ = [maker for maker in makers if maker is not None]


def _sum_of(parts: Iterator[Any]) -> Any:
    total = next(parts)
    for part in parts:
        total = tree_map(lambda x, y: x + y, total, part)
    return total


def _name_of(fun: Any) -> str:
    return str(getattr(fun, "__name__", type(fun).__name__))


# -- calls ----------------------------------------------------------------------------------------


def _is_followed(argument: Any) -> bool:
    kind = type(argument)
    if kind is Tensor:
        return is_followed(argument)
    return kind not in LEAVES and any(
        isinstance(leaf, Tensor) and is_followed(leaf) for leaf in flatten(argument)[0]
    )


class _Call(DerivativeRule):
    """One call of a primitive: a function of its arguments at `followed`."""

    def __init__(
        self,
        call: Callable[..., Any],
        fun: Callable[..., Any],
        rules: Rules,
        followed: list[int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        first: Any,
    ) -> None:
        self.call, self.fun, self.rules, self.followed = call, fun, rules, followed
        self.args, self.kwargs = args, kwargs
        #: The result of the first call of `fun`, if there was one.
        self.first = first

    @property
    def name(self) -> str:  # type: ignore[override]  # which need not be written
        return _name_of(self.fun)

    @property
    def gradients_by(self) -> str:  # type: ignore[override]
        return f"the rules of the primitive {self.name}"

    @property
    def key(self) -> Any:
        return id(self.call)

    def _full(self, args: Sequence[Any]) -> list[Any]:
        full = list(self.args)
        for position, argument in zip(self.followed, args, strict=True):
            full[position] = argument
        return full

    def primal(self, args: tuple[Any, ...]) -> Any:
        if self.first is not None:
            first, self.first = self.first, None
            return first
        return self.fun(*as_arrays(self._full(args)), **self.kwargs)

    def forward(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        if STATE.recording and any(
            isinstance(leaf, Tensor) and leaf._requires_grad for leaf in flatten(args)[0]
        ):
            output = self.call(*self._full(args), **self.kwargs)  # for a derivative of the rules themselves
        else:
            output = self.primal(args)
        return output, (output, args)

    def backward(self, residuals: Any, cotangents: Any) -> Sequence[Any]:
        if self.rules.vjps is None:
            raise GradientError(f"the primitive {self.name} has no rule; define one with defvjp")
        output, args = residuals
        if not STATE.recording:
            output, args, cotangents = as_arrays((output, args, cotangents))
        products = self.rules.vjps(self.followed, output, tuple(self._full(args)), self.kwargs)(cotangents)
        return [of_dtypes(product, argument) for product, argument in zip(products, args, strict=True)]


def _by_tangents(
    call: Callable[..., Any],
    fun: Callable[..., Any],
    jvps: Maker,
    followed: list[int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """A call whose derivative is the transposed forward-mode rule."""

    def full(primals: Sequence[Any]) -> tuple[Any, ...]:
        given = dict(zip(followed, primals, strict=True))
        return tuple([given.get(position, argument) for position, argument in enumerate(args)])

    @functools.wraps(fun)
    def of_followed(*primals: Any) -> Any:
        return fun(*as_arrays(full(primals)), **kwargs)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        output = call(*full(primals), **kwargs)
        return output, jvps(followed, tangents, output, full(primals), kwargs)

    function = custom_jvp(of_followed)
    function.__signature__ = None  # type: ignore[attr-defined]
    function.defjvp(rule)
    return function(*[args[position] for position in followed])
