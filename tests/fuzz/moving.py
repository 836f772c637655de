"""Steps that move elements: views, indexing, joining, writes in place, creation."""

from __future__ import annotations

import math

import numpy as np

from .choices import Choices, Unfit
from .known import gated


class Moving(Choices):
    """Shapes, slices, gathers, scatters, writes."""

    def key(self, shape: tuple[int, ...], *, arrays: bool = False) -> str:
        """The text of an index into an array of this shape."""
        parts = []
        for n in shape[: self.integer(1, len(shape))]:
            step = int(self.choose((1, 1, 2, 3, -1, -1, -2)))
            low, high = sorted(int(i) for i in self.rng.integers(0, n + 1, 2))
            forms = [":", ":", "1:", ":-1", f"::{step}", f"{low}:{high}"]
            forms.append(
                f"{high - 1}:{low - 1 if low else ''}:{step}"
                if step < 0 and high
                else f"{low}:{high}:{abs(step)}"
            )
            if n:
                forms += [str(self.integer(-n, n - 1))] * 2
            parts.append(str(self.choose(forms)))
        if arrays and shape[0]:
            axis = self.integer(0, len(parts) - 1)
            if shape[axis]:
                parts[axis] = self.indices(shape[axis])
        if self.chance(0.15):
            parts.insert(self.integer(0, len(parts)), "None")
        if self.chance(0.15):
            parts.insert(self.choose((0, len(parts))), "...")
            if parts[0] == "..." and len(parts) - 1 - parts.count("None") != len(shape):
                parts.pop(0)
        return ", ".join(parts)

    def indices(self, n: int) -> str:
        """The text of an array of places below n, with duplicates."""
        count = int(self.choose((0, 1, 3, 3, 5, 8, 17, 40)))
        values = [int(i) for i in self.rng.integers(-n, n, count)]
        return f"np.array({values}, dtype=np.int64)"

    def view(self) -> None:
        x = self.find("biufc", 1)
        self.define(f"{x}[{self.key(self.array(x).shape)}]")

    def gather(self) -> None:
        x = self.find("biufc", 1, nonempty=True)
        shape = self.array(x).shape
        n = shape[0]
        forms = [f"{x}[{self.key(shape, arrays=True)}]", f"xp.take({x}, {self.indices(n)}, axis=0)"]
        if len(shape) > 1:
            a = self.axis(x)
            forms.append(f"xp.take({x}, {self.indices(shape[a])}, axis={a})")
            count = self.integer(1, 4)
            pairs = [[int(i) for i in self.rng.integers(0, m, count)] for m in shape[:2]]
            forms.append(f"{x}[np.array({pairs[0]}), np.array({pairs[1]})]")
        self.define(self.choose(forms))

    def gather_traced(self) -> None:
        """Indices that the program computes."""
        x, i = self.find("biufc", 1, nonempty=True), self.find("iu")
        n = self.array(x).shape[0]
        if (
            self.array(i).dtype == np.uint64
            or n > 100
            or self.array(x).size // n * self.array(i).size > self.limit
        ):
            raise Unfit
        # of rank 0, NumPy computes scalars, and views what they index; tensors and arrays index copies
        self.define(self.choose((f"{x}[xp.asarray({i} % {n})]", f"xp.take({x}, {i} % {n}, axis=0)")))

    def reshape(self) -> None:
        x = self.find("biufc")
        shape, size = self.array(x).shape, self.array(x).size
        parts = [n for n in (2, 3, 4, 5, 8) if size % n == 0 and size]
        forms = ["(-1,)", f"({size},)", f"(1, {size})", f"({size}, 1)", str(shape[::-1])]
        forms += [f"({n}, {size // n})" for n in parts] + [f"({size // n}, {n})" for n in parts]
        text = self.choose(forms)
        self.define(
            self.choose(
                (
                    f"{x}.reshape({text})",
                    f"xp.reshape({x}, {text})",
                    f"xp.ravel({x})",
                    f"{x}.flatten()",
                    f"xp.flatten({x})",
                )
            )
        )

    def transpose(self) -> None:
        x = self.find("biufc", 1)
        ndim = self.array(x).ndim
        order = tuple(int(a) for a in self.rng.permutation(ndim))
        a, b = self.axis(x), self.axis(x)
        forms = [f"{x}.transpose({order})", f"xp.transpose({x})", f"{x}.T", f"xp.swapaxes({x}, {a}, {b})",
                 f"xp.moveaxis({x}, {a}, {b})", f"xp.rollaxis({x}, {a}, {b})", f"xp.expand_dims({x}, {a})",
                 f"xp.squeeze({x})", f"xp.permute_dims({x}, {order})"]  # fmt: skip
        if ndim > 1:
            forms += [f"xp.matrix_transpose({x})", f"xp.rot90({x})"]
        self.define(self.choose(forms))

    def rearrange(self) -> None:
        x = self.find("biufc", 1)
        data = self.array(x)
        a, k = self.axis(x), self.integer(-5, 5)
        n = data.shape[a]
        forms = [f"xp.flip({x}, {a})", f"xp.roll({x}, {k}, {a})", f"xp.roll({x}, {k})",
                 f"xp.repeat({x}, 2, {a})",
                 f"xp.tile({x}, 2)", f"xp.flip({x})", f"xp.atleast_2d({x})", f"xp.copy({x})"]  # fmt: skip
        if data.ndim > 1:
            forms += [f"xp.tril({x})", f"xp.triu({x}, 1)", f"xp.fliplr({x})", f"xp.flipud({x})"]
        if data.ndim == 2:
            forms += [f"xp.diagonal({x})", f"xp.diag({x})", f"xp.diagonal({x}, -1)"]
        if data.ndim == 1 and data.size < 40:
            forms += [f"xp.diag({x})", f"xp.diagflat({x}, 1)"]
        if n:
            counts = [int(c) for c in self.rng.integers(0, 3, n)]
            forms.append(f"xp.repeat({x}, np.array({counts}), {a})" if n < 20 else f"xp.tile({x}, (2, 1))")
        self.define(self.choose(forms))

    def pad(self) -> None:
        x = self.find("iufc", 1)
        shape = self.array(x).shape
        widths = [(self.integer(0, 2), self.integer(0, 2)) for _ in shape]
        modes = ["constant"] + (["edge", "reflect", "symmetric", "wrap"] if min(shape) > 2 else [])
        mode = self.choose(modes)
        values = f", constant_values={self.choose((1, -2)) if self.array(x).dtype.kind != 'u' else 1}"
        self.define(
            f"xp.pad({x}, {widths}, mode='{mode}'{values if mode == 'constant' and self.chance(0.5) else ''})"
        )

    def broadcast(self) -> None:
        x = self.find("biufc")
        shape = tuple(self.dimension() if n == 1 and self.chance(0.6) else n for n in self.array(x).shape)
        shape = (*(self.dimension() for _ in range(self.integer(0, 2))), *shape)
        if math.prod(shape) > self.limit:
            raise Unfit
        self.define(f"xp.broadcast_to({x}, {shape})")

    def join(self) -> None:
        x = self.find("biufc", 1)
        y, a = self.partner(x, same=True), self.axis(x)
        forms = [f"xp.concatenate([{x}, {y}], axis={a})", f"xp.stack([{x}, {y}, {x}], axis={a})",
                 f"xp.hstack([{x}, {y}])", f"xp.vstack([{x}, {y}])",
                 f"xp.concat([{y}, {x}, {x}], axis={a})"]  # fmt: skip
        other = self.find("biufc", 1)
        if self.array(other).ndim == 1 and self.array(x).ndim == 1:
            forms.append(f"xp.concatenate([{x}, {other}])")
        if self.array(x).dtype.kind == "f" and not self.special:
            forms.append(f"xp.stack([{x}.sum(), {y}.sum()])")
        self.define(self.choose(forms))

    def split(self) -> None:
        x = self.find("biufc", 1)
        a = self.axis(x)
        n = self.array(x).shape[a]
        if n % 2 == 0 and n:
            self.append(f"{{}}, {{}} = xp.split({x}, 2, axis={a})", 2)
        elif n == 3:
            self.append(f"{{}}, {{}}, {{}} = xp.unstack({x}, axis={a})", 3)
        else:
            self.append(f"{{}}, {{}} = xp.array_split({x}, 2, axis={a})", 2)

    def create(self) -> None:
        x = self.find("f")
        shape, dtype = self.shape(), self.float_dtype()
        n = self.integer(1, 20)
        forms = [f"xp.zeros_like({x})", f"xp.ones({shape}, dtype='{dtype}')",
                 f"xp.full({shape}, {self.number()})",
                 f"xp.arange({n})", f"xp.arange({n}, dtype='{dtype}')", f"xp.eye({n}, dtype='{dtype}')",
                 f"xp.full_like({x}, 2)", f"xp.tri({n})", f"xp.ones_like({x})", f"xp.identity({n})",
                 f"xp.zeros({shape})", f"xp.asarray({self.fresh(shape, dtype)})"]  # fmt: skip
        if not self.exact:
            forms += [f"xp.linspace(-1, 1, {n})", f"xp.logspace(-1, 1, {n})", f"xp.geomspace(0.1, 2, {n})"]
        self.define(self.choose(forms))

    def grid(self) -> None:
        x, y = self.find("f", 1, 1), self.find("f", 1, 1)
        if self.array(x).size * self.array(y).size > self.limit:
            raise Unfit
        text = self.choose(
            (
                "xp.meshgrid({0}, {1})",
                "xp.meshgrid({0}, {1}, indexing='ij')",
                "xp.broadcast_arrays({0}[:, None], {1})",
            )
        )
        self.append("{}, {} = " + text.format(x, y), 2)

    # -- writes -------------------------------------------------------------------------------------

    def written(self) -> str:
        """A value that may be written: one of the program's own, or a copy made for it."""
        x = self.find("iufc", 1)
        if self.writable(x) and self.chance(0.6):
            return x
        return self.define(self.choose((f"{x}.copy()", f"xp.copy({x})", f"{x} + 0")))

    def write_in_place(self) -> None:
        x = self.written()
        data = self.array(x)
        key = self.key(data.shape, arrays=self.chance(0.3))
        target = eval(f"x[{key}]", {"x": data, "np": np})
        fits = [
            name
            for name in self.values
            if (y := self.array(name)).dtype == data.dtype and _into(y.shape, np.shape(target))
        ]
        value = (
            self.choose(fits[-6:])
            if fits and self.chance(0.6)
            else {"f": "0.5", "c": "2j"}.get(data.dtype.kind, "1")
        )
        if self.exact and value == "0.5":
            value = "2.0"
        # NumPy adds once where an index occurs twice: only sets are the same everywhere
        operator = "=" if "np.array" in key else self.choose(("=", "=", "+=", "-=", "*="))
        if value == x or (value.startswith("v") and np.may_share_memory(self.array(value), data)):
            value = f"{value}.copy()"
        if "np.array" in key and value.startswith(("v", "a")):
            value = "1"  # of elements set twice, any may stay
        self.write(f"{x}[{key}] {operator} {value}", x)

    def write_argument(self) -> None:
        """A write to what the caller gave."""
        fits = [a.name for a in self.arguments if self.array(a.name).ndim and a.dtype != "bool"]
        fits = [a.name for a in self.arguments if a.name in fits and "readonly" not in a.expression
                and "repeated" not in a.expression]  # fmt: skip
        if gated("written argument") or not fits:
            raise Unfit
        x = str(self.choose(fits))
        form = self.choose(
            (
                f"{x}[{self.key(self.array(x).shape)}] = 1",
                f"{x} += 2",
                f"{x}[...] = {x} * 2",
                f"{x}[-1:] -= 1",
            )
        )
        self.write(form, x)
        self.features.add("written argument")

    def remake(self) -> None:
        """A copy by the constructor."""
        self.define(f"xp.array({self.find('biufc')})", "array of tensor")

    def augment(self) -> None:
        x = self.written()
        y = self.number() if self.array(x).dtype.kind in "fc" else 2
        fits = [
            name
            for name in self.values
            if self.array(name).dtype == self.array(x).dtype
            and _into(self.array(name).shape, self.array(x).shape)
            and not np.may_share_memory(self.array(name), self.array(x))
        ]  # fmt: skip
        operand = self.choose(fits) if fits and self.chance(0.7) else y
        self.write(f"{x} {self.choose(('+=', '-=', '*='))} {operand}", x)

    def update(self) -> None:
        """Writes that make a new array."""
        x = self.find("iufc", 1, nonempty=True)
        data = self.array(x)
        n = data.shape[0]
        name = self.choose(("index_update", "index_add"))
        at = self.indices(n) if self.chance(0.5) else f"slice(1, None, {self.integer(1, 2)})"
        self.define(f"xp.{name}({x}, {at}, {1 if data.dtype.kind not in 'fc' else self.number()})")

    def masked(self) -> None:
        """Writes where a mask says so."""
        x = self.written()
        data = self.array(x)
        c = self.integer(0, 2)
        value = 1 if data.dtype.kind not in "fc" else self.number()
        self.write(f"{x}[{x} > {c}] = {value}", x)

    def columns(self) -> None:
        """A narrow last dimension, taken apart and put together."""
        x = self.find("f", 1, nonempty=True)
        n = self.array(x).shape[-1]
        if not 2 <= n <= 5 or self.special:
            raise Unfit
        parts = [f"{x}[..., {i}] * {x}[..., {(i + 1) % n}] - {x}[..., {(i + 2) % n}]" for i in range(n)]
        self.define(f"xp.stack([{', '.join(parts)}], -1)")


def _into(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False
