"""Errors of public functions name the function and the argument.

Public functions are called through `checked`. Where an error leaves one, and only then, its arguments are
compared with what its parameters take (`wrong_arguments`): the error then says which one is wrong, what was
expected and what came. What user code raised goes through as it is; so do AttributeError, KeyError and their
like where every argument is of its kind, since those are mistakes of this package.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, TracebackType
from typing import Any, Final, TypeVar, cast

from ..base.errors import (
    ArgumentError,
    CompileError,
    ConcretizationError,
    DomainError,
    NestingError,
    NonFiniteError,
    OutOfBoundsError,
    ParseError,
    TracejitError,
    VerificationError,
)
from ..base.loading import load_module
from ..base.user_code import is_user_file
from ..provided import MASKED_CALLS, NUMPY_SIGNATURES


class SelectionError(ConcretizationError):
    """An operation needs the number of elements that a traced mask selects. Where a `checked` function raises
    this, `call_of_selections` calls it in a way that does not need that number, if there is one."""


F = TypeVar("F", bound=Callable[..., Any])

#: Set on functions whose errors are complete without `checked`.
_MARK: Final = "_names_arguments"
#: The error classes that replace Python's and NumPy's.
_OURS: Final[tuple[tuple[type[Exception], type[TracejitError]], ...]] = (
    (TypeError, ArgumentError),
    ((OverflowError, ValueError, ZeroDivisionError), DomainError),  # type: ignore[assignment]
    (IndexError, OutOfBoundsError),
)
#: Further errors that a wrong argument may cause. Without a wrong argument they are bugs of this library.
_FOLLOW: Final = (AttributeError, KeyError, NotImplementedError)
#: Errors about a program or its values rather than about an argument.
_REPORTS: Final = (AssertionError, CompileError, NonFiniteError, ParseError, VerificationError)
_STANDARD_LIBRARY: Final = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def checked(name: str, function: F) -> F:
    """`function`, whose errors call it `name` and name the argument that is wrong."""
    if hasattr(function, _MARK):
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            instead = None
            if type(error) is TypeError:
                instead = _with_other_parameters(name, function, call, args, kwargs)
            elif isinstance(error, SelectionError) or hasattr(args[0] if args else None, "apply_selected"):
                instead = call_of_selections(name, function, args, kwargs)
            if instead is None:
                explain(name, function, args, kwargs, error)
                raise
        return instead()

    functools.update_wrapper(call, function)
    if name in _MAKERS:
        setattr(call, "__signature__", _with_device(function))  # noqa: B010
    return checks_itself(cast(F, call))


def call_of_selections(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Callable[[], Any] | None:
    """The call of `function` with arguments that a traced mask selects, None where it has no meaning."""
    return MASKED_CALLS().call_of_selections(name, function, args, kwargs)


def _with_device(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function that makes arrays, to which the Array API adds ``device=None``."""
    signature = inspect.signature(function)
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
    return signature.replace(parameters=[*signature.parameters.values(), device])


#: PyTorch's names of NumPy's parameters, and HIPS autograd's of JAX's; a function's own come first.
_SPELLINGS: Final = {
    "dim": ("axis",), "keepdim": ("keepdims",), "dims": ("axes", "axis"), "input": ("x",), "other": ("y",),
    "argnum": ("argnums",),
}  # fmt: skip


#: Functions that make arrays: they take the name of the only device there is.
_MAKERS: Final = (
    "arange", "asarray", "astype", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones",
    "ones_like", "tensor", "zeros", "zeros_like",
)  # fmt: skip


def _with_other_parameters(
    name: str,
    function: Callable[..., Any],
    call: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Callable[[], Any] | None:
    """The call of `function`, which is `checked` as `call`, where `args` and `kwargs` are not of its own
    parameters but of PyTorch's or NumPy's; None where they are neither."""
    respelled = _respelled(name, function, kwargs)
    if respelled is not None:
        return functools.partial(call, *args, **respelled)
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return NUMPY_SIGNATURES().as_numpy_call(name, call, args, kwargs)
    return None


def _respelled(name: str, function: Callable[..., Any], keywords: dict[str, Any]) -> dict[str, Any] | None:
    """`keywords` under the names that `function` has for them; None where there is nothing to change.

    Raises DomainError for a device that there is not."""
    parameters = inspect.signature(function).parameters
    if "device" in keywords and "device" not in parameters and name in _MAKERS:
        device = keywords["device"]
        if device is not None and not (isinstance(device, str) and device == "cpu"):
            raise DomainError(
                f"{name}: device must be 'cpu', the only one there is; got {reprlib.repr(device)}"
            )
        return {key: value for key, value in keywords.items() if key != "device"}
    free = parameters.keys() - keywords.keys()
    respelled = {
        name: next(own for own in _SPELLINGS[name] if own in free)
        for name in keywords
        if name not in parameters and not free.isdisjoint(_SPELLINGS.get(name, ()))
    }
    return {respelled.get(name, name): value for name, value in keywords.items()} if respelled else None


def named(name: str) -> Callable[[F], F]:
    """Decorator: `checked` as `name`."""
    return functools.partial(checked, name)


def checks_itself(function: F) -> F:
    """Decorator: what `function` calls is `checked`, so that it need not be."""
    setattr(function, _MARK, True)
    return function


def check_public(namespace: dict[str, Any], names: Iterable[str], prefix: str = "") -> None:
    """Put `checked` functions in place of those in `namespace`, and check the constructors of its classes.

    That is a module's. Messages call them `prefix` and the name. The package calls the functions as they are.
    """
    for name in names:
        value: Any = namespace.get(name)
        if isinstance(value, type):
            init: Any = getattr(value, "__init__")  # noqa: B009
            init = getattr(init, "__wrapped__", init)
            if hasattr(init, "__code__") and not issubclass(value, BaseException):
                setattr(value, "__init__", _checked_init(prefix + name, value, init))  # noqa: B010
        elif isinstance(value, FunctionType) and not hasattr(value, _MARK):
            function = namespace[name] = checked(prefix + name, value)
            function.__module__ = namespace["__name__"]  # where pickle looks for it


def _checked_init(name: str, cls: type, init: Callable[..., None]) -> Callable[..., None]:
    """The constructor `init` of `cls`, `checked` where it is not called by that of a subclass."""

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except Exception as error:
            if type(self) is cls:
                explain(name, init, (self, *args), kwargs, error)
            raise

    return functools.update_wrapper(construct, init)


def explain(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    error: Exception,
    op: str = "",
) -> None:
    """Raise the error that says what `error` leaves out, or complete it where it is ours.

    Messages that call the function `op`, the name of what it runs, call it `name` then.
    """
    if isinstance(error, _REPORTS) or _is_users(error):
        return
    # nothing that a program without mistakes needs
    wrong_arguments = load_module(".wrong_arguments", __package__)
    arguments = wrong_arguments.bound_arguments(function, args, kwargs)
    if arguments is None:  # Python's own message names the function and its parameter
        return
    wrong = wrong_arguments.wrong_argument(name, function, arguments)
    if wrong is None:
        wrong = wrong_arguments.arguments_behind(error, function, arguments)
    if isinstance(error, TracejitError):
        _complete(name, wrong, error, op)
    elif isinstance(error, RecursionError):
        raise NestingError(f"{name}: an argument is nested too deep, or contains itself") from error
    elif wrong is not None and isinstance(
        error, (*_FOLLOW, TypeError, ValueError, ArithmeticError, IndexError, RuntimeError)
    ):
        raise wrong.error(name) from error
    else:
        for classes, ours in _OURS:
            if isinstance(error, classes):
                raise ours(f"{name}: {error} ({wrong_arguments.listed(arguments)})") from error


def _is_users(error: Exception) -> bool:
    """Whether code of the user's, called by a public function, raised `error`."""
    place: TracebackType | None = error.__traceback__
    assert place is not None
    place = place.tb_next  # the first is the wrapper
    while place is not None:
        file = place.tb_frame.f_code.co_filename
        if is_user_file(file) and (not file.startswith(_STANDARD_LIBRARY) or "-packages" in file):
            return True
        place = place.tb_next
    return False


def _mentions(parameter: str, text: str) -> bool:
    return re.search(rf"\b{parameter}\b", text) is not None


def _complete(name: str, wrong: Any, error: TracejitError, op: str) -> None:
    """Complete the message of `error` with the name of the function, and of an argument of a wrong kind."""
    text = str(error)
    for inner in (op, name.rpartition(".")[2]):
        if text.startswith(f"{inner}: "):
            text = f"{name}: {text.removeprefix(f'{inner}: ')}"
    own = f"{name}: "
    if wrong is not None and isinstance(error, TypeError) and not _mentions(wrong.parameter, text):
        text = f"argument {wrong.parameter}: {text.removeprefix(own)}"
    if not text.startswith(own):
        text = own + text
    error.args = (text, *error.args[1:])
