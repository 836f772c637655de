"""Modes that a program goes through, and its failures: a wrong result, an error, a warning."""

from __future__ import annotations

import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

import tracejit as tj

from . import gradients, modes, peer, processes
from .comparing import Failure, Mismatch, Skipped
from .known import known_reason
from .program import Program
from .subject import Subject

Mode = Callable[[Subject], None]
MODES: dict[str, Mode] = {
    "eager": modes.eager,
    "full": modes.full,
    "tiers": modes.both_tiers,
    "transforms": gradients.transforms,
    "jit of grad": gradients.jit_of_grad,
    "grad of jit": gradients.grad_of_jit,
    "second order": gradients.second_order,
    "vmap of grad": gradients.vmap_of_grad,
    "vmap": modes.vmapped,
    "threads": modes.threaded,
    "as if large": modes.as_if_large,
    "donated": modes.donated,
    "passes": modes.passes,
    "fork": processes.forked,
    "jax": peer.beside_jax,
    "disk": processes.from_disk,
}
ALWAYS = ("eager", "transforms")
#: The dear modes in turn, the more telling ones more often.
ROTATION = (
    "jit of grad", "vmap", "passes", "grad of jit", "jit of grad", "threads", "as if large", "jit of grad",
    "donated",
    "vmap", "second order", "fork", "vmap of grad", "disk", "grad of jit",
)  # fmt: skip


def modes_of(index: int) -> tuple[str, ...]:
    """The modes of program number `index`."""
    tier = "tiers" if index // len(ROTATION) % 3 == 0 else "full"
    beside = ("jax",) if index % 2 == 0 and peer.is_installed() else ()
    return (*ALWAYS[:1], tier, *ALWAYS[1:], ROTATION[index % len(ROTATION)], *beside)


def run_mode(subject: Subject, name: str, source: str = "") -> Failure | None:
    """A failure of this mode, or None. Skipped where it has nothing to say."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        try:
            MODES[name](subject)
        except Skipped:
            raise
        except Mismatch as problem:
            return failure(name, str(problem), source)
        except tj.UndeterminedGradientWarning:  # a matrix with equal eigenvalues by chance
            raise Skipped from None
        except tj.GradientError as error:
            if "modified in place" in str(
                error
            ):  # the graph needs what was overwritten: refused, as PyTorch does
                raise Skipped from None
            return failure(name, f"GradientError: {error}", source)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{frame.filename.rsplit('/', 2)[-1]}: {frame.name}"
            return failure(name, f"{type(error).__name__}: {error} [{place}]", source)
    return None


def failure(mode: str, message: str, source: str) -> Failure:
    """The failure, marked where it is known."""
    return Failure(mode, message, known_reason(mode, message, source))


def run_program(program: Program, names: Sequence[str], counts: Counter[str] | None = None) -> list[Failure]:
    """The failures of a program in these modes; `counts` counts what ran."""
    source = program.source()
    try:
        subject = Subject.of(program)
    except Exception as error:  # a fault of the generator or of the reference
        return [Failure("reference", f"{type(error).__name__}: {error}")]
    failures = []
    for name in names:
        try:
            result = run_mode(subject, name, source)
        except Skipped:
            continue
        if counts is not None:
            counts[name] += 1
        if result is not None:
            failures.append(result)
            if not result.known:
                break
    return failures


def check_program(
    make: Any, arguments: Any, mode: str, tolerances: Sequence[float],
    rebound_tolerances: Sequence[float] | None = None, features: Collection[str] = (),
) -> None:  # fmt: skip
    """Entry point of written tests: raise AssertionError where the program fails in this mode."""
    subject = Subject(
        lambda: {"make": make, "arguments": arguments}, tolerances, rebound_tolerances, features
    )
    try:
        problem = run_mode(subject, mode)
    except Skipped:
        raise AssertionError(f"{mode} has nothing to say about this program") from None
    assert problem is None, problem.message
