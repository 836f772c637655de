"""Product functions of this process.

They stay for the life of the process: code that calls them may be dropped and made again at any time. Their
kernels come in two tiers (`tiers`), so that the first product need not wait for the better ones.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

from ...base.machine import machine
from ...base.process.locks import ForkLock
from ...codegen.interface import (
    PRODUCT_KERNELS,
    PRODUCT_TABLE,
    Library,
    pack_symbol,
    product_symbol,
)
from ..loading.objects import load_support


class _Functions:
    """The product functions of a dtype. They look their kernels up in a table."""

    def __init__(self, dtype: str) -> None:
        self.table = (ctypes.c_int64 * len(PRODUCT_KERNELS))()
        #: Code that may be running: that of both tiers.
        self.kept: list[Library] = []
        load_support("product kernels", PRODUCT_KERNELS, {}, dtype, use=self._use)
        exports = (product_symbol(dtype), pack_symbol(dtype))
        imports = {PRODUCT_TABLE: ctypes.addressof(self.table)}
        library = load_support("product", exports, imports, dtype)
        self.kept.append(library)
        self.addresses = library.addresses

    def _use(self, kernels: Library) -> None:
        """Let products run these kernels from now on, also those that run: the bits are the same."""
        self.kept.append(kernels)
        for number, name in enumerate(PRODUCT_KERNELS):
            self.table[number] = kernels.addresses[name]


class _Products:
    """The product functions linked so far, by dtype and by the CPU's features, on which panels depend."""

    def __init__(self) -> None:
        self.lock = ForkLock()
        self.functions: dict[tuple[str, str], _Functions] = {}

    def addresses(self, dtype: str) -> Mapping[str, int]:
        key = dtype, machine().features
        with self.lock:
            if key not in self.functions:
                self.functions[key] = _Functions(dtype)
            return self.functions[key].addresses

    def linked(self, dtype: str) -> bool:
        return (dtype, machine().features) in self.functions


_PRODUCTS = _Products()


def products_are_linked(dtype: str) -> bool:
    """Whether the functions for products of `dtype` are there, so that they cost nothing."""
    return _PRODUCTS.linked(dtype)


def product_addresses(dtype: str) -> Mapping[str, int]:
    """The addresses, by name, of the functions for products of `dtype`, f32 or f64."""
    return _PRODUCTS.addresses(dtype)
