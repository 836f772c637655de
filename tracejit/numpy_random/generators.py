"""The draws of NumPy's generators that are compiled, which stand in for NumPy's in a trace."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..array.elementwise import ufuncs
from ..array.operands import as_tensor
from ..array.ordering.sorting import searchsorted
from ..dispatch.dispatch import apply
from ..ir.dtypes import FLOAT64, INT64
from ..ir.graph import Value
from ..ir.registry import OPS
from ..state import STATE
from ..tensors.generator_states import GeneratorState
from ..tensors.tensor import Tensor, wrap
from . import counts, distributions
from .arrays import Draw, Uncovered, drawn, sampled, shape_of, shuffled
from .bit_generators import UINT64, BitGenerator, as_float, as_integer, as_word, constant_words, overwrite

#: The largest and smallest integers of 64 bits.
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1
#: Most trials of a binomial count: all smaller integers are float64.
_MAX_TRIALS: Final = 1 << 53
#: The largest mean of a Poisson count that NumPy takes.
_MAX_MEAN: Final = float(_LARGEST - math.sqrt(_LARGEST) * 10)


def _plain(out: Any = None, dtype: Any = np.float64) -> None:
    """Raise unless draws are new float64."""
    if out is not None or np.dtype(dtype) != np.float64:
        raise Uncovered


def _known(value: Any) -> Any:
    """`value`, as NumPy's where it is no traced tensor: a number, or an array of numbers."""
    if isinstance(value, Tensor):
        if isinstance(value._data, Value):
            return value
        value = value._data
    if not _is_plain(value):
        raise Uncovered
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise Uncovered
    return array


def _is_plain(value: Any) -> bool:
    """Whether `value` is a number, an array, or a list of such."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, (bool, int, float, np.ndarray, np.bool_, np.integer, np.floating))


def _numbers(value: Any) -> Any:
    """`value` as a float64: a Python number, or a tensor of them."""
    known = _known(value)
    if isinstance(known, np.ndarray):
        return wrap(known.astype(FLOAT64)) if known.ndim else float(known)
    if known.dtype.kind not in "biuf":
        raise Uncovered
    return known if known.dtype is FLOAT64 else as_float(known)


def _integers(value: Any) -> Any:
    """`value` as an integer of 64 bits with a sign: a Python number, or a tensor of them."""
    if isinstance(value, int):
        return int(value)
    known = _known(value)
    if known.dtype.kind not in "biu" or known.dtype.name == "uint64":
        raise Uncovered
    if isinstance(known, np.ndarray):
        return wrap(known.astype(INT64)) if known.ndim else int(known)
    return known if known.dtype is INT64 else apply(OPS["cast"], (known,), {"dtype": INT64})


def _checked(value: Any, fails: Any, error: str) -> Any:
    """`value`, which is needed for a draw; raises the `error` where that `fails` anywhere."""
    tracer = STATE.tracer
    if fails.shape:
        fails = fails.any()
    zero = wrap(tracer.checked(tracer.scalar(0, INT64), tracer.lift(fails), error))
    return value + (zero if value.dtype is INT64 else as_float(zero))


def _limited(value: Any, fails: Callable[[Any], Any], error: str) -> Any:
    """`value`, a number or a tensor; that `fails` is the `error`, which NumPy raises where it is known."""
    if not isinstance(value, Tensor):
        if fails(np.asarray(value)):
            raise Uncovered
        return value
    if not isinstance(value._data, Value):
        if fails(value._data).any():
            raise Uncovered
        return value
    return _checked(value, fails(value), f"DomainError: {error}")


def _not_negative(value: Any, name: str) -> Any:
    """A parameter that is not negative, or NaN."""
    return _limited(
        _numbers(value), lambda x: ufuncs.signbit(x) & ~ufuncs.isnan(x) if isinstance(x, Tensor)
        else np.signbit(x) & ~np.isnan(x), f"{name} < 0"
    )  # fmt: skip


def _is_no_probability(x: Any) -> Any:
    return np.logical_not((x >= 0.0) & (x <= 1.0))


def _weak(value: Any) -> Any:
    """`value` as a number of Python's, where it is one."""
    if not value.shape:
        STATE.tracer.mark_weak(value._data)
    return value


def _span(low: Any, high: Any) -> tuple[Any, Any]:
    """The least of integers from `low` to `high`, both included, and the word of how many are above it."""
    low, high = _integers(low), _integers(high)
    if isinstance(low, int) and isinstance(high, int):
        if not _SMALLEST <= low <= high <= _LARGEST:
            raise Uncovered  # NumPy raises
        return low, high - low
    for bound in (low, high):
        if isinstance(bound, int) and not _SMALLEST <= bound <= _LARGEST:
            raise Uncovered
    low, high = (
        wrap(STATE.tracer.scalar(bound, INT64)) if isinstance(bound, int) else wrap(bound._data)
        for bound in (low, high)
    )
    difference = apply(OPS["sub"], (high, low), {})
    return low, as_word(_checked(difference, high < low, "DomainError: low >= high"))


def _bounds(low: Any, high: Any, closed: bool) -> tuple[Any, Any]:
    """The bounds of a draw of integers, both included."""
    if high is None:
        low, high = 0, low
    high = _integers(high)
    if closed:
        return low, high
    if isinstance(high, int):
        return low, high - 1
    above = _checked(high, high == _SMALLEST, "DomainError: low >= high")
    return low, apply(OPS["sub"], (above, wrap(STATE.tracer.scalar(1, INT64))), {})


class _Draws:
    """The draws that both kinds of generator have. A method raises `Uncovered` for what is not compiled."""

    #: Names that are no draws.
    NOT_DRAWS: Final = frozenset(
        ("NOT_DRAWS", "binomial_version", "bits", "exponential_number", "masked", "normal_number",
         "takes_any_range")
    )  # fmt: skip
    normal_number: Draw
    exponential_number: Draw
    #: Whether a range may be the other way round.
    takes_any_range: bool
    masked: bool
    binomial_version: counts.BinomialVersion

    def __init__(self, bits: BitGenerator) -> None:
        self.bits = bits

    def _floats(self, draw: Draw, size: Any, *parameters: Any) -> Any:
        return _weak(drawn(self.bits, draw, size, parameters, FLOAT64))

    def _counts(self, draw: Draw, size: Any, *parameters: Any) -> Any:
        """Draws of counts by `draw`, which gives them as float64."""
        return _weak(as_integer(drawn(self.bits, draw, size, parameters, FLOAT64)))

    def _integers(self, low: Any, high: Any, size: Any) -> Any:
        """Integers from `low` to `high`, both included."""
        low, span = _span(low, high)
        draw = functools.partial(distributions.bounded, masked=self.masked)
        words = drawn(self.bits, draw, size, (span,), UINT64)
        return apply(OPS["add"], (as_integer(words), low), {})

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        low, high = _numbers(low), _numbers(high)

        def fails(span: Any) -> Any:
            of = ufuncs if isinstance(span, Tensor) else np
            finite = of.isfinite(span)
            return ~finite if self.takes_any_range else ~finite | of.signbit(span)

        span = _limited(high - low, fails, "high - low range exceeds valid bounds")
        return self._floats(
            lambda bits, low, span: distributions.moved(low, span, bits.fraction()), size, low, span
        )

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        number = type(self).normal_number
        return self._floats(
            lambda bits, loc, scale: distributions.moved(loc, scale, number(bits)), size, _numbers(loc),
            _not_negative(scale, "scale"),
        )  # fmt: skip

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        number = type(self).exponential_number
        return self._floats(
            lambda bits, scale: distributions.scaled(scale, number(bits)), size, _not_negative(scale, "scale")
        )

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        number = self._gamma_number
        return self._floats(
            lambda bits, shape, scale: distributions.scaled(scale, number(bits, shape)), size,
            _shape(shape), _not_negative(scale, "scale"),
        )  # fmt: skip

    def _gamma_number(self, bits: BitGenerator, shape: Any) -> Any:
        own = type(self)
        return distributions.standard_gamma(bits, shape, own.normal_number, own.exponential_number)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        mean = _limited(_numbers(lam), lambda x: np.logical_not(x >= 0.0), "lam < 0 or lam is NaN")
        mean = _limited(mean, lambda x: x > _MAX_MEAN, "lam value too large")
        return self._counts(counts.poisson, size, mean)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        trials = _limited(_integers(n), lambda x: x < 0, "n < 0")
        trials = _limited(trials, lambda x: x > _MAX_TRIALS, "n is too large to be a float64")
        p = _limited(_numbers(p), _is_no_probability, "p < 0, p > 1 or p is NaN")
        draw = functools.partial(counts.binomial, version=self.binomial_version)
        return self._counts(draw, size, _numbers(trials), p)

    def choice(self, a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Any:
        if not isinstance(replace, bool):
            raise Uncovered
        return self._choice(a, size, replace, p, shuffle=True)

    def _choice(self, a: Any, size: Any, replace: bool, p: Any, *, shuffle: bool) -> Any:
        known = _known(a)
        elements = as_tensor(known) if known.shape else None
        population = _integers(a) if elements is None else elements.shape[0]
        if p is not None:
            places = self._weighted(population, size, replace, p)
        elif replace:
            if elements is not None and not population:
                raise Uncovered  # NumPy raises
            places = self._integers(*_bounds(population, None, False), size)
        else:
            places = self._without_replacement(population, size, shuffle=shuffle)
        return _weak(places) if elements is None else elements[places]

    def _weighted(self, population: Any, size: Any, replace: bool, p: Any) -> Any:
        known = _known(p)
        if not replace or not isinstance(population, int) or known.shape != (population,):
            raise Uncovered
        weights = _numbers(known)
        if isinstance(known, np.ndarray):
            probabilities = known.astype(np.float64)
            accuracy = max(
                _ACCURACY, math.sqrt(np.finfo(known.dtype).eps) if known.dtype.kind == "f" else 0.0
            )
            if not (abs(math.fsum(probabilities) - 1.0) <= accuracy) or (probabilities < 0).any():
                raise Uncovered  # NumPy raises
            sums = probabilities.cumsum()
            limits = wrap(sums / sums[-1])
        else:
            total = weights.sum()
            fails = (weights < 0.0).any() | np.logical_not(ufuncs.abs(total - 1.0) <= _ACCURACY)
            weights = _checked(weights, fails, "DomainError: Probabilities are negative or do not sum to 1")
            sums = weights.cumsum()
            limits = sums / sums[-1]
        fractions = drawn(self.bits, lambda bits: bits.fraction(), size, (), FLOAT64)
        return searchsorted(limits, fractions, side="right")

    def _without_replacement(self, population: Any, size: Any, *, shuffle: bool) -> Any:
        """Places of different elements."""
        shape = shape_of(size, ())
        count = 1 if shape is None else math.prod(shape)
        population = operator.index(population)
        if not count <= population or population < 1:
            raise Uncovered
        places = self._different(population, count, shuffle=shuffle)
        return places[0] if shape is None else places.reshape(shape)

    def _different(self, population: int, count: int, *, shuffle: bool) -> Tensor:
        """A line of `count` different integers below the `population`."""
        raise NotImplementedError

    def permutation(self, x: Any) -> Any:
        return self._permuted(x, 0)

    def _permuted(self, x: Any, axis: Any) -> Any:
        known = _known(x)
        if not known.shape and known.dtype.kind in "iu":
            return shuffled(self.bits, wrap(np.arange(operator.index(x))))
        if not known.shape or not isinstance(axis, int) or not 0 <= axis < known.ndim:
            raise Uncovered
        order = shuffled(self.bits, wrap(np.arange(known.shape[axis])))
        return as_tensor(known)[(slice(None),) * axis + (order,)]

    def shuffle(self, x: Any) -> None:
        self._shuffle(x, 0)

    def _shuffle(self, x: Any, axis: Any) -> None:
        if not isinstance(x, Tensor) or not isinstance(x._data, Value):
            raise Uncovered
        x[...] = self._permuted(x, axis)


#: The error that a sum of probabilities may have.
_ACCURACY: Final = math.sqrt(np.finfo(np.float64).eps)


def _shape(value: Any) -> Any:
    """The shape of a gamma distribution."""
    return _limited(_not_negative(value, "shape"), lambda x: x != x, "shape is NaN")


class GeneratorDraws(_Draws):
    """Draws of ``numpy.random.Generator``."""

    normal_number = staticmethod(distributions.standard_normal)
    exponential_number = staticmethod(distributions.standard_exponential)
    takes_any_range, masked, binomial_version = False, False, counts.GENERATOR_BINOMIAL

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        _plain(out, dtype)
        return self._floats(lambda bits: bits.fraction(), size)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        _plain(out, dtype)
        return self._floats(distributions.standard_normal, size)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: Any = "zig", out: Any = None
    ) -> Any:
        _plain(out, dtype)
        if method != "zig":
            raise Uncovered
        return self._floats(distributions.standard_exponential, size)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        _plain(out, dtype)
        return self._floats(self._gamma_number, size, _shape(shape))

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: Any = False
    ) -> Any:
        if np.dtype(dtype) != np.int64 or not isinstance(endpoint, bool):
            raise Uncovered
        numbers = self._integers(*_bounds(low, high, endpoint), size)
        return _weak(numbers) if dtype is int else numbers

    def choice(
        self, a: Any, size: Any = None, replace: Any = True, p: Any = None, axis: Any = 0, shuffle: Any = True
    ) -> Any:
        if axis != 0 or not isinstance(axis, int) or not isinstance(replace, bool):
            raise Uncovered
        return self._choice(a, size, replace, p, shuffle=bool(shuffle))

    def _different(self, population: int, count: int, *, shuffle: bool) -> Tensor:
        return sampled(self.bits, population, count, shuffle=shuffle)

    def permutation(self, x: Any, axis: Any = 0) -> Any:
        return self._permuted(x, axis)

    def shuffle(self, x: Any, axis: Any = 0) -> None:
        self._shuffle(x, axis)


class RandomStateDraws(_Draws):
    """Draws of ``numpy.random.RandomState``, and of the functions of ``numpy.random``."""

    normal_number = staticmethod(distributions.legacy_normal)
    exponential_number = staticmethod(distributions.legacy_exponential)
    takes_any_range, masked, binomial_version = True, True, counts.LEGACY_BINOMIAL

    def random_sample(self, size: Any = None) -> Any:
        return self._floats(lambda bits: bits.fraction(), size)

    random = random_sample

    def rand(self, *sizes: Any) -> Any:
        return self.random_sample(sizes or None)

    def standard_normal(self, size: Any = None) -> Any:
        return self._floats(distributions.legacy_normal, size)

    def randn(self, *sizes: Any) -> Any:
        return self.standard_normal(sizes or None)

    def standard_exponential(self, size: Any = None) -> Any:
        return self._floats(distributions.legacy_exponential, size)

    def standard_gamma(self, shape: Any, size: Any = None) -> Any:
        return self._floats(self._gamma_number, size, _shape(shape))

    def seed(self, seed: Any = None) -> None:
        if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool):
            raise Uncovered
        words = GeneratorState(np.random.RandomState(seed), "RandomState").peek()
        overwrite(self.bits.words, constant_words(words))

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        if dtype is not int and np.dtype(dtype) != np.int64:
            raise Uncovered
        if dtype is int and np.dtype("long") != np.int64:
            raise Uncovered
        numbers = self._integers(*_bounds(low, high, False), size)
        return _weak(numbers) if dtype is int else numbers

    def _different(self, population: int, count: int, *, shuffle: bool) -> Tensor:
        return shuffled(self.bits, wrap(np.arange(population)))[:count]
