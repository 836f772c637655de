"""SciPy's code gets arrays of jitted functions, by every way that a call can take. SciPy is not needed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

import tracejit as tj


def by_module(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The call of `function` by the code of a module of this name."""
    namespace: dict[str, Any] = {"function": function, "__name__": name}
    exec("def call(*args, **kwargs): return function(*args, **kwargs)", namespace)
    return namespace["call"]  # type: ignore[no-any-return]


class Pair(NamedTuple):
    first: Any
    second: Any


def _writes(x):
    x[0] = 3.0
    return x.sum(), x


def _tells_apart(x, y):
    return x + y if x is y else x - y


def _branches(x):
    return x * 2.0 if x.sum() > 0 else (-x).sum()


class Model:
    def __init__(self) -> None:
        self.weights = np.array([1.0, 2.0, 3.0])

    @tj.jit
    def loss(self, x: Any) -> Any:
        return (self.weights * x).sum()


#: Jitted functions whose calls go different ways, with the arguments of calls.
WAYS: Final[dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]]] = {
    "native entry": (tj.jit(lambda x: x * 2.0), [(np.ones(3),), (tj.ones(3),), (np.ones(2),)]),
    "rank 0": (tj.jit(lambda x: x.sum()), [(np.ones(3),), (2.0,), (np.float64(2.0),)]),
    "containers": (tj.jit(lambda x: (x, [x.sum(), None], {"b": x > 0, "a": x + 1})), [(np.ones(3),)]),
    "built by Python": (tj.jit(lambda x: Pair(x, x.sum())), [(np.ones(3),)]),
    "paths": (tj.jit(_branches), [(np.ones(3),), (-np.ones(3),), (np.ones(2),)]),
    "writes": (tj.jit(_writes), [(np.ones(3),), (np.ones(4),)]),
    "identities": (tj.jit(_tells_apart), [(np.ones(3), np.zeros(3)), (np.ones(2), np.zeros(2))]),
    "method": (Model().loss, [(np.ones(3),)]),
    "gradient": (tj.jit(tj.value_and_grad(lambda x: (x * x).sum())), [(np.ones(3),)]),
    "keywords": (tj.jit(lambda x, scale=1.0: x * scale), [(np.ones(3),)]),
    "strided": (tj.jit(lambda x: x + 1), [(np.ones(6)[::2],)]),
    "donated": (tj.jit(lambda x: x + 1, donate_argnums=0), [(np.ones(3),)]),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_arrays_to_scipy_and_tensors_to_others(way: str) -> None:
    function, calls = WAYS[way]
    for _ in range(3):  # the first call compiles, later ones begin at the native entry
        for arguments in calls:
            copies = [[x.copy() if isinstance(x, np.ndarray) else x for x in arguments] for _ in range(2)]
            for_scipy = by_module("scipy.optimize._optimize", function)(*copies[0])
            for_user = by_module("user", function)(*copies[1])
            assert tj.tree.structure(for_scipy) == tj.tree.structure(for_user)
            for array, tensor in zip(tj.tree_leaves(for_scipy), tj.tree_leaves(for_user), strict=True):
                assert type(tensor) is tj.Tensor
                assert type(array) is (np.ndarray if tensor.ndim else tensor.dtype.type)
                np.testing.assert_array_equal(array, tensor.numpy())


def test_gradients_are_not_lost() -> None:
    weights = tj.tensor([1.0, 2.0], requires_grad=True)
    function = by_module("scipy.optimize", tj.jit(lambda x: (x * weights).sum()))
    for _ in range(3):
        result = function(np.ones(2))
        assert type(result) is tj.Tensor
        result.backward()
    np.testing.assert_array_equal(weights.grad.numpy(), [3.0, 3.0])
    with tj.no_grad():
        assert type(function(np.ones(2))) is np.float64


def test_in_a_trace_results_stay_traced() -> None:
    inner = by_module("scipy.optimize", tj.jit(lambda x: x * 2.0))
    np.testing.assert_array_equal(tj.jit(lambda x: inner(x) + 1)(np.ones(2)).numpy(), [3.0, 3.0])
    gradient = tj.grad(lambda x: inner(x).sum())(tj.ones(2))
    np.testing.assert_array_equal(gradient.numpy(), [2.0, 2.0])


def test_without_compilation() -> None:
    function = by_module("scipy.optimize", tj.jit(lambda x: tj.sin(x)))
    with tj.disable_jit():
        assert type(function(np.ones(2))) is np.ndarray


@pytest.mark.parametrize("way", ["paths", "writes"])
def test_functions_are_dropped(way: str) -> None:
    source, calls = {"paths": _branches, "writes": _writes}[way], WAYS[way][1]
    function = tj.jit(lambda x: source(x))
    for arguments in calls * 3:
        function(*arguments)
    dropped = weakref.ref(function)
    del function
    gc.collect()
    assert dropped() is None
