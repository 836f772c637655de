"""Object code in this process: found in the disk cache or compiled, then linked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..codegen.interface import Library
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
) -> Library:
    """The machine code of a part of the runtime, whose LLVM text `support.TEXTS` gives for `arguments`.

    The text follows from tracejit's source, this machine, `name`, and `arguments` or `parameters`, which
    stand for them.
    """
    key = key_of("support", name, repr(arguments if parameters is None else parameters), environment())
    image = CACHE.load(key)
    milliseconds: dict[str, float] = {}
    if image is None:
        from .support import support_object

        image, milliseconds = support_object(name, *arguments)
        CACHE.store(key, image)
    library = link(image, exports, imports)
    library.milliseconds.update(milliseconds)
    return library
