"""Workloads: a program, its inputs, and the least that it must read, write or compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from .libraries import COMPILED_TORCH, HANDWRITTEN, Library

Function = Callable[..., Any]

#: Libraries that run a loop of the program's in Python, op by op: too slow to measure on long loops.
LOOPLESS: Final = ("numpy", "torch", COMPILED_TORCH)
#: torch.compile unrolls Python loops; compiling then takes minutes.
UNROLLED: Final = (COMPILED_TORCH,)


@dataclass(frozen=True, slots=True)
class Workload:
    """One row of the table. `program`, `inputs`, `traffic` and `work` take the sizes."""

    name: str
    what: str
    #: ``program(lib, *sizes)`` returns a function of arrays, written with the library's names.
    program: Callable[..., Function]
    #: ``inputs(*sizes)`` returns its arguments, ndarrays nested in tuples and lists.
    inputs: Callable[..., tuple[Any, ...]]
    sizes: tuple[Any, ...] = ()
    #: Sizes for tests.
    tiny: tuple[Any, ...] = ()
    #: Measure the value and the gradient by these arguments.
    gradient: tuple[int, ...] | None = None
    #: ``numba(nb, *sizes)`` returns the compiled loops that one would write for Numba.
    numba: Callable[..., Function] | None = None
    #: ``c(library, *sizes)`` returns a function of pointers to the arguments that calls C written by hand.
    c: Callable[..., Function] | None = None
    #: Libraries that are not asked.
    skip: tuple[str, ...] = ()
    #: Largest difference from ours, relative to the largest value of each result.
    tolerance: float = 1e-12
    #: Bytes read and written at the least, and arithmetic operations in the dtype `unit`.
    traffic: Callable[..., float] | None = None
    work: Callable[..., float] | None = None
    unit: Literal["f32", "f64"] = "f32"
    #: The form of the arguments: ndarrays, the library's arrays, or those with eager gradients.
    given: Literal["ndarray", "array", "variable"] = "array"
    #: Compiled by those libraries that compile, or run op by op.
    compiled: bool = True
    #: Whether each call waits for its result, where a library computes in the background.
    waits: bool = True
    #: Goal for the best peer's time over ours; against one library alone if `against` names it.
    goal: float = 1.0
    against: str | None = None
    #: Goals beside single peers in addition: their names with what their time over ours is to be.
    goals: tuple[tuple[str, float], ...] = ()

    def entered(self, library: str) -> bool:
        """Whether `library` takes part."""
        if library in self.skip:
            return False
        if library == "numba":
            return self.numba is not None
        if library == HANDWRITTEN:
            return self.c is not None
        if self.given == "variable" or not self.compiled:
            return library in ("tracejit", "torch") or (library == "numpy" and self.given == "array")
        return not (self.gradient is not None and library == "numpy")

    def function(self, lib: Library) -> Function:
        """Function to measure: the program, its gradient where asked for, compiled where asked for."""
        if lib.name == "numba":
            assert self.numba is not None
            compiled: Function = self.numba(lib.np, *self.sizes)
            return compiled
        if lib.name == HANDWRITTEN:
            assert self.c is not None
            return self.c(lib.np, *self.sizes)
        f = self.program(lib, *self.sizes)
        if self.gradient is not None:
            assert lib.value_and_grad is not None, f"{lib.name} has no gradients"
            f = lib.value_and_grad(f, self.gradient)
        return lib.jit(f) if self.compiled else f

    def arguments(self, lib: Library) -> tuple[Any, ...]:
        """The inputs in the form that the workload hands over."""
        if self.given == "ndarray" or lib.name == "numba":
            return self.inputs(*self.sizes)
        convert = lib.array if self.given == "array" else lib.variable
        assert convert is not None, f"{lib.name} has no eager gradients"
        return tuple(_convert(input_, convert) for input_ in self.inputs(*self.sizes))


def _convert(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    if isinstance(tree, (tuple, list)):
        return type(tree)(_convert(subtree, leaf) for subtree in tree)
    return leaf(tree)
