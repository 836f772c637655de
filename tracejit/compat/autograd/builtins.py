"""``autograd.builtins``: Python's own. Containers stay what they are in derivatives, and hold tensors."""

from __future__ import annotations

from builtins import dict, isinstance, list, tuple, type  # noqa: UP029  # for those who import them

__all__ = ["dict", "isinstance", "list", "tuple", "type"]
