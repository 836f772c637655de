"""Random numbers that a jitted function draws by NumPy, Python and SciPy: draws of NumPy's generators are
compiled, others are refused."""

from __future__ import annotations

import random
import re
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj

try:
    import scipy.stats as scipy_stats
except ImportError:
    scipy_stats = None

X = np.zeros(2)


class PythonGenerator(random.Random):
    """A class of the user's."""


class NumpyGenerator(np.random.Generator):
    """A class of the user's."""


class Model:
    """An object that holds generators."""

    def __init__(self) -> None:
        self.rng, self.python = np.random.default_rng(1), PythonGenerator(1)

    def noise(self) -> float:
        return float(self.rng.normal())


def scope() -> dict[str, Any]:
    """The names that the expressions read."""
    names = {
        "np": np, "random": random, "tj": tj,
        "gen": np.random.default_rng(0), "state": np.random.RandomState(0), "python": random.Random(1),
        "sub": PythonGenerator(1), "numpy_sub": NumpyGenerator(np.random.PCG64(1)),
        "bits": np.random.PCG64(3), "model": Model(), "table": {"rng": np.random.default_rng(2)},
        "draw": np.random.default_rng(5).random, "PythonGenerator": PythonGenerator,
    }  # fmt: skip
    if scipy_stats is not None:
        names["st"], names["frozen"] = scipy_stats, scipy_stats.norm(0.0, 1.0)
        names["multi"] = scipy_stats.multivariate_normal(np.zeros(2))
    return names


SCIPY_DRAWS = [
    "st.norm.rvs()", "st.uniform.rvs(size=2)", "frozen.rvs()", "multi.rvs()", "st.norm.rvs(random_state=gen)",
]  # fmt: skip
DRAWS = [
    *(SCIPY_DRAWS if scipy_stats is not None else ()),
    "sub.random()", "sub.gauss(0, 1)", "sub.getrandbits(8)", "numpy_sub.random()", "numpy_sub.normal()",
    "np.random.default_rng().random()", "np.random.default_rng(None).random()", "random.Random().random()",
    "np.random.default_rng(seed=None).random()", "np.random.RandomState().rand()",
    "PythonGenerator().random()",
    "np.random.Generator(np.random.PCG64()).random()", "np.random.SeedSequence().entropy % 7",
    "gen.bit_generator.random_raw() % 7", "bits.random_raw() % 7", "np.random.Generator(bits).random()",
    "python.gauss(0, 1)", "python.random()", "python.choice([1.0, 2.0])", "random.gauss(0, 1)",
    "random.betavariate(1, 1)", "random.sample(range(9), 1)[0]", "gen.beta(1.0, 2.0)",
    "gen.spawn(1)[0].random()", "gen.random(dtype=np.float32)", "state.multinomial(3, [0.5, 0.5])",
    "model.python.random()", "type(gen).random(gen)", "random.SystemRandom().random()",
    "__import__('random').random()", "gen.random() + gen.permuted([1, 2])",
]  # fmt: skip
#: Draws that are compiled.
COMPILED = [
    "np.random.rand()", "np.random.randint(0, 9)", "np.random.mtrand._rand.rand()", "state.normal()",
    "gen.random()", "draw()", "model.noise()", "model.rng.random()", "table['rng'].random()",
    "getattr(gen, 'normal')()", "sum(gen.random() for _ in range(2))", "[gen, 1][0].random()",
    "sum(map(lambda _: gen.random(), range(2)))", "(lambda g: g.random())(gen)", "gen.integers(9)",
    "gen.uniform(-1, abs(x).sum() + 1)", "gen.normal(x.sum(), 2.0)", "gen.exponential()", "gen.choice(5)",
    "np.random.uniform(2.0, -1)", "np.random.randn()", "np.random.standard_exponential()",
    "gen.random() * np.random.rand() - state.rand() / (1 + gen.random())", "np.random.permutation(2)",
    "gen.standard_normal(2)", "gen.normal(size=2)", "gen.gamma(2.0)", "gen.integers(0, [4, 5])",
    "np.random.rand(2)", "state.poisson(3.0)", "np.random.permutation(x)", "np.random.choice(x)",
    "np.random.normal(x)", "state.permutation(x)", "gen.permutation(x)", "model.rng.normal(x, 1.0)",
]  # fmt: skip
SAME = [
    "np.random.default_rng(3).random()", "np.random.RandomState(3).rand()", "random.Random(3).random()",
    "np.random.Generator(np.random.PCG64(3)).random()", "PythonGenerator(3).gauss(0, 1)",
    "np.random.default_rng(np.random.SeedSequence(3)).normal()",
    "np.random.default_rng(seed=3).normal()", "(gen.random() if x is None else 1.0)",
    *(("st.norm.rvs(random_state=3)", "st.norm.pdf(0.5)") if scipy_stats is not None else ()),
]  # fmt: skip


def made(expression: str, form: str, names: dict[str, Any], tmp_path: Any) -> Any:
    """A function that adds `expression`, which stands in such a form."""
    text = {
        "expression": f"def f(x):\n    return x + {expression}\n",
        "loop": f"def f(x):\n    for i in range(3):\n        x = x + {expression}\n    return x\n",
        "helper": f"def h(x):\n    return {expression}\n\ndef f(x):\n    return x + h(x)\n",
    }[form]
    path = tmp_path / "draws.py"
    path.write_text(text)
    exec(compile(text, str(path), "exec"), names)
    return names["f"]


def states(names: dict[str, Any]) -> list[Any]:
    """The states that the draws would change."""
    state: Any = np.random.get_state(legacy=False)
    generators = names["gen"], names["numpy_sub"], names["model"].rng, names["table"]["rng"]
    own = names["draw"].__self__, names["state"]._bit_generator
    return [
        state["has_gauss"],
        state["gauss"],
        repr(own[0].bit_generator.state),
        repr(own[1].state),
        state["state"]["key"].tolist(),
        state["state"]["pos"],
        *[generator.getstate() for generator in (random, names["python"], names["sub"])],
        *[generator.bit_generator.state for generator in generators],
    ]


@pytest.mark.parametrize("form", ["expression", "loop", "helper"])
@pytest.mark.parametrize("expression", DRAWS)
def test_draws_are_refused_and_take_nothing(expression: str, form: str, tmp_path: Any) -> None:
    np.random.seed(4)
    random.seed(4)
    names = scope()
    jitted = tj.jit(made(expression, form, names, tmp_path))
    before = states(names)
    for _ in range(2):
        with pytest.raises(tj.TraceError, match="draws random numbers while the function is traced"):
            jitted(X)
    assert states(names) == before


@pytest.mark.parametrize("form", ["expression", "loop", "helper"])
@pytest.mark.parametrize("expression", COMPILED)
def test_draws_that_are_compiled_are_numpys(expression: str, form: str, tmp_path: Any) -> None:
    results, ends = [], []
    for wrapped in (tj.jit, lambda function: function):
        np.random.seed(4)
        names = scope()
        function = wrapped(made(expression, form, names, tmp_path))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            results.append([np.asarray(function(X)).tolist() for _ in range(3)])
        ends.append(states(names))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-14, atol=1e-14)  # sums of what is drawn
    assert ends[0] == ends[1]


#: Draws that ask for the value of a traced argument, and what their error calls them and advises.
OF_TRACED = {
    "np.random.dirichlet(x + 1)": ("np.random.dirichlet(x)", "tj.random.dirichlet"),
    "state.logistic(x)": ("np.random.logistic(x)", "tj.random.logistic"),
    "gen.permuted(x)": ("np.random.permuted(x)", "tj.random"),
    "model.rng.gumbel(x, 1.0)": ("np.random.gumbel(x)", "tj.random.gumbel"),
    "numpy_sub.choice(x)": ("np.random.choice(x)", "tj.random.choice"),
}


@pytest.mark.parametrize("form", ["expression", "loop", "helper"])
@pytest.mark.parametrize("expression", OF_TRACED)
def test_draws_from_traced_values_are_called_draws(expression: str, form: str, tmp_path: Any) -> None:
    asked, advice = OF_TRACED[expression]
    names = scope()
    jitted = tj.jit(made(expression, form, names, tmp_path))
    before = states(names)
    said = re.escape(f"{asked}, which draws random numbers while the function is traced, needs the value of")
    with pytest.raises(tj.ConcretizationError, match=rf"^{said} .* Use {re.escape(advice)}, which draws"):
        jitted(X)
    assert states(names) == before


@pytest.mark.parametrize("form", ["expression", "loop", "helper"])
@pytest.mark.parametrize("expression", SAME)
def test_generators_with_a_seed_are_as_in_python(expression: str, form: str, tmp_path: Any) -> None:
    names = scope()
    function = made(expression, form, names, tmp_path)
    jitted = tj.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            # a sum of four numbers
            np.testing.assert_allclose(np.asarray(jitted(X)), function(X), rtol=1e-15)


def test_a_seed_that_only_some_calls_draw_is_told_of() -> None:
    def f(x: Any, rng: Any = None) -> Any:
        if x.sum() > 0:
            x = x + np.random.default_rng().random()
        return x

    with pytest.warns(tj.FrozenResultWarning, match=r"np\.random\.default_rng\(\) runs while the function"):
        tj.jit(f)(X)


def test_numbers_of_the_system_are_told_of() -> None:
    system = random.SystemRandom()
    with pytest.warns(tj.FrozenResultWarning, match=r"random\(\) runs while the function is traced"):
        tj.jit(lambda x: x + system.random())(X)
