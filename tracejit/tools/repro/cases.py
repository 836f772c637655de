"""Cases: a Function and the arrays to run it on, as objects and as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...base.errors import TracejitError
from ...base.records import record
from ...ir.graph import Function
from ...ir.passes import Pass, apply_pass
from ...ir.passes.algebra.cleanup import dce
from ...ir.text.printer import print_functions

Array = np.ndarray[Any, Any]
_DCE: Final = Pass("dce", dce)


@record(eq=False)
class Case:
    """A Function and the arrays to run it on, one for each parameter."""

    function: Function
    inputs: tuple[Array, ...]

    @property
    def size(self) -> tuple[int, int, int]:
        """The size by which cases are compared: instructions, then elements and steps, then numbers that are
        not 0 or 1."""
        values = [value for instruction in self.function.instructions() for value in instruction.results]
        elements = sum(value.type.size for value in [*self.function.params, *values])
        steps = sum(instruction.attrs.get("length", 0) for instruction in self.function.instructions())
        odd = sum(int(np.count_nonzero((input_ != 0) & (input_ != 1))) for input_ in self.inputs)
        count = sum(1 for _ in self.function.instructions())
        return count + len(self.function.params) + len(self.function.results), elements + steps, odd

    def tidied(self) -> Case:
        """This case without unused instructions and parameters."""
        function = apply_pass(_DCE, self.function)
        used = {operand for instruction in function.instructions() for operand in instruction.operands} | set(
            function.results
        )
        kept = [i for i, param in enumerate(function.params) if param in used]
        params = tuple(function.params[i] for i in kept)
        smaller = Function(function.name, params, function.body, function.results)
        return Case(smaller, tuple(self.inputs[i] for i in kept))

    def text(self, notes: Sequence[str] = ()) -> str:
        """The text of the ``.tir`` file, with `notes` as comments."""
        head, rest = print_functions([self.function]).split("\n", 1)
        return "\n".join([head, *(f"; {note}" for note in notes), rest])

    def write(self, tir: Path, npz: Path, notes: Sequence[str] = ()) -> None:
        """Write both files; the arrays are called ``arr_0``, ``arr_1``, ... in the order of parameters."""
        tir.write_text(self.text(notes), encoding="utf-8")
        np.savez(npz, *self.inputs)


def check_writable(function: Function) -> None:
    """Raise TracejitError where text cannot hold `function`."""
    for instruction in function.instructions():
        if "callback" in instruction.attrs:
            where = f" at {instruction.location}" if instruction.location else ""
            raise TracejitError(
                f"the program calls a Python function ({instruction.op.name}{where}), which text cannot "
                "hold; take the call out, or give its result as an argument"
            )
