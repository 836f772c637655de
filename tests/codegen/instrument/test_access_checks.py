"""``TRACEJIT_CHECK=1``: wrong kernels are found out and do no harm; right ones compute what they did."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import CompileError, CompilerWarning
from tracejit.codegen.instrument import access_checks
from tracejit.codegen.instrument.access_checks import AccessChecks
from tracejit.codegen.instrument.variants import PLAIN
from tracejit.codegen.kernels.indexing import bincount
from tracejit.codegen.lowering.loop_nest import Memory, Nest, Write
from tracejit.codegen.nest import fusions
from tracejit.runtime.executable import Executable

from ...fuzz.graphs import program

SCHEDULE = fusions.schedule


def checked(f: Callable[..., Any], *args: Any) -> Executable:
    return Executable(tj.trace(f, *args), AccessChecks())


def feed(monkeypatch: pytest.MonkeyPatch, change: Callable[[Nest], None]) -> None:
    """Let every nest be `change`d before it is written. The verifier of loops, which would find it before
    anything runs, looks away."""

    def wrong(*args: Any) -> Nest:
        nest = SCHEDULE(*args)
        change(nest)
        return nest

    monkeypatch.setattr(fusions, "schedule", wrong)
    monkeypatch.setattr(access_checks, "verify_kernel", lambda kernel: None)


def longer(by: int) -> Callable[[Nest], None]:
    def change(nest: Nest) -> None:
        nest.sizes = (*nest.sizes[:-1], nest.sizes[-1] + by)
        # which have room for as many elements as a vector has more, or are too small before anything runs
        more = by * nest.lanes * nest.unroll
        nest.scratch_sizes = [(dtype, count + more) for dtype, count in nest.scratch_sizes]

    return change


def moved_writes(by: int) -> Callable[[Nest], None]:
    def change(nest: Nest) -> None:
        nest.writes = [
            Write(write.source, _moved(write.memory, by), write.row_level, write.stage)
            for write in nest.writes
        ]

    return change


def _moved(memory: Memory, by: int) -> Memory:
    return Memory(memory.buffer, memory.dtype, memory.strides, memory.offset + by)


def moved_reads(by: int) -> Callable[[Nest], None]:
    def change(nest: Nest) -> None:
        for member in nest.members:
            member.operands = tuple(
                _moved(operand, by) if isinstance(operand, Memory) and operand.buffer == 0 else operand
                for operand in member.operands
            )

    return change


def double(x: Any) -> Any:
    return x * 2.0


@pytest.mark.parametrize("n", [2, 7, 8, 13, 64, 1000])
@pytest.mark.parametrize(
    ("change", "which"),
    [
        (longer(1), "operand 0"),
        (longer(64), "operand 0"),
        (moved_writes(1), "result 0"),
        (moved_writes(-1), "result 0"),
        (moved_writes(10**9), "result 0"),
        (moved_reads(1), "operand 0"),
        (moved_reads(-3), "operand 0"),
    ],
)
def test_a_wrong_nest(n: int, change: Any, which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, change)
    function = checked(double, tj.ones(n))
    before = np.arange(float(n))
    arguments = before.copy()
    with pytest.raises(CompileError) as caught:
        function([arguments])
    text = str(caught.value)
    line = double.__code__.co_firstlineno + 1
    assert text.startswith(f"checked code: kernel k0 (fusion at {__file__}:{line}): `")
    assert f"leaves {which} (f64[{n}], {8 * n} bytes), or is not aligned: it begins at byte" in text
    np.testing.assert_array_equal(arguments, before)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (longer(1), r"b0\[.*\] may be behind the buffer, which has 8"),
        (moved_writes(-1), r"b1\[(i \+ )?l - 1\] may be before the buffer"),
        (moved_reads(1), r"b0\[(i \+ )?l \+ 1\] may be behind the buffer, which has 8"),
    ],
)
def test_a_wrong_nest_is_not_valid(change: Any, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verify = access_checks.verify_kernel
    feed(monkeypatch, change)
    monkeypatch.setattr(access_checks, "verify_kernel", verify)
    with pytest.warns(CompilerWarning, match=f"LoopFormError: kernel k0: {problem}"):
        checked(double, tj.ones(8))


def test_the_byte_and_the_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, moved_writes(-2))
    with pytest.raises(CompileError, match=r"`store double .*it begins at byte -16"):
        checked(double, tj.ones(1))([np.ones(1)])


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (lambda x: x[::-1] + 1.0, [(50,)]),
        (lambda x: x.sum(axis=0), [(9, 40)]),
        (lambda x: x.sum(axis=1), [(9, 40)]),
        (lambda x: tj.nn.softmax(x, axis=-1), [(9, 41)]),
        (lambda x: (x > 0) & (x < 1), [(77,)]),
        (lambda x: x * 2.0, [(300_000,)]),  # by several threads
        (lambda x: tj.fori_loop(0, 9, lambda i, c: tj.tanh(c @ c) * 2, x), [(20, 20)]),
    ],
)
@pytest.mark.parametrize("change", [longer(3), moved_reads(10**6), moved_writes(-5)])
def test_kinds_of_nests(f: Any, shapes: Any, change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [np.zeros(shape) for shape in shapes]
    right = checked(f, *arrays)
    for _ in range(2):
        right(arrays)
    feed(monkeypatch, change)
    wrong = checked(f, *arrays)
    for _ in range(2):
        with pytest.raises(CompileError, match="checked code: kernel"):
            wrong(arrays)


@pytest.mark.parametrize("change", [moved_reads(10**6), moved_writes(-5)])
def test_transposed_reads(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.zeros((9, 11))
    feed(monkeypatch, change)
    with pytest.raises(CompileError, match="checked code: kernel"):
        checked(lambda x: x.T * 2.0, x)([x])


def test_passes_refuse_rows_that_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, longer(3))
    with pytest.warns(CompilerWarning, match="iterations of i may not run in any order"):
        checked(lambda x: x.T * 2.0, np.zeros((9, 11)))


@pytest.mark.parametrize(
    ("f", "shape"), [(lambda x: tj.exp(x).sum(), (300_000,)), (lambda x: x.sum(axis=0), (50_000, 8))]
)
@pytest.mark.parametrize("change", [moved_reads(10**6), moved_writes(-5)])
def test_reductions_that_are_split(f: Any, shape: Any, change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, change)
    wrong = checked(f, np.zeros(shape))
    assert wrong.module.parallel
    with pytest.raises(CompileError, match="checked code: kernel"):
        wrong([np.zeros(shape)])


def test_alignment() -> None:
    executable = checked(double, tj.ones(4))
    memory = np.zeros(100, np.uint8)
    start = memory.ctypes.data + (-memory.ctypes.data) % 8
    pointers = [(ctypes.c_void_p * 1)(start + 1), (ctypes.c_void_p * 1)(start + 40)]
    status = executable._main(*map(ctypes.addressof, pointers))
    assert status != 0
    with pytest.raises(CompileError, match=r"leaves operand 0 .* or is not aligned: it begins at byte 0"):
        executable.fail(status)
    pointers[0][0] = start
    assert executable._main(*map(ctypes.addressof, pointers)) == 0


def test_users_errors_stay_what_they_are() -> None:
    function = checked(lambda x, i: x[i] * 2, tj.ones(3), tj.asarray([1]))
    with pytest.raises(tj.OutOfBoundsError):
        function([np.ones(3), np.array([7])])
    assert function([np.ones(3), np.array([2])])[0].tolist() == [2.0]


@pytest.mark.parametrize(
    ("f", "arrays"),
    [
        (lambda x: x @ x.T, [np.eye(100)]),
        (lambda x: x @ x, [np.ones((7, 33, 33))]),
        (lambda x: tj.cumsum(x), [np.arange(100.0)]),
        (lambda x: (tj.cumsum(x), tj.cumsum(x[:300], 0)), [np.arange(50_001.0)]),  # in chunks
        (lambda x: (tj.cumsum(x, 0), tj.cumsum(x, 1)), [np.arange(1200.0).reshape(20, 60)]),
        (lambda x: (tj.sort(x), tj.argsort(x)), [np.sin(np.arange(1200.0)).reshape(20, 60)]),
        (lambda x: (tj.sort(x), tj.argsort(x)), [np.sin(np.arange(1200.0)).reshape(3, 400)]),
        (lambda x: (tj.sort(x), tj.argsort(x)), [np.sin(np.arange(40_000.0))]),
        (lambda x: tj.searchsorted(x, x * 2), [np.arange(300.0)]),
        (lambda x, i: x[i], [np.arange(60.0).reshape(20, 3), np.array([1, -1])]),
        (lambda x, i: (x[i], x[i, i]), [np.arange(60.0).reshape(20, 3), np.arange(30_000) % 3]),
        (lambda x: tj.concatenate([x, x * 2]), [np.ones(30)]),
        (lambda x: tj.argmax(x, axis=0), [np.ones((100, 70))]),
        (lambda x: tj.fori_loop(0, 10, lambda i, c: c * 2 + i, x), [np.ones(3)]),
        (lambda x: tj.scan(lambda c, v: (c + v, c * v), x[0], x), [np.ones((100, 3))]),
        (lambda x: tj.random.normal(tj.random.key(0), (100,)) * x, [np.ones(1)]),
        (tj.grad(lambda x: (x[tj.asarray([0, 0, 1])] ** 2).sum()), [np.ones(50)]),
        (lambda x: tj.gcd(x, 12), [np.arange(9)]),
        (lambda i: tj.bincount(i, length=50), [np.arange(100_000) % 50]),  # tasks choose where to add
        (lambda x: tj.nonzero(x, size=50), [np.ones(100)]),  # what does not fit goes elsewhere
        (tj.vmap(lambda x: tj.nonzero(x, size=7)), [np.eye(30)]),
        (lambda x, i: tj.index_add(x, i, 1.0), [np.zeros(50), np.arange(100_000) % 50]),
        (lambda x: (x - x.mean()).std(), [np.arange(500_000.0)]),  # split over tasks, with workspaces
        (lambda x: x.sum(axis=0), [np.arange(400_000.0).reshape(-1, 8)]),
        (lambda x: x @ x.T, [np.eye(300)]),
        (lambda x, w: tj.nn.conv2d(x, w, padding=2), [np.ones((2, 70, 9, 31)), np.ones((19, 70, 5, 5))]),
        (
            lambda x, w: tj.nn.conv2d(x, w, stride=2),
            [np.ones((3, 2, 9, 40), "i4"), np.ones((3, 2, 3, 3), "i4")],
        ),
    ],
)
def test_right_kernels_give_what_they_gave(f: Any, arrays: Any) -> None:
    function = tj.trace(f, *arrays)
    checks = AccessChecks()
    for got, want in zip(
        Executable(function, checks)(arrays), Executable(function, PLAIN)(arrays), strict=True
    ):
        np.testing.assert_array_equal(got, want)
    assert checks.unchecked == []


def test_a_choice_of_two_pointers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first chunk is counted in the result, others in the workspace: no other place will do."""
    sums_of = bincount._Writer._sums_of
    monkeypatch.setattr(
        bincount._Writer, "_sums_of", lambda self, number: self.w.offset(sums_of(self, number), "u8", 1 << 30)
    )
    index = np.arange(100_000) % 5000  # so many that a task has one chunk
    with pytest.raises(CompileError, match=r"leaves result 0 \(.*\) or the workspace of \d+ bytes"):
        checked(lambda i: tj.bincount(i, length=5000), tj.asarray(index))([index])


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    random = program(seed)
    checks = AccessChecks()
    got = Executable(random.function, checks)(random.arrays)
    want = Executable(random.function, PLAIN)(random.arrays)
    for result, expected in zip(got, want, strict=True):
        np.testing.assert_array_equal(result, expected)
    assert checks.unchecked == []


def test_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, longer(1))
    monkeypatch.setenv("TRACEJIT_CHECK", "1")
    f = tj.jit(double)
    for _ in range(3):  # the slow path, and the native entry
        with pytest.raises(CompileError, match="checked code: kernel k0"):
            f(tj.ones(10))
    monkeypatch.setenv("TRACEJIT_CHECK", "0")
    monkeypatch.setattr(fusions, "schedule", SCHEDULE)
    assert "check" not in Executable(tj.trace(double, tj.ones(10))).module.text
