"""The nodes of the loop form.

A `Kernel` is a list of statements over buffers. Values are scalars, named once on each way through the kernel
and known to the end of the block that names them; within a ``lanes`` loop each iteration has its own, of
which vectors are made. Indices and bounds are affine (`affine`) in symbols, indices, and values of i64. What
an op of the IR computes is `Compute` of its record, so that the form has no arithmetic of its own.

    kernel @scale(n >= 0, b0: f64[n], b1: out f64[n]) {
      for i in 0:n {
        %x: f64 = load b0[i]
        %y: f64 = mul(%x, 2.0:f64)
        store b1[i], %y
      }
    }
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from ...base.records import record
from ...ir.registry import Op
from .affine import Affine

#: Kinds of loops: iterations one after the other; as lanes of vectors; by any threads in any order; or each
#: by code of its own. Copies of an ``interleaved`` loop are unrolled, and take turns; a loop inside is one
#: for all of them.
SERIAL: Final = "serial"
LANES: Final = "lanes"
TASKS: Final = "tasks"
UNROLLED: Final = "unrolled"
INTERLEAVED: Final = "interleaved"
KINDS: Final = (SERIAL, LANES, TASKS, UNROLLED, INTERLEAVED)

#: Hints of accesses: past the cache; or ask for the line that is some way ahead.
STREAM: Final = "stream"
AHEAD: Final = "ahead"
HINTS: Final = ("", STREAM, AHEAD)


@record(eq=False)
class Constant:
    """A number as an operand."""

    value: Any
    dtype: str


def unit_of(op: Op, dtype: str) -> Constant:
    """The number from which a fold by the reduction `op` begins."""
    assert op.reduction is not None, f"{op.name} is no reduction"
    return Constant(op.reduction.identity(dtype), dtype)


#: The name of a value, or a number.
Operand: TypeAlias = "str | Constant"


@record
class InRange:
    """The condition ``0 <= index < count``; without `count` the first half of it."""

    index: Affine
    count: Affine | None = None


@record
class Aligned:
    """The condition that places begin where a line of the cache does, and that none of them is one of
    `apart`: pairs of a buffer and an index."""

    places: tuple[tuple[str, Affine], ...]
    apart: tuple[tuple[tuple[str, Affine], tuple[str, Affine]], ...] = ()


#: A condition: affine ones, all of them; the name of a bool; a property of places.
Condition: TypeAlias = "tuple[InRange, ...] | str | Aligned"


@record
class Buffer:
    """Memory of a kernel: `size` elements of `dtype`; an operand, or where `out` a result."""

    name: str
    dtype: str
    size: Affine
    out: bool = False


@record(eq=False)
class Let:
    """Name an affine expression as a value of `dtype`."""

    name: str
    dtype: str
    index: Affine


@record(eq=False)
class Holds:
    """Name a bool: whether all of some conditions hold."""

    name: str
    conditions: tuple[InRange, ...]


@record(eq=False)
class Load:
    """Name the elements of `buffer` from `index` on, as many as there are `names`. Where one of the
    conditions `guard` or the bool `mask` does not hold, they are 0, and nothing is read."""

    names: tuple[str, ...]
    dtype: str
    buffer: str
    index: Affine
    guard: tuple[InRange, ...] = ()
    mask: Operand | None = None
    hint: str = ""


@record(eq=False)
class Store:
    """Store values to the elements of `buffer` from `index` on, where `guard` and `mask` hold."""

    buffer: str
    index: Affine
    values: tuple[Operand, ...]
    guard: tuple[InRange, ...] = ()
    mask: Operand | None = None
    hint: str = ""
    #: The traced ops that it is for, by number.
    origins: tuple[int, ...] = ()


@record(eq=False)
class Compute:
    """Name the result of an elementwise op of the IR."""

    name: str
    dtype: str
    op: Op
    operands: tuple[Operand, ...]
    attrs: Mapping[str, Any]
    origins: tuple[int, ...] = ()


@record(eq=False)
class Invert:
    """Name the inverse of a divisor that many elements share, in the form in which `Quotient` takes it."""

    name: str
    dtype: str
    divisor: Operand


@record(eq=False)
class Quotient:
    """Name the quotient of a value and what `Invert` inverted, rounded once."""

    name: str
    dtype: str
    operand: Operand
    inverse: str
    origins: tuple[int, ...] = ()


@record(eq=False)
class Fold:
    """Name the value of `accumulator` with `operand` folded in, by a reduction of the IR. Over the iterations
    of a ``lanes`` loop each lane folds its own, and the loop folds the lanes by halves; over those of an
    ``interleaved`` loop each copy does, and the loop folds neighbours, in pairs."""

    name: str
    dtype: str
    op: Op
    accumulator: Operand
    operand: Operand
    origins: tuple[int, ...] = ()


@record(eq=False)
class Accumulate:
    """Name the sum of `total` and `operand`, rounded, and `error` plus what rounding took off it: fast
    two-sum (Dekker 1971), exact where the total is 0 or no smaller than the operand."""

    names: tuple[str, str]
    dtype: str
    total: Operand
    error: Operand
    operand: Operand
    origins: tuple[int, ...] = ()


@record(eq=False)
class Total:
    """Name the sum of a total and its error; the total itself where the error is 0 or not a number."""

    name: str
    dtype: str
    total: Operand
    error: Operand


@record
class Carry:
    """A value that a loop hands from one iteration to the next: its name there, its value in the first one,
    the value that an iteration hands on, and its name behind the loop."""

    name: str
    dtype: str
    first: Operand
    following: Operand
    result: str


@record(eq=False)
class For:
    """Run `body` for each `index` from the greatest of `lo` up to the least of `hi`, by `step`.

    A ``tasks`` loop is run in parts, each a range of iterations: `body` sees the first one as `index`, and
    the one behind the last as `end`. A ``lanes`` loop has `width` lanes, or with fewer iterations leaves the
    last lanes out. A loop inside of lanes whose end holds their index is one iteration of those that it has.
    """

    index: str
    lo: tuple[Affine, ...]
    hi: tuple[Affine, ...]
    step: int
    kind: str
    body: tuple[Node, ...]
    carried: tuple[Carry, ...] = ()
    end: str = ""
    width: int = 0


@record(eq=False)
class While:
    """Run `body`, and again as long as the bool `condition` holds at its end."""

    carried: tuple[Carry, ...]
    body: tuple[Node, ...]
    condition: Operand


@record(eq=False)
class If:
    """Run `then` where `condition` holds, else `otherwise`. It may be `rare`."""

    condition: Condition
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


@record(eq=False)
class Alloc:
    """Memory of the kernel's own up to its end: `size` elements of `dtype`. What is `shared` is one memory
    for all tasks, and lasts from one loop of tasks to the next; of other memory each part of the tasks has
    its own."""

    name: str
    dtype: str
    size: Affine
    shared: bool = False


@record(eq=False)
class Call:
    """Run an instruction with a meaning of its own (`intrinsics`): its places in memory, each a buffer, an
    index and the elements from one row to the next, and its sizes."""

    callee: str
    places: tuple[tuple[str, Affine, int], ...]
    sizes: tuple[int, ...]


@record(eq=False)
class Fail:
    """Leave the kernel with an error where one of the conditions does not hold."""

    unless: tuple[InRange, ...] | str
    message: str


@record(eq=False)
class Poll:
    """Let signals in, and leave the kernel where a handler raised."""


@record(eq=False)
class Prefetch:
    """Ask for the elements of `buffer` from `index` on, which may lie behind it, a line of the cache at a
    time: to the first cache where they are wanted soon (`near`), or to the second one."""

    buffer: str
    index: Affine
    near: bool


@record(eq=False)
class Fence:
    """Keep later accesses behind stores past the cache."""


Node: TypeAlias = (
    Let
    | Holds
    | Load
    | Store
    | Compute
    | Invert
    | Quotient
    | Fold
    | Accumulate
    | Total
    | Prefetch
    | For
    | While
    | If
    | Alloc
    | Call
    | Fail
    | Poll
    | Fence
)


@record(eq=False)
class Kernel:
    """Loops over `buffers`; the least value of each symbol; and the scheduling passes that led to it."""

    name: str
    buffers: tuple[Buffer, ...]
    body: tuple[Node, ...]
    symbols: tuple[tuple[str, int], ...] = ()
    schedule: tuple[str, ...] = ()

    def with_schedule(self, schedule: tuple[str, ...]) -> Kernel:
        """The kernel as the passes of `schedule` led to it."""
        return Kernel(self.name, self.buffers, self.body, self.symbols, schedule)

    def with_body(self, body: tuple[Node, ...], step: str = "") -> Kernel:
        """The kernel with another body, that a pass made as `step` says."""
        schedule = (*self.schedule, step) if step else self.schedule
        return Kernel(self.name, self.buffers, body, self.symbols, schedule)
