"""Programs run as Python runs them, and their exit codes."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ...base.user_code import is_user_file
from .documents import is_document
from .errors import FAILED, OK, UsageError

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
