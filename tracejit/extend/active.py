"""Which backend eager operations go to, and what watches them.

Eager dispatch calls ``op.kernel``. That is the NumPy kernel itself as long as no backend of the user's is
in use and nobody observes (`observing`), so that the choice costs nothing then; else it is a function that
looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..ir.errors import KernelError
from ..ir.process.locks import ForkLock
from ..ir.records import record
from ..ir.registry import OPS, Kind, Op
from ..state import STATE
from ..tape.engine import NUMPY_OPS, forget_ops
from .lookup import missing_message
from .tables import LIVE, TABLES

#: In `STATE.backend`: this thread uses the built-in backend, whatever the process does.
BUILT_IN: Final = "numpy"


@record(eq=False, frozen=False)
class _Active:
    """The process's choice, and how many reasons there are to look at each call."""

    name: str = BUILT_IN
    reasons: int = 0
    #: ``observed(op, backend, operands, attrs, run) -> outcome``, while somebody observes.
    observed: Callable[..., Any] | None = None


ACTIVE: Final = _Active()
_LOCK: Final = ForkLock()


def watch_kernels(change: int) -> None:
    """Count up or down the reasons for eager kernels to be looked at: a backend in use, an observer."""
    with _LOCK:
        before = ACTIVE.reasons
        ACTIVE.reasons += change
        if (before == 0) != (ACTIVE.reasons == 0):
            OPS.use_kernels(looking if ACTIVE.reasons else None)
            forget_ops()


def active_name() -> str:
    """The backend of this thread."""
    return STATE.backend or ACTIVE.name


def looking(op: Op) -> Callable[..., Any]:
    """The kernel of `op` that asks the active backend, and shows observers what it does."""

    def kernel(*operands: Any, **attrs: Any) -> Any:
        name = STATE.backend or ACTIVE.name
        if op.kind is Kind.COMPOSITE and _decomposes(op, name):
            return _decomposed(op, operands, attrs)  # its parts are the kernels
        observed = ACTIVE.observed
        if observed is None:
            return run_on(name, op, operands, attrs)
        return observed(op, name, operands, attrs, lambda: run_on(name, op, operands, attrs))

    return kernel


def _decomposes(op: Op, name: str) -> bool:
    """Whether a composite op is its parts on the backend `name`."""
    registered = (op.name, name) in TABLES.kernels
    return not registered and (op.name in TABLES.ops if name == BUILT_IN else op.decompose is not None)


def _decomposed(op: Op, operands: Any, attrs: Any) -> Any:
    assert op.decompose is not None
    return op.decompose(NUMPY_OPS, *operands, **attrs)


def run_on(name: str, op: Op, operands: Any, attrs: Any) -> Any:
    """`op` by the kernel of the backend `name`. Raises KernelError where it has none."""
    if name == BUILT_IN:
        return op.eval(*operands, **attrs)
    kernel = TABLES.kernels.get((op.name, name))
    if kernel is None or kernel.call is None:
        raise KernelError(missing_message(op.name, name))
    backend = LIVE.get(name)
    if backend is None:
        raise KernelError(
            f"backend {name!r} was removed while this thread uses it; choose another with set_backend"
        )
    run = getattr(backend, "run_kernel", None)
    return kernel.call(*operands, **attrs) if run is None else run(kernel, operands, attrs)
