"""SciPy and scikit-learn, called with tensors: what was tried, and works.

``python -m tests.array_api.libraries`` runs the calls with tensors and with arrays, where the libraries are
installed; it prints those that differ, or that give no tensor. docs/namespaces.md lists them.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import tracejit as tj

#: Functions by module, with the arguments of their calls: expressions of the library `xp` and the arrays `x`
#: and `y` (60 by 4), `v` and `w` (60), `p` (60, in 0..1), `labels` and `guesses` (60, of 0 and 1).
SCIPY: Final = {
    "scipy.special": (
        ("gammaln expit logit erf erfc ndtr log_ndtr i0 i0e i1 entr logsumexp softmax log_softmax", "p"),
        ("xlogy rel_entr gammainc chdtr", "p, p + 0.5"),
        ("betainc", "p, p + 0.5, p"),
    ),
    "scipy.stats": (
        ("skew kurtosis moment sem variation gmean hmean zscore iqr entropy circmean circvar tmean", "p"),
        ("tvar tstd tmin tmax gstd kstat rankdata mode describe", "p"),
        ("skewtest kurtosistest normaltest jarque_bera", "v"),
        ("ttest_ind ttest_rel pearsonr spearmanr bartlett mannwhitneyu", "v, w"),
        ("ttest_1samp", "v, 0.25"),
        ("combine_pvalues false_discovery_control", "p"),
        ("trim_mean", "p, 0.1"),
    ),
    "scipy.signal": (
        ("detrend", "v"),
        ("convolve", "v, w"),
        ("lfilter", "xp.asarray([1.0, 2.0]), xp.asarray([1.0, 0.5]), v"),
        ("sosfilt", "xp.asarray([[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]]), v"),
        ("medfilt", "v"),
    ),
    "scipy.ndimage": (
        ("gaussian_filter", "x, 1.0"),
        ("uniform_filter median_filter", "x, 3"),
        ("rotate", "x, 30.0"),
        ("zoom", "x, 2"),
    ),
    "scipy.spatial.distance": (("pdist", "x"),),
    "scipy.cluster.vq": (("whiten", "x"), ("vq", "x, x[:3, :]")),
    "scipy.cluster.hierarchy": (("linkage", "x"),),
    "scipy.integrate": (
        ("trapezoid cumulative_trapezoid", "v"),
        ("tanhsinh", "lambda t: t * t, xp.asarray(0.0), xp.asarray(1.0)"),
    ),
    "scipy.optimize": (("rosen", "v"),),
    "scipy.optimize.elementwise": (
        ("find_root", "lambda t: t**2 - 2, (xp.asarray(0.0), xp.asarray(2.0))"),
        ("find_minimum", "lambda t: (t - 1) ** 2, tuple(map(xp.asarray, (-1.0, 0.5, 3.0)))"),
        ("bracket_root", "lambda t: t**3 - 5, xp.asarray(0.0)"),
    ),
    "scipy.differentiate": (
        ("derivative", "xp.exp, xp.asarray([1.0, 2.0])"),
        ("jacobian", "lambda t: xp.stack([t[0] * t[1], t[0]]), xp.asarray([1.0, 2.0])"),
    ),
    "scipy.fft": (("dct fftshift", "v"),),
}
#: Estimators: the arguments of the constructor, and what is done with it.
_TRANSFORMED, _PREDICTED = "{}.fit_transform(x)", "{}.fit(x, labels).predict(x)"
ESTIMATORS: Final = {
    "sklearn.preprocessing": (
        ("StandardScaler() MinMaxScaler() MaxAbsScaler() Normalizer() Binarizer()", _TRANSFORMED),
        ("PolynomialFeatures()", _TRANSFORMED),
        ("KernelCenterer()", "{}.fit_transform(x @ x.T)"),
        ("LabelEncoder() LabelBinarizer()", "{}.fit_transform(labels)"),
    ),
    "sklearn.linear_model": (("LinearRegression() PoissonRegressor() LogisticRegression()", _PREDICTED),),
    "sklearn.naive_bayes": (
        ("GaussianNB()", _PREDICTED),
        ("GaussianNB()", "{}.fit(x, labels).predict_proba(x)"),
    ),
    "sklearn.feature_selection": (
        ("SelectKBest(k=2)", "{}.fit_transform(x, labels)"),
        ("VarianceThreshold()", _TRANSFORMED),
    ),
}
METRICS: Final = {
    "sklearn.metrics": (
        (
            "accuracy_score f1_score hamming_loss jaccard_score precision_score recall_score",
            "labels, guesses",
        ),
        ("zero_one_loss matthews_corrcoef confusion_matrix multilabel_confusion_matrix", "labels, guesses"),
        ("brier_score_loss log_loss roc_curve det_curve precision_recall_curve", "labels, p"),
        ("average_precision_score roc_auc_score d2_brier_score d2_log_loss_score", "labels, p"),
        ("explained_variance_score max_error mean_absolute_error mean_pinball_loss r2_score", "v, w"),
        ("mean_absolute_percentage_error mean_squared_error median_absolute_error", "v, w"),
        ("root_mean_squared_error d2_absolute_error_score d2_pinball_score", "v, w"),
        ("mean_gamma_deviance mean_poisson_deviance mean_squared_log_error", "p + 1, p + 2"),
        ("mean_tweedie_deviance root_mean_squared_log_error d2_tweedie_score", "p + 1, p + 2"),
    ),
    "sklearn.metrics.pairwise": (
        ("cosine_similarity cosine_distances euclidean_distances manhattan_distances", "x, y"),
        ("paired_cosine_distances paired_euclidean_distances pairwise_distances", "x, y"),
        ("linear_kernel polynomial_kernel rbf_kernel laplacian_kernel sigmoid_kernel", "x, y"),
        ("additive_chi2_kernel chi2_kernel", "abs(x), abs(y)"),
    ),
    "sklearn.model_selection": (("train_test_split", "x, labels, random_state=0"),),
}
#: Scores are Python's numbers; other results must be tensors.
_NUMBERS: Final = (float, int, np.generic)
_TOLERANCE: Final = 1e-6  # iterations that stop at a change of this size


def calls() -> Iterator[tuple[str, str, str]]:
    """The module, the name, and the expression, in which ``module`` is the former, of every call."""
    for tables in (SCIPY, METRICS):
        for module, rows in tables.items():
            for names, arguments in rows:
                for name in names.split():
                    yield module, name, f"module.{name}({arguments})"
    for module, rows in ESTIMATORS.items():
        for names, action in rows:
            for constructor in names.split():
                yield module, constructor.partition("(")[0], action.format(f"module.{constructor}")


def tried() -> dict[str, list[str]]:
    """The names of what is called, by module."""
    names: dict[str, list[str]] = {}
    for module, name, _ in calls():
        if name not in names.setdefault(module, []):
            names[module].append(name)
    return {module: sorted(names[module]) for module in sorted(names)}


def arguments(xp: Any) -> dict[str, Any]:
    """The names that the expressions are evaluated with."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 60, 4))
    labels = (x[:, 0] + 0.3 * y[:, 0] > 0).astype(np.int64)
    arrays = {"x": x, "y": y, "v": x[:, 0], "w": x[:, 1], "p": rng.random(60), "labels": labels}
    arrays["guesses"] = np.where(rng.random(60) < 0.2, 1 - labels, labels)
    return {"xp": xp, **{name: xp.asarray(value.copy()) for name, value in arrays.items()}}


def _parts(result: Any) -> list[Any]:
    """The numbers and arrays in `result`."""
    if isinstance(result, (tj.Tensor, np.ndarray, *_NUMBERS)):
        return [result]
    if isinstance(result, (tuple, list)):
        return [part for item in result for part in _parts(item)]
    fields = ("statistic", "pvalue", "x", "df", "integral", "bracket")
    return [part for field in fields if hasattr(result, field) for part in _parts(getattr(result, field))]


def complaint(module: Any, expression: str) -> str:
    """The difference between an expression of tensors and one of arrays; "" if there is none."""
    evaluate: Callable[[Any], Any] = lambda xp: eval(expression, {"module": module, **arguments(xp)})  # noqa: E731
    expected = _parts(evaluate(np))
    try:
        result = _parts(evaluate(tj))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if not expected or len(result) != len(expected):
        return f"{len(result)} results, expected {len(expected)}"
    for ours, theirs in zip(result, expected, strict=True):
        if not isinstance(ours, (tj.Tensor, *_NUMBERS)):
            return f"gives a {type(ours).__name__}"
        if not np.allclose(np.asarray(ours), theirs, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
            return f"{ours}, expected {theirs}"
    return ""


def main() -> int:
    """Print what fails; 1 where anything does."""
    warnings.simplefilter("ignore")
    os.environ["SCIPY_ARRAY_API"] = "1"
    importlib.import_module("sklearn").set_config(array_api_dispatch=True)
    failures = 0
    for module, name, expression in calls():
        problem = complaint(importlib.import_module(module), expression)
        if problem:
            failures += 1
            print(f"{module}.{name}: {expression}: {problem}")
    print(f"{sum(1 for _ in calls())} calls, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
