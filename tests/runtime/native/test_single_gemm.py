"""Functions that are one product: the baseline tier is linked without compiling, with the optimized one's
bits."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.target import host
from tracejit.codegen.module.single_gemm import NUMBERS, single_gemm_product
from tracejit.runtime import tiers
from tracejit.runtime.cache.code import Code
from tracejit.runtime.executable import Executable
from tracejit.runtime.interrupts import poll_imports
from tracejit.runtime.native import gemm, single_gemm
from tracejit.runtime.native.gemm import product_addresses
from tracejit.runtime.threads import POOL

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two tiers, product functions that are there, and nothing left to do after a test."""
    monkeypatch.setenv("TRACEJIT_TIERS", "1")
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    for dtype in ("f32", "f64"):
        product_addresses(dtype)
    yield
    assert tiers.BACKGROUND.wait(60)


def operand(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    return rng.standard_normal(shape).astype(dtype)


PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "plain": lambda x, y: x @ y,
    "of swapped parameters": lambda x, y: y @ x,
    "rows of x": lambda x, y: x[1:] @ y,
    "every other row": lambda x, y: x[::2] @ y,
    "columns of y": lambda x, y: x @ y[:, 2:],
    "both transposed": lambda x, y: y.T @ x.T,
    "an inner part": lambda x, y: x[:, 1:-1] @ y[1:-1],
    "one with itself": lambda x, y: x @ x.T,
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_both_tiers_give_the_same_bits(held: threading.Event, name: str, dtype: str) -> None:
    rng = np.random.default_rng(4)
    results = []
    for n in (4, 16, 31, 64, 150, 512):
        x, y = operand(rng, (n, n), dtype), operand(rng, (n, n), dtype)
        executable = Executable(tj.trace(PRODUCTS[name], x, y))
        assert executable.tier == "baseline"
        assert "codegen" not in executable.milliseconds
        (baseline,) = executable([x, y])
        np.testing.assert_allclose(baseline, PRODUCTS[name](x, y), rtol=0, atol=1e-3 * n**0.5)
        results.append((executable, x, y, baseline))
    held.set()
    assert tiers.BACKGROUND.wait(60)
    for executable, x, y, baseline in results:
        assert executable.tier == "optimized", executable.problem
        (full,) = executable([x, y])
        assert full.tobytes() == baseline.tobytes()


def test_any_shape(held: threading.Event) -> None:
    """Code that is linked for any shape has the bits of code that is compiled for it; NaN and infinity
    too."""
    rng = np.random.default_rng(11)
    compiled, linked = [], 0
    for _ in range(120):
        m, k, n = (int(2 ** rng.uniform(0, 8)) for _ in range(3))
        x, y = operand(rng, (m, k), "f4"), operand(rng, (n, k), "f4").T
        if rng.integers(4) == 0:
            x[rng.integers(m), rng.integers(k)] = rng.choice([np.inf, -np.inf, -0.0, 1e38])
        executable = Executable(tj.trace(lambda x, y: x @ y.T, x, y.T))
        linked += "codegen" not in executable.milliseconds
        compiled.append((executable, [x, y.T], executable([x, y.T])[0]))
    assert linked > 60
    held.set()
    assert tiers.BACKGROUND.wait(60)
    for executable, arguments, baseline in compiled:
        (full,) = executable(arguments)
        np.testing.assert_array_equal(full, baseline)
        assert (np.signbit(full) == np.signbit(baseline)).all()


@pytest.mark.parametrize(
    ("f", "shapes", "dtype"),
    [
        (lambda x, y: x @ y + 1, [(8, 8), (8, 8)], "f4"),
        (lambda x, y: (x @ y, x), [(8, 8), (8, 8)], "f4"),
        (lambda x, y: (x @ y).T, [(8, 8), (8, 8)], "f4"),
        (lambda x, y: x @ y @ y, [(8, 8), (8, 8)], "f4"),
        (lambda x, y: (x * 2) @ y, [(8, 8), (8, 8)], "f4"),
        (lambda x, y: x @ y, [(3, 8, 8), (8, 8)], "f4"),
        (lambda x, y: x @ y, [(8, 8), (8, 8)], "i4"),
        (lambda x, y: x @ y, [(8, 8), (8,)], "f8"),
        (lambda x, y: x @ y, [(8, 8), (8, 1)], "f8"),
        (lambda x, y: x @ y, [(1, 8), (8, 8)], "f8"),
        (lambda x, y: x @ y, [(2, 600), (600, 600)], "f8"),
        (lambda x, y: x @ y, [(16, 600), (600, 16)], "f8"),
        (lambda x, y: x @ y, [(0, 8), (8, 8)], "f8"),
        (lambda x, y: x @ y, [(8, 0), (0, 8)], "f8"),
    ],
)
def test_others_are_not(f: Callable[..., Any], shapes: list[tuple[int, ...]], dtype: str) -> None:
    x, y = (np.ones(shape, dtype) for shape in shapes)
    function = Executable(tj.trace(f, x, y)).fused
    assert single_gemm_product(function, host()) is None


def test_not_with_donations_nor_with_one_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = Executable(tj.trace(lambda x, y: x @ y, np.ones((8, 8)), np.ones((8, 8)))).fused
    assert single_gemm.single_gemm_code(fused, ()) is not None
    assert single_gemm.single_gemm_code(fused, (0,)) is None
    monkeypatch.setenv("TRACEJIT_TIERS", "0")
    assert single_gemm.single_gemm_code(fused, ()) is None


def test_the_first_small_product_is_compiled_and_the_next_is_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(gemm, "products_are_linked", lambda dtype: bool(asked))
    monkeypatch.setattr(single_gemm, "_prepare", lambda machine, dtype: asked.append(dtype))
    make = lambda n: Executable(tj.trace(lambda x: x @ x, np.ones((n, n))))  # noqa: E731
    assert "codegen" in make(8).milliseconds
    assert tiers.BACKGROUND.wait(60)
    assert asked == ["f64"]
    assert "codegen" not in make(9).milliseconds


def test_memory_that_is_not_there_is_an_error() -> None:
    x = np.ones((64, 64))
    fused = Executable(tj.trace(lambda x: x @ x, x)).fused
    code = single_gemm.single_gemm_code(fused, ())
    assert code is not None
    numbers = list(code.numbers)
    numbers[NUMBERS.index("workspace")] = 1 << 60
    fields = {name: getattr(code, name) for name in Code.__slots__}
    library = single_gemm.link_single_gemm(
        Code(**{**fields, "numbers": tuple(numbers)}),
        {**product_addresses("f64"), **POOL.imports(), **poll_imports()},
    )
    main = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(library.addresses["main"])
    result = np.zeros((64, 64))
    inputs = (ctypes.c_void_p * 1)(x.ctypes.data)
    outputs = (ctypes.c_void_p * 1)(result.ctypes.data)
    assert main(ctypes.addressof(inputs), ctypes.addressof(outputs)) == 1
    assert not result.any()
    assert code.errors[0].startswith("out of memory")


def test_calls_of_many_threads_while_the_code_is_replaced() -> None:
    rng = np.random.default_rng(9)
    x, y = operand(rng, (90, 70), "f8"), operand(rng, (70, 110), "f8")
    expected = np.asarray(tj.jit(lambda x, y: x @ y)(x, y)).tobytes()

    def work(_: int) -> None:
        f = tj.jit(lambda x, y: x @ y)
        for _ in range(200):
            assert np.asarray(f(x, y)).tobytes() == expected

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(work, i) for i in range(16)]:
            future.result()


def test_explained_as_quick_code(held: threading.Event) -> None:
    f = tj.jit(lambda x, y: x @ y)
    f(np.ones((20, 20)), np.ones((20, 20)))
    assert "baseline code until" in f.explain()
    held.set()
    assert tiers.BACKGROUND.wait(60)
    assert "baseline code" not in f.explain()


def test_a_number_has_a_name_of_its_own() -> None:
    assert len({*NUMBERS}) == len(NUMBERS)
