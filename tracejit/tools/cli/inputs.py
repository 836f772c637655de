"""Inputs for Functions: from files of arrays, or random."""

from __future__ import annotations

from typing import Any
from zipfile import BadZipFile

import numpy as np

from ...ir.dtypes import SHORT_NAME, is_complex
from ...ir.graph import Function
from ...ir.types import TensorType
from .errors import TargetError, UsageError

Array = np.ndarray[Any, Any]


def random_inputs(function: Function, seed: int) -> list[Array]:
    """Arrays of the parameters' types: normal floats and complex parts, integers to 9, fair booleans."""
    rng = np.random.default_rng(seed)
    return [random_array(rng, param.type) for param in function.params]


def random_array(rng: np.random.Generator, type: TensorType) -> Array:
    """An array of `type`, likewise."""
    if type.dtype.kind == "f":
        return np.asarray(rng.standard_normal(type.shape), type.dtype)
    if is_complex(type.dtype):
        return np.asarray(rng.standard_normal((*type.shape, 2)) @ np.array([1, 1j]), type.dtype)
    return np.asarray(rng.integers(0, 2 if type.dtype.kind == "b" else 10, type.shape), type.dtype)


def read_arrays(path: str, alone: str = "arr_0") -> dict[str, Array]:
    """The arrays of a ``.npz`` by name, or that of a ``.npy``, which is called `alone`. Raises UsageError and
    TargetError."""
    try:
        loaded = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except (ValueError, EOFError, BadZipFile) as error:
        raise TargetError(f"{path} is not a .npz or .npy file of arrays") from error
    if isinstance(loaded, np.ndarray):
        return {alone: loaded}
    with loaded:
        return {name: loaded[name] for name in loaded.files}


def read_inputs(function: Function, path: str) -> list[Array]:
    """The parameters' arrays from a ``.npz`` (by name, or ``arr_0``, ``arr_1``, ...) or, for a Function of
    one parameter, a ``.npy``. Raises UsageError and TargetError."""
    names = [param.hint or f"arg{i}" for i, param in enumerate(function.params)]
    stored = read_arrays(path, names[0] if names else "x")
    arrays = []
    for position, (name, param) in enumerate(zip(names, function.params, strict=True)):
        array = stored.get(name, stored.get(f"arr_{position}"))
        if array is None:
            raise TargetError(f"{path} has no array {name!r}, it has {', '.join(stored) or 'none'}")
        if array.shape != param.shape or array.dtype != param.dtype:
            raise TargetError(f"{path}: array {name!r} must be {param.type}, is {type_of(array)}")
        arrays.append(array)
    return arrays


def type_of(array: Array) -> str:
    """The type of `array` in messages, ``f64[3]``."""
    return f"{SHORT_NAME.get(array.dtype, array.dtype)}[{','.join(map(str, array.shape))}]"
