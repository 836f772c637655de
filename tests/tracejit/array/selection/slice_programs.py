"""Random functions whose loops read and write slices of traced ends, for `test_slices`."""

from __future__ import annotations

import random

#: Slices of an axis of 12, in step i from 1 to 11; ``p`` are integers from 0 on that never fall.
SLICES = (
    ":i", "i:", ":i + 1", "1:i", "i - 1:", ":-i", "-i:", "i // 2:i", "max(0, i - w):i + 1", "p[i - 1]:p[i]",
    "p[i]:", ":p[i]", "min(i, 4):i + 5", "i:i + w", "-i:-1", "12 - i:", "w:i", "i % 3:i", "i:i", "i + 3:i",
)  # fmt: skip
#: Lines along an axis of 12.
LINES = ("x", "y", "A[i]", "A[:, i]", "A[w]", "A[:, 3]", "A[i - 1]", "B[1, i]", "A[-1]")
UNARY = (
    "np.sin({})", "abs({})", "-{}", "0.5 * {}", "({} - v)", "np.minimum({}, 0.5)", "{}.copy()", "np.flip({})",
    "{}[::-1]", "np.where({} > 0, {}, 0.25)", "({} + A[i, 0])", "{}.astype(np.float32)", "np.clip({}, -1, w)",
)  # fmt: skip
BINARY = ("{} + {}", "{} * {}", "{} - {}", "np.maximum({}, {})", "0.5 * ({} - {})", "np.arctan2({}, {})")
NUMBERS = (
    "np.sum({})", "{}.sum()", "len({})", "np.dot({}, {})", "{} @ {}", "{}.shape[0]", "np.prod({})",
    "np.any({} > 0.5)", "np.all({} < 1)", "np.sum({}, where={} > 0)", "np.count_nonzero({} > 0)", "{}.size",
    "np.sum({} * np.arange(len({})))", "sum([t for t in {}])", "np.cumsum({}).sum()", "np.sort({}).sum()",
    "x[q[{slice}]].sum()", "np.sum(y[q[{slice}]] * {})", "A[{slice}].sum()", "A[{slice}, {slice_2}].sum()",
    "(v @ A[{slice}, :]).sum()", "np.linalg.norm({})", "(A[:, {slice}] * v).sum(0).sum()",
)  # fmt: skip
WRITES = (
    "{target} = {line}", "{target} += {line}", "{target} *= 0.5", "{target} = s * 0.1",
    "{target} -= {line} * 0.25",
    "r = {target}; r *= 0.75; s += r.sum()", "r = {target}; s += r.sum(); x[0] = 0.5; s += r.sum()",
    "t = {line}; x[i] = 0.25; s += t.sum()", "r = {target}; r[:] = {line}", "fill({target}, v)",
    "for k in range(len({target})): s += {target}[k] * k",
    "r = {target}\n{pad}if len(r) > 0: r[0] = s * 0.1; r[-1] += 0.5",
    "r = {target}[1:]; r += 0.125", "r = {target}; r[r > 0.5] = 0.0", "A[{slice}] *= 0.5",
    "A[{slice}, 2] = 1.5",
    "r = {target}[::-1]; x[0] = 0.5; s += r.sum()", "for t in {target}: s += t; x[i - 1] = t * 0.5",
    "for r in A[{slice}]: r *= 0.75", "for r in A[{slice}]: s += r[0]; A[i - 1, 0] = 0.25",
    "v = A[{slice}]\n{pad}if len(v) > 0: v[0][1] = s * 0.1; r = v[-1]; r += 0.125",
    "r = {line}; r += 1; s += r.sum()", "for t in {target}: s += t * 0.5",
)  # fmt: skip
TESTS = ("s > 1", "i % 3 == 1", "v > 0", "np.sum({}) > 0.5", "len({}) > 2")


class _Drawn:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def slices(self) -> str:
        return self.draw.choice(SLICES)

    def line(self, part: str, depth: int = 2) -> str:
        """An array of as many elements as `part` selects."""
        draw = self.draw
        if depth == 0 or draw.random() < 0.3:
            return f"{draw.choice(LINES)}[{part}]"
        form = draw.choice(UNARY if draw.random() < 0.6 else BINARY)
        first = self.line(part, depth - 1)
        return form.format(first, *[self.line(part, depth - 1) if form in BINARY else first] * 2)

    def number(self) -> str:
        part, draw = self.slices(), self.draw
        form = draw.choice(NUMBERS).replace("{slice}", part).replace("{slice_2}", self.slices())
        line = self.line(part, 1)
        return form.format(line, line if "where" in form else self.line(part, 1))

    def statement(self, pad: str) -> str:
        draw, part = self.draw, self.slices()
        if draw.random() < 0.5:
            return f"{pad}s += {self.number()}"
        text = draw.choice(WRITES).replace("{slice}", part).replace("{pad}", pad)
        text = text.replace("{target}", f"{draw.choice(LINES)}[{part}]")
        return pad + text.replace("{line}", self.line(part))

    def statements(self, pad: str, depth: int) -> list[str]:
        draw = self.draw
        lines = [self.statement(pad) for _ in range(draw.randint(1, 3))]
        if depth and draw.random() < 0.35:
            test = draw.choice(TESTS)
            lines.append(f"{pad}if {test.format(self.line(self.slices(), 1))}:")
            lines += self.statements(pad + "    ", depth - 1)
        if depth and draw.random() < 0.25:
            lines.append(f"{pad}for w in range({draw.choice(('2', 'i % 3', '1, 3'))}):")
            lines += self.statements(pad + "    ", depth - 1)
        return lines


def program(seed: int) -> str:
    """The source of a function ``f(x, y, A, B, p, q)``, and of what it calls."""
    drawn = _Drawn(random.Random(seed))
    lines = ["def fill(r, v):", "    for j in range(len(r)):", "        r[j] = v * 0.25 + j * 0.125"]
    lines += ["def f(x, y, A, B, p, q):", "    s, w = 0.0, 2"]
    for _ in range(drawn.draw.choice((1, 1, 2))):
        lines += ["    for i in range(1, 12):", "        v = x[i]"]
        lines += drawn.statements(" " * 8, 2)
    lines.append("    return s")
    return "\n".join(lines) + "\n"
