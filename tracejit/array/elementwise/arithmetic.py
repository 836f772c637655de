"""Elementwise arithmetic, powers, roots and rounding under NumPy's names.

Each function is the callable that ``dispatch`` makes of its op, so calling it costs one Python frame. Dtypes
follow NumPy 2 (NEP 50: Python numbers adopt the dtype of what they meet).
The tables below give each function its meaning and example.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...arguments.errors import checks_itself, explain
from ...dispatch.dispatch import elementwise
from ...dispatch.eager_functions import EagerFunction
from ...ir.dtypes import is_inexact
from ...ir.ops.define import ufunc_behind
from ...ir.registry import OPS
from ...provided import NUMPY_OPTIONS, UFUNC_METHODS
from ...state import STATE
from ...tensors.tensor import Tensor
from ..operands import as_tensor

#: Functions that NumPy lacks, and where their meaning is from.
_SOURCES = {"erf": "C99's ``erf``", "erfc": "C99's ``erfc``", "rsqrt": "``torch.rsqrt``"}


def documented(op: str, meaning: str, example: str, shows: str, *, name: str = "") -> Callable[..., Tensor]:
    """The callable of the elementwise op `op`, called `name`, or else as the ufunc or the op itself."""
    record = OPS[op]
    call, ufunc = elementwise(record), ufunc_behind(record.eval)
    name = name or (op if ufunc is None else ufunc[0].__name__)
    if len(record.params) == 1:
        shapes = "`x` is anything that `asarray` takes; the result has its shape."
    else:
        shapes = "`x` and `y` broadcast; ShapeError where they do not."
        add_ufunc_methods(call, name)
    _document(call, name, meaning, shapes, example, shows)
    return call


def add_ufunc_methods(call: Callable[..., Any], name: str) -> None:
    """Give `call` the methods that NumPy's ufunc `name` has, as in ``add.reduce``."""
    for method in ("reduce", "accumulate", "outer", "at", "reduceat"):
        setattr(call, method, functools.partial(_run_method, method, name))


def _run_method(method: str, name: str, *inputs: Any, **options: Any) -> Any:
    """A method of NumPy's ufunc `name`, whose module loads at first use."""
    methods = UFUNC_METHODS()
    return methods.run_method(method, name, inputs, options)


def _document(
    call: Callable[..., Any], name: str, meaning: str, shapes: str, example: str, shows: str
) -> None:
    source = _SOURCES.get(name, f"``numpy.{name}``")
    shown = shows.replace("\n", "\n        ")
    call.__name__ = call.__qualname__ = name
    call.__module__ = "tracejit.array"
    call.__doc__ = f"""{meaning}

    {shapes} DTypeError for dtypes without a meaning. `out` is a tensor that takes the result, `where`
    selects the places that are computed (the others keep the value of `out`, or are 0), and `dtype` is what
    it is computed in, to which `casting` must lead. `order` and `subok` make no difference.

    Example:
        >>> import tracejit as tj
        >>> {example}
        {shown}

    Semantics: {source}.
    """


__all__ = [
    "abs",
    "absolute",
    "add",
    "cbrt",
    "ceil",
    "copysign",
    "divide",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "hypot",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "pow",
    "power",
    "reciprocal",
    "remainder",
    "rint",
    "rsqrt",
    "sign",
    "sqrt",
    "square",
    "subtract",
    "true_divide",
    "trunc",
]

add = documented("add", "x + y; logical or of bools.", "tj.add([1.0, 2.0], 10)", "tensor([11., 12.])")
subtract = documented(
    "sub", "x - y. Bools have no difference: DTypeError.", "tj.subtract([1.0, 2.0], 10)", "tensor([-9., -8.])"
)
multiply = documented(
    "mul", "x times y; logical and of bools.", "tj.multiply([1.0, 2.0], 10)", "tensor([10., 20.])"
)
divide = documented(
    "div", "x / y, in floating point for integers too.", "tj.divide([1, 2], 4)", "tensor([0.25, 0.5 ])"
)
floor_divide = documented(
    "floor_divide",
    "The floor of x / y; of integers, an integer.",
    "tj.floor_divide([7, -7], 2)",
    "tensor([ 3, -4])",
)
remainder = documented(
    "remainder", "x - floor(x / y) y, with the sign of y.", "tj.remainder([7, -7], 3)", "tensor([1, 2])"
)
fmod = documented(
    "fmod", "x - trunc(x / y) y, with the sign of x.", "tj.fmod([7, -7], 3)", "tensor([ 1, -1])"
)
hypot = documented(
    "hypot",
    "sqrt(x^2 + y^2) without overflow. Slope 0 at the origin.",
    "tj.hypot([3.0, 5.0], [4.0, 12.0])",
    "tensor([ 5., 13.])",
)
maximum = documented(
    "maximum",
    "The larger, NaN if either is NaN. A tie shares the gradient equally.",
    "tj.maximum([1.0, 5.0], 3)",
    "tensor([3., 5.])",
)
minimum = documented(
    "minimum",
    "The smaller, NaN if either is NaN. A tie shares the gradient equally.",
    "tj.minimum([1.0, 5.0], 3)",
    "tensor([1., 3.])",
)
fmax = documented(
    "fmax",
    "The larger, or the other where one is NaN.",
    "tj.fmax([1.0, float('nan')], 0.5)",
    "tensor([1. , 0.5])",
)
fmin = documented(
    "fmin",
    "The smaller, or the other where one is NaN.",
    "tj.fmin([1.0, float('nan')], 0.5)",
    "tensor([0.5, 0.5])",
)
copysign = documented(
    "copysign",
    "The magnitude of x with the sign of y.",
    "tj.copysign([1.0, 2.0], [-0.0, 3.0])",
    "tensor([-1.,  2.])",
)
heaviside = documented(
    "heaviside",
    "0 where x < 0, y where x = 0, 1 where x > 0.",
    "tj.heaviside([-1.0, 0.0, 2.0], 0.5)",
    "tensor([0. , 0.5, 1. ])",
)
negative = documented(
    "neg", "-x. Bools have no negative: DTypeError.", "tj.negative([1.0, -2.0])", "tensor([-1.,  2.])"
)
absolute = documented(
    "abs", "The absolute value. Slope 0 at 0.", "tj.absolute([1.0, -2.0])", "tensor([1., 2.])"
)
sign = documented(
    "sign",
    "-1, 0 or 1 by the sign of x, NaN of NaN. Slope 0.",
    "tj.sign([-2.0, 0.0, 3.0])",
    "tensor([-1.,  0.,  1.])",
)
reciprocal = documented(
    "reciprocal", "1 / x; of integers, truncated.", "tj.reciprocal([2.0, 4.0])", "tensor([0.5 , 0.25])"
)
square = documented("square", "x times x.", "tj.square([2.0, -3.0])", "tensor([4., 9.])")
sqrt = documented(
    "sqrt", "The square root, NaN of negative numbers.", "tj.sqrt([4.0, 9.0])", "tensor([2., 3.])"
)
rsqrt = documented(
    "rsqrt",
    "1 / sqrt(x), infinite at 0, NaN of negative numbers.",
    "tj.rsqrt([4.0, 0.25])",
    "tensor([0.5, 2. ])",
)
cbrt = documented(
    "cbrt", "The cube root, of negative numbers too.", "tj.cbrt([8.0, -27.0])", "tensor([ 2., -3.])"
)
floor = documented(
    "floor",
    "The largest integer not above x, in x's dtype. Slope 0.",
    "tj.floor([1.7, -1.2])",
    "tensor([ 1., -2.])",
)
ceil = documented(
    "ceil",
    "The smallest integer not below x, in x's dtype. Slope 0.",
    "tj.ceil([1.2, -1.7])",
    "tensor([ 2., -1.])",
)
trunc = documented(
    "trunc", "x without its fraction, in x's dtype. Slope 0.", "tj.trunc([1.7, -1.7])", "tensor([ 1., -1.])"
)
rint = documented(
    "rint", "The nearest integer, ties to even. Slope 0.", "tj.rint([0.5, 1.5, 2.4])", "tensor([0., 2., 2.])"
)

_pow: Any = elementwise(OPS["pow"])
_pow.__name__ = "power"
#: NumPy's powers: gradient rules compute with the op itself.
_POWER = EagerFunction(OPS["pow"], _pow.eager.python)


@checks_itself
def _raised(x: Any, y: Any, /) -> Tensor:
    """``power`` without options."""
    # NumPy's fast paths, several times faster than the general function. The square is the same number; the
    # square root is another one at -0.0 and -inf, and traced code has to say so
    if type(y) is int:
        if y == 2 and STATE.tracer is None and type(x) is Tensor and is_inexact(x._data.dtype):
            return square.eager.run(x)  # type: ignore[attr-defined,no-any-return]
    elif type(y) is float and y == 0.5 and STATE.tracer is not None:
        x = as_tensor(x)
        if is_inexact(x.dtype) and not STATE.tracer.is_weak(x._data):
            return sqrt(x)
    return _POWER.run(x, y)  # type: ignore[no-any-return]


def power(
    x: Any,
    y: Any,
    /,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: Any = None,
    order: Any = "K",
    subok: Any = True,
) -> Any:
    """x to the power y. Integers to negative integer powers raise TracejitError.

    The slope in x at y = 0 is 0; the slope in y at x = 0 is 0 for y >= 0. The second derivative in x and y at
    x = 0, whose limit for y > 1 is 0, is 0 also for y = 1 and y = 0, where it grows without bounds, in both
    orders.

    Example:
        >>> import tracejit as tj
        >>> tj.power([1.0, 2.0, 3.0], 2)
        tensor([1., 4., 9.])

    Semantics: ``numpy.power``.
    """
    if out is None and where is True and dtype is None and casting is None:
        return _raised(x, y)
    try:
        options = NUMPY_OPTIONS()
        return options.call_elementwise(power, (x, y), out, where, dtype, casting)
    except Exception as error:
        keywords = {"out": out, "where": where, "dtype": dtype, "casting": casting}
        explain("power", power, (x, y), keywords, error)
        raise


_raised.__name__ = "power"
_POWER.method, power.eager = _raised, _POWER  # type: ignore[attr-defined]
add_ufunc_methods(power, "power")


# Names of the Array API standard, and NumPy's second names.
pow = power
true_divide = divide
mod = remainder
abs = absolute
