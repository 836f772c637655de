# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from .checks import (
    Sample as Sample,
)

from .ops import (
    CheckFailure as CheckFailure,
    check_op as check_op,
)
