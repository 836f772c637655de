"""Special functions in machine code: an evaluator that writes what the algorithms of ``ir/special`` compute.

Each function becomes one internal function of the module, but those of few steps, which are written in place:
on vectors of f64, or of f32 where its algorithm serves that. Where results of f64 are rounded to f32,
polynomials and series may be shorter. What only some elements need is skipped where no lane needs it; loops
end when all lanes have, and lanes that are done keep what they have, so that no result depends on its
neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.special.evaluator import Evaluator
from ...ir.special.jets import Index
from ...ir.special.polynomials import SHORT, SINGLE, Polynomial, shortened
from ...ir.special.table import compute_checked
from ...ir.special.table import special as definition
from ..llvm.emitter import BITS, Emitter, Reg, constant, llvm_type, suffix
from .exponential import exp_product
from .support import BIAS, STORED, any_lane, muladd, polynomial, two_product
from .wide import logarithm, lookup
from .wide.lookup import scaled_erfc


class Lanes:
    """A vector of f64 or bool, with Python's operators."""

    __slots__ = ("b", "reg")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, b: Any, reg: Reg) -> None:
        self.b, self.reg = b, reg

    def _other(self, value: Any) -> Any:
        return value.reg if isinstance(value, Lanes) else float(value)

    def __add__(self, other: Any) -> Lanes:
        if not _is_operand(other):
            return NotImplemented
        return Lanes(self.b, self.b.add(self.reg, self._other(other)))

    def __mul__(self, other: Any) -> Lanes:
        if not _is_operand(other):
            return NotImplemented
        return Lanes(self.b, self.b.mul(self.reg, self._other(other)))

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> Lanes:
        if not _is_operand(other):
            return NotImplemented
        return Lanes(self.b, self.b.sub(self.reg, self._other(other)))

    def __rsub__(self, other: Any) -> Lanes:
        return Lanes(self.b, self.b.sub(self._other(other), self.reg))

    def __truediv__(self, other: Any) -> Lanes:
        if not _is_operand(other):
            return NotImplemented
        return Lanes(self.b, self.b.div(self.reg, self._other(other)))

    def __rtruediv__(self, other: Any) -> Lanes:
        return Lanes(self.b, self.b.div(self._other(other), self.reg))

    def __neg__(self) -> Lanes:
        return Lanes(self.b, self.b.neg(self.reg))

    def __lt__(self, other: Any) -> Lanes:
        if not _is_operand(other):
            return NotImplemented
        return Lanes(self.b, self.b.lt(self.reg, self._other(other)))

    def __le__(self, other: Any) -> Lanes:
        if not _is_operand(other):
            return NotImplemented
        return Lanes(self.b, self.b.le(self.reg, self._other(other)))

    def __gt__(self, other: Any) -> Lanes:
        if not _is_operand(other):
            return NotImplemented
        return Lanes(self.b, self.b.gt(self.reg, self._other(other)))

    def __ge__(self, other: Any) -> Lanes:
        if not _is_operand(other):
            return NotImplemented
        return Lanes(self.b, self.b.ge(self.reg, self._other(other)))

    def __and__(self, other: Lanes) -> Lanes:
        return Lanes(self.b, self.b.and_(self.reg, other.reg))

    def __or__(self, other: Lanes) -> Lanes:
        return Lanes(self.b, self.b.or_(self.reg, other.reg))

    def __invert__(self) -> Lanes:
        return Lanes(self.b, self.b.not_(self.reg))


def _is_operand(value: Any) -> bool:
    return isinstance(value, (Lanes, float, int))


class LaneEvaluator(Evaluator):
    """Writes the code of one function on vectors of `lanes`."""

    def __init__(self, b: Emitter, dtype: str, lanes: int, is_short: bool) -> None:
        self.b: Any = b
        self.dtype, self.lanes = dtype, lanes
        self.is_single, self.is_short = dtype == "f32", is_short
        self.epsilon = 2.0**-26 if self.is_single else SHORT if is_short else self.epsilon
        #: The lanes whose results matter here, or None for all.
        self.active: Reg | None = None

    def reg(self, value: Any) -> Reg:
        """`value` as a register of vectors of its width."""
        return value.reg if isinstance(value, Lanes) else constant(float(value), self.dtype, self.lanes)

    def elementary(self, name: str, *operands: Any) -> Any:
        return Lanes(self.b, getattr(self.b, name)(*map(self.reg, operands)))

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        return Lanes(self.b, self.b.select(condition.reg, self.reg(x), self.reg(y)))

    def eq(self, x: Any, y: Any) -> Any:
        return Lanes(self.b, self.b.eq(self.reg(x), self.reg(y)))

    def two_product(self, x: Any, y: Any) -> tuple[Any, Any]:
        high, low = two_product(self.b, self.reg(x), self.reg(y))
        return Lanes(self.b, high), Lanes(self.b, low)

    def two_sum(self, x: Any, y: Any) -> tuple[Any, Any]:
        # Knuth's, which needs no order of the two
        first, second, exact = self.reg(x), self.reg(y), self.b.exact
        high = exact("fadd", first, second)
        part = exact("fsub", high, first)
        low = exact("fadd", exact("fsub", first, exact("fsub", high, part)), exact("fsub", second, part))
        return Lanes(self.b, high), Lanes(self.b, low)

    def scaled_erfc(self, x: Any) -> Any:
        size = self.reg(x)
        if not lookup.usable(self.b, size):
            return None
        value, rest = scaled_erfc(self.b, size)
        return Lanes(self.b, muladd(self.b, value, rest, value))

    def is_usual(self, x: Any) -> Any:
        # other numbers' bits are larger, or less
        register = self.reg(x)
        k, dtype = (60 if self.is_single else 500), register.dtype
        return self._is_between(self.b.bits(register), BIAS[dtype] - k, BIAS[dtype] + k, dtype)

    def are_near(self, x: Any, y: Any) -> Any:
        # positive numbers' bits are ordered as they are, and those of x / 2 are one binade less
        first, second = self.reg(x), self.reg(y)
        difference = self.b.sub(self.b.bits(first), self.b.bits(second))
        return self._is_between(difference, -1, 1, first.dtype)

    def _is_between(self, bits: Reg, low: int, high: int, dtype: str) -> Any:
        """Whether integers are so many binades of floats' bits, from `low` to below `high`."""
        above = self.b.sub(bits, low << STORED[dtype])
        unsigned = Reg(above.text, f"u{BITS[dtype]}", above.lanes)
        return Lanes(self.b, self.b.lt(unsigned, (high - low) << STORED[dtype]))

    def log_of_quotient(self, x: Any, y: Any) -> tuple[Any, Any] | None:
        numerator, denominator = self.reg(x), self.reg(y)
        if not lookup.usable(self.b, numerator):
            return None
        value = logarithm.of_quotient(self.b, numerator, denominator)
        return Lanes(self.b, value), self.is_usual(x) & self.is_usual(y)

    def log_odds(self, x: Any) -> Any:
        number = self.reg(x)
        return Lanes(self.b, logarithm.log_odds(self.b, number)) if lookup.usable(self.b, number) else None

    def exp_product(self, high: Any, low: Any, factor: Any) -> Any:
        if not lookup.usable(self.b, high.reg):
            return super().exp_product(high, low, factor)
        return Lanes(self.b, exp_product(self.b, high.reg, low.reg, factor.reg))

    def polynomial_of_value(self, x: Any, coefficients: Sequence[float]) -> Any:
        if (self.is_single or self.is_short) and isinstance(coefficients, Polynomial):
            coefficients = shortened(coefficients, SINGLE if self.is_single else SHORT)
        # the constant term comes last, as it is the largest
        rest = polynomial(self.b, self.reg(x), coefficients[1:])
        return Lanes(self.b, muladd(self.b, rest, self.reg(x), coefficients[0]))

    # -- control ---------------------------------------------------------------------------------------

    def _masked(self, mask: Reg) -> Reg:
        masked: Reg = mask if self.active is None else self.b.and_(mask, self.active)
        return masked

    def loop_values(
        self, condition: Callable[..., Any], body: Callable[..., Any], state: list[Any], limit: int
    ) -> list[Any]:
        b = self.b
        region = b.begin_while([*map(self.reg, state), constant(0, "i64")])
        *carried, turn = region.carried
        values = [Lanes(b, register) for register in carried]
        going = self._masked(condition(*values).reg)
        more = b.compute("icmp ult", "bool", 1, turn, constant(limit, "i64"))
        b.break_unless(region, b.and_(any_lane(b, going), more))
        new = [b.select(going, self.reg(x), old) for x, old in zip(body(*values), carried, strict=True)]
        b.end_while(region, [*new, b.add(turn, 1)])
        return list(values)

    def choose_values(
        self, operands: list[Any], branches: list[tuple[Any, Callable[..., list[Any]]]]
    ) -> list[Any]:
        b = self.b
        rest: Reg | None = None
        results: list[Reg] | None = None
        for mask, function in branches:
            chosen = rest if mask is None else (mask.reg if rest is None else b.and_(mask.reg, rest))
            if mask is not None:
                other = b.not_(mask.reg)
                rest = other if rest is None else b.and_(rest, other)
            needed = None if chosen is None else self._masked(chosen)
            results = self._branch(function, operands, needed, results)
        assert results is not None
        return [Lanes(b, reg) for reg in results]

    def rarely(self, value: Any, condition: Any, function: Callable[..., Any], *operands: Any) -> Any:
        needed = self._masked(condition.reg)
        (register,) = self._branch(lambda *x: [function(*x)], list(operands), needed, [value.reg])
        return Lanes(self.b, register)

    def _branch(
        self,
        function: Callable[..., list[Any]],
        operands: list[Any],
        needed: Reg | None,
        previous: list[Reg] | None,
    ) -> list[Reg]:
        """Results of `function` where `needed` holds, or in all lanes without it; `previous` elsewhere."""
        b, outer = self.b, self.active
        if needed is None:
            return [self.reg(x) for x in function(*operands)]
        others = list(previous or ())

        def selected() -> list[Reg]:
            self.active = needed
            parts = [self.reg(x) for x in function(*operands)]
            self.active = outer
            if not others:  # how many there are is known here
                others.extend([constant(0.0, self.dtype, self.lanes)] * len(parts))
            return [b.select(needed, part, other) for part, other in zip(parts, others, strict=True)]

        selections: list[Reg] = b.when(any_lane(b, needed), selected, others)
        return selections

    def call_values(self, name: str, orders: Index, operands: Sequence[Any]) -> Any:
        registers = [*map(self.reg, operands)]
        if self.is_short:
            return Lanes(self.b, _call(self.b, name, orders, registers, True))
        return Lanes(self.b, special(self.b, name, orders, *registers))


def special(b: Emitter, name: str, orders: Index, *operands: Reg) -> Reg:
    """The derivative `orders` of the special function `name`."""
    dtype, function = operands[0].dtype, definition(name)
    if function.inline and not any(orders):
        evaluator = LaneEvaluator(b, dtype, operands[0].lanes, False)
        return evaluator.reg(function.compute(evaluator, orders, *[Lanes(b, x) for x in operands]))
    if dtype == "f64" or (function.single and not any(orders)):
        return _call(b, name, orders, operands, False)
    short = function.short and not any(orders)
    # a vector of f32 takes two registers of f64: each by itself, which keeps values in registers
    lanes, widest = operands[0].lanes, 8 if b.declarations.wide_tables else 4
    if lanes <= widest:
        wide = [b.cast(operand, "f64") for operand in operands]
        return b.cast(_call(b, name, orders, wide, short), dtype)
    halves = []
    for first in range(0, lanes, widest):
        wide = [b.cast(b.shuffle(x, None, range(first, first + widest)), "f64") for x in operands]
        halves.append(b.cast(_call(b, name, orders, wide, short), dtype))
    low, high = halves
    return b.shuffle(low, high, range(lanes))


def _call(b: Emitter, name: str, orders: Index, operands: Sequence[Reg], short: bool) -> Reg:
    dtype, lanes = operands[0].dtype, operands[0].lanes
    kind = llvm_type(dtype, lanes)
    full = f"tracejit.special.{name}.{'_'.join(map(str, orders))}.{suffix(dtype, lanes)}"
    full += ".short" if short else ""
    if full not in b.declarations:
        b.declarations[full] = ""  # taken, while it is written
        inner = type(b).__mro__[0](b.declarations)
        parameters = [Reg(f"%p{i}", dtype, lanes) for i in range(len(operands))]
        evaluator = LaneEvaluator(inner, dtype, lanes, short)
        values = [Lanes(inner, parameter) for parameter in parameters]
        result = evaluator.reg(compute_checked(evaluator, name, orders, values))
        inner.ret(result)
        signature = f"internal {kind} @{full}({', '.join(map(str, parameters))})"
        b.declarations[full] = inner.function(signature, "noinline nounwind")
    return b.result_of(full, dtype, lanes, *operands)
