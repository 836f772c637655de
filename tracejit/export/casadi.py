"""Programs for CasADi: matrices by columns, and Jacobians of all results by all arguments.

Everything is a vector of a matrix's elements by columns. Of a function of such vectors the Jacobian's blocks
are again vectors by columns, so that a derivative of the second order is the Jacobian of the Jacobian.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from ..base.errors import ArgumentError
from ..base.records import record
from ..codegen.export.casadi import CasadiFunction, CasadiMatrix
from ..ir.dtypes import FLOAT64
from ..ir.types import TensorType
from ..jitted.function import JitFunction
from ..jitted.jit import jit
from ..pytree import flatten
from ..transforms.jacobians import jacfwd, jacrev
from .programs import Derivatives, ExportedProgram, arguments_of, programs_of

Vectors: TypeAlias = tuple[Any, ...]
#: Words that are no names in CasADi.
_RESERVED: Final = ("null", "jac", "hess")


@record(eq=False)
class CasadiProgram:
    """A program for CasADi, and what it is there; the workspace is known when it is compiled."""

    program: ExportedProgram
    name: str
    inputs: tuple[CasadiMatrix, ...]
    outputs: tuple[CasadiMatrix, ...]
    used: int

    def function(self, workspace: int) -> CasadiFunction:
        """The function that calls the program."""
        return CasadiFunction(self.name, self.program.name, self.inputs, self.outputs, self.used, workspace)


@record(eq=False)
class _VectorFunction:
    """A function of vectors that is `name` in CasADi, for the first of its `inputs`."""

    name: str
    compute: Callable[..., Vectors]
    inputs: tuple[CasadiMatrix, ...]
    outputs: tuple[CasadiMatrix, ...]
    used: int


def casadi_programs(
    name: str, function: JitFunction, specs: Sequence[Any], value: ExportedProgram, order: Any
) -> list[CasadiProgram]:
    """The program `value`, which is `function` for `specs`, as ``name_casadi``, and its derivatives up to an
    `order`.

    Raises ArgumentError for what CasADi has no matrices for.
    """
    if isinstance(order, bool) or order not in (0, 1, 2):
        raise ArgumentError(f"export: casadi must be the order of derivatives, 0, 1 or 2, got {order!r}")
    vector_function = _of_vectors(f"{name}_casadi", function, specs, value)
    programs = []
    for number in range(order + 1):
        if number:
            vector_function = _jacobian(vector_function)
        programs.append(_program(f"{name}_by_columns{'_jacobian' * number}", vector_function))
    return programs


def _of_vectors(
    name: str, function: JitFunction, specs: Sequence[Any], value: ExportedProgram
) -> _VectorFunction:
    params = value.function.params[: len(value.arguments)]
    inputs = tuple([_matrix(*pair) for pair in zip(value.arguments, params, strict=True)])
    outputs = tuple([_matrix(*pair) for pair in zip(value.results, value.function.results, strict=True)])
    args = arguments_of(function, specs)
    static = function._static_argnums
    leaves, structure = flatten([arg for position, arg in enumerate(args) if position not in static])
    assert len(leaves) == len(params)

    def compute(*vectors: Any) -> Vectors:
        arrays = [_array(vector, param.shape) for vector, param in zip(vectors, params, strict=True)]
        dynamic = iter(structure.unflatten(arrays))
        every = [arg if position in static else next(dynamic) for position, arg in enumerate(args)]
        return tuple([_vector(leaf) for leaf in flatten(function(*every))[0]])

    return _VectorFunction(name, compute, inputs, outputs, len(inputs))


def _matrix(name: str, value: Any) -> CasadiMatrix:
    """The CasADi matrix for an array. Raises ArgumentError for an array that CasADi cannot represent."""
    if value.dtype != FLOAT64 or len(value.shape) > 2:
        raise ArgumentError(
            f"export: CasADi has float64 matrices alone, and {name} is {value.type}; leave casadi out"
        )
    rows, columns = (*value.shape, 1, 1)[:2]
    readable = re.sub("_+", "_", name).strip("_")
    return CasadiMatrix(f"{readable}_value" if readable in _RESERVED else readable, rows, columns)


def _array(vector: Any, shape: tuple[int, ...]) -> Any:
    return vector.reshape(shape[::-1]).T if len(shape) == 2 else vector.reshape(shape)


def _vector(array: Any) -> Any:
    return (array.T if array.ndim == 2 else array).reshape((-1,))


def _jacobian(function: _VectorFunction) -> _VectorFunction:
    """The blocks of the Jacobian, of each result by each argument. CasADi passes the results as well."""
    used = function.used
    elements = [
        sum(matrix.rows * matrix.columns for matrix in matrices if not matrix.zero)
        for matrices in (function.inputs[:used], function.outputs)
    ]
    transform = jacfwd if elements[0] <= elements[1] else jacrev

    def compute(*vectors: Any) -> Vectors:
        blocks = transform(function.compute, tuple(range(used)))(*vectors)
        return tuple([_vector(block) for row in blocks for block in row])

    nominal = [CasadiMatrix(f"out_{output.name}", output.rows, output.columns, output.zero)
               for output in function.outputs]  # fmt: skip
    outputs = [
        CasadiMatrix(
            f"jac_{output.name}_{given.name}", output.rows * output.columns, given.rows * given.columns,
            zero=output.zero or number >= used,
        )
        for output in function.outputs
        for number, given in enumerate(function.inputs)
    ]  # fmt: skip
    return _VectorFunction(
        f"jac_{function.name}", compute, (*function.inputs, *nominal), tuple(outputs), used
    )


def _program(name: str, function: _VectorFunction) -> CasadiProgram:
    specs = [
        TensorType(FLOAT64, (matrix.rows * matrix.columns,)) for matrix in function.inputs[: function.used]
    ]
    (program,) = programs_of(name, jit(function.compute), specs, Derivatives())
    return CasadiProgram(program, function.name, function.inputs, function.outputs, function.used)
