"""Tensors and Python's values: numbers and nested lists as arrays, the error where there is no value, and
what a traced tensor is to the code that is traced: a number of Python's, a scalar or an array of NumPy's.
"""

from __future__ import annotations

import dis
import itertools
import linecache
import sys
import warnings
from types import ModuleType
from typing import Any, Final, TypeAlias

import numpy as np

from ..base.errors import (
    ArgumentError,
    AskedValueError,
    ConcretizationError,
    DTypeError,
    GradientError,
    LostGradientWarning,
    NotNumbersError,
    ShapeError,
)
from ..base.loading import Loaded
from ..base.user_code import is_user_file, user_stacklevel
from ..ir.dtypes import BOOL, COMPLEX128, FLOAT64, INT64, complex_dtype, default_dtype
from ..ir.graph import Value
from ..ir.registry import OPS
from ..location import line_of, user_location
from ..provided import NAMESPACE
from ..state import STATE

Array = np.ndarray[Any, Any]
#: A Tensor, whose module builds on this one.
Tensor: TypeAlias = Any

#: Functions of ``math`` and ``cmath`` that this library has under another name.
_OTHER_NAMES_OF_MATH: Final = {
    "comb": "scipy.special.comb",
    "factorial": "scipy.special.factorial",
    "fsum": "sum",
    "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln",
    "phase": "angle",
    "ulp": "spacing",
}

#: NumPy's generators of random numbers, whose methods draw; ``np.random``'s functions are those of one.
_GENERATORS: Final = Loaded("numpy.random:Generator", "numpy.random:RandomState")
#: Methods that a call of a class or of its object runs, which the user does not name.
_CONSTRUCTING: Final = ("__init__", "__new__", "__call__")
_STORES_ITEM: Final = dis.opmap["STORE_SUBSCR"]
#: Ends the error of a symbol that becomes an ndarray: NumPy has not said what it wants that for.
INSTEAD_OF_NUMPY: Final = (
    "tj.asarray(x) for np.asarray(x), np.stack([x, y]) for np.array([x, y]), np.zeros_like(x) or tj.zeros "
    "for arrays to write x into, tj.asarray(a)[i] for a NumPy array a, and tj.pure_callback for what "
    "tracejit lacks"
)


def no_value(asked: str, instead: str, value: Value, *, tracing: bool) -> ConcretizationError:
    """The error for `asked`, which needs the value of a symbol: with the user's line, and `instead`."""
    asked, instead = asked_by(asked, instead)
    frame = users_frame()[1]
    caller = _outside_scipy(frame)
    where = user_location() if caller is frame else line_of(caller)
    rest = f"While a function is traced, tensors have types but no values. Use {instead}."
    if not tracing:
        rest = "It was stored outside the function while that was traced. Return it instead."
    place = f", at {where.file}:{where.line}" if where else ""
    return ConcretizationError(
        f"{asked} needs the value of a traced tensor of type {value.type}{place}. {rest}"
    )


def users_frame() -> tuple[Any, Any]:
    """The innermost frame outside of this package and NumPy, and what that called."""
    frame: Any = sys._getframe(1)
    inner: Any = None
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        inner, frame = frame, frame.f_back
    return inner, frame


def _outside_scipy(frame: Any) -> Any:
    """`frame`, or the user's that called SciPy where it runs code of that."""
    caller = frame
    while caller is not None and (
        str(caller.f_globals.get("__name__")).startswith("scipy.")
        or not (caller is frame or is_user_file(caller.f_code.co_filename))
    ):
        caller = caller.f_back
    return frame if caller is None else caller


def asked_by(asked: str, instead: str) -> tuple[str, str]:
    """`asked` and `instead` of an error, in the words of a function of ``math``, ``cmath``, SciPy or NumPy,
    or of its generators, that the user called, if that wants the value."""
    inner, frame = users_frame()
    caller = _outside_scipy(frame)
    if caller is frame and inner is not None and str(inner.f_globals.get("__name__")).startswith("numpy."):
        name = _of_numpy(inner)
        if name and hasattr(NAMESPACE(), name):
            return f"np.{name}", f"tj.{name}"
    function = None if caller is None else _called_function(caller)
    module, label = str(getattr(function, "__module__", None)), getattr(function, "__name__", "")
    if module in ("math", "cmath"):
        ours = _function_here(_OTHER_NAMES_OF_MATH.get(label, label))
        return f"{module}.{label}(x)", f"{ours}(x)" if ours else instead
    if isinstance(getattr(function, "__self__", None), _GENERATORS()):
        ours = _function_here(f"random.{label}") or "tj.random"
        return (
            f"np.random.{label}(x), which draws random numbers while the function is traced,",
            f"{ours}, which draws anew at each call, or draw before the call, and pass what was drawn",
        )
    if caller is frame and not module.startswith("scipy."):
        return asked, instead
    label = _of_scipy(function, frame, caller)
    ours = _function_here(f"{label}")
    if not ours and label.startswith(("scipy.linalg.", "scipy.integrate.")):  # where NumPy has it, too
        ours = _function_here(label.removeprefix("scipy.")) or _function_here(label.rpartition(".")[2])
    if not ours:
        instead = (
            f"functions of tj for what {label} computes, call it outside of the traced function and pass its "
            "result, or tj.pure_callback, which calls it with arrays"
        )
    return f"{label}(x)", f"{ours}(x)" if ours else instead


def _function_here(path: str) -> str:
    """``tj.<path>`` where there is that, else nothing."""
    namespace: Any = NAMESPACE()
    for part in path.split("."):
        namespace = getattr(namespace, part, None)
    return "" if namespace is None else f"tj.{path}"


def _scipys(frame: Any, caller: Any) -> Any:
    """The first frame of SciPy's code from `frame` on, None where there is none before `caller`."""
    while frame is not caller and not str(frame.f_globals.get("__name__")).startswith("scipy."):
        frame = frame.f_back
    return None if frame is caller else frame


def _of_scipy(function: Any, frame: Any, caller: Any) -> str:
    """The public name of SciPy's `function` that `caller` called; where its text does not say which that was,
    by the outermost of the frames from `frame` on, which SciPy's code runs in."""
    name = getattr(function, "__name__", None)
    module = str(getattr(function, "__module__", None))
    owner = getattr(function, "__self__", None)
    if name is None or not module.startswith("scipy."):
        if isinstance(function, type):
            name = function.__name__
        outer = frame
        while (outer := _scipys(outer.f_back, caller)) is not None:
            if not outer.f_globals["__name__"].startswith("scipy._lib."):  # which has decorators
                frame = outer
        name, module = frame.f_code.co_name, frame.f_globals["__name__"]
        owner = frame.f_locals.get("self")
    parts = module.split(".")
    packages = itertools.takewhile(lambda part: not part.startswith("_"), parts)
    for package in reversed(list(itertools.accumulate(packages, "{}.{}".format))):
        if not name.startswith("__") and hasattr(sys.modules.get(package), name):
            return f"{package}.{name}"
    public = [part for part in parts if not part.startswith("_")]
    if owner is not None and not isinstance(owner, ModuleType):
        public.append(str(getattr(owner, "name", None) or type(owner).__name__))
    return ".".join([*public, *([] if name in _CONSTRUCTING else [name])])


def _of_numpy(frame: Any) -> str:
    """The public name of the function, or the object, of NumPy's that `frame` runs for; empty if it has
    none."""
    owner = frame.f_locals.get("self")
    names = [type(owner).__name__, *[name for name in ("r_", "c_") if getattr(np, name) is owner]]
    for name in (frame.f_code.co_name, *reversed(names)):
        if not name.startswith("_") and hasattr(np, name):
            return str(name)
    return ""


def _called_function(frame: Any) -> Any:
    """The function that `frame` calls, as far as the text of the call names it by names and attributes."""
    places = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    first, last, start, end = next(places, (None, None, None, None))
    if first is None or first != last:
        return None
    text = linecache.getline(frame.f_code.co_filename, first).encode()[start:end].decode()
    name, *attributes = text.partition("(")[0].strip().split(".")
    function = frame.f_locals.get(name, frame.f_globals.get(name))
    for attribute in attributes:
        if hasattr(type(function), "__array__"):  # an attribute of a tensor may ask for its value again
            return None
        function = getattr(function, attribute, None)
    return function


def warn_of_lost_gradient(tensor: Tensor, asked: str, result: str = "a Python number") -> None:
    """Warn where `asked` makes a `result` of `tensor`, which requires grad, while a transform such as
    ``tj.grad`` runs its function. Raises GradientError where that is written to an array of NumPy's."""
    transform = STATE.differentiating
    if transform is None:
        return
    data, tracer = tensor._data, STATE.tracer
    tracked = tensor._requires_grad
    if not tracked and isinstance(data, Value) and tracer is not None and tracer.can_decide(data):
        tracked = tracer.branches.requires_grad(tracer, data)
    if tracked and _stores_item():
        raise GradientError(
            f"{transform}: a tensor that requires grad is written to an element of an array of NumPy's, "
            "which no gradient follows. Use tj.zeros in place of np.zeros, or compile the gradient, which "
            "follows the write: tj.jit(tj.grad(f)); or write x.item() or x.detach() where a constant is meant"
        )
    if tracked:
        warnings.warn(
            f"{transform}: {asked} makes {result}, which no gradient follows: what is computed from "
            "it is a constant to the gradient. Use tj.exp(x) in place of math.exp(x), or write "
            "x.item() or x.detach() where a constant is meant",
            LostGradientWarning,
            stacklevel=user_stacklevel(),
        )


def _stores_item() -> bool:
    """Whether the user's code is writing an item of something."""
    frame: Any = sys._getframe(1)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_code[frame.f_lasti] == _STORES_ITEM


def from_python(value: Any) -> Array:
    """The ndarray of a number or a nesting of them; Python floats take the default dtype."""
    if type(value) is float:
        return np.array(value, default_dtype())
    if type(value) is np.float64:
        return np.asarray(value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"expected a rectangular nesting of numbers, got {short(value)}: {error}") from error
    except (ConcretizationError, GradientError) as error:
        if not isinstance(value, (list, tuple)):
            raise
        raise type(error)(
            f"expected a tensor, got a {type(value).__name__} of tensors that are traced or require grad; "
            "put them together with tj.stack([...])"
        ) from error
    except OverflowError as error:
        raise DTypeError(f"an integer does not fit 64 bits in {short(value)}") from error
    if (
        array.dtype in (FLOAT64, COMPLEX128)
        and not isinstance(value, np.generic)
        and not hasattr(value, "__array__")
    ):
        own = default_dtype() if array.dtype == FLOAT64 else complex_dtype(default_dtype())
        return array.astype(own)  # NumPy gives other floats only where all are NumPy's own
    if array.dtype.kind in "OUSV":
        raise NotNumbersError(f"expected numbers, got {short(value)}, which has dtype {array.dtype}")
    return array


def short(value: Any) -> str:
    """The text of `value` for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


#: The dtypes of Python's numbers, by the kinds of those that become such.
_NUMBERS: Final = {"b": BOOL, "i": INT64, "u": INT64, "f": FLOAT64, "c": COMPLEX128}


def is_followed(data: Any) -> bool:
    """Whether numbers of `data`, a symbol of the running trace, can be Python numbers of that."""
    return isinstance(data, Value) and STATE.tracer is not None and data.dtype != "uint64"


def number_of(x: Tensor) -> Value:
    """The element of the traced `x` as a Python number to promotion, and a constant to gradients."""
    tracer: Any = STATE.tracer
    value = tracer.apply(OPS["stop_gradient"], (tracer.lift(x),), {})
    if x.shape:
        value = tracer.apply(OPS["reshape"], (value,), {"shape": ()})
    if x.dtype is not _NUMBERS[x.dtype.kind]:
        value = tracer.apply(OPS["cast"], (value,), {"dtype": _NUMBERS[x.dtype.kind]})
    if value.dtype is not BOOL:
        tracer.mark_weak(value)
    note_number(value)
    return value  # type: ignore[no-any-return]


def note_number(value: Value) -> None:
    """Note that Python code has `value` as a number."""
    branches = STATE.tracer.branches
    if branches is not None:
        branches.numbers.add(value)


def is_number(data: Any) -> bool:
    """Whether Python code has `data` as a number, or has computed it from one, and may ask for its value."""
    tracer = STATE.tracer
    if tracer is None or tracer.branches is None or not isinstance(data, Value):
        return False
    operands = {result: step.operands for step in tracer.body for result in step.results}
    sources = [data]
    for value in sources:  # which grows
        if value in tracer.branches.numbers:
            return True
        if tracer.is_weak(value):
            sources += [source for source in operands.get(value, ()) if source not in sources]
    return False


def plain_class(x: Tensor) -> type:
    """The class of what the traced `x` is where the function runs as it is: that of a number of Python's, of
    a scalar of NumPy's, or ndarray."""
    if is_of_python(x._data):
        return _PYTHON[x.dtype.kind]
    return np.ndarray if x.shape or not STATE.tracer.is_scalar(x) else x.dtype.type


_PYTHON: Final = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def plain_value(x: Tensor, asked: str, instead: str) -> Any:
    """The value of the traced `x`, of rank 0, as an object of its `plain_class`: the trace is for that."""
    array = x._concrete(asked, instead, decides=True)
    cls = plain_class(x)
    return array if cls is np.ndarray else array.item() if is_of_python(x._data) else array[()]


def runs_as_python(asked: str, where: Any) -> AskedValueError:
    """The error with which a call runs as Python: at the frame `where`, it has `asked` what arrays that have
    no values do not tell."""
    place = line_of(where)
    error = AskedValueError(f"{asked}, at {place.file}:{place.line}, asks for the elements of a traced array")
    error.advice = "ask outside of the function, or show it by tj.debug.print"
    STATE.tracer.handled.note_refusal(error)
    return error


def attribute_of(x: Tensor, name: str) -> Any:
    """``x.name`` where Tensors have no `name`, but the object that `x` stands for has: a number tells its
    value, and a call with an array runs as Python. Raises AttributeError elsewhere."""
    if not isinstance(name, str):
        raise ArgumentError(f"__getattr__: name must be text, got {short(name)}")
    tracer = STATE.tracer
    if hasattr(type(x), name):  # a property that has raised
        return object.__getattribute__(x, name)
    if not name.startswith("_") and is_followed(x._data) and tracer.owns(x._data):
        cls = plain_class(x)
        if hasattr(cls, name):
            if cls is not np.ndarray:
                return getattr(plain_value(x, f"x.{name}", "tj operations"), name)
            if is_of_call():
                raise runs_as_python(f"x.{name}", users_frame()[1])
    raise AttributeError(f"'Tensor' object has no attribute {name!r}", name=name, obj=x)


def is_of_call() -> bool:
    """Whether what is traced is a call with values, or a part of one, which can run as Python."""
    tracer = STATE.tracer
    while tracer is not None and tracer.parent is not None:
        tracer = tracer.parent
    return tracer is not None and tracer.branches is not None and tracer.handled is not None


#: The modules whose tables of leaves are about places in a graph.
_OF_GRAPHS: Final = f"{__package__.rpartition('.')[0]}.backward."


def hash_of(x: Tensor) -> int:
    """The hash of `x`: by value for a traced one of rank 0 that is not NaN, as for NumPy's and Python's
    numbers; by identity otherwise, and where it is a place in a graph that is differentiated."""
    if not _is_key(x) or sys._getframe(1).f_globals.get("__name__", "").startswith(_OF_GRAPHS):
        return object.__hash__(x)
    value = _key(x, "looking x up in a dict or set")
    return hash(value) if value == value else object.__hash__(x)


def key_value(x: Tensor) -> Any:
    """The value for which `x` stands as the key of a dict that leaves a trace, as `hash_of` takes it."""
    return _key(x, "x as the key of a dict") if _is_key(x) else x


def _is_key(x: Tensor) -> bool:
    """Whether `x` is known by its value in dicts and sets."""
    return isinstance(x._data, Value) and not x.shape


def _key(x: Tensor, asked: str) -> Any:
    return x._concrete(asked, "tj operations", decides=True).item()


def is_of_python(data: Any) -> bool:
    """Whether `data` stands for a number of Python's in a trace."""
    tracer = STATE.tracer
    return isinstance(data, Value) and tracer is not None and tracer.is_weak(data)


def is_integer(data: Any) -> bool:
    """Whether `data` stands for an integer of Python's in a trace: what asks for the value, a size or an axis
    mostly, is compiled for it."""
    return is_of_python(data) and data.dtype.kind == "i"
