# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from . import (
    functional as functional,
    graph as graph,
)

from ..backward.functions import (
    FunctionCtx as FunctionCtx,
)

from ..tape.modes import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)

from .anomaly import (
    detect_anomaly as detect_anomaly,
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
    set_detect_anomaly as set_detect_anomaly,
)

from .checking import (
    gradcheck as gradcheck,
    gradgradcheck as gradgradcheck,
)

from .checkpoint import (
    checkpoint as checkpoint,
)

from .function import (
    Function as Function,
    once_differentiable as once_differentiable,
)

from .gradcheck_jacobians import (
    GradcheckError as GradcheckError,
)

from .passes import (
    backward as backward,
    grad as grad,
    graph_of as graph_of,
)
