"""Every op computes the same bits in exported code as in compiled functions, or is refused."""

from __future__ import annotations

import ctypes
import zlib

import numpy as np
import pytest

from tracejit.codegen.export.emission import LinkGroup, emit
from tracejit.codegen.export.functions import (
    RUNTIME_EXPORTS,
    RUNTIME_TEXT,
    ExportedFunction,
    exported_module,
    product_texts,
)
from tracejit.codegen.interface import pack_symbol, product_symbol
from tracejit.codegen.llvm.target import host
from tracejit.ir.passes import run_passes
from tracejit.ir.registry import OPS
from tracejit.runtime.executable import Executable
from tracejit.runtime.loading.objects import link

from ...rotation import share_of
from ...samples import samples_of
from ...support import function_of, library_functions

#: Functions of the C library that compiled code for this machine may call, or that grow records of loops.
ALLOWED = library_functions(host()) | {"memmove", "memcmp", "realloc", "free"}
#: Functions of it that one op asks for.
ASKED = {"libm": {"exp", "log", "log1p"}, "libm_pow": {"pow"}}
NAMES = share_of(sorted(op.name for op in OPS), 10)


def bits(array):
    """The elements as bytes, each NaN as the same one: which of two NaNs a sum keeps, compilers choose."""
    if array.dtype.kind in "fc":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bits(name):
    op, rng = OPS[name], np.random.default_rng(zlib.crc32(name.encode()))
    try:
        samples = samples_of(op, rng)
    except LookupError as error:
        pytest.skip(str(error))
    sample = samples[rng.integers(len(samples))]
    operands = [np.array(operand, order="C") for operand in sample.operands]
    function = function_of("f", operands, lambda b, *params: b.apply(op, params, sample.attrs))
    module = exported_module([ExportedFunction("f", run_passes(function), ())], host(), "f_release")
    if module.refused:
        assert {reason for _, reason in module.refused} <= {"runs in Python", "calls LAPACK"}
        return
    products = [
        LinkGroup(product_texts(host(), dtype), [product_symbol(dtype), pack_symbol(dtype)])
        for dtype in module.products
    ]
    groups = [LinkGroup([module.text, *products], ["f"]), LinkGroup([RUNTIME_TEXT], RUNTIME_EXPORTS)]
    emission = emit(groups, ["f"], host())
    assert set(emission.undefined) <= ALLOWED | ASKED.get(name, set())
    library = link(emission.image, ["f"], {})
    results = [np.empty(result.shape, result.dtype) for result in function.results]
    workspace = np.empty(module.workspaces["f"] + 1, np.uint8)
    places = [array.ctypes.data for array in (*operands, *results, workspace)]
    call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * len(places))(library.addresses["f"])
    assert call(*places) == 0
    expected = Executable(function)(operands)
    assert [bits(result) for result in results] == [bits(np.asarray(array)) for array in expected]
