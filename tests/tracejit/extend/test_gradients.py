"""Gradients by op name: issue item 4 and the edges of 11."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj


@pytest.fixture(autouse=True)
def _isolated() -> Iterator[None]:
    with tj.extend.isolated():
        yield


def cube(*, native: bool = False) -> tj.extend.OpCall:
    op = tj.register_op("cube", inputs="x", elementwise=True)
    tj.register_kernel("cube", "numpy", lambda x: x**3)
    if native:
        tj.register_kernel("cube", "llvm", lambda b, x: b.mul(x, b.mul(x, x)))
    return op


def with_gradient(op: tj.extend.OpCall) -> tj.extend.OpCall:
    tj.register_gradient("cube", lambda ct, x: ct * 3 * x * x, inputs_to_save=["x"])
    return op


def modes() -> list[Callable[..., Any]]:
    return [lambda f: f, tj.jit]


@pytest.mark.parametrize("native", [False, True])
def test_first_and_higher_orders_eager_and_compiled(native: bool) -> None:
    op = with_gradient(cube(native=native))
    x = tj.tensor([1.0, 2.0])
    for mode in modes():
        assert mode(tj.grad(lambda x: op(x).sum()))(x).tolist() == [3.0, 12.0]
        assert mode(tj.grad(tj.grad(op)))(2.0).item() == 12.0
        assert mode(tj.grad(tj.grad(tj.grad(op))))(2.0).item() == 6.0


def test_backward_through_a_compiled_function() -> None:
    op = with_gradient(cube(native=True))
    f = tj.jit(lambda x: (op(x) * 2).sum())
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    f(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6.0, 24.0]
    (first,) = tj.autograd.grad(f(x), x, create_graph=True)
    (second,) = tj.autograd.grad(first.sum(), x)
    assert second.tolist() == [12.0, 24.0]


def test_gradcheck_to_second_order() -> None:
    op = with_gradient(cube())
    x = tj.tensor([0.5, -1.5], requires_grad=True)
    assert tj.autograd.gradcheck(op, (x,))
    assert tj.autograd.gradgradcheck(op, (x,))


def test_as_a_decorator_with_attributes_and_the_output() -> None:
    op = tj.register_op("power_exp", lambda x, k: x, inputs="x", attrs={"k": (float, 2.0)})
    tj.register_kernel("power_exp", "numpy", lambda x, k: np.exp(k * x))

    @tj.register_gradient("power_exp", outputs_to_save=True)
    def gradient(ct: Any, y: Any, k: float) -> Any:
        return ct * k * y

    assert tj.get_gradient("power_exp").fn is gradient
    for mode in modes():
        np.testing.assert_allclose(mode(tj.grad(lambda x: op(x, k=3.0)))(0.5), 3 * np.exp(1.5), rtol=1e-15)
        np.testing.assert_allclose(mode(tj.grad(tj.grad(op)))(0.5), 4 * np.exp(1.0), rtol=1e-15)


def test_what_is_saved_comes_in_the_order_it_was_named() -> None:
    op = tj.register_op("muls", inputs="x y z", elementwise=True)
    tj.register_kernel("muls", "numpy", lambda x, y, z: x * y * z)
    calls: list[tuple[float, ...]] = []

    def gradient(ct: Any, z: Any, x: Any, out: Any) -> Any:
        calls.append((z.item(), x.item(), out.item()))
        return None, ct * x * z, None

    tj.register_gradient("muls", gradient, inputs_to_save=("z", "x"), outputs_to_save=(True,))
    tensors = [tj.tensor(number, requires_grad=True) for number in (2.0, 3.0, 5.0)]
    op(*tensors).backward()
    assert calls == [(5.0, 2.0, 30.0)], "it is called once for all inputs"
    assert [None if tensor.grad is None else tensor.grad.item() for tensor in tensors] == [None, 10.0, None]


def test_broadcast_operands_get_their_sums() -> None:
    op = tj.register_op("product", inputs="x y", elementwise=True)
    tj.register_kernel("product", "numpy", np.multiply)
    tj.register_gradient("product", lambda ct, x, y: (ct * y, ct * x), save_all_inputs=True)
    column, row = tj.tensor([[1.0], [2.0]]), tj.tensor([3.0, 4.0, 5.0])
    for mode in modes():
        gx, gy = mode(tj.grad(lambda x, y: op(x, y).sum(), argnums=(0, 1)))(column, row)
        assert gx.tolist() == [[12.0], [12.0]]
        assert gy.tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("save", [False, True])
def test_only_what_is_named_is_kept_alive(save: bool) -> None:
    op = cube()
    tj.register_gradient("cube", lambda ct, *saved: ct, inputs_to_save=["x"] if save else [])
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    inner = x * 2.0
    kept = weakref.ref(inner._data)
    y = op(inner)
    del inner
    assert (kept() is not None) is save, "a saved value outlives the user's handle, another does not"
    y.sum().backward()
    assert kept() is None
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_saved_value_that_is_written_is_noticed() -> None:
    op = with_gradient(cube())
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    inner = x * 1.0
    y = op(inner).sum()
    inner += 1.0
    with pytest.raises(tj.GradientError, match="that cube saved for backward was modified in place"):
        y.backward()


# -- several results --------------------------------------------------------------------------------


def extremes(**gradient: Any) -> tj.extend.OpCall:
    op = tj.register_op("extremes", lambda x: (x.with_shape(()), x.with_shape(())))
    tj.register_kernel("extremes", "numpy", lambda x: (x.min(), x.max()))

    def pull(cts: Any, x: Any, low: Any, high: Any) -> Any:
        return tj.where(x == low, cts[0], 0.0) + tj.where(x == high, cts[1], 0.0)

    tj.register_gradient("extremes", pull, inputs_to_save=["x"], outputs_to_save=(True, True))
    return op


def test_gradients_of_several_results() -> None:
    op = extremes()
    x = tj.tensor([3.0, 1.0, 2.0])

    def product(x: Any) -> Any:
        low, high = op(x)
        return low * high * high

    for mode in modes():
        assert mode(tj.grad(product))(x).tolist() == [6.0, 9.0, 0.0]
        assert mode(tj.grad(lambda x: op(x)[1]))(x).tolist() == [1.0, 0.0, 0.0], "others get zeros"
        second = mode(tj.grad(lambda x: tj.grad(product)(x)[0]))(x)
        # d/dx of 2 low high
        assert second.tolist() == [2.0, 6.0, 0.0]
    y = tj.tensor([3.0, 1.0, 2.0], requires_grad=True)
    tj.jit(product)(y).backward()
    assert y.grad is not None
    assert y.grad.tolist() == [6.0, 9.0, 0.0]


def test_no_gradient_for_several_results() -> None:
    op = extremes()
    tj.unregister_gradient("extremes")
    for mode in modes():
        with pytest.raises(tj.GradientError, match="no gradient for 'extremes'"):
            mode(tj.grad(lambda x: op(x)[0]))(tj.ones(2))
        assert mode(tj.grad(lambda x: op(tj.stop_gradient(x))[0] * x[0]))(tj.ones(2)).tolist() == [1.0, 0.0]


# -- no gradient ------------------------------------------------------------------------------------


def test_an_op_without_a_gradient() -> None:
    op = cube()
    x = tj.tensor([1.0, 2.0])
    for mode in modes():
        with pytest.raises(tj.GradientError, match="no gradient for 'cube'"):
            mode(tj.grad(lambda x: op(x).sum()))(x)
    y = tj.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(tj.GradientError, match="no gradient for 'cube'"):
        tj.jit(lambda x: op(x).sum())(y).backward()


def test_such_an_op_is_no_error_where_it_does_not_reach_the_output() -> None:
    op = cube()

    def aside(x: Any) -> Any:
        op(x)
        return (x * x).sum()

    for mode in modes():
        assert mode(tj.grad(aside))(tj.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
        assert mode(tj.grad(lambda x: (op(x.detach()) * x).sum()))(tj.tensor([1.0, 2.0])).tolist() == [
            1.0,
            8.0,
        ]


def test_no_path_from_the_input_to_the_output_is_an_error_that_says_so() -> None:
    op = with_gradient(cube())
    x, other = tj.tensor(1.0, requires_grad=True), tj.tensor(2.0, requires_grad=True)
    with pytest.raises(tj.GradientError, match=r"not.*used|no path|unused"):
        tj.autograd.grad(op(x), other)


def test_get_gradient() -> None:
    cube()
    with pytest.raises(tj.GradientError, match="no gradient for 'cube'"):
        tj.get_gradient("cube")
    with pytest.raises(tj.GradientError, match="no gradient for 'cube'"):
        tj.unregister_gradient("cube")
    with pytest.raises(tj.GradientError, match="no gradient for 'eq'"):
        tj.get_gradient("eq")
    gradients = tj.get_gradient("mul").fn(tj.tensor(2.0), tj.tensor(3.0), tj.tensor(5.0), tj.tensor(15.0))
    assert [gradient.item() for gradient in gradients] == [10.0, 6.0]


# -- replacing --------------------------------------------------------------------------------------


def test_replacing_a_gradient_warns_and_compiled_functions_notice() -> None:
    op = with_gradient(cube(native=True))
    f = tj.jit(tj.grad(lambda x: op(x).sum()))
    g = tj.jit(lambda x: op(x).sum())
    x = tj.ones(2)

    def through_g() -> list[float]:
        y = tj.tensor([1.0, 1.0], requires_grad=True)
        g(y).backward()
        assert y.grad is not None
        return y.grad.tolist()  # type: ignore[no-any-return]

    for _ in range(3):
        assert f(x).tolist() == through_g() == [3.0, 3.0]
    with pytest.warns(UserWarning, match="the gradient of 'cube' is replaced"):
        tj.register_gradient("cube", lambda ct: 7 * ct)
    assert f(x).tolist() == through_g() == tj.grad(lambda x: op(x).sum())(x).tolist() == [7.0, 7.0]
    assert "op 'cube' has another gradient" in f.explain()
    tj.register_gradient("cube", lambda ct: 8 * ct, override=True)
    assert f(x).tolist() == through_g() == [8.0, 8.0]


def test_the_gradient_of_a_built_in() -> None:
    x = tj.tensor([0.4, 1.6], requires_grad=True)

    def straight(x: Any) -> Any:
        return (tj.round(x) * tj.tensor([3.0, 5.0])).sum()

    assert tj.grad(straight)(x).tolist() == [0.0, 0.0]
    compiled = tj.jit(tj.grad(straight))
    compiled(x)
    with pytest.warns(UserWarning, match="the gradient of 'rint' is replaced"):
        tj.register_gradient("rint", lambda ct: ct)
    assert tj.grad(straight)(x).tolist() == compiled(x.detach()).tolist() == [3.0, 5.0]


def test_a_new_gradient_can_build_on_the_one_before() -> None:
    before = tj.get_gradient("exp")
    tj.register_gradient(
        "exp", lambda ct, x, y: tuple(2 * gradient for gradient in before.fn(ct, x, y)),
        save_all_inputs=True, outputs_to_save=True, override=True,
    )  # fmt: skip
    for mode in modes():
        assert mode(tj.grad(tj.exp))(0.0).item() == 2.0


def test_save_all_inputs_with_a_mapping_is_an_error() -> None:
    tj.register_gradient("sub", lambda ct, x, y: (ct, -ct), save_all_inputs=True, override=True)
    with pytest.raises(tj.KernelError, match=r"save_all_inputs.*cannot be a mapping"):
        tj.run_kernel("sub", {"x": 1.0, "y": 2.0})
    assert tj.run_kernel("sub", 1.0, 2.0).item() == -1.0


# -- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (
            lambda ct: (ct, ct),
            r"the gradient of 'cube' returned 2 gradients, expected 1: one per input \(x\)",
        ),
        (lambda ct: (), "returned 0 gradients, expected 1"),
        (lambda ct: ct.sum(), r"for input 0 \(x\) has shape \(\), expected \(2,\)"),
        (lambda ct: tj.ones(3), r"for input 0 \(x\) has shape \(3,\), expected \(2,\)"),
        (lambda ct: "text", r"for input 0 \(x\) must be a tensor of type f64\[2\] or None, got str"),
        (lambda ct: ct > 0, r"for input 0 \(x\) must be a floating tensor of type f64\[2\], got bool\[2\]"),
    ],
)
def test_a_gradient_that_returns_something_wrong(gradient: Any, message: str) -> None:
    op = cube()
    tj.register_gradient("cube", gradient)
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    for mode in modes():
        with pytest.raises((tj.GradientError, tj.ShapeError), match=message):
            mode(tj.grad(lambda x: op(x).sum()))(x.detach())
        with pytest.raises((tj.GradientError, tj.ShapeError), match=message):
            mode(lambda x: op(x).sum())(x).backward()
    assert x.grad is None


def test_a_gradient_that_raises_leaves_the_tape_clean() -> None:
    op = cube()
    failing = [True]

    def gradient(ct: Any, x: Any) -> Any:
        if failing[0]:
            raise OSError("no luck")
        return ct * 3 * x * x

    tj.register_gradient("cube", gradient, inputs_to_save=["x"])
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    before = tj.memory()
    for mode in modes():
        failing[0] = True
        with pytest.raises(OSError, match="no luck") as caught:
            mode(tj.grad(lambda x: op(x).sum()))(x.detach())
        assert caught.value.__notes__ == ["in the gradient that was registered for op 'cube'"]
        del caught
        assert tj.is_grad_enabled()
        failing[0] = False
        assert mode(tj.grad(lambda x: op(x).sum()))(x.detach()).tolist() == [3.0, 12.0]
    after = tj.memory()
    assert (after.nodes, after.saved_bytes) == (before.nodes, before.saved_bytes)


def test_registrations_that_do_not_fit() -> None:
    cube()
    for arguments, message in [
        ({"fn": 3}, "expected a function, got int"),
        ({"fn": abs, "inputs_to_save": ["y"]}, "there is no input 'y'; the inputs are x"),
        ({"fn": abs, "inputs_to_save": ["x"], "save_all_inputs": True}, "not both"),
        ({"fn": abs, "outputs_to_save": (True, True)}, "has 2 bools, but the op has one result"),
        ({"fn": abs, "outputs_to_save": (0,)}, "must be True or one bool per result"),
    ]:
        with pytest.raises(tj.TracejitError, match=message):
            tj.register_gradient("cube", **arguments)  # type: ignore[arg-type]
    with pytest.raises(tj.TracejitError, match="there is no op named 'nothing'"):
        tj.register_gradient("nothing", abs)


def test_a_gradient_over_a_built_in_with_numbers_and_broadcasting() -> None:
    tj.register_gradient("mul", lambda ct, x, y: (ct * y, ct * x), save_all_inputs=True, override=True)
    tj.register_gradient("concat", lambda ct, axis: (ct[:1], 2 * ct[1:]), override=True)
    x = tj.tensor([1.0, 2.0])
    for mode in modes():
        assert mode(tj.grad(lambda x: (x * 3.0).sum()))(x).tolist() == [3.0, 3.0]
        assert mode(tj.grad(lambda x: (2 * x * x).sum()))(x).tolist() == [4.0, 8.0]
        assert mode(tj.grad(lambda s: (s * x).sum()))(5.0).item() == 3.0
        assert mode(tj.grad(tj.grad(lambda x: 2 * x * x * x)))(3.0).item() == 36.0
        joined = mode(tj.grad(lambda x: tj.concatenate([x[:1], x[1:]]).sum()))
        assert joined(x).tolist() == [1.0, 2.0]
