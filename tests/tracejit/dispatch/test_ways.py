"""The ways in which eager ops run (`Way`) are these and no others, and agree: in the bits, dtypes, shapes and
memory of results, in gradients, and in errors."""

from __future__ import annotations

import functools
import pathlib
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.dispatch import native_ops
from tracejit.dispatch.dispatch import apply
from tracejit.dispatch.eager_functions import FUNCTIONS, EagerFunction, Way
from tracejit.ir.registry import OPS, Op
from tracejit.tracing.tracer import Tracer, tracing
from tracejit.tracing.traces import trace_flat

from ...rotation import SEED
from ...samples import ELSEWHERE, samples_of
from ...support import interpret, type_of

if sys.implementation.name != "cpython" or sys.platform != "linux":
    pytest.skip("native code for eager ops is for CPython on Linux", allow_module_level=True)


#: Functions load with their names.
LOADED = [getattr(tj, name) for name in tj.__all__]


@pytest.fixture(autouse=True)
def _loaded() -> None:
    assert native_ops.load() == ""


#: Arguments of the functions that stand for builtin functions of NumPy's, by the names of op and Python
#: function: what is an array or in a list of such is an operand.
M, V, S = np.array([[1.5, -2.0], [0.0, 5.0]]), np.array([3.0, -1.0]), np.array(2.5)
K, HALF, MASK = np.arange(6).reshape(2, 3), np.ones((2, 2), "f2"), np.array([[True, False], [False, True]])
REDUCED = [
    (x, axis, None, None, keepdims)
    for x in (M, V, S, K, HALF, MASK, np.zeros((0, 2)), np.ones((80, 70)), [1.5, 2.0], "x")
    for axis in (None, 0, -1, (0, 1), 3, 0.5)
    for keepdims in (False, True)
]
PLACED = [(x, axis) for x in (M, V, S, K, HALF, np.zeros((0, 2)), [1.0], "x") for axis in (None, 0, -1, 2)]
JOINED = [
    (parts, axis)
    for parts in ([M, M], (V, V, V), [M, V], [S, S], [K, K], [M, K], [], [V], [[1.0], V], [HALF, HALF], 5)
    for axis in (0, -1, 1, 2, None)
]
ARGUMENTS: dict[tuple[str, str], list[tuple[Any, ...]]] = {
    **{(name, "python"): REDUCED for name in ("sum", "prod", "max", "min", "all", "any")},
    ("mean", "_mean"): REDUCED,
    **{(name, "python"): PLACED for name in ("argmax", "argmin")},
    ("concat", "_concatenate"): JOINED,
    ("stack", "_stack"): JOINED,
    ("reshape", "_reshape"): [(x, shape) for x in (M, K, [1, 2]) for shape in (-1, (2, 2), (3, -1), 4, "x")],
    ("reshape", "_squeeze"): [(x,) for x in (M, M[:1], S, [[1.0]])],
    ("reshape", "_squeeze_axes"): [(M[:1], 0), (M, 0), (M[:1], (0, 1)), (S, 0), (M[:, None], -2)],
    ("reshape", "_all"): [(M,), (V[::-1],), (S,)],
    ("reshape", "_ravel"): [(M, "C"), (M.T, "C"), (S, "C")],
    ("transpose", "_transpose"): [(K, axes) for axes in ((1, 0), (0, 1), (0, 0), (0,), None, "x")],
    ("transpose", "_reversed"): [(M,), (S,), ([[1, 2]],)],
    ("transpose", "_swapaxes"): [(K, 0, 1), (K, 0, -1), (K, 0, 2), (K, None, 0)],
    ("transpose", "_matrix_transpose"): [(K,), (V,), ([[1, 2]],)],
    ("broadcast", "_broadcast_to"): [(V, (3, 2)), (V, 2), (M, (2,)), (S, (2, 2)), (2.0, (2,)), (V, "x")],
    ("getitem", "_getitem"): [
        (K, key) for key in (0, -1, (0, 1), slice(1, None), None, ..., (..., 0), 7, [1, 0], (0, 0, 0), "x")
    ],
    ("gather", "_by_plan"): [(V, np.array([1, 0, 0])), (M, np.array([[1], [0]])), (V, np.array([7]))],
    ("cast", "_cast"): [(x, np.dtype(to)) for x in (M, K, MASK, [1]) for to in ("f4", "f8", "i8", "?")],
    ("copy", "_copy"): [(M,), (K.T,), (S,), (HALF,)],
    ("matmul", "_matmul"): [(x, y) for x in (M, V, S, K, HALF, 2.0) for y in (M, V, K.T, [[1.0], [2.0]])],
    ("matmul", "_by_matrices"): [(M, V), (V, M), (V, V), (M, K[:, 0] * 1.0)],
    ("where", "_array_of_choices"): [(MASK, M, 0.5), (MASK, M, V), (MASK, 1, 2), (M, M, M), (MASK, M, K)],
    ("where", "_choice"): [(MASK, M, V), (MASK, M, 0.5), (MASK, M, K)],
    ("diagonal", "_diagonal"): [(K, 0, 0, 1), (K, 1, 0, 1), (K, 0, 0, 0), (V, 0, 0, 1)],
    ("roll", "_rolled_in_parts"): [(K, 1, 0), (M, 1, 1)],
}  # fmt: skip


def arguments_of(function: EagerFunction) -> list[tuple[Any, ...]]:
    if function.builtin is not None:
        return ARGUMENTS[function.op.name, function.python.__name__]
    assert isinstance(function.op, Op)
    samples = samples_of(function.op, np.random.default_rng([SEED, zlib.crc32(function.op.name.encode())]))
    chosen = samples[:: max(1, len(samples) // 12)]
    rows: list[tuple[Any, ...]] = [tuple(sample.operands) for sample in chosen]
    numbers = (1.5, 2, True, "x", None, [0.5, 1.0], np.array([1, 2, 3]), 2**70)
    return [*rows, *[(V, number)[-len(function.op.params) :] for number in numbers], (M, np.ones(3))]


def as_given(argument: Any, wrap: Callable[[Any], Any]) -> Any:
    """The argument with Tensors, made by `wrap`, in place of arrays."""
    if isinstance(argument, (list, tuple)) and any(isinstance(item, np.ndarray) for item in argument):
        return type(argument)([as_given(item, wrap) for item in argument])
    return wrap(argument) if isinstance(argument, np.ndarray) else argument


def outcome(call: Callable[..., Any], arguments: tuple[Any, ...], *, graded: bool) -> tuple[Any, ...]:
    """The outcome of a call for the user: bits, memory, warnings and gradients, or the error."""
    leaves: list[tj.Tensor] = []

    def leaf(array: Any) -> tj.Tensor:
        x = tj.tensor(array)
        x._data = array  # as it lies: `tensor` copies
        if graded and array.dtype.kind == "f":
            leaves.append(x.requires_grad_())
        return x

    given = [as_given(argument, leaf) for argument in arguments]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = call(*given)
        except Exception as error:
            return type(error), str(error)
        if result is NotImplemented:
            return (result,)
        data = result.detach().numpy()
        shared = [np.may_share_memory(data, x._data) for x in given if isinstance(x, tj.Tensor)]
        facts: tuple[Any, ...] = (
            data.tobytes(), data.dtype, data.shape, result.requires_grad, shared, data.flags.c_contiguous,
            result._node is not None,
        )  # fmt: skip
        if result.requires_grad:
            try:
                (result * 2.0).sum().backward()
            except Exception as error:
                return *facts, type(error), str(error)
            facts += tuple((leaf.grad is not None and leaf.grad.numpy().tobytes()) for leaf in leaves)
    return *facts, sorted(str(warning.message) for warning in seen)


#: The number of kernels that ran in the way `BACKEND`.
ASKED = [0]


@contextmanager
def backend() -> Iterator[None]:
    """Kernels are not the records' own, and do the same."""

    def kernel_of(op: Op) -> Callable[..., Any]:
        def kernel(*arrays: Any, **attrs: Any) -> Any:
            ASKED[0] += 1
            return op.eval(*arrays, **attrs)

        return kernel

    OPS.use_kernels(kernel_of)
    try:
        yield
    finally:
        OPS.use_kernels(None)


@contextmanager
def made_to(function: EagerFunction, way: Way) -> Iterator[None]:
    """Calls of `function` run in this way."""
    before = function.way
    if way is Way.BACKEND:
        with backend():
            yield
    elif way is Way.TRACED:
        with tracing(Tracer()):
            yield
    else:
        function.take(way)
        try:
            yield
        finally:
            function.take(before)


def traced_outcome(call: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The bits, dtype and shape of what a trace of the call gives, by the interpreter; None for an error."""
    arrays: list[Any] = []
    for argument in arguments:
        as_given(argument, arrays.append)

    def on_symbols(*symbols: Any) -> tuple[list[Any], None]:
        left = iter(symbols)
        return [call(*[as_given(argument, lambda _: next(left)) for argument in arguments])], None

    try:
        traced = trace_flat(on_symbols, [(type_of(array), False, "x") for array in arrays])
        (data,) = interpret(traced.function, [*arrays, *map(np.asarray, traced.captured)])
    except Exception:
        return None
    return data.tobytes(), data.dtype, data.shape


IDS = [f"{number}-{function.op.name}" for number, function in enumerate(FUNCTIONS)]


def test_every_eager_function_has_arguments() -> None:
    rows = {(each.op.name, each.python.__name__) for each in FUNCTIONS if each.builtin is not None}
    assert rows == ARGUMENTS.keys()


def takes_numbers_as_python_does(arguments: tuple[Any, ...]) -> bool:
    """Whether a trace computes with numbers here that NumPy refuses, or takes for others: bools, and integers
    of more than 64 bits."""
    return any(type(each) is bool or (type(each) is int and each >= 2**63) for each in arguments)


@pytest.mark.parametrize("function", FUNCTIONS, ids=IDS)
def test_all_ways_agree(function: EagerFunction) -> None:
    ways = [Way.COUNTED, Way.BACKEND, *[Way.NATIVE] * (function.native is not None)]
    compared = 0
    for arguments in arguments_of(function):
        for graded in (True, False):
            with made_to(function, Way.PYTHON):
                expected = outcome(function.run, arguments, graded=graded)
            for way in ways:
                with made_to(function, way):
                    found = outcome(function.run, arguments, graded=graded)
                assert found == expected, (way, arguments, graded, f"TRACEJIT_FUZZ_SEED={SEED}")
        traced = traced_outcome(function.run, arguments)
        if traced is not None and expected[0] is not NotImplemented:
            assert traced == expected[:3] or takes_numbers_as_python_does(arguments), arguments
            compared += 1
    assert compared


@pytest.mark.parametrize("function", FUNCTIONS, ids=IDS)
def test_one_place_decides(function: EagerFunction) -> None:
    """`take` knows every way, and what runs is the Python function or the native one."""
    usual = Way.PYTHON if function.native is None else Way.NATIVE
    runs = {usual: function.native or function.python, Way.PYTHON: function.python}
    seen: list[Any] = []
    function.follow(seen.append)
    assert function.way is usual
    for way in [way for way in Way if way is not Way.NATIVE or function.native is not None]:
        with made_to(function, way):
            if way in (
                Way.BACKEND,
                Way.TRACED,
            ):  # what this thread does, or kernels are, and not what is told
                assert function.way is way
            if way is Way.COUNTED:
                closure = function.run.__closure__  # type: ignore[attr-defined]
                assert function.python in [cell.cell_contents for cell in closure]
            else:
                # a native function hands on what is traced
                key = usual if way is Way.TRACED else way
                assert function.run is runs.get(key, function.python)
            assert seen[-1] is function.run
    assert function.way is usual
    assert function.run is seen[-1] is runs[usual]
    with pytest.raises(AssertionError):
        function.take("another way")  # type: ignore[arg-type]
    function.take(usual)


def test_functions_made_later_are_native_at_once() -> None:
    """Names load at their first use, and so may their functions, after native code is linked."""
    function = EagerFunction(OPS["exp"], lambda x: x)
    assert FUNCTIONS.pop() is function
    assert function.way is Way.NATIVE
    assert function.run(tj.tensor([0.0, 0.0])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["exp", "sum"])
def test_functions_made_later_find_another_kernel(name: str) -> None:
    op = OPS[name]
    before, foreign = op.eval, set(OPS.foreign)
    OPS.change(op, eval=lambda *arrays, **attrs: before(*arrays, **attrs))
    try:
        function = EagerFunction(op, lambda x, *arguments: x)
        assert FUNCTIONS.pop() is function
        assert function.way is Way.BACKEND
        assert function.run is function.python
    finally:
        OPS.change(op, eval=before)
        OPS.foreign &= foreign
    assert function.way is Way.NATIVE
    assert function.run is function.native


def test_native_functions_serve_some_calls() -> None:
    natives = native_ops._PROGRESS.natives
    assert natives is not None
    for function in [function for function in FUNCTIONS if function.native is not None]:
        handed_on: list[Any] = []
        rows = arguments_of(function)
        native = function.make(natives, lambda *given, handed_on=handed_on: handed_on.append(given))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for arguments in rows:
                native(*[as_given(argument, tj.tensor) for argument in arguments])
        assert len(handed_on) < len(rows), function.op.name


def test_no_other_place_makes_native_functions() -> None:
    """Code elsewhere that makes native functions, counts calls or follows kernels would be another way."""
    root = pathlib.Path(tj.__file__).parent
    for text, homes in (
        (".make_join(", {"eager_functions.py"}),
        (".make_call(", {"eager_functions.py"}),
        ("counted(self.", {"eager_functions.py"}),
        (".follow_kernel(", {"eager_functions.py", "dispatch.py"}),
    ):
        found = {path.name for path in root.rglob("*.py") if text in path.read_text()}
        assert found == homes, text


def test_backends_are_asked_by_all_of_them() -> None:
    for function in FUNCTIONS:
        if function.op.name == "getitem":
            continue  # a view is no work for a kernel: NumPy indexes
        for arguments in arguments_of(function):
            for way in (Way.BACKEND, Way.NATIVE):
                asked = ASKED[0]
                with backend() if way is Way.BACKEND else nullcontext():
                    found = outcome(function.run, arguments, graded=False)
                if not (isinstance(found[0], type) or found[0] is NotImplemented):
                    assert (ASKED[0] > asked) == (way is Way.BACKEND), (function.op.name, arguments)


@pytest.mark.parametrize("name", [op.name for op in OPS if op.name not in ELSEWHERE])
def test_ops_by_their_records(name: str) -> None:
    """`apply` runs every op: by its kernel, by a backend's, and into the graph."""
    op = OPS[name]
    samples = samples_of(op, np.random.default_rng([SEED, zlib.crc32(name.encode())]))
    for sample in samples[:: max(1, len(samples) // 6)]:
        call = functools.partial(_applied, op, sample.attrs)
        operands = tuple(sample.operands)
        plain = outcome(call, operands, graded=False)
        with backend():
            assert outcome(call, operands, graded=False) == plain, sample
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = traced_outcome(call, operands)
        assert traced is None or traced == plain[:3], sample


def _applied(op: Op, attrs: dict[str, Any], *operands: Any) -> Any:
    return apply(op, operands, attrs)
