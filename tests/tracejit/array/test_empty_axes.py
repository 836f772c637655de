"""Public functions on arrays with axes of 0 and 1 elements: NumPy's results and errors, jitted as eager.

All calls of a function that have results are one jitted program; of calls with two arrays those of every
second pair of shapes with floats, and those of the others with integers.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import share_of

SHAPES = [(), (0,), (1,), (3,), (0, 3), (3, 0), (1, 3), (3, 1), (0, 0), (2, 0, 3), (1, 1, 1)]
#: Functions of several arrays, beside NumPy's ufuncs.
PAIRS = {
    "dot",
    "inner",
    "outer",
    "kron",
    "vdot",
    "matmul",
    "append",
    "isin",
    "array_equal",
    "allclose",
    "isclose",
}
#: Functions whose argument is no array of any shape, and functions that are different on purpose.
LEFT_OUT = {
    *("arange", "array_split", "empty", "empty_like", "eye", "identity", "ones", "zeros", "tri", "lexsort"),
    *("block", "ix_", "diag_indices", "tril_indices", "triu_indices", "fromfile", "frombuffer", "loadtxt"),
    *("genfromtxt", "bartlett", "blackman", "hamming", "hanning", "finfo", "iinfo", "min_scalar_type"),
    *("format_float_positional", "format_float_scientific", "base_repr", "binary_repr"),
    *("argwhere", "bincount", "nonzero", "flatnonzero", "unique", "where"),  # values decide the shape
    *("array2string", "array_repr", "array_str", "asarray_chkfinite"),
    *("histogramdd", "polyder"),  # NumPy takes other ranks of what is a list of points, and of coefficients
    *("trim_zeros", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    *("median", "nanmedian"),  # of nothing
    *("from_dlpack", "mintypecode", "typename", "seterrcall"),  # of other libraries, types and settings
    "row_stack",  # which NumPy has deprecated
    "average",  # NumPy divides 0 by 0 elements in Python, and raises ZeroDivisionError
}
Call = tuple[tuple[Any, ...], dict[str, Any]]


def arity(name: str) -> int:
    """Number of arrays that a function takes; 0 for what is left out."""
    of_numpy, ours = getattr(np, name), getattr(tj, name)
    if name in LEFT_OUT or name.startswith("_") or inspect.isclass(ours) or not callable(ours):
        return 0
    if isinstance(of_numpy, np.ufunc):
        return of_numpy.nin
    if name in PAIRS:
        return 2
    try:
        params = inspect.signature(ours).parameters.values()
        inspect.signature(of_numpy)
    except (TypeError, ValueError):
        return 0
    return int(
        sum(param.default is param.empty and param.kind <= param.POSITIONAL_OR_KEYWORD for param in params)
        == 1
    )


COMMON = [name for name in dir(tj) if hasattr(np, name)]
#: Jitted roots are complex: docs/differences.md.
NAMES = [name for name in COMMON if arity(name) and name != "roots"]


def calls(name: str) -> Iterator[Call]:
    rng = np.random.default_rng(0)
    with_axis = "axis" in inspect.signature(getattr(tj, name)).parameters

    def array(shape: tuple[int, ...], dtype: Any) -> Any:
        return rng.integers(1, 4, size=shape).astype(dtype)

    for shape in SHAPES:
        for dtype in (np.float64, np.int64):
            if arity(name) == 2:
                for other in SHAPES:
                    yield (array(shape, dtype), array(other, dtype)), {}
                continue
            if not shape:
                continue
            yield (array(shape, dtype),), {}
            for axis in range(-1, len(shape)) if with_axis else ():
                yield (array(shape, dtype),), {"axis": axis}


def outcome(function: Any, args: Any, attrs: Any) -> tuple[list[Any] | None, Exception | None]:
    """The arrays of a result, or the error."""
    with np.errstate(all="ignore"):
        try:
            return [np.asarray(leaf) for leaf in tj.tree_leaves(function(*args, **attrs))], None
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            return None, error


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_empty_axes(name: str) -> None:
    ours, of_numpy = getattr(tj, name), getattr(np, name)
    done: list[Call] = []
    failing: list[Call] = []
    expected: list[Any] = []
    for args, attrs in calls(name):
        text = f"{name}({', '.join(f'{argument.dtype}{argument.shape}' for argument in args)}, {attrs})"
        want, refused = outcome(of_numpy, args, attrs)
        got, error = outcome(ours, [tj.tensor(argument) for argument in args], attrs)
        assert (error is None) == (refused is None), f"{text}: {error!r}, NumPy {refused!r}"
        if error is not None:
            assert isinstance(error, tj.TracejitError), f"{text}: {error!r}"
            kinds = (ValueError, TypeError, IndexError)
            assert any(isinstance(error, kind) and isinstance(refused, kind) for kind in kinds), (
                f"{text}: {error!r}"
            )
            failing.append((args, attrs))
            continue
        compare(got, want, text)
        pair = sum(SHAPES.index(argument.shape) for argument in args)
        if len(args) == 1 or args[0].dtype.kind == "fi"[pair % 2]:
            done.append((args, attrs))
            expected.append(got)
    for args, attrs in share_of(failing, 5):
        with pytest.raises(tj.TracejitError):
            tj.trace(lambda *arrays, attrs=attrs: ours(*arrays, **attrs), *args)
    jitted = share_of(done, 5)
    arrays = [array for args, _ in jitted for array in args]

    def every(*arrays: Any) -> Any:
        rest = iter(arrays)
        return [ours(*[next(rest) for _ in args], **attrs) for args, attrs in jitted]

    results = tj.jit(every, loops="unrolled")(*arrays)
    for (args, attrs), result, got in zip(jitted, results, share_of(expected, 5), strict=True):
        text = (
            f"jitted {name}({', '.join(f'{argument.dtype}{argument.shape}' for argument in args)}, {attrs})"
        )
        compare([np.asarray(leaf) for leaf in tj.tree_leaves(result)], got, text)


def compare(got: Any, want: Any, text: str) -> None:
    assert len(got) == len(want), text
    for actual, expected in zip(map(np.asarray, got), map(np.asarray, want), strict=True):
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), (
            f"{text}: {actual!r}, not {expected!r}"
        )
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12, err_msg=text)


LOSSES = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
]
ACTIVATIONS = [
    "gelu",
    "relu",
    "silu",
    "softplus",
    "softmax",
    "log_softmax",
    "log_sigmoid",
    "tanh",
    "celu",
    "selu",
]


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("name", [*LOSSES, *ACTIVATIONS])
def test_empty_axes_in_networks(name: str) -> None:
    """Values and gradients."""
    function, rng = getattr(tj.nn, name), np.random.default_rng(0)
    count = 2 if name in LOSSES else 1
    arrays = [tj.tensor(rng.random(shape)) for shape in SHAPES if shape for _ in range(count)]

    def every(*arrays: Any) -> Any:
        return [function(*arrays[i : i + count]) for i in range(0, len(arrays), count)]

    def total(*arrays: Any) -> Any:
        return sum((tj.sum(result * result) for result in every(*arrays)), tj.tensor(0.0))

    gradient = tj.grad(total, argnums=tuple(range(len(arrays))))
    with np.errstate(all="ignore"):
        compare([*tj.jit(every)(*arrays)], every(*arrays), name)
        compare([*tj.jit(gradient)(*arrays)], [*gradient(*arrays)], f"gradient of {name}")


@pytest.mark.parametrize("a", [0, 1, 3])
@pytest.mark.parametrize("b", [0, 1, 3])
@pytest.mark.parametrize("c", [0, 1, 3])
def test_empty_axes_in_layers(a: int, b: int, c: int) -> None:
    """Products, attention, convolutions, scans, with their gradients, and batches of none."""
    rng = np.random.default_rng(0)

    def layers(x: Any, y: Any, w: Any, z: Any) -> Any:
        scores = tj.nn.softmax(x @ y.T, -1) if c else x @ y.T
        carry, steps = tj.scan(lambda s, row: (tj.tanh(s + row), s.sum()), tj.zeros(b), x)
        images = [tj.nn.conv2d(z, w), tj.nn.conv2d(z, w, stride=2, padding=1)] if b else []  # of no channels
        sorts = [tj.cumsum(x, 0), tj.sort(x, axis=0)]
        products = [tj.nn.linear(x, y), scores @ y, tj.einsum("ij,kj->ik", x, y), x @ x.T, x.T @ x]
        return [*products, carry, steps, *images, *sorts]

    shapes = ((a, b), (c, b), (c, b, 2, 3), (a, b, 5, 4))
    arrays = [tj.tensor(rng.normal(size=shape)) for shape in shapes]

    def total(*arrays: Any) -> Any:
        return sum((tj.sum(layer * layer) for layer in layers(*arrays)), tj.tensor(0.0))

    compare([*tj.jit(layers)(*arrays)], layers(*arrays), "layers")
    gradient = tj.grad(total, argnums=(0, 1, 2, 3))
    compare([*tj.jit(gradient)(*arrays)], [*gradient(*arrays)], "gradient")
    for count in (0, 1):
        rows = [tj.tensor(rng.normal(size=(count, *shape))) for shape in shapes]
        want = [tj.stack([layer]) for layer in layers(*[row[0] for row in rows])] if count else None
        got = [*tj.jit(tj.vmap(layers))(*rows)]
        compare(got, want or [np.empty((0, *layer.shape)) for layer in layers(*arrays)], f"batch of {count}")
