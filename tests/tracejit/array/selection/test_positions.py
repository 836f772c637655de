"""Functions of selected elements by their places: as NumPy gives them, and random programs of them."""

import random

import numpy as np
import pytest

import tracejit as tj

LINE = np.array([1.0, -2.0, 3.0, 0.5, -1.0, 3.0, np.nan, 0.25])
MATRIX = np.arange(12.0).reshape(3, 4) - 5

CALLS = {
    "slice": lambda x: x[x > 0][1:],
    "slice from the end": lambda x: x[x > 0][-2:],
    "slice between": lambda x: x[x > 0][1:-1:2],
    "slice backwards": lambda x: x[x > 0][::-2],
    "slice beyond": lambda x: (x[x > 0][-10:10], x[x > 0][:-9], x[x > 0][7:], x[x > 0][2:1]),
    "neighbours": lambda x: x[x > 0][1:] / x[x > 0][:-1],
    "three neighbours": lambda x: x[x > 0][2:] + x[x > 0][1:-1] * x[x > 0][:-2],
    "diff": lambda x: (np.diff(x[x > 0]), np.diff(x[x > 0], n=2), np.diff(x[x > 0], n=9)),
    "running": lambda x: (np.cumsum(x[x > 0]), np.cumprod(x[x > 0]), x[x > 0].cumsum()),
    "sort": lambda x: (np.sort(x[x != 3]), np.argsort(x[x != 3], kind="stable"), np.sort(x > 0)),
    "sorted integers": lambda x: np.sort((x[x > 0] * 4).astype(np.int8)),
    "flip": lambda x: (np.flip(x[x > 0]), np.flip(x[x > 0]).sum()),
    "unique": lambda x: (np.unique(x[x != 1]), np.unique(x[x > 9]), np.unique(x[:0][x[:0] > 0])),
    "concatenate": lambda x: np.concatenate([x[x > 0], x, x[x < 0] * 2, [7.0]]),
    "concatenate then": lambda x: (np.hstack([x[x > 0], x[x < 0]]) * 2).sum(),
    "append": lambda x: (np.append(x[x > 0], 7.0), np.append(x[x > 0], [[1.0], [2.0]])),
    "delete": lambda x: np.delete(x, np.where(x < 0)[0]),
    "products": lambda x: (x[x > 0] @ x[x > 0], np.dot(x[x < 3], np.exp(x[x < 3]))),
    "tables": lambda x: (
        np.isin(x[x > 0], [3.0]),
        np.interp(x[x > 0], [0.0, 1.0, 4.0], [0.0, 1.0, 2.0]),
        np.searchsorted([0.0, 1.0, 4.0], x[x > 0]),
        np.digitize(x[x > 0], [0.0, 1.0, 4.0]),
        np.polyval([1.0, 2.0], x[x > 0]),
    ),
}
ROWS = {
    "slice of rows": lambda a: a[a[:, 0] > -4][1:, 2],
    "slice of elements": lambda a: a[a > 0][2:5],
    "running": lambda a: (
        np.cumsum(a[a > 0]),
        np.cumsum(a[a[:, 0] > -4], axis=0),
        np.cumsum(a[a > 0], axis=0),
    ),
    "sort": lambda a: np.sort(a[a[:, 0] > -4], axis=0),
    "differences": lambda a: (np.diff(a[:, a[0] > -5]), np.diff(a[a[:, 0] > -4], axis=0)),
    "columns by a row": lambda a: (np.ones(3) @ a[:, a[0] > -4], a[a[:, 0] > -4] @ np.ones(4)),
    "transposed": lambda a: (a[a[:, 0] > -4].T, a[:, a[0] > -4].T @ np.ones(3)),
    "normal equations": lambda a: a[a[:, 0] > -4].T @ a[a[:, 0] > -4],
    "weighted": lambda a: a[a[:, 0] > -4].T @ a[:, 1][a[:, 0] > -4],
    "joined": lambda a: (np.concatenate([a[a[:, 0] > -4], a]), np.hstack([a[:, a[0] > -4], a])),
    "distinct": lambda a: np.unique(a[a > 0] // 2),
}


def agrees(function, *arguments):
    expected = tj.tree_leaves(function(*arguments))
    jitted = tj.jit(function)
    for _ in range(2):
        result = tj.tree_leaves(jitted(*arguments))
        assert len(result) == len(expected)
        for part, whole in zip(result, expected, strict=True):
            assert (part.shape, part.dtype) == (np.shape(whole), np.asarray(whole).dtype)
            np.testing.assert_allclose(part, whole, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", CALLS)
def test_lines(name):
    agrees(CALLS[name], LINE)
    agrees(CALLS[name], np.abs(LINE[:6]) + 0.5)
    agrees(CALLS[name], -np.abs(LINE[:6]) - 0.5)


@pytest.mark.parametrize("name", ROWS)
def test_rows(name):
    agrees(ROWS[name], MATRIX)
    agrees(ROWS[name], MATRIX[:, ::-1] * -1)


def test_steps_of_slices_are_not_0():
    with pytest.raises(ValueError, match="step"):
        tj.jit(lambda x: x[x > 0][::0])(LINE)


STEPS = [
    ("slice", lambda v, rng: f"{v}[{rng.choice(['1:', ':-1', '::2', '::-1', '-3:', '1:3', ':4', '2:-1'])}]"),
    ("sort", lambda v, rng: f"np.sort({v})"),
    ("running", lambda v, rng: f"np.cumsum({v})"),
    ("diff", lambda v, rng: f"np.diff({v})"),
    ("flip", lambda v, rng: f"np.flip({v})"),
    ("unique", lambda v, rng: f"np.unique({v})"),
    ("concatenate", lambda v, rng: f"np.concatenate([{v}, x[:2], {v} * 2])"),
    ("elementwise", lambda v, rng: f"np.abs({v}) * 2 - {v}"),
    ("mask", lambda v, rng: f"{v}[{v} > {rng.uniform(-0.5, 0.2):.2f}]"),
]
ENDS = ["{v}", "{v}.sum()", "{v} @ {v}", "{v}.size", "({v}, {v} * 2)", "np.sort({v})[::-1]", "{v}[:3].sum()"]


def program(rng):
    """The source of a function of a line, in which each step is of what the one before has given."""
    lines = ["def f(x):", f"    v = x[x > {rng.uniform(-1, 1):.2f}]"]
    lines += [f"    v = {rng.choice(STEPS)[1]('v', rng)}" for _ in range(rng.randint(1, 4))]
    return "\n".join([*lines, f"    return {rng.choice(ENDS).format(v='v')}"])


def squares(function):
    """The sum of the scaled squares of what `function` gives."""
    return lambda x: sum([((part * x[0] * 0.5) ** 2 / 2).sum() for part in tj.tree_leaves(function(x))])


def test_random_programs():
    seed = random.randrange(1 << 20)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for number in range(60):
        text = program(rng)
        size = rng.choice([1, 2, 5, 9, 16])
        x = np.random.default_rng(seed + number).integers(-9, 10, size) / 4  # whose sums are exact
        space = {"np": np}
        exec(text, space)
        with np.errstate(all="ignore"):
            try:
                agrees(space["f"], x)
                np.testing.assert_allclose(
                    tj.jit(tj.grad(squares(space["f"])))(x),
                    tj.grad(squares(space["f"]))(x),
                    rtol=1e-9,
                    atol=1e-12,
                )
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, x = {x!r}\n{text}\n{error}") from error
