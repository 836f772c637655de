"""The draws of NumPy's generators that are compiled, which stand in for NumPy's in a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..array.elementwise import ufuncs
from ..dispatch.dispatch import apply
from ..ir.dtypes import FLOAT64, INT64
from ..ir.graph import Value
from ..ir.registry import OPS
from ..state import STATE
from ..tensors.generator_states import GeneratorState
from ..tensors.tensor import Tensor, wrap
from . import distributions
from .bit_generators import BitGenerator, as_integer, as_word, constant_words, overwrite


class Uncovered(Exception):
    """A draw that is not compiled. Nothing was drawn."""


#: The largest and smallest integers of 64 bits.
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1


def _single(size: Any, out: Any = None, dtype: Any = np.float64) -> None:
    """Raise unless a draw is that of one float64."""
    if size is not None or out is not None or np.dtype(dtype) != np.float64:
        raise Uncovered


def _number(value: Any) -> Any:
    """`value` as a float64, if it is one number."""
    if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        return float(value)
    if _is_traced_number(value) and value.dtype.kind in "biuf":
        return value if value.dtype is FLOAT64 else _as_float(value)
    raise Uncovered


def _integer(value: Any) -> Any:
    """`value`, if it is one integer, of 64 bits with a sign."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    if _is_traced_number(value) and value.dtype.kind in "biu" and value.dtype.name != "uint64":
        return value if value.dtype is INT64 else apply(OPS["cast"], (value,), {"dtype": INT64})
    raise Uncovered


def _is_traced_number(value: Any) -> bool:
    return isinstance(value, Tensor) and isinstance(value._data, Value) and not value.shape


def _checked(fails: Any, error: str) -> Any:
    """A zero that is needed for a draw, and raises the `error` where that `fails`."""
    tracer = STATE.tracer
    zero = tracer.scalar(0, INT64)
    return wrap(tracer.checked(zero, tracer.lift(fails), error))


def _scale(value: Any, name: str = "scale") -> Any:
    """A parameter that is not negative, or NaN."""
    value = _number(value)
    if isinstance(value, float):
        if np.signbit(value) and not np.isnan(value):
            raise Uncovered  # NumPy raises
        return value
    negative = ufuncs.signbit(value) & ~ufuncs.isnan(value)
    return value + _as_float(_checked(negative, f"DomainError: {name} < 0"))


def _as_float(x: Any) -> Any:
    return apply(OPS["cast"], (x,), {"dtype": FLOAT64})


def _weak(value: Any) -> Any:
    """`value` as a number of Python's."""
    STATE.tracer.mark_weak(value._data)
    return value


def _between(bits: BitGenerator, low: Any, high: Any, *, masked: bool) -> Any:
    """An integer from `low` to `high`, both included."""
    low, high = _integer(low), _integer(high)
    if isinstance(low, int) and isinstance(high, int):
        if not _SMALLEST <= low <= high <= _LARGEST:
            raise Uncovered  # NumPy raises
        span: Any = high - low
    else:
        for bound in (low, high):
            if isinstance(bound, int) and not _SMALLEST <= bound <= _LARGEST:
                raise Uncovered
        low, high = (
            wrap(STATE.tracer.scalar(bound, INT64)) if isinstance(bound, int) else wrap(bound._data)
            for bound in (low, high)
        )
        difference = apply(OPS["sub"], (high, low), {})
        span = as_word(difference + _checked(high < low, "DomainError: low >= high"))
    drawn = as_integer(distributions.bounded(bits, span, masked=masked))
    return apply(OPS["add"], (drawn, low), {})


def _bounds(low: Any, high: Any, closed: bool) -> tuple[Any, Any]:
    """The bounds of a draw of integers, both included."""
    if high is None:
        low, high = 0, low
    high = _integer(high)
    if closed:
        return low, high
    if isinstance(high, int):
        return low, high - 1
    least = _checked(high == _SMALLEST, "DomainError: low >= high")
    return low, apply(OPS["sub"], (high + least, wrap(STATE.tracer.scalar(1, INT64))), {})


class _Draws:
    """The draws that both kinds of generator have. A method raises `Uncovered` for what is not compiled."""

    #: Names that are no draws.
    NOT_DRAWS: Final = frozenset(
        ("NOT_DRAWS", "bits", "exponential_number", "masked", "normal_number", "takes_any_range")
    )
    normal_number: Callable[[BitGenerator], Any]
    exponential_number: Callable[[BitGenerator], Any]
    #: Whether a range may be the other way round.
    takes_any_range: bool
    masked: bool

    def __init__(self, bits: BitGenerator) -> None:
        self.bits = bits

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        _single(size)
        low, high = _number(low), _number(high)
        span = high - low
        if isinstance(span, float):
            if not np.isfinite(span) or (not self.takes_any_range and np.signbit(span)):
                raise Uncovered  # NumPy raises
        else:
            fails = ~ufuncs.isfinite(span)
            if not self.takes_any_range:
                fails = fails | ufuncs.signbit(span)
            span = span + _as_float(_checked(fails, "DomainError: high - low range exceeds valid bounds"))
        return _weak(distributions.moved(low, span, self.bits.fraction()))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        _single(size)
        loc, scale = _number(loc), _scale(scale)
        return _weak(distributions.moved(loc, scale, type(self).normal_number(self.bits)))

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        _single(size)
        scale = _scale(scale)
        return _weak(distributions.scaled(scale, type(self).exponential_number(self.bits)))

    def choice(self, a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Any:
        if size is not None or p is not None or replace is not True:
            raise Uncovered
        bounds = _bounds(_integer(a), None, False)
        return _weak(_between(self.bits, *bounds, masked=self.masked))


class GeneratorDraws(_Draws):
    """Draws of ``numpy.random.Generator``."""

    normal_number = staticmethod(distributions.standard_normal)
    exponential_number = staticmethod(distributions.standard_exponential)
    takes_any_range, masked = False, False

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        _single(size, out, dtype)
        return _weak(self.bits.fraction())

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        _single(size, out, dtype)
        return _weak(distributions.standard_normal(self.bits))

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: Any = "zig", out: Any = None
    ) -> Any:
        _single(size, out, dtype)
        if method != "zig":
            raise Uncovered
        return _weak(distributions.standard_exponential(self.bits))

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: Any = False
    ) -> Any:
        if size is not None or np.dtype(dtype) != np.int64 or not isinstance(endpoint, bool):
            raise Uncovered
        drawn = _between(self.bits, *_bounds(low, high, endpoint), masked=False)
        return _weak(drawn) if dtype is int else drawn

    def choice(
        self, a: Any, size: Any = None, replace: Any = True, p: Any = None, axis: Any = 0, shuffle: Any = True
    ) -> Any:
        if axis != 0 or not isinstance(axis, int):
            raise Uncovered
        return super().choice(a, size, replace, p)


class RandomStateDraws(_Draws):
    """Draws of ``numpy.random.RandomState``, and of the functions of ``numpy.random``."""

    normal_number = staticmethod(distributions.legacy_normal)
    exponential_number = staticmethod(distributions.legacy_exponential)
    takes_any_range, masked = True, True

    def random_sample(self, size: Any = None) -> Any:
        _single(size)
        return _weak(self.bits.fraction())

    random = random_sample

    def rand(self, *sizes: Any) -> Any:
        return self.random_sample(sizes or None)

    def standard_normal(self, size: Any = None) -> Any:
        _single(size)
        return _weak(distributions.legacy_normal(self.bits))

    def randn(self, *sizes: Any) -> Any:
        return self.standard_normal(sizes or None)

    def standard_exponential(self, size: Any = None) -> Any:
        _single(size)
        return _weak(distributions.legacy_exponential(self.bits))

    def seed(self, seed: Any = None) -> None:
        if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool):
            raise Uncovered
        words = GeneratorState(np.random.RandomState(seed), "RandomState").peek()
        overwrite(self.bits.words, constant_words(words))

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        if size is not None or (dtype is not int and np.dtype(dtype) != np.int64):
            raise Uncovered
        if dtype is int and np.dtype("long") != np.int64:
            raise Uncovered
        drawn = _between(self.bits, *_bounds(low, high, False), masked=True)
        return _weak(drawn) if dtype is int else drawn
