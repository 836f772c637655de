"""Reasons for recompilation: what changed between a call and those that compiled before, from what to
what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ..base.records import record
from ..pytree import TreeDef
from .signatures import argument_names, parameters, type_text
from .static_arguments import static_text

#: Structures longer than this are cut.
_WIDTH: Final = 60

#: The names of `signatures.settings`.
_SETTINGS: Final = ("default dtype", "handling of failures in linear algebra")


@record
class Change:
    """One difference between two signatures, in arguments or settings.

    Attributes:
        what: "shape", "dtype", "type" (a Python number of another kind, or a number instead of an array),
            "structure", "static", or one of the settings.
        name: of the argument, such as ``p['w']``; empty for settings.
        before: as text; empty for what is new.
        after: as text; empty for what is gone.
    """

    what: str
    name: str
    before: str
    after: str

    def __str__(self) -> str:
        if self.what == "static":
            return f"static arguments changed from {self.before} to {self.after}"
        if self.what in _SETTINGS:
            return f"the {self.what} changed from {self.before} to {self.after}"
        if not self.before or not self.after:
            return f"argument {self.name} is {'gone' if self.before else 'new'}"
        of = "the structure of " if self.what == "structure" else ""
        return f"{of}argument {self.name} changed from {self.before} to {self.after}"


class Reason(str):
    """Reason for a compilation, in words; `changes` has it as data."""

    changes: tuple[Change, ...] = ()


def reason_for(fn: Callable[..., Any], static: frozenset[int], keys: Sequence[Any], key: Any) -> Reason:
    """Reason why `key` needs a signature although those of `keys` exist: how it differs from the nearest of
    them.

    Keys are those of `signatures.JittedCall`. Of the nearest, the latest counts.
    """
    nearest: list[Change] | None = None
    for other in reversed(keys):
        changes = _changes(fn, static, other, key)
        if nearest is None or len(changes) < len(nearest):
            nearest = changes
    reason = Reason("; ".join(map(str, nearest or [])) or "arguments of another structure")
    reason.changes = tuple(nearest or [])
    return reason


def _changes(fn: Callable[..., Any], static: frozenset[int], old: Any, new: Any) -> list[Change]:
    changes = []
    (old_structure, old_static, old_settings), old_types = old
    (structure, values, settings), types = new
    if old_static != values:
        changes.append(Change("static", "", static_text(old_static), static_text(values)))
    if old_settings != settings:
        for what, before, now in zip(_SETTINGS, old_settings, settings, strict=True):
            if before is not now:
                changes.append(Change(what, "", getattr(before, "name", before), getattr(now, "name", now)))
    if old_structure != structure:
        return [*changes, *_structure_changes(fn, static, old_structure, structure)]
    names = argument_names(fn, static, structure)
    for name, old_type, type_ in zip(names, old_types, types, strict=True):
        if old_type != type_:
            changes.append(Change(_kind(old_type, type_), name, type_text(old_type), type_text(type_)))
    return changes


def settings_text(settings: Any) -> str:
    """The settings of a signature in words."""
    return ", ".join(
        f"{what} {getattr(value, 'name', value)}" for what, value in zip(_SETTINGS, settings, strict=True)
    )


def _kind(before: Any, after: Any) -> str:
    if isinstance(before, str) or isinstance(after, str):
        return "type"
    if before[:2] == after[:2]:
        return "type"
    return "dtype" if before[1] == after[1] else "shape"


def _structure_changes(
    fn: Callable[..., Any], static: frozenset[int], old: TreeDef, new: TreeDef
) -> list[Change]:
    before, after = argument_names(fn, static, old), argument_names(fn, static, new)
    changes = [Change("structure", name, name, "") for name in before if name not in after]
    changes += [Change("structure", name, "", name) for name in after if name not in before]
    if changes:
        return changes
    first, second = argument_structures(fn, static, old), argument_structures(fn, static, new)
    return [
        Change("structure", name, _cut(first.get(name, "")), _cut(second.get(name, "")))
        for name in dict.fromkeys([*first, *second])
        if first.get(name) != second.get(name)
    ]


def argument_structures(fn: Callable[..., Any], static: frozenset[int], structure: TreeDef) -> dict[str, str]:
    """The structure of each argument, with ``*`` for leaves."""
    positional, named = structure.stars()
    order = parameters(fn, static)
    texts = {
        (order[i] if i < len(order) else f"arg{i}"): repr(argument) for i, argument in enumerate(positional)
    }
    return {**texts, **{name: repr(argument) for name, argument in named.items()}}


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
