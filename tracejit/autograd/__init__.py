"""``tj.autograd``: eager automatic differentiation. Semantics: ``torch.autograd``."""

from __future__ import annotations

from ..arguments.errors import check_public as _check_public
from ..backward.functions import FunctionCtx
from ..tape.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from . import functional, graph
from .anomaly import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from .checking import gradcheck, gradgradcheck
from .checkpoint import checkpoint
from .function import Function, once_differentiable
from .gradcheck_jacobians import GradcheckError
from .passes import backward, grad, graph_of

__all__ = [
    "Function",
    "FunctionCtx",
    "GradcheckError",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "graph_of",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]

_check_public(globals(), __all__, "autograd.")
_check_public(vars(functional), functional.__all__, "autograd.functional.")
