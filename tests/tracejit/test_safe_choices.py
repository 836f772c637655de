"""Gradients behind ``tj.where(..., safe=True)``: zeros that a mask made leave out what they meet in matrix
products and convolutions, too.

Programs of a table, in which what the mask leaves out is infinite or NaN, are compared with the same ones
where it is 1. Random chains of products are compared with the chain rule in NumPy, in which each product is a
sum over terms.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracejit as tj

SEED = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0"))
TIERS = pytest.mark.parametrize("tier", ["0", "always"], ids=["optimized", "baseline"])
pytestmark = pytest.mark.filterwarnings("ignore")

INF, NAN = np.inf, np.nan
Where = Callable[[Any, Any, Any], Any]
safe: Where = functools.partial(tj.where, safe=True)


@dataclass
class Program:
    """`function` of a choice and arrays, and what the mask leaves out of the arrays is not finite."""

    function: Callable[..., Any]
    arrays: list[Any]

    def clean(self) -> list[Any]:
        """The arrays with ones for what is not finite."""
        return [np.where(np.isfinite(array), array, np.ones_like(array)) for array in self.arrays]

    def total(self, where: Where) -> Callable[..., Any]:
        """A number that depends on all results, each in another way."""

        def of(*arrays: Any) -> Any:
            result = self.function(where, *arrays)
            result = tj.real(result) + 2 * tj.imag(result) if result.dtype.kind == "c" else result
            weights = np.cos(np.arange(result.size)).reshape(result.shape).astype(result.dtype)
            return (result * weights).sum() + (result**2).mean()

        return of


def _random(*shape: int, dtype: Any = "f8") -> Any:
    rng = np.random.default_rng(sum(shape))
    values = rng.uniform(0.3, 1.2, shape) * rng.choice([-1.0, 1.0], shape)
    imaginary = 0.5j * values[::-1] if np.dtype(dtype).kind == "c" else 0.0
    return (values + imaginary).astype(dtype)


def _spoiled(array: Any, *places: Any) -> Any:
    """`array` with infinities and NaN at `places`."""
    array = array.copy()
    for place, value in zip(places, [INF, NAN, -INF] * len(places), strict=False):
        array[place] = value
    return array


COLUMNS = np.array([True, False, True, False, True])
ROWS = np.array([True, True, False, True])
#: A mask that holds for some elements of each row but the second one.
ELEMENTS = np.array([[1, 0, 0, 1, 0], [0, 0, 0, 0, 0], [1, 1, 0, 0, 1], [0, 1, 0, 1, 1]], bool)
BY_COLUMN = _spoiled(_random(3, 5), (0, 1), (1, 1), (2, 3))
LEFT_OUT_ROW = _spoiled(_random(4, 3), (2, 0), (2, 1))
IMAGES = _random(2, 2, 6, 7)
#: Kernels for images, of which the last output channel is left out.
KERNELS = _spoiled(_random(3, 2, 3, 2), (2, 0, 1, 1), (2, 1, 0, 0))
CHANNELS = np.array([True, True, False])[:, None, None]


def _scan(where: Where, x: Any, m: Any) -> Any:
    keep = np.array([True, False, True])

    def step(carry: Any, _: Any) -> Any:
        carry = where(keep, carry @ m, 0.5)
        return carry, carry.sum()

    last, sums = tj.scan(step, x, tj.arange(3.0))
    return last * sums


def _fori(where: Where, x: Any, m: Any) -> Any:
    return tj.fori_loop(0, 3, lambda i, c: where(np.array([True, False, True]), tj.sin(c @ m), 0.25), x)


def _loop(where: Where, x: Any, m: Any) -> Any:
    """A loop of Python's that the compiler may keep."""
    total = x * 0.0
    for i in range(x.shape[0]):
        total = total + where(np.array([True, False, True]), (x * x[i]) @ m, 0.25)
    return total


def _cond(where: Where, x: Any, m: Any) -> Any:
    inside = tj.cond(x.sum() > -100, lambda x: where(COLUMNS, x @ m, 0.0), lambda x: (x @ m) * 0.0, x)
    outside = tj.cond(x.sum() > -100, lambda x: x @ m, lambda x: (x @ m) * 0.0, x)
    return inside + where(COLUMNS, outside, 0.0)


def _deep(where: Where, x: Any, a: Any, m: Any) -> Any:
    return where(ELEMENTS.any(0), tj.tanh(tj.exp(x @ a) / 4) @ m, 0.0)


def _square() -> Any:
    return _spoiled(_random(3, 3), (0, 1), (2, 1))


def _groups(where: Where, x: Any, w: Any) -> Any:
    y = tj.nn.conv2d(x, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2)
    return where(np.array([True, False, True, True])[:, None, None], y, 0.0)


PROGRAMS: dict[str, Program] = {
    "vector by matrix": Program(
        lambda where, w, m: where(COLUMNS, w @ m, 0.0), [_random(3), BY_COLUMN]
    ),
    "matrix by vector": Program(
        lambda where, m, w: where(ROWS, m @ w, 0.0), [LEFT_OUT_ROW, _random(3)]
    ),
    "rows left out": Program(
        lambda where, m, w: where(ROWS[:, None], m @ w, 1.0), [LEFT_OUT_ROW, _random(3, 5)]
    ),
    "loss of rows": Program(
        lambda where, m, w: where(ROWS, (m @ w - 1.0) ** 2, 0.0), [LEFT_OUT_ROW, _random(3)]
    ),
    "elements": Program(
        lambda where, x, m: where(ELEMENTS & (np.arange(5) != 2), x @ m, 0.0),
        [_random(4, 3), _spoiled(_random(3, 5), (0, 2), (1, 2))],
    ),
    "both sides": Program(
        lambda where, x, m: where(ELEMENTS, x @ m, tj.sin(m[:1])),
        [_spoiled(_random(4, 3), (1, 0)), _random(3, 5)],
    ),
    "where of a where": Program(
        lambda where, x, m: where(ROWS[:, None], where(COLUMNS, x @ m, 2.0), 0.0), [LEFT_OUT_ROW, BY_COLUMN]
    ),
    "two products": Program(_deep, [_random(4), _random(4, 3), _spoiled(_random(3, 5), (0, 2), (2, 2))]),
    "slope and product": Program(
        lambda where, x, m: where(COLUMNS, tj.sqrt(tj.abs(x)) @ m, 0.0), [_random(3), BY_COLUMN]
    ),
    "log before": Program(
        lambda where, x, m: where(ROWS[:, None], tj.log(x) @ m, 0.0),
        [_spoiled(np.abs(_random(4, 3)), (2, 1)), _random(3, 5)],
    ),
    "batched": Program(
        lambda where, x, m: where(COLUMNS, x @ m, 0.0),
        [_random(2, 4, 3), _spoiled(_random(2, 3, 5), (0, 1, 1), (1, 2, 3))],
    ),
    "broadcast": Program(
        lambda where, x, m: where(COLUMNS, x @ m, 0.0), [_random(2, 4, 3), BY_COLUMN]
    ),
    "dot": Program(lambda where, x, m: where(COLUMNS, tj.dot(x, m), 0.0), [_random(2, 4, 3), BY_COLUMN]),
    "dot of vectors": Program(
        lambda where, x, y: where(
            np.array([True, False]), tj.stack([tj.dot(x[0], y[0]), tj.dot(x[1], y[1])]), 0.0
        ),
        [_random(2, 3), _spoiled(_random(2, 3), (1, 1))],
    ),
    "einsum": Program(
        lambda where, x, m: where(COLUMNS, tj.einsum("bij,jk->bik", x, m), 0.0), [_random(2, 4, 3), BY_COLUMN]
    ),
    "einsum of three": Program(
        lambda where, x, y, m: where(COLUMNS, tj.einsum("ij,jl,lk->ik", x, y, m), 0.0),
        [_random(4, 2), _random(2, 3), BY_COLUMN],
    ),
    "tensordot": Program(
        lambda where, x, m: where(COLUMNS, tj.tensordot(x, m, axes=([0, 2], [0, 1])), 0.0),
        [_random(2, 4, 3), _spoiled(_random(2, 3, 5), (1, 2, 1), (0, 0, 3))],
    ),
    "inner": Program(
        lambda where, x, m: where(COLUMNS, np.inner(x, m), 0.0), [_random(4, 3), BY_COLUMN.T.copy()]
    ),
    "linear": Program(
        lambda where, x, m: where(COLUMNS, tj.nn.linear(x, m), 0.0), [_random(4, 3), BY_COLUMN.T.copy()]
    ),
    "conv1d": Program(
        lambda where, x, w: where(CHANNELS[..., 0], tj.nn.conv1d(x, w, padding=1, stride=2), 0.0),
        [_random(2, 2, 9), KERNELS[..., 0]],
    ),
    "conv2d": Program(lambda where, x, w: where(CHANNELS, tj.nn.conv2d(x, w), 0.0), [IMAGES, KERNELS]),
    "conv2d, strides and padding": Program(
        lambda where, x, w: where(CHANNELS, tj.nn.conv2d(x, w, stride=(2, 3), padding=(1, 2)), 0.0),
        [IMAGES, KERNELS],
    ),
    "conv2d, groups and dilation": Program(
        _groups, [_random(2, 4, 6, 7), _spoiled(_random(4, 2, 3, 2), (1, 0, 1, 1), (1, 1, 0, 0))]
    ),
    "conv2d of an image left out": Program(
        lambda where, x, w: where(np.array([True, False])[:, None, None, None], tj.nn.conv2d(x, w), 0.0),
        [_spoiled(IMAGES, (1, 0, 2, 2), (1, 1, 5, 0)), _random(3, 2, 3, 2)],
    ),
    "conv2d of two": Program(
        lambda where, x, v, w: where(CHANNELS, tj.nn.conv2d(tj.tanh(tj.nn.conv2d(x, v)), w), 0.0),
        [IMAGES, _random(2, 2, 2, 2), KERNELS],
    ),
    "scan": Program(_scan, [_random(3), _square()]),
    "fori_loop": Program(_fori, [_random(3), _square()]),
    "loop": Program(_loop, [_random(3), _square()]),
    "cond": Program(_cond, [_random(3), BY_COLUMN]),
    "checkpoint": Program(
        lambda where, x, m: where(COLUMNS, tj.checkpoint(lambda x, m: tj.sin(x) @ m)(x, m), 0.0),
        [_random(3), BY_COLUMN],
    ),
    "jitted function": Program(
        lambda where, x, m: where(COLUMNS, tj.jit(lambda x, m: tj.sin(x) @ m)(x, m), 0.0),
        [_random(3), BY_COLUMN],
    ),
    "choice in a jitted function": Program(
        lambda where, x, m: tj.jit(lambda y: where(COLUMNS, y, 0.0))(tj.sin(x) @ m), [_random(3), BY_COLUMN]
    ),
    "complex": Program(
        lambda where, x, m: where(COLUMNS, (x + 1j * x[::-1]) @ (m * (1 - 2j)), 0.0),
        [_random(4, 3), BY_COLUMN],
    ),
}  # fmt: skip


def gradients(total: Callable[..., Any], count: int) -> Callable[..., Any]:
    return tj.grad(total, argnums=tuple(range(count)))  # type: ignore[no-any-return]


def second(total: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The gradients of a sum of the gradients."""

    def slope(*arrays: Any) -> Any:
        parts = gradients(total, count)(*arrays)
        weights = [np.sin(1.0 + np.arange(part.size)).reshape(part.shape) for part in parts]
        return sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True))

    return gradients(slope, count)


def agree(results: Any, expected: Any, rtol: float = 1e-10) -> None:
    for position, (result, truth) in enumerate(zip(results, expected, strict=True)):
        result = np.asarray(result)
        np.testing.assert_allclose(result, truth, rtol=rtol, atol=1e-12, err_msg=f"operand {position}")


def truth_of(program: Program, derive: Callable[..., Any] = gradients) -> list[Any]:
    """The result of `derive` where all is finite: what is left out has no part."""
    results = derive(program.total(tj.where), len(program.arrays))(*program.clean())
    truth = [np.asarray(result) for result in results]
    assert all(np.isfinite(part).all() for part in truth)
    return truth


@TIERS
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_left_out_has_no_part(name: str, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_TIERS", tier)
    program = PROGRAMS[name]
    expected, total = truth_of(program), program.total(safe)
    count = len(program.arrays)
    agree(tj.jit(gradients(total, count))(*program.arrays), expected)
    if tier == "0":
        agree(gradients(total, count)(*program.arrays), expected)
        leaves = [tj.tensor(array, requires_grad=True) for array in program.arrays]
        total(*leaves).backward()
        agree([leaf.grad for leaf in leaves], expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_choice_that_is_not_safe_has_nan(name: str) -> None:
    """The programs say something about products: but for the last ones, whose infinity is in front of one."""
    program = PROGRAMS[name]
    parts = gradients(program.total(tj.where), len(program.arrays))(*program.arrays)
    assert any(np.isnan(np.asarray(part)).any() for part in parts), name


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives(name: str) -> None:
    program = PROGRAMS[name]
    expected, total = truth_of(program, second), program.total(safe)
    agree(second(total, len(program.arrays))(*program.arrays), expected, 1e-9)
    agree(tj.jit(second(total, len(program.arrays)))(*program.arrays), expected, 1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_mode_agrees(name: str) -> None:
    program = PROGRAMS[name]
    places = tuple(range(len(program.arrays)))
    agree(tj.jacfwd(program.total(safe), argnums=places)(*program.arrays), truth_of(program))


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_of_a_vmap(name: str) -> None:
    """The first operand alone differs between examples, then all of them."""
    program = PROGRAMS[name]
    gradient = gradients(program.total(safe), len(program.arrays))
    expected = truth_of(program)
    rest = program.arrays[1:]
    factor = np.array([1.0, 1.0, 1.0])
    first = np.stack([program.arrays[0]] * 3)
    mapped = tj.jit(tj.vmap(gradient, in_axes=(0, *[None] * len(rest))))(first, *rest)
    agree([np.asarray(part)[1] for part in mapped], expected)
    stacked = [np.stack([array] * factor.size) for array in program.arrays]
    agree([np.asarray(part)[2] for part in tj.jit(tj.vmap(gradient))(*stacked)], expected)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_dtypes(dtype: str) -> None:
    w, m = _random(3, dtype=dtype), BY_COLUMN.astype(dtype)
    mask = COLUMNS

    def total(where: Where) -> Callable[..., Any]:
        return lambda w, m: tj.real(where(mask, w @ m, 0.0) * np.arange(5).astype(w.dtype)).sum()

    clean = np.where(np.isfinite(m), m, np.ones_like(m))
    expected = [np.asarray(part) for part in tj.grad(total(tj.where), argnums=(0, 1))(w, clean)]
    for gradient in (tj.grad(total(safe), argnums=(0, 1)), tj.jit(tj.grad(total(safe), argnums=(0, 1)))):
        results = gradient(w, m)
        assert [result.dtype for result in results] == [dtype, dtype]
        agree(results, expected, 4 * float(np.finfo(dtype).eps))


def test_what_is_chosen_keeps_its_infinity() -> None:
    """The sum of infinite terms of one sign is infinite, of both signs or NaN it is NaN."""
    m = np.array([[INF, INF, 1.0], [INF, -INF, 2.0], [NAN, 1.0, INF], [3.0, 4.0, INF]])
    mask = np.array([True, True, False])
    expected = [INF, NAN, NAN, 7.0]
    gradient = tj.grad(lambda w: safe(mask, w @ m, 0.0).sum())
    for function in (gradient, tj.jit(gradient)):
        np.testing.assert_array_equal(np.asarray(function(np.ones(4))), expected)


def test_integers_and_numbers() -> None:
    """A safe choice of values without gradients is a choice."""
    assert tj.where([True, False], 1, 2, safe=True).tolist() == [1, 2]
    assert tj.jit(lambda x: tj.where(x > 1, x, 0, safe=True))(np.arange(3)).tolist() == [0, 0, 2]


def test_a_condition_alone_is_no_choice() -> None:
    with pytest.raises(tj.ArgumentError, match="safe= is for a choice between x and y"):
        tj.where([True, False], safe=True)


def test_a_factorization_ends_it() -> None:
    """An infinity in a matrix makes all of its inverse NaN: no zero of that is due to a mask."""
    slope = INF * np.ones(2)

    def of(b: Any) -> Any:
        return safe(np.array([True, False]), tj.linalg.solve(np.eye(2), b * slope), 0.0).sum()

    for gradient in (tj.grad(of), tj.jit(tj.grad(of))):
        np.testing.assert_array_equal(np.asarray(gradient(np.ones(2))), [INF, NAN])


@pytest.mark.parametrize("where", [tj.where, np.where])
def test_other_choices_have_the_code_that_they_had(where: Any) -> None:
    gradient = tj.jit(tj.grad(lambda w: where(COLUMNS, w @ BY_COLUMN, 0.0).sum()))
    text = str(gradient.lower(np.ones(3)))
    assert "strong_matmul" not in text
    assert "safe_candidate" not in text


# -- random chains of products -------------------------------------------------------------------------------


@dataclass
class Step:
    """A function of a matrix h and of an array."""

    name: str
    array: Any = None

    def apply(self, h: Any, array: Any, where: Where) -> Any:
        name = self.name
        if name == "right":
            return h @ array
        if name == "left":
            return array @ h
        if name == "einsum":
            return tj.einsum("ij,jk->ki", h, array)
        if name == "conv":
            return tj.nn.conv2d(h[None, None], array[None, None], padding=1)[0, 0]
        if name == "mask":
            return where(self.array, h, 0.5)
        return getattr(tj, name)(h)

    def forward(self, h: Any) -> Any:
        if self.name == "conv":
            return sum(
                array * part for array, part in zip(self.array.reshape(-1), self._windows(h), strict=True)
            )
        if self.name == "mask":
            return np.where(self.array, h, 0.5)
        products = {"right": lambda: h @ self.array, "left": lambda: self.array @ h,
                    "einsum": lambda: (h @ self.array).T}  # fmt: skip
        return products[self.name]() if self.name in products else getattr(np, self.name)(h)

    def _windows(self, h: Any) -> list[Any]:
        """The elements that each element of the kernel is multiplied by."""
        rows, columns = self.array.shape
        wide = np.pad(h, 1)
        size = [n + 3 - k for n, k in zip(h.shape, (rows, columns), strict=True)]
        return [wide[i : i + size[0], j : j + size[1]] for i in range(rows) for j in range(columns)]

    def backward(self, h: Any, ct: Any, product: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
        """The cotangents of h and of the array, whose terms are given by `product`."""
        if self.name == "mask":
            return np.where(self.array, ct, 0.0), None
        if self.name == "conv":
            return self._backward_of_windows(h, ct, product)
        if self.name in ("right", "left", "einsum"):
            ct = ct.T if self.name == "einsum" else ct
            x, y = (self.array, h) if self.name == "left" else (h, self.array)
            to_x = product(ct[:, None, :], y[None, :, :]).sum(2)
            to_y = product(x[:, :, None], ct[:, None, :]).sum(0)
            return (to_y, to_x) if self.name == "left" else (to_x, to_y)
        slope = {"exp": np.exp, "log": lambda h: 1 / h, "square": lambda h: 2 * h}[self.name](h)
        return product(ct, slope), None

    def _backward_of_windows(self, h: Any, ct: Any, product: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
        wide, rows, columns = np.zeros((h.shape[0] + 2, h.shape[1] + 2)), *self.array.shape
        kernel = np.zeros(self.array.shape)
        windows = iter(self._windows(h))
        for i in range(rows):
            for j in range(columns):
                wide[i : i + ct.shape[0], j : j + ct.shape[1]] += product(ct, self.array[i, j])
                kernel[i, j] = product(ct, next(windows)).sum()
        return wide[1:-1, 1:-1], kernel


def strong_product(x: Any, y: Any) -> Any:
    """x y, and 0 where either is."""
    x, y = np.broadcast_arrays(x, y)
    return np.where((x == 0) | (y == 0), 0.0, x * y)


@dataclass
class Chain:
    """Steps one behind the other, and a number of the last result."""

    start: Any
    steps: list[Step]

    @classmethod
    def random(cls, rng: np.random.Generator) -> Chain:
        h = rng.uniform(0.2, 1.5, rng.integers(1, 6, 2))
        chain = cls(h, [])
        for _ in range(rng.integers(2, 6)):
            name = str(rng.choice(["right", "left", "einsum", "conv", "mask", "log", "exp", "square"]))
            step = Step(name, chain._array_for(name, h.shape, rng))
            with np.errstate(all="ignore"):
                h = step.forward(h)
            chain.steps.append(step)
        chain.steps.append(Step("mask", (rng.random(h.shape) < 0.6) & np.isfinite(h)))
        return chain

    def _array_for(self, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        """An array for the step `name` after a result of `shape`, of which few elements are not finite."""
        if name == "mask":
            return rng.random(shape) < 0.7
        sizes = {"right": (shape[1], rng.integers(1, 6)), "left": (rng.integers(1, 6), shape[0]),
                 "einsum": (shape[1], rng.integers(1, 6)),
                 "conv": (rng.integers(1, 3), rng.integers(1, 3))}  # fmt: skip
        if name not in sizes:
            return None
        values = rng.uniform(-1, 1, sizes[name])
        odd = rng.choice([INF, -INF, NAN, 0.0], values.shape)
        return np.where(rng.random(values.shape) < 0.12, odd, values)

    def arrays(self) -> list[Any]:
        """The start, and the arrays of the steps that are no masks."""
        return [self.start, *[step.array for step in self._with_array()]]

    def _with_array(self) -> list[Step]:
        return [step for step in self.steps if step.array is not None and step.name != "mask"]

    def total(self, where: Where) -> Callable[..., Any]:
        weights = np.cos(np.arange(self.steps[-1].array.size)).reshape(self.steps[-1].array.shape)

        def of(h: Any, *arrays: Any) -> Any:
            rest = iter(arrays)
            for step in self.steps:
                array = next(rest) if step.array is not None and step.name != "mask" else None
                h = step.apply(h, array, where)
            return (h * weights).sum()

        return of

    def exact(self) -> list[Any]:
        """The gradients by the chain rule, without terms in which a factor is 0."""
        with np.errstate(all="ignore"):
            values = [self.start]
            for step in self.steps:
                values.append(step.forward(values[-1]))
            last = self.steps[-1].array
            ct = np.cos(np.arange(last.size)).reshape(last.shape)
            gradients = []
            for step, h in zip(reversed(self.steps), reversed(values[:-1]), strict=True):
                ct, part = step.backward(h, ct, strong_product)
                gradients += [] if part is None else [part]
        return [ct, *reversed(gradients)]


def test_random_chains() -> None:
    """Eager and compiled gradients are the exact ones, of chains of which many have others by default."""
    print(f"TRACEJIT_FUZZ_SEED={SEED}")
    count = different = 0
    for number in range(40):
        chain = Chain.random(np.random.default_rng((SEED, number)))
        expected, arrays = chain.exact(), chain.arrays()
        gradient = gradients(chain.total(safe), len(arrays))
        text = f"TRACEJIT_FUZZ_SEED={SEED}, chain {number}: {[step.name for step in chain.steps]}"
        results = [gradient(*arrays), *([tj.jit(gradient)(*arrays)] if number % 3 == 0 else [])]
        for result in results:
            for part, truth in zip(result, expected, strict=True):
                scale = np.abs(truth[np.isfinite(truth)]).max(initial=0.0)
                np.testing.assert_allclose(
                    np.asarray(part), truth, rtol=1e-9, atol=1e-10 * scale, err_msg=text
                )
        usual = gradients(chain.total(tj.where), len(arrays))(*arrays)
        count += 1
        different += any(
            np.isnan(np.asarray(part)).sum() > np.isnan(truth).sum()
            for part, truth in zip(usual, expected, strict=True)
        )
    assert different > count // 6, (different, count)
