"""Arguments that repeat their elements, by strides of 0: results are those of copies, which nobody makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.interface import REPEATED_BYTES
from tracejit.ir.graph import Value
from tracejit.runtime.executable import Executable
from tracejit.runtime.repeats import once, repeats_of

from ..forked import forked
from ..support import Array

ROWS, COLUMNS = 700, 300
assert ROWS * COLUMNS * 8 > REPEATED_BYTES


def whole(*shape: int) -> Array:
    """Small whole numbers, whose sums are exact in whatever order they are taken."""
    return np.random.default_rng(3).integers(-4, 5, shape).astype(np.float64)


def windows(x: Array) -> Array:
    """Each row three times, with steps between the elements of a row."""
    strides = (x.strides[0], 0, 2 * x.strides[1])
    return np.lib.stride_tricks.as_strided(x, (ROWS // 7, 7, COLUMNS), strides).transpose(1, 0, 2)


ARGUMENTS: dict[str, Callable[[], Array]] = {
    "a row": lambda: np.broadcast_to(whole(COLUMNS), (ROWS, COLUMNS)),
    "a column": lambda: np.broadcast_to(whole(ROWS, 1), (ROWS, COLUMNS)),
    "a number": lambda: np.broadcast_to(whole(1, 1), (ROWS, COLUMNS)),
    "turned": lambda: np.broadcast_to(whole(COLUMNS), (ROWS, COLUMNS)).T,
    "reversed": lambda: np.broadcast_to(whole(COLUMNS), (ROWS, COLUMNS))[:, ::-1],
    "steps": lambda: windows(whole(ROWS // 7, 2 * COLUMNS)),
    "large steps": lambda: np.broadcast_to(whole(2 * ROWS * COLUMNS)[::2], (2, ROWS * COLUMNS)),
    "other byte order": lambda: np.broadcast_to(whole(COLUMNS).astype(">f8"), (ROWS, COLUMNS)),
    "small": lambda: np.broadcast_to(whole(5), (3, 5)),
}
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "map": lambda xp, x: x * 2 + 1,
    "sums": lambda xp, x: (xp.sum(x, axis=0), xp.sum(x, axis=-1), xp.max(x)),
    "rows": lambda xp, x: x - xp.max(x, axis=-1, keepdims=True),
    "sorted": lambda xp, x: xp.sort(x, axis=0),
    "product": lambda xp, x: x[..., :500] @ xp.swapaxes(x[..., :3, :500], -1, -2),
    "argument": lambda xp, x: x,
    "places": lambda xp, x: (xp.argmax(x, axis=0), xp.cumsum(x, axis=-1), x[1:, ::2]),
    "gathered": lambda xp, x: (x[[0, 1, -1]], x[..., [1, 1, 0]], xp.take(x, [1, -2], axis=1)),
    "elements": lambda xp, x: x[[1, 0], [0, 1]],
    "diagonal": lambda xp, x: (xp.diagonal(x), xp.diagonal(x, 1, -1, -2), x.reshape(-1)[3::7]),
    "spectrum": lambda xp, x: xp.round(xp.abs(xp.fft.rfft(x[..., :4])) ** 2),
    "inner": lambda xp, x: (xp.einsum("...ij,...ij->...j", x, x), xp.einsum("...ij,...ij->...i", x, x)),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_results_are_those_of_copies(argument: str, program: str) -> None:
    """Results of the first calls and the later ones, before and after a call with a plain array."""
    run, x = PROGRAMS[program], ARGUMENTS[argument]()
    want = run(np, x)
    want = want if isinstance(want, tuple) else (want,)
    f = tj.jit(lambda x: run(tj, x))
    for operand in (x, x, x.astype("f8", order="C"), x):
        got = f(operand)
        for result, expected in zip(got if isinstance(got, tuple) else (got,), want, strict=True):
            assert result.dtype == expected.dtype.newbyteorder("=")
            np.testing.assert_array_equal(np.asarray(result), expected)


def test_axes_of_what_is_large_alone() -> None:
    def found(array: Array) -> Any:
        return repeats_of([array], [Value(tj.TensorType(array.dtype, array.shape))])

    assert found(np.broadcast_to(whole(COLUMNS), (ROWS, COLUMNS))) == {0: (0,)}
    assert found(np.broadcast_to(whole(1, 1), (ROWS, COLUMNS))) == {0: (0, 1)}
    assert found(np.broadcast_to(whole(3), (5, 3))) == {}
    assert found(whole(ROWS, COLUMNS).T) == {}
    (base,) = once([np.broadcast_to(whole(ROWS, 1), (ROWS, COLUMNS))], {0: (1,)})
    assert base.shape == (ROWS, 1)


def test_each_pattern_is_compiled_once() -> None:
    a, b = (np.broadcast_to(whole(COLUMNS), (ROWS, COLUMNS)), np.broadcast_to(whole(1, 1), (ROWS, COLUMNS)))
    executable = Executable(tj.trace(lambda x, y: x + y, a, b))
    for x, y, variants in ((a, a, 1), (a, b, 2), (a, a, 2), (whole(ROWS, COLUMNS), b, 3)):
        np.testing.assert_array_equal(executable([x, y])[0], x + y)
        assert len(executable._variants) == variants


def test_another_argument_is_written() -> None:
    def fill(out: Any, x: Any) -> None:
        out[:] = x + 1

    x, out = np.broadcast_to(whole(COLUMNS), (ROWS, COLUMNS)), np.zeros((ROWS, COLUMNS))
    f = tj.jit(fill)
    for _ in range(2):
        out[:] = 0
        f(out, x)
        np.testing.assert_array_equal(out, x + 1)


def test_captured_and_with_gradients() -> None:
    repeated = np.broadcast_to(whole(COLUMNS), (ROWS, COLUMNS))
    f = tj.jit(lambda w: tj.sum(repeated * w * w))
    row = tj.tensor(whole(COLUMNS), requires_grad=True)
    w = tj.broadcast_to(row, (ROWS, COLUMNS))
    assert float(f(tj.asarray(repeated))) == float(np.sum(repeated**3))
    f(w).backward()
    np.testing.assert_array_equal(np.asarray(row.grad), 2 * ROWS * repeated[0] * np.asarray(row.detach()))


_GROWTH = """
import resource
import numpy as np
import tracejit as tj

def growth(run, small, large):
    run(small)  # the compiler's own memory
    run(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(large)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024

row = np.arange(1000.0)
dense, large = np.ones((300, 1000)), np.broadcast_to(row, (100_000, 1000))
"""
#: Megabytes by which a process may grow where a copy takes 800: the compiler's.
_MOST = 100


def test_large_arguments_are_not_copied() -> None:
    program = f"""{_GROWTH}
f = tj.jit(lambda x: (tj.sum(x, axis=0), tj.max(x), tj.sum(x * 2 + 1, axis=1)))
grown = growth(f, dense, large)
assert grown < {_MOST}, grown
sums, most, _ = f(large)
np.testing.assert_array_equal(sums, row * 100_000)
assert most == 999

x = np.lib.stride_tricks.as_strided(np.array([3], np.int8), (2**31,), (0,))
g = tj.jit(lambda x: (tj.sum(x), tj.max(x), x[-1], tj.any(x > 3), tj.count_nonzero(x)))
grown = growth(g, np.ones(300, np.int8), x)
assert grown < {_MOST}, grown
assert [int(r) for r in g(x)] == [3 * 2**31, 3, 3, 0, 2**31]
print("fine")
"""
    assert forked(program).strip() == "fine"


#: Functions that work line by line, each line once.
LINES = {
    "product": "(x @ row)", "argument": "tj.argmax(x, axis=1)", "sorted": "tj.sort(x)[-1]",
    "running": "tj.cumsum(x, axis=1)[-1]", "median": "tj.median(x, axis=1)", "variance": "tj.var(x, axis=0)",
    "rows": "x[np.array([5, 7, -1])]", "columns": "x[:, np.array([5, 7, -1])]", "diagonal": "tj.diagonal(x)",
    "spectrum": "tj.sum(abs(tj.fft.rfft(x, axis=1)), axis=0)", "inner": "tj.einsum('ij,ij->j', x, x)",
    "sum of rows": "tj.ones(len(x)) @ x", "arithmetic": "tj.ones(len(x)) @ (x * 2 + 1)",
    "squares": "x.T @ x", "place": "tj.argmax(x, axis=0)", "folded": "x.reshape(-1, 4 * x.shape[1]).sum(1)",
    "scan": "tj.scan(lambda s, row: (s + row.sum(), None), 0.0, x)[0]",
    "loop": "tj.fori_loop(0, len(x), lambda i, s: s + x[i].sum(), 0.0)",
    "spectrum along it": "abs(tj.fft.fft(x, axis=0)).sum()", "powers": "tj.cumprod(x / 500, axis=0).sum(0)",
    "histogram": "tj.histogram(x, bins=10, range=(0, 1000))[0]",
    "counts": "tj.bincount(x.ravel().astype('i8'), minlength=1000)",
    "joined": "tj.concatenate([x, x + 1, tj.ones((3, 1000))]).sum(0)",
    "rolled": "tj.roll(x, 3, axis=0).sum(0)",
    "flat place": "tj.argmax(x)", "sorted elements": "tj.sort(x, axis=None)[:3]",
    "right sides": "tj.linalg.solve(tj.eye(1000) * 2, x.T).sum()",
    "gradient": "tj.grad(lambda w: ((x @ w) ** 2).sum())(row)",
}  # fmt: skip


def test_repeated_lines_are_computed_once() -> None:
    program = _GROWTH
    for name, text in LINES.items():
        program += f"grown = growth(tj.jit(lambda x: {text}), dense, large)\n"
        program += f"assert grown < {_MOST}, ({name!r}, grown)\n"
    assert forked(program + "print('fine')").strip() == "fine"


#: Results as large as what they are computed of: nothing else is.
RESULTS = {
    "spectrum": "tj.fft.rfft(x, axis=0)", "joined": "tj.concatenate([x, tj.ones((3, 1000))])",
    "columns joined": "tj.concatenate([x.T, tj.ones((1000, 3))], axis=1)",
    "powers": "tj.cumprod(x / 500, axis=0)",
    "stacked": "tj.stack([x, x * x], axis=2)", "right sides": "tj.linalg.solve(tj.eye(1000) * 2, x.T)",
}  # fmt: skip


def test_large_results_have_no_operand_beside_them() -> None:
    for name, text in RESULTS.items():
        program = f"""{_GROWTH}
x = large[:20_000]
f = tj.jit(lambda x: {text})
results = []
grown = growth(lambda x: results.append(f(x)), dense, x)
assert grown < results[-1].size * 8 / 2**20 + {_MOST}, grown
print("fine")
"""
        assert forked(program).strip() == "fine", name


#: Functions of elements, joins and flat lines, which have no operand in memory.
ELEMENTS = {
    "looked up": "tj.take(row, x.astype('i8')).sum(0)", "between points": "tj.interp(x, row, row * 2).sum(0)",
    "elements of a product": "(x * tj.arange(len(x))[:, None])[np.array([5, 7, -1])]",
    "flat elements": "tj.take(x, np.array([5, 7, -1]))",
    "elements of joined": "tj.concatenate([x, x + 1])[np.array([5, 7, -1])]",
    "product of joined": "tj.concatenate([x, tj.ones((3, 1000))]) @ row",
    "joined with others": "(tj.concatenate([x, x[:3]]) * tj.arange(len(x) + 3)[:, None]).sum(0)",
    "joined, and places": "tj.argmax(tj.concatenate([x, tj.ones((3, 1000))]), axis=0)",
    "written": "x.at[5:-5].set(7.0).sum(0)", "padded": "tj.pad(x, 1) @ tj.ones(1002)",
    "cut": "x.ravel()[5:-5].sum()", "flat and running": "tj.cumsum(x.ravel()).max()",
    "searched among": "tj.searchsorted(tj.sort(x, axis=None), row)",
    "images": "tj.nn.conv2d(x.reshape(-1, 1, 25, 40), tj.ones((2, 1, 3, 3))).sum((0, 2, 3))",
}  # fmt: skip
#: Results beside which there are the operands that do not repeat elements.
BESIDE = {
    "in order": "tj.argsort(x, axis=None, stable=True)",
    "places written": "tj.zeros((2 * len(x), 1000)).at[np.arange(len(x)) * 2].set(x)",
    "flat and running": "tj.cumsum(x.ravel())",
}  # fmt: skip


@pytest.mark.parametrize("tiers", ["0", "always"])
def test_elements_joins_and_flat_lines_have_no_dense_operand(tiers: str) -> None:
    program = _GROWTH
    for name, text in ELEMENTS.items():
        program += f"grown = growth(tj.jit(lambda x: {text}), dense, large)\n"
        program += f"assert grown < {_MOST}, ({name!r}, grown)\n"
    assert forked(program + "print('fine')", TRACEJIT_TIERS=tiers).strip() == "fine"
    for name, text in BESIDE.items():
        program = f"""{_GROWTH}
f, results = tj.jit(lambda x: {text}), []
grown = growth(lambda x: results.append(f(x)), dense, large[:20_000])
assert grown < results[-1].size * 8 / 2**20 + {_MOST}, grown
print("fine")
"""
        assert forked(program, TRACEJIT_TIERS=tiers).strip() == "fine", name


@pytest.mark.parametrize("tiers", ["0", "always"])
def test_weights_of_counts_are_not_copied(tiers: str) -> None:
    """Weights of places of 160 MB are summed piece by piece."""
    program = f"""{_GROWTH}
places = np.arange(20_000_000)
places %= 7
f = tj.jit(lambda p, w: tj.bincount(p, w.ravel(), minlength=12))
results = []
grown = growth(lambda x: results.append(f(places[: x.size], x)), dense, large[:20_000])
assert grown < {_MOST}, grown
np.testing.assert_array_equal(results[-1], np.bincount(places, large[:20_000].ravel(), minlength=12))
print("fine")
"""
    assert forked(program, TRACEJIT_TIERS=tiers).strip() == "fine"


def test_captured_lines_are_computed_once() -> None:
    """Closures over a large repeated array or tensor: neither traces nor guards copy it. What NumPy computes
    of an array while a function is traced is NumPy's."""
    program = _GROWTH
    for name, text in LINES.items():
        program += f"def made(x): return tj.jit(lambda row: {text})\n"
        for kind in ("tj.asarray", "np.asarray")[: 1 + (name in ("product", "sum of rows", "place", "scan"))]:
            program += f"f, g = made({kind}(dense)), made({kind}(large))\n"
            program += "grown = growth(lambda f: f(row), f, g)\n"
            program += f"assert grown < {_MOST}, ({name!r}, {kind!r}, grown)\n"
    assert forked(program + "print('fine')").strip() == "fine"


def test_the_place_in_more_elements_than_32_bits_count() -> None:
    program = f"""{_GROWTH}
x = np.lib.stride_tricks.as_strided(np.array([3], np.int8), (2**31 + 5,), (0,))
f = tj.jit(lambda x: (tj.argmax(x), tj.argmin(x), tj.cumsum(x).max()))
grown = growth(f, np.ones(300, np.int8), x)
assert grown < {_MOST}, grown
assert [int(r) for r in f(x)] == [0, 0, 3 * (2**31 + 5)]
print("fine")
"""
    assert forked(program).strip() == "fine"


def test_indices_of_what_is_repeated_are_checked() -> None:
    f = tj.jit(lambda x, i: x[i])
    x = np.broadcast_to(whole(COLUMNS), (ROWS, COLUMNS))
    np.testing.assert_array_equal(np.asarray(f(x, np.array([0, -ROWS]))), x[:2])
    for index in (ROWS, -ROWS - 1):
        with pytest.raises(IndexError, match=f"axis 0 with size {ROWS}"):
            f(x, np.array([0, index]))


@pytest.mark.parametrize(
    ("program", "size"),
    [
        (lambda x, i: tj.ravel(x)[i], ROWS * COLUMNS),
        (lambda x, i: x[:, i], COLUMNS),
        (lambda x, i: tj.concatenate([x, x[:3]])[i], ROWS + 3),
        (lambda x, i: (x * tj.arange(ROWS)[:, None])[i], ROWS),
        (lambda x, i: tj.arange(9.0)[tj.broadcast_to(i, (ROWS * COLUMNS, 2))], 9),
    ],
)  # fmt: skip
def test_indices_of_parts_are_checked(program: Callable[[Any, Any], Any], size: int) -> None:
    """Indices from one end to the other, and one beyond each."""
    x = np.broadcast_to(whole(COLUMNS), (ROWS, COLUMNS))
    f = tj.jit(program)
    ends = np.array([-size, size - 1])
    np.testing.assert_array_equal(np.asarray(f(x, ends)), np.asarray(program(tj.asarray(x), ends)))
    for index in (size, -size - 1):
        with pytest.raises(IndexError, match=f"with size {size}"):
            f(x, np.array([0, index]))


EAGER = {
    "product": "x @ row", "rows": "tj.ones(len(x)) @ x", "einsum": "tj.einsum('ij,j->i', x, row)",
    "columns": "tj.broadcast_to(x[:, :1], x.shape) @ row", "squares": "x.T @ x",
    "diagonal": "tj.diagonal(x)", "sum": "tj.sum(x)", "sums": "tj.sum(x, axis=0)", "max": "tj.max(x)",
    "take": "tj.take(x, 3, axis=0)", "transpose": "x.T[5]", "item": "x[7]",
    "broadcast": "tj.broadcast_to(x, (2, *x.shape))[1, 2]",
    "vecdot": "tj.vecdot(x, x)", "vecdot of columns": "tj.linalg.vecdot(x, x, axis=0)",
    "bools": "tj.sum(tj.broadcast_to(row > 5, (100_000, 1000)))",
    "bytes": "tj.prod(tj.broadcast_to(tj.asarray(np.ones(1000, 'i1')), (100_000, 1000)), axis=1)",
}  # fmt: skip


def test_eager_ops_copy_nothing_that_numpy_does_not_copy() -> None:
    program = _GROWTH + "row = tj.asarray(row)\n"
    for name, text in EAGER.items():
        program += f"grown = growth(lambda x: {text}, tj.asarray(large[:1100]), tj.asarray(large))\n"
        program += f"assert grown < {_MOST}, ({name!r}, grown)\n"
    assert forked(program + "print('fine')").strip() == "fine"


def test_products_of_what_is_repeated() -> None:
    """Products of rows, columns, sums and batches, in floats and integers."""
    for dtype in ("f4", "f8", "i4", "c16", "f2"):
        row, column = (whole(*shape).astype(dtype) for shape in ((1, 6), (5, 1)))
        x = np.broadcast_to(row, (5, 6))
        y = np.broadcast_to(column.reshape(1, 5), (6, 5)).T
        z = np.broadcast_to(column, (3, 5, 6))
        for a, b in ((x, x.T), (x.T, x), (x, y.T), (y.T, y), (z, np.swapaxes(z, -1, -2)), (z, x.T)):
            got = np.asarray(tj.asarray(a) @ tj.asarray(b))
            want = np.ascontiguousarray(a) @ np.ascontiguousarray(b)
            np.testing.assert_array_equal(got, want)
            assert got.flags.writeable
            assert got.dtype == want.dtype
