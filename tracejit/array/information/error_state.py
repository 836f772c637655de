"""Handling of floating-point errors, which is NumPy's, and of matrices without a result in linear algebra."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np

from ...base.errors import DomainError
from ...base.process.locks import ForkLock
from ...ir.dtypes import set_usual
from ...state import LINALG_NAN, LINALG_RAISE, STATE

_Function = TypeVar("_Function", bound=Callable[..., Any])
_HANDLING: Final = {"raise": LINALG_RAISE, "nan": LINALG_NAN}
_LOCK: Final = ForkLock()
_entered = 0


def _count(change: int) -> None:
    """Add `change` to the number of contexts, of all threads, in which failures give NaN."""
    global _entered
    with _LOCK:
        _entered += change
        set_usual(not _entered)


class errstate(np.errstate):
    """NumPy's context manager and decorator, which also says what becomes of matrices without a result.

    With ``linalg="nan"``, those that are singular, or not positive definite, or for which iterations do not
    converge, give NaN, each for itself; with "raise", the default, LinAlgError. It holds for functions of
    `tj.linalg` and `tj.scipy.linalg` that are called within, in this thread, and for jitted functions that
    call them. The other arguments are NumPy's; where one asks for more than a warning, jitted functions run
    as Python (docs/captures.md).

    Example:
        >>> import tracejit as tj
        >>> with tj.errstate(linalg="nan"):
        ...     tj.linalg.inv([[[2.0]], [[0.0]]])
        tensor([[[0.5]],
        <BLANKLINE>
                [[nan]]])

    Raises DomainError for another `linalg`. Semantics: ``numpy.errstate``.
    """

    __slots__ = ("_linalg", "_options", "_outer")

    def __init__(self, *, linalg: str | None = None, **options: Any) -> None:
        if linalg is not None and linalg not in _HANDLING:
            raise DomainError(f"errstate: linalg must be 'raise' or 'nan', got {linalg!r}")
        super().__init__(**options)
        self._linalg = None if linalg is None else _HANDLING[linalg]
        self._options = options

    def __enter__(self) -> Any:
        entered = super().__enter__()  # raises where the object is entered twice
        self._outer = STATE.linalg
        if self._linalg is not None:
            STATE.linalg = self._linalg
        if self._linalg is LINALG_NAN:
            _count(1)
        return entered

    def __exit__(self, *error: Any) -> None:
        STATE.linalg = self._outer
        if self._linalg is LINALG_NAN:
            _count(-1)
        super().__exit__(*error)

    def __call__(self, func: _Function) -> _Function:
        @functools.wraps(func)
        def within(*args: Any, **kwargs: Any) -> Any:
            with errstate(linalg=self._linalg, **self._options):
                return func(*args, **kwargs)

        return cast(_Function, within)
