"""Code of single-GEMM functions, which calls the process's product functions."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from ...base.loading import LazyModule
from ...base.machine import Machine, machine, use_machine
from ...codegen.interface import PARALLEL_FOR, SINGLE_GEMM_NUMBERS, Library, out_of_memory
from ...ir.graph import Function
from ...ir.registry import Kind
from ..cache.code import Code
from ..loading.objects import link, support_image
from ..tiers import BACKGROUND, tiers_are_on

if TYPE_CHECKING:
    from ...codegen.llvm import target
    from ...codegen.module import single_gemm
    from . import gemm
else:
    gemm = LazyModule(".gemm", __package__)
    target = LazyModule("...codegen.llvm.target", __package__)
    single_gemm = LazyModule("...codegen.module.single_gemm", __package__)


def single_gemm_code(fused: Function, donated: Collection[int]) -> Code | None:
    """The baseline tier of `fused` if that is a single product, without any compilation; else None.

    Where its own kernel would not use the product functions and they are not there yet, they are made in the
    background, for the next product.
    """
    if donated or not tiers_are_on() or all(each.op.kind is not Kind.CONTRACTION for each in fused.body):
        return None
    product = single_gemm.single_gemm_product(fused, target.host())
    if product is None:
        return None
    if not (product.packs or gemm.products_are_linked(product.dtype)):
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
        gemm.product_addresses(dtype)
        support_image("single gemm", dtype)


def link_single_gemm(code: Code, imports: Mapping[str, int]) -> Library:
    """Link the code from `single_gemm_code`."""
    numbers = (*code.numbers, imports.get(PARALLEL_FOR, 0))
    table = (ctypes.c_int64 * len(numbers))(*numbers)
    library = link(code.image, code.exports, {**imports, SINGLE_GEMM_NUMBERS: ctypes.addressof(table)})
    library.tracker = library.tracker, table  # it lives as long as the code that reads it
    return library
