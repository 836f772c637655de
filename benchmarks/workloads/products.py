"""Matrix products and convolutions."""

from __future__ import annotations

from typing import Any, Final

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import BYTES, normal

SIZES: Final = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)


def _matmul(lib: Library, size: int, dtype: str) -> Function:
    return lambda x, y: x @ y


def _transposed(lib: Library, *sizes: Any) -> Function:
    return lambda x, y: x @ y.T


def _batched(lib: Library, count: int, size: int) -> Function:
    return lambda x, y: x @ y


def _dense(lib: Library, size: int) -> Function:
    return lambda x, w, b: lib.np.maximum(x @ w + b, 0.0)


def _convolution(lib: Library, *sizes: int, stride: int = 1) -> Function:
    return lambda x, w: lib.np.conv2d(x, w, stride)


def _convolution_loss(lib: Library, *sizes: int) -> Function:
    return lambda x, w, y: lib.np.sum(lib.np.conv2d(x, w) * y)


def _strided_convolution(lib: Library, *sizes: int) -> Function:
    return _convolution(lib, *sizes, stride=2)


def _tolerance(dtype: str) -> float:
    return 1e-4 if dtype == "f32" else 1e-11


def _square(name: str, text: str, program: Any, size: int, dtype: Any) -> Workload:
    return Workload(
        f"{name}-{size}-{dtype}",
        f"{text}, {size}x{size} {dtype}",
        program,
        lambda size, dtype: normal((size, size), (size, size), dtype=dtype),
        sizes=(size, dtype),
        tiny=(7, dtype),
        tolerance=_tolerance(dtype),
        work=lambda size, dtype: 2 * size**3,
        traffic=lambda size, dtype: 3 * size * size * BYTES[dtype],
        unit=dtype,
    )


WORKLOADS: Final = (
    *(_square("matmul", "matrix product", _matmul, size, dtype) for dtype in BYTES for size in SIZES),
    *(_square("matmul-bt", "product with a transposed matrix", _transposed, 512, dtype) for dtype in BYTES),
    *(
        Workload(
            f"matmul-batch-{size}",
            f"10,000 products of {size}x{size} f32",
            _batched,
            lambda count, size: normal((count, size, size), (count, size, size), dtype="f32"),
            sizes=(10_000, size),
            tiny=(5, size),
            tolerance=1e-5,
            work=lambda count, size: 2 * count * size**3,
            traffic=lambda count, size: 3 * 4 * count * size * size,
        )
        for size in (4, 8, 16, 32)
    ),
    *(
        Workload(
            f"matmul-shared-{rows}x{inner}x{columns}",
            f"{count} products of {rows}x{inner} with the same transposed {columns}x{inner}, f64",
            _transposed,
            lambda count, rows, inner, columns: normal((count, rows, inner), (columns, inner)),
            sizes=(count, rows, inner, columns),
            tiny=(5, 3, 2, 7),
            tolerance=1e-11,
            work=lambda count, rows, inner, columns: 2 * count * rows * inner * columns,
            traffic=lambda count, rows, inner, columns: 8 * count * rows * (inner + columns),
            unit="f64",
        )
        for count, rows, inner, columns in ((572, 4, 4, 544), (500, 8, 8, 8), (1000, 1, 30, 300))
    ),
    *(
        Workload(
            name,
            f"product of {text} with a matrix of 4096x4096 f32",
            program,
            lambda size: normal((size,), (size, size), dtype="f32"),
            sizes=(4096,),
            tiny=(7,),
            tolerance=1e-4,
            work=lambda size: 2 * size * size,
            traffic=lambda size: 4 * size * size,
        )
        for name, text, program in (
            ("vecmat", "a row", lambda lib, size: lambda x, y: x @ y),
            ("matvec", "a column", lambda lib, size: lambda x, y: y @ x),
        )
    ),
    *(
        Workload(
            f"dense-relu-{size}",
            f"relu(x @ w + b), {size}x{size} f32",
            _dense,
            lambda size: normal((size, size), (size, size), (size,), dtype="f32"),
            sizes=(size,),
            tiny=(7,),
            tolerance=1e-4,
            work=lambda size: 2 * size**3,
            traffic=lambda size: 3 * 4 * size * size,
        )
        for size in (64, 512)
    ),
    *(
        Workload(
            f"conv-{size}x{size}",
            f"convolution {size}x{size} of 32x64x28x28 into 64 channels, f32",
            _convolution,
            lambda n, c, h, w, k: normal((n, c, h, w), (c, c, k, k), dtype="f32"),
            sizes=(32, 64, 28, 28, size),
            tiny=(2, 3, 5, 4, size),
            tolerance=1e-4,
            work=lambda n, c, h, w, k: 2 * k * k * n * c * c * h * w,
        )
        for size in (1, 3)
    ),
    Workload(
        "conv-3x3-stride",
        "convolution 3x3 of 32x64x28x28 into 64 channels, every second row and column, f32",
        _strided_convolution,
        lambda n, c, h, w: normal((n, c, h, w), (c, c, 3, 3), dtype="f32"),
        sizes=(32, 64, 28, 28),
        tiny=(2, 3, 5, 4),
        tolerance=1e-4,
        work=lambda n, c, h, w: 2 * 9 * n * c * c * h * w // 4,
    ),
    Workload(
        "conv-3x3-grad",
        "value and gradient of sum(convolution * y), 3x3 of 32x64x28x28 into 64 channels, f32",
        _convolution_loss,
        lambda n, c, h, w: normal((n, c, h, w), (c, c, 3, 3), (n, c, h, w), dtype="f32"),
        sizes=(32, 64, 28, 28),
        tiny=(2, 3, 5, 4),
        gradient=(0, 1),
        tolerance=1e-3,
        work=lambda n, c, h, w: 3 * 2 * 9 * n * c * c * h * w,
    ),
)
