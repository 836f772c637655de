"""The registry walk: every op, in every dtype that it accepts, in every way it can be run.

Ops, attributes and dtypes come from the registry; what to feed them from tests/samples.py, which fails by
name for an op that nobody wrote a sample for. Gradients have a file of their own, ir/test_gradients.py.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from tracejit.codegen.maths import ULP_BOUND
from tracejit.ir.builder import Builder
from tracejit.ir.dtypes import SHORT_NAME
from tracejit.ir.errors import DTypeError
from tracejit.ir.graph import Function
from tracejit.ir.registry import NONDIFF, OPS, Kind, Op
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify
from tracejit.runtime.executable import Executable

from .samples import DTYPES, ELSEWHERE, Sample, numpy_meaning, samples_of
from .support import Array, check_round_trip, interpret, mismatch, native, type_of

NAMES = [op.name for op in OPS if op.name not in ELSEWHERE]
#: NumPy's own error against the truth, which comes on top of ours: its SVML kernels promise 4 ULP.
NUMPY_ULP = 4.0
#: The sign of a zero result is NumPy's SIMD path's choice among equal zeros.
ZERO_SIGN_OPEN = {"maximum", "minimum", "fmax", "fmin", "clip", "max", "min"}


def walk(op: Op) -> list[Sample]:
    return samples_of(op, np.random.default_rng(zlib.crc32(op.name.encode())))


def function_of_samples(op: Op, samples: list[Sample]) -> tuple[Function, list[Array]]:
    """One Function that applies `op` to each sample: one compilation for all."""
    b = Builder()
    results, arrays = [], []
    for sample in samples:
        params = tuple(b.parameter(type_of(one), f"x{len(b.params)}") for one in sample.operands)
        results.extend(b.append(op, params, sample.attrs))
        arrays.extend(sample.operands)
    return b.finish(op.name, results), arrays


def tolerance(op: Op, sample: Sample, want: Array) -> dict[str, Any]:
    """How far native code may be from NumPy; see the module docstring of tests/support.py."""
    allowed: dict[str, Any] = {"zero_sign": op.name not in ZERO_SIGN_OPEN}
    if want.dtype.kind != "f":
        return allowed
    eps = float(np.finfo(want.dtype).eps)
    with np.errstate(all="ignore"):
        if op.name in ULP_BOUND:
            allowed["bound"] = ULP_BOUND[op.name][SHORT_NAME[want.dtype]] + NUMPY_ULP
            if op.name.startswith("logaddexp"):  # its unit is that of the largest operand
                largest = np.fmax(*np.abs(np.array(sample.operands, np.float64)))
                allowed["atol"] = allowed["bound"] * eps * np.where(np.isfinite(largest), largest, 0.0)
        terms = _terms(op, sample)
        if terms is not None:  # n terms in any order: n eps sum|terms|
            count = max(1, sample.operands[0].size // max(1, want.size)) + 2
            atol = eps * count * terms
            allowed.update(atol=np.where(np.isfinite(atol), atol, 0.0), zero_sign=False)
        if op.name == "prod":  # each factor contributes one rounding, and subnormals their own
            allowed.update(bound=2.0 * sample.operands[0].size + 2, zero_sign=False)
    return allowed


def _terms(op: Op, sample: Sample) -> Any:
    """The sum of absolute terms of each result of a summing op, None for other ops."""
    sizes = [np.abs(one.astype(np.float64)) for one in sample.operands if one.dtype.kind == "f"]
    if op.name in ("sum", "mean"):
        return np.sum(sizes[0], axis=sample.attrs["axes"])
    if op.name == "cumsum":
        return np.sum(sizes[0], axis=sample.attrs["axis"], keepdims=True)
    if op.kind is Kind.CONTRACTION:
        return np.matmul(*sizes) * sizes[0].shape[-1]
    return None


def test_every_op_has_samples_and_a_meaning() -> None:
    missing = []
    for op in OPS:
        if op.name in ELSEWHERE:
            continue
        try:
            walk(op)
            numpy_meaning(op)
        except LookupError as error:
            missing.append(str(error))
    assert not missing, "\n".join(missing)
    assert set(ELSEWHERE) <= {op.name for op in OPS}


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_record_is_complete(op: Op) -> None:
    assert op.doc
    assert op.name.isidentifier()
    assert len(set(op.params)) == len(op.params)
    assert all(not name.startswith("*") for name in op.params[:-1])
    assert op.kind is not Kind.COMPOSITE or op.decompose is not None
    assert op.kind is not Kind.REDUCTION or op.reduction is not None
    if op.kind is Kind.ELEMENTWISE and op.emit is None:
        assert op.name in {"gcd", "lcm", "spacing"}, "a new elementwise op without scalar code runs on the host"


@pytest.mark.parametrize("name", NAMES)
def test_type_rule_and_eval_agree_with_numpy(name: str) -> None:
    """The type rule gives the shape and dtype that NumPy gives, and `eval` NumPy's values."""
    op = OPS[name]
    meaning = numpy_meaning(op)
    for sample in walk(op):
        (inferred,) = op.infer(tuple(type_of(one) for one in sample.operands), sample.attrs)
        with np.errstate(all="ignore"):
            want = np.asarray(meaning(*sample.operands, **sample.attrs))
            got = np.asarray(op.eval(*sample.operands, **sample.attrs))
        assert inferred == type_of(want), f"{name} {sample}"
        problem = mismatch(got, want, **tolerance(op, sample, want))
        assert not problem, f"{name} {sample}: {problem}"


@pytest.mark.parametrize("name", NAMES)
def test_native_agrees_with_interpreter(name: str) -> None:
    op = OPS[name]
    samples = walk(op)
    function, arrays = function_of_samples(op, samples)
    verify(function)
    wanted = interpret(function, arrays)
    results = native(function, arrays)
    problems = []
    for sample, got, want in zip(samples, results, wanted, strict=True):
        problem = mismatch(got, want, **tolerance(op, sample, want))
        if problem:
            problems.append(f"{name} {sample}: {problem}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", NAMES)
def test_text_round_trip(name: str) -> None:
    op = OPS[name]
    function, arrays = function_of_samples(op, walk(op))
    parsed = check_round_trip(function)
    for got, want in zip(interpret(parsed, arrays), interpret(function, arrays), strict=True):
        assert not mismatch(got, want)


def test_host_ops_are_the_known_ones() -> None:
    """Law 4: what is not compiled can be seen; and the list does not grow in silence."""
    hosted: set[str] = set()
    for name in NAMES:
        function, _ = function_of_samples(OPS[name], walk(OPS[name])[:12])
        hosted.update(Executable(function).not_lowered)
    assert hosted <= {"gcd", "lcm", "spacing"}


ELEMENTWISE = [
    op.name for op in OPS if op.kind is Kind.ELEMENTWISE and op.name not in ("where", "cast", "erf", "erfc")
]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_promotion_is_numpys(name: str) -> None:
    """The builder gives every combination of dtypes and weak scalars the dtype that NumPy gives it.

    Two differences are documented in ir/dtypes.py: float16 becomes float32, and nothing becomes object.
    """
    op = OPS[name]
    ufunc = np._core.umath.clip if name == "clip" else numpy_meaning(op)
    weak: list[Any] = [True, 3, 2.5]
    first: list[Any] = [*DTYPES, *(weak if len(op.params) > 1 else [])]
    others = [*DTYPES, *weak] if len(op.params) > 1 else [None]
    for x in first:
        for y in others:
            operands = [x] + [y] * (len(op.params) - 1)
            if all(isinstance(one, (bool, int, float)) for one in operands):
                continue
            b = Builder()
            values = [
                b.parameter(TensorType(one, (2,))) if isinstance(one, np.dtype) else one for one in operands
            ]
            arrays = [np.ones(2, one) if isinstance(one, np.dtype) else one for one in operands]
            try:
                with np.errstate(all="ignore"):
                    want = np.asarray(ufunc(*arrays)).dtype
            except (TypeError, ValueError):
                want = None
            try:
                got = b.apply(op, tuple(values), {}).dtype
            except DTypeError:
                got = None
            if want == np.float16:
                want = np.dtype(np.float32)
            assert got == want, f"{name}({', '.join(map(str, operands))})"


@pytest.mark.parametrize("name", [name for name in NAMES if OPS[name].kind is not Kind.CREATION])
def test_gradient_rules_name_operands(name: str) -> None:
    """Every floating operand has a rule, or the record says NONDIFF: none is left out by silence."""
    op = OPS[name]
    if op.vjp is NONDIFF:
        return
    for sample in walk(op):
        for position, operand in enumerate(sample.operands):
            if operand.dtype.kind == "f":
                assert op.rule_for(position) is not None, f"{name}: operand {position}"
