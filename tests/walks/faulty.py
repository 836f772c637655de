"""A worker with a fault, for the test of the net: gathers copy one element more than they should."""

from __future__ import annotations

from typing import Any

from tracejit.codegen.kernels.indexing import gather

from .worker import main

_COPY = gather.copy_stretch


def _one_more(w: Any, dtype: str, target: str, source: str, count: Any) -> None:
    _COPY(w, dtype, target, source, count + 1)


if __name__ == "__main__":
    gather.copy_stretch = _one_more
    main()
