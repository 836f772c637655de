"""Steps that fold, scan and sort along axes."""

from __future__ import annotations

import math

from .choices import Choices, Unfit

FOLDS = ("sum", "sum", "mean", "max", "min", "amax", "amin", "prod", "var", "std", "ptp", "nansum", "nanmean")
EXACT_FOLDS = ("sum", "max", "min", "amax", "amin", "ptp", "nansum", "count_nonzero")


class Folding(Choices):
    """Reductions, running sums and extrema, sorts, searches, statistics."""

    def axes(self, x: str) -> str:
        """The text of some axes: one, a tuple, or None for all."""
        ndim = self.array(x).ndim
        if ndim == 0 or self.chance(0.2):
            return "None"
        if ndim > 1 and self.chance(0.3):
            count = self.integer(1, ndim)
            return str(tuple(int(a) for a in self.rng.permutation(ndim)[:count]))
        return str(self.axis(x))

    def count(self, x: str, axes: str) -> int:
        """Number of elements that a fold over these axes takes."""
        shape = self.array(x).shape
        chosen = eval(axes)
        if chosen is None:
            return math.prod(shape)
        return math.prod(shape[a] for a in (chosen if isinstance(chosen, tuple) else (chosen,)))

    def reduce(self) -> None:
        x = self.find("biufc")
        axes, kind = self.axes(x), self.array(x).dtype.kind
        count = self.count(x, axes)
        if kind == "b":
            name = self.choose(("any", "all", "sum", "count_nonzero"))
        elif kind in "iu":
            name = self.choose(("sum", "max", "min", "prod", "count_nonzero", "any", "all"))
        elif kind == "c":
            names = ("sum", "max", "min", "count_nonzero", "any")
            name = self.choose(
                names if self.exact else (*names, "sum", "mean", "prod", "var", "std", "nansum")
            )
        else:
            name = self.choose(EXACT_FOLDS if self.exact else FOLDS)
        if (count == 0 and name not in ("sum", "prod", "nansum", "any", "all", "count_nonzero")) or (
            name == "prod" and kind in "fc" and count > 20
        ):
            raise Unfit
        keep = ", keepdims=True" if self.chance(0.4) else ""
        extra = ", ddof=1" if name in ("var", "std") and count > 1 and self.chance(0.3) else ""
        if name in ("sum", "mean", "max", "min", "prod", "any", "all", "var") and self.chance(0.3):
            self.define(f"{x}.{name}({axes}{', ' if axes == '' else ''}{keep})")
            return
        self.define(f"xp.{name}({x}, axis={axes}{extra}{keep})")

    def normalised(self) -> None:
        """The rows or columns, less their mean or maximum, over what they add up to."""
        x = self.find("f", 1, nonempty=True)
        a = self.axis(x)
        fold = f"axis={a}, keepdims=True"
        if self.exact:
            self.define(f"{x} - xp.max({x}, {fold})")
            return
        self.define(
            self.choose(
                (
                    f"{x} - xp.mean({x}, {fold})",
                    f"{x} / (1 + xp.sum(xp.abs({x}), {fold}))",
                    f"({x} - xp.mean({x}, {fold})) / xp.sqrt(xp.var({x}, {fold}) + 1e-2)",
                    f"xp.nn.softmax({x}, {a})",
                    f"xp.nn.log_softmax({x}, {a})",
                    f"xp.nn.normalize({x} + 2.5, axis={a})",
                    f"xp.nn.layer_norm({x}, {self.array(x).shape[-1:]})",
                    f"xp.logsumexp({x}, axis={a})",
                    f"xp.exp({x} - xp.max({x}, {fold}))",
                )
            )
        )

    def running(self) -> None:
        x = self.find("iufc", 1)
        a, kind = self.axis(x), self.array(x).dtype.kind
        if kind == "c":
            forms = [
                f"xp.cumsum({x}, {a})",
                f"xp.cumsum({x}, axis={a}, reverse=True)",
                f"xp.diff({x}, axis={a})",
            ]
            if not self.exact:
                forms.append(f"xp.cumprod({x} / (1 + xp.abs({x})), {a})")
            self.define(self.choose(forms))
            return
        forms = [f"xp.cumsum({x}, {a})", f"xp.cumsum({x}, axis={a}, reverse=True)", f"xp.cummax({x}, {a})",
                 f"xp.cummin({x}, axis={a}, reverse=True)", f"xp.cumsum({x})"]  # fmt: skip
        if self.array(x).size < 100:
            forms.append(f"{x}.cumsum({a})")
        if kind != "f" or not self.exact:
            forms.append(f"xp.cumprod(xp.clip({x}, 0, 1), {a})")
        if kind == "f" and not self.special:
            forms.append(f"xp.diff({x}, axis={a})")
        if kind == "f" and self.special:
            forms = [text for text in forms if "cumsum" not in text]
        self.define(self.choose(forms))

    def arg(self) -> None:
        x = self.find("biufc", 1, nonempty=True)
        name = self.choose(("argmax", "argmin"))
        a = self.choose((str(self.axis(x)), "None"))
        self.define(f"xp.{name}({x}, axis={a}{', keepdims=True' if self.chance(0.2) else ''})")

    def sort(self) -> None:
        x = self.find("biufc", 1)
        a = self.axis(x)
        forms = [
            f"xp.sort({x}, axis={a})",
            f"xp.sort({x}, {a})[..., ::-1]",
            f"xp.flip(xp.sort({x}, {a}), {a})",
        ]
        if self.array(x).ndim == 1 and self.exact:
            forms.append(f"xp.lexsort(({x} > 1, {x}))")
        forms.append(f"xp.argsort({x}, axis={a}, kind='stable')")
        forms.append(f"xp.take_along_axis({x}, xp.argsort({x}, axis={a}, kind='stable'), {a})")
        self.define(self.choose(forms))

    def order_statistics(self) -> None:
        x = self.find("f", 1, nonempty=True)
        if self.special:
            raise Unfit
        a = self.axis(x)
        n = self.array(x).shape[a]
        k = self.integer(0, n - 1)
        forms = [f"xp.median({x}, axis={a})", f"xp.sort(xp.partition({x}, {k}, axis={a}), {a})",
                 f"xp.take(xp.partition({x}, {k}, {a}), {k}, axis={a})", f"xp.median({x})"]  # fmt: skip
        if not self.exact:
            forms += [f"xp.quantile({x}, {self.choose((0.0, 0.3, 0.75, 1.0))}, axis={a})",
                      f"xp.percentile({x}, {self.choose((10, 50, 90))}, axis={a}, keepdims=True)",
                      f"xp.quantile({x}, np.array([0.25, 0.5]), axis={a})", f"xp.average({x}, axis={a})",
                      f"xp.average({x}, axis={a}, weights=np.arange(1.0, {n + 1}))"]  # fmt: skip
        self.define(self.choose(forms))

    def counts(self) -> None:
        x = self.find("i")
        if self.array(x).dtype == "uint64":
            raise Unfit
        self.define(f"xp.bincount(xp.ravel({x}) % 5, length={self.choose((3, 5, 8))})")

    def search(self) -> None:
        x = self.find("f", 1, nonempty=True)
        y = self.find("f")
        if self.special or self.array(x).dtype != self.array(y).dtype:
            raise Unfit
        side = self.choose(("left", "right"))
        self.define(f"xp.searchsorted(xp.sort(xp.ravel({x})), {y}, side='{side}')")
