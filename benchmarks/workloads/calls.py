"""Calls and eager ops on 4 elements: what dispatch, recording and walking back cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import normal

#: Operations in a chain.
CHAIN: Final = 1000

_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
}


#: Calls that eager programs make beside arithmetic, on an array of 4x4.
_SMALL: Final[dict[str, Callable[[Library], Function]]] = {
    "sum": lambda lib: lambda x: x.sum(),
    "sum-axis": lambda lib: lambda x: lib.np.sum(x, 0),
    "mean-axis": lambda lib: lambda x: lib.np.mean(x, 1),
    "max-axis": lambda lib: lambda x: lib.np.max(x, 1),
    "reshape": lambda lib: lambda x: x.reshape(2, 8),
    "transpose": lambda lib: lambda x: x.T,
    "row": lambda lib: lambda x: x[0],
    "slice": lambda lib: lambda x: x[1:3],
    "new-axis": lambda lib: lambda x: x[:, None],
    "element": lambda lib: lambda x: x[0, 1],
    "concat": lambda lib: lambda x: lib.np.concatenate((x, x), 0),
    "stack": lambda lib: lambda x: lib.np.stack((x, x)),
    "matmul": lambda lib: lambda x: x @ x,
    "astype": lambda lib: (
        (lambda x: x.to(lib.np.float32)) if lib.name == "torch" else (lambda x: x.astype(lib.np.float32))
    ),
    "where": lambda lib: lambda x: lib.np.where(x > 0.0, x, 0.0),
    "add-row": lambda lib: lambda x: x + x[0],
}


def _small(lib: Library, name: str) -> Function:
    return _SMALL[name](lib)


def _multiply_add(lib: Library) -> Function:
    return lambda x, y: x * y + 1


def _multiply_add_numba(nb: Any) -> Function:
    compiled: Function = nb.njit(lambda x, y: x * y + 1)
    return compiled


def _op(lib: Library, name: str) -> Function:
    function: Function = _OPERATORS[name] if name in _OPERATORS else getattr(lib.np, name)
    return function


def _chain(lib: Library, name: str, length: int) -> Function:
    step = _OPERATORS[name]

    def forward(x: Any, y: Any) -> Any:
        for _ in range(length):
            x = step(x, y)
        return x

    return forward


def _backward_of_chain(lib: Library, name: str, length: int) -> Function:
    """Walks back over a chain that was recorded before; both ends of it get gradients."""
    ends: list[Any] = []
    backward = lib.backward
    assert backward is not None

    def walk(x: Any, y: Any) -> Any:
        if not ends:
            ends.append(_chain(lib, name, length)(x, y))
        x.grad = y.grad = None
        backward(ends[0], x.detach())
        return x.grad, y.grad

    return walk


def _dispatch(given: Literal["ndarray", "array"], text: str) -> Workload:
    return Workload(
        f"dispatch-{given}",
        f"x*y + 1 on 4 f64, {text}",
        _multiply_add,
        lambda: normal((4,), (4,)),
        given=given,
        numba=_multiply_add_numba,
        skip=() if given == "array" else ("torch", "torch.compile"),  # take no ndarrays
        waits=False,
    )


def _eager(name: str, arity: int, given: Literal["array", "variable"]) -> Workload:
    records = given == "variable"
    return Workload(
        f"eager-{name}" + "-grad" * records,
        f"eager {name} on 4 f64, gradients {'recorded' if records else 'off'}",
        _op,
        lambda _: normal(*[(4,)] * arity),
        sizes=(name,),
        tiny=(name,),
        given=given,
        compiled=False,
        skip=("numpy",) if records else (),
    )


def _eager_small(name: str, given: Literal["array", "variable"]) -> Workload:
    records = given == "variable"
    return Workload(
        f"eager-{name}" + "-grad" * records,
        f"eager {name} of 4x4 f64, gradients {'recorded' if records else 'off'}",
        _small,
        lambda _: normal((4, 4)),
        sizes=(name,),
        tiny=(name,),
        given=given,
        compiled=False,
        skip=("numpy",) if records else (),
        # a Tensor and a view that is known to its base are to cost at most what NumPy's function does
        goal=1.0 if records else 0.5,
    )


def _of_chain(walk: Literal["forward", "backward"]) -> Workload:
    return Workload(
        f"tape-{walk}",
        f"{walk} over {CHAIN} eager products of 4 f64, gradients recorded",
        _chain if walk == "forward" else _backward_of_chain,
        lambda *_: (np.full(4, 0.999), np.full(4, 1.001)),
        sizes=("mul", CHAIN),
        tiny=("mul", 5),
        given="variable",
        compiled=False,
    )


WORKLOADS: Final = (
    _dispatch("array", "the library's arrays"),
    _dispatch("ndarray", "ndarrays"),
    *(_eager(name, arity, "variable") for name, arity in (("add", 2), ("mul", 2), ("sin", 1))),
    *(_eager(name, arity, "array") for name, arity in (("add", 2), ("mul", 2), ("sin", 1))),
    *(_eager_small(name, "variable") for name in _SMALL),
    *(_eager_small(name, "array") for name in _SMALL),
    _of_chain("forward"),
    _of_chain("backward"),
)
