"""Interface between machine code and the code that links and calls it: names, sizes and records.

This module imports no code generation: a process that finds its machine code on disk needs nothing else of
`codegen`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..base.records import field, record
from ..ir.graph import Instruction

#: Prefix of several images that belong together.
_BUNDLE: Final = b"tracejit objects"


@record(eq=False, frozen=False)
class Library:
    """Linked code: addresses by symbol. It owns the code; dropping it gives the memory back."""

    addresses: Mapping[str, int]
    tracker: Any
    #: Whether it lets signals in, and may leave an exception.
    polls: bool = False
    #: Milliseconds by phase: parse, optimize, codegen, link.
    milliseconds: dict[str, float] = field(default_factory=dict)


def bundled(images: Sequence[bytes]) -> bytes:
    """Object images that are linked together, as one."""
    if len(images) == 1:
        return images[0]
    sizes = struct.pack(f"<{1 + len(images)}Q", len(images), *map(len, images))
    return b"".join([_BUNDLE, sizes, *images])


def images_of(image: bytes) -> list[bytes]:
    """The object images in the result of `bundled`."""
    if not image.startswith(_BUNDLE):
        return [image]
    (count,) = struct.unpack_from("<Q", image, len(_BUNDLE))
    at, images = len(_BUNDLE) + 8 + 8 * count, []
    for size in struct.unpack_from(f"<{count}Q", image, len(_BUNDLE) + 8):
        images.append(image[at : at + size])
        at += size
    return images


@record(eq=False, frozen=False)
class HostCall:
    """An instruction run by its NumPy kernel; `symbol` is what the module calls."""

    symbol: str
    instruction: Instruction


# -- functions -----------------------------------------------------------------------------------------

#: Symbol of the runtime's ``void parallel_for(ptr task, ptr context, i64 tasks, i64 chunk)``.
PARALLEL_FOR: Final = "tracejit_parallel_for"
#: Symbol of the runtime's ``i64 threads()``: how many ``parallel_for`` uses at most.
THREADS: Final = "tracejit_threads"


def product_symbol(dtype: str) -> str:
    """The name of the product function for `dtype`."""
    return f"tracejit_product_{dtype}"


def pack_symbol(dtype: str) -> str:
    """The name by which kernels call the packing function for `dtype`."""
    return f"tracejit_pack_{dtype}"


#: The functions in which products spend their time: the product of panels, and packing.
PRODUCT_KERNELS: Final = ("micro", "pack")
#: The symbol of their addresses, in this order, where their callers look them up: they come in two tiers.
PRODUCT_TABLE: Final = "product_kernels"

#: The symbol of the numbers of a function that is a single GEMM: `single_gemm.NUMBERS`.
SINGLE_GEMM_NUMBERS: Final = "single_gemm_numbers"


#: A function of code that keeps scratch blocks: it frees what else is kept, while calls may be in the code.
EARLY_RELEASE: Final = "release_early"


def out_of_memory(nbytes: int) -> str:
    """The message of code that finds no memory for intermediate values."""
    return f"out of memory: {nbytes} bytes for intermediate values"


# -- checks of accesses --------------------------------------------------------------------------------

#: Variable that holds the first failed check: its number in the kernel plus 1, its address and its buffer's.
REPORT: Final = "check_report"
#: Prefix of the messages of failed checks.
FAILED: Final = "checked code"
#: Prefix of the messages for which LinAlgError is raised: see `base.errors.checked_error`.
LINALG_ERROR: Final = "LinAlgError: "
#: Prefix of the messages for which IndexValueError is raised.
INDEX_VALUE_ERROR: Final = "IndexValueError: "

# -- C functions of the user's ---------------------------------------------------------------------------

#: Prefix of the symbols of C functions that are known by their addresses in this process.
_C_FUNCTION: Final = "c_function_"


def c_function_symbol(address: int) -> str:
    """The symbol by which generated code calls the C function at `address`."""
    return f"{_C_FUNCTION}{address:x}"


def c_functions(symbols: Iterable[str]) -> dict[str, int]:
    """The addresses of those of `symbols` that name such functions."""
    return {
        symbol: int(symbol.removeprefix(_C_FUNCTION), 16)
        for symbol in symbols
        if symbol.startswith(_C_FUNCTION)
    }


# -- LAPACK --------------------------------------------------------------------------------------------


def lapack_symbol(name: str, bits: int) -> str:
    """The symbol by which generated code calls a function of LAPACK with integers of so many bits."""
    return f"lapack{bits}_{name}"


def lapack_name(symbol: str) -> tuple[str, int]:
    """Name of the function that `lapack_symbol` names, and the bits of its integers."""
    bits, _, name = symbol.removeprefix("lapack").partition("_")
    return name, int(bits)


# -- signals -------------------------------------------------------------------------------------------

#: Symbol of ``i32 poll()``, which long loops call: not 0 where they are to be left (`interrupts`).
POLL: Final = "tracejit_poll"
#: The status of code that was left so: an exception is set then.
INTERRUPTED: Final = -1
#: Symbol of what runs a ``@main`` for callers in Python.
RUN_MAIN: Final = "tracejit_run"
#: Symbol of ``i32 call_back(callable, pointers)``: the status that a Python function returns, or
#: `INTERRUPTED` where it raises.
CALL_BACK: Final = "tracejit_call_back"
INTERRUPTS_EXPORTS: Final = (POLL, RUN_MAIN, CALL_BACK)
#: Symbols of the words that it keeps: the main thread; whether its signals raised; whether the pool's job is
#: cancelled; when to look for signals, and to let others have the GIL.
RAISED: Final = "tracejit_raised"
CANCELLED: Final = "tracejit_cancelled"
INTERRUPT_STATE: Final = (
    "tracejit_main_thread", RAISED, CANCELLED, "tracejit_next_look", "tracejit_next_turn",
)  # fmt: skip
#: C functions that it calls.
INTERRUPTS_FUNCTIONS: Final = (
    "PyGILState_GetThisThreadState", "PyGILState_Check", "PyGILState_Ensure", "PyGILState_Release",
    "PyErr_CheckSignals", "PyEval_SaveThread", "PyEval_RestoreThread", "PyObject_Vectorcall",
    "PyLong_FromLong", "PyLong_AsLongLong", "Py_DecRef",
)  # fmt: skip

# -- floating-point mode ---------------------------------------------------------------------------------

#: Symbol of ``i64 set_flushing(i64)``, and of the ``@main`` that is called with denormals flushed.
SET_FLUSHING: Final = "tracejit_set_flushing"
FLUSHED_MAIN: Final = "tracejit_flushed_main"

# -- the worker pool -----------------------------------------------------------------------------------

POOL_EXPORTS: Final = (PARALLEL_FOR, THREADS, "tracejit_worker", "tracejit_pool_init", "tracejit_workers")

# -- the allocator of large results --------------------------------------------------------------------

#: Results from this size on come from the cache.
CACHED_BYTES: Final = 1 << 15
RESULTS_EXPORTS: Final = ("tracejit_result_array", "tracejit_result_bytes")
#: C functions it calls, which the runtime resolves.
RESULTS_IMPORTS: Final = (
    "PyCapsule_New",
    "PyCapsule_GetPointer",
    "Py_DecRef",
    "PyArray_NewFromDescr",
    "PyArray_SetBaseObject",
)

# -- the native call entry -----------------------------------------------------------------------------

ENTRY: Final = "tracejit_entry"
#: C functions that it calls.
ENTRY_FUNCTIONS: Final = (
    "PyObject_Vectorcall", "PyType_GenericAlloc", "PyTuple_New", "PyList_New", "PyDict_New", "PyDict_SetItem",
    "PyDict_Next", "PyDict_Size", "PyDict_GetItemWithError", "PyObject_GetAttr", "PyEval_SaveThread",
    "PyEval_RestoreThread", "PyErr_Occurred", "PyErr_Clear", "PyLong_AsLongLong", "PyLong_FromLong",
    "Py_IncRef", "Py_DecRef", "PyType_IsSubtype", "PyErr_ExceptionMatches",
    "PyWeakref_NewRef", "Py_FatalError", "PyEval_GetGlobals", "PyUnicode_Tailmatch",
    "PyObject_GetBuffer",
)  # fmt: skip
#: Objects whose addresses it compares with, as symbols ``object_Tensor`` and so on.
ENTRY_OBJECTS: Final = (
    "None", "False", "True", "Tensor", "ndarray", "float", "int", "complex", "tuple", "list", "dict", "str",
    "slice", "Ellipsis", "Exception", "generic", "float16", "float32", "float64", "complex64", "complex128",
    "function", "key_of_name", "takes_arrays",
)  # fmt: skip
#: The beginning of the names of modules that get arrays, not Tensors, from the functions that they call.
TAKES_ARRAYS: Final = "scipy."
#: Offsets in CPython's objects; `runtime.native.capi` probes them.
TYPE, SIZE, TUPLE_ITEMS, LIST_ITEMS, CELL_REF, BYTES_DATA = 8, 16, 24, 24, 16, 32
SLICE_START, SLICE_STOP, SLICE_STEP = 16, 24, 32
WEAK_REFERENT: Final = 16
FUNCTION_CODE: Final = 48
#: Offsets in PyArrayObject, and of the value in a PyFloatObject.
ARRAY_DATA, ARRAY_NDIM, ARRAY_DIMS, ARRAY_STRIDES, ARRAY_BASE = 16, 24, 32, 40, 48
ARRAY_DESCR, ARRAY_FLAGS = 56, 64
FLOAT_VALUE: Final = 16
#: Offset of the two doubles in a PyComplexObject.
COMPLEX_VALUE: Final = 16
#: Offset of the value in a scalar of NumPy's.
SCALAR_VALUE: Final = 16
#: NPY_ARRAY_WRITEABLE; NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, and both.
WRITEABLE: Final = 0x400
ARRAY_PLAIN: Final = 0x1 | 0x100
#: Arguments of so many bytes that repeat their elements, by strides of 0, are not copied.
REPEATED_BYTES: Final = 1 << 20
ARRAY_WRITABLE: Final = ARRAY_PLAIN | WRITEABLE

# -- eager operations ----------------------------------------------------------------------------------

EAGER: Final = "tracejit_eager"
#: The function that gives the buffer of a Tensor, and the Python function that gives its array, or raises.
GET_BUFFER: Final = "tracejit_get_buffer"
ARRAY_OF: Final = "array_of"
EAGER_CALL: Final = "tracejit_eager_call"
EAGER_JOIN: Final = "tracejit_eager_join"
#: C's functions of <fenv.h> that it calls, beside those of `entry_code`.
FLAG_FUNCTIONS: Final = ("fetestexcept", "feclearexcept")
#: The symbol of an inner loop of a special function.
SPECIAL_LOOP: Final = "tracejit_special_loop"
#: Results of more elements are NumPy's business: it lets go of the GIL, and overhead is nothing there.
MAX_ELEMENTS: Final = 4096

#: The words of a table: whether operands and result are Tensors or ndarrays, how many operands the op takes,
#: the Python callables for what does not fit and for recording, and how many loops follow.
EAGER_TABLE: Final = ("tensors", "operands", "slow", "remember", "loops")
#: The words of a loop: descriptor of the operands, the ufunc's function and its data, descriptor of the
#: result, bytes of an operand's element and of the result's, how Python numbers become operands, and
#: whether results can require gradients.
EAGER_LOOP: Final = (
    "operand", "function", "data", "result", "operand_bytes", "result_bytes", "numbers", "gradients",
)  # fmt: skip
#: The words of the table of what calls a builtin function of NumPy's: which argument is the first operand and
#: how many there are (0: all that follow), what the second argument is (`SECOND`), the callables, what makes
#: the step of a view, what makes the list of a tensor's views shorter, and whether a view may be written
#: where its operand may.
CALL_TABLE: Final = (
    "first", "operands", "second", "kernel", "slow", "remember", "step", "shorten", "writable",
)  # fmt: skip
SECOND: Final = {"any": 0, "key": 1, "axis": 2, "matrix": 3, "shape": 4, "terms": 5, "ints": 6}
#: Number of arguments that a call has fewer of.
MAX_ARGUMENTS: Final = 8
#: The words of the table of what joins arrays: whether the axis is a new one, the callables, and how many
#: dtypes follow.
JOIN_TABLE: Final = ("stacking", "slow", "remember", "kinds")
#: The words of a dtype: its descriptor, the bytes of an element, and whether results can require gradients.
JOIN_KIND: Final = ("descr", "bytes", "floating")
#: Most arrays that are joined, and highest rank of the result.
MAX_JOINED: Final = 512
JOIN_RANK: Final = 16
#: Conversions of Python numbers to operands beside arrays of a dtype.
EAGER_NUMBERS: Final = {"none": 0, "f64": 1, "f32": 2, "i64": 3, "i32": 4}
