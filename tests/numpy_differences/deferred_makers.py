"""Makers of random arguments for the functions whose modules load at first use."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import FLOATS, INTEGERS, Arguments, Fixed
from .makers import (
    CallArguments,
    Maker,
    dtype_argument,
    optional,
    reduction_arguments,
    single_axis_arguments,
    unary_arguments,
)


def _finite(a: Arguments, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """Small numbers of `dtype`: integers and halves."""
    dtype = dtype or a.pick([*FLOATS, np.dtype("i4"), np.dtype("i8")])
    values = a.random.integers(-6, 7, shape)
    return (values / 2 if dtype.kind == "f" else values).astype(dtype)


def _line(a: Arguments, least: int = 1) -> Any:
    return _finite(a, (a.whole(least, 9),))


def convolve_arguments(a: Arguments) -> CallArguments:
    return (_line(a), _line(a), a.pick(["full", "same", "valid"])), {}


def interp_arguments(a: Arguments) -> CallArguments:
    points = np.sort(a.random.choice(np.arange(-8, 9), a.whole(1, 6), replace=False)).astype(np.float64)
    values = _finite(a, points.shape)
    ends = optional(a, left=-7.0, right=8.5)
    return (_finite(a, a.pick([(), (4,), (2, 3)])), points, values), ends


def gradient_arguments(a: Arguments) -> CallArguments:
    shape = a.pick([(4,), (3, 4), (5, 3)])
    return (_finite(a, shape),), optional(a, axis=a.pick([0, -1]), edge_order=a.pick([1, 2]))


def trapezoid_arguments(a: Arguments) -> CallArguments:
    shape = a.pick([(4,), (3, 4)])
    return (_finite(a, shape),), optional(a, dx=a.pick([0.5, 2]), axis=a.pick([0, -1]))


def ediff1d_arguments(a: Arguments) -> CallArguments:
    return (_finite(a, a.pick([(4,), (2, 3), (1,)]), np.dtype("f8")),), optional(a, to_end=7.0)


def isin_arguments(a: Arguments) -> CallArguments:
    return (a.array(INTEGERS), a.array(INTEGERS)), optional(a, invert=True)


def sets_arguments(a: Arguments) -> CallArguments:
    return (a.array(INTEGERS), a.array(INTEGERS)), {}


def polynomials_arguments(a: Arguments) -> CallArguments:
    first, second = _line(a), _line(a)
    first[0] = second[0] = 1  # zeros in front are left out, where that can be seen
    return (first, second), {}


def polyder_arguments(a: Arguments) -> CallArguments:
    return (_line(a),), optional(a, m=a.whole(0, 4))


def polyval_arguments(a: Arguments) -> CallArguments:
    return (_line(a), _finite(a, a.pick([(), (3,), (2, 2)]))), {}


def vander_arguments(a: Arguments) -> CallArguments:
    return (_line(a),), optional(a, N=a.whole(0, 5), increasing=a.chance(0.5))


def cross_arguments(a: Arguments) -> CallArguments:
    shapes = [((3,), (3,)), ((4, 3), (3,)), ((2, 1, 3), (4, 3))]
    first, second = a.pick(shapes)
    return (_finite(a, first), _finite(a, second)), {}


def append_arguments(a: Arguments) -> CallArguments:
    if a.chance(0.5):
        return (a.array(), a.array()), {}
    return (_finite(a, (2, 3)), _finite(a, (2, 3))), {"axis": a.pick([0, 1, -1, 2])}


def insert_arguments(a: Arguments) -> CallArguments:
    shape = a.pick([(5,), (3, 4)])
    axis = a.whole(0, len(shape) - 1)
    places = a.pick([a.whole(-6, 6), Fixed(a.random.integers(-3, 4, 2))])
    return (_finite(a, shape), places, a.pick([7, 2.5])), {"axis": axis}


def delete_arguments(a: Arguments) -> CallArguments:
    shape = a.pick([(5,), (3, 4)])
    axis = a.whole(0, len(shape) - 1)
    places = a.pick([a.whole(-6, 6), slice(0, 2), Fixed(a.random.integers(-3, 3, 2))])
    return (_finite(a, shape), places), {"axis": axis}


def stacked_arguments(a: Arguments) -> CallArguments:
    shape = a.pick([(), (3,), (2, 3), (2, 1, 3)])
    return ([_finite(a, shape) for _ in range(a.whole(1, 3))],), {}


def resize_arguments(a: Arguments) -> CallArguments:
    return (a.array(), a.pick([(2, 3), 4, (0,), (1, 7)])), {}


def select_arguments(a: Arguments) -> CallArguments:
    shape = a.pick([(3,), (2, 3)])
    conditions = [a.values(np.dtype(bool), shape) for _ in range(a.whole(1, 3))]
    return (conditions, [_finite(a, shape) for _ in conditions]), optional(a, default=a.pick([0, 1.5]))


def choose_arguments(a: Arguments) -> CallArguments:
    shape = a.pick([(3,), (2, 3)])
    return (
        a.random.integers(-2, 5, shape),
        [_finite(a, shape, np.dtype("f8")) for _ in range(3)],
    ), {"mode": a.pick(["wrap", "clip"])}


def digitize_arguments(a: Arguments) -> CallArguments:
    bins = np.sort(_finite(a, (a.whole(1, 5),)))
    bins = bins[::-1] if a.chance(0.3) else bins
    return (_finite(a, a.pick([(), (4,), (2, 3)])), bins), optional(a, right=True)


def histogram_arguments(a: Arguments) -> CallArguments:
    x = _finite(a, a.pick([(9,), (3, 4), (0,)]), a.pick([np.dtype("f8"), np.dtype("i8")]))
    return (x, a.pick([1, 4, Fixed(np.array([-2.0, 0.0, 0.5, 3.0]))])), optional(a, range=(-1.5, 2.5))


def cov_arguments(a: Arguments) -> CallArguments:
    x = _finite(a, a.pick([(5,), (3, 5), (1, 4)]))
    return (x,), optional(a, rowvar=a.chance(0.5), bias=a.chance(0.5), ddof=a.pick([0, 1]))


def bits_arguments(a: Arguments) -> CallArguments:
    x = a.values(np.dtype("u1"), a.pick([(5,), (2, 9), (1, 8)]))
    return (x,), optional(a, axis=a.pick([0, -1, None]), bitorder=a.pick(["big", "little"]))


def places_arguments(a: Arguments) -> CallArguments:
    index = tuple(a.random.integers(-5, 9, (2, 2)) for _ in range(2))
    return (index, (3, 4)), {"mode": a.pick(["wrap", "clip"]), **optional(a, order=a.pick(["C", "F"]))}


def unravel_arguments(a: Arguments) -> CallArguments:
    return (a.random.integers(0, 12, (2, 2)), (3, 4)), optional(a, order=a.pick(["C", "F"]))


def matvec_arguments(a: Arguments) -> CallArguments:
    return (_finite(a, a.pick([(2, 3), (4, 2, 3)])), _finite(a, (3,))), {}


def vecmat_arguments(a: Arguments) -> CallArguments:
    return (_finite(a, (3,)), _finite(a, a.pick([(3, 2), (4, 3, 2)]))), {}


def _names(text: str, maker: Maker) -> dict[str, Maker]:
    return dict.fromkeys(text.split(), maker)


DEFERRED: dict[str, Maker] = {
    **_names("nanmax nanmin", reduction_arguments()),
    **_names("nanprod", reduction_arguments(dtype=dtype_argument)),
    **_names("nancumsum nancumprod", single_axis_arguments(dtype=dtype_argument)),
    **_names("conj conjugate real imag isreal iscomplex ndim shape", unary_arguments),
    **_names("convolve correlate", convolve_arguments),
    "interp": interp_arguments,
    "gradient": gradient_arguments,
    "trapezoid": trapezoid_arguments,
    "ediff1d": ediff1d_arguments,
    "isin": isin_arguments,
    **_names("union1d intersect1d setdiff1d setxor1d", sets_arguments),
    **_names("polyadd polysub polymul", polynomials_arguments),
    "polyder": polyder_arguments,
    "polyval": polyval_arguments,
    "vander": vander_arguments,
    "cross": cross_arguments,
    "append": append_arguments,
    "insert": insert_arguments,
    "delete": delete_arguments,
    **_names("column_stack dstack", stacked_arguments),
    "resize": resize_arguments,
    "select": select_arguments,
    "choose": choose_arguments,
    "digitize": digitize_arguments,
    "histogram": histogram_arguments,
    "cov": cov_arguments,
    "packbits": bits_arguments,
    "unpackbits": bits_arguments,
    "ravel_multi_index": places_arguments,
    "unravel_index": unravel_arguments,
    "matvec": matvec_arguments,
    "vecmat": vecmat_arguments,
}
#: Functions that tables of calls in tests/tracejit/array compare with NumPy.
OTHER_TESTS = frozenset(
    [
        "angle",
        "apply_along_axis",
        "apply_over_axes",
        "array2string",
        "array_equiv",
        "array_repr",
        "array_str",
        "asanyarray",
        "asarray_chkfinite",
        "ascontiguousarray",
        "asfortranarray",
        "bartlett",
        "blackman",
        "block",
        "can_cast",
        "common_type",
        "compress",
        "copyto",
        "corrcoef",
        "cumulative_prod",
        "cumulative_sum",
        "diag_indices",
        "diag_indices_from",
        "diagflat",
        "dsplit",
        "extract",
        "fill_diagonal",
        "finfo",
        "flatnonzero",
        "frombuffer",
        "fromfile",
        "fromfunction",
        "fromiter",
        "fromstring",
        "genfromtxt",
        "hamming",
        "hanning",
        "histogram2d",
        "histogram_bin_edges",
        "histogramdd",
        "hsplit",
        "i0",
        "iinfo",
        "indices",
        "iscomplexobj",
        "isdtype",
        "isrealobj",
        "isscalar",
        "issubdtype",
        "iterable",
        "ix_",
        "kaiser",
        "load",
        "loadtxt",
        "mask_indices",
        "may_share_memory",
        "min_scalar_type",
        "nanargmax",
        "nanargmin",
        "nanmedian",
        "nanpercentile",
        "nanquantile",
        "nanstd",
        "nanvar",
        "piecewise",
        "place",
        "poly",
        "polydiv",
        "polyfit",
        "polyint",
        "put",
        "put_along_axis",
        "putmask",
        "real_if_close",
        "require",
        "rollaxis",
        "row_stack",
        "result_type",
        "save",
        "savetxt",
        "savez",
        "savez_compressed",
        "shares_memory",
        "size",
        "tril_indices",
        "tril_indices_from",
        "trim_zeros",
        "triu_indices",
        "triu_indices_from",
        "unique_all",
        "unique_counts",
        "unique_inverse",
        "unique_values",
        "unwrap",
        "vsplit",
        "roots",
        "sort_complex",
    ]
)
