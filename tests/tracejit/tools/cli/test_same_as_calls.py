"""The commands show what a call compiles: examples and loops of other tests by each, against ``f.lower``."""

from __future__ import annotations

import copy
import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import UncompilableError
from tracejit.jitted.function import JitFunction
from tracejit.pytree import tree_leaves, tree_map
from tracejit.tools.cli import loading, main
from tracejit.tools.cli.errors import FAILED
from tracejit.tools.cli.inputs import random_array
from tracejit.tools.cli.loading import load_function
from tracejit.tools.cli.specs import parse_spec

from ...loops.common import Cases

_EXAMPLES = Path(__file__).parents[4] / "examples"
_LOOPS = Path(__file__).parents[2] / "loops"

_DIGITS = "{w1: f64[64,64], b1: f64[64], w2: f64[64,10], b2: f64[10]}"
#: Functions of the examples, with the types of their arguments, and the other options of the command.
EXAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "cross_entropy.py:cross_entropy": (["f64[64,16]", "i64[64]"], []),
    "custom_derivatives.py:step": (["f64[4]", "f64[20,4]", "f64[20]"], []),
    "custom_op.py:hessian": (["f64[2]", "f64[200]"], []),
    "custom_op.py:negative_log_likelihood": (["f64[2]", "f64[200]"], ["--grad"]),
    "deconvolution.py:wiener": (["f64[4]", "f64[128,128]"], []),
    "deconvolution.py:richardson_lucy": (["f64[128,128]", "f64[]"], []),
    "digits_mlp.py:update": ([_DIGITS, _DIGITS, "f64[32,64]", "i64[32]"], []),
    "gaussian_process.py:loss": (["f64[7]", "f64[20]", "f64[20]"], []),
    "gaussian_process.py:predict": (["f64[7]", "f64[20]", "f64[20]", "f64[6]"], []),
    "gravity.py:leapfrog": (["f64[5,3]", "f64[5,3]", "float"], []),
    "hidden_markov.py:viterbi": (["f64[2]", "f64[2,2]", "f64[2,10]", "i64[30]"], []),
    "hidden_markov.py:log_likelihood": (["f64[2]", "f64[2,2]", "f64[2,10]", "i64[30]"], []),
    "hmc.py:sample": (["u64[]"], []),
    "inspect_ir.py:log_density": (["float", "float", "f64[1000]"], ["--grad", "0,1"]),
    "ising.py:run": (["i64[8,8]", "f64[60,8,8]", "float"], []),
    "kalman.py:loss": (["f64[2]", "f64[30,2]"], ["--grad"]),
    "kalman.py:run_filter": (["f64[2]", "f64[30,2]"], []),
    "kalman.py:smooth": (["f64[2]", "f64[30,2]"], []),
    "logistic_regression.py:hessian": (["f64[5]", "f64[200,5]"], []),
    "logistic_regression.py:objective": (["f64[5]", "f64[200,5]", "f64[200]"], ["--grad"]),
    "lotka_volterra.py:negative_log_posterior": (["f64[8]"], ["--vmap", "3"]),
    "neighbours.py:find_neighbours": (["f64[2,3]", "float", "float"], []),
    "neighbours.py:energy": (["f64[20,3]", "i64[20,15]", "i64[20]", "float"], []),
    "robust_regression.py:negative_log_likelihood": (["f64[3]", "f64[40]", "f64[40]"], []),
    "time_warping.py:distance": (["f64[6]", "f64[5]"], []),
    "time_warping.py:spread": (["f64[9]", "(f64[9], f64[9])"], ["--grad"]),
    "tridiagonal.py:solve": (["f64[20]", "f64[20]", "f64[20]", "f64[20]"], []),
    "tridiagonal.py:sag": (["f64[99]"], []),
}


def _loops() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The programs with loops that tests call, with their arguments, and an example that asks for values."""
    price = load_function(f"{_EXAMPLES / 'option_price.py'}:price")
    programs: dict[str, Any] = {"option_price": (price, (100.0, 0.2, 0.05, 1.0, False))}
    for path in sorted(_LOOPS.glob("test_*.py")):
        module = importlib.import_module(f"{__package__.removesuffix('.tools.cli')}.loops.{path.stem}")
        for cases in [value for value in vars(module).values() if isinstance(value, Cases)]:
            for function, arguments, _ in cases:
                programs[f"{path.stem}-{len(programs)}-{function.__name__}"] = function, arguments
    return programs


LOOPS = _loops()


def _text(text: str) -> str:
    """The text of a Function without the places of lines, as a gradient's first has that of the call."""
    lines = [re.sub(r" +# \S+:\d+$", "", line) for line in text.removeprefix("tir 1\n\n").splitlines()]
    return "\n".join(re.sub(r" +", " ", line) for line in lines if line)


def _of_user(function: Any, options: list[str]) -> JitFunction:
    """The calls that a user would make for the options of a command."""
    if "--grad" in options:
        argnums = options[options.index("--grad") + 1 :]
        function = tj.grad(function, tuple(map(int, argnums[0].split(","))) if argnums else 0)
    if "--vmap" in options:
        function = tj.vmap(function)
    return function if isinstance(function, JitFunction) else tj.jit(function)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The output of a command that must succeed."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        code = main([*arguments])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return printed.out

    return run


@pytest.fixture(scope="module", autouse=True)
def _isolated() -> Iterator[None]:
    """Take back what examples register; load them anew, before and behind."""
    loading._loaded.cache_clear()
    with tj.extend.isolated():
        yield
    loading._loaded.cache_clear()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, cli: Callable[..., str]) -> None:
    types, options = EXAMPLES[name]
    target = [f"{_EXAMPLES / name}", *[text for type in types for text in ("--arg", type)], *options]
    specs = tuple(map(parse_spec, types))
    if "--vmap" in options:
        specs = tuple(type.with_shape((3, *type.shape)) for type in specs)
    lowered = _of_user(load_function(target[0]), options).lower(*specs)
    assert _text(cli("dump", *target, "--stage", "trace")) == _text(lowered.as_text("trace"))
    viewed = json.loads(cli("view", *target, "--json", "--no-timing"))
    assert len(viewed["ops"]) == len(list(lowered.function.instructions()))


#: Examples that take no random numbers: their matrices must be positive definite.
_DEFINITE = ("gaussian_process.py:loss", "gaussian_process.py:predict")


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in _DEFINITE][::4])
def test_examples_run(name: str, cli: Callable[..., str]) -> None:
    types, options = EXAMPLES[name]
    target = [f"{_EXAMPLES / name}", *[text for type in types for text in ("--arg", type)], *options]
    assert "DIFFERS" not in cli("run", *target, "--random", "0", "--compare")
    (explained,) = json.loads(cli("explain", *target, "--json"))
    (profiled,) = json.loads(cli("profile", *target, "--calls", "2", "--json"))["functions"]
    assert (explained["name"], profiled["name"], profiled["calls"]) == (*[name.partition(":")[2]] * 2, 2)


_PROGRAMS = "programs_with_loops"


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The target of a program with loops, and where its arguments come from."""

    def of(name: str) -> list[str]:
        module: Any = ModuleType(_PROGRAMS)
        module.program, module.arguments = LOOPS[name][0], lambda: LOOPS[name][1]
        monkeypatch.setitem(sys.modules, _PROGRAMS, module)
        return [f"{_PROGRAMS}:program", "--args-from", f"{_PROGRAMS}:arguments"]

    return of


def test_there_are_loops() -> None:
    assert len(LOOPS) > 100


@pytest.mark.parametrize("name", LOOPS)
def test_loops(
    name: str,
    cli: Callable[..., str],
    target: Callable[..., list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    function, arguments = LOOPS[name]
    problem = ""
    try:
        lowered = tj.jit(function).lower(*arguments)
    except UncompilableError as error:  # such calls run as Python
        problem = str(error).partition(": ")[2]
    if problem:
        assert main(["dump", *target(name), "--stage", "trace"]) == FAILED
        assert problem in capsys.readouterr().err
        return
    assert _text(cli("dump", *target(name), "--stage", "trace")) == _text(lowered.as_text("trace"))


#: Files of loops that write what they return by a condition, or what has another name: not all are compiled.
_WRITTEN = ("test_arrays_", "test_rebound_arrays", "test_returned_arrays", "test_shared_containers")
_COMPILED = [name for name in LOOPS if not name.startswith(_WRITTEN)]


@pytest.mark.parametrize("name", _COMPILED[1::12])
def test_loops_by_every_command(name: str, cli: Callable[..., str], target: Callable[..., list[str]]) -> None:
    function, arguments = LOOPS[name]
    user = tj.jit(function)
    user(*copy.deepcopy(arguments))
    (expected,) = [signature.loops for signature in user.explain().signatures]
    (explained,) = json.loads(cli("explain", *target(name), "--json"))
    loops = [(loop["where"], loop["outcome"]) for loop in explained["signatures"][0]["loops"]]
    assert loops == [(loop.where, loop.outcome) for loop in expected]
    assert "DIFFERS" not in cli("run", *target(name), "--compare")
    assert json.loads(cli("profile", *target(name), "--calls", "1", "--json"))["functions"]
    assert json.loads(cli("view", *target(name), "--json", "--no-timing"))["ops"]


#: Functions whose Python code asks for values, with the types of their arguments.
ASKING = """
def returns(x):
    if x[0] > 0:
        return x * 2
    return x


def raises(x):
    if x.sum() > 1e9:
        raise ValueError("large")
    return x.sum()


def first(x):
    for i in range(len(x)):
        if x[i] > 0.5:
            return float(i)
    return -1.0


def until(x):
    total, i = 0.0, 0
    while True:
        if i >= len(x):
            return total
        total += x[i]
        i += 1


def shortened(x, n):
    return x[: int(n)] * 2


def texts(x):
    return {str(bool(x[0] > 0)): x, "other": x.sum()}


def chooses(p, x):
    return [x, -x][int(p["w"][0] > 0)] @ p["w"]
"""
ASKING_TYPES = {
    "returns": ["f64[10]"],
    "raises": ["f64[10]"],
    "first": ["f64[10]"],
    "until": ["f64[10]"],
    "shortened": ["f64[10]", "i64[]"],
    "texts": ["f64[10]"],
    "chooses": ["{w: f64[4]}", "f64[4]"],
}


@pytest.mark.parametrize("name", ASKING_TYPES)
def test_functions_that_ask_for_values(
    name: str, cli: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command takes the random arrays that `explain` takes, and shows the path of their values."""
    file = tmp_path / "asking.py"
    file.write_text(ASKING)
    types = ASKING_TYPES[name]
    target = [f"{file}:{name}", *[text for type in types for text in ("--arg", type)]]
    rng = np.random.default_rng(0)
    values = tree_map(lambda leaf: random_array(rng, leaf), tuple(map(parse_spec, types)))
    user = tj.jit(load_function(target[0]))
    lowered = user.lower(*values)
    (explained,) = json.loads(cli("explain", *target, "--json"))

    assert main(["dump", *target, "--stage", "trace"]) == 0
    text, noted = capsys.readouterr()
    assert _text(text) == _text(lowered.as_text("trace"))
    asks = bool(explained["signatures"][0]["paths"])
    assert len(noted.splitlines()) == asks
    assert "asks for values" in noted or not asks
    assert json.loads(cli("view", *target, "--json", "--no-timing"))["ops"]
    results = json.loads(cli("run", *target, *([] if asks else ["--random", "0"]), "--compare", "--json"))
    expected = tree_leaves(user(*values))
    assert len(results["results"]) == len(expected)
    for result, wanted in zip(results["results"], expected, strict=True):
        np.testing.assert_allclose(result["values"], wanted, rtol=1e-12)
    assert "DIFFERS" not in cli("run", *target, "--random", "7", "--compare")
