"""Reasons for recompilation: what changed between a call and those that compiled before, from what to
what."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..base.records import record
from ..pytree import TreeDef
from .signatures import type_text
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

    Keys are (structure, leaf types, static arguments, `signatures.settings`). Of the nearest, the latest
    counts.
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
    if old[2] != new[2]:
        changes.append(Change("static", "", static_text(old[2]), static_text(new[2])))
    if old[3] != new[3]:
        for what, before, now in zip(_SETTINGS, old[3], new[3], strict=True):
            if before is not now:
                changes.append(Change(what, "", getattr(before, "name", before), getattr(now, "name", now)))
    if old[0] != new[0]:
        return [*changes, *_structure_changes(fn, static, old[0], new[0])]
    names = argument_names(fn, static, new[0])
    for name, before, after in zip(names, old[1], new[1], strict=True):
        if before != after:
            changes.append(Change(_kind(before, after), name, type_text(before), type_text(after)))
    return changes


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
    first, second = _arguments(fn, static, old), _arguments(fn, static, new)
    return [
        Change("structure", name, _cut(first.get(name, "")), _cut(second.get(name, "")))
        for name in dict.fromkeys([*first, *second])
        if first.get(name) != second.get(name)
    ]


def _arguments(fn: Callable[..., Any], static: frozenset[int], structure: TreeDef) -> dict[str, str]:
    """The structure of each argument, with ``*`` for leaves."""
    positional, named = structure.stars()
    order = _parameters(fn, static)
    texts = {
        (order[i] if i < len(order) else f"arg{i}"): repr(argument) for i, argument in enumerate(positional)
    }
    return {**texts, **{name: repr(argument) for name, argument in named.items()}}


def argument_names(fn: Callable[..., Any], static: frozenset[int], structure: TreeDef) -> list[str]:
    """The user's name of each leaf of ``(args, kwargs)``: ``x``, ``p['w']``, ``layers[2]``."""
    order = _parameters(fn, static)
    names = []
    for path in structure.paths():
        group, position, rest = _split(path)
        if group == "0":
            number = int(position)
            name = order[number] if number < len(order) else f"arg{number}"
        else:
            name = position.strip("'\"")
        names.append(name + rest)
    return names


def _split(path: str) -> tuple[str, str, str]:
    """``[0][2]['w']`` as ("0", "2", "['w']")."""
    group, rest = path[1:].split("]", 1)
    position, rest = rest[1:].split("]", 1)
    return group, position, rest


def _parameters(fn: Callable[..., Any], static: frozenset[int]) -> list[str]:
    try:
        return [parameter for i, parameter in enumerate(inspect.signature(fn).parameters) if i not in static]
    except (TypeError, ValueError):  # a builtin that does not tell
        return []


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
