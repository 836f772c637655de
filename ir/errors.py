"""The exceptions tracejit raises on purpose.

Each also derives from the built-in class that NumPy raises for the same mistake, so code that
catches ``ValueError``, ``TypeError`` or ``IndexError`` keeps working.
"""

from __future__ import annotations


class TracejitError(Exception):
    """Base of every error that tracejit raises on purpose."""


class ShapeError(TracejitError, ValueError):
    """Shapes do not fit the operation."""


class AxisError(ShapeError, IndexError):
    """An axis is out of range for the array's rank, or given twice."""


class DTypeError(TracejitError, TypeError):
    """A dtype is unsupported, or does not fit the operation."""


class AttributeValueError(TracejitError, TypeError):
    """An op was given an unknown attribute, or one of the wrong kind."""


class DomainError(TracejitError, ValueError):
    """A value for which the operation has no meaning, such as an integer to a negative power."""


class OutOfBoundsError(TracejitError, IndexError):
    """An index lies outside the array."""


class ConcretizationError(TracejitError, TypeError):
    """A traced value was asked for its Python value."""


class TraceError(TracejitError, RuntimeError):
    """A function does something that tracing cannot represent."""


class GradientError(TracejitError, RuntimeError):
    """A gradient was asked for that does not exist."""


class VerificationError(TracejitError, ValueError):
    """A Function breaks an invariant of the IR."""


class ParseError(TracejitError, ValueError):
    """IR text is malformed; the message carries line, column and a caret."""


class KernelError(TracejitError, RuntimeError):
    """An op has no kernel where it is to run, or its kernel failed or broke its promises."""


class CompileError(TracejitError, RuntimeError):
    """Native code generation failed; a bug in tracejit, not in the user's program."""
