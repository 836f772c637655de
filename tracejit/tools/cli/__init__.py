"""The ``tracejit`` command. Each command is a module of this package, named in `COMMANDS`.

Such a module has ``add_parser(commands)``, which adds the command's options, and ``run``, a function from the
parsed options to the exit code (see `errors`). It prints its answer on standard output, and raises
UsageError, TargetError, a TracejitError or an OSError, which become one line on standard error.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any, Final

from ...base.errors import TracejitError
from ...base.loading import load_module
from ...version import __version__
from .errors import FAILED, INTERNAL, OK, USAGE, TargetError, UsageError

#: The commands, in the order of ``--help``. Their modules load when they are used.
COMMANDS: Final = (
    "dump", "view", "explain", "profile", "opt", "run", "verify", "fmt", "repro", "reduce", "port", "demo",
    "doctor", "cache", "completion",
)  # fmt: skip

_GREETING = f"""\
tracejit {__version__} compiles Python functions of arrays: put @tj.jit on them. Look at one:

  tracejit demo                                     a small network learns digits, eagerly and jitted
  tracejit dump train.py:loss --arg f64[64,10]      what becomes of a function, stage by stage
  tracejit view train.py:loss --arg f64[64,10]      the same as a page, with times and advice
  tracejit explain train.py:loss --arg f64[64,10]   what calls of it depend on, and what is slow
  tracejit profile train.py                         where a program spends its time
  tracejit doctor                                   whether this machine has all that is needed

tracejit --help lists every command, tracejit COMMAND --help its options.
"""

_EPILOG = """\
examples:
  tracejit dump train.py:loss --arg f64[64,10] --arg f64[32,64]
  tracejit dump train.py:loss --arg f64[64,10] --arg f64[32,64] --stage asm --target x86-64-v3
  tracejit run loss.tir --random 0 --compare
  TRACEJIT_DUMP=optimized,loops TRACEJIT_DUMP_DIR=stages python train.py

tracejit COMMAND --help shows what a command takes, with examples.

exit codes:
  0  done; where the question was one of yes or no, yes
  1  the file, program or result that was asked about is wrong
  2  the command line is wrong, or names what is not there
  3  a bug in tracejit
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Errors are one line on standard error."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        print(_GREETING, end="")
        return OK
    parser, commands = _parsers(arguments)
    named = next((argument for argument in arguments if not argument.startswith("-")), None)
    if named is not None and named not in COMMANDS:
        parser.error(f"there is no command {named!r}{_near(named, COMMANDS)}; tracejit --help lists all")
    options, rest = parser.parse_known_args(arguments)
    if rest and not getattr(options, "takes_rest", False):
        known = re.findall(r"--[a-z][a-z-]*", commands.choices[options.command].format_help())
        parser.error(f"unrecognized arguments: {' '.join(rest)}{_near(rest[0], known)}")
    options.rest = rest
    try:
        code: int = options.run(options)
        return code
    except BrokenPipeError:
        sys.stderr.close()
        return FAILED
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if options.traceback:
            traceback.print_exc()
        print(f"tracejit {options.command}: {_described(error)}", file=sys.stderr)
        if getattr(error, "detail", ""):
            print(error.detail, file=sys.stderr)  # type: ignore[attr-defined]
        return _code_of(error)


def _near(name: str, known: Sequence[str]) -> str:
    """A question after what the user may have meant by `name`."""
    near = difflib.get_close_matches(name.split("=")[0], known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def make_parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of the command that `arguments` name; of all commands where they name none."""
    return _parsers(arguments)[0]


class _CommandParser(argparse.ArgumentParser):
    """A parser whose help keeps the lines of its texts."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)


def _parsers(arguments: Sequence[str]) -> tuple[argparse.ArgumentParser, Any]:
    """The parser, and the action that has those of commands by name."""
    parser = _CommandParser(
        prog="tracejit",
        description="Look inside tracejit: what it makes of a function, and of this machine.",
        epilog=_EPILOG,
    )
    parser.add_argument("--traceback", action="store_true", help="show Python's traceback of an error")
    parser.add_argument("--version", action="version", version=f"tracejit {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_CommandParser
    )
    named = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name in (named,) if named in COMMANDS else COMMANDS:
        module: Any = load_module(f".commands.{name}", __name__)
        module.add_parser(commands)
        commands.choices[name].set_defaults(run=module.run)
    return parser, commands


def _described(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, (UsageError, TargetError, TracejitError, OSError)):
        return " ".join(str(error).splitlines())
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}"
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"a bug in tracejit: {' '.join(what.splitlines())} (--traceback shows where; please report it)"


def _code_of(error: Exception) -> int:
    if isinstance(error, UsageError):
        return USAGE
    return FAILED if isinstance(error, (TargetError, TracejitError, OSError, MemoryError)) else INTERNAL
