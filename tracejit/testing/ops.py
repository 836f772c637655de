"""``check_op``: everything that an op or a function should do, checked in one call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ..base.errors import DomainError, TracejitError
from ..dispatch.dispatch import apply
from ..ir.registry import NONDIFF, OPS, Op
from ..jitted.jit import trace
from ..tensors.tensor import Tensor, as_array
from ..transforms.vmap import vmap
from . import checks
from .checks import Sample, Tolerance, Wrong


class CheckFailure(TracejitError, AssertionError):
    """``check_op`` found something wrong. `failures` lists (check, sample, what was found).

    Example:
        >>> import tracejit as tj
        >>> def wrong(x):
        ...     return tj.custom_grad(lambda x, save: (x * x, lambda ct, saved: ct))(x)
        >>> try:
        ...     tj.testing.check_op(wrong, [(0.3,)])
        ... except tj.testing.CheckFailure as error:
        ...     print(error.failures[0][:2])
        ('gradient', 'sample 0 (f64[])')
    """

    def __init__(self, name: str, failures: list[tuple[str, str, str]]) -> None:
        self.failures = failures
        lines = [f"  {check}: {sample}: {problem}" for check, sample, problem in failures]
        super().__init__(f"check_op({name}): {len(failures)} failed\n" + "\n".join(lines))


#: Derivatives of higher orders take exponentially longer.
_MAX_ORDERS: Final = 8


def check_op(
    op: str | Op | Callable[..., Any],
    samples: Iterable[Any],
    *,
    order: int = 2,
    f32: float = 2e-5,
    f64: float = 1e-12,
    gradient: float = 1e-6,
) -> dict[str, int]:
    """Check an op of the registry, by name or record, or a function of tensors, on `samples`.

    A sample is a tuple of arrays and numbers, whose last element may be a dict of attributes (of a function:
    keyword arguments). Its values should be generic: away from kinks, and inside the domain. What is checked,
    under these names:

    - ``type rule``: it infers what the NumPy kernel gives, and the kernel leaves its operands alone (ops);
    - ``kernels``: compiled code gives what the NumPy kernels give;
    - ``text``: the IR prints and reads back;
    - ``jit``: the jitted function gives what the eager one gives;
    - ``rules``: each floating operand has a gradient rule (ops);
    - ``gradient``: against central differences in float64 up to `order`, eagerly and around ``jit``;
    - ``vmap``: against a loop.

    `f32` and `f64` say how far results may be apart, and `gradient` gradients from differences, relative to
    the largest element or 1. Where differences are not finite nothing is compared.

    Returns how many samples each check was made on, 0 for the gradient of what has none.

    Example:
        >>> import numpy as np, tracejit as tj
        >>> done = tj.testing.check_op("exp", [(np.array([0.5, -1.0]),)])
        >>> done["type rule"], done["gradient"]
        (1, 1)
        >>> def wrong(x):
        ...     return tj.custom_grad(lambda x, save: (x * x, lambda ct, saved: ct))(x)
        >>> tj.testing.check_op(wrong, [(0.3,)])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        tracejit.testing.ops.CheckFailure: check_op(wrong): 1 failed
          gradient: sample 0 (f64[]): order 1, by operand 0, against finite differences: ...

    Raises CheckFailure, an AssertionError, with everything that is wrong.
    """
    name, record = _resolved(op)
    defaults = record.defaults if record is not None else {}
    cases = [_sample(sample, i, defaults) for i, sample in enumerate(samples)]
    if not cases:
        raise TracejitError(f"check_op({name}): expected at least one sample")
    if not 0 <= order <= _MAX_ORDERS:
        raise DomainError(f"check_op: order must be from 0 to {_MAX_ORDERS}, got {order}")
    run = _Run(Tolerance(f32, f64, gradient), order)
    for number, sample in enumerate(cases):
        run.label = f"sample {number} {sample}"
        if record is not None:
            run.op(record, sample)
        else:
            assert callable(op)
            run.function(op, sample)
    if run.failures:
        raise CheckFailure(name, run.failures)
    return run.done


def _resolved(op: Any) -> tuple[str, Op | None]:
    if isinstance(op, Op):
        return op.name, op
    if isinstance(op, str):
        return op, OPS[op]
    if not callable(op):
        raise TracejitError(f"check_op: expected an op, its name, or a function, got {type(op).__name__}")
    return getattr(op, "__name__", type(op).__name__), None


def _sample(sample: Any, number: int, defaults: Mapping[str, Any]) -> Sample:
    """The user's sample `number` as a `Sample`, with `defaults` for the attributes that are left out."""
    if isinstance(sample, Sample):
        return sample
    if not isinstance(sample, (tuple, list)):
        raise TracejitError(
            f"check_op: sample {number} must be a tuple of arrays, got {type(sample).__name__}; write (x,)"
        )
    attrs = dict(sample[-1]) if sample and isinstance(sample[-1], dict) else {}
    operands = sample[:-1] if sample and isinstance(sample[-1], dict) else sample
    arrays = [
        operand.detach().numpy() if isinstance(operand, Tensor) else as_array(operand) for operand in operands
    ]
    return Sample(tuple([array.copy() for array in arrays]), {**defaults, **attrs})


class _Run:
    """The checks made so far, and the failures among them."""

    def __init__(self, tolerance: Tolerance, order: int) -> None:
        self.tolerance, self.order = tolerance, order
        self.label = ""
        self.done: dict[str, int] = {}
        self.failures: list[tuple[str, str, str]] = []

    def check(self, name: str, test: Callable[..., Any], *args: Any) -> Any:
        """Run one check; what it raises is a failure of that name."""
        self.done[name] = self.done.get(name, 0) + 1
        try:
            return test(*args)
        except Wrong as wrong:
            self.failures.append((name, self.label, str(wrong)))
        except Exception as error:  # whatever a user's kernel or rule raises is what was found
            self.failures.append((name, self.label, f"raised {type(error).__name__}: {error}"))
        return None

    def op(self, op: Op, sample: Sample) -> None:
        """Check a record: types, values, gradients and batching."""
        self.check("type rule", checks.type_rule, op, sample)
        function = self.check("kernels", checks.function_of, op, sample)
        if function is not None:
            self.check("text", checks.text, function)
            self.done["kernels"] -= 1
            self.check("kernels", checks.kernels, function, sample.operands, self.tolerance)
        fn = functools.partial(_applied, op, sample.attrs)
        self.check("jit", checks.jitted, fn, sample, self.tolerance)
        self.done.setdefault("gradient", 0)
        if op.vjp is not NONDIFF:
            self.check("rules", checks.rules, op, sample)
            self.gradient(fn, sample)
        self.vmap(fn, sample)

    def function(self, fn: Callable[..., Any], sample: Sample) -> None:
        """Check a function of tensors: values, gradients and batching."""
        bound = functools.partial(fn, **sample.attrs) if sample.attrs else fn
        traced = self.check("jit", trace, bound, *sample.operands)
        if traced is not None:
            self.done["jit"] -= 1
            self.check("jit", checks.jitted, bound, sample, self.tolerance)
            self.check("text", checks.text, traced)
            if len(traced.params) == len(sample.operands):  # with captures, jit speaks for it
                self.check("kernels", checks.kernels, traced, sample.operands, self.tolerance)
        self.gradient(bound, sample)
        self.vmap(bound, sample)

    def gradient(self, fn: Callable[..., Any], sample: Sample) -> None:
        """The gradients, where there are any."""
        wide = checks.doubled(sample)
        self.done.setdefault("gradient", 0)
        if self.order and self.check("gradient", checks.differentiable, fn, wide):
            self.done["gradient"] -= 1
            self.check("gradient", checks.gradients, fn, wide, self.order, self.tolerance)
        elif self.order:
            self.done["gradient"] -= 1

    def vmap(self, fn: Callable[..., Any], sample: Sample) -> None:
        """The mapped function, where this version of the package has ``vmap``."""
        self.check("vmap", checks.batched, vmap, fn, sample, self.tolerance)


def _applied(op: Op, attrs: dict[str, Any], *operands: Tensor) -> Any:
    return apply(op, operands, attrs)
