"""Ways to differentiate a program, compared with each other and with differences of NumPy's values.

All are of a weighted sum of the results, of which complex ones are two real ones each. Gradients by complex
arguments are as `tj.grad` has them: of the loss by the real part, less i times that by the imaginary part.
The tolerance follows from how far the gradient moves when the arguments move by many roundings; where it
moves far, there is a kink or the program is ill-conditioned, and nothing is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tj

from . import reference
from .comparing import Mismatch, Skipped, compare
from .subject import Array, Subject

#: Relative movement of the arguments, and the part of the gradient's movement that is its tolerance: some
#: hundred roundings.
MOVE = {"double": 1e-7, "single": 1e-4, "half": 5e-2}
PART = {"double": 1e-6, "single": 0.2, "half": 1.0}
FLOOR = {"double": 1e-11, "single": 1e-4, "half": 5e-2}
#: Part of a gradient by which it moves at a kink, or where it is ill-conditioned.
SPREAD = {"double": 1e-2, "single": 1e-2, "half": 0.2}
MOST = 1e6


class Derivatives:
    """State that the modes share: the float arguments, the loss, its gradient by ``backward``, tolerances."""

    def __init__(self, subject: Subject) -> None:
        if subject.has("special", "written argument") or not subject.float_positions:
            raise Skipped
        floats = [x for x in subject.expected if x.dtype.kind in "fc"]
        if not any(x.size for x in floats) or not all(np.isfinite(x).all() for x in floats):
            raise Skipped
        self.subject, self.double, self.precision = subject, subject.double, subject.precision
        arguments = subject.arguments()
        self.floats = [np.array(arguments[i]) for i in subject.float_positions]
        self.argnums = tuple(range(len(self.floats)))
        function, self.rebind = subject.fresh(tj)
        self.function = function
        self.loss = subject.loss(function, tj)
        try:
            self.gradients = self.backward(self.floats)
        except tj.GradientError as error:
            if "modified in place" in str(error):  # as in `oracle.run_mode`, for those who ask for no mode
                raise Skipped from None
            raise
        self.largest = float(np.max([np.abs(g).max(initial=0) for g in self.gradients]))
        if not self.largest < MOST:
            raise Skipped
        self.tolerance = FLOOR[self.precision] * (1 + self.largest)
        if not subject.has("exact"):
            # both ways: at a kink one of them may end on the side where rounding has put the arguments
            apart = [
                np.abs(here - there).max(initial=0)
                for move in (MOVE[self.precision], -MOVE[self.precision])
                for here, there in zip(self.gradients, self.backward(self.moved(move)), strict=True)
            ]
            spread = float(np.max(apart))
            if not spread < SPREAD[self.precision] * (1 + self.largest):
                raise Skipped
            self.tolerance += PART[self.precision] * spread
        self.tolerances = [self.tolerance] * len(self.floats)

    def backward(self, floats: Sequence[Array]) -> list[Array]:
        """Gradients by the tape; zeros where the loss does not depend on an argument."""
        leaves = [tj.tensor(x.copy(), requires_grad=True) for x in floats]
        value = self.loss(*leaves)
        if not isinstance(value, tj.Tensor) or not value.requires_grad:
            raise Skipped
        value.backward()
        return [
            np.zeros_like(x) if leaf.grad is None else np.conj(np.asarray(leaf.grad))
            for x, leaf in zip(floats, leaves, strict=True)
        ]

    def moved(self, amount: float) -> list[Array]:
        rng = np.random.default_rng(5)
        return [(x + (1 + np.abs(x)) * amount * _random(rng, x)).astype(x.dtype) for x in self.floats]

    def tangents(self) -> list[Array]:
        parts = (1.0, 1j)
        return [
            sum(
                part * np.sin(np.arange(x.size) * 1.7 + abs(part + 1))
                for part in parts[: 1 + (x.dtype.kind == "c")]
            )
            .reshape(x.shape)
            .astype(x.dtype)
            for x in self.floats
        ]

    def bends(self, tangents: Sequence[Array]) -> bool:
        """Whether the gradient is another one a small step along `tangents`, as it is between equal elements
        that are sorted: differences along a line see no kink where all of them move."""
        there = self.backward([x + 1e-6 * t for x, t in zip(self.floats, tangents, strict=True)])
        slope, scale = 0.0, 1.0
        for here, moved, tangent in zip(self.gradients, there, tangents, strict=True):
            slope += float(np.sum((moved - here) * tangent).real)
            scale += float(np.abs(here * tangent).sum())
        return not abs(slope) < 1e-4 * scale

    def check(self, gradients: Sequence[Any], label: str) -> None:
        compare(gradients, self.gradients, self.tolerances, label)


def _random(rng: np.random.Generator, x: Array) -> Array:
    """Numbers between -1 and 1 in the shape of `x`, complex where that is."""
    real = rng.uniform(-1, 1, x.shape)
    return real + 1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else real


def transforms(subject: Subject) -> None:
    """``backward``, ``grad``, ``jvp`` and differences of NumPy's values."""
    d = Derivatives(subject)
    d.check(tj.grad(d.loss, argnums=d.argnums)(*d.floats), "grad against backward")
    tangents = d.tangents()
    products = [
        np.multiply(g, t, dtype=np.result_type(g, "f8")) for g, t in zip(d.gradients, tangents, strict=True)
    ]
    along = sum(float(np.sum(product).real) for product in products)
    scale = 1 + sum(float(np.abs(product).sum()) for product in products)
    size = sum(x.size for x in d.floats)
    allowed = d.tolerance * (1 + size) + FLOOR[d.precision] * scale
    _, slope = tj.jvp(d.loss, tuple(d.floats), tuple(tangents))
    if not abs(float(slope) - along) <= allowed:
        raise Mismatch(f"value: jvp gives {float(slope)!r}, backward {along!r} +- {allowed:.1e} (jvp)")
    if d.double and not subject.has("exact") and not subject.has("stop_gradient"):
        function, _ = subject.fresh(reference)
        numpy_loss = subject.loss(function, reference)
        try:
            differences(
                lambda x: float(numpy_loss(*x)), d.floats, tangents, along, scale, "differences of values"
            )
        except Mismatch:
            if not d.bends(tangents):
                raise


def differences(
    f: Callable[[Sequence[Array]], float],
    at: Sequence[Array],
    along: Sequence[Array],
    slope: float,
    scale: float,
    label: str,
) -> None:
    """Compare a slope with central differences, unless those say that there is a kink."""
    for step in (1e-4, 1e-5, 1e-6):  # two neighbours that change places may be nearer than a step
        best = _central(f, at, along, slope, scale, step)
        if best is None:
            return
    raise Mismatch(f"value: slope {slope!r}, differences give {best!r} ({label})")


def _central(
    f: Callable[[Sequence[Array]], float],
    at: Sequence[Array],
    along: Sequence[Array],
    slope: float,
    scale: float,
    step: float,
) -> float | None:
    """The slope by finite differences; None where they agree with `slope`, or say nothing."""
    estimates = []
    with np.errstate(all="ignore"):
        middle = f(at)
        for h in (2 * step, step):
            up, down = (f([x + s * h * t for x, t in zip(at, along, strict=True)]) for s in (1, -1))
            estimates.append(((up - middle) / h, (middle - down) / h))
    values = np.array(estimates)
    if not np.isfinite(values).all():
        return None
    central = values.mean(axis=1)
    # Richardson: the error of the second is a third of the change
    best = float(central[1] + (central[1] - central[0]) / 3)
    error = abs(central[1] - central[0]) + 1e-6 * scale + 1e-13 * abs(middle) / step
    bend = abs(values[1, 0] - values[1, 1])
    if bend > 0.6 * abs(values[0, 0] - values[0, 1]) + 1e-7 * scale or error > 1e-3 * scale:
        return None  # a kink: one-sided differences stay apart as h shrinks
    return best if abs(best - slope) > 3 * error + 1e-5 * scale else None


def jit_of_grad(subject: Subject) -> None:
    d = Derivatives(subject)
    compiled = tj.jit(tj.grad(d.loss, argnums=d.argnums))
    d.check(compiled(*d.floats), "jit of grad")
    d.check(compiled(*map(tj.asarray, d.floats)), "jit of grad, second call")
    rebound = subject.expected_rebound
    if rebound is None or [x.shape for x in rebound] != [x.shape for x in subject.expected]:
        return
    d.rebind()
    try:
        fresh = d.backward(d.floats)
    except Skipped:  # what was rebound leaves nothing to differentiate
        return
    largest = float(np.max([np.abs(g).max(initial=0) for g in fresh]))
    if largest < MOST:
        # how the rebound gradient is conditioned was not measured
        tolerances = [100 * d.tolerance * (1 + largest)] * len(fresh)
        compare(compiled(*d.floats), fresh, tolerances, "jit of grad, after rebinding")


def grad_of_jit(subject: Subject) -> None:
    d = Derivatives(subject)
    compiled = tj.jit(d.function)
    loss = subject.loss(compiled, tj)
    d.check(tj.grad(loss, argnums=d.argnums)(*d.floats), "grad of jit")
    leaves = [tj.tensor(x.copy(), requires_grad=True) for x in d.floats]
    loss(*leaves).backward()
    zeros = [np.zeros_like(x) for x in d.floats]
    d.check(
        [
            z if leaf.grad is None else np.conj(np.asarray(leaf.grad))
            for z, leaf in zip(zeros, leaves, strict=True)
        ],
        "jit, then backward",
    )


def second_order(subject: Subject) -> None:
    """`hvp` against differences of gradients, forward over reverse against reverse over reverse, jitted."""
    d = Derivatives(subject)
    if not d.double or (subject.has("custom_vjp") and subject.has("exact")):
        raise Skipped
    tangents = tuple(d.tangents())
    product = tj.hvp(d.loss, tuple(d.floats), tangents)
    products = [np.asarray(x) for x in (product if isinstance(product, (tuple, list)) else (product,))]
    largest = float(np.max([np.abs(x).max(initial=0) for x in products]))
    if not largest < MOST:
        raise Skipped
    tolerances = [1e-9 * (1 + largest + d.largest)] * len(products)

    def dotted(*floats: Any) -> Any:
        gradients = tj.grad(d.loss, argnums=d.argnums)(*floats)
        total: Any = 0.0
        for g, t in zip(gradients, tangents, strict=True):
            total = total + tj.sum(tj.real(g * t))
        return total

    compare(tj.grad(dotted, argnums=d.argnums)(*d.floats), products, tolerances, "grad of grad against hvp")
    compiled = tj.jit(lambda *floats: tj.hvp(d.loss, floats, tangents))
    result = compiled(*d.floats)
    compare(result if isinstance(result, (tuple, list)) else (result,), products, tolerances, "jit of hvp")
    if subject.has("exact") or subject.has("stop_gradient"):
        return
    slope = sum(float(np.sum(p * t).real) for p, t in zip(products, tangents, strict=True))
    scale = 1 + sum(float(np.abs(p * t).sum()) for p, t in zip(products, tangents, strict=True))
    differences(
        lambda x: sum(float(np.sum(g * t).real) for g, t in zip(d.backward(x), tangents, strict=True)),
        d.floats, tangents, slope, scale, "differences of gradients",
    )  # fmt: skip


def vmap_of_grad(subject: Subject) -> None:
    """Gradients of three examples at once: the outer ones as they are, the middle one moved."""
    if subject.has("branch", "written argument"):
        raise Skipped
    d = Derivatives(subject)
    moved = d.moved(0.1)
    stacked = [np.stack([x, y, x]) for x, y in zip(d.floats, moved, strict=True)]
    ways = {"vmap of grad": tj.vmap(tj.grad(d.loss, argnums=d.argnums))}
    ways["jit of vmap of grad"] = tj.jit(ways["vmap of grad"])
    for label, way in ways.items():
        gradients = way(*stacked)
        for example in (0, 2):
            d.check([np.asarray(g)[example] for g in gradients], f"{label}, example {example}")
