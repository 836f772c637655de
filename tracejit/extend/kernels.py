"""Kernels by (op, backend): registration, lookup, execution and removal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ..base.errors import ArgumentError, KernelError, TracejitError
from ..base.user_code import user_stacklevel
from ..ir.registry import OPS, Kind, Op
from .calling import call_op
from .cfunctions import array_function, element_emitter, element_function, is_c_function
from .checked import checked_emitter, checked_kernel, missing_kernel
from .composite import by_decomposition
from .tables import (
    LIVE,
    LLVM,
    LOCK,
    NUMPY,
    TABLES,
    Kernel,
    backends_with,
    get_kernel,
    missing_message,
    registrations_changed,
    set_up,
    tear_down,
)


def register_kernel(
    name: str,
    backend: str = NUMPY,
    fn: Any = None,
    *,
    setup: Callable[[Any], Any] | None = None,
    dispose: Callable[[Any], Any] | None = None,
    override: bool = False,
) -> Any:
    """Make `fn` the implementation of the op `name` on `backend`. Without `fn` it is a decorator.

    A kernel of ``"numpy"`` or of a backend of yours is ``fn(*arrays, **attrs)``: it gets ndarrays that it
    cannot write to and returns what the op's ``infer`` says. Eager mode and the interpreter call it, and
    jitted code where there is nothing better (``explain()`` shows that).

    A kernel of ``"llvm"`` is compiled into jitted functions. For an elementwise op it is ``fn(b, *registers,
    **attrs)``, which emits code for one element through the emitter `b` and returns a register; it is fused
    and vectorised like a built-in. Or it is a C function: a ctypes function with ``argtypes`` and
    ``restype``, a ``numba.cfunc``, or an address of a function of doubles. For an elementwise op it is called
    for each element; for other ops once, as ``void f(T *input..., R *result..., const int64_t *sizes)`` on
    row-major arrays, with the sizes of every dimension in order. It runs without the GIL, and must be safe to
    call from several threads.

    ``setup(backend)`` runs once, when the backend is active for the first time, and ``dispose(backend)``
    once, when kernel or backend are removed. Replacing a kernel warns unless `override`, and compiled
    functions compile again.

    Example:
        >>> import numpy as np
        >>> import tracejit as tj
        >>> with tj.extend.isolated():
        ...     cube = tj.register_op("cube", inputs="x", elementwise=True)
        ...     _ = tj.register_kernel("cube", "numpy", lambda x: x * x * x)
        ...     _ = tj.register_kernel("cube", "llvm", lambda b, x: b.mul(x, b.mul(x, x)))
        ...     cube(tj.tensor([2.0, 3.0])), tj.jit(lambda x: cube(x).sum())(tj.tensor([2.0, 3.0]))
        (tensor([ 8., 27.]), tensor(35.))

    Raises TracejitError for an op that there is not, or a kernel that cannot be the op's. Semantics:
    ``tf.registerKernel`` of TensorFlow.js.
    """
    if fn is None:
        return lambda function: (
            register_kernel(name, backend, function, setup=setup, dispose=dispose, override=override)
            and function
        )
    for parameter, hook in (("setup", setup), ("dispose", dispose)):
        if hook is not None and not callable(hook):
            raise ArgumentError(f"register_kernel: {parameter} must be a function, got {hook!r}")
    op = OPS[name]
    kernel = Kernel(name, backend, fn, setup, dispose)
    fields = _fields(op, kernel)
    with LOCK:
        before = TABLES.kernels.get((name, backend))
        if not override and backend in backends_with(op):
            warnings.warn(
                f"the kernel of {name!r} for backend {backend!r} is replaced; pass override=True if that is "
                "meant",
                stacklevel=user_stacklevel(),
            )
        if before is not None:
            tear_down(before)
        TABLES.kernels[(name, backend)] = kernel
        if fields:
            OPS.change(op, **fields)
        if backend in (NUMPY, LLVM) or backend in LIVE:
            set_up(kernel)
    registrations_changed(name, f"op {name!r} has another {backend} kernel")
    return kernel


def _fields(op: Op, kernel: Kernel) -> dict[str, Any]:
    """The fields of the op's record that `kernel` changes. Sets the ``call`` of the kernel."""
    where, fn = f"register_kernel {op.name!r} for {kernel.backend!r}", kernel.fn
    if op.kind.traits.grouped:
        raise TracejitError(f"{where}: an op of kind {op.kind.value} runs its regions")
    if kernel.backend == LLVM:
        return _native_fields(op, kernel, where)
    if not callable(fn) or is_c_function(fn):
        raise TracejitError(f"{where}: expected a Python function of ndarrays, got {fn!r}")
    kernel.call = checked_kernel(op, kernel.backend, fn)
    return {"eval": kernel.call} if kernel.backend == NUMPY else {}


def _native_fields(op: Op, kernel: Kernel, where: str) -> dict[str, Any]:
    fn = kernel.fn
    if op.kind is Kind.ELEMENTWISE:
        if is_c_function(fn):
            if op.attrs:
                raise TracejitError(
                    f"{where}: a C function of elements gets no attributes, but the op has "
                    f"{', '.join(op.attrs)}; make them inputs"
                )
            emit = element_emitter(op, element_function(op, fn))
        elif callable(fn):
            emit = fn
        else:
            raise TracejitError(f"{where}: expected a function of the emitter, or a C function, got {fn!r}")
        return {"emit": checked_emitter(op, emit), "emit_kinds": "biuf"}
    if op.kind is not Kind.HOST:
        raise TracejitError(
            f"{where}: native code of a built-in op of kind {op.kind.value} cannot be replaced"
        )
    if not is_c_function(fn):
        raise TracejitError(
            f"{where}: the op is not elementwise, so its llvm kernel must be a C function over arrays; for "
            "code per element register the op with elementwise=True"
        )
    if op.attrs:
        raise TracejitError(
            f"{where}: a C function gets no attributes, but the op has {', '.join(op.attrs)}; make them "
            "inputs"
        )
    return {"native": array_function(op, fn)}


def unregister_kernel(name: str, backend: str) -> None:
    """Take the kernel of the op `name` for `backend` away.

    Example:
        >>> import tracejit as tj
        >>> with tj.extend.isolated():
        ...     tj.unregister_kernel("exp", "numpy")
        ...     tj.exp(1.0)
        Traceback (most recent call last):
        tracejit.base.errors.KernelError: exp: op 'exp' has no kernel for backend 'numpy', only for llvm; ...

    Raises KernelError where there is none.
    """
    op = OPS[name]
    with LOCK:
        get_kernel(name, backend)
        if backend == NUMPY:
            decomposed = name in TABLES.ops and op.decompose is not None
            missing = missing_kernel(lambda: missing_message(name, NUMPY))
            OPS.change(op, eval=by_decomposition(op) if decomposed else missing)
        elif backend == LLVM:
            OPS.change(op, emit=None, native=None)
        kernel = TABLES.kernels.pop((name, backend), None)
        if kernel is not None:
            tear_down(kernel)
    registrations_changed(name, f"the {backend} kernel of op {name!r} was taken away")


def kernels_for_backend(backend: str) -> list[Kernel]:
    """Every kernel of `backend`, by op name.

    Example:
        >>> import tracejit as tj
        >>> [one.name for one in tj.kernels_for_backend("numpy")][:2]
        ['abs', 'acos']
    """
    with LOCK:
        names = sorted(op.name for op in OPS if backend in backends_with(op))
        return [get_kernel(name, backend) for name in names]


def copy_registered_kernels(src: str, dst: str) -> None:
    """Register every kernel of backend `src` for backend `dst` too, where that has none.

    Example:
        >>> import tracejit as tj
        >>> with tj.extend.isolated():
        ...     tj.copy_registered_kernels("numpy", "logging")
        ...     tj.get_kernel("add", "logging").backend
        'logging'

    Raises TracejitError for kernels that are code rather than functions. Semantics:
    ``tf.copyRegisteredKernels`` of TensorFlow.js.
    """
    if LLVM in (src, dst):
        raise TracejitError(
            "copy_registered_kernels: kernels of 'llvm' are code, which other backends cannot run"
        )
    with LOCK:
        for kernel in kernels_for_backend(src):
            if dst != NUMPY and (kernel.name, dst) not in TABLES.kernels:
                copied = Kernel(kernel.name, dst, kernel.fn, kernel.setup, kernel.dispose, kernel.call)
                TABLES.kernels[(kernel.name, dst)] = copied
                if dst in LIVE:
                    set_up(copied)
            elif dst == NUMPY and NUMPY not in backends_with(OPS[kernel.name]):
                register_kernel(kernel.name, NUMPY, kernel.fn, setup=kernel.setup, dispose=kernel.dispose)


def run_kernel(name: str, /, *inputs: Any, **attrs: Any) -> Any:
    """The op `name` of `inputs` on the active backend; under a trace it becomes part of the graph.

    The inputs may also be one mapping from their names. Gradients flow where the op has one.

    Example:
        >>> import tracejit as tj
        >>> tj.run_kernel("mul", tj.tensor([1.0, 2.0]), 3.0)
        tensor([3., 6.])
        >>> tj.run_kernel("sub", {"y": 1.0, "x": tj.tensor(5.0)})
        tensor(4.)

    Raises KernelError where the backend has no kernel. Semantics: ``tf.engine().runKernel`` of TensorFlow.js.
    """
    op = OPS[name]
    if len(inputs) == 1 and isinstance(inputs[0], Mapping):
        inputs = _named(op, inputs[0])
    return call_op(op, inputs, attrs)


def _named(op: Op, inputs: Mapping[str, Any]) -> tuple[Any, ...]:
    gradient = TABLES.gradients.get(op.name)
    if gradient is not None and gradient.save_all_inputs:
        raise KernelError(
            f"run_kernel {op.name!r}: its gradient has save_all_inputs, which saves inputs in order, so they "
            "cannot be a mapping; pass them one by one, or name them in inputs_to_save"
        )
    if op.variadic or set(inputs) != set(op.params):
        raise TracejitError(
            f"run_kernel {op.name!r}: expected inputs {', '.join(op.params)}, got "
            f"{', '.join(inputs) or 'none'}"
        )
    return tuple(inputs[param] for param in op.params)
