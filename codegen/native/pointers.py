"""Pointers of native code: fields and items are read and written through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..llvm.emitter import Number, Reg
from .structs import CFunctionType, Items, Struct

if TYPE_CHECKING:
    from .writer import NativeWriter


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
        #: The number of items, where that is checked.
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
