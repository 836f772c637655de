"""Functions and methods give arrays and scalars of rank 0 under a trace where NumPy gives arrays and scalars.

The table of calls is NumPy itself: every function and method that both have, with arguments that make many of
their results have rank 0. Which kind a result has shows where it is written under one of two names.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.state import STATE

#: Numbers of rank 0 of each kind.
SOURCES: dict[str, Callable[[Any, Any], Any]] = {
    "argument": lambda x, z: z,
    "element": lambda x, z: x[1],
    "view": lambda x, z: x[1, ...],
    "computed": lambda x, z: z + 1,
    "new": lambda x, z: z.copy(),
}
#: Arguments of functions, of a library and a number.
ARGUMENTS: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "s": lambda xp, s: (s,),
    "s, s": lambda xp, s: (s, s),
    "s, 0": lambda xp, s: (s, 0),
    "s, ()": lambda xp, s: (s, ()),
    "s, float32": lambda xp, s: (s, np.float32),
    "s > 0, s, s": lambda xp, s: (s > 0, s, s),
    "()": lambda xp, s: ((),),
    "(), s": lambda xp, s: ((), s),
    "[s], 0": lambda xp, s: ([s], 0),
    "[s, s]": lambda xp, s: ([s, s],),
    "2.0": lambda xp, s: (2.0,),
    "stack([s])": lambda xp, s: (xp.stack([s]),),
    "stack([s, s])": lambda xp, s: (xp.stack([s, s]),),
    "stack([s, s]), stack([s, s])": lambda xp, s: (xp.stack([s, s]), xp.stack([s, s])),
    "arange(3), 1": lambda xp, s: (xp.arange(3), 1),
}
OF_METHODS = ((), (0,), ((),), (np.float32,), (1,), (...,), (None,), ((None, ...),), ({},))
SPECIAL = ("__copy__", "__deepcopy__", "__neg__", "__abs__", "__add__", "__getitem__", "__pos__")
#: Functions that write files or settings, and attributes that are memory.
LEFT_OUT = frozenset((
    "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "fromfile", "set_printoptions",
    "seterr", "errstate", "info", "data", "base", "ctypes", "dump", "dumps", "tofile",
))  # fmt: skip
#: Expressions of another kind: functions of Python's numbers that show an array another way, whose results
#: are new all the same; an array returned as ``out``; and a view of a whole argument, under its own name.
DIFFERENT = frozenset((
    "permute_dims(2.0)", "squeeze(2.0)", "transpose(2.0)", "dot(s > 0, s, s)", "einsum(s, ())",
))  # fmt: skip

Run = Callable[[Any, Any], Any]


def functions() -> Iterator[str]:
    """The names of functions that NumPy and tracejit have."""
    for name in sorted(dir(np)):
        value = getattr(np, name)
        is_function = callable(value) and not isinstance(value, type) and not name.startswith("_")
        if is_function and hasattr(tj, name) and name not in LEFT_OUT:
            yield name


def methods() -> Iterator[str]:
    """The names of methods and attributes that arrays and Tensors have."""
    for name in sorted(dir(np.ndarray)):
        if hasattr(tj.Tensor, name) and name not in LEFT_OUT and (name[0] != "_" or name in SPECIAL):
            yield name


def calls_of_functions(name: str) -> Iterator[tuple[str, Run]]:
    """Calls of the function `name`, with their texts."""
    for text, arguments in ARGUMENTS.items():
        yield f"{name}({text})", lambda xp, s, arguments=arguments: getattr(xp, name)(*arguments(xp, s))


def calls_of_methods(name: str) -> Iterator[tuple[str, Run]]:
    """Uses of the method or attribute `name` of a number and of an array of one element."""

    def used(owner: Any, arguments: tuple[Any, ...]) -> Any:
        attribute = getattr(owner, name)
        return attribute(*arguments) if callable(attribute) else attribute

    for arguments in OF_METHODS:
        text = f"{name}({', '.join(map(repr, arguments))})"
        yield f"s.{text}", lambda xp, s, arguments=arguments: used(s, arguments)
        yield f"stack([s]).{text}", lambda xp, s, arguments=arguments: used(xp.stack([s]), arguments)


def kinds(calls: Iterator[tuple[str, Run]]) -> tuple[int, list[str]]:
    """Number of results of rank 0 of `calls`, and those of another kind than NumPy's."""
    count, different = 0, []
    for text, run in calls:
        for source, number in SOURCES.items():
            x, z = np.arange(1.0, 4.0), np.array(2.0)
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    expected = leaves(run(np, number(x, z)))
                    if not any(map(has_rank_0, expected)):
                        continue
                    actual = traced_kinds(run, number, x, z)
            except Exception:  # the call does not fit, or it is one that cannot be traced
                continue
            if len(actual) != len(expected):
                continue
            for is_array, leaf in zip(actual, expected, strict=True):
                if is_array is None or not has_rank_0(leaf):
                    continue
                count += 1
                if is_array != isinstance(leaf, np.ndarray) and text not in DIFFERENT:
                    wanted = "an array" if isinstance(leaf, np.ndarray) else "a scalar"
                    different.append(f"{text}, s of kind {source!r}, should be {wanted}")
    return count, different


def has_rank_0(value: Any) -> bool:
    """Whether `value` is an array of rank 0 or a scalar of NumPy's."""
    return isinstance(value, (np.ndarray, np.generic)) and not value.ndim


def leaves(result: Any) -> list[Any]:
    """The results of a call."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def traced_kinds(run: Run, number: Callable[[Any, Any], Any], x: Any, z: Any) -> list[bool | None]:
    """Whether each result is an array where it is traced and has rank 0, else None."""
    arrays: list[bool | None] = []

    def function(x: Any, z: Any) -> list[Any]:
        results = leaves(run(tj, number(x, z)))
        for result in results:
            is_rank_0 = isinstance(result, tj.Tensor) and result.is_traced and not result.shape
            arrays.append(not STATE.tracer.is_scalar(result) if is_rank_0 else None)
        return [result for result in results if isinstance(result, tj.Tensor)]

    tj.make_ir(function)(x, z)
    return arrays


def test_functions_give_arrays_where_numpy_does() -> None:
    count, different = kinds(call for name in functions() for call in calls_of_functions(name))
    assert different == []
    assert count > 1500


def test_methods_give_arrays_where_numpy_does() -> None:
    count, different = kinds(call for name in methods() for call in calls_of_methods(name))
    assert different == []
    assert count > 500


def test_copies_by_the_module_copy() -> None:
    copies = {"copy.copy(s)": lambda xp, s: copy.copy(s), "copy.deepcopy(s)": lambda xp, s: copy.deepcopy(s)}
    assert kinds(iter(copies.items())) == (2 * len(SOURCES), [])


def test_an_array_stays_itself() -> None:
    seen = []

    def function(z: Any) -> Any:
        seen.append(tj.asarray(z) is z)
        return z + 1

    tj.jit(function)(np.array(1.0))
    assert seen == [True]


def test_views_of_captured_scalars_in_a_trace() -> None:
    number = tj.tensor([1.0, 2.0])[1]
    result = tj.jit(lambda x: x + number.reshape((1,)))(np.ones(3))
    np.testing.assert_array_equal(result, [3.0, 3.0, 3.0])
