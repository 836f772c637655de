"""Requirements of the Array API standard beside functions: the namespace, devices, dtypes, DLPack."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tracejit as tj

MAKERS = {
    "arange": (3,), "asarray": ([1.0],), "empty": (3,), "empty_like": ([1.0],), "eye": (2,), "full": (2, 1.0),
    "full_like": ([1.0], 2.0), "linspace": (0, 1, 3), "ones": (2,), "ones_like": ([1.0],), "tensor": ([1.0],),
    "zeros": (2,), "zeros_like": ([1.0],), "astype": ([1.0], "int32"),
}  # fmt: skip


def test_the_namespace() -> None:
    x = tj.ones(2)
    assert x.__array_namespace__() is tj
    assert x.__array_namespace__(api_version=tj.__array_api_version__) is tj
    with pytest.raises(tj.ArgumentError, match="api_version"):
        x.__array_namespace__(api_version="1999.12")


@pytest.mark.parametrize("name", MAKERS)
def test_devices(name: str) -> None:
    function, arguments = getattr(tj, name), MAKERS[name]
    assert "device" in inspect.signature(function).parameters
    plain = function(*arguments)
    for device in (None, "cpu"):
        result = function(*arguments, device=device)
        assert (result.shape, result.dtype, result.device) == (plain.shape, plain.dtype, "cpu")
    with pytest.raises(tj.DomainError, match=f"{name}: device must be 'cpu'"):
        function(*arguments, device="cuda")


def test_to_device() -> None:
    x = tj.ones(2)
    assert x.to_device("cpu") is x
    with pytest.raises(tj.DomainError, match="to_device: device"):
        x.to_device("cuda")
    with pytest.raises(tj.DomainError, match="stream"):
        x.to_device("cpu", stream=1)


def test_what_there_is() -> None:
    info = tj.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.capabilities()["boolean indexing"]
    assert info.default_dtypes()["real floating"] == np.float64
    everything: dict[str, Any] = info.dtypes()
    assert set(everything) == {
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float32", "float64", "complex64", "complex128",
    }  # fmt: skip
    assert info.dtypes(kind="numeric").keys() == everything.keys() - {"bool"}
    assert [*info.dtypes(kind=("bool", "real floating"))] == ["bool", "float32", "float64"]
    assert [*info.dtypes(kind="complex floating")] == ["complex64", "complex128"]
    with pytest.raises(tj.ArgumentError, match="kind must be one of"):
        info.dtypes(kind="strange")
    with pytest.raises(tj.DomainError, match="device"):
        info.dtypes(device="cuda")


def test_dlpack_shares_memory() -> None:
    array = np.arange(3.0)
    x = tj.from_dlpack(array)
    array[0] = 7.0
    assert x.tolist() == [7.0, 1.0, 2.0]
    copy = tj.from_dlpack(array, copy=True)
    array[0] = 8.0
    assert copy.tolist() == [7.0, 1.0, 2.0]
    assert np.from_dlpack(tj.ones(2)).tolist() == [1.0, 1.0]
    assert tj.from_dlpack(tj.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(tj.ArgumentError, match="from_dlpack: x must have"):
        tj.from_dlpack([1.0])
    with pytest.raises(tj.DomainError, match="from_dlpack: device"):
        tj.from_dlpack(array, device="cuda")
