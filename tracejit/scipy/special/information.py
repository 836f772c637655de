"""Terms of entropies."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .operands import special

__all__ = ["entr", "kl_div", "rel_entr", "xlog1py", "xlogy"]


def xlogy(x: Any, y: Any) -> Tensor:
    """x log(y), and 0 where x is 0 and y no NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.xlogy([0.0, 2.0], [0.0, 1.5])
        tensor([0.        , 0.81093022])

    Semantics: ``scipy.special.xlogy``.
    """
    return special("xlogy", x, y)


def xlog1py(x: Any, y: Any) -> Tensor:
    """x log(1 + y), and 0 where x is 0 and y no NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.xlog1py([0.0, 2.0], [-1.0, 0.5])
        tensor([0.        , 0.81093022])

    Semantics: ``scipy.special.xlog1py``.
    """
    return special("xlog1py", x, y)


def entr(x: Any) -> Tensor:
    """-x log(x), 0 at 0, and -inf below.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.entr([0.0, 0.5])
        tensor([0.        , 0.34657359])

    Semantics: ``scipy.special.entr``.
    """
    return special("entr", x)


def rel_entr(x: Any, y: Any) -> Tensor:
    """x log(x / y), 0 where x = 0 <= y, and infinite elsewhere unless both are positive.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.rel_entr(0.5, 0.25)
        tensor(0.34657359)

    Semantics: ``scipy.special.rel_entr``.
    """
    return special("rel_entr", x, y)


def kl_div(x: Any, y: Any) -> Tensor:
    """x log(x / y) - x + y, y where x = 0 <= y, and infinite elsewhere unless both are positive.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.kl_div(0.5, 0.25)
        tensor(0.09657359)

    Semantics: ``scipy.special.kl_div``.
    """
    return special("kl_div", x, y)
