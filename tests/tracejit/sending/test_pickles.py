"""Pickles and copies of functions that this library made."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import share_of
from . import functions
from .functions import NAMED, numbers

ROOT = Path(__file__).parents[3]
X = np.arange(1.0, 4.0)


@pytest.mark.parametrize("name", list(NAMED))
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_does_the_same(name: str, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(NAMED[name], protocol))
    assert numbers(again(X)) == numbers(NAMED[name](X))


def test_what_has_a_name_is_found_by_it() -> None:
    for function in (functions.scaled, functions.steps, functions.slope, functions.jitted_slope):
        assert pickle.loads(pickle.dumps(function)) is function
    assert len(pickle.dumps(functions.scaled)) < 400


def test_options_are_kept() -> None:
    power = tj.jit(functions.powers.__wrapped__, static_argnums=1, loops="compiled", flush_denormals=True)
    again = pickle.loads(pickle.dumps(tj.jit(np.sum, static_argnums=1, loops="compiled", max_paths=3)))
    assert again._making()[1] == {**power._making()[1], **again._making()[1]}
    assert (again._static_argnums, again._loops, again._max_paths) == (frozenset((1,)), "compiled", 3)


def test_copies_are_the_function() -> None:
    partial = tj.jit(functools.partial(np.multiply, 3.0))
    for function in (functions.scaled, partial, tj.jit(lambda x: x), tj.grad(lambda x: x), functions.slope):
        assert copy.deepcopy({"f": function})["f"] is function
        assert copy.copy(function) is function


def test_what_has_no_name_says_so() -> None:
    for function in (tj.jit(lambda x: x), tj.vmap(lambda x: x)):
        with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
            pickle.dumps(function)


def test_tensors() -> None:
    x = tj.tensor([[1.0, 2.0]], requires_grad=True)
    again = pickle.loads(pickle.dumps(x))
    assert again.requires_grad
    assert again.tolist() == [[1.0, 2.0]]
    assert pickle.loads(pickle.dumps(tj.ones(3, dtype=tj.float16))).dtype == tj.float16


def test_a_transformed_function_is_bound_as_functions_are() -> None:
    class Quadratic:
        a = 3.0

        @functools.partial(tj.grad, argnums=1)
        def slope(self, x: Any) -> Any:
            return self.a * x * x

    assert float(Quadratic().slope(2.0)) == 12.0
    assert repr(tj.grad(functions.loss)) == "<grad of loss>"


def test_a_transform_in_a_loop_runs_what_it_was_made_of() -> None:
    seen = []

    def noisy(x: Any) -> Any:
        seen.append(x)
        return x * x

    slope = tj.grad(noisy)

    @tj.jit
    def run(x: Any) -> Any:
        for _ in range(100):
            x = x - 0.5 * slope(x)
        return x

    assert float(run(1.0)) == 0.0
    assert len(seen) == 100
    assert "unrolled: it appends to a list" in run.explain()
    functions.steps(X)
    assert "compiled: 100 steps" in functions.steps.explain()


def run_script(way: str, directory: Path, *, module: bool = False) -> None:
    """Run the script of `functions`, which sends what it defines that way, or as a `module` what that
    defines; `directory` has machine code."""
    script = [str(Path(functions.__file__)), way]
    if module:
        script = [
            "-c",
            f"import tests.tracejit.sending.functions as f\nif __name__ == '__main__': f.run({way!r})",
        ]
    own = {"PYTHONPATH": str(ROOT), "TRACEJIT_CACHE": "1", "TRACEJIT_CACHE_DIR": str(directory)}
    strict = ["-W", "error"] * (way != "ray")  # whose own code warns
    ran = subprocess.run(
        [sys.executable, *strict, *script], capture_output=True, text=True, check=False,
        timeout=300, env={**os.environ, **own},
    )  # fmt: skip
    assert ran.stdout == "all equal\n", f"{ran.stdout}\n{ran.stderr}"


@pytest.mark.parametrize("way", share_of(["futures", "fork", "spawn"], 2))
def test_other_processes_take_what_a_script_defines(way: str, tmp_path: Path) -> None:
    run_script(way, tmp_path)


@pytest.mark.parametrize("way", share_of(["spawn", "futures"], 2))
def test_other_processes_take_what_a_module_defines(way: str, tmp_path: Path) -> None:
    run_script(way, tmp_path, module=True)


def test_pickles_wait_for_what_the_disk_is_to_keep(tmp_path: Path) -> None:
    """Optimized code alone is kept, which the background compiles: who gets the pickle finds it. Compilation
    begins when it is waited for, and has the time that it takes."""
    program = (
        "import pickle, numpy, tests.tracejit.sending.functions as f\n"
        "from tracejit.runtime import tiers\n"
        "from tracejit.runtime.tiers import BACKGROUND\n"
        "tiers._QUIET_SECONDS = tiers._ENDING_SECONDS = 300\n"
        "f.steps(numpy.ones(3))\n"
        "print(BACKGROUND.wait(0))\n"
        "pickle.dumps(f.slope)\n"
        "print(BACKGROUND.wait(0))\n"
    )
    own = {"PYTHONPATH": str(ROOT), "TRACEJIT_CACHE": "1", "TRACEJIT_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False,
        timeout=300, env={**os.environ, **own, "TRACEJIT_TIERS": "always"},
    )  # fmt: skip
    assert ran.stdout == "False\nTrue\n", ran.stderr
