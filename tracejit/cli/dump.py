"""``tracejit dump``: a function at a stage of its compilation, as text."""

from __future__ import annotations

import argparse
from typing import Any

from ..lowered import STAGES, Lowered
from ..picture import picture_of_function, to_dot, to_svg
from .targets import TARGET_HELP, add_common_options, add_target_options, subject_of

_EXAMPLES = """\
examples:
  tracejit dump train.py:loss --arg f64[64,10] --arg f64[32,64] --stage optimized
  tracejit dump train.py:loss --arg f64[64,10] --arg f64[32,64] --grad --stage loops
  tracejit dump package.module:function --arg f32[128,64] --arg float --stage asm
  tracejit dump train.py:loss --arg f64[64,10] --arg f64[32,64] --stage svg > loss.svg
"""

#: Stages that picture the fused function, with its fusions as groups.
_PICTURES = {"dot": to_dot, "svg": to_svg}


def add_parser(commands: Any) -> None:
    """Add ``dump`` to the command line."""
    parser = commands.add_parser(
        "dump",
        help="print a function's IR, loop nests, LLVM, assembly or picture",
        description=f"Trace a function and print a stage of its compilation.\n\n{TARGET_HELP}",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_target_options(parser)
    parser.add_argument(
        "--stage", choices=(*STAGES, *_PICTURES), default="optimized", help="default: optimized"
    )
    add_common_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the stage; returns the exit code."""
    lowered = Lowered(subject_of(options).trace())
    if options.stage in _PICTURES:
        print(_PICTURES[options.stage](picture_of_function(lowered.fused)), end="")
    else:
        print(lowered.as_text(options.stage))
    return 0
