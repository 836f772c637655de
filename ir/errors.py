"""The exceptions tracejit raises on purpose, and its warnings.

Each also derives from the built-in class that NumPy raises for the same mistake, so code that
catches ``ValueError``, ``TypeError`` or ``IndexError`` keeps working. Those about tensors are RuntimeErrors
too, which is what PyTorch raises for shapes and dtypes that do not fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class TracejitError(Exception):
    """Base of every error that tracejit raises on purpose."""


class ShapeError(TracejitError, ValueError, RuntimeError):
    """Shapes do not fit the operation."""


class AxisError(ShapeError, IndexError):
    """An axis is out of range for the array's rank, or given twice."""


class DTypeError(TracejitError, TypeError, RuntimeError):
    """A dtype is unsupported, or does not fit the operation."""


class AttributeValueError(TracejitError, TypeError):
    """An op was given an unknown attribute, or one of the wrong kind."""


class ArgumentError(TracejitError, TypeError):
    """An argument is not of the kind that the function takes, such as text for a number."""


class NestingError(TracejitError, RecursionError):
    """An argument is nested too deep, or contains itself."""


class DomainError(TracejitError, ValueError, RuntimeError):
    """A value for which the operation has no meaning, such as an integer to a negative power."""


class LinAlgError(DomainError, np.linalg.LinAlgError):
    """A matrix for which the operation has no result, such as a singular one to solve with."""


class OutOfBoundsError(TracejitError, IndexError, RuntimeError):
    """An index lies outside the array."""


class ConcretizationError(TracejitError, TypeError):
    """A traced value was asked for its Python value."""


class TraceError(TracejitError, RuntimeError):
    """A function does something that tracing cannot represent."""


class GradientError(TracejitError, RuntimeError):
    """A gradient was asked for that does not exist."""


class LostGradientWarning(UserWarning):
    """A Python number was made of a tensor while its gradient is computed: to that it is a constant."""


class FrozenResultWarning(UserWarning):
    """A traced function asked for random numbers or the time, which are constants of the compiled code."""


class UnrolledLoopWarning(UserWarning):
    """A loop of a traced function is unrolled into very many operations, each of which is compiled."""


class CompilerWarning(RuntimeWarning):
    """The compiler failed on a part of a valid program, which is compiled in a simpler and slower way.

    Results are right. The text names the part and what went wrong: a bug in tracejit, please report it.
    ``warnings.simplefilter("error", tj.CompilerWarning)`` makes an error of it.
    """


class NonFiniteError(TracejitError, FloatingPointError):
    """An operation made a NaN or an infinity, where somebody asked to be told.

    Attributes:
        op: the name of the op.
        location: the user's line, None where it is not known.
    """

    def __init__(self, message: str, op: str = "", location: Any = None) -> None:
        super().__init__(message)
        self.op, self.location = op, location


class VerificationError(TracejitError, ValueError):
    """A Function breaks an invariant of the IR.

    Attributes:
        problem: what is wrong, in a line.
        instruction: where, None where it is the Function itself.
    """

    def __init__(self, problem: str, text: str = "", instruction: Any = None) -> None:
        self.problem, self.instruction = problem, instruction
        super().__init__(f"{problem}\n{text}" if text else problem)


class ParseError(TracejitError, ValueError):
    """IR text is malformed; the message carries line, column and a caret.

    Attributes:
        problem: what is wrong, in a line.
        line: where, from 1.
        column: where in that line, from 1.
        source: the line itself.
    """

    def __init__(self, problem: str, line: int, column: int, source: str) -> None:
        self.problem, self.line, self.column, self.source = problem, line, column, source
        super().__init__(f"line {line}, column {column}: {problem}\n{self.caret}")

    @property
    def caret(self) -> str:
        """The line, and a caret under the place; of a long line what is around it."""
        first = max(0, self.column - 80) if len(self.source) > 160 else 0
        shown = self.source[first : first + 160]
        under = "".join("\t" if text == "\t" else " " for text in shown[: self.column - 1 - first])
        return f"  {shown}\n  {under}^"


class KernelError(TracejitError, RuntimeError):
    """An op has no kernel where it is to run, or its kernel failed or broke its promises."""


class CompileError(TracejitError, RuntimeError):
    """Native code generation failed; a bug in tracejit, not in the user's program."""
