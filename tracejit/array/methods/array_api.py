"""What the Array API standard asks of arrays beside NumPy's methods."""

from __future__ import annotations

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
    if api_version is not None and api_version not in VERSIONS:
        raise ArgumentError(
            f"__array_namespace__: api_version must be one of {VERSIONS}, got {api_version!r}"
        )
    return sys.modules[__name__.split(".", 1)[0]]


def _to_device(x: Tensor, device: Any, *, stream: Any = None) -> Tensor:
    """`x`, which is on the only device there is. Raises DomainError for another one."""
    if device != "cpu" or stream is not None:
        raise DomainError(
            f"to_device: device must be 'cpu', the only one there is, without stream; got {device!r}"
        )
    return x


METHODS: Final[dict[str, Callable[..., Any]]] = {"__array_namespace__": _namespace, "to_device": _to_device}
