"""Random programs that write scalars and arrays of rank 0 by augmented assignments, under several names, and
index with them: ``python -m tests.tracejit.loops.rank_0_programs``."""

from __future__ import annotations

import argparse
import copy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.base.errors import TracejitError

from .checking import load
from .common import plain

#: The first values of a name: scalars, new arrays, arguments and views, in NumPy's spellings.
SOURCES = (
    "z", "z.copy()", "z[...]", "z[()]", "z + 1.0", "z.astype(np.float32)", "z.reshape(())", "z.real",
    "x[1]", "x[1, ...]", "x[0:1].reshape(())", "x[i, ...]", "x[i]", "x[j, ...]", "m[i, 0, ...]", "m[j, 0]",
    "m[j][0, ...]", "np.squeeze(x[0:1])", "x.sum()", "x.sum().reshape(())", "x @ x", "x.max()", "x[1].copy()",
    "np.copy(x[1])", "np.copy(z)", "np.array(x[2])", "np.array(z)", "np.asarray(x[0])", "np.asarray(z)",
    "np.zeros_like(z)", "np.full_like(x[0], 2.0)", "np.where(x[0] > 0.0, x[1], x[2])", "np.clip(z, 0.0, 1.0)",
)  # fmt: skip
NAMES = ("a", "b", "c")
OPERATORS = ("+=", "-=", "*=")


class Programs:
    """The programs of a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one_of(self, choices: Any) -> Any:
        """A random one of `choices`."""
        return choices[self.rng.integers(len(choices))]

    def program(self) -> str:
        """A program: a function of a vector, a matrix, a vector for loops, a number, and two indices."""
        lines = [f"a = {self.one_of(SOURCES)}", f"b = {self.one_of(('a', *SOURCES))}"]
        lines += [f"c = {self.one_of(('a', 'b', '0.0', '0.0', *SOURCES))}", "k = 0"]
        lines += [line for _ in range(self.rng.integers(1, 4)) for line in self.statement(0)]
        body = "\n".join(f"    {line}" for line in [*lines, "return a + 0, b + 0, c + 0"])
        return f"import numpy as np\n\n\ndef f(x, m, y, z, i, j):\n{body}\n"

    def statement(self, depth: int) -> list[str]:
        """The lines of a random statement, inside of `depth` loops."""
        kind = self.rng.integers(0, 15 if depth < 2 else 10)
        if kind >= 10:
            return self.block(depth, self.one_of(("for", "for", "while", "if" if depth else "for")))
        name, value = self.one_of(NAMES), self.value(depth)
        if kind < 5:
            return [f"{name} {self.one_of(OPERATORS)} {value}"]
        if kind == 5:
            return [f"{name} = {self.one_of(NAMES)}"]
        if kind == 6:
            return [f"{name} = {name} * 0.5 + {value}"]
        if kind == 7:
            return [f"{name} = {self.one_of(SOURCES)}"]
        if kind == 8:
            return [f"r = m[{self.one_of(('i', 'j', 'i % 3', 'j:j + 1'))}]", f"r += {value}"]
        return [self.one_of((f"x[0] += {value}", "j += 0 * j", "i = i + 0", f"z += {value}", "z[...] = 1.5"))]

    def block(self, depth: int, kind: str) -> list[str]:
        """A loop or a conditional with one to three statements."""
        inner = [line for _ in range(self.rng.integers(1, 4)) for line in self.statement(depth + 1)]
        if kind == "while":
            return [f"k{depth} = 0", f"while k{depth} < 3:", *_indented([*inner, f"k{depth} += 1"])]
        if kind == "for":
            return [self.one_of((f"for v{depth} in y:", f"for v{depth} in range(3):")), *_indented(inner)]
        return [f"if {self.one_of(NAMES)} > 1.0:", *_indented(inner)]

    def value(self, depth: int) -> str:
        """An operand."""
        loop = [f"v{depth - 1} * 0.5"] if self.rng.random() < 0.5 and depth == 1 else []
        return str(self.one_of(["1.0", "0.25", "y[0]", *NAMES, *loop]))

    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the program: indices and a number of each kind."""
        number = self.one_of((np.array(1.5), np.array(1.5), np.float64(1.5)))
        indices = [self.one_of((1, np.int64(1), np.array(1))) for _ in range(2)]
        x, m = self.rng.uniform(-1, 1, 4), self.rng.uniform(-1, 1, (3, 2))
        return x, m, self.rng.uniform(0, 1, 3), number, *indices


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def outcome(run: Any, arguments: tuple[Any, ...]) -> list[Any] | Exception:
    """The results and the arguments after the call, or what it raises."""
    mine = copy.deepcopy(arguments)
    try:
        results = run(*mine)
    except Exception as error:
        return error
    return plain(results) + plain(mine)


def check(seed: int, folder: Path) -> list[str]:
    """The outcome of the program of `seed` in each mode: "right", "refused", or "skipped" where NumPy raises.

    Raises AssertionError where a result or an argument differs from NumPy's."""
    programs = Programs(seed)
    text, arguments = programs.program(), programs.arguments()
    try:
        function = load(text, f"rank_0_{seed}", folder)
    except SyntaxError:
        return ["skipped"]
    expected = outcome(function, arguments)
    if isinstance(expected, Exception) or not all(np.isfinite(value).all() for value in expected):
        return ["skipped"]
    kinds = []
    for mode in ("compiled", "auto", "unrolled"):
        jitted = tj.jit(function, loops=mode)
        for _ in range(2):
            actual = outcome(jitted, arguments)
            where = f"seed {seed}, loops={mode!r}, {arguments[3:]!r}\n{text}"
            if isinstance(actual, Exception):
                assert isinstance(actual, TracejitError), f"{where}{actual!r}"
                kinds.append("refused")
                break
            for value, wanted in zip(actual, expected, strict=True):
                np.testing.assert_allclose(value, wanted, 1e-5, 1e-6, err_msg=where)
        else:
            kinds.append("right")
    return kinds


def main() -> None:
    """Check as many programs as the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.count):
            try:
                kinds = check(seed, Path(folder))
            except AssertionError as error:
                kinds = ["wrong"]
                print(error)
            for kind in kinds:
                counts[kind] = counts.get(kind, 0) + 1
    print(counts)


if __name__ == "__main__":
    main()
