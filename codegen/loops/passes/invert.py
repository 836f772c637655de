"""Divisors that a loop does not change are inverted before it (decision 0014).

    for j in 0:n { %x = load b0[j]  %y = load b1[0]  %q = divide(%x, %y) }

is

    %y' = load b1[0]  %d = invert(%y')  for j in 0:n { %x = load b0[j]  %q = quotient(%x, %d) }

*Requires*: nothing; divisors that are no loads from one place stay.
*Ensures*: quotients are rounded as before, unless they lie nearly in the middle between two floats.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..affine import Affine
from ..nodes import Compute, For, Invert, Kernel, Load, Node, Operand, Quotient
from ..rewriting import rewritten, statements_in, with_body

#: The dtypes whose quotients have inverses.
_FLOATS = ("f32", "f64")


def invert(kernel: Kernel, index: str) -> Kernel:
    """Invert the divisors of the loops over `index` before them."""
    numbers = itertools.count(sum(isinstance(node, Invert) for node in statements_in(kernel.body)))

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        loads = {
            node.names[0]: node
            for node in loop.body
            if isinstance(node, Load) and len(node.names) == 1 and loop.index not in node.index.names
            and not node.guard and node.mask is None
        }  # fmt: skip
        inverses: dict[tuple[str, Affine], str] = {}
        nodes: list[Node] = []
        body: list[Node] = []
        for node in loop.body:
            divisor = _divisor(node)
            load = loads.get(divisor) if isinstance(divisor, str) else None
            if load is not None and isinstance(node, Compute):
                place = load.buffer, load.index
                if place not in inverses:
                    inverse = inverses[place] = f"d{next(numbers)}"
                    nodes.append(Load((f"y{inverse}",), load.dtype, load.buffer, load.index))
                    nodes.append(Invert(inverse, load.dtype, f"y{inverse}"))
                node = Quotient(node.name, node.dtype, node.operands[0], inverses[place], node.origins)
            body.append(node)
        return [*nodes, with_body(loop, tuple(body))]

    return rewritten(kernel, index, rewrite, f"invert({index})")


def _divisor(node: Node) -> Operand | None:
    if isinstance(node, Compute) and node.op.quotient and node.dtype in _FLOATS:
        return node.operands[1]
    return None
