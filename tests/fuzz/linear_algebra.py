"""Steps of linear algebra and Fourier transforms, of well-conditioned matrices made of a program's values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .choices import Choices, Unfit

#: Rows of matrices, and axes of batches.
SIZES = (1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 31, 32, 33)
#: Functions of a Hermitian positive definite matrix `m` of `n` rows, made invariant where not unique.
OF_DEFINITE = (
    "xp.linalg.cholesky({m})", "xp.linalg.cholesky({m}, upper=True)", "xp.linalg.inv({m})",
    "xp.linalg.eigvalsh({m})", "xp.linalg.eigh({m})[0]", "xp.log(xp.linalg.eigvalsh({m}) + 1.5)",
    "xp.linalg.slogdet({m})[1]", "xp.linalg.det({m} / 2.0)", "xp.linalg.svdvals({m})",
    "xp.diagonal(xp.linalg.cholesky({m}), 0, -2, -1)", "xp.linalg.trace({m})",
    "xp.linalg.matrix_power({m}, -2)",
    "xp.linalg.eigvalsh({m}, UPLO='U')", "xp.linalg.inv({m}) @ {m}",
)  # fmt: skip
#: Functions of a matrix `g` near the unit matrix, not symmetric.
OF_GENERAL = (
    "xp.linalg.inv({g})", "xp.linalg.det({g})", "xp.linalg.slogdet({g})[1]", "xp.linalg.pinv({g})",
    "xp.linalg.norm({g}, axis=(-2, -1))", "xp.linalg.matrix_norm({g}, ord=1)",
    "xp.linalg.vector_norm({g}, axis=-1)",
    "xp.linalg.matrix_power({g}, 3)", "xp.linalg.matrix_transpose({g})", "xp.abs(xp.linalg.qr({g})[1])",
    "xp.linalg.svd({g}, compute_uv=False)", "xp.linalg.norm({g}, 2, (-2, -1))", "xp.linalg.matrix_rank({g})",
    "xp.linalg.cond({g}, 1)",
)  # fmt: skip
#: Functions with a right side `b`.
SOLUTIONS = (
    "xp.linalg.solve({m}, {b})", "xp.linalg.solve({g}, {b})", "xp.linalg.inv({m}) @ {b}",
    "xp.linalg.solve(xp.linalg.cholesky({m}), {b})", "xp.linalg.cholesky({m}) @ {b}",
    "xp.scipy.linalg.solve_triangular({g}, {b})",
    "xp.scipy.linalg.solve_triangular({g}, {b}, lower=True, trans='T')",
    "xp.scipy.linalg.cho_solve((xp.linalg.cholesky({m}), True), {b})",
    "xp.scipy.linalg.solve_triangular(xp.linalg.cholesky({m}), {b}, lower=True)",
    "xp.linalg.solve({m}, xp.linalg.solve({m}, {b}))",
)  # fmt: skip
#: Right sides, computed on the way or read as they are.
RIGHT_SIDES = ("{b}", "{b}", "({b} + 1)", "(0.5 * {b})", "xp.flip({b}, -1)", "({b} - {b}[..., :1, :])")
BATCHES = ((), (), (1,), (2,), (3,), (5,), (17,), (2, 3), (0,))
#: Decompositions of a definite matrix `m` or a square one `g` put together again: what is determined.
DECOMPOSED = (
    "w, v = xp.linalg.eigh({m})\n{{}} = (v * xp.sqrt(w)[..., None, :]) @ xp.conj(xp.swapaxes(v, -1, -2))",
    "w, v = xp.linalg.eigh({m})\n{{}} = (v / w[..., None, :]) @ xp.conj(xp.swapaxes(v, -1, -2))",
    "u, s, vh = xp.linalg.svd({g}, full_matrices=False)\n{{}} = (u * xp.sqrt(s)[..., None, :]) @ vh",
    "u, s, vh = xp.linalg.svd({g}, full_matrices=False)\n{{}} = u @ vh",
    "u, s, vh = xp.linalg.svd({g}, full_matrices=False)\n{{}} = (u / s[..., None, :]) @ vh",
    "q, r = xp.linalg.qr({g})\n{{}} = q @ r * 0.5",
    "q, r = xp.linalg.qr({g})\n{{}} = q @ xp.conj(xp.swapaxes(q, -1, -2))",
)  # fmt: skip
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 31, 32, 37, 60, 64, 97, 100, 128)


class LinearAlgebra(Choices):
    """Factorizations, solutions, determinants, eigenvalues; Fourier transforms and convolutions."""

    def __init__(self, seed: tuple[int, int]) -> None:
        super().__init__(seed)
        self.rows: Sequence[int] = SIZES
        self.batches: Sequence[tuple[int, ...]] = BATCHES
        self.columns_of_right_sides: Sequence[int] = (1, 1, 2, 3, 5, 17)
        self.right_sides: Sequence[str] = RIGHT_SIDES[:1]

    def square(self) -> str:
        """A value or a new argument of square matrices, of up to two batch axes."""
        fits = [
            name
            for name in self.values
            if (x := self.array(name)).ndim >= 2 and x.shape[-1] == x.shape[-2] > 0 and x.dtype.kind in "fc"
            and x.dtype != "float16" and x.size
        ]  # fmt: skip
        if fits and self.chance(0.6):
            return str(self.choose(fits))
        if len(self.arguments) > 5:
            raise Unfit
        n, batch = int(self.choose(self.rows)), self.choose(self.batches)
        dtype = self.new_dtype("fc")
        if math.prod((*batch, n, n)) > self.limit or dtype == "float16":
            raise Unfit
        return self.argument((*batch, n, n), dtype)

    def well_conditioned(self, x: str) -> tuple[str, str]:
        """Definite and general matrices made of those in `x`."""
        n = self.array(x).shape[-1]
        bounded = x if self.size(x) < 4 else f"({x} / (1 + xp.abs({x})))"
        square = f"{bounded} @ xp.conj(xp.swapaxes({bounded}, -1, -2))"
        definite = self.define(f"{square} * {0.5 / n:.4f} + xp.eye({n}, dtype={x}.dtype)")
        general = self.define(f"{bounded} * {0.3 / n:.4f} + xp.eye({n}, dtype={x}.dtype)")
        return definite, general

    def factored(self) -> None:
        """A function of one matrix."""
        self.real_numbers()
        definite, general = self.well_conditioned(self.square())
        text = self.choose(OF_DEFINITE if self.chance(0.6) else OF_GENERAL)
        self.define(text.format(m=definite, g=general), "linalg")

    def solved(self) -> None:
        """A system of equations."""
        self.real_numbers()
        x = self.square()
        matrix = self.array(x)
        n, batch = matrix.shape[-1], matrix.shape[:-2]
        definite, general = self.well_conditioned(x)
        sides = [
            name
            for name in self.values
            if (y := self.array(name)).dtype == matrix.dtype and y.ndim >= 2 and y.shape[-2] == n
            and self.broadcasts(batch, y.shape[:-2]) and name not in (definite, general)
        ]  # fmt: skip
        columns = int(self.choose(self.columns_of_right_sides))
        if sides and self.chance(0.5):
            b = str(self.choose(sides[-4:]))
        elif len(self.arguments) > 5 or math.prod((*batch, n, columns)) > self.limit:
            raise Unfit
        else:
            b = self.argument((*(batch if self.chance(0.7) else ()), n, columns), matrix.dtype.name)
        text = self.choose(SOLUTIONS)
        if "scipy" in text and self.array(b).shape[:-2] != batch:
            raise Unfit
        side = self.choose(self.right_sides).format(b=b)
        self.define(text.format(m=definite, g=general, b=side), "linalg")

    def decomposed(self) -> None:
        """A decomposition put together again."""
        self.real_numbers()
        definite, general = self.well_conditioned(self.square())
        text = self.choose(DECOMPOSED).format(m=definite, g=general)
        self.append(text, 1, "linalg")

    def fitted(self) -> None:
        """A least-squares solution of a matrix of full rank: NumPy has it without batches."""
        self.real_numbers()
        _, general = self.well_conditioned(self.square())
        n = self.array(general).shape[-1]
        if self.array(general).ndim > 2:
            raise Unfit
        sides = [
            name
            for name in self.values
            if (y := self.array(name)).dtype == self.array(general).dtype and y.ndim in (1, 2)
            and y.shape[0] == n and name != general
        ]  # fmt: skip
        b = self.choose(sides) if sides else general
        self.define(f"xp.linalg.lstsq({general}, {b}, rcond=None)[0]", "linalg")

    def real_numbers(self) -> None:
        """Unfit in programs of whole numbers, whose results are exact."""
        if self.exact:
            raise Unfit

    def transformed(self) -> None:
        """A Fourier transform along an axis or several."""
        self.real_numbers()
        x = self.find("fc", 1, 3, nonempty=True)
        data = self.array(x)
        a = self.axis(x)
        n = int(self.choose(LENGTHS)) if self.chance(0.3) else data.shape[a]
        if data.size // data.shape[a] * n * 2 > self.limit:
            raise Unfit
        size = f", {n}" if n != data.shape[a] or self.chance(0.2) else ", None"
        norm = ", norm='ortho'" if self.chance(0.7) else self.choose(("", ", norm='forward'"))
        names = ["fft", "ifft"] if data.dtype.kind == "c" else ["fft", "rfft", "ihfft", "rfft", "ifft"]
        if n > 1:
            names += ["irfft", "hfft"] if data.dtype.kind == "c" else ["irfft"]
        name = self.choose(names)
        if name in ("irfft", "hfft") and size == ", None" and data.shape[a] < 2:
            raise Unfit
        forms = [f"xp.fft.{name}({x}{size}, {a}{norm})"] * 3
        if data.ndim > 1 and size == ", None":
            several = self.choose(
                ("fft2", "ifft2", "fftn") if data.dtype.kind == "c" else ("rfft2", "fftn", "rfftn")
            )
            forms.append(f"xp.fft.{several}({x}{norm})")
        forms.append(f"xp.fft.{self.choose(('fftshift', 'ifftshift'))}({x}, {a})")
        self.define(self.choose(forms), "fft")

    def filtered(self) -> None:
        """Transformed, multiplied, and transformed back; or convolved."""
        self.real_numbers()
        x = self.find("fc", 1, 3, nonempty=True)
        data = self.array(x)
        n = data.shape[-1]
        if data.ndim == 1 and data.dtype != "float16" and self.chance(0.5):
            y = self.partner(x)
            if self.array(y).ndim != 1 or self.array(y).size == 0:
                raise Unfit
            mode, name = self.choose(("full", "same", "valid")), self.choose(("convolve", "correlate"))
            self.define(f"xp.{name}({x}, {y}, mode='{mode}') * 0.2", "fft")
            return
        if data.dtype.kind == "c":
            self.define(f"xp.fft.ifft(xp.fft.fft({x}) * xp.exp(-xp.arange({n}) * 0.1))", "fft")
        else:
            half = n // 2 + 1
            self.define(f"xp.fft.irfft(xp.fft.rfft({x}) / (1 + xp.arange({half})), {n})", "fft")
