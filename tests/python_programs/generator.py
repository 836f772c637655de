"""Random Python programs: control flow of every kind around numbers, arrays and views of arrays.

A program is the text of a module with the function ``f(x, a, n, z)``: `x` is an array of six floats, `a` one
of four rows and three columns, `n` an integer from 0 to 6, `z` a float. Both arrays may be written. Programs
end by construction: each ``while`` counts its steps. Their floats are multiples of powers of two with few
digits, so that sums are exact in every order, and a test never depends on rounding.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

FLOATS = ("s", "t", "w")
INTEGERS = ("k", "m")
_HEADER = """def f(x, a, n, z):
    s = 0.0
    t = 1.5
    w = z
    k = 0
    m = 1
    p = False
    i = j = l = 0
    u = x * 0.5
    b = a + 1.0
"""
_SCALAR_HELPERS = (
    """def clip{0}(v, z):
    if v > 2.0:
        return 2.0
    elif v < z:
        return z
    return v
""",
    """def halves{0}(v, z):
    for q in range(4):
        if v < z:
            return v
        v = v * 0.5
        if v == 0.0:
            break
    else:
        return v + 8.0
    return z
""",
    """def steps{0}(v, z):
    q = 0.0
    while q < 5.0:
        q += 1.0
        if q > v:
            continue
        if q == 3.0:
            return q + z
    return q
""",
)
_ARRAY_HELPERS = (
    """def fill{0}(r, v):
    for q in range(len(r)):
        r[q] = v * 0.5 + q
""",
    """def shift{0}(r, v):
    for q in range(len(r)):
        if r[q] > v:
            r[q] -= 1.0
            continue
        if q == 2:
            return
        r[q] = r[q] + 0.5
""",
    """def double{0}(r, v):
    r *= 2.0
    r[0] = v
""",
    """def first{0}(r, v):
    r[:2] = v
""",
    """def bounded{0}(r, v):
    for q in range(len(r)):
        r[q] = max(min(r[q], 4.0), v)
""",
)
_SEARCHES = (
    """def above{0}(r, v):
    for q in range(len(r)):
        if r[q] > v:
            return q
    return len(r)
""",
    """def total{0}(r, v):
    q = 0.0
    for e in r:
        if e < v:
            continue
        q += e
    return q
""",
    """def least{0}(r, v):
    best = r[0]
    for q in range(1, len(r)):
        if r[q] < best:
            best = r[q]
    return min(best, v)
""",
)


@dataclass(frozen=True)
class Place:
    """The place where a statement stands.

    Attributes:
        indices: counters of the loops around it, with the number that each is less than.
        rows: names of arrays of rank 1 that have a value here, with their lengths.
        loops: how many loops of this function are around it.
        depth: how many statements are around it.
    """

    indices: tuple[tuple[str, int], ...] = ()
    rows: tuple[tuple[str, int], ...] = (("x", 6), ("u", 6))
    loops: int = 0
    depth: int = 0


@dataclass
class Generator:
    """Writes the program of a seed."""

    seed: int
    _count: int = 0
    _helpers: list[str] = field(default_factory=list)
    _scalar: list[str] = field(default_factory=list)
    _filling: list[str] = field(default_factory=list)
    _searching: list[str] = field(default_factory=list)
    _closures: list[str] = field(default_factory=list)
    #: Number of statements still to be written: what is small compiles soon, and fails for one reason.
    _budget: int = 0

    def program(self) -> str:
        """The text of the module."""
        self._random = random.Random(self.seed)
        self._budget = self._random.randint(3, 14)
        self._make_helpers()
        place = Place()
        lines = self._closure_lines(place)
        while self._budget > 0:
            more, place = self._statement(place)
            lines += more
        lines.append(f"return {self._result(place)}")
        body = "".join(f"    {line}\n" for line in lines)
        return "import math\n\nimport numpy as np\n\n\n" + "\n\n".join([*self._helpers, _HEADER + body])

    # -- choices -----------------------------------------------------------------------------------

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _number(self) -> int:
        self._count += 1
        return self._count

    # -- functions ---------------------------------------------------------------------------------

    def _make_helpers(self) -> None:
        for forms, names in (
            (_SCALAR_HELPERS, self._scalar),
            (_ARRAY_HELPERS, self._filling),
            (_SEARCHES, self._searching),
        ):
            for form in self._random.sample(forms, self._random.randint(0, 2)):
                text = form.format(self._number())
                self._helpers.append(text)
                names.append(text[4 : text.index("(")])
        if self._filling and self._chance(0.4):
            inner, name = self._pick(*self._filling), f"both{self._number()}"
            part = self._pick("r", "r[1:]", "r[::-1]", "r")
            self._helpers.append(f"def {name}(r, v):\n    {inner}({part}, v)\n    {inner}(r, v * 0.5)\n")
            self._filling.append(name)
        if self._scalar and self._chance(0.3):
            inner, name = self._pick(*self._scalar), f"twice{self._number()}"
            self._helpers.append(
                f"def {name}(v, z):\n    if {inner}(v, z) > 1.0:\n        return {inner}(v * 0.5, z)\n"
                f"    return v\n"
            )
            self._scalar.append(name)

    def _closure_lines(self, place: Place) -> list[str]:
        lines: list[str] = []
        for _ in range(self._random.choice((0, 0, 1, 1, 2))):
            name, number = f"inner{self._number()}", self._pick(*FLOATS)
            kind = self._random.randrange(5)
            if kind == 0:
                lines += [f"def {name}(v):", f"    nonlocal {number}", f"    {number} = {number} * 0.5 + v"]
                lines += [f"    return {number}"]
            elif kind == 1:
                lines += [f"def {name}(v):", "    nonlocal k", "    if v > 0.5:", "        k += 1"]
                lines += ["        return v * 0.5", "    return v"]
            elif kind == 2:
                lines += [f"def {name}(v):", f"    u[k % 6] = v + {number}", "    return u[1]"]
            elif kind == 3:
                lines += [f"def {name}(v):", f"    nonlocal {number}, m", "    for q in range(3):"]
                lines += ["        if v < 0.25:", "            break", f"        {number} = {number} + 0.25"]
                lines += ["        v = v * 0.5", "    else:", "        m = (m + 1) % 5", "    return v"]
            else:
                lines += [f"{name} = lambda v: v * 0.5 + {number}"]
            self._closures.append(name)
        return lines

    # -- expressions -------------------------------------------------------------------------------

    def _index(self, place: Place, length: int) -> str:
        """An index of what has `length` elements."""
        fitting = [name for name, bound in place.indices if bound <= length]
        choices = [str(self._random.randint(-length, length - 1)), f"k % {length}", f"(k + m) % {length}"]
        choices += [f"{name} % {length}" for name, _ in place.indices]
        choices += fitting * 3 + [f"{name} - 1" for name in fitting]
        return self._pick(*choices)

    def _element(self, place: Place) -> str:
        if self._chance(0.6):
            name, length = self._random.choice(place.rows)
            return f"{name}[{self._index(place, length)}]"
        row, column = self._index(place, 4), self._index(place, 3)
        name = self._pick("a", "b")
        return self._pick(f"{name}[{row}, {column}]", f"{name}[{row}][{column}]")

    def _operand(self, place: Place) -> str:
        choices = [*FLOATS, self._element(place), self._element(place), "z"]
        choices += [str(self._random.randint(-4, 6) / 2)]
        choices += [f"{self._pick(*[name for name, _ in place.indices])} * 0.5"] if place.indices else []
        return self._pick(*choices)

    def _value(self, place: Place, depth: int = 0) -> str:
        a, b = self._operand(place), self._operand(place)
        forms = [f"{a} * 0.5 + {b}", f"{a} - {b}", f"0.5 * {a}", f"{a} + {b}", a]
        forms += [
            f"min({a}, {b})",
            f"max({a}, {b})",
            f"abs({a}) * 0.5",
            f"({a} if {self._test(place)} else {b})",
        ]
        value = self._pick(*forms)
        calls = [f"{name}({a}, {b})" for name in self._scalar] + [f"{name}({a})" for name in self._closures]
        calls += [f"{name}({self._row(place)[0]}, {a})" for name in self._searching if "above" not in name]
        return self._pick(*calls) if calls and self._chance(0.25) else value

    def _test(self, place: Place) -> str:
        a, b = self._operand(place), self._operand(place)
        choices = [f"{a} > {b}", f"{a} <= {b}", "k % 2 == 0", f"-0.5 < {a} <= 1.0", "p", "not p", "k < n"]
        choices += [f"{a} > 0.25 and {b} < 1.0", f"{a} < -0.5 or not {b} > 0.5", f"{a} == {b}"]
        for name, _ in place.indices:
            choices += [f"{name} > 2", f"{name} % 2 == 1", f"{name} == n - 1", f"{name} in (0, 2, 3)"]
        return self._pick(*choices)

    def _row(self, place: Place) -> tuple[str, int]:
        """An expression for an array of rank 1 that shares memory with a variable's, and its length."""
        name, length = self._random.choice(place.rows)
        matrix = self._pick("a", "b")
        choices = [(name, length)] * 2
        choices += [(f"{matrix}[{self._index(place, 4)}]", 3)] * 3
        choices += [(f"{matrix}[:, {self._index(place, 3)}]", 4), (f"{matrix}.reshape(-1)", 12)]
        choices += [
            (f"{name}[1:]", length - 1),
            (f"{name}[::-1]", length),
            (f"{name}[::2]", (length + 1) // 2),
        ]
        choices += [
            (f"{matrix}.T[{self._index(place, 3)}]", 4),
            (f"{matrix}[{self._index(place, 4)}, 1:]", 2),
        ]
        return self._random.choice(choices)

    def _result(self, place: Place) -> str:
        if self._chance(0.1):
            return self._pick("u", "s", "(u, s)", "k", "b")
        number = self._pick(*FLOATS, self._operand(place))
        return f"({number}, {self._pick(*INTEGERS)}, {self._pick(*FLOATS)}, u, b)"

    # -- statements --------------------------------------------------------------------------------

    def _block(self, place: Place, most: int = 3) -> list[str]:
        lines: list[str] = []
        inner = replace(place, depth=place.depth + 1)
        for position in range(self._random.randint(1, most)):
            if position and self._budget <= 0:
                break
            more, inner = self._statement(inner)
            lines += more
            if lines[-1].split()[0] in ("break", "continue", "return"):
                break
        return lines

    def _statement(self, place: Place) -> tuple[list[str], Place]:
        self._budget -= 1
        deep = place.depth >= 4 or self._budget <= 0
        kind = self._random.random()
        if place.depth == 0 and kind < 0.45:
            kind = 0.9
        if kind < 0.22:
            return self._assignment(place), place
        if kind < 0.36:
            return self._write(place), place
        if kind < 0.44:
            return self._view(place)
        if kind < 0.5 and self._filling:
            return [f"{self._pick(*self._filling)}({self._row(place)[0]}, {self._operand(place)})"], place
        if kind < 0.58 and place.depth:
            return self._jump(place), place
        if kind < 0.78 and not deep:
            return self._conditional(place), place
        if place.loops >= 3 or deep:
            return self._assignment(place), place
        return (self._while(place) if self._chance(0.3) else self._for(place)), place

    def _assignment(self, place: Place) -> list[str]:
        name, value = self._pick(*FLOATS), self._value(place)
        kind = self._random.randrange(12)
        if kind < 3:
            return [f"{name} = {value}"]
        if kind < 5:
            return [f"{name} {self._pick('+=', '-=')} {value}", f"{name} = max(min({name}, 16.0), -16.0)"]
        if kind == 5:
            return [f"k = (k + {self._pick('1', '2', 'm')}) % 11"]
        if kind == 6:
            return [f"p = {self._test(place)}"]
        if kind == 7:
            first, second = self._random.sample(FLOATS, 2)
            return [f"{first}, {second} = {self._pick(second, value)}, {first}"]
        if kind == 8:  # an element is a number, and not a view
            alias = f"e{self._number()}"
            return [f"{alias} = {self._element(place)}", f"{name} = {alias}", f"{alias} += 1.0",
                    f"{name} = {name} - {alias} * 0.5"]  # fmt: skip
        if kind == 9:
            other = self._pick(*FLOATS)
            return [f"{name} = {other}", f"{name} *= 0.5"]
        if kind == 10:
            pair = f"c{self._number()}"
            return [f"{pair} = ({value}, {self._pick(*INTEGERS)})", f"{name} = {pair}[0]", f"k = {pair}[1]"]
        if self._searching:
            row, _ = self._row(place)
            return [f"m = int({self._pick(*self._searching)}({row}, {self._operand(place)})) % 7"]
        return ["m = (m + k) % 5"]

    def _write(self, place: Place) -> list[str]:
        value = self._value(place)
        kind = self._random.random()
        target = self._element(place)
        if kind < 0.45:
            return [f"{target} = {value}"]
        if kind < 0.65:
            return [f"{target} {self._pick('+=', '-=')} {self._operand(place)} * 0.5"]
        row, length = self._row(place)
        if kind < 0.75:
            return [f"{row}[{self._index(place, length)}] = {value}"]
        if kind < 0.85:
            return [f"{row}[:] = {value}"]
        if kind < 0.93:
            return [f"{row}[{self._pick(':2', '1:', '::2')}] += {self._operand(place)}"]
        return [f"{self._pick('a', 'b')}[{self._index(place, 4)}] = {self._operand(place)}"]

    def _view(self, place: Place) -> tuple[list[str], Place]:
        row, length = self._row(place)
        name = f"r{self._number()}"
        lines = [f"{name} = {row}"]
        if self._chance(0.2):
            tuple_ = f"c{self._number()}"
            lines = [f"{tuple_} = ({row}, {self._operand(place)})", f"{name} = {tuple_}[0]"]
        inner = replace(place, rows=(*place.rows, (name, length)))
        form = self._random.random()
        if form < 0.3:
            lines += [f"{name}[{self._index(place, length)}] = {self._value(place)}"]
        elif form < 0.45:
            lines += [f"{name} {self._pick('+=', '*=')} 0.5"]
        elif form < 0.75:
            index = f"v{self._number()}"
            within = replace(inner, indices=(*place.indices, (index, length)), loops=place.loops + 1)
            lines += [f"for {index} in range({length}):", f"    {name}[{index}] = {self._value(within)}"]
        elif form < 0.85 and self._filling:
            lines += [f"{self._pick(*self._filling)}({name}, {self._operand(place)})"]
        return lines, inner

    def _jump(self, place: Place) -> list[str]:
        kinds = ["return"] + ["break", "continue"] * 2 * bool(place.loops)
        kind = self._pick(*kinds)
        if kind == "return":
            return [f"return {self._result(place)}"]
        return [kind]

    def _conditional(self, place: Place) -> list[str]:
        lines = [f"if {self._test(place)}:", *_indented(self._block(place))]
        while self._chance(0.25):
            lines += [f"elif {self._test(place)}:", *_indented(self._block(place, 2))]
        if self._chance(0.45):
            lines += ["else:", *_indented(self._block(place, 2))]
        return lines

    def _for(self, place: Place) -> list[str]:
        names = [name for name in ("i", "j", "l") if name not in dict(place.indices)]
        name = names[0]
        form = self._random.random()
        extra: list[str] = []
        if form < 0.6:
            header, bound = self._random.choice(
                (("range(n)", 6), ("range(4)", 4), ("range(3)", 3), ("range(1, 6)", 6),
                 ("range(5, -1, -1)", 6),
                 ("range(0, 6, 2)", 6), ("range(n, 6)", 6), (f"range(len({self._pick('a', 'b')}))", 4),
                 (f"range({place.indices[-1][0] if place.indices else 3})", 6), ("range(k % 4)", 4),
                 ("reversed(range(4))", 4))
            )  # fmt: skip
            line = f"for {name} in {header}:"
        elif form < 0.75:
            row, length = self._row(place)
            bound = 0
            line = f"for w in {row}:"
        elif form < 0.88:
            row, length = self._row(place)
            bound = length
            line = f"for {name}, s in enumerate({row}):"
        else:
            first, second = self._row(place), self._row(place)
            bound = 0
            line = f"for s, t in zip({first[0]}, {second[0]}):"
        indices = (*place.indices, (name, bound)) if bound else place.indices
        inner = replace(place, indices=indices, loops=place.loops + 1)
        lines = [line, *_indented(extra + self._block(inner, 4))]
        return lines + self._else(place)

    def _else(self, place: Place) -> list[str]:
        return ["else:", *_indented(self._block(place, 2))] if self._chance(0.2) else []

    def _while(self, place: Place) -> list[str]:
        count, most = f"h{self._number()}", self._random.randint(3, 6)
        inner = replace(place, indices=(*place.indices, (f"({count} - 1)", most)), loops=place.loops + 1)
        test = self._pick(f"({self._test(place)}) and {count} < {most}", f"{count} < {most}", "True",
                          f"{count} < {most} and ({self._test(place)})")  # fmt: skip
        body = [f"{count} += 1", *self._block(inner, 4)]
        if test == "True":
            body[1:1] = [
                f"if {count} > {most}:",
                f"    {self._pick('break', 'break', f'return {self._result(place)}')}",
            ]
            inner = place
        return [f"{count} = 0", f"while {test}:", *_indented(body), *self._else(place)]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
