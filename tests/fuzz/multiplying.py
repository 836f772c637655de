"""Steps that multiply and add: matrix products, contractions, convolutions."""

from __future__ import annotations

from .choices import Choices, Unfit


class Multiplying(Choices):
    """Products of all ranks, einsum, convolutions, pools."""

    def matmul(self) -> None:
        x = self.find("iufc", 1, 4)
        data = self.array(x)
        k = data.shape[-1]
        n = int(self.choose((1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)))
        fits = [
            name
            for name in self.values
            if (y := self.array(name)).dtype == data.dtype and y.ndim > 0 and y.shape[-min(y.ndim, 2)] == k
            and (y.ndim < 3 or data.ndim < 3 or self.broadcasts(data.shape[:-2], y.shape[:-2]))
        ]  # fmt: skip
        if fits and self.chance(0.7):
            y = self.choose(fits)
        elif len(self.arguments) < 6 and k * n <= self.limit:
            y = self.argument((k, n), data.dtype.name)
        else:
            raise Unfit
        forms = [f"{x} @ {y}", f"xp.matmul({x}, {y})"]
        if data.ndim <= 2 and self.array(y).ndim <= 2:
            forms.append(f"xp.dot({x}, {y})")
        if data.ndim == 1 == self.array(y).ndim:
            forms += [f"xp.vdot({x}, {y})", f"xp.inner({x}, {y})", f"xp.vecdot({x}, {y})"]
        scale = "" if self.exact or data.dtype.kind not in "fc" else f" * {1 / max(1, k) ** 0.5:.3f}"
        self.define(f"({self.choose(forms)}){scale}")

    def outer(self) -> None:
        x, y = self.find("fc", 1, 2), self.find("fc", 1, 2)
        first, second = self.array(x), self.array(y)
        if first.size * second.size > self.limit or first.dtype != second.dtype:
            raise Unfit
        forms = [f"xp.outer({x}, {y})", f"xp.kron({x}, {y})"]
        if first.ndim == 1 == second.ndim:
            forms += [f"{x}[:, None] * {y}", f"xp.einsum('i,j->ij', {x}, {y})"]
        self.define(self.choose(forms))

    def einsum(self) -> None:
        x = self.find("fc", 2, 3)
        scale = "" if self.exact else " * 0.1"
        if self.array(x).ndim == 2:
            forms = [f"xp.einsum('ij,kj->ik', {x}, {x})", f"xp.einsum('ij->j', {x})",
                     f"xp.einsum('ij,ij->i', {x}, {x})",
                     f"xp.einsum('ij->ji', {x})", f"xp.tensordot({x}, {x}, axes=([0], [0]))", f"{x}.T @ {x}",
                     f"{x} @ xp.swapaxes({x}, 0, 1)"]  # fmt: skip
        else:
            forms = [f"xp.einsum('bij,bkj->bik', {x}, {x})", f"xp.einsum('bij->ij', {x})",
                     f"xp.einsum('bij,bij->b', {x}, {x})", f"{x} @ xp.swapaxes({x}, -1, -2)",
                     f"xp.tensordot({x}, {x}, axes=([0, 2], [0, 2]))"]  # fmt: skip
        self.define(f"{self.choose(forms)}{scale}")

    def convolve(self) -> None:
        x = self.find("f", 1, 4, nonempty=True, size=600)
        data = self.array(x)
        if self.special:
            raise Unfit
        channels, groups = int(self.choose((1, 1, 2, 3))), int(self.choose((1, 1, 2)))
        per = data.size // (channels * groups)
        if per < 1:
            raise Unfit
        height = max(1, min(per, int(self.choose((1, 2, 3, 5, 8)))))
        width = per // height
        outputs = int(self.choose((1, 2, 3, 5, 16))) * groups
        kernel = tuple(int(self.choose((1, 2, 3))) for _ in range(2))
        padding = (int(self.choose((0, 1, 2))), int(self.choose((0, 1))))
        stride, dilation = int(self.choose((1, 1, 2))), int(self.choose((1, 1, 2)))
        if (
            height + 2 * padding[0] < dilation * (kernel[0] - 1) + 1
            or width + 2 * padding[1] < dilation * (kernel[1] - 1) + 1
        ):
            raise Unfit
        shape = (outputs, channels, *kernel)
        weight = self.fresh(shape, data.dtype.name)
        images = (1, channels * groups, height, width)
        image = f"xp.reshape(xp.ravel({x})[:{channels * groups * height * width}], {images})"
        scale = "" if self.exact else " * 0.1"
        self.define(
            f"xp.nn.conv2d({image}, xp.asarray({weight}), None, {stride}, {padding}, {dilation}, {groups})"
            + scale
        )

    def pool(self) -> None:
        x = self.find("f", 3, 4, nonempty=True)
        size, stride = int(self.choose((1, 2, 3))), int(self.choose((1, 2, 3)))
        if min(self.array(x).shape[-2:]) < size:
            raise Unfit
        name = "max_pool2d" if self.exact else self.choose(("max_pool2d", "avg_pool2d"))
        self.define(f"xp.nn.{name}({x}, {size}, {stride})")
