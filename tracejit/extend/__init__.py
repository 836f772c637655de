"""Ops, kernels, gradients and backends by name, at run time. See docs/extending.md.

An *op* is what users call, a *kernel* one backend's implementation of it, found by (op, backend), a
*gradient* is found by the op's name. Inputs are tensors; everything else is an attribute. The model is that
of TensorFlow.js.
"""

from __future__ import annotations

from ..arguments.errors import check_public as _check_public
from .backends import Backend, backend, get_backend, register_backend, remove_backend, set_backend
from .calling import OpCall, ops
from .definition import register_op, unregister_op
from .gradients import get_gradient, register_gradient, unregister_gradient
from .kernels import (
    copy_registered_kernels,
    get_kernel,
    kernels_for_backend,
    register_kernel,
    run_kernel,
    unregister_kernel,
)
from .tables import Gradient, Kernel, isolated

__all__ = [
    "Backend",
    "Gradient",
    "Kernel",
    "OpCall",
    "backend",
    "copy_registered_kernels",
    "get_backend",
    "get_gradient",
    "get_kernel",
    "isolated",
    "kernels_for_backend",
    "ops",
    "register_backend",
    "register_gradient",
    "register_kernel",
    "register_op",
    "remove_backend",
    "run_kernel",
    "set_backend",
    "unregister_gradient",
    "unregister_kernel",
    "unregister_op",
]

_check_public(globals(), __all__)
