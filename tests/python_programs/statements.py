"""Statements of random programs that are no blocks: assignments, writes of arrays, names of parts."""

from __future__ import annotations

from dataclasses import replace

from .expressions import Expressions
from .place import FLOATS, INTEGERS, Place


class Statements(Expressions):
    """Draws statements. Variables stay small, so that few digits hold them."""

    def assignment(self, place: Place) -> list[str]:
        """A new value of a number."""
        more = self._more_assignments(place)
        if more and self.chance(0.45):
            return self.random.choice(more)
        name, value = self.pick(*FLOATS), self.value(place)
        kind = self.random.randrange(12)
        if kind < 3:
            return [f"{name} = {value}"]
        if kind < 5:
            return [f"{name} {self.pick('+=', '-=')} {value}", f"{name} = max(min({name}, 16.0), -16.0)"]
        if kind == 5:
            return [f"k = (k + {self.pick('1', '2', 'm')}) % 11"]
        if kind == 6:
            return [f"p = {self.test(place)}"]
        if kind == 7:
            first, second = self.random.sample(FLOATS, 2)
            return [f"{first}, {second} = {self.pick(second, value)}, {first}"]
        if kind == 8:  # an element is a number, and not a view
            alias = f"e{self.number()}"
            return [
                f"{alias} = {self.element(place)}",
                f"{name} = {alias}",
                f"{alias} += 1.0",
                f"{name} = {name} - {alias} * 0.5",
            ]
        if kind == 9:
            other = self.pick(*FLOATS)
            return [f"{name} = {other}", f"{name} *= 0.5"]
        if kind == 10:
            pair = f"c{self.number()}"
            return [f"{pair} = ({value}, {self.pick(*INTEGERS)})", f"{name} = {pair}[0]", f"k = {pair}[1]"]
        if self.searching:
            row, _ = self.row(place)
            return [f"m = int({self.pick(*self.searching)}({row}, {self.operand(place)})) % 7"]
        return ["m = (m + k) % 5"]

    def _more_assignments(self, place: Place) -> list[list[str]]:
        """Assignments by what only some programs have."""
        forms: list[list[str]] = []
        name, other = self.random.sample(FLOATS, 2)
        a, b = self.operand(place), self.operand(place)
        integer = self.pick("k", "m")
        if self.has("division") or self.has("bits"):
            forms += [
                [f"{integer} = ({self.integer(place)}) % 11"],
                [f"k = max(min({self.integer(place)}, 12), -12)"],
                [f"{integer} {self.pick('+=', '-=', '*=')} {self.integer(place)}", f"{integer} %= 7"],
                [f"{integer} //= {self.pick('2', '-2')}"],
            ]
        if self.has("division"):
            forms += [
                [f"{name} {self.pick('//=', '%=')} {self.pick('2', '-0.5', '1.5')}"],
                [f"{name} /= -2"],
                [f"k, {name} = divmod(int({self.pick(*FLOATS)}), 3)"],
            ]
        if self.has("bits"):
            forms += [
                [f"k {self.pick('&=', '|=', '^=')} {self.integer(place)}", "k = k % 16"],
                [f"k {self.pick('<<=', '>>=')} 1", "k = k % 13"],
                [f"g[{self.index(place, 6)}] = ({self.integer(place)}) % 9"],
                [f"g[{self.index(place, 6)}] {self.pick('//=', '%=', '>>=', '&=', '+=', '-=')} 3"],
                [f"g[{self.index(place, 6)}] = {self.pick(*FLOATS)}"],
            ]
        if self.has("names"):
            third = next(each for each in FLOATS if each not in (name, other))
            row, _ = self.row(place)
            forms += [
                [f"({name}, {other}), {third} = ({a}, {b}), {name}"],
                [f"{name}, *{self._fresh('e')} = ({a}, {b}, {other})"],
                [f"{name} = {other} = {a}"],
                [f"{name} = {third} = {other} = {a}", f"{third} += 0.5"],
                [f"[{name}, {other}] = {b}, {a}"],
                [f"k, u[k % 6] = {self.pick('3', 'm', '(k + 1) % 5')}, {a}"],
                [f"{name}, *_, {other} = {row}"],
                [f"{name}: float = {a}"],
                [f"i, {name} = k % 5, {a}"],
                ["pass"],
            ]
            forms += [[f"k = {counter}"] for counter in ("i", "j", "l")]
        if self.has("elements"):
            target, second = self.element(place), self.element(place)
            forms += [
                [f"{target}, {second} = {second}, {target}"],
                [f"{target}, {name} = {name}, {target}"],
                [f"{target} = {second} = {a}"],
                [f"{target} = {name} = {b}"],
                [f"{target}, {second}, {name} = {a}, {b}, {target}"],
            ]
        if self.has("rank 0"):
            alias = self._fresh("e")
            row, length = self.row(place)
            forms += [
                [f"h += {a}", "h[...] = min(max(float(h), -8.0), 8.0)"],
                [f"h[...] = {a}"],
                [f"h[()] = {a}"],
                [f"{alias} = h", f"{alias} *= 0.5"],
                [f"h = np.array({a})"],
                ["h = h.copy()"],
                [f"{alias} = {row}[{self.index(place, length)}, ...]", f"{alias} += 0.5"],
                [f"{row}[{self.index(place, length)}, ...] *= 0.5"],
                [f"{name} = h * 0.5"],
                [f"{name} = float(h)", f"{name} += 0.25"],
            ]
        if self.has("containers") and place.loops < 2:  # such loops are unrolled
            forms += [
                [f'd["s"] = {a}'],
                [f'd["s"] = d["s"] * 0.5 + {a}'],
                ['d["s"] += 0.5'],
                [f"c[{self.pick('0', '1')}] = {self.pick('x', 'u', 'y')}"],
                ["c = [c[1], c[0]]"],
                ["c.reverse()"],
                [f"q.append({a})"],
                [f"{name} = q[-1]"],
                ["k = len(q) % 7"],
                [f"{name} = sum(q[-3:])"],
                [f"q[0] = {a}"],
                ["q[-1] += 0.5"],
                ["q = q + [0.5]"],
                [f"{name} = q.pop()", f"q.append({name})"],
                [f"d = {{**d, 's': {a}}}"],
                [f"{name}, {other} = d['s'], q[0]"],
            ]
        if self.has("attributes") and place.loops < 2:
            forms += [
                [f"o.v = {a}"],
                ["o.v *= 0.5"],
                [f"o.add({a})"],
                [f"o.put({self.index(place, 4)}, {a})"],
                [f"{name} = o.v"],
                [f"o.r = {self.pick('u', 'x', 'b.T[1]')}[:4]"],
            ]
        if self.has("shared"):
            forms += self._shared(place) * 3
        if self.has("booleans"):
            forms += [
                [f"p = p {self.pick('and', 'or')} ({self.test(place)})"],
                [f"p = {self.test(place)} or p"],
                [f"{name} = {a} if {self.test(place)} else {other}"],
                [f"k = (k + bool({self.test(place)})) % 9"],
                [f"{name} = {name} + ({a} > {b})"],
            ]
        return forms

    def _shared(self, place: Place) -> list[list[str]]:
        """Statements on two dicts and two lists, which may become one."""
        name, other = self.random.sample(("da", "db"), 2)
        first, second = self.random.sample(("la", "lb"), 2)
        a, b, test = self.operand(place), self.operand(place), self.test(place)
        pair = self._fresh("c")
        new = self.pick(
            f'{{"s": {a}, "r": {other}["r"]}}', f'{{"s": {a}, "r": u * 0.5}}', f"dict({other}, s={a})"
        )
        calls = [[f"{name} = {function}({name}, {other}, {a})"] for function in self.sharing]
        calls += [[f"{function}({other}, {name}, {a})"] for function in self.sharing]
        return [
            *calls,
            [f"{name} = {other}"],
            [f"{name} = {new}", f"{other} = {name}"],
            [f"{name} = {new}"],
            [f"{name}, {other} = {other}, {name}"],
            [f"{name} = {other} if {test} else {name}"],
            [f"if {test}:", f"    {name} = {other}"],
            [f"if {test}:", f"    {name} = {new}", "else:", f"    {name} = {other}"],
            [f"{pair} = ({name}, {other})", f"{name} = {pair}[1]"],
            [f"{pair} = [{name}, {name}]", f'{pair}[0]["s"] = {a}', f"{other} = {pair}[1]"],
            [f'{pair} = {{"p": {name}, "q": [{other}]}}', f'{name} = {pair}["q"][0]'],
            [f'{name}["s"] = {a}'],
            [f'{name}["s"] += 0.25'],
            [f"{name}.update(s={a})"],
            [f'{name}["r"] = {other}["r"] * 0.5'],
            [f'{name}["r"][{self.index(place, 6)}] = {b}'],
            [f"{first} = {second}"],
            [f"{first} = [{a}, {b}]", f"{second} = {first}"],
            [f"{first} = [{second}[0], {a}]"],
            [f"{first}, {second} = {second}, {first}"],
            [f"{first} = {second} if {test} else {first}"],
            [f"{first}[{self.pick('0', '1', '-1')}] = {a}"],
            [f"{first}.append({a})"],
            [f"{first}[:] = {second}"],
            [f"{pair} = [[{a}, {b}]] * 2", f"{first}, {second} = {pair}"],
            [f"t = {name}['s']", f"{name}['s'] = {a}", f"w = {other}['s']", f"{name}['s'] = t"],
            [f"p = {name} is {other}"],
        ]

    def _fresh(self, letter: str) -> str:
        return f"{letter}{self.number()}"

    def write(self, place: Place) -> list[str]:
        """A write of elements of an array."""
        if self.has("arrays", 0.35):
            return [self._array_write(place)]
        value = self.value(place)
        kind = self.random.random()
        target = self.element(place)
        if kind < 0.45:
            return [f"{target} = {value}"]
        if kind < 0.65:
            return [f"{target} {self.pick('+=', '-=')} {self.operand(place)} * 0.5"]
        if kind < 0.7 and self.has("division"):
            return [f"{target} {self.pick('*=', '//=', '%=')} {self.pick('0.5', '-0.5')}"]
        row, length = self.row(place)
        if kind < 0.75:
            return [f"{row}[{self.index(place, length)}] = {value}"]
        if kind < 0.85:
            return [f"{row}[:] = {value}"]
        if kind < 0.93:
            return [f"{row}[{self.pick(':2', '1:', '::2')}] += {self.operand(place)}"]
        return [f"{self.pick('a', 'b')}[{self.index(place, 4)}] = {self.operand(place)}"]

    def _array_write(self, place: Place) -> str:
        """Writes of several elements, also of an array by itself."""
        a, i, j = self.operand(place), self.index(place, 4), self.index(place, 4)
        matrix, other = self.pick("a", "b"), self.pick("a", "b")
        vector, second = self.pick("x", "u"), self.pick("x", "u")
        row = self.row(place)[0]
        return self.pick(
            f"{vector}[1:] = {second}[:-1]",
            f"{vector}[:-1] = {second}[1:]",
            f"{vector}[:] = {second}[::-1]",
            f"{matrix}[{i}] = {other}[{j}]",
            f"{matrix}[:, 0] = {other}[:, {self.index(place, 3)}]",
            f"{matrix}[{i}], {matrix}[{j}] = {matrix}[{j}], {matrix}[{i}].copy()",
            f"{matrix}[[0, 2]] = {matrix}[[2, 0]]",
            f"{matrix}[:] = {other}[::-1]",
            f"{vector}[{second} > {a}] = {self.operand(place)}",
            f"{vector}[{vector} > 0.5] *= 0.5",
            f"{row}.fill({a})",
            f"np.copyto({vector}, {second})",
            f"np.minimum({vector}, {a}, out={second})",
            f"{vector}.sort()",
            f"{vector}[::2], {vector}[1::2] = {vector}[1::2], {vector}[::2]",
            f"{matrix}[{i}] += {other}[{j}] * 0.5",
            f"{row}[...] = {a}",
            f"{matrix}[1:3, ::2] = {a}",
            f"{vector}[{self.index(place, 6)} % 5:][0] = {a}",
            f"{matrix}.T[1] -= 0.5",
            f"{vector}[{self.index(place, 6)} % 3:4] = {a}",
            f"u = np.minimum({second} * 0.5 + {a}, 4.0)",
            f"{vector}[{i}:{i} + 2] = {a}",
            f"{vector}[{i}:] += 0.5",
            f"{vector}[:{j}] = {second}[:{j}]",
            f"{vector}[{i} : {j}] = {a}",
            f"{matrix}[{i}, {self.index(place, 3)} :] -= 0.5",
            f"u = {second}.copy()",
            f"b = {other}.copy()",
        )

    def view(self, place: Place) -> tuple[list[str], Place]:
        """A name for a part of an array, which most of them write."""
        row, length = self.row(place)
        name = f"r{self.number()}"
        lines = [f"{name} = {row}"]
        kind = self.random.random()
        if kind < 0.2:
            tuple_ = f"c{self.number()}"
            lines = [f"{tuple_} = ({row}, {self.operand(place)})", f"{name} = {tuple_}[0]"]
        elif kind < 0.45 and self.has("aliases"):
            second, other = self.row(place)
            length = min(length, other)
            lines = [f"if {self.test(place)}:", f"    {name} = {row}", "else:", f"    {name} = {second}"]
        elif kind < 0.6 and self.has("aliases"):
            lines = [
                self.pick(
                    "u, x = x, u",
                    "u = x",
                    "u = y",
                    "x = x[::-1]",
                    "b = a",
                    "b = b[::-1]",
                    "a, b = b, a",
                    "x = u",
                    "y, x = x, y",
                    "x = y.copy()",
                    "b = a[:, ::-1]",
                ),
                *lines,
            ]
        elif kind < 0.75 and self.has("names"):
            rest = f"r{self.number()}"
            lines = [
                self.pick(
                    f"{rest}, {name} = {self.row(place)[0]}, {row}",
                    f"{rest} = {name} = {row}",
                    f"({name}, {rest}), s = ({row}, x), 0.5",
                )
            ]
        rows = (*place.rows, (name, length))
        if self.pairing and place.loops < 2 and self.chance(0.5):
            other = f"r{self.number()}"
            lines += [f"{name}, {other} = {self.pick(*self.pairing)}({name}, {self.pick(*FLOATS, '0.5')})"]
            rows += ((other, length),)
            if self.chance(0.5):
                lines += [f"{other}[{self.index(place, length)}] = {self.value(replace(place, rows=rows))}"]
        inner = replace(place, rows=rows)
        form = self.random.random()
        if form < 0.3:
            lines += [f"{name}[{self.index(place, length)}] = {self.value(place)}"]
        elif form < 0.45:
            lines += [f"{name} {self.pick('+=', '*=')} 0.5"]
        elif form < 0.75:
            index = f"v{self.number()}"
            within = replace(inner, indices=(*place.indices, (index, length)), loops=place.loops + 1)
            lines += [f"for {index} in range({length}):", f"    {name}[{index}] = {self.value(within)}"]
        elif form < 0.85 and self.filling:
            lines += [f"{self.pick(*self.filling)}({name}, {self.operand(place)})"]
        return lines, inner
