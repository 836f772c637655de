"""Random expressions of numbers: of Python's floats, integers and bools, which keep Python's arithmetic and
dtypes, and of NumPy's scalars, which have NumPy's.

An expression is computed alone and with arrays of narrow dtypes, which tell the two kinds of numbers apart.
"""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np

import tracejit as tj

from ..loops.common import of_source

#: Arguments: floats, integers and bools of Python's, scalars and arrays of NumPy's.
ARGUMENTS: Final[dict[str, Any]] = {
    "a": 2.5, "b": -1.5, "k": 3, "m": -2, "t": True, "u": False,
    "x": np.float32(1.5), "y": np.float64(-0.5), "i": np.int32(4), "v": np.array([0.5, 2.0, -1.0]),
}  # fmt: skip
_ATOMS: Final = (*"abkmtuxyi", "v[0]", "v[1]", "2", "0.5", "True", "v.sum()")
_UNARY: Final = (
    "-{}", "+{}", "abs({})", "~{}", "not {}", "int({})", "float({})", "bool({})", "round({})", "round({}, 1)",
    "{}.real", "{}.imag", "{}.conjugate()", "np.negative({})", "np.abs({})", "np.sqrt(abs({}))",
    "math.sqrt(abs({}))", "math.floor({})", "math.isfinite({})", "np.isnan({})", "np.float32({})",
    "np.logical_not({})", "operator.neg({})", "operator.not_({})", "{}.is_integer()",
)  # fmt: skip
_BINARY: Final = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} // {}", "{} % {}", "{} < {}", "{} <= {}", "{} == {}",
    "{} != {}", "{} & {}", "{} | {}", "{} ^ {}", "{} and {}", "{} or {}", "max({}, {})", "min({}, {})",
    "sum([{}, {}])", "np.add({}, {})", "np.maximum({}, {})", "np.greater({}, {})", "math.copysign({}, {})",
    "divmod({}, {})[1]", "operator.add({}, {})", "operator.lt({}, {})", "{} in (1, {})", "{} ** abs({})",
)  # fmt: skip
_WRAPPED: Final = (
    "{}", "{} * F", "{} * I", "{} + B", "{} + {}", "F * ({}, 2)[0]", "len(str(round({}, 3)))",
    "{{{}: 1}}.get(1, 0)",
)  # fmt: skip
_SOURCE: Final = """import math, operator
F = np.array([1, 2], np.float32)
I = np.array([1, 2], np.int8)
B = np.array([True, False])
def f(a, b, k, m, t, u, x, y, i, v):
{body}
"""
_BODIES: Final = (
    "    e = {e}\n    return {wrapped}",
    "    for _ in range(2):\n        e = {e}\n    return {wrapped}",
    "    e = {e} if v[1] > 0 else 0\n    return {wrapped}",
    "    def g():\n        return {e}\n    e = g()\n    return {wrapped}",
)  # fmt: skip


def expression(rng: random.Random, depth: int) -> str:
    """A random expression of numbers."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(_ATOMS)
    if rng.random() < 0.4:
        return "(" + rng.choice(_UNARY).format(f"({expression(rng, depth - 1)})") + ")"
    parts = [f"({expression(rng, depth - 1)})" for _ in range(2)]
    return "(" + rng.choice(_BINARY).format(*parts) + ")"


def _outcome(function: Any) -> Any:
    """Dtype and value of what `function` gives for the arguments; None where it fails, or that is large."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = np.asarray(function(**ARGUMENTS))
        except (ArithmeticError, AttributeError, TypeError, ValueError, NotImplementedError):
            return None
    if result.dtype.kind not in "biuf" or not np.all(np.abs(result.astype(float)) < 1e9):
        return None
    return result.dtype, result


def difference(seed: int, number: int, folder: Path) -> str | None:
    """The difference between Python and the compiled function in the program of a number, with its source;
    None where they agree."""
    rng = random.Random(seed * 1_000_003 + number)
    e, body = expression(rng, rng.randint(1, 3)), rng.choice(_BODIES)
    for wrapped in rng.sample(_WRAPPED, 3):
        source = _SOURCE.format(body=body.format(e=e, wrapped=wrapped.format("e", "e")))
        function = of_source(source, folder / "program.py")
        expected = _outcome(function)
        if expected is None:
            continue
        found = _outcome(tj.jit(function))
        if found is None or found[0] != expected[0] or not np.allclose(found[1], expected[1], rtol=1e-5):
            return f"program {number} of seed {seed}: {found} in place of {expected}\n{source}"
    return None
