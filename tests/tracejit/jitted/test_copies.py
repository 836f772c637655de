"""Copies of jitted functions, and pickles, which go to other processes."""

from __future__ import annotations

import copy
import functools
import pickle
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...runtime.programs import python


@tj.jit
def doubled(x: Any) -> Any:
    return x * 2


def test_a_copy_is_the_function() -> None:
    partial = tj.jit(functools.partial(np.multiply, 3.0))
    for one in (doubled, partial, tj.jit(lambda x: x)):
        assert copy.deepcopy({"f": one})["f"] is one
        assert copy.copy(one) is one


def test_a_pickle_is_its_name() -> None:
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    for one in (tj.jit(lambda x: x), tj.jit(functools.partial(np.multiply, 3.0))):
        with pytest.raises((AttributeError, pickle.PicklingError), match=r"lambda|partial"):
            pickle.dumps(one)


def test_other_processes_find_it() -> None:
    code = """
import multiprocessing
import numpy as np
import tracejit as tj

@tj.jit
def total(x):
    return x.sum() * 2

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print([float(one) for one in pool.map(total, [np.ones(3), np.ones(4)])])
"""
    assert python(code).strip() == "[6.0, 8.0]"
