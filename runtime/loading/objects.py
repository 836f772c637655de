"""Object code in this process: found in the disk cache or compiled, then linked."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...base.loading import LazyModule
from ...base.machine import Machine, machine, use_machine
from ...codegen.interface import Library
from ...codegen.tiers import BASELINE, OPTIMIZED, Tier
from ..cache.store import CACHE
from ..tiers import BACKGROUND, tiers_are_on
from .loader import load
from .relocations import Unlinkable

if TYPE_CHECKING:
    from ...codegen.llvm import compiler
    from ..cache import keys
    from . import support
else:
    keys = LazyModule("..cache.keys", __package__)
    compiler = LazyModule("...codegen.llvm.compiler", __package__)
    support = LazyModule(".support", __package__)

#: Keys of the parts that this process has.
_SUPPORT: Final[dict[str, None]] = {}


def support_keys() -> tuple[str, ...]:
    """The disk cache's keys of the parts of the runtime that this process has loaded."""
    return tuple(_SUPPORT)


def link(image: bytes, exports: Sequence[str], imports: Mapping[str, int]) -> Library:
    """Link an object image into this process; by LLVM what the loader does not know, or all with
    ``TRACEJIT_LINKER=llvm``.

    Raises CompileError where LLVM cannot either.
    """
    start = time.perf_counter()
    try:
        if os.environ.get("TRACEJIT_LINKER") == "llvm":
            raise Unlinkable("LLVM is asked for")
        library = load(image, exports, imports)
    except Unlinkable:
        library = compiler.link_object(image, exports, imports)
    library.milliseconds["link"] = (time.perf_counter() - start) * 1e3
    return library


def load_support(
    name: str,
    exports: Sequence[str],
    imports: Mapping[str, int],
    *arguments: Any,
    parameters: object = None,
    use: Callable[[Library], None] | None = None,
) -> Library:
    """The machine code of a part of the runtime, whose LLVM text `support.TEXTS` gives for `arguments`.

    The text follows from tracejit's source, this machine, `name`, and `arguments` or `parameters`, which
    stand for them. `use` is called with the library, and where it is compiled now once more: first there is
    baseline code then, and from another thread the optimized one later.
    """
    key = _key(name, arguments if parameters is None else parameters)
    image = CACHE.load(key)
    milliseconds: dict[str, float] = {}
    tier = OPTIMIZED
    if image is None:
        tier = BASELINE if use is not None and tiers_are_on() else OPTIMIZED
        image, milliseconds = _made(key, name, arguments, tier)
    library = link(image, exports, imports)
    library.milliseconds.update(milliseconds)
    if use is not None:
        use(library)
        if tier is BASELINE:
            improve = functools.partial(_improve, machine(), key, name, exports, imports, arguments, use)
            BACKGROUND.submit(improve)
    return library


def support_image(name: str, *arguments: Any) -> bytes:
    """The object file of a part of the runtime that is linked more than once."""
    return _support_image(machine(), name, *arguments)


@functools.cache
def _support_image(current: Machine, name: str, *arguments: Any) -> bytes:
    with use_machine(current):
        key = _key(name, arguments)
        image = CACHE.load(key)
        return _made(key, name, arguments)[0] if image is None else image


def _key(name: str, parameters: object) -> str:
    key = keys.key_of("support", name, repr(parameters), machine().features, keys.environment())
    _SUPPORT[key] = None
    return key


def _made(
    key: str, name: str, arguments: tuple[Any, ...], tier: Tier = OPTIMIZED
) -> tuple[bytes, dict[str, float]]:
    """A part compiled now, and milliseconds by phase; kept on disk where it is optimized."""
    image, milliseconds = support.support_object(name, tier, *arguments)
    if tier is OPTIMIZED:
        CACHE.store(key, image)
    return image, milliseconds


def _improve(
    current: Machine,
    key: str,
    name: str,
    exports: Sequence[str],
    imports: Mapping[str, int],
    arguments: tuple[Any, ...],
    use: Callable[[Library], None],
) -> None:
    """Compile the optimized tier of a part, keep it on disk and hand it over."""
    with use_machine(current):
        image, _ = _made(key, name, arguments)
    use(link(image, exports, imports))
