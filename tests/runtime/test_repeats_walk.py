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


def ones(xp: Any, x: Any, axis: int) -> Any:
    """Three slices along `axis` of what repeats nothing."""
    return xp.asarray(np.ones([3 if place == axis else size for place, size in enumerate(x.shape)], x.dtype))


def counted(xp: Any, x: Any, axis: int) -> Any:
    line = xp.ravel(x + 4).astype("i8")
    weights = (None, xp.ravel(x) * 2.0, xp.asarray(np.arange(x.size) % 7 - 3.0))
    return tuple([xp.bincount(line, each, minlength=12) for each in weights])


def weighted(xp: Any, x: Any, axis: int) -> Any:
    """Sums of repeated weights at places of which no two neighbours are one."""
    places = xp.asarray(np.arange(x.size) % 7)
    weights = x if x.dtype.kind == "f" else x * 2.0
    return xp.bincount(places, xp.ravel(weights), minlength=12)


def dense(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return xp.asarray((np.arange(np.prod(shape)) % 5).reshape(shape).astype(np.asarray(0, x.dtype).dtype))


def joined(xp: Any, x: Any, axis: int) -> Any:
    return xp.concatenate([x, ones(xp, x, axis), x + 1], axis=axis)


def joined_with_others(xp: Any, x: Any, axis: int) -> Any:
    both = joined(xp, x, axis)
    return (both * dense(xp, x, both.shape)).sum(axis)


def joined_and_multiplied(xp: Any, x: Any, axis: int) -> Any:
    both = joined(xp, x, axis)
    return both @ vector(xp, x, both.shape[-1]), vector(xp, x, both.shape[-2]) @ both


def assigned(xp: Any, x: Any, key: Any, value: Any) -> Any:
    if xp is tj:
        return x.at[key].set(value)
    result = x.copy()
    result[key] = value
    return result


def written(xp: Any, x: Any, axis: int) -> Any:
    key = (*[slice(None)] * axis, slice(2, -5))
    once = assigned(xp, x, key, 7)
    return (
        once.sum(axis),
        once.max(),
        once @ vector(xp, x, x.shape[-1]),
        assigned(xp, once, (slice(1, 9),), 3)[1],
    )


def written_places(xp: Any, x: Any, axis: int) -> Any:
    """Repeated values, written to every other place."""
    around = xp.zeros((2 * x.shape[0], *x.shape[1:]), x.dtype)
    return assigned(xp, around, np.arange(x.shape[0]) * 2 - 1, x)


def elements(xp: Any, x: Any, axis: int) -> Any:
    places = xp.asarray(np.arange(-50, 50) * 31)
    line, table = xp.ravel(x), vector(xp, x, 11)
    row, long = dense(xp, x, (*x.shape[:-1], 1)), axis if x.shape[axis] > 8 else axis + 1
    return (
        line[places], xp.take(x * row, np.array([1, -1]), axis=long), (x + row * 2)[..., np.array([0, 1])],
        table[(x + 4).astype("i8")].sum(axis), xp.interp(x, np.arange(3.0), np.arange(3.0) ** 2).max(axis),
        xp.take(joined(xp, x, long), np.array([1, -1, x.shape[long] + 1]), axis=long),
        xp.take(joined(xp, x, axis), np.array([0, -2]), axis=(axis + 1) % 2).sum(),
    )  # fmt: skip


def flat_and_cut(xp: Any, x: Any, axis: int) -> Any:
    while x.ndim > 2:
        x = x[0]
    line = xp.ravel(x)
    return line[5:-7].sum(), line[1000:].max(), (line[x.size // 3 :] * 2 + 1).min(), line[2:7]


def in_order(xp: Any, x: Any, axis: int) -> Any:
    options = {"stable": True} if xp is tj else {"kind": "stable"}
    return xp.argsort(xp.ravel(x), **options), xp.argsort(x.reshape(x.shape[0], -1), axis=1, **options)


def flat_and_running(xp: Any, x: Any, axis: int) -> Any:
    line = xp.ravel(x)
    return xp.cumsum(line).max(), xp.cumsum(line, dtype="f8"), xp.cumprod(abs(line) % 2).sum()


def matrices(xp: Any, x: Any) -> Any:
    """A matrix for each element, far from singular."""
    return x[..., None, None] * xp.asarray(np.arange(16.0).reshape(4, 4) / 100) + xp.asarray(np.eye(4) * 5)


def solved(xp: Any, x: Any, axis: int) -> Any:
    a = matrices(xp, x)
    return xp.linalg.solve(a, xp.asarray(np.eye(4)[:, :2])).sum(axis), xp.linalg.inv(a).sum(axis)


def factored(xp: Any, x: Any, axis: int) -> Any:
    a = matrices(xp, x)
    square = a @ xp.swapaxes(a, -1, -2)
    return (
        xp.linalg.det(a).sum(axis),
        xp.linalg.cholesky(square).sum(axis),
        xp.linalg.eigvalsh(square).sum(axis),
    )


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
    "spectrum": lambda xp, x, axis: abs(xp.fft.fft(x, axis=axis)).sum(0),
    "spectrum as it is": lambda xp, x, axis: xp.fft.rfft(x, axis=axis),
    "spectrum of complex numbers": lambda xp, x, axis: abs(xp.fft.ifft(x * (1 + 2j), axis=axis)).sum(axis),
    "spectrum along two axes": lambda xp, x, axis: abs(xp.fft.fft2(x)).sum(axis),
    "from a spectrum": lambda xp, x, axis: xp.fft.irfft(x * (1 + 2j), axis=axis).sum((axis + 1) % 2),
    "running products": lambda xp, x, axis: xp.cumprod(abs(x) % 3 - 1, axis=axis).sum(axis),
    "powers": lambda xp, x, axis: xp.cumprod(1 + x / 2048, axis=axis).sum(0),
    "running products as they are": lambda xp, x, axis: xp.cumprod(abs(x) % 3 - 1, axis=axis),
    "counted": counted,
    "histogram": lambda xp, x, axis: xp.histogram(x, bins=5, range=(-4, 4))[0],
    "joined along": lambda xp, x, axis: (
        xp.concatenate([x, x + 1], axis=axis).max(axis),
        (xp.concatenate([x, ones(xp, x, axis), x * 2], axis=axis) * 3).sum(axis),
    ),
    "joined as they are": lambda xp, x, axis: (
        xp.concatenate([x, ones(xp, x, axis)], axis=axis) - 1,
        xp.stack([x, x * x], axis=axis),
    ),
    "joined and multiplied": joined_and_multiplied,
    "joined with others": joined_with_others,
    "joined and cut": lambda xp, x, axis: (
        joined(xp, x, axis)[1:].sum(axis),
        joined(xp, x, axis)[..., ::2].max(),
    ),
    "joined places": lambda xp, x, axis: (
        xp.argmax(joined(xp, x, axis), axis=axis),
        xp.argmin(joined(xp, x, axis), axis=axis),
    ),
    "padded": lambda xp, x, axis: (
        xp.pad(x, 1).sum(axis),
        xp.pad(x, 1).T[3],
        xp.take(xp.pad(x, 2), np.array([0, -3]), axis=axis),
    ),
    "written": written, "places written": written_places, "weighted": weighted, "elements": elements,
    "flat and cut": flat_and_cut, "flat and in order": in_order, "flat and running": flat_and_running,
    "searched among": lambda xp, x, axis: xp.searchsorted(xp.sort(xp.ravel(x)), vector(xp, x, 9)),
    "rolled": lambda xp, x, axis: xp.roll(x, 3, axis=axis).sum(axis),
    "flat places": lambda xp, x, axis: (
        xp.argmax(x),
        xp.argmin(x),
        xp.argmax(x.reshape(x.shape[0], -1), axis=axis % 2),
    ),
    "flat and sorted": lambda xp, x, axis: (xp.sort(x, axis=None)[::1000], xp.median(x)),
    "flat and folded": lambda xp, x, axis: (xp.ravel(x) * 2 + 1).reshape(-1, 2).max(axis % 2),
    "solved": solved, "factored": factored,
    "scan": scan, "loop over rows": rows, "loop while": search,
}  # fmt: skip

#: Programs with products that pack panels of their operands, whose size the caches of a machine bound: arrays
#: of this size fit.
PACKING: Final = (
    "matrix by few columns", "few rows by matrix", "many rows by matrix", "choices, and a product", "squares",
    "its own column", "contracted from the left",
)  # fmt: skip

#: Bytes of lines, and of what kernels work in.
SMALL: Final = 1 << 16
#: The elements of values that programs compute of each element of their arrays: 1 unless said.
VALUES: Final = {
    "solved": 16,
    "factored": 16,
    "spectrum of complex numbers": 2,
    "from a spectrum": 2,
    "flat and running": 2,
}


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
            scale = max(1.0, float(np.max(abs(expected))))  # of the terms of sums
            np.testing.assert_allclose(
                np.asarray(result), expected, rtol=tolerance, atol=tolerance * scale, err_msg=case
            )
        most = max(executable.arena_bytes for executable in ran)
        # of a result, what differs is in the arena where it is computed apart: half, if all is there twice
        results = sum(np.asarray(result).nbytes for result in (want if several else (want,)))
        if name not in PACKING:
            assert most < (x.nbytes * VALUES.get(name, 1) + results) // 2 + SMALL, (case, most, x.nbytes)


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
