"""``tj.testing``: checks for ops and functions that users add. Loaded at its first use."""

from .checks import Sample
from .ops import CheckFailure, check_op

__all__ = ["CheckFailure", "Sample", "check_op"]
