"""``ravel_pytree``: a tree of numbers as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array.joining import concatenate
from ..array.operands import as_tensor, cast, constant_of, reshaped, sliced
from ..base.errors import ShapeError
from ..ir.dtypes import default_dtype, result_type
from ..pytree import flatten
from ..tensors.tensor import Tensor


def ravel_pytree(tree: Any) -> tuple[Tensor, Callable[[Any], Any]]:
    """The leaves of `tree` as one vector, and the function that makes such a tree of such a vector.

    Leaves of several dtypes are promoted; the function gives each back its own. Gradients flow through both.

    Example:
        >>> import tracejit as tj
        >>> vector, unravel = tj.ravel_pytree({"w": [[1.0, 2.0]], "b": 3.0})
        >>> vector
        tensor([3., 1., 2.])
        >>> unravel(vector * 2)
        {'w': [[tensor(2.), tensor(4.)]], 'b': tensor(6.)}

    Raises DTypeError for leaves that are no numbers, and the function ShapeError for another vector.
    Semantics: ``jax.flatten_util.ravel_pytree``.
    """
    leaves, structure = flatten(tree)
    tensors = [as_tensor(leaf) for leaf in leaves]
    dtype = result_type(*[tensor.dtype for tensor in tensors]) if tensors else default_dtype()
    parts = [reshaped(cast(tensor, dtype), (tensor.size,)) for tensor in tensors]
    vector = concatenate(parts) if parts else constant_of(np.zeros(0, dtype))

    def unravel(vector: Any) -> Any:
        flat = as_tensor(vector)
        size = sum(tensor.size for tensor in tensors)
        if flat.shape != (size,):
            raise ShapeError(f"unravel: vector must have shape ({size},), got {flat.shape}")
        parts, start = [], 0
        for tensor in tensors:
            piece = sliced(flat, 0, start, tensor.size)
            parts.append(cast(reshaped(piece, tensor.shape), tensor.dtype))
            start += tensor.size
        return structure.unflatten(parts)

    return vector, unravel
