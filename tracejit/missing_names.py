"""What to use in place of names that tracejit does not have, for the error that says so."""

from __future__ import annotations

from typing import Final

import numpy as np

#: Where what PyTorch, JAX and NumPy have at the top, or under other names, is here.
PLACES: Final = {
    "append": "concatenate",
    "array_equiv": "array_equal",
    "as_tensor": "asarray",
    "asfortranarray": "asarray",
    "ascontiguousarray": "asarray",
    "cat": "concatenate",
    "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum",
    "digitize": "searchsorted",
    "from_numpy": "asarray",
    "manual_seed": "random.seed",
    "put_along_axis": "index_update",
    "rand": "random.rand",
    "randn": "random.randn",
    "relu": "nn.relu",
    "rollaxis": "moveaxis",
    "row_stack": "vstack",
    "sigmoid": "nn.sigmoid",
    "softmax": "nn.softmax",
}
#: What is written in another way.
ADVICE: Final = {
    "column_stack": "write tj.stack([x, y], -1) for lines, tj.hstack([x, y]) for matrices",
    "dstack": "write tj.stack([x, y], -1)",
    "lax": "loops and branches are tj.scan, tj.fori_loop, tj.while_loop, tj.cond and tj.switch",
    "nanmax": "write tj.max(tj.where(tj.isnan(x), -tj.inf, x))",
    "nanmin": "write tj.min(tj.where(tj.isnan(x), tj.inf, x))",
    "numpy": "NumPy's functions are at the top, as tj.exp",
    "select": "nest tj.where, as in tj.where(a, x, tj.where(b, y, z))",
    "trapezoid": "write tj.sum((y[1:] + y[:-1]) * tj.diff(x)) / 2",
}
#: What gives no numbers to compute with on: tensors are neither wanted nor made by it.
_PLAIN: Final = ("finfo", "iinfo", "result_type", "broadcast_shapes", "dtype", "ndindex", "errstate")


def hint(name: str) -> str:
    """What an error about ``tj.<name>`` may end with: "" where nothing is known of such a name."""
    if name in PLACES:
        return f"; use tj.{PLACES[name]}"
    if name in ADVICE:
        return f"; {ADVICE[name]}"
    if name in _PLAIN:
        return f"; use np.{name}"
    if name.startswith("_") or not hasattr(np, name):
        return ""
    several = name in ("linalg", "fft", "polynomial")
    return (
        f"; tracejit has {'nothing of' if several else 'no'} np.{name}: compute it from x.numpy() outside of "
        "traced functions, or inside them, without gradients, by tj.pure_callback"
    )
