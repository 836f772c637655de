"""One call as NumPy, eager code and jitted code run it, and what differs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.base.errors import ConcretizationError, TracejitError
from tracejit.runtime.tiers import BACKGROUND, tiers_are_on

from .arguments import Array, Fixed

#: Outcome of a call in a library: the arrays, or the exception.
Outcome = list[Array] | Exception


@dataclass(eq=False)
class Call:
    """A function, as what it does with a library `xp`, and its arguments, of which ndarrays are operands."""

    name: str
    run: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    #: Whether it can be traced at all: the shapes of its results do not depend on values.
    jitted: bool = True
    #: Whether the first argument decides what runs, so that a Tensor has to be there.
    is_method: bool = False

    def __str__(self) -> str:
        arguments = [_text(value) for value in self.args]
        arguments += [f"{key}={_text(value)}" for key, value in self.kwargs.items()]
        return f"{self.name}({', '.join(arguments)})"

    def arrays(self) -> list[Array]:
        """The operands that are ndarrays, in order."""
        operands: list[Array] = []
        _mapped((self.args, self.kwargs), lambda array: operands.append(array))
        return operands

    def with_arrays(self, xp: Any, arrays: Sequence[Any]) -> Any:
        """The result of the library `xp` with `arrays` for the ndarrays."""
        rest = iter(arrays)
        args, kwargs = _mapped((self.args, self.kwargs), lambda array: next(rest))
        return self.run(xp, *args, **kwargs)


def _mapped(value: Any, change: Callable[[Array], Any]) -> Any:
    """`value` with `change` of each ndarray in it."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, Fixed):
        return value.array
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(item, change) for item in value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    return value


def _text(value: Any) -> str:
    if isinstance(value, Fixed):
        return _text(value.array)
    if isinstance(value, (list, tuple)):
        items = [_text(item) for item in value]
        inside = ", ".join(items) + ("," if isinstance(value, tuple) and len(items) == 1 else "")
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size > 64:
        return f"<{value.dtype}{value.shape} of strides {value.strides}>"
    text = f"np.array({value.tolist()}, '{value.dtype.str[1:]}')"
    if value.size == 0:
        text += f".reshape({value.shape})"
    return text if value.flags.c_contiguous else f"{text}<strides {value.strides}>"


def outcome(run: Callable[[], Any]) -> Outcome:
    """The results of `run`, as ndarrays, or the exception that it raises."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = run()
    except Exception as error:
        return error
    leaves = result if isinstance(result, (tuple, list)) else [result]
    return [leaf.detach().numpy() if isinstance(leaf, tj.Tensor) else np.asarray(leaf) for leaf in leaves]


def numpy_outcome(call: Call) -> Outcome:
    """NumPy's outcome of `call`."""
    return outcome(lambda: call.with_arrays(np, [array.copy("K") for array in call.arrays()]))


def eager_outcome(call: Call, *, tensors: bool = True) -> Outcome:
    """The eager outcome of `call`, with Tensors for its ndarrays, or the ndarrays themselves."""
    arrays = call.arrays()
    return outcome(
        lambda: call.with_arrays(tj, [tj.asarray(array) for array in arrays] if tensors else arrays)
    )


def jitted_outcomes(calls: Sequence[Call]) -> list[list[Outcome]]:
    """The outcomes of all of `calls`, none of which raises, in one jitted function: from its baseline tier,
    where there are tiers, and from its optimized one."""
    counts = [len(call.arrays()) for call in calls]

    @tj.jit
    def everything(*arrays: Any) -> Any:
        results, rest = [], list(arrays)
        for call, count in zip(calls, counts, strict=True):
            result = call.with_arrays(tj, rest[:count])
            del rest[:count]
            results.append(list(result) if isinstance(result, (tuple, list)) else [result])
        return results

    operands = [array for call in calls for array in call.arrays()]
    tiers: list[list[Outcome]] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(2 if tiers_are_on() else 1):
            results = everything(*operands)
            tiers.append([[np.asarray(leaf) for leaf in result] for result in results])
            assert BACKGROUND.wait(60)
    return tiers


def jitted_outcome(call: Call) -> Outcome:
    """The jitted outcome of `call` alone."""
    try:
        return jitted_outcomes([call])[0][0]
    except Exception as error:
        return error


def mapped_outcome(call: Call) -> Outcome:
    """The outcome of `call` under ``vmap`` of two copies: that of the second one."""
    arrays = [np.stack([array, array]) for array in call.arrays()]

    def each(*arrays: Any) -> Any:
        result = call.with_arrays(tj, arrays)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    return outcome(lambda: [leaf[1] for leaf in tj.vmap(each)(*arrays)])


def difference(call: Call, actual: Outcome, expected: Outcome, *, zero_signs: bool = True) -> str:
    """Difference between `actual` and what NumPy gives, in words, or ""."""
    if isinstance(actual, Exception) and not isinstance(actual, TracejitError):
        return f"raises {type(actual).__name__}, which is no TracejitError: {actual}"
    if isinstance(expected, Exception):
        if isinstance(actual, Exception):
            return ""
        return f"gives {actual}, where NumPy raises {type(expected).__name__}: {expected}"
    if isinstance(actual, ConcretizationError) and not call.jitted:
        return ""
    if isinstance(actual, Exception):
        return f"raises {type(actual).__name__}: {actual}; NumPy gives {expected}"
    if len(actual) != len(expected):
        return f"gives {len(actual)} results, NumPy {len(expected)}"
    scale = max([1.0, *[_largest(array) for array in call.arrays()]])
    for left, right in zip(actual, expected, strict=True):
        if text := _array_difference(left, right, scale, zero_signs):
            return text
    return ""


def _largest(array: Array) -> float:
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else np.zeros(0)
    return float(np.abs(finite).max()) if finite.size else 0.0


def _array_difference(actual: Array, expected: Array, scale: float, zero_signs: bool) -> str:
    both = f"{actual!r} in place of NumPy's {expected!r}"
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, NumPy's is {expected.shape}: {both}"
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype}, NumPy's is {expected.dtype}: {both}"
    if actual.dtype.kind != "f":
        return "" if np.array_equal(actual, expected) else both
    limits = np.finfo(expected.dtype)
    with np.errstate(all="ignore"):
        gap = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        near = gap <= (8 if expected.dtype == np.float16 else 128) * float(limits.eps) * np.maximum(
            np.abs(expected.astype(np.float64)), scale
        )
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected)) | near
    if zero_signs:
        same &= ~((actual == 0) & (expected == 0) & (np.signbit(actual) != np.signbit(expected)))
    return "" if same.all() else both
