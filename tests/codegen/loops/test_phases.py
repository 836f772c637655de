"""Kernels of several phases: what they share lies in one workspace, which tasks may not write twice."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.base.errors import CompileError
from tracejit.codegen.llvm.function import Declarations
from tracejit.codegen.llvm.target import host
from tracejit.codegen.loops.interpreter import interpret_kernel
from tracejit.codegen.loops.parser import parse_kernel
from tracejit.codegen.loops.phases import emit_phases, has_phases, shared_by, workspace_bytes
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.verifier import LoopFormError, verify_kernel
from tracejit.codegen.tiers import BASELINE, OPTIMIZED, Tier
from tracejit.runtime.loop_kernels import NativeKernel

SUMS = """kernel @k(b0: f64[12], b1: out f64[1]) {
  alloc p: f64[4] shared
  alloc w: f64[3]
  for t..s in 0:4 tasks {
    for g in t:s {
      for i in 0:3 {
        %x: f64 = load b0[3*g + i]
        store w[i], %x
      }
      for i in 0:3 with %t: f64 = 0.0:f64 {
        %y: f64 = load w[i]
        %f: f64 = fold sum(%t, %y)
      } next %f as %r
      store p[g], %r
    }
  }
  for g in 0:4 with %t1: f64 = 0.0:f64 {
    %z: f64 = load p[g]
    %f1: f64 = fold sum(%t1, %z)
  } next %f1 as %r1
  store b1[0], %r1
}
"""


def test_text_meaning_and_proof() -> None:
    kernel = parse_kernel(SUMS)
    assert print_kernel(kernel) == SUMS.rstrip()
    assert has_phases(kernel)
    verify_kernel(kernel)
    result = np.empty(1)
    interpret_kernel(kernel, [np.arange(12.0), result], rng=np.random.default_rng(0))
    assert result[0] == 66.0


def test_tasks_do_not_write_one_shared_element() -> None:
    with pytest.raises(LoopFormError, match="tasks t may write one element twice: p"):
        verify_kernel(parse_kernel(SUMS.replace("store p[g], %r", "store p[0], %r")))
    verify_kernel(parse_kernel(SUMS.replace("store w[i], %x", "store w[0], %x")))  # each task has its own


def test_code_has_a_function_for_each_loop_of_tasks() -> None:
    kernel = parse_kernel(SUMS)
    code = emit_phases(kernel, Declarations(host()))
    heads = [str(function).split("(")[0] for function in code]
    assert [head.split("@")[1] for head in heads] == ["k_p0_task", "k"]
    assert workspace_bytes(shared_by(kernel)) % 64 == 0


@pytest.mark.parametrize("tier", [BASELINE, OPTIMIZED], ids=lambda tier: tier.name)
def test_machine_code(tier: Tier) -> None:
    result = np.empty(1)
    native = NativeKernel(parse_kernel(SUMS), tier)
    native([np.arange(12.0), result])
    assert result[0] == 66.0
    with pytest.raises(CompileError, match="no code for phases with symbols yet"):
        NativeKernel(parse_kernel(SUMS.replace("(b0", "(n >= 1, b0")), tier)
