"""Evaluators: the interface by which algorithms of special functions compute.

An algorithm computes with values by Python's operators, and by the methods of an evaluator. `ArrayEvaluator`
computes on one-dimensional float64 arrays; the one in ``codegen/maths/special.py`` writes vector code. So an
algorithm is written once. Values may be jets (`jets`): then derivatives come along.

Algorithms hold to two rules. Decisions by values are made by `where`, `choose` or `loop`, never by Python's
``if``. Functions handed to `choose` use only their arguments, since arrays are cut to the elements that need
the function.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from .jets import Index, Jet, compose, dense, value_of

Array: TypeAlias = "np.ndarray[Any, Any]"
#: Turns of a loop after which it ends, whatever its condition says.
TURNS: Final = 100_000


class Evaluator(abc.ABC):
    """Mathematics on values or jets of them."""

    #: Whether values are float32, and not float64.
    is_single: bool = False
    #: The size of a term, relative to the sum, at which series and continued fractions end.
    epsilon: float = 2.0**-54

    @property
    def large(self) -> float:
        """A number that has a reciprocal, and is too large for anything to be added to it."""
        return 1e37 if self.is_single else 1e300

    # -- what an evaluator has to have -----------------------------------------------------------------

    @abc.abstractmethod
    def elementary(self, name: str, *operands: Any) -> Any:
        """The elementary function `name` of values."""

    @abc.abstractmethod
    def select(self, condition: Any, x: Any, y: Any) -> Any:
        """Value `x` where `condition`, else `y`."""

    @abc.abstractmethod
    def eq(self, x: Any, y: Any) -> Any:
        """Whether two numbers are equal."""

    @abc.abstractmethod
    def two_product(self, x: Any, y: Any) -> tuple[Any, Any]:
        """x y exactly, as the rounded product and what is missing."""

    @abc.abstractmethod
    def two_sum(self, x: Any, y: Any) -> tuple[Any, Any]:
        """x + y exactly, as the rounded sum and what is missing."""

    @abc.abstractmethod
    def loop_values(
        self, condition: Callable[..., Any], body: Callable[..., Any], state: list[Any], limit: int
    ) -> list[Any]:
        """`loop` on values."""

    @abc.abstractmethod
    def choose_values(
        self, operands: list[Any], branches: list[tuple[Any, Callable[..., list[Any]]]]
    ) -> list[Any]:
        """`choose` on values; the mask of the last branch is None."""

    @abc.abstractmethod
    def call_values(self, name: str, orders: Index, operands: Sequence[Any]) -> Any:
        """The derivative `orders` of the special function `name`."""

    def scaled_erfc(self, x: Any) -> Any:
        """exp(x^2) erfc x of a value, 0 <= x <= 1e15, or None where there is no way but polynomials."""
        return None

    def is_usual(self, x: Any) -> Any:
        """Whether a value is a positive number of which no sum and quotient overflows or loses places."""
        bound = 2.0**60 if self.is_single else 2.0**500
        return (x >= 1.0 / bound) & (x < bound)

    def are_near(self, x: Any, y: Any) -> Any:
        """Whether two usual numbers are within a factor of two of each other; at two itself either answer."""
        return self.abs(x - y) < self.min(x, y)

    def log_of_quotient(self, x: Any, y: Any) -> tuple[Any, Any] | None:
        """ln(x / y) of values, right where they are near each other, and where it is right; or None where
        there is no way but the logarithms of numbers."""
        return None

    def log_odds(self, x: Any) -> Any:
        """ln(x / (1 - x)) of a value, or None where there is no way but the logarithm of the quotient."""
        return None

    def exp_product(self, high: Any, low: Any, factor: Any) -> Any:
        """e^(high + low) factor of values, where low is what rounding took off high; below overflow."""
        power = self.exp(high)
        return (power + power * low) * factor

    # -- functions of values and jets -----------------------------------------------------------------

    def exp(self, x: Any) -> Any:
        if isinstance(x, Jet):
            value = self.exp(x.value)
            return compose(x, lambda k: value * (1.0 / math.factorial(k)))
        return self.elementary("exp", x)

    def expm1(self, x: Any) -> Any:
        if isinstance(x, Jet):
            value = self.exp(x.value)
            return compose(x, lambda k: value * (1.0 / math.factorial(k)) if k else self.expm1(x.value))
        return self.elementary("expm1", x)

    def log(self, x: Any) -> Any:
        if isinstance(x, Jet):
            inverse = 1.0 / x.value
            return compose(x, lambda k: inverse_power(inverse, k) if k else self.log(x.value))
        return self.elementary("log", x)

    def log1p(self, x: Any) -> Any:
        if isinstance(x, Jet):
            inverse = 1.0 / (x.value + 1.0)
            return compose(x, lambda k: inverse_power(inverse, k) if k else self.log1p(x.value))
        return self.elementary("log1p", x)

    def sin(self, x: Any) -> Any:
        if isinstance(x, Jet):
            cycle = self._sine_and_cosine(x)
            return compose(x, lambda k: cycle[k % 4] * (1.0 / math.factorial(k)))
        return self.elementary("sin", x)

    def cos(self, x: Any) -> Any:
        if isinstance(x, Jet):
            cycle = self._sine_and_cosine(x)
            return compose(x, lambda k: cycle[(k + 1) % 4] * (1.0 / math.factorial(k)))
        return self.elementary("cos", x)

    def _sine_and_cosine(self, x: Jet) -> tuple[Any, ...]:
        sine, cosine = self.elementary("sin", x.value), self.elementary("cos", x.value)
        return sine, cosine, -sine, -cosine

    def sqrt(self, x: Any) -> Any:
        if isinstance(x, Jet):
            root = self.sqrt(x.value)

            def coefficient(k: int) -> Any:
                value = root
                for i in range(k):
                    value = value * ((0.5 - i) / (i + 1)) / x.value
                return value

            return compose(x, coefficient)
        return self.elementary("sqrt", x)

    def pow(self, x: Any, y: Any) -> Any:
        """x to the power y, for x > 0 where they are jets."""
        if isinstance(x, Jet) or isinstance(y, Jet):
            exponent = y * self.log(x)
            value = self.elementary("pow", value_of(x), value_of(y))
            return compose(exponent, lambda k: value * (1.0 / math.factorial(k)))
        return self.elementary("pow", x, y)

    def abs(self, x: Any) -> Any:
        if isinstance(x, Jet):
            return self.where(x < 0.0, -x, x)
        return self.elementary("abs", x)

    def floor(self, x: Any) -> Any:
        """The largest integer up to `x`, a constant."""
        return self.elementary("floor", value_of(x))

    def rint(self, x: Any) -> Any:
        """The nearest integer, a constant."""
        return self.elementary("rint", value_of(x))

    def copysign(self, x: Any, y: Any) -> Any:
        return self.elementary("copysign", value_of(x), value_of(y))

    def isnan(self, x: Any) -> Any:
        return ~self.eq(value_of(x), value_of(x))

    def max(self, x: Any, y: Any) -> Any:
        # a jet equal to a constant keeps its derivatives
        return self.where(x >= y if isinstance(x, Jet) else x > y, x, y)

    def min(self, x: Any, y: Any) -> Any:
        return self.where(x <= y if isinstance(x, Jet) else x < y, x, y)

    def polynomial(self, x: Any, coefficients: Sequence[float]) -> Any:
        """Sum of coefficients[i] x^i."""
        if isinstance(x, Jet):
            total: Any = coefficients[-1]
            for coefficient in coefficients[-2::-1]:
                total = total * x + coefficient
            return total
        return self.polynomial_of_value(x, coefficients)

    def polynomial_of_value(self, x: Any, coefficients: Sequence[float]) -> Any:
        total = x * coefficients[-1] + coefficients[-2]
        for coefficient in coefficients[-3::-1]:
            total = total * x + coefficient
        return total

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """`x` where `condition`, else `y`. NaN has NaN for derivatives."""
        jets = [z for z in (x, y) if isinstance(z, Jet)]
        if not jets:
            return self.select(condition, x, y)
        undefined = Jet(jets[0].orders, dict.fromkeys(jets[0].indices(), math.nan))
        left, right = (
            undefined if isinstance(z, float) and math.isnan(z) else dense(z, jets[0].orders) for z in (x, y)
        )
        terms = {
            index: self.select(condition, left.terms[index], right.terms[index])
            for index in left.terms
            if left.terms[index] is not right.terms[index]
        }
        return Jet(jets[0].orders, terms)

    def constant(self, value: Any, *like: Any) -> Any:
        """`value` as a jet where one of `like` is: what a loop begins with keeps its kind."""
        for x in like:
            if isinstance(x, Jet):
                return dense(value, x.orders)
        return value

    def loop(
        self, condition: Callable[..., Any], body: Callable[..., Any], *state: Any, limit: int = TURNS
    ) -> tuple[Any, ...]:
        """``state = body(*state)`` in each element as long as ``condition(*state)`` holds there."""
        kinds = [x.orders if isinstance(x, Jet) else None for x in state]

        def unpacked(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *values: function(*_structured(values, kinds))

        def flat_body(*values: Any) -> list[Any]:
            return _flat(body(*_structured(values, kinds)), kinds)

        result = self.loop_values(unpacked(condition), flat_body, _flat(state, kinds), limit)
        return tuple(_structured(result, kinds))

    def choose(self, operands: Sequence[Any], *branches: Any) -> Any:
        """``function(*operands)`` of the first of `branches`, pairs (mask, function), whose mask holds.

        The last branch is a function alone: for the rest.
        """
        kinds = [x.orders if isinstance(x, Jet) else None for x in operands]
        inside = next((orders for orders in kinds if orders is not None), None)
        several: list[int | None] = []

        def flattened(function: Callable[..., Any]) -> Callable[..., list[Any]]:
            def run(*values: Any) -> list[Any]:
                results = function(*_structured(values, kinds))
                several[:] = [len(results) if isinstance(results, tuple) else None]
                results = results if isinstance(results, tuple) else (results,)
                return _flat(results, [inside] * len(results))

            return run

        pairs = [(mask, flattened(function)) for mask, function in branches[:-1]]
        last = branches[-1]
        values = self.choose_values(_flat(operands, kinds), [*pairs, (None, flattened(last))])
        count = several[0]
        results = _structured(values, [inside] * (count or 1))
        return results[0] if count is None else tuple(results)

    def rarely(self, value: Any, condition: Any, function: Callable[..., Any], *operands: Any) -> Any:
        """`value`, but ``function(*operands)`` where `condition` holds, which it seldom does; of no jets."""
        return self.choose(
            (value, *operands), (condition, lambda value, *rest: function(*rest)), lambda value, *rest: value
        )

    def call(self, name: str, *operands: Any) -> Any:
        """The special function `name`; of jets where it has one operand."""
        if not any(isinstance(x, Jet) for x in operands):
            return self.call_values(name, (0,) * len(operands), operands)
        (x,) = operands
        return compose(x, lambda k: self.call_values(name, (k,), (x.value,)) * (1.0 / math.factorial(k)))


def inverse_power(inverse: Any, k: int) -> Any:
    """The k-th derivative of log, over k!, for the `inverse` of its argument."""
    power = inverse
    for _ in range(k - 1):
        power = power * inverse
    return power * ((-1.0) ** (k - 1) / k)


def _flat(values: Sequence[Any], kinds: Sequence[Index | None]) -> list[Any]:
    flat: list[Any] = []
    for value, orders in zip(values, kinds, strict=True):
        if orders is None:
            flat.append(value)
        else:
            flat.extend(dense(value, orders).terms.values())
    return flat


def _structured(values: Sequence[Any], kinds: Sequence[Index | None]) -> list[Any]:
    rest = iter(values)
    result: list[Any] = []
    for orders in kinds:
        if orders is None:
            result.append(next(rest))
        else:
            result.append(Jet(orders, {index: next(rest) for index in Jet(orders, {}).indices()}))
    return result
