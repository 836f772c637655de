"""A place for whoever wants to see what this thread runs of compiled code."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class _Observer(threading.local):
    #: ``call(name, inputs, run) -> results`` runs the compiled function through ``run()``; None for nobody.
    call: Callable[[str, Any, Callable[[], Any]], Any] | None = None


OBSERVER = _Observer()
