"""Optimisers as pairs of pure functions: ``init(params)`` and ``update(params, grads, state)``.

Both are made of tj operations on pytrees, so they run eagerly, under ``jit`` and under ``grad`` alike. The
step count is a tensor of the state: nothing changes from step to step that would compile again.
"""

from __future__ import annotations

from typing import Any

from ..array import zeros, zeros_like
from ..array.operands import as_tensor
from ..base.errors import DTypeError, ShapeError
from ..base.records import record
from ..ir.dtypes import FLOAT64, INT64, DType, is_differentiable
from ..pytree import TreeDef, flatten, leaf_paths
from ..tensors.tensor import Tensor
from .rules import AdamRule, SGDRule, UpdateRule, check_rate, rate_at


@record
class Optimizer:
    """A rule and a learning rate. Made by `sgd`, `adam` and `adamw`; it holds no parameters and no state.

    Example:
        >>> import tracejit as tj
        >>> optimizer = tj.optim.sgd(0.5)
        >>> params = tj.tensor([1.0, 2.0])
        >>> state = optimizer.init(params)
        >>> params, state = optimizer.update(params, tj.tensor([1.0, 1.0]), state)
        >>> params
        tensor([0.5, 1.5])
    """

    name: str
    rule: UpdateRule
    #: A number, a tensor of rank 0, or a schedule: a function of the step count.
    lr: Any

    def init(self, params: Any) -> dict[str, Any]:
        """The state before the first step: ``"step"``, an int64 zero, and for each of the rule's moments a
        tree of zeros like `params`.

        Example:
            >>> import tracejit as tj
            >>> tj.optim.sgd(0.1, momentum=0.9).init({"w": tj.ones(2)})
            {'step': tensor(0), 'momentum_buffer': {'w': tensor([0., 0.])}}

        Raises DTypeError for a parameter that is not floating.
        """
        leaves, structure = self._parameters("init", params)
        trees = {slot: structure.unflatten([zeros_like(p) for p in leaves]) for slot in self.rule.slots}
        return {"step": zeros((), dtype=INT64), **trees}

    def update(self, params: Any, grads: Any, state: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """New parameters and a new state, of the same structures, shapes and dtypes.

        `grads` are what ``tj.grad`` gives for `params`. Where parameters require gradients, call it under
        ``tj.no_grad()``, unless the step itself is to be differentiated.

        Example:
            >>> import tracejit as tj
            >>> optimizer = tj.optim.sgd(0.5)
            >>> params, grads = {"w": tj.tensor([1.0, 2.0])}, {"w": tj.tensor([1.0, -1.0])}
            >>> optimizer.update(params, grads, optimizer.init(params))
            ({'w': tensor([0.5, 2.5])}, {'step': tensor(1)})

        Raises ShapeError and DTypeError, with the path of the leaf, where `grads` or `state` do not fit
        `params`.
        """
        leaves, structure = self._parameters("update", params)
        slots = [self._like(params, leaves, structure, grads, "the gradients")]
        if not isinstance(state, dict) or set(state) != {"step", *self.rule.slots}:
            names = sorted(state) if isinstance(state, dict) else type(state).__name__
            raise ShapeError(
                f"{self.name}.update: the state must have {['step', *self.rule.slots]}, got {names}; make it "
                "by init(params)"
            )
        for slot in self.rule.slots:
            slots.append(self._like(params, leaves, structure, state[slot], f"state[{slot!r}]"))
        step = as_tensor(state["step"])
        coefficients = self._coefficients(step)
        by_dtype: dict[DType, list[Any]] = {}
        columns: list[tuple[Tensor, ...]] = []
        for p, *rest in zip(leaves, *slots, strict=True):
            if p.dtype not in by_dtype:
                by_dtype[p.dtype] = [
                    coefficient.astype(p.dtype) if isinstance(coefficient, Tensor) else coefficient
                    for coefficient in coefficients
                ]
            columns.append(self.rule.formula(self.rule.form, p, *rest, *by_dtype[p.dtype]))
        trees = [structure.unflatten([column[i] for column in columns]) for i in range(len(slots))]
        return trees[0], {"step": step + 1, **dict(zip(self.rule.slots, trees[1:], strict=True))}

    def _coefficients(self, step: Tensor) -> tuple[Any, ...]:
        lr = rate_at(self.name, self.lr, step)
        if isinstance(lr, Tensor):
            lr = lr.astype(FLOAT64)
        return self.rule.coefficients(step.astype(FLOAT64), lr)

    def _parameters(self, method: str, params: Any) -> tuple[list[Tensor], TreeDef]:
        values, structure = flatten(params)
        leaves = [as_tensor(value) for value in values]
        for position, leaf in enumerate(leaves):
            if not is_differentiable(leaf.dtype):
                raise DTypeError(
                    f"{self.name}.{method}: parameters must be floating, got {leaf.type} at "
                    f"params{leaf_paths(params)[position]}; keep what is not trained outside of params"
                )
        return leaves, structure

    def _like(
        self, params: Any, leaves: list[Tensor], structure: TreeDef, tree: Any, what: str
    ) -> list[Tensor]:
        """The leaves of `tree`, which must fit `params` in structure, shapes and dtypes."""
        values, theirs = flatten(tree)
        if theirs != structure:
            raise ShapeError(f"{self.name}.update: {_difference(params, structure, tree, theirs, what)}")
        tensors = [as_tensor(value) for value in values]
        for position, (p, tensor) in enumerate(zip(leaves, tensors, strict=True)):
            if tensor.shape != p.shape or tensor.dtype is not p.dtype:
                kind = ShapeError if tensor.shape != p.shape else DTypeError
                path = leaf_paths(params)[position]
                raise kind(
                    f"{self.name}.update: params{path} is {p.type}, but {what} there are {tensor.type}"
                )
        return tensors


def _difference(params: Any, structure: TreeDef, tree: Any, theirs: TreeDef, what: str) -> str:
    ours, others = leaf_paths(params), leaf_paths(tree)
    both = f"params: {structure!r}, {what}: {theirs!r}"
    for path in ours:
        if path not in others:
            return f"there is a leaf at params{path}, but none there in {what} ({both})"
    for path in others:
        if path not in ours:
            return f"there is a leaf at {path or 'the root'} of {what}, but none there in params ({both})"
    return f"params and {what} are nested in containers of different types ({both})"


def sgd(
    lr: Any,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> Optimizer:
    """Stochastic gradient descent: ``p - lr * g``.

    With `momentum`, ``g`` is replaced by a running sum, ``b = momentum * b + (1 - dampening) * g``, which
    begins as the first gradient; with `nesterov` by ``g + momentum * b``. `weight_decay` adds ``weight_decay
    * p`` to the gradient first. `lr` is a number, a tensor of rank 0, or a schedule.

    Example:
        >>> import tracejit as tj
        >>> optimizer = tj.optim.sgd(0.1, momentum=0.9)
        >>> @tj.jit
        ... def step(w, state):
        ...     value, gradient = tj.value_and_grad(lambda w: (w * w).sum())(w)
        ...     return value, *optimizer.update(w, gradient, state)
        >>> w = tj.tensor([1.0, 2.0])
        >>> state = optimizer.init(w)
        >>> for _ in range(3):
        ...     value, w, state = step(w, state)
        ...     print(value)
        tensor(5.)
        tensor(3.2)
        tensor(1.058)

    Raises DomainError for hyperparameters out of range. Semantics: ``torch.optim.SGD``.
    """
    check_rate("sgd", lr)
    rule = SGDRule(momentum, dampening, weight_decay, nesterov)
    rule.check("sgd")
    return Optimizer("sgd", rule, lr)


def adam(
    lr: Any = 1e-3,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
) -> Optimizer:
    """Adam: ``p - lr * m / (sqrt(v) + eps)``, where ``m`` and ``v`` are averages of the gradient and its
    square.

    They decay by `b1` and `b2` per step, and are corrected for having begun at zero. `weight_decay` adds
    ``weight_decay * p`` to the gradient; see `adamw`. With `amsgrad`, ``v`` is the largest so far. `lr` is a
    number, a tensor of rank 0, or a schedule.

    Example:
        >>> import tracejit as tj
        >>> optimizer = tj.optim.adam(0.1)
        >>> w = tj.tensor([1.0, 2.0])
        >>> w, state = optimizer.update(w, 2 * w, optimizer.init(w))
        >>> w
        tensor([0.9, 1.9])

    Raises DomainError for hyperparameters out of range. Semantics: ``torch.optim.Adam``.
    """
    check_rate("adam", lr)
    rule = AdamRule(b1, b2, eps, weight_decay, amsgrad)
    rule.check("adam")
    return Optimizer("adam", rule, lr)


def adamw(
    lr: Any = 1e-3,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    amsgrad: bool = False,
) -> Optimizer:
    """Adam with decoupled weight decay: ``p`` is multiplied by ``1 - lr * weight_decay``, and the gradient is
    left alone.

    Example:
        >>> import tracejit as tj
        >>> optimizer = tj.optim.adamw(0.1, weight_decay=0.5)
        >>> w = tj.tensor([1.0, 2.0])
        >>> w, state = optimizer.update(w, 2 * w, optimizer.init(w))
        >>> w
        tensor([0.85, 1.8 ])

    Raises DomainError for hyperparameters out of range. Semantics: ``torch.optim.AdamW``.
    """
    check_rate("adamw", lr)
    rule = AdamRule(b1, b2, eps, weight_decay, amsgrad, decoupled=True)
    rule.check("adamw")
    return Optimizer("adamw", rule, lr)
