"""Affine expressions of loop indices and symbols: bounds, sizes, and places in memory.

An expression is a sum of terms, each a product of names times an integer. It is affine in loop indices; their
factors may hold symbols, as the length of a row does in ``n*i + j``. A symbol is an integer that a kernel is
given as it runs, of which only a least value is known; an expression without names is an integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from ...base.records import record


@record
class Affine:
    """``constant`` plus the sum of each of `terms`, a product of names such as ``m*n``, times its factor.
    Terms stand in the order of their names, and no factor is 0.

    >>> i, n = variable("i"), variable("n")
    >>> str(n.times(i).plus(i, 2).plus(3)), str(i.plus(i, -1))
    ('2*i + i*n + 3', '0')
    """

    constant: int
    terms: tuple[tuple[str, int], ...] = ()

    def plus(self, other: Affine | int, times: int = 1) -> Affine:
        """``self + times * other``."""
        if isinstance(other, int):
            return Affine(self.constant + times * other, self.terms)
        constant = self.constant + times * other.constant
        if not other.terms:
            return Affine(constant, self.terms)
        if not self.terms and times == 1:
            return Affine(constant, other.terms)
        if len(other.terms) == 1:
            ((name, factor),) = other.terms
            return Affine(constant, _with_term(self.terms, name, times * factor))
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + times * factor
        return Affine(constant, _ordered(factors))

    def scaled(self, factor: int) -> Affine:
        """``factor * self``."""
        if factor == 1:
            return self
        terms = tuple([(name, factor * own) for name, own in self.terms]) if factor else ()
        return Affine(factor * self.constant, terms)

    def times(self, other: Affine) -> Affine:
        """The product."""
        if not other.terms:
            return self.scaled(other.constant)
        factors: dict[str, int] = {}
        for name, factor in (*self.terms, ("", self.constant)):
            for other_name, other_factor in (*other.terms, ("", other.constant)):
                product = "*".join(sorted(filter(None, (*name.split("*"), *other_name.split("*")))))
                factors[product] = factors.get(product, 0) + factor * other_factor
        constant = factors.pop("", 0)
        return Affine(constant, _ordered(factors))

    def coefficient(self, name: str) -> Affine:
        """The factor of `name`, in which it does not stand."""
        constant = 0
        terms: tuple[tuple[str, int], ...] = ()
        for product, factor in self.terms:
            if product == name:
                constant = factor
            elif "*" in product:
                names = product.split("*")
                if name in names:
                    names.remove(name)
                    terms = (*terms, ("*".join(names), factor))
        return Affine(constant, terms) if terms else affine(constant)

    def replaced(self, name: str, by: Affine) -> Affine:
        """The expression with `by` in the place of `name`."""
        factor = self.coefficient(name)
        if not factor.terms:
            if not factor.constant:
                return self
            if by.constant == 0 and (name, 1) in by.terms:  # moved
                return self.plus(Affine(0, tuple([x for x in by.terms if x[0] != name])), factor.constant)
        return self.without(name).plus(by.times(factor) if factor.terms else by.scaled(factor.constant))

    def without(self, name: str) -> Affine:
        """The terms in which `name` does not stand."""
        terms = [term for term in self.terms if term[0] != name and name not in term[0].split("*")]
        return Affine(self.constant, tuple(terms))

    @property
    def number(self) -> int | None:
        """The integer that it is, None where names take part."""
        return None if self.terms else self.constant

    @property
    def names(self) -> list[str]:
        """The names that take part."""
        return list(dict.fromkeys([name for product, _ in self.terms for name in product.split("*")]))

    def value(self, values: Mapping[str, int]) -> int:
        """The integer that it is where names have `values`."""
        total = self.constant
        for product, factor in self.terms:
            for name in product.split("*"):
                factor *= values[name]
            total += factor
        return total

    def __str__(self) -> str:
        parts: list[str] = []
        for product, factor in self.terms:
            sign = ("-" if factor < 0 else "") if not parts else " - " if factor < 0 else " + "
            parts.append(f"{sign}{f'{abs(factor)}*' if abs(factor) > 1 else ''}{product}")
        if not parts:
            return str(self.constant)
        if self.constant:
            parts.append(f" {'-' if self.constant < 0 else '+'} {abs(self.constant)}")
        return "".join(parts)


#: An expression, or the integer that it is.
Expression: TypeAlias = Affine | int


def _with_term(terms: tuple[tuple[str, int], ...], name: str, factor: int) -> tuple[tuple[str, int], ...]:
    """`terms` with one more, of `factor` times `name`."""
    for place, (own, own_factor) in enumerate(terms):
        if own < name:
            continue
        if own > name:
            return (*terms[:place], (name, factor), *terms[place:]) if factor else terms
        factor += own_factor
        return (*terms[:place], *(((name, factor),) if factor else ()), *terms[place + 1 :])
    return (*terms, (name, factor)) if factor else terms


def _ordered(factors: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted([term for term in factors.items() if term[1]]))


_SMALL: Final = tuple([Affine(number) for number in range(-1, 65)])


def affine(value: Expression) -> Affine:
    """`value` as an expression."""
    if isinstance(value, Affine):
        return value
    return _SMALL[value + 1] if -1 <= value < 65 else Affine(value)


def variable(name: str, factor: int = 1) -> Affine:
    """``factor * name``."""
    return Affine(0, ((name, factor),)) if factor else affine(0)


def is_multiple(expression: Affine, of: int) -> bool:
    """Whether `expression` is a multiple of `of` whatever names stand for."""
    return expression.constant % of == 0 and all(factor % of == 0 for _, factor in expression.terms)


class Ranges:
    """Ranges of names: the least and the greatest expression that each takes. A symbol has a least number; an
    index the bounds of its loops, in names that were there before it."""

    def __init__(self, symbols: Iterable[tuple[str, int]] = ()) -> None:
        #: Names in the order in which they came, each with its least and greatest values; several hold at
        #: once.
        self.bounds: dict[str, tuple[tuple[Affine, ...], tuple[Affine, ...]]] = {}
        for name, least in symbols:
            self.bounds[name] = (affine(least),), ()

    def within(self, name: str, least: tuple[Affine, ...], greatest: tuple[Affine, ...]) -> Ranges:
        """Ranges with one more of `name`, in a loop or where a condition holds."""
        ranges = Ranges()
        ranges.bounds = dict(self.bounds)
        lower, upper = ranges.bounds.get(name, ((), ()))
        ranges.bounds[name] = (*lower, *least), (*upper, *greatest)
        return ranges

    def at_least(self, expression: Affine, bound: int = 0) -> bool:
        """Whether `expression` is `bound` or more for certain."""
        least = self.least(expression)
        return least is not None and least >= bound

    def least(self, expression: Affine) -> int | None:
        """A number than which `expression` is never less; None where none is known."""
        return self._least(expression, list(self.bounds))

    def _least(self, expression: Affine, names: list[str]) -> int | None:
        """The least number that `expression` is: `names`, from the last one that came on, are replaced by the
        bounds at which it is least."""
        while names:
            name = names[-1]
            names = names[:-1]
            factor = expression.coefficient(name)
            if not factor.terms and not factor.constant:
                continue
            if self._sign(factor, names, 1):
                ends = self.bounds[name][0]
            elif self._sign(factor, names, -1):
                ends = self.bounds[name][1]
            else:
                return None
            if len(ends) != 1:
                known = [self._least(expression.replaced(name, end), names) for end in ends]
                return max([least for least in known if least is not None], default=None)
            expression = expression.replaced(name, ends[0])
        return None if expression.terms else expression.constant

    def _sign(self, factor: Affine, names: list[str], sign: int) -> bool:
        """Whether ``sign * factor`` is never negative."""
        least = self._least(factor.scaled(sign), names) if factor.terms else sign * factor.constant
        return least is not None and least >= 0
