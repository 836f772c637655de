"""Jets: truncated Taylor polynomials in several variables, by which an algorithm computes the derivatives of
its result.

A jet holds the coefficients of ``h1^i1 h2^i2 ...`` for all ``i <= orders``, in values of an `evaluator` or
Python numbers; what is missing is zero. Series, recurrences and continued fractions that run on jets are
differentiated term by term.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

Index = tuple[int, ...]


class Jet:
    """A truncated Taylor polynomial: its largest `orders`, and its `terms` by exponents."""

    __slots__ = ("orders", "terms")
    #: NumPy's arrays leave operations with jets to these.
    __array_ufunc__ = None

    def __init__(self, orders: Index, terms: dict[Index, Any]) -> None:
        self.orders, self.terms = orders, terms

    @property
    def value(self) -> Any:
        """The constant term."""
        return self.terms.get((0,) * len(self.orders), 0.0)

    def indices(self) -> list[Index]:
        """All exponents, in an order in which every sum of two comes after both."""
        return list(itertools.product(*(range(order + 1) for order in self.orders)))

    def __add__(self, other: Any) -> Jet:
        terms = dict(self.terms)
        for index, term in _terms_of(other, self.orders).items():
            terms[index] = terms[index] + term if index in terms else term
        return Jet(self.orders, terms)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(self.orders, {index: -term for index, term in self.terms.items()})

    def __sub__(self, other: Any) -> Jet:
        terms = dict(self.terms)
        for index, term in _terms_of(other, self.orders).items():
            terms[index] = terms[index] - term if index in terms else -term
        return Jet(self.orders, terms)

    def __rsub__(self, other: Any) -> Jet:
        result: Jet = -self + other
        return result

    def __mul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.orders, {index: term * other for index, term in self.terms.items()})
        terms: dict[Index, Any] = {}
        for (left, x), (right, y) in itertools.product(self.terms.items(), other.terms.items()):
            index = tuple(map(sum, zip(left, right, strict=True)))
            if all(map(int.__le__, index, self.orders)):
                product = x * y
                terms[index] = terms[index] + product if index in terms else product
        return Jet(self.orders, terms)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.orders, {index: term / other for index, term in self.terms.items()})
        return _quotient(self.terms, other)

    def __rtruediv__(self, other: Any) -> Jet:
        return _quotient(_terms_of(other, self.orders), self)

    def __lt__(self, other: Any) -> Any:
        return self.value < value_of(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= value_of(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > value_of(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= value_of(other)


def value_of(x: Any) -> Any:
    """The constant term of a jet; other numbers as they are."""
    return x.value if isinstance(x, Jet) else x


def _terms_of(x: Any, orders: Index) -> dict[Index, Any]:
    return x.terms if isinstance(x, Jet) else {(0,) * len(orders): x}


def _quotient(above: dict[Index, Any], below: Jet) -> Jet:
    """Long division: the terms of q with q below = above, from the constant one on."""
    divisor = below.value
    inverse = None
    terms: dict[Index, Any] = {}
    for index in below.indices():
        rest = above.get(index)
        for earlier, factor in list(terms.items()):
            step = tuple(map(int.__sub__, index, earlier))
            term = below.terms.get(step) if min(step) >= 0 else None
            if term is not None:
                product = factor * term
                rest = -product if rest is None else rest - product
        if rest is None:
            continue
        if not any(index):
            terms[index] = rest / divisor
        else:
            inverse = 1.0 / divisor if inverse is None else inverse
            terms[index] = rest * inverse
    return Jet(below.orders, terms)


def compose(x: Jet, coefficient: Callable[[int], Any]) -> Jet:
    """f(x), where ``coefficient(k)`` is the k-th derivative of f at the constant term, over k!."""
    zero = (0,) * len(x.orders)
    step = Jet(x.orders, {index: term for index, term in x.terms.items() if index != zero})
    result = Jet(x.orders, {zero: coefficient(0)})
    power = step
    for k in range(1, sum(x.orders) + 1):
        if not power.terms:
            break
        result = result + power * coefficient(k)
        power = power * step
    return result


def variables(orders: Index, values: Sequence[Any]) -> list[Any]:
    """`values` as independent variables; those whose order is 0 stay numbers."""
    if not any(orders):
        return list(values)
    zero = (0,) * len(orders)
    result: list[Any] = []
    for place, (order, value) in enumerate(zip(orders, values, strict=True)):
        unit = (*zero[:place], 1, *zero[place + 1 :])
        result.append(Jet(orders, {zero: value, unit: 1.0}) if order else value)
    return result


def derivative(result: Any, orders: Index) -> Any:
    """The derivative of `orders` of an algorithm's `result`, which it computed from `variables`."""
    if not any(orders):
        return value_of(result)
    term = result.terms.get(orders, 0.0) if isinstance(result, Jet) else 0.0
    return term * float(math.prod(map(math.factorial, orders)))


def dense(x: Any, orders: Index) -> Jet:
    """`x` as a jet of which no term is missing."""
    terms = _terms_of(x, orders)
    result = Jet(orders, {})
    result.terms = {index: terms.get(index, 0.0) for index in result.indices()}
    return result


def write(b: Any, name: str, *operands: Any, orders: Index = ()) -> Any:
    """Append the derivative `orders` of the special function `name` by the namespace `b`, as derivative rules
    do."""
    op = getattr(b, f"special{len(operands)}")
    return op(*operands, function=name, orders=orders or (0,) * len(operands))
