"""What to use in place of names that tracejit does not have, for the error that says so."""

from __future__ import annotations

import difflib
import sys
from typing import Final

import numpy as np

from .ir.errors import ArgumentError

#: Where what PyTorch, JAX and NumPy have at the top, or under other names, is here.
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
#: What is written in another way.
ADVICE: Final = {
    "lax": "loops and branches are tj.scan, tj.fori_loop, tj.while_loop, tj.cond and tj.switch",
    "numpy": "NumPy's functions are at the top, as tj.exp",
}


def hint(name: str) -> str:
    """What an error about ``tj.<name>`` may end with: "" where nothing is known of such a name."""
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
        nearest = difflib.get_close_matches(name, sys.modules["tracejit"].__all__, 3, 0.7)
        named = " or ".join(f"tj.{other}" for other in nearest)
        advice = f"; the nearest are {named}" if named else ""
        advice += "; compute it from x.detach().numpy() outside of traced functions, or by tj.pure_callback"
    return ArgumentError(f"{label}: tracejit has no {name} for tensors{advice}")
