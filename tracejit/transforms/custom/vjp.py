"""``custom_vjp`` and ``custom_grad``: functions whose reverse-mode derivative the user writes.

`custom_jvp`, where the user writes the forward-mode derivative, has a module of its own.
"""

from __future__ import annotations

import abc
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, ParamSpec, TypeVar

from ...base.errors import GradientError, TracejitError
from ...base.process.locks import computed_once
from ...ir.dtypes import is_differentiable
from ...pytree import flatten
from ...state import STATE
from ...tensors.tensor import Tensor
from .rule import DerivativeRule, call_on_tape, check_leaves, refuse_closed_over
from .traced import call_in_trace

P = ParamSpec("P")
R = TypeVar("R")


def apply_rule(rule: DerivativeRule, args: tuple[Any, ...]) -> Any:
    """Call the function of `rule`, so that its derivative is the rule's."""
    leaves, structure = flatten(args)
    if STATE.recording and any(isinstance(leaf, Tensor) and leaf._requires_grad for leaf in leaves):
        return call_on_tape(rule, leaves, structure)
    traced = STATE.tracer is not None and not STATE.blocked
    if traced and any(isinstance(leaf, Tensor) and is_differentiable(leaf.dtype) for leaf in leaves):
        return call_in_trace(rule, leaves, structure)
    output = rule.primal(args)
    if STATE.recording:
        refuse_closed_over(rule.name, output)
    return output


_WITH_PLACE: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def name_of(fn: Any) -> str:
    """The name of a function in messages."""
    return str(getattr(fn, "__name__", type(fn).__name__))


class CustomFunction(abc.ABC, Generic[P, R]):
    """Base class of ``custom_vjp`` and ``custom_jvp`` functions: the function, and its constant arguments."""

    kind = ""

    def __init__(self, fun: Callable[P, R], nondiff_argnums: int | Sequence[int] = ()) -> None:
        if not callable(fun):
            raise TracejitError(f"{self.kind}: expected a function, got {type(fun).__name__}")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = (
            (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self.__call__, instance)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, so that its derivative is the user's."""
        split = self.split(args, kwargs)
        result: R = apply_rule(self.rule(split), split.differentiated)
        return result

    @property
    def __rules__(self) -> list[Callable[..., Any]]:
        """The functions that run where this one is differentiated. A trace may close over values through
        them."""
        return []

    @abc.abstractmethod
    def rule(self, split: Arguments) -> DerivativeRule:
        """The rule for one call. Raises GradientError where none was set."""

    def __repr__(self) -> str:
        return f"<{self.kind} of {getattr(self.fun, '__qualname__', self.fun)!s}>"

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """The arguments by position, defaults filled in, and which of them are differentiated."""
        name = name_of(self.fun)
        args = self._positional(name, args, kwargs)
        constant = set()
        for number in self.nondiff_argnums:
            if not -len(args) <= number < len(args):
                raise TracejitError(
                    f"{self.kind} of {name}: nondiff_argnums names argument {number}, but it was called with "
                    f"{len(args)} arguments"
                )
            constant.add(number % len(args))
        for position in sorted(constant):
            for leaf in flatten(args[position])[0]:
                if STATE.recording and isinstance(leaf, Tensor) and leaf._requires_grad:
                    raise GradientError(
                        f"{self.kind} of {name}: argument {position} is in nondiff_argnums, but requires "
                        "grad; take it out of nondiff_argnums and return None as its gradient"
                    )
        split = Arguments(args, [i for i in range(len(args)) if i not in constant])
        check_leaves(f"{self.kind} of {name}", split.differentiated, "name others in nondiff_argnums")
        return split

    @computed_once
    def _arity(self) -> int:
        """Number of arguments of the function where they all have places, else -1."""
        try:
            kinds = [parameter.kind for parameter in inspect.signature(self.fun).parameters.values()]
        except ValueError:  # a builtin
            return -1
        return len(kinds) if all(kind in _WITH_PLACE for kind in kinds) else -1

    def _positional(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if not kwargs and len(args) == self._arity:
            return args
        try:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
        except ValueError:  # builtins without a signature
            if kwargs:
                raise TracejitError(f"{self.kind} of {name}: it takes positional arguments only") from None
            return args
        bound.apply_defaults()
        if bound.kwargs:
            raise TracejitError(
                f"{self.kind} of {name}: keyword-only arguments cannot be given to its rule, got "
                f"{sorted(bound.kwargs)}"
            )
        return bound.args


class Arguments:
    """The arguments of one call, and where those are that are differentiated."""

    def __init__(self, args: tuple[Any, ...], positions: list[int]) -> None:
        self.args, self.positions = args, positions

    @property
    def differentiated(self) -> tuple[Any, ...]:
        return tuple([self.args[i] for i in self.positions])

    @property
    def constants(self) -> tuple[Any, ...]:
        return tuple([argument for i, argument in enumerate(self.args) if i not in self.positions])

    def with_(self, differentiated: Sequence[Any]) -> list[Any]:
        """All arguments, with others in place of those that are differentiated."""
        full = list(self.args)
        for position, argument in zip(self.positions, differentiated, strict=True):
            full[position] = argument
        return full


class custom_vjp(CustomFunction[P, R]):
    """Give `fun` a reverse-mode derivative of your own; a decorator, completed by ``defvjp``.

    ``f.defvjp(fwd, bwd)``: ``fwd(*args)`` returns ``(output, residuals)``, and
    ``bwd(*nondiff_args, residuals, cotangent)`` a tuple with a gradient per differentiated argument. Output,
    residuals and arguments are pytrees; a gradient has the structure, shapes and dtypes of its argument, and
    None stands for zeros (and for integers). Arguments named by `nondiff_argnums` are constants of any type,
    which `bwd` gets first.

    `fun` runs where nobody differentiates, `fwd` otherwise. Works eagerly, under ``@tj.jit`` and in every
    nesting of transforms. A gradient's gradient differentiates `fwd` and `bwd` themselves.

    Example:
        >>> import tracejit as tj
        >>> @tj.custom_vjp
        ... def clip_gradient(low, high, x):
        ...     return x
        >>> clip_gradient.defvjp(
        ...     lambda low, high, x: (x, (low, high)),
        ...     lambda bounds, ct: (None, None, tj.clip(ct, *bounds)))
        >>> tj.grad(lambda x: 5 * clip_gradient(-1.0, 1.0, x))(2.0)
        tensor(1.)

    Raises GradientError where there is no rule, where a rule returns another structure, and for gradients
    with respect to what `fun` closes over; ShapeError and DTypeError for gradients of other types. Semantics:
    ``jax.custom_vjp``.
    """

    kind = "custom_vjp"
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the rule; see the class."""
        for function in (fwd, bwd):
            if not callable(function):
                raise TracejitError(
                    f"defvjp of {name_of(self.fun)}: expected functions, got {type(function).__name__}"
                )
        self.fwd, self.bwd = fwd, bwd

    @property
    def __rules__(self) -> list[Callable[..., Any]]:
        return [function for function in (self.fwd, self.bwd) if function is not None]

    def rule(self, split: Arguments) -> DerivativeRule:
        if self.fwd is None or self.bwd is None:
            name = name_of(self.fun)
            raise GradientError(f"custom_vjp of {name}: it has no rule yet; call {name}.defvjp(fwd, bwd)")
        return _Vjp(self, self.fwd, self.bwd, split)


class GivenRule(DerivativeRule):
    """The rule that a user gave for a function `fun`, without the arguments that `split` keeps constant."""

    def __init__(self, function: Any, split: Arguments) -> None:
        self.function, self.split = function, split
        self.name = name_of(function.fun)

    @property
    def key(self) -> Any:
        return id(self.function)

    def primal(self, args: tuple[Any, ...]) -> Any:
        return self.function.fun(*self.split.with_(args))


def checked_pair(source: str, contents: str, returned: Any) -> Any:
    """`returned`, a pair of `contents`. Raises GradientError where the function `source` gave no pair."""
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        got = f"{len(returned)} values" if isinstance(returned, (tuple, list)) else type(returned).__name__
        raise GradientError(f"{source} must return a pair ({contents}), got {got}")
    return returned


class _Vjp(GivenRule):
    def __init__(
        self,
        function: custom_vjp[..., Any],
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        split: Arguments,
    ) -> None:
        super().__init__(function, split)
        self.fwd, self.bwd = fwd, bwd
        self.gradients_by = f"custom_vjp: the bwd {name_of(bwd)} of {self.name}"

    def forward(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        source = f"custom_vjp: the fwd {name_of(self.fwd)} of {self.name}"
        output, residuals = checked_pair(source, "output, residuals", self.fwd(*self.split.with_(args)))
        return output, residuals

    def backward(self, residuals: Any, cotangents: Any) -> Sequence[Any]:
        return self.bwd(*self.split.constants, residuals, cotangents)  # type: ignore[no-any-return]


def custom_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function like `f` that brings its own gradient.

    ``f(*xs, save)`` returns ``(value, grad_fn)``, and may call ``save([...])`` with tensors for `grad_fn`.
    ``grad_fn(ct, saved)`` returns the gradients, a list or tuple with one for each of `xs`, or just the
    gradient where there is one argument. Use `saved` rather than closing over tensors: what is saved is
    checked for writes in place.

    Example:
        >>> import tracejit as tj
        >>> def square(x, save):
        ...     save([x])
        ...     return x * x, lambda ct, saved: ct * tj.abs(saved[0])
        >>> tj.grad(tj.custom_grad(square))(-3.0)
        tensor(3.)

    Raises GradientError where `f` does not return a pair, or where gradients do not fit the arguments.
    Semantics: TensorFlow.js's ``tf.customGrad``.
    """
    if not callable(f):
        raise TracejitError(f"custom_grad: expected a function, got {type(f).__name__}")
    name = name_of(f)

    @functools.wraps(f)
    def wrapped(*xs: Any) -> Any:
        check_leaves(f"custom_grad of {name}", xs, "bind other values with functools.partial")
        return apply_rule(_Grad(f, name, len(xs)), xs)

    return wrapped


class _Grad(DerivativeRule):
    def __init__(self, f: Callable[..., Any], name: str, count: int) -> None:
        self.f, self.name, self.count = f, name, count
        self.gradients_by = f"custom_grad: the gradient function of {name}"

    @property
    def key(self) -> Any:
        return id(self.f)

    def primal(self, args: tuple[Any, ...]) -> Any:
        return self.forward(args)[0]

    def forward(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        saved: list[Any] = []

        def save(*tensors: Any) -> None:
            for tensor in tensors:
                saved.extend(tensor if isinstance(tensor, (list, tuple)) else [tensor])

        pair = self.f(*args, save)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not callable(pair[1]):
            raise GradientError(
                f"custom_grad: {self.name} must return a pair (value, gradient function), got "
                f"{type(pair).__name__}"
            )
        return pair[0], (saved, pair[1])

    def backward(self, residuals: Any, cotangents: Any) -> Sequence[Any]:
        saved, grad_fn = residuals
        gradients = grad_fn(cotangents, saved)
        several = isinstance(gradients, (list, tuple)) and len(gradients) == self.count
        return gradients if several or self.count != 1 else (gradients,)
