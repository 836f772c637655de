"""Compile one maths function over arrays, and measure its error in ULPs against mpmath."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import mpmath as mp
import numpy as np
from numpy.typing import NDArray

from tracejit.codegen.llvm.emitter import LLVM_SCALAR, Reg
from tracejit.codegen.llvm.function import Declarations, text_of
from tracejit.codegen.llvm.target import host
from tracejit.codegen.maths import MathsWriter

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
Array = NDArray[Any]
NUMPY = {name: {"f": "float", "i": "int", "u": "uint"}.get(name[0], "") + name[1:] for name in LLVM_SCALAR}
NUMPY["bool"] = "bool"
#: Lanes of the widest vectors in use, by dtype.
NATIVE = {"f32": 16, "f64": 8}
_counter = iter(range(10**9))


@cache
def jit() -> tuple[Any, Any]:
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    triple = llvm.Target.from_triple(llvm.get_process_triple())
    machine = triple.create_target_machine(cpu=cpu, features=features, opt=2, codemodel="jitdefault")
    return machine, llvm.create_lljit_compiler(
        triple.create_target_machine(cpu=cpu, features=features, opt=2)
    )


def module_text(
    method: str,
    dtypes: Sequence[str],
    lanes: int,
    branches: bool = True,
    name: str = "kernel",
    wide_tables: bool | None = None,
) -> str:
    """The IR of ``void name(ptr out, ptr a, ..., i64 n)``, n a multiple of `lanes`.

    With AVX-512's tables where this machine has them, unless `wide_tables` says otherwise.
    """
    declarations = Declarations(host())
    if wide_tables is not None:
        declarations.wide_tables = wide_tables
    w = MathsWriter(declarations)
    w.branches = branches

    def step(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        places = [w.offset(f"%a{position}", dtype, index) for position, dtype in enumerate(dtypes)]
        arguments = [w.load(place, dtype, lanes) for place, dtype in zip(places, dtypes, strict=True)]
        result: Reg = getattr(w, method)(*arguments)
        w.store(result, w.offset("%out", result.dtype, index))
        return ()

    w.loop(0, Reg("%n", "i64"), lanes, step, nonempty=True)
    w.ret()
    parameters = ", ".join(
        ["ptr noalias %out", *(f"ptr noalias %a{i}" for i in range(len(dtypes))), "i64 %n"]
    )
    function = w.function(f"void @{name}({parameters})", 'nounwind "prefer-vector-width"="512"')
    return text_of([*w.declarations.values(), function])


def link(text: str, name: str) -> tuple[int, Any]:
    """Compile the text; the address of `name`, and what must stay alive while it is used."""
    machine, compiler = jit()
    module = llvm.parse_assembly(text)
    module.verify()
    image = machine.emit_object(module)
    library = llvm.JITLibraryBuilder().add_object_img(image).export_symbol(name).link(compiler, f"lib_{name}")
    return library[name], library


@cache
def compiled(
    method: str,
    dtypes: tuple[str, ...],
    result: str,
    lanes: int,
    branches: bool = True,
    wide_tables: bool | None = None,
) -> Callable[..., Array]:
    """The function over equally long arrays, in vectors of `lanes`."""
    name = f"kernel_{next(_counter)}"
    address, library = link(module_text(method, dtypes, lanes, branches, name, wide_tables), name)
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(dtypes) + 1), ctypes.c_int64)(address)

    def call(*arrays: Array) -> Array:
        size = arrays[0].size
        padded = -(-size // lanes) * lanes
        held = []
        for array, dtype in zip(arrays, dtypes, strict=True):
            ones = np.ones(padded, NUMPY[dtype])
            ones[:size] = array
            held.append(ones)
        out = np.zeros(padded, NUMPY[result])
        entry(out.ctypes.data, *(ones.ctypes.data for ones in held), padded)
        return out[:size]

    call.library = library  # type: ignore[attr-defined]
    return call


def ulp_errors(got: Array, exact: Sequence[Any], floor: Sequence[float] | None = None) -> Array:
    """|got - exact| in ulps of the exact value (or of `floor`, where that is larger).

    Beyond the largest finite float an infinity has no error, and no more below the smallest.
    """
    info = np.finfo(got.dtype)
    errors = np.zeros(len(exact))
    largest = mp.mpf(float(info.max)) * (1 + mp.mpf(2) ** -(info.nmant + 2))
    for i, (value, truth) in enumerate(zip(got.tolist(), exact, strict=True)):
        if mp.isnan(truth) or np.isnan(value):
            errors[i] = 0.0 if mp.isnan(truth) and np.isnan(value) else np.inf
            continue
        size = abs(truth) if floor is None else max(abs(truth), mp.mpf(floor[i]))
        if np.isinf(value) or mp.isinf(truth):
            errors[i] = 0.0 if abs(truth) >= largest * (1 - mp.mpf(2) ** -24 / 2**30) else np.inf
            continue
        exponent = mp.frexp(size)[1] - 1 if size else info.minexp
        ulp = mp.mpf(2) ** max(exponent - info.nmant, int(info.minexp) - info.nmant)
        errors[i] = float(abs(mp.mpf(value) - truth) / ulp)
    return errors
