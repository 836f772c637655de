"""``autograd.misc.flatten``: containers of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....pytree import flatten as _leaves
from ....transforms.raveling import ravel_pytree
from ..arrays import as_arrays, holds_tensors

__all__ = ["flatten", "flatten_func"]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of `value` as one vector, and the function that makes such a value of such a vector.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd.misc import flatten
        >>> vector, unflatten = flatten([np.ones(2), {"b": 3.0}])
        >>> vector
        array([1., 1., 3.])
        >>> unflatten(2 * vector)
        [array([2., 2.]), {'b': array(6.)}]

    Gradients flow through both. Leaves of several dtypes are promoted. Semantics: ``autograd.misc.flatten``.
    """
    if holds_tensors(value):
        return ravel_pytree(value)
    leaves, structure = _leaves(value)
    arrays = [np.asarray(leaf) for leaf in leaves]
    vector = np.concatenate([array.ravel() for array in arrays]) if arrays else np.zeros(0)
    ends = np.cumsum([array.size for array in arrays]).tolist()

    def unflatten(vector: Any) -> Any:
        if not isinstance(vector, np.ndarray) and not holds_tensors(vector):
            vector = np.asarray(vector)
        parts = [
            vector[end - array.size : end].reshape(array.shape)
            for array, end in zip(arrays, ends, strict=True)
        ]
        return structure.unflatten(parts)

    return vector, unflatten


def flatten_func(
    func: Callable[..., Any], example: Any
) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """`func`, of and to values like `example`, as a function of and to vectors; with `flatten` of `example`:
    ``(function, unflatten, vector)``. Semantics: ``autograd.misc.flatten.flatten_func``."""
    vector, unflatten = flatten(example)

    def of_vector(x: Any, *args: Any) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return of_vector, unflatten, as_arrays(vector)
