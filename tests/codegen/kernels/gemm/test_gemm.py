"""Matrix products: every way they are computed, at the sizes where blocks, tiles and vectors end.

Errors are compared with k eps sum(|x| |y|), the bound for any order of summation (Higham, Accuracy and
Stability of Numerical Algorithms, 3.5).
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
from typing import Any

import numpy as np
import pytest

from tracejit.codegen.interface import product_symbol as symbol
from tracejit.codegen.kernels.gemm import direct
from tracejit.codegen.kernels.gemm.contraction import GATHERED_ROWS
from tracejit.codegen.kernels.gemm.library import KERNELS, driver_text, kernels_text
from tracejit.codegen.kernels.gemm.tiles import blocking, tile_for
from tracejit.codegen.llvm.compiler import emit_object, link_object
from tracejit.codegen.llvm.loading import llvm_binding
from tracejit.codegen.llvm.target import Target, host, target_machine
from tracejit.codegen.tiers import OPTIMIZED
from tracejit.runtime.executable import Executable
from tracejit.runtime.threads import num_threads, threads

from ....support import Array, function_of
from ...narrow import narrower, run_narrow

TILE = tile_for(host(), "f32")


def operand(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    return rng.uniform(-1, 1, shape).astype(dtype)


def product(x: Array, y: Array, transposed: tuple[bool, bool] = (False, False)) -> tuple[Executable, Array]:
    """The product of x and y, of which those `transposed` are given transposed, and what it computed."""

    def swap(b: Any, operand: Any) -> Any:
        rank = len(operand.shape)
        return b.transpose(operand, perm=(*range(rank - 2), rank - 1, rank - 2))

    def build(b: Any, *operands: Any) -> Any:
        return b.matmul(
            *[swap(b, operand) if by else operand for operand, by in zip(operands, transposed, strict=True)]
        )

    arguments = [
        np.ascontiguousarray(operand.swapaxes(-1, -2)) if by else operand
        for operand, by in zip((x, y), transposed, strict=True)
    ]
    executable = Executable(function_of("product", arguments, build))
    return executable, executable(arguments)[0]


def check(x: Array, y: Array, *products: Array) -> None:
    """Compare products of `x` and `y` with the exact one, which takes longer than they."""
    wide = np.float64 if x.dtype == np.float32 else np.longdouble
    expected = np.matmul(x.astype(wide), y.astype(wide))
    bound = np.matmul(abs(x).astype("f8"), abs(y).astype("f8")) * x.shape[-1] * np.finfo(x.dtype).eps
    for product in products:
        assert product.shape == expected.shape
        assert product.dtype == x.dtype
        assert (abs(product - expected) <= bound).all()


#: Sizes around the tile's (14 x 32 in f32 here), blocks of the inner dimension (512), and thin ones.
SHAPES = [
    (64, 64, 64), (63, 65, 48), (48, 48, 49), (14, 512, 32), (15, 513, 33), (13, 800, 31), (300, 5, 100),
    (1000, 130, 3), (2, 1000, 70), (1, 200_000, 1), (130, 1, 1000), (256, 96, 17), (100, 1200, 77),
    (1, 1, 1), (1, 300, 200), (200, 300, 1), (200, 60, 1), (3, 17, 1), (1, 2500, 65), (9, 2500, 5),
    (19, 21, 23), (32, 1024, 40), (400, 800, 300), (64, 192, 840), (50, 4096, 60), (200, 300, 512),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products(dtype: str, shape: tuple[int, int, int]) -> None:
    """Each operand is taken as it lies in memory, and transposed."""
    rng = np.random.default_rng(5)
    m, k, n = shape
    x, y = operand(rng, (m, k), dtype), operand(rng, (k, n), dtype)
    check(x, y, *[product(x, y, transposed)[1] for transposed in itertools.product((False, True), repeat=2)])


def test_large_products_are_packed() -> None:
    """Large products use the packed kernel and small ones do not, so that the tests here cover both."""
    x = np.ones((600, 600), "f4")
    assert product(x, x)[0].module.products == ["f32"]
    assert product(x[:200, :200], x[:200, :200])[0].module.products == []
    assert product(x[:30, :30], x[:30, :30])[0].module.products == []
    assert product(x[:30, :30], x[:30, :30], (False, True))[0].module.products == []
    assert product(x[:90, :90], x[:90, :90], (False, True))[0].module.products == ["f32"]


@pytest.mark.parametrize(
    "shapes",
    [
        ((5, 70, 60), (60, 66)),
        ((3, 2, 60, 70), (2, 70, 66)),
        ((70, 60), (4, 60, 66)),
        ((5, 90, 150), (5, 150, 90)),
        ((3, 1, 7, 9), (2, 9, 8)),
        ((2, 3, 40, 50), (3, 50, 1)),
        ((3, 1, 50), (4, 3, 50, 40)),
        ((0, 3, 4), (0, 4, 3)),
        ((300, 4, 4), (300, 4, 4)),
        ((70, 5, 3), (70, 3, 17)),
    ],
)
def test_batches(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Whole products as tasks, each over panels on its own stack."""
    rng = np.random.default_rng(6)
    for dtype in ("f4", "f8"):
        x, y = (operand(rng, shape, dtype) for shape in shapes)

        def build(b: Any, x: Any, y: Any) -> Any:
            leading = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
            wide = [b.broadcast(operand, shape=(*leading, *operand.shape[-2:])) for operand in (x, y)]
            return b.matmul(*wide)

        executable = Executable(function_of("batch", [x, y], build))
        leading = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x_wide, y_wide = (np.broadcast_to(operand, (*leading, *operand.shape[-2:])) for operand in (x, y))
        check(x_wide, y_wide, executable([x, y])[0])


@pytest.mark.parametrize(
    ("left", "rows"),
    [
        (lambda b, x: x, "1 x (840x"),
        (lambda b, x: b.slice(x, start=(0, 0, 1, 0), size=(10, 12, 6, 9), step=(1, 1, 1, 1)), "120 x (6x"),
        (lambda b, x: b.slice(x, start=(0, 0, 3, 0), size=(10, 12, 1, 9), step=(1, 1, 1, 1)), "1 x (120x"),
        (lambda b, x: b.slice(x, start=(0, 2, 0, 0), size=(10, 7, 7, 9), step=(1, 1, 1, 1)), "10 x (49x"),
        (lambda b, x: b.slice(x, start=(1, 0, 0, 2), size=(4, 12, 7, 7), step=(2, 1, 1, 1)), "4 x (84x"),
        (lambda b, x: b.transpose(x, perm=(1, 0, 2, 3)), "120 x (7x"),
        (lambda b, x: b.transpose(x, perm=(0, 1, 3, 2)), "120 x (9x"),
        (lambda b, x: b.transpose(x, perm=(2, 0, 1, 3)), "7 x (120x"),
    ],
)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("columns", [3, 40])
def test_a_batch_by_one_matrix(left: Any, rows: str, transposed: bool, columns: int) -> None:
    """Rows that go on from one matrix of the batch to the next are rows of one product."""
    rng = np.random.default_rng(9)
    x = operand(rng, (10, 12, 7, 9), "f4")
    inner = left(NumPyViews, x).shape[-1]
    y = operand(rng, (columns, inner) if transposed else (inner, columns), "f4")

    def build(b: Any, x: Any, y: Any) -> Any:
        chosen = left(b, x)
        right = b.transpose(y, perm=(1, 0)) if transposed else y
        return b.matmul(chosen, b.broadcast(right, shape=(*chosen.shape[:-2], inner, columns)))

    executable = Executable(function_of("product", [x, y], build))
    check(left(NumPyViews, x), y.T if transposed else y, executable([x, y])[0])
    assert f": {rows}" in executable.module.loops_text()


class NumPyViews:
    """The views of the tests, of arrays."""

    @staticmethod
    def slice(x: Array, start: Any, size: Any, step: Any) -> Array:
        axes = zip(start, size, step, strict=True)
        return x[tuple([slice(first, first + count * by, by) for first, count, by in axes])]

    @staticmethod
    def transpose(x: Array, perm: Any) -> Array:
        return x.transpose(perm)


def test_few_columns_of_a_transposed_matrix_are_gathered() -> None:
    """Packing x would take longer than the product, where one vector holds a row of y and registers hold a
    tile of many rows."""
    if direct.choose_tiles(4000, host().lanes("f32"), 601, "f32", host(), 1).rows < GATHERED_ROWS:
        pytest.skip("tiles of few rows: this machine's code has 16 registers")
    x, y = np.ones((4000, 601), "f4"), np.ones((601, host().lanes("f32")), "f4")
    assert product(x, y, (False, True))[0].module.products == []
    assert product(x, np.ones((601, 40), "f4"), (False, True))[0].module.products == ["f32"]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("x_shape", "y_shape"),
    [
        ((100, 200), (200, 301)),  # a last vector with one lane
        ((45, 601), (601, 137)),  # sums of three parts
        ((3, 50, 64), (3, 64, 999)),
    ],
)
def test_strips_of_y_are_copied(x_shape: tuple[int, ...], y_shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(4)
    buffer = operand(rng, (int(np.prod(y_shape)) + 1,), dtype)
    x, y = operand(rng, x_shape, dtype), buffer[1:].reshape(y_shape)  # rows begin within lines
    executable, result = product(x, y)
    assert executable.module.kernels[0].description.endswith(", strips of y copied")
    check(x, y, result)
    with threads(2):
        assert executable([x, y])[0].tobytes() == result.tobytes()
    y[..., -1, 1] = np.nan
    np.testing.assert_array_equal(np.isnan(executable([x, y])[0]).any(-2), np.isnan(y).any(-2))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i1"])
@pytest.mark.parametrize(
    "size",
    [(2, 32, 3), (3, 33, 17), (5, 17, 20), (2, 8, 2), (9, 16, 16), (20, 40, 33), (4, 300, 3), (40, 513, 2)],
)
def test_small_transposed_matrices_are_turned(size: tuple[int, int, int], dtype: str) -> None:
    """Squares at the edges overlap or are masked; sums are those of rows that lie in memory, to the bit."""
    rng = np.random.default_rng(15)
    m, k, n = size
    x, y = (rng.uniform(-9, 9, shape).astype(dtype) for shape in ((6, m, k), (6, k, n)))
    executable, result = product(x, y, (False, True))
    assert "y transposed" in executable.module.loops_text()
    np.testing.assert_array_equal(result, product(x, y)[1])


def test_turned_matrices_keep_what_is_no_number_to_their_columns() -> None:
    x, y = np.ones((4, 3, 20), "f4"), np.ones((4, 20, 5), "f4")
    y[1, 19, 4], y[2, 0, 0] = np.nan, np.inf
    executable, result = product(x, y, (False, True))
    assert "y transposed" in executable.module.loops_text()
    np.testing.assert_array_equal(result, x @ y)


@pytest.mark.parametrize("start", [0, 3])
def test_slices_are_read_where_they_lie(start: int) -> None:
    """Rows and columns of a larger matrix, behind which is memory that must not matter."""
    rng = np.random.default_rng(7)
    x, y = operand(rng, (90, 101), "f4"), operand(rng, (101, 90), "f4")
    x[:, :start], x[:, start + 70 :] = np.nan, np.nan
    y[:start], y[start + 70 :] = np.nan, np.nan

    def build(b: Any, x: Any, y: Any) -> Any:
        left = b.slice(x, start=(0, start), size=(90, 70), step=(1, 1))
        right = b.slice(y, start=(start, 5), size=(70, 80), step=(1, 1))
        return b.matmul(left, right)

    executable = Executable(function_of("slices", [x, y], build))
    check(x[:, start : start + 70], y[start : start + 70, 5:85], executable([x, y])[0])
    assert len(executable.module.kernels) == 1


def test_special_values() -> None:
    """A NaN or infinity reaches its own row and column, and nothing else; as in NumPy."""
    rng = np.random.default_rng(8)
    x, y = operand(rng, (70, 500), "f4"), operand(rng, (500, 70), "f4")
    x[3, 450], x[60, 2], y[7, 69] = np.nan, np.inf, -np.inf
    x[61, :], y[:, 5] = 0.0, 0.0
    got = product(x, y)[1]
    with np.errstate(invalid="ignore"):
        want = x @ y
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    infinite = np.isinf(want)
    np.testing.assert_array_equal(got[infinite], want[infinite])
    np.testing.assert_allclose(got[np.isfinite(want)], want[np.isfinite(want)], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "shapes", [((0, 90), (90, 90)), ((90, 0), (0, 90)), ((90, 90), (90, 0)), ((0, 90, 90), (0, 90, 90))]
)
def test_empty_dimensions(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = (np.ones(shape, "f4") for shape in shapes)
    np.testing.assert_array_equal(product(x, y)[1], x @ y)


@pytest.mark.parametrize("dtype", ["i4", "i8", "u1", "?"])
def test_integers(dtype: str) -> None:
    rng = np.random.default_rng(9)
    x, y = (rng.integers(0, 100, shape).astype(dtype) for shape in ((70, 50), (50, 90)))
    np.testing.assert_array_equal(product(x, y)[1], x @ y)


def test_long_sums_of_bools() -> None:
    """Partial sums are joined by ``or``, as their terms are."""
    rng = np.random.default_rng(9)
    x, y = rng.random((20, 1500)) > 0.99, rng.random((1500, 7)) > 0.95
    expected = x @ y
    assert 0 < expected.mean() < 1
    np.testing.assert_array_equal(product(x, y)[1], expected)
    np.testing.assert_array_equal(product(np.ones((3, 1500), "?"), np.ones((1500, 3), "?"))[1], True)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_threads_do_not_change_a_bit(dtype: str) -> None:
    rng = np.random.default_rng(10)
    for m, k, n in [(300, 400, 200), (1000, 900, 33), (40, 3000, 500)]:
        x, y = operand(rng, (m, k), dtype), operand(rng, (k, n), dtype)
        results = []
        for count in (1, 2, 3, 5):
            with threads(count):
                assert num_threads() == count
                executable, got = product(x, y, (True, False))
                assert executable.module.parallel
                results.append(got.tobytes())
        assert len(set(results)) == 1


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_beyond_a_narrow_strip_panels_hold_zeros(dtype: str, columns: bool) -> None:
    """Stale memory may hold denormal numbers, which slow products down, so panels are padded with zeros."""
    width, k = tile_for(host(), dtype).rows, 20
    count = 2 * width - 3
    text = kernels_text(host(), dtype, OPTIMIZED.parameters)
    image, _ = emit_object(text, OPTIMIZED.effort)
    library = link_object(image, KERNELS)
    pack = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, *[ctypes.c_int64] * 2, ctypes.c_void_p, *[ctypes.c_int64] * 3
    )
    kind = np.dtype(dtype.replace("f", "float"))
    matrix = np.arange(1.0, 1.0 + count * k).astype(kind).reshape((k, count) if columns else (count, k))
    panels = np.full((2, k, width), 1e-310 if dtype == "f64" else 1e-40, kind)
    steps = (1, count) if columns else (k, 1)
    pack(library.addresses["pack"])(matrix.ctypes.data, *steps, panels.ctypes.data, count, k, width)
    strip = matrix if columns else matrix.T
    np.testing.assert_array_equal(panels[0], strip[:, :width])
    np.testing.assert_array_equal(panels[1, :, : width - 3], strip[:, width:])
    assert not panels[1, :, width - 3 :].any()


def test_one_row_at_a_time_is_the_same() -> None:
    """A row of the result does not depend on the others: tiles and tasks do not change the order of sums."""
    rng = np.random.default_rng(11)
    x, y = operand(rng, (400, 500), "f4"), operand(rng, (500, 300), "f4")
    executable, whole = product(x, y, (False, True))
    assert executable.module.products
    for at in (0, 77, 250):
        executable, part = product(x[at : at + 150], y, (False, True))
        assert executable.module.products
        assert part.tobytes() == whole[at : at + 150].tobytes()


def test_inside_a_loop() -> None:
    """The workspace is part of the arena, in regions too."""
    import tracejit as tj

    rng = np.random.default_rng(12)
    x, w = operand(rng, (70, 200), "f8"), operand(rng, (200, 200), "f8") / 10

    def step(h: Any, _: Any) -> Any:
        h = tj.tanh(h @ tj.transpose(w))
        return h, h

    f = tj.jit(lambda x: tj.scan(step, x, None, length=5))
    assert "packed" in f.lower(x).as_text("loops")
    last, every = f(x)
    want = x
    for i in range(5):
        want = np.tanh(want @ w.T)
        np.testing.assert_allclose(every[i], want, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(last, want, rtol=1e-12, atol=1e-14)


def test_blocks_cover_and_fit() -> None:
    """Any shape has blocks of whole tiles, workspace enough, and tasks of bounded number."""
    rng = np.random.default_rng(13)
    for _ in range(500):
        m, n, k = (int(2 ** rng.uniform(0, 17)) for _ in range(3))
        cut = blocking(TILE, m, n, k)
        assert 0 < cut.rows <= m
        assert 0 < cut.columns <= n
        assert 0 < cut.inner <= k
        assert cut.rows == m or cut.rows % TILE.rows == 0
        assert cut.columns == n or cut.columns % TILE.columns == 0
        assert cut.row_panels >= 1
        assert cut.column_panels >= 1
        assert cut.workspace < 1 << 25


FUZZ = """
import sys
sys.path.insert(0, '.')
from tests.codegen.kernels.gemm.test_gemm import fuzz
from tracejit.codegen.llvm.target import host
assert host().vector_bits == {bits}, host()
fuzz({bits}, 60)
print('fine')
"""


def fuzz(seed: int, count: int) -> None:
    """Products of random shapes, dtypes and layouts."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        m, n, k = (int(2 ** rng.uniform(0, 8.5)) for _ in range(3))
        dtype = "f4" if rng.random() < 0.5 else "f8"
        batch = (int(rng.integers(1, 4)),) if rng.random() < 0.3 else ()
        x, y = operand(rng, (*batch, m, k), dtype), operand(rng, (*batch, k, n), dtype)
        check(x, y, product(x, y, (bool(rng.random() < 0.5), bool(rng.random() < 0.5)))[1])


def test_random_products() -> None:
    fuzz(int(os.environ.get("TRACEJIT_FUZZ_SEED", "1")), 60)


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(FUZZ.format(bits=bits), features, bits)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(
    ("triple", "cpu", "bits"),
    [
        ("aarch64-linux-gnu", "generic", 128),
        ("x86_64-linux-gnu", "x86-64", 128),
        ("x86_64-linux-gnu", "x86-64-v3", 256),
        ("x86_64-linux-gnu", "x86-64-v4", 512),
    ],
)
def test_code_for_other_machines(triple: str, cpu: str, bits: int, dtype: str) -> None:
    """LLVM takes the text and keeps the tile in registers: nothing is spilled in the micro-kernel's loop."""
    binding = llvm_binding()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = Target(triple, cpu, "", bits)

    def assembly(text: str) -> str:
        module = binding.parse_assembly(f'target triple = "{triple}"\n{text}')
        module.verify()
        return str(target_machine(target).emit_assembly(module))

    assert f"{symbol(dtype)}:" in assembly(driver_text(target, dtype))
    kernels = assembly(kernels_text(target, dtype, OPTIMIZED.parameters))
    assert all(f"{name}:" in kernels for name in KERNELS)
    micro = kernels[kernels.index("micro:") : kernels.index("pack:")].splitlines()
    tile = tile_for(target, dtype)
    results = []
    for block in "\n".join(micro).split(":\n"):  # a loop is a block of its own
        lines = block.splitlines()
        sums = [at for at, line in enumerate(lines) if re.search(r"\tv?(fn?m(add|la)|mulp)", line)]
        if sums:
            results.append(len(sums))
            assert not [line for line in lines[sums[0] : sums[-1]] if "[sp" in line or "(%rsp)" in line]
    # a tile of half as many rows is for the last rows
    assert sorted(results) == [-(-tile.rows // 2) * tile.vectors, tile.rows * tile.vectors]
