"""The method ``view`` of jitted functions; the viewer loads when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..tools.viewer import View


class Viewable:
    """What can show what became of itself."""

    __slots__ = ()

    def view(self, *args: Any, **kwargs: Any) -> View:
        """What becomes of a call with these arguments, as a page: source, every stage, passes, graph, times.

        In a notebook the result shows itself; ``.open()`` shows it in the browser, ``.save(path)`` writes it.
        Arguments are as for a call, or ``TensorType``s, for which random values are timed. See docs/view.md.

        Example:
            >>> import tracejit as tj
            >>> shown = tj.jit(lambda x: tj.exp(x).sum()).view(tj.ones(100))
            >>> len(shown.document["ops"]), shown.html.startswith("<!doctype html>")
            (2, True)

        Raises what tracing raises, and TracejitError for a function that is too large to show.
        """
        from ..tools.viewer import view  # loads the compiler's tools, which calls do not need

        return view(self, *args, **kwargs)
