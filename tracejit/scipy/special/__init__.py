"""Special functions under SciPy's names: vectorized native code, with derivatives in every argument.

The functions broadcast; integers are computed in floating point; float32 is computed in float64 and
rounded, but for what is composed of ops. ``docs/special.md`` says how accurate they are. Each module loads
when one of its functions is first used.
"""

from __future__ import annotations

import typing as _typing

from ...arguments.errors import check_public as _check_public
from ...base.loading import load_module as _load_module

_MODULES = {
    "bessel_functions": "i0 i0e i1 i1e iv ive j0 j1 jv k0 k0e k1 k1e kv kve y0 y1",
    "error_functions": "erf erfc erfcinv erfcx erfinv expit log_expit log_ndtr logit ndtr ndtri",
    "gamma_functions": """
        beta betaln binom comb digamma factorial gamma gammaln loggamma multigammaln polygamma psi zeta
    """,
    "hypergeometric": """
        eval_legendre hyp1f1 hyp2f1 lambertw lpmv sph_harm sph_harm_y sph_legendre_p
    """,
    "incomplete": "betainc betaincc betaincinv gammainc gammaincc gammainccinv gammaincinv",
    "information": "entr kl_div rel_entr xlog1py xlogy",
    "integrals": "ellipe ellipk exp1 expi expn sici spence",
    "normalizing": "log_softmax logsumexp softmax",
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names.split()}
if _typing.TYPE_CHECKING:
    from .bessel_functions import i0, i0e, i1, i1e, iv, ive, j0, j1, jv, k0, k0e, k1, k1e, kv, kve, y0, y1
    from .error_functions import (
        erf,
        erfc,
        erfcinv,
        erfcx,
        erfinv,
        expit,
        log_expit,
        log_ndtr,
        logit,
        ndtr,
        ndtri,
    )
    from .gamma_functions import (
        beta,
        betaln,
        binom,
        comb,
        digamma,
        factorial,
        gamma,
        gammaln,
        loggamma,
        multigammaln,
        polygamma,
        psi,
        zeta,
    )
    from .hypergeometric import (
        eval_legendre,
        hyp1f1,
        hyp2f1,
        lambertw,
        lpmv,
        sph_harm,
        sph_harm_y,
        sph_legendre_p,
    )
    from .incomplete import betainc, betaincc, betaincinv, gammainc, gammaincc, gammainccinv, gammaincinv
    from .information import entr, kl_div, rel_entr, xlog1py, xlogy
    from .integrals import ellipe, ellipk, exp1, expi, expn, sici, spence
    from .normalizing import log_softmax, logsumexp, softmax
else:

    def __getattr__(name: str) -> object:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = getattr(_load_module(f".{_LAZY[name]}", __name__), name)
        _check_public(globals(), [name], "scipy.special.")
        return globals()[name]


def __dir__() -> list[str]:
    return [*(name for name in globals() if name.startswith("__")), *__all__]


__all__ = [
    "beta",
    "betainc",
    "betaincc",
    "betaincinv",
    "betaln",
    "binom",
    "comb",
    "digamma",
    "ellipe",
    "ellipk",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "eval_legendre",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "kl_div",
    "kv",
    "kve",
    "lambertw",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "lpmv",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "sph_harm",
    "sph_harm_y",
    "sph_legendre_p",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "zeta",
]
