"""Finds the function that a target such as ``train.py:loss`` names, and runs programs as Python does."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ...base.errors import TracejitError
from ...base.user_code import is_user_file
from .documents import is_document
from .errors import FAILED, OK, TargetError, UsageError

#: The exit code of a program that was stopped with Ctrl-C, as shells have it.
INTERRUPTED: Final = 130


def is_program(target: str) -> bool:
    """Whether `target` names a program, rather than a function of a file or a module."""
    return not is_document(target) and (Path(target).is_file() or ":" not in target)


def run_script(script: str, arguments: Sequence[str], *, module: bool = False) -> int:
    """Run a program as ``__main__``; returns its exit code. An exception of its own prints its traceback.

    Raises UsageError where there is no such program.
    """
    if not module and not Path(script).is_file():
        raise UsageError(f"there is no file {script}")
    with _as_main(script, arguments, module=module):
        try:
            if module:
                runpy.run_module(script, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(script, run_name="__main__")
        except SystemExit as error:
            if isinstance(error.code, str):
                print(error.code, file=sys.stderr)
            return error.code if isinstance(error.code, int) else int(error.code is not None)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return INTERRUPTED
        except ImportError as error:
            if module and error.name is None:  # runpy's own
                raise UsageError(f"there is no module {script} to run: {error}") from error
            _print_traceback(error)
            return 1
        except Exception as error:
            _print_traceback(error)
            return 1
    return 0


def exit_code(code: int) -> int:
    """The command's exit code for a program's."""
    if code in (OK, INTERRUPTED):
        return code
    return FAILED


@contextmanager
def _as_main(script: str, arguments: Sequence[str], *, module: bool) -> Iterator[None]:
    outer, path = sys.argv, list(sys.path)
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.getcwd() if module else str(Path(script).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = outer, path
        sys.stdout.flush()


def _print_traceback(error: BaseException) -> None:
    """The traceback as Python prints it, from the program's own first line on."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((i for i, frame in enumerate(frames) if _is_program(frame.filename)), 0)
    print("Traceback (most recent call last):", file=sys.stderr)
    print("".join(traceback.format_list(frames[first:])), end="", file=sys.stderr)
    print("".join(traceback.format_exception_only(error)), end="", file=sys.stderr)


def _is_program(file: str) -> bool:
    return is_user_file(file) and Path(file).name != "runpy.py"


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
