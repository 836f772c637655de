"""A program to be measured: source, arguments, and the workload that it is."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from ..libraries import COMPILED_TORCH, Library
from ..workload import Function, Workload

_TOLERANCE: Final = {"float32": 3e-3, "float64": 1e-7}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program as text. `lines` are the body of a function of ``a0``, ``a1``, ..., written with ``xp``
    (NumPy's names), ``control`` (``jax.lax``'s loops) and ``put(x, key, value)``, which gives x with elements
    written. `gradient` says whether what is measured is the gradient of the sum of squares of its result
    plus 0.3."""

    family: str
    lines: tuple[str, ...]
    #: Shape of each argument, with "normal", "positive" or "index N" for integers below N.
    arguments: tuple[tuple[tuple[int, ...], str], ...]
    dtype: str
    gradient: bool = False

    def source(self) -> str:
        """The function, as text."""
        names = ", ".join(f"a{i}" for i in range(len(self.arguments)))
        return "\n".join([f"def program({names}):", *(f"    {line}" for line in self.lines)])

    def as_dict(self) -> dict[str, Any]:
        """Record of the program that a report keeps."""
        return {**asdict(self), "source": self.source(), "key": self.key()}

    def key(self) -> str:
        """Name of the program in the file of reasons, which does not change with its number."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    def program(self, lib: Library) -> Function:
        """The function by a library."""
        names: dict[str, Any] = {"xp": lib.np, "control": lib.control, "put": lib.put}
        exec(self.source(), names)
        function: Function = names["program"]
        if not self.gradient:
            return function
        # the squares of orthonormal columns, or of standardized rows, add up to a constant
        return lambda *arguments: lib.np.sum((function(*arguments) + 0.3) ** 2)

    def inputs(self) -> tuple[Any, ...]:
        """The arguments, the same in every process."""
        rng = np.random.default_rng(0)
        return tuple([_array(rng, shape, what, self.dtype) for shape, what in self.arguments])

    def workload(self, name: str) -> Workload:
        """Workload of the program for the contest."""
        real = tuple([i for i, (_, what) in enumerate(self.arguments) if not what.startswith("index")])
        return Workload(
            name,
            self.family,
            lambda lib: self.program(lib),
            self.inputs,
            gradient=real if self.gradient else None,
            skip=("torch", COMPILED_TORCH),
            tolerance=_TOLERANCE[self.dtype],
        )


def _array(rng: np.random.Generator, shape: tuple[int, ...], what: str, dtype: str) -> Any:
    if what.startswith("index"):
        return rng.integers(0, int(what.split()[1]), shape)
    values = rng.uniform(0.2, 2.0, shape) if what == "positive" else rng.standard_normal(shape)
    return values.astype(dtype)
