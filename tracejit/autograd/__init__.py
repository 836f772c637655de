"""``tj.autograd``: eager automatic differentiation. Semantics: ``torch.autograd``."""

from __future__ import annotations

from ..surface.namespaces import AUTOGRAD as _AUTOGRAD

_AUTOGRAD.attach(globals())
