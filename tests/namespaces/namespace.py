"""A namespace of another library beside ours: which names are the same, different or absent."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tracejit.tools.numpy_names import absent_names, sections


@dataclass(frozen=True)
class Namespace:
    """The public `names` of a namespace of `version`, with what is different and, by the reason, absent."""

    name: str
    version: str
    #: The module of ours that has the same names.
    ours: str
    names: tuple[str, ...]
    differs: Mapping[str, str]
    absent: Mapping[str, str]

    @cached_property
    def present(self) -> frozenset[str]:
        """The names that our module has."""
        return frozenset(self.names) & frozenset(dir(importlib.import_module(self.ours)))

    @cached_property
    def absent_names(self) -> frozenset[str]:
        """The names that are said to be absent."""
        return frozenset(absent_names(self.absent))

    def kinds(self, name: str) -> list[str]:
        """The categories that list `name`; there should be exactly one."""
        differs, absent = name in self.differs, name in self.absent_names
        same = name in self.present and not differs and not absent
        return [kind for kind, holds in (("same", same), ("differs", differs), ("absent", absent)) if holds]

    def section(self) -> Iterator[str]:
        """The lines of docs/namespaces.md about it."""
        same = [name for name in sorted(self.names) if self.kinds(name) == ["same"]]
        missing = sum(len(names.split()) for names in self.absent.values())
        yield f"## {self.name}"
        yield ""
        counts = f"{len(same)} are the same, {len(self.differs)} differ, and {missing} are absent."
        yield f"Of {len(self.names)} names ({self.version}), {counts}"
        yield ""
        yield from sections(same, self.differs, self.absent, level=3)
