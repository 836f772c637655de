"""A writer of native code that speaks C interfaces: typed pointers, calls, owned references.

Pointers know what they point at, so ``array["rank"]`` loads a field and ``objects[i] = array`` stores an
item.
Variables lie in memory, from which LLVM takes them to registers. A reference that the function owns is given
back however its scope is left (`control`), unless it goes to the caller, or to somebody else (``give``)::

    with f.attempt() as failed:
        array = f.take(new_array(f, descr), failed)     # leaves where that is null
        failed.unless(fill(f, array))                   # gives `array` back
        f.ret(array)                                    # hands it over
    f.ret(None)

A module that is `checked` (``TRACEJIT_CHECK=1``) looks before it reads and writes: items must be below the
count that is known of them, fields not of a null pointer or of an object of another type, and an object whose
references are counted must have some. What fails ends the process with Python's fatal error, which shows
Python's stack: nothing that follows could be trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interface import ENTRY_OBJECTS
from ..llvm.emitter import LLVM_SCALAR, Number, Reg, constant
from ..llvm.operations import DynamicSlot, FunctionCall, Load, Slot, Store
from .control import ControlWriter, Exit
from .module import NativeModule, type_text
from .structs import BYTES, OBJECT, CFunctionType, Inline, Items, Struct, Type

#: Values that are stored, passed and returned: None is the null pointer.
Operand = Reg | int | float | bool | None


class Pointer(Reg):
    """A pointer, with the type of what it points at, and the writer of the function that uses it."""

    __slots__ = ("count", "target", "writer")

    def __init__(
        self,
        text: str,
        target: Struct | Items | CFunctionType,
        writer: NativeWriter,
        count: Number | None = None,
    ) -> None:
        super().__init__(text, "ptr")
        self.target = target
        self.writer = writer
        #: Number of items, where that is checked.
        self.count = count

    @property
    def type(self) -> str:
        return "ptr"

    def as_(self, target: Struct | Items) -> Pointer:
        """Pointer to the same address with another target type."""
        return Pointer(self.text, target, self.writer)

    def bounded(self, count: Number) -> Pointer:
        """Pointer to the same address, to `count` items."""
        return Pointer(self.text, self.target, self.writer, count)

    def behind(self, nbytes: Number) -> Pointer:
        """Pointer of the same type to what lies `nbytes` behind."""
        return Pointer(self.writer.offset(self.text, "i8", nbytes), self.target, self.writer)

    def at(self, place: str | Number) -> Pointer:
        """The address of a field, or of an item."""
        return self.writer.address(self, place)

    def __getitem__(self, place: str | Number) -> Any:
        return self.writer.read(self, place)

    def __setitem__(self, place: str | Number, value: Operand) -> None:
        self.writer.write(self, place, value)

    @property
    def value(self) -> Any:
        """The item at the pointer: the value of a variable."""
        return self[0]

    @value.setter
    def value(self, value: Any) -> None:
        self[0] = value


class ReturnExit(Exit):
    """A way out of the function, with a result."""

    def __init__(self, writer: NativeWriter, result: Operand) -> None:
        super().__init__(writer, "", 0)
        self._return: Callable[[], None] = lambda: writer.ret(result)

    def leave(self) -> None:
        self._return()

    def when(self, condition: Reg) -> None:
        with self.writer.if_(condition):
            self.leave()


class NativeWriter(ControlWriter):
    """Writes one native function."""

    def __init__(self, module: NativeModule, name: str, signature: CFunctionType) -> None:
        super().__init__(name, module.declarations)
        self.module = module
        self.signature = signature

    # -- values --------------------------------------------------------------------------------

    def typed(self, text: str, type: Type) -> Any:
        """A register with this text."""
        return Reg(text, type) if isinstance(type, str) else Pointer(text, type, self)

    def coerced(self, value: Operand, type: Type) -> Reg:
        """`value` as a register of `type`: numbers become constants, None a null pointer."""
        if value is None:
            assert not isinstance(type, str), f"{type} where {self.name} gives a null pointer"
            return Pointer("null", type, self)
        if not isinstance(value, Reg):
            assert isinstance(type, str), f"{type} where {self.name} gives a number"
            return constant(value, type)
        if isinstance(value, Pointer) and isinstance(type, Struct) and type is not OBJECT:
            assert value.target is type, f"{self.name}: {value.target} where {type} is expected"
        expected = type if isinstance(type, str) else "ptr"
        assert LLVM_SCALAR.get(value.dtype, "ptr") == LLVM_SCALAR.get(expected, "ptr"), (
            f"{self.name}: {value.dtype} where {expected} is expected"
        )
        return value

    def is_null(self, pointer: Reg) -> Reg:
        return self.compute("icmp eq", "bool", 1, pointer, Reg("null", "ptr"))

    def select(self, condition: Reg, x: Operand, y: Operand) -> Any:
        """`x` where `condition` holds, else `y`."""
        model = x if isinstance(x, Pointer) else y
        if not isinstance(model, Pointer):
            assert x is not None
            assert y is not None
            return super().select(condition, x, y)
        a, b = self.coerced(x, model.target), self.coerced(y, model.target)
        return self.typed(self.choose(condition, a.text, b.text), model.target)

    def all_(self, *conditions: Reg) -> Reg:
        """Whether all `conditions`, which are computed in any case, hold."""
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.and_(result, condition)
        return result

    def any_(self, *conditions: Reg) -> Reg:
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.or_(result, condition)
        return result

    def variable(self, type: Type, *initial: Operand) -> Pointer:
        """A variable, read and assigned as its ``value``; uninitialised unless `initial` is there."""
        variable = self.array(type, 1)
        for value in initial:
            variable.value = value
        return variable

    def array(self, type: Type, count: Number) -> Pointer:
        """Room on the stack for `count` values."""
        name, memory = self.fresh("slot"), "i8" if type == "bool" else type_text(type)
        if isinstance(count, Reg):
            self.operations.append(DynamicSlot(name, memory, count))
        else:
            self.slots.take(Slot(name, memory, int(count), 8))
        return Pointer(name, Items(type), self, count)

    def struct(self, struct: Struct) -> Pointer:
        """Room on the stack for a struct."""
        return self.array("i64", struct.size // 8).as_(struct)

    def address(self, pointer: Pointer, place: str | Number) -> Pointer:
        """The address of a field or item."""
        target = pointer.target
        if isinstance(place, str):
            assert isinstance(target, Struct), f"no fields in {target}"
            offset, type = target.fields[place]
            if self.module.checked and pointer.text[0] == "%":
                self._check(self.not_(self.is_null(pointer)), f"field {place} of a null pointer")
                if place not in OBJECT.fields and target.name in ENTRY_OBJECTS:
                    self._check(
                        self._is_instance(pointer.as_(OBJECT), target.name), f"what is no {target.name}"
                    )
            if isinstance(offset, str):
                offset = self.module.slots[offset]
            moved = self.offset(pointer.text, "i8", offset)
            return Pointer(moved, Items(type.type if isinstance(type, Inline) else type), self)
        assert isinstance(target, Items), f"no items in {target}"
        if self.module.checked and pointer.count is not None:
            self._check(
                self.below(*self._pair(place, self.coerced(pointer.count, "i64"))),
                "an item that is not there",
            )
        by = place if not isinstance(place, int) else place * target.nbytes
        if isinstance(place, Reg) and target.rows:
            by = self.mul(place, target.nbytes)
        unit = "i8" if isinstance(by, int) or target.rows else f"i{8 * target.nbytes}"
        return Pointer(self.offset(pointer.text, unit, by), target, self)

    def read(self, pointer: Pointer, place: str | Number) -> Any:
        """Value of a field or an item, or the address of a struct that lies there itself."""
        where = self.address(pointer, place)
        target = where.target
        assert isinstance(target, Items)
        if isinstance(place, str):
            assert isinstance(pointer.target, Struct)
            type = pointer.target.fields[place][1]
            if isinstance(type, Inline):
                return self.typed(where.text, type.type)
        elif target.rows:
            return self.typed(where.text, target.type)
        return self.loaded(where, target.type)

    def loaded(self, pointer: Pointer, type: Type) -> Any:
        """The value of `type` at an address."""
        if isinstance(type, str):
            return self.load(pointer.text, type)
        return self.typed(self.load_pointer(pointer.text, 8), type)

    def write(self, pointer: Pointer, place: str | Number, value: Operand) -> None:
        """Store a field or an item."""
        where = self.address(pointer, place)
        assert isinstance(where.target, Items)
        source = self.coerced(value, where.target.type)
        if isinstance(where.target.type, str):
            self.store(source, where.text)
        else:
            self.operations.append(Store(source, where.text, 8))

    def global_(self, name: str, type: Type) -> Pointer:
        """A variable of the module, or one that it is linked with."""
        self.module.external_global(name, type)
        return Pointer(f"@{name}", Items(type), self)

    def load_unaligned(self, pointer: Pointer, dtype: str) -> Reg:
        """A scalar at any address."""
        value = Load(self.fresh(), dtype, 1, pointer.text, 1)
        self.operations.append(value)
        return value

    def store_unaligned(self, value: Reg, pointer: Pointer) -> None:
        """Store a scalar at any address."""
        self.operations.append(Store(value, pointer.text, 1))

    def object_named(self, name: str) -> Pointer:
        """Pointer to one of `interface.ENTRY_OBJECTS`."""
        self.module.external_global(f"object_{name}", "i8")
        return Pointer(f"@object_{name}", OBJECT, self)

    def is_object(self, value: Pointer, name: str) -> Reg:
        return self.eq(value, self.object_named(name))

    def is_type(self, value: Pointer, name: str) -> Reg:
        """Whether `value` is just of the type with this name."""
        return self.is_object(value["type"], name)

    # -- calls --------------------------------------------------------------------------------------------

    def invoke(self, callee: str, signature: CFunctionType, *arguments: Operand) -> Any:
        """Call a function; its result, None where it has none."""
        assert len(arguments) == len(signature.parameters), (
            f"{self.name} calls {callee}: {len(arguments)} arguments"
        )
        values = [
            self.coerced(value, type) for value, type in zip(arguments, signature.parameters, strict=True)
        ]
        result = signature.result
        if result is None:
            self.operations.append(FunctionCall(callee, values))
            return None
        dtype = result if isinstance(result, str) else "ptr"
        call = FunctionCall(callee, values, self.fresh(), dtype)
        self.operations.append(call)
        return self.typed(call.text, result)

    def invoke_at(self, function: Pointer, *arguments: Operand) -> Any:
        """Call the function at an address."""
        assert isinstance(function.target, CFunctionType)
        return self.invoke(function.text, function.target, *arguments)

    # -- results and references ---------------------------------------------------------------------------

    def returning(self, result: Operand) -> ReturnExit:
        """The way out of the function, with this result."""
        return ReturnExit(self, result)

    def ret(self, value: Operand = None) -> None:
        """Leave the function; a reference that it owns to the result goes to the caller."""
        result = self.signature.result
        if result is None:
            self.clean(0)
            super().ret()
        else:
            register = self.coerced(value, result)
            self.clean(0, kept=register.text)
            super().ret(register)
        self.ended = True

    def own(self, reference: Pointer) -> Pointer:
        """Give `reference` back wherever the scope is left."""
        self.defer(lambda: self.decref(reference), reference.text)
        return reference

    def take(self, reference: Pointer, exit: Exit) -> Pointer:
        """`reference`, owned from here on; where it is null, leave."""
        exit.when(self.is_null(reference))
        return self.own(reference)

    def _check(self, holds: Reg, problem: str) -> None:
        with self.if_(self.not_(holds)):
            message = self.module.message(f"tracejit: native code in {self.name} uses {problem}")
            signature = CFunctionType(None, (BYTES,))
            self.module.declare("Py_FatalError", signature)
            self.invoke("@Py_FatalError", signature, Pointer(message, BYTES, self))

    def _is_instance(self, value: Pointer, name: str) -> Reg:
        """Whether `value` is of the type with this name, or of one that begins as that does."""
        signature = CFunctionType("i32", (OBJECT, OBJECT))
        self.module.declare("PyType_IsSubtype", signature)
        return self.ne(self.invoke("@PyType_IsSubtype", signature, value["type"], self.object_named(name)), 0)

    def incref(self, reference: Pointer) -> Pointer:
        """`reference`, with one more to what it refers to, where that is not null."""
        self._count("Py_IncRef", reference)
        return reference

    def decref(self, reference: Pointer) -> None:
        self._count("Py_DecRef", reference)

    def _count(self, function: str, reference: Pointer) -> None:
        signature = CFunctionType(None, (OBJECT,))
        if self.module.checked:
            with self.if_(self.not_(self.is_null(reference))):
                self._check(
                    self.ne(reference.as_(OBJECT)["count"], 0), "a reference to an object that is gone"
                )
        self.module.declare(function, signature)
        self.invoke(f"@{function}", signature, reference)

    def give(self, reference: Pointer) -> Pointer:
        """Hand `reference` over to a new owner: the scope that owns it does not give it back on this path."""
        self.cancel(reference.text)
        return reference


def atomic_load(f: NativeWriter, word: Pointer, order: str = "seq_cst") -> Reg:
    """The value of a word."""
    dtype = _dtype(word)
    value = Load(f.fresh(), dtype, 1, word.text, int(dtype[1:]) // 8, order)
    f.operations.append(value)
    return value


def atomic_store(f: NativeWriter, word: Pointer, value: Number) -> None:
    """Put a value into a word."""
    dtype = _dtype(word)
    f.operations.append(Store(f.coerced(value, dtype), word.text, int(dtype[1:]) // 8, order="seq_cst"))


def atomic_add(f: NativeWriter, word: Pointer, value: int) -> Reg:
    """Add to a word; returns its value before."""
    return f.update("add", word.text, f.coerced(value, _dtype(word)))


def compare_and_swap(f: NativeWriter, word: Pointer, old: Number, new: Number) -> Reg:
    """Put `new` into a word where it is `old`; whether it was."""
    dtype = _dtype(word)
    return f.compare_exchange(word.text, f.coerced(old, dtype), f.coerced(new, dtype))


def _dtype(word: Pointer) -> str:
    assert isinstance(word.target, Items)
    assert isinstance(word.target.type, str)
    return word.target.type
