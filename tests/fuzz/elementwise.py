"""Steps that compute element by element."""

from __future__ import annotations

import numpy as np

from .choices import Unfit
from .complex_numbers import ComplexNumbers

SMOOTH = (
    "sin", "cos", "tanh", "arctan", "arcsinh", "exp", "expm1", "exp2", "sinh", "cosh", "square", "erf",
    "erfc",
    "negative", "sinc", "degrees", "radians", "deg2rad", "rad2deg", "positive", "atan", "asinh",
)  # fmt: skip
#: Functions of positive numbers, of numbers between -1 and 1, and of numbers away from zero.
POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "cbrt")
WITHIN_ONE = ("arcsin", "arccos", "arctanh", "asin", "acos", "atanh")
EXACT = (
    "negative", "abs", "absolute", "fabs", "sign", "floor", "ceil", "trunc", "rint", "fix", "square", "round",
    "around", "nan_to_num", "positive",
)  # fmt: skip
TESTS = ("isfinite", "isnan", "isinf", "isposinf", "isneginf", "signbit")
INTEGER = ("negative", "abs", "sign", "square", "invert", "bitwise_not", "bitwise_count", "bitwise_invert")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "fmax", "fmin")
BINARY_SMOOTH = ("hypot", "arctan2", "atan2", "logaddexp", "logaddexp2")
INTEGER_BINARY = (
    "add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor",
    "floor_divide", "remainder", "mod", "fmod", "gcd", "lcm",
)  # fmt: skip
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
BOOLS = ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum")
NETWORK = (
    "relu", "relu6", "silu", "sigmoid", "softplus", "gelu", "elu", "celu", "leaky_relu", "hardtanh",
    "log_sigmoid",
)  # fmt: skip


class Elementwise(ComplexNumbers):
    """Maths, arithmetic, comparisons, choices, casts."""

    def unary(self) -> None:
        x = self.find("biufc")
        kind = self.array(x).dtype.kind
        if kind == "c":
            self.complex_unary(x)
        elif kind == "b":
            self.define(f"xp.logical_not({x})" if self.chance(0.5) else f"~{x}")
        elif kind in "iu":
            name = self.choose(INTEGER if kind == "i" else INTEGER[2:])
            self.define(f"xp.{name}({x})")
        elif self.exact or self.chance(0.2):
            name = self.choose((*EXACT, *TESTS))
            if name == "signbit" and np.isnan(self.array(x)).any():
                raise Unfit  # the sign of a NaN that was computed is the processor's
            self.define(f"xp.{name}({x})")
        else:
            self.smooth(x)

    def smooth(self, x: str) -> None:
        low, high = self.bounds(x)
        if low > 0.05 and self.chance(0.5):
            self.define(f"xp.{self.choose(POSITIVE)}({x})")
        elif self.chance(0.3):
            text = self.choose(
                (f"xp.{self.choose(POSITIVE)}({x} * {x} + 0.1)",
                 f"xp.{self.choose(POSITIVE)}(xp.abs({x}) + 0.1)",
                 f"xp.{self.choose(WITHIN_ONE)}(xp.clip({x}, -0.9, 0.9))",
                 f"xp.{self.choose(('arccosh', 'acosh'))}({x} * {x} + 1.1)")
            )  # fmt: skip
            self.define(text)
        elif low > -0.95 and high < 0.95 and self.chance(0.5):
            self.define(f"xp.{self.choose(WITHIN_ONE)}({x})")
        elif high < 4 and low > -4:
            self.define(f"xp.{self.choose(SMOOTH)}({x})")
        else:
            text = self.choose(
                (f"xp.tanh({x})", f"xp.sin({x})", f"{x} / (1 + {x} * {x})", f"xp.sqrt({x} * {x} + 0.5)",
                 f"xp.log1p(xp.abs({x}))", f"xp.exp(-xp.abs({x}))", f"xp.tan(xp.clip({x}, -1, 1))")
            )  # fmt: skip
            self.define(text)

    def network(self) -> None:
        x = self.find("f")
        if self.exact:
            self.define(f"xp.nn.{self.choose(('relu', 'relu6', 'hardtanh'))}({x})")
            return
        self.define(f"xp.nn.{self.choose(NETWORK)}({x})")

    def binary(self) -> None:
        x = self.find("biufc")
        y = self.partner(x)
        if self.chance(0.5):
            x, y = y, x
        kind = self.array(x).dtype.kind
        if kind == "b":
            self.define(f"xp.{self.choose(BOOLS)}({x}, {y})")
        elif kind in "iu":
            self.integers(x, y, kind)
        elif self.chance(0.25) and not self.exact and kind == "f":
            self.define(f"xp.{self.choose(BINARY_SMOOTH)}({x}, {y})")
        elif self.chance(0.5):
            self.define(f"{x} {self.choose('+-*')} {y}")
        else:
            self.define(f"xp.{self.choose(BINARY)}({x}, {y})")

    def integers(self, x: str, y: str, kind: str) -> None:
        name = self.choose(INTEGER_BINARY)
        if name in ("lcm", "gcd") and max(map(abs, (*self.bounds(x), *self.bounds(y)))) > 100:
            raise Unfit
        if name in ("floor_divide", "remainder", "mod", "fmod") and not self.array(y).all():
            y = f"({y} % 5 + 1)" if kind == "u" else f"(xp.abs({y} % 5) + 1)"
        if self.chance(0.12):
            shift = self.choose(("<<", ">>"))
            self.define(f"{x} {shift} ({y} & 7)" if kind == "u" else f"({x} & 1023) {shift} ({y} & 7)")
            return
        self.define(f"xp.{name}({x}, {y})")

    def divide(self) -> None:
        x = self.find("fc")
        y = self.partner(x)
        if self.array(x).dtype.kind == "c":
            if self.exact:
                raise Unfit
            self.complex_divide(x, y)
        elif self.exact:
            self.define(f"{x} {self.choose(('//', '%'))} {self.choose((2.0, 4.0, -3.0, 5.0))}")
        elif np.abs(self.array(y)).min(initial=1) > 0.1 and self.chance(0.6):
            self.define(self.choose((f"{x} / {y}", f"xp.divide({x}, {y})", f"xp.true_divide({x}, {y})")))
        else:
            text = self.choose(
                (f"{x} / ({y} * {y} + 0.5)", f"{x} / {self.choose((2.0, 3, -0.7))}",
                 f"1 / (1 + xp.exp(-{x}))",
                 f"xp.fmod({x}, 1.7)", f"{x} % 1.3", f"{x} // 0.9", f"xp.remainder({x}, -2.5)")
            )  # fmt: skip
            self.define(text)

    def scaled(self) -> None:
        """Arithmetic with Python numbers on either side."""
        x = self.find("iufc")
        if self.array(x).dtype.kind == "c":
            self.complex_scaled(x)
            return
        if self.array(x).dtype.kind in "iu":
            c = self.choose((0, 1, 2, 3, 7))
            self.define(
                self.choose((f"{x} * {c}", f"{c} - {x}", f"{x} + {c}", f"{x} % {c + 1}", f"{x} // {c + 1}"))
            )
            return
        c = self.number()
        forms = [
            f"{x} * {c}",
            f"{c} * {x}",
            f"{x} + {c}",
            f"{c} - {x}",
            f"xp.maximum({x}, {c})",
            f"{x} * {int(c)}",
        ]
        if not self.exact:
            forms += [f"{x} ** 2", f"{x} ** 3", f"(xp.abs({x}) + 0.1) ** 0.5",
                      f"xp.power({x} * {x} + 0.1, {c})",
                      f"xp.float_power(xp.abs({x}) + 0.5, {c})", f"xp.pow(xp.abs({x}) + 0.5, -1.5)",
                      f"2.0 ** xp.clip({x}, -3, 3)"]  # fmt: skip
        self.define(self.choose(forms))

    def comparison(self) -> None:
        x = self.find("biufc")
        y = (
            self.partner(x)
            if self.chance(0.7)
            else str(self.number() if self.array(x).dtype.kind in "fc" else 1)
        )
        name = self.choose(COMPARISONS)
        if self.chance(0.1) and self.array(x).dtype.kind == "f":
            self.define(f"xp.isclose({x}, {y}, 1e-3)")
            return
        self.define(f"xp.{name}({x}, {y})")

    def where(self) -> None:
        x = self.find("biufc")
        y = self.partner(x)
        kind = self.array(x).dtype.kind
        forms = [f"xp.where({self.partner(x, dtype='bool')}, {x}, {y})"]
        if kind == "f":
            forms += [f"xp.where({x} > {self.number()}, {x}, {y})",
                      f"xp.where({x} > {y}, {x}, {self.number()})",
                      f"xp.clip({x}, -1.5, 2)", f"xp.clip({x}, {y}, None)", f"xp.where({x} < 0, 0.0, {x})",
                      f"xp.copysign({x}, {y})", f"xp.heaviside({x}, {y})"]  # fmt: skip
        elif kind == "c":
            forms += [
                f"xp.where(xp.real({x}) > {self.number()}, {x}, {y})",
                f"xp.where({x}.imag < 0, {y}, 0.0)",
            ]
        elif kind in "iu":
            forms += [f"xp.clip({x}, 1, 4)", f"xp.where({x} > 2, {x}, {y})", f"xp.where({x} == {y}, 1, {x})"]
        self.define(self.choose(forms))

    def mixed(self) -> None:
        """Operands of different dtypes."""
        x, y = self.find("biufc"), self.find("biufc")
        if not self.broadcasts(self.array(x).shape, self.array(y).shape):
            raise Unfit
        self.define(
            self.choose(
                (f"{x} * {y}", f"xp.maximum({x}, {y})", f"{x} + {y}", f"xp.where({x} == 0, {x}, {y})")
            )
        )

    def cast(self) -> None:
        x = self.find("biufc")
        source = self.array(x).dtype
        target = np.dtype(self.dtype())
        if source.kind == "c" and target.kind != "c":
            raise Unfit  # with a warning
        low, high = self.bounds(x)
        if source.kind == "f" and target.kind in "iu":
            info = np.iinfo(target)
            if not (info.min <= low and high <= info.max):
                raise Unfit
        self.define(self.choose((f"{x}.astype('{target}')", f"xp.astype({x}, '{target}')")))

    def parts(self) -> None:
        """Functions with two results."""
        x = self.find("f")
        low, high = self.bounds(x)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise Unfit
        forms = [f"{{}}, {{}} = xp.modf({x})", f"{{}}, {{}} = xp.frexp({x})",
                 f"{{}}, {{}} = divmod({x}, 2.0)",
                 f"{{}}, {{}} = xp.divmod({x}, -3.0)"]  # fmt: skip
        text = self.choose(forms)
        if "frexp" in text and not self.exact:
            raise Unfit  # a power of two may come out one rounding below it
        self.append(text, 2)

    def neighbours(self) -> None:
        x = self.find("f")
        if not self.exact:
            raise Unfit
        forms = (f"xp.ldexp({x}, 2)", f"xp.spacing({x}) > 0", f"xp.nextafter({x}, {x} + 1) > {x}",
                 f"xp.nan_to_num({x}, nan=1.0)")  # fmt: skip
        self.define(self.choose(forms))
