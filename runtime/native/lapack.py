"""Addresses of LAPACK's functions in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...base.errors import CompileError
from ...base.lapack.library import library
from ...codegen.interface import lapack_name
from ...ir.graph import Function
from ...ir.registry import Kind


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
