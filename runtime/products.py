"""The product functions of this process: one per dtype, compiled when a function first needs it.

They stay for the life of the process: code that calls them may be dropped and made again at any time.
"""

from __future__ import annotations

import os
import threading

from ..codegen.interface import PRODUCT_KERNELS, Library, pack_symbol, product_symbol
from .objects import load_support


class _Products:
    """The product functions linked so far, by dtype."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        #: By dtype: the kernels, and the function that calls them.
        self.libraries: dict[str, tuple[Library, Library]] = {}

    def addresses(self, dtype: str) -> dict[str, int]:
        with self.lock:
            if dtype not in self.libraries:
                kernels = load_support("product kernels", PRODUCT_KERNELS, {}, dtype)
                driver = load_support("product", [product_symbol(dtype)], kernels.addresses, dtype)
                self.libraries[dtype] = kernels, driver
            kernels, driver = self.libraries[dtype]
            return {
                product_symbol(dtype): driver.addresses[product_symbol(dtype)],
                pack_symbol(dtype): kernels.addresses[PRODUCT_KERNELS[1]],
            }

    def after_fork(self) -> None:
        """In a child: the thread that held the lock may not be there. What is linked stays so."""
        self.lock = threading.Lock()


_PRODUCTS = _Products()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PRODUCTS.after_fork)


def product_addresses(dtype: str) -> dict[str, int]:
    """The addresses, by name, of the functions for products of `dtype`, f32 or f64."""
    return _PRODUCTS.addresses(dtype)
