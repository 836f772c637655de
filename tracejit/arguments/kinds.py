"""What parameters of public functions take, and which argument of a call is not of that kind.

Read only when a call has failed. A parameter's kind is in its annotation or, where that is ``Any``, follows
from its name: most parameters are arrays, and those that are not have the same names everywhere.
"""

from __future__ import annotations

import inspect
import operator
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from ..eager.tensor import Tensor, as_array
from ..ir.dtypes import as_dtype, is_differentiable
from ..ir.errors import ArgumentError, AxisError, DomainError, DTypeError, ShapeError, TracejitError
from ..ir.graph import Value
from ..ir.records import record
from ..ir.types import TensorType
from ..pytree import flatten
from ..state import STATE


@record
class ArgumentKind:
    """What a parameter takes: the test, its words, and the error for what does not pass."""

    accepts: Callable[[Any], bool]
    words: str
    raises: type[TracejitError] = ArgumentError


@record
class WrongArgument:
    """An argument that is not of its parameter's kind."""

    parameter: str
    words: str
    raises: type[TracejitError]
    value: Any

    def error(self, name: str) -> TracejitError:
        """The error of the function `name` that says so."""
        return self.raises(f"{name}: {self.parameter} must be {self.words}, got {described(self.value)}")


def described(value: Any) -> str:
    """`value` as messages show it."""
    if isinstance(value, Tensor):
        return f"a tensor of type {value.type}"
    if isinstance(value, np.ndarray):
        return f"an array of dtype {value.dtype} and shape {value.shape}"
    text = reprlib.repr(value).replace("\n", " ")
    return f"{text} of type {type(value).__name__}" if isinstance(value, (str, bytes)) else text


def _is_traced(value: Any, kinds: str) -> bool:
    return (
        isinstance(value, Tensor)
        and value.is_traced
        and value.dtype.kind in kinds
        and not _has_outlived(value)
    )


def _fits(value: Any) -> bool:
    return bool(-(2**63) <= value < 2**64)


def is_index(value: Any) -> bool:
    """Whether `value` is an integer that fits 64 bits, or a traced one."""
    try:
        return _is_traced(value, "iu") or _fits(operator.index(value))
    except (TypeError, TracejitError):
        return False


def is_number(value: Any) -> bool:
    """Whether `value` is a number, or a traced one."""
    if isinstance(value, (str, bytes)) or (isinstance(value, int) and not _fits(value)):
        return False
    try:
        return _is_traced(value, "fiub") or float(value) is not None
    except (TypeError, ValueError, OverflowError, TracejitError):
        return False


def _is_truth(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return value.shape == () and value.dtype.kind in "fiub"
    return isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1))


def is_array(value: Any) -> bool:
    """Whether `value` is an array of numbers, or what ``asarray`` makes one of."""
    if isinstance(value, Tensor):
        return not _has_outlived(value)
    if isinstance(value, (list, tuple)) and any(isinstance(item, (Tensor, list, tuple)) for item in value):
        return all(map(is_array, value)) and len(set(map(_extent, value))) == 1
    try:
        as_array(value)
    except (TracejitError, RecursionError):
        return False
    return True


def _extent(value: Any) -> int | None:
    shape = np.shape(value) if not isinstance(value, (list, tuple)) else (len(value),)
    return shape[0] if shape else None


def _has_outlived(value: Tensor) -> bool:
    """Whether `value` belongs to a trace that is over."""
    data, tracer = getattr(value, "_data", None), STATE.tracer
    while tracer is not None and isinstance(data, Value):
        if data in tracer._owned:
            return False
        tracer = tracer.parent
    return isinstance(data, Value)


def is_dtype(value: Any) -> bool:
    """Whether `value` names a dtype."""
    try:
        as_dtype(value)
    except DTypeError:
        return False
    return True


def _integers(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return value.dtype.kind in "iub" and value.ndim < 2
    return is_index(value) or (isinstance(value, (list, tuple)) and all(map(is_index, value)))


def _nested_integers(value: Any) -> bool:
    return _integers(value) or (isinstance(value, (list, tuple)) and all(map(_nested_integers, value)))


def _indices(value: Any) -> bool:
    return is_array(value) and dtype_of(value).kind in "iu"


def _arrays(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return is_array(value) and value.ndim > 0
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(map(is_array, value))


def _is_key(value: Any) -> bool:
    return isinstance(value, (Tensor, np.ndarray)) and value.dtype == np.uint64 and value.shape == ()


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor whose trace, if any, still runs."""
    return isinstance(value, Tensor) and not _has_outlived(value)


def _tensors(value: Any) -> bool:
    return is_tensor(value) or (isinstance(value, (list, tuple)) and all(map(is_tensor, value)))


def _is_tree(value: Any) -> bool:
    return all(map(is_array, flatten(value)[0]))


def dtype_of(value: Any) -> Any:
    """The dtype of an array, or of what ``asarray`` makes one of."""
    return (value if isinstance(value, Tensor) else as_array(value)).dtype


def _is_floating_tree(value: Any) -> bool:
    return all(is_array(leaf) and is_differentiable(dtype_of(leaf)) for leaf in flatten(value)[0])


def _is_spec(value: Any) -> bool:
    return all(isinstance(leaf, TensorType) or is_array(leaf) for leaf in flatten(value)[0])


def _is_place(value: Any) -> bool:
    """Whether `value` can stand in ``x[value]``."""
    if isinstance(value, tuple):
        return all(map(_is_place, value))
    if value is None or value is Ellipsis or isinstance(value, slice):
        return True
    if isinstance(value, list) and value == []:
        return True
    return is_array(value) and dtype_of(value).kind in "iub"


def _anything(value: Any) -> bool:
    return not isinstance(value, Tensor) or not _has_outlived(value)


INTEGER: Final = ArgumentKind(is_index, "an integer")
NUMBER: Final = ArgumentKind(is_number, "a number")
TRUTH: Final = ArgumentKind(_is_truth, "True or False")
TEXT: Final = ArgumentKind(lambda value: isinstance(value, str), "a string")
FUNCTION: Final = ArgumentKind(callable, "a function")
ARRAY: Final = ArgumentKind(is_array, "an array of numbers, or what tj.asarray makes one of", DTypeError)
ARRAYS: Final = ArgumentKind(_arrays, "a list or tuple of arrays", DTypeError)
TENSOR: Final = ArgumentKind(is_tensor, "a tensor", DTypeError)
TENSORS: Final = ArgumentKind(_tensors, "a tensor or a list of them", DTypeError)
DTYPE: Final = ArgumentKind(is_dtype, "a dtype such as 'float64'", DTypeError)
AXIS: Final = ArgumentKind(_integers, "an integer or a tuple of integers", AxisError)
PAIR: Final = ArgumentKind(
    lambda value: isinstance(value, (list, tuple)) and len(value) == 2, "a pair, a list or tuple of two"
)
COUNTS: Final = ArgumentKind(
    lambda value: isinstance(value, (list, tuple)) and len(value) == 2 and all(map(is_index, value)),
    "a pair of integers",
)
ORDER: Final = ArgumentKind(
    lambda value: isinstance(value, str) or is_number(value), "a number, or the name of a norm"
)
AXES: Final = ArgumentKind(
    lambda value: isinstance(value, (list, tuple)) and _integers(value), "a tuple of integers", AxisError
)
INTEGERS: Final = ArgumentKind(_integers, "an integer or a sequence of integers")
NESTED: Final = ArgumentKind(_nested_integers, "an integer, or a sequence of integers or of pairs")
INDICES: Final = ArgumentKind(_indices, "an array of integers", DTypeError)
SHAPE: Final = ArgumentKind(_integers, "an integer or a tuple of integers", ShapeError)
KEY: Final = ArgumentKind(_is_key, "a key, as tj.random.key(0) makes it", DTypeError)
FLOATS: Final = ArgumentKind(_is_floating_tree, "a floating tensor, or a container of such", DTypeError)
SPEC: Final = ArgumentKind(_is_spec, "a tj.TensorType, an array, or a container of such", DTypeError)
TREE: Final = ArgumentKind(_is_tree, "a tensor, or a container of tensors", DTypeError)
PLACE: Final = ArgumentKind(
    _is_place, "an integer, a slice, None, an array of integers or bools, or a tuple of these", DTypeError
)
SEQUENCE: Final = ArgumentKind(lambda value: isinstance(value, (Sequence, np.ndarray)), "a sequence")
MAPPING: Final = ArgumentKind(lambda value: isinstance(value, Mapping), "a dict")
ANYTHING: Final = ArgumentKind(_anything, "anything but a traced tensor whose trace is over")

_BY_ANNOTATION: Final = {
    "int": INTEGER,
    "float": NUMBER,
    "bool": TRUTH,
    "str": TEXT,
    "Func": FUNCTION,
    "Callable": FUNCTION,
    "Tensor": TENSOR,
    "Tensors": TENSORS,
    "Sequence": SEQUENCE,
    "tuple": SEQUENCE,
    "list": SEQUENCE,
    "Iterable": ArgumentKind(lambda value: hasattr(value, "__iter__"), "an iterable"),
    "Mapping": MAPPING,
    "dict": MAPPING,
    "Pair": INTEGERS,
    "type": ArgumentKind(lambda value: isinstance(value, type), "a class"),
}
#: Of parameters annotated ``Any``; the others are arrays.
_BY_NAME: Final[dict[str, ArgumentKind]] = {
    **dict.fromkeys(["axis", "axes", "source", "destination"], AXIS),
    **dict.fromkeys(["shape", "reps"], SHAPE),
    **dict.fromkeys(["indices_or_sections", "kth", "shift", "pad_width", "repeats", "num"], INTEGERS),
    **dict.fromkeys(["arrays", "keys"], ARRAYS),
    **dict.fromkeys(
        [
            "args", "aux", "cls", "in_axes", "kwargs", "lr", "operand", "optimize", "others", "out_axes",
            "seed", "spec", "state",
        ],
        ANYTHING,
    ),
    **dict.fromkeys(["elems", "grads", "init", "init_val", "operands", "params", "primals"], TREE),
    **dict.fromkeys(["tangents", "tree", "xs"], TREE),
    **dict.fromkeys(["indices", "sorter"], INDICES),
    "device": ArgumentKind(lambda value: isinstance(value, str), "'cpu', the only one there is"),
    "result_spec": SPEC,
    "key": PLACE,
    "fn": ArgumentKind(lambda value: callable(value) or isinstance(value, np.ndarray), "a function"),
    "dtype": DTYPE,
}  # fmt: skip
#: Names that mean something else in a module or function.
_IN_MODULE: Final[dict[str, dict[str, ArgumentKind]]] = {
    "gather": {"index": INDICES},
    "index_select": {"index": INDICES},
    "random": {"key": KEY, "data": INTEGER, "seed": INTEGER, "cov": ARRAY, "mode": ARRAY},
    "to": {"target": ANYTHING},
    "autograd": {"inputs": TENSORS, "v": TENSORS},
    "debug": {"args": TREE},
    "einsum": {"operands": ARRAY},
    "fft": {"d": NUMBER},
    "linalg": {"axes": AXES, "ord": ORDER, "p": ORDER},
    "pad": {"pad_width": NESTED},
    "optim": {"grads": FLOATS, "tree": FLOATS},
    "permute_dims": {"axes": AXES},
    "pure_callback": {"args": TREE},
    "scipy": {
        "c_and_lower": PAIR, "l_and_u": COUNTS, "lu_and_piv": PAIR, "target": INTEGER, "trans": ANYTHING,
    },
    "tensordot": {"axes": NESTED},
    "transpose": {"axes": AXES},
}  # fmt: skip


def bound_arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The arguments by parameter; None where they do not fit the signature."""
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except TypeError:
        return None


def wrong_argument(
    name: str, function: Callable[..., Any], arguments: Mapping[str, Any]
) -> WrongArgument | None:
    """The first of `arguments` that is not of its parameter's kind."""
    parameters = inspect.signature(function).parameters
    for parameter, argument in arguments.items():
        described_as = parameters[parameter]
        kind, optional = kind_of(name, described_as)
        for value in _values(described_as, argument):
            if not ((value is None and optional) or value is described_as.default or _passes(kind, value)):
                words, raises = kind.words, kind.raises
                if isinstance(value, int) and not _fits(value):
                    words, raises = "a number that fits 64 bits", DomainError
                return WrongArgument(parameter, words, raises, value)
    return None


def complex_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> WrongArgument | None:
    """The `arguments` that hold complex numbers, as one: for a function that takes real ones."""
    parameters = inspect.signature(function).parameters
    names = [
        name
        for name, argument in arguments.items()
        if any(map(_is_complex, _values(parameters[name], argument)))
    ]
    if not names:
        return None
    return WrongArgument(" and ".join(names), "real numbers", DTypeError, arguments[names[0]])


def _is_complex(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_complex, value))
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"


def _passes(kind: ArgumentKind, value: Any) -> bool:
    try:
        return kind.accepts(value)
    except RecursionError:
        return False


def _values(parameter: inspect.Parameter, argument: Any) -> Iterator[Any]:
    if parameter.kind is parameter.VAR_POSITIONAL:
        yield from argument
    elif parameter.kind is parameter.VAR_KEYWORD:
        yield from argument.values()
    else:
        yield argument


def kind_of(name: str, parameter: inspect.Parameter) -> tuple[ArgumentKind, bool]:
    """The kind of `parameter` of the function `name`, and whether None may stand for it."""
    annotation = parameter.annotation if isinstance(parameter.annotation, str) else ""
    parts = _alternatives(annotation)
    optional = "None" in parts or parameter.default is None
    kinds = [_annotated(part) for part in parts if part != "None"]
    if "Any" in parts:
        own = _IN_MODULE.get(name.partition(".")[0], {})
        numpys = import_module(".numpy_kinds", __package__)  # which is made of the kinds here
        kind = own.get(parameter.name) or numpys.kind_of_parameter(name, parameter.name)
        kind = kind or _BY_NAME.get(parameter.name, ARRAY)
        return kind, optional
    if not kinds or not annotation:
        return ANYTHING, optional
    understood = [kind for kind in kinds if kind is not None]
    if len(understood) < len(kinds):
        return ANYTHING, optional
    if len(understood) == 1:
        return understood[0], optional
    words = " or ".join(dict.fromkeys(kind.words for kind in understood))
    return ArgumentKind(
        lambda value: any(kind.accepts(value) for kind in understood), words, understood[0].raises
    ), optional


def _annotated(annotation: str) -> ArgumentKind | None:
    """The kind that an annotation stands for, None where it is not known."""
    outer, _, inner = annotation.partition("[")
    kind, element = _BY_ANNOTATION.get(outer), _BY_ANNOTATION.get(inner.removesuffix("]"))
    if kind is not SEQUENCE or element is None:
        return kind
    return ArgumentKind(
        lambda value: isinstance(value, (Sequence, np.ndarray)) and all(map(element.accepts, value)),
        f"a sequence of which each is {element.words}",
    )


def _alternatives(annotation: str) -> list[str]:
    """The members of a union, written with ``|``."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(annotation):
        depth += (character == "[") - (character == "]")
        if character == "|" and depth == 0:
            parts.append(annotation[start:place].strip())
            start = place + 1
    return [*parts, annotation[start:].strip()]
