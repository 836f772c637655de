"""Expressions of random programs: numbers, tests, and parts of arrays."""

from __future__ import annotations

from .place import FLOATS, Choices, Place


class Expressions(Choices):
    """Draws expressions; sums of what they give are exact."""

    def index(self, place: Place, length: int) -> str:
        """An index of what has `length` elements."""
        fitting = [name for name, bound in place.indices if bound <= length]
        choices = [str(self.random.randint(-length, length - 1)), f"k % {length}", f"(k + m) % {length}"]
        choices += [f"{name} % {length}" for name, _ in place.indices]
        choices += fitting * 3 + [f"{name} - 1" for name in fitting]
        if self.has("division", 0.3):
            choices += [f"(k - 9) % -{length}", f"-k // 2 % {length}"]
        if self.has("bits", 0.3):
            choices += [f"g[{self.pick('k % 6', '1', '-2')}] % {length}"] + ["(k & 3) - 1"] * (length >= 3)
        if self.has("errors", 0.1):
            choices += ["k", *[name for name, _ in place.indices]]
        return self.pick(*choices)

    def element(self, place: Place) -> str:
        """An element of an array, which may be written."""
        if self.has("containers", 0.2):
            return self.pick(
                f"c[{self.pick('0', '1', 'k % 2')}][{self.index(place, 6)}]",
                f'd["r"][{self.index(place, 3)}]',
            )
        if self.has("attributes", 0.15):
            return f"o.r[{self.index(place, 4)}]"
        if self.has("captured", 0.15):
            return f"STATE[{self.index(place, 6)}]"
        if self.chance(0.6):
            name, length = self.random.choice(place.rows)
            return f"{name}[{self.index(place, length)}]"
        row, column = self.index(place, 4), self.index(place, 3)
        name = self.pick("a", "b")
        return self.pick(f"{name}[{row}, {column}]", f"{name}[{row}][{column}]")

    def operand(self, place: Place) -> str:
        """A number."""
        choices = [*FLOATS, self.element(place), self.element(place), "z"]
        choices += [str(self.random.randint(-4, 6) / 2)]
        choices += [f"{self.pick(*[name for name, _ in place.indices])} * 0.5"] if place.indices else []
        if self.has("captured", 0.3):
            choices += [f"TABLE[{self.index(place, 6)}]"] * 2
        if self.has("rank 0", 0.3):
            choices += ["h * 1.0", "float(h)", "h[()]"]
        if self.has("attributes", 0.3):
            choices += ["o.v", f"o.add({self.pick(*FLOATS)})"]
        if self.has("containers", 0.3):
            choices += ['d["s"]']
        if self.has("shared", 0.6):
            choices += [
                'da["s"]',
                'db["s"]',
                "la[0]",
                "lb[-1]",
                'db["r"][2]',
                "(len(la) + 2 * len(lb)) * 0.25",
            ]
        if self.has("mixed", 0.3):
            choices += ["k", "m", "n", "int(p)", f"int({self.pick(*FLOATS)})", "float(k)", "(1 - bool(p))"]
        return self.pick(*choices)

    def value(self, place: Place) -> str:
        """An expression for a number."""
        a, b = self.operand(place), self.operand(place)
        forms = [f"{a} * 0.5 + {b}", f"{a} - {b}", f"0.5 * {a}", f"{a} + {b}", a]
        forms += [
            f"min({a}, {b})",
            f"max({a}, {b})",
            f"abs({a}) * 0.5",
            f"({a} if {self.test(place)} else {b})",
        ]
        if self.has("division", 0.3):
            forms += [
                f"({a}) // {self.pick('0.5', '-2', '3')}",
                f"({a}) % {self.pick('0.75', '-2', '-1.5')}",
                f"{self.integer(place)} / 4",
                f"divmod({a}, {self.pick('2', '-0.75')})[{self.pick('0', '1')}]",
                f"round({a})",
            ]
        if self.has("booleans", 0.3):
            forms += [
                f"({a} or {b})",
                f"({a} and {b})",
                f"({a} > {b}) * 0.5 + {a}",
                f"(({a} > {b}) + ({b} > 0.5)) * 0.5",
                f"(({a} > 0.0) - ({b} < 0.0)) * 0.5 + {a}",
                f"{{0.5: 1.0, -1.0: 0.25}}.get({a}, 0.5) + ({b} in (0.5, 1.0, -0.5)) * 0.25",
                f"len(str({a} > {b})) * 0.25",
                f"({a} if {self.test(place)} else {b} if {self.test(place)} else 0.25)",
            ]
        if self.has("walrus", 0.3):
            forms += [f"(e{(number := self.number())} := {a}) * 0.5 + e{number}"]
        if self.has("comprehensions", 0.3):
            row, length = self.row(place)
            forms += [
                f"sum([e * 0.5 for e in {row}])",
                f"[e + {a} for e in {row}][{self.index(place, length)}]",
                f"max({row})",
                f"min({row})",
                f"sum({row})",
                f"sum(q * e for q, e in enumerate({row}))",
                f"{row}.sum()",
                f"np.max({row})",
            ]
        calls = [f"{name}({a}, {b})" for name in self.scalar] + [f"{name}({a})" for name in self.closures]
        calls += [f"{name}({self.row(place)[0]}, {a})" for name in self.searching if "above" not in name]
        if self.has("star", 0.5):
            calls += [f"{name}(*({a}, {b}))" for name in self.scalar]
            calls += [f"{name}({a}, at=0.5, z={b})" for name in self.scalar if "scaled" in name]
            calls += [
                f"{name}({a}, *{self.row(place)[0]}, by=0.25)" for name in self.scalar if "gathered" in name
            ]
            calls += [f"{name}({a}, **{{'z': {b}}})" for name in self.scalar if "gathered" not in name]
        return self.pick(*calls) if calls and self.chance(0.25) else self.pick(*forms)

    def integer(self, place: Place) -> str:
        """An expression for an integer."""
        a, b = self._whole(place), self._whole(place)
        forms = [f"{a} + {b}", f"{a} - {b}", f"{a} * 2"]
        if self.has("division"):
            forms += [
                f"{a} // {self.pick('2', '-3', '4')}",
                f"-{a} // 3",
                f"{a} % {self.pick('4', '-3')}",
                f"({a} - 7) % 4",
                f"divmod({a} - 5, {self.pick('3', '-2')})[{self.pick('0', '1')}]",
                f"({a} - {b}) // 2 * 2",
                f"abs({a} - 4)",
                f"int({self.pick(*FLOATS)})",
                f"round({self.pick(*FLOATS)})",
            ]
        if self.has("bits"):
            forms += [
                f"{a} << {self.pick('1', '2', 'k % 3')}",
                f"({a} - 6) >> {self.pick('1', '2', 'm % 2')}",
                f"{a} & 5",
                f"{a} | 2",
                f"{a} ^ {b}",
                f"~{a}",
                f"-{a} & 7",
                f"{a} ** 2",
            ]
        if self.has("booleans"):
            forms += [
                f"{a} + ({a} > {b})",
                f"({a} if {self.test(place)} else {b})",
                f"int({self.test(place)})",
                f"({a} or {b})",
                f"({a} and {b})",
            ]
        return self.pick(*forms)

    def _whole(self, place: Place) -> str:
        choices = ["k", "m", "n", str(self.random.randint(-4, 6)), *[name for name, _ in place.indices]]
        if self.has("bits", 0.4):
            choices += [f"g[{self.index(place, 6)}]"] * 2
        return self.pick(*choices)

    def test(self, place: Place) -> str:
        """A condition."""
        a, b = self.operand(place), self.operand(place)
        choices = [f"{a} > {b}", f"{a} <= {b}", "k % 2 == 0", f"-0.5 < {a} <= 1.0", "p", "not p", "k < n"]
        choices += [f"{a} > 0.25 and {b} < 1.0", f"{a} < -0.5 or not {b} > 0.5", f"{a} == {b}"]
        for name, _ in place.indices:
            choices += [f"{name} > 2", f"{name} % 2 == 1", f"{name} == n - 1", f"{name} in (0, 2, 3)"]
        if self.has("booleans", 0.4):
            choices += [
                f"{a} < {b} <= {self.operand(place)}",
                "0 <= k < n <= 5 != m",
                f"{a} != {b}",
                "k not in (1, m)",
                f"not ({a} > {b} and p)",
                a,
                "k - m",
                f"(bool(p) | ({a} > {b}))",
                f"(bool(p) ^ ({a} > 0.5))",
                f"bool({a})",
                f"p == ({a} > {b})",
            ]
        if self.has("walrus", 0.4):
            number = self.number()
            choices += [
                f"(e{number} := {a}) > 0.25 and e{number} < {b}",
                f"(t := {a} * 0.5) < {b}",
                f"({a} > {b}) and (w := {b}) > 0.0",
            ]
        if self.has("comprehensions", 0.3):
            row, _ = self.row(place)
            choices += [
                f"any(e > {a} for e in {row})",
                f"all([e < {a} for e in {row}])",
                f"{a} in {row}",
                f"({row} > {a}).any()",
            ]
        if self.touching and self.chance(0.4):
            call = f"{self.pick(*self.touching)}({self.row(place)[0]}, {a})"
            choices += [
                f"{b} > 0.0 and {call}",
                f"{b} > 0.5 or {call}",
                f"not {call}",
                f"({call} if {b} < 1.0 else p)",
            ]
        if self.closures and self.chance(0.3):
            call = f"{self.pick(*self.closures)}({a})"
            choices += [
                f"{b} > 0.0 and {call} > 0.5",
                f"{b} > 0.5 or {call} > 0.5 or {call} < -1.0",
                f"0.0 < {call} < {call}",
            ]
        return self.pick(*choices)

    def row(self, place: Place) -> tuple[str, int]:
        """An expression for an array of rank 1 that shares memory with a variable's, and its length."""
        name, length = self.random.choice(place.rows)
        matrix = self.pick("a", "b")
        choices = [(name, length)] * 2
        choices += [(f"{matrix}[{self.index(place, 4)}]", 3)] * 3
        choices += [(f"{matrix}[:, {self.index(place, 3)}]", 4), (f"{matrix}.reshape(-1)", 12)]
        choices += [
            (f"{name}[1:]", length - 1),
            (f"{name}[::-1]", length),
            (f"{name}[::2]", (length + 1) // 2),
        ]
        choices += [
            (f"{matrix}.T[{self.index(place, 3)}]", 4),
            (f"{matrix}[{self.index(place, 4)}, 1:]", 2),
        ]
        if self.has("rows", 0.5):
            choices += [
                (f"{matrix}[1:3, {self.index(place, 3)}]", 2),
                (f"{matrix}.reshape(3, 4)[{self.index(place, 3)}]", 4),
                (f"{matrix}.ravel()[2:8]", 6),
                (f"{matrix}[::-1][{self.index(place, 4)}]", 3),
                (f"{matrix}[:, ::-1][{self.index(place, 4)}][1:]", 2),
                (f"x.reshape(2, 3)[{self.index(place, 2)}]", 3),
                (f"x.reshape(3, 2).T[{self.index(place, 2)}]", 3),
                (f"{name}[None][0]", length),
                (f"{matrix}.flatten()", 12),
                (f"np.ravel({matrix})", 12),
                (f"np.swapaxes({matrix}, 0, 1)[{self.index(place, 3)}]", 4),
                (f"{name}[-2:]", 2),
                (f"{name}[:-1][::-1]", length - 1),
            ]
        if self.has("aliases", 0.4):
            choices += [("y", 6), ("y[::-1]", 6), (f"(x if {self.test(place)} else y)", 6), ("y[2:]", 4)]
        if self.has("containers", 0.3):
            choices += [(f"c[{self.pick('0', '1')}]", 6), ('d["r"]', 3)]
        if self.has("attributes", 0.3):
            choices += [("o.r", 4)]
        if self.has("captured", 0.3):
            choices += [("STATE", 6), (f"STATE[{self.pick('1:', '::-1')}]", 5)]
        chosen, length = self.random.choice(choices)
        if self.choosing and place.loops < 2 and length > 2 and self.chance(0.3):
            name = self.pick(*self.choosing)
            number = self.pick(*FLOATS, "z", "0.5", "k * 0.5")
            return f"{name}({chosen}, {number})", length - name.startswith("tail")
        return chosen, length

    def result(self, place: Place) -> str:
        """The results of the program."""
        if self.chance(0.1):
            return self.pick("u", "s", "(u, s)", "k", "b", "p")
        number = self.pick(*FLOATS, self.operand(place))
        last = self.pick("b", "b", "p", "i") if not self.has("rank 0", 0.5) else "h"
        if self.has("shared", 0.8):
            last = '(da["s"], db["s"], da["r"], la[0], lb[0], len(la) - len(lb))'
        return f"({number}, {self.pick('k', 'm')}, {self.pick(*FLOATS)}, u, {last})"
