"""Loop nests at the sizes where they break: around vector widths, tails, unrolling and row lengths, for this
machine's vectors and for narrower ones.

Random programs are in tests/test_fuzz.py, single ops in tests/test_registry.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.ir.passes import run_passes
from tracejit.runtime.executable import Executable

from ...support import Array, function_of, interpret, mismatch, native
from ..narrow import narrower, run_narrow

SIZES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257]


def values(shape: tuple[int, ...], dtype: str = "f4") -> Array:
    return np.random.default_rng(sum(shape)).uniform(0.5, 2.0, shape).astype(dtype)


def run(arrays: list[Array], build: Any, rtol: float = 1e-6) -> None:
    """Native code against the interpreter; `rtol` is for f32 values near 1 in sums of some hundreds."""
    function = function_of("nest", arrays, build)
    for got, want in zip(native(function, arrays), interpret(function, arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "?"])
def test_maps_at_every_tail(dtype: str) -> None:
    """All sizes in one Function, so that each nest writes next to the others' memory."""
    arrays = [(values((n,)) * 50).astype(dtype) for n in SIZES]
    function = function_of("maps", arrays, lambda b, *xs: [b.add(x, x) for x in xs])
    for got, want in zip(native(function, arrays), interpret(function, arrays), strict=True):
        assert not mismatch(got, want)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("axes", [(1,), (0,), (0, 1)])
def test_reductions_at_every_tail(dtype: str, axes: tuple[int, ...]) -> None:
    arrays = [(values((5, n)) * 4).astype(dtype) for n in SIZES] + [
        (values((n, 5)) * 4).astype(dtype) for n in SIZES
    ]
    run(arrays, lambda b, *xs: [y for x in xs for y in (b.sum(x, axes=axes), b.max(x, axes=axes))], 1e-5)


def test_softmax_at_every_row_length() -> None:
    def softmax(b: Any, x: Any) -> Any:
        rows = x.shape[0]
        e = b.exp(b.sub(x, b.reshape(b.max(x, axes=(1,)), shape=(rows, 1))))
        return b.div(e, b.reshape(b.sum(e, axes=(1,)), shape=(rows, 1)))

    run([values((3, n)) for n in SIZES], lambda b, *xs: [softmax(b, x) for x in xs], 5e-6)


def test_layernorm_is_one_nest_and_right() -> None:
    def build(b: Any, x: Any) -> Any:
        mean = b.broadcast(b.reshape(b.mean(x, axes=(1,)), shape=(20, 1)), shape=(20, 100))
        d = b.sub(x, mean)
        variance = b.broadcast(b.reshape(b.mean(b.square(d), axes=(1,)), shape=(20, 1)), shape=(20, 100))
        return b.div(d, b.sqrt(b.add(variance, 1e-5)))

    x = values((20, 100), "f8")
    run([x], build, 1e-9)
    assert [instruction.op.name for instruction in run_passes(function_of("ln", [x], build)).body] == [
        "fusion"
    ]


@pytest.mark.parametrize("shape", [(1, 64), (64, 1), (1, 1), (33, 17), (2, 3, 5)])
def test_views_as_index_maps(shape: tuple[int, ...]) -> None:
    """Transposed, reversed, strided and broadcast reads in one nest, without copies."""
    x = values(shape)
    perm = tuple(reversed(range(len(shape))))

    def build(b: Any, x: Any) -> Any:
        back = b.slice(x, start=tuple(n - 1 for n in shape), size=shape, step=(-1,) * len(shape))
        transposed = b.transpose(b.transpose(back, perm=perm), perm=perm)
        column = b.broadcast(
            b.slice(x, start=(0,) * len(shape), size=(*shape[:-1], 1), step=(1,) * len(shape)), shape=shape
        )
        return b.add(b.mul(transposed, x), column)

    run([x], build)
    assert len(Executable(function_of("views", [x], build)).module.kernels) == 1


def test_results_read_by_products_as_views_are_written_out() -> None:
    """A transposed value that is a result, an operand of a product, and an operand of a copying op."""
    x, y = values((5, 7), "f8"), values((5, 3), "f8")

    def build(b: Any, x: Any, y: Any) -> Any:
        t = b.transpose(x, perm=(1, 0))
        return [b.matmul(t, y), t, b.concat(t, t, axis=0), b.cumsum(t, axis=1, reverse=False)]

    run([x, y], build, 1e-13)


def test_broadcast_result_of_a_product_operand() -> None:
    x, y = values((33, 7)), values((4, 7, 16))

    def build(b: Any, x: Any, y: Any) -> Any:
        wide = b.broadcast(x, shape=(4, 33, 7))
        return [b.matmul(wide, y), wide]

    run([x, y], build, 1e-5)


NARROW = """
import sys
sys.path.insert(0, '.')
from tests.test_fuzz import check_program, check_gradient
from tracejit.codegen.llvm.target import host
assert host().vector_bits == {bits}, host()
for seed in range({first}, {first} + 40):
    check_program(seed)
    if seed % 3 == 0: check_gradient(seed)
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    """Random programs compiled as for a machine without AVX-512, and without AVX."""
    code = NARROW.format(bits=bits, first=bits * 100)
    run_narrow(code, features, bits)
