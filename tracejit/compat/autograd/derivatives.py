"""``grad``, ``value_and_grad`` and their relatives. Semantics: HIPS autograd."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from ...array.numerical.reals import real
from ...array.operands import as_tensor
from ...base.errors import ArgumentError
from ...ir.dtypes import is_complex
from ...pytree import flatten
from ...tensors.tensor import Tensor
from ...transforms.grad import scalar_result, value_and_gradient
from ...transforms.grad import value_and_grad as _value_and_gradient
from ...transforms.jacobians import elementwise_grad as _elementwise_gradient
from .arrays import as_arrays, as_given, holds_tensors

ArgumentNumbers = int | Sequence[int]


def checked_argnum(name: str, argnum: Any) -> int | tuple[int, ...]:
    """`argnum` as an integer or a tuple of them. Raises ArgumentError for anything else."""
    if type(argnum) is int:
        return argnum
    if isinstance(argnum, (tuple, list)) and all(type(number) is int for number in argnum):
        return tuple(argnum)
    raise ArgumentError(f"{name}: argnum must be an integer or a tuple of integers, got {argnum!r}")


def chosen(argnum: int | tuple[int, ...], args: Sequence[Any]) -> Any:
    """The argument that `argnum` names; a tuple of them where it is a tuple."""
    return args[argnum] if isinstance(argnum, int) else tuple([args[number] for number in argnum])


def unary(
    name: str, fun: Callable[..., Any], argnum: int | tuple[int, ...], args: Sequence[Any], kwargs: Any
) -> tuple[Callable[[Any], Any], Any]:
    """`fun` as a function of what `argnum` names, and that at `args`. Raises ArgumentError where an argument
    is missing."""
    for number in (argnum,) if isinstance(argnum, int) else argnum:
        if not -len(args) <= number < len(args):
            raise ArgumentError(
                f"{name}: argnum is {number}, but the function was called with {len(args)} arguments"
            )

    @functools.wraps(fun)
    def of_chosen(x: Any) -> Any:
        full = list(args)
        if isinstance(argnum, int):
            full[argnum] = x
        else:
            for number, value in zip(argnum, x, strict=True):
                full[number] = value
        return fun(*full, **kwargs)

    return of_chosen, chosen(argnum, args)


def scalar_of(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun`, whose result of one element has rank 0: a gradient is taken of any such array."""

    @functools.wraps(fun)
    def scalar(*args: Any, **kwargs: Any) -> Any:
        value = fun(*args, **kwargs)
        if isinstance(value, Tensor) and value.ndim and value.size == 1:
            return value.reshape(())
        return value

    return scalar


def grad(fun: Callable[..., Any], argnum: ArgumentNumbers = 0) -> Callable[..., Any]:
    """A function that returns the gradient of `fun` by the argument that `argnum` names.

    Arguments may be numbers, arrays and containers of these; the gradient has the same structure, a tuple
    where `argnum` is a tuple. `fun` returns one element, of any rank.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import grad
        >>> grad(lambda x: np.sum(np.sin(x)))(np.array([0.0, np.pi]))
        array([ 1., -1.])

    Raises GradientError where `fun` returns more than one element, DTypeError for integers. Semantics:
    ``autograd.grad``.
    """
    number = checked_argnum("grad", argnum)
    both = value_and_gradient(fun, number, False, False, _one_element, with_value=False)

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return as_given(both(*args, **kwargs)[1], chosen(number, args))

    return gradient


def _one_element(label: str, value: Any, holomorphic: bool) -> Tensor:
    return scalar_result(label, scalar(value), holomorphic)


def value_and_grad(fun: Callable[..., Any], argnum: ArgumentNumbers = 0) -> Callable[..., Any]:
    """A function that returns ``(fun(*args), gradient)``, as SciPy's minimizers take it with ``jac=True``.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import value_and_grad
        >>> value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
        (np.float64(5.0), array([2., 4.]))

    Raises as `grad`. Semantics: ``autograd.value_and_grad``.
    """
    number = checked_argnum("value_and_grad", argnum)

    @functools.wraps(fun)
    def twice(*args: Any, **kwargs: Any) -> Any:
        value = fun(*args, **kwargs)
        return value, value

    both = _with_aux(twice, number)

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return value, gradient

    return value_and_gradient


def scalar(value: Any) -> Any:
    """A tensor of one element with rank 0; other values as they are."""
    return value.reshape(()) if isinstance(value, Tensor) and value.ndim and value.size == 1 else value


def _value_given(value: Any, argument: Any) -> Any:
    """The function's result, with arrays in place of tensors unless the argument holds tensors."""
    return value if holds_tensors(argument) else as_arrays(value)


def grad_and_aux(fun: Callable[..., Any], argnum: ArgumentNumbers = 0) -> Callable[..., Any]:
    """A function that returns the gradient of the first of two results of `fun`, and the second.

    Example:
        >>> from tracejit.compat.autograd import grad_and_aux
        >>> grad_and_aux(lambda x: (x**2, 2 * x))(3.0)
        (np.float64(6.0), np.float64(6.0))

    Raises as `grad`. Semantics: ``autograd.grad_and_aux``.
    """
    return _with_aux(fun, checked_argnum("grad_and_aux", argnum))


def _with_aux(fun: Callable[..., Any], number: int | tuple[int, ...]) -> Callable[..., Any]:
    """The gradient of the first of two results of `fun` by the arguments `number`, and the second."""

    @functools.wraps(fun)
    def scalar_and_aux(*args: Any, **kwargs: Any) -> Any:
        value, aux = fun(*args, **kwargs)
        return scalar(value), aux

    both = _value_and_gradient(scalar_and_aux, number, has_aux=True)

    @functools.wraps(fun)
    def gradient_and_aux(*args: Any, **kwargs: Any) -> Any:
        (_, aux), gradient = both(*args, **kwargs)
        argument = chosen(number, args)
        return as_given(gradient, argument), _value_given(aux, argument)

    return gradient_and_aux


def elementwise_grad(fun: Callable[..., Any], argnum: ArgumentNumbers = 0) -> Callable[..., Any]:
    """A function that returns the gradient of the sum of the elements that `fun` returns.

    That is the derivative of each element by its argument, for a function that works element by element.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import elementwise_grad
        >>> elementwise_grad(np.tanh)(np.array([0.0, 1.0]))
        array([1.        , 0.41997434])

    Raises DTypeError for integers and complex results. Semantics: ``autograd.elementwise_grad``.
    """
    number = checked_argnum("elementwise_grad", argnum)
    of_sum = _elementwise_gradient(fun, number)  # type: ignore[arg-type]  # which takes tuples as `grad` does

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return as_given(of_sum(*args, **kwargs), chosen(number, args))

    return gradient


def holomorphic_grad(fun: Callable[..., Any], argnum: ArgumentNumbers = 0) -> Callable[..., Any]:
    """A function that returns the complex derivative of `fun`: the gradient of its real part.

    Example:
        >>> from tracejit.compat.autograd import holomorphic_grad
        >>> holomorphic_grad(lambda z: z**2)(1.0 + 1.0j)
        np.complex128(2+2j)

    Warns of arguments that are not complex; raises as `grad`. Semantics: ``autograd.holomorphic_grad``.
    """
    number = checked_argnum("holomorphic_grad", argnum)

    @functools.wraps(fun)
    def real_part(*args: Any, **kwargs: Any) -> Any:
        return real(fun(*args, **kwargs))

    of_real_part = grad(real_part, number)

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        leaves = flatten(chosen(number, args))[0]
        if not all(is_complex(as_tensor(leaf).dtype) for leaf in leaves):
            warnings.warn("the argument of holomorphic_grad is not complex", stacklevel=2)
        return of_real_part(*args, **kwargs)

    return gradient


def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """The `grad` by the positional argument of this name.

    Example:
        >>> from tracejit.compat.autograd import grad_named
        >>> grad_named(lambda x, y: x * y**2, "y")(3.0, 2.0)
        np.float64(12.0)

    Raises ArgumentError where there is no such argument. Semantics: ``autograd.grad_named``.
    """
    names = inspect.getfullargspec(fun).args
    if argname not in names:
        raise ArgumentError(f"grad_named: the function has no argument {argname!r}, it has {names}")
    return grad(fun, names.index(argname))


def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., OrderedDict[str, Any]]:
    """A function that returns the gradients by all arguments, by name: an OrderedDict.

    Example:
        >>> from tracejit.compat.autograd import multigrad_dict
        >>> multigrad_dict(lambda x, y=3.0: x * y)(2.0)["x"]
        np.float64(3.0)

    Raises as `grad`. Semantics: ``autograd.multigrad_dict``.
    """
    signature = inspect.signature(fun)

    @functools.wraps(fun)
    def of_arguments(arguments: dict[str, Any]) -> Any:
        bound = signature.bind_partial()
        bound.arguments.update(arguments)
        return fun(*bound.args, **bound.kwargs)

    of_dict = grad(of_arguments)

    @functools.wraps(fun)
    def gradients(*args: Any, **kwargs: Any) -> OrderedDict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        by_name = of_dict(dict(bound.arguments))
        return OrderedDict((name, by_name[name]) for name in bound.arguments)

    return gradients
