"""A writer of native code that speaks C interfaces: typed pointers, calls, owned references.

Pointers know what they point at, so ``array["rank"]`` loads a field and ``objects[i] = array`` stores an
item.
Variables lie in memory, from which LLVM takes them to registers. A reference that the function owns is given
back however its scope is left, unless it goes to the caller, or to somebody else (``give``)::

    with f.attempt() as failed:
        array = f.take(new_array(f, descr), failed)     # leaves where that is null
        failed.unless(fill(f, array))                   # gives `array` back
        f.ret(array)                                    # hands it over
    f.ret(None)

``if_``, ``for_``, ``repeat`` and ``attempt`` are context managers; an `Exit` leads out of an attempt or a
loop. What `defer` notes is written at every way out of its scope (`scopes`).

A module that is `checked` (``TRACEJIT_CHECK=1``) looks before it reads and writes: items must be below the
count that is known of them, fields not of a null pointer or of an object of another type, and an object whose
references are counted must have some. What fails ends the process with Python's fatal error, which shows
Python's stack: nothing that follows could be trusted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...base.records import record
from ..interface import ENTRY_OBJECTS
from ..llvm.control_operations import Label, Switch
from ..llvm.emitter import LLVM_SCALAR, Number, Reg, constant
from ..llvm.function import FunctionCode
from ..llvm.loops import FunctionWriter
from ..llvm.operations import DynamicSlot, FunctionCall, Load, Slot, Store
from .module import NativeModule, type_text
from .pointers import Operand, Pointer
from .scopes import Scopes
from .structs import BYTES, OBJECT, CFunctionType, Inline, Items, Struct, Type


class Exit:
    """A way out of blocks and loops: to a label, after the references of the scopes in between are given
    back."""

    def __init__(self, writer: NativeWriter, label: str, depth: int) -> None:
        self.writer = writer
        self.label = label
        self.depth = depth

    def leave(self) -> None:
        self.writer.leave(self)

    def when(self, condition: Reg) -> None:
        """Leave where `condition` holds."""
        if self.writer.scopes.owns_above(self.depth):
            with self.writer.if_(condition):
                self.leave()
        else:
            go_on = self.writer.label("on")
            self.writer.branch_if(condition, self.label, go_on)
            self.writer.start(go_on)

    def unless(self, condition: Reg) -> None:
        self.when(self.writer.not_(condition))


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


@record(eq=False, frozen=False)
class _Branch:
    """An ``if_`` that is being written."""

    otherwise: str
    joined: str
    has_else: bool = False


class NativeWriter(FunctionWriter):
    """Writes one native function.

    Where a block has ended, nothing may be written before the next one starts.
    """

    def __init__(self, module: NativeModule, name: str, signature: CFunctionType) -> None:
        super().__init__(module.declarations)
        self.module, self.name, self.signature = module, name, signature
        #: Whether what is written next cannot be reached: the block has ended.
        self.ended = False
        self.scopes = Scopes()
        self._reached: set[str] = set()
        self._branches: list[_Branch] = []
        self._loops: list[tuple[Exit, Exit]] = []

    # -- blocks -------------------------------------------------------------------------------------------

    def branch(self, label: str) -> None:
        self._reached.add(label)
        super().branch(label)
        self.ended = True

    def branch_if(self, condition: Reg, then: str, otherwise: str) -> None:
        self._reached.update((then, otherwise))
        super().branch_if(condition, then, otherwise)
        self.ended = True

    def start(self, label: str) -> None:
        """Begin a block, unless nothing leads there."""
        if not self.ended:
            self.branch(label)
        if label in self._reached:
            super().start(label)
            self.ended = False

    @contextmanager
    def if_(self, condition: Reg) -> Iterator[None]:
        """Write a branch that runs where `condition` holds; after ``else_()``, one that runs where it does
        not."""
        then, branch = self.label("then"), _Branch(self.label("else"), self.label("joined"))
        self.branch_if(condition, then, branch.otherwise)
        self.start(then)
        self._branches.append(branch)
        self.scopes.begin()
        yield
        self._end_scope()
        self._branches.pop()
        self.start(branch.joined if branch.has_else else branch.otherwise)

    def else_(self) -> None:
        """Begin the branch of an ``if_`` that runs where its condition does not hold."""
        branch = self._branches[-1]
        self._end_scope()
        branch.has_else = True
        if not self.ended:
            self.branch(branch.joined)
        self.start(branch.otherwise)
        self.scopes.begin()

    def switch(self, value: Reg, cases: dict[int, Callable[[], None]]) -> None:
        """Run the case of the number that `value` is; nothing where it is none of them."""
        labels = {number: self.label("case") for number in cases}
        done = self.label("done")
        self._reached.update([done, *labels.values()])
        self.operations.append(Switch(value, [*labels.values(), done], list(labels)))
        self.ended = True
        for number, case in cases.items():
            self.start(labels[number])
            with self.scope():
                case()
            if not self.ended:
                self.branch(done)
        self.start(done)

    @contextmanager
    def repeat(self) -> Iterator[None]:
        """A loop without an end, which exits leave."""
        head, done = self.label("loop"), self.label("done")
        self.branch(head)
        self.start(head)
        depth = self.scopes.depth
        self._loops.append((Exit(self, head, depth), Exit(self, done, depth)))
        with self.scope():
            yield
        if not self.ended:
            self.branch(head)
        self._loops.pop()
        self.start(done)

    @contextmanager
    def for_(self, stop: Number, start: Number = 0) -> Iterator[Reg]:
        """A loop over the numbers from `start` on, below `stop`."""
        index = self.fresh("index")
        self.slots.take(Slot(index, "i64", 1, 8))
        self.store(start if isinstance(start, Reg) else constant(start, "i64"), index)
        head, body, step, done = (self.label(name) for name in ("loop", "body", "step", "done"))
        self.branch(head)
        self.start(head)
        current = self.load(index, "i64")
        self.branch_if(self.below(current, stop), body, done)
        self.start(body)
        depth = self.scopes.depth
        self._loops.append((Exit(self, step, depth), Exit(self, done, depth)))
        with self.scope():
            yield current
        self._loops.pop()
        if not self.ended:
            self.branch(step)
        if step in self._reached:
            self.start(step)
            self.store(self.add(current, 1), index)
            self.branch(head)
        self.start(done)

    @property
    def next_turn(self) -> Exit:
        """The way to the next turn of the innermost loop."""
        return self._loops[-1][0]

    @property
    def out_of_loop(self) -> Exit:
        return self._loops[-1][1]

    @contextmanager
    def attempt(self) -> Iterator[Exit]:
        """Statements that an exit may leave, to continue behind them."""
        exit = Exit(self, self.label("behind"), self.scopes.depth)
        with self.scope():
            yield exit
        self.start(exit.label)

    def function(self, signature: str, attributes: str = "") -> FunctionCode:
        for operation, following in itertools.pairwise(self.operations):
            assert not operation.ends_block or isinstance(following, Label), (
                f"{self.name}: `{following.line().strip()}` cannot be reached"
            )
        return super().function(signature, attributes)

    # -- scopes -------------------------------------------------------------------------------------------

    def leave(self, exit: Exit) -> None:
        """Go where `exit` leads."""
        self.scopes.undo(exit.depth)
        self.branch(exit.label)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Scope at whose end what is owned in it is given back."""
        self.scopes.begin()
        yield
        self._end_scope()

    def defer(self, undo: Callable[[], None], name: str = "") -> str:
        """Have ``undo()`` written wherever the scope is left; the name by which `cancel` knows it."""
        name = name or self.fresh("undo")
        self.scopes.note(name, undo)
        return name

    def cancel(self, name: str) -> None:
        """Cancel from here on the cleanup that `defer` has noted in this scope."""
        self.scopes.forget(name)

    def _end_scope(self) -> None:
        if not self.ended:
            self.scopes.undo(self.scopes.depth - 1)
        self.scopes.end()

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

    def below(self, x: Number, y: Number) -> Reg:
        """Whether `x` is less than `y`, both unsigned."""
        a, b = self._pair(x, y)
        return self.compute("icmp ult", "bool", 1, a, b)

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
            self.scopes.undo(0)
            super().ret()
        else:
            register = self.coerced(value, result)
            self.scopes.undo(0, kept=register.text)
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
