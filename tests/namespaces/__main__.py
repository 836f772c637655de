"""docs/namespaces.md: ``python -m tests.namespaces > docs/namespaces.md`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.array_api.libraries import tried

from .jax_numpy import JAX_NUMPY
from .scipy_special import SCIPY_SPECIAL
from .standards import ARRAY_API, NUMPY_FFT, NUMPY_LINALG

NAMESPACES: Final = (ARRAY_API, NUMPY_LINALG, NUMPY_FFT, SCIPY_SPECIAL, JAX_NUMPY)
_INTRODUCTION: Final = """\
# Names of other namespaces

Written by `python -m tests.namespaces`; `tests/namespaces/` keeps it true. NumPy's main namespace has a page
of its own, [numpy.md](numpy.md). What is the same has the same name and meaning; results that differ are in
[differences.md](differences.md), and what PyTorch and JAX have elsewhere in [coming-from.md](coming-from.md).
"""
_LIBRARIES: Final = """\
## SciPy and scikit-learn

Tensors follow the Array API, so libraries that follow it take them: SciPy with `SCIPY_ARRAY_API=1` in the
environment, scikit-learn with `sklearn.set_config(array_api_dispatch=True)` beside it. Results are tensors,
or Python numbers where the library gives such. Where they run compiled code of their own, that is eager, and
no gradients follow. `python -m tests.array_api.libraries` runs these with SciPy 1.17 and scikit-learn 1.9,
and compares the results with NumPy's. What needs `linalg` or `fft` raises: `Ridge`, `PCA`, `GaussianMixture`,
`Nystroem`, `LinearDiscriminantAnalysis`, `balanced_accuracy_score`, `cohen_kappa_score`, `savgol_filter`,
`hilbert`, `fftconvolve` and `resample` among those that were tried.

| module | functions and estimators |
|---|---|"""


def document() -> Iterator[str]:
    """The lines of docs/namespaces.md."""
    yield from _INTRODUCTION.split("\n")
    for namespace in NAMESPACES:
        yield from namespace.section()
        yield ""
    yield from _LIBRARIES.split("\n")
    for module, names in tried().items():
        yield f"| `{module}` | {', '.join(f'`{name}`' for name in names)} |"


if __name__ == "__main__":
    for line in document():
        print(line)
