"""`__array_ufunc__` and `__array_function__`: where NumPy sends calls that have a tensor as an argument.

Each goes to the function of the same name here, so that gradients follow it and traces contain it. What is
missing here raises, with the nearest name that there is: an array in place of a tensor would lose gradients
without a word. Functions that only show, store or compare memory get the arrays (`HOST`).

SciPy hands what it computes of callbacks' results to C and Fortran, which take arrays alone. So a tensor that
has a value and requires no gradient is an array to NumPy's functions where SciPy's code calls them, and to
those that make arrays of their arguments (`CONVERSIONS`) where any code does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...base.errors import AliasedError, TracejitError
from ...base.loading import load_module
from ...provided import MISSING, NAMESPACE
from ...state import STATE
from ...tensors.array_callers import frame_above, takes_arrays
from ...tensors.tensor import Tensor
from .. import diagonals
from ..operands import as_numpy_scalars
from . import ufunc_methods
from .options import call_with_options
from .signatures import argument_map

__all__ = ["array_function", "array_ufunc"]

#: NumPy's functions that give no arrays to compute with: they take the arrays that the tensors hold.
HOST: Final = frozenset(
    [
        "array2string",
        "array_repr",
        "array_str",
        "save",
        "savetxt",
        "savez",
        "savez_compressed",
        "shares_memory",
        "may_share_memory",
        "datetime_as_string",
    ]
)

#: NumPy's functions that make arrays of what they are given, as ``np.asarray`` does, which NumPy does not
#: send here. Libraries call them on results of callbacks before they hand those to C or Fortran.
CONVERSIONS: Final = frozenset((np.atleast_1d, np.atleast_2d, np.atleast_3d))


def public_function(name: str) -> Callable[..., Any] | None:
    """``tj.<name>`` where there is such a function, modules that load at first use included."""
    if name == "trace":  # tj.trace traces a function
        return diagonals.trace
    library = NAMESPACE()
    return getattr(library, name) if name in library.__all__ else None


#: Functions of SciPy, by the name of the ufunc that they call.
_BEHIND: Final = {"_riemann_zeta": "zeta", "_zeta": "zeta"}


class _Cache(dict[Any, Any]):
    """The results of a function of one argument; a look-up is cheaper than a call."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, key: Any) -> Any:
        return self.setdefault(key, self._function(key))


@_Cache
def _functions(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """The function here that does what NumPy's or SciPy's `ufunc` does; None where there is none."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return public_function(name)
    special = sys.modules.get("scipy.special")
    if special is not None and name in _BEHIND:
        name = _BEHIND[name]
    elif special is None or getattr(special, name, None) is not ufunc:
        return None
    function: Callable[..., Any] | None = getattr(NAMESPACE().scipy.special, name, None)
    return public_function(name) if function is None else function


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Run `ufunc`, or its `method`, on `inputs` of which one is a tensor. NumPy's ``__array_ufunc__``."""
    if takes_arrays(frame_above(1)) and _are_plain(inputs, options, method):
        return getattr(ufunc, method)(*as_arrays(inputs), **as_arrays(options))
    function = _functions[ufunc]
    if function is None:
        raise _missing(_name_of(ufunc), ufunc.__name__)
    if STATE.tracer is not None:
        inputs = as_numpy_scalars(inputs)
    try:
        if method == "__call__":
            if not options:
                return function(*inputs)
            return call_with_options(function, ufunc, inputs, options)
        return ufunc_methods.run_method(method, ufunc.__name__, inputs, options)
    except AliasedError:
        raise  # the call runs as Python
    except TracejitError:
        if any(_is_foreign(value) for value in inputs):
            return NotImplemented
        raise


def _missing(label: str, name: str) -> Exception:
    return MISSING()(label, name)


def _name_of(ufunc: np.ufunc) -> str:
    name = ufunc.__name__
    for label, module in (("np", np), ("scipy.special", sys.modules.get("scipy.special"))):
        if getattr(module, name, None) is ufunc:
            return f"{label}.{name}"
    return name


def _is_foreign(value: Any) -> bool:
    """Whether `value` is an array of another library, which may know what to do with a tensor."""
    own = type(value).__module__.partition(".")[0] in ("numpy", "tracejit", "builtins")
    return not own and getattr(type(value), "__array_ufunc__", None) is not None


#: Calls a function with the positional arguments and the options of NumPy's.
Adapter = Callable[[tuple[Any, ...], dict[str, Any]], Any]


@_Cache
def _adapters(function: Callable[..., Any]) -> Adapter | None:
    """The adapter that calls this library's counterpart of `function` of `numpy` or one of its packages; None
    without one."""
    name, module = function.__name__, function.__module__
    if function is np.einsum_path:
        return lambda args, options: np.einsum_path(*map(_of_shape, args), **options)
    if module == "numpy.linalg" and getattr(np.linalg, name, None) is function:
        own = getattr(NAMESPACE().linalg, name, None)
    elif module == "numpy.fft" and getattr(np.fft, name, None) is function:
        own = getattr(NAMESPACE().fft, name)
    elif getattr(np.emath, name, None) is function:
        own = getattr(NAMESPACE().emath, name)
    elif module == "numpy" and getattr(np, name, None) is function:
        own = public_function(name)
    elif function is np.lib.stride_tricks.sliding_window_view:
        own = load_module("..assembly.sliding_windows", __package__).sliding_window_view
    else:
        return None
    if own is None:
        return None
    adapter = argument_map(function, own) or (lambda args, options: own(*args, **options))
    return _conversion(function, adapter) if function in CONVERSIONS else adapter


def _of_shape(operand: Any) -> Any:
    """An array without memory in place of a tensor, to a function that looks at shapes alone."""
    return (
        np.broadcast_to(np.empty((), operand.dtype), operand.shape)
        if isinstance(operand, Tensor)
        else operand
    )


def _conversion(function: Callable[..., Any], adapter: Adapter) -> Adapter:
    """`adapter` of a function of `CONVERSIONS`, and NumPy's `function` for tensors that are plain arrays."""

    def convert(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return function(*as_arrays(args), **options) if _are_plain(args, options) else adapter(args, options)

    return convert


def _are_plain(args: tuple[Any, ...], options: dict[str, Any], method: str = "") -> bool:
    """Whether the tensors in a call of NumPy's are no more than arrays to what runs now: nothing is traced,
    none requires a gradient, and none is written, since it may have views."""
    writes = method == "at" or options.get("out") is not None
    return STATE.tracer is None and not writes and not _records(args) and not _records([*options.values()])


def _records(value: Any) -> bool:
    """Whether `value` is, or holds, a tensor that is traced or requires grad."""
    if isinstance(value, Tensor):
        return value._requires_grad or value.is_traced
    return type(value) in (list, tuple) and any(map(_records, value))


def array_function(
    self: Tensor,
    function: Callable[..., Any],
    types: Any,
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Run NumPy's `function` on arguments that contain a tensor. NumPy's ``__array_function__``."""
    if takes_arrays(frame_above(1)) and _are_plain(args, options):
        return function(*as_arrays(args), **as_arrays(options))
    adapter = _adapters[function]
    if adapter is not None:
        return adapter(args, options)
    name = function.__name__
    if name in HOST:
        return function(*as_arrays(args), **as_arrays(options))
    raise _missing(f"{function.__module__.replace('numpy', 'np', 1)}.{name}", name)


def as_arrays(value: Any) -> Any:
    """`value` with the tensors in its lists, tuples and dicts as arrays."""
    if isinstance(value, Tensor):
        return value.numpy()
    if type(value) in (list, tuple):
        return type(value)(as_arrays(item) for item in value)
    if type(value) is dict:
        return {key: as_arrays(item) for key, item in value.items()}
    return value
