"""The native call entry: a vectorcall function around a module's ``@main``.

It checks that every argument is an ndarray or Tensor of the specialised dtype and shape (contiguous, aligned,
requiring no gradient) or a Python number where one is expected, allocates the results, runs ``@main`` and
wraps them. On anything else it calls its ``self``, the slow path, with the same arguments. ``self`` may be
the entry of another signature, so entries chain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..ir.records import record
from .loops import FunctionWriter
from .results import CACHED_BYTES


@record
class ArraySpec:
    """An array argument, capture or result: the address of its NumPy descriptor, and its shape."""

    descr: int
    shape: tuple[int, ...]
    itemsize: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.itemsize


@record
class ScalarSpec:
    """A Python number argument: ``float``, ``int`` or ``bool``; an int within `limits`, if any."""

    kind: str
    limits: tuple[int, int] | None = None


@record
class Same:
    """The very object at an address."""

    address: int


@record
class Capture:
    """Where a closed-over object is found at each call, and what it must be: ``object`` at a fixed address,
    the contents of a ``cell``, or the value of a key (at `key`) in the dict at `address`, for ``global``."""

    kind: str
    address: int
    key: int
    spec: ArraySpec | Same


@record
class EntrySpec:
    """What an entry checks and makes."""

    arguments: tuple[ArraySpec | ScalarSpec, ...]
    captures: tuple[Capture, ...]
    #: Objects that must be what they were when the function was traced.
    guards: tuple[Capture, ...]
    results: tuple[ArraySpec, ...]
    #: Whether the results come as a tuple, whatever their number.
    as_tuple: bool
    #: Whether to let go of the GIL while ``@main`` runs.
    release_gil: bool
    #: The address of a counter that is not 0 while calls must take the slow path.
    bypass: int


@record
class Layout:
    """Addresses and offsets of CPython and NumPy, from ``runtime.capi``."""

    functions: dict[str, int]
    objects: dict[str, int]
    slots: dict[str, int]
    array_offsets: tuple[int, int, int, int, int]
    plain_flags: int
    float_value: int


_SIGNATURES = {
    "PyObject_Vectorcall": "ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)",
    "PyType_GenericAlloc": "ptr @PyType_GenericAlloc(ptr, i64)",
    "PyTuple_New": "ptr @PyTuple_New(i64)",
    "PyEval_SaveThread": "ptr @PyEval_SaveThread()",
    "PyEval_RestoreThread": "void @PyEval_RestoreThread(ptr)",
    "PyErr_Occurred": "ptr @PyErr_Occurred()",
    "PyErr_Clear": "void @PyErr_Clear()",
    "PyLong_AsLongLong": "i64 @PyLong_AsLongLong(ptr)",
    "PyDict_GetItemWithError": "ptr @PyDict_GetItemWithError(ptr, ptr)",
    "Py_IncRef": "void @Py_IncRef(ptr)",
    "Py_DecRef": "void @Py_DecRef(ptr)",
    "PyArray_Empty": "ptr @PyArray_Empty(i32, ptr, ptr, i32)",
    "tracejit_result_array": "ptr @tracejit_result_array(ptr, ptr, i32, ptr, i64)",
}
#: Offset of ob_item in a PyTupleObject and of ob_ref in a PyCellObject, and of ob_type in any object.
_TUPLE_ITEMS, _CELL_REF, _OBJECT_TYPE = 24, 16, 8


def entry_text(spec: EntrySpec, layout: Layout) -> str:
    """The text of ``ptr @entry(ptr self, ptr args, i64 nargs, ptr kwnames)``, to add to a module."""
    return _EntryWriter(spec, layout).text()


class _EntryWriter:
    def __init__(self, spec: EntrySpec, layout: Layout) -> None:
        self.spec, self.layout = spec, layout
        self.w = FunctionWriter()
        self.used: set[str] = set()
        self.globals: list[str] = []
        #: The argument and capture arrays, and the result arrays, as registers.
        self.inputs: list[str] = []
        self.results: list[str] = []

    def text(self) -> str:
        w, spec = self.w, self.spec
        w.allocas.append(f"  %inputs = alloca [{max(1, len(spec.arguments) + len(spec.captures))} x ptr]")
        w.allocas.append(f"  %outputs = alloca [{max(1, len(spec.results))} x ptr]")
        self._require("icmp eq ptr %kwnames, null")
        self._require(f"icmp eq i64 %nargs, {len(spec.arguments)}")
        bypass = self._load_at(_address(spec.bypass), 0, "i64")
        self._require(f"icmp eq i64 {bypass}, 0")
        for guard in spec.guards:
            assert isinstance(guard.spec, Same)
            self._require(f"icmp eq ptr {self._captured(guard)}, {_address(guard.spec.address)}")
        for i, argument in enumerate(spec.arguments):
            value = self._load_at("%args", 8 * i)
            if isinstance(argument, ScalarSpec):
                self._set("%inputs", i, self._scalar(value, argument))
            else:
                self._set("%inputs", i, self._array(value, argument))
        for i, capture in enumerate(spec.captures):
            assert isinstance(capture.spec, ArraySpec)
            value = self._captured(capture)
            self._set("%inputs", len(spec.arguments) + i, self._array(value, capture.spec))
        # From here on the collector, or without the GIL another thread, may rebind a name or a tensor's data.
        self._for_inputs("Py_IncRef")
        arrays = [self._allocate(i, result) for i, result in enumerate(spec.results)]
        self._run(arrays)
        self._finish(arrays)
        self._slow()
        body = w.function("ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %kwnames)", "nounwind")
        declarations = [f"declare {_SIGNATURES[name]}" for name in sorted(self.used)]
        return "\n".join([*declarations, *self.globals, body])

    # -- pieces -----------------------------------------------------------------------------------

    def _require(self, condition: str) -> None:
        """Go to the slow path unless `condition` holds."""
        w = self.w
        name, good = w.fresh("ok"), w.label("good")
        w.line(f"{name} = {condition}")
        w.line(f"br i1 {name}, label %{good}, label %slow")
        w.start(good)

    def _call(self, name: str, result: str, *args: str) -> str:
        self.used.add(name)
        call = f"call {result} @{name}({', '.join(args)})"
        if result == "void":
            self.w.line(call)
            return ""
        register = self.w.fresh("r")
        self.w.line(f"{register} = {call}")
        return register

    def _load_at(self, base: str, offset: int, kind: str = "ptr") -> str:
        w = self.w
        place = base
        if offset:
            place = w.fresh("f")
            w.line(f"{place} = getelementptr i8, ptr {base}, i64 {offset}")
        value = w.fresh("l")
        w.line(f"{value} = load {kind}, ptr {place}")
        return value

    def _store_at(self, base: str, offset: int, value: str) -> None:
        w = self.w
        place = w.fresh("f")
        w.line(f"{place} = getelementptr i8, ptr {base}, i64 {offset}")
        w.line(f"store ptr {value}, ptr {place}")

    def _set(self, array: str, index: int, pointer: str) -> None:
        self._store_at(array, 8 * index, pointer)

    def _scalar(self, value: str, spec: ScalarSpec) -> str:
        """A stack slot with the number; another type of object goes the slow way."""
        w, layout, kind = self.w, self.layout, spec.kind
        if kind == "bool":
            true, false = _address(layout.objects["True"]), _address(layout.objects["False"])
            yes, no, either = w.fresh("t"), w.fresh("t"), w.fresh("t")
            w.line(f"{yes} = icmp eq ptr {value}, {true}")
            w.line(f"{no} = icmp eq ptr {value}, {false}")
            w.line(f"{either} = or i1 {yes}, {no}")
            self._require(f"icmp eq i1 {either}, true")
            slot, byte = w.slot("u8", 1), w.fresh("t")
            w.line(f"{byte} = zext i1 {yes} to i8")
            w.line(f"store i8 {byte}, ptr {slot}")
            return slot
        actual = self._load_at(value, _OBJECT_TYPE)
        self._require(f"icmp eq ptr {actual}, {_address(layout.objects[kind])}")
        if kind == "float":
            return self._offset(value, layout.float_value)
        number = self._call("PyLong_AsLongLong", "i64", f"ptr {value}")
        suspicious, fine, check = w.fresh("t"), w.label("fine"), w.label("check")
        w.line(f"{suspicious} = icmp eq i64 {number}, -1")
        w.line(f"br i1 {suspicious}, label %{check}, label %{fine}")
        w.start(check)
        error = self._call("PyErr_Occurred", "ptr")
        clear = w.label("clear")
        none = w.fresh("t")
        w.line(f"{none} = icmp eq ptr {error}, null")
        w.line(f"br i1 {none}, label %{fine}, label %{clear}")
        w.start(clear)
        self._call("PyErr_Clear", "void")
        w.line("br label %slow")
        w.start(fine)
        if spec.limits is not None:
            self._require(f"icmp sge i64 {number}, {spec.limits[0]}")
            self._require(f"icmp sle i64 {number}, {spec.limits[1]}")
        slot = w.slot("i64", 1)
        w.line(f"store i64 {number}, ptr {slot}")
        return slot

    def _offset(self, base: str, offset: int) -> str:
        place = self.w.fresh("f")
        self.w.line(f"{place} = getelementptr i8, ptr {base}, i64 {offset}")
        return place

    def _captured(self, capture: Capture) -> str:
        if capture.kind == "object":
            return _address(capture.address)
        if capture.kind == "cell":
            value = self._load_at(_address(capture.address), _CELL_REF)
        else:
            value = self._call(
                "PyDict_GetItemWithError",
                "ptr",
                f"ptr {_address(capture.address)}",
                f"ptr {_address(capture.key)}",
            )
        self._require(f"icmp ne ptr {value}, null")
        return value

    def _array(self, value: str, spec: ArraySpec) -> str:
        """The data pointer of a Tensor or ndarray of just this type."""
        w, layout = self.w, self.layout
        data, ndim, dims, descr, flags = layout.array_offsets
        ndarray = _address(layout.objects["ndarray"])
        actual = self._load_at(value, _OBJECT_TYPE)
        tensor, plain, both = w.label("tensor"), w.label("ndarray"), w.label("array")
        is_tensor = w.fresh("t")
        w.line(f"{is_tensor} = icmp eq ptr {actual}, {_address(layout.objects['Tensor'])}")
        w.line(f"br i1 {is_tensor}, label %{tensor}, label %{plain}")
        w.start(tensor)
        requires = self._load_at(value, layout.slots["_requires_grad"])
        self._require(f"icmp eq ptr {requires}, {_address(layout.objects['False'])}")
        held = self._load_at(value, layout.slots["_data"])
        held_type = self._load_at(held, _OBJECT_TYPE)
        self._require(f"icmp eq ptr {held_type}, {ndarray}")
        inside = w.block
        w.branch(both)
        w.start(plain)
        self._require(f"icmp eq ptr {actual}, {ndarray}")
        outside = w.block
        w.branch(both)
        w.start(both)
        array = w.fresh("a")
        w.line(f"{array} = phi ptr [ {held}, %{inside} ], [ {value}, %{outside} ]")
        self._require(f"icmp eq ptr {self._load_at(array, descr)}, {_address(spec.descr)}")
        self._require(f"icmp eq i32 {self._load_at(array, ndim, 'i32')}, {len(spec.shape)}")
        if spec.shape:
            sizes = self._load_at(array, dims)
            for i, size in enumerate(spec.shape):
                self._require(f"icmp eq i64 {self._load_at(sizes, 8 * i, 'i64')}, {size}")
        wanted = w.fresh("t")
        w.line(f"{wanted} = and i32 {self._load_at(array, flags, 'i32')}, {layout.plain_flags}")
        self._require(f"icmp eq i32 {wanted}, {layout.plain_flags}")
        self.inputs.append(array)
        return self._load_at(array, data)

    def _allocate(self, index: int, spec: ArraySpec) -> str:
        """A new ndarray for a result; frees the earlier ones if there is no memory."""
        sizes = ", ".join(f"i64 {size}" for size in spec.shape)
        dims = "null"
        if spec.shape:
            dims = f"@dims{index}"
            self.globals.append(f"{dims} = internal constant [{len(spec.shape)} x i64] [{sizes}]")
        descr = _address(spec.descr)
        self._call("Py_IncRef", "void", f"ptr {descr}")  # the allocation takes it over
        rank = f"i32 {len(spec.shape)}"
        if spec.nbytes >= CACHED_BYTES:
            ndarray = _address(self.layout.objects["ndarray"])
            array = self._call(
                "tracejit_result_array", "ptr", f"ptr {ndarray}", f"ptr {descr}", rank, f"ptr {dims}",
                f"i64 {spec.nbytes}",
            )  # fmt: skip
        else:
            array = self._call("PyArray_Empty", "ptr", rank, f"ptr {dims}", f"ptr {descr}", "i32 0")
        self._unless_null(array, [*self.inputs, *self.results])
        self._set("%outputs", index, self._load_at(array, self.layout.array_offsets[0]))
        self.results.append(array)
        return array

    def _unless_null(self, pointer: str, owned: Sequence[str]) -> None:
        """Return null, with the exception that is set, where `pointer` is; first let go of `owned`."""
        w = self.w
        made, failed = w.label("made"), w.label("nomemory")
        ok = w.fresh("t")
        w.line(f"{ok} = icmp ne ptr {pointer}, null")
        w.line(f"br i1 {ok}, label %{made}, label %{failed}")
        w.start(failed)
        for one in owned:
            self._call("Py_DecRef", "void", f"ptr {one}")
        w.line("ret ptr null")
        w.start(made)

    def _for_inputs(self, change: str) -> None:
        for array in self.inputs:
            self._call(change, "void", f"ptr {array}")

    def _run(self, arrays: Sequence[str]) -> None:
        """Call ``@main``; a failure is repeated by the slow path, which raises the right error."""
        w = self.w
        state = ""
        if self.spec.release_gil:
            state = self._call("PyEval_SaveThread", "ptr")
        w.line("%status = call i32 @main(ptr %inputs, ptr %outputs)")
        if self.spec.release_gil:
            self._call("PyEval_RestoreThread", "void", f"ptr {state}")
        self._for_inputs("Py_DecRef")
        done, failed = w.label("done"), w.label("failed")
        w.line("%fine = icmp eq i32 %status, 0")
        w.line(f"br i1 %fine, label %{done}, label %{failed}")
        w.start(failed)
        for array in arrays:
            self._call("Py_DecRef", "void", f"ptr {array}")
        w.line("br label %slow")
        w.start(done)

    def _finish(self, arrays: Sequence[str]) -> None:
        w = self.w
        tensors: list[str] = []
        for i, array in enumerate(arrays):
            tensors.append(self._wrap(array, [*tensors, *arrays[i:]]))
        if not self.spec.as_tuple:
            w.line(f"ret ptr {tensors[0]}")
            return
        result = self._call("PyTuple_New", "ptr", f"i64 {len(tensors)}")
        self._unless_null(result, tensors)
        for i, tensor in enumerate(tensors):
            self._store_at(result, _TUPLE_ITEMS + 8 * i, tensor)
        w.line(f"ret ptr {result}")

    def _wrap(self, array: str, owned: Sequence[str]) -> str:
        """A leaf Tensor that takes over `array`; `owned` is let go of where there is no memory."""
        layout = self.layout
        tensor = self._call(
            "PyType_GenericAlloc", "ptr", f"ptr {_address(layout.objects['Tensor'])}", "i64 0"
        )
        self._unless_null(tensor, owned)
        for slot, offset in layout.slots.items():
            if slot == "_data":
                self._store_at(tensor, offset, array)
                continue
            filler = _address(layout.objects["False" if slot == "_requires_grad" else "None"])
            self._call("Py_IncRef", "void", f"ptr {filler}")
            self._store_at(tensor, offset, filler)
        return tensor

    def _slow(self) -> None:
        w = self.w
        w.start("slow")
        result = self._call(
            "PyObject_Vectorcall", "ptr", "ptr %self", "ptr %args", "i64 %nargs", "ptr %kwnames"
        )
        w.line(f"ret ptr {result}")


def _address(value: int) -> str:
    return f"inttoptr (i64 {value} to ptr)"
