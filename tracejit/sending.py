"""Functions that this library makes of a user's, in pickles: what goes to the processes of multiprocessing,
joblib, dask and their like.

Pickles name functions, or (cloudpickle's, where a name would not be found again) hold their code. A
`Sendable` leaves that choice to the pickler: it is written as two plain functions that are its attributes.
Those are found by name, ``module.f._place``, or are written as code with a closure, which has what to make it
of.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any, Final, TypeAlias

from .base.loading import load_module
from .base.process.finalization import WeakTable
from .runtime.tiers import BACKGROUND

_Making: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]

#: The file name of code that cloudpickle 3.1.3 and later write.
_NO_FILE: Final = "<dynamic-code>"
_EMPTY: Final = CellType()
#: A number of arguments beyond that of any callback in Fortran.
_MAX_ARGUMENTS: Final = 99
#: Functions of `Sendable._place`, and the object that each stands for.
_OWNERS: Final[WeakTable[FunctionType, weakref.ref[Any]]] = WeakTable()


class Sendable:
    """A callable object with a function's name, which pickles by that name or by what it is made of.

    Its class defines ``_making``: the positional and the named arguments that make an equal object."""

    __slots__ = ()
    _making: Callable[[], _Making]
    __call__: Callable[..., Any]

    def __copy__(self) -> Any:
        """A copy is the object itself, as Python's functions are copied."""
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        BACKGROUND.settle()  # so that whoever gets it finds its machine code on disk
        name = _global_name(self)
        if name is None:
            return _made, (type(self), *_with_files(self._making()))
        if protocol < 4:  # which has no names of attributes
            return name[1]
        place, parts = self._place, self._parts
        function: Any
        for function in (place, parts):
            function.__module__, function.__qualname__ = name[0], f"{name[1]}.{function.__name__}"
        return _found, (place, type(self)), parts

    def __setstate__(self, parts: Callable[[], Any]) -> None:
        if self.__dict__:
            return  # it was found by its name
        positional, named = content = _in_files(*parts())
        initialize: Any = self.__init__  # type: ignore[misc]
        initialize(*positional, **named)
        before: Any = load_module(".arrivals", __package__).arrived(self, content)
        if before is not self:  # which stays what is called, and holds what it has compiled
            object.__setattr__(self, "__dict__", before.__dict__)
            self.__call__ = before

    # Other libraries count parameters by these. There is no ``__kwdefaults__``: what has that, too, is a
    # function to `inspect`, and would be a coroutine function to it where the wrapped one is.
    @property
    def __code__(self) -> Any:
        """The code of the wrapped function. Raises AttributeError where that has none."""
        return self.__wrapped__.__code__  # type: ignore[attr-defined]

    @property
    def __defaults__(self) -> Any:
        """The defaults of the wrapped function's parameters. Raises AttributeError where that has none."""
        return self.__wrapped__.__defaults__  # type: ignore[attr-defined]

    @property
    def im_func(self) -> Any:
        """The parameters as f2py counts them: whatever is no function is a method to it, with one
        parameter for the instance. Raises AttributeError where the wrapped function has no code."""
        code, defaults = self.__code__, tuple(self.__defaults__ or ())
        count = code.co_argcount + (not isinstance(self.__wrapped__, MethodType))  # type: ignore[attr-defined]
        if code.co_flags & inspect.CO_VARARGS:  # f2py would hand over none of those
            count, defaults = count + _MAX_ARGUMENTS, defaults + (None,) * _MAX_ARGUMENTS
        return SimpleNamespace(__code__=SimpleNamespace(co_argcount=count), __defaults__=defaults)

    @property
    def _place(self) -> FunctionType:
        """A function that stands for this object where it is found by name."""
        place: FunctionType | None = self.__dict__.get("_kept_place")
        if place is None:
            place = self.__dict__["_kept_place"] = FunctionType(_nothing.__code__, {}, "_place")
            _OWNERS[place] = weakref.ref(self)
        return place

    @property
    def _parts(self) -> Any:
        """A function that returns what makes an equal object."""
        parts = self.__dict__.get("_kept_parts")
        if parts is None:
            parts = self.__dict__["_kept_parts"] = _returning(_with_files(self._making()))
        return parts


def _nothing() -> None:
    pass


def _returning(value: Any) -> Any:
    def _parts() -> Any:
        return value

    return _parts


def _made(kind: Callable[..., Any], *parts: Any) -> Any:
    positional, named = _in_files(*parts)
    return kind(*positional, **named)


def _with_files(making: _Making) -> tuple[tuple[Any, ...], dict[str, Any], tuple[str, ...]]:
    """The arguments that make a function, and the files in which functions among them were written."""
    positional, named = making
    return positional, named, tuple([_code_of(part).co_filename for part in positional if _code_of(part)])


def _in_files(positional: tuple[Any, ...], named: dict[str, Any], files: tuple[str, ...] = ()) -> _Making:
    """The arguments that make a function, whose code says again where it was written, so that its source is
    found: cloudpickle leaves that out, of what it reads by name as well."""
    functions = [part for part in positional if _code_of(part)]
    for function, file in zip(functions, files, strict=False):
        names: list[Any] = [function]
        while names:
            each = names.pop()
            code = _code_of(each)
            if code is not None and code.co_filename == _NO_FILE:
                each.__code__ = _in_file(code, file)
                names += each.__globals__.values()
                names += [cell.cell_contents for cell in each.__closure__ or () if cell != _EMPTY]
    return positional, named


def _code_of(part: Any) -> Any:
    return part.__code__ if isinstance(part, FunctionType) else None


def _in_file(code: CodeType, file: str) -> CodeType:
    constants = [_in_file(part, file) if isinstance(part, CodeType) else part for part in code.co_consts]
    return code.replace(co_filename=file, co_consts=tuple(constants))


def _found(place: FunctionType, kind: type[Any]) -> Any:
    """The object of `kind` that is here by the name of `place`; else one that `__setstate__` fills."""
    reference = _OWNERS.get(place)
    here = None if reference is None else reference()
    return object.__new__(kind) if here is None else here


def _global_name(function: Any) -> tuple[str, str] | None:
    """Module and name that lead to `function`, None where none do."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None)
    value: Any = sys.modules.get(module) if isinstance(module, str) else None
    if isinstance(name, str):
        for part in name.split("."):
            value = getattr(value, part, None)
        if value is function:
            return str(module), name
    names = vars(sys.modules[module]) if module in sys.modules else {}
    return next(((str(module), name) for name, value in list(names.items()) if value is function), None)
