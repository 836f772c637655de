"""Arrays of other libraries: known by their methods, read in their own memory, refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.tensors.foreign_arrays import is_foreign, read_foreign


class WithArray:
    """An object with ``__array__``, as in pandas and xarray."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.data


class WithDLPack:
    """An array that speaks DLPack alone."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()


class Refusing:
    """An object whose ``__array__`` raises, like a tensor on another device."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise RuntimeError("it lies on the moon")


@pytest.mark.parametrize(
    "value", [1, 1.0, True, [1.0], (1,), "a", None, np.ones(2), np.float64(1), WithArray, range(3)]
)
def test_what_is_no_foreign_array(value: Any) -> None:
    assert not is_foreign(value)


@pytest.mark.parametrize("kind", [WithArray, WithDLPack])
def test_memory_is_shared(kind: Any) -> None:
    value = kind(np.arange(3.0))
    assert is_foreign(value)
    assert np.shares_memory(read_foreign(value), value.data)
    assert np.shares_memory(tj.asarray(value).numpy(), value.data)
    assert tj.sin(value).tolist() == np.sin(value.data).tolist()
    assert (tj.ones(3) + value).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Refusing(), r"a \w+\.Refusing cannot be read as an array: it lies on the moon"),
        (WithArray(["a"]), r"expected numbers, got a \w+\.WithArray of dtype <U1"),
        (WithArray(np.array([1j], "G")), "dtype complex256 is not supported"),
    ],
)
def test_refused(value: Any, message: str) -> None:
    with pytest.raises(tj.DTypeError, match=f"asarray: argument data: {message}"):
        tj.asarray(value)


class Doubled(np.ndarray):
    """An array whose products are twice as large."""

    def __mul__(self, other: Any) -> Any:
        return 2 * np.asarray(self) * np.asarray(other)


SUBCLASSES = {
    "matrix": np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix),
    "masked": np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[0, 1], [0, 0]]),
    "own": np.array([[1.0, 2.0], [3.0, 4.0]]).view(Doubled),
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", SUBCLASSES)
def test_arrays_of_classes_with_other_operations_run_as_python(name: str) -> None:
    array = SUBCLASSES[name]

    def f(x: Any) -> Any:
        return (x * x).sum()

    def g(x: Any) -> Any:
        return np.add(array, x).sum()

    plain = np.asarray(array)
    for function in (f, g):
        jitted = tj.jit(function)
        if function is f:
            assert np.asarray(jitted(plain)) == f(plain)
        with pytest.warns(tj.UncompiledCallWarning, match=r"whose operations are not ndarray's"):
            assert np.asarray(jitted(array if function is f else plain)) == function(
                array if function is f else plain
            )


def test_a_masked_result_keeps_its_mask() -> None:
    with pytest.warns(tj.UncompiledCallWarning, match="MaskedArray"):
        result = tj.jit(lambda x: x + 1)(SUBCLASSES["masked"])
    assert isinstance(result, np.ma.MaskedArray)
    assert result.mask.tolist() == [[False, True], [False, False]]


def test_memory_maps_are_arrays(tmp_path: Path) -> None:
    array = np.memmap(tmp_path / "array", dtype=float, shape=3, mode="w+")
    assert tj.jit(lambda x: x + 1)(array).tolist() == [1.0, 1.0, 1.0]
