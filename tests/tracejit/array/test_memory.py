"""Memory that results share with their arguments: writing what NumPy copies changes nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

#: Functions of a matrix whose results are copies in NumPy (or new arrays by what they mean).
COPIES = {
    "take of an int": lambda xp, x: xp.take(x, 0, axis=0),
    "take of rank 0": lambda xp, x: xp.take(x, np.array(0), axis=1),
    "take of the program's own place": lambda xp, x: xp.take(x, xp.argmax(x) % 1, axis=0),
    "index of rank 0": lambda xp, x: x[np.array(0)],
    "index of rank 0 beside a slice": lambda xp, x: x[np.array(0), :],
    "index array": lambda xp, x: x[np.array([0])],
    "repeat": lambda xp, x: xp.repeat(x, 2, 0),
    "repeat once": lambda xp, x: xp.repeat(x, 1, 0),
    "repeat by counts": lambda xp, x: xp.repeat(x, np.array([2] * x.shape[0]), 0),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "tile once": lambda xp, x: xp.tile(x, (1, 1)),
    "roll by nothing": lambda xp, x: xp.roll(x, 0, 0),
    "pad by nothing": lambda xp, x: xp.pad(x, 0),
    "concatenate with nothing": lambda xp, x: xp.concatenate([x, x[:0]]),
    "sum over no axes": lambda xp, x: xp.sum(x, axis=()),
    "maximum over axes of size 1": lambda xp, x: xp.max(x[:1], axis=0),
    "astype": lambda xp, x: xp.astype(x, "float64"),
    "sort": lambda xp, x: xp.sort(x[:1], axis=0),
    "plus": lambda xp, x: +x,
}
#: Functions that only tracejit has: what they return is new.
NEW = {
    "associative_scan of one element": lambda x: tj.associative_scan(tj.add, x[:1]),
    "vmap of the identity": lambda x: tj.vmap(lambda row: row)(x),
    "vmap of a view": lambda x: tj.vmap(lambda row: row[::-1])(x),
    "max_pool2d of windows of one": lambda x: tj.nn.max_pool2d(x[None], 1),
}
SHAPES = ((2, 3), (1, 3), (1, 1))


def written(xp: Any, f: Any) -> Any:
    """A program that writes the result of `f`, and returns what its argument is after that."""

    def program(x: Any) -> Any:
        x = x * 1
        y = f(x)
        y[...] = 9.0
        return x + 0

    return program


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*COPIES, *NEW])
def test_writing_a_copy_leaves_its_source(name: str, shape: tuple[int, ...]) -> None:
    f = NEW[name] if name in NEW else lambda x: COPIES[name](tj, x)
    x = np.arange(float(np.prod(shape))).reshape(shape)
    if name in COPIES:
        assert (written(np, lambda x: COPIES[name](np, x))(x) == x).all()
    program = written(tj, f)
    assert np.asarray(program(tj.asarray(x))).tolist() == x.tolist()
    assert np.asarray(tj.jit(program)(x)).tolist() == x.tolist()
    weights = np.cos(x)
    gradient = tj.grad(lambda x: tj.sum(program(x) * weights))
    assert np.asarray(gradient(x)).tolist() == weights.tolist()
    assert np.asarray(tj.jit(gradient)(x)).tolist() == weights.tolist()


@pytest.mark.parametrize("name", [*COPIES, *NEW])
def test_copies_have_gradients(name: str) -> None:
    f = NEW[name] if name in NEW else lambda x: COPIES[name](tj, x)
    x = tj.tensor([[0.5, 2.0, -1.0]], requires_grad=True)
    tj.sum(f(x) ** 2).backward()
    reference = tj.jit(tj.grad(lambda x: tj.sum(f(x) ** 2)))(np.array([[0.5, 2.0, -1.0]]))
    assert np.asarray(x.grad).tolist() == np.asarray(reference).tolist()
    assert np.asarray(x.grad).any()


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("widths", [(0, 0), (1, 1)])
@pytest.mark.parametrize("size", [1, 3])
def test_what_pad_gives_is_a_copy(mode: str, widths: tuple[int, int], size: int) -> None:
    if mode == "reflect" and size < 2 and widths != (0, 0):
        pytest.skip("nothing to reflect")
    x = tj.arange(size, dtype=tj.float64)
    padded = tj.pad(x, widths, mode=mode)
    expected = padded.tolist()
    x += 5.0
    assert padded.tolist() == expected
    padded += 1.0
    assert x.tolist() == [k + 5.0 for k in range(size)]


@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (4, 2), (1, 5), (0, 3), (2, 3, 4)])
@pytest.mark.parametrize("offset", [-4, -1, 0, 1, 3])
def test_a_diagonal_is_a_view(shape: tuple[int, ...], offset: int) -> None:
    array = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    x, seen = tj.tensor(array), np.diagonal(array, offset)
    diagonal = tj.diagonal(x, offset)
    x *= 2.0
    np.testing.assert_array_equal(diagonal.numpy(), seen * 2.0)
    np.testing.assert_array_equal(tj.jit(lambda x: tj.diagonal(x, offset))(array), seen)
    if x.ndim == 2:
        diagonal += 0.5
        np.testing.assert_array_equal(np.diagonal(x.numpy(), offset), seen * 2.0 + 0.5)


#: A (4, 6) argument, and what of it is looked at: no reshape of that is a view, save of the last.
VIEWS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.T,
    "strided": lambda x: x[::2, ::3],
    "backwards": lambda x: x[::-1, ::-1],
    "moved": lambda x: x.reshape(2, 3, 4).transpose(2, 1, 0),
    "column": lambda x: x[:, :1],
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("offset", [-1, 0, 2])
@pytest.mark.parametrize("axes", [(0, 1), (-1, 0)])
def test_a_diagonal_of_any_layout_is_a_view(name: str, offset: int, axes: tuple[int, int]) -> None:
    """Written behind it and through it, eagerly, traced and recorded."""
    array = np.arange(24.0).reshape(4, 6)

    def program(x: Any) -> tuple[Any, Any]:
        x = x * 1
        view = VIEWS[name](x)
        diagonal = tj.diagonal(view, offset, *axes)
        view *= 2.0
        diagonal[...] = diagonal + 1
        return diagonal * 1, x

    expected = array.copy()
    view = VIEWS[name](expected)
    view *= 2.0
    planes = np.moveaxis(view, axes, (0, 1))
    for i in range(planes.shape[0]):
        if 0 <= i + offset < planes.shape[1]:
            planes[i, i + offset] += 1
    for run in (program, tj.jit(program)):
        diagonal, whole = run(tj.tensor(array))
        np.testing.assert_array_equal(whole.numpy(), expected)
        np.testing.assert_array_equal(diagonal.numpy(), VIEWS[name](expected).diagonal(offset, *axes))

    def loss(x: Any) -> Any:
        diagonal, whole = program(x)
        return (diagonal**2).sum() + (whole**3).sum()

    x = tj.tensor(array, requires_grad=True)
    loss(x).backward()
    for gradient in (tj.grad(loss)(array), tj.jit(tj.grad(loss))(array)):
        np.testing.assert_allclose(gradient, x.grad)
    step = 1e-4 * np.cos(np.arange(24.0)).reshape(4, 6)
    difference = (loss(array + step) - loss(array - step)) / 2
    np.testing.assert_allclose(difference.item(), (x.grad.numpy() * step).sum(), rtol=1e-6)


#: Functions whose results lie in C order in NumPy, however their arguments lie.
IN_C_ORDER = {
    "copy": lambda xp, x: x.copy(),
    "take": lambda xp, x: xp.take(x, np.array([1, 0]), axis=1),
    "argsort": lambda xp, x: xp.argsort(x, axis=0),
    "repeat": lambda xp, x: xp.repeat(x, 2, 0),
    "tile": lambda xp, x: xp.tile(x, (2, 1, 1)),
}


@pytest.mark.parametrize("name", IN_C_ORDER)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_layout_of_results(name: str, order: tuple[int, ...]) -> None:
    """A reshape of what lies in C order is a view, and writing it reaches the array."""
    x = np.arange(24.0).reshape(2, 3, 4).transpose(order)
    f = IN_C_ORDER[name]
    assert f(np, x).flags.c_contiguous
    result = f(tj, tj.asarray(x))
    assert result.numpy().flags.c_contiguous
    result.reshape(-1)[:] = 9
    assert (result == 9).all()
