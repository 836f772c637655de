"""The demo's command line: trains both ways, compares, and prints a report or one line of JSON."""

from __future__ import annotations

import argparse
import json as json_format
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .data import Digits, load_digits
from .train import (
    BATCH,
    CLASSES,
    HIDDEN,
    Run,
    adam_state,
    batches,
    initial_parameters,
    jit_step,
    train_eager,
    train_jit,
)

EPOCHS = 20
#: Both ways compute the same sums, some in another order. Measured: the losses of 880 steps differ by at most
#: 1e-15, and a learning rate wrong by 0.1 % shows as 6e-5 in the second step.
TOLERANCE = 1e-9
STAGES = ("trace", "optimized", "loops")


def main(argv: Sequence[str] | None = None) -> int:
    """``tracejit demo [--json] [--epochs N] [--dump-dir DIR]``; 1 if the two loss curves differ."""
    parser = argparse.ArgumentParser(
        prog="tracejit demo",
        description="Train a small network on handwritten digits, eagerly and jitted, and compare.",
        epilog="examples:\n  tracejit demo\n  tracejit demo --epochs 5 --dump-dir stages",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON and nothing else")
    parser.add_argument("--epochs", type=_positive, default=EPOCHS, help="passes over the data (default: 20)")
    parser.add_argument(
        "--dump-dir", type=Path, help="write the update step's IR there (default: a new temporary folder)"
    )
    chosen = parser.parse_args(argv)
    if chosen.dump_dir is not None:
        try:  # before the training, not after it
            chosen.dump_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--dump-dir: {error}")
    return run(json=chosen.json, epochs=chosen.epochs, dump_dir=chosen.dump_dir)


def run(*, json: bool = False, epochs: int = EPOCHS, dump_dir: Path | None = None) -> int:
    """Train, compare and print. With `json` the IR is written only if there is a `dump_dir`."""
    training, held_out = load_digits()
    if not json:
        print(_title(training), flush=True)
    eager = train_eager(training, held_out, epochs)
    update = jit_step()
    jit = train_jit(training, held_out, epochs, update)
    difference = float(np.max(np.abs(np.subtract(eager.losses, jit.losses))))
    if dump_dir is None and not json:
        dump_dir = Path(tempfile.mkdtemp(prefix="tracejit-demo-"))
    if dump_dir is not None:
        dump(update, training, dump_dir)
    if json:
        print(json_format.dumps(summary(eager, jit)))
    elif dump_dir is not None:
        print("\n".join(_report(eager, jit, difference, dump_dir)))
    if difference < TOLERANCE:
        return 0
    print(f"demo: the loss curves differ by {difference:.1e}, expected {TOLERANCE:.0e}", file=sys.stderr)
    return 1


def summary(eager: Run, jit: Run) -> dict[str, dict[str, float]]:
    """The data that ``--json`` prints."""
    return {
        "eager": {"accuracy": eager.accuracy, "seconds": round(eager.seconds, 4)},
        "jit": {
            "accuracy": jit.accuracy,
            "seconds": round(jit.seconds, 4),
            "compile_ms": round(jit.compile_ms, 1),
        },
    }


def dump(update: Any, training: Digits, folder: Path) -> None:
    """Write the update step at each of `STAGES` to ``update.<stage>.txt`` in `folder`."""
    parameters = initial_parameters()
    lowered = update.lower(parameters, adam_state(parameters), *next(batches(training, 0)))
    for stage in STAGES:
        _path(folder, stage).write_text(lowered.as_text(stage) + "\n", encoding="utf-8")


def _path(folder: Path, stage: str) -> Path:
    return folder / f"update.{stage}.txt"


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {number}")
    return number


def _title(training: Digits) -> str:
    units = f"{training.images.shape[1]}-{HIDDEN}-{CLASSES}"
    return (
        f"A {units} network learns {len(training):,} handwritten digits in float64,\n"
        f"by Adam, {len(training) // BATCH} batches of {BATCH} per epoch.\n"
    )


def _report(eager: Run, jit: Run, difference: float, folder: Path) -> Iterator[str]:
    yield ""
    yield "             loss           held-out accuracy"
    yield "epoch   eager     jit         eager     jit"
    for epoch, row in enumerate(
        zip(eager.epoch_losses, jit.epoch_losses, eager.epoch_accuracies, jit.epoch_accuracies, strict=True)
    ):
        yield "{:>5}  {:.4f}  {:.4f}        {:>6.1%}  {:>6.1%}".format(epoch + 1, *row)
    yield f"\nLargest difference between the two losses of a step: {difference:.1e}\n"
    steps = len(eager.losses)
    yield f"       held-out accuracy   {f'{steps:,} steps':>11}      a step   before the first"
    for name, run in (("eager", eager), ("jit", jit)):
        once = f"{run.compile_ms:.0f} ms: load LLVM, trace, compile" if run.compile_ms else "nothing"
        each = run.seconds / steps * 1e6
        yield f"{name:<5}  {run.accuracy:>17.1%}   {run.seconds:>9.3f} s  {each:>7.0f} us   {once}"
    saved = (eager.seconds - jit.seconds) / steps
    if saved > 0:
        paid = int(np.ceil(jit.compile_ms / 1e3 / saved))
        yield (
            f"\nA jitted step is {eager.seconds / jit.seconds:.1f} times as fast as an eager one. "
            f"Compiling it pays off after {paid:,} steps."
        )
    yield "The jitted step at three stages of its compilation, to look at:"
    for stage in STAGES:
        yield f"  {_path(folder, stage)}"
