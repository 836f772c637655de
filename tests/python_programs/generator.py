"""Random Python programs: control flow of every kind around numbers, arrays and views of arrays.

A program is the text of a module with the function ``f(x, a, n, z, y)``: `x` and `y` are arrays of six
floats, `a` one of four rows and three columns, `n` an integer from 0 to 6, `z` a float. The arrays may be
written, and `y` may be a part of another one. Programs end by construction: each ``while`` counts its steps,
or stands behind a test by which it ends. Their floats are multiples of powers of two with few digits, so that
sums are exact in every order, and a test never depends on rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from . import helpers
from .place import FEATURES, FLOATS, Place, indented
from .statements import Statements

_HEADER = """def f(x, a, n, z, y):
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
#: First values of the names of a feature.
_VARIABLES = {
    "bits": "g = (x * 4.0).astype(np.int64)",
    "rank 0": "h = np.array(z)",
    "containers": 'c, d, q = [x, u], {"s": z, "r": a[1]}, [0.5, z]',
    "attributes": "o = Box(z, u[1:5])",
    "shared": 'da, db, la, lb = {"s": z, "r": x * 1.0}, {"s": 0.5, "r": u}, [z, 0.5], [1.0, z]',
}
#: Arrays that NumPy makes out of numbers alone, in place of those that are computed.
_MADE = (
    ("u", ("np.linspace(0.0, 1.25, 6)", "np.arange(6) * 0.25", "np.array([0.5, 1.0, -0.5, 0.0, 2.0, -1.5])",
           "np.zeros(6)", "np.full(6, 0.5)", "np.ones((2, 3)).reshape(-1)", "np.arange(12.0)[::2]")),
    ("b", ("np.arange(12.0).reshape(4, 3) * 0.25", "np.ones((3, 4)).T", "np.zeros((4, 3)) - 0.5",
           "np.linspace(-1.0, 1.75, 12).reshape(4, 3)", "np.array([[0.5, 1.0, -0.5]] * 4)", "np.eye(4, 3)")),
)  # fmt: skip
_JUMPS = ("break", "continue", "return", "raise")


@dataclass
class Generator(Statements):
    """Writes the program of a seed."""

    def program(self) -> str:
        """The text of the module."""
        self.features = frozenset(self.random.sample(FEATURES, self.random.randint(1, 7)))
        self.budget = self.random.randint(3, 14)
        texts = self._make_helpers()
        place = Place()
        lines = [line for feature, line in _VARIABLES.items() if feature in self.features]
        if "made" in self.features:
            lines = [f"{name} = {self.pick(*forms)}" for name, forms in _MADE] + lines
        lines += self._closure_lines()
        while self.budget > 0:
            more, place = self._statement(place)
            lines += more
        lines.append(f"return {self.result(place)}")
        if "captured" in self.features:
            texts.insert(0, helpers.GLOBALS)
        if "attributes" in self.features:
            texts.insert(0, helpers.BOX)
        return "import math\n\nimport numpy as np\n\n\n" + "\n\n".join([*texts, _HEADER + _text(lines)])

    # -- functions ---------------------------------------------------------------------------------

    def _make_helpers(self) -> list[str]:
        texts: list[str] = []
        raising = helpers.RAISING if "exceptions" in self.features else ()
        for forms, names in (
            (helpers.SCALAR + raising * 2, self.scalar),
            (helpers.FILLING, self.filling),
            (helpers.SEARCHING, self.searching),
            (helpers.MATRICES * ("rows" in self.features), self.matrices),
            (helpers.CHOOSING * ("returned" in self.features), self.choosing),
            (helpers.PAIRING * ("returned" in self.features), self.pairing),
            (helpers.SHARING * ("shared" in self.features), self.sharing),
            (helpers.TOUCHING * ("booleans" in self.features), self.touching),
        ):
            for form in self.random.sample(forms, min(self.random.randint(0, 2), len(forms))):
                text = form.format(self.number())
                texts.append(text)
                names.append(text[4 : text.index("(")])
        if self.filling and self.chance(0.4):
            inner, name = self.pick(*self.filling), f"both{self.number()}"
            part = self.pick("r", "r[1:]", "r[::-1]", "r")
            texts.append(f"def {name}(r, v):\n    {inner}({part}, v)\n    {inner}(r, v * 0.5)\n")
            self.filling.append(name)
        if self.filling and self.has("rows", 0.5):
            inner, name = self.pick(*self.filling), f"each{self.number()}"
            texts.append(
                f"def {name}(r, v):\n    for e in (r[:2], r[1:]):\n        {inner}(e, v)\n"
                "        if v > 1.5:\n            return\n"
            )
            self.filling.append(name)
        if self.scalar and self.chance(0.3):
            inner, name = self.pick(*self.scalar), f"twice{self.number()}"
            texts.append(
                f"def {name}(v, z):\n    if {inner}(v, z) > 1.0:\n        return {inner}(v * 0.5, z)\n"
                f"    return v\n"
            )
            self.scalar.append(name)
        if self.choosing and self.chance(0.3):
            inner, name = self.pick(*self.choosing), f"again{self.number()}"
            if not inner.startswith("tail"):
                texts.append(f"def {name}(r, v):\n    e = {inner}(r, v)\n    return {inner}(e, v * 0.5)\n")
                self.choosing.append(name)
        return texts

    def _closure_lines(self) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            name, number = f"inner{self.number()}", self.pick(*FLOATS)
            kind = self.random.randrange(8)
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
            elif kind == 4:  # two functions deep
                lines += [
                    f"def {name}(v):",
                    "    q = v",
                    "    def deeper(e):",
                    f"        nonlocal q, {number}",
                ]
                lines += ["        q = q * 0.5 + e", f"        {number} = q", "        return q"]
                lines += [
                    "    for e in range(2):",
                    "        if deeper(e * 0.5) > 1.0:",
                    "            return q",
                ]
                lines += ["    return deeper(v)"]
            elif kind == 5:  # `u` is what the name holds when it is called
                lines += [f"def {name}(v):", "    nonlocal u", "    if v > 1.0:", "        u = u * 0.5"]
                lines += ["    else:", "        u[0] = v", f"    return {number}"]
            elif kind == 6:
                lines += [f"{name} = lambda v, e={number}: v * 0.5 + e"]
            else:
                lines += [f"{name} = lambda v: v * 0.5 + {number}"]
            self.closures.append(name)
        return lines

    # -- statements --------------------------------------------------------------------------------

    def _block(self, place: Place, most: int = 3) -> list[str]:
        lines: list[str] = []
        inner = replace(place, depth=place.depth + 1)
        for position in range(self.random.randint(1, most)):
            if position and self.budget <= 0:
                break
            more, inner = self._statement(inner)
            lines += more
            if lines[-1].split()[0] in _JUMPS:
                if self.chance(0.1):  # never reached
                    lines += [f"s = {self.operand(inner)}"]
                break
        return lines

    def _statement(self, place: Place) -> tuple[list[str], Place]:
        self.budget -= 1
        deep = place.depth >= 4 or self.budget <= 0
        kind = self.random.random()
        if place.depth == 0 and kind < 0.45:
            kind = 0.9
        if kind < 0.22:
            return self.assignment(place), place
        if kind < 0.36:
            return self.write(place), place
        if kind < 0.44:
            return self.view(place)
        if kind < 0.5 and self.filling:
            return [f"{self.pick(*self.filling)}({self.row(place)[0]}, {self.operand(place)})"], place
        if kind < 0.52 and self.matrices:
            matrix = self.pick("a", "b", "a.T", "b[1:]", "a[::-1]", "x.reshape(2, 3)", "b[:, :2]", "u[None]")
            return [f"{self.pick(*self.matrices)}({matrix}, {self.operand(place)})"], place
        if kind < 0.58 and place.depth:
            return self._jump(place), place
        if not deep and self.chance(0.3):
            special = self._special(place)
            if special:
                return self.random.choice(special), place
        if kind < 0.78 and not deep:
            return self._conditional(place), place
        if place.loops >= 3 or deep:
            return self.assignment(place), place
        return (self._while(place) if self.chance(0.3) else self._for(place)), place

    def _special(self, place: Place) -> list[list[str]]:
        """Statements of kinds that only some programs have."""
        forms: list[list[str]] = []
        if self.has("exceptions"):
            forms += [self._try(place), self._try(place)]
        if self.has("guards"):
            forms += [self._guarded(place)] * 2
        if self.has("with"):
            forms += [['with np.errstate(all="ignore"):', *indented(self._block(place, 2))]]
        if self.has("matching"):
            subject = self.pick("k % 3", "m", "n", "(k % 2, m)")
            first = "0" if subject != "(k % 2, m)" else self.pick("(0, 1)", "(_, 2)", "(1, i)")
            forms += [[f"match {subject}:", f"    case {first}:", *indented(indented(self._block(place, 2))),
                       "    case _:", *indented(indented(self._block(place, 2)))]]  # fmt: skip
        if self.has("errors", 0.2):
            forms += [[f"assert {self.test(place)}{self.pick('', ', k', ', str(s)')}"]]
        if self.has("walrus"):
            forms += [self._short_while(place)]
        if self.has("names"):
            name = f"local{self.number()}"
            late = [name for name, _ in place.indices if name.isalpha()] + ["s"]
            forms += [[f"def {name}(v):", "    nonlocal t", f"    t = v * 0.5 + {self.pick(*late)}",
                       "    return t", f"w = {name}({self.operand(place)})"]]  # fmt: skip
        return forms

    def _jump(self, place: Place) -> list[str]:
        kinds = ["return"] + ["break", "continue"] * 2 * bool(place.loops)
        kinds += ["raise"] * self.has("exceptions")
        kind = self.pick(*kinds)
        if kind == "raise":
            message = self.pick("k", "1", '"none"', 'f"{k} of {s:.1f}"', "s, k")
            return [f"raise {self.pick('ValueError', 'KeyError')}({message})"]
        return [f"return {self.result(place)}"] if kind == "return" else [kind]

    def _conditional(self, place: Place) -> list[str]:
        lines = [f"if {self.test(place)}:", *indented(self._block(place))]
        while self.chance(0.25):
            lines += [f"elif {self.test(place)}:", *indented(self._block(place, 2))]
        if self.chance(0.45):
            lines += ["else:", *indented(self._block(place, 2))]
        return lines

    def _try(self, place: Place) -> list[str]:
        kind = self.pick("ValueError", "ValueError", "(KeyError, ValueError)", "Exception")
        lines = ["try:", *indented(self._block(place, 3))]
        handled = self.chance(0.85)
        if handled:
            lines += [f"except {kind}:", *indented(self._block(place, 2))]
            if self.chance(0.3):
                lines += ["else:", *indented(self._block(place, 2))]
        if not handled or self.chance(0.3):
            lines += ["finally:", *indented(self.assignment(place))]
        return lines

    def _guarded(self, place: Place) -> list[str]:
        """A loop that would not end, but for the test in front of it."""
        count, step = f"h{self.number()}", self.operand(place)
        gain = f"g{self.number()}"
        lines = [f"{gain} = {step}"]
        jumps = [f"return {self.result(place)}", f"return {self.result(place)}", "raise ValueError(k)"]
        jumps += ["continue", "break"] * bool(place.loops)
        loop = [f"{count} = 0.0", f"while {count} * {gain} < 3.0:", f"    {count} += 1.0"]
        if self.chance(0.3):
            loop = [
                f"{count} = 0.0",
                "while True:",
                f"    {count} += {gain}",
                f"    if {count} > 2.0:",
                "        break",
            ]
        loop += [f"s = min({count}, 16.0)"]
        form = self.random.randrange(3)
        if form == 0:
            return [*lines, f"if {gain} < 0.25:", f"    {self.pick(*jumps)}", *loop]
        if form == 1:
            return [
                *lines,
                f"if {gain} >= 0.25:",
                *indented(loop),
                "else:",
                *indented(self.assignment(place)),
            ]
        return [*lines, f"if {gain} >= 0.25 and ({self.test(place)}):", *indented(loop)]

    # -- loops -------------------------------------------------------------------------------------

    def _for(self, place: Place) -> list[str]:
        names = [name for name in ("i", "j", "l") if name not in dict(place.indices)]
        name = names[0]
        form = self.random.random()
        rows = place.rows
        if self.has("loop targets", 0.5):
            line, bound, rows = self._unusual_for(name, place)
        elif form < 0.6:
            line, bound = self._range(name, place)
        elif form < 0.75:
            bound = 0
            line = f"for w in {self.row(place)[0]}:"
        elif form < 0.88:
            row, bound = self.row(place)
            line = f"for {name}, s in enumerate({row}):"
        else:
            bound = 0
            line = f"for s, t in zip({self.row(place)[0]}, {self.row(place)[0]}):"
        indices = (*place.indices, (name, bound)) if bound else place.indices
        inner = replace(place, indices=indices, rows=rows, loops=place.loops + 1)
        lines = [line, *indented(self._block(inner, 4))]
        if bound and self.has("names", 0.2):  # the next step has the next number all the same
            lines.insert(1, f"    {name} = {self.pick(f'{name} * 2 % {bound}', f'({name} + k) % {bound}')}")
        return lines + self._else(place)

    def _range(self, name: str, place: Place) -> tuple[str, int]:
        header, bound = self.random.choice(
            (("range(n)", 6), ("range(4)", 4), ("range(3)", 3), ("range(1, 6)", 6),
             ("range(5, -1, -1)", 6),
             ("range(0, 6, 2)", 6), ("range(n, 6)", 6), (f"range(len({self.pick('a', 'b')}))", 4),
             (f"range({place.indices[-1][0] if place.indices else 3})", 6), ("range(k % 4)", 4),
             ("reversed(range(4))", 4))
        )  # fmt: skip
        return f"for {name} in {header}:", bound

    def _unusual_for(self, name: str, place: Place) -> tuple[str, int, tuple[tuple[str, int], ...]]:
        """A loop's first line, the bound of its counter if it has one, and the arrays inside."""
        row, length = self.row(place)
        second, other = self.row(place)
        part, matrix = f"r{self.number()}", self.pick("a", "b")
        with_part = (*place.rows, (part, 3))
        k, n, m = self.pick("k", "n", "m"), self.pick("n", "k"), self.pick("m", "1", "n")
        return self.random.choice(
            (
                (f"for {name} in range({n}, -1, -2):", 6 if n == "n" else 0, place.rows),
                (f"for {name} in range({k} - 2, {k} + 2):", 0, place.rows),
                (f"for {name} in range(4, {n} % 4, -1):", 5, place.rows),
                (f"for {name} in range(0, 6, {m} % 3 + 1):", 6, place.rows),
                (f"for {name} in reversed(range({n} % 5)):", 5, place.rows),
                (f"for {name} in reversed(range(1, 6, 2)):", 6, place.rows),
                (f"for {name} in range(len({row}) - 1):", length, place.rows),
                (f"for {name}, w in enumerate({row}, {self.pick('1', '-2')}):", 0, place.rows),
                (f"for {name}, (s, t) in enumerate(zip({row}, {second})):", min(length, other), place.rows),
                (f"for {name}, s in zip(range({n} % 5), {row}):", length, place.rows),
                (f"for ({name}, s), w in zip(enumerate({row}), {second}):", length, place.rows),
                (f"for w in reversed({row}):", 0, place.rows),
                (f"for {part} in {matrix}:", 0, with_part),
                (f"for {part} in {matrix}.T:", 0, with_part),
                (f"for {part} in reversed({matrix}):", 0, with_part),
                (f"for {name}, {part} in enumerate({matrix}):", 4, with_part),
                (f"for {part}, s in zip({matrix}, {row}):", 0, with_part),
                (f"for {part} in (x, u[1:], {matrix}[1]):", 0, with_part),
                (f"for {part} in [{matrix}[0], {matrix}[:, 1]]:", 0, with_part),
                (f"for {part}, s in [(x, 0.5), (u, {self.operand(place)})]:", 0, with_part),
                (f"for {part} in zip({matrix}, {matrix}):", 0, place.rows),
                (f"for w in ({self.operand(place)}, {self.operand(place)}, 0.5):", 0, place.rows),
                (f"for s, k in zip({row}, (1, 4, 2)):", 0, place.rows),
                (f"for u[{self.index(place, 6)}] in {row}:", 0, place.rows),
                (f"for {name}, x[{self.pick(name, '2')} % 6] in enumerate({second}):", other, place.rows),
                (f"for k in range({self.pick('3', 'n', 'k % 5')}):", 0, place.rows),
                (f"for {name} in (3, 0, 2):", 4, place.rows),
                ("for s in np.arange(3) * 0.5:", 0, place.rows),
                (f"for _ in range({n} % 6):", 0, place.rows),
                (f"for s in (e * 0.5 for e in {row}):", 0, place.rows),
                (f"for w in sorted({row}):", 0, place.rows),
                (f"for w in list({row}):", 0, place.rows),
                (f"for {name}, w in list(enumerate({row})):", length, place.rows),
                (f"for {name} in range(len({row}))[::-1]:", length, place.rows),
                (f"for {name} in {{2: s, 0: t}}:", 3, place.rows),
            )
        )

    def _else(self, place: Place) -> list[str]:
        return ["else:", *indented(self._block(place, 2))] if self.chance(0.2) else []

    def _while(self, place: Place) -> list[str]:
        count, most = f"h{self.number()}", self.random.randint(3, 6)
        inner = replace(place, indices=(*place.indices, (f"({count} - 1)", most)), loops=place.loops + 1)
        test = self.pick(f"({self.test(place)}) and {count} < {most}", f"{count} < {most}", "True",
                         f"{count} < {most} and ({self.test(place)})")  # fmt: skip
        body = [f"{count} += 1", *self._block(inner, 4)]
        if test == "True":
            exits = [f"if {count} > {most}:",
                     f"    {self.pick('break', 'break', f'return {self.result(place)}')}"]  # fmt: skip
            body[1:1] = exits
            inner = place
        return [f"{count} = 0", f"while {test}:", *indented(body), *self._else(place)]

    def _short_while(self, place: Place) -> list[str]:
        """A loop whose test gives a variable its value."""
        count = f"h{self.number()}"
        inner = replace(place, indices=(*place.indices, (f"({count} % 4)", 4)), loops=place.loops + 1)
        test = self.pick(
            f"({count} := {count} - 1) > 0",
            f"({count} := {count} - 1) >= 0 and ({self.test(place)})",
            f"({count} := {count} - 1) and (s := {self.operand(place)}) < 2.0",
        )
        return [
            f"{count} = {self.pick('4', 'n + 1', 'k % 5 + 1')}",
            f"while {test}:",
            *indented(self._block(inner, 3)),
            *self._else(place),
        ]


def _text(lines: list[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)
