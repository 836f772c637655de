"""Random programs as graphs, for tests of what knows no Python: passes, codegen, text, batching."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

import tracejit as tj
from tracejit.ir.graph import Function

from .comparing import Skipped
from .generator import Generator
from .gradients import Derivatives
from .modes import BRANCHING, traced
from .subject import Subject

#: The features that keep a program from being a graph.
_UNFIT = (*BRANCHING, "written argument")
#: Programs of graphs are others than those of the oracle.
_STREAM = 1 << 40


@dataclass
class GraphProgram:
    """A graph, arguments, and how far rounding may take each result."""

    function: Function
    arrays: list[NDArray[Any]]
    errors: list[float]


def _subjects(seed: int) -> Any:
    """The programs of this seed that are graphs, one after the other."""
    for attempt in range(100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = Generator((_STREAM + seed, attempt)).write_program()
        if program.features.isdisjoint(_UNFIT):
            yield Subject.of(program)


@functools.lru_cache(maxsize=256)
def program(seed: int) -> GraphProgram:
    """The random graph of `seed`."""
    subject = next(_subjects(seed))
    function, _ = subject.fresh(tj)
    return GraphProgram(*traced(function, subject.arguments()), list(subject.tolerances))


@functools.lru_cache(maxsize=256)
def smooth_program(seed: int) -> GraphProgram:
    """A random graph in float64 with one result, of which a derivative is well-conditioned."""
    for subject in _subjects(seed):
        try:
            derivatives = Derivatives(subject)
        except Skipped:
            continue
        if derivatives.double and all(x.dtype.kind == "f" for x in derivatives.floats):
            return GraphProgram(*traced(derivatives.loss, derivatives.floats), [derivatives.tolerance])
    raise AssertionError(f"no smooth program for seed {seed}")


__all__ = ["GraphProgram", "program", "smooth_program"]
