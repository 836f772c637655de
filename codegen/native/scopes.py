"""Scopes of native code that is being written, with what is to be undone where they are left."""

from __future__ import annotations

from collections.abc import Callable


class Scopes:
    """The open scopes of a function, innermost last. One is open from the beginning: the function itself."""

    def __init__(self) -> None:
        #: Functions that write the undoing, by a name that `forget` takes.
        self._open: list[dict[str, Callable[[], None]]] = [{}]

    @property
    def depth(self) -> int:
        """The number of open scopes."""
        return len(self._open)

    def begin(self) -> None:
        """Open a scope."""
        self._open.append({})

    def end(self) -> None:
        """Close the innermost scope."""
        self._open.pop()

    def note(self, name: str, undo: Callable[[], None]) -> None:
        """Have ``undo()`` called wherever the innermost scope is left."""
        self._open[-1][name] = undo

    def forget(self, name: str) -> None:
        """Undo `name`, which the innermost scope has noted, no more."""
        del self._open[-1][name]

    def owns_above(self, depth: int) -> bool:
        """Whether leaving the scopes from `depth` on undoes anything."""
        return any(self._open[depth:])

    def undo(self, depth: int, kept: str = "") -> None:
        """Write what undoes the scopes from `depth` on, save for what has the name `kept`."""
        for scope in reversed(self._open[depth:]):
            for name, undo in reversed(scope.items()):
                if name != kept:
                    undo()
