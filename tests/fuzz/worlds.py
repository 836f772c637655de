"""Worlds in which the generator runs each statement, so that rounding is measured.

The first world has the arguments as they are; in the others each float is moved by some roundings after every
statement (stochastic arithmetic: Vignes, 1993). How far the worlds drift apart is how far rounding may take a
result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reference
from .layouts import copied
from .program import HEADER

#: Roundings (ULPs) by which worlds move each float after each statement, by the bytes of a real number.
DRIFT = {2: 4, 4: 16, 8: 16, 16: 16}
#: Statements that pick elements, or add up what may be zeros of either sign.
PICKS = re.compile(
    r"sort|partition|max|min|median|quantile|percentile|unique|clip|relu|@|dot|einsum|matmul|sum|mean|conv"
)
#: Statements that take elements out of arrays.
TAKEN = re.compile(r"unstack|\w\[|squeeze|reshape|ravel")


class World:
    """A namespace in which statements run.

    What NumPy leaves open is otherwise in a `free` one: zeros that are picked have the other sign, and
    what is computed lies in C order, so that reshapes of it are views (docs/differences.md).
    """

    def __init__(self, seed: int | None, *, free: bool = False) -> None:
        self.free = free
        self.names: dict[str, Any] = {"xp": reference if seed is None else reference.Wide()}
        exec(HEADER, self.names)
        self.rng = None if seed is None else np.random.default_rng(seed)
        #: The arrays that NumPy took scalars out of: copies there, views here.
        self.sources: list[NDArray[Any]] = []
        #: The arguments as a call gets them.
        self.arguments: dict[str, NDArray[Any]] = {}

    def restore(self) -> None:
        """Undo what writes and views did to the arguments."""
        self.names.update({name: copied(array) for name, array in self.arguments.items()})

    def run(self, text: str, targets: Sequence[str]) -> None:
        exec(compile(text, "<step>", "exec"), self.names)
        if TAKEN.search(text) and any(isinstance(self.names[name], np.generic) for name in targets):
            mentioned = [self.names.get(word) for word in re.findall(r"\b[av]\d+\b", text)]
            self.sources += [x for x in mentioned if isinstance(x, np.ndarray)]
        for name in targets:
            x = np.asarray(self.names[name])
            if self.free and x.base is None and x.flags.writeable:
                x = self.ordered(x)
                if x.dtype.kind in "fc" and PICKS.search(text):
                    x[x == 0] *= -1
            self.names[name] = self.drifted(x)

    def ordered(self, x: NDArray[Any]) -> NDArray[Any]:
        """`x` in C order, where that is open."""
        return np.array(x, order="C") if self.free and not x.flags.c_contiguous else x

    def drifted(self, x: NDArray[Any]) -> NDArray[Any]:
        """`x`, its floats moved by some roundings in place, as views share them; a copy where read-only."""
        if self.rng is None or x.dtype.kind not in "fc":
            return x
        x = x if x.flags.writeable else x.copy()
        size = DRIFT[real_bytes(x.dtype)] * np.finfo(x.dtype).eps
        if x.dtype.kind == "f":
            x *= (1 + size * self.rng.uniform(-1, 1, x.shape)).astype(x.dtype)
        else:  # roundings of a complex number are relative to its absolute value
            moves = self.rng.uniform(-1, 1, (2, *x.shape))
            x += (size * np.abs(x) * (moves[0] + 1j * moves[1])).astype(x.dtype)
        return x


def real_bytes(dtype: np.dtype[Any]) -> int:
    """The bytes of a float, or of the real part of a complex number."""
    return dtype.itemsize // (2 if dtype.kind == "c" else 1)


def worlds(*, exact: bool) -> list[World]:
    """The worlds in which a program is measured."""
    if exact:
        return [World(None), World(None, free=True)]
    return [World(None), World(1), World(2), World(3, free=True)]
