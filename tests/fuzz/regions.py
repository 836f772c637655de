"""Steps with functions inside: loops, branches, maps, custom derivatives, and Python's own control flow."""

from __future__ import annotations

from .choices import Choices, Unfit


class Regions(Choices):
    """`scan`, `fori_loop`, `while_loop`, `cond`, `switch`, `vmap`, `checkpoint`, `custom_vjp`, ``if``."""

    def complex_body(self, c: str, x: str, shape: tuple[int, ...]) -> str:
        """The text of a contraction of two complex values."""
        if self.exact:
            forms = [f"{c} - {x}", f"xp.conj({c}) + {x}", f"xp.where(xp.real({c}) > 0, {c} * 1j, {x})"]
            forms += [f"xp.roll({c}, 1, 0) - {x}"] if shape and shape[0] else []
            return str(self.choose(forms))
        forms = [
            f"{c} * 0.5 + {x} * 0.25j",
            f"0.7 * xp.conj({c}) + 0.3 * {x}",
            f"({c} + {x}) / (1 + xp.abs({c}))",
            f"xp.where(xp.abs({c}) > 1, {c} * 0.9j, {x})",
            f"xp.exp(1j * xp.real({c})) * 0.5 + {x} * 0.25",
            f"xp.sin({x} / (1 + xp.abs({x}))) * 0.3 + {c} * (0.3 - 0.4j)",
        ]
        if shape and shape[0]:
            forms += [f"{c} * 0.5 + xp.mean({x}, axis=0)", f"xp.roll({c}, 1, 0) * 0.9 + {x} * 0.1j",
                      f"xp.cumsum({c}, -1) * {0.5 / max(1, shape[-1]):.3f} + {x} * 0.5"]  # fmt: skip
        return str(self.choose(forms))

    def body(self, c: str, x: str, shape: tuple[int, ...], kind: str) -> str:
        """The text of a contraction of two values of this shape and kind of dtype, of that shape."""
        if kind == "c":
            return self.complex_body(c, x, shape)
        if self.exact:
            forms = [f"({c} + {x}) % 7", f"xp.maximum({c}, {x}) - 1", f"xp.where({c} > {x}, {c} - 1, {x})",
                     f"({c} * 2 + {x}) % 5 - 2"]  # fmt: skip
            if shape and shape[0]:
                forms += [f"xp.roll({c}, 1, 0) - {x} % 3", f"xp.flip({c}, -1) + {x} % 3",
                          f"xp.sort({c} - {x}, -1) % 6",
                          f"({c} - xp.sum({x} % 3, axis=0)) % 9 - 4"]  # fmt: skip
            return str(self.choose(forms))
        forms = [f"xp.tanh({c} * 0.5 + {x})", f"0.7 * {c} + 0.3 * xp.sin({x})", f"{c} * 0.5 + {x} * 0.25",
                 f"xp.where({c} > {x}, {c} * 0.9, {x})", f"xp.maximum({c}, {x}) * 0.8",
                 f"xp.cos({c}) + xp.sin({x}) * {c} * 0.3",
                 f"xp.nn.sigmoid({c}) * xp.tanh({x}) + {c} * 0.5",
                 f"({c} + {x}) / (1 + {c} * {c})"]  # fmt: skip
        if shape and shape[0]:
            forms += [f"{c} * 0.5 + xp.mean({x}, axis=0)", f"xp.roll({c}, 1, 0) * 0.9 + xp.tanh({x})",
                      f"xp.cumsum({c}, -1) * {0.5 / max(1, shape[-1]):.3f} + {x} * 0.5",
                      f"xp.sort({c}, -1) * 0.5 + {x} * 0.1",
                      f"xp.tanh({c} - xp.max({x}, axis=-1, keepdims=True))"]  # fmt: skip
        return str(self.choose(forms))

    def kind(self, x: str) -> str:
        return self.array(x).dtype.kind

    def label(self) -> int:
        """A number for the names of this statement's functions."""
        return len(self.statements)

    def outer_value(self, shape: tuple[int, ...], dtype: str) -> str:
        """A value of the program that a body may close over: a number of its own where none fits."""
        fits = [n for n in self.values if self.array(n).shape == shape and self.array(n).dtype == dtype]
        return str(self.choose(fits[-4:])) if fits and self.chance(0.7) else str(self.number())

    def scan(self) -> None:
        x = self.find("fc", 1, 3)
        data = self.array(x)
        rows = data.shape[1:]
        if data.shape[0] > 130:
            raise Unfit
        k = self.label()
        other = self.outer_value(rows, data.dtype.name)
        kind = self.kind(x)
        step = self.body("c", "x", rows, kind)
        last = self.body("c", "x", rows, kind) if self.chance(0.6) else f"c * {self.number()} + {other}"
        if self.exact:
            last = f"({last}) % 7"
        reverse = ", reverse=True" if self.chance(0.3) else ""
        self.append(
            f"def body{k}(c, x):\n    c = {step}\n    return c, {last}\n"
            f"{{}}, {{}} = xp.scan(body{k}, xp.zeros({rows}, dtype='{data.dtype}'), {x}{reverse})",
            2, "scan",
        )  # fmt: skip

    def fori(self) -> None:
        x = self.find("fc", 0, 3)
        y, data, k = self.partner(x, same=True), self.array(x), self.label()
        n = data.shape[0] if data.ndim else 0
        kind = self.kind(x)
        write = f"    c = c.copy()\n    c[i % {n}] = c[(i + 1) % {n}] - 1\n" if n and self.chance(0.4) else ""
        self.append(
            f"def body{k}(i, c):\n    c = {self.body('c', y, data.shape, kind)}\n{write}    return c\n"
            f"{{}} = xp.fori_loop(0, {self.choose((0, 1, 2, 5, 17))}, body{k}, {x})",
            1, "fori_loop", *(("write",) if write else ()),
        )  # fmt: skip

    def until(self) -> None:
        x = self.find("fc", 0, 3, nonempty=True)
        k, shape = self.label(), self.array(x).shape
        limit = self.integer(1, 8)
        test = (
            f"(s[0] < {limit}) & (xp.sum(s[1]) % 5 != 2)"
            if self.exact
            else f"(s[0] < {limit}) & (xp.sum(s[1]) < 20)"
        )
        self.append(
            f"def more{k}(s):\n    return {test}\n"
            f"def body{k}(s):\n    return s[0] + 1, {self.body('s[1]', x, shape, self.kind(x))}\n"
            f"{{}}, {{}} = xp.while_loop(more{k}, body{k}, (0, {x}))",
            2, "while_loop",
        )  # fmt: skip

    def branch(self) -> None:
        x = self.find("fc", nonempty=True)
        kind = self.kind(x)
        y, k, shape = self.partner(x, same=True), self.label(), self.array(x).shape
        test = f"xp.sum({x}) % 2 == 0" if self.exact else f"xp.sum({x}) > {self.number()}"
        self.append(
            f"def then{k}(p, q):\n    return {self.body('p', 'q', shape, kind)}\n"
            f"def else{k}(p, q):\n    return {self.body('q', 'p', shape, kind)}\n"
            f"{{}} = xp.cond({test}, then{k}, else{k}, {x}, {y})",
            1, "cond",
        )  # fmt: skip

    def switch(self) -> None:
        x = self.find("fc", nonempty=True)
        kind = self.kind(x)
        k, shape = self.label(), self.array(x).shape
        functions = "\n".join(
            f"def case{k}_{i}(p):\n    return {self.body('p', x, shape, kind)}" for i in range(3)
        )
        index = f"xp.argmax(xp.ravel({x})[:4])" if self.chance(0.7) else f"xp.count_nonzero({x} > 0) % 3"
        self.append(
            f"{functions}\n{{}} = xp.switch({index}, [case{k}_0, case{k}_1, case{k}_2], {x})", 1, "switch"
        )

    def vmapped(self) -> None:
        x = self.find("fc", 1, 3, nonempty=True)
        kind = self.kind(x)
        y, data, k = self.partner(x, same=True), self.array(x), self.label()
        axis = self.integer(0, data.ndim - 1)
        rows = data.shape[:axis] + data.shape[axis + 1 :]
        if data.shape[axis] > 64:
            raise Unfit
        axes = f", in_axes={axis}" if axis else ""
        self.append(
            f"def row{k}(p, q):\n    return {self.body('p', 'q', rows, kind)}\n"
            f"{{}} = xp.vmap(row{k}{axes})({x}, {y})",
            1,
            "vmap",
        )

    def mapped(self) -> None:
        x = self.find("fc", 1, 3, nonempty=True)
        kind = self.kind(x)
        data, k = self.array(x), self.label()
        if data.shape[0] > 64:
            raise Unfit
        self.append(
            f"def row{k}(p):\n    return {self.body('p', 'p', data.shape[1:], kind)}\n"
            f"{{}} = xp.map(row{k}, {x})",
            1,
            "map",
        )

    def associative(self) -> None:
        x = self.find("fc", 1, 3)
        if self.special:
            raise Unfit
        name = self.choose(("xp.add", "xp.maximum", "xp.minimum")) if self.kind(x) == "f" else "xp.add"
        reverse = ", reverse=True" if self.chance(0.3) else ""
        self.define(f"xp.associative_scan({name}, {x}{reverse})", "associative_scan")

    def checkpointed(self) -> None:
        x = self.find("fc")
        kind = self.kind(x)
        y, k, shape = self.partner(x, same=True), self.label(), self.array(x).shape
        self.append(
            f"def part{k}(p, q):\n    r = {self.body('p', 'q', shape, kind)}\n"
            f"    return {self.body('r', 'p', shape, kind)}\n"
            f"{{}} = xp.checkpoint(part{k}, {x}, {y})",
            1, "checkpoint",
        )  # fmt: skip

    def custom(self) -> None:
        """A function with its true derivative, written by hand."""
        x = self.find("fc")
        k = self.label()
        value, slope = self.choose((("p * p", "2 * p"), ("3 * p", "3.0"), ("p * p - p", "2 * p - 1")))
        if not self.exact and self.chance(0.5):
            value, slope = "xp.sin(p)", "xp.cos(p)"
        self.append(
            f"@xp.custom_vjp\ndef rule{k}(p):\n    return {value}\n"
            f"rule{k}.defvjp(lambda p: ({value}, p), lambda p, ct: (ct * ({slope}),))\n{{}} = rule{k}({x})",
            1, "custom_vjp",
        )  # fmt: skip

    def custom_forward(self) -> None:
        x = self.find("fc")
        k = self.label()
        self.append(
            f"@xp.custom_jvp\ndef rule{k}(p):\n    return p * p\n"
            f"rule{k}.defjvp(lambda p, t: (p[0] * p[0], 2 * p[0] * t[0]))\n{{}} = rule{k}({x})",
            1, "custom_jvp",
        )  # fmt: skip

    def nested_jit(self) -> None:
        x = self.find("fc")
        kind = self.kind(x)
        y, k = self.partner(x, same=True), self.label()
        self.append(
            f"@xp.jit\ndef inner{k}(p, q):\n    return {self.body('p', 'q', self.array(x).shape, kind)}\n"
            f"{{}} = inner{k}({x}, {y})",
            1, "jit",
        )  # fmt: skip

    def stopped(self) -> None:
        self.define(f"xp.stop_gradient({self.find('fc')})", "stop_gradient")

    # -- Python's own -------------------------------------------------------------------------------

    def python_if(self) -> None:
        """A decision on a value: a path for each way."""
        x = self.find("fc", nonempty=True)
        kind = self.kind(x)
        y, shape = self.partner(x, same=True), self.array(x).shape
        test = self.choose(
            (
                f"{x}.sum() > {self.number()}",
                f"xp.max({x}) > 1",
                f"bool(xp.any({x} < 0))",
                f"{x}.min().item() < 0",
            )
        )
        k = self.label()
        self.append(
            f"if {test}:\n    r{k} = {self.body(x, y, shape, kind)}\n"
            f"else:\n    r{k} = {self.body(y, x, shape, kind)}\n{{}} = r{k}",
            1, "branch",
        )  # fmt: skip

    def python_loop(self) -> None:
        """A loop that Python runs, with a bound that Python knows."""
        x = self.find("fc", 0, 3)
        kind = self.kind(x)
        k, shape = self.label(), self.array(x).shape
        self.append(
            f"r{k} = {x}\nfor i{k} in range({self.integer(1, 5)}):\n"
            f"    r{k} = {self.body(f'r{k}', x, shape, kind)}\n{{}} = r{k}",
            1,
            "for",
        )

    def python_while(self) -> None:
        """A loop that ends when a value says so."""
        x = self.find("fc", 0, 3, nonempty=True)
        kind = self.kind(x)
        k, shape = self.label(), self.array(x).shape
        self.append(
            f"r{k}, n{k} = {x}, 0\nwhile n{k} < 4 and xp.sum(r{k}) < 10:\n"
            f"    r{k} = {self.body(f'r{k}', x, shape, kind)}\n    n{k} += 1\n{{}} = r{k} + n{k}",
            1, "branch",
        )  # fmt: skip

    def comprehension(self) -> None:
        x = self.find("fc", 1, 3, nonempty=True)
        kind = self.kind(x)
        n = self.array(x).shape[0]
        if n > 20:
            raise Unfit
        self.define(
            f"xp.stack([{self.body('p', 'p', self.array(x).shape[1:], kind)} for p in {x}])",
            "iteration",
        )
