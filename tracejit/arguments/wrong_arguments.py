"""Search for the argument of a call that is not of its parameter's kind.

Read only when a call has failed. A parameter's kind is in its annotation or, where that is ``Any``, follows
from its name: most parameters are arrays, and those that are not have the same names everywhere.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import DomainError, DTypeError, ShapeError, TracejitError
from ..base.records import record
from ..tensors.tensor import Tensor
from .kinds import (
    ANYTHING,
    ARRAY,
    ARRAYS,
    AXES,
    AXIS,
    COUNTS,
    DTYPE,
    FLOATS,
    FUNCTION,
    INDICES,
    INTEGER,
    INTEGERS,
    KEY,
    MAPPING,
    NESTED,
    NUMBER,
    ORDER,
    PAIR,
    PLACE,
    SEQUENCE,
    SHAPE,
    SPEC,
    TENSOR,
    TENSORS,
    TEXT,
    TREE,
    TRUTH,
    ArgumentKind,
    fits,
    kind_of_parameter,
)

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
#: Kinds of parameters annotated ``Any``, by name; all others are arrays.
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


def listed(arguments: Mapping[str, Any]) -> str:
    """The `arguments` as messages show them, each with its parameter; not the object that is constructed."""
    return ", ".join(f"{name} is {described(value)}" for name, value in arguments.items() if name != "self")


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
                if isinstance(value, int) and not fits(value):
                    words, raises = "a number that fits 64 bits", DomainError
                return WrongArgument(parameter, words, raises, value)
    return None


def arguments_behind(
    error: Exception, function: Callable[..., Any], arguments: Mapping[str, Any]
) -> WrongArgument | None:
    """The `arguments` that led to `error` although they are of their parameters' kinds, as one
    `WrongArgument`: complex numbers for a function of real ones, arrays of an unsupported dtype, arrays of
    more axes than NumPy's iterators take. None for other errors."""
    text = str(error)
    for raised, said, is_wrong, words, raises in _BEHIND:
        if isinstance(error, raised) and said in text:
            parameters = inspect.signature(function).parameters
            names = [
                name
                for name, argument in arguments.items()
                if any(map(is_wrong, _values(parameters[name], argument)))
            ]
            if names:
                return WrongArgument(" and ".join(names), words, raises, arguments[names[0]])
    return None


def _is_complex(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_complex, value))
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"


def _is_half(value: Any) -> bool:
    return bool(getattr(value, "dtype", None) == np.float16)


def _has_no_dtype(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "biufc"


def _has_many_axes(value: Any) -> bool:
    return np.ndim(value) > _ITERATED_AXES if isinstance(value, (np.ndarray, Tensor)) else False


#: NumPy's iterators take arrays of so many axes, its other functions 64.
_ITERATED_AXES: Final = 32
#: Errors that name no argument: the class, a part of the message, the test of the values that cause it, what
#: these must be, and the error to raise instead.
_BEHIND: Final[
    tuple[tuple[type[Exception], str, Callable[[Any], bool], str, type[TracejitError]], ...]
] = (
    (DTypeError, "complex", _is_complex, "real numbers", DTypeError),
    (TypeError, "not 'complex'", _is_complex, "real numbers", DTypeError),
    (DTypeError, "that LAPACK has", _is_half, "of float32, float64, complex64 or complex128", DTypeError),
    (DTypeError, "is not supported", _has_no_dtype, "of a dtype of numbers", DTypeError),
    (
        RuntimeError, f"up to {_ITERATED_AXES} dimensions", _has_many_axes,
        f"of at most {_ITERATED_AXES} dimensions", ShapeError,
    ),
)  # fmt: skip


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
        kind = own.get(parameter.name) or kind_of_parameter(name, parameter.name)
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
