"""Optimisers, gradient clipping and learning-rate schedules. ``docs/optim.md`` shows the two styles.

The functional style (`sgd`, `adam`, `adamw`) maps parameters, gradients and a state to new parameters and a
new state, all pytrees, and is made to stand inside a jitted function. The stateful style (`SGD`, `Adam`,
`AdamW`) holds parameters and writes them in place after ``backward``, as PyTorch's optimisers do. Both
compute by the formulas of `rules`.
"""

from __future__ import annotations

from ..surface.namespaces import OPTIM as _OPTIM

_OPTIM.attach(globals())
