"""Random realistic patterns for tests/test_patterns.py, in sizes that the compiler treats differently.

A pattern begins with what programs over points, tables and batches begin with (differences of all pairs,
rows, covariances, attention), and goes on with kernels, reductions over any axes, normalisations, and with
results of reductions that are stacked, concatenated and put into arrays. Dimensions lie on both sides of the
compiler's thresholds. Functions are continuous and bounded, so that a difference beyond the tolerance is a
mistake and no rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracejit as tj

from .support import Array

#: Points: pairs of 22 and 23 of them are on both sides of `narrow.MIN_ROWS`.
POINTS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 22, 23, 24, 33, 40, 59]
#: Rows of tables: on both sides of `units.MANY_ROWS`, and of what is cut into chunks.
ROWS = [0, 1, 2, 3, 8, 31, 127, 511, 512, 513, 600, 1025]
#: Columns: `inline.MAX_COLUMNS` is 4; rows of 2048 bytes are short, columns up to 512 are few.
COLUMNS = [1, 2, 3, 4, 5, 6, 8, 16, 33]
WIDE = [1, 3, 17, 64, 255, 256, 257, 511, 513, 600]
#: Sizes in patterns of next to nothing.
TINY = [0, 1, 2, 0, 1, 3]
#: Elements of the largest value, and of a result.
LARGEST = 120_000

Step = Callable[[list[Any]], Any]


@dataclass
class Pattern:
    """A function of arrays as a list of steps, each of which appends a value computed of earlier ones.

    `text` has a line for each step, `arrays` are arguments, `results` positions of what it returns.
    """

    seed: int
    arrays: list[Array]
    steps: list[Step] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        values = list(arguments)
        for step in self.steps:
            values.append(step(values))
        return tuple([values[position] for position in self.results])

    def loss(self, *arguments: Any) -> Any:
        """A number that all results go into."""
        return weighted(self(*arguments))

    def __str__(self) -> str:
        shapes = [f"v{i} = {array.dtype}{array.shape}" for i, array in enumerate(self.arrays)]
        results = ", ".join(f"v{position}" for position in self.results)
        return "\n".join([f"seed {self.seed}", *shapes, *self.text, f"return {results}"])


def weighted(values: Sequence[Any]) -> Any:
    """The sum of all elements, each with a weight of its own."""
    total: Any = 0.0
    for value in values:
        weights = np.cos(np.arange(value.size, dtype=np.float64)).reshape(value.shape)
        total = total + tj.sum(value * weights.astype(value.dtype))
    return total


def pattern(seed: int, *, tiny: bool = False) -> Pattern:
    """The pattern of a seed; `tiny` ones have axes of 0 to 3 elements."""
    return _Maker(seed, tiny=tiny).run()


class _Maker:
    def __init__(self, seed: int, *, tiny: bool) -> None:
        self.tiny = tiny
        self.rng = np.random.default_rng(seed)
        self.dtype = self.pick([np.float64, np.float64, np.float32])
        self.pattern = Pattern(seed, [])
        self.values: list[Any] = []

    def pick(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def size(self, choices: list[int]) -> int:
        return int(self.pick(TINY if self.tiny else choices))

    def run(self) -> Pattern:
        start = self.pick([self._pairs, self._pairs, self._table, self._wide, self._attention, self._batch])
        start()
        for _ in range(int(self.rng.integers(1, 9))):
            moves = [self._map, self._map, self._kernel, *[self._reduce] * 3, *[self._combine] * 2]
            move = self.pick([*moves, *[self._join] * 2, self._normalise, self._view, self._product])
            move()
        count = int(self.rng.integers(1, 4))
        while not self.pattern.steps:
            self._map()
        last = list(range(len(self.pattern.arrays), len(self.values)))
        chosen = {len(self.values) - 1, *[self.pick(last) for _ in range(count - 1)]}
        self.pattern.results = sorted(chosen)
        return self.pattern

    # -- values -----------------------------------------------------------------------------------

    def argument(self, *shape: int) -> int:
        array = self.rng.normal(size=shape).astype(self.dtype)
        self.pattern.arrays.append(array)
        self.values.append(tj.tensor(array))
        return len(self.values) - 1

    def append(self, text: str, step: Step) -> int:
        """Append a step; a position that was there before where the value would be large or not finite."""
        try:
            with np.errstate(all="ignore"):
                value = step(self.values)
        except tj.ShapeError:  # as of the largest of nothing
            return self.floats()
        size = float(np.abs(np.asarray(value)).max(initial=0.0))
        if not size < 1e3 or value.size > LARGEST:
            return self.floats()
        self.pattern.steps.append(step)
        self.pattern.text.append(f"v{len(self.values)} = {text}  # {value.shape}")
        self.values.append(value)
        return len(self.values) - 1

    def floats(self) -> int:
        """The position of some value, a late one more often."""
        count = len(self.values)
        return count - 1 if self.rng.random() < 0.5 else int(self.rng.integers(count))

    def axes(self, rank: int) -> Any:
        if rank == 0 or self.rng.random() < 0.2:
            return None
        chosen = tuple(sorted({int(self.rng.integers(rank)) for _ in range(self.pick([1, 1, 2]))}))
        return chosen[0] - self.pick([0, rank]) if len(chosen) == 1 else chosen

    # -- beginnings -------------------------------------------------------------------------------

    def _pairs(self) -> None:
        n, c = self.size(POINTS), self.size(COLUMNS[:6])
        x = self.argument(n, c)
        y = self.argument(self.size(POINTS), c) if self.rng.random() < 0.3 else x
        d = self.append(f"v{x}[:, None, :] - v{y}[None, :, :]", lambda v: v[x][:, None, :] - v[y][None, :, :])
        kind = self.pick(["square", "abs", "scaled", "max", "none"])
        if kind == "square":
            self.append(f"sum(v{d} * v{d}, -1)", lambda v: tj.sum(v[d] * v[d], axis=-1))
        elif kind == "abs":
            self.append(f"sum(abs(v{d}), -1)", lambda v: tj.sum(tj.abs(v[d]), axis=-1))
        elif kind == "scaled":
            w = self.rng.random(c).astype(self.dtype) + 0.5
            self.append(f"sum((v{d} * w) ** 2, -1)", lambda v: tj.sum((v[d] * w) ** 2, axis=-1))
        elif kind == "max":
            self.append(f"max(abs(v{d}), -1)", lambda v: tj.max(tj.abs(v[d]), axis=-1))
        if kind != "none":
            self._kernel()

    def _table(self) -> None:
        self.argument(self.size(ROWS), self.size(COLUMNS))

    def _wide(self) -> None:
        self.argument(self.size(ROWS[:7]), self.size(WIDE))

    def _batch(self) -> None:
        self.argument(self.size([1, 2, 3, 5]), self.size(POINTS), self.size(COLUMNS))

    def _attention(self) -> None:
        n, c = self.size(POINTS), self.size(COLUMNS)
        q, k, u = self.argument(n, c), self.argument(n, c), self.argument(n, self.size(COLUMNS))
        s = self.append(f"v{q} @ v{k}.T", lambda v: v[q] @ v[k].T)
        p = self.append(f"softmax(v{s})", lambda v: tj.nn.softmax(v[s] / (c + 1) ** 0.5, -1))
        if self.values[p].shape == (n, n):
            self.append(f"v{p} @ v{u}", lambda v: v[p] @ v[u])

    # -- steps ------------------------------------------------------------------------------------

    def _map(self) -> None:
        x = self.floats()
        name, function = self.pick(_MAPS)
        self.append(f"{name}(v{x})", lambda v: function(v[x]))

    def _kernel(self) -> None:
        x = self.floats()
        name, function = self.pick(_KERNELS)
        self.append(f"{name}(v{x})", lambda v: function(v[x]))

    def _reduce(self) -> None:
        x = self.floats()
        axes = self.axes(self.values[x].ndim)
        keep = bool(self.rng.random() < 0.3)
        name, function = self.pick(_REDUCTIONS)
        self.append(f"{name}(v{x}, {axes}, {keep})", lambda v: function(v[x], axes, keep))

    def _combine(self) -> None:
        x, y = self.floats(), self.floats()
        try:
            np.broadcast_shapes(self.values[x].shape, self.values[y].shape)
        except ValueError:
            return
        name, function = self.pick(_BINARY)
        self.append(f"{name}(v{x}, v{y})", lambda v: function(v[x], v[y]))

    def _join(self) -> None:
        x = self.floats()
        shape = self.values[x].shape
        alike = [i for i, value in enumerate(self.values) if value.shape == shape]
        parts = [x, *[self.pick(alike) for _ in range(int(self.rng.integers(0, 5)))]]
        names = ", ".join(f"v{i}" for i in parts)
        rank = len(shape)
        kind = self.pick(["stack", "concatenate", "array", "scalars", "flat"])
        if kind == "stack" or (kind == "array" and rank > 1):
            axis = int(self.rng.integers(-rank - 1, rank + 1))
            self.append(f"stack([{names}], {axis})", lambda v: tj.stack([v[i] for i in parts], axis=axis))
        elif kind == "concatenate" and rank:
            axis = int(self.rng.integers(-rank, rank))
            self.append(
                f"concatenate([{names}], {axis})", lambda v: tj.concatenate([v[i] for i in parts], axis=axis)
            )
        elif kind == "array":
            self.append(f"array([{names}])", lambda v: tj.array([v[i] for i in parts]))
        elif kind == "scalars":
            singles = [i for i, value in enumerate(self.values) if value.size == 1]
            some = [self.pick(singles) for _ in range(int(self.rng.integers(1, 6)))] if singles else []
            if some:
                self.append(f"array({some})", lambda v: tj.array([v[i].reshape(()) for i in some]))
        else:
            every = [*parts, self.floats()]
            if sum(self.values[i].size for i in every) < LARGEST:
                self.append(
                    f"concatenate(ravelled {every})",
                    lambda v: tj.concatenate([v[i].reshape(-1) for i in every]),
                )

    def _normalise(self) -> None:
        x = self.floats()
        if self.values[x].ndim == 0:
            return
        axis = int(self.rng.integers(self.values[x].ndim))
        name, function = self.pick(_NORMALISATIONS)
        self.append(f"{name}(v{x}, {axis})", lambda v: function(v[x], axis))

    def _view(self) -> None:
        x = self.floats()
        shape = self.values[x].shape
        rank = len(shape)
        kind = self.pick(["transpose", "flip", "none", "slice", "roll", "diff", "reshape", "column"])
        axis = int(self.rng.integers(rank)) if rank else 0
        if kind == "transpose":
            perm = tuple(int(i) for i in self.rng.permutation(rank))
            self.append(f"transpose(v{x}, {perm})", lambda v: tj.transpose(v[x], perm))
        elif kind == "flip" and rank:
            self.append(f"flip(v{x}, {axis})", lambda v: tj.flip(v[x], axis))
        elif kind == "none" and rank < 4:
            self.append(f"expand_dims(v{x}, {axis})", lambda v: tj.expand_dims(v[x], axis))
        elif kind == "slice" and rank and shape[axis] > 1:
            step, begin = self.pick([1, 1, 2]), self.pick([0, 1])
            key = (slice(None),) * axis + (slice(begin, None, step),)
            self.append(f"v{x}[{key}]", lambda v: v[x][key])
        elif kind == "column" and rank and shape[axis]:
            place = (slice(None),) * axis + (int(self.rng.integers(shape[axis])),)
            self.append(f"v{x}[{place}]", lambda v: v[x][place])
        elif kind == "roll" and rank:
            self.append(f"roll(v{x}, 1, {axis})", lambda v: tj.roll(v[x], 1, axis=axis))
        elif kind == "diff" and rank and shape[axis] > 1:
            self.append(f"diff(v{x}, {axis})", lambda v: tj.diff(v[x], axis=axis))
        elif kind == "reshape":
            self.append(f"v{x}.reshape(-1)", lambda v: v[x].reshape(-1))

    def _product(self) -> None:
        x, y = self.floats(), self.floats()
        kind = self.pick(["gram", "covariance", "matmul", "outer", "dot"])
        a, b = self.values[x], self.values[y]
        if kind == "gram" and a.ndim == 2 and a.shape[0] < 300:
            self.append(f"v{x} @ v{x}.T / {a.shape[1]}", lambda v: v[x] @ v[x].T / max(1, a.shape[1]))
        elif kind == "covariance" and a.ndim == 2 and a.shape[1] < 300:

            def covariance(v: list[Any]) -> Any:
                centred = v[x] - tj.mean(v[x], axis=0)
                return centred.T @ centred / max(1, a.shape[0])

            self.append(f"covariance(v{x})", covariance)
        elif kind == "matmul" and a.ndim and b.ndim == 2 and a.shape[-1] == b.shape[0]:
            self.append(f"v{x} @ v{y}", lambda v: v[x] @ v[y] / max(1, a.shape[-1]))
        elif kind == "outer" and a.ndim == b.ndim == 1 and a.size * b.size < LARGEST:
            self.append(f"outer(v{x}, v{y})", lambda v: v[x][:, None] * v[y][None, :])
        elif kind == "dot" and a.ndim == b.ndim == 1 and a.size == b.size:
            self.append(f"v{x} @ v{y}", lambda v: v[x] @ v[y] / max(1, a.size))


def _softened(x: Any) -> Any:
    return 1.0 / tj.sqrt(x * x + 0.1)


_MAPS: list[tuple[str, Callable[[Any], Any]]] = [
    ("tanh", tj.tanh),
    ("sin", tj.sin),
    ("softplus", lambda x: tj.log1p(tj.exp(-tj.abs(x))) + tj.maximum(x, 0.0)),
    ("half", lambda x: 0.5 * x + 1.0),
    ("x / (1 + x x)", lambda x: x / (1.0 + x * x)),
    ("leaky", lambda x: tj.where(x > 0.0, x, 0.1 * x)),
    ("relu", tj.nn.relu),
    ("clip", lambda x: tj.clip(x, -0.7, 0.9)),
]
_KERNELS: list[tuple[str, Callable[[Any], Any]]] = [
    ("rbf", lambda x: tj.exp(-0.5 * x * x)),
    ("laplace", lambda x: tj.exp(-tj.abs(x))),
    ("coulomb", lambda x: 1.0 / (tj.abs(x) + 0.5)),
    ("softened", _softened),
    ("matern", lambda x: (1.0 + tj.sqrt(x * x + 0.01)) * tj.exp(-tj.sqrt(x * x + 0.01))),
    ("lennard-jones", lambda x: (x * x + 1.0) ** -6 - (x * x + 1.0) ** -3),
    ("gauss", lambda x: tj.exp(-x * x)),
]
_REDUCTIONS: list[tuple[str, Callable[[Any, Any, bool], Any]]] = [
    ("sum/n", lambda x, axes, keep: tj.mean(x * 1.5, axis=axes, keepdims=keep)),
    ("sum", lambda x, axes, keep: tj.sum(x, axis=axes, keepdims=keep) * 0.1),
    ("max", lambda x, axes, keep: tj.max(x, axis=axes, keepdims=keep)),
    ("min", lambda x, axes, keep: tj.min(x, axis=axes, keepdims=keep)),
    ("norm", lambda x, axes, keep: tj.sqrt(tj.sum(x * x, axis=axes, keepdims=keep) + 0.01)),
    ("var", lambda x, axes, keep: tj.var(x, axis=axes, keepdims=keep)),
    ("logsumexp", lambda x, axes, keep: _logsumexp(x, axes, keep)),
]


def _logsumexp(x: Any, axes: Any, keep: bool) -> Any:
    top = tj.max(x, axis=axes, keepdims=True)
    total = tj.log(tj.sum(tj.exp(x - top), axis=axes, keepdims=True)) + top
    return total if keep else tj.squeeze(total, axis=tuple(range(x.ndim)) if axes is None else axes)


_BINARY: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("add", lambda x, y: x + y),
    ("sub", lambda x, y: x - y),
    ("mul", lambda x, y: x * y),
    ("div", lambda x, y: x / (tj.abs(y) + 1.0)),
    ("maximum", tj.maximum),
    ("where", lambda x, y: tj.where(x > 0.0, x * y, 0.5 * x)),
]
_NORMALISATIONS: list[tuple[str, Callable[[Any, int], Any]]] = [
    ("softmax", lambda x, axis: tj.nn.softmax(x, axis)),
    ("centre", lambda x, axis: x - tj.mean(x, axis=axis, keepdims=True)),
    (
        "standardise",
        lambda x, axis: (
            (x - tj.mean(x, axis=axis, keepdims=True)) / tj.sqrt(tj.var(x, axis=axis, keepdims=True) + 0.1)
        ),
    ),
    ("by norm", lambda x, axis: x / tj.sqrt(tj.sum(x * x, axis=axis, keepdims=True) + 0.1)),
    ("by sum", lambda x, axis: x / (tj.sum(tj.abs(x), axis=axis, keepdims=True) + 0.1)),
    ("log softmax", lambda x, axis: tj.nn.log_softmax(x, axis)),
]
