"""The tables in ``codegen/maths/data/``, but for ``elementary.txt``, made again: ``python -m
tests.codegen.maths.maths_tables``.

A cell is a range of significands in [3/4, 3/2) that share their leading bits; its `c` is near the
reciprocal of its middle, so that f = m c - 1 is small, and 1 in the three cells at 1, so that f = m - 1
there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import mpmath as mp
import numpy as np

from tracejit.base.number_tables import blocks_of as blocks_of

from ...number_tables import block
from .maths_minimax import Spec, guarded, remez, rounded

mp.mp.dps = 60
#: Leading bits of the significand that choose the cell.
BITS: Final = {"f32": 5, "f64": 4}
#: Logarithms of c are multiples of this, so that a multiple of the exponent's is added exactly: 150 log_b 2
#: or 1075 log_b 2 has so many bits left.
QUANTUM: Final = {
    "NATURAL": {"f32": mp.mpf(2) ** -17, "f64": mp.mpf(2) ** -43},
    "BINARY": {"f32": mp.mpf(2) ** -16, "f64": mp.mpf(2) ** -42},
    "DECIMAL": {"f32": mp.mpf(2) ** -18, "f64": mp.mpf(2) ** -44},
}
BASES: Final = {"NATURAL": mp.e, "BINARY": mp.mpf(2), "DECIMAL": mp.mpf(10)}
STORED: Final = {"f32": 23, "f64": 52}
#: The float whose products with 2^(j/16) are nearest to floats, among the 2^18 (f32) or 2^30 (f64) from 1 on.
NEAR_ONE: Final = {
    "f32": 1 + mp.mpf(72612) * mp.mpf(2) ** -23,
    "f64": 1 + mp.mpf(204873336) * mp.mpf(2) ** -52,
}


def cells(dtype: str) -> list[tuple[Any, Any]]:
    """The interval of each index; indices of significands from 3/2 on are those of [3/4, 1)."""
    count = 1 << BITS[dtype]
    results = []
    for i in range(count):
        low, high = 1 + mp.mpf(i) / count, 1 + mp.mpf(i + 1) / count
        results.append((low, high) if 2 * i < count else (low / 2, high / 2))
    return results


def is_at_one(low: Any, high: Any) -> bool:
    """The first cell from 1 on, and the two below it, which are half as wide."""
    return low == 1 or (1 - high < 3 * (high - low) / 2 and high <= 1)


def ulp(x: Any, dtype: str) -> Any:
    """The unit in the last place of a float of that size."""
    return mp.mpf(2) ** (mp.floor(mp.log(abs(x), 2)) - STORED[dtype])


def fortunate(low: Any, high: Any, dtype: str, name: str) -> tuple[float, Any]:
    """(c, -log_base c): a float c whose logarithm is nearly a multiple of the quantum.

    Of those in the middle third of the range for which |f| is small, the one with the least error at the
    cell's ends: what is missing from the logarithm, and the rounding of f, which counts where the result is
    small.
    """
    if is_at_one(low, high):
        return 1.0, mp.mpf(0)
    base, quantum = BASES[name], QUANTUM[name][dtype]
    logarithm, scale = -mp.log((low + high) / 2) / mp.log(base), 1 / mp.log(base)
    reach = int((high - low) / 3 / quantum * scale)
    # 1 / middle is a fraction: steps that were all alike would meet the same errors again
    steps = range(-reach, reach + 1) if reach < 3000 else (i * abs(i) * 17 for i in range(-1500, 1501))
    best = None
    for i in steps:
        value = mp.nint(-logarithm / quantum + i) * quantum
        c = rounded(base ** (-value), dtype)
        missing = abs(-mp.log(c) * scale - value)
        error = max(
            (missing + ulp(end * c - 1, dtype) * scale) / ulp(mp.log(end) * scale, dtype)
            for end in (low, high)
        )
        if best is None or error < best[0]:
            best = error, c, value
    assert best is not None
    return best[1], best[2]


def short(low: Any, high: Any, dtype: str) -> float:
    """A multiple of 1/32: m c - 1 is then exact."""
    if low == 1 or high == 1:
        return 1.0
    return float(
        min((mp.mpf(k) / 32 for k in range(16, 48)), key=lambda c: max(abs(low * c - 1), abs(high * c - 1)))
    )


def reach(chosen: list[float], dtype: str) -> tuple[Any, Any]:
    """The range of f over all cells."""
    ends = [(low * c - 1, high * c - 1) for (low, high), c in zip(cells(dtype), chosen, strict=True)]
    return min(end for end, _ in ends), max(end for _, end in ends)


def show(name: str, rows: Mapping[str, Sequence[float]], comment: str, *words: str) -> None:
    """Print one table of a row for each dtype as it stands in the data file."""
    for position, (dtype, row) in enumerate(rows.items()):
        print(block(name, [dtype, *words], [row], "" if position else comment), end="")
    print(flush=True)


def logarithms(name: str, degrees: dict[str, int]) -> None:
    base = BASES[name]
    scale = 1 / mp.log(base)
    inverses, logs, series, notes = {}, {}, {}, []
    for dtype, degree in degrees.items():
        pairs = [fortunate(low, high, dtype, name) for low, high in cells(dtype)]
        inverses[dtype] = tuple(c for c, _ in pairs)
        logs[dtype] = tuple(float(value) for _, value in pairs)
        low, high = reach([c for c, _ in pairs], dtype)
        if name == "NATURAL":
            target, weight = (lambda f: (mp.log1p(f) - f) / f**2), (lambda f: f**2 / mp.log1p(f))
        else:
            leading = rounded(scale, dtype)
            target = lambda f, leading=leading: scale * mp.log1p(f) / f - leading  # noqa: E731
            weight = lambda f: f / mp.log1p(f) / scale  # noqa: E731
            degree += 1
        coefficients, worst = remez(Spec(name, guarded(target), guarded(weight), low, high, degree, dtype))
        series[dtype] = tuple(rounded(coefficient, dtype) for coefficient in coefficients)
        miss = max(abs(-mp.log(c) * scale - value) for c, value in pairs)
        notes.append(
            f"{dtype} 2^{float(mp.log(worst, 2)):.1f} for {float(low):.4f} <= f <= {float(high):.4f}, "
            f"logarithms to 2^{float(mp.log(miss, 2)):.1f}"
        )
    powers = " or ".join(f"2^{int(mp.log(quantum, 2))}" for quantum in QUANTUM[name].values())
    of = {"NATURAL": "ln", "BINARY": "log2", "DECIMAL": "log10"}[name]
    show(f"{name}_INVERSES", inverses, f"c of each cell, such that {of} c is nearly a multiple of {powers}.")
    show(f"{name}_LOGS", logs, f"-{of} c of each cell.")
    if name == "NATURAL":
        formula = "ln(1 + f) = f + f^2 P(f)"
    else:
        formula = f"{of}(1 + f) = K f + f P(f), K = {of} e rounded"
    show(f"{name}_SERIES", series, f"{formula}; relative. Errors: {'; '.join(notes)}.")


def wide_log2(degrees: dict[str, int]) -> None:
    inverses, highs, lows, series, notes = {}, {}, {}, {}, []
    for dtype, degree in degrees.items():
        chosen = [short(low, high, dtype) for low, high in cells(dtype)]
        inverses[dtype] = tuple(chosen)
        exact = [-mp.log(c) / mp.log(2) for c in chosen]
        high = [mp.nint(value / QUANTUM["BINARY"][dtype]) * QUANTUM["BINARY"][dtype] for value in exact]
        highs[dtype] = tuple(float(number) for number in high)
        lows[dtype] = tuple(rounded(a - b, dtype) for a, b in zip(exact, high, strict=True))
        least, most = reach(chosen, dtype)
        target = lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3  # noqa: E731
        coefficients, worst = remez(
            Spec("", guarded(target), guarded(lambda f: f**3 / mp.log1p(f)), least, most, degree, dtype)
        )
        series[dtype] = tuple(rounded(coefficient, dtype) for coefficient in coefficients)
        notes.append(
            f"{dtype} 2^{float(mp.log(worst, 2)):.1f} for {float(least):.4f} <= f <= {float(most):.4f}"
        )
    show(
        "SHORT_INVERSES", inverses, "c of each cell for `pow`: a multiple of 1/32, so that m c - 1 is exact."
    )
    show("SHORT_LOGS", highs, "-log2 c of each cell, a multiple of 2^-16 (f32) or 2^-42 (f64).")
    show("SHORT_LOGS_LOW", lows, "Low words of `SHORT_LOGS`.")
    show("SHORT_SERIES", series, f"ln(1 + f) = f - f^2/2 + f^3 P(f); relative. Errors: {'; '.join(notes)}.")


def log_odds(degrees: dict[str, int]) -> None:
    """(2 atanh s - 2 s) / s^3 for |s| <= 1/5, and right at s = 1/3, which is that of the last x below 1."""

    def rest(z: Any) -> Any:
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) - 2 * s) / s**3

    node, rows, notes = mp.mpf(1) / 9, {}, []
    top = mp.mpf(1) / 25 * (1 + mp.mpf(2) ** -16)
    for dtype, degree in degrees.items():
        # P(z) = rest(node) + (z - node) R(z)
        start = rest(node)
        quotient = guarded(lambda z, start=start: (rest(z) - start) / (z - node))
        weight = guarded(lambda z: z * (z - node) / (2 + z * rest(z)))
        coefficients, worst = remez(Spec("", quotient, weight, 0, top, degree - 1, dtype))
        terms = [mp.mpf(0), *coefficients]
        for power, coefficient in enumerate(coefficients):
            terms[power] -= node * coefficient
        terms[0] += start
        rows[dtype] = tuple(rounded(term, dtype) for term in terms)
        notes.append(f"{dtype} 2^{float(mp.log(worst, 2)):.1f}")
    formula = "ln((1 + s) / (1 - s)) = 2 s + s^3 P(s^2) for |s| <= 1/5 and at 1/3"
    show("LOG_ODDS_SERIES", rows, f"{formula}; relative. Errors: {', '.join(notes)}.")


def exponentials() -> None:
    powers = [mp.mpf(2) ** (mp.mpf(j) / 16) for j in range(16)]
    upper = [float(power) for power in powers]
    low = [float(power / h - 1) for power, h in zip(powers, upper, strict=True)]
    show("POWERS", {"f64": tuple(upper)}, "2^(j/16).")
    show("POWERS_LOW", {"f64": tuple(low)}, "Low words of `POWERS`, relative to those.")
    show(
        "NEAR_POWERS",
        {dtype: tuple(rounded(c * power, dtype) for power in powers) for dtype, c in NEAR_ONE.items()},
        "c 2^(j/16) for a c near 1 such that all are within 0.23 (f32) or 0.12 ulp (f64) of floats.",
    )
    wider = 1 + mp.mpf(2) ** -16
    bend: Any = lambda r: (mp.expm1(r) - r) / r**2  # noqa: E731
    slope: Any = lambda r: mp.expm1(r * mp.log(2)) / r  # noqa: E731
    top = mp.log(2) / 32 * wider
    for name, degrees, high, target, weight, note in (
        ("EXP_NEAR", {"f32": 1, "f64": 4}, top, bend, lambda r: r**2, "e^r / c = 1 + P(r), |r| <= ln(2)/32"),
        (
            "EXP2_NEAR",
            {"f32": 2, "f64": 5},
            wider / 32,
            slope,
            lambda r: r,
            "2^r / c = 1 + P(r), |r| <= 1/32",
        ),
    ):
        rows, notes = {}, []
        for dtype, degree in degrees.items():
            series, worst = remez(Spec(name, guarded(target), guarded(weight), -high, high, degree, dtype))
            ones = [mp.mpf(1)] * (degrees["f64"] == 4)
            terms = [1 / NEAR_ONE[dtype] - 1, *(term / NEAR_ONE[dtype] for term in (*ones, *series))]
            rows[dtype] = tuple(rounded(term, dtype) for term in terms)
            notes.append(f"{dtype} 2^{float(mp.log(worst, 2)):.1f}")
        show(name, rows, f"{note}. Errors: {', '.join(notes)}.")
    weight = lambda r: r**2 / mp.expm1(r)  # noqa: E731
    series, worst = remez(Spec("EXPM1_SHORT", guarded(bend), guarded(weight), -top, top, 5, "f64"))
    formula = "e^r = 1 + r + r^2 P(r), |r| <= ln(2)/32; relative to e^r - 1"
    rows = {"f64": tuple(map(float, series))}
    show("EXPM1_SHORT", rows, f"{formula}. Error: 2^{float(mp.log(worst, 2)):.1f}.")


def polynomials(
    function: Any, cells: list[tuple[Any, Any]], degree: int
) -> tuple[list[tuple[float, ...]], Any]:
    """The rows of a function of f32 in `cells`, the first of which begins at 0: centres, and one for each
    power; and the largest relative error."""
    rows: list[list[float]] = []
    worst = mp.mpf(0)
    for low, high in cells:
        centre = 0.0
        if low:  # where the function is nearly a float
            middle = rounded((low + high) / 2, "f32")
            spacing = ulp(middle, "f32")
            tries = [middle + float(spacing) * j for j in range(-1500, 1501)]
            centre = min(
                tries, key=lambda c: abs(function(mp.mpf(c)) / rounded(function(mp.mpf(c)), "f32") - 1)
            )
        origin = function(mp.mpf(centre))

        def target(d: Any, centre: float = centre, origin: Any = origin) -> Any:
            return (function(centre + d) - origin) / d

        def weight(d: Any, centre: float = centre) -> Any:
            return d / function(centre + d)

        c, error = remez(
            Spec("", guarded(target), guarded(weight), low - centre, high - centre, degree - 1, "f32")
        )
        worst = max(worst, error)
        rows.append([centre, rounded(origin, "f32"), *(rounded(number, "f32") for number in c)])
    return list(zip(*rows, strict=True)), worst


def show_rows(name: str, rows: Sequence[Sequence[float]], comment: str) -> None:
    """Print a table of rows."""
    print(block(name, ["rows"], rows, comment), flush=True)


def tanh_quarters() -> None:
    """tanh in f32 on quarters of binades, from 0 on in the first."""
    cells = []
    for i in range(32):
        width = mp.mpf(2) ** (i // 4 - 6)
        low = width * (4 + i % 4)
        cells.append((low if i else mp.mpf(0), low + width))
    rows, worst = polynomials(mp.tanh, cells, 5)
    formula = "tanh x = sum of row[k + 1] (x - row[0])^k in each of 32 quarters of binades from 2^-4 on"
    comment = f"{formula}, the first one from 0 on; relative. Error: 2^{float(mp.log(worst, 2)):.1f}."
    show_rows("TANH_QUARTERS", rows, comment)


#: The distance of the centres of erf's cells, numbers of few bits; in f32 a power of two, for an instruction
#: that takes the nearest multiple away.
ERF_STEP: Final = {"f32": mp.mpf(1) / 8, "f64": mp.mpf(51) / 64}


def error_function(name: str, dtype: str, count: int, degree: int, formula: str) -> None:
    """Print the coefficients of erf by powers, polynomials around multiples of a step, so many of that
    degree; around 0 for positive numbers alone. In f32 it is of the difference to x around 0, since
    2 / sqrt(pi) is not near a float, and the last one is constant."""
    rows, worst = [], mp.mpf(0)
    # the nearest multiple is chosen with a rounding
    half = ERF_STEP[dtype] / 2 * (1 + mp.mpf(2) ** (-18 if dtype == "f32" else -30))
    for i in range(count if dtype == "f64" else count - 1):
        centre = i * ERF_STEP[dtype]
        start = mp.erf(centre)
        less = 1 if dtype == "f32" and not i else 0

        def target(d: Any, centre: Any = centre, start: Any = start, less: int = less) -> Any:
            return (mp.erf(centre + d) - start) / d - less

        def weight(d: Any, centre: Any = centre) -> Any:
            return d / mp.erf(centre + d)

        low = -half if i else mp.mpf(0)
        coefficients, error = remez(
            Spec("ERF", guarded(target), guarded(weight), low, half, degree - 1, dtype)
        )
        worst = max(worst, error)
        first = rounded(start, dtype)
        if i == count - 1 and first < start:  # rounded up, so that the sum at its end is 1
            first += float(ulp(start, dtype))
        rows.append([first, *(rounded(number, dtype) for number in coefficients)])
        if dtype == "f32" and i == 1:
            rows[i][2] += of_least_error(rows[i], float(centre))
    if dtype == "f32":
        rows.append([1.0, *[0.0] * degree])
    error = f"a row for each power; relative. Error: 2^{float(mp.log(worst, 2)):.1f}."
    show_rows(name, list(zip(*rows, strict=True)), f"{formula}; {error}")


def of_least_error(coefficients: Sequence[float], centre: float) -> float:
    """The correction of the second power's coefficient that minimizes the error of erf in f32 around
    `centre`, computed with rounded coefficients."""
    distances = np.random.default_rng(0).uniform(-1 / 16, 1 / 16, 500_000).astype("f4")
    truth = np.array([math.erf(centre + float(d)) for d in distances])
    last_place = 2.0 ** (np.floor(np.log2(truth)) - 23)

    def error(more: float) -> float:
        total = np.zeros_like(distances)
        for power in range(len(coefficients) - 1, -1, -1):
            coefficient = np.float32(coefficients[power] + (more if power == 2 else 0.0))
            total = (total.astype("f8") * distances + coefficient).astype("f4")
        return float(np.max(np.abs(total - truth) / last_place))

    return min((k * 2.0**-24 for k in range(60)), key=error)


def error_functions() -> None:
    comment = "The distance of the centres of erf's cells in f64."
    print(block("ERF_STEP", ["number"], [[float(ERF_STEP["f64"])]], comment))
    formula = "erf x = sum of row[k] (x - c)^k, c the nearest multiple of that step, the one of the column"
    error_function("ERF_CELLS", "f64", 8, 16, formula)
    formula = "erf x in f32, by multiples of 1/8, the first one of the difference to x"
    error_function("ERF_EIGHTHS", "f32", 32, 4, formula)


#: The number of polynomials of the scaled erfc, their degree, and K in (x + K) exp(x^2) erfc x.
SCALED_ERFC: Final = {"f32": (16, 4, mp.mpf(2)), "f64": (8, 10, mp.mpf(3))}


def scaled_erfc(x: Any, centre: Any) -> Any:
    """(x + K) exp(x^2) erfc x, by its asymptotic series where exp(x^2) would take long."""
    if x < 1000:
        return (x + centre) * mp.exp(x * x) * mp.erfc(x)
    total = term = mp.mpf(1)
    for k in range(1, 12):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return (x + centre) / x * total / mp.sqrt(mp.pi)


def scaled_error_function() -> None:
    """Polynomials in (x - c) / (x + K) on ranges of 1 / (x + K) that are equally long."""
    scales, cells, notes = {}, {}, []
    for dtype, (count, degree, centre) in SCALED_ERFC.items():
        # the last range ends at x = 0, in spite of an estimate to 2^-14
        scale = rounded(centre * (count - mp.mpf(1) / 2) * (1 - mp.mpf(2) ** -11), dtype)
        rows, worst = [], mp.mpf(0)
        wider = mp.mpf(2) ** -12
        for i in range(count):
            low = max((i - mp.mpf(1) / 2) / scale * (1 - wider), mp.mpf(10) ** -16)
            high = min((i + mp.mpf(1) / 2) / scale * (1 + wider), 1 / centre)
            middle = rounded(2 / (low + high) - centre, dtype)
            spacing = ulp(middle, dtype)
            tries = [middle + float(spacing) * j for j in range(-1500, 1501)]

            def missing(x: float, centre: Any = centre, dtype: str = dtype) -> Any:
                value = scaled_erfc(mp.mpf(x), centre)
                return abs(value / rounded(value, dtype) - 1)

            c = min(tries, key=missing)
            start = scaled_erfc(mp.mpf(c), centre)
            ends = [(1 / end - centre - c) * end for end in (high, low)]

            def target(d: Any, c: float = c, centre: Any = centre, start: Any = start) -> Any:
                return (scaled_erfc((c + centre * d) / (1 - d), centre) - start) / d

            def weight(d: Any, c: float = c, centre: Any = centre) -> Any:
                return d / scaled_erfc((c + centre * d) / (1 - d), centre)

            polynomial, error = remez(Spec("", guarded(target), guarded(weight), *ends, degree - 1, dtype))
            worst = max(worst, error)
            rows.append(
                [c, rounded(start, dtype), *(rounded(coefficient, dtype) for coefficient in polynomial)]
            )
        scales[dtype], cells[dtype] = scale, list(zip(*rows, strict=True))
        notes.append(f"{dtype} 2^{float(mp.log(worst, 2)):.1f}")
    formula = "(x + K) exp(x^2) erfc x = sum of row[k + 1] ((x - row[0]) / (x + K))^k, by ranges; relative"
    centres = {dtype: [float(row[2])] for dtype, row in SCALED_ERFC.items()}
    nearest = "The number of the range is the nearest integer to this over x + K."
    show("CENTRE", centres, "K.", "number")
    show("CELLS_PER_RECIPROCAL", {dtype: [scale] for dtype, scale in scales.items()}, nearest, "number")
    for position, (dtype, rows) in enumerate(cells.items()):
        errors = "" if position else f"{formula}. Errors: {', '.join(notes)}."
        print(block("CELLS", [dtype, "rows"], rows, errors), end="", flush=True)


def cube_roots(degrees: dict[str, int]) -> None:
    """Cube roots by the lowest two bits of an exponent from -1 to 1 and three bits of the significand."""
    inverses, roots, series, notes = {}, {}, {}, []
    for dtype, degree in degrees.items():
        c, t = [1.0] * 32, [1.0] * 32
        low_f, high_f = mp.mpf(0), mp.mpf(0)
        for exponent, row in ((-1, 16), (0, 24), (1, 0)):
            for i in range(8):
                low = mp.mpf(2) ** exponent * (1 + mp.mpf(i) / 8)
                high = low + mp.mpf(2) ** exponent / 8
                middle = rounded(mp.cbrt((low + high) / 2), dtype)
                tries = [middle + float(ulp(middle, dtype)) * (j * abs(j) + j) for j in range(-1000, 1001)]
                if dtype == "f32":
                    tries = [middle + float(ulp(middle, dtype)) * j for j in range(-2000, 2001)]
                t[row + i] = min(tries, key=lambda r: abs(r * mp.cbrt(rounded(mp.mpf(r) ** -3, dtype)) - 1))
                c[row + i] = rounded(mp.mpf(t[row + i]) ** -3, dtype)
                low_f, high_f = min(low_f, low * c[row + i] - 1), max(high_f, high * c[row + i] - 1)
        inverses[dtype], roots[dtype] = tuple(c), tuple(t)
        expected = guarded(lambda f: (mp.cbrt(1 + f) - 1) / f)
        coefficients, worst = remez(Spec("", expected, guarded(lambda f: f), low_f, high_f, degree, dtype))
        series[dtype] = tuple(rounded(number, dtype) for number in coefficients)
        notes.append(
            f"{dtype} 2^{float(mp.log(worst, 2)):.1f} for {float(low_f):.4f} <= f <= {float(high_f):.4f}"
        )
    show("CUBE_INVERSES", inverses, "c near 1/m, such that the cube root of 1/c is nearly a float.")
    show("CUBE_ROOTS", roots, "Cube root of 1/c for each c of `CUBE_INVERSES`.")
    show("CUBE_SERIES", series, f"(1 + f)^(1/3) = 1 + f P(f). Errors: {'; '.join(notes)}.")


def main() -> None:
    logarithms("NATURAL", {"f32": 3, "f64": 9})
    logarithms("BINARY", {"f32": 3, "f64": 9})
    logarithms("DECIMAL", {"f32": 3, "f64": 9})
    wide_log2({"f32": 3, "f64": 9})
    log_odds({"f32": 2, "f64": 7})
    exponentials()
    tanh_quarters()
    error_functions()
    scaled_error_function()
    cube_roots({"f32": 3, "f64": 8})


if __name__ == "__main__":
    main()
