"""Runs programs in a process that may crash or hang, and says what it is at in lines of JSON:
``python -m tests.python_programs.worker SEED FIRST``."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from typing import Any

from .checking import Refused, TooLong, examine
from .containers import ContainerPrograms
from .generator import Generator


def program_of(number: int) -> str:
    """The text of the program of a number; every fourth one is of containers with several names."""
    return ContainerPrograms(number).program() if number % 4 == 3 else Generator(number).program()


def number_of(seed: int, index: int) -> int:
    """The seed of program `index` of a run."""
    return seed * 1_000_000 + index


def say(message: dict[str, Any]) -> None:
    """One line to the runner, at once."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run programs until the runner ends this process."""
    seed, index = map(int, sys.argv[1:3])
    faulthandler.enable()
    os.environ.update(TRACEJIT_CACHE="0")
    while True:
        say({"begin": index})
        number = number_of(seed, index)
        text = program_of(number)
        try:
            finding = examine(text, number)
        except Refused as refusal:
            say({"end": index, "refused": str(refusal)})
        except TooLong:
            say({"end": index, "long": True})
        else:
            say({"end": index, "finding": finding and [finding.kind, finding.message, finding.call]})
        index += 1


if __name__ == "__main__":
    main()
