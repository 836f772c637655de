"""The argument ``out=`` of functions that compute their whole result first."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..eager.tensor import Tensor

__all__ = ["write_out"]


def write_out(name: str, out: Any, result: Tensor) -> Tensor:
    """Write the `result` of the function `name` to `out`, and return that.

    The module that does it loads at first use, and imports the modules of the functions that call this.
    """
    options = import_module(".numpy_calls.options", __package__)
    return options.write_out(name, out, result)  # type: ignore[no-any-return]
