"""Optimisers, gradient clipping and learning-rate schedules. ``docs/optim.md`` shows the two styles.

The functional style (`sgd`, `adam`, `adamw`) maps parameters, gradients and a state to new parameters and a
new state, all pytrees, and is made to stand inside a jitted function. The stateful style (`SGD`, `Adam`,
`AdamW`) holds parameters and writes them in place after ``backward``, as PyTorch's optimisers do. Both
compute by the formulas of `rules`.
"""

from __future__ import annotations

from ..arguments.errors import check_public as _check_public
from .clipping import clip_by_global_norm, clip_grad_norm_, clip_grad_value_, global_norm
from .schedules import (
    Schedule,
    constant,
    cosine_decay,
    exponential_decay,
    join,
    linear,
    multistep,
    step_decay,
    warmup_cosine,
)
from .stateful import SGD, Adam, AdamW, ParameterOptimizer
from .transforms import Optimizer, adam, adamw, sgd

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Optimizer",
    "ParameterOptimizer",
    "Schedule",
    "adam",
    "adamw",
    "clip_by_global_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "constant",
    "cosine_decay",
    "exponential_decay",
    "global_norm",
    "join",
    "linear",
    "multistep",
    "sgd",
    "step_decay",
    "warmup_cosine",
]

_check_public(globals(), __all__, "optim.")
