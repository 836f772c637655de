"""Object code in this process: found in the disk cache or compiled, then linked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from ..codegen.llvm import Library, emit_object, link_object
from .cache import CACHE
from .keys import environment, key_of
from .loader import Unlinkable, load


def link(image: bytes, exports: Sequence[str], imports: Mapping[str, int]) -> Library:
    """Link an object image into this process; by LLVM what the loader does not know.

    Raises CompileError where LLVM cannot either.
    """
    start = time.perf_counter()
    try:
        library = load(image, exports, imports)
    except Unlinkable:
        library = link_object(image, exports, imports)
    library.milliseconds["link"] = (time.perf_counter() - start) * 1e3
    return library


def load_support(
    name: str,
    text: Callable[[], str],
    exports: Sequence[str],
    imports: Mapping[str, int],
    *parameters: object,
    quick: bool = False,
) -> Library:
    """The machine code of a part of the runtime itself, from the LLVM text that ``text()`` gives; the text
    follows from tracejit's source, this machine, `name` and `parameters`."""
    key = key_of("support", name, repr(parameters), environment())
    image = CACHE.load(key)
    milliseconds: dict[str, float] = {}
    if image is None:
        image, milliseconds = emit_object(text(), quick=quick)
        CACHE.store(key, image)
    library = link(image, exports, imports)
    library.milliseconds.update(milliseconds)
    return library
