"""The update rules: what one step makes of one parameter. Both styles of optimisers are built on them.

A rule is split by what changes how often. Its *form* (which terms there are) is hashable and decides the
program. Its *coefficients* are numbers, computed once per step in float64 for all parameters: Python floats
where the step count is a Python number, tensors where it is one. Its *formula* is elementwise, in the
parameter's dtype, and the only part that touches arrays; `slots` are the arrays it keeps per parameter, which
start as zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ..array import maximum, sqrt
from ..base.errors import DomainError, DTypeError, ShapeError
from ..base.records import record
from ..tensors.tensor import Tensor

#: ``(form, parameter, gradient, *slots, *coefficients) -> (parameter, *slots)``
Formula = Callable[..., tuple[Tensor, ...]]


class UpdateRule(Protocol):
    """Interface of an update rule to the optimisers."""

    @property
    def form(self) -> Any: ...

    @property
    def slots(self) -> tuple[str, ...]: ...

    @property
    def formula(self) -> Formula: ...

    def coefficients(self, count: Any, lr: Any) -> tuple[Any, ...]: ...


class SGDForm(NamedTuple):
    """The terms of a step of stochastic gradient descent. A tuple, because it is hashed at every step."""

    momentum: bool
    nesterov: bool
    decay: bool
    maximize: bool


@record
class SGDRule:
    """Stochastic gradient descent with momentum. Semantics: ``torch.optim.SGD``."""

    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False
    maximize: bool = False

    @property
    def form(self) -> SGDForm:
        return SGDForm(self.momentum != 0, bool(self.nesterov), self.weight_decay != 0, bool(self.maximize))

    @property
    def slots(self) -> tuple[str, ...]:
        return ("momentum_buffer",) if self.momentum != 0 else ()

    @property
    def formula(self) -> Formula:
        return _sgd

    def coefficients(self, count: Any, lr: Any) -> tuple[Any, ...]:
        """`count` updates came before. The first gradient enters the momentum undampened:
        ``0.0**count`` is 1 there and 0 later."""
        taken = 1.0 - self.dampening * (1.0 - 0.0**count) if self.dampening else 1.0
        return lr, self.momentum, taken, self.weight_decay

    def check(self, owner: str) -> None:
        """Raise DomainError or DTypeError for hyperparameters without a meaning."""
        check_number(owner, "momentum", self.momentum, at_least=0.0)
        check_number(owner, "dampening", self.dampening)
        check_number(owner, "weight_decay", self.weight_decay, at_least=0.0)
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise DomainError(
                f"{owner}: nesterov needs a momentum above 0 and zero dampening, got momentum "
                f"{self.momentum!r} and dampening {self.dampening!r}"
            )


def _sgd(form: SGDForm, p: Tensor, g: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    *slots, lr, momentum, taken, decay = rest
    if form.maximize:
        g = -g
    if form.decay:
        g = g + decay * p
    if not form.momentum:
        return (p - lr * g,)
    buffer = momentum * slots[0] + taken * g
    direction = g + momentum * buffer if form.nesterov else buffer
    return p - lr * direction, buffer


class AdamForm(NamedTuple):
    """The terms of a step of Adam."""

    decay: bool
    decoupled: bool
    amsgrad: bool
    maximize: bool


@record
class AdamRule:
    """Adam (Kingma and Ba 2015); `decoupled` weight decay makes it AdamW (Loshchilov and Hutter 2019),
    `amsgrad` divides by the largest second moment so far (Reddi et al. 2018). Semantics:
    ``torch.optim.Adam``."""

    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    amsgrad: bool = False
    maximize: bool = False
    decoupled: bool = False

    @property
    def form(self) -> AdamForm:
        return AdamForm(self.weight_decay != 0, self.decoupled, bool(self.amsgrad), bool(self.maximize))

    @property
    def slots(self) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if self.amsgrad else ("exp_avg", "exp_avg_sq")

    @property
    def formula(self) -> Formula:
        return _adam

    def coefficients(self, count: Any, lr: Any) -> tuple[Any, ...]:
        """`count` updates came before. ``1 - b`` is taken here and not in the formula: in float32 it would
        keep four digits of 0.001."""
        t = count + 1
        rate = lr / (1.0 - self.b1**t)
        root = (1.0 - self.b2**t) ** 0.5
        decay = 1.0 - lr * self.weight_decay if self.decoupled else self.weight_decay
        return rate, root, 1.0 - self.b1, self.b2, 1.0 - self.b2, self.eps, decay

    def check(self, owner: str) -> None:
        """Raise DomainError or DTypeError for hyperparameters without a meaning."""
        check_number(owner, "b1 of betas", self.b1, at_least=0.0, below=1.0)
        check_number(owner, "b2 of betas", self.b2, at_least=0.0, below=1.0)
        check_number(owner, "eps", self.eps, at_least=0.0)
        check_number(owner, "weight_decay", self.weight_decay, at_least=0.0)


def _adam(form: AdamForm, p: Tensor, g: Tensor, m: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    *slots, rate, root, w1, b2, w2, eps, decay = rest
    if form.maximize:
        g = -g
    if form.decay:
        p, g = (p * decay, g) if form.decoupled else (p, g + decay * p)
    m = m + w1 * (g - m)
    v = b2 * v + w2 * (g * g)
    largest = [maximum(slots[0], v)] if form.amsgrad else []
    scale = sqrt(largest[0] if largest else v) / root + eps
    return p - rate * (m / scale), m, v, *largest


def check_number(
    owner: str, what: str, value: Any, at_least: float = -math.inf, below: float | None = None
) -> None:
    """Raise DTypeError unless `value` is a Python number, DomainError for NaN and outside of
    ``at_least <= value < below``."""
    if not isinstance(value, (int, float)):
        raise DTypeError(f"{owner}: {what} must be a Python number, got {type(value).__name__}")
    if not value >= at_least or (below is not None and value >= below):
        expected = f"at least {at_least:g}" + ("" if below is None else f" and below {below:g}")
        raise DomainError(f"{owner}: {what} must be {expected}, got {value!r}")


def check_rate(owner: str, lr: Any) -> None:
    """Raise unless `lr` is a number of at least 0, a tensor of one element, or a schedule."""
    if isinstance(lr, Tensor):
        if lr.shape != ():
            raise ShapeError(f"{owner}: lr must be one number, got a tensor of shape {lr.shape}")
    elif not callable(lr):
        check_number(owner, "lr", lr, at_least=0.0)


def rate_at(owner: str, lr: Any, count: Tensor) -> Any:
    """The learning rate after `count` updates: `lr` itself, or what the schedule `lr` gives."""
    if not callable(lr):
        return lr
    rate = lr(count)
    if not isinstance(rate, (int, float, Tensor)) or (isinstance(rate, Tensor) and rate.shape != ()):
        returned = rate.type if isinstance(rate, Tensor) else type(rate).__name__
        raise ShapeError(f"{owner}: the schedule must give one number for a step, got {returned}")
    return rate
