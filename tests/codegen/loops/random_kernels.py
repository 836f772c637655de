"""Random kernels in the loop form, and random steps of schedules for them.

Kernels are nests of up to three loops, perfect or not, over buffers that are read and written in any order
of dimensions, reversed, broadcast, shifted and in place; with guards, masks, columns, gathers, sums,
recurrences, conditions, failures, and sizes that are symbols.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tracejit.codegen.loops.affine import Affine, affine, variable
from tracejit.codegen.loops.nodes import TASKS, Kernel
from tracejit.codegen.loops.passes import PASSES
from tracejit.codegen.loops.rewriting import loops_in

#: The folds of the dtypes.
_FOLDS = ("sum", "max", "min", "prod")
_OPS = ("add", "sub", "mul", "maximum", "minimum")
_LETTERS = ("i", "j", "k", "m")


@dataclass
class _Result:
    """A buffer that is written: its name, an index into it, and how far other indices may be from that."""

    name: str
    index: Affine
    before: int
    behind: int
    loops: tuple[tuple[str, Affine], ...]


@dataclass
class _Scope:
    """The loops around a place and the values that are known there, by dtype."""

    loops: list[tuple[str, Affine]] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)

    def inner(self, *loops: tuple[str, Affine]) -> _Scope:
        return _Scope([*self.loops, *loops], {dtype: list(names) for dtype, names in self.values.items()})


class KernelWriter:
    """Writes the text of a random kernel; a `plain` one has what there is machine code for."""

    def __init__(self, rng: np.random.Generator, *, plain: bool = False) -> None:
        self.rng, self.plain = rng, plain
        self.dtype = str(rng.choice(["f64", "f32", "i32", "i64"]))
        self.symbols: list[str] = []
        self.buffers: list[str] = []
        self.results: list[_Result] = []
        self.lines: list[str] = []
        self.names = 0
        self.fails = not plain and rng.random() < 0.1

    def kernel(self) -> str:
        """The text of the kernel."""
        rng, scope = self.rng, _Scope()
        symbolic = not self.plain and rng.random() < 0.15
        if rng.random() < 0.15:
            self.load(scope)
        for _ in range(1 if self.plain or rng.random() < 0.8 else 2):
            rank = int(rng.integers(1, 4))
            sizes = [affine(int(size)) for size in rng.integers(1, 8 if rank == 3 else 14, rank)]
            if symbolic:
                self.symbols = self.symbols or ["n >= 1"]
                sizes[int(rng.integers(rank))] = variable("n")
            self.nest(list(zip(_LETTERS, sizes, strict=False)), scope)
        head = f"kernel @random({', '.join([*self.symbols, *self.buffers])}) {{"
        return "\n".join([head, *self.lines, "}"])

    # -- values -----------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def fresh(self, prefix: str = "v") -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def number(self) -> str:
        value = int(self.rng.integers(-3, 4))
        return f"{value}{'.0' if self.dtype[0] == 'f' else ''}:{self.dtype}"

    def value(self, scope: _Scope) -> str:
        known = scope.values.get(self.dtype, [])
        return f"%{self.rng.choice(known)}" if known and self.chance(0.85) else self.number()

    def define(self, scope: _Scope, text: str, dtype: str = "") -> str:
        name, dtype = self.fresh(), dtype or self.dtype
        self.lines.append(f"%{name}: {dtype} = {text}")
        scope.values.setdefault(dtype, []).append(name)
        return name

    # -- places -----------------------------------------------------------------------------------

    def place(self, scope: _Scope, *, written: bool, count: int = 1) -> tuple[Affine, Affine, int, int]:
        """An index, the size of its buffer, and how far other indices may be from it: dimensions in some
        order, reversed or broadcast."""
        rng, loops = self.rng, scope.loops
        index, size = affine(0), affine(count)
        for axis in rng.permutation(len(loops)):
            name, extent = loops[axis]
            if (written and not self.chance(0.03)) or self.chance(0.8):
                if self.chance(0.15):
                    index = index.plus(size.times(extent)).plus(size, -1)
                    index = index.plus(variable(name).times(size), -1)
                else:
                    index = index.plus(variable(name).times(size))
                size = size.times(extent)
                if not written and self.chance(0.1):  # rows further apart than they are long
                    size = size.plus(int(rng.integers(1, 4)))
        before, behind = (int(number) for number in rng.integers(0, 3, 2))
        return index.plus(before), size.plus(before + behind), before, behind

    def buffer(self, size: Affine, dtype: str, *, written: bool = False) -> str:
        name = f"b{len(self.buffers)}"
        self.buffers.append(f"{name}: {'out ' if written else ''}{dtype}[{size}]")
        return name

    def guard(self, scope: _Scope) -> str:
        """A condition on an index, true or not."""
        name, extent = scope.loops[int(self.rng.integers(len(scope.loops)))]
        low = int(self.rng.integers(0, 3))
        most = extent.number if extent.number is not None else 4
        return f"0 <= {name} - {low} < {max(1, most - int(self.rng.integers(0, 3)))}"

    # -- statements -------------------------------------------------------------------------------

    def load(self, scope: _Scope) -> None:
        count = 2 if self.chance(0.08) else 1
        index, size, _, _ = self.place(scope, written=False, count=count)
        text = f"load {self.buffer(size, self.dtype)}[{index}]"
        if scope.loops and count == 1 and self.chance(0.2):
            text += f" where {self.guard(scope)}"
        elif not self.plain and scope.values.get("bool") and self.chance(0.3):
            text += f" where %{self.rng.choice(scope.values['bool'])}"
        if count == 2:
            names = [self.fresh(), self.fresh()]
            self.lines.append(f"%{names[0]}, %{names[1]}: {self.dtype} = {text}")
            scope.values.setdefault(self.dtype, []).extend(names)
            return
        self.define(scope, text)
        if self.chance(0.2):  # once more, which `forward` leaves out
            self.define(scope, text)

    def store(self, scope: _Scope) -> None:
        count = 2 if self.chance(0.08) else 1
        index, size, before, behind = self.place(scope, written=True, count=count)
        name = self.buffer(size, self.dtype, written=True)
        self.results.append(_Result(name, index, before, behind, tuple(scope.loops)))
        text = f"store {name}[{index}], {', '.join(self.value(scope) for _ in range(count))}"
        if not self.plain and self.chance(0.1):
            masks = scope.values.get("bool", [])
            if scope.loops and self.chance(0.5):
                text += f" where {self.guard(scope)}"
            elif masks:
                text += f" where %{self.rng.choice(masks)}"
        self.lines.append(text)

    def again(self, scope: _Scope) -> None:
        """Read or write what is a result, in place or beside it."""
        known = [result for result in self.results if set(scope.loops).issuperset(result.loops)]
        if not known:
            return
        result = known[int(self.rng.integers(len(known)))]
        shift = int(self.rng.integers(-result.before, result.behind + 1)) if self.chance(0.4) else 0
        place = f"{result.name}[{result.index.plus(shift)}]"
        if self.chance(0.75):
            self.define(scope, f"load {place}")
        else:
            self.lines.append(f"store {place}, {self.value(scope)}")

    def compute(self, scope: _Scope) -> None:
        if scope.values.get("bool") and self.chance(0.4):
            condition = f"%{self.rng.choice(scope.values['bool'])}"
            self.define(scope, f"where({condition}, {self.value(scope)}, {self.value(scope)})")
            return
        op = "div" if self.dtype[0] == "f" and self.chance(0.15) else str(self.rng.choice(_OPS))
        self.define(scope, f"{op}({self.value(scope)}, {self.value(scope)})")

    def number_of_index(self, scope: _Scope) -> None:
        name, _ = scope.loops[int(self.rng.integers(len(scope.loops)))]
        if self.dtype == "i64":
            self.define(scope, f"index(3*{name} + 1)")

    def truth(self, scope: _Scope) -> None:
        if scope.loops and self.chance(0.5):
            self.define(scope, f"holds({self.guard(scope)})", "bool")
        else:
            self.define(scope, f"lt({self.value(scope)}, {self.value(scope)})", "bool")

    def gather(self, scope: _Scope) -> None:
        index, size, _, _ = self.place(scope, written=False)
        at = self.define(scope, f"load {self.buffer(size, 'i64')}[{index}]", "i64")
        count = int(self.rng.integers(1, 9))
        source = self.buffer(affine(count), self.dtype)
        if self.fails:
            self.lines.append(f'fail "an index is out of range" unless 0 <= %{at} + 9 < 12')
        self.define(scope, f"load {source}[%{at}] where 0 <= %{at} < {count}")

    def fold(self, scope: _Scope) -> None:
        """A fold over a loop of its own."""
        index, extent = self.fresh("r"), affine(int(self.rng.integers(1, 7)))
        total, result, op = self.fresh(), self.fresh(), str(self.rng.choice(_FOLDS))
        self.lines.append(f"for {index} in 0:{extent} with %{total}: {self.dtype} = {self.number()} {{")
        inner = scope.inner((index, extent))
        self.load(inner)
        if self.chance(0.5):
            self.compute(inner)
        following = self.fresh()
        self.lines.append(f"%{following}: {self.dtype} = fold {op}(%{total}, {self.value(inner)})")
        self.lines.append(f"}} next %{following} as %{result}")
        scope.values.setdefault(self.dtype, []).append(result)

    def first_place(self, scope: _Scope) -> None:
        """The first place of an extremum in a line, and what another buffer has at a multiple of it."""
        rng, count = self.rng, int(self.rng.integers(1, 12))
        r, y = self.fresh("r"), self.fresh("r")
        op, unit = (("max", "-99"), ("min", "99"))[int(rng.integers(2))]
        index, size, _, _ = self.place(scope.inner((r, affine(count))), written=False)
        source, unit = (
            self.buffer(size, self.dtype),
            f"{unit}{'.0' if self.dtype[0] == 'f' else ''}:{self.dtype}",
        )
        x, z, c, k, w, t, s, p, q = (self.fresh() for _ in range(9))
        best, place = self.fresh(), self.fresh()
        last = int(rng.integers(count)) if self.chance(0.3) else count - 1
        self.lines += [
            f"for {r} in 0:{count} with %{t}: {self.dtype} = {unit} {{",
            f"%{x}: {self.dtype} = load {source}[{index}]",
            f"%{s}: {self.dtype} = fold {op}(%{t}, %{x})",
            f"}} next %{s} as %{best}",
            f"for {y} in 0:{count} with %{p}: i64 = {last}:i64 {{",
            f"%{z}: {self.dtype} = load {source}[{index.replaced(r, variable(y))}]",
            f"%{c}: bool = eq(%{z}, %{best})",
            f"%{k}: i64 = index({y})",
            f"%{w}: i64 = where(%{c}, %{k}, {last}:i64)",
            f"%{q}: i64 = fold min(%{p}, %{w})",
            f"}} next %{q} as %{place}",
        ]
        scope.values.setdefault("i64", []).append(place)
        scope.values.setdefault(self.dtype, []).append(best)
        times, behind = int(rng.integers(1, 4)), int(rng.integers(0, 3))
        other = self.buffer(affine(times * (count - 1) + behind + 1), self.dtype)
        self.define(scope, f"load {other}[{variable(f'%{place}', times).plus(behind)}]")

    def recurrence(self, scope: _Scope) -> None:
        """Values that a loop hands on."""
        index, extent = self.fresh("r"), affine(int(self.rng.integers(1, 6)))
        state, result = self.fresh(), self.fresh()
        self.lines.append(f"for {index} in 0:{extent} with %{state}: {self.dtype} = {self.value(scope)} {{")
        inner = scope.inner((index, extent))
        inner.values.setdefault(self.dtype, []).append(state)
        self.block(inner, 2)
        self.lines.append(f"}} next {self.value(inner)} as %{result}")
        scope.values.setdefault(self.dtype, []).append(result)

    def condition(self, scope: _Scope) -> None:
        bools = scope.values.get("bool", [])
        test = f"%{self.rng.choice(bools)}" if bools and self.chance(0.4) else self.guard(scope)
        self.lines.append(f"if {test} {{")
        self.block(scope.inner(), 2)
        if self.chance(0.4):
            self.lines.append("} else {")
            self.block(scope.inner(), 2)
        self.lines.append("}")

    def block(self, scope: _Scope, most: int) -> None:
        """Some statements."""
        simple = [self.load, self.compute, self.compute, self.store, self.again]
        if scope.loops:
            simple += [self.number_of_index]
        if not self.plain:
            simple += [self.truth, self.gather]
        nested: list[Callable[[_Scope], None]] = [self.fold, self.first_place, self.recurrence]
        nested += [self.condition] if scope.loops else []
        for _ in range(int(self.rng.integers(1, most + 1))):
            if len(self.lines) < 60 and self.chance(0.12):
                nested[int(self.rng.integers(2 if self.plain else len(nested)))](scope)
            else:
                simple[int(self.rng.integers(len(simple)))](scope)

    def nest(self, loops: list[tuple[str, Affine]], scope: _Scope) -> None:
        with self._around(loops[0], scope) as inner:
            if len(loops) > 1:
                imperfect = not self.plain and self.chance(0.15)
                if imperfect:
                    self.block(inner, 2)
                self.nest(loops[1:], inner)
                if imperfect and self.chance(0.5):
                    self.block(inner, 2)
                return
            for _ in range(int(self.rng.integers(1, 3))):
                self.load(inner)
            self.block(inner, 5)
            self.store(inner)

    @contextlib.contextmanager
    def _around(self, loop: tuple[str, Affine], scope: _Scope) -> Iterator[_Scope]:
        self.lines.append(f"for {loop[0]} in 0:{loop[1]} {{")
        yield scope.inner(loop)
        self.lines.append("}")


def random_step(rng: np.random.Generator, kernel: Kernel) -> str:
    """A random step of a schedule for `kernel`; it need not apply."""
    loops = [loop.index for loop in loops_in(kernel.body) if loop.kind != TASKS] or ["i"]
    counts = {index: loops.count(index) for index in loops}

    def index() -> str:
        chosen = str(rng.choice(loops))
        return f"{chosen}#{rng.integers(counts[chosen])}" if rng.random() < 0.15 else chosen

    def number() -> int:
        return int(rng.choice([0, 1, 2, 3, 4, 8], p=[0.02, 0.14, 0.24, 0.16, 0.24, 0.2]))

    outs = [buffer.name for buffer in kernel.buffers if buffer.out] or ["b0"]
    begin = int(rng.integers(0, 6))
    part = f"{index()}, {begin}, {begin + int(rng.integers(0, 8))}"
    name = str(rng.choice(list(PASSES)))
    if name in ("transpose_reads", "tile"):
        pairs = list(itertools.pairwise(list(dict.fromkeys(loops)))) or [("i", "j")]
        outer, inner = pairs[int(rng.integers(len(pairs)))]
        edge, group = int(rng.choice([2, 4])), int(rng.choice([1, 2]))
        tiled = f"tile({outer}, {inner}, {edge}, {group})"
        if name == "tile":
            return tiled
        whole = f"peel({outer}, {edge * group}) peel({inner}, {edge}) peel(a, {edge})"
        return f"{tiled} {whole} transpose_reads(r)"
    arguments = {
        "split": part,
        "specialize": part,
        "stream": str(rng.choice(outs)),
        "ask": f"{rng.choice(outs)}+0",
    }
    if name in arguments:
        return f"{name}({arguments[name]})"
    parameters = list(inspect.signature(PASSES[name]).parameters.values())[1:]
    given: list[str] = []
    for parameter in parameters:
        if parameter.name == "inner" and given:  # in the loop before
            outer = [loop for loop in loops_in(kernel.body) if loop.index == given[-1]]
            inside = [inner.index for loop in outer for inner in (loop, *loops_in(loop.body))]
            given.append(str(rng.choice(inside or loops)))
        elif parameter.default is parameter.empty or rng.random() < 0.5:
            given.append(index() if parameter.annotation == "str" else str(number()))
    return f"{name}({', '.join(given)})"
