"""Functions sent by cloudpickle, joblib, dask, scikit-learn and from notebooks, where those are installed."""

from __future__ import annotations

import importlib.util
import pickle
import textwrap
from pathlib import Path
from typing import Any

import pytest

import tracejit as tj

from ...runtime.programs import python
from .test_pickles import run_script

pytest.importorskip("cloudpickle")
pytest.importorskip("sklearn")


@pytest.mark.parametrize("module", [False, True])
@pytest.mark.parametrize("way", ["joblib", "dask", "ray"])
def test_scripts_and_modules(way: str, module: bool, tmp_path: Path) -> None:
    package = "distributed" if way == "dask" else way
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"there is no {package}")
    run_script(way, tmp_path, module=module)


def test_cloudpickle_of_what_refers_to_itself() -> None:
    program = """
        import subprocess, sys
        import cloudpickle
        import numpy as np
        import tracejit as tj

        @tj.jit(static_argnums=1)
        def power(x, n):
            return power(x, n - 1) * x if n else x * 0 + 1

        @tj.jit(static_argnums=1)
        def even(x, n):
            return odd(x, n - 1) if n else x

        @tj.grad
        def odd(x):
            return even(x, 0) ** 2

        pickled = cloudpickle.dumps((power, odd, even))
        reader = (
            "import sys, pickle; power, odd, even = pickle.loads(sys.stdin.buffer.read())\\n"
            "print(float(power(2.0, 5)), float(odd(3.0)), float(even(1.5, 0)))"
        )
        print(subprocess.run([sys.executable, "-c", reader], input=pickled, capture_output=True).stdout)
    """
    assert python(textwrap.dedent(program)).strip() == "b'32.0 6.0 1.5\\n'"


def test_an_estimator_in_a_grid_search(tmp_path: Path) -> None:
    program = """
        import numpy as np
        from sklearn.base import BaseEstimator, RegressorMixin, clone
        from sklearn.model_selection import GridSearchCV
        import tracejit as tj

        def loss(w, x, y, penalty):
            return ((x @ w - y) ** 2).mean() + penalty * (w**2).sum()

        step = tj.jit(lambda w, x, y, penalty: w - 0.1 * tj.grad(loss)(w, x, y, penalty))

        class Ridge(RegressorMixin, BaseEstimator):
            def __init__(self, penalty=0.1, update=step):
                self.penalty, self.update = penalty, update

            def fit(self, x, y):
                w = np.zeros(x.shape[1])
                for _ in range(100):
                    w = self.update(w, x, y, self.penalty)
                self.coef_ = np.asarray(w)
                return self

            @tj.jit
            def predict(self, x):
                return x @ self.coef_

        rng = np.random.default_rng(0)
        x = rng.normal(size=(60, 3))
        y = x @ np.array([1.0, -2.0, 0.5])
        copied = clone(Ridge(penalty=0.0).fit(x, y))
        assert copied.update is step and not hasattr(copied, "coef_")
        search = GridSearchCV(Ridge(), {"penalty": [0.0, 1.0]}, n_jobs=2, cv=3).fit(x, y)
        print(search.best_params_["penalty"], np.round(search.best_estimator_.coef_, 3).tolist())
    """
    printed = python(textwrap.dedent(program), TRACEJIT_CACHE="1", TRACEJIT_CACHE_DIR=str(tmp_path))
    assert printed.strip() == "0.0 [1.0, -2.0, 0.5]"


def test_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", "1")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [
        "import numpy as np\nimport tracejit as tj\nfrom joblib import Parallel, delayed\nfactor = 2.0",
        "@tj.jit\ndef scaled(x):\n    return x.sum() * factor\n"
        "slope = tj.jit(tj.grad(lambda x: scaled(x) ** 2))",
        "[float(value) for value in Parallel(n_jobs=2)(delayed(scaled)(np.ones(n)) for n in (2, 3))]",
        "factor = 3.0\n[slope(x).tolist() for x in (np.ones(2),)], [value.tolist() for value in\n"
        " Parallel(n_jobs=2)(delayed(f)(np.ones(2)) for f in (scaled, slope))]",
        "def compiled_here(f, n):\n    import sys\n    f(np.ones(n))\n"
        "    return 'llvmlite.binding' in sys.modules\n"
        "local = tj.jit(lambda x: slope(x).sum() + 1)\n"
        "local(np.ones(3)), scaled(np.ones(3)), slope(np.ones(3))\n"
        "from joblib.externals.loky import get_reusable_executor\n"
        "get_reusable_executor().shutdown()  # so that workers are new\n"
        "any(Parallel(n_jobs=2)(delayed(compiled_here)(f, 3) for f in (scaled, slope, local)))",
    ]
    notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    texts = [cell.outputs[-1]["data"]["text/plain"] for cell in notebook.cells[2:]]
    assert texts == ["[4.0, 6.0]", "([[36.0, 36.0]], [6.0, [36.0, 36.0]])", "False"]


def test_source_is_found_where_pickles_leave_its_file_out() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")

    def halved(v: Any) -> Any:
        for _ in range(50):
            v = v * 0.5
        return v

    @tj.jit
    def program(x: Any) -> Any:
        for _ in range(60):
            x = x + 1.0
        return halved(x)

    again = pickle.loads(cloudpickle.dumps(program))
    assert again(2.0).item() == program(2.0).item()
    assert str(again.explain()).count("compiled: ") == 2
