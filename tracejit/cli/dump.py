"""``tracejit dump``: a function at a stage of its compilation, as text."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..ir.errors import ParseError, TracejitError
from ..ir.text.parser import parse_type
from ..jit import JitFunction
from ..location import is_user_file
from ..lowered import STAGES, Lowered
from ..picture import picture_of_function, to_dot, to_svg
from ..transforms import grad

_EXAMPLES = """\
examples:
  tracejit dump train.py:loss --arg f64[64,10] --arg f64[32,64] --stage optimized
  tracejit dump train.py:loss --arg f64[64,10] --arg f64[32,64] --grad --stage loops
  tracejit dump package.module:function --arg f32[128,64] --arg float --stage asm
  tracejit dump train.py:loss --arg f64[64,10] --arg f64[32,64] --stage svg > loss.svg
"""

#: Stages that picture the fused function, with its fusions as groups.
_PICTURES = {"dot": to_dot, "svg": to_svg}


class UsageError(Exception):
    """The command line asks for something that is not there."""


def add_parser(commands: Any) -> None:
    """Add ``dump`` to the command line."""
    parser = commands.add_parser(
        "dump",
        help="print a function's IR, loop nests, LLVM, assembly or picture",
        description="Trace FUNCTION for arguments of the given types and print a stage of its compilation.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="TARGET", help="FILE.py:FUNCTION or package.module:FUNCTION")
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="TYPE",
        help="an argument's type: f32[128,64], i64[], or float, int, bool for Python numbers; one each",
    )
    parser.add_argument(
        "--stage", choices=(*STAGES, *_PICTURES), default="optimized", help="default: optimized"
    )
    parser.add_argument(
        "--grad", action="store_true", help="the gradient with respect to the first argument instead"
    )
    parser.add_argument(
        "--traceback",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show Python's traceback of an error",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the stage; returns the exit code."""
    function = load_target(options.target)
    if isinstance(function, JitFunction):
        function = function._fn
    if options.grad:
        function = grad(function)
    args = [parse_argument(text) for text in options.arg]
    try:
        traced = JitFunction(function, max_paths=0).trace(*args)  # specs have types, and no values
    except Exception as error:
        what = str(error) if isinstance(error, TracejitError) else f"{type(error).__name__}: {error}"
        raise UsageError(f"{options.target} could not be traced{_line_of(error)}: {what}") from error
    lowered = Lowered(traced)
    if options.stage in _PICTURES:
        print(_PICTURES[options.stage](picture_of_function(lowered.fused)), end="")
    else:
        print(lowered.as_text(options.stage))
    return 0


def _line_of(error: BaseException) -> str:
    """``, at file:line`` of the innermost line of the user's that was running."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_user_file(frame.filename):
            return f", at {frame.filename}:{frame.lineno}"
    return ""


def parse_argument(text: str) -> Any:
    """What stands for an argument of the type `text`: a TensorType, or a Python number."""
    scalars = {"float": 1.0, "int": 1, "bool": True}
    if text in scalars:
        return scalars[text]
    try:
        return parse_type(text)
    except ParseError as error:
        problem = str(error).splitlines()[0]
        raise UsageError(
            f"--arg {text!r} is not a type like f32[128,64], i64[], float, int or bool: {problem}"
        ) from error


def load_target(target: str) -> Callable[..., Any]:
    """The function that ``file.py:name`` or ``package.module:name`` names."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise UsageError(f"{target!r}: expected FILE.py:FUNCTION or package.module:FUNCTION")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            functions = sorted(
                key for key, value in vars(module).items() if callable(value) and not key.startswith("_")
            )
            raise UsageError(f"{place} has no {name!r}; it has {', '.join(functions) or 'no functions'}")
    if not callable(found):
        raise UsageError(f"{target} is a {type(found).__name__}, not a function")
    function: Callable[..., Any] = found
    return function


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{path} could not be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _load_module(name: str) -> Any:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise UsageError(f"module {name} could not be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove("")
