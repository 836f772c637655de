"""Tables of registrations: kernels by (op, backend), gradients and signatures by op.

Ops themselves are in ``ir.registry.OPS``; the tables here say what a user gave, so that it can be asked for,
replaced and put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ..backward.engine import forget_ops
from ..base.errors import KernelError
from ..base.process.locks import ForkLock
from ..base.records import field, record
from ..ir.registry import OPS, Kind, Op
from ..jitted.registry import recompile_all
from ..tape.plans import forget_plans

#: Names of the backends that are always there: eager mode's, and that of compiled code.
NUMPY: Final = "numpy"
LLVM: Final = "llvm"


@record(eq=False, frozen=False)
class Kernel:
    """One backend's implementation of an op.

    Attributes:
        name: the op's name.
        backend: the backend's name.
        fn: what was registered, or for a built-in kernel what computes it.

    Example:
        >>> import tracejit as tj
        >>> kernel = tj.get_kernel("exp", "numpy")
        >>> kernel.name, kernel.backend
        ('exp', 'numpy')
    """

    name: str
    backend: str
    fn: Any
    setup: Callable[[Any], Any] | None = None
    dispose: Callable[[Any], Any] | None = None
    #: `fn` as dispatch calls it: operands prepared, result checked.
    call: Callable[..., Any] | None = None
    #: Whether `setup` has run, and `dispose` has not.
    ready: bool = False


@record(eq=False)
class Gradient:
    """The gradient of an op.

    Attributes:
        name: the op's name.
        fn: ``fn(ct, *saved, **attrs)``; `saved` are the inputs and then the outputs that are named here.
        inputs_to_save: names of inputs, in the order `fn` takes them.
        outputs_to_save: positions of outputs.
        save_all_inputs: whether every input is saved, in order.

    Example:
        >>> import tracejit as tj
        >>> tj.get_gradient("exp").name
        'exp'
    """

    name: str
    fn: Callable[..., Any]
    inputs_to_save: tuple[str, ...] = ()
    outputs_to_save: tuple[int, ...] = ()
    save_all_inputs: bool = False


@record(eq=False, frozen=False)
class _Tables:
    kernels: dict[tuple[str, str], Kernel] = field(default_factory=dict)
    gradients: dict[str, Gradient] = field(default_factory=dict)
    #: Names of the ops that were registered at run time.
    ops: set[str] = field(default_factory=set)


TABLES: Final = _Tables()
#: The backends of the user's that have been started, by name.
LIVE: Final[dict[str, Any]] = {}
#: Held while a registration changes the tables; never while functions are told to compile again.
LOCK: Final = ForkLock()


def set_up(kernel: Kernel) -> None:
    """Run the kernel's `setup`, unless it has run."""
    if not kernel.ready:
        if kernel.setup is not None:
            kernel.setup(LIVE.get(kernel.backend))
        kernel.ready = True


def tear_down(kernel: Kernel) -> None:
    """Run the kernel's `dispose`, if it has been set up."""
    if kernel.ready:
        kernel.ready = False
        if kernel.dispose is not None:
            kernel.dispose(LIVE.get(kernel.backend))


def registrations_changed(name: str, what: str) -> None:
    """Drop what was derived from the registries: tape plans, looked-up kernels, compiled code."""
    op = OPS.get(name)
    if op is not None:
        forget_plans(op)
    forget_ops()
    recompile_all(what)


@contextmanager
def isolated() -> Iterator[None]:
    """Registrations of ops, kernels and gradients inside the ``with`` block end with it.

    What they replaced is there again. Backends are not: remove those with ``tj.remove_backend``.

    Example:
        >>> import tracejit as tj
        >>> with tj.extend.isolated():
        ...     _ = tj.register_op("twice", decompose=lambda x: x + x)
        ...     print(tj.ops.twice(tj.tensor(2.0)))
        tensor(4.)
        >>> tj.run_kernel("twice", 2.0)
        Traceback (most recent call last):
        tracejit.base.errors.TracejitError: run_kernel: there is no op named 'twice'
    """
    with LOCK:
        ops, foreign = OPS.copy(), set(OPS.foreign)
        kept = dict(TABLES.kernels), dict(TABLES.gradients), set(TABLES.ops)
    try:
        yield
    finally:
        with LOCK:
            changed = list(OPS)
            OPS.restore(ops)
            OPS.foreign = foreign | (OPS.foreign - ops.keys())  # what is gone may be in a graph
            gone = [kernel for key, kernel in TABLES.kernels.items() if kept[0].get(key) is not kernel]
            TABLES.kernels, TABLES.gradients, TABLES.ops = kept
            for op in changed:
                forget_plans(op)
        for kernel in gone:
            tear_down(kernel)
        for kernel in kept[0].values():
            if kernel.backend in (NUMPY, LLVM) or kernel.backend in LIVE:
                set_up(kernel)
        forget_ops()
        recompile_all("registrations were undone")


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
    """The error message for a `backend` without a kernel for the op."""
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
        tracejit.base.errors.KernelError: get_kernel: op 'matmul' has no kernel for backend 'mine', ...

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
