"""tracejit: a tracing JIT for NumPy-style Python, with eager autograd and symbolic gradients.

    import tracejit as tj

Array functions have NumPy's names and semantics, eager autograd PyTorch's, transforms JAX's.
"""

from __future__ import annotations

import os as _os
import typing as _typing

from . import array as _array
from . import autograd, debug, random, tree
from .arguments.errors import check_public as _check_public
from .array import *  # noqa: F403
from .array.creation import tensor
from .array.deferred import NAMES as _DEFERRED
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
from .base.errors import (
    ArgumentError,
    AttributeValueError,
    AxisError,
    CompileError,
    CompilerWarning,
    ConcretizationError,
    DomainError,
    DTypeError,
    FrozenResultWarning,
    GradientError,
    KernelError,
    LinAlgError,
    LostGradientWarning,
    NestingError,
    NonFiniteError,
    OutOfBoundsError,
    ParseError,
    ShapeError,
    TraceError,
    TracejitError,
    UncompiledCallWarning,
    UndeterminedGradientWarning,
    UnrolledLoopWarning,
    VerificationError,
)
from .base.loading import load_module as _load_module
from .base.process.progress import progress
from .callbacks import pure_callback
from .control import associative_scan, cond, fori_loop, map, scan, switch, while_loop
from .ir.dtypes import BY_NAME as _DTYPES
from .ir.dtypes import as_dtype, default_dtype, set_default_dtype
from .ir.graph import Function
from .ir.types import TensorType
from .jitted.jit import eval_shape, jit, make_ir, trace
from .jitted.registry import disable_jit
from .pytree import register_pytree_node, tree_leaves, tree_map
from .runtime.denormals import flush_denormals
from .runtime.threads import num_threads, set_num_threads, threads
from .tensors.tensor import Tensor
from .tracebacks import fold_uncaught as _fold_uncaught
from .transforms.custom.jvp import custom_jvp
from .transforms.custom.vjp import custom_grad, custom_vjp
from .transforms.grad import grad, stop_gradient, value_and_grad
from .transforms.jacobians import elementwise_grad, hessian, jacfwd, jacobian, jacrev
from .transforms.raveling import ravel_pytree
from .transforms.vjp_jvp import hvp, jvp, linearize, vjp
from .transforms.vmap import vmap
from .version import __version__ as __version__

__array_api_version__ = "2024.12"

bool_ = _DTYPES["bool"]
int8, int16, int32, int64 = (_DTYPES[f"i{bits}"] for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_DTYPES[f"u{bits}"] for bits in (8, 16, 32, 64))
float16, float32, float64 = (_DTYPES[f"f{bits}"] for bits in (16, 32, 64))
complex64, complex128 = _DTYPES["c64"], _DTYPES["c128"]

from math import e, inf, nan, pi  # noqa: E402

newaxis = None
#: NumPy's name of the array class, for annotations.
ndarray = Tensor


#: Submodules that load at their first use: they would cost import time to all.
_LAZY = frozenset({"emath", "extend", "fft", "linalg", "nn", "optim", "scipy", "testing"})
#: Functions of ``tracejit.profiling``, which loads when the first of them is used.
_PROFILING = frozenset({"memory", "profile"})
if _typing.TYPE_CHECKING:
    from . import emath, extend, fft, linalg, nn, optim, scipy, testing
    from .array.deferred import *  # noqa: F403
    from .array.information.array_api import NamespaceInfo
    from .extend import (
        backend,
        copy_registered_kernels,
        get_backend,
        get_gradient,
        get_kernel,
        kernels_for_backend,
        ops,
        register_backend,
        register_gradient,
        register_kernel,
        register_op,
        remove_backend,
        run_kernel,
        set_backend,
        unregister_gradient,
        unregister_kernel,
        unregister_op,
    )
    from .profiling import memory, profile
else:

    def __getattr__(name: str) -> object:
        if name in _LAZY:
            return _load_module(f".{name}", __name__)
        if name in _DEFERRED:
            function = globals()[name] = getattr(_array, name)
            return function
        if name in __all__:  # the rest of it are functions of these, which load when one is first used
            module = ".profiling" if name in _PROFILING else ".extend"
            value = globals()[name] = getattr(_load_module(module, __name__), name)
            return value
        message = f"module {__name__!r} has no attribute {name!r}"
        if not name.startswith("_"):  # those are asked for by tools, which expect that they may be missing
            message += _load_module(".missing_names", __name__).hint(name)
        raise AttributeError(message)


def __array_namespace_info__() -> NamespaceInfo:
    """The devices, dtypes and capabilities of this namespace, for inspection. Semantics: the Array API."""
    module = _load_module(".array.information.array_api", __name__)
    info: NamespaceInfo = module.NamespaceInfo()
    return info


def __dir__() -> list[str]:
    return [*(name for name in globals() if name.startswith("__")), *__all__]


__all__ = [
    *_array.__all__,
    *_DEFERRED,
    "tree",
    "ravel_pytree",
    "ndarray",
    "make_ir",
    "jacobian",
    "eval_shape",
    "elementwise_grad",
    "ArgumentError",
    "AttributeValueError",
    "AxisError",
    "CompileError",
    "CompilerWarning",
    "ConcretizationError",
    "DTypeError",
    "DomainError",
    "FrozenResultWarning",
    "Function",
    "GradientError",
    "KernelError",
    "LinAlgError",
    "LostGradientWarning",
    "NestingError",
    "NonFiniteError",
    "OutOfBoundsError",
    "ParseError",
    "ShapeError",
    "Tensor",
    "TensorType",
    "TraceError",
    "TracejitError",
    "UncompiledCallWarning",
    "UndeterminedGradientWarning",
    "UnrolledLoopWarning",
    "VerificationError",
    "as_dtype",
    "associative_scan",
    "autograd",
    "backend",
    "bool_",
    "checkpoint",
    "complex128",
    "complex64",
    "custom_grad",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "copy_registered_kernels",
    "cond",
    "default_dtype",
    "disable_jit",
    "e",
    "emath",
    "enable_grad",
    "extend",
    "fft",
    "float16",
    "float32",
    "float64",
    "get_backend",
    "get_gradient",
    "get_kernel",
    "flush_denormals",
    "fori_loop",
    "grad",
    "graph_of",
    "hessian",
    "hvp",
    "inf",
    "inference_mode",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "jacfwd",
    "jacrev",
    "jit",
    "kernels_for_backend",
    "memory",
    "jvp",
    "linalg",
    "linearize",
    "map",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "num_threads",
    "progress",
    "ops",
    "optim",
    "pi",
    "pure_callback",
    "profile",
    "random",
    "register_backend",
    "register_gradient",
    "register_kernel",
    "register_op",
    "register_pytree_node",
    "remove_backend",
    "run_kernel",
    "scipy",
    "set_backend",
    "scan",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_threads",
    "stop_gradient",
    "switch",
    "tensor",
    "testing",
    "threads",
    "trace",
    "tree_leaves",
    "tree_map",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unregister_gradient",
    "unregister_kernel",
    "unregister_op",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

from . import provided as _provided  # noqa: E402
from . import providers as _providers  # noqa: E402, F401

if _os.environ.get("TRACEJIT_CHECK_NANS"):
    _load_module(".profiling.nonfinite", __name__).check_everything(_os.environ["TRACEJIT_CHECK_NANS"])
if _os.environ.get("TRACEJIT_DUMP"):
    _provided.DUMPING().dump_by_environment()

_fold_uncaught()
_check_public(globals(), __all__)
