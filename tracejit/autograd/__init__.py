"""``tj.autograd``: eager automatic differentiation. Semantics: ``torch.autograd``.

Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..arguments.errors import check_public as _check_public
from ..base.loading import load_module as _load_module

#: Names by the module that defines them; ``"."`` has names of modules.
_NAMES: Final = {
    ".": "functional graph",
    "..backward.functions": "FunctionCtx",
    "..tape.modes": """
        enable_grad inference_mode is_grad_enabled is_inference_mode_enabled no_grad set_grad_enabled
    """,
    ".anomaly": "detect_anomaly is_anomaly_check_nan_enabled is_anomaly_enabled set_detect_anomaly",
    ".checking": "gradcheck gradgradcheck",
    ".checkpointing": "checkpoint",
    ".function": "Function once_differentiable",
    ".gradcheck_jacobians": "GradcheckError",
    ".passes": "backward grad graph_of",
}
_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

if TYPE_CHECKING:
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
    from .anomaly import (
        detect_anomaly,
        is_anomaly_check_nan_enabled,
        is_anomaly_enabled,
        set_detect_anomaly,
    )
    from .checking import gradcheck, gradgradcheck
    from .checkpointing import checkpoint
    from .function import Function, once_differentiable
    from .gradcheck_jacobians import GradcheckError
    from .passes import backward, grad, graph_of
else:

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if home == ".":
            return _load_module(f".{name}", __name__)
        globals()[name] = getattr(_load_module(home, __name__), name)
        _check_public(globals(), [name], "autograd.")
        return globals()[name]


def __dir__() -> list[str]:
    return [*(name for name in globals() if name.startswith("__")), *__all__]


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
