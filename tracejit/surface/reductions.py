"""Reductions that run one op, under NumPy's names."""

from __future__ import annotations

from typing import Final

from .rows import Row

_AXIS: Final = "x, axis=None"
_KEEPS: Final = "out=None, keepdims: bool = False"
_AXIS_ERROR: Final = "Raises AxisError. "
_NO_ELEMENTS: Final = "Raises AxisError, and ShapeError for no elements. "

# fmt: off
REDUCTIONS: Final = (
    Row("sum", "The sum along `axis`; 0 of nothing.", "sum([[1.0, 2.0], [3.0, 4.0]], axis=0)",
        "tensor([4., 6.])", parameters=f"{_AXIS}, dtype=None, {_KEEPS}, initial=None, where=True",
        raises=_AXIS_ERROR),
    Row("prod", "The product along `axis`; 1 of nothing. Its gradient is right at zeros.",
        "prod([1, 2, 3, 4])", "tensor(24)",
        parameters=f"{_AXIS}, dtype=None, {_KEEPS}, initial=None, where=True", raises=_AXIS_ERROR),
    Row("mean", "The arithmetic mean along `axis`, NaN of nothing. Integers give the default dtype.\n\n"
        "Where `dtype` is of integers, the sum is computed in it and the quotient loses its fraction.",
        "mean([[1, 2], [3, 4]], axis=1)", "tensor([1.5, 3.5])",
        parameters=f"{_AXIS}, dtype=None, {_KEEPS}, where=True", raises=_AXIS_ERROR),
    Row("max amax",
        "The largest element along `axis`, NaN if any is NaN. Several largest share the gradient equally.",
        "max([[1, 5], [3, 4]], axis=1)", "tensor([5, 4])",
        parameters=f"{_AXIS}, {_KEEPS}, initial=None, where=True", raises=_NO_ELEMENTS),
    Row("min amin",
        "The smallest element along `axis`, NaN if any is NaN. Several smallest share the gradient equally.",
        "min([[1, 5], [3, 4]], axis=1)", "tensor([1, 3])",
        parameters=f"{_AXIS}, {_KEEPS}, initial=None, where=True", raises=_NO_ELEMENTS),
    Row("all", "Whether all elements along `axis` are true (not zero). True of nothing.",
        "all([[True, False], [True, True]], axis=1)", "tensor([False,  True])",
        parameters=f"{_AXIS}, {_KEEPS}, where=True", raises=_AXIS_ERROR),
    Row("any", "Whether any element along `axis` is true (not zero). False of nothing.",
        "any([[True, False], [False, False]], axis=1)", "tensor([ True, False])",
        parameters=f"{_AXIS}, {_KEEPS}, where=True", raises=_AXIS_ERROR),
    Row("argmax",
        "The index along `axis` of the first largest element or NaN; of the raveled array if `axis` is "
        "None.",
        "argmax([[1, 5], [4, 3]], axis=1)", "tensor([1, 0])",
        parameters=f"{_AXIS}, out=None, *, keepdims: bool = False", raises=_NO_ELEMENTS),
    Row("argmin",
        "The index along `axis` of the first smallest element or NaN; of the raveled array if `axis` is "
        "None.",
        "argmin([[1, 5], [4, 3]], axis=1)", "tensor([0, 1])",
        parameters=f"{_AXIS}, out=None, *, keepdims: bool = False", raises=_NO_ELEMENTS),
)
