"""Optimisers that hold parameters and write them in place, as in PyTorch: ``backward()``, then ``step()``.

A step runs one compiled function per parameter, shared by all of the same shape, dtype and form. Every number
that may change (learning rate, momentum, bias corrections) is an argument of it, so that no change compiles
again; only a change of form does, such as switching weight decay on.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..array import asarray, zeros_like
from ..array.creation import tensor
from ..base.errors import DomainError, DTypeError, ShapeError, TraceError, TracejitError
from ..ir.dtypes import DType
from ..ir.types import Shape
from ..jitted.jit import jit
from ..state import STATE
from ..tape.modes import enable_grad, no_grad
from ..tensors.tensor import Tensor
from .groups import check_distinct, groups_of
from .rules import AdamRule, Formula, SGDRule, check_rate, rate_at

#: Programs for so many combinations of form, shape and dtype are kept.
_PROGRAMS = 512


@functools.lru_cache(maxsize=_PROGRAMS)
def _program(formula: Formula, form: Any, shape: Shape, dtype: DType) -> Callable[..., tuple[Tensor, ...]]:
    """The compiled `formula`. One per shape and dtype, because a jitted function with a single signature
    finds it at once."""

    def update(*leaves: Any) -> tuple[Tensor, ...]:
        return formula(form, *leaves)

    return jit(update)


class ParameterOptimizer(ABC):
    """Base class of `SGD`, `Adam` and `AdamW`.

    `param_groups` is a list of dicts: the tensors under "params", and the group's hyperparameters, which may
    be changed between steps. `state` holds the optimizer state of each tensor.

    Example:
        >>> import tracejit as tj
        >>> w = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = tj.optim.SGD([w], lr=0.5)
        >>> isinstance(optimizer, tj.optim.ParameterOptimizer)
        True
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.5, 1.5])
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Tensor, dict[str, Any]] = {}
        for group in groups_of(self._name, params):
            self.add_param_group(group)
        if not self.param_groups:
            raise DomainError(f"{self._name}: got an empty parameter list; give it the tensors to update")

    @property
    def _name(self) -> str:
        return type(self).__name__

    @abstractmethod
    def _rule(self, group: dict[str, Any]) -> Any:
        """The rule with the hyperparameters of `group`."""

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Optimise the tensors ``group["params"]`` too; what the group does not say is as in the defaults.

        Raises as the constructor does.
        """
        [added] = groups_of(self._name, [dict(group)])
        unknown = set(added) - {"params", "step_count", *self.defaults}
        if unknown:
            raise TracejitError(
                f"{self._name}: unknown hyperparameters {sorted(unknown)} in a parameter group; expected "
                f"some of {sorted(self.defaults)}"
            )
        added = {"params": added["params"], **self.defaults, "step_count": 0, **added}
        check_rate(self._name, added["lr"])
        self._rule(added).check(self._name)
        check_distinct(self._name, [*self.param_groups, added])
        self.param_groups.append(added)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad = p.grad.detach()
                    with no_grad():
                        p.grad[...] = 0.0

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, in place. `closure` computes the loss (and the
        gradients) first, and its value is returned.

        Raises TraceError in a jitted function: there, use `sgd`, `adam` or `adamw`.
        """
        if STATE.tracer is not None:
            name = self._name
            raise TraceError(
                f"{name}.step: parameters cannot be written in place inside a jitted function; use "
                f"tj.optim.{name.lower()}, whose update returns the new parameters, or call step() outside"
            )
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        rule, lr = self._rule(group), self._rate(group)
        form, slots, formula = rule.form, rule.slots, rule.formula
        counted: tuple[int, tuple[float, ...]] | None = None
        for p in group["params"]:
            g = p.grad
            if g is None:
                continue
            data = p._data
            if g._data.dtype is not data.dtype:
                raise DTypeError(
                    f"{self._name}.step: a parameter of type {p.type} has a gradient of type {g.type}"
                )
            if g._requires_grad:
                g = g.detach()
            kept = self.state.setdefault(p, {}) if slots else {}
            count = kept.get("step", 0)
            if counted is None or counted[0] != count:
                counted = count, rule.coefficients(count, lr)
            arrays = [kept[slot] if slot in kept else zeros_like(p) for slot in slots]
            new = _program(formula, form, data.shape, data.dtype)(p.detach(), g, *arrays, *counted[1])
            p[...] = new[0]
            if slots:
                kept["step"] = count + 1
                kept.update(zip(slots, new[1:], strict=True))
        group["step_count"] += 1

    def _rate(self, group: dict[str, Any]) -> float:
        lr = group["lr"]
        if type(lr) is float and lr >= 0.0:
            return lr
        check_rate(self._name, lr)
        rate = rate_at(self._name, lr, tensor(group["step_count"])) if callable(lr) else lr
        return float(rate.item() if isinstance(rate, Tensor) else rate)

    # -- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The state for a later `load_state_dict`: ``"state"`` by the number of the parameter, and
        ``"param_groups"`` with those numbers in place of the tensors.

        Its tensors are not written by later steps, so it stays as it is now.
        """
        numbers = {id(p): i for i, p in enumerate(self._parameters())}
        groups = [
            {**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups
        ]
        return {
            "state": {numbers[id(p)]: dict(kept) for p, kept in self.state.items()},
            "param_groups": groups,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave for parameters of the same shapes in the same order.

        Tensors are copied, in the dtype of their parameter. Raises DomainError where the groups do not fit,
        and ShapeError where a tensor does not fit its parameter; nothing has changed then.
        """
        if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= set(state_dict):
            raise DomainError(
                f"{self._name}.load_state_dict: expected what state_dict() gave, a dict with 'state' and "
                "'param_groups'"
            )
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise DomainError(
                f"{self._name}.load_state_dict: the loaded state has a different number of parameter groups: "
                f"{len(groups)}, but there are {len(self.param_groups)}"
            )
        targets: dict[Any, Tensor] = {}
        for number, (loaded, own) in enumerate(zip(groups, self.param_groups, strict=True)):
            if len(loaded["params"]) != len(own["params"]):
                raise DomainError(
                    f"{self._name}.load_state_dict: the size of parameter group {number} differs: "
                    f"{len(loaded['params'])} loaded, but there are {len(own['params'])}"
                )
            targets.update(zip(loaded["params"], own["params"], strict=True))
        state = {
            targets[number]: self._loaded(targets[number], kept)
            for number, kept in state_dict["state"].items()
        }
        for loaded, own in zip(groups, self.param_groups, strict=True):
            own.update({key: value for key, value in loaded.items() if key != "params"})
        self.state = state

    def _loaded(self, p: Tensor, kept: Mapping[str, Any]) -> dict[str, Any]:
        loaded: dict[str, Any] = {}
        for key, value in kept.items():
            if key == "step":
                loaded[key] = int(value)
                continue
            array = np.array(asarray(value).detach().numpy(), dtype=p.dtype)
            if array.shape != p.shape:
                raise ShapeError(
                    f"{self._name}.load_state_dict: {key!r} has shape {array.shape}, but its parameter has "
                    f"{p.shape}"
                )
            loaded[key] = tensor(array)
        return loaded

    def _parameters(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]


class SGD(ParameterOptimizer):
    """Stochastic gradient descent, with momentum and weight decay as `sgd` describes.

    `params` is a pytree or an iterable of leaf tensors, or a list of parameter groups: dicts with "params"
    and hyperparameters of their own. `lr` is a number, a tensor of rank 0, or a schedule. With `maximize` it
    goes up the gradient.

    Example:
        >>> import tracejit as tj
        >>> w = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = tj.optim.SGD([w], lr=0.1, momentum=0.9)
        >>> for _ in range(3):
        ...     optimizer.zero_grad()
        ...     loss = (w * w).sum()
        ...     loss.backward()
        ...     optimizer.step()
        ...     print(loss.detach())
        tensor(5.)
        tensor(3.2)
        tensor(1.058)

    Raises DomainError for hyperparameters out of range, no parameters, non-leaf tensors, and a tensor given
    twice. Semantics: ``torch.optim.SGD``.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _rule(self, group: dict[str, Any]) -> SGDRule:
        names = ("momentum", "dampening", "weight_decay", "nesterov", "maximize")
        return SGDRule(*[group[name] for name in names])


class Adam(ParameterOptimizer):
    """Adam, as `adam` describes it. Parameters and `lr` are given as for `SGD`.

    Example:
        >>> import tracejit as tj
        >>> w = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = tj.optim.Adam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9, 1.9], requires_grad=True)

    Raises DomainError as `SGD` does. Semantics: ``torch.optim.Adam``.
    """

    _decoupled = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _rule(self, group: dict[str, Any]) -> AdamRule:
        betas = group["betas"]
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise DomainError(f"{self._name}: betas must be two numbers, got {betas!r}")
        given = {name: group[name] for name in ("eps", "weight_decay", "amsgrad", "maximize")}
        return AdamRule(betas[0], betas[1], **given, decoupled=self._decoupled)


class AdamW(Adam):
    """Adam with decoupled weight decay, as `adamw` describes it. Parameters and `lr` are given as for `SGD`.

    Example:
        >>> import tracejit as tj
        >>> w = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = tj.optim.AdamW([w], lr=0.1, weight_decay=0.5)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.85, 1.8 ], requires_grad=True)

    Raises DomainError as `SGD` does. Semantics: ``torch.optim.AdamW``.
    """

    _decoupled = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
