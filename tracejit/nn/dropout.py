"""Dropout."""

from __future__ import annotations

from typing import Any

from ..array.operands import as_tensor, cast, run
from ..base.errors import DomainError, DTypeError
from ..ir.dtypes import is_real_floating
from ..random import bernoulli, next_key
from ..tensors.tensor import Tensor


def dropout(x: Any, p: float = 0.5, training: bool = True, *, key: Any = None) -> Tensor:
    """`x` with each element zeroed with probability `p`, and the others divided by 1 - p; so the mean stays.

    Without `training`, `x` itself. The mask is drawn with `key`, or else with a key that each call, jitted or
    not, draws from the default generator (see ``tj.random.next_key``). The gradient is the mask, divided by
    1 - p. `p` and `training` are Python values: under ``jit``, constants or static arguments.

    Example:
        >>> import tracejit as tj
        >>> tj.random.seed(0)
        >>> tj.nn.dropout(tj.ones(6))
        tensor([0., 2., 0., 0., 2., 2.])

    Raises DomainError for a `p` outside [0, 1], DTypeError for a `p` that is no Python number and for an `x`
    that is not floating. Semantics: ``torch.nn.functional.dropout``, with another mask.
    """
    tensor = as_tensor(x)
    if not is_real_floating(tensor.dtype):
        raise DTypeError(f"nn.dropout: expected a floating x, got dtype {tensor.dtype.name}")
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise DTypeError(
            f"nn.dropout: expected a Python number for p, got {type(p).__name__}; "
            "under jit, name p in static_argnames"
        )
    if not 0 <= p <= 1:
        raise DomainError(f"nn.dropout: the probability p must be from 0 to 1, got {p}")
    if not training or p == 0:
        return tensor
    # in the dtype of x, which takes as few bits per number as it has
    chance = cast(as_tensor(1.0 - p), tensor.dtype)
    kept = bernoulli(next_key() if key is None else key, chance, tensor.shape)
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    return run("mul", tensor, run("mul", cast(kept, tensor.dtype), scale))
