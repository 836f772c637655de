"""Steps with functions inside: loops, branches, and transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracejit as tj

from .choices import Unfit, Values
from .steps import Steps


class Loops(Steps):
    """Scans, loops, branches, maps and gradients of small bodies."""

    def _body(self, shape: tuple[int, ...]) -> Callable[[Any, Any], Any]:
        """A step of a loop: carry and something of its shape to carry."""
        n = shape[0] if shape else 0
        last = shape[-1] if shape else 0
        k = int(self.rng.integers(n)) if n else 0
        plain: list[Any] = [
            lambda c, x: (c + x) % 7,
            lambda c, x: tj.maximum(c, x) - 1,
            lambda c, x: (c * 2 + x) % 5 - 2,
            lambda c, x: tj.where(c > x, c - 1, x),
        ]
        if n:

            def written(c: Any, x: Any) -> Any:
                c = c.copy()
                c[k] = x[0] + 1
                return c

            plain += [
                lambda c, x: tj.sort(c - x, -1) % 6,
                lambda c, x: tj.roll(c, 1, 0) - x % 3,
                lambda c, x: (tj.cumsum(c, -1) + x) % 7,
                lambda c, x: (c - tj.sum(x, axis=0)) % 9 - 4,
                lambda c, x: tj.flip(c, -1) + x % 3,
                lambda c, x: (c + tj.max(c, axis=-1, keepdims=True) * x) % 7 if last else c,
                written,
            ]
        return self.choose(plain)  # type: ignore[no-any-return]

    def scan(self) -> None:
        i = self.find("f", 1, 3)
        x = self.values[i]
        if x.shape[0] > 40:
            raise Unfit
        body, back, stacked = self._body(x.shape[1:]), self.chance(0.3), self.chance(0.5)
        last = self._body(x.shape[1:])

        def step(v: Values) -> Any:
            def one(c: Any, y: Any) -> Any:
                new = body(c, y)
                return new, last(new, c)

            end, ys = tj.scan(one, tj.zeros(x.shape[1:], dtype=x.dtype), v[i], reverse=back)
            return ys if stacked else end

        self.add("scan", step)

    def loop(self) -> None:
        i = self.find("f")
        j = self.partner(i, same=True)
        body, count = self._body(self.values[i].shape), int(self.choose([0, 1, 2, 5]))
        n = self.values[i].shape[0] if self.values[i].ndim else 0
        updates = n > 0 and self.chance(0.5)

        def step(v: Values) -> Any:
            def one(k: Any, c: Any) -> Any:
                c = body(c, v[j])
                if updates:
                    c = c.copy()
                    c[k % n] = c[(k + 1) % n] - 1
                return c

            return tj.fori_loop(0, count, one, v[i])

        self.add("fori_loop", step)

    def until(self) -> None:
        i = self.find("f", nonempty=True)
        body = self._body(self.values[i].shape)

        def step(v: Values) -> Any:
            def more(state: Any) -> Any:
                return (state[0] < 6) & (tj.sum(state[1]) % 5 != 2)

            def one(state: Any) -> Any:
                return state[0] + 1, body(state[1], v[i])

            return tj.while_loop(more, one, (0, v[i]))[1]

        self.add("while_loop", step)

    def branch(self) -> None:
        i = self.find("f", nonempty=True)
        one, two = self._body(self.values[i].shape), self._body(self.values[i].shape)
        self.add("cond", lambda v: tj.cond(tj.sum(v[i]) % 2 == 0, one, two, v[i], v[i]))

    def mapped(self) -> None:
        i = self.find("f", 1, 3)
        j = self.partner(i, same=True)
        body = self._body(self.values[i].shape[1:])
        axis = int(self.rng.integers(-1, self.values[i].ndim))
        if axis > 0 and self.chance(0.6):
            axis = 0
        if axis > 0:
            shape = list(self.values[i].shape)
            del shape[axis]
            body = self._body(tuple(shape))
        if axis < 0:
            self.add("vmap", lambda v: tj.vmap(body)(v[i], v[j]))
        else:
            self.add("vmap", lambda v: tj.vmap(body, in_axes=axis, out_axes=0)(v[i], v[j]))

    def associative(self) -> None:
        i = self.find("f", 1, 3)
        f = self.choose([tj.maximum, tj.minimum, tj.add])
        self.add("associative_scan", lambda v: tj.associative_scan(f, v[i]))

    def differentiate(self) -> None:
        i = self.find("f", 0, 3)
        body = self._body(self.values[i].shape)
        j = self.partner(i, same=True)

        def step(v: Values) -> Any:
            return tj.grad(lambda x: tj.sum(body(x, v[j]) * v[j] + body(v[j], x)))(v[i])

        self.add("grad", step)
