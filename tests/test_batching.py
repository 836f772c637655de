"""The registry walk of batching: every op, of several examples at once, against a Python loop over them.

The samples are those of tests/samples.py; other examples are made by rotating a sample's elements, which
keeps indices, exponents and the like valid.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from tracejit.base.errors import TraceError
from tracejit.ir.builder import Builder
from tracejit.ir.graph import Function, Instruction, Value
from tracejit.ir.ops.creation import EMPTY
from tracejit.ir.ops.define import define
from tracejit.ir.ops.linalg.pairs import COMPLEX_LINALG
from tracejit.ir.ops.linalg.undetermined import GRADIENT_WARNING
from tracejit.ir.passes import PIPELINE, run_passes
from tracejit.ir.registry import NONDIFF, OPS, Kind, Op
from tracejit.ir.text.parser import parse_function
from tracejit.ir.transforms.batching import batch, inline_batched, rule_of
from tracejit.ir.verifier import verify

from .rotation import share_of
from .samples import ELSEWHERE, Sample
from .support import Array, function_of, interpret, mismatch, native, type_of
from .test_registry import tolerance, walk

NAMES = [op.name for op in OPS if op.params and op.name not in ELSEWHERE]
#: Samples per op and day: those of one kind differ in dtype and shape, and batching rules look at neither.
MOST = 20


def few(op: Op) -> list[Sample]:
    samples = walk(op)
    days = next((days for days in (1, 2, 5) if len(samples) <= days * MOST), 10)
    return list(share_of(samples, days))


def example(op: Op, position: int, operand: Array, number: int) -> Array:
    """The operand of one example: another arrangement of its elements, sorted where the op wants that."""
    if op.name == "searchsorted" and position == 0:
        return np.sort(np.concatenate([operand[number:], np.repeat(operand[-1:], number)])[: operand.size])
    return np.roll(operand.reshape(-1), number).reshape(operand.shape)


#: Ops of the product of a shared matrix with vectors.
TURNED = ["transpose", "reshape", "transpose", "matmul", "reshape", "transpose"]


def choices(count: int) -> Iterator[tuple[bool, ...]]:
    """Choices of the operands that are mapped: all choices, or with many operands each alone and all."""
    if count <= 3:
        yield from (flags for flags in itertools.product((False, True), repeat=count) if any(flags))
        return
    yield (True,) * count
    for i in range(count):
        yield tuple(i == j for j in range(count))


def loop(op: Op, sample: Sample, mapped: tuple[bool, ...], size: int) -> Iterator[Sample]:
    for number in range(size):
        pairs = enumerate(zip(sample.operands, mapped, strict=True))
        yield Sample(
            [example(op, i, operand, number) if many else operand for i, (operand, many) in pairs],
            sample.attrs,
        )


def stacked(op: Op, sample: Sample, mapped: tuple[bool, ...], size: int) -> list[Array]:
    return [
        np.array([example(op, i, operand, number) for number in range(size)], operand.dtype).reshape(
            size, *operand.shape
        )
        if many
        else operand
        for i, (operand, many) in enumerate(zip(sample.operands, mapped, strict=True))
    ]


def append(op: Op, sample: Sample, b: Builder, *operands: Value) -> tuple[Value, ...]:
    return b.append(op, operands, sample.attrs)


def function_of_choices(op: Op, size: int) -> tuple[Function, list[Array], list[list[Sample]]]:
    """One Function for all samples and choices, its arguments, and per result the samples of a loop."""
    b = Builder()
    results, arrays, loops = [], [], []
    for sample in few(op):
        function = function_of(op.name, sample.operands, partial(append, op, sample))
        for mapped in choices(len(sample.operands)):
            arguments = stacked(op, sample, mapped, size)
            params = [b.parameter(type_of(array), f"x{len(b.params)}") for array in arguments]
            mapped_result, flags = inline_batched(b, function, params, mapped, size)
            assert all(flags)
            results.extend(mapped_result)
            arrays.extend(arguments)
            loops.append(list(loop(op, sample, mapped, size)))
    return b.finish(op.name, results), arrays, loops


@pytest.mark.parametrize("name", NAMES)
def test_batched_is_a_loop(name: str) -> None:
    op = OPS[name]
    function, arrays, loops = function_of_choices(op, 3)
    verify(function)
    problems = []
    for way, run in (("interpreter", interpret), ("native", native)):
        for got, samples in zip(run(function, arrays), loops, strict=True):
            for row, sample in zip(got, samples, strict=True):
                with np.errstate(all="ignore"):
                    want = np.asarray(op.eval(*sample.operands, **sample.attrs))
                problem = mismatch(np.asarray(row), want, **tolerance(op, sample, want))
                if problem:
                    problems.append(f"{way}: {name} {sample}: {problem}")
    assert not problems, "\n".join(problems[:10])


@pytest.mark.parametrize("size", [0, 1])
def test_no_example_and_one(size: int) -> None:
    for name in NAMES:
        function, arrays, loops = function_of_choices(OPS[name], size)
        verify(function)
        for got, samples in zip(interpret(function, arrays), loops, strict=True):
            assert len(got) == size
            for row, sample in zip(got, samples, strict=True):
                with np.errstate(all="ignore"):
                    want = np.asarray(OPS[name].eval(*sample.operands, **sample.attrs))
                assert not mismatch(np.asarray(row), want, **tolerance(OPS[name], sample, want)), name


#: Ops that passes write alone, of which nobody maps.
_OF_PASSES = (COMPLEX_LINALG, EMPTY, GRADIENT_WARNING)


@pytest.mark.parametrize(
    "op", [op for op in OPS if op.params and op not in _OF_PASSES], ids=lambda op: op.name
)
def test_every_op_has_a_rule(op: Op) -> None:
    assert rule_of(Instruction(op, (), {}, ()))


def test_views_and_structured_ops_state_their_rules() -> None:
    """Views and structured ops have no default: what their attributes mean is their own."""
    defaults = (Kind.ELEMENTWISE, Kind.REDUCTION, Kind.CONCAT, Kind.UPDATE, Kind.CREATION, Kind.COMPOSITE)
    assert all(op.batch is not None for op in OPS if op.kind not in defaults and op not in _OF_PASSES)


def test_composites_state_rules_or_are_what_they_stand_for() -> None:
    """The default of a composite batches its decomposition, and so loses the composite's own gradient."""
    assert {op.name for op in OPS if op.kind is Kind.COMPOSITE and op.batch is None} == {"mean"}


def test_an_op_without_a_rule_is_an_error() -> None:
    op = define(
        "nothing_known", Kind.HOST, "x", doc="x", vjp=NONDIFF,
        infer=lambda types, attrs: types, eval=lambda x: x,
    )  # fmt: skip
    try:
        function = function_of("f", [np.ones(3)], lambda b, x: b.append(op, (x,), {}))
        with pytest.raises(TraceError, match="vmap: nothing_known \\(of kind host\\) has no batching rule"):
            batch(function, (True,), 4)
        assert batch(function, (False,), 4)[1] == (False,)
    finally:
        del OPS._ops["nothing_known"]


def test_what_is_not_mapped_is_computed_once() -> None:
    function = parse_function(
        """func @f(%x: f64[3], %y: f64[3]) -> (f64[3], f64[3], f64[2]) {
  %0: f64[3] = exp(%y)
  %1: f64[3] = mul(%x, %0)
  %2: f64[2] = full() {value=1.0, shape=[2], dtype=f64}
  return %1, %0, %2
}"""
    )
    batched, mapped = batch(function, (True, False), 5)
    assert mapped == (True, False, False)
    assert [str(result.type) for result in batched.results] == ["f64[5,3]", "f64[3]", "f64[2]"]
    assert str(batched) == (
        """func @f_batched(%x: f64[5,3], %y: f64[3]) -> (f64[5,3], f64[3], f64[2]) {
  %0: f64[3]   = exp(%y)
  %1: f64[5,3] = broadcast(%0) {shape=[5, 3]}
  %2: f64[5,3] = mul(%x, %1)
  %3: f64[2]   = full() {value=1.0, shape=[2], dtype=f64}
  return %2, %0, %3
}"""
    )


@pytest.mark.parametrize(
    ("x", "y", "ops"),
    [
        ((True, (4, 5)), (False, (5, 6)), ["reshape", "matmul", "reshape"]),  # one product of 28 rows
        ((False, (4, 5)), (True, (5, 1)), TURNED),
        ((False, (1, 5)), (True, (5, 6)), ["broadcast", "matmul"]),
        ((True, (4, 5)), (True, (5, 6)), ["matmul"]),
        ((True, (2, 4, 5)), (False, (2, 5, 6)), ["broadcast", "matmul"]),
    ],
)  # fmt: skip
def test_products_with_a_shared_matrix(x, y, ops) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for _, shape in (x, y)]
    function = function_of("f", arrays, lambda b, x, y: b.matmul(x, y))
    batched, _ = batch(function, (x[0], y[0]), 7)
    assert [instruction.op.name for instruction in batched.body] == ops
    many = [
        rng.normal(size=(7, *array.shape)) if mapped else array
        for array, (mapped, _) in zip(arrays, (x, y), strict=True)
    ]
    np.testing.assert_allclose(interpret(batched, many)[0], np.matmul(*many), rtol=1e-13)


def test_a_fused_function() -> None:
    x, y = np.linspace(-1, 1, 15).reshape(3, 5), np.linspace(2, 3, 5)
    function = function_of("f", [x[0], y], lambda b, x, y: b.div(b.exp(x), b.sum(b.mul(x, y), axes=(0,))))
    fused = run_passes(function, PIPELINE)
    assert "fusion" in {instruction.op.name for instruction in fused.body}
    batched, _ = batch(fused, (True, False), 3)
    verify(batched)
    want = np.array([interpret(function, [row, y])[0] for row in x])
    np.testing.assert_allclose(interpret(batched, [x, y])[0], want, rtol=1e-14)


def custom(x_shape: tuple[int, ...]) -> Function:
    """x w, whose backward gives ct 10 w and ct 100 x: not the truth, so that it is seen to be taken."""
    b = Builder()
    x, w = b.parameter(type_of(np.ones(x_shape)), "x"), b.parameter(type_of(np.ones(x_shape)), "w")
    forward = Builder()
    params = [forward.parameter(array.type) for array in (x, w)]
    forward_region = forward.finish("forward", [forward.mul(*params)])
    backward = Builder()
    x1, w1, _, ct = [backward.parameter(x.type) for _ in range(4)]
    cotangents = [backward.mul(ct, backward.mul(w1, 10.0)), backward.mul(ct, backward.mul(x1, 100.0))]
    regions = (forward_region, backward.finish("backward", cotangents))
    called = b.append(
        OPS["custom_vjp"],
        (x, w),
        {"name": "f", "outputs": 1, "wrt": (0, 1), "repeats": False},
        regions=regions,
    )
    return b.finish("f", called)


@pytest.mark.parametrize("mapped", [(True, True), (True, False), (False, True)])
def test_custom_vjp(mapped: tuple[bool, bool]) -> None:
    batched, flags = batch(custom((2,)), mapped, 3)
    verify(batched)
    assert flags == (True,)
    x = np.arange(6.0).reshape(3, 2) if mapped[0] else np.array([3.0, 4.0])
    w = np.arange(1.0, 7).reshape(3, 2) if mapped[1] else np.array([5.0, 6.0])
    assert np.array_equal(interpret(batched, [x, w])[0], x * w)
    assert np.array_equal(native(batched, [x, w])[0], x * w)
    b = Builder()
    (instruction,) = batched.body
    (ct,) = [b.parameter(result.type) for result in batched.results]
    assert OPS["custom_vjp"].regions is not None
    pull = OPS["custom_vjp"].regions.pull
    assert pull is not None
    parts = pull(b, instruction, [ct])
    backward = Function("g", (*batched.params, *batched.results, ct), tuple(b.body), tuple(parts))
    arguments = np.arange(6.0).reshape(3, 2) - 2
    got = interpret(backward, [x, w, x * w, arguments])
    want = [arguments * 10 * w, arguments * 100 * x]
    for actual, many, value in zip(got, mapped, want, strict=True):
        assert np.array_equal(actual, value if many else value.sum(0))  # what is shared gets the sum
