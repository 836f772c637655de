# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

from typing import Any

from ..tensors.tensor import Tensor

def sum(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """The sum along `axis`; 0 of nothing."""

def prod(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """The product along `axis`; 1 of nothing. Its gradient is right at zeros."""

def mean(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, where: Any = True) -> Tensor:
    """The arithmetic mean along `axis`, NaN of nothing. Integers give the default dtype."""

def max(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """The largest element along `axis`, NaN if any is NaN. Several largest share the gradient equally."""
amax = max

def min(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """The smallest element along `axis`, NaN if any is NaN. Several smallest share the gradient equally."""
amin = min

def all(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, where: Any = True) -> Tensor:
    """Whether all elements along `axis` are true (not zero). True of nothing."""

def any(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, where: Any = True) -> Tensor:
    """Whether any element along `axis` is true (not zero). False of nothing."""

def argmax(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """The index along `axis` of the first largest element or NaN; of the raveled array if `axis` is None."""

def argmin(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """The index along `axis` of the first smallest element or NaN; of the raveled array if `axis` is None."""
