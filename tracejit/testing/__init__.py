"""``tj.testing``: checks for ops and functions that users add. Loaded at its first use."""

from ..arguments.errors import check_public as _check_public
from .checks import Sample
from .ops import CheckFailure, check_op

__all__ = ["CheckFailure", "Sample", "check_op"]

_check_public(globals(), __all__, "testing.")
