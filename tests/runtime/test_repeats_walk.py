"""A walk over ops of large arguments and captures that repeat elements: values are NumPy's, and no code has
the array in memory.

Programs, shapes, dtypes, axes that repeat and the way in which the array comes are drawn; the seed is
`TRACEJIT_REPEATS_SEED`. Memory is counted: the arena of the code that ran, which has all of its intermediate
values.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.interface import REPEATED_BYTES
from tracejit.ir.builder import Builder
from tracejit.ir.types import TensorType
from tracejit.runtime.executable import Executable

from ..support import Array

SEED: Final = int(os.environ.get("TRACEJIT_REPEATS_SEED", "37"))
#: Arrays in each test of a program.
DRAWS: Final = 3
SHAPES: Final = ((600, 400), (400, 600), (40, 70, 90), (512, 512))

Program = Callable[[Any, Any, int], Any]


def scan(xp: Any, x: Any, axis: int) -> Any:
    """The sums of slices, one after the other."""
    return x.sum() if xp is np else tj.scan(lambda s, row: (s + row.sum(), None), x[:1].sum() * 0, x)[0]


def rows(xp: Any, x: Any, axis: int) -> Any:
    total = x[0].sum() * 0
    for i in range(x.shape[0]):
        total += x[i].sum() * (i % 3)
    return total


def search(xp: Any, x: Any, axis: int) -> Any:
    i, total = 0, x[0].sum() * 0
    while i < x.shape[0] and total < 1000000:
        total += abs(x[i]).max() + 1
        i += 1
    return total


def vector(xp: Any, x: Any, size: int) -> Any:
    return xp.asarray((np.arange(size) % 5 - 2).astype(np.asarray(0, x.dtype).dtype))


def matrix(xp: Any, x: Any, *shape: int) -> Any:
    return vector(xp, x, shape[0] * shape[1]).reshape(shape)


PROGRAMS: Final[dict[str, Program]] = {
    "matrix by vector": lambda xp, x, axis: x @ vector(xp, x, x.shape[-1]),
    "vector by matrix": lambda xp, x, axis: vector(xp, x, x.shape[-2]) @ x,
    "matrix by few columns": lambda xp, x, axis: x @ matrix(xp, x, x.shape[-1], 7),
    "few rows by matrix": lambda xp, x, axis: matrix(xp, x, 7, x.shape[-2]) @ x,
    "many rows by matrix": lambda xp, x, axis: matrix(xp, x, 65, x.shape[-2]) @ x,
    "arithmetic, and a product": lambda xp, x, axis: (x * 2 + 1) @ vector(xp, x, x.shape[-1]),
    "choices, and a product": lambda xp, x, axis: xp.where(x > 0, x, 1 - x) @ matrix(xp, x, x.shape[-1], 3),
    "squares": lambda xp, x, axis: xp.swapaxes(x, -1, -2) @ x,
    "einsum": lambda xp, x, axis: xp.einsum("...ij,i->...j", x, vector(xp, x, x.shape[-2])).sum(),
    "contracted": lambda xp, x, axis: xp.tensordot(x, vector(xp, x, x.shape[axis]), ((axis,), (0,))),
    "contracted from the left": lambda xp, x, axis: xp.tensordot(
        matrix(xp, x, 3, x.shape[axis]), x, ((1,), (axis,))
    ),
    "its own column": lambda xp, x, axis: x[..., 0].sum() + x[..., :, 1:2].swapaxes(-1, -2) @ x,
    "folds": lambda xp, x, axis: (x.sum(axis), x.max(axis), x.min(), (x > 2).any(axis), xp.count_nonzero(x)),
    "rows less their maxima": lambda xp, x, axis: (x - x.max(axis, keepdims=True)).sum(0),
    "shares": lambda xp, x, axis: (x / (abs(x).sum(axis, keepdims=True) + 1)) @ xp.ones(x.shape[-1]),
    "variance": lambda xp, x, axis: xp.var(x, axis=axis),
    "places": lambda xp, x, axis: (xp.argmax(x, axis=axis), xp.argmin(x, axis=axis)),
    "running": lambda xp, x, axis: xp.cumsum(x, axis=axis).max(axis),
    "sorted": lambda xp, x, axis: (xp.sort(x, axis=axis).max(axis),),
    "sorted places": lambda xp, x, axis: xp.argsort(x, axis=axis, stable=True).max(),
    "taken": lambda xp, x, axis: (xp.take(x, np.array([1, -1]), axis=axis), x[np.array([1])], x[1:, ..., 3]),
    "searched": lambda xp, x, axis: xp.searchsorted(vector(xp, x, 5), x).sum(axis),
    "joined": lambda xp, x, axis: xp.stack([x, x + 1]).sum(axis),
    "axes cut": lambda xp, x, axis: x.reshape(x.shape[0] // 2, 2, *x.shape[1:]).max(axis),
    "axes merged": lambda xp, x, axis: x.reshape(x.shape[0] // 2, -1).sum(axis % 2),
    "turned": lambda xp, x, axis: xp.flip(xp.swapaxes(x, 0, -1), 0)[..., ::3].sum(axis),
    "scan": scan, "loop over rows": rows, "loop while": search,
}  # fmt: skip

#: Programs with products that pack panels of their operands, whose size the caches of a machine bound: arrays
#: of this size fit.
PACKING: Final = (
    "matrix by few columns", "few rows by matrix", "many rows by matrix", "choices, and a product", "squares",
    "its own column", "contracted from the left",
)  # fmt: skip


def drawn(rng: np.random.Generator) -> Array:
    """A large array of small whole numbers, whose sums are exact in float64, that repeats along some axes."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    repeated = rng.integers(0, 2, len(shape)).astype(bool)
    repeated[rng.integers(len(shape))] = True
    dtype = ("f8", "f8", "i8", "f4", "i4")[rng.integers(5)]
    base = rng.integers(-4, 5, np.where(repeated, 1, shape)).astype(dtype)
    array = np.broadcast_to(base, (2, *shape) if dtype in ("f4", "i4") else shape)
    return array.swapaxes(-1, -2) if rng.integers(3) == 0 else array


def called(run: Program, x: Array, axis: int, way: str) -> Any:
    """The results of a jitted function, which gets `x` as an argument or from its closure."""
    if way == "argument":
        return tj.jit(lambda x: run(tj, x, axis))(x)
    held = tj.asarray(x)
    return tj.jit(lambda: run(tj, held, axis))()


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng((SEED, list(PROGRAMS).index(name)))
    made: list[Executable] = []
    initialize = Executable.__init__

    def counted(executable: Executable, *args: Any, **options: Any) -> None:
        initialize(executable, *args, **options)
        made.append(executable)

    monkeypatch.setattr(Executable, "__init__", counted)
    for number in range(DRAWS):
        x, run = drawn(rng), PROGRAMS[name]
        axis = int(rng.integers(x.ndim))
        way = ("argument", "captured")[number % 2]
        case = f"{name}: {x.dtype} {x.shape}, strides {x.strides}, axis {axis}, {way}, seed {SEED}"
        assert x.nbytes >= REPEATED_BYTES
        want = run(np, x, axis)
        made.clear()
        got = called(run, x, axis, way)
        ran = [executable for executable in made if not executable._variants]
        several = isinstance(want, tuple)
        for result, expected in zip(got if several else (got,), want if several else (want,), strict=True):
            tolerance = 1e-4 if x.dtype == "f4" else 1e-9
            np.testing.assert_allclose(
                np.asarray(result), expected, rtol=tolerance, atol=tolerance, err_msg=case
            )
        most = max(executable.arena_bytes for executable in ran)
        results = sum(np.asarray(result).nbytes for result in (want if several else (want,)))
        if name not in PACKING:
            assert most < x.nbytes // 2 + results, (case, most, x.nbytes)


#: Sizes of products: one, tails of vectors, and those of each kernel.
SIZES: Final = (1, 2, 3, 5, 7, 8, 16, 17, 33, 64, 100, 257)


def test_products_read_lines_where_they_lie() -> None:
    """Products of small matrices that repeat elements along any axes, rows or columns contiguous."""
    rng = np.random.default_rng(SEED)
    for _ in range(30):
        m, k, n = (int(rng.choice(SIZES)) for _ in range(3))
        batch = () if rng.integers(3) else (int(rng.integers(1, 4)),)
        dtype = np.dtype(("f4", "f8", "i4", "i8")[rng.integers(4)])
        builder, operands, arrays, whole = Builder(), [], [], []
        for shape in ((*batch, m, k), (*batch, k, n)):
            base = tuple([1 if rng.integers(2) else size for size in shape])
            line = rng.integers(-4, 5, base).astype(dtype)
            if rng.integers(2):
                array = np.ascontiguousarray(np.swapaxes(line, -1, -2))
                value = builder.parameter(TensorType(dtype, array.shape))
                turned = builder.transpose(value, perm=(*range(len(batch)), len(batch) + 1, len(batch)))
            else:
                array, turned = line, builder.parameter(TensorType(dtype, base))
            operands.append(builder.broadcast(turned, shape=shape))
            arrays.append(array)
            whole.append(np.broadcast_to(line, shape))
        function = builder.finish("f", [builder.matmul(*operands)])
        (got,) = Executable(function)(arrays)
        case = f"{batch} {m}x{k} @ {k}x{n} {dtype}, strides {[x.strides for x in whole]}, seed {SEED}"
        np.testing.assert_array_equal(got, np.matmul(*map(np.ascontiguousarray, whole)), err_msg=case)
