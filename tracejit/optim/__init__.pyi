# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from .clipping import (
    clip_by_global_norm as clip_by_global_norm,
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
    global_norm as global_norm,
)

from .schedules import (
    Schedule as Schedule,
    constant as constant,
    cosine_decay as cosine_decay,
    exponential_decay as exponential_decay,
    join as join,
    linear as linear,
    multistep as multistep,
    step_decay as step_decay,
    warmup_cosine as warmup_cosine,
)

from .stateful import (
    Adam as Adam,
    AdamW as AdamW,
    ParameterOptimizer as ParameterOptimizer,
    SGD as SGD,
)

from .transforms import (
    Optimizer as Optimizer,
    adam as adam,
    adamw as adamw,
    sgd as sgd,
)
