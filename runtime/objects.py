"""Object code in this process: found in the disk cache or compiled, then linked."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..codegen.interface import Library
from .cache import CACHE
from .keys import environment, key_of
from .loader import Unlinkable, load
from .tiers import BACKGROUND, tiers_are_on


def link(image: bytes, exports: Sequence[str], imports: Mapping[str, int]) -> Library:
    """Link an object image into this process; by LLVM what the loader does not know.

    Raises CompileError where LLVM cannot either.
    """
    start = time.perf_counter()
    try:
        library = load(image, exports, imports)
    except Unlinkable:
        from ..codegen.llvm import link_object

        library = link_object(image, exports, imports)
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
    quick code then, and from another thread the full one later.
    """
    key = key_of("support", name, repr(arguments if parameters is None else parameters), environment())
    image = CACHE.load(key)
    milliseconds: dict[str, float] = {}
    quick = False
    if image is None:
        from .support import support_object

        quick = use is not None and tiers_are_on()
        image, milliseconds = support_object(name, *arguments, quick=quick)
        if not quick:
            CACHE.store(key, image)
    library = link(image, exports, imports)
    library.milliseconds.update(milliseconds)
    if use is not None:
        use(library)
        if quick:
            BACKGROUND.submit(functools.partial(_improve, key, name, exports, imports, arguments, use))
    return library


def _improve(
    key: str,
    name: str,
    exports: Sequence[str],
    imports: Mapping[str, int],
    arguments: tuple[Any, ...],
    use: Callable[[Library], None],
) -> None:
    """Compile the full tier of a part, keep it on disk and hand it over."""
    from .support import support_object

    image, _ = support_object(name, *arguments)
    CACHE.store(key, image)
    use(link(image, exports, imports))
