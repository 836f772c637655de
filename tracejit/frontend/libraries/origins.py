"""Origins of functions and classes: the user's, or a library's, whose names are taken for constants."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any, Final

_STANDARD: Final = sys.stdlib_module_names
#: Flags of classes (``tp_flags``): made at run time, and without attributes that can be assigned.
_HEAP: Final = 1 << 9
_IMMUTABLE: Final = 1 << 8


def is_library(module: str | None) -> bool:
    """Whether functions of `module` are this package's, NumPy's or Python's, whose globals nobody rebinds."""
    root = (module or "").partition(".")[0]
    return root in ("tracejit", "numpy", "llvmlite", "scipy", "_pytest") or is_standard(module)


def is_standard(module: str | None) -> bool:
    """Whether `module` is one of Python's own."""
    root = (module or "").partition(".")[0]
    return root in _STANDARD and root != "__main__"


def is_own(module: str | None) -> bool:
    """Whether functions of `module` are this package's."""
    return (module or "").partition(".")[0] == "tracejit"


def is_user_function(function: FunctionType) -> bool:
    """Whether `function` is the user's code. Its globals tell: a library's wrapper has the user's module.

    What Python's own modules generate has no file: the methods of `dataclasses.make_dataclass` are the
    user's.
    """
    module = function.__globals__.get("__name__")
    return not is_library(module) or (is_standard(module) and function.__code__.co_filename == "<string>")


def is_library_class(cls: type) -> bool:
    """Whether `cls` is a library's.

    Classes that functions of Python's own modules make are the user's, though they have the module of their
    maker: of `types.new_class` and `dataclasses.make_dataclass`.
    """
    module = cls.__module__
    if not isinstance(module, str) or not is_library(module):
        return False
    if not is_standard(module) or not cls.__flags__ & _HEAP or cls.__flags__ & _IMMUTABLE:
        return True
    if "<locals>" in cls.__qualname__:
        return module != "builtins"  # of a class that `exec` made in a namespace without ``__name__``
    value: Any = sys.modules.get(module)
    for name in cls.__qualname__.split("."):
        value = getattr(value, "__dict__", {}).get(name)
    return value is cls
