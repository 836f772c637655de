"""Calls of SciPy's functions with callbacks, but for those of `optimizing` and `integrating`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.cluster.hierarchy import linkage
from scipy.optimize import differential_evolution, minimize_scalar

from .calling import Callbacks

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # deprecated
    from scipy import odr

Case = Callable[[Callbacks], Any]

RNG = np.random.default_rng(11)
SPREAD = RNG.normal(size=40)
OTHER = RNG.normal(0.4, 1.2, size=40)
POINTS = RNG.normal(size=(9, 3))
IMAGE = RNG.normal(size=(7, 8))
SIGNAL = np.cumsum(RNG.normal(size=256))
MATRIX = np.diag(np.arange(4.0, 24.0)) + 0.1 * RNG.normal(size=(20, 20))
SYMMETRIC = (MATRIX + MATRIX.T) / 2
SMALL = RNG.normal(size=(3, 3))
RIGHT = RNG.normal(size=20)
START = RNG.normal(size=(20, 3))


def _ndimage(o: Callbacks, name: str, *args: Any, **options: Any) -> Any:
    return o.call(f"ndimage.{name}", IMAGE, *args, **options)


def _lines(o: Callbacks) -> Any:
    def smooth(line, output):
        output[:] = line[:-2] + line[1:-1] + line[2:]

    return _ndimage(o, "generic_filter1d", o(smooth), 3)


def _labeled(o: Callbacks) -> Any:
    labels = np.arange(56).reshape(7, 8) % 3
    return _ndimage(o, "labeled_comprehension", labels, [0, 1, 2], o(np.max), float, -1)


def _images() -> Iterator[tuple[str, Case]]:
    yield "generic_filter", lambda o: _ndimage(o, "generic_filter", o(lambda part: np.max(part) - part[4]), 3)
    yield (
        "vectorized_filter",
        lambda o: _ndimage(
            o, "vectorized_filter", o(lambda p, axis: np.sum(p, axis), static=(1,)), size=(3, 3)
        ),
    )
    yield "generic_filter1d", _lines
    yield (
        "geometric_transform",
        lambda o: _ndimage(o, "geometric_transform", o(lambda p: (p[0] + 0.5, p[1] * 0.9))),
    )
    yield "labeled_comprehension", _labeled


def _functions_of_matrices() -> Iterator[tuple[str, Case]]:
    yield "funm", lambda o: o.call("linalg.funm", SMALL, o(np.exp))
    yield "schur", lambda o: o.call("linalg.schur", SMALL, sort=o(lambda x, y: x > 0))
    yield (
        "ordqz",
        lambda o: o.call("linalg.ordqz", SMALL, SMALL.T, sort=o(lambda a, b: np.abs(a) > np.abs(b))),
    )
    for name, count in (("estimate_spectral_norm", 1), ("estimate_spectral_norm_diff", 2)):
        yield (
            name,
            lambda o, n=name, c=count: o.call(
                f"linalg.interpolative.{n}", *[o.operator(MATRIX + i * np.eye(20)) for i in range(c)], rng=3
            ),
        )
    yield (
        "estimate_rank",
        lambda o: o.call("linalg.interpolative.estimate_rank", o.operator(MATRIX), 1e-6, rng=3),
    )
    yield (
        "interp_decomp",
        lambda o: o.call("linalg.interpolative.interp_decomp", o.operator(MATRIX), 1e-3, rng=3),
    )
    yield "svd of operator", lambda o: o.call("linalg.interpolative.svd", o.operator(MATRIX), 1e-6, rng=3)[1]


def _solvers() -> Iterator[tuple[str, Case]]:
    for name in ["bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"]:
        tight = {"rtol": 1e-10} if name != "gcrotmk" else {"rtol": 1e-10, "maxiter": 100}

        def solve(o: Callbacks, name: str = name, tight: Any = tight) -> Any:
            scaling = np.diag(1 / np.diag(SYMMETRIC))
            names = ("M1",) if name == "qmr" else ("M",)
            preconditioners = {key: o.operator(scaling) for key in names}
            if name == "qmr":
                preconditioners["M2"] = o.operator(np.eye(20))
            return o.call(f"sparse.linalg.{name}", o.operator(SYMMETRIC), RIGHT, **preconditioners, **tight)

        yield name, solve
    for name in ("lsmr", "lsqr"):
        yield (
            name,
            lambda o, n=name: o.call(f"sparse.linalg.{n}", o.operator(MATRIX), RIGHT, atol=1e-12, btol=1e-12)[
                0
            ],
        )


def _spectra() -> Iterator[tuple[str, Case]]:
    begin = np.ones(20)
    for name in ("eigs", "eigsh"):

        def largest(o: Callbacks, name: str = name) -> Any:
            extra = {"M": o.operator(np.eye(20)), "Minv": o.operator(np.eye(20))} if name == "eigs" else {}
            if name == "eigsh":
                extra = {"Minv": o.operator(np.eye(20)), "M": np.eye(20)}
            eigenvalues = o.call(
                f"sparse.linalg.{name}",
                o.operator(SYMMETRIC),
                3,
                v0=begin,
                return_eigenvectors=False,
                **extra,
            )
            return np.sort(np.real(eigenvalues))

        def near(o: Callbacks, name: str = name) -> Any:
            inverse = np.linalg.inv(SYMMETRIC - 7.3 * np.eye(20))
            eigenvalues = o.call(
                f"sparse.linalg.{name}", SYMMETRIC, 2, sigma=7.3, OPinv=o.operator(inverse), v0=begin,
                return_eigenvectors=False,
            )  # fmt: skip
            return np.sort(np.real(eigenvalues))

        yield name, largest
        yield f"{name} near", near
    yield (
        "svds",
        lambda o: o.call(
            "sparse.linalg.svds", o.operator(MATRIX), 3, v0=begin, return_singular_vectors=False
        ),
    )
    yield (
        "lobpcg",
        lambda o: o.call(
            "sparse.linalg.lobpcg", o.operator(SYMMETRIC), START, B=o.operator(np.eye(20)),
            M=o.operator(np.eye(20)), maxiter=60, tol=1e-8,
        )[0],
    )  # fmt: skip
    yield (
        "LinearOperator",
        lambda o: (lambda a: (a @ RIGHT, a @ START, a.T @ RIGHT, (2 * a) @ RIGHT))(o.operator(MATRIX)),
    )
    yield "onenormest", lambda o: o.call("sparse.linalg.onenormest", o.operator(MATRIX))
    yield (
        "expm_multiply",
        lambda o: o.call("sparse.linalg.expm_multiply", o.operator(0.05 * MATRIX), RIGHT, traceA=1.0),
    )
    exp = lambda a: np.diag(np.exp(np.diag(a)))  # noqa: E731
    yield (
        "funm_multiply_krylov",
        lambda o: o.call(
            "sparse.linalg.funm_multiply_krylov", o(exp), o.operator(np.diag(np.arange(20.0))), RIGHT
        ),
    )


def _mean_difference(x, y, axis):
    return np.mean(x, axis=axis) - np.mean(y, axis=axis)


def _statistics() -> Iterator[tuple[str, Case]]:
    mean = lambda x, axis: np.mean(x, axis=axis)  # noqa: E731
    for method in ("percentile", "basic", "BCa"):
        yield (
            f"bootstrap {method}",
            lambda o, m=method: o.call(
                "stats.bootstrap",
                (SPREAD,),
                o(mean, static=(1,)),
                n_resamples=50,
                rng=3,
                method=m,
                vectorized=True,
            ),
        )
    yield (
        "bootstrap one by one",
        lambda o: o.call("stats.bootstrap", (SPREAD,), o(np.mean), n_resamples=20, rng=3, vectorized=False),
    )
    yield (
        "permutation_test",
        lambda o: o.call(
            "stats.permutation_test", (SPREAD, OTHER), o(_mean_difference, static=(2,)), n_resamples=50,
            rng=3, vectorized=True,
        ),
    )  # fmt: skip
    yield (
        "monte_carlo_test",
        lambda o: o.call(
            "stats.monte_carlo_test", SPREAD, np.random.default_rng(3).normal, o(mean, static=(1,)),
            n_resamples=50, vectorized=True,
        ),
    )  # fmt: skip
    yield "continuous expect", lambda o: o.call("stats.rv_continuous.expect", stats.norm, o(lambda x: x**2))
    yield (
        "discrete expect",
        lambda o: o.call("stats.rv_discrete.expect", stats.poisson, o(lambda k: k**2), (3.0,)),
    )
    bins = {"bins": 5}
    yield "binned_statistic", lambda o: o.call("stats.binned_statistic", SPREAD, OTHER, o(np.sum), **bins)
    yield (
        "binned_statistic_2d",
        lambda o: o.call("stats.binned_statistic_2d", SPREAD, OTHER, OTHER, o(np.sum), bins=3),
    )
    yield (
        "binned_statistic_dd",
        lambda o: o.call("stats.binned_statistic_dd", POINTS[:, :2], POINTS[:, 2], o(np.sum), bins=2),
    )
    cdf = lambda x: 0.5 * (1 + np.tanh(0.8 * x))  # noqa: E731
    yield "cramervonmises", lambda o: o.call("stats.cramervonmises", SPREAD, o(cdf))
    yield "ks_1samp", lambda o: o.call("stats.ks_1samp", SPREAD, o(cdf))
    yield "mstats kstest", lambda o: o.call("stats.mstats.kstest", SPREAD, o(cdf))
    yield "mstats ks_1samp", lambda o: o.call("stats.mstats.ks_1samp", SPREAD, o(cdf))
    yield "kstest", lambda o: o.call("stats.kstest", SPREAD, o(cdf))
    yield "kde bandwidth", lambda o: o.call("stats.gaussian_kde", SPREAD, _bandwidth(o))(OTHER[:4])
    yield (
        "median_abs_deviation",
        lambda o: o.call("stats.median_abs_deviation", SPREAD, center=o(mean, static=(1,))),
    )
    yield "sobol_indices", _sobol
    yield (
        "weightedtau",
        lambda o: o.call("stats.weightedtau", SPREAD, OTHER, weigher=o(lambda r: 1 / (1.0 + r))),
    )
    yield "fit", _fit
    yield "goodness_of_fit", _goodness
    yield "power", _power
    for name in ("boxcox", "boxcox_normmax"):
        yield name, partial(_boxcox, name=name)
    yield (
        "RatioUniforms",
        lambda o: o.call(
            "stats.sampling.RatioUniforms",
            o(lambda x: np.exp(-(x**2) / 2)),
            umax=1.0,
            vmin=-0.9,
            vmax=0.9,
            random_state=3,
        ).rvs(5),
    )
    for name in ("TransformedDensityRejection", "NumericalInversePolynomial", "SimpleRatioUniforms"):
        yield name, partial(_sampled, name=name)


def _bandwidth(o: Callbacks) -> Any:
    rule = o(lambda count: count**-0.2)
    return lambda kde: rule(float(kde.neff))


class _Density:
    """A density with the methods that ``scipy.stats.sampling`` asks for, jitted ones among them."""

    def __init__(self, o: Callbacks) -> None:
        self.pdf = o(lambda x: np.exp(-(x**2) / 2))
        self.dpdf = o(lambda x: -x * np.exp(-(x**2) / 2))
        self.cdf = o(lambda x: 0.5 * (1 + np.tanh(0.8 * x)))


def _sampled(o: Callbacks, name: str) -> Any:
    extra = {"mode": 0.0, "pdf_area": 2.5} if name == "SimpleRatioUniforms" else {}
    return o.call(f"stats.sampling.{name}", _Density(o), domain=(-3.0, 3.0), random_state=3, **extra).rvs(5)


def _sobol(o: Callbacks) -> Any:
    surface = o(lambda x: x[0] + x[1] ** 2)
    uniform = [stats.uniform(), stats.uniform()]
    return o.call("stats.sobol_indices", func=surface, n=64, dists=uniform, rng=3)


def _fit(o: Callbacks) -> Any:
    def minimize(objective, bounds, args=()):
        shift = o(lambda x: x * 1.0)
        return differential_evolution(
            lambda x: objective(np.asarray(shift(x)), *args), bounds, rng=3, maxiter=10
        )

    return o.call("stats.fit", stats.norm, SPREAD, [(-1, 1), (0.5, 2)], optimizer=minimize).params


def _goodness(o: Callbacks) -> Any:
    statistic = o(lambda data: np.max(np.abs(data), axis=-1))
    return o.call(
        "stats.goodness_of_fit", stats.norm, SPREAD, known_params={"loc": 0, "scale": 1}, rng=3,
        n_mc_samples=30, statistic=lambda dist, data, axis: statistic(data),
    )  # fmt: skip


def _power(o: Callbacks) -> Any:
    test = o(lambda x: np.abs(np.mean(x)))
    rng = np.random.default_rng(3)
    return o.call("stats.power", test, rng.normal, 10, n_resamples=20, vectorized=False).power


def _boxcox(o: Callbacks, name: str) -> Any:
    shift = o(lambda x: x * 1.0)
    optimizer = lambda f: minimize_scalar(lambda x: f(shift(x)), bounds=(-2, 2), method="bounded")  # noqa: E731
    return o.call(f"stats.{name}", np.abs(SPREAD) + 0.2, optimizer=optimizer)


def _distance(x, y):
    return np.sum(np.abs(x - y) ** 1.5)


def _metrics() -> Iterator[tuple[str, Case]]:
    yield "pdist", lambda o: o.call("spatial.distance.pdist", POINTS, o(_distance))
    yield "cdist", lambda o: o.call("spatial.distance.cdist", POINTS, POINTS[:4], o(_distance))
    yield "linkage", lambda o: o.call("cluster.hierarchy.linkage", POINTS, metric=o(_distance))
    yield "fclusterdata", lambda o: o.call("cluster.hierarchy.fclusterdata", POINTS, 1.0, metric=o(_distance))
    yield (
        "optimal_leaf_ordering",
        lambda o: o.call("cluster.hierarchy.optimal_leaf_ordering", _linkage(), POINTS, metric=o(_distance)),
    )


@functools.cache
def _linkage() -> Any:
    return linkage(POINTS)


def _signals() -> Iterator[tuple[str, Case]]:
    center = lambda x: x - np.mean(x, axis=-1, keepdims=True)  # noqa: E731
    for name in ("csd", "coherence"):
        yield (
            name,
            lambda o, n=name: o.call(
                f"signal.{n}", SIGNAL, SIGNAL[::-1].copy(), nperseg=64, detrend=o(center)
            ),
        )
    for name in ("periodogram", "welch", "spectrogram", "stft"):
        segments = {} if name == "periodogram" else {"nperseg": 64}
        yield name, lambda o, n=name, g=segments: o.call(f"signal.{n}", SIGNAL, detrend=o(center), **g)
    yield (
        "resample",
        lambda o: o.call("signal.resample", SIGNAL, 100, window=o(lambda f: np.exp(-(f**2) * 4))),
    )
    yield "argrelextrema", lambda o: o.call("signal.argrelextrema", SIGNAL, o(np.greater))
    yield "find_peaks_cwt", _peaks


def _peaks(o: Callbacks) -> Any:
    def wavelet(points, width):
        place = np.arange(points) - (points - 1.0) / 2
        return (1 - (place / width) ** 2) * np.exp(-((place / width) ** 2) / 2)

    return o.call("signal.find_peaks_cwt", SIGNAL, np.arange(1, 6), wavelet=o(wavelet, static=(0,)))


def _radial(o: Callbacks) -> Any:
    interpolated = o.call(
        "interpolate.Rbf", *POINTS.T, function=o(lambda r: np.sqrt(r**2 + 1)),
        norm=o(lambda x, y: np.sqrt(((x - y) ** 2).sum(axis=0))),
    )  # fmt: skip
    return interpolated(*POINTS[:, :2].T + 0.1)


def _radial_with_scale(o: Callbacks) -> Any:
    """The function's first parameter is the interpolator."""
    function = o(lambda self, r: np.exp(-((r / self.epsilon) ** 2)))
    return o.call("interpolate.Rbf", *POINTS.T, function=function)(*POINTS[:, :2].T + 0.1)


def _regression(o: Callbacks) -> Any:
    x = np.linspace(0.0, 2.0, 15)
    y = 2.0 * np.exp(-0.7 * x)
    model = o.call(
        "odr.Model",
        o(lambda b, x: b[0] * np.exp(b[1] * x)),
        fjacb=o(lambda b, x: np.stack([np.exp(b[1] * x), b[0] * x * np.exp(b[1] * x)])),
        fjacd=o(lambda b, x: b[0] * b[1] * np.exp(b[1] * x)),
    )
    fit = odr.ODR(odr.RealData(x, y), model, beta0=[1.0, -0.2]).run()
    return fit.beta, fit.sd_beta


def cases() -> Iterator[tuple[str, Case]]:
    """The name and the call of each case."""
    for group in (
        _images, _functions_of_matrices, _solvers, _spectra,
        _statistics, _metrics, _signals,
    ):  # fmt: skip
        yield from group()
    yield "odr", _regression
    yield "Rbf", _radial
    yield "Rbf with scale", _radial_with_scale
