"""Errors of compiled code that the traced program would handle.

The ``try`` statements of a function run while it is traced, when its operations have no values yet. An index
out of range, a singular matrix or a division of Python numbers by zero is found when the compiled code runs,
and no ``except``, ``finally`` or context manager of the function is around it then. So operations that may
fail are noted where code of the function would see their errors, and where the compiled code keeps one that
can fail, calls run as Python. So do calls of what computes while NumPy's error state asks for an exception,
or for a call, where a number overflows or is divided by zero: compiled code does neither.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Final

import numpy as np

from ..base.errors import ErrorStateError, IndexValueError, LinAlgError, OutOfBoundsError, checked_error
from ..base.loading import LazyModule
from ..base.user_code import is_user_file
from ..ir.graph import Instruction
from ..ir.ops.indexing import CHECK
from ..ir.registry import Kind, Op

if TYPE_CHECKING:
    from ..frontend import handlers
else:
    handlers = LazyModule("..frontend.handlers", __package__)

#: The errors of Python's operators on numbers, by op: compiled code gives infinities and NaN for floats, and
#: raises those of integers outside of the function.
_OPERATORS: Final = {
    "div": (ZeroDivisionError,),
    "floor_divide": (ZeroDivisionError,),
    "remainder": (ZeroDivisionError,),
    "pow": (ZeroDivisionError, OverflowError),
}
#: The errors of functions of ``math``, and of ``int``.
NUMBER_ERRORS: Final = (ValueError, OverflowError, ZeroDivisionError)


def errors_asked() -> str:
    """The settings of NumPy's error state by which NumPy does more than to warn, in words; empty where there
    are none."""
    return ", ".join(
        [f"{kind}={how!r}" for kind, how in np.geterr().items() if how not in ("ignore", "warn")]
    )


def error_state_error(name: str, asked: str) -> ErrorStateError:
    """The error of a call of the function `name` in an error state that has `asked` for errors."""
    return ErrorStateError(f"{name}: NumPy's error state is {asked}, which compiled code does not follow")


def _errors(instruction: Instruction) -> tuple[type[Exception], ...]:
    """The errors of an instruction in compiled code; what runs on the host raises anything."""
    kind = instruction.op.kind
    if instruction.regions:  # whose instructions are noted themselves
        return ()
    if instruction.op is CHECK:
        return (type(checked_error(instruction.attrs["error"])),)
    if kind is Kind.LINALG:
        return (LinAlgError,)
    if kind is Kind.HOST:
        return (Exception,)
    return (OutOfBoundsError,) if kind.traits.indexes_operand else (OutOfBoundsError, IndexValueError)


class RaisedInLoopError(BaseException):
    """The end of a trace in which a step of a loop raises: the call runs as Python, which raises the error
    that the step makes, of the values that it has. No ``except Exception`` of the program is meant."""


class HandledErrors:
    """Operations of a trace whose errors code of the traced function would see, and those for which NumPy's
    error state asks for errors."""

    def __init__(self, boundary: CodeType, *, sets_state: bool) -> None:
        """`boundary` is the code that calls the function; `sets_state` says whether that may set NumPy's
        error state."""
        self._boundary = boundary
        #: The settings of NumPy's error state that the caller has made, as `errors_asked`.
        self.callers = errors_asked()
        #: The settings with which something was computed.
        self.asked = ""
        #: Whether instructions that cannot fail are to be noted, too.
        self.looks = sets_state or bool(self.callers)
        #: The lines of operations that check, as messages of compiled code name them.
        self._checked: dict[str, None] = {}
        #: The first operation of numbers, which do not check.
        self._unchecked = ""
        #: The first error of the trace alone that the function has handled.
        self._refused = ""

    def note(self, instruction: Instruction) -> None:
        """Note an instruction."""
        traits = instruction.op.kind.traits
        if self.looks and not self.asked and traits.computes:
            self.asked = errors_asked()
        if not traits.can_fail:
            return
        errors = _errors(instruction)
        if not errors or not self._are_handled(errors):
            return
        where = instruction.location
        self._checked["" if where is None else f"({where.file}:{where.line})"] = None
        self._checked[f"{instruction.op.name}: its NumPy kernel raised"] = None

    def note_operator(self, op: Op, divisor: object) -> None:
        """Note an operator of Python numbers, of which `divisor` is the last."""
        errors = _OPERATORS.get(op.name, ())
        if errors and not (isinstance(divisor, (int, float, complex)) and divisor and op.name != "pow"):
            self.note_numbers(errors, f"{op.name} of Python numbers")

    def note_refusal(self, error: Exception) -> None:
        """Note that the trace has raised `error`, which the function does not meet when it runs in Python."""
        if not self._refused and self._are_handled((type(error),)):
            self._refused = str(error)

    def note_numbers(self, errors: Sequence[type[Exception]], what: str) -> None:
        """Note `what`, an operation of numbers that raises one of `errors` in Python and none if compiled."""
        if not self._unchecked and self._are_handled(errors):
            self._unchecked = what

    @property
    def has_refused(self) -> bool:
        """Whether the function has handled an error of the trace alone."""
        return bool(self._refused)

    def __bool__(self) -> bool:
        return bool(self._checked or self._unchecked or self._refused or self.asked)

    def problem(self, messages: Iterable[str]) -> str:
        """The reason why a program whose code may end with `messages` is not the function, which handles an
        error of it; empty where it is."""
        if self.asked:
            return f"it sets NumPy's error state to {self.asked}, which compiled code does not follow"
        if self._refused:
            return f"it handles an error that it meets only while it is traced ({self._refused})"
        if self._unchecked:
            return (
                f"{self._unchecked} may raise an error that the function handles, and compiled code does not "
                "raise it"
            )
        for message in messages:
            if any(place in message for place in self._checked):
                return (
                    "the function handles an error that compiled code raises outside of its `try` or `with` "
                    f"({message})"
                )
        return ""

    def _are_handled(self, errors: Sequence[type[BaseException]]) -> bool:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code is not self._boundary:
            if is_user_file(frame.f_code.co_filename) and handlers.handles(frame, errors):
                return True
            frame = frame.f_back
        return False
