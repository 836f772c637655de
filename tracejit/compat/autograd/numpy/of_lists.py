"""Reductions of lists that hold tensors: ``np.sum([f(x) for x in xs])``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .construction import asarray


def _of_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        if type(a) in (list, tuple):
            a = asarray(a)
        return function(a, *args, **kwargs)

    return call


amax = _of_lists(np.amax)
amin = _of_lists(np.amin)
max = _of_lists(np.max)
mean = _of_lists(np.mean)
median = _of_lists(np.median)
min = _of_lists(np.min)
prod = _of_lists(np.prod)
std = _of_lists(np.std)
sum = _of_lists(np.sum)
var = _of_lists(np.var)
