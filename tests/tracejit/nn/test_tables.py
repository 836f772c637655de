"""Values and gradients as PyTorch gives them, eager and compiled, in float32 and float64."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent


def _cases(name):
    spec = importlib.util.spec_from_file_location(f"expected_{name}", HERE / f"expected_{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [pytest.param(case, id=f"{name}-{number}-{case[0]}") for number, case in enumerate(module.CASES)]


TOPICS = ("activations", "classification", "losses", "layers", "windows")


@pytest.mark.parametrize("case", [case for name in TOPICS for case in _cases(name)])
@pytest.mark.parametrize("mode", ["eager", "jit"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_case(case, mode, dtype, check_case):
    check_case(case, dtype, mode)
