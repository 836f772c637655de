"""C programs that call exported functions: what they compute, as arrays."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.export.pointers import FunctionPointer
from tracejit.export.prototypes import Exported

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

_MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

static void *take(size_t size) {{
    void *place = malloc(size + 1);
    if (!place || fread(place, 1, size, stdin) != size) exit(2);
    return place;
}}

int main(void) {{
{arguments}
{results}
    size_t size = {function}_workspace_size();
    char *workspace = malloc(size + 1);
    int status = {function}({passed}, size ? workspace + 1 : NULL);
    fprintf(stderr, "%s", {name}_status_message(status));
{writes}
    return status != 0;
}}
"""


def arrays_of(tree: Any) -> list[np.ndarray]:
    """The leaves of `tree` as contiguous arrays."""
    return [np.array(leaf, order="C") for leaf in tj.tree_leaves(tree)]


def compiled_program(exported: Exported, number: int, folder: Path, *flags: str) -> Path:
    """A program that reads the arguments of an exported function from its input and writes the results."""
    prototype = exported.functions[number]
    name = exported.header.stem
    arguments = [
        f"    const {parameter.c_type} *{parameter.name} = take({int(np.prod(parameter.shape))} * "
        f"{np.dtype(parameter.dtype).itemsize});"
        for parameter in prototype.arguments
    ]
    sizes = {
        parameter.name: int(np.prod(parameter.shape)) * np.dtype(parameter.dtype).itemsize
        for parameter in prototype.results
    }
    results = [
        f"    {parameter.c_type} *{parameter.name} = malloc({sizes[parameter.name]} + 1);"
        for parameter in prototype.results
    ]
    writes = [f"    fwrite({name_}, 1, {size}, stdout);" for name_, size in sizes.items()]
    passed = ", ".join(parameter.name for parameter in (*prototype.arguments, *prototype.results))
    source = folder / f"{prototype.name}_main.c"
    source.write_text(
        _MAIN.format(
            name=name, function=prototype.name, arguments="\n".join(arguments), results="\n".join(results),
            passed=passed, writes="\n".join(writes),
        )
    )  # fmt: skip
    program = folder / f"{prototype.name}_main"
    assert COMPILER is not None
    command = [
        COMPILER,
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wno-unused",
        "-Werror",
        str(source),
        str(exported.code),
        "-lm",  # fma, on machines without it
    ]
    subprocess.run([*command, "-I", str(exported.header.parent), "-o", str(program), *flags], check=True)
    return program


def run_program(
    exported: Exported, number: int, program: Sequence[str], arguments: Any
) -> tuple[str, list[np.ndarray]]:
    """The message and the results of an exported function in a program."""
    prototype = exported.functions[number]
    leaves = arrays_of(arguments)
    for leaf, parameter in zip(leaves, prototype.arguments, strict=True):
        assert (leaf.dtype.name, leaf.shape) == (parameter.dtype, parameter.shape)
    data = b"".join(leaf.tobytes() for leaf in leaves)
    run = subprocess.run(program, input=data, capture_output=True, timeout=60)
    results, place = [], 0
    for parameter in prototype.results:
        count = int(np.prod(parameter.shape))
        results.append(np.frombuffer(run.stdout, parameter.dtype, count, place).reshape(parameter.shape))
        place += count * np.dtype(parameter.dtype).itemsize
    return run.stderr.decode(), results


def call_pointer(pointer: FunctionPointer, *arguments: Any) -> tuple[int, list[np.ndarray]]:
    """The status and the results of a function pointer, with a workspace that is not aligned."""
    leaves = arrays_of(arguments)
    for leaf, parameter in zip(leaves, pointer.prototype.arguments, strict=True):
        assert (leaf.dtype.name, leaf.shape) == (parameter.dtype, parameter.shape)
    results = [np.empty(parameter.shape, parameter.dtype) for parameter in pointer.prototype.results]
    workspace = np.empty(pointer.workspace_bytes + 3, np.uint8)[3:]
    places = [array.ctypes.data for array in (*leaves, *results, workspace)]
    assert isinstance(pointer.ctypes, ctypes._CFuncPtr)
    return pointer.ctypes(*places), results


def assert_same_bits(results: Sequence[np.ndarray], expected: Any) -> None:
    """`results` are the leaves of `expected`, bit for bit."""
    leaves = [np.asarray(leaf) for leaf in tj.tree_leaves(expected)]
    assert [result.shape for result in results] == [leaf.shape for leaf in leaves]
    assert [result.dtype for result in results] == [leaf.dtype for leaf in leaves]
    assert [result.tobytes() for result in results] == [leaf.tobytes() for leaf in leaves]
