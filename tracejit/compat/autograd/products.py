"""Jacobians and Hessians, and products with them: ``make_vjp``, ``make_jvp``, ... Semantics: HIPS autograd.

Forward mode has no rules of its own here: ``make_jvp`` is the derivative of a product with the transposed
Jacobian by its vector.

All rows of a Jacobian are computed in one batched pass. Rules of a `primitive` are batched with them, so they
have to be written in functions of NumPy's that take tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array.contraction import tensordot
from ...array.operands import as_tensor, filled
from ...array.reductions import sum as total
from ...pytree import tree_map
from ...tensors.tensor import Tensor
from ...transforms.grad import grad as _gradient
from ...transforms.jacobians import hessian as _hessian
from ...transforms.jacobians import jacrev
from ...transforms.vjp_jvp import jvp, linearize, vjp
from .arrays import as_arrays, as_given, holds_tensors
from .derivatives import ArgumentNumbers, checked_argnum, scalar_of, unary


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


def _value_given(value: Any, *arguments: Any) -> Any:
    """A function's result, with arrays in place of tensors unless an argument holds tensors."""
    return value if any(map(holds_tensors, arguments)) else as_arrays(value)


def _fitting(vector: Any, like: Any) -> Any:
    """A cotangent or tangent `vector` in the shapes of `like`, numbers spread over arrays."""
    return tree_map(_fitting_leaf, vector, like)


def _fitting_leaf(vector: Any, like: Any) -> Any:
    shape = like._data.shape if type(like) is Tensor else np.shape(like)
    if type(vector) in (np.ndarray, Tensor) and vector.shape == shape:
        return vector
    tensor = as_tensor(vector)
    if tensor._data.shape == shape or tensor.size != 1:
        return tensor
    return tensor.reshape(()) + filled(0, shape, tensor.dtype)


def make_vjp(fun: Callable[..., Any], argnum: ArgumentNumbers = 0) -> Callable[..., Any]:
    """A function that returns ``(vjp, fun(*args))``, where ``vjp(u)`` is ``u @ J`` with the Jacobian J.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import make_vjp
        >>> vjp, value = make_vjp(lambda x: x**2)(np.array([1.0, 2.0]))
        >>> vjp(np.array([1.0, 10.0])), value
        (array([ 2., 40.]), array([1., 4.]))

    Raises DTypeError for integers, ShapeError for a vector that does not fit. Semantics:
    ``autograd.make_vjp``.
    """
    number = checked_argnum("make_vjp", argnum)

    @functools.wraps(fun)
    def vjp_and_value(*args: Any, **kwargs: Any) -> Any:
        of_chosen, x = unary("make_vjp", fun, number, args, kwargs)
        value, pullback = vjp(of_chosen, x)

        def of_vector(vector: Any) -> Any:
            product = pullback(_fitting(vector, value))[0]
            return product if holds_tensors(vector) else as_given(product, x)

        return of_vector, _value_given(value, x)

    return vjp_and_value


def make_jvp(fun: Callable[..., Any], argnum: ArgumentNumbers = 0) -> Callable[..., Any]:
    """A function that returns ``jvp``, where ``jvp(t)`` is ``(fun(*args), J @ t)`` with the Jacobian J.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import make_jvp
        >>> make_jvp(lambda x: x**2)(np.array([1.0, 2.0]))(np.array([1.0, 10.0]))
        (array([1., 4.]), array([ 2., 40.]))

    Raises as `make_vjp`. Semantics: ``autograd.make_jvp``.
    """
    number = checked_argnum("make_jvp", argnum)

    @functools.wraps(fun)
    def jvp_at(*args: Any, **kwargs: Any) -> Any:
        of_chosen, x = unary("make_jvp", fun, number, args, kwargs)

        def of_tangent(tangent: Any) -> Any:
            value, product = jvp(of_chosen, (x,), (_fitting(tangent, x),))
            return _value_given((value, product), x, tangent)

        return of_tangent

    return jvp_at


def deriv(fun: Callable[..., Any], argnum: ArgumentNumbers = 0) -> Callable[..., Any]:
    """A function that returns the product of the Jacobian with ones: of a function of a number, the
    derivative.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import deriv
        >>> deriv(lambda x: np.array([1.0, 2.0]) * x**2)(3.0)
        array([ 6., 12.])

    Semantics: ``autograd.deriv``.
    """
    number = checked_argnum("deriv", argnum)

    @functools.wraps(fun)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        of_chosen, x = unary("deriv", fun, number, args, kwargs)
        return _value_given(jvp(of_chosen, (x,), (tree_map(_ones, x),))[1], x)

    return derivative


def _ones(leaf: Any) -> Tensor:
    tensor = as_tensor(leaf)
    return filled(1, tensor.shape, tensor.dtype)


def make_hvp(fun: Callable[..., Any], argnum: ArgumentNumbers = 0) -> Callable[..., Any]:
    """A function that returns ``(hvp, gradient)``, where ``hvp(v)`` is ``H @ v`` with the Hessian H.

    `fun` and its gradient run once, however often ``hvp`` is called.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import make_hvp
        >>> make_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))[0](np.array([1.0, 0.0]))
        array([6., 0.])

    Raises as `make_vjp`. Semantics: ``autograd.make_hvp``.
    """
    number = checked_argnum("make_hvp", argnum)

    @functools.wraps(fun)
    def hvp_and_gradient(*args: Any, **kwargs: Any) -> Any:
        of_chosen, x = unary("make_hvp", fun, number, args, kwargs)
        return make_vjp(_gradient(scalar_of(of_chosen)))(x)

    return hvp_and_gradient


def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, vector)`` that returns the product of the Hessian of `fun` with `vector`.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import hessian_vector_product
        >>> hessian_vector_product(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
        array([6., 0.])

    Raises as `make_vjp`. Semantics: ``autograd.hessian_tensor_product``.
    """
    number = checked_argnum("hessian_tensor_product", argnum)

    @functools.wraps(fun)
    def product(*args: Any, **kwargs: Any) -> Any:
        return make_hvp(fun, number)(*args[:-1], **kwargs)[0](args[-1])

    return product


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of ``(*args, vector)`` that returns the product of `vector` with the Jacobian of `fun`.

    The axes of `vector` meet the first axes of the result; the product has those that remain, and the
    argument's.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import tensor_jacobian_product
        >>> tensor_jacobian_product(lambda x: x**2)(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        array([ 2., 40.])

    Raises as `make_vjp`. Semantics: ``autograd.tensor_jacobian_product``.
    """

    @functools.wraps(fun)
    def contracted(*args: Any, **kwargs: Any) -> Any:
        vector = as_tensor(args[-1])
        return tensordot(vector, fun(*args[:-1], **kwargs), axes=vector.ndim)

    return jacobian(contracted, argnum)


vector_jacobian_product = tensor_jacobian_product


def _half_square(x: Any) -> Any:
    return 0.5 * total(x**2, axis=-1)


def make_ggnvp(
    f: Callable[..., Any], g: Callable[..., Any] = _half_square, f_argnum: ArgumentNumbers = 0
) -> Callable[..., Any]:
    """A function that returns ``ggnvp``, where ``ggnvp(v)`` is ``J.T @ H @ J @ v``: the product of a vector
    with the generalized Gauss-Newton matrix of ``g(f(x))``, J the Jacobian of `f`, H the Hessian of `g`.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import make_ggnvp
        >>> make_ggnvp(lambda x: x**2)(np.array([1.0, 2.0]))(np.array([1.0, 1.0]))
        array([ 4., 16.])

    Raises as `make_vjp`. Semantics: ``autograd.make_ggnvp``.
    """
    number = checked_argnum("make_ggnvp", f_argnum)

    @functools.wraps(f)
    def ggnvp_at(*args: Any, **kwargs: Any) -> Any:
        of_chosen, x = unary("make_ggnvp", f, number, args, kwargs)
        value, pullback = vjp(of_chosen, x)
        pushforward = linearize(of_chosen, x)[1]
        curvature = vjp(_gradient(scalar_of(g)), value)[1]

        def ggnvp(vector: Any) -> Any:
            product = pullback(curvature(pushforward(_fitting(vector, x)))[0])[0]
            return product if holds_tensors(vector) else as_given(product, x)

        return ggnvp

    return ggnvp_at
