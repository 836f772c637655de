"""tracejit: a tracing JIT for NumPy-style Python, with eager autograd and symbolic gradients.

    import tracejit as tj

Array functions have NumPy's names and semantics, eager autograd PyTorch's, transforms JAX's.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import array as _array
from . import autograd, random
from .array import *  # noqa: F403
from .array.creation import tensor
from .autograd import (
    checkpoint,
    enable_grad,
    graph_of,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .control import cond, fori_loop, map, scan, switch, while_loop
from .ir.dtypes import BY_NAME as _DTYPES
from .ir.dtypes import as_dtype, default_dtype, set_default_dtype
from .ir.errors import (
    AttributeValueError,
    AxisError,
    CompileError,
    ConcretizationError,
    DomainError,
    DTypeError,
    GradientError,
    OutOfBoundsError,
    ParseError,
    ShapeError,
    TraceError,
    TracejitError,
    VerificationError,
)
from .ir.graph import Function
from .ir.types import TensorType
from .jacobians import hessian, jacfwd, jacrev
from .jit import disable_jit, jit, trace
from .mapping import vmap
from .products import hvp, jvp, linearize, vjp
from .pytree import register_pytree_node, tree_leaves, tree_map
from .runtime.threads import num_threads, set_num_threads, threads
from .tensor import Tensor
from .transforms import grad, stop_gradient, value_and_grad

__version__ = "0.1.0"

bool_ = _DTYPES["bool"]
int8, int16, int32, int64 = (_DTYPES[f"i{bits}"] for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_DTYPES[f"u{bits}"] for bits in (8, 16, 32, 64))
float32, float64 = _DTYPES["f32"], _DTYPES["f64"]

from math import e, inf, nan, pi  # noqa: E402

newaxis = None


#: Submodules that load at their first use: they would cost import time to all.
_LAZY = frozenset({"nn", "optim"})
#: Where what PyTorch has at the top is here.
_ELSEWHERE = {
    "as_tensor": "asarray",
    "cat": "concatenate",
    "from_numpy": "asarray",
    "manual_seed": "random.seed",
    "rand": "random.rand",
    "randn": "random.randn",
    "relu": "nn.relu",
    "sigmoid": "nn.sigmoid",
    "softmax": "nn.softmax",
}
if _TYPE_CHECKING:
    from . import nn, optim
else:

    def __getattr__(name: str) -> object:
        if name in _LAZY:
            return _import_module(f".{name}", __name__)
        hint = f"; use tj.{_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


__all__ = [
    *_array.__all__,
    "AttributeValueError",
    "AxisError",
    "CompileError",
    "ConcretizationError",
    "DTypeError",
    "DomainError",
    "Function",
    "GradientError",
    "OutOfBoundsError",
    "ParseError",
    "ShapeError",
    "Tensor",
    "TensorType",
    "TraceError",
    "TracejitError",
    "VerificationError",
    "as_dtype",
    "autograd",
    "bool_",
    "checkpoint",
    "cond",
    "default_dtype",
    "disable_jit",
    "e",
    "enable_grad",
    "float32",
    "float64",
    "fori_loop",
    "grad",
    "graph_of",
    "hessian",
    "hvp",
    "inf",
    "inference_mode",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "map",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "num_threads",
    "optim",
    "pi",
    "random",
    "register_pytree_node",
    "scan",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_threads",
    "stop_gradient",
    "switch",
    "tensor",
    "threads",
    "trace",
    "tree_leaves",
    "tree_map",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
