"""``f.lower(*args).as_text(stage)``: every stage has text, with landmarks; IR stages parse back."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.targets import named_target
from tracejit.ir.interpreter import interpret
from tracejit.ir.text.parser import parse_function
from tracejit.ir.text.printer import print_function
from tracejit.ir.verifier import verify
from tracejit.jitted.lowered import STAGES, Lowered

X = np.arange(12.0).reshape(3, 4)


def softmax(x):
    e = tj.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def loss(p, x):
    return ((x @ p["w"] + p["b"]) ** 2).mean()


PROGRAMS = {
    "map": (lambda x: x * 2 + 1, (X,)),
    "softmax": (softmax, (X,)),
    "gradient": (tj.grad(loss), ({"w": np.ones(4), "b": 0.5}, X)),
    "gather": (lambda x, i: x[i], (X, np.array([0, 2]))),
    "cumsum": (lambda x: tj.cumsum(x, axis=0), (X,)),
    "host call": (lambda x: tj.gcd(x, 6), (np.arange(5),)),
    "nothing": (lambda x: (), (X,)),
    "identity": (lambda x: (x, x.T), (X,)),
    "empty": (lambda x: x.sum(axis=1), (np.zeros((0, 3)),)),
}
LANDMARKS = {
    "trace": ["func @", "return", "# test_lowered.py:"],
    "optimized": ["func @", "return"],
    "fused": ["func @", "return"],
    "operations": ["@main(", "ret"],
    "llvm": ["define", "@main"],
    "llvm-opt": ["define", "target triple"],
    "asm": [".text", "main"],
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_text(name, stage):
    function, args = PROGRAMS[name]
    text = tj.jit(function).lower(*args).as_text(stage)
    assert isinstance(text, str)
    if name in ("nothing", "identity", "empty", "host call") and stage == "loops":
        return
    if name == "nothing" and stage == "trace":
        assert "return" in text
        return
    if name == "host call" and stage in ("loops", "trace"):
        assert "gcd" in text
        return
    if stage == "loops":
        # each program's first kernel, by kind
        kinds = {
            "gradient": "contraction",
            "gather": "gather k0: 2 slices",
            "cumsum": "cumulative k0: cumsum",
        }
        assert kinds.get(name, "nest k0") in text
        return
    for landmark in LANDMARKS[stage]:
        if landmark.startswith("#") and name == "identity":
            continue
        assert landmark in text


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("stage", ["trace", "optimized", "fused"])
def test_ir_stages_parse_back_and_mean_the_same(name, stage):
    function, args = PROGRAMS[name]
    lowered = tj.jit(function).lower(*args)
    text = lowered.as_text(stage)
    parsed = parse_function(text)
    verify(parsed)
    assert print_function(parsed) == text
    leaves = [np.asarray(leaf) for leaf in tj.tree_leaves(args)]
    want = interpret(lowered.function, leaves)
    for got, expected in zip(interpret(parsed, leaves), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)  # folding may reassociate


def test_softmax_is_one_fusion_and_one_nest():
    lowered = tj.jit(softmax).lower(X)
    assert lowered.as_text("fused").count("fusion(") - lowered.as_text("fused").count("@fusion(") == 1
    assert lowered.as_text("loops").count("nest k") == 1


def test_every_op_of_a_trace_has_the_users_line():
    lines = tj.jit(softmax).lower(X).as_text("trace").splitlines()
    first = softmax.__code__.co_firstlineno
    ops = [line for line in lines if " = " in line]
    assert ops
    assert all(any(f"# test_lowered.py:{first + i}" in line for i in (1, 2)) for line in ops)


def test_the_trace_says_what_is_captured():
    w = tj.ones(4)
    text = tj.jit(lambda x: x * w).lower(X).as_text("trace")
    assert "%captured0: f64[4]" in text.splitlines()[0]


def test_types_stand_for_arguments():
    f = tj.jit(lambda x, s: x * s)
    text = f.lower(tj.TensorType(tj.float32, (8,)), 2.0).as_text("trace")
    assert text.startswith("func @lambda(%x: f32[8], %s: f64[]) -> f32[8] {")


def test_lowering_does_not_compile_for_calls():
    f = tj.jit(lambda x: x + 1)
    f.lower(X).as_text("asm")
    assert "0 signatures" in f.explain()


def test_vectors_in_llvm():
    assert "x float>" in tj.jit(lambda x: x * 2 + 1).lower(np.zeros(1000, "f4")).as_text("llvm")


def test_an_unknown_stage():
    with pytest.raises(
        tj.TracejitError, match="no stage 'nope'; expected one of trace, optimized, fused, loops"
    ):
        tj.jit(lambda x: x).lower(1.0).as_text("nope")


def test_trace_of_a_function():
    function = tj.trace(lambda x: (x + 1, x.sum()), X)
    assert [str(result.type) for result in function.results] == ["f64[3,4]", "f64[]"]
    verify(function)


def test_passes_are_stages():
    lowered = tj.jit(tj.grad(loss)).lower({"w": np.ones(4), "b": 0.5}, X)
    stages = [step.stage for step in lowered.steps]
    assert stages[0] == "after:reroll-loops"
    assert stages[-1] == "after:tile-transforms"
    assert "after:dce" in stages
    assert "after:dce:2" in stages
    assert len(set(stages)) == len(stages)
    assert lowered.as_text("after:dce:1") == lowered.as_text("after:dce")
    assert lowered.as_text("after:dce:2") == lowered.as_text("optimized")
    assert lowered.as_text("after:tile-transforms") == lowered.as_text("fused")
    assert all(step.seconds >= 0 for step in lowered.steps)
    with pytest.raises(tj.TracejitError, match="no stage 'after:nope'; the passes are after:reroll-loops, "):
        lowered.as_text("after:nope")


def test_other_machines():
    function = tj.trace(lambda x: x * 2, np.zeros(1000))
    wide, narrow = (Lowered(function, named_target(name)) for name in ("x86-64-v4", "aarch64"))
    assert "zmm" in wide.as_text("asm")
    assert ".2d" in narrow.as_text("asm")
    assert "2 lanes" in narrow.as_text("loops")
