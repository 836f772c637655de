"""Parameters as the stateful optimizers take them: pytrees or iterables of tensors, or parameter groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..base.errors import DomainError, DTypeError
from ..ir.dtypes import is_differentiable
from ..pytree import flatten, leaf_paths
from ..tensors.tensor import Tensor


def tensors_of(owner: str, params: Any) -> list[Tensor]:
    """The leaves of `params`: a pytree, or an iterable such as a generator or ``dict.values()``.

    Raises DTypeError for leaves that are no tensors.
    """
    leaves, structure = flatten(params)
    if (
        structure.is_leaf
        and not isinstance(params, (Tensor, np.ndarray, str))
        and isinstance(params, Iterable)
    ):
        params = list(params)
        leaves, structure = flatten(params)
    for position, leaf in enumerate(leaves):
        if not isinstance(leaf, Tensor):
            path = leaf_paths(params)[position] or "the root"
            raise DTypeError(f"{owner}: params must hold tensors, got {type(leaf).__name__} at {path}")
    return leaves


def groups_of(owner: str, params: Any) -> list[dict[str, Any]]:
    """`params` as dicts with "params": itself where it is a list of such, else one group of its tensors.

    Raises DomainError where there is none.
    """
    if not isinstance(params, (Mapping, Tensor, np.ndarray)) and isinstance(params, Iterable):
        if flatten(params)[1].is_leaf:
            params = list(params)
        if isinstance(params, (list, tuple)) and any(
            isinstance(param, dict) and "params" in param for param in params
        ):
            return [_group(owner, param) for param in params]
    return [{"params": _checked(owner, tensors_of(owner, params))}]


def _group(owner: str, group: Any) -> dict[str, Any]:
    if not isinstance(group, dict) or "params" not in group:
        raise DTypeError(
            f"{owner}: a parameter group is a dict with 'params'; among groups there is a "
            + type(group).__name__
            + (f" with {sorted(map(str, group))}" if isinstance(group, dict) else "")
        )
    return {**group, "params": _checked(owner, tensors_of(owner, group["params"]))}


def _checked(owner: str, tensors: list[Tensor]) -> list[Tensor]:
    if not tensors:
        raise DomainError(f"{owner}: got an empty parameter list; a generator is empty once it has been used")
    for tensor in tensors:
        if not tensor.is_leaf:
            raise DomainError(
                f"{owner}: can't optimize a non-leaf tensor: the one of type {tensor.type} was computed from "
                "others that require grad; pass those, or make a leaf with x.detach().requires_grad_()"
            )
        if not is_differentiable(tensor.dtype):
            raise DTypeError(f"{owner}: parameters must be floating, got {tensor.type}")
    return tensors


def check_distinct(owner: str, groups: list[dict[str, Any]]) -> None:
    """Raise DomainError where a tensor stands in `groups` twice: it would be updated twice per step."""
    seen: set[int] = set()
    for group in groups:
        for tensor in group["params"]:
            if id(tensor) in seen:
                raise DomainError(
                    f"{owner}: the same tensor, of type {tensor.type}, appears twice in the parameters"
                )
            seen.add(id(tensor))
