"""The exceptions tracejit raises on purpose, and its warnings.

Each also derives from the built-in class that NumPy raises for the same mistake, so code that
catches ``ValueError``, ``TypeError`` or ``IndexError`` keeps working. For arguments of a wrong kind NumPy
raises now TypeError, now ValueError, so `ArgumentError` is both. Those about tensors are RuntimeErrors too,
which is what PyTorch raises for shapes and dtypes that do not fit.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np


class TracejitError(Exception):
    """Base of every error that tracejit raises on purpose.

    Example:
        >>> import tracejit as tj
        >>> tj.get_kernel("nope", "numpy")
        Traceback (most recent call last):
            ...
        tracejit.base.errors.TracejitError: get_kernel: there is no op named 'nope'
    """


class ShapeError(TracejitError, ValueError, RuntimeError):
    """Shapes do not fit the operation.

    Example:
        >>> import tracejit as tj
        >>> tj.zeros(3) + tj.zeros(4)
        Traceback (most recent call last):
            ...
        tracejit.base.errors.ShapeError: add: shapes (3,) and (4,) do not broadcast together
    """


class AxisError(ShapeError, IndexError):
    """An axis is out of range for the array's rank, or given twice.

    Example:
        >>> import tracejit as tj
        >>> tj.sum(tj.zeros(3), axis=1)
        Traceback (most recent call last):
            ...
        tracejit.base.errors.AxisError: sum: axis 1 is out of bounds for an array of rank 1
    """


class AxisKindError(AxisError, TypeError):
    """An axis is no integer.

    Example:
        >>> import tracejit as tj
        >>> tj.sum(tj.zeros(3), axis="x")
        Traceback (most recent call last):
            ...
        tracejit.base.errors.AxisKindError: sum: axis must be an integer, got 'x'
    """


class SizeKindError(ShapeError, TypeError):
    """A size is no integer.

    Example:
        >>> import tracejit as tj
        >>> tj.zeros("x")
        Traceback (most recent call last):
            ...
        tracejit.base.errors.SizeKindError: zeros: a shape must be integers, got 'x'
    """


class OneElementError(ShapeError, TypeError):
    """A Python number is asked of a tensor of several elements, or of none.

    Example:
        >>> import tracejit as tj
        >>> float(tj.zeros(3))
        Traceback (most recent call last):
            ...
        tracejit.base.errors.OneElementError: float(x): expected one element, got shape (3,); reduce it first
    """


class IndexShapeError(ShapeError, IndexError):
    """The shape of a mask does not fit the array, or those of index arrays do not fit each other.

    Example:
        >>> import tracejit as tj
        >>> tj.zeros(3)[tj.ones(2) > 0]
        Traceback (most recent call last):
            ...
        tracejit.base.errors.IndexShapeError: getitem: a boolean mask of shape (2,) does not ...
    """


class DTypeError(TracejitError, TypeError, RuntimeError):
    """A dtype is unsupported, or does not fit the operation.

    Example:
        >>> import tracejit as tj
        >>> tj.zeros(3, dtype=str)
        Traceback (most recent call last):
            ...
        tracejit.base.errors.DTypeError: zeros: dtype str is not supported; expected one of bool, i8, ...
    """


class NotNumbersError(DTypeError, ValueError):
    """Numbers are expected, and there is something else, such as text.

    Example:
        >>> import tracejit as tj
        >>> tj.asarray("three")
        Traceback (most recent call last):
            ...
        tracejit.base.errors.NotNumbersError: asarray: ... expected numbers, got 'three', which has dtype <U5
    """


class IndexKindError(DTypeError, IndexError):
    """An index is no integer, slice or mask.

    Example:
        >>> import tracejit as tj
        >>> tj.zeros(3)["x"]
        Traceback (most recent call last):
            ...
        tracejit.base.errors.IndexKindError: getitem: ... indices must be integers, slices, ..., got 'x'
    """


class AttributeValueError(TracejitError, TypeError):
    """An op was given an unknown attribute, or one of the wrong kind.

    Example:
        >>> import tracejit as tj
        >>> tj.run_kernel("sum", tj.zeros(3), axis=0)
        Traceback (most recent call last):
            ...
        tracejit.base.errors.AttributeValueError: run_kernel: sum: unknown attribute 'axis'; expected axes
    """


class ArgumentError(TracejitError, TypeError, ValueError):
    """An argument is not of the kind that the function takes, such as text for a number.

    Example:
        >>> import tracejit as tj
        >>> tj.sort(tj.ones(4), order="x")
        Traceback (most recent call last):
            ...
        tracejit.base.errors.ArgumentError: sort: order must be None: tensors have no fields, got 'x'
    """


class NestingError(TracejitError, RecursionError):
    """An argument is nested too deep, or contains itself.

    Example:
        >>> import tracejit as tj
        >>> numbers = []
        >>> numbers.append(numbers)
        >>> tj.tensor(numbers)
        Traceback (most recent call last):
            ...
        tracejit.base.errors.NestingError: tensor: an argument is nested too deep, or contains itself
    """


class DomainError(TracejitError, ValueError, RuntimeError):
    """A value for which the operation has no meaning, such as an integer to a negative power.

    Example:
        >>> import tracejit as tj
        >>> tj.tensor(2) ** -1
        Traceback (most recent call last):
            ...
        tracejit.base.errors.DomainError: power: ... Integers to negative integer powers are not allowed.
    """


class ZeroDivisorError(ShapeError, DomainError, ZeroDivisionError):
    """A number that divides a size, an interval or a Python integer is zero, such as the step of a range.

    Example:
        >>> import tracejit as tj
        >>> tj.arange(0, 5, 0)
        Traceback (most recent call last):
            ...
        tracejit.base.errors.ZeroDivisorError: arange: step must not be zero
    """


class LinAlgError(DomainError, np.linalg.LinAlgError):
    """A matrix for which the operation has no result, such as a singular one to solve with.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.solve(tj.zeros((2, 2)), tj.ones(2))
        Traceback (most recent call last):
            ...
        tracejit.base.errors.LinAlgError: linalg.solve: lu_solve: singular matrix
    """


class OutOfBoundsError(TracejitError, IndexError, RuntimeError):
    """An index lies outside the array.

    Example:
        >>> import tracejit as tj
        >>> tj.zeros(3)[3]
        Traceback (most recent call last):
            ...
        tracejit.base.errors.OutOfBoundsError: getitem: index 3 is out of bounds for axis 0 with size 3
    """


class IndexValueError(OutOfBoundsError, ValueError):
    """A number that counts or chooses elements is out of range, in a function of such numbers.

    Example:
        >>> import tracejit as tj
        >>> tj.unravel_index(100, (2, 3))
        Traceback (most recent call last):
            ...
        tracejit.base.errors.IndexValueError: unravel_index: an index is outside of an array of 6 elements
    """


class ConcretizationError(TracejitError, TypeError):
    """A traced value was asked for its Python value.

    Example:
        >>> import tracejit as tj
        >>> tj.jit(lambda x: x.numpy())(tj.ones(3))
        Traceback (most recent call last):
            ...
        tracejit.base.errors.ConcretizationError: numpy(), ... needs the value of a traced tensor ...
    """


class TraceError(TracejitError, RuntimeError):
    """A function does something that tracing cannot represent.

    Example:
        >>> import tracejit as tj
        >>> stored = []
        >>> y = tj.jit(lambda x: stored.append(x) or x)(tj.ones(2))
        >>> stored[0] + 1
        Traceback (most recent call last):
            ...
        tracejit.base.errors.TraceError: add: a traced tensor of type f64[2] outlived its trace: ...
    """


class GradientError(TracejitError, RuntimeError):
    """A gradient was asked for that does not exist.

    Example:
        >>> import tracejit as tj
        >>> tj.grad(lambda x: x)(tj.ones(2))
        Traceback (most recent call last):
            ...
        tracejit.base.errors.GradientError: grad of <lambda>: the function must return a floating scalar, ...
    """


class LostGradientWarning(UserWarning):
    """A Python number was made of a tensor while its gradient is computed: to that it is a constant.

    Example:
        >>> import warnings
        >>> import tracejit as tj
        >>> with warnings.catch_warnings(record=True) as seen:
        ...     warnings.simplefilter("always")
        ...     gradient = tj.grad(lambda x: float(x) * x)(2.0)
        >>> print(seen[0].message)
        grad of <lambda>: float(x) makes a Python number, which no gradient follows: ...
    """


class FrozenResultWarning(UserWarning):
    """A traced function asked for random numbers or the time, which are constants of the compiled code; or it
    reads more outside its arguments than is watched.

    Example:
        >>> import warnings
        >>> import numpy as np, tracejit as tj
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", tj.FrozenResultWarning)  # an error shows where
        ...     y = tj.jit(lambda x, noise: x + noise)(2.0, np.random.rand())  # so it is no constant
    """


class UnrolledLoopWarning(UserWarning):
    """A loop of a traced function is unrolled into very many operations, each of which is compiled.

    Example:
        >>> import warnings
        >>> import tracejit as tj
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", tj.UnrolledLoopWarning)  # an error names the loop's line
        ...     y = tj.jit(lambda x: sum(x * i for i in range(5)))(2.0)
        >>> y
        tensor(20.)
    """


class UncompiledCallWarning(UserWarning):
    """Warning that a call of a jitted function runs as Python, because an array that it writes has a second
    name or is no argument.

    Example:
        >>> import warnings
        >>> import numpy as np, tracejit as tj
        >>> @tj.jit
        ... def shift(out, x):
        ...     out[:] = x
        >>> row = np.arange(4.0)
        >>> with warnings.catch_warnings(record=True) as seen:
        ...     warnings.simplefilter("always")
        ...     shift(row[1:], row[:-1])
        >>> seen[0].category.__name__, row
        ('UncompiledCallWarning', array([0., 0., 1., 2.]))

    Results are right; only the time of such calls is that of Python.
    """


class UndeterminedGradientWarning(RuntimeWarning):
    """Warning that a gradient is NaN, because it does not exist or is not determined: that of vectors of
    equal eigenvalues or singular values, of defective matrices, and of dependent columns. Of nearly equal
    values the warning is that few digits of the gradient are right.

    Example:
        >>> import warnings
        >>> import tracejit as tj
        >>> with warnings.catch_warnings(record=True) as seen:
        ...     warnings.simplefilter("always")
        ...     gradient = tj.grad(lambda x: tj.linalg.eigh(x).eigenvectors[0, 0])(tj.eye(2))
        >>> tj.isnan(gradient).all()
        tensor(True)
        >>> print(seen[0].message)
        gradients are NaN where eigenvalues or singular values are equal: their vectors are not determined ...
    """


class CompilerWarning(RuntimeWarning):
    """The compiler failed on a part of a valid program, which is compiled in a simpler and slower way.

    Results are right. The text names the part and what went wrong: a bug in tracejit, please report it.
    ``warnings.simplefilter("error", tj.CompilerWarning)`` makes an error of it.

    Example:
        >>> import warnings
        >>> import tracejit as tj
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", tj.CompilerWarning)
        ...     y = tj.jit(tj.exp)(tj.zeros(2))
        >>> y
        tensor([1., 1.])
    """


class NonFiniteError(TracejitError, FloatingPointError):
    """Error for an operation that made a NaN or an infinity, where this is checked.

    Attributes:
        op: the name of the op.
        location: the user's line, None where it is not known.

    Example:
        >>> import numpy as np, tracejit as tj
        >>> with np.errstate(divide="ignore"), tj.debug.check_nans():
        ...     tj.log(tj.tensor(0.0))
        Traceback (most recent call last):
            ...
        tracejit.base.errors.NonFiniteError: check_nans: log made an infinity ...
    """

    def __init__(self, message: str, op: str = "", location: Any = None) -> None:
        super().__init__(message)
        self.op, self.location = op, location


class VerificationError(TracejitError, ValueError):
    """A Function breaks an invariant of the IR.

    Attributes:
        problem: what is wrong, in a line.
        instruction: where, None where it is the Function itself.

    Example:
        >>> import tracejit as tj
        >>> from tracejit.ir.verifier import verify
        >>> function = tj.make_ir(lambda x: tj.exp(x))(tj.ones(3))
        >>> verify(tj.Function("f", function.params, (), function.results))
        Traceback (most recent call last):
            ...
        tracejit.base.errors.VerificationError: @f: result 0 is not defined in this function
        ...
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

    Example:
        >>> import tracejit as tj
        >>> from tracejit.ir.text.parser import parse_function
        >>> parse_function("func @f(%x: f64[3]) -> f64[3] { return %y }")
        Traceback (most recent call last):
            ...
        tracejit.base.errors.ParseError: line 1, column 40: %y is not defined
          func @f(%x: f64[3]) -> f64[3] { return %y }
                                                 ^
    """

    def __init__(self, problem: str, line: int, column: int, source: str) -> None:
        self.problem, self.line, self.column, self.source = problem, line, column, source
        super().__init__(f"line {line}, column {column}: {problem}\n{self.caret}")

    @property
    def caret(self) -> str:
        """The line, with a caret under the place. Of a long line only the surroundings of the place are
        shown."""
        first = max(0, self.column - 80) if len(self.source) > 160 else 0
        shown = self.source[first : first + 160]
        under = "".join("\t" if text == "\t" else " " for text in shown[: self.column - 1 - first])
        return f"  {shown}\n  {under}^"


class KernelError(TracejitError, RuntimeError):
    """An op has no kernel where it is to run, or its kernel failed or broke its promises.

    Example:
        >>> import tracejit as tj
        >>> tj.get_kernel("exp", "mine")
        Traceback (most recent call last):
            ...
        tracejit.base.errors.KernelError: get_kernel: op 'exp' has no kernel for backend 'mine', ...
    """


class CompileError(TracejitError, RuntimeError):
    """Native code generation failed; a bug in tracejit, not in the user's program.

    Example:
        >>> import tracejit as tj
        >>> from tracejit.runtime.executable import Executable
        >>> executable = Executable(tj.trace(tj.exp, tj.ones(3)))
        >>> executable.run([])
        Traceback (most recent call last):
            ...
        tracejit.base.errors.CompileError: expected 1 arguments, got 0
    """


class RunsAgainError(TracejitError):
    """A call that ends as compiled, and runs again."""


class ListRoomError(RunsAgainError):
    """A list of a loop gets more items than compiled code has room for: the call is compiled with more."""


class UnfitNumberError(RunsAgainError, DTypeError):
    """A Python number does not fit the dtype that it has in compiled code: the call runs as Python."""


class MissingKeyError(TracejitError, KeyError):
    """A dict or set of a compiled loop does not have a key."""

    __str__ = TracejitError.__str__


class AliasedError(TracejitError):
    """A call that cannot run as compiled, since what the function writes has another name as well.

    Attributes:
        advice: how such calls are compiled.
    """

    advice: str = "pass a copy of either"


class UncompilableError(AliasedError):
    """A call that cannot run as compiled, as no call of its signature can."""


class AskedValueError(UncompilableError):
    """A call that cannot run as compiled, since the function asks of a traced value what only the value of
    Python's or NumPy's own tells."""

    advice = "compare by `==`, ask by `isinstance`, or make the argument static"


class MemoryOrderError(UncompilableError):
    """A call that cannot run as compiled, since the order of elements in memory decides what it writes."""

    advice = "write a copy, or to the array by its own indices"


class SubclassError(AliasedError):
    """A call with arrays of a subclass of ndarray, whose operations may be others."""

    advice = "pass np.asarray(x) where its elements alone are meant"


class ErrorStateError(AliasedError):
    """A call that does not run as compiled, since NumPy's error state asks for what compiled code does not do
    where a number overflows or is divided by zero."""

    advice = "set it to 'warn' or 'ignore' around calls that should be"


class RepeatedEffectError(UncompilableError):
    """A call that cannot run as compiled, since the function has effects, which would happen once more where
    a list of a loop needs more room than it has."""

    advice = "move the effects, or the loop, to a function that is called outside"


class HandledError(UncompilableError):
    """A call that cannot run as compiled, since the function handles an error of what is compiled."""

    advice = "test for the error's cause instead, or move the `try` or `with` outside of the function"


#: Errors that compiled code checks for beside those of indices, by the beginnings of their messages.
_CHECKED: Final[dict[str, type[TracejitError]]] = {
    "LinAlgError": LinAlgError,
    "IndexValueError": IndexValueError,
    "ZeroDivisorError": ZeroDivisorError,
    "DomainError": DomainError,
    "ListRoomError": ListRoomError,
    "UnfitNumberError": UnfitNumberError,
    "MissingKeyError": MissingKeyError,
    "ShapeError": ShapeError,
}


def checked_error(message: str) -> TracejitError:
    """The error of compiled code that ended with `message`: "its class: its text", or the text of an
    OutOfBoundsError."""
    name, _, text = message.partition(": ")
    error = _CHECKED.get(name)
    return OutOfBoundsError(message) if error is None else error(text)
