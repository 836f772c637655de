"""HIPS autograd's names: ``import tracejit.compat.autograd.numpy as np`` for ``import autograd.numpy as np``.

Outside of derivatives and of ``tj.jit`` the functions are NumPy's, of NumPy's arrays; inside, arrays are
tensors. Gradients by arrays are arrays, gradients by tensors tensors. ``tracejit port file.py`` changes the
imports of a program; ``docs/coming-from-autograd.md`` says what differs.
"""

from __future__ import annotations

import typing as _typing

from ...base.loading import load_module as _load_module
from .builtins import dict, isinstance, list, tuple, type
from .derivatives import (
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    holomorphic_grad,
    multigrad_dict,
    value_and_grad,
)
from .primitives import checkpoint, primitive
from .products import (
    deriv,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    tensor_jacobian_product,
    vector_jacobian_product,
)

#: Modules that load at their first use.
_MODULES = frozenset({"extend", "misc", "numpy", "scipy", "test_util", "tracer", "util"})
if _typing.TYPE_CHECKING:
    from . import extend, misc, numpy, scipy, test_util, tracer, util  # noqa: F401
else:

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return _load_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


#: A shorter name for it, that JAX and ``tj`` have.
hvp = hessian_vector_product

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "hvp",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]
