"""Jitted functions whose pickles take their machine code along, for machines that share no disk.

What goes is what the disk cache of the sender has: entries by their keys, which hold versions and CPU. The
first call puts them into the cache of the receiver, where the function finds them, as if that machine had
compiled it; another CPU or version keeps nothing, and compiles.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .base.errors import TracejitError
from .runtime.cache.keys import environment
from .runtime.cache.store import CACHE
from .runtime.loading.objects import support_keys
from .runtime.native.entry import link_entries
from .runtime.tiers import BACKGROUND

#: The most machine code in one pickle; that of most functions has 10 to 100 KB.
_MAX_BYTES: Final = 64 << 20


def carried(function: Any, specs: tuple[Any, ...]) -> CarriedFunction:
    """The result of ``function.with_machine_code(*specs)``."""
    if CACHE.problem:
        raise TracejitError(
            f"with_machine_code: machine code is taken from the cache on disk, and that is not used: "
            f"{CACHE.problem}"
        )
    if specs:
        function._compile_for(specs)
    return CarriedFunction(function)


class CarriedFunction:
    """Calls a jitted function, and takes its machine code along in pickles: its own, or what it came with, as
    schedulers read pickles and write them again.

    Attributes:
        function: the jitted function.
        several: arguments for which it is compiled when it is pickled, if it can be.
        sender: the environment of the process that it came from, empty where it did not come from another.
        entries: what it came with, by the keys of the disk cache.
    """

    def __init__(
        self,
        function: Any,
        several: Sequence[tuple[Any, ...]] = (),
        sender: str = "",
        entries: Mapping[str, bytes] | None = None,
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function, self.several = function, several
        self.sender, self.entries = sender, entries or {}
        self._is_kept = not self.entries

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._is_kept:
            self._keep()
        return self.function(*args, **kwargs)

    def _keep(self) -> None:
        """Put what the function came with into the disk cache of this machine, if it is for this machine."""
        if self.sender == environment():
            for key, payload in self.entries.items():
                if CACHE.load(key) is None:
                    CACHE.store(key, payload)
        self._is_kept = True

    def __reduce__(self) -> Any:
        if self.sender or CACHE.problem:
            return type(self), (self.function, (), self.sender, self.entries)
        for specs in self.several:
            try:
                self.function._compile_for(specs)
            except Exception:
                break  # the call raises it, where its task shows it to the user
        return type(self), (self.function, (), environment(), _machine_code(self.function))


def _machine_code(function: Any) -> dict[str, bytes]:
    """The machine code of `function`, and of the runtime parts that this process uses, from the disk cache.

    Raises TracejitError where that is too much."""
    link_entries()
    BACKGROUND.wait()  # the disk has optimized code only
    compiled = [part for leaf in function._tree.leaves() for _, part in leaf.compiled.made()]
    executables = [part.made_executable for part in compiled]
    keys = [executable.key for executable in executables if executable is not None]
    loaded = {key: CACHE.load(key) for key in (*keys, *support_keys()) if key is not None}
    entries = {key: payload for key, payload in loaded.items() if payload is not None}
    total = sum(map(len, entries.values()))
    if total > _MAX_BYTES:
        raise TracejitError(
            f"with_machine_code: {function._name} has {total >> 20} MB of machine code, and a pickle takes "
            f"{_MAX_BYTES >> 20} MB along; send the function itself"
        )
    return entries
