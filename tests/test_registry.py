"""The registry walk: every op, in every dtype that it accepts, in every way it can be run.

Ops, attributes and dtypes come from the registry; what to feed them from tests/samples.py, which fails by
name for an op that nobody wrote a sample for. Gradients have a file of their own, ir/test_gradients.py.
"""

from __future__ import annotations

import functools
import zlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tracejit.base.errors import DTypeError
from tracejit.codegen.maths import ULP_BOUND
from tracejit.ir.builder import Builder
from tracejit.ir.dtypes import BY_NAME, SHORT_NAME
from tracejit.ir.graph import Function
from tracejit.ir.registry import NONDIFF, OPS, Kind, Op
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify
from tracejit.runtime.executable import Executable

from .derivatives.checking import ROUNDINGS
from .samples import DTYPES, ELSEWHERE, STRONG_SUMS, Sample, np_convolve, numpy_meaning, row_of, samples_of
from .support import Array, check_round_trip, function_of, interpret, mismatch, native, run_native, type_of

NAMES = [op.name for op in OPS if op.name not in ELSEWHERE]
#: NumPy's own error against the truth, which comes on top of ours: its SVML kernels promise 4 ULP.
NUMPY_ULP = 4.0
#: The sign of a zero result is NumPy's SIMD path's choice among equal zeros.
ZERO_SIGN_OPEN = {"maximum", "minimum", "fmax", "fmin", "clip", "max", "min", "nanmax", "cummax", "cummin"}


#: All such tests of an op in a row, which share what they compile.
OP_BY_OP = pytest.mark.parametrize("name", NAMES, scope="module")


def walk(op: Op) -> list[Sample]:
    return samples_of(op, np.random.default_rng(zlib.crc32(op.name.encode())))


def function_of_samples(op: Op, samples: list[Sample]) -> tuple[Function, list[Array]]:
    """One Function that applies `op` to each sample: one compilation for all."""
    b = Builder()
    results, arrays = [], []
    for sample in samples:
        params = tuple(b.parameter(type_of(operand), f"x{len(b.params)}") for operand in sample.operands)
        results.extend(b.append(op, params, sample.attrs))
        arrays.extend(sample.operands)
    return b.finish(op.name, results), arrays


@functools.cache
def sampled(name: str) -> tuple[list[Sample], Function, list[Array], list[Array]]:
    """The samples of an op, the Function that applies it to each, its arguments, and what the interpreter
    gives."""
    samples = walk(OPS[name])
    function, arrays = function_of_samples(OPS[name], samples)
    return samples, function, arrays, interpret(function, arrays)


@functools.cache
def compiled(name: str) -> Executable:
    return Executable(sampled(name)[1])


def tolerance(op: Op, sample: Sample, want: Array) -> dict[str, Any]:
    """Bound on the distance of native code from NumPy; see the module docstring of tests/support.py."""
    allowed: dict[str, Any] = {"zero_sign": op.name not in ZERO_SIGN_OPEN}
    if want.dtype.kind != "f":
        return allowed
    eps = float(np.finfo(want.dtype).eps)
    with np.errstate(all="ignore"):
        method = "pow" if op.name == "signed_power" else op.name
        if method in ULP_BOUND:
            # float16 is float32 rounded
            allowed["bound"] = ULP_BOUND[method].get(SHORT_NAME[want.dtype], 1.0) + NUMPY_ULP
            if op.name.startswith("logaddexp"):  # its unit is that of the largest operand
                largest = np.fmax(*np.abs(np.array(sample.operands, np.float64)))
                allowed["atol"] = allowed["bound"] * eps * np.where(np.isfinite(largest), largest, 0.0)
        terms = _terms(op, sample)
        if terms is not None:  # n terms in any order: n eps sum|terms|
            summed = sample.operands[0].size // max(1, want.size)
            if op.name == "cumsum":
                summed = sample.operands[0].shape[sample.attrs["axis"]]
            count = max(1, summed) + 2
            atol = eps * count * terms
            allowed.update(atol=np.where(np.isfinite(atol), atol, 0.0), zero_sign=False)
        if op.name == "lorentzian":  # a square and a sum, rounded each or once, and a quotient
            allowed["bound"] = 3.0
        if op.name == "nextafter" and want.dtype == np.float16:  # zeros of two signs: the second since 2.5
            allowed.update(zero_sign=np.lib.NumpyVersion(np.__version__) < "2.5.0")
        if op.name == "sort":  # 0.0 and -0.0 are equal, in any order
            allowed.update(zero_sign=False)
        if op.name in ("prod", "cumprod"):  # each factor contributes one rounding, and subnormals their own
            allowed.update(bound=2.0 * sample.operands[0].size + 2, zero_sign=False)
    return allowed


def _terms(op: Op, sample: Sample) -> Any:
    """The sum of absolute terms of each result of a summing op, None for other ops."""
    sizes = [np.abs(operand.astype(np.float64)) for operand in sample.operands if operand.dtype.kind == "f"]
    if op.name == "fma":
        return sizes[0] * sizes[1] + sizes[2] + np.finfo(sample.operands[0].dtype).tiny
    if op.name in ("sum", "mean"):
        return np.sum(sizes[0], axis=sample.attrs["axes"])
    if op.name == "cumsum":
        axis, back = sample.attrs["axis"], slice(None, None, -1) if sample.attrs["reverse"] else slice(None)
        turned = (slice(None),) * axis + (back,)
        return np.cumsum(sizes[0][turned], axis=axis)[turned]
    if op.name in STRONG_SUMS:
        sizes = [np.where(np.isfinite(size), size, 0.0) for size in sizes]
    if op.kind is Kind.CONTRACTION or op.name == "strong_matmul":
        return np.matmul(*sizes) * sizes[0].shape[-1]
    if op.kind is Kind.FOURIER:
        return np.full(sample.operands[0].shape[:0], np.sum(sizes[0]) * abs(sample.attrs["scale"]))
    if op.kind is Kind.CONVOLUTION or op.name == "strong_convolve":
        return np_convolve(*sizes, **sample.attrs) * np.prod(sample.operands[1].shape[-3:])
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
        assert op.name in {"complex", "gcd", "lcm"}, (
            "a new elementwise op without scalar code runs on the host"
        )


@pytest.mark.parametrize("name", NAMES)
def test_type_rule_and_eval_agree_with_numpy(name: str) -> None:
    """The type rule gives the shape and dtype that NumPy gives, and `eval` NumPy's values, or for an op that
    NumPy lacks those of its row of derivatives."""
    op = OPS[name]
    meaning = numpy_meaning(op)
    for sample in walk(op):
        (inferred,) = op.infer(tuple(type_of(operand) for operand in sample.operands), sample.attrs)
        with np.errstate(all="ignore"):
            want = np.asarray(meaning(*sample.operands, **sample.attrs))
            got = np.asarray(op.eval(*sample.operands, **sample.attrs))
        assert inferred == type_of(want), f"{name} {sample}"
        allowed = tolerance(op, sample, want)
        if row_of(op) is not None:  # the truth, and no other code in floats
            allowed["bound"] = max(allowed.get("bound", 0.0), ROUNDINGS)
        problem = mismatch(got, want, **allowed)
        assert not problem, f"{name} {sample}: {problem}"


def test_rows_of_derivatives_say_what_ops_mean() -> None:
    """A wrong record is seen, but where a row says nothing: there the meaning is the record's."""
    assert {"erf", "erfc", "rsqrt"} <= {op.name for op in OPS if row_of(op) is not None}
    assert row_of(OPS["sin"]) is row_of(OPS["sech_squared"]) is None
    wrong: Any = SimpleNamespace(name="rsqrt", kind=Kind.ELEMENTWISE, eval=lambda x: np.full_like(x, 7))
    x = np.array([4.0, 0.25, np.inf, 0.0, -1.0])
    np.testing.assert_array_equal(numpy_meaning(wrong)(x), [0.5, 2.0, 0.0, 7.0, 7.0])


@OP_BY_OP
def test_native_agrees_with_interpreter(name: str) -> None:
    samples, function, arrays, expected = sampled(name)
    verify(function)
    results = run_native(compiled(name), arrays)
    problems = []
    for sample, got, want in zip(samples, results, expected, strict=True):
        problem = mismatch(got, want, **tolerance(OPS[name], sample, want))
        if problem:
            problems.append(f"{name} {sample}: {problem}")
    assert not problems, "\n".join(problems)


@OP_BY_OP
def test_text_round_trip(name: str) -> None:
    _, function, arrays, expected = sampled(name)
    parsed = check_round_trip(function)
    for got, want in zip(interpret(parsed, arrays), expected, strict=True):
        assert not mismatch(got, want)


#: Ops without native code, by the kinds of dtype of their first operand.
HOSTED = {"gcd": "biu", "lcm": "biu", "pow": "biu", "reciprocal": "iu"}


@OP_BY_OP
def test_host_ops_are_the_known_ones(name: str) -> None:
    """Law 4: what is not compiled can be seen; and the list does not grow in silence."""
    if name not in HOSTED:
        assert not compiled(name).not_lowered
        return
    kinds = set("biuf") - set(HOSTED[name])
    samples = [sample for sample in sampled(name)[0] if sample.operands[0].dtype.kind in kinds]
    function, _ = function_of_samples(OPS[name], samples)
    assert not Executable(function).not_lowered


#: Elementwise ops with tests of their own: what they take or promise is not that of the others.
OTHERWISE = ("where", "nan_unless_zero", "cast", "strong_mul", "strong_div", "lorentzian", "libm", "libm_pow")


def lacks_numpys_dtypes(op: Op) -> bool:
    """Whether `floating_function` made the op, whose dtypes are not those of NumPy's functions."""
    return getattr(op.promote, "__qualname__", "").startswith("floating_function.")


ELEMENTWISE = [
    op.name
    for op in OPS
    if op.kind is Kind.ELEMENTWISE and op.name not in ELSEWHERE and op.name not in OTHERWISE
    if not lacks_numpys_dtypes(op)
]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_promotion_is_numpys(name: str) -> None:
    """The builder gives every combination of dtypes and weak scalars the dtype that NumPy gives it.

    One difference: nothing becomes object.
    """
    op = OPS[name]
    ufunc = np._core.umath.clip if name == "clip" else numpy_meaning(op)
    weak: list[Any] = [True, 3, 2.5]
    first: list[Any] = [*DTYPES, *(weak if len(op.params) > 1 else [])]
    others = [*DTYPES, *weak] if len(op.params) > 1 else [None]
    for x in first:
        for y in others:
            operands = [x] + [y] * (len(op.params) - 1)
            if all(isinstance(operand, (bool, int, float)) for operand in operands):
                continue
            b = Builder()
            values = [
                b.parameter(TensorType(operand, (2,))) if isinstance(operand, np.dtype) else operand
                for operand in operands
            ]
            arrays = [
                np.ones(2, operand) if isinstance(operand, np.dtype) else operand for operand in operands
            ]
            try:
                with np.errstate(all="ignore"):
                    want = np.asarray(ufunc(*arrays)).dtype
            except (TypeError, ValueError):
                want = None
            try:
                got = b.apply(op, tuple(values), {}).dtype
            except DTypeError:
                got = None
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


@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
@pytest.mark.parametrize("target", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def test_out_of_range_cast_is_defined(source: str, target: str) -> None:
    """A float beyond the integer type gives some value, the same in a vector's body, its tail and alone.

    For signed targets it is what NumPy gives on this machine; for unsigned ones NumPy itself differs between
    its scalar and its vector loops.
    """
    odd = [np.nan, np.inf, -np.inf, 1e10, -1e10, 300.0, -300.0, 1e20, -1e20, 2.0**31, 2.0**63, 2.0**64]
    with np.errstate(over="ignore"):
        x = np.tile(np.array(odd, BY_NAME[source]), 9)[:-1]
    function = function_of("cast", [x], lambda b, v: b.cast(v, dtype=BY_NAME[target]))
    (got,) = native(function, [x])
    alone = function_of("cast", [x[:1]], lambda b, v: b.cast(v, dtype=BY_NAME[target]))
    executable = Executable(alone)
    for i, actual in enumerate(got):
        assert executable([x[i : i + 1]])[0][0] == actual, f"{x[i]} gives {actual} in a vector"
    if target[0] == "i":
        assert np.array_equal(got, interpret(function, [x])[0])


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64"])
def test_integers_to_negative_powers_are_an_error(dtype: str) -> None:
    x, y = np.array([2, 3], BY_NAME[dtype]), np.array([1, -1], BY_NAME[dtype])
    function = function_of("power", [x, y], lambda b, v, w: b.pow(v, w))
    with pytest.raises(ValueError, match="negative integer powers"):
        interpret(function, [x, y])
    with pytest.raises(ValueError, match="negative integer powers"):
        native(function, [x, y])
    assert native(function, [x, abs(y)])[0].tolist() == [2, 3]


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integer_division_never_traps(name: str, dtype: str) -> None:
    """Division by zero gives 0, and the smallest integer by -1 wraps: as NumPy, and without SIGFPE."""
    low = np.iinfo(BY_NAME[dtype]).min
    x = np.array([low, low, 7, 0, -7], BY_NAME[dtype])
    y = np.array([-1, 0, 0, 0, 2], BY_NAME[dtype])
    function = function_of(name, [x, y], lambda b, v, w: b.apply(OPS[name], (v, w), {}))
    (got,) = native(function, [x, y])
    assert np.array_equal(got, interpret(function, [x, y])[0])
    assert got[1:4].tolist() == [0, 0, 0]


@pytest.mark.parametrize("op", ["gather", "set", "add"])
@pytest.mark.parametrize("bad", [7, -8, 2**62, -(2**63)])
def test_out_of_range_index_is_an_error(op: str, bad: int) -> None:
    x, v, i = np.arange(7.0), np.ones(3), np.array([0, bad, 1])

    def build(b: Any, x: Any, v: Any, i: Any) -> Any:
        return b.gather(x, i) if op == "gather" else b.scatter(x, v, i, mode=op)

    function = function_of("indexed", [x, v, i], build)
    with pytest.raises(IndexError):
        interpret(function, [x, v, i])
    with pytest.raises(IndexError, match=f"{'gather' if op == 'gather' else 'scatter'}"):
        native(function, [x, v, i])
    good = np.array([0, -7, 6])  # and it works again afterwards
    assert not mismatch(native(function, [x, v, good])[0], interpret(function, [x, v, good])[0])
