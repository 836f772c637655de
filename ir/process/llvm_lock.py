"""The locks around LLVM: ours, and llvmlite's.

They are here, and not where LLVM is called, since a fork may come while that module is being imported.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Final

#: LLVM's global context is shared, so one thread compiles at a time.
LLVM_LOCK: Final = threading.RLock()


def lock_of_llvmlite() -> Any:
    """What llvmlite takes for each call, also where threads drop code; None where it is not loaded yet."""
    library: Any = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    return None if library is None else library._lock


def free_lock_of_llvmlite() -> None:
    """Give llvmlite's lock back where this thread has kept it. To be called in none of its calls.

    llvmlite takes and gives it back in Python. Where the handler of a signal raises in between, which it also
    may in a ``__del__`` of llvmlite's, this thread has the lock for ever and others never compile again.
    """
    lock = lock_of_llvmlite()
    if lock is not None and not LLVM_LOCK._is_owned():  # type: ignore[attr-defined]
        while lock._lock._is_owned():
            lock._lock.release()
