"""Ops registered at run time: issue item 1, and ops that are functions of existing ops."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.interpreter import interpret
from tracejit.ir.registry import OPS
from tracejit.ir.text.parser import parse_function
from tracejit.ir.verifier import verify


@pytest.fixture(autouse=True)
def _isolated() -> Iterator[None]:
    before = [op.name for op in OPS]
    with tj.extend.isolated():
        yield
    assert [op.name for op in OPS] == before


def scaled() -> tj.extend.OpCall:
    """``scale * x + shift``, by a NumPy kernel."""
    op = tj.register_op(
        "scaled", lambda x, scale, shift: x, inputs="x", attrs={"scale": float, "shift": (int, 0)}
    )
    tj.register_kernel("scaled", "numpy", lambda x, scale, shift: scale * x + shift)
    return op


def sorted_pair() -> tj.extend.OpCall:
    """The sorted elements and their order: two results, of which one is of integers."""
    op = tj.register_op("sorted_pair", lambda x: (x, x.with_dtype(np.dtype(np.int64))))
    tj.register_kernel("sorted_pair", "numpy", lambda x: (np.sort(x), np.argsort(x)))
    return op


def test_attributes_have_types_and_defaults() -> None:
    op = scaled()
    x = tj.tensor([1.0, 2.0])
    assert op(x, scale=2.0).tolist() == [2.0, 4.0]
    assert op(x, scale=2.0, shift=1).tolist() == [3.0, 5.0]
    assert tj.ops.scaled(x, scale=3).tolist() == [3.0, 6.0], "a whole number is a float"
    assert tj.run_kernel("scaled", x, scale=np.float64(0.5), shift=np.int64(1)).tolist() == [1.5, 2.0]
    assert repr(op) == "<op scaled(x, scale, shift)>"


@pytest.mark.parametrize("jitted", [False, True])
def test_wrong_attributes_are_errors_at_the_call(jitted: bool) -> None:
    op = scaled()

    def call(**attrs: object) -> None:
        run = lambda x: op(x, **attrs)  # noqa: E731
        (tj.jit(run) if jitted else run)(tj.tensor([1.0]))

    with pytest.raises(
        tj.AttributeValueError, match="scaled: unknown attribute 'size'; expected scale, shift"
    ):
        call(scale=1.0, size=3)
    with pytest.raises(tj.AttributeValueError, match="scaled: attribute 'shift' must be int, got 'a'"):
        call(scale=1.0, shift="a")
    with pytest.raises(tj.AttributeValueError, match="scaled: attribute 'shift' must be int, got True"):
        call(scale=1.0, shift=True)
    with pytest.raises(tj.AttributeValueError, match="scaled: attribute 'scale' is missing"):
        call()


def test_a_wrong_number_of_inputs_is_an_error() -> None:
    with pytest.raises(tj.TracejitError, match=r"scaled: expected 1 input \(x\), got 2"):
        scaled()(1.0, 2.0, scale=1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "add", "decompose": lambda x: x}, "'add' is registered already"),
        ({"name": "lambda", "decompose": lambda x: x}, "'lambda' is not a name"),
        ({"name": "a b", "decompose": lambda x: x}, "'a b' is not a name"),
        ({"name": "w", "inputs": "x"}, "give infer"),
        ({"name": "w", "elementwise": True}, "name the inputs"),
        ({"name": "w", "elementwise": True, "inputs": "x x"}, "'x' cannot name an input"),
        ({"name": "w", "elementwise": True, "inputs": "*x"}, "fixed number of inputs"),
        ({"name": "w", "decompose": lambda *x: x[0]}, "fixed number of inputs"),
        ({"name": "w", "decompose": lambda x: x, "elementwise": True}, "follow from it"),
        ({"name": "w", "infer": lambda x: x, "attrs": {"k": list}}, "attribute 'k' must be declared"),
        ({"name": "w", "infer": lambda x: x, "attrs": {"k": (int, 1.5)}}, "default of attribute 'k'"),
        ({"name": "w", "inputs": "x", "infer": abs, "attrs": {"x": int}}, "'x' cannot name an attribute"),
    ],
)  # fmt: skip
def test_declarations_that_do_not_fit(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(tj.TracejitError, match=message):
        tj.register_op(**arguments)  # type: ignore[arg-type]
    assert "w" not in OPS


@pytest.mark.parametrize(("infer", "message"), [
    (lambda x: "f64", "must return a TensorType or a tuple of them, got 'f64'"),
    (lambda x: (), "returned no type"),
])  # fmt: skip
def test_an_infer_that_returns_something_else(infer: object, message: str) -> None:
    op = tj.register_op("w", infer)  # type: ignore[arg-type]
    tj.register_kernel("w", "numpy", lambda x: x)
    with pytest.raises(tj.TracejitError, match=message):
        op(1.0)


def test_an_error_of_infer_reaches_the_caller() -> None:
    def infer(x: tj.TensorType) -> tj.TensorType:
        if x.ndim != 2:
            raise tj.ShapeError(f"w: expected a matrix, got {x}")
        return x

    op = tj.register_op("w", infer)
    tj.register_kernel("w", "numpy", lambda x: x)
    for call in (op, tj.jit(op)):
        with pytest.raises(tj.ShapeError, match=r"w: expected a matrix, got f64\[2\]"):
            call(tj.tensor([1.0, 2.0]))


def test_several_results() -> None:
    op = sorted_pair()
    x = tj.tensor([3.0, 1.0, 2.0])
    for call in (op, tj.jit(lambda x: op(x))):
        values, order = call(x)
        assert values.tolist() == [1.0, 2.0, 3.0]
        assert order.tolist() == [1, 2, 0]
        assert order.dtype == np.int64


def test_writing_to_one_of_several_results() -> None:
    pair = tj.register_op("pair", lambda x: (x, x))
    tj.register_kernel("pair", "numpy", lambda x: (2 * x, 3 * x))

    def written(x: tj.Tensor) -> tj.Tensor:
        a, b = pair(x + 1)
        a[0] = 50.0
        b[1] = 70.0
        return a + b + x

    for call in (written, tj.jit(written)):
        assert call(tj.tensor([1.0, 2.0])).tolist() == [57.0, 78.0]


def test_several_results_as_text() -> None:
    op = sorted_pair()
    function = tj.trace(lambda x: op(x), tj.tensor([3.0, 1.0, 2.0]))
    verify(function)
    text = str(function)
    assert "%0: f64[3], %1: i64[3] = sorted_pair(%x)" in text
    again = parse_function(text)
    verify(again)
    values, order = interpret(again, [np.array([3.0, 1.0, 2.0])])
    assert values.tolist() == [1.0, 2.0, 3.0]
    assert order.tolist() == [1, 2, 0]


def test_printing_parsing_verifying_and_interpreting() -> None:
    op = scaled()
    function = tj.trace(lambda x: op(x, scale=2.0, shift=1), tj.tensor([1.0, 2.0]))
    assert "scaled(%x) {scale=2.0, shift=1}" in str(function)
    again = parse_function(str(function))
    verify(again)
    assert str(again) == str(function)
    assert interpret(again, [np.array([1.0, 2.0])])[0].tolist() == [3.0, 5.0]
    wrong = str(function).replace("f64[2]", "f32[2]", 1).replace("-> f64[2]", "-> f64[2]")
    with pytest.raises(tj.TracejitError):
        verify(parse_function(wrong))


def test_any_number_of_inputs() -> None:
    op = tj.register_op("total", lambda *parts: parts[0])
    tj.register_kernel("total", "numpy", lambda *parts: np.sum(parts, axis=0))
    tj.register_gradient("total", lambda ct, *parts: tuple(ct for _ in parts), save_all_inputs=True)
    ones = tj.ones(2)
    assert op(ones, ones, ones).tolist() == [3.0, 3.0]
    assert tj.jit(lambda x: op(x, x, 2 * x))(ones).tolist() == [4.0, 4.0]
    for transform in (lambda f: f, tj.jit):
        assert transform(tj.grad(lambda x: op(x, 2 * x, ones).sum()))(ones).tolist() == [3.0, 3.0]


def test_an_elementwise_op_broadcasts_and_promotes_as_numpy_does() -> None:
    op = tj.register_op("hyp", inputs="x y", elementwise=True)
    tj.register_kernel("hyp", "numpy", np.hypot)
    column, row = tj.tensor([[3.0], [6.0]]), tj.tensor([4.0, 8.0])
    expected = [[5.0, np.hypot(3, 8)], [np.hypot(6, 4), 10.0]]
    for call in (op, tj.jit(op)):
        assert call(column, row).tolist() == expected
        assert call(tj.tensor([3], dtype=tj.int32), 4).tolist() == [5.0]
        assert call(tj.tensor([3.0], dtype=tj.float32), 4.0).dtype == np.float32
    with pytest.raises(tj.ShapeError, match="hyp: shapes"):
        op(tj.ones(2), tj.ones(3))


# -- functions of existing ops ----------------------------------------------------------------------


def soft() -> tj.extend.OpCall:
    return tj.register_op(
        "soft", decompose=lambda x, k: tj.log1p(tj.exp(k * x)) / k, attrs={"k": (float, 1.0)}
    )


def test_a_composite_needs_no_kernel_and_no_gradient() -> None:
    op = soft()
    x = tj.tensor([0.0, 1.0])
    expected = np.log1p(np.exp(2 * np.array([0.0, 1.0]))) / 2
    slope = 1 / (1 + np.exp(-2 * np.array([0.0, 1.0])))
    for transform in (lambda f: f, tj.jit):
        np.testing.assert_allclose(transform(lambda x: op(x, k=2))(x), expected, rtol=1e-15)
        np.testing.assert_allclose(transform(tj.grad(lambda x: op(x, k=2).sum()))(x), slope, rtol=1e-15)
        second = transform(tj.grad(tj.grad(lambda x: op(x, k=2))))(tj.tensor(1.0))
        np.testing.assert_allclose(second, 2 * slope[1] * (1 - slope[1]), rtol=1e-14)


def test_a_composite_is_one_op_in_the_ir_and_many_in_native_code() -> None:
    op = soft()
    f = tj.jit(lambda x: op(x).sum())
    assert "soft(%x)" in str(f.trace(tj.ones(3)))
    f(tj.ones(3))
    assert "everything is native code" in f.explain()


def test_a_composite_may_close_over_tensors() -> None:
    weights = tj.tensor([1.0, 10.0])
    op = tj.register_op("weighted", decompose=lambda x: (weights * x).sum())
    x = tj.tensor([2.0, 3.0])
    for transform in (lambda f: f, tj.jit):
        assert transform(op)(x).item() == 32.0
        assert transform(tj.grad(op))(x).tolist() == [1.0, 10.0]


def test_a_composite_returns_one_tensor() -> None:
    op = tj.register_op("pair", decompose=lambda x: (x, x))
    with pytest.raises(tj.TracejitError, match="pair: its decompose must return one tensor, got tuple"):
        op(1.0)


def test_a_composite_of_user_ops() -> None:
    scaled()
    tj.register_gradient("scaled", lambda ct, scale, shift: scale * ct)
    pair = tj.register_op("pair", lambda x: (x, x))
    tj.register_kernel("pair", "numpy", lambda x: (2 * x, 3 * x))
    tj.register_gradient("pair", lambda cts: 2 * cts[0] + 3 * cts[1])
    op = tj.register_op("both", decompose=lambda x: pair(tj.ops.scaled(x, scale=5.0))[1] * pair(x)[0])
    x = tj.tensor(7.0)  # 15 x * 2 x
    for transform in (lambda f: f, tj.jit):
        assert transform(op)(x).item() == 30 * 49.0
        assert transform(tj.grad(op))(x).item() == 60 * 7.0
        assert transform(tj.grad(tj.grad(op)))(x).item() == 60.0
    y = tj.tensor(7.0, requires_grad=True)
    op(y).backward()
    assert y.grad is not None
    assert y.grad.item() == 60 * 7.0


def test_numbers_as_inputs_under_a_trace() -> None:
    op = scaled()
    assert tj.jit(lambda x: op(x, scale=2.0) + op(1.0, scale=3.0) + op(2.0, scale=1.0))(5.0).item() == 15.0


def test_every_built_in_is_a_function_by_name() -> None:
    for op in OPS:
        assert repr(getattr(tj.ops, op.name)).startswith(f"<op {op.name}(")
    assert set(dir(tj.ops)) == {op.name for op in OPS}
    assert str(inspect.signature(scaled())) == "(x, /, *, scale, shift=0)"


# -- taking out again -------------------------------------------------------------------------------


def test_unregistering_an_op() -> None:
    op = soft()
    tj.unregister_op("soft")
    with pytest.raises(tj.TracejitError, match="op 'soft' was taken out of the registry"):
        op(1.0)
    with pytest.raises(AttributeError, match="there is no op named 'soft'"):
        tj.ops.soft  # noqa: B018
    again = tj.register_op("soft", decompose=lambda x: 7 * x)
    assert again(2.0).item() == 14.0
    assert tj.jit(lambda x: tj.ops.soft(x))(2.0).item() == 14.0
    with pytest.raises(tj.TracejitError, match="'add' is not an op that was registered at run time"):
        tj.unregister_op("add")


def test_a_compiled_function_does_not_run_an_op_that_was_taken_out() -> None:
    soft()
    f = tj.jit(lambda x: tj.ops.soft(x))
    f(1.0)
    tj.unregister_op("soft")
    with pytest.raises(AttributeError, match="there is no op named 'soft'"):
        f(1.0)


def test_isolation_restores_everything() -> None:
    f = tj.jit(lambda x: tj.exp(x))
    assert f(0.0).item() == 1.0
    with tj.extend.isolated():
        soft()
        tj.register_kernel("exp", "numpy", lambda x: x + 7, override=True)
        tj.register_kernel("exp", "llvm", lambda b, x: b.add(x, 7.0), override=True)
        tj.register_gradient("exp", lambda ct: 5 * ct, override=True)
        assert tj.exp(0.0).item() == f(0.0).item() == 7.0
        assert tj.grad(tj.exp)(0.0).item() == 5.0
    assert "soft" not in OPS
    assert tj.exp(0.0).item() == f(0.0).item() == 1.0
    assert tj.grad(tj.exp)(0.0).item() == tj.jit(tj.grad(tj.exp))(0.0).item() == 1.0
