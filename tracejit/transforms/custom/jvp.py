"""``custom_jvp``: functions whose forward-mode derivative the user writes.

Reverse mode comes from it by transposition. A tangent is a linear function of the input tangents, so its
vector-Jacobian product may be taken at any of them; it is taken at zero, by the gradient rules of the
operations that the user's rule consists of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backward.backward import run_backward
from ...backward.engine import TENSOR_OPS
from ...base.errors import DTypeError, GradientError, ShapeError, TracejitError
from ...ir.dtypes import default_dtype, is_differentiable
from ...pytree import flatten, tree_map
from ...state import STATE
from ...tensors.tensor import Tensor, wrap
from .rule import DerivativeRule, as_tensors
from .vjp import Arguments, CustomFunction, GivenRule, P, R, checked_pair, name_of


class custom_jvp(CustomFunction[P, R]):
    """Give `fun` a forward-mode derivative of your own; a decorator, completed by ``defjvp`` or ``defjvps``.

    ``f.defjvp(jvp)``: ``jvp(*nondiff_args, primals, tangents)`` returns ``(output, output_tangent)``, where
    `primals` and `tangents` are tuples with one pytree per differentiated argument, and the tangent of the
    output has its structure, shapes and dtypes. It must be linear in `tangents`; integers have tangents that
    are zeros of the default dtype. ``f.defjvps(*jvps)`` takes one ``jvp(tangent, output, *primals)`` per
    argument, or None where it is zero. Arguments named by `nondiff_argnums` are constants of any type.

    `fun` runs where nobody differentiates, the rule otherwise. Works eagerly, under ``@tj.jit`` and in every
    nesting of transforms. A gradient's gradient differentiates the rule itself.

    Example:
        >>> import tracejit as tj
        >>> @tj.custom_jvp
        ... def log1pexp(x):
        ...     return tj.log(1.0 + tj.exp(x))
        >>> log1pexp.defjvps(lambda t, y, x: (1 - 1 / (1 + tj.exp(x))) * t)
        >>> tj.grad(log1pexp)(100.0)
        tensor(1.)

    Raises GradientError where there is no rule or where it returns another structure, ShapeError and
    DTypeError for tangents of other types. Semantics: ``jax.custom_jvp``.
    """

    kind = "custom_jvp"
    jvp: Callable[..., Any] | None = None
    _parts: tuple[Callable[..., Any], ...] = ()

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule, and return it: may be used as a decorator."""
        if not callable(jvp):
            raise TracejitError(
                f"defjvp of {name_of(self.fun)}: expected a function, got {type(jvp).__name__}"
            )
        self.jvp, self._parts = jvp, (jvp,)
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule as one function ``jvp(tangent, output, *primals)`` per argument; None for zero."""
        name = name_of(self.fun)
        if self.nondiff_argnums:
            raise TracejitError(f"defjvps of {name}: it has nondiff_argnums; use defjvp")

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                raise GradientError(
                    f"defjvps of {name}: it has {len(jvps)} rules, and was called with {len(primals)} "
                    "arguments"
                )
            output: Any = self.__call__(*primals)  # type: ignore[call-arg]  # checked where it was called
            parts = [
                rule(tangent, output, *primals)
                for rule, tangent in zip(jvps, tangents, strict=True)
                if rule is not None
            ]
            if not parts:
                return output, tree_map(_zero_tangent, output)
            total = parts[0]
            for part in parts[1:]:
                total = tree_map(lambda x, y: x + y, total, part)
            return output, total

        jvp.__name__ = f"{name}_jvps"
        self.jvp, self._parts = jvp, tuple(jvp for jvp in jvps if jvp is not None)

    @property
    def __rules__(self) -> list[Callable[..., Any]]:
        return list(self._parts)

    def rule(self, split: Arguments) -> DerivativeRule:
        if self.jvp is None:
            name = name_of(self.fun)
            raise GradientError(
                f"custom_jvp of {name}: it has no rule yet; call {name}.defjvp(jvp) or {name}.defjvps(*jvps)"
            )
        return _Jvp(self, self.jvp, split)


class _Linear:
    """Tangents that went into a rule and those that came out, as the tape connects them. One leaf to pytrees:
    what the tape saved of the way between them is its own business."""

    def __init__(self, tangents: list[Any], moved: list[Tensor | None]) -> None:
        self.tangents, self.moved = tangents, moved


class _Jvp(GivenRule):
    def __init__(self, function: custom_jvp[..., Any], jvp: Callable[..., Any], split: Arguments) -> None:
        super().__init__(function, split)
        self.jvp = jvp
        self.gradients_by = f"custom_jvp: the rule of {self.name}"

    def forward(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """The output; and the tangents that went in and came out: a linear function on the tape."""
        tangents = tree_map(_zero_tangent, args)
        with np.errstate(invalid="ignore"):  # a slope of infinity times a tangent of zero is not the user's
            pair = self.jvp(*self.split.constants, args, tangents)
        rule = f"custom_jvp: the rule {name_of(self.jvp)} of {self.name}"
        pair = checked_pair(rule, "output, tangent of the output", pair)
        outputs, structure = flatten(pair[0])
        derivatives, tangent_structure = flatten(pair[1])
        if structure != tangent_structure:
            raise GradientError(
                f"{rule} must return a tangent of the output's structure {structure}, got {tangent_structure}"
            )
        moved = [
            _checked(rule, i, *pair)
            for i, pair in enumerate(zip(as_tensors(outputs), derivatives, strict=True))
        ]
        return pair[0], _Linear(flatten(tangents)[0], moved)

    def backward(self, residuals: Any, cotangents: Any) -> Sequence[Any]:
        tangents, moved = residuals.tangents, residuals.moved
        tracked = [isinstance(tangent, Tensor) and tangent._requires_grad for tangent in tangents]
        targets = [tangent for tangent, is_tracked in zip(tangents, tracked, strict=True) if is_tracked]
        pairs = [
            (root, ct)
            for root, ct in zip(moved, flatten(cotangents)[0], strict=True)
            if root is not None and root._requires_grad
        ]
        partials: list[Tensor | None] = [None] * len(targets)
        if pairs and targets:
            partials = run_backward(
                [root for root, _ in pairs],
                [ct for _, ct in pairs],
                retain_graph=True,
                create_graph=STATE.recording,
                targets=targets,
            )
        following = iter(partials)
        gradients = [next(following) if is_tracked else None for is_tracked in tracked]
        built: tuple[Any, ...] = flatten(self.split.differentiated)[1].unflatten(gradients)
        return built


def _zero_tangent(leaf: Any) -> Any:
    """The tangent at which a rule is linearised; one that is differentiated where the leaf may be."""
    if isinstance(leaf, (bool, int, float, complex)):
        return 0.0
    dtype = leaf.dtype if is_differentiable(leaf.dtype) else default_dtype()
    zeros: Tensor = TENSOR_OPS.full(value=0.0, shape=tuple(leaf.shape), dtype=dtype)
    if isinstance(leaf, Tensor) and is_differentiable(leaf.dtype):
        return wrap(zeros._data).requires_grad_()
    return zeros


def _checked(rule: str, position: int, output: Tensor, tangent: Any) -> Tensor | None:
    """The tangent of one output, of its type; numbers adopt it. None for an integer."""
    if not is_differentiable(output.dtype):
        return None
    if isinstance(tangent, (bool, int, float, complex)):
        tangent = np.asarray(tangent, output.dtype)
    tensor: Tensor
    (tensor,) = as_tensors([tangent])
    where = f"{rule} returned for output {position} a tangent of"
    if tensor.shape != output.shape:
        raise ShapeError(f"{where} shape {tensor.shape}, expected {output.shape}")
    if tensor.dtype != output.dtype:
        raise DTypeError(f"{where} dtype {tensor.dtype.name}, expected {output.dtype.name}")
    return tensor
