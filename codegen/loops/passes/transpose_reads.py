"""Packing of transposed reads: squares of what lies along the rows' loop are transposed in registers, and
read from a square of their own.

    for r in 0:8 { for l in 0:8 lanes 8 { %x = load b0[r + 100*l] ... } }

is

    alloc q0: f64[64]
    call transpose(b0[0] by 100, q0[0] by 8) sizes 8, 8, 8
    for r in 0:8 { for l in 0:8 lanes 8 { %x = load q0[8*r + l] ... } }

*Requires*: loops of rows, from 0 to a number, around lanes alone (`tile`, `peel`); what they write themselves
is read as it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ...llvm import strided_reads
from ..affine import Affine, affine, variable
from ..nodes import LANES, Alloc, Call, For, Kernel, Load, Node, Store
from ..rewriting import NotApplicable, rewritten, statements_in, with_body


def transpose_reads(kernel: Kernel, index: str) -> Kernel:
    """Turn what the loops of rows over `index` read along them, but for what lanes read from a few
    vectors."""
    step = f"transpose_reads({index})"
    squares: dict[str, Alloc] = {}
    before = sum(isinstance(node, Alloc) for node in kernel.body)

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        (lanes,) = loop.body if len(loop.body) == 1 else (None,)
        height = loop.hi[0].number if len(loop.hi) == 1 and loop.lo == (affine(0),) else None
        if not isinstance(lanes, For) or lanes.kind != LANES or len(lanes.hi) > 1 or height is None:
            raise NotApplicable(f"{step}: the loop over {index} is no rows of a known square of lanes")
        width, edge = lanes.hi[0].number, lanes.width
        if width is None:
            raise NotApplicable(f"{step}: the loop over {index} has an unknown number of lanes")
        written = {node.buffer for node in statements_in(lanes.body) if isinstance(node, Store)}
        calls: list[Node] = []
        body: list[Node] = []
        transposed: dict[tuple[str, Affine], str] = {}
        for node in lanes.body:
            if isinstance(node, Load) and node.buffer not in written and _is_transposed(node, index, lanes):
                key = node.buffer, node.index
                name = transposed.get(key)
                if name is None:
                    name = transposed[key] = _square(
                        squares, node.dtype, edge, before, set(transposed.values())
                    )
                    start = node.index.without(index).without(lanes.index)
                    apart = node.index.coefficient(lanes.index).constant
                    places = (node.buffer, start, apart), (name, affine(0), edge)
                    calls.append(Call("transpose", places, (height, width, edge)))
                place = variable(index, edge).plus(variable(lanes.index))
                node = Load(node.names, node.dtype, name, place)
            body.append(node)
        if not calls:
            raise NotApplicable(f"{step}: nothing is read along the loop over {index}")
        return [*calls, with_body(loop, (with_body(lanes, tuple(body)),))]

    result = rewritten(kernel, index, rewrite, step)
    return result.with_body((*squares.values(), *result.body))


def _square(squares: dict[str, Alloc], dtype: str, edge: int, before: int, taken: set[str]) -> str:
    """The name of a square for elements of `dtype`: one of another loop, or a new one of `squares`."""
    size = affine(edge * edge)
    names = (f"q{number}" for number in itertools.count(before))
    name = next(
        name
        for name in names
        if name not in taken
        and (name not in squares or (squares[name].dtype, squares[name].size) == (dtype, size))
    )
    squares.setdefault(name, Alloc(name, dtype, size))
    return name


def _is_transposed(load: Load, index: str, lanes: For) -> bool:
    apart = load.index.coefficient(lanes.index).number
    plain = len(load.names) == 1 and not load.guard and load.mask is None
    if not plain or load.index.coefficient(index).number != 1 or apart in (None, 0, 1):
        return False
    return not strided_reads.pays(apart or 0, lanes.width)
