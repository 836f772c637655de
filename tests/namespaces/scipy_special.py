"""The names of ``scipy.special``, written down here as tests do not need SciPy, and what is different."""

from __future__ import annotations

from typing import Final

from .namespace import Namespace

_NAMES: Final = """
    SpecialFunctionError SpecialFunctionWarning agm ai_zeros airy airye assoc_laguerre assoc_legendre_p
    assoc_legendre_p_all bdtr bdtrc bdtri bdtrik bdtrin bei bei_zeros beip beip_zeros ber ber_zeros
    bernoulli berp berp_zeros besselpoly beta betainc betaincc betainccinv betaincinv betaln bi_zeros binom
    boxcox boxcox1p btdtria btdtrib c_roots cbrt cg_roots chdtr chdtrc chdtri chdtriv chebyc chebys chebyt
    chebyu chndtr chndtridf chndtrinc chndtrix comb cosdg cosm1 cotdg dawsn digamma diric ellip_harm
    ellip_harm_2 ellip_normal ellipe ellipeinc ellipj ellipk ellipkinc ellipkm1 elliprc elliprd elliprf
    elliprg elliprj entr erf erf_zeros erfc erfcinv erfcx erfi erfinv errstate euler eval_chebyc eval_chebys
    eval_chebyt eval_chebyu eval_gegenbauer eval_genlaguerre eval_hermite eval_hermitenorm eval_jacobi
    eval_laguerre eval_legendre eval_sh_chebyt eval_sh_chebyu eval_sh_jacobi eval_sh_legendre exp1 exp10
    exp2 expi expit expm1 expn exprel factorial factorial2 factorialk fdtr fdtrc fdtri fdtridfd fresnel
    fresnel_zeros fresnelc_zeros fresnels_zeros gamma gammainc gammaincc gammainccinv gammaincinv gammaln
    gammasgn gdtr gdtrc gdtria gdtrib gdtrix gegenbauer genlaguerre geterr h1vp h2vp h_roots hankel1
    hankel1e hankel2 hankel2e he_roots hermite hermitenorm huber hyp0f1 hyp1f1 hyp2f1 hyperu i0 i0e i1 i1e
    inv_boxcox inv_boxcox1p it2i0k0 it2j0y0 it2struve0 itairy iti0k0 itj0y0 itmodstruve0 itstruve0 iv ive
    ivp j0 j1 j_roots jacobi jn jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros js_roots jv jve jvp k0 k0e k1 k1e
    kei kei_zeros keip keip_zeros kelvin kelvin_zeros ker ker_zeros kerp kerp_zeros kl_div kn kolmogi
    kolmogorov kv kve kvp l_roots la_roots laguerre lambertw legendre legendre_p legendre_p_all lmbda log1p
    log_expit log_ndtr log_softmax log_wright_bessel loggamma logit logsumexp lpmv lqmn lqn mathieu_a
    mathieu_b mathieu_cem mathieu_even_coef mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2
    mathieu_odd_coef mathieu_sem modfresnelm modfresnelp modstruve multigammaln nbdtr nbdtrc nbdtri nbdtrik
    nbdtrin ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc nctdtr nctdtridf nctdtrinc nctdtrit ndtr ndtri
    ndtri_exp nrdtrimn nrdtrisd obl_ang1 obl_ang1_cv obl_cv obl_cv_seq obl_rad1 obl_rad1_cv obl_rad2
    obl_rad2_cv owens_t p_roots pbdn_seq pbdv pbdv_seq pbvv pbvv_seq pbwa pdtr pdtrc pdtri pdtrik perm poch
    polygamma powm1 pro_ang1 pro_ang1_cv pro_cv pro_cv_seq pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv
    ps_roots pseudo_huber psi radian rel_entr rgamma riccati_jn riccati_yn roots_chebyc roots_chebys
    roots_chebyt roots_chebyu roots_gegenbauer roots_genlaguerre roots_hermite roots_hermitenorm
    roots_jacobi roots_laguerre roots_legendre roots_sh_chebyt roots_sh_chebyu roots_sh_jacobi
    roots_sh_legendre round s_roots seterr sh_chebyt sh_chebyu sh_jacobi sh_legendre shichi sici sinc sindg
    smirnov smirnovi softmax softplus spence sph_harm_y sph_harm_y_all sph_legendre_p sph_legendre_p_all
    spherical_in spherical_jn spherical_kn spherical_yn stdtr stdtridf stdtrit stirling2 struve t_roots
    tandg tklmbda ts_roots u_roots us_roots voigt_profile wofz wright_bessel wrightomega xlog1py xlogy y0
    y0_zeros y1 y1_zeros y1p_zeros yn yn_zeros ynp_zeros yv yve yvp zeta zetac
"""
_AT_THE_TOP: Final = "among NumPy's functions: `tj.{}`"
_DIFFERS: Final = {
    **{name: _AT_THE_TOP.format(name) for name in ("cbrt", "exp2", "expm1", "log1p", "round", "sinc")},
    "eval_legendre": "NaN for degrees that are no integers",
    "factorial": "no `extend=`: that of the gamma function, and exact for integers",
    "hyp1f1": "its series alone: large parameters of unlike signs cancel",
    "hyp2f1": "its series alone: large parameters of unlike signs cancel; NaN within 4e-4 of 1",
    "jv": "NaN for negative orders that are no integers",
    "lambertw": "the two real branches, with real results",
    "polygamma": "NaN below -10,000",
    "sph_harm_y": "without `diff_n=`",
    "sph_legendre_p": "without `diff_n=`",
    "zeta": "NaN below -10,000",
}
_ABSENT: Final = {
    "complex results: special functions are real": """
        hankel1 hankel1e hankel2 hankel2e wofz kelvin
    """,
    "distribution functions and their inverses: `betainc`, `gammainc`, `ndtr` and the like compute them": """
        bdtr bdtrc bdtri bdtrik bdtrin betainccinv btdtria btdtrib chdtr chdtrc chdtri chdtriv
        chndtr chndtridf chndtrinc chndtrix fdtr fdtrc fdtri fdtridfd gdtr gdtrc gdtria gdtrib
        gdtrix kolmogi kolmogorov nbdtr nbdtrc nbdtri nbdtrik nbdtrin ncfdtr ncfdtri ncfdtridfd
        ncfdtridfn ncfdtrinc nctdtr nctdtridf nctdtrinc nctdtrit ndtri_exp nrdtrimn nrdtrisd owens_t
        pdtr pdtrc pdtri pdtrik smirnov smirnovi stdtr stdtridf stdtrit tklmbda voigt_profile
    """,
    "tables of zeros, coefficients and nodes: NumPy arrays, which SciPy makes once outside": """
        ai_zeros bei_zeros beip_zeros ber_zeros bernoulli berp_zeros bi_zeros c_roots cg_roots
        erf_zeros euler fresnel_zeros fresnelc_zeros fresnels_zeros h_roots he_roots j_roots
        jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros js_roots kei_zeros keip_zeros kelvin_zeros
        ker_zeros kerp_zeros l_roots la_roots mathieu_even_coef mathieu_odd_coef p_roots ps_roots
        roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_gegenbauer roots_genlaguerre
        roots_hermite roots_hermitenorm roots_jacobi roots_laguerre roots_legendre roots_sh_chebyt
        roots_sh_chebyu roots_sh_jacobi roots_sh_legendre s_roots t_roots ts_roots u_roots us_roots
        y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros
    """,
    "polynomials as objects: their coefficients, with `tj.polyval`": """
        chebyc chebys chebyt chebyu gegenbauer genlaguerre hermite hermitenorm jacobi laguerre
        legendre sh_chebyt sh_chebyu sh_jacobi sh_legendre
    """,
    "polynomials other than Legendre's: their recurrence, in `tj.fori_loop`": """
        assoc_laguerre assoc_legendre_p assoc_legendre_p_all eval_chebyc eval_chebys eval_chebyt
        eval_chebyu eval_gegenbauer eval_genlaguerre eval_hermite eval_hermitenorm eval_jacobi
        eval_laguerre eval_sh_chebyt eval_sh_chebyu eval_sh_jacobi eval_sh_legendre legendre_p
        legendre_p_all lqmn lqn sph_harm_y_all sph_legendre_p_all
    """,
    "what NumPy's functions and a few products write in a line": """
        boxcox boxcox1p cosdg cosm1 cotdg diric exp10 exprel gammasgn huber inv_boxcox inv_boxcox1p
        perm poch powm1 pseudo_huber radian rgamma sindg softplus tandg zetac
    """,
    "Bessel functions by other names, their derivatives and integrals": """
        besselpoly h1vp h2vp it2i0k0 it2j0y0 iti0k0 itj0y0 ivp jn jve jvp kn kvp lmbda riccati_jn
        riccati_yn spherical_in spherical_jn spherical_kn spherical_yn wright_bessel
        log_wright_bessel yn yv yve yvp
    """,
    "other families: Airy, Fresnel, Kelvin, Mathieu, Struve, spheroidal, parabolic and elliptic": """
        agm airy airye bei beip ber berp dawsn ellip_harm ellip_harm_2 ellip_normal ellipeinc ellipj
        ellipkinc ellipkm1 elliprc elliprd elliprf elliprg elliprj erfi fresnel hyp0f1 hyperu
        it2struve0 itairy itmodstruve0 itstruve0 kei keip ker kerp mathieu_a mathieu_b mathieu_cem
        mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_sem modfresnelm
        modfresnelp modstruve obl_ang1 obl_ang1_cv obl_cv obl_cv_seq obl_rad1 obl_rad1_cv obl_rad2
        obl_rad2_cv pbdn_seq pbdv pbdv_seq pbvv pbvv_seq pbwa pro_ang1 pro_ang1_cv pro_cv pro_cv_seq
        pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv shichi struve wrightomega
    """,
    "integers beyond the floats: Python's": "factorial2 factorialk stirling2",
    "settings of SciPy's errors": "SpecialFunctionError SpecialFunctionWarning errstate geterr seterr",
}
SCIPY_SPECIAL: Final = Namespace(
    "scipy.special", "SciPy 1.17", "tracejit.scipy.special", tuple(_NAMES.split()), _DIFFERS, _ABSENT
)
