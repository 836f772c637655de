"""The verifier takes the kernels of whole programs, and says what is wrong with those that are not as they
have to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import tracejit as tj
from tracejit.base.errors import CompileError
from tracejit.codegen.instrument.variants import Instrument
from tracejit.codegen.instrument.verifier import verify, verify_code
from tracejit.codegen.llvm.control_operations import Branch, Label, RegionEnd, Return
from tracejit.codegen.llvm.function import FunctionCode
from tracejit.codegen.llvm.loops import FunctionWriter
from tracejit.codegen.llvm.operations import Compute, Load, Operation, Phi
from tracejit.codegen.llvm.registers import Reg, constant
from tracejit.codegen.llvm.target import Target
from tracejit.codegen.lowering.kernel import Kernel
from tracejit.codegen.module.writer import generate
from tracejit.codegen.tiers import BASELINE, OPTIMIZED, Tier
from tracejit.ir.graph import Instruction
from tracejit.ir.passes import run_passes

from ...golden.programs import PROGRAMS, Program

TARGETS = (
    Target("x86_64-unknown-linux-gnu", "", "+avx512f,+avx512bw,+avx512vl", 512),
    Target("x86_64-unknown-linux-gnu", "", "", 128),
)


class Verified(Instrument):
    """Verifies each kernel as it was written."""

    def __init__(self) -> None:
        self.count = 0

    def kernel(self, instruction: Instruction, kernel: Kernel, extents: Sequence[int]) -> None:
        sizes = {f"%b{i}": nbytes for i, nbytes in enumerate(extents)}
        verify_code(kernel.code, sizes, kernel.tasks)
        self.count += 1


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
@pytest.mark.parametrize("tier", [OPTIMIZED, BASELINE], ids=lambda tier: tier.name)
def test_programs(program: Program, tier: Tier) -> None:
    fused = run_passes(tj.jit(program.function()).lower(*program.arguments()).function)
    for target in TARGETS:
        verified = Verified()
        module = generate(fused, target, verified, parameters=tier.parameters)
        verify_code([*module.head, *module.functions])
        assert not module.recovery.notes
        assert verified.count == len(module.kernels) > 0


# -- what is wrong ---------------------------------------------------------------------------------------

X, P = Reg("%x", "f64"), "%p"


def function(body: Callable[[FunctionWriter], None]) -> FunctionCode:
    w = FunctionWriter()
    body(w)
    return w.function("void @f(ptr %p, double %x, i64 %n)")


def operations(*appended: Operation) -> Callable[[FunctionWriter], None]:
    return lambda w: w.operations.extend(appended)


def total(name: str, *arguments: Reg, dtype: str = "f64") -> Compute:
    return Compute(name, dtype, 1, "fadd", arguments)


def stepped_out(w: FunctionWriter) -> None:
    def step(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        w.store(w.load(w.offset(P, "f64", w.add(w.mul(index, 4), 1)), "f64", 4), P)
        return ()

    w.loop(0, 8, 1, step)
    w.ret()


def under_a_condition(w: FunctionWriter) -> None:
    w.when(w.gt(X, 0.0), lambda: w.store(w.add(X, 1.0), "%q"))
    w.ret()


WRONG = {
    "not_defined": (operations(total("%y", X, Reg("%z", "f64")), Return()), r"`%y = .*`: %z is not defined"),
    "before_its_definition": (
        operations(total("%y", X, Reg("%z", "f64")), total("%z", X, X), Return()),
        "%z is not defined on every way to its use",
    ),
    "defined_on_one_way": (
        operations(
            Branch("true", "a", "b"), Label("a"), total("%y", X, X), Branch("", "b"),
            Label("b"), total("%z", X, Reg("%y", "f64")), Return(),
        ),
        "%y is not defined on every way to its use",
    ),
    "defined_twice": (operations(total("%y", X, X), total("%y", X, X), Return()), "%y is defined twice"),
    "other_type": (
        operations(total("%y", X, Reg("%n", "f64")), Return()),
        "%n has type i64, is used as double",
    ),
    "mixed_types": (operations(total("%y", X, Reg("%n", "i64")), Return()), "types double, i64"),
    "result_type": (operations(total("%y", X, X, dtype="f32"), Return()), "has type float, expected double"),
    "no_end": (operations(total("%y", X, X)), "block entry does not end"),
    "behind_the_end": (operations(Return(), total("%y", X, X)), "nothing may follow the end of block entry"),
    "no_such_label": (operations(Branch("", "a")), "leads to a, which is no block"),
    "phi_of_others": (
        operations(Branch("", "a"), Label("a"), Phi(Reg("%y", "f64"), [("%x", "b")]), Return()),
        "values come from b, the blocks before are entry",
    ),
    "late_phi": (
        operations(
            Branch("", "a"), Label("a"), total("%z", X, X), Phi(Reg("%y", "f64"), [("%x", "entry")]), Return()
        ),
        "a phi stands behind other operations",
    ),
    "buffer_left": (stepped_out, r"it accesses bytes 8 to 264 of %p, which has 256"),
    "pointer_not_defined": (under_a_condition, "%q is not defined"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str) -> None:
    body, message = WRONG[name]
    with pytest.raises(CompileError, match=message) as caught:
        verify(function(body), {"%p": 256})
    assert str(caught.value).startswith("function @f")


def test_regions_nest() -> None:
    w = FunctionWriter()
    w.loop(0, Reg("%n", "i64"), 1, lambda i, _: ())
    w.ret()
    code = w.function("void @f(i64 %n)")
    verify(code)
    without_end = [operation for operation in code.operations if not isinstance(operation, RegionEnd)]
    with pytest.raises(CompileError, match="1 regions do not end"):
        verify(code.rewritten(without_end))


def test_what_is_not_done_in_any_case_may_be_anywhere() -> None:
    def guarded(w: FunctionWriter) -> None:
        place = w.offset(P, "f64", 100)
        w.when(w.lt(Reg("%n", "i64"), 0), lambda: w.store(X, place))
        w.ret()

    verify(function(guarded), {"%p": 8})


def test_loops_may_carry_values_and_have_no_step() -> None:
    def summed(w: FunctionWriter) -> None:
        def step(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            return [w.add(state[0], w.load(w.offset(P, "f64", index), "f64"))]

        (result,) = w.loop(0, Reg("%n", "i64"), 1, step, [constant(0.0, "f64")])
        w.store(result, P)
        w.ret()

    verify(function(summed), {"%p": 8})


def test_loads_of_stack_slots_are_known() -> None:
    w = FunctionWriter()
    slot = w.slot("f64", 4)
    w.operations.append(Load("%y", "f64", 1, w.offset(slot, "f64", 4), 8))
    w.ret()
    with pytest.raises(CompileError, match=r"bytes 32 to 40 of .*, which has 32"):
        verify(w.function("void @f()"))


def test_steps_of_unknown_length_are_no_way_out_of_the_function() -> None:
    """Accesses in steps of unknown length may be anywhere; accesses behind the loop are checked."""

    def searched(w: FunctionWriter, place: int) -> None:
        region = w.begin_while([constant(0, "i64")])
        (index,) = region.carried
        w.break_unless(region, w.lt(index, 3))
        w.store(X, w.offset(P, "f64", 100))
        w.end_while(region, [w.add(index, 1)])
        w.store(X, w.offset(P, "f64", place))
        w.ret()

    verify(function(lambda w: searched(w, 0)), {"%p": 8})
    with pytest.raises(CompileError, match="it accesses bytes 8 to 16 of %p, which has 8"):
        verify(function(lambda w: searched(w, 1)), {"%p": 8})
