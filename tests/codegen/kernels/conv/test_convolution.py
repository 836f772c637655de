"""Convolutions: native code against a sum over windows, at the sizes where tiles, blocks and vectors end.

Errors are compared with k eps sum(|x| |w|), the bound for any order of summation.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.operands import run
from tracejit.codegen.kernels.conv.tiling import slab_bytes, windows_of
from tracejit.codegen.llvm.target import host
from tracejit.runtime.executable import Executable
from tracejit.runtime.threads import threads

from ....samples import np_convolve
from ....support import Array, function_of
from ...narrow import narrower, run_narrow


def operands(rng: np.random.Generator, x: Any, w: Any, dtype: str) -> tuple[Array, Array]:
    return rng.uniform(-1, 1, x).astype(dtype), rng.uniform(-1, 1, w).astype(dtype)


def executable(x: Array, w: Array, **attrs: Any) -> Executable:
    return Executable(function_of("conv", [x, w], lambda b, x, w: b.convolve(x, w, **attrs)))


def check(x: Array, w: Array, **attrs: Any) -> None:
    """The native result is the sum over windows, and the same bits on one thread and on two."""
    native = executable(x, w, **attrs)
    with threads(1):
        (got,) = native([x, w])
    with threads(2):
        (again,) = native([x, w])
    want = np_convolve(x.astype("f8"), w.astype("f8"), **attrs)
    terms = np_convolve(abs(x).astype("f8"), abs(w).astype("f8"), **attrs)
    assert got.shape == want.shape
    assert got.dtype == x.dtype
    assert (abs(got - want) <= terms * np.prod(w.shape[-3:]) * np.finfo(x.dtype).eps).all()
    assert got.tobytes() == again.tobytes()


def plain(**attrs: Any) -> dict[str, Any]:
    return {"stride": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1), **attrs}


#: x, w, and what is not plain: whole tiles; odd sizes; sums in parts by channels, rows and columns, with
#: tiles that overlap, on any machine for one image of prime sizes; one output; a row of many blocks; padding
#: that leaves nothing of some windows; one output, whose lanes are columns, with long and short kernel rows,
#: in parts by channels and columns, with dilation, and in groups.
CASES = [
    ((3, 16, 28, 28), (32, 16, 3, 3), {"padding": (1, 1, 1, 1)}),
    ((2, 5, 13, 17), (19, 5, 3, 4), {"padding": (1, 0, 2, 3)}),
    ((3, 150, 5, 31), (33, 150, 3, 3), {"padding": (1, 1, 1, 1)}),
    ((1, 120, 37, 31), (10, 120, 3, 3), {"padding": (1, 1, 1, 1)}),
    ((5, 2, 60, 40), (17, 2, 45, 38), {"padding": (2, 2, 1, 1)}),
    ((3, 1, 2, 2100), (18, 1, 2, 2050), {"padding": (0, 1, 0, 3)}),
    ((2, 7, 9, 9), (1, 7, 3, 3), {"stride": (2, 2)}),
    ((1, 40, 1, 9000), (24, 40, 1, 9), {"dilation": (1, 5)}),
    ((4, 3, 6, 5), (9, 3, 2, 2), {"padding": (7, 5, 6, 9), "stride": (3, 4), "dilation": (2, 3)}),
    ((9, 4, 7, 7), (40, 4, 7, 7), {}),
    ((2, 64, 14, 14), (48, 64, 1, 1), {"stride": (2, 2)}),
    ((2, 3, 6, 15, 15), (3, 21, 6, 3, 3), {"padding": (1, 1, 1, 1)}),
    ((3, 8, 9, 9), (16, 8, 3, 3), {"padding": (-2, -1, -3, 0)}),
    ((2, 3, 5, 177), (1, 3, 2, 37), {"padding": (1, 0, 3, 9)}),
    ((1, 1, 1, 9001), (1, 1, 1, 2100), {"padding": (0, 0, 5, 3)}),
    ((1, 120, 37, 61), (1, 120, 3, 3), {"padding": (1, 1, 1, 1)}),
    ((2, 4, 3, 9, 80), (4, 1, 3, 3, 35), {"dilation": (2, 2), "stride": (2, 1)}),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_convolutions(number: int, dtype: str) -> None:
    x, w, attrs = CASES[number]
    check(*operands(np.random.default_rng(number), x, w, dtype), **plain(**attrs))


def test_sums_in_parts_are_what_some_cases_are() -> None:
    """Sums are split in some of the cases: not all sums stay in registers."""
    split, masked = set(), 0
    for x, w, attrs in CASES:
        function = function_of(
            "conv", [np.zeros(x, "f4"), np.zeros(w, "f4")],
            lambda b, x, w, attrs=attrs: b.convolve(x, w, **plain(**attrs)),
        )  # fmt: skip
        cut = windows_of(function.body[0], "f32", host())
        full = (cut.channels, *cut.kernel)
        split |= {axis for axis in range(3) if cut.part[axis] < full[axis]}
        masked += cut.masked
        assert cut.slab_elements * 4 <= slab_bytes()
    assert split == {0, 1, 2}
    assert masked


def fuzz(seed: int, count: int) -> None:
    """Random convolutions and their gradients: native, on one thread and two, against eager ones."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        dtype = "f4" if rng.random() < 0.5 else "f8"
        images, groups, channels, outputs = rng.integers(1, (5, 4, 9, 40))
        kernel = rng.integers(1, (20, 40) if rng.random() < 0.2 else (5, 6))
        attrs = {
            "stride": tuple(map(int, rng.integers(1, 4, 2))),
            "padding": tuple(map(int, rng.integers(-1, 5, 4))),
            "dilation": tuple(map(int, rng.integers(1, 4, 2))),
        }
        if rng.random() < 0.3:  # lanes along columns
            outputs, attrs["stride"] = 1, (attrs["stride"][0], 1)
        around = np.array(attrs["padding"]).reshape(2, 2).sum(1)
        size = np.maximum(1, (kernel - 1) * attrs["dilation"] + 1 - around + rng.integers(0, (20, 40)))
        grouped = (groups,) if groups > 1 else ()
        x, w = operands(
            rng, (images, *grouped, channels, *size), (*grouped, outputs, channels, *kernel), dtype
        )
        check(x, w, **attrs)
        gradients(x, w, attrs)


def gradients(x: Array, w: Array, attrs: dict[str, Any]) -> None:
    """Jitted gradients are eager ones, to a rounding for each term of the longest sum."""

    def loss(x: Any, w: Any) -> Any:
        y = run("convolve", x, w, **attrs)
        return tj.sum(y * y)

    slope = tj.grad(loss, argnums=(0, 1))
    eager = [result.numpy() for result in slope(tj.tensor(x), tj.tensor(w))]
    jitted = tj.jit(slope)
    results = []
    for count in (1, 2):
        with tj.threads(count):
            results.append([result.numpy() for result in jitted(tj.tensor(x), tj.tensor(w))])
    for want, got, again in zip(eager, *results, strict=True):
        terms = max(want.size, x.size, w.size) * np.finfo(x.dtype).eps
        np.testing.assert_allclose(got, want, rtol=0, atol=terms * max(1.0, abs(want).max()))
        assert got.tobytes() == again.tobytes()


def test_random_convolutions() -> None:
    fuzz(int(os.environ.get("TRACEJIT_FUZZ_SEED", "1")), 12)


FUZZ = """
from tests.codegen.kernels.conv.test_convolution import fuzz, host

assert host().vector_bits == {bits}
fuzz(3, 6)
print("fine")
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(FUZZ.format(bits=bits), features, bits)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "?"])
@pytest.mark.parametrize("outputs", [1, 5])
def test_integers_and_bools(dtype: str, outputs: int) -> None:
    rng = np.random.default_rng(2)
    x, w = (rng.integers(0, 3, shape).astype(dtype) for shape in ((2, 3, 9, 20), (outputs, 3, 3, 3)))
    attrs = plain(padding=(1, 1, 1, 1))
    (got,) = executable(x, w, **attrs)([x, w])
    np.testing.assert_array_equal(got, np_convolve(x, w, **attrs))


@pytest.mark.parametrize("outputs", [1, 3])
def test_infinities_reach_what_reads_them_alone(outputs: int) -> None:
    x, w = np.zeros((1, 1, 9, 19), "f4"), np.ones((outputs, 1, 3, 3), "f4")
    x[0, 0, 0, 0] = np.inf
    (got,) = executable(x, w, **plain(padding=(1, 1, 1, 1)))([x, w])
    assert np.isinf(got[:, :, :2, :2]).all()
    assert np.isfinite(got).sum() == got.size - 4 * outputs


def test_operands_are_read_as_they_lie() -> None:
    """Turned kernels and exchanged axes, as gradients have them, are not copied."""
    x, w = np.ones((4, 6, 9, 9), "f4"), np.ones((6, 5, 3, 3), "f4")

    def build(b: Any, x: Any, w: Any) -> Any:
        turned = b.slice(w, start=(0, 0, 2, 2), size=w.shape, step=(1, 1, -1, -1))
        return b.convolve(x, b.transpose(turned, perm=(1, 0, 2, 3)), **plain())

    native = Executable(function_of("conv", [x, w], build))
    assert len(native.module.kernels) == 1
    np.testing.assert_allclose(native([x, w])[0], 54.0)


def test_a_large_sum_needs_no_large_workspace() -> None:
    """The workspace holds the packed kernels alone, and is as large as they are."""
    x, w = np.ones((8, 64, 28, 28), "f4"), np.ones((64, 64, 3, 3), "f4")
    native = executable(x, w, **plain(padding=(1, 1, 1, 1)))
    assert native.module.arena_bytes <= w.nbytes + 4096
