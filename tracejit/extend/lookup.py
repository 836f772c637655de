"""Which backends have a kernel for an op."""

from __future__ import annotations

from ..ir.errors import KernelError
from ..ir.registry import OPS, Kind, Op
from .tables import LLVM, NUMPY, TABLES, Kernel


def has_numpy(op: Op) -> bool:
    """Whether eager mode can run `op`."""
    return not op.kind.traits.grouped and not getattr(op.eval, "is_missing", False)


def has_native(op: Op) -> bool:
    """Whether compiled code runs `op` without its NumPy kernel, by scalar code or a C function."""
    return (op.kind is Kind.ELEMENTWISE and op.emit is not None) or op.native is not None


def backends_with(op: Op) -> list[str]:
    """The backends that have a kernel for `op`."""
    decomposed = op.name in TABLES.ops and op.decompose is not None and (op.name, NUMPY) not in TABLES.kernels
    backends = [NUMPY] * (has_numpy(op) and not decomposed) + [LLVM] * has_native(op)
    return backends + sorted(
        backend for name, backend in TABLES.kernels if name == op.name and backend not in (NUMPY, LLVM)
    )


def missing_message(name: str, backend: str) -> str:
    """What to say where `backend` has no kernel for the op."""
    others = [text for text in backends_with(OPS[name]) if text != backend]
    elsewhere = f"only for {', '.join(others)}" if others else "nor for any other"
    return (
        f"op {name!r} has no kernel for backend {backend!r}, {elsewhere}; register one with "
        f"tj.register_kernel({name!r}, {backend!r}, fn)"
    )


def get_kernel(name: str, backend: str) -> Kernel:
    """The kernel of the op `name` for `backend`.

    Example:
        >>> import tracejit as tj
        >>> tj.get_kernel("add", "numpy").fn
        <ufunc 'add'>
        >>> tj.get_kernel("matmul", "mine")
        Traceback (most recent call last):
        tracejit.ir.errors.KernelError: get_kernel: op 'matmul' has no kernel for backend 'mine', ...

    Raises KernelError where there is none.
    """
    op = OPS[name]
    if backend not in backends_with(op):
        raise KernelError(missing_message(name, backend))
    kernel = TABLES.kernels.get((name, backend))
    if kernel is not None:
        return kernel
    if backend == LLVM:
        return Kernel(name, backend, op.emit or op.native)
    return Kernel(name, backend, op.eval, call=op.eval)
