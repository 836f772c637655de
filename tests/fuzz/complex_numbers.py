"""Steps that compute with complex numbers, element by element."""

from __future__ import annotations

from .choices import Choices, Unfit

#: Functions that are smooth near the numbers that programs have; the others have poles and branch cuts, of
#: which the worlds of `choices.py` see when a value is near one.
SMOOTH = ("sin", "cos", "exp", "exp2", "sinh", "cosh", "square", "expm1", "negative", "conj", "conjugate")
WITH_CUTS = (
    "tan", "tanh", "log", "log2", "log10", "sqrt", "reciprocal", "sign", "arcsin", "arccos", "arctan",
    "arcsinh", "arccosh", "arctanh",
)  # fmt: skip
EXACT = (
    "conj", "real", "imag", "negative", "positive", "square", "rint", "round", "isfinite", "iscomplex",
    "isreal", "isnan", "nan_to_num",
)  # fmt: skip
PARTS = ("real", "imag", "abs", "angle", "conj", "absolute")
CONSTANTS = ("2j", "(0.5 - 1j)", "(-1+0.25j)", "1.5", "1j")
EXACT_CONSTANTS = ("2j", "(1 - 1j)", "-3", "1j", "2.0")


class ComplexNumbers(Choices):
    """Complex functions, parts, products with complex constants, complex numbers made of real ones."""

    def complex_constant(self) -> str:
        return str(self.choose(EXACT_CONSTANTS if self.exact else CONSTANTS))

    def complex_unary(self, x: str) -> None:
        """A function of complex `x`."""
        if self.exact:
            self.define(f"xp.{self.choose(EXACT)}({x})", "complex")
            return
        names = SMOOTH if self.size(x) < 4 and self.chance(0.6) else (*WITH_CUTS, *PARTS)
        bounded = f"{x} / (1 + xp.abs({x}))" if self.chance(0.3) else x
        self.define(f"xp.{self.choose(names)}({bounded})", "complex")

    def complex_scaled(self, x: str) -> None:
        """Arithmetic with a constant."""
        c = self.complex_constant()
        forms = [f"{x} * {c}", f"{c} * {x}", f"{x} + {c}", f"{c} - {x}", f"{x} ** 2", f"xp.conj({x}) * {x}"]
        if not self.exact:
            forms += [f"{x} / {c}", f"{c} / ({x} * xp.conj({x}) + 0.5)", f"{x} ** 3", f"{x} ** -1"]
            forms += [f"(xp.abs({x}) + 0.5) ** {c}", f"xp.power({x} + 3j, {c})"]
        self.define(self.choose(forms), "complex")

    def complex_divide(self, x: str, y: str) -> None:
        """A quotient of complex `x` and `y`."""
        self.define(
            self.choose((f"{x} / {y}", f"{x} / (xp.abs({y}) + 0.5)", f"xp.divide({x}, {y} - 4j)")), "complex"
        )

    def made_complex(self) -> None:
        """Complex numbers of real ones, and real ones of complex ones."""
        if not self.complex_dtypes:
            raise Unfit
        x = self.find("fc")
        y = self.partner(x)
        if self.array(x).dtype.kind == "c":
            forms = [
                f"xp.real({x})",
                f"{x}.imag",
                f"{x}.real * {y}.imag",
                f"xp.abs({x}) * {y}",
                f"{x}.conj()",
            ]
            forms = forms if not self.exact else [form for form in forms if "abs" not in form]
        elif self.array(x).dtype == "float16":
            forms = [f"{x} * {self.complex_constant()}"]
        else:
            forms = [f"{x} + 1j * {y}", f"{x} * {self.complex_constant()}", f"1j - {x}"]
            if not self.exact:
                forms += [f"xp.exp(1j * {x})", f"{x} * xp.exp({y} * 0.5j)", f"xp.sqrt({x} + 0.5j)"]
        self.define(self.choose(forms), "complex")
