"""Random programs of views, writes and reads, and what they mean in plain NumPy.

The meaning is forward-mode differentiation on NumPy's own memory: each handle is a pair of arrays, of values
and of tangents, and every view or write is made of both. What is outside the graph (``detach``, a view made
under ``no_grad``) shares the values and has tangents of its own, of zeros; a write under ``no_grad`` changes
values alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit as tj

Array = np.ndarray[Any, Any]
LEAVES = ((4,), (2, 3), (3, 3), ())


@dataclasses.dataclass(frozen=True)
class Step:
    """One statement: what it does, to which handle, with what."""

    kind: str
    x: int
    name: str = ""
    arg: Any = None
    #: The other operand: a number, or the handle of that number as ``("handle", i)``.
    other: Any = None
    #: Whether it stands in a ``no_grad`` block.
    blocked: bool = False


class Memory:
    """State that views share: whether gradients flow to it, and whether it is a leaf's."""

    def __init__(self, *, needs: bool = False, leaf: bool = False) -> None:
        self.needs, self.leaf = needs, leaf


@dataclasses.dataclass
class Dual:
    """A handle: values, tangents, and the memory of the tangents."""

    v: Array
    t: Array
    memory: Memory
    #: Memory from which a view under no_grad was made.
    made_of: Memory | None = None


class Refused(Exception):
    """A write that autograd must refuse."""


# -- views and arithmetic on arrays -------------------------------------------------------------------


def viewed(a: Any, name: str, arg: Any) -> Any:
    """A view of an array or tensor, where NumPy can make one."""
    if name == "index":
        return a[arg]
    if name == "reshape":
        return a.reshape(arg)
    if name == "transpose":
        return a.transpose(arg)
    if name == "squeeze":
        return (
            a.reshape([size for size in a.shape if size != 1]) if isinstance(a, np.ndarray) else a.squeeze()
        )
    if name == "unsqueeze":
        return a[(None,)] if isinstance(a, np.ndarray) else a.unsqueeze(0)
    assert name == "diagonal"
    n = a.shape[0]
    return a.reshape(n * n)[:: n + 1] if isinstance(a, np.ndarray) else a.diagonal()


#: Value and tangent of each operation.
BINARY = {
    "add": (lambda a, b: a + b, lambda a, b, s, t: s + t),
    "sub": (lambda a, b: a - b, lambda a, b, s, t: s - t),
    "mul": (lambda a, b: a * b, lambda a, b, s, t: s * b + a * t),
    "div": (
        lambda a, b: a / (b * b + 1),
        lambda a, b, s, t: s / (b * b + 1) - a * 2 * b * t / (b * b + 1) ** 2,
    ),
}
UNARY = {
    "sin": (np.sin, lambda a, s: np.cos(a) * s),
    "tanh": (np.tanh, lambda a, s: (1 - np.tanh(a) ** 2) * s),
    "neg": (np.negative, lambda a, s: -s),
    "square": (np.square, lambda a, s: 2 * a * s),
    "cos": (np.cos, lambda a, s: -np.sin(a) * s),
}
TENSOR_UNARY = {"sin": tj.sin, "tanh": tj.tanh, "neg": tj.negative, "square": tj.square, "cos": tj.cos}


# -- the meaning --------------------------------------------------------------------------------------


class Meaning:
    """Handles as pairs of arrays."""

    def __init__(self, values: Sequence[Array], tangents: Sequence[Array]) -> None:
        self.handles: list[Dual | None] = [
            Dual(v.copy(), t.copy(), Memory(needs=True, leaf=True))
            for v, t in zip(values, tangents, strict=True)
        ]

    def operand(self, other: Any) -> Dual:
        if isinstance(other, tuple):
            handle = self.handles[other[1]]
            assert handle is not None
            return handle
        return Dual(np.asarray(other), np.zeros(np.shape(other)), Memory())

    def result(self, v: Array, t: Array, needs: bool, blocked: bool) -> None:
        v = np.array(v)
        t = np.zeros(v.shape) if blocked else np.array(np.broadcast_to(t, v.shape))
        self.handles.append(Dual(v, t, Memory(needs=needs and not blocked)))

    def compute(self, name: str, x: Dual, other: Any) -> tuple[Array, Array, bool]:
        if other is None:
            value, tangent = UNARY[name]
            return value(x.v), tangent(x.v, x.t), x.memory.needs
        y = self.operand(other)
        value, tangent = BINARY[name]
        return value(x.v, y.v), tangent(x.v, y.v, x.t, y.t), x.memory.needs or y.memory.needs

    def step(self, step: Step) -> None:
        x = self.handles[step.x]
        assert x is not None
        if step.kind == "drop":
            self.handles[step.x] = None
        elif step.kind == "detach":
            self.handles.append(Dual(x.v, np.zeros(x.v.shape), Memory()))
        elif step.kind == "view":
            self.view(x, step)
        elif step.kind == "read":
            self.result(x.v[step.arg], x.t[step.arg], x.memory.needs, step.blocked)
        elif step.kind == "op":
            v, t, needs = self.compute(step.name, x, step.other)
            self.result(v, t, needs, step.blocked)
        elif step.kind == "set":
            y = self.operand(step.other)
            self.check(x, y.memory.needs, step.blocked)
            values, tangents = y.v.copy(), y.t.copy()
            x.v[step.arg] = values
            if not step.blocked:
                x.t[step.arg] = tangents
        else:
            v, t, needs = self.compute(step.name, x, step.other)
            self.check(x, needs, step.blocked)
            x.v[...] = v
            if not step.blocked:
                x.t[...] = t

    def view(self, x: Dual, step: Step) -> None:
        v = viewed(x.v, step.name, step.arg)
        t = viewed(x.t, step.name, step.arg)
        if not isinstance(v, np.ndarray) or (v.size and not np.may_share_memory(v, x.v)):
            self.result(np.asarray(v), np.asarray(t), x.memory.needs, step.blocked)
        elif x.memory.needs and step.blocked:
            self.handles.append(Dual(v, np.zeros(v.shape), Memory(), made_of=x.memory))
        else:
            # the tangents of a reshape must be a view where the values are
            assert not t.size or np.may_share_memory(t, x.t)
            self.handles.append(Dual(v, t, x.memory, x.made_of))

    def check(self, x: Dual, needs: bool, blocked: bool) -> None:
        if blocked:
            return
        needed = x.memory.needs or needs
        if x.made_of is not None and (needed or x.made_of.needs):
            raise Refused("while gradients were not recorded")
        if needed and x.memory.leaf:
            raise Refused("leaf")
        x.memory.needs = needed


# -- the same with tensors ----------------------------------------------------------------------------


def run_step(handles: list[Any], step: Step) -> None:
    """One statement on tensors."""
    with tj.no_grad() if step.blocked else contextlib.nullcontext():
        x = handles[step.x]
        other = handles[step.other[1]] if isinstance(step.other, tuple) else step.other
        if step.kind == "drop":
            handles[step.x] = None
        elif step.kind == "detach":
            handles.append(x.detach())
        elif step.kind == "view":
            handles.append(viewed(x, step.name, step.arg))
        elif step.kind == "read":
            handles.append(x[step.arg])
        elif step.kind == "op":
            result = TENSOR_UNARY[step.name](x) if other is None else BINARY[step.name][0](x, other)
            handles.append(result)
        elif step.kind == "set":
            x[step.arg] = other
        elif step.kind == "operator":
            before = x
            if step.name == "add":
                x += other
            elif step.name == "sub":
                x -= other
            elif step.name == "mul":
                x *= other
            else:
                x /= other * other + 1
            assert x is before
        elif other is None:
            assert getattr(x, step.name + "_")() is x
        else:
            value = other * other + 1 if step.name == "div" else other
            assert getattr(x, step.name + "_")(value) is x


# -- programs -----------------------------------------------------------------------------------------


class Maker:
    """Makes statements that fit the handles there are."""

    def __init__(self, rng: np.random.Generator, meaning: Meaning, *, detach: bool, block: bool) -> None:
        self.rng, self.meaning = rng, meaning
        self.detach, self.block = detach, block

    def live(self) -> list[int]:
        return [i for i, handle in enumerate(self.meaning.handles) if handle is not None]

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def shape(self, i: int) -> tuple[int, ...]:
        handle = self.meaning.handles[i]
        assert handle is not None
        return handle.v.shape

    def writable(self) -> list[int]:
        """The handles outside the memory of the leaves."""
        leaves = [handle.v for handle in self.meaning.handles[: len(LEAVES)] if handle is not None]
        results = []
        for i in self.live():
            dual = self.meaning.handles[i]
            assert dual is not None
            of_leaf = dual.memory.leaf or (dual.made_of is not None and dual.made_of.leaf)
            if not of_leaf and not any(np.may_share_memory(dual.v, leaf) for leaf in leaves):
                results.append(i)
        return results

    def basic(self, shape: tuple[int, ...]) -> Any:
        """A key without arrays."""
        key: list[Any] = []
        used = 0
        for extent in shape[: int(self.rng.integers(len(shape) + 1))]:
            kind, used = self.rng.integers(4), used + 1
            if kind == 0 and extent:
                key.append(int(self.rng.integers(-extent, extent)))
            elif kind == 1:
                key.append(slice(None, None, self.pick((-1, 2, -2))))
            else:
                low = int(self.rng.integers(0, extent + 1))
                key.append(slice(low or None, self.pick((None, extent, -1)) if extent > 1 else None))
        if self.rng.integers(4) == 0:
            key.insert(int(self.rng.integers(len(key) + 1)), None)
        if self.rng.integers(4) == 0:
            first = 0 if used == len(shape) else len(key)  # where it does not move the others to other axes
            key.insert(int(self.rng.integers(first, len(key) + 1)), Ellipsis)
        return key[0] if len(key) == 1 and self.rng.integers(2) else tuple(key)

    def arrays(self, shape: tuple[int, ...]) -> Any:
        """A key of one or two integer arrays, with duplicates, perhaps beside a slice."""
        picked = self.rng.integers(-shape[0], shape[0], int(self.rng.integers(1, 4)))
        if len(shape) > 1 and self.rng.integers(2):
            second = self.rng.integers(0, shape[1], picked.size)
            return (picked, second) if self.rng.integers(2) else (slice(None), second)
        return picked if self.rng.integers(2) else (picked, Ellipsis)

    def view(self, i: int) -> Step:
        shape = self.shape(i)
        if not shape and i >= len(LEAVES):  # a scalar, of which nothing is a view
            return Step("op", i, self.pick(list(UNARY)))
        name = self.pick(
            ("index", "index", "index", "reshape", "transpose", "squeeze", "unsqueeze", "diagonal")
        )
        arg: Any = None
        if name == "diagonal" and not (len(shape) == 2 and shape[0] == shape[1]):
            name = "index"
        if name == "unsqueeze" and len(shape) > 3:
            name = "squeeze"
        if name == "index":
            arg = self.basic(shape)
        elif name == "transpose":
            arg = tuple(int(axis) for axis in self.rng.permutation(len(shape)))
        elif name == "reshape":
            size = int(np.prod(shape))
            options = [(size,), (1, size), shape[::-1]]
            options += [(n, size // n) for n in (2, 3) if size % n == 0]
            arg = self.pick(options)
        return Step("view", i, name, arg)

    def other(self, target: tuple[int, ...], first: int | None = None) -> Any:
        """An operand that broadcasts to `target`: any handle, or a number."""
        fitting = [i for i in self.live() if _broadcasts(self.shape(i), target)]
        if first is not None and self.rng.integers(6) == 0:
            return ("handle", first)
        if not fitting or self.rng.integers(4) == 0:
            return float(np.round(self.rng.normal(), 2))
        return ("handle", self.pick(fitting[-6:] if self.rng.integers(2) else fitting))

    def write(self, i: int) -> Step:
        shape = self.shape(i)
        kind = self.pick(("method", "method", "operator", "set", "set"))
        if kind == "operator" and not shape:  # a scalar, which the operator does not write
            kind = "method"
        if kind == "method" and self.rng.integers(3) == 0:
            return Step("method", i, self.pick(list(UNARY)))
        if kind != "set":
            return Step(kind, i, self.pick(list(BINARY)), other=self.other(shape, i))
        if len(shape) and shape[0] and all(shape) and self.rng.integers(2):
            key = self.arrays(shape)
            if self.rng.integers(4) == 0:
                mask = self.rng.random(shape) < 0.5
                return Step("set", i, arg=mask, other=float(np.round(self.rng.normal(), 2)))
        else:
            key = self.basic(shape)
        target = np.empty(shape)[key].shape
        return Step("set", i, arg=key, other=self.other(target))

    def step(self) -> Step:
        live = self.live()
        kind = self.pick(("view", "view", "write", "write", "write", "op", "op", "read", "drop", "detach"))
        recent = self.pick(live[-5:] if self.rng.integers(2) else live)
        blocked = self.block and self.rng.integers(5) == 0
        step: Step
        if kind == "write":
            fresh = self.writable()
            if fresh and (blocked or self.rng.integers(30)):
                recent = self.pick(fresh[-4:] if self.rng.integers(2) else fresh)
            elif blocked:
                return Step("op", recent, "sin")
            step = self.write(recent)
        elif kind == "view":
            step = self.view(recent)
        elif kind == "read" and len(self.shape(recent)) and all(self.shape(recent)):
            step = Step("read", recent, arg=self.arrays(self.shape(recent)))
        elif kind == "drop" and recent >= len(LEAVES) and len(live) > len(LEAVES) + 3:
            return Step("drop", recent)
        elif kind == "detach" and self.detach:
            step = Step("detach", recent)
        elif self.rng.integers(2):
            step = Step("op", recent, self.pick(list(UNARY)))
        else:
            step = Step("op", recent, self.pick(list(BINARY)), other=self.other(self.shape(recent), recent))
        return dataclasses.replace(step, blocked=bool(blocked))


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False
