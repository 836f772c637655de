"""The orders of transforms in which functions with their own derivatives are tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracejit as tj

#: Name, order of derivative, and the transforms.
ORDERS: list[tuple[str, int, Callable[[Any], Any]]] = [
    ("eager", 0, lambda f: f),
    ("jit", 0, tj.jit),
    ("grad", 1, tj.grad),
    ("jit grad", 1, lambda f: tj.jit(tj.grad(f))),
    ("grad jit", 1, lambda f: tj.grad(tj.jit(f))),
    ("jit grad jit", 1, lambda f: tj.jit(tj.grad(tj.jit(f)))),
    ("grad checkpoint", 1, lambda f: tj.grad(lambda *xs: tj.checkpoint(f, *xs))),
    ("jit grad checkpoint", 1, lambda f: tj.jit(tj.grad(lambda *xs: tj.checkpoint(f, *xs)))),
    ("grad jit checkpoint", 1, lambda f: tj.grad(tj.jit(lambda *xs: tj.checkpoint(f, *xs)))),
    ("grad grad", 2, lambda f: tj.grad(tj.grad(f))),
    ("jit grad grad", 2, lambda f: tj.jit(tj.grad(tj.grad(f)))),
    ("grad jit grad", 2, lambda f: tj.grad(tj.jit(tj.grad(f)))),
    ("grad grad jit", 2, lambda f: tj.grad(tj.grad(tj.jit(f)))),
    ("jit grad grad checkpoint", 2, lambda f: tj.jit(tj.grad(tj.grad(lambda *xs: tj.checkpoint(f, *xs))))),
    ("grad grad grad", 3, lambda f: tj.grad(tj.grad(tj.grad(f)))),
    ("grad jit grad grad", 3, lambda f: tj.grad(tj.jit(tj.grad(tj.grad(f))))),
    ("grad grad grad jit", 3, lambda f: tj.grad(tj.grad(tj.grad(tj.jit(f))))),
]
NAMES = [name for name, _, _ in ORDERS]
