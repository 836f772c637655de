"""Ops, kernels, gradients and backends by name, at run time. See docs/extending.md.

An *op* is what users call, a *kernel* one backend's implementation of it, found by (op, backend), a
*gradient* is found by the op's name. Inputs are tensors; everything else is an attribute. The model is that
of TensorFlow.js.
"""

from __future__ import annotations

from ..surface.namespaces import EXTEND as _EXTEND

_EXTEND.attach(globals())
