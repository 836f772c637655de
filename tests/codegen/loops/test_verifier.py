"""Errors of the verifier of the loop form name the statement that is wrong."""

from __future__ import annotations

import pytest

from tracejit.codegen.loops.nodes import For, Load, Store
from tracejit.codegen.loops.parser import parse_kernels
from tracejit.codegen.loops.verifier import LoopFormError, verify_kernel

CASES = [
    ("for i in 0:4 { %x: f64 = load b0[i + 1] }", Load, "may be behind the buffer"),
    ("for i in 0:4 { for j in 0:4 { store b1[j], 0.0:f64 } store b1[4], 0.0:f64 }", Store, "may be behind"),
    ("for i in 0:4 { store b1[i], 0.0:f64 } for l in 0:4 lanes 3 { }", For, "a power of two, got 3"),
    ("for i in 0:4 with %t: f64 = 0:i64 { } next %t as %r", For, "the first value of %t must be f64"),
    ("for i in 0:4 with %t: f64 = 0:f64 { poll } next 1:i64 as %r", For, "the next value of %t must be f64"),
    ("for t..s in 0:4 tasks { for i in 0:4 { store b1[i], 0:f64 } }", For, "may write one element twice"),
    ("store b1[0], 1.5:i64", Store, "1.5 is no number of i64"),
    ("store b1[0], true:f64 store b1[0], 2:bool", Store, "2 is no number of bool"),
]


@pytest.mark.parametrize(("body", "kind", "problem"), CASES)
def test_the_statement_that_is_wrong(body: str, kind: type, problem: str) -> None:
    document = parse_kernels(f"kernel @f(b0: f64[4], b1: out f64[4]) {{ {body} }}")
    with pytest.raises(LoopFormError) as caught:
        verify_kernel(document.kernels[0])
    assert problem in caught.value.problem
    assert isinstance(caught.value.node, kind)
    assert caught.value.node in document.places
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize("head", ["b0: f64[1], b0: f64[1]", "b0: f64[n]"])
def test_what_is_wrong_in_the_head(head: str) -> None:
    with pytest.raises(LoopFormError) as caught:
        verify_kernel(parse_kernels(f"kernel @f({head}) {{ poll }}").kernels[0])
    assert caught.value.node is None
