"""Numbers of Python's and of NumPy's keep their arithmetic, dtypes, texts and hashes when compiled."""

import math
import random

import numpy as np
import pytest

import tracejit as tj
from tests.rotation import SEED

from .number_programs import difference

_COUNT = 150


def test_random_expressions_agree_with_python(tmp_path):
    found = [text for number in range(_COUNT) if (text := difference(SEED, number, tmp_path)) is not None]
    assert not found, f"{len(found)} of {_COUNT} differ\n" + "\n".join(found[:3])


@pytest.mark.parametrize("decimals", [1, 2, 5, 7, -1, -2])
def test_round_is_pythons(decimals):
    rng = random.Random(SEED)
    jitted = tj.jit(lambda x: round(x, decimals))
    numbers = [2.675, 0.505, 0.15, 0.35, 25.0, 35.0, 1e300, 0.0, math.inf, math.nan]
    numbers += [round(rng.uniform(-1000, 1000), max(decimals, 0) + 1) for _ in range(200)]
    numbers += [(2 * rng.randint(-(10**6), 10**6) + 1) / 2 / 10.0**decimals for _ in range(100)]
    for number in numbers:
        np.testing.assert_equal(float(jitted(number)), round(number, decimals), err_msg=repr(number))
