"""The law of tasks, for each family of kernels: shapes, layouts, dtypes and machines are drawn from
`rotation.SEED`.

``TRACEJIT_FUZZ_SEED`` repeats a run, whose seed its tests print; ``python -m
tests.codegen.kernels.test_tasks MINUTES [SEED]`` walks on.
"""

from __future__ import annotations

import secrets
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.kernels.gemm import direct

from ...rotation import SEED
from ...support import Array
from ..task_accesses import Conflict, check_tasks

#: Bytes of arguments and results of a program at most, about.
_MOST: Final = 1 << 18
Program = tuple[Callable[..., Any], list[Array]]


class Draw:
    """Draws sizes and arrays."""

    def __init__(self, seed: tuple[int, ...]) -> None:
        self.rng = np.random.default_rng(seed)

    def pick(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def size(self, most: int) -> int:
        """Small ones and large ones, and those around multiples of vectors and tiles."""
        size = int(np.exp(self.rng.uniform(0, np.log(most))))
        if self.rng.random() < 0.5:
            unit = self.pick(4, 8, 14, 16, 32, 64)
            size = max(1, -(-size // unit) * unit + int(self.rng.integers(-1, 2)))
        return min(size, most)

    def shape(self, most: int = _MOST // 8) -> tuple[int, int]:
        """Rows and columns: long, thin or neither."""
        first = self.size(most)
        second = max(1, most // first // self.pick(1, 1, 5))
        return self.pick((first, second), (second, first))

    def array(self, shape: tuple[int, ...], dtypes: str = "f4 f8 i4 i8") -> Array:
        dtype = np.dtype(self.pick(*dtypes.split()))
        if dtype.kind == "f":
            return self.rng.standard_normal(shape).astype(dtype)
        return self.rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)

    def machine(self) -> dict[str, Any]:
        return {
            "l1_bytes": self.pick(1 << 15, 48 << 10, 1 << 17),
            "l2_bytes": self.pick(1 << 18, 1 << 20, 1 << 21),
            "chunks": self.pick(3, 16, 64),
            "task_multiplications": self.pick(1 << 8, 1 << 12),
        }


def product(draw: Draw) -> Program:
    m, n = draw.size(70), draw.size(70)
    k = draw.size(min(4000, _MOST // 8 // max(m, n)))
    dtype = draw.pick("f4", "f8", "i4", "i8", "i2", "?")
    batch = draw.pick((), (), (draw.size(6),))
    x, y = draw.array((*batch, m, k), dtype), draw.array((*batch, k, n), dtype)
    if draw.pick(True, False):
        return lambda x, y: x @ y.swapaxes(-1, -2), [x, np.ascontiguousarray(y.swapaxes(-1, -2))]
    if draw.pick(True, False):
        return lambda x, y: x.swapaxes(-1, -2) @ y, [np.ascontiguousarray(x.swapaxes(-1, -2)), y]
    return lambda x, y: x @ y, [x, y]


def packed(draw: Draw) -> Program:
    m, k, n = (int(size) for size in draw.rng.integers(40, 200, 3))
    x, y = draw.array((m, k), "f4 f8"), draw.array((n, k), "f8")
    return lambda x, y: x @ y.T, [x, y.astype(x.dtype)]


def vector_product(draw: Draw) -> Program:
    m, k = draw.shape()
    x = draw.array((m, k), "f4 f8")
    if draw.pick(True, False):
        return lambda x, y: y @ x, [x, draw.rng.standard_normal(m).astype(x.dtype)]
    return lambda x, y: x @ y, [x, draw.rng.standard_normal(k).astype(x.dtype)]


def elements(draw: Draw) -> Program:
    x = draw.array(draw.shape(), "f4 f8 i4 i1 ?")
    f = draw.pick(
        lambda x: x * 2,
        lambda x: (x.T + 1, x * 3),
        lambda x: tj.where(x > 0, x, x + x),
        lambda x: x[::2, 1:] + x[:1, :-1],
        lambda x: tj.concatenate([x, x[::-1]], axis=1),
        lambda x: tj.roll(x, 3, axis=0),
        lambda x: x.T.reshape(-1),
    )
    return f, [x]


def reduction(draw: Draw) -> Program:
    x = draw.array(draw.shape(), "f4 f8 i4")
    axis = draw.pick(None, 0, 1)
    f = draw.pick(
        lambda x: x.sum(axis=axis),
        lambda x: x.max(axis=axis),
        lambda x: (x * x).sum(axis=axis) + x.min(axis=axis),
        lambda x: x - x.mean(axis=axis, keepdims=True),
        lambda x: tj.exp(x - x.max(axis=1, keepdims=True)).sum(axis=axis),
        lambda x: tj.argmax(x, axis=axis),
        lambda x: (x > 0).any(axis=axis),
        lambda x: x.T.sum(axis=axis),
    )
    return f, [x]


def scan(draw: Draw) -> Program:
    x, axis = draw.array(draw.shape(), "f4 f8 i4"), draw.pick(0, 1)
    f = draw.pick(
        lambda x: tj.cumsum(x, axis=axis),
        lambda x: tj.cumprod(x, axis=axis),
        lambda x: tj.cumsum(x.reshape(-1)),
        lambda x: tj.cumsum(x[::-1], axis=axis),
    )
    return f, [x]


def sort(draw: Draw) -> Program:
    x, axis = draw.array(draw.shape(), "f4 f8 i4 i8 u1"), draw.pick(0, 1)
    f = draw.pick(
        lambda x: tj.sort(x, axis=axis),
        lambda x: tj.argsort(x, axis=axis),
        lambda x: tj.sort(x.reshape(-1)),
        lambda x: tj.searchsorted(tj.sort(x.reshape(-1)), x[0]),
    )
    return f, [x]


def convolution(draw: Draw) -> Program:
    channels, outputs, kernel = draw.size(12), draw.size(40), draw.pick(1, 3, 5)
    height, width = draw.size(20) + kernel, draw.size(40) + kernel
    stride, padding = draw.pick(1, 2), draw.pick(0, 1)
    dtype = draw.pick("f4", "f8", "i4")
    x = draw.array((draw.size(3), channels, height, width), dtype)
    w = draw.array((outputs, channels, kernel, kernel), dtype)
    return lambda x, w: tj.nn.conv2d(x, w, stride=stride, padding=padding), [x, w]


def transform(draw: Draw) -> Program:
    rows = draw.size(20)
    length = draw.pick(2 ** int(draw.rng.integers(1, 12)), draw.size(2000))
    x = draw.array((rows, length), "f4 f8")
    f = draw.pick(
        lambda x: tj.fft.fft(x),
        lambda x: tj.fft.rfft(x),
        lambda x: tj.fft.irfft(tj.fft.rfft(x) * 2),
        lambda x: tj.fft.fft(x, axis=0),
        lambda x: tj.fft.ifft2(tj.fft.fft2(x)),
    )
    return f, [x]


def long_transform(draw: Draw) -> Program:
    """A transform in two steps, whose results go by columns."""
    x = draw.array((2**16,), "f4 f8")
    return draw.pick(lambda x: tj.fft.fft(x), lambda x: tj.fft.rfft(x)), [x]


def linear_algebra(draw: Draw) -> Program:
    n, batch = draw.size(20), draw.size(40)
    x = draw.array((batch, n, n), "f4 f8") + np.eye(n, dtype="f4") * 9
    spd = np.einsum("bij,bkj->bik", x, x) + np.eye(n, dtype=x.dtype)
    f, argument = draw.pick(
        (tj.linalg.inv, x),
        (tj.linalg.det, x),
        (lambda x: tj.linalg.solve(x, x + 1), x),
        (tj.linalg.cholesky, spd),
        (lambda x: tj.linalg.qr(x)[1], x),
        (lambda x: tj.linalg.eigh(x)[0], spd),
    )
    return f, [argument]


def factorization(draw: Draw) -> Program:
    n = int(draw.rng.integers(100, 150))
    x = draw.array((n, n), "f4 f8") + np.eye(n, dtype="f4") * n
    f, argument = draw.pick(
        (tj.linalg.det, x),
        (lambda x: tj.linalg.solve(x, x + 1), x),
        (tj.linalg.cholesky, x @ x.T),
        (lambda x: tj.linalg.qr(x)[1], x),
    )
    return f, [argument]


def gather(draw: Draw) -> Program:
    rows, columns = draw.shape()
    x, index = draw.array((rows, columns)), draw.rng.integers(0, rows, draw.pick(50, _MOST // 8))
    f = draw.pick(
        lambda x, i: x[i[:100]],
        lambda x, i: x.reshape(-1)[i],
        lambda x, i: x[i, 0],
        lambda x, i: tj.take_along_axis(x[:, :1], i.reshape(-1, 1) % rows, axis=0),
    )
    return f, [x, index]


def scatter(draw: Draw) -> Program:
    rows = draw.size(3000)
    x, index = draw.array((rows, draw.size(8))), draw.rng.integers(0, rows, draw.pick(50, 20_000, 30_000))
    f = draw.pick(
        lambda x, i: tj.index_add(x, i, 1),
        lambda x, i: x.at[i].set(1),
        lambda x, i: x.at[i].max(1),
        lambda x, i: tj.bincount(i, length=rows),
        lambda x, i: tj.nonzero(x[:, 0] > 0, size=rows)[0],
    )
    return f, [x, index]


def loop(draw: Draw) -> Program:
    x = draw.array((draw.size(300), draw.size(60)), "f4 f8")
    f = draw.pick(
        tj.vmap(lambda v: tj.fori_loop(0, 5, lambda i, c: c * 0.5 + v, v)),
        tj.vmap(lambda v: tj.cumsum(v) * v.sum()),
        lambda x: tj.scan(lambda c, v: (c + v, c * v), x[0], x),
        lambda x: tj.random.normal(tj.random.key(3), x.shape) * x,
    )
    return f, [x]


FAMILIES: Final = [
    product, packed, vector_product, elements, reduction, scan, sort, convolution, transform, long_transform,
    linear_algebra, factorization, gather, scatter, loop,
]  # fmt: skip


def walk(family: Callable[[Draw], Program], seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Check a program of a family; how many groups of tasks ran."""
    draw = Draw((seed, zlib.crc32(family.__name__.encode())))
    f, arguments = family(draw)
    return check_tasks(monkeypatch, seed, tj.trace(f, *arguments), arguments, **draw.machine()).groups


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_no_byte_has_two_writers(family: Callable[[Draw], Program], monkeypatch: pytest.MonkeyPatch) -> None:
    print(f"TRACEJIT_FUZZ_SEED={SEED}")
    walk(family, SEED, monkeypatch)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_rows_of_two_tiles(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last tile overlaps the one before, and sums are longer than one part."""
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 100, (rows, 3058)).astype(dtype) for rows in (11, 22))
    tasks = check_tasks(monkeypatch, 0, tj.trace(lambda x, y: x @ y.T, x, y), [x, y])
    assert tasks.groups > 2


def test_sums_in_the_result_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = direct._Nest._tile

    def twice(self: Any, *args: Any) -> None:
        original(self, *args)
        original(self, *args)

    monkeypatch.setattr(direct._Nest, "_tile", twice)
    x, y = np.ones((11, 58), "i4"), np.ones((22, 58), "i4")
    with pytest.raises(Conflict, match=r"written by two tasks: .*store.*` of k\d \(matmul\)"):
        check_tasks(monkeypatch, 0, tj.trace(lambda x, y: x @ y.T, x, y), [x, y])


def main(minutes: float, first: int) -> int:
    """Walk for some minutes, and print what is found; 1 where something is."""
    print(f"seed {first}", flush=True)
    end, programs, groups, findings = time.monotonic() + 60 * minutes, 0, 0, 0
    while time.monotonic() < end:
        family, seed = FAMILIES[programs % len(FAMILIES)], first + programs
        try:
            groups += walk(family, seed, pytest.MonkeyPatch())
        except Exception as error:
            findings += 1
            print(f"{family.__name__}, seed {seed}: {error!r}"[:900], flush=True)
        programs += 1
    print(f"{programs} programs of {len(FAMILIES)} families, {groups} groups of tasks, {findings} findings")
    return min(findings, 1)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(10**6)))
