"""Machine code of this process for matrices: product functions, and LAPACK's addresses.

They stay for the life of the process: code that calls them may be dropped and made again at any time. Their
kernels come in two tiers (`tiers`), so that the first product need not wait for the better ones.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Collection, Iterable, Mapping

from ...codegen.interface import (
    LONE_NUMBERS,
    PARALLEL_FOR,
    PRODUCT_KERNELS,
    PRODUCT_TABLE,
    Library,
    lapack_name,
    out_of_memory,
    pack_symbol,
    product_symbol,
)
from ...ir.errors import CompileError
from ...ir.graph import Function
from ...ir.lapack.library import library
from ...ir.machine import Machine, machine, use_machine
from ...ir.process.locks import ForkLock
from ...ir.registry import Kind
from ..cache.code import Code
from ..cache.objects import link, load_support, support_image
from ..tiers import BACKGROUND, tiers_are_on


def lapack_addresses(symbols: Iterable[str]) -> Mapping[str, int]:
    """The addresses by symbol."""
    lapack = library()
    addresses = {}
    for symbol in symbols:
        name, bits = lapack_name(symbol)
        address = 0
        if lapack is not None and lapack.integer_bits == bits:
            threads = {"get_threads": lapack.get_threads, "set_threads": lapack.set_threads}
            address = threads.get(name) or lapack.find(name)
        if not address:
            raise CompileError(f"there is no {name} with integers of {bits} bits in this process")
        addresses[symbol] = address
    return addresses


def lapack_key(function: Function) -> str:
    """The part of a cache key that describes this process's LAPACK; empty if `function` calls none."""
    if not any(instruction.op.kind is Kind.LINALG for instruction in function.instructions()):
        return ""
    lapack = library()
    return (
        "no LAPACK"
        if lapack is None
        else f"LAPACK {lapack.source} {lapack.integer_bits} {lapack.set_threads > 0}"
    )


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


def single_gemm_code(fused: Function, donated: Collection[int]) -> Code | None:
    """The baseline tier of `fused` if that is a single product, without any compilation; else None.

    Where its own kernel would not use the product functions and they are not there yet, they are made in the
    background, for the next product.
    """
    if donated or not tiers_are_on() or all(each.op.kind is not Kind.CONTRACTION for each in fused.body):
        return None
    from ...codegen.llvm.target import host
    from ...codegen.module.single_gemm import single_gemm_product

    product = single_gemm_product(fused, host())
    if product is None:
        return None
    if not (product.packs or products_are_linked(product.dtype)):
        BACKGROUND.submit(functools.partial(_prepare, machine(), product.dtype))
        return None
    return Code(
        support_image("single gemm", product.dtype),
        errors=[out_of_memory(product.workspace)],
        parallel=product.pooled,
        polls=True,
        products=[product.dtype],
        host_calls=[],
        exports=["main"],
        cycles=product.cycles,
        kernels=1,
        arena_bytes=product.workspace if product.packs else 0,
        reuses={},
        numbers=product.numbers,
    )


def _prepare(current: Machine, dtype: str) -> None:
    """Compile the kernels and the support code for later products of `dtype`."""
    with use_machine(current):
        product_addresses(dtype)
        support_image("single gemm", dtype)


def link_single_gemm(code: Code, imports: Mapping[str, int]) -> Library:
    """Link the code from `single_gemm_code`."""
    numbers = (*code.numbers, imports.get(PARALLEL_FOR, 0))
    table = (ctypes.c_int64 * len(numbers))(*numbers)
    library = link(code.image, code.exports, {**imports, LONE_NUMBERS: ctypes.addressof(table)})
    library.tracker = library.tracker, table  # it lives as long as the code that reads it
    return library
