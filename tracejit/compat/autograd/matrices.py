"""``jacobian`` and ``hessian`` of arrays. Semantics: HIPS autograd.

All rows are computed in one batched pass. Rules of a `primitive` are batched with them, so they have to be
written in functions of NumPy's that take tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...eager.tensor import Tensor
from ...transforms.jacobians import hessian as _hessian
from ...transforms.jacobians import jacrev
from .arguments import checked_argnum
from .arrays import as_arrays


def jacobian(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun` by one array: of shape ``result.shape + argument.shape``.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import jacobian
        >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])

    Raises DTypeError for integers and for complex results. Semantics: ``autograd.jacobian``.
    """
    return _of_arrays("jacobian", jacrev, fun, argnum)


def hessian(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function that returns the second derivatives of `fun` by one array: of shape ``result.shape +
    argument.shape + argument.shape``.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import hessian
        >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
        array([[4., 2.],
               [2., 0.]])

    Raises as `jacobian`. Semantics: ``autograd.hessian``.
    """
    return _of_arrays("hessian", _hessian, fun, argnum)


def _of_arrays(
    name: str, transform: Callable[..., Any], fun: Callable[..., Any], argnum: Any
) -> Callable[..., Any]:
    number = checked_argnum(name, argnum)
    of_tensors = transform(fun, number)

    @functools.wraps(fun)
    def derivatives(*args: Any, **kwargs: Any) -> Any:
        result = of_tensors(*args, **kwargs)
        argument = args[number] if isinstance(number, int) else args[number[0]]
        return result if isinstance(argument, Tensor) else as_arrays(result)

    return derivatives
