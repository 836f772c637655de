"""A failure written down as a test that is ready to be put beside the others."""

from __future__ import annotations

import re
from pathlib import Path

from .comparing import Failure
from .program import Program


def test_source(program: Program, failure: Failure) -> str:
    """The text of a test module: the program, and a call that runs it in the mode that failed."""
    seed, index = program.seed
    heading = re.sub(r"\s+", " ", failure.message)[:300].replace("\\", "/").replace('"""', "'''")
    rebound = program.rebound_tolerances
    name = re.sub(r"\W+", "_", failure.mode)
    call = [
        "    check_program(",
        f"        make, arguments, {failure.mode!r},",
        f"        # what rounding explains, per result\n        tolerances={list(program.tolerances)},",
        *([f"        rebound_tolerances={list(rebound)},"] if rebound is not None else []),
        f"        features={sorted(program.features)},",
        "    )",
    ]
    return (
        f'"""{heading}\n\nSeed {seed}, program {index}, reduced.\n"""\n\n'
        + program.source().replace(
            "from tests.fuzz.layouts", "from tests.fuzz.oracle import check_program\nfrom tests.fuzz.layouts"
        )
        + f"\n\ndef test_seed_{seed}_program_{index}_{name}():\n"
        + "\n".join(call)
        + "\n"
    )


def write_test(folder: Path, program: Program, failure: Failure) -> Path:
    """Write the test into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    seed, index = program.seed
    path = folder / f"test_seed_{seed}_program_{index}_{re.sub(r'[^a-z]+', '_', failure.mode)}.py"
    path.write_text(test_source(program, failure))
    return path
