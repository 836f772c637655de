"""``check_op`` passes what is right, and names what is wrong in ops that are broken in one way each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.registry import NONDIFF, OPS, Kind, Op, Registry, make_rules
from tracejit.ir.types import TensorType
from tracejit.testing import CheckFailure, Sample, check_op

X = np.array([[0.3, -0.7, 1.1], [0.2, 0.9, -1.3]])


@pytest.mark.parametrize("name", ["exp", "tanh", "erf", "mul", "atan2", "floor"])
def test_good_elementwise_ops_pass(name: str) -> None:
    operands = (X, X[::-1] + 2.5)[: len(OPS[name].params)]
    done = check_op(
        name,
        [operands, [operand.astype("f4") for operand in operands], [operand[0, 0] for operand in operands]],
    )
    expected = {"type rule": 3, "kernels": 3, "text": 3, "jit": 3, "rules": 3, "gradient": 3}
    if hasattr(tj, "vmap"):
        expected["vmap"] = 3
    assert done == expected


def test_good_ops_with_attributes_pass() -> None:
    done = check_op(
        "sum", [(X, {"axes": (0,)}), (X, {"axes": (0, 1)}), Sample((X.astype("i4"),), {"axes": (1,)})]
    )
    assert (done["type rule"], done["gradient"]) == (3, 2)
    assert check_op(OPS["matmul"], [(X, X.T)])["gradient"] == 1
    assert check_op("gather", [(X, np.array([1, 0, 1]))])["rules"] == 1
    assert check_op("eq", [(X, X)])["gradient"] == 0


def test_functions_pass() -> None:
    def f(params: Any, k: int = 2) -> Any:
        return {"y": tj.sin(params) * k, "n": tj.argmax(params)}

    done = check_op(f, [(X,), (X, {"k": 3})])
    assert (done["jit"], done["text"], done["kernels"], done["gradient"]) == (2, 2, 2, 2)
    weights = tj.tensor([1.0, 2.0, 3.0])
    assert check_op(lambda x: x @ weights, [(X,)])["jit"] == 1
    assert check_op(lambda x: x > 0, [(X,)])["gradient"] == 0
    assert check_op(tj.jit(lambda x: x * x), [(tj.tensor(X),), (2.0,)])["gradient"] == 2
    assert check_op(lambda x: x * x, [(X,)], order=0)["gradient"] == 0


def test_bad_arguments() -> None:
    with pytest.raises(tj.TracejitError, match="there is no op named 'nothing'"):
        check_op("nothing", [(X,)])
    with pytest.raises(tj.TracejitError, match="expected an op, its name, or a function, got int"):
        check_op(3, [(X,)])  # type: ignore[arg-type]
    with pytest.raises(tj.TracejitError, match=r"check_op\(exp\): expected at least one sample"):
        check_op("exp", [])
    with pytest.raises(
        tj.TracejitError, match=r"sample 1 must be a tuple of arrays, got ndarray; write \(x,\)"
    ):
        check_op("exp", [(X,), X])


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Op]:
    """Makes an op like sin with something replaced, in the registry while the test runs."""
    copy = Registry()
    copy._ops.update(OPS._ops)
    monkeypatch.setattr(OPS, "_ops", copy._ops)
    sine = OPS["sin"]

    def make(**changes: Any) -> Op:
        arguments: dict[str, Any] = {
            "kind": Kind.ELEMENTWISE, "params": ("x",), "infer": sine.infer, "eval": np.sin, "doc": "sin",
            "promote": sine.promote, "emit": sine.emit, "attrs": {},
            "vjp": {"x": lambda b, ct, x: b.mul(ct, b.cos(x))},
        }  # fmt: skip
        arguments.update(changes)
        rules = make_rules("broken", arguments["params"], arguments["attrs"], arguments.pop("vjp"))
        return OPS.add(Op(name="broken", vjp=rules, **arguments))

    return make


def failed(op: Any, samples: Any = ((X,),), **more: Any) -> dict[str, str]:
    """The failures that were found, by check."""
    with pytest.raises(CheckFailure) as caught:
        check_op(op, samples, **more)
    assert isinstance(caught.value, AssertionError)
    for check, sample, message in caught.value.failures:
        assert f"  {check}: {sample}: {message}" in str(caught.value)
    return {check: message for check, _, message in caught.value.failures}


def test_the_copy_of_sin_is_right(broken: Callable[..., Op]) -> None:
    broken()
    assert check_op("broken", [(X,), (X.astype("f4"),)])["gradient"] == 2


def test_wrong_type_rule(broken: Callable[..., Op]) -> None:
    broken(kind=Kind.HOST, infer=lambda types, attrs: (TensorType(types[0].dtype, (3,)),))
    results = failed("broken")
    assert results["type rule"] == "the rule infers (f64[3]), the kernel gives (f64[2,3])"


def test_wrong_native_code(broken: Callable[..., Op]) -> None:
    broken(emit=OPS["cos"].emit)
    results = failed("broken")
    assert results["kernels"].startswith(
        "native code against the NumPy kernel: 6 of 6 elements differ, the first at"
    )
    assert {"kernels", "jit"} <= set(results)
    assert "type rule" not in results


def test_wrong_decomposition(broken: Callable[..., Op]) -> None:
    broken(kind=Kind.COMPOSITE, promote=None, emit=None, decompose=lambda b, x: b.add(b.sin(x), 1e-6))
    assert "kernels" in failed("broken")


@pytest.mark.parametrize(
    "vjp",
    [
        lambda b, ct, x: b.mul(ct, b.sin(x)),
        lambda b, ct: ct,
        lambda b, ct, x: b.mul(ct, b.mul(1.001, b.cos(x))),
    ],
    ids=["sin", "one", "off by a thousandth"],
)
def test_wrong_gradient(broken: Callable[..., Op], vjp: Any) -> None:
    broken(vjp={"x": vjp})
    results = failed("broken", order=1)
    assert list(results) == ["gradient"]
    assert results["gradient"].startswith(
        "order 1, by operand 0, against finite differences: 6 of 6 elements"
    )


def test_wrong_second_order(broken: Callable[..., Op]) -> None:
    op = broken(vjp={"x": lambda b, ct, x: b.mul(ct, b.stop_gradient(b.cos(x)))})
    assert check_op(op, [(X,)], order=1)["gradient"] == 1
    assert failed(op)["gradient"].startswith("order 2, by operand 0, against finite differences")


def test_missing_rule(broken: Callable[..., Op]) -> None:
    broken(vjp={})
    results = failed("broken")
    assert results["rules"] == "operand 0 is floating, and has no rule; a record without any says NONDIFF"
    assert "no gradient with respect to operand 0" in results["gradient"]


def test_without_gradient_there_is_nothing_to_check(broken: Callable[..., Op]) -> None:
    broken(vjp=NONDIFF)
    assert check_op("broken", [(X,)])["gradient"] == 0


def test_wrong_gradient_dtype_or_shape(broken: Callable[..., Op]) -> None:
    broken(vjp={"x": lambda b, ct, x: b.sum(b.mul(ct, b.cos(x)), axes=(0,))})
    assert "gradient" in failed("broken")


def test_kernel_that_writes_to_its_operand(broken: Callable[..., Op]) -> None:
    broken(kind=Kind.HOST, eval=lambda x: np.sin(x, out=x if x.flags.writeable else None))
    assert failed("broken")["type rule"] == "the kernel changed its operand 0"


def test_kernel_and_rules_that_raise(broken: Callable[..., Op]) -> None:
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    broken(eval=fails)
    results = failed("broken")
    assert results["type rule"] == "raised KeyError: 'mine'"


def test_attribute_without_text(broken: Callable[..., Op]) -> None:
    broken(
        kind=Kind.HOST, attrs={"how": (object,)}, eval=lambda x, how: np.sin(x),
        vjp={"x": lambda b, ct, x: b.mul(ct, b.cos(x))},
    )  # fmt: skip
    results = failed("broken", [(X, {"how": frozenset((1,))})])
    assert list(results) == ["text", "vmap"]  # a host op states no batching rule by itself
    assert "has no text form" in results["text"]


def test_function_that_differs_under_jit() -> None:
    assert failed(lambda x: x * (1.0 if x.is_traced else 2.0), order=0)["jit"].startswith(
        "jitted against eager: 6"
    )
    kinds = failed(lambda x: tj.astype(x, "f4") if x.is_traced else x, order=0)
    assert kinds["jit"] == "jitted against eager: got f32[2,3], expected f64[2,3]"
    assert "ConcretizationError" in failed(lambda x: x * np.sum(x.numpy()), order=0)["jit"]
    structure = failed(lambda x: (x, x) if x.is_traced else [x, x], order=0)["jit"]
    assert "got the structure" in structure


def test_function_whose_gradient_is_wrong_when_jitted() -> None:
    def f(x: Any) -> Any:
        factor = 3.0 if x.is_traced else 1.0
        return tj.custom_grad(lambda x, save: (x * x, lambda ct, saved: ct * 2.0 * x * factor))(x)

    assert "jit of grad against eager" in failed(f, order=1)["gradient"]


def test_function_that_differs_under_vmap() -> None:
    assert failed(lambda x: x * (1.0 if x.is_traced else 2.0) * x.ndim, order=0)
