"""Failures of the compiler on valid programs: results are right, a warning names the part, `explain` too."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.control import regions
from tracejit.codegen.control.lowering import CONTROL_FLOW
from tracejit.codegen.kernels.indexing.concatenation import CONCATENATION
from tracejit.codegen.kernels.indexing.gather import GATHER
from tracejit.codegen.llvm.control_operations import Return
from tracejit.codegen.llvm.function import FunctionCode
from tracejit.codegen.llvm.operations import Operation
from tracejit.codegen.lowering.lowering import Lowering
from tracejit.codegen.module import body, writer
from tracejit.codegen.module.families import LOWERINGS
from tracejit.codegen.nest import fusions, overwriting
from tracejit.codegen.tiers import BASELINE
from tracejit.ir import passes
from tracejit.ir.graph import Function, Instruction
from tracejit.ir.grouping.recovery import interpreted
from tracejit.ir.interpreter import interpret
from tracejit.ir.registry import Kind
from tracejit.ir.verifier import verify
from tracejit.runtime import tiers
from tracejit.runtime.cache import store

Array = np.ndarray[Any, Any]


def rows(x: Any) -> Any:
    """A row nest, with a map, a view and a product beside it."""
    y = tj.exp(x - x.max(-1, keepdims=True))
    return y / y.sum(-1, keepdims=True), tj.flip(x, 0) * 2.0, x @ x.T


def looping(x: Any) -> Any:
    """A scan over rows that is too large for registers."""
    return tj.scan(lambda c, row: (tj.tanh(c + row) * row, c.sum()), tj.zeros(x.shape[1]), x)


def small_loop(x: Any) -> Any:
    return tj.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 0.5 + tj.sin(c[1])), (0, x[0, 0]))


def columns(x: Any) -> Any:
    """Values that are joined, gathered, sorted and folded across rows."""
    ends = tj.concatenate([x[:, :2] * 2.0, tj.cumsum(x, 1)], 1)
    return (
        ends,
        tj.sort(x, axis=1),
        x[tj.array([2, 0, 0])],
        x.max(-1).sum(),
        tj.stack([x.sum(1), x.max(1)], -1),
    )


PROGRAMS = [rows, looping, small_loop, columns]
X = np.random.default_rng(0).normal(size=(7, 33))


def flat(value: Any) -> list[Array]:
    return [np.asarray(leaf) for leaf in tj.tree_leaves(value)]


def failing(kinds: set[Kind], only: Callable[[Instruction], bool] = lambda _: True) -> dict[Kind, Any]:
    """Lowerings that raise for instructions of `kinds`, where `only` says so."""

    def broken(kind: Kind) -> Any:
        def kernel(name: str, instruction: Instruction, context: Any) -> Any:
            if only(instruction):
                raise ZeroDivisionError(f"no {kind.value} today")
            return LOWERINGS[kind].kernel(name, instruction, context)

        return Lowering((kind,), kernel)

    return {kind: broken(kind) for kind in kinds}


def run_degraded(program: Callable[[Any], Any], message: str) -> Any:
    """`program` jitted, with the right results and a warning; the jitted function."""
    want = flat(program(tj.tensor(X)))
    jitted = tj.jit(program)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = flat(jitted(X))
    assert {actual.category for actual in caught} == {tj.CompilerWarning}
    texts = {str(actual.message) for actual in caught}
    assert any(re.search(message, text) for text in texts), texts
    for text in texts:
        assert "please report it" in text
        assert text[:60] in " ".join(jitted.explain().split())
    for actual, expected in zip(got, want, strict=True):
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-13)
    # the code stays, and says nothing more
    assert [actual.tolist() for actual in flat(jitted(X))] == [actual.tolist() for actual in got]
    return jitted


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "kind", [Kind.REGION, Kind.CONTRACTION, Kind.SORT, Kind.CUMULATIVE, Kind.SCAN, Kind.WHILE]
)
def test_kernels_that_fail(program: Any, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of kernel: by NumPy, as the single op fails too."""
    used = tj.jit(program).lower(X).fused.instructions()
    if not any(instruction.op.kind is kind for instruction in used):
        pytest.skip("the program has none")
    monkeypatch.setattr(body, "LOWERINGS", {**LOWERINGS, **failing({kind})})
    jitted = run_degraded(program, "NumPy computes it")
    assert "the compiler failed on it" in jitted.explain()


@pytest.mark.parametrize("program", PROGRAMS)
def test_fusions_of_several_ops_that_fail(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fusions are taken apart, and everything is native code."""

    def several(instruction: Instruction) -> bool:
        inside = instruction.regions[0].body
        return sum(instruction.op.kind in (Kind.ELEMENTWISE, Kind.REDUCTION) for instruction in inside) > 1

    if not any(
        instruction.op.kind is Kind.REGION and several(instruction)
        for instruction in tj.jit(program).lower(X).fused.instructions()
    ):
        pytest.skip("the program has none")
    monkeypatch.setattr(body, "LOWERINGS", {**LOWERINGS, **failing({Kind.REGION}, several)})
    jitted = run_degraded(program, "one by one.*bug in tracejit")
    (signature,) = jitted.explain().signatures
    assert not signature.programs[0].host_calls
    assert signature.programs[0].fallbacks


def raises(*_: Any, **__: Any) -> Any:
    raise KeyError("where is it?")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("where", "what"),
    [
        (fusions, "schedule"),
        (fusions, "emit_kernel"),
        (overwriting, "overwritable"),
        (writer, "plan_buffers"),
        (regions, "ControlWriter"),
        (CONTROL_FLOW, "kernel"),
        (CONCATENATION, "kernel"),
        (GATHER, "kernel"),
    ],
)
def test_failures_anywhere(program: Any, where: Any, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scheduling, writing, planning: what nothing can do without fails once or twice."""
    before, calls = getattr(where, what), []
    most = {"plan_buffers": 1 if program is small_loop else 2}.get(what, 1000)

    def fail(*args: Any, **more: Any) -> Any:
        calls.append(what)
        return raises() if len(calls) <= most else before(*args, **more)

    monkeypatch.setattr(where, what, fail)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.CompilerWarning)
        tj.jit(program)(X)
    if not calls:
        pytest.skip("the program does not come there")
    calls.clear()
    run_degraded(program, "KeyError: 'where is it\\?' in test_recovery.py")


def test_where_nothing_is_simpler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last failure is an error of ours."""
    monkeypatch.setattr(writer, "plan_buffers", raises)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.CompilerWarning)
        with pytest.raises(tj.CompileError, match=r"@rows: KeyError: 'where is it.*please report it"):
            tj.jit(rows)(X)


@pytest.mark.parametrize("name", sorted({pass_.name for pass_ in passes.PIPELINE}))
@pytest.mark.parametrize("program", PROGRAMS)
def test_passes_that_fail(program: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is left out; without fusion each op is a kernel."""
    broken = [
        passes.Pass(pass_.name, raises if pass_.name == name else pass_.apply, pass_.skips, pass_.otherwise)
        for pass_ in passes.PIPELINE
    ]
    monkeypatch.setattr(passes, "OPTIMIZE", tuple(broken[:-1]))
    monkeypatch.setattr(passes, "PIPELINE", tuple(broken))
    run_degraded(program, f"by the pass {name}")


def test_no_fusion_and_no_way_around(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = passes.Pass("fuse", raises, None, raises)
    monkeypatch.setattr(passes, "PIPELINE", (*passes.OPTIMIZE, broken))
    run_degraded(rows, "NumPy computes it")


class _Wrong(Operation):
    """An operation that prints as `text`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def line(self) -> str:
        return f"  {self.text}"

    def operands(self) -> tuple[str, ...]:
        return ()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("text", ["%x = no such thing", "%x = add i32 1, 2.0"])
def test_text_that_llvm_rejects(program: Any, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is found, and the others stay."""
    before = fusions.Fusions.kernel

    def spoiled(self: Any, instruction: Instruction, *more: Any) -> Any:
        kernel = before(self, instruction, *more)
        function = next(part for part in kernel.code if isinstance(part, FunctionCode))
        assert isinstance(function.operations[-1], Return)
        operations = [*function.operations[:-1], _Wrong(text), function.operations[-1]]
        kernel.code[kernel.code.index(function)] = function.rewritten(operations)
        return kernel

    if not any(
        instruction.op.kind is Kind.REGION for instruction in tj.jit(program).lower(X).fused.instructions()
    ):
        pytest.skip("the program has none")
    monkeypatch.setattr(fusions.Fusions, "kernel", spoiled)
    jitted = run_degraded(program, "LLVM rejects")
    if program is rows:
        assert "matmul" not in {call.op for call in jitted.explain().signatures[0].programs[0].host_calls}


def test_gradients_and_errors_of_degraded_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indices are checked, and a user's own exception is the user's."""
    monkeypatch.setattr(body, "LOWERINGS", {**LOWERINGS, **failing({Kind.GATHER, Kind.REGION})})
    f = tj.jit(lambda x, i: (x[i] * 2.0).sum())
    with pytest.warns(tj.CompilerWarning):
        assert float(f(np.arange(3.0), np.array([1, 2]))) == 6.0
    with pytest.raises(tj.OutOfBoundsError):
        f(np.arange(3.0), np.array([1, 3]))
    gradient = tj.jit(tj.grad(lambda x: tj.exp(x).sum()))
    with pytest.warns(tj.CompilerWarning):
        np.testing.assert_allclose(gradient(X), np.exp(X))


def test_warnings_that_are_errors_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "LOWERINGS", {**LOWERINGS, **failing({Kind.REGION})})
    with pytest.raises(tj.CompilerWarning, match=r"the fusion of .*fma"):
        tj.jit(lambda x: x * 2.0 + 1.0)(X)


def test_both_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    monkeypatch.setattr(body, "LOWERINGS", {**LOWERINGS, **failing({Kind.REGION})})
    jitted = run_degraded(rows, "NumPy computes it")
    assert tiers.BACKGROUND.wait(60)
    (program,) = jitted.explain().signatures[0].programs
    assert (program.tier, program.problem) == ("optimized", "")


def test_the_full_tier_alone_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls stay with the baseline code where the optimized one would call back otherwise."""
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    told: list[Any] = []
    monkeypatch.setattr("threading.excepthook", told.append)
    broken = failing({Kind.REGION}, lambda instruction: True)

    def kernel(name: str, instruction: Instruction, context: Any) -> Any:
        is_baseline = context.parameters is BASELINE.parameters
        lowering = LOWERINGS[Kind.REGION] if is_baseline else broken[Kind.REGION]
        return lowering.kernel(name, instruction, context)

    lowering = Lowering((Kind.REGION,), kernel)
    monkeypatch.setattr(body, "LOWERINGS", {**LOWERINGS, Kind.REGION: lowering})
    monkeypatch.setattr("tracejit.codegen.plan.generated.Module.shortened", True)
    jitted = tj.jit(rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        want = flat(jitted(X))
        assert tiers.BACKGROUND.wait(60)
        assert {warning.category for warning in caught} == {tj.CompilerWarning}
    assert not told
    assert [result.tolist() for result in flat(jitted(X))] == [result.tolist() for result in want]
    (program,) = jitted.explain().signatures[0].programs
    assert program.tier == "baseline"
    assert "no region today" in program.problem


def test_degraded_code_is_not_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEJIT_CACHE")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(body, "LOWERINGS", {**LOWERINGS, **failing({Kind.REGION})})
        run_degraded(rows, "NumPy computes it")
        run_degraded(rows, "NumPy computes it")
    assert store.CACHE.info().entries == 0
    jitted = tj.jit(rows)
    jitted(X)
    assert not jitted.explain().signatures[0].programs[0].fallbacks
    assert store.CACHE.info().entries == 1


def test_profiles_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "LOWERINGS", {**LOWERINGS, **failing({Kind.REGION})})
    jitted = tj.jit(rows)
    with pytest.warns(tj.CompilerWarning), tj.profile() as profile:
        jitted(X)
    assert "tracejit failed to compile the fusion of" in str(profile)
    assert profile.as_dict()["functions"][0]["fallbacks"]


def test_a_function_is_interpreted_as_one() -> None:
    """The last resort has the same type and meaning."""
    function: Function = tj.trace(rows, X)
    whole = interpreted(function)
    verify(whole)
    for actual, expected in zip(interpret(whole, [X]), interpret(function, [X]), strict=True):
        np.testing.assert_array_equal(actual, expected)
