"""Functions that targets such as ``train.py:loss`` name."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...base.errors import TracejitError
from ...base.user_code import is_user_file
from .errors import TargetError, UsageError


def load_function(target: str) -> Callable[..., Any]:
    """The function that ``file.py:name`` or ``package.module:name`` names.

    Raises UsageError where there is none, TargetError where its module cannot be imported.
    """
    place, _, name = target.rpartition(":")
    if target.endswith(".py"):
        own = _functions(_load_file(Path(target)))
        some = ", ".join(f"{target}:{text}" for text in own[:8])
        raise UsageError(f"which function of {target}? {some or 'it has none'}")
    if not place or not name:
        raise UsageError(f"{target!r}: expected FILE.py:FUNCTION, package.module:FUNCTION or FILE.tir")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
        if value is None:
            names = ", ".join(_functions(module)) or "no functions"
            raise UsageError(f"{place} has no {name!r}; it has {names}")
    if not callable(value):
        raise UsageError(f"{target} is of type {type(value).__name__}, not a function")
    function: Callable[..., Any] = value
    return function


def users_code() -> contextlib.redirect_stdout[Any]:
    """A context in which the user's code runs: what it prints goes to standard error, beside the answer."""
    return contextlib.redirect_stdout(sys.stderr)


def explained(error: BaseException) -> str:
    """`error` in a line: what it says, and the innermost line of the user's that was running."""
    what = str(error) if isinstance(error, TracejitError) else f"{type(error).__name__}: {error}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_user_file(frame.filename):
            return f", at {frame.filename}:{frame.lineno}: {what}"
    return f": {what}"


def _functions(module: Any) -> list[str]:
    """The names of the functions and classes that `module` defines."""
    return sorted(
        key
        for key, value in vars(module).items()
        if callable(value) and not key.startswith("_") and _is_own(value, module)
    )


def _is_own(value: Any, module: Any) -> bool:
    """Whether `value` was defined in `module` rather than imported there."""
    return bool(getattr(value, "__module__", module.__name__) == module.__name__)


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    return _loaded(path, path.resolve(), path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _loaded(path: Path, resolved: Path, changed: int) -> Any:
    """The module of a file, run once: TARGET and --args-from may be in one, and it may register ops."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.parent))
    try:
        with users_code():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise TargetError(f"{path} could not be imported{_cause(error)}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _load_module(name: str) -> Any:
    sys.path.insert(0, "")
    try:
        with users_code():
            return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            raise UsageError(f"there is no module {name}") from error
        raise TargetError(f"module {name} could not be imported{_cause(error)}") from error
    finally:
        sys.path.remove("")


def _cause(error: BaseException) -> str:
    """The reason why an import failed. A syntax error names its own line."""
    return f": {type(error).__name__}: {error}" if isinstance(error, SyntaxError) else explained(error)
