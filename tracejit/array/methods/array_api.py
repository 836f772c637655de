"""What the Array API standard asks of arrays beside NumPy's methods."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from ...eager.tensor import Tensor
from ...ir.errors import ArgumentError, DomainError

#: The versions of the standard that the names of the package follow.
VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12")


def _namespace(x: Tensor, /, *, api_version: str | None = None) -> ModuleType:
    """The module whose functions take tensors. Raises ArgumentError for other versions of the standard."""
    if not (api_version is None or (isinstance(api_version, str) and api_version in VERSIONS)):
        raise ArgumentError(
            f"__array_namespace__: api_version must be one of {VERSIONS}, got {reprlib.repr(api_version)}"
        )
    return sys.modules[__name__.split(".", 1)[0]]


def _to_device(x: Tensor, device: Any, *, stream: Any = None) -> Tensor:
    """`x`, which is on the only device there is. Raises DomainError for another one."""
    if not (isinstance(device, str) and device == "cpu") or stream is not None:
        raise DomainError(f"to_device: device must be 'cpu', without stream; got {reprlib.repr(device)}")
    return x


METHODS: Final[dict[str, Callable[..., Any]]] = {"__array_namespace__": _namespace, "to_device": _to_device}
