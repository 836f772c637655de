"""Special functions in machine code: an evaluator that writes what the algorithms of ``ir/special`` compute.

Each function becomes one internal function of the module, on vectors of f64, whatever calls it. What only
some elements need is skipped where no lane needs it; loops end when all lanes have, and lanes that are done
keep what they have, so that no result depends on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.special.evaluator import Evaluator
from ...ir.special.jets import Index
from ...ir.special.table import compute_checked
from ..llvm.emitter import Reg, constant, llvm_type
from ..llvm.operations import Phi
from .support import BlockEmitter, any_lane, polynomial, two_product


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

    def __init__(self, b: BlockEmitter, lanes: int) -> None:
        self.b: Any = b
        self.lanes = lanes
        #: The lanes whose results matter here, or None for all.
        self.active: Reg | None = None
        self._labels = 0

    def reg(self, value: Any) -> Reg:
        """`value` as a register of vectors of its width."""
        return value.reg if isinstance(value, Lanes) else constant(float(value), "f64", self.lanes)

    def lanes_of(self, reg: Reg) -> Lanes:
        return Lanes(self.b, reg)

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

    def polynomial_of_value(self, x: Any, coefficients: Sequence[float]) -> Any:
        return Lanes(self.b, polynomial(self.b, self.reg(x), coefficients))

    # -- control ---------------------------------------------------------------------------------------

    def _label(self, name: str) -> str:
        self._labels += 1
        return f"special.{name}.{self._labels}"

    def _masked(self, mask: Reg) -> Reg:
        masked: Reg = mask if self.active is None else self.b.and_(mask, self.active)
        return masked

    def loop_values(
        self, condition: Callable[..., Any], body: Callable[..., Any], state: list[Any], limit: int
    ) -> list[Any]:
        b, before = self.b, self.b.block
        start = [self.reg(value) for value in state]
        head, inside, after = (self._label(name) for name in ("head", "body", "after"))
        b.branch(head)
        b.start(head)
        phis = [Reg(b.fresh(), reg.dtype, reg.lanes) for reg in start]
        turn = Reg(b.fresh(), "i64")
        position = len(b.operations)
        values = [Lanes(b, phi) for phi in phis]
        going = self._masked(condition(*values).reg)
        more = b.compute("icmp ult", "bool", 1, turn, constant(limit, "i64"))
        both = b.and_(any_lane(b, going), more)
        b.branch_if(both, inside, after)
        b.start(inside)
        new = [b.select(going, self.reg(x), phi) for x, phi in zip(body(*values), phis, strict=True)]
        following = b.add(turn, 1)
        b.branch(head)
        entering = zip([*phis, turn], [*start, constant(0, "i64")], [*new, following], strict=True)
        b.operations[position:position] = [
            Phi(phi, [(first.text, before), (last.text, b.block)]) for phi, first, last in entering
        ]
        b.start(after)
        return list(values)

    def choose_values(
        self, operands: list[Any], branches: list[tuple[Any, Callable[..., list[Any]]]]
    ) -> list[Any]:
        b, outer = self.b, self.active
        rest: Reg | None = None
        results: list[Reg] | None = None
        for mask, function in branches:
            chosen = rest if mask is None else (mask.reg if rest is None else b.and_(mask.reg, rest))
            if mask is not None:
                other = b.not_(mask.reg)
                rest = other if rest is None else b.and_(rest, other)
            here, inside, after = b.block, self._label("branch"), self._label("joined")
            needed = None if chosen is None else self._masked(chosen)
            if needed is None:
                b.branch(inside)
            else:
                b.branch_if(any_lane(b, needed), inside, after)
            b.start(inside)
            self.active = needed if needed is not None else outer
            parts = [self.reg(x) for x in function(*operands)]
            self.active = outer
            previous = results or [constant(0.0, "f64", self.lanes)] * len(parts)
            merged = [
                part if needed is None else b.select(needed, part, old)
                for part, old in zip(parts, previous, strict=True)
            ]
            last = b.block
            b.branch(after)
            b.start(after)
            if needed is None:
                results = merged
            else:
                pairs = zip(merged, previous, strict=True)
                results = [b.phi((old, here), (new, last)) for new, old in pairs]
        assert results is not None
        return [Lanes(b, reg) for reg in results]

    def call_values(self, name: str, orders: Index, operands: Sequence[Any]) -> Any:
        return Lanes(self.b, _call(self.b, name, orders, [self.reg(x) for x in operands]))


def special(b: BlockEmitter, name: str, orders: Index, *operands: Reg) -> Reg:
    """The derivative `orders` of the special function `name`, computed in f64."""
    wide = [b.cast(operand, "f64") for operand in operands]
    return b.cast(_call(b, name, orders, wide), operands[0].dtype)


def _call(b: BlockEmitter, name: str, orders: Index, operands: Sequence[Reg]) -> Reg:
    lanes = operands[0].lanes
    kind = llvm_type("f64", lanes)
    full = f"tracejit.special.{name}.{'_'.join(map(str, orders))}.v{lanes}"
    if full not in b.declarations:
        b.declarations[full] = ""  # taken, while it is written
        inner = type(b).__mro__[0](b.declarations)
        inner.block = "start"
        parameters = [Reg(f"%p{i}", "f64", lanes) for i in range(len(operands))]
        evaluator = LaneEvaluator(inner, lanes)
        values = [Lanes(inner, parameter) for parameter in parameters]
        result = evaluator.reg(compute_checked(evaluator, name, orders, values))
        inner.ret(result)
        signature = f"internal {kind} @{full}({', '.join(map(str, parameters))})"
        b.declarations[full] = inner.function(signature, "noinline nounwind", entry="start")
    return b.result_of(full, "f64", lanes, *operands)
