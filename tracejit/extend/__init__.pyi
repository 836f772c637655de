# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from .backends import (
    Backend as Backend,
    backend as backend,
    get_backend as get_backend,
    register_backend as register_backend,
    remove_backend as remove_backend,
    set_backend as set_backend,
)

from .calling import (
    OpCall as OpCall,
    ops as ops,
)

from .definition import (
    register_op as register_op,
    unregister_op as unregister_op,
)

from .gradients import (
    get_gradient as get_gradient,
    register_gradient as register_gradient,
    unregister_gradient as unregister_gradient,
)

from .kernels import (
    copy_registered_kernels as copy_registered_kernels,
    kernels_for_backend as kernels_for_backend,
    register_kernel as register_kernel,
    run_kernel as run_kernel,
    unregister_kernel as unregister_kernel,
)

from .tables import (
    Gradient as Gradient,
    Kernel as Kernel,
    get_kernel as get_kernel,
    isolated as isolated,
)
