"""Tables of objects that load when they are looked up.

They stand apart from `loading.py`, which every process loads: a class of mappings takes half a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from .loading import load_module

K = TypeVar("K")
T = TypeVar("T")


class OnUse(Mapping[K, T]):
    """A table of objects by their keys, each of which loads with its module when it is first looked up.

    `places` has the modules, relative to `package`, and the names in them.

    >>> alphabets = OnUse[str, str]({"small": ("string", "ascii_lowercase")})
    >>> list(alphabets), alphabets["small"][:3]
    (['small'], 'abc')
    """

    def __init__(self, places: Mapping[K, tuple[str, str]], package: str | None = None) -> None:
        self._places, self._package = places, package
        self._loaded: dict[K, T] = {}

    def __getitem__(self, key: K) -> T:
        if key not in self._loaded:
            module, name = self._places[key]
            self._loaded[key] = getattr(load_module(module, self._package), name)
        return self._loaded[key]

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[K]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
