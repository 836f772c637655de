"""LAPACK's functions as code of our own, for exported functions: calls from Python run a library's.

The kernels by LAPACK are written for it as for any other library; what they call is linked to them. What it
does not define, they write themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ...base.lapack.library import LapackLibrary
from ...base.records import record
from ..interface import lapack_name
from ..kernels.lapack.calls import COMPLEX_NAMES
from ..llvm.target import Target
from . import reflections
from .routine import Routine, elements_of


@record(eq=False)
class _Definition:
    """Definition of a routine: the function that writes it, and its parameters."""

    write: Callable[[Routine], None]
    parameters: str


_DEFINITIONS: Final[Mapping[str, _Definition]] = {
    "geqrf": _Definition(reflections.geqrf, "m n a lda tau work lwork info"),
    "orgqr": _Definition(reflections.orgqr, "m n k a lda tau work lwork info"),
}
#: The common names of functions that have others for complex matrices.
_COMMON: Final = {other: name for name, other in COMPLEX_NAMES.items()}


def _find(name: str) -> int:
    """A nonzero number if the routine is defined here, else 0. It has no address before it is linked."""
    common = elements_of(name)[0]
    return int(_COMMON.get(common, common) in _DEFINITIONS)


#: The functions as a library. Its own blocks pay from fewer rows on than those around a library's.
OWN: Final = LapackLibrary("this library's", 64, _find, blocks_from=96)


def routine_text(symbol: str, target: Target) -> str:
    """The LLVM text of the function that generated code calls `symbol`."""
    name, _ = lapack_name(symbol)
    common, (dtype, parts) = elements_of(name)
    definition = _DEFINITIONS[_COMMON.get(common, common)]
    routine = Routine(target, dtype, parts, definition.parameters)
    definition.write(routine)
    return routine.text(symbol)


def routine_texts(symbols: Sequence[str], target: Target) -> list[str]:
    """The LLVM texts of all `symbols`."""
    return [routine_text(symbol, target) for symbol in symbols]
