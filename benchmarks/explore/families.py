"""Families of programs as people write them. Each draws its sizes and forms, and writes its lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..workload import Workload
from .candidate import Candidate
from .choices import Choices

Arguments = tuple[tuple[tuple[int, ...], str], ...]
Written = tuple[list[str], Arguments]

_MATHS: Final = ("xp.tanh({})", "xp.exp(-{0} * {0})", "xp.sin({})", "xp.sqrt({0} * {0} + 1)", "xp.abs({})")
_SUMS: Final = ("sum", "mean", "max", "min", "var", "std")


def _maths(c: Choices, text: str) -> str:
    return c.one_of(_MATHS).format(text)


# -- loops --------------------------------------------------------------------------------------------


def array_loop(c: Choices) -> Written:
    """A loop along an axis of an array, whose carry is the array, or a tuple with it."""
    rows, columns = c.size(2, 600), c.size(2, 600)
    across = c.chance(0.5)
    count = columns if across else rows
    here, before = ("(slice(None), i)", "[:, i - 1]") if across else ("i", "[i - 1]")
    now = "[:, i]" if across else "[i]"
    update = c.one_of(
        [
            f"y{before} * {c.number()} + a0{now}",
            f"xp.tanh(y{before}) + a0{now} * {c.number()}",
            f"xp.maximum(y{before}, a0{now}) - {c.number()} * a1",
        ]
    )
    arguments: Arguments = (((rows, columns), "normal"), ((rows if across else columns,), "normal"))
    if c.chance(0.5):
        return [
            "def step(i, y):",
            f"    return put(y, {here}, {update})",
            f"return control.fori_loop(1, {count}, step, a0 * 1.0) + xp.sum(a1)",
        ], arguments
    return [
        "def step(i, carry):",
        "    y, total, weights = carry",
        f"    y = put(y, {here}, {update})",
        f"    return y, total + xp.sum(y{now} * weights), weights",
        f"y, total, _ = control.fori_loop(1, {count}, step, (a0 * 1.0, 0.0 * a1[0], a1))",
        "return y * total",
    ], arguments


def reading_loop(c: Choices) -> Written:
    """A loop that reads rows, columns or blocks of a matrix which its carry holds, or which is outside."""
    n, m = c.size(4, 800), c.size(4, 800)
    across = c.chance(0.5)
    now = "[:, i]" if across else "[i]"
    matrix = "m" if c.chance(0.5) else "a0"
    vector = "s" if c.chance(0.5) else "a1"
    arguments: Arguments = (((n, m), "normal"), ((n if across else m,), "normal"))
    inside = matrix == "m"
    carry, state, start = ("s, m", "s, m = carry", "(a1, a0)") if inside else ("s", "s = carry", "a1")
    return [
        "def step(i, carry):",
        f"    {state}",
        f"    s = {c.number()} * s + {_maths(c, f'{matrix}{now} * {vector}')}",
        f"    return {carry}",
        f"last = control.fori_loop(0, {m if across else n}, step, {start})",
        f"return {'last[0]' if inside else 'last'}",
    ], arguments


def recurrence(c: Choices) -> Written:
    """A scan over observations with a small state."""
    steps, size = c.size(4, 3000), c.size(1, 64)
    arguments: Arguments = (((steps, size), "normal"), ((size, size), "normal"))
    body = c.one_of(
        [
            f"h = xp.tanh(a1 @ h * {float(c.number()) / size:.4f} + x)",
            f"h = h * {c.number()} + x",
            f"h = h + 0.01 * (x - h * h * h) + {c.number()} * xp.sin(h)",
        ]
    )
    if c.chance(0.5):
        return [
            "def step(h, x):",
            f"    {body}",
            "    return h, xp.sum(h)",
            "h, totals = control.scan(step, a0[0], a0)",
            "return totals + xp.sum(a1) + xp.sum(h)",
        ], arguments
    return [
        "def step(carry, x):",
        "    h, total = carry",
        f"    {body}",
        "    return (h, total + h * x), h * total",
        "(h, total), path = control.scan(step, (a0[0], a0[0] * 0.0), a0)",
        "return path + h + total + xp.sum(a1)",
    ], arguments


def triangular(c: Choices) -> Written:
    """Substitution, or orthogonalization, column by column."""
    n = c.size(3, 200)
    if c.chance(0.5):
        return [
            "def step(i, x):",
            f"    return put(x, i, (a1[i] - a0[i] @ x) / ({n}.0 + a0[i, i] * a0[i, i]))",
            f"return control.fori_loop(0, {n}, step, a1 * 0.0)",
        ], (((n, n), "normal"), ((n,), "normal"))
    m = n + c.integer(0, 50)
    return [
        "def step(i, q):",
        "    v = a0[:, i] - q @ (q.T @ a0[:, i])",
        "    return put(q, (slice(None), i), v / xp.sqrt(xp.sum(v * v)))",
        f"return control.fori_loop(0, {n}, step, a0 * 0.0)",
    ], (((m, n), "normal"),)


# -- grids --------------------------------------------------------------------------------------------


def stencil(c: Choices) -> Written:
    """Steps of a field on a grid, by slices, rolls or padding, alone or with a second field."""
    n, m = c.size(6, 500), c.size(6, 500)
    steps = c.one_of([1, 2, 5, 20, 100])
    way = c.integer(0, 2)
    if way == 0:
        inner = "slice(1, -1), slice(1, -1)"
        around = "u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]"
        new = f"put(u, ({inner}), u[1:-1, 1:-1] + 0.1 * ({around} - 4 * u[1:-1, 1:-1]) * g[1:-1, 1:-1])"
    elif way == 1:
        around = "xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1)"
        new = f"u + 0.1 * ({around} - 4 * u) * g"
    else:
        apart = "u[1:] - u[:-1]"
        padded = [f"xp.pad({apart}, ({ends}, (0, 0)))" for ends in ("(0, 1)", "(1, 0)")]
        new = f"u + 0.1 * ({' - '.join(padded)}) * g"
    other = c.one_of(["v", f"v * {c.number()} + 0.01 * u", "xp.tanh(v + 0.1 * xp.roll(u, 1, 1))"])
    return [
        "def step(i, carry):",
        "    u, v = carry",
        "    g = xp.tanh(v) ** 2",
        f"    u = {new}",
        f"    return u, {other}",
        f"u, v = control.fori_loop(0, {steps}, step, (a0 * 1.0, a1))",
        "return u + v",
    ], (((n, m), "normal"), ((n, m), "normal"))


# -- products -----------------------------------------------------------------------------------------


def small_products(c: Choices) -> Written:
    """Products of many small matrices in any layout, shared on one side or not."""
    batch = c.one_of([(c.size(1, 3000),), (c.size(1, 60), c.size(1, 60))])
    m, k, n = c.size(1, 40), c.size(1, 40), c.size(1, 40)
    left_turned, right_turned, shared = c.chance(0.4), c.chance(0.4), c.chance(0.4)
    left = (*batch, k, m) if left_turned else (*batch, m, k)
    right = (n, k) if right_turned else (k, n)
    x = "xp.swapaxes(a0, -1, -2)" if left_turned else "a0"
    y = "xp.swapaxes(a1, -1, -2)" if right_turned else "a1"
    after = c.one_of(["{}", "xp.tanh({})", "xp.sum({}, axis=-1)", "xp.max({}, axis=-2)", "{} * 0.5 + 1.0"])
    return [f"return {after.format(f'({x} @ {y})')}"], (
        (left, "normal"),
        (right if shared else (*batch, *right), "normal"),
    )


def contractions(c: Choices) -> Written:
    """``einsum`` of two arrays."""
    a, b, d, e = (c.size(2, 48) for _ in range(4))
    text, shapes = c.one_of(
        [
            ("ij,jk->ik", ((a * 4, b * 4), (b * 4, d * 4))),
            ("bij,bkj->bik", ((a, b, d), (a, e, d))),
            ("bij,bj->bi", ((a * 8, b, d), (a * 8, d))),
            ("ijk,k->ij", ((a, b, d), (d,))),
            ("bhid,bhjd->bhij", ((3, 4, b, d), (3, 4, e, d))),
            ("ij,ij->i", ((a * 30, b), (a * 30, b))),
            ("i,j->ij", ((a * 10,), (b * 10,))),
        ]
    )
    return [f"return {_maths(c, f'xp.einsum({text!r}, a0, a1)')}"], tuple(
        [(shape, "normal") for shape in shapes]
    )


def regression(c: Choices) -> Written:
    """The loss of a linear model, or a layer."""
    rows, columns, out = c.size(10, 20_000), c.size(1, 80), c.one_of([1, 1, c.size(1, 60)])
    shape = (columns,) if out == 1 else (columns, out)
    lines = [f"z = a0 @ a1 * {c.number()}"]
    lines.append(
        c.one_of(
            [
                "return xp.log(1 + xp.exp(-z))",
                "return (z - 1.0) ** 2",
                "return xp.exp(z - xp.max(z)) / xp.sum(xp.exp(z - xp.max(z)))",
                "return xp.tanh(z) - xp.mean(z, axis=0)",
            ]
        )
    )
    return lines, (((rows, columns), "normal"), (shape, "normal"))


def pairwise(c: Choices) -> Written:
    """A function of all pairs of points."""
    n, m, d = c.size(3, 900), c.size(3, 900), c.size(1, 12)
    kernel = c.one_of(
        [
            "xp.exp(-0.5 * q)", "1 / (q + 0.1)", "xp.sqrt(q + 1e-3)", "xp.min(q, axis=1)",
            "xp.sum(1 / (1 + q), axis=0)",
        ]
    )  # fmt: skip
    return [
        "apart = a0[:, None, :] - a1[None, :, :]",
        "q = xp.sum(apart * apart, axis=2)",
        f"return {kernel}",
    ], (((n, d), "normal"), ((m, d), "normal"))


# -- arrays -------------------------------------------------------------------------------------------


def expression(c: Choices) -> Written:
    """An elementwise expression of 3 to 300 operations."""
    size, count = c.size(1, 3_000_000), c.size(2, 150)
    if size > 200_000:
        count = min(count, 40)
    names = ["a0", "a1"]
    lines = []
    for i in range(count):
        x, y = c.one_of(names[-12:]), c.one_of(names[-12:])
        text = c.one_of(
            [
                f"{x} * {y} * {c.number()}", f"{x} + {c.number()} * {y}", f"{x} - {y} * {c.number()}",
                f"xp.where({x} > {y}, {x}, {c.number()} * {y})", f"{x} / (1.5 + {y} * {y})",
                _maths(c, x), f"xp.maximum({x}, {c.number()})",
            ]
        )  # fmt: skip
        lines.append(f"v{i} = {text}")
        names.append(f"v{i}")
    lines.append(f"return {' + '.join(names[-4:])}")
    return lines, (((size,), "normal"), ((size,), "normal"))


def reductions(c: Choices) -> Written:
    """Reductions over any axes, with what they are used for."""
    rank = c.integer(1, 4)
    shape = tuple([c.size(1, {1: 1_000_000, 2: 1500, 3: 120, 4: 40}[rank]) for _ in range(rank)])
    axes = tuple(sorted({c.integer(0, rank - 1) for _ in range(c.integer(1, rank))}))
    other = c.integer(0, rank - 1)
    return [
        f"x = {_maths(c, 'a0')}",
        f"m = xp.{c.one_of(_SUMS)}(x, axis={axes}, keepdims=True)",
        f"y = {c.one_of(['(x - m) ** 2', 'x * m', 'xp.exp(x - m)', 'x / (1.0 + m * m)'])}",
        c.one_of(["return y", f"return xp.{c.one_of(_SUMS)}(y, axis={other})", "return y / xp.sum(y)"]),
    ], ((shape, "normal"),)


def rearrangement(c: Choices) -> Written:
    """Arrays put together, turned, repeated and cut."""
    n, m = c.size(2, 700), c.size(2, 700)
    steps = [
        "x = xp.concatenate([x, x[:, ::-1]], axis=1)",
        "x = xp.stack([x, x * 2.0]).reshape(2 * x.shape[0], -1)",
        "x = xp.tile(x, (2, 1))", "x = xp.repeat(x, 2, axis=1)", "x = x.T", "x = xp.flip(x, 0)",
        "x = xp.roll(x, 3, 1)", "x = xp.pad(x, ((1, 2), (0, 3)))", "x = xp.tril(x)", "x = xp.triu(x, 1)",
        "x = x[::2]", "x = x[:, 1:]", "x = x * xp.sum(x, axis=0)", "x = xp.cumsum(x, axis=1)",
        "x = xp.where(x > 0, x, 0.1 * x)",
    ]  # fmt: skip
    chosen = [c.one_of(steps) for _ in range(c.integer(1, 5))]
    return ["x = a0", *chosen, "return x * 1.5"], (((n, m), "normal"),)


def indexing(c: Choices) -> Written:
    """Gathers, scatters, sorts and running sums."""
    n, m, width = c.size(2, 200_000), c.size(2, 200_000), c.one_of([1, 1, c.size(2, 32)])
    if width > 1:
        n, m = max(2, n // width), max(2, m // width)
    shape = (n,) if width == 1 else (n, width)
    first, second = (shape, "normal"), ((m,), f"index {n}")
    return c.one_of(
        [
            ([f"return {_maths(c, 'xp.take(a0, a1, axis=0)')}"], (first, second)),
            (["return xp.index_add(a0 * 0.5, a1, xp.take(a0, a1, axis=0) ** 2)"], (first, second)),
            (["return xp.sort(a0, axis=0) * a0"], (first,)),
            (["return xp.take(a0, xp.argsort(a0 if a0.ndim == 1 else a0[:, 0]), axis=0)"], (first,)),
            (["return xp.cumsum(xp.tanh(a0), axis=0) / (1.0 + xp.cumsum(a0 * a0, axis=0))"], (first,)),
        ]
    )


#: Each family, and how often it is drawn.
FAMILIES: Final[dict[str, tuple[Callable[[Choices], Written], float]]] = {
    family.__name__: (family, weight)
    for family, weight in (
        (array_loop, 1.5), (reading_loop, 1.0), (recurrence, 1.5), (triangular, 0.7), (stencil, 1.5),
        (small_products, 1.5), (contractions, 1.0), (regression, 1.0), (pairwise, 1.0), (expression, 1.5),
        (reductions, 2.0), (rearrangement, 1.5), (indexing, 1.5),
    )
}  # fmt: skip


def candidate_of(seed: int, number: int, only: Sequence[str] = ()) -> Candidate:
    """The program with this number."""
    c = Choices(seed, number)
    names = list(only or FAMILIES)
    weights = [FAMILIES[name][1] for name in names]
    name = names[int(c.rng.choice(len(names), p=[weight / sum(weights) for weight in weights]))]
    lines, arguments = FAMILIES[name][0](c)
    dtype = c.one_of(["float32", "float64"])
    return Candidate(name, tuple(lines), arguments, dtype, gradient=c.chance(0.5))


def name_of(seed: int, number: int, only: Sequence[str]) -> str:
    """Name of a program's workload."""
    return "-".join(["explore", str(seed), str(number), *only])


def workload_named(name: str) -> Workload:
    """The workload that `name_of` names."""
    _, seed, number, *only = name.split("-")
    return candidate_of(int(seed), int(number), only).workload(name)
