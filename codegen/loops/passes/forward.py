"""Forwarding: a load of what was loaded or stored before is the value that was.

    store b1[i], %x    %y = load b1[i]    store b2[i], %y      is      store b1[i], %x    store b2[i], %x

*Requires*: nothing. What lies in other buffers is never one place, but where a result takes over an operand's
memory, which is read before (`nest.overwriting`).
*Ensures*: within a block no place is loaded twice without a store between that may change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..affine import Affine
from ..nodes import (
    Accumulate,
    Call,
    Carry,
    Compute,
    Fold,
    For,
    If,
    InRange,
    Invert,
    Kernel,
    Load,
    Node,
    Operand,
    Quotient,
    Store,
    Total,
    While,
)
from ..rewriting import with_body

#: A place: its buffer, index and guard.
Place: TypeAlias = "tuple[str, Affine, tuple[InRange, ...]]"


def forward(kernel: Kernel) -> Kernel:
    """Forward loads and stores to later loads in `kernel`."""
    return kernel.with_body(_Forwarding().block(kernel.body, {}), "forward()")


class _Forwarding:
    def __init__(self) -> None:
        #: The values that took the place of loaded ones.
        self.same: dict[str, Operand] = {}

    def value(self, operand: Operand) -> Operand:
        return self.same.get(operand, operand) if isinstance(operand, str) else operand

    def values(self, operands: Sequence[Operand]) -> tuple[Operand, ...]:
        return tuple([self.value(operand) for operand in operands])

    def mask(self, mask: Operand | None) -> Operand | None:
        return None if mask is None else self.value(mask)

    def block(self, nodes: Sequence[Node], held: dict[Place, Operand]) -> tuple[Node, ...]:
        """`nodes` where memory holds the values `held`, which is changed to those that it holds behind
        them."""
        result: list[Node] = []
        for node in nodes:
            if isinstance(node, Load):
                self._load(node, held, result)
            elif isinstance(node, Store):
                result.append(self._store(node, held))
            elif isinstance(node, Compute):
                if self.same:
                    operands = self.values(node.operands)
                    node = Compute(node.name, node.dtype, node.op, operands, node.attrs, node.origins)
                result.append(node)
            else:
                result.append(self._other(node, held))
        return tuple(result)

    def _load(self, node: Load, held: dict[Place, Operand], result: list[Node]) -> None:
        places = [(node.buffer, node.index.plus(number), node.guard) for number in range(len(node.names))]
        if node.mask is None and all(place in held for place in places):
            self.same.update(zip(node.names, [held[place] for place in places], strict=True))
            return
        mask = self.mask(node.mask)
        if mask is not node.mask:
            node = Load(node.names, node.dtype, node.buffer, node.index, node.guard, mask, node.hint)
        result.append(node)
        if node.mask is None:
            held.update(zip(places, node.names, strict=True))

    def _store(self, node: Store, held: dict[Place, Operand]) -> Node:
        values, mask = self.values(node.values), self.mask(node.mask)
        for place in [place for place in held if place[0] == node.buffer]:
            distance = place[1].plus(node.index, -1).number
            if distance is None or 0 <= distance < len(values):
                del held[place]
        if node.mask is None and not node.guard:
            for number, value in enumerate(values):
                held[node.buffer, node.index.plus(number), ()] = value
        return Store(node.buffer, node.index, values, node.guard, mask, node.hint, node.origins)

    def _other(self, node: Node, held: dict[Place, Operand]) -> Node:
        if isinstance(node, Fold):
            accumulator, operand = self.values((node.accumulator, node.operand))
            return Fold(node.name, node.dtype, node.op, accumulator, operand, node.origins)
        if isinstance(node, Accumulate):
            total, error, operand = self.values((node.total, node.error, node.operand))
            return Accumulate(node.names, node.dtype, total, error, operand, node.origins)
        if isinstance(node, Total):
            return Total(node.name, node.dtype, self.value(node.total), self.value(node.error))
        if isinstance(node, Invert):
            return Invert(node.name, node.dtype, self.value(node.divisor))
        if isinstance(node, Quotient):
            return Quotient(node.name, node.dtype, self.value(node.operand), node.inverse, node.origins)
        if isinstance(node, If):
            condition = node.condition
            if isinstance(condition, str):
                value = self.value(condition)
                condition = value if isinstance(value, str) else condition
            then = self.block(node.then, dict(held))
            otherwise = self.block(node.otherwise, dict(held))
            self._forget((node,), held)
            return If(condition, then, otherwise)
        if isinstance(node, (For, While)):
            # what an iteration stores, an earlier one may have stored; what varies with the index has not
            self._forget((node,), held)
            carried = tuple([_first(carry, self.value(carry.first)) for carry in node.carried])
            body = self.block(node.body, dict(held))
            carried = tuple([_following(carry, self.value(carry.following)) for carry in carried])
            if isinstance(node, While):
                return While(carried, body, self.value(node.condition))
            return with_body(node, body, carried=carried)
        self._forget((node,), held)
        return node

    def _forget(self, nodes: Sequence[Node], held: dict[Place, Operand]) -> None:
        """Forget what `nodes` may change."""
        written = _written(nodes)
        for place in [place for place in held if place[0] in written]:
            del held[place]


def _written(nodes: Sequence[Node]) -> set[str]:
    """The buffers that `nodes` write."""
    buffers: set[str] = set()
    for node in nodes:
        if isinstance(node, Store):
            buffers.add(node.buffer)
        elif isinstance(node, Call):
            buffers.update(buffer for buffer, _, _ in node.places)
        elif isinstance(node, (For, While)):
            buffers |= _written(node.body)
        elif isinstance(node, If):
            buffers |= _written(node.then) | _written(node.otherwise)
    return buffers


def _first(carry: Carry, first: Operand) -> Carry:
    return Carry(carry.name, carry.dtype, first, carry.following, carry.result)


def _following(carry: Carry, following: Operand) -> Carry:
    return Carry(carry.name, carry.dtype, carry.first, following, carry.result)
