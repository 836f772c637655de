"""Replacements for names that tracejit does not have, for the error about a missing name."""

from __future__ import annotations

import difflib
from typing import Final

import numpy as np

from .base.errors import ArgumentError
from .provided import NAMESPACE

#: Names here of functions that PyTorch, JAX and NumPy have at the top level or call by another name.
PLACES: Final = {
    "as_tensor": "asarray",
    "cat": "concatenate",
    "from_numpy": "asarray",
    "manual_seed": "random.seed",
    "rand": "random.rand",
    "randn": "random.randn",
    "relu": "nn.relu",
    "sigmoid": "nn.sigmoid",
    "softmax": "nn.softmax",
}
#: Advice for names without a direct counterpart.
ADVICE: Final = {
    "lax": "loops and branches are tj.scan, tj.fori_loop, tj.while_loop, tj.cond and tj.switch",
    "numpy": "NumPy's functions are at the top, as tj.exp",
}


def hint(name: str) -> str:
    """The advice that ends an error about a missing ``tj.<name>``; "" where there is none."""
    if name in PLACES:
        return f"; use tj.{PLACES[name]}"
    if name in ADVICE:
        return f"; {ADVICE[name]}"
    if name.startswith("_") or not hasattr(np, name):
        return ""
    several = name == "polynomial"
    return (
        f"; tracejit has {'nothing of' if several else 'no'} np.{name}: compute it from x.numpy() outside of "
        "traced functions, or inside them, without gradients, by tj.pure_callback"
    )


__all__ = ["missing"]


def missing(label: str, name: str) -> ArgumentError:
    """The error for `label`, as in ``np.fft.fft``, whose own name is `name`."""
    advice = hint(name) if name in PLACES or name in ADVICE else ""
    if not advice:
        nearest = difflib.get_close_matches(name, NAMESPACE().__all__, 3, 0.7)
        named = " or ".join(f"tj.{other}" for other in nearest)
        advice = f"; the nearest are {named}" if named else ""
        advice += "; compute it from x.detach().numpy() outside of traced functions, or by tj.pure_callback"
    return ArgumentError(f"{label}: tracejit has no {name} for tensors{advice}")
