"""Places that hold values which a traced function reads: where each lies, and how it is read again."""

from __future__ import annotations

from typing import Any, Final

from ..generator import Draws
from ..ir.records import record

#: What `Source.read` gives where there is nothing.
MISSING: Final = object()


@record(eq=False)
class Source:
    """A place: a closure ``cell``, a ``global`` name, or just an ``object``; `path` leads on from there by
    items and attributes. `key` is the name of the variable, for an object what messages call it."""

    kind: str
    holder: Any
    key: str = ""
    path: tuple[tuple[str, Any], ...] = ()
    #: Whether what lies here is a Python float that is an input.
    is_number: bool = False

    @property
    def identity(self) -> Any:
        """What tells this place from others. Tells ``x[1]`` from ``x[True]``."""
        steps = tuple([(how, type(step), step) for how, step in self.path])
        return self.kind, id(self.holder), self.key if self.kind == "global" else "", steps

    def attribute(self, name: str) -> Source:
        """The place of an attribute of what lies here."""
        return Source(self.kind, self.holder, self.key, (*self.path, ("attr", name)))

    def item(self, key: Any) -> Source:
        """The place of an item of what lies here."""
        return Source(self.kind, self.holder, self.key, (*self.path, ("item", key)))

    def read(self) -> Any:
        """The value there now; `MISSING` if there is none."""
        try:
            value = self._bound()
            for how, step in self.path:
                value = _attribute(value, step) if how == "attr" else _item(value, step)
        except (AttributeError, LookupError, TypeError, ValueError):
            return MISSING
        return value

    def containers(self) -> list[Any]:
        """What each step of the path is taken in, now."""
        values = [self._bound()]
        for how, step in self.path[:-1]:
            values.append(_attribute(values[-1], step) if how == "attr" else _item(values[-1], step))
        return values[: len(self.path)]

    def _bound(self) -> Any:
        if self.kind == "object":
            return self.holder
        return self.holder.cell_contents if self.kind == "cell" else self.holder[self.key]

    def __str__(self) -> str:
        if self.kind == "object" and isinstance(self.holder, Draws):
            return str(self.holder)
        steps = "".join(f".{step}" if how == "attr" else f"[{step!r}]" for how, step in self.path)
        if self.kind == "object" and not self.key:
            return f"{steps} of an object without a name" if steps else "an object without a name"
        return self.key + steps


def _attribute(value: Any, name: str) -> Any:
    """An attribute; of the class, whatever the object says of it."""
    return type(value) if name == "__class__" else getattr(value, name)


def _item(container: Any, key: Any) -> Any:
    """An item, without the insertion that ``defaultdict`` and its kind make for a missing key."""
    return dict.__getitem__(container, key) if isinstance(container, dict) else container[key]
