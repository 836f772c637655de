"""``vspace``: zeros, ones, sums and inner products of values that may be differentiated. Semantics: HIPS
autograd."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...base.errors import DTypeError
from ...ir.dtypes import is_complex, is_differentiable
from ...ir.types import TensorType
from ...pytree import TreeDef, flatten
from ...tensors.tensor import Tensor


class VectorSpace:
    """The values of one structure, with leaves of fixed shapes and dtypes. Make one with `vspace`."""

    def __init__(self, structure: TreeDef, types: tuple[TensorType, ...]) -> None:
        self.structure, self.types = structure, types

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VectorSpace) and self.structure == other.structure and self.types == other.types
        )

    def __hash__(self) -> int:
        return hash((self.structure, self.types))

    def __repr__(self) -> str:
        return f"VectorSpace({self.structure.unflatten(self.types)!r})"

    @property
    def size(self) -> int:
        """Number of elements of the values."""
        return sum(type_.size for type_ in self.types)

    @property
    def shape(self) -> Any:
        """The shape of an array; of containers, the spaces of what they hold."""
        if self.structure.is_leaf:
            return self.types[0].shape
        return self.structure.unflatten([VectorSpace(flatten(0)[1], (type_,)) for type_ in self.types])

    @property
    def dtype(self) -> Any:
        """The dtype of an array; of containers, that to which all of theirs are promoted."""
        return np.result_type(*[type_.dtype for type_ in self.types])

    @property
    def iscomplex(self) -> bool:
        """Whether an element is complex."""
        return any(is_complex(type_.dtype) for type_ in self.types)

    def _of(self, make: Callable[[TensorType], Any]) -> Any:
        return self.structure.unflatten([make(type_) for type_ in self.types])

    def zeros(self) -> Any:
        """The value whose elements are 0."""
        return self._of(lambda type_: np.zeros(type_.shape, type_.dtype))

    def ones(self) -> Any:
        """The value whose elements are 1."""
        return self._of(lambda type_: np.ones(type_.shape, type_.dtype))

    def randn(self) -> Any:
        """A value with normally distributed elements, of NumPy's global generator."""

        def make(type_: TensorType) -> Any:
            parts = np.random.randn(*type_.shape)
            if is_complex(type_.dtype):
                parts = parts + 1j * np.random.randn(*type_.shape)
            return np.asarray(parts, type_.dtype)

        return self._of(make)

    def standard_basis(self) -> Iterator[Any]:
        """The values with one element 1 and all others 0; for complex elements also those with one 1j."""
        for leaf, type_ in enumerate(self.types):
            for position in range(type_.size):
                for unit in (1.0, 1.0j) if is_complex(type_.dtype) else (1.0,):
                    value = flatten(self.zeros())[0]
                    value[leaf].reshape(-1)[position] = unit
                    yield self.structure.unflatten(value)

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two values."""
        return self.structure.unflatten([a + b for a, b in zip(flatten(x)[0], flatten(y)[0], strict=True)])

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """The value `x` times the number `a`."""
        return self.structure.unflatten([leaf * a for leaf in flatten(x)[0]])

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The sum of the products of elements: the real part of ``conj(x) * y`` for complex ones."""
        pairs = zip(flatten(x)[0], flatten(y)[0], strict=True)
        return sum([np.real(np.vdot(a, b)) for a, b in pairs], 0.0)

    def covector(self, x: Any) -> Any:
        """The linear function that `x` stands for, as gradients stand for one: complex conjugated."""
        return self.structure.unflatten([np.conj(leaf) for leaf in flatten(x)[0]])


def vspace(value: Any) -> VectorSpace:
    """The vector space of `value`: an array, a number, or a container of these.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd.extend import vspace
        >>> space = vspace({"w": np.ones(2), "b": 0.0})
        >>> space.size, space.zeros()
        (3, {'w': array([0., 0.]), 'b': array(0.)})

    Raises DTypeError for integers and other things that cannot be differentiated. Semantics:
    ``autograd.extend.vspace``.
    """
    leaves, structure = flatten(value)
    types = []
    for leaf in leaves:
        if not isinstance(leaf, (Tensor, np.ndarray, np.generic, float, complex)) or not is_differentiable(
            np.result_type(leaf)
        ):
            raise DTypeError(f"vspace: expected floating numbers and arrays, got {type(leaf).__name__}")
        types.append(TensorType(np.result_type(leaf), np.shape(leaf)))
    return VectorSpace(structure, tuple(types))
