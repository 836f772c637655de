"""float16 as users meet it: NumPy's dtypes and values, eager and jitted to the same bits, and gradients."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.text.parser import parse_function

HALF = np.float16
OTHERS = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64",
]  # fmt: skip
#: Values at which conversions and arithmetic go wrong: ties, subnormals, overflow, both zeros.
SPECIALS = np.array(
    [0, -0.0, 1, -1, 2.0**-24, -(2.0**-24), 2.0**-14, 6.1e-5, 65504, -65504, np.inf, -np.inf, np.nan, 2048,
     2049, 0.1, 1 / 3, 1.0009765625, 255.875, 1e-7],
    HALF,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def values(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(HALF)


def same_bits(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    nan = np.isnan(want) if want.dtype.kind == "f" else np.zeros(want.shape, bool)
    assert np.array_equal(nan, np.isnan(got) if got.dtype.kind == "f" else nan)
    assert np.where(nan, 0, got).tobytes() == np.where(nan, 0, want).tobytes()


def near(got: Any, want: Any, *, ulps: float = 1.0) -> None:
    """Check that dtypes are equal, and values within some units in the last place of float16."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    if got.dtype != HALF:
        assert np.array_equal(got, want, equal_nan=got.dtype.kind == "f")
        return
    step = np.abs(np.spacing(np.abs(want))).astype(np.float64)
    apart = np.abs(got.astype(np.float64) - want)
    assert np.all((apart <= ulps * step) | (got == want) | (np.isnan(got) & np.isnan(want)))


@pytest.mark.parametrize("other", [*OTHERS, True, 3, 2.5])
def test_promotion_is_numpys(other: Any) -> None:
    y = np.ones(3, other) if isinstance(other, str) else other
    x = np.ones(3, HALF)
    for function in ("add", "divide", "maximum", "subtract" if other not in ("bool", True) else "multiply"):
        want = getattr(np, function)(x, y)
        same_bits(getattr(tj, function)(tj.asarray(x), y), want)
        same_bits(tj.jit(getattr(tj, function))(x, y), want)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
@pytest.mark.parametrize("function", ["sin", "sqrt", "exp", "divide"])
def test_functions_of_narrow_integers_are_float16(function: str, dtype: str) -> None:
    x = np.array([1, 0, 1], dtype)
    arguments = (x, x) if function == "divide" and dtype == "bool" else (x,) * (1 + (function == "divide"))
    want = getattr(np, function)(*arguments)
    near(getattr(tj, function)(*arguments), want)
    near(tj.jit(getattr(tj, function))(*arguments), want)


ROUNDED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sums and products": lambda xp, x, y: (x * y + x) * y - x,
    "quotients": lambda xp, x, y: x / y + y / x,
    "squares and roots": lambda xp, x, y: xp.sqrt(xp.abs(x)) * xp.square(y) + xp.reciprocal(x),
    "extrema": lambda xp, x, y: (xp.maximum(x, y) + 0) - (xp.minimum(x * y, y) + 0) * 3,
    "signs": lambda xp, x, y: xp.copysign(x, -y) * xp.sign(y) - xp.abs(x),
    "integers": lambda xp, x, y: xp.floor(x * 7) + xp.rint(y * 9) - xp.trunc(x) + xp.ceil(y),
    "choices": lambda xp, x, y: xp.where(x > y, x, y * 0.1) + xp.where(x * y < 0, 1, x),
    "clips": lambda xp, x, y: xp.clip(x, -0.3, 0.7) * y,
    "comparisons": lambda xp, x, y: (x < y) | (x * y == x) | xp.isfinite(y + x),
    "divisions": lambda xp, x, y: xp.fmod(x, y) + xp.remainder(x, y) + xp.floor_divide(x, y),
    "neighbours": lambda xp, x, y: xp.nextafter(x, y) + xp.spacing(y),
    "constants": lambda xp, x, y: (x * 1 + 0.1) / 1024 * 3.3 - 1e-7,
    "wider": lambda xp, x, y: (x.astype("float32") * y + x).astype("float16") + x,
    "integers between": lambda xp, x, y: xp.clip(x * 9, -99, 99).astype("int32").astype("float16") + y,
    "narrower": lambda xp, x, y: (x.astype("float64") * 1e3).astype("float16") / 7,
}


@pytest.mark.parametrize("name", ROUNDED)
def test_eager_and_jitted_give_numpys_bits(name: str) -> None:
    """Compiled chains have NumPy's bits where float32 rounds each operation correctly."""
    program = ROUNDED[name]
    pairs = np.array(list(itertools.product(SPECIALS, SPECIALS)), HALF)
    for x, y in ((pairs[:, 0].copy(), pairs[:, 1].copy()), (values(1003), values(1003, seed=1))):
        want = program(np, x, y)
        same_bits(program(tj, tj.asarray(x), tj.asarray(y)), want)
        same_bits(tj.jit(lambda x, y: program(tj, x, y))(x, y), want)


TRANSCENDENTAL = ["exp", "log", "sin", "cos", "tanh", "log1p", "expm1", "arctan", "cbrt", "exp2"]


@pytest.mark.parametrize("function", TRANSCENDENTAL)
def test_functions_are_within_a_unit_of_numpys(function: str) -> None:
    x = np.concatenate([SPECIALS, values(1000)])
    want = getattr(np, function)(x)
    near(getattr(tj, function)(tj.asarray(x)), want)
    near(tj.jit(getattr(tj, function))(x), want)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("function", ["sum", "prod", "mean", "var", "std", "max", "min", "argmax", "cumsum"])
def test_reductions_round_once(function: str, axis: int | None) -> None:
    x = values(70, 33) * HALF(0.5) + HALF(1)
    wide = getattr(np, function)(x.astype(np.float32), axis=axis)
    want = wide if function == "argmax" else wide.astype(HALF)
    eager = getattr(tj, function)(tj.asarray(x), axis=axis)
    jitted = tj.jit(lambda x: getattr(tj, function)(x, axis=axis))(x)
    near(eager, want)
    near(jitted, want)


def test_sums_of_many_terms() -> None:
    """A float16 sum of ones would end at 2048, and a count at 65504."""
    x = np.ones((5000, 20), HALF)
    for f in (lambda x: tj.sum(x, axis=0), lambda x: tj.cumsum(x, axis=0)[-1], lambda x: x.T @ x[:, 0]):
        assert set(np.asarray(f(tj.asarray(x))).tolist()) == {5000.0}
        assert set(np.asarray(tj.jit(f)(x)).tolist()) == {5000.0}
    for f in (tj.mean, lambda x: tj.mean(x, where=x > 0)):
        assert float(f(tj.asarray(x))) == float(tj.jit(f)(x)) == 1.0
    assert float(tj.std(tj.asarray([300.0, -300.0], dtype=HALF))) == 300.0


def test_sorting_and_searching() -> None:
    x = np.concatenate([SPECIALS, values(500), SPECIALS])
    for f in (tj.sort, tj.argsort, tj.argmax, tj.argmin, lambda x: tj.searchsorted(tj.sort(x), x)):
        eager, jitted = np.asarray(f(tj.asarray(x))), np.asarray(tj.jit(f)(x))
        assert eager.dtype == jitted.dtype
        assert np.array_equal(eager, jitted, equal_nan=eager.dtype == HALF)
    assert np.array_equal(tj.sort(tj.asarray(x)), np.sort(x), equal_nan=True)


def test_products_of_matrices_and_images() -> None:
    a, b = values(40, 30), values(30, 50, seed=1)
    want = (a.astype(np.float32) @ b.astype(np.float32)).astype(HALF)
    for f in (tj.matmul, lambda a, b: tj.einsum("ij,jk->ik", a, b)):
        near(f(tj.asarray(a), tj.asarray(b)), want)
        near(tj.jit(f)(a, b), want)
    x, w = values(2, 3, 9, 8), values(4, 3, 3, 3, seed=2)
    near(tj.jit(tj.nn.conv2d)(x, w), np.asarray(tj.nn.conv2d(tj.asarray(x), tj.asarray(w))), ulps=2)


def test_indexing() -> None:
    x, places = values(10, 6), np.array([3, -1, 3])

    def read(x: Any) -> Any:
        return x[2], x[::-2, 1:], x[places], x[places, places], tj.take(x, places, axis=1)

    def write(x: Any) -> Any:
        y = x * 1
        y[1:4] = 7
        y[places] = x[0]
        y[0, 2] += 0.1
        y.T[5] = -1.0
        return y, x.at[places].set(x[:3]), x.at[places].multiply(2)

    for f in (read, write):
        for eager, jitted in zip(f(tj.asarray(x)), tj.jit(f)(x), strict=True):
            same_bits(jitted, eager)
    same_bits(read(tj.asarray(x))[2], x[places])
    added = tj.jit(lambda x: x.at[np.zeros(4096, int)].add(1.0))(np.zeros(3, HALF))
    assert added.tolist() == [4096.0, 0.0, 0.0]


LOOPS: dict[str, Callable[[Any], Any]] = {
    "scan": lambda x: tj.scan(lambda c, v: (c * 0.9 + v, c * v), x[0] * 0, x),
    "fori": lambda x: tj.fori_loop(0, 9, lambda i, c: c * 1.1 + i, x),
    "while": lambda x: tj.while_loop(lambda c: tj.max(abs(c)) < 1000, lambda c: c * 1.7 + 1, x),
    "cond": lambda x: tj.cond(x.sum() > 0, lambda v: v * 3.3, lambda v: v / 3, x),
    "switch": lambda x: tj.switch(1, [lambda v: v, lambda v: v / 7 * 7], x),
    "map": lambda x: tj.map(lambda row: row * row.sum(), x),
}


@pytest.mark.parametrize("shape", [(6, 2), (50, 40)], ids=["registers", "memory"])
@pytest.mark.parametrize("name", LOOPS)
def test_control_flow(name: str, shape: tuple[int, int]) -> None:
    x = values(*shape)
    eager, jitted = LOOPS[name](tj.asarray(x)), tj.jit(LOOPS[name])(x)
    for by_eager, by_jitted in zip(
        *(np.atleast_1d(y) if not isinstance(y, tuple) else y for y in (eager, jitted)), strict=True
    ):
        near(by_jitted, np.asarray(by_eager), ulps=2)


DIFFERENTIABLE: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: (tj.sin(x) * x + tj.exp(-x * x)).sum(),
    "products": lambda x: (x @ x.T).sum() / 30,
    "softmax": lambda x: (tj.nn.softmax(x, axis=1) * x).sum(),
    "extrema": lambda x: tj.max(x, axis=0).sum() + tj.sort(x, axis=1)[:, 1].sum(),
    "indexing": lambda x: x[[0, 0, 2]].sum() + x.at[1].set(x[2]).std(),
    "conversion": lambda x: (x.astype("float32") * 3.0).sum(),
    "scan": lambda x: tj.scan(lambda c, v: (c * 0.5 + v * v, c), x[0] * 0, x)[0].sum(),
    "while": lambda x: tj.fori_loop(0, 4, lambda i, c: c * 0.5 + x, x).mean(),
    "means": lambda x: x.mean(axis=0).sum() + x.var(),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name: str) -> None:
    f, x = DIFFERENTIABLE[name], values(7, 5)
    want = tj.grad(f)(x.astype(np.float64)).numpy()
    leaf = tj.tensor(x, requires_grad=True)
    f(leaf).backward()
    results = [leaf.grad, tj.grad(f)(x), tj.jit(tj.grad(f))(x), tj.grad(tj.jit(f))(x)]
    for gradient in results:
        assert gradient is not None
        assert gradient.dtype == HALF
        scale = max(1.0, np.abs(want).max())
        np.testing.assert_allclose(np.asarray(gradient, np.float64), want, atol=2e-2 * scale)


def test_second_order_forward_mode_and_batches() -> None:
    x = values(4)
    hessian = tj.jit(tj.hessian(lambda x: (x**3).sum()))(x)
    near(hessian, np.diag(6 * x), ulps=2)
    value, tangent = tj.jvp(tj.sin, (tj.asarray(x),), (tj.ones(4, dtype=HALF),))
    assert value.dtype == tangent.dtype == HALF
    batched = tj.jit(tj.vmap(lambda row: row * row.sum()))(values(3, 4))
    assert batched.dtype == HALF


def test_arguments_and_captures_of_jitted_functions() -> None:
    captured = tj.asarray(values(5))
    f = tj.jit(lambda x, k: x * k + captured)
    x, copy = values(5, seed=1), np.asarray(captured).copy()
    for k in (HALF(2.5), 2.5, 3, np.float32(2.5), tj.asarray(HALF(2.5)), values(5, seed=2)):
        for _ in range(3):
            want = x * np.asarray(k) + copy if isinstance(k, tj.Tensor) else x * k + copy
            same_bits(f(x, k), want)
    captured += 1
    same_bits(f(x, 2.0), x * 2.0 + np.asarray(captured))

    @tj.jit
    def write(x: Any) -> None:
        x[1:3] = x[0] * 0.1

    written = values(5)
    expected = written.copy()
    expected[1:3] = expected[0] * HALF(0.1)
    write(written)
    same_bits(written, expected)


def test_creation_conversion_and_printing() -> None:
    assert repr(tj.tensor([0.1, 65504.0], dtype=tj.float16)) == repr(
        tj.tensor(np.array([0.1, 65504.0], HALF))
    )
    assert "dtype=float16" in repr(tj.zeros(2, dtype="float16"))
    for f in (
        lambda xp: xp.arange(3000, dtype=HALF), lambda xp: xp.linspace(0, 1, 7, dtype=HALF),
        lambda xp: xp.eye(3, dtype=HALF), lambda xp: xp.full((2,), 0.1, dtype=HALF),
    ):  # fmt: skip
        same_bits(f(tj), f(np))
        same_bits(tj.jit(lambda f=f: f(tj))(), f(np))
    for dtype in OTHERS:
        x = np.array([0, 1, 2, 100], dtype)
        same_bits(tj.asarray(x).astype(tj.float16), x.astype(HALF))
        same_bits(tj.asarray(x.astype(HALF)).astype(dtype), x.astype(HALF).astype(dtype))
    assert tj.finfo(tj.float16).eps == np.finfo(HALF).eps
    assert tj.promote_types(tj.float16, tj.int8) == HALF
    assert tj.isdtype(tj.float16, "real floating")
    assert tj.tensor([1.5]).half().dtype == tj.float16
    assert tj.tensor([1.5], dtype=HALF).item() == 1.5


def test_exchange_with_other_libraries(tmp_path: Any) -> None:
    x = values(4)
    same_bits(np.from_dlpack(tj.asarray(x)), x)
    same_bits(tj.from_dlpack(x), x)
    np.save(tmp_path / "x.npy", tj.asarray(x))
    same_bits(tj.asarray(np.load(tmp_path / "x.npy")), x)
    same_bits(np.sin(tj.asarray(x)), np.sin(x))


@pytest.mark.parametrize("function", ["inv", "det", "cholesky", "qr", "svd", "eigh", "pinv", "slogdet"])
def test_linear_algebra_refuses_it(function: str) -> None:
    """Linear algebra refuses float16, as in NumPy: LAPACK has float32 and wider."""
    matrices = np.eye(3, dtype=HALF)
    for f in (getattr(tj.linalg, function), tj.jit(getattr(tj.linalg, function))):
        with pytest.raises(TypeError, match=f"linalg.{function}: .*f16"):
            f(matrices)
    with pytest.raises(TypeError, match="f16"):
        tj.jit(tj.linalg.matrix_rank)(matrices)
    assert tj.linalg.norm(matrices).dtype == HALF


def test_text_form() -> None:
    function = tj.jit(lambda x: tj.exp(x) * 0.1 + tj.arange(3, dtype=HALF)).trace(values(3))
    assert "f16[3]" in str(function)
    assert str(parse_function(str(function))) == str(function)


@pytest.mark.parametrize("draw", ["uniform", "normal", "exponential", "gumbel", "laplace", "cauchy"])
def test_random_numbers(draw: str) -> None:
    key = tj.random.key(3)
    f = getattr(tj.random, draw)
    eager = f(key, (2000,), dtype=tj.float16)
    near(tj.jit(lambda key: f(key, (2000,), dtype="float16"))(key), np.asarray(eager), ulps=2)
    if draw == "uniform":
        assert 0 <= float(eager.min()) <= float(eager.max()) < 1
        assert abs(float(eager.mean()) - 0.5) < 0.02
    else:  # float32's numbers, rounded
        same_bits(eager, np.asarray(f(key, (2000,), dtype=tj.float32)).astype(HALF))
    assert tj.random.gamma(key, 2.0, (3,), "float16").dtype == HALF
    assert tj.random.rand(3, dtype=tj.float16).dtype == HALF
    with pytest.raises(TypeError, match=f"random.{draw}: "):
        f(key, (2,), dtype="int8")
