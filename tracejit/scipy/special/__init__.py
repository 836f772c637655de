"""Special functions under SciPy's names: vectorized native code, with derivatives in every argument.

The functions broadcast; integers are computed in floating point; float32 is computed in float64 and
rounded, but for what is composed of ops. ``docs/special.md`` says how accurate they are. Each module loads
when one of its functions is first used.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ...arguments.errors import check_public as _check_public

_MODULES = {
    "error_functions": "erf erfc erfcinv erfcx erfinv expit log_expit log_ndtr logit ndtr ndtri",
    "gamma_functions": (
        "beta betaln binom comb digamma factorial gamma gammaln loggamma multigammaln polygamma psi zeta"
    ),
    "incomplete": "betainc betaincc betaincinv gammainc gammaincc gammainccinv gammaincinv",
    "information": "entr kl_div rel_entr xlog1py xlogy",
    "normalizing": "log_softmax logsumexp softmax",
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names.split()}
if _TYPE_CHECKING:
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
    from .incomplete import betainc, betaincc, betaincinv, gammainc, gammaincc, gammainccinv, gammaincinv
    from .information import entr, kl_div, rel_entr, xlog1py, xlogy
    from .normalizing import log_softmax, logsumexp, softmax
else:

    def __getattr__(name: str) -> object:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = getattr(_import_module(f".{_LAZY[name]}", __name__), name)
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
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "expit",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "kl_div",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]
