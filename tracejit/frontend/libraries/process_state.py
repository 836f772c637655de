"""State of the process, of its threads and of libraries, which functions read that are not followed.

Each part is read whole, before and after: where it has changed, what was traced with it is traced again.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, Final

import numpy as np

from ...base.loading import Loaded, load_module
from ..usage import Uses
from ..values import Place, Source
from .origins import is_standard


def _numpy_errors() -> Any:
    return np.geterr(), np.geterrcall(), np.getbufsize()


def _decimal_context() -> Any:
    context = load_module("decimal").getcontext()
    flags = [dict(table) for table in (context.traps, context.flags)]
    return context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp, flags


def _decimal_arithmetic() -> Any:
    return (*_decimal_context()[:-1], dict(load_module("decimal").getcontext().traps))


def _logging() -> Any:
    logging = load_module("logging")
    loggers = list(logging.root.manager.loggerDict.items())
    levels = [(name, getattr(logger, "level", 0)) for name, logger in loggers]
    set_levels = [(name, level) for name, level in levels if level]
    return set_levels, logging.root.level, logging.root.manager.disable


def _locale() -> Any:
    locale = load_module("locale")
    return locale.setlocale(locale.LC_ALL), locale.localeconv()


def _temporary_files() -> Any:
    module = sys.modules.get("tempfile")  # whoever asks has loaded it
    return getattr(module, "tempdir", None), getattr(module, "template", None)


#: Functions that read each part of the state, by the name that messages give it.
STATES: Final[dict[str, Callable[[], Any]]] = {
    "the environment": lambda: dict(os.environ),
    "the working directory": os.getcwd,
    "the folder for temporary files": _temporary_files,
    "the time zone": lambda: (os.environ.get("TZ"), time.tzname, time.timezone),
    "the locale": _locale,
    "the limits of the interpreter": lambda: (
        sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits(),
    ),
    "the threads": lambda: [(thread.ident, thread.name) for thread in threading.enumerate()],
    "the levels of loggers": _logging,
    "the names of levels": lambda: [load_module("logging").getLevelName(level) for level in range(101)],
    "the context of decimal": _decimal_context,
    "the arithmetic of decimal": _decimal_arithmetic,
    "the error state of NumPy": _numpy_errors,
    "the print options of NumPy": np.get_printoptions,
    "the state of random": lambda: load_module("random").getstate(),
    "the state of np.random": lambda: repr(np.random.get_state()),
}  # fmt: skip

#: Functions in C and of packages whose results depend on a part of the state.
_READERS: Final = {
    f"{module}:{name}": part
    for part, module, names in (
        ("the working directory", "os", "getcwdb"),
        ("the time zone", "time", "localtime mktime strftime ctime"),
        ("the time zone", "datetime", "datetime.fromtimestamp date.fromtimestamp"),
        ("the levels of loggers", "logging", "Logger.isEnabledFor Logger.getEffectiveLevel"),
        ("the locale", "locale", "setlocale localeconv"),
        ("the limits of the interpreter", "sys", "getswitchinterval get_int_max_str_digits"),
        ("the threads", "threading", "enumerate active_count current_thread"),
        ("the context of decimal", "decimal", "getcontext localcontext"),
        ("the error state of NumPy", "numpy", "seterr geterrcall seterrcall getbufsize setbufsize"),
        ("the print options of NumPy", "numpy", "array2string array_str array_repr"),
        ("the state of random", "random", "getstate"),
        ("the state of np.random", "numpy.random", "get_state"),
    )
    for name in names.split()
}
_READING_FUNCTIONS: Final = Loaded(*_READERS)
#: Names by which functions of Python's own modules read a part of the state.
_NAMES: Final = {
    "environ": "the environment", "environb": "the environment", "getenv": "the environment",
    "getcwd": "the working directory", "getcwdb": "the working directory", "cwd": "the working directory",
    "tempdir": "the folder for temporary files", "template": "the folder for temporary files",
    "localtime": "the time zone", "tzname": "the time zone",
    "localeconv": "the locale", "_setlocale": "the locale",
    "isEnabledFor": "the levels of loggers", "getEffectiveLevel": "the levels of loggers",
    "_levelToName": "the names of levels", "_nameToLevel": "the names of levels",
}  # fmt: skip
#: Greatest depth of calls within Python's own modules that are searched for such names.
_DEEPEST: Final = 3


def parts_read(function: Any) -> frozenset[str]:
    """The parts of the state that `function`, which is not followed, reads."""
    try:
        name = _READING_FUNCTIONS.name_of(function)
    except TypeError:  # a callable that cannot be a key
        return frozenset()
    if name is not None:
        return frozenset((_READERS[name],))
    if isinstance(function, FunctionType) and is_standard(function.__globals__.get("__name__")):
        return _parts_named(function)
    return frozenset()


@functools.lru_cache(maxsize=512)
def _parts_named(function: FunctionType) -> frozenset[str]:
    parts: set[str] = set()
    seen: set[CodeType] = set()
    pending = [(function, 0)]
    while pending:
        current, depth = pending.pop()
        if current.__code__ in seen:
            continue
        seen.add(current.__code__)
        for name in _names_in(current.__code__):
            if name in _NAMES:
                parts.add(_NAMES[name])
            if depth < _DEEPEST:
                pending += [(called, depth + 1) for called in _functions_at(current, name)]
    return frozenset(parts)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _functions_at(function: FunctionType, name: str) -> list[FunctionType]:
    """The functions that `name` may be in the code of `function`: a global or one of ``os.path``."""
    holders = [function.__globals__, vars(os.path)]
    values = [holder[name] for holder in holders if name in holder and name not in vars(builtins)]
    return [value for value in values if isinstance(value, FunctionType)]


class Snapshot:
    """A part of the process's state since the first look at it."""

    __slots__ = ("_read", "_seen", "_value")

    def __init__(self, part: str) -> None:
        self._read = STATES[part]
        self._seen = False
        self._value: Any = None

    @property
    def changed(self) -> bool:
        """Whether the state is another one than at the first look."""
        value = self._read()
        if not self._seen:
            self._seen, self._value = True, value
        return bool(value != self._value)


class ProcessState:
    """Watches the parts of the process's state that a function reads, and notes them in `uses`."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        self._watched: set[str] = set()

    def watch(self, part: str) -> None:
        """The function depends on a part of the process's state (one of `STATES`)."""
        if part not in self._watched:
            self._watched.add(part)
            probe = Place(Source("object", Snapshot(part), part), None)
            self.uses.kept.append(probe.attribute("changed", False))

    def watch_parts(self, function: Any) -> None:
        """Watch the parts of the process's state that `function` reads."""
        self.note_errors(function)
        for part in parts_read(function):
            self.watch(part)

    def note_errors(self, function: Any) -> None:
        """Note it where `function`, or an object of that class, sets the error state of NumPy."""
        self.uses.sets_errors |= function is np.seterr or (
            isinstance(function, type) and issubclass(function, np.errstate)
        )
