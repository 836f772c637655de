"""``docs/special.md``, generated from the cases: ``python -m tests.ir.special.page > docs/special.md``."""

from __future__ import annotations

from tracejit.ir.special.table import names

from .cases import SINGLE, Case, all_cases

HEAD = """\
# Special functions

`tj.scipy.special` has SciPy's names. The functions broadcast, take tensors, arrays and numbers, work
eagerly, under `jit`, `grad` and `vmap`, and load at their first use. Integers are computed in floating
point. float32 is computed in float64 and rounded, but for the functions whose bound in float32 is in the
table below: they are computed in float32, or where the bound is below 1 in float64 by polynomials and series
that are shorter. softmax and logsumexp are composed of ops of float32.

Each function is one algorithm (`ir/special/`), of which compiled code has one vector function; those of
few steps, from erf and expit to kl_div, are written in place.
Eager calls are ufuncs of that code, compiled at its first use (some 10
ms; the disk cache keeps it); where there can be no native code, NumPy runs the algorithm. Derivatives in
parameters, such as the a of `gammainc` or the order of `iv`, are what the algorithm computes on truncated
Taylor polynomials: series, recurrences and continued fractions are differentiated term by term, to fourth
order in each parameter. Those of `betaln` are differences of polygamma functions, summed so that nothing
cancels.

Where a series, recurrence or fraction needs more than 100,000 terms, the result is NaN: `gammainc` for a
above some 10^8, `jv` and `iv` for orders above 10^5, `hyp2f1` within 4e-4 of 1. `zeta` and `polygamma` are
NaN below -10,000. `hyp1f1` and `hyp2f1` are their series: large parameters of unlike signs cancel.
`lambertw` has the two real branches and is real. `jv` of
negative orders that are no integers is NaN. Where functions have limits at infinity, those are their
values; SciPy has NaN for some.

## Accuracy

The largest error that the tests admit in float64, in units in the last place, where arguments are sampled;
in float32, in its units, where that is not half of one; and in float64 that of derivatives in the operands,
by orders: (1, 0) is the first derivative in the first operand.
`tests/ir/special/test_special_accuracy.py` checks both against mpmath, eagerly and compiled, and
`tests/ir/special/test_special_regions.py` more densely around zeros and seams; this page is generated from
their table, `python -m tests.ir.special.page > docs/special.md`. All other derivatives are rules of these
functions and of ops (`tests/ir/special/test_special_gradients.py`, to second order).

| function | where | ulps | float32 | derivatives |
|---|---|---|---|---|
"""
TAIL = """
`gammaincinv`, `gammainccinv` and `betaincinv` are Newton's rule on these functions, and as exact as these
allow. `log_ratio`, `exp_quotient`, `beta_rate`, `gamma_density` and `beta_density` are what gradients are
written with, and `silu` and `gelu_tanh` with their derivatives are `nn.silu` and `nn.gelu(x, "tanh")`; `si`
and `ci` are the parts of `sici`, `riemann_zeta` is `zeta` of one argument, `lambertw_0` and `lambertw_m1` are
branches of `lambertw`, and `sph_harm_y` is `sph_legendre_p` turned by the azimuth. Times beside SciPy and
JAX are in [special-times.md](special-times.md).
"""


def row(case: Case) -> str:
    slopes = ", ".join(f"{orders}: {bound:g}" for orders, bound in case.slopes.items())
    where = case.where.replace("|", "\\|")
    single = f"{case.single:g}" if case.name in SINGLE else ""
    return f"| `{case.name}` | {where} | {case.bound:g} | {single} | {slopes.replace(',)', ')')} |\n"


def page() -> str:
    """The page's text."""
    cases = all_cases()
    return HEAD + "".join(row(cases[name]) for name in sorted(names()) if name in cases) + TAIL


if __name__ == "__main__":
    print(page(), end="")
