"""Native functions of small eager operations: what `codegen.native.eager` needs of this process.

NumPy's inner loop is ``void f(char **data, intp *count, intp *steps, void *context)``; the fields of
PyUFuncObject are part of NumPy's public C interface (``ufuncobject.h``).
"""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...base.records import record
from ...codegen.interface import (
    CALL_TABLE,
    EAGER,
    EAGER_CALL,
    EAGER_JOIN,
    EAGER_LOOP,
    EAGER_NUMBERS,
    EAGER_TABLE,
    FLAG_FUNCTIONS,
    JOIN_KIND,
    JOIN_TABLE,
    SECOND,
    Library,
)
from ...codegen.native.entry.table import EntryLayout
from ...ir.dtypes import BOOL, BY_NAME, FLOAT16, FLOATS, INEXACT, SHORT_NAME, DType
from ..bypass import BYPASS_ADDRESS
from ..loading.objects import load_support
from .entry import MethodDef, function_of, is_checked

#: Byte offsets in PyUFuncObject.
_OPERANDS, _RESULTS, _FUNCTIONS, _CONTEXTS, _COUNT, _TYPES = 16, 20, 32, 40, 48, 64
_LOOP: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ssize_t), ctypes.c_void_p, ctypes.c_void_p
)


@record
class InnerLoop:
    """One inner loop: all its operands are of dtype `operand`."""

    function: int
    context: int
    operand: DType
    result: DType


def loops_of(ufunc: np.ufunc, dtypes: Sequence[DType]) -> Iterator[InnerLoop]:
    """The loops of `ufunc`, which has one result, for operands that are all of one of `dtypes`."""
    if not _layout_holds():
        return
    base = id(ufunc)
    functions, contexts = _word(base + _FUNCTIONS), _word(base + _CONTEXTS)
    for number, types in enumerate(ufunc.types):
        operands, result = types.split("->")
        for dtype in dtypes:
            if operands == dtype.char * ufunc.nin:
                function = _word(functions + 8 * number)
                context = _word(contexts + 8 * number) if contexts else 0
                if function:
                    yield InnerLoop(function, context, dtype, np.dtype(result))


def _word(address: int) -> int:
    return ctypes.c_void_p.from_address(address).value or 0


@functools.lru_cache(maxsize=1)
def _layout_holds() -> bool:
    """Whether a ufunc's object is laid out as here, and its loop for doubles adds."""
    base = id(np.add)
    kinds = [np.dtype(text).num for text in "".join(np.add.types).replace("->", "")]
    if (
        ctypes.c_int.from_address(base + _OPERANDS).value != 2
        or ctypes.c_int.from_address(base + _RESULTS).value != 1
        or ctypes.c_int.from_address(base + _COUNT).value != len(np.add.types)
        or list(ctypes.string_at(_word(base + _TYPES), len(kinds))) != kinds
    ):
        return False
    number = np.add.types.index("dd->d")
    add: Any = _LOOP(_word(_word(base + _FUNCTIONS) + 8 * number))
    x = np.array([1.0, 2.0, 3.0])
    y, out = x * 10, np.zeros(3)
    data = (ctypes.c_void_p * 3)(x.ctypes.data, y.ctypes.data, out.ctypes.data)
    add(data, ctypes.c_ssize_t(3), (ctypes.c_ssize_t * 3)(8, 8, 8), None)
    return out.tolist() == [11.0, 22.0, 33.0]


_METH_FASTCALL: Final = 0x0080
#: FE_INVALID, FE_DIVBYZERO, FE_OVERFLOW and FE_UNDERFLOW of <fenv.h>.
FLAGS: Final = {"x86_64": 1 | 4 | 8 | 16, "aarch64": 1 | 2 | 4 | 8}
_INTEGERS: Final = (BY_NAME["i64"], BY_NAME["i32"], BOOL)
#: Ask for the truth of a Python number, and not of what the other operand's dtype makes of it.
_TRUTHS: Final = (np.logical_and, np.logical_or, np.logical_xor)


class _Table(bytes):
    """The address of an op's table. It keeps the table alive, and the objects that the table refers to."""

    keep: Any


class NativeOps:
    """Makes the native functions of elementwise ops."""

    def __init__(self, layout: EntryLayout) -> None:
        """Links the code, which is found in the disk cache or compiled. Raises CompileError."""
        library = ctypes.CDLL(None)
        functions = {name: ctypes.cast(library[name], ctypes.c_void_p).value or 0 for name in FLAG_FUNCTIONS}
        flags = FLAGS[platform.machine()]
        self._definition = MethodDef(b"eager", None, _METH_FASTCALL, None)
        self._calling = MethodDef(b"eager", None, _METH_FASTCALL, None)
        self._joining = MethodDef(b"eager", None, _METH_FASTCALL, None)
        load_support(
            "eager",
            (EAGER, EAGER_CALL, EAGER_JOIN),
            layout.symbols | functions | {"tracejit_bypass": BYPASS_ADDRESS},
            layout,
            flags,
            is_checked(),
            parameters=(sorted(layout.slots.items()), flags, is_checked()),
            use=self._use,
        )
        _KEPT.append(self)

    def _use(self, library: Library) -> None:
        self._definition.use(EAGER, library)
        self._calling.use(EAGER_CALL, library)
        self._joining.use(EAGER_JOIN, library)

    def make_call(
        self,
        kernel: Callable[..., Any],
        slow: Callable[..., Any],
        remember: Callable[..., Any] | None,
        *,
        first: int = 0,
        operands: int = 1,
        second: str = "any",
        step: Callable[..., Any] | None = None,
        shorten: Callable[[list[Any]], None] | None = None,
        writable: bool = False,
    ) -> Callable[..., Any]:
        """A function that calls `kernel` with the arrays of its arguments from `first` on, as many as
        `operands` says (0: all), which are Tensors or Python numbers, and with the others as they are, and
        gives what that returns as a Tensor.

        ``slow(*arguments)`` is called for what does not suit it, and where `kernel` raises or returns None;
        ``remember(result, *arguments)`` where an operand requires a gradient and the result is floating. With
        a `step`, a result in the memory of the first argument becomes its view, by ``(step, argument)``, with
        a tuple of several arguments, and `shorten` is called with the list of its base's views where that is
        long: see `views`. If `writable`, it may be written where the first argument may.
        `second` says what the second argument must be: see `codegen.native.eager.calls`.
        """
        words = {
            "first": first, "operands": operands, "second": SECOND[second], "kernel": id(kernel),
            "slow": id(slow), "remember": 0 if remember is None else id(remember),
            "step": 0 if step is None else id(step), "shorten": 0 if shorten is None else id(shorten),
            "writable": int(writable),
        }  # fmt: skip
        return _bound(
            self._calling, [words[name] for name in CALL_TABLE], kernel, slow, remember, step, shorten
        )

    def make_join(
        self, slow: Callable[..., Any], remember: Callable[..., Any], *, stacking: bool
    ) -> Callable[..., Any]:
        """A function ``(arrays, axis)`` that joins the Tensors of a list or a tuple along an axis, a new one
        where that is `stacking`.

        ``slow(arrays, axis)`` is called for what does not suit it; ``remember(result, axis, *arrays)``, with
        the axis counted from the front, where an operand requires a gradient and the result is floating.
        """
        header = {
            "stacking": int(stacking), "slow": id(slow), "remember": id(remember),
            "kinds": len(SHORT_NAME),
        }  # fmt: skip
        words = [header[name] for name in JOIN_TABLE]
        for dtype in sorted(SHORT_NAME, key=lambda dtype: (dtype not in FLOATS, dtype is FLOAT16)):
            kind = {"descr": id(dtype), "bytes": dtype.itemsize, "floating": int(dtype in INEXACT)}
            words += [kind[name] for name in JOIN_KIND]
        return _bound(self._joining, words, slow, remember)

    def make(
        self, ufunc: np.ufunc, slow: Callable[..., Any], remember: Callable[..., Any] | None, *, floats: bool
    ) -> Callable[..., Any]:
        """The inner loops of `ufunc` as a function of Tensors, or without `remember` of ndarrays with an
        ndarray as result.

        `slow` is called for what the ufunc's loops do not serve, with `floats` just those of floating dtypes;
        `remember` with result and operands where an operand requires a gradient.
        """
        loops = list(loops_of(ufunc, FLOATS if floats else FLOATS + _INTEGERS))
        loops.sort(key=lambda loop: loop.operand is FLOAT16)  # which is asked for least
        header = {
            "tensors": int(remember is not None), "operands": ufunc.nin, "slow": id(slow),
            "remember": id(remember), "loops": len(loops),
        }  # fmt: skip
        words = [header[name] for name in EAGER_TABLE]
        for loop in loops:
            words += _words(loop, numbers=ufunc not in _TRUTHS)
        return _bound(self._definition, words, slow, remember, ufunc)


#: The objects that native functions refer to without owning a reference.
_KEPT: Final[list[NativeOps]] = []


def _bound(definition: MethodDef, words: list[int], *refers: Any) -> Callable[..., Any]:
    """The function of `definition` with a table of `words`, which hold addresses of the objects `refers`."""
    table = (ctypes.c_int64 * len(words))(*words)
    bound = _Table(ctypes.addressof(table).to_bytes(8, "little"))
    bound.keep = (table, *refers)
    function: Callable[..., Any] = function_of(definition, bound)
    return function


def _words(loop: InnerLoop, *, numbers: bool) -> list[int]:
    words = {
        "operand": id(loop.operand),
        "function": loop.function,
        "data": loop.context,
        "result": id(loop.result),
        "operand_bytes": loop.operand.itemsize,
        "result_bytes": loop.result.itemsize,
        "numbers": EAGER_NUMBERS.get(SHORT_NAME[loop.operand] if numbers else "none", EAGER_NUMBERS["none"]),
        "gradients": int(loop.result in INEXACT),
    }
    return [words[name] for name in EAGER_LOOP]


def eager_problem() -> str:
    """The reason why native eager operations are unavailable here, empty if they are available."""
    if platform.machine() not in FLAGS:
        return f"no floating-point flags known for {platform.machine()}"
    if not any(loops_of(np.add, FLOATS)):
        return "NumPy's ufuncs are laid out in another way"
    return ""
