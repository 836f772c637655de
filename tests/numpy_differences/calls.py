"""Random calls of every public function that NumPy has under the same name: a maker of arguments for each.

`FUNCTIONS` has a maker for every name that tracejit and NumPy share, so that a new function is tested from
the day it is there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit.surface.namespaces import NUMPYS

from .arguments import FLOATS, Arguments
from .deferred_makers import DEFERRED, OTHER_TESTS
from .makers import (
    Maker,
    array_equal_arguments,
    average_arguments,
    binary_arguments,
    binary_integers_arguments,
    bincount_arguments,
    cast_arguments,
    clip_arguments,
    close_arguments,
    diff_arguments,
    dtype_argument,
    einsum_arguments,
    inner_arguments,
    ldexp_arguments,
    lexsort_arguments,
    matrices_arguments,
    median_arguments,
    nan_to_num_arguments,
    optional,
    partition_arguments,
    power_arguments,
    products_arguments,
    quantile_arguments,
    reduction_arguments,
    round_arguments,
    searchsorted_arguments,
    shift_arguments,
    single_axis_arguments,
    sorted_arguments,
    take_along_axis_arguments,
    take_arguments,
    tensordot_arguments,
    unary_arguments,
    unique_arguments,
    vecdot_arguments,
    where_arguments,
)
from .oracle import Call
from .shape_makers import (
    arange_arguments,
    array_arguments,
    arrays_arguments,
    axes_order_arguments,
    broadcast_to_arguments,
    diag_arguments,
    diagonal_arguments,
    eye_arguments,
    filled_arguments,
    flip_arguments,
    full_arguments,
    full_like_arguments,
    identity_arguments,
    joined_along_arguments,
    joined_arguments,
    like_arguments,
    meshgrid_arguments,
    moveaxis_arguments,
    pad_arguments,
    repeat_arguments,
    reshape_arguments,
    roll_arguments,
    rot90_arguments,
    spaced_arguments,
    split_arguments,
    stacked_arguments,
    tile_arguments,
    transpose_arguments,
    triangle_arguments,
    two_axes_arguments,
)


def _names(text: str, maker: Maker) -> dict[str, Maker]:
    return dict.fromkeys(text.split(), maker)


FUNCTIONS: dict[str, Maker] = {
    **_names(
        """abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh
        bitwise_count bitwise_invert bitwise_not cbrt ceil copy cos cosh deg2rad degrees exp exp2 expm1 fabs
        fix floor frexp invert isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not modf
        negative positive rad2deg radians ravel reciprocal rint sign signbit sin sinc sinh spacing sqrt square
        tan tanh trunc flipud fliplr matrix_transpose argwhere nonzero""",
        unary_arguments,
    ),
    **_names(
        """add arctan2 atan2 copysign divide divmod equal floor_divide fmax fmin fmod greater greater_equal
        heaviside hypot less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum
        minimum mod multiply nextafter not_equal remainder subtract true_divide""",
        binary_arguments,
    ),
    **_names("bitwise_and bitwise_or bitwise_xor gcd lcm", binary_integers_arguments),
    **_names("left_shift right_shift bitwise_left_shift bitwise_right_shift", shift_arguments),
    **_names("pow power float_power", power_arguments),
    **_names("max min amax amin all any ptp count_nonzero nanmean", reduction_arguments()),
    **_names("sum prod mean nansum", reduction_arguments(dtype=dtype_argument)),
    **_names(
        "var std",
        reduction_arguments(dtype=lambda a: a.pick([*FLOATS, None]), ddof=lambda a: a.pick([0, 1, 2, 0.5])),
    ),
    "median": median_arguments,
    "average": average_arguments,
    "quantile": quantile_arguments(1),
    "percentile": quantile_arguments(100),
    **_names("argmax argmin", single_axis_arguments(keepdims=True)),
    **_names("cumsum cumprod", single_axis_arguments(dtype=dtype_argument)),
    "clip": clip_arguments,
    "where": where_arguments,
    **_names("round around", round_arguments),
    **_names("isclose allclose", close_arguments),
    "array_equal": array_equal_arguments,
    **_names("zeros ones", filled_arguments),
    "full": full_arguments,
    **_names("zeros_like ones_like", like_arguments),
    "full_like": full_like_arguments,
    **_names("array asarray", array_arguments),
    "arange": arange_arguments,
    **_names("linspace geomspace logspace", spaced_arguments),
    **_names("eye tri", eye_arguments),
    "identity": identity_arguments,
    **_names("concatenate concat", joined_along_arguments),
    "stack": stacked_arguments,
    **_names("hstack vstack", joined_arguments),
    **_names("split array_split", split_arguments),
    "unstack": lambda a: ((x := a.array(),), optional(a, axis=a.axis(x.ndim, several=False, none=False))),
    "reshape": reshape_arguments,
    "broadcast_to": broadcast_to_arguments,
    **_names("broadcast_arrays atleast_1d atleast_2d atleast_3d", arrays_arguments),
    "transpose": transpose_arguments,
    "permute_dims": axes_order_arguments,
    "swapaxes": two_axes_arguments,
    "moveaxis": moveaxis_arguments,
    "squeeze": flip_arguments,
    "expand_dims": lambda a: ((x := a.operand(), a.axis(np.ndim(x) + 1, none=False)), {}),
    "flip": flip_arguments,
    "roll": roll_arguments,
    "rot90": rot90_arguments,
    "tile": tile_arguments,
    "repeat": repeat_arguments,
    "pad": pad_arguments,
    "meshgrid": meshgrid_arguments,
    **_names("diagonal trace", diagonal_arguments),
    "diag": diag_arguments,
    **_names("tril triu", triangle_arguments),
    "take": take_arguments,
    "take_along_axis": take_along_axis_arguments,
    "diff": diff_arguments,
    "searchsorted": searchsorted_arguments,
    "bincount": bincount_arguments,
    "lexsort": lexsort_arguments,
    **_names("sort argsort", sorted_arguments),
    **_names("partition argpartition", partition_arguments),
    **_names("matmul", matrices_arguments),
    **_names("dot outer kron vdot", products_arguments),
    "inner": inner_arguments,
    "vecdot": vecdot_arguments,
    "tensordot": tensordot_arguments,
    "einsum": einsum_arguments,
    "astype": cast_arguments,
    "nan_to_num": nan_to_num_arguments,
    "ldexp": ldexp_arguments,
    "unique": unique_arguments,
    **DEFERRED,
}

_NUMPYS_OWN = {
    name for name in NUMPYS.split() if callable(getattr(np, name)) and not isinstance(getattr(np, name), type)
}
#: Functions of both libraries without a differential test: their memory is not yet written.
UNTESTED = frozenset(("empty", "empty_like", "from_dlpack")) | OTHER_TESTS | _NUMPYS_OWN
#: Functions whose results are as long as values say, without a bound, so that they cannot be traced.
EAGER_ONLY = frozenset(("bincount",))


def shared_names() -> list[str]:
    """The functions that tracejit and NumPy have under one name."""
    names = [name for name in dir(tj) if not name.startswith("_") and hasattr(np, name)]
    return [name for name in names if callable(getattr(tj, name)) and not isinstance(getattr(tj, name), type)]


def in_order(xp: Any, places: Any, kwargs: dict[str, Any]) -> Any:
    """The indices of an ``argpartition``, sorted: nobody says in which order those of equal elements come."""
    axis = kwargs.get("axis", -1)
    return xp.sort(places, axis=-1 if axis is None or places.ndim == 1 else axis)


def call_of(name: str, a: Arguments) -> Call:
    """A random call of the function `name`."""
    args, kwargs = FUNCTIONS[name](a)

    def run(xp: Any, *args: Any, **kwargs: Any) -> Any:
        result = getattr(xp, name)(*args, **kwargs)
        return in_order(xp, result, kwargs) if name == "argpartition" else result

    return Call(name, run, args, kwargs, jitted=name not in EAGER_ONLY)
