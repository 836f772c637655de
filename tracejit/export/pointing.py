"""Function pointers into this process: what ``f.cfunc`` makes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

from ..base.errors import ArgumentError
from ..base.process.finalization import finalize
from ..codegen.export.adapters import Adapter, ArrayAdapter, adapter_text, array_adapter_text
from ..codegen.export.emission import LinkGroup
from ..codegen.llvm.target import host
from ..ir.dtypes import SHORT_NAME
from ..jitted.function import JitFunction
from ..runtime.loading.objects import link
from .compiling import compiled
from .identifiers import identifier
from .pointers import FunctionPointer
from .programs import Derivatives, ExportedProgram, programs_of
from .prototypes import CPrototype
from .signatures import ArraySignature, NumberSignature, Signature, read_signature

#: The largest workspace that a function of numbers has on the stack.
_MAX_STACK_BYTES: Final = 1 << 16


def function_pointer(function: JitFunction, specs: Sequence[Any], signature: str | None) -> FunctionPointer:
    """The function pointer of `function`, see `JitFunction.cfunc`."""
    name = identifier(function._name)
    (program,) = programs_of(name, function, specs, Derivatives())
    numbers = read_signature(signature) if signature is not None else None
    symbol = name if numbers is None else f"{name}_of_numbers"

    def adapt(prototypes: Sequence[CPrototype]) -> list[LinkGroup]:
        if numbers is None:
            return []
        workspace = prototypes[0].workspace_bytes
        if isinstance(numbers, ArraySignature):
            text = array_adapter_text(_array_adapter(symbol, numbers, program, workspace))
        else:
            text = adapter_text(_adapter(symbol, numbers, program, workspace))
        return [LinkGroup([text], [symbol])]

    code = compiled(name, [program], [host()], adapt=adapt)
    release = [f"{name}_release"] * code.keeps_memory
    library = link(code.emission.image, [symbol, *release], {})
    pointer = FunctionPointer(code.prototypes[0], numbers, code.messages, library, symbol)
    for export in release:
        # gives back the memory that the code keeps between calls, while the code is still there
        finalize(pointer, ctypes.CFUNCTYPE(None)(library.addresses[export]), keeping=library)
    return pointer


def _adapter(name: str, signature: NumberSignature, program: ExportedProgram, workspace: int) -> Adapter:
    """The function of `signature` around `program`. Raises ArgumentError where it does not fit."""
    params = program.function.params[: len(program.arguments)]
    results = program.function.results
    dtypes = tuple([SHORT_NAME[param.dtype] for param in params])
    numbers = all(param.shape == () for param in params)
    if signature.packed:
        fits = set(dtypes) <= set(signature.arguments) and (numbers or len(params) == 1)
    else:
        fits = numbers and dtypes == signature.arguments
    one_number = (
        len(results) == 1 and results[0].type.size == 1 and SHORT_NAME[results[0].dtype] == signature.result
    )
    if not (fits and one_number):
        raise _misfit(signature, program)
    _check_stack(workspace)
    return Adapter(
        name, program.name, dtypes, signature.result, signature.packed,
        signature.user_data, workspace,
    )  # fmt: skip


def _array_adapter(
    name: str, signature: ArraySignature, program: ExportedProgram, workspace: int
) -> ArrayAdapter:
    """The function of `signature` around `program`. Raises ArgumentError where it does not fit."""
    params = program.function.params[: len(program.arguments)]
    arrays = [*params, *program.function.results]
    if tuple([SHORT_NAME[value.dtype] for value in arrays]) != signature.pointers:
        raise _misfit(signature, program)
    if len(signature.counts) > len(arrays):
        raise _misfit(signature, program)
    _check_stack(workspace)
    counts = tuple([(dtype, value.type.size) for dtype, value in zip(signature.counts, arrays, strict=False)])
    return ArrayAdapter(
        name, program.name, signature.result, counts, len(arrays), signature.user_data, workspace
    )


def _misfit(signature: Signature, program: ExportedProgram) -> ArgumentError:
    params = program.function.params[: len(program.arguments)]
    listed = ", ".join(f"{name}: {param.type}" for name, param in zip(program.arguments, params, strict=True))
    returned = ", ".join(str(result.type) for result in program.function.results)
    return ArgumentError(
        f'cfunc: signature "{signature.text}" does not fit a function of ({listed}) with results ({returned})'
    )


def _check_stack(workspace: int) -> None:
    if workspace > _MAX_STACK_BYTES:
        raise ArgumentError(
            "cfunc: a function with a signature has its workspace on the stack, and this one needs "
            f"{workspace} bytes; leave signature out, and pass a workspace"
        )
