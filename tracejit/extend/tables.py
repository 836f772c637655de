"""What has been registered: kernels by (op, backend), gradients and signatures by op.

Ops themselves are in ``ir.registry.OPS``; the tables here say what a user gave, so that it can be asked for,
replaced and put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ..ir.process.locks import ForkLock
from ..ir.records import field, record
from ..ir.registry import OPS
from ..jitted.registry import recompile_all
from ..tape.engine import forget_ops
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
        tracejit.ir.errors.TracejitError: run_kernel: there is no op named 'twice'
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
