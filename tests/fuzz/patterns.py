"""Steps that people write: pairwise differences, attention, losses, recurrences, covariance."""

from __future__ import annotations

from .choices import Choices, Unfit


class Patterns(Choices):
    """Several statements each, over shapes where such patterns occur."""

    def matrix(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> str:
        """A float matrix of about this shape: a value that fits, or a new argument."""
        fits = [
            name
            for name in self.values
            if (x := self.array(name)).dtype.kind == "f"
            and x.ndim == 2
            and x.shape[0] in rows
            and x.shape[1] in columns
        ]
        if fits and self.chance(0.5):
            return str(self.choose(fits))
        if len(self.arguments) > 4:
            raise Unfit
        return self.argument(
            (self.integer(min(rows), max(rows)), int(self.choose(columns))), self.float_dtype()
        )

    def inexact(self) -> None:
        if self.exact:
            raise Unfit

    def pairwise(self) -> None:
        """Energies of points with a few coordinates: Gaussian, Coulomb, L1, nearest neighbours."""
        self.inexact()
        x = self.matrix(tuple(range(2, 41)), (1, 2, 3, 4, 5))
        d = self.define(f"{x}[:, None, :] - {x}[None, :, :]", "pairwise")
        forms = [f"xp.sum(xp.exp(-xp.sum({d} * {d}, -1)))",
                 f"xp.sum(1 / xp.sqrt(xp.sum({d} * {d}, -1) + 0.1)) * 0.1",
                 f"xp.mean(xp.sum(xp.abs({d}), -1))", f"xp.exp(-0.5 * xp.sum({d} ** 2, axis=-1))",
                 f"xp.min(xp.sum({d} * {d}, -1) + 9 * xp.eye({self.array(x).shape[0]}), axis=1)",
                 f"xp.sum(xp.exp(-xp.sqrt(xp.sum({d} * {d}, -1) + 0.01)), axis=0)"]  # fmt: skip
        self.define(self.choose(forms), "pairwise")

    def attention(self) -> None:
        self.inexact()
        x = self.matrix(tuple(range(2, 20)), (2, 3, 4, 5, 8, 16))
        k = self.array(x).shape[1]
        s = self.define(f"{x} @ {x}.T / {k**0.5:.3f}")
        if self.chance(0.4):
            n = self.array(x).shape[0]
            s = self.define(f"xp.where(xp.tril(xp.ones(({n}, {n}))) > 0, {s}, -50.0)")
        p = self.define(
            self.choose(
                (f"xp.nn.softmax({s}, -1)", f"xp.exp({s} - xp.logsumexp({s}, axis=-1, keepdims=True))")
            )
        )
        self.define(f"{p} @ {x}")

    def layer(self) -> None:
        """A dense layer and what often follows it."""
        self.inexact()
        x = self.find("f", 2, 3)
        data = self.array(x)
        if len(self.arguments) > 4:
            raise Unfit
        n, k = int(self.choose((1, 2, 3, 5, 8, 10, 16, 33))), data.shape[-1]
        if k * n > self.limit:
            raise Unfit
        w, b = self.argument((k, n), data.dtype.name), self.argument((n,), data.dtype.name)
        h = self.define(f"{x} @ {w} * {1 / max(k, 1) ** 0.5:.3f} + {b}")
        self.define(
            self.choose((f"xp.nn.relu({h})", f"xp.tanh({h})", f"xp.nn.gelu({h})",
            f"xp.nn.layer_norm({h}, {(n,)})",
                         f"xp.nn.silu({h}) + {h}",
                         f"xp.nn.linear({h}, xp.ones((2, {n}), dtype='{data.dtype}')) * 0.1"))
        )  # fmt: skip

    def loss(self) -> None:
        self.inexact()
        x = self.find("f", 1, 3, nonempty=True)
        y = self.partner(x, same=True)
        forms = [f"xp.nn.mse_loss({x}, {y})", f"xp.nn.l1_loss({x}, {y})", f"xp.nn.huber_loss({x}, {y})",
                 f"xp.mean(({x} - {y}) ** 2)", f"xp.sum(xp.abs({x} - {y})) * 0.01",
                 f"xp.nn.binary_cross_entropy_with_logits({x}, xp.nn.sigmoid({y}))"]  # fmt: skip
        if self.array(x).ndim == 2:
            n, classes = self.array(x).shape
            labels = [int(i) for i in self.rng.integers(0, classes, n)] if n < 50 else None
            if labels is not None:
                forms += [f"xp.nn.cross_entropy({x}, np.array({labels}))"] * 2
        self.define(self.choose(forms))

    def covariance(self) -> None:
        self.inexact()
        x = self.find("f", 2, 2, nonempty=True)
        n = self.array(x).shape[0]
        if self.array(x).shape[1] ** 2 > self.limit:
            raise Unfit
        c = self.define(f"{x} - xp.mean({x}, axis=0)")
        self.define(self.choose((f"{c}.T @ {c} / {n}", f"xp.einsum('ij,ik->jk', {c}, {c}) / {n}",
        f"xp.var({x}, axis=0)",
                                 f"{c} / (xp.std({x}, axis=0) + 0.1)")))  # fmt: skip

    def recurrence(self) -> None:
        """A cell with a matrix, scanned."""
        self.inexact()
        x = self.matrix(tuple(range(1, 18)), (1, 2, 3, 4, 5, 8, 16))
        n, k = self.array(x).shape[1], len(self.statements)
        if len(self.arguments) > 4:
            raise Unfit
        dtype = self.array(x).dtype.name
        w = self.argument((n, n), dtype)
        self.append(
            f"def cell{k}(h, x):\n    h = xp.tanh(h @ {w} * 0.3 + x)\n    return h, xp.sum(h * h)\n"
            f"{{}}, {{}} = xp.scan(cell{k}, xp.zeros({n}, dtype='{dtype}'), {x})",
            2, "scan",
        )  # fmt: skip

    def regression(self) -> None:
        """A loss over many rows of few columns."""
        self.inexact()
        columns = int(self.choose((1, 2, 3, 4, 5, 8, 13)))
        rows = int(self.choose((5, 33, 100, 257, 512, 600)))
        if len(self.arguments) > 3 or rows * columns > self.limit:
            raise Unfit
        dtype = self.float_dtype()
        x, w, y = (
            self.argument((rows, columns), dtype),
            self.argument((columns,), dtype),
            self.argument((rows,), dtype),
        )
        r = self.define(f"{x} @ {w} - {y}")
        self.define(self.choose((f"xp.mean({r} * {r})", f"xp.mean(xp.log1p(xp.exp(-{y} * ({x} @ {w}))))",
        f"xp.sum({r} ** 2) / {rows}",
                                 f"{x}.T @ {r} / {rows}")))  # fmt: skip

    def polynomial(self) -> None:
        """A long chain of arithmetic on one value."""
        self.inexact()
        x = self.find("f")
        text = "0.1"
        for _ in range(self.integer(3, 9)):
            text = f"({text}) * xp.sin({x}) + {self.number()}"
        self.define(text)

    def finite_difference(self) -> None:
        """A stencil: a step of the heat equation."""
        self.inexact()
        x = self.find("f", 1, 2, nonempty=True)
        if min(self.array(x).shape) < 3:
            raise Unfit
        if self.array(x).ndim == 1:
            self.define(f"{x}[1:-1] + 0.1 * ({x}[2:] - 2 * {x}[1:-1] + {x}[:-2])")
        else:
            self.define(
                f"{x}[1:-1, 1:-1] + 0.1 * ({x}[2:, 1:-1] + {x}[:-2, 1:-1] + {x}[1:-1, 2:]"
                f" + {x}[1:-1, :-2] - 4 * {x}[1:-1, 1:-1])"
            )
