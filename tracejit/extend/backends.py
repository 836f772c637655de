"""Backends: who runs the kernels of eager mode.

Eager dispatch calls ``op.kernel``. That is the NumPy kernel itself as long as no backend of the user's is
in use and nobody observes (`observing`), so that the choice costs nothing then; else it is a function that
looks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ..backward.engine import NUMPY_OPS, forget_ops
from ..base.errors import KernelError, TracejitError
from ..base.process.locks import ForkLock
from ..base.records import record
from ..base.user_code import user_stacklevel
from ..ir.registry import OPS, Kind, Op
from ..state import STATE
from .tables import LIVE, LLVM, LOCK, NUMPY, TABLES, Kernel, missing_message, set_up, tear_down

#: The built-in backend; in `STATE.backend` it means that this thread uses it whatever the process does.
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


class Backend:
    """Optional hooks of a backend, and an optional base class.

    A backend is any object. Where it has `run_kernel`, that is asked to run each kernel; `dispose` is called
    when it is removed.

    Example:
        >>> import tracejit as tj
        >>> class Counting(tj.extend.Backend):
        ...     def run_kernel(self, kernel, inputs, attrs):
        ...         print("runs", kernel.name)
        ...         return super().run_kernel(kernel, inputs, attrs)
        >>> x = tj.zeros(2)
        >>> with tj.extend.isolated():
        ...     tj.register_backend("counting", Counting)
        ...     tj.copy_registered_kernels("numpy", "counting")
        ...     with tj.backend("counting"):
        ...         y = tj.exp(x)
        ...     tj.remove_backend("counting")
        runs exp
    """

    def run_kernel(self, kernel: Kernel, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Run `kernel` on `inputs` (ndarrays, and Python numbers for elementwise ops) with the attributes."""
        assert kernel.call is not None
        return kernel.call(*inputs, **attrs)

    def dispose(self) -> None:
        """Give back what the backend holds. Called once."""


@record(eq=False, frozen=False)
class _Registered:
    name: str
    factory: Callable[[], Any]
    priority: float


_REGISTERED: Final[dict[str, _Registered]] = {}
#: Held while a backend starts or is removed; its code may register kernels.
_STARTING: Final = ForkLock()


def register_backend(name: str, factory: Callable[[], Any], priority: float = 1) -> None:
    """Make a backend known. ``factory()`` starts it when it is first used, once.

    Where a backend cannot start, the next by `priority` takes its place; the built-in ``"numpy"`` has
    priority 0 and stays the default until `set_backend`.

    Example:
        >>> import tracejit as tj
        >>> tj.register_backend("plain", tj.extend.Backend)
        >>> with tj.extend.isolated():
        ...     tj.copy_registered_kernels("numpy", "plain")
        ...     with tj.backend("plain"):
        ...         print(tj.get_backend(), tj.exp(tj.tensor(0.0)))
        plain tensor(1.)
        >>> tj.remove_backend("plain")

    Raises TracejitError for a name that is taken. Semantics: ``tf.registerBackend`` of TensorFlow.js.
    """
    if not isinstance(name, str) or not name or not callable(factory):
        raise TracejitError("register_backend: expected a name and a function that starts the backend")
    with LOCK:
        if name in _REGISTERED or name in (NUMPY, LLVM):
            raise TracejitError(f"register_backend: backend {name!r} is registered already; remove it first")
        _REGISTERED[name] = _Registered(name, factory, priority)


def get_backend() -> str:
    """The name of the backend that eager operations of this thread go to.

    Example:
        >>> import tracejit as tj
        >>> tj.get_backend()
        'numpy'
    """
    return active_name()


def set_backend(name: str) -> str:
    """Send the eager operations of the process to the backend `name`; returns the name of the one that took
    over.

    Where it cannot start, a warning says so, and the next by priority takes its place. Compiled functions are
    not affected, `backend` goes before it. Raises TracejitError for a backend that there is not.

    Example:
        >>> import tracejit as tj
        >>> tj.set_backend("numpy")
        'numpy'
    """
    chosen = _start(name)
    with LOCK:
        before, ACTIVE.name = ACTIVE.name, chosen
    watch_kernels((chosen != NUMPY) - (before != NUMPY))
    return chosen


@contextmanager
def backend(name: str) -> Iterator[Any]:
    """Eager operations of this thread go to the backend `name` inside the ``with`` block, which gets the
    object that its factory made.

    Example: see `register_backend`.

    Example:
        >>> import tracejit as tj
        >>> with tj.backend("numpy"):
        ...     tj.get_backend()
        'numpy'
    """
    chosen = _start(name)
    before, STATE.backend = STATE.backend, chosen
    watch_kernels(+1)
    try:
        yield LIVE.get(chosen)
    finally:
        watch_kernels(-1)
        STATE.backend = before


def remove_backend(name: str) -> None:
    """Forget a backend: its kernels are disposed, then itself. Eager mode goes back to NumPy if it was in
    use.

    Its kernels stay registered, for a backend of that name to come. Raises TracejitError for a backend that
    there is not.

    Example:
        >>> import tracejit as tj
        >>> tj.register_backend("mine", object)
        >>> tj.remove_backend("mine")
        >>> tj.set_backend("mine")
        Traceback (most recent call last):
            ...
        tracejit.base.errors.TracejitError: set_backend: there is no backend named 'mine'; there are numpy
    """
    with _STARTING:
        if name not in _REGISTERED:
            raise TracejitError(f"remove_backend: {_unknown(name)}")
        if ACTIVE.name == name:
            set_backend(NUMPY)
        with LOCK:
            del _REGISTERED[name]
        if name not in LIVE:
            return
        for kernel in _kernels(name):
            tear_down(kernel)
        instance = LIVE.pop(name)
        dispose = getattr(instance, "dispose", None)
        if dispose is not None:
            dispose()


def _kernels(name: str) -> list[Kernel]:
    with LOCK:
        return [kernel for kernel in TABLES.kernels.values() if kernel.backend == name]


def _unknown(name: object) -> str:
    names = ", ".join([NUMPY, *_REGISTERED])
    if name == LLVM:
        return f"'llvm' is the backend of compiled functions, which tj.jit makes; eager mode has {names}"
    return f"there is no backend named {name!r}; there are {names}"


def _start(name: str) -> str:
    """Start the backend `name`, or the next one that can; the name of who runs."""
    if name != NUMPY and name not in _REGISTERED:
        raise TracejitError(f"set_backend: {_unknown(name)}")
    failed: set[str] = set()
    with _STARTING:
        while name != NUMPY and name not in LIVE:
            entry = _REGISTERED[name]
            try:
                _bring_up(entry)
            except Exception as error:
                failed.add(name)
                rest = [
                    registered
                    for registered in _REGISTERED.values()
                    if registered.name not in failed and registered.priority > 0
                ]
                following = max(rest, key=lambda registered: registered.priority).name if rest else NUMPY
                warnings.warn(
                    f"backend {name!r} failed to start: {type(error).__name__}: {error}; using {following!r}",
                    RuntimeWarning,
                    stacklevel=user_stacklevel(),
                )
                name = following
    return name


def _bring_up(entry: _Registered) -> None:
    LIVE[entry.name] = entry.factory()
    done: list[Kernel] = []
    try:
        for kernel in _kernels(entry.name):
            set_up(kernel)
            done.append(kernel)
    except BaseException:
        for kernel in done:
            tear_down(kernel)
        del LIVE[entry.name]
        raise
