"""Namespace inspection, devices and exchange of arrays as the Array API standard defines them."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from ...base.errors import ArgumentError, DomainError, DTypeError
from ...ir.dtypes import INT64, DType, as_dtype, complex_dtype, default_dtype
from ...tensors.tensor import Tensor
from ..creation import asarray

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_UNIONS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


def check_device(name: str, device: Any) -> None:
    """Raise DomainError unless `device` is the only one there is, or None."""
    if device is not None and not (isinstance(device, str) and device == "cpu"):
        raise DomainError(f"{name}: device must be 'cpu', the only one there is; got {reprlib.repr(device)}")


class NamespaceInfo:
    """The result of ``__array_namespace_info__()``. Semantics: the Array API."""

    __module__ = "tracejit"

    def capabilities(self) -> dict[str, Any]:
        """The optional capabilities that the standard lists."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device of new arrays."""
        return "cpu"

    def devices(self) -> list[str]:
        """The devices that arrays may be on."""
        return ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The dtypes of new arrays."""
        check_device("default_dtypes", device)
        return {
            "real floating": default_dtype(),
            "complex floating": complex_dtype(default_dtype()),
            "integral": INT64,
            "indexing": INT64,
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The dtypes of a kind, or of several kinds, by name."""
        check_device("dtypes", device)
        kinds = (*_KINDS,) if kind is None else (kind,) if isinstance(kind, str) else kind
        names: list[str] = []
        for part in kinds:
            if part not in _KINDS and part not in _UNIONS:
                raise ArgumentError(f"dtypes: kind must be one of {[*_KINDS, *_UNIONS]}, got {part!r}")
            for single in _UNIONS.get(part, (part,)):
                names += _KINDS[single]
        return {name: as_dtype(name) for name in names}


def __array_namespace_info__() -> NamespaceInfo:
    """The devices, dtypes and capabilities of this namespace, for inspection. Semantics: the Array API."""
    return NamespaceInfo()


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """The array `x` of any library that speaks DLPack, as a tensor that shares its memory where it can.

    With ``copy=True`` it has memory of its own; with ``copy=False`` what would need a copy is an error.

    Example:
        >>> import numpy as np
        >>> import tracejit as tj
        >>> tj.from_dlpack(np.ones(2))
        tensor([1., 1.])

    Raises DomainError for another device than the processor, DTypeError for a dtype that tensors do not have.
    Semantics: the Array API's ``from_dlpack``.
    """
    check_device("from_dlpack", device)
    if not hasattr(x, "__dlpack__"):
        raise ArgumentError(f"from_dlpack: x must have a method __dlpack__, got {type(x).__name__}")
    if isinstance(x, Tensor):
        return asarray(x.numpy(), copy=copy)
    try:
        array = np.from_dlpack(x)
    except (BufferError, RuntimeError) as error:
        raise DTypeError(f"from_dlpack: x cannot be read: {error}") from error
    return asarray(array, copy=copy)
