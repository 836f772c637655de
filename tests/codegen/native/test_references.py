"""Every way out of native code gives back the references that it took, and no others.

Each case is called many times, with all ways to leave: results, other arguments, exceptions, no memory. Then
the counts of all objects that it was given are what they were, and so is the number of blocks of memory, and
of all references where Python counts them (debug builds).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.native.entry import table as t
from tracejit.dispatch.native_ops import entry_layout_of_tensors
from tracejit.runtime.native.eager import NativeOps, eager_problem
from tracejit.runtime.native.entry import array_spec, make_entry, make_passing_entry

LAYOUT = entry_layout_of_tensors()
if LAYOUT is None or sys.platform != "linux" or eager_problem():
    pytest.skip("no native entries here", allow_module_level=True)

TIMES = 100
F64 = np.dtype(np.float64)
MAIN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


def assert_balanced(call: Callable[[], Any], *objects: Any) -> None:
    """Whether `call`, made many times, leaves the counts of `objects` alone, and no memory behind."""

    def repeat() -> None:
        for _ in range(TIMES):
            with contextlib.suppress(Exception, KeyboardInterrupt):
                call()

    gc.disable()
    try:
        repeat()
        all_references = getattr(sys, "gettotalrefcount", lambda: 0)
        # small ints, None and the like are everybody's
        own = [value for value in objects if value is not None and not isinstance(value, (bool, int))]
        counts = [sys.getrefcount(value) for value in own]
        blocks, total = sys.getallocatedblocks(), all_references()
        repeat()
        assert sys.getallocatedblocks() - blocks < TIMES // 2
        assert all_references() - total < TIMES // 2
        assert [sys.getrefcount(value) for value in own] == counts
    finally:
        gc.enable()


class Program:
    """Stand-in for an executable: a native function that returns a status, and the error of a failed call."""

    def __init__(self, status: int = 0, once: bool = False) -> None:
        self.pointer = MAIN(lambda inputs, outputs: status)
        self.address = ctypes.cast(self.pointer, ctypes.c_void_p).value
        self.calls_python = once

    def fail(self, status: int) -> None:
        raise RuntimeError(f"status {status}")

    def follow(self, holder: Any, place: int) -> None:
        ctypes.c_int64.from_address(place).value = self.address or 0


def otherwise(*args: Any, **kwargs: Any) -> str:
    return "slow"


def raising(*args: Any) -> Any:
    raise ValueError("no")


ARRAY = array_spec(F64, (3,))
TOO_LARGE = t.ArraySpec(id(F64), (1 << 55,), 8)
NAME, OTHER = "first", "second"


def make(
    *arguments: Any,
    results: tuple[t.ResultSpec, ...] = (t.ResultSpec(ARRAY),),
    structure: Any = None,
    program: Program | None = None,
    recorder: Any = None,
    **fields: Any,
) -> Any:
    defaults: dict[str, Any] = {"keywords": (), "captures": (), "guards": (), "release_gil": False}
    spec = t.EntrySpec(arguments, results=results, structure=structure, **{**defaults, **fields})
    return make_entry(spec, LAYOUT, program or Program(), otherwise, None, recorder)  # type: ignore[arg-type]


def capture(kind: str, holder: Any, spec: Any, *steps: tuple[str, int], key: int = 0) -> t.Capture:
    return t.Capture(kind, id(holder), key, spec, steps)


class Holder:
    def __init__(self) -> None:
        self.array = np.ones(3)
        self.items = (np.ones(3), [np.ones(3)])

    @property
    def fresh(self) -> Any:
        return self.array.copy()


X, Y = np.ones(3), np.zeros(3)
STRIDED = np.ones(6)[::2]
T = tj.tensor(np.ones(3))
DONOR = tj.tensor(np.ones(3))
LEAF = tj.tensor(np.ones(3)).requires_grad_()
HOLDER, DICT = Holder(), {NAME: X}
DONATED = array_spec(F64, (3,), donated=True)
PAIR = ("tuple", ((), ()), (None, ("list", ((), ()), (None,))))
NAMES = {name: id(name) for name in ("array", "items", "fresh", "missing")}
KEPT = [list(NAMES), Program]


def dict_spec(count: int = 1) -> t.ContainerSpec:
    return t.ContainerSpec("dict", id(dict), (ARRAY,) * count, (id(NAME), id(OTHER))[:count])


def reversed_dict_spec() -> t.ContainerSpec:
    return t.ContainerSpec("dict", id(dict), (ARRAY,) * 2, (id(NAME), id(OTHER)), (id(OTHER), id(NAME)))


def entries() -> dict[str, tuple[Any, list[tuple[Any, ...]], Any]]:
    """Entries, the calls that are made of them, and what a call with the first arguments gives."""
    array_list = t.ContainerSpec("list", id(list), (ARRAY,))
    two = (t.ResultSpec(ARRAY), t.ResultSpec(ARRAY))
    keys = (id(NAME), id(OTHER))
    attribute = [("attr", NAMES["items"]), ("tuple", -1), ("list", 0)]
    return {
        "one result": (make(ARRAY, ARRAY),
                       [(X, Y), (T, X), (X, 1.0), (X,), (X, np.ones(4)), (X, LEAF), (STRIDED, X),
                        (STRIDED, STRIDED), (STRIDED, None)], tj.Tensor),
        "arrays": (make(ARRAY, results=(t.ResultSpec(ARRAY, plain=True),)), [(X,)], np.ndarray),
        "numbers": (
            make(t.ScalarSpec("float"), t.ScalarSpec("int", (0, 5)), t.ScalarSpec("bool")),
            [(1.5, 3, True), (1.5, 9, True), (1.5, 2**80, True), (2, 3, True), (1.5, 3, 0)], tj.Tensor,
        ),
        "nested results": (make(ARRAY, results=two, structure=PAIR), [(X,)], tuple),
        "a dict of results": (
            make(ARRAY, results=two, structure=("dict", (keys, ()), (None, None))), [(X,)], dict,
        ),
        "a dict of results in another order": (
            make(ARRAY, results=two, structure=("dict", (keys, keys[::-1]), (None, None))), [(X,)], dict,
        ),
        "bad key": (
            make(ARRAY, results=two, structure=("dict", ((id(NAME), id(DICT)), ()), (None, None))),
            [(X,)], TypeError,
        ),
        "no memory": (
            make(ARRAY, results=(*two, t.ResultSpec(TOO_LARGE))), [(X,)], MemoryError,
        ),
        "containers": (
            make(t.ContainerSpec("tuple", id(tuple), (ARRAY, array_list)), ARRAY),
            [((X, [Y]), X), ((X, [Y]), None), ((X, [Y, X]), X), ((X, (Y,)), X), ((X, [Y]), "x")], tj.Tensor,
        ),
        "dicts in another order": (
            make(reversed_dict_spec()),
            [({OTHER: X, NAME: Y},), ({NAME: X, OTHER: Y},), ({OTHER: X, 1: Y},), ({OTHER: X, NAME: None},),
             ({OTHER: X},)], tj.Tensor,
        ),
        "dicts": (
            make(dict_spec(2)),
            [({NAME: X, OTHER: Y},), ({OTHER: Y, NAME: X},), ({NAME: X, 1: Y},), ({NAME: X, "x": Y},),
             ({NAME: X},)], tj.Tensor,
        ),
        "captured": (
            make(ARRAY, captures=(capture("object", HOLDER, ARRAY, ("attr", NAMES["array"])),
                                  capture("object", HOLDER, ARRAY, ("attr", NAMES["fresh"])),
                                  capture("object", HOLDER, ARRAY, *attribute),
                                  capture("global", DICT, ARRAY, key=id(NAME)))),
            [(X,), (None,)], tj.Tensor,
        ),
        "a capture that is not there": (
            make(ARRAY, captures=(capture("object", HOLDER, ARRAY, ("attr", NAMES["fresh"])),
                                  capture("object", HOLDER, ARRAY, ("attr", NAMES["missing"])))),
            [(X,)], str,
        ),
        "absent": (
            make(ARRAY, captures=(capture("object", HOLDER, t.Absent(), ("attr", NAMES["missing"])),)),
            [(X,)], tj.Tensor,
        ),
        "recorded": (make(array_spec(F64, (3,), requires_grad=None), t.ScalarSpec("float"), recorded=2,
                          recorder=lambda *args: None, results=two, residuals=1), [(LEAF, 1.5), (X, 1.5)],
                     tj.Tensor),
        "recorder raises": (make(array_spec(F64, (3,), requires_grad=None), recorded=1, recorder=raising,
                                 results=two, residuals=1), [(LEAF,), (X,)], ValueError),
        "donated": (make(DONATED, ARRAY, results=(t.ResultSpec(ARRAY, reuses=0),)),
                    [(DONOR, X), (DONOR, DONOR), (T[1:], X), (X, X), (X.copy(), X)], tj.Tensor),
        "repeated by Python": (make(ARRAY, program=Program(3)), [(X,)], str),
        "fails for good": (make(ARRAY, program=Program(3, once=True), results=two), [(X,)], RuntimeError),
        "without the GIL": (make(ARRAY, release_gil=True), [(X,)], tj.Tensor),
    }  # fmt: skip


@pytest.mark.parametrize("name", entries())
def test_entries(name: str) -> None:
    entry, calls, outcome = entries()[name]
    if issubclass(outcome, BaseException):
        with pytest.raises(outcome):
            entry(*calls[0])
    else:
        assert type(entry(*calls[0])) is outcome
    tracked = [X, Y, T, T._data, LEAF, LEAF._data, HOLDER, DICT, otherwise, F64, NAME, OTHER, entry.__self__]
    for arguments in calls:
        parts = [part for argument in arguments for part in _parts(argument)]
        assert_balanced(lambda arguments=arguments: entry(*arguments), *tracked, *parts)


def _parts(value: Any) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [value, *[part for item in items for part in _parts(item)]]


def calling(entry: Any, module: Any) -> Callable[[Any], Any]:
    """The call of `entry` with an argument, made by a module of the name `module`."""
    namespace: dict[str, Any] = {"entry": entry, "__name__": module}
    exec("call = lambda x: entry(x)", namespace)
    call: Callable[[Any], Any] = namespace["call"]
    return call


def test_callers_that_take_arrays() -> None:
    scalar, structure = t.ResultSpec(array_spec(F64, ())), ("tuple", ((), ()), (None, None))
    entry = make(ARRAY, results=(t.ResultSpec(ARRAY), scalar), structure=structure)
    passing = make_passing_entry(lambda x: [x], lambda result: tuple(result), globals(), LAYOUT)  # type: ignore[arg-type]
    failing = make_passing_entry(raising, lambda result: result, None, LAYOUT)  # type: ignore[arg-type]
    for module in ("scipy.optimize", "scipy", "user", None, 1):
        takes = module == "scipy.optimize"
        types = [np.ndarray, np.float64] if takes else [tj.Tensor, tj.Tensor]
        call, pass_on, fail = (calling(function, module) for function in (entry, passing, failing))
        assert [type(result) for result in call(X)] == types
        assert type(pass_on(X)) is (tuple if takes else list)
        for function in (call, pass_on, fail):
            assert_balanced(lambda function=function: function(X), X, F64, entry, entry.__self__, module)
    donor = tj.tensor(np.ones(3))
    reusing = calling(make(DONATED, results=(t.ResultSpec(ARRAY, reuses=0),)), "scipy.optimize")
    assert reusing(donor) is donor._data
    assert_balanced(lambda: reusing(donor), donor, donor._data)


def test_keyword_arguments() -> None:
    entry = make(ARRAY, keywords=((id(NAME), ARRAY), (id(OTHER), ARRAY)))
    assert isinstance(entry(X, second=Y, first=X), tj.Tensor)
    assert entry(X, second=Y, third=X) == entry(X, second=Y) == entry(X, Y, first=X) == "slow"
    for names in (
        {"first": X, "second": Y},
        {"second": Y, "first": X},
        {"first": X, "third": Y},
        {"first": None},
    ):
        assert_balanced(lambda names=names: entry(X, **names), X, Y, names)


@pytest.fixture(scope="module")
def natives() -> NativeOps:
    assert LAYOUT is not None
    return NativeOps(LAYOUT)


def interrupted(*args: Any) -> Any:
    raise KeyboardInterrupt


def test_ops(natives: NativeOps) -> None:
    recorded = natives.make(np.add, otherwise, lambda *args: None, floats=False)
    failing = natives.make(np.divide, otherwise, raising, floats=False)
    arrays = natives.make(np.add, otherwise, None, floats=False)
    four, scalar = tj.ones(4), tj.ones(())
    for call in (
        lambda: recorded(T, T), lambda: recorded(T, 2.5), lambda: recorded(LEAF, T),
        lambda: recorded(T, X), lambda: recorded(T), lambda: recorded(T, 2**80),
        lambda: recorded(T, four), lambda: recorded(T, scalar),
        lambda: failing(LEAF, T), lambda: failing(T, 0.0), lambda: failing(2.0, LEAF),
        lambda: arrays(X, Y), lambda: arrays(T, T),
    ):  # fmt: skip
        assert_balanced(call, X, Y, T, LEAF, T._data, LEAF._data, F64, otherwise, raising)
    with pytest.raises(ValueError, match="no"):
        failing(LEAF, T)


KERNELS: dict[str, Callable[..., Any]] = {
    "an array": lambda x, *more: x + 1,
    "a view": lambda x, *more: x[1:],
    "itself": lambda x, *more: x,
    "a scalar": lambda x, *more: np.float64(1.5),
    "None": lambda x, *more: None,
    "raises": raising,
    "is interrupted": interrupted,
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("remember", [None, otherwise, raising])
@pytest.mark.parametrize("step", [None, otherwise])
def test_calls(natives: NativeOps, name: str, remember: Any, step: Any) -> None:
    kernel = KERNELS[name]
    if name in ("a view", "itself") and step is None:
        step = otherwise
    call = natives.make_call(kernel, otherwise, remember, second="key" if step else "any", step=step)
    key = (slice(1, None), 0)
    for x in (T, LEAF, tj.tensor(np.ones(3))[:2]):
        x[:1]  # what notes views is there from now on
        for second in (key, 1, slice(None, None, 2), "no key"):
            assert_balanced(lambda x=x, second=second: call(x, second), x, x._data, key, kernel, otherwise)
    assert_balanced(lambda: call(X, 0), X)
    assert_balanced(lambda: call(), X)


@pytest.mark.parametrize("function", [np.ndarray.diagonal, np.ndarray.swapaxes, raising])
def test_views_by_several_arguments(natives: NativeOps, function: Any) -> None:
    call = natives.make_call(
        function, otherwise, raising, second="ints", step=otherwise, shorten=otherwise, writable=True
    )
    for x in (T, LEAF, tj.tensor(np.ones((3, 3)))[:2]):
        for arguments in ((), (0,), (0, 1), (5, 6), (0, 0, 1), (0, "no int")):
            assert_balanced(lambda x=x, arguments=arguments: call(x, *arguments), x, x._data, function)


def test_joins(natives: NativeOps) -> None:
    column = tj.ones((3, 1))
    for remember in (otherwise, raising):
        for stacking in (False, True):
            join = natives.make_join(otherwise, remember, stacking=stacking)
            for operands in ([T, T], (T, LEAF), [T, X], [T, column], [column, tj.ones((3, 2))], [], [T, 1.0]):
                parts = _parts(operands)
                for axis in (0, -1, 5, None):
                    assert_balanced(lambda: join(operands, axis), T, LEAF, X, *parts, T._data)  # noqa: B023


CHECKED = """
import sys, pytest
sys.exit(pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", FILE, "-k", "not checked"]))
"""


def test_all_of_it_checked() -> None:
    """The tests above pass with checks of what native code reads and writes."""
    code = CHECKED.replace("FILE", repr(__file__))
    environment = {**os.environ, "TRACEJIT_CHECK": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
