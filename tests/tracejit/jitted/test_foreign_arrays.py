"""Arrays of other libraries as arguments and captures of jitted functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj


class Foreign:
    """An array as pandas and xarray have it."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.data


GLOBAL = Foreign([1.0, 1.0])


def test_a_signature_is_shared_with_arrays() -> None:
    traced = []

    @tj.jit
    def f(x):
        traced.append(x.type)
        return x * 2

    for _ in range(3):
        assert f(Foreign([1.0, 2.0])).tolist() == [2.0, 4.0]
        assert f(np.ones(2)).tolist() == [2.0, 2.0]
        assert f(Foreign(np.float32([3.0]))).tolist() == [6.0]
    assert len(traced) == len(f.explain().signatures) == 2


def test_in_containers_beside_static_arguments() -> None:
    f = tj.jit(lambda tree, n, *, factor: tree["x"][0] * n * factor, static_argnums=1)
    for _ in range(2):
        assert f({"x": [Foreign([1.0, 2.0])]}, 3, factor=Foreign(2)).tolist() == [6.0, 12.0]


def test_paths() -> None:
    @tj.jit
    def f(x):
        if x.sum() > 2:
            return x * 2
        return x - 1

    for _ in range(2):
        assert f(Foreign([2.0, 3.0])).tolist() == [4.0, 6.0]
        assert f(Foreign([0.0, 0.0])).tolist() == [-1.0, -1.0]


def test_writes_reach_its_memory() -> None:
    @tj.jit
    def f(x):
        x[0] = 7.0
        return x + 1

    value = Foreign([0.0, 1.0])
    assert f(value).tolist() == [8.0, 2.0]
    assert value.data.tolist() == [7.0, 1.0]
    value.data.flags.writeable = False
    with pytest.raises(tj.TracejitError, match="its memory is read-only"):
        f(value)


def test_containers_are_written() -> None:
    @tj.jit
    def f(tree):
        tree["y"] = tree["x"] * 2
        return tree["x"]

    tree = {"x": Foreign([1.0])}
    f(tree)
    assert tree["y"].tolist() == [2.0]


def test_transforms() -> None:
    x = Foreign([1.0, 2.0])

    def squares(v):
        return (v * v).sum()

    assert tj.grad(squares)(x).tolist() == tj.jit(tj.grad(squares))(x).tolist() == [2.0, 4.0]
    assert tj.vmap(lambda v: v * v)(x).tolist() == [1.0, 4.0]
    assert tj.vmap(lambda v, w: v * w, in_axes=(0, None))(x, x).tolist() == [[1.0, 2.0], [2.0, 4.0]]
    assert str(tj.eval_shape(squares, x)) == "f64[]"
    assert tj.make_ir(squares)(x).params[0].shape == (2,)


def test_captures_are_not_stale() -> None:
    global GLOBAL
    tree = {"w": Foreign([1.0, 1.0])}
    of_global, of_tree = tj.jit(lambda x: x + GLOBAL), tj.jit(lambda x: x + tree["w"])
    zeros = tj.zeros(2)
    assert of_global(zeros).tolist() == of_tree(zeros).tolist() == [1.0, 1.0]
    GLOBAL = tree["w"] = Foreign([2.0, 2.0])
    assert of_global(zeros).tolist() == of_tree(zeros).tolist() == [2.0, 2.0]
    GLOBAL.data[0] = 5.0
    assert of_global(zeros).tolist() == of_tree(zeros).tolist() == [5.0, 2.0]


def test_refused_by_name() -> None:
    f = tj.jit(lambda x, y: x + y)
    with pytest.raises(
        tj.DTypeError, match=r"<lambda>: argument args\[1\]: expected numbers, got a .*Foreign of dtype"
    ):
        f(1.0, Foreign(["a"]))
    with pytest.raises(tj.DTypeError, match=r"vmap of <lambda>: argument args\[0\]: .*Foreign"):
        tj.vmap(lambda x: x)(Foreign(["a"]))


def _pandas() -> list[Any]:
    pandas = pytest.importorskip("pandas")
    return [
        pandas.Series([1.0, 2.0]),
        pandas.Series([1, 2], dtype="Int64"),
        pandas.DataFrame({"a": [1, 2], "b": [3.0, 4.0]}),
    ]


def _xarray() -> list[Any]:
    xarray = pytest.importorskip("xarray")
    return [xarray.DataArray(np.ones((2, 2))), xarray.Variable("x", np.arange(3))]


def _torch() -> list[Any]:
    torch = pytest.importorskip("torch")
    return [torch.ones(3), torch.arange(6).reshape(2, 3).T, torch.tensor(2.0)]


def _jax() -> list[Any]:
    numpy = pytest.importorskip("jax.numpy")
    return [numpy.ones(3), numpy.arange(3)]


@pytest.mark.parametrize("library", [_pandas, _xarray, _torch, _jax])
def test_arrays_of_libraries_that_are_installed(library: Any) -> None:
    f = tj.jit(lambda x: x * 2)
    for value in library():
        expected = tj.asarray(value) * 2
        for _ in range(2):
            result = f(value)
            assert result.type == expected.type
            assert result.tolist() == expected.tolist()
            assert tj.vmap(lambda x: x * 2)(value).tolist() == expected.tolist() if expected.ndim else True
    assert f.explain().signatures


def test_a_tensor_of_pytorch_that_requires_gradients() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(
        tj.DTypeError, match=r"argument args\[0\]: a torch.Tensor cannot be read as an array: .*grad"
    ):
        tj.jit(lambda x: x * 2)(torch.ones(3, requires_grad=True))
