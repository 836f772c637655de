"""Operations of one LLVM function as records: values, memory accesses and calls.

`FunctionWriter` appends them to a list, visitors pass over that, and printing it is the last step: nothing
reads text back. What defines a register is that register. `control_operations` has the rest.

An operand is a `Reg`; where only a pointer can stand, it is the pointer's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from .registers import Reg, llvm_type


def typed(arguments: Iterable[Reg]) -> str:
    """`arguments` with their types."""
    return ", ".join([f"{llvm_type(x.dtype, x.lanes)} {x.text}" for x in arguments])


class Operation:
    """An operation."""

    __slots__ = ()
    #: Whether control leaves the block here.
    ends_block: ClassVar[bool] = False

    @property
    def result(self) -> Reg | None:
        """Register that the operation defines, if it does."""
        return None

    def line(self) -> str:
        """The operation as LLVM text."""
        raise NotImplementedError

    def operands(self) -> Iterable[str]:
        """The texts of what it reads: registers, constants, global names."""
        raise NotImplementedError


class RegisterDefinition(Reg, Operation):
    """An operation that is the register that it defines."""

    __slots__ = ()

    @property
    def result(self) -> Reg | None:
        return self


# -- values ------------------------------------------------------------------------------------------


class Compute(RegisterDefinition):
    """``%r = code T a, b``: arithmetic and comparisons on arguments of one type."""

    __slots__ = ("arguments", "code")

    def __init__(self, text: str, dtype: str, lanes: int, code: str, arguments: tuple[Reg, ...]) -> None:
        self.text, self.dtype, self.lanes = text, dtype, lanes
        self.code, self.arguments = code, arguments

    def line(self) -> str:
        arguments = self.arguments
        first = arguments[0]
        head = f"  {self.text} = {self.code} {llvm_type(first.dtype, first.lanes)} {first.text}"
        return f"{head}, {arguments[1].text}" if len(arguments) == 2 else head

    def operands(self) -> list[str]:
        return [argument.text for argument in self.arguments]


class Convert(RegisterDefinition):
    """``%r = code T a to R``."""

    __slots__ = ("argument", "code")

    def __init__(self, text: str, dtype: str, lanes: int, code: str, argument: Reg) -> None:
        self.text, self.dtype, self.lanes, self.code, self.argument = text, dtype, lanes, code, argument

    def line(self) -> str:
        return f"  {self.text} = {self.code} {self.argument} to {self.type}"

    def operands(self) -> tuple[str, ...]:
        return (self.argument.text,)


class Arrange(RegisterDefinition):
    """``%r = code A a, B b, tail``: choices among arguments, and moves of lanes."""

    __slots__ = ("arguments", "code", "tail")

    def __init__(
        self, text: str, dtype: str, lanes: int, code: str, arguments: tuple[Reg, ...], tail: str = ""
    ) -> None:
        self.text, self.dtype, self.lanes = text, dtype, lanes
        self.code, self.arguments, self.tail = code, arguments, tail

    def line(self) -> str:
        return f"  {self.text} = {self.code} {typed(self.arguments)}{self.tail}"

    def operands(self) -> list[str]:
        return [argument.text for argument in self.arguments]


class FunctionCall(RegisterDefinition):
    """A call of `callee`, a global name or a pointer; without a result `dtype` is ``void``."""

    __slots__ = ("arguments", "callee")

    def __init__(
        self, callee: str, arguments: Sequence[Reg], text: str = "", dtype: str = "void", lanes: int = 1
    ) -> None:
        self.callee, self.arguments = callee, arguments
        self.text, self.dtype, self.lanes = text, dtype, lanes

    @property
    def result(self) -> Reg | None:
        return self if self.text else None

    def line(self) -> str:
        call = f"call {llvm_type(self.dtype, self.lanes)} {self.callee}({typed(self.arguments)})"
        return f"  {self.text} = {call}" if self.text else f"  {call}"

    def operands(self) -> list[str]:
        return [self.callee, *[argument.text for argument in self.arguments]]


class Phi(RegisterDefinition):
    """The value that comes with the block before: pairs of a value's text and a label."""

    __slots__ = ("incoming",)

    def __init__(self, result: Reg, incoming: Sequence[tuple[str, str]]) -> None:
        self.text, self.dtype, self.lanes = result.text, result.dtype, result.lanes
        self.incoming = incoming

    def line(self) -> str:
        sources = ", ".join([f"[ {value}, %{label} ]" for value, label in self.incoming])
        return f"  {self.text} = phi {self.type} {sources}"

    def operands(self) -> list[str]:
        return [value for value, _ in self.incoming]


# -- memory ------------------------------------------------------------------------------------------


class Slot(RegisterDefinition):
    """Memory on the stack, of `count` elements of an LLVM type; `align` 0 is the type's own."""

    __slots__ = ("align", "count", "element")

    def __init__(self, text: str, element: str, count: int, align: int = 0) -> None:
        self.text, self.dtype, self.lanes = text, "ptr", 1
        self.element, self.count, self.align = element, count, align

    def line(self) -> str:
        align = f", align {self.align}" if self.align else ""
        return f"  {self.text} = alloca [{self.count} x {self.element}]{align}"

    def operands(self) -> tuple[str, ...]:
        return ()


class DynamicSlot(RegisterDefinition):
    """Memory on the stack whose size is known where it is taken."""

    __slots__ = ("count", "element")

    def __init__(self, text: str, element: str, count: Reg) -> None:
        self.text, self.dtype, self.lanes = text, "ptr", 1
        self.element, self.count = element, count

    def line(self) -> str:
        return f"  {self.text} = alloca {self.element}, {self.count}"

    def operands(self) -> tuple[str, ...]:
        return (self.count.text,)


class Offset(RegisterDefinition):
    """A pointer moved by elements of an LLVM type; by several numbers of them, a vector of pointers."""

    __slots__ = ("element", "index", "pointer")

    def __init__(self, text: str, element: str, pointer: str, index: Reg) -> None:
        self.text, self.dtype, self.lanes = text, "ptr", index.lanes
        self.element, self.pointer, self.index = element, pointer, index

    def line(self) -> str:
        return f"  {self.text} = getelementptr {self.element}, ptr {self.pointer}, {self.index}"

    def operands(self) -> tuple[str, ...]:
        return self.pointer, self.index.text


class Load(RegisterDefinition):
    """A load of contiguous elements; `align` 0 is the type's own, an `order` makes it atomic."""

    __slots__ = ("align", "order", "pointer")

    def __init__(
        self, text: str, dtype: str, lanes: int, pointer: str, align: int = 0, order: str = ""
    ) -> None:
        self.text, self.dtype, self.lanes = text, dtype, lanes
        self.pointer, self.align, self.order = pointer, align, order

    def line(self) -> str:
        align = f", align {self.align}" if self.align else ""
        kind = llvm_type(self.dtype, self.lanes)
        if self.order:
            return f"  {self.text} = load atomic {kind}, ptr {self.pointer} {self.order}{align}"
        return f"  {self.text} = load {kind}, ptr {self.pointer}{align}"

    def operands(self) -> tuple[str, ...]:
        return (self.pointer,)


class Store(Operation):
    """A store of contiguous elements; `past_cache` ones leave the caches as they are, an `order` makes it
    atomic."""

    __slots__ = ("align", "order", "past_cache", "pointer", "value")

    def __init__(
        self, value: Reg, pointer: str, align: int = 0, *, past_cache: bool = False, order: str = ""
    ) -> None:
        self.value, self.pointer, self.align = value, pointer, align
        self.past_cache, self.order = past_cache, order

    def line(self) -> str:
        align = f", align {self.align}" if self.align else ""
        if self.order:
            return f"  store atomic {self.value}, ptr {self.pointer} {self.order}{align}"
        hint = ", !nontemporal !{i32 1}" if self.past_cache else ""
        return f"  store {self.value}, ptr {self.pointer}{align}{hint}"

    def operands(self) -> tuple[str, ...]:
        return self.value.text, self.pointer


class AtomicUpdate(RegisterDefinition):
    """``%r = atomicrmw code``: combines what is at `pointer` with `value` by `code`, as one step to other
    threads. The register is what was there before."""

    __slots__ = ("code", "order", "pointer", "value")

    def __init__(self, text: str, code: str, pointer: str, value: Reg, order: str) -> None:
        self.text, self.dtype, self.lanes = text, value.dtype, 1
        self.code, self.pointer, self.value, self.order = code, pointer, value, order

    def line(self) -> str:
        return f"  {self.text} = atomicrmw {self.code} ptr {self.pointer}, {self.value} {self.order}"

    def operands(self) -> tuple[str, ...]:
        return self.pointer, self.value.text


class CompareExchange(RegisterDefinition):
    """``%r = cmpxchg``: stores `value` at `pointer` if `expected` is there. The register is what was there
    before, and whether that was `expected`."""

    __slots__ = ("expected", "pointer", "value")

    def __init__(self, text: str, pointer: str, expected: Reg, value: Reg) -> None:
        self.text, self.dtype, self.lanes = text, f"{{ {value.type}, i1 }}", 1
        self.pointer, self.expected, self.value = pointer, expected, value

    def line(self) -> str:
        ends = f"{self.expected}, {self.value} seq_cst seq_cst"
        return f"  {self.text} = cmpxchg ptr {self.pointer}, {ends}"

    def operands(self) -> tuple[str, ...]:
        return self.pointer, self.expected.text, self.value.text


class Fence(Operation):
    """Keeps loads and stores from moving across it."""

    __slots__ = ()

    def line(self) -> str:
        return "  fence seq_cst"

    def operands(self) -> tuple[str, ...]:
        return ()


class MaskedAccess(FunctionCall):
    """A load or store of some lanes: those of contiguous elements, or each where its own pointer says."""

    __slots__ = ("align", "element_bytes", "mask", "pointer")

    def __init__(
        self, callee: str, arguments: Sequence[Reg], text: str, dtype: str, lanes: int,
        pointer: Reg, align: int, mask: Reg, element_bytes: int,
    ) -> None:  # fmt: skip
        super().__init__(callee, arguments, text, dtype, lanes)
        self.pointer, self.align, self.mask, self.element_bytes = pointer, align, mask, element_bytes

    def through(self, pointer: Reg) -> MaskedAccess:
        """Copy of the access, by another pointer."""
        arguments = [pointer if argument is self.pointer else argument for argument in self.arguments]
        return MaskedAccess(
            self.callee, arguments, self.text, self.dtype, self.lanes, pointer, self.align, self.mask,
            self.element_bytes,
        )  # fmt: skip

    @property
    def by_lanes(self) -> bool:
        """Whether each lane has a pointer of its own."""
        return self.pointer.lanes > 1


class Copy(FunctionCall):
    """A copy of bytes, from the second argument to the first."""

    __slots__ = ()


class Clear(FunctionCall):
    """Bytes from the first argument on, as many as the third says, set to zero."""

    __slots__ = ()
