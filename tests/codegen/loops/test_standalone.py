"""Modules of one kernel: what runs, and what is refused since there is no code for it."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.base.errors import CompileError
from tracejit.codegen.loops.parser import parse_kernel
from tracejit.codegen.loops.passes import parse_schedule, scheduled
from tracejit.codegen.loops.verifier import verify_kernel
from tracejit.codegen.tiers import BASELINE, OPTIMIZED
from tracejit.runtime.loop_kernels import NativeKernel

from ...loop_cases import check_native

SUM = """kernel @"a sum"(n >= 1, b0: f64[n], b1: out f64[n]) {
  for i in 0:n {
    %x: f64 = load b0[i]
    %y: f64 = exp(%x)
    store b1[i], %y
  }
}"""
ROWS = """kernel @rows(b0: f64[91], b1: out f64[91]) {
  for i in 0:7 {
    for j in 0:13 {
      %x: f64 = load b0[i + 7*j]
      store b1[13*i + j], %x
    }
  }
}"""


@pytest.mark.parametrize("tier", [BASELINE, OPTIMIZED], ids=lambda tier: tier.name)
def test_symbols_are_arguments(tier) -> None:
    kernel = scheduled(parse_kernel(SUM), parse_schedule("vectorize(i, 8) poll(i)"))
    native = NativeKernel(kernel, tier)
    for size in (1, 8, 19):
        x, y = np.linspace(-1, 1, size), np.zeros(size)
        native([x, y], {"n": size})
        np.testing.assert_allclose(y, np.exp(x), rtol=1e-14)


@pytest.mark.parametrize(
    "schedule",
    [
        "", "vectorize(j, 4) peel(j, 4)", "parallelize(i, 2) vectorize(j, 4)", "parallelize(i, 1) stream(b1)",
        "tile(i, j, 4, 1) peel(i, 4) peel(j, 4) peel(a, 4) transpose_reads(r)", "vectorize(i, 2)",
    ],
)  # fmt: skip
def test_schedules(schedule: str) -> None:
    kernel = scheduled(parse_kernel(ROWS), parse_schedule(schedule))
    verify_kernel(kernel)
    assert check_native(kernel, 0, OPTIMIZED)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            "for l in 0:8 lanes 8 { %k: i64 = load b0[l] %x: i64 = load b0[%k] where 0 <= %k < 9 }",
            "indices of each lane",
        ),
        (
            "%k: i64 = load b0[0] for i in 0:%k { %x: i64 = load b0[i] where 0 <= i < 9 }",
            "bounds that are values",
        ),
        ("for i in 0:3 { for j in 0:n { store b2[i*n + j], 0:i64 } }", "rows whose length is a symbol"),
        (
            "for l in 0:2 lanes 2 { %x, %y: i64 = load b0[l] store b1[2*l], %x, %y }",
            "columns that do not follow",
        ),
        ("for l in 0:2 lanes 2 { if 0 <= l - 1 { store b1[l], 0:i64 } }", "conditions that lanes have"),
        ("for l in 0:2 lanes 2 { for m in 0:2 lanes 2 { store b1[2*l + m], 0:i64 } }", "lanes in lanes"),
        ("store b1[8], 1:i64 for t..s in 0:4 tasks { store b1[t], 0:i64 }", "nothing beside it"),
        (
            "for t..s in 0:4 tasks { store b1[t], 0:i64 } for t..s in 0:4 tasks { store b1[t + 4], 0:i64 }",
            "nothing beside it",
        ),
        ("while { %c: bool = lt(1:i64, 0:i64) } if %c", "While"),
    ],
)
def test_what_there_is_no_code_for(body: str, problem: str) -> None:
    kernel = parse_kernel(f"kernel @f(n >= 1, b0: i64[9], b1: out i64[9], b2: out i64[3*n]) {{ {body} }}")
    verify_kernel(kernel)
    with pytest.raises(CompileError, match=problem):
        NativeKernel(kernel)


def test_values_in_indices() -> None:
    """A value moves a place by itself, in lanes and out of them, and by its multiples."""
    kernel = parse_kernel("""kernel @f(b0: i64[24], b1: out i64[24]) {
      for i in 0:3 {
        for e in 0:4 with %t: i64 = 3:i64 {
          %x: i64 = load b0[e + 8*i]
          %c: bool = lt(%x, 0:i64)
          %k: i64 = index(e)
          %w: i64 = where(%c, %k, 3:i64)
          %f: i64 = fold min(%t, %w)
        } next %f as %p
        %y: i64 = load b0[5*%p + 2*i + 1]
        %z: i64 = index(7*%p + i - 2)
        %s: i64 = add(%y, %z)
        store b1[4*i], %s
        for l in 0:4 lanes 4 {
          %v: i64 = load b0[l + 6*%p]
          store b1[l + 12], %v
        }
      }
    }""")
    verify_kernel(kernel)
    for tier in (OPTIMIZED, BASELINE):
        for seed in range(8):
            assert check_native(kernel, seed, tier)


TOTALS = """kernel @totals(b0: f64[93], b1: out f64[6], b2: out f64[93]) {
  for i in 0:3 {
    for j in 0:31 with %t: f64 = 0.0:f64, %m: f64 = -inf:f64 {
      %x: f64 = load b0[31*i + j]
      %y: f64 = sub(%x, 1.0:f64)
      store b2[31*i + j], %y
      %s: f64 = fold sum(%t, %y)
      %k: f64 = fold max(%m, %x)
    } next %s as %r, %k as %g
    store b1[2*i], %r, %g
  }
}"""
#: Copies that have one place for what they keep.
SHARED = """kernel @shared(b0: f64[8], b1: out f64[8]) {
  alloc q0: f64[4]
  for u in 0:8 step 4 interleaved {
    for i in 0:4 {
      %x: f64 = load b0[i + u]
      store q0[i], %x
    }
    for i in 0:4 {
      %y: f64 = load q0[-i + 3]
      store b1[i + u], %y
    }
  }
}"""
#: Copies around lanes with masks, whose loops are one; copies that begin with what was folded before.
COLUMNS = """kernel @columns(b0: f64[45], b1: out f64[10]) {
  for u in 0:8 step 4 interleaved {
    for l in 0:min(4, -u + 7) lanes 4 {
      for i in 0:5 with %t: f64 = 0.0:f64 {
        %x: f64 = load b0[9*i + l + u]
        %s: f64 = fold sum(%t, %x)
      } next %s as %r
      store b1[l + u], %r
    }
  }
  %f: f64 = load b0[44]
  for u in 0:4 interleaved with %a: f64 = %f {
    for i in 0:40 step 4 with %t: f64 = %a {
      %x: f64 = load b0[i + u]
      %s: f64 = fold max(%t, %x)
    } next %s as %r
  } next %r as %g
  store b1[9], %g
  for l in 0:3 lanes 4 with %b: f64 = %g {
    %x: f64 = load b0[l]
    %s: f64 = fold min(%b, %x)
  } next %s as %h
  store b1[8], %h
}"""


#: Rows in lanes, by way of memory of the kernel's own.
TURNED = """kernel @transposed(b0: f64[18], b1: out f64[18]) {
  alloc s1: f64[12]
  alloc s2: f64[12]
  for i in 0:4 step 4 {
    call transpose_rows(b0[3*i] by 3, s1[0] by 4) sizes 4, 3, 4
    for l in 0:4 lanes 4 {
      for j in 0:3 {
        %x: f64 = load s1[4*j + l]
        %y: f64 = add(%x, 100.0:f64)
        store s2[4*j + l], %y
      }
    }
    call transpose_columns(s2[0] by 4, b1[3*i] by 3) sizes 4, 3, 4
  }
  call transpose_rows(b0[12] by 3, s1[0] by 4) sizes 2, 3, 4
  call transpose_columns(s1[0] by 4, b1[12] by 3) sizes 2, 3, 4
}"""
#: Rows of seven that are read back from memory of the kernel's own, behind which lanes are stored.
KEPT = """kernel @kept(b0: f64[35], b1: out f64[35]) {
  alloc s1: f64[7]
  for i in 0:5 {
    for j in 0:7 with %t: f64 = 0.0:f64 {
      %x: f64 = load b0[7*i + j]
      %y: f64 = mul(%x, %x)
      store s1[j], %y
      %s: f64 = fold sum(%t, %y)
    } next %s as %r
    for j in 0:7 {
      %z: f64 = load s1[j]
      %d: f64 = sub(%z, %r)
      store b1[7*i + j], %d
    }
  }
}"""


@pytest.mark.parametrize("tier", [BASELINE, OPTIMIZED], ids=lambda tier: tier.name)
@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        (TOTALS, "rfactor(j, 4, 2, 2, 2)"),
        (TOTALS, "rfactor(j, 8, 2, 1, 16)"),
        (TOTALS, "parallelize(i, 2) rfactor(j, 2, 4, 4, 3)"),
        (TOTALS, "rfactor(j, 4, 1, 1, 16) poll(i) stream(b2)"),
        (SHARED, ""),
        (COLUMNS, ""),
        (TURNED, ""),
        (KEPT, "rfactor(j, 4, 1, 1, 16)"),
        (KEPT, "rfactor(j, 2, 2, 1, 2)"),
        (KEPT, "vectorize(i, 2) block(j, 3) peel(i, 2)"),
    ],
)
def test_loops_that_fold(text: str, schedule: str, tier) -> None:
    kernel = scheduled(parse_kernel(text), parse_schedule(schedule))
    verify_kernel(kernel)
    assert check_native(kernel, 1, tier)
