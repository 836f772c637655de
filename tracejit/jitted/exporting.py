"""Methods of jitted functions that take them out of this process; what they need loads at a call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..provided import CARRIED, EXPORTING

if TYPE_CHECKING:
    from ..carried import CarriedFunction
    from ..export.pointers import FunctionPointer
    from ..export.prototypes import Exported


class Carriable:
    """Mix-in for functions that can be sent with their machine code."""

    __slots__ = ()

    def with_machine_code(self, *specs: Any) -> CarriedFunction:
        """A function that does the same, and whose pickles take along the machine code: of calls so far, and
        for arguments like `specs` (arrays, ``TensorType``s, numbers), for which it is compiled now.

        The first call in another process finds the code if that has the same CPU and versions, and compiles
        otherwise. See docs/sending.md.

        Example:
            >>> import pickle
            >>> import tracejit as tj
            >>> f = tj.jit(tj.square).with_machine_code(tj.ones(3))
            >>> pickle.loads(pickle.dumps(f))(tj.ones(3))
            tensor([1., 1., 1.])

        Raises what compiling raises, and TracejitError where machine code is not kept on disk, from where it
        is taken.
        """
        carried: CarriedFunction = CARRIED()(self, specs)
        return carried


class Exportable:
    """Mix-in for functions that can be exported to programs without Python."""

    __slots__ = ()

    def export(
        self,
        path: str | os.PathLike[str],
        *specs: Any,
        grad: bool | int | Sequence[int] = False,
        jacobian: bool | int | Sequence[int] = False,
        hvp: bool | int | Sequence[int] = False,
        casadi: int | None = None,
        target: str | Sequence[str] = "native",
        kind: str = "object",
    ) -> Exported:
        """Write the function for arguments like `specs` as machine code for programs in C.

        `specs` are arrays, ``TensorType``s, numbers or their types (``float``), in containers; static
        arguments are values. The last part of `path` is the function's name in C. The files have that name
        and an ending: the code; ``.h``, with documented prototypes; ``.json``, with the same for programs.
        Beside the function, `grad` adds ``name_value_and_grad``, `jacobian` ``name_jacobian`` and `hvp`
        ``name_hvp`` (Hessian-vector products): by the first argument where they are True, else by those
        numbered. `casadi` adds ``name_casadi`` and its derivatives up to that order by the names that
        CasADi's ``external`` looks for.

        `kind` is "object" (``.o``), "shared" (``.so``, which takes a linker: the system's, or Zig's from the
        extra ``export``), "llvm" or "asm". `target` is "native", or another machine: ``x86-64-v3``,
        ``aarch64``, ``riscv64``, ``wasm32``, ``thumbv7em``, or a triple; with a CPU (``aarch64:neoverse-n1``)
        and features. Of several levels of x86-64 in a list the best one that a machine has runs there.

        The code holds what the function captures, needs no Python, begins no thread and returns a status. For
        this machine it computes the same bits as calls from Python. See docs/c.md.

        Example:
            >>> import tempfile
            >>> import tracejit as tj
            >>> f = tj.jit(lambda x: (x * x).sum())
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     exported = f.export(folder + "/square", tj.ones(3), grad=True)
            >>> print(exported.functions[1].declaration)
            int square_value_and_grad(const double *x, double *value, double *grad_x, void *workspace)

        Raises TraceError, with the lines, for what needs Python or LAPACK; TracejitError for targets that
        LLVM does not know, and where there is no linker.
        """
        exported: Exported = EXPORTING().export(self, path, specs, grad, jacobian, hvp, casadi, target, kind)
        return exported

    def cfunc(self, *specs: Any, signature: str | None = None) -> FunctionPointer:
        """A pointer to the function for arguments like `specs`, for code in this process that calls C.

        It takes pointers to arguments, results and a workspace, and returns a status, as a function that
        `export` writes. With a `signature` of C it takes and returns numbers: "double (double)",
        "double (double, void *)", or "double (int, double *, void *)" for numbers, or one array, behind a
        pointer; NaN stands for failure then. A signature that returns an integer, the status, takes pointers
        to arguments and results, with the sizes of the first arrays before them (a call with others returns
        -1): "int64_t (uint64_t, double *, double *, void *)".

        It needs no GIL, runs in the thread that calls, and may be called by several at a time. What the
        function captures are constants.

        Example:
            >>> import tracejit as tj
            >>> f = tj.jit(lambda x, y: x * y + 1)
            >>> pointer = f.cfunc(float, float, signature="double (double, double)")
            >>> pointer.ctypes(2.0, 3.0)
            7.0

        Raises as `export`, and ArgumentError for a signature that does not fit.
        """
        pointer: FunctionPointer = EXPORTING().function_pointer(self, specs, signature)
        return pointer
