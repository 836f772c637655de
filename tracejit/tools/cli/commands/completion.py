"""``tracejit completion``: the shell's completion of commands, options and their values, written by shtab.

Why a library does it: docs/decisions/0007-command-line.md.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from collections.abc import Iterator
from typing import Any, Final

from ....base.loading import load_module
from ....ir.passes import PIPELINE
from ..errors import UsageError
from ..stages import STAGES

#: The shells, and where the text belongs.
SHELLS: Final = {
    "bash": "tracejit completion bash > ~/.local/share/bash-completion/completions/tracejit",
    "zsh": "tracejit completion zsh > ~/.zfunc/_tracejit    # fpath+=~/.zfunc before compinit in ~/.zshrc",
    "fish": "tracejit completion fish > ~/.config/fish/completions/tracejit.fish",
}
_PASSES: Final = tuple(dict.fromkeys(pass_.name for pass_ in PIPELINE))
_STAGES: Final = (
    *(stage for stage in STAGES if stage != "after:PASS"),
    *(f"after:{pass_}" for pass_ in _PASSES),
)
#: The words to complete after options that do not take files.
_WORDS: Final = {
    "stage": _STAGES,
    "diff": _STAGES,
    "passes": ("all", "optimize", *_PASSES),
    "machine": ("native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "arm64-apple-darwin"),
    "arg": ("float", "int", "bool", "f64[]", "f32[]", "i64[]"),
}
_FILES: Final = ("target", "args_from", "output")


def add_parser(commands: Any) -> None:
    """Add ``completion`` to the command line."""
    parser = commands.add_parser(
        "completion",
        help="print a script by which bash, zsh or fish complete tracejit's command line",
        description="Print a script by which a shell completes tracejit's command line. Needs shtab.",
        epilog="examples:\n  pip install 'tracejit[completion]'\n"
        + "".join(f"  {shell}\n" for shell in SHELLS.values()),
    )
    parser.add_argument("shell", choices=tuple(SHELLS))
    parser.add_argument(
        "--traceback",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show Python's traceback of an error",
    )


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    try:
        shtab: Any = importlib.import_module("shtab")
    except ImportError:
        raise UsageError(
            "shtab writes the scripts, and is not there: pip install 'tracejit[completion]'"
        ) from None
    if options.shell not in shtab.SUPPORTED_SHELLS:
        raise UsageError(f"this shtab does not know {options.shell}: pip install --upgrade shtab")
    parser = load_module("tracejit.tools.cli").make_parser()
    for action in _actions(parser):
        if action.dest in _WORDS:
            action.complete = shtab.cmd(f"printf '%s\\n' {shlex.join(_WORDS[action.dest])}")  # type: ignore[attr-defined]
        elif action.dest in _FILES or "FILE" in str(action.metavar):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(parser, options.shell) + "\n")
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The options and arguments of `parser` and its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action
