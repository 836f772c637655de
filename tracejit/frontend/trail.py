"""The code that is being followed, and whether each call of the function runs it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from types import CodeType
from typing import Final

_INSTALLED: Final = (
    rf"[\\/](site|dist)-packages[\\/]|^{re.escape(os.path.dirname(os.__file__))}[\\/]|^<frozen "
)


class Trail:
    """The functions that are followed inside each other."""

    def __init__(self) -> None:
        #: The code of the functions, callers first.
        self.running: list[CodeType] = []
        #: Functions that say of each code whether each call of it runs the instruction that is followed.
        self.certain: list[Callable[[], bool]] = []
        #: Functions that say of each code whether the instruction that is followed only words an error.
        self.wording: list[Callable[[], bool]] = []
        #: Number of calls that are being followed of which it is not known whether they happen.
        self.uncertain = 0

    def is_certain(self) -> bool:
        """Whether each call of the function runs the instruction that is followed."""
        return not self.uncertain and all(is_certain() for is_certain in self.certain)

    def words_an_error(self) -> bool:
        """Whether what the instruction that is followed gives is only raised, as the text of an error."""
        return any(words() for words in self.wording)

    def is_in_package(self) -> bool:
        """Whether code of a package or of the standard library is among what is followed. What it calls and
        reads is its affair: it is followed into branches that nobody takes."""
        return any(re.search(_INSTALLED, code.co_filename) for code in self.running)
