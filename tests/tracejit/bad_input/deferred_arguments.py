"""Arguments of the functions that load at first use, by their name."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj

from .valid_arguments import B, F, Fresh, I, N, V

_LINE = np.array([1.0, 2.0, 4.0])
_SIZED = {"size": 2, "fill_value": 1}
_REDUCTION = {"x": F, "axis": 0, "keepdims": True}


def _written(array: Any) -> Fresh:
    return Fresh(lambda: tj.tensor(array))


def _file(write: Callable[[Any], None] | None = None) -> Fresh:
    def make() -> io.BytesIO:
        file = io.BytesIO()
        if write is not None:
            write(file)
        return io.BytesIO(file.getvalue())

    return Fresh(make)


#: Functions whose results are bools, which have no other dtype.
_COMPARISONS = [
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]

OF_DEFERRED: dict[str, Any] = {
    **{name: {"x": F, "y": F, "where": B} for name in _COMPARISONS},
    **{name: {"x": F, "where": B} for name in ("isfinite", "isinf", "isnan", "logical_not", "signbit")},
    "angle": {"z": F, "deg": True},
    "append": {"x": F, "values": F, "axis": 0},
    "apply_along_axis": {"func1d": lambda line: line.sum(), "axis": 0, "x": F},
    "apply_over_axes": {"func": tj.sum, "x": F, "axes": 0},
    "array2string": {"x": V},
    "array_equiv": {"x": F, "y": V},
    "array_repr": {"x": V},
    "array_str": {"x": V},
    "asanyarray": {"data": F, "dtype": "float32"},
    "asarray_chkfinite": {"data": F, "dtype": "float32"},
    "ascontiguousarray": {"data": F, "dtype": "float32"},
    "asfortranarray": {"data": F, "dtype": "float32"},
    **{key: {"M": 5} for key in ["bartlett", "blackman", "hamming", "hanning"]},
    "block": {"arrays": [[F, F]]},
    "can_cast": {"from_": V, "to": "float64", "casting": "safe"},
    "choose": {"x": N, "choices": [N, N, N], "mode": "wrap"},
    "column_stack": {"arrays": [F, V]},
    "common_type": {"arrays": (F, V)},
    "compress": {"condition": [True, False, True], "x": F, "axis": 0, "size": 2, "fill_value": 1.0},
    "convolve": {"x": V, "y": V, "mode": "same"},
    "copyto": {"dst": _written(F), "src": F, "casting": "same_kind", "where": B},
    "corrcoef": {"x": F, "y": F, "rowvar": True, "dtype": "float64"},
    "correlate": {"x": V, "y": V, "mode": "same"},
    "cov": {
        "x": F,
        "y": F,
        "rowvar": True,
        "bias": False,
        "ddof": 1,
        "fweights": N + 1,
        "aweights": V,
        "dtype": "float64",
    },
    "cross": {"x": F, "y": F, "axisa": -1, "axisb": -1, "axisc": -1, "axis": -1},
    "cumulative_prod": {"x": F, "axis": 0, "dtype": "float64", "include_initial": True},
    "cumulative_sum": {"x": F, "axis": 0, "dtype": "float64", "include_initial": True},
    "delete": {"x": F, "obj": [0], "axis": 0},
    "diag_indices": {"n": 3, "ndim": 2},
    "diag_indices_from": {"x": F},
    "diagflat": {"v": V, "k": 1},
    "digitize": {"x": F, "bins": _LINE, "right": True},
    "dsplit": {"x": np.ones((1, 1, 4)), "indices_or_sections": 2},
    "dstack": {"arrays": [F, F]},
    "ediff1d": {"x": V, "to_end": V, "to_begin": V},
    "extract": {"condition": B, "x": F, "size": 2, "fill_value": 1.0},
    "fill_diagonal": {"x": _written(F), "val": 1.0, "wrap": True},
    "finfo": {"dtype": "float64"},
    "flatnonzero": {"x": F, "size": 2, "fill_value": 1},
    "frombuffer": {"buffer": bytes(16), "dtype": "float64", "count": 2, "offset": 0},
    "fromfile": {"file": __file__, "dtype": "uint8", "count": 2, "sep": "", "offset": 0},
    "fromfunction": {"function": lambda i, j: i + j, "shape": (2, 2), "dtype": "float64"},
    "fromiter": {"iter": Fresh(lambda: iter([1, 2])), "dtype": "float64", "count": 2},
    "fromstring": {"string": "1 2", "dtype": "float64", "count": 2, "sep": " "},
    "genfromtxt": {"file": Fresh(lambda: io.StringIO("1 2")), "dtype": "float64"},
    "gradient": {"x": F, "varargs": (1.0,), "axis": 0, "edge_order": 2},
    "histogram": {"x": V, "bins": 3, "range": (0.0, 1.0), "density": True, "weights": V},
    "histogram2d": {"x": V, "y": V, "bins": 3, "range": None, "density": True, "weights": V},
    "histogram_bin_edges": {"x": V, "bins": 3, "range": (0.0, 1.0), "weights": V},
    "histogramdd": {"sample": F, "bins": 3, "range": None, "density": True, "weights": V},
    "hsplit": {"x": F, "indices_or_sections": 3},
    "iinfo": {"dtype": "int32"},
    "indices": {"dimensions": (2, 3), "dtype": "int64", "sparse": True},
    "insert": {"x": F, "obj": 1, "values": 0.5, "axis": 0},
    "interp": {"x": F, "xp": _LINE, "fp": V, "left": 0.0, "right": 1.0, "period": None},
    "intersect1d": {"x": N, "y": I, "assume_unique": False, "return_indices": True, **_SIZED},
    "isdtype": {"dtype": np.dtype("f8"), "kind": "real floating"},
    "isin": {"element": I, "test_elements": N, "assume_unique": True, "invert": True},
    "isscalar": {"element": 1.0},
    "issubdtype": {"arg1": "float64", "arg2": "float64"},
    "iterable": {"y": F},
    "ix_": {"args": (N, N)},
    "kaiser": {"M": 5, "beta": 2.0},
    "load": {"file": _file(lambda file: np.save(file, V)), "allow_pickle": False},
    "loadtxt": {"file": Fresh(lambda: io.StringIO("1 2")), "dtype": "float64"},
    "mask_indices": {"n": 3, "mask_func": np.triu, "k": 1},
    "matvec": {"x": F, "y": V},
    "may_share_memory": {"x": F, "y": F},
    **{key: {**_REDUCTION, "initial": 0.0, "where": B} for key in ["nanmax", "nanmin"]},
    "nanargmax": _REDUCTION,
    "nanargmin": _REDUCTION,
    "nanmedian": _REDUCTION,
    "nanprod": {**_REDUCTION, "dtype": "float64", "initial": 1.0, "where": B},
    "nancumprod": {"x": F, "axis": 0, "dtype": "float64"},
    "nancumsum": {"x": F, "axis": 0, "dtype": "float64"},
    **{
        key: {"x": F, "q": 0.5, "axis": 0, "method": "inverted_cdf", "keepdims": True, "weights": F}
        for key in ["nanpercentile", "nanquantile", "percentile", "quantile"]
    },
    **{
        key: {**_REDUCTION, "dtype": "float64", "correction": 1, "where": B, "mean": F[:1]}
        for key in ["nanstd", "nanvar"]
    },
    "packbits": {"x": I, "axis": 0, "bitorder": "big"},
    "piecewise": {"x": V, "condlist": [V > 0.3], "funclist": [1.0, 2.0]},
    "place": {"x": _written(F), "mask": B, "vals": V},
    "poly": {"seq_of_zeros": V},
    **{key: {"p": V, "q": V} for key in ["polyadd", "polymul", "polysub"]},
    "polyder": {"p": V, "m": 1},
    "polydiv": {"u": V, "v": V[:2]},
    "polyfit": {"x": _LINE, "y": V, "deg": 1, "rcond": None, "full": False, "w": V, "cov": False},
    "polyint": {"p": V, "m": 1, "k": 0.5},
    "roots": {"p": V},
    "polyval": {"p": V, "x": F},
    "put": {"x": _written(F), "ind": N, "v": V, "mode": "wrap"},
    "put_along_axis": {"x": _written(F), "indices": np.zeros((1, 3), int), "values": 1.0, "axis": 0},
    "putmask": {"x": _written(F), "mask": B, "values": V},
    "ravel_multi_index": {"multi_index": (N, N), "dims": (3, 3), "mode": "wrap", "order": "F"},
    **{key: {"val": F} for key in ["imag", "real"]},
    "real_if_close": {"x": F, "tol": 100.0},
    "rollaxis": {"x": F, "axis": 1, "start": 0},
    "row_stack": {"arrays": [F, V]},
    "require": {"data": F, "dtype": "float32", "requirements": ["C"]},
    "resize": {"x": F, "new_shape": (2, 2)},
    "result_type": {"arrays_and_dtypes": (F, "float32")},
    "save": {"file": _file(), "x": F, "allow_pickle": False},
    "savetxt": {"file": Fresh(io.StringIO), "x": F, "fmt": "%.3f", "delimiter": ","},
    "savez": {"file": _file(), "arrays": (F, V)},
    "savez_compressed": {"file": _file(), "arrays": (F, V)},
    "select": {"condlist": [B], "choicelist": [F], "default": 0.0},
    "setdiff1d": {"x": I, "y": N, "assume_unique": False, **_SIZED},
    "setxor1d": {"x": I, "y": N, "assume_unique": False, **_SIZED},
    "shares_memory": {"x": F, "y": F},
    "size": {"x": F, "axis": 0},
    "trapezoid": {"y": V, "x": _LINE, "dx": 1.0, "axis": 0},
    **{key: {"n": 3, "k": 1, "m": 3} for key in ["tril_indices", "triu_indices"]},
    **{key: {"x": F, "k": 1} for key in ["tril_indices_from", "triu_indices_from"]},
    "trim_zeros": {"filt": V, "trim": "fb", "axis": 0},
    "union1d": {"x": N, "y": N, **_SIZED},
    **{f"unique_{kind}": {"x": I, **_SIZED} for kind in ["all", "counts", "inverse", "values"]},
    "unpackbits": {"x": np.arange(3, dtype=np.uint8), "axis": 0, "count": 5, "bitorder": "big"},
    "unravel_index": {"indices": N, "shape": (3, 3), "order": "F"},
    "unwrap": {"p": V, "discont": 1.0, "axis": 0, "period": 6.25},
    "vander": {"x": V, "N": 3, "increasing": True},
    "vecmat": {"x": V, "y": F},
    "vectorize": {"pyfunc": lambda v: v * 2, "signature": None},
    "vsplit": {"x": F, "indices_or_sections": 3},
}
