# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from .functions import (
    beta as beta,
    betainc as betainc,
    betaincc as betaincc,
    betaincinv as betaincinv,
    betaln as betaln,
    binom as binom,
    digamma as digamma,
    ellipe as ellipe,
    ellipk as ellipk,
    entr as entr,
    erf as erf,
    erfc as erfc,
    erfcinv as erfcinv,
    erfcx as erfcx,
    erfinv as erfinv,
    eval_legendre as eval_legendre,
    exp1 as exp1,
    expi as expi,
    expit as expit,
    expn as expn,
    gamma as gamma,
    gammainc as gammainc,
    gammaincc as gammaincc,
    gammainccinv as gammainccinv,
    gammaincinv as gammaincinv,
    gammaln as gammaln,
    hyp1f1 as hyp1f1,
    hyp2f1 as hyp2f1,
    i0 as i0,
    i0e as i0e,
    i1 as i1,
    i1e as i1e,
    iv as iv,
    ive as ive,
    j0 as j0,
    j1 as j1,
    jv as jv,
    k0 as k0,
    k0e as k0e,
    k1 as k1,
    k1e as k1e,
    kl_div as kl_div,
    kv as kv,
    kve as kve,
    log_expit as log_expit,
    log_ndtr as log_ndtr,
    logit as logit,
    lpmv as lpmv,
    ndtr as ndtr,
    ndtri as ndtri,
    psi as psi,
    rel_entr as rel_entr,
    spence as spence,
    sph_legendre_p as sph_legendre_p,
    xlog1py as xlog1py,
    xlogy as xlogy,
    y0 as y0,
    y1 as y1,
)

from .gamma_functions import (
    comb as comb,
    factorial as factorial,
    loggamma as loggamma,
    multigammaln as multigammaln,
    polygamma as polygamma,
    zeta as zeta,
)

from .lambert_w import (
    lambertw as lambertw,
)

from .normalizing import (
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    softmax as softmax,
)

from .sine_integrals import (
    sici as sici,
)

from .spherical_harmonics import (
    sph_harm as sph_harm,
    sph_harm_y as sph_harm_y,
)
