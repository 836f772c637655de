"""Learning-rate schedules: functions of the step count, usable as `lr` of every optimiser.

A schedule is called with the number of steps taken before (so 0 at first), a Python integer or an integer
tensor of any shape, and gives float64 tensors of that shape. It is computed by tj operations alone, so that
in a jitted training step the count stays a tensor and nothing is compiled again. Any other function of the
step does as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..array import clip, cos, floor, maximum, where
from ..array.operands import as_tensor
from ..base.errors import DomainError, ShapeError
from ..base.records import record
from ..ir.dtypes import FLOAT64
from ..tensors.tensor import Tensor
from .rules import check_number


@record
class Schedule:
    """A schedule by name and parameters: callable, comparable, and safe to pickle.

    Example:
        >>> import tracejit as tj
        >>> schedule = tj.optim.exponential_decay(1.0, 0.5, every=10)
        >>> isinstance(schedule, tj.optim.Schedule), schedule(10)
        (True, tensor(0.5))
    """

    name: str
    formula: Callable[..., Any]
    values: tuple[Any, ...]

    def __call__(self, step: Any) -> Tensor:
        """The learning rate after `step` steps."""
        rate: Tensor = self.formula(as_tensor(step), *self.values)
        return rate

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.values))})"


def _schedule(formula: Callable[..., Any], *values: Any) -> Schedule:
    return Schedule(formula.__name__.strip("_"), formula, values)


def _numbers(owner: str, **values: Any) -> None:
    for what, value in values.items():
        check_number(owner, what, value)


def _steps(owner: str, what: str, value: Any) -> None:
    check_number(owner, what, value)
    if not 0 < value < math.inf:
        raise DomainError(f"{owner}: {what} must be a number of steps above 0, got {value!r}")


def _float(step: Tensor) -> Tensor:
    return step.astype(FLOAT64)


def constant(value: float) -> Schedule:
    """`value` at every step.

    Example:
        >>> import tracejit as tj
        >>> tj.optim.constant(0.1)(tj.arange(3))
        tensor([0.1, 0.1, 0.1])

    Semantics: ``optax.constant_schedule``.
    """
    _numbers("constant", value=value)
    return _schedule(_constant, value)


def _constant(step: Tensor, value: float) -> Tensor:
    return 0.0 * _float(step) + value


def step_decay(init: float, every: int, factor: float = 0.1) -> Schedule:
    """`init`, multiplied by `factor` after each `every` steps.

    Example:
        >>> import tracejit as tj
        >>> tj.optim.step_decay(1.0, 2, 0.5)(tj.arange(5))
        tensor([1.  , 1.  , 0.5 , 0.5 , 0.25])

    Semantics: ``torch.optim.lr_scheduler.StepLR``.
    """
    _numbers("step_decay", init=init, factor=factor)
    _steps("step_decay", "every", every)
    return _schedule(_step_decay, init, every, factor)


def _step_decay(step: Tensor, init: float, every: int, factor: float) -> Tensor:
    return init * factor ** floor(_float(step) / every)


def multistep(init: float, milestones: Sequence[int], factor: float = 0.1) -> Schedule:
    """`init`, multiplied by `factor` at each of the steps `milestones`.

    Example:
        >>> import tracejit as tj
        >>> tj.optim.multistep(1.0, [1, 4], 0.5)(tj.arange(5))
        tensor([1.  , 0.5 , 0.5 , 0.5 , 0.25])

    Semantics: ``torch.optim.lr_scheduler.MultiStepLR``.
    """
    _numbers("multistep", init=init, factor=factor)
    _ascending("multistep", "milestones", milestones)
    return _schedule(_multistep, init, tuple(milestones), factor)


def _multistep(step: Tensor, init: float, milestones: tuple[int, ...], factor: float) -> Tensor:
    passed = 0.0 * _float(step)
    for milestone in milestones:
        passed = passed + _float(step >= milestone)
    return init * factor**passed


def exponential_decay(init: float, factor: float, every: float = 1) -> Schedule:
    """``init * factor ** (step / every)``.

    Example:
        >>> import tracejit as tj
        >>> tj.optim.exponential_decay(1.0, 0.25, every=2)(tj.arange(4))
        tensor([1.   , 0.5  , 0.25 , 0.125])

    Semantics: ``torch.optim.lr_scheduler.ExponentialLR``, and with `every` ``optax.exponential_decay``.
    """
    _numbers("exponential_decay", init=init)
    check_number("exponential_decay", "factor", factor, at_least=0.0)
    _steps("exponential_decay", "every", every)
    return _schedule(_exponential_decay, init, factor, every)


def _exponential_decay(step: Tensor, init: float, factor: float, every: float) -> Tensor:
    return init * factor ** (_float(step) / every)


def linear(init: float, end: float, steps: int) -> Schedule:
    """Linear schedule from `init` to `end` over `steps` steps, then constant.

    Example:
        >>> import tracejit as tj
        >>> tj.optim.linear(1.0, 0.0, 4)(tj.arange(6))
        tensor([1.  , 0.75, 0.5 , 0.25, 0.  , 0.  ])

    Semantics: ``optax.linear_schedule``.
    """
    _numbers("linear", init=init, end=end)
    _steps("linear", "steps", steps)
    return _schedule(_linear, init, end, steps)


def _linear(step: Tensor, init: float, end: float, steps: int) -> Tensor:
    return end + (init - end) * (1.0 - clip(_float(step) / steps, 0.0, 1.0))


def cosine_decay(init: float, steps: int, alpha: float = 0.0) -> Schedule:
    """Cosine decay from `init` to ``alpha * init`` over `steps` steps, half a period, then constant.

    Example:
        >>> import tracejit as tj
        >>> tj.optim.cosine_decay(1.0, 4, alpha=0.5)(tj.arange(6))
        tensor([1.       , 0.9267767, 0.75     , 0.5732233, 0.5      , 0.5      ])

    Semantics: ``optax.cosine_decay_schedule``; PyTorch's ``CosineAnnealingLR`` with ``eta_min = alpha *
    init`` over its first half period (Loshchilov and Hutter 2017).
    """
    _numbers("cosine_decay", init=init, alpha=alpha)
    _steps("cosine_decay", "steps", steps)
    return _schedule(_cosine_decay, init, steps, alpha)


def _cosine_decay(step: Tensor, init: float, steps: int, alpha: float) -> Tensor:
    done = clip(_float(step) / steps, 0.0, 1.0)
    return init * (alpha + (1.0 - alpha) * 0.5 * (1.0 + cos(math.pi * done)))


def warmup_cosine(
    peak: float, warmup_steps: int, steps: int, init: float = 0.0, end: float = 0.0
) -> Schedule:
    """Linear from `init` to `peak` over `warmup_steps`, then along a cosine to `end` at step `steps`.

    Example:
        >>> import tracejit as tj
        >>> tj.optim.warmup_cosine(1.0, 2, 6)(tj.arange(7))
        tensor([0.        , 0.5       , 1.        , 0.85355339, 0.5       ,
                0.14644661, 0.        ])

    Raises DomainError unless ``0 < warmup_steps < steps``. Semantics: ``optax.warmup_cosine_decay_schedule``.
    """
    _numbers("warmup_cosine", peak=peak, init=init, end=end)
    _steps("warmup_cosine", "warmup_steps", warmup_steps)
    _steps("warmup_cosine", "steps", steps)
    if warmup_steps >= steps:
        raise DomainError(
            f"warmup_cosine: steps counts the warm-up too and must exceed it, got steps {steps} and "
            f"warmup_steps {warmup_steps}"
        )
    return _schedule(_warmup_cosine, peak, warmup_steps, steps, init, end)


def _warmup_cosine(
    step: Tensor, peak: float, warmup_steps: int, steps: int, init: float, end: float
) -> Tensor:
    falling = end + (peak - end) * _cosine_decay(step - warmup_steps, 1.0, steps - warmup_steps, 0.0)
    rate: Tensor = where(step < warmup_steps, _linear(step, init, peak, warmup_steps), falling)
    return rate


def join(schedules: Sequence[Callable[[Any], Any]], boundaries: Sequence[int]) -> Schedule:
    """Join schedules: at each of the steps `boundaries`, the next schedule begins with its own step 0.

    Example:
        >>> import tracejit as tj
        >>> parts = [tj.optim.constant(0.5), tj.optim.linear(1.0, 0.0, 2)]
        >>> tj.optim.join(parts, [2])(tj.arange(5))
        tensor([0.5, 0.5, 1. , 0.5, 0. ])

    Raises ShapeError unless there is one boundary less than schedules. Semantics: ``optax.join_schedules``.
    """
    parts = tuple(schedules)
    if not parts or not all(callable(part) for part in parts):
        raise DomainError(f"join: expected schedules, functions of the step, got {list(parts)!r}")
    if len(boundaries) != len(parts) - 1:
        raise ShapeError(
            f"join: {len(parts)} schedules need {len(parts) - 1} boundaries between them, got "
            f"{len(boundaries)}"
        )
    _ascending("join", "boundaries", boundaries)
    return _schedule(_join, parts, tuple(boundaries))


def _join(step: Tensor, schedules: tuple[Any, ...], boundaries: tuple[int, ...]) -> Tensor:
    rate = as_tensor(schedules[0](step))
    for boundary, schedule in zip(boundaries, schedules[1:], strict=True):
        # every part is computed at every step: one that has not begun sees its step 0
        rate = where(step < boundary, rate, schedule(maximum(step - boundary, 0)))
    return rate


def _ascending(owner: str, what: str, steps: Sequence[int]) -> None:
    for step in steps:
        check_number(owner, what, step, at_least=0.0)
    if sorted(steps) != list(steps):
        raise DomainError(f"{owner}: {what} must ascend, got {list(steps)!r}")
