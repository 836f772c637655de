"""``tracejit/array/memory_order.py``: results lie in memory as NumPy's do, where they are not traced."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracejit as tj

FORTRAN = np.asfortranarray(np.arange(6.0).reshape(2, 3))
TURNED = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
CALLS = {
    **{
        f"{name} {order}": lambda xp, x, name=name, order=order: getattr(xp, name)(x, order=order)
        for name in ["zeros_like", "ones_like", "empty_like"]
        for order in "KACF"
    },
    "full_like": lambda xp, x: xp.full_like(x, 2),
    "full_like in integers": lambda xp, x: xp.full_like(x, 2, "i4", "F"),
    "zeros_like of another rank": lambda xp, x: xp.zeros_like(x, shape=(2, 3)),
    "array": lambda xp, x: xp.array(x),
    "array in C order": lambda xp, x: xp.array(x, order="C"),
    "array in Fortran order": lambda xp, x: xp.array(x, "f4", order="F", ndmin=4),
    "array of a list": lambda xp, x: xp.array(x.tolist(), order="F"),
    "zeros": lambda xp, x: xp.zeros(x.shape, float, "F"),
    "ones": lambda xp, x: xp.ones(x.shape, order="F"),
    "full": lambda xp, x: xp.full(x.shape, 3, order="F"),
    "roll": lambda xp, x: xp.roll(x, 1),
    "roll along an axis": lambda xp, x: xp.roll(x, 1, 0),
    "round": lambda xp, x: xp.round(x),
    "round to decimals": lambda xp, x: xp.round(x / 7, 2),
    "round to tens": lambda xp, x: xp.round(x, -1),
    "round integers": lambda xp, x: xp.round(xp.astype(x, np.int64), -1),
    "select": lambda xp, x: xp.select([x > 1], [x]),
    "choose": lambda xp, x: xp.choose(xp.astype(x > 1, np.int64), [x, x]),
    "pad": lambda xp, x: xp.pad(x, 1),
    "pad by edges": lambda xp, x: xp.pad(x, 1, "edge"),
    "isreal": lambda xp, x: xp.isreal(x),
    "imag": lambda xp, x: xp.imag(x),
    "asarray in Fortran order": lambda xp, x: xp.asarray(x, order="F"),
    "asarray in C order": lambda xp, x: xp.asarray(x, "f4", "C"),
    "asarray in its own order": lambda xp, x: xp.asarray(x, order="A"),
    "astype": lambda xp, x: x.astype("f4", "F"),
    "astype in its own order": lambda xp, x: x.astype("f4", order="K"),
    "copy": lambda xp, x: xp.copy(x),
    "copy in C order": lambda xp, x: xp.copy(x, "C"),
    "copy in Fortran order": lambda xp, x: xp.copy(x, order="F"),
    "the method copy": lambda xp, x: x.copy(),
    "the method copy in Fortran order": lambda xp, x: x.copy("F"),
    "eye": lambda xp, x: xp.eye(3, order="F"),
    "delete": lambda xp, x: xp.delete(x, 1, 1),
    "delete several": lambda xp, x: xp.delete(x, [0], 0),
    "gradient": lambda xp, x: xp.gradient(x, axis=1),
    "insert": lambda xp, x: xp.insert(x, 1, 7.0, 1),
    "polyval": lambda xp, x: xp.polyval([1.0, 2.0], x),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.argsort(x, 1), 1),
    "angle": lambda xp, x: xp.angle(x),
}


def _strides(x):
    return [step for step, size in zip(x.strides, x.shape, strict=True) if size > 1]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("x", [FORTRAN, TURNED, FORTRAN[:, ::-1]], ids=["fortran", "turned", "reversed"])
def test_lies_as_in_numpy(name, x):
    ours, theirs = CALLS[name](tj, tj.asarray(x)), CALLS[name](np, x)
    if "empty" not in name:
        np.testing.assert_array_equal(ours.numpy(), theirs)
    assert ours.dtype == theirs.dtype
    assert _strides(ours.numpy()) == _strides(theirs)


def test_traced_and_differentiated():
    def f(x):
        return tj.sum(tj.roll(x, 1, 0) * x + tj.zeros_like(x, order="F") + tj.round(x, 1))

    jitted, eager = tj.jit(tj.grad(f))(FORTRAN), tj.grad(f)(tj.asarray(FORTRAN))
    np.testing.assert_array_equal(jitted.numpy(), eager.numpy())


@pytest.mark.parametrize(
    "call",
    [
        lambda: tj.zeros(2, order="Z"),
        lambda: tj.ones_like([1], order=3),
        lambda: tj.empty_like([1], order=FORTRAN),
        lambda: tj.full(2, 1, order=FORTRAN),
        lambda: tj.array(2, order=FORTRAN),
    ],
)
def test_errors(call):
    with pytest.raises(tj.DomainError, match="order must be 'C', 'F', 'A' or 'K'"):
        call()


def test_array_shares_memory_where_asked():
    x = np.arange(3.0)
    assert np.shares_memory(tj.array(x, copy=None).numpy(), x)
    assert not np.shares_memory(tj.array(x).numpy(), x)
    assert tj.array([1.0], ndmin=3, requires_grad=True).requires_grad
    assert tj.jit(lambda x: tj.array(x, ndmin=2, order="F"))(x).shape == (1, 3)
    with pytest.raises(tj.ShapeError, match="array: ndmin must be at most 64, got 65"):
        tj.array(x, ndmin=65)
    with pytest.raises(tj.DTypeError, match="copy is needed"):
        tj.array(x, "f4", copy=False)


def _written(make, which):
    def f(x):
        a = x * 1
        part = make(a)
        if which == "part":
            part[...] = -part
        else:
            a[...] = -a
        return a, part * 1

    return f


@pytest.mark.parametrize("which", ["part", "whole"])
@pytest.mark.parametrize(
    "make",
    [
        lambda a: np.ascontiguousarray(a),
        lambda a: np.ascontiguousarray(a.T),
        lambda a: np.ascontiguousarray(a[:, ::2]),
        lambda a: np.ascontiguousarray(a[1]),
        lambda a: np.asfortranarray(a),
        lambda a: np.asfortranarray(a.T),
        lambda a: np.asarray(a, order="F"),
        lambda a: np.asarray(a.T, order="F"),
        lambda a: np.asarray(a, order="C"),
        lambda a: np.require(a, requirements="F"),
        lambda a: np.require(a.T, requirements="C"),
        lambda a: a.T.reshape(-1),
        lambda a: a[:, 1:].reshape(-1),
    ],
)
def test_copies_and_views_of_traced_arrays_are_numpys(make, which):
    x = np.arange(6.0).reshape(2, 3)
    function = _written(make, which)
    for ours, theirs in zip(tj.jit(function)(x), function(x), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("order", ["A", "K"])
@pytest.mark.parametrize("method", ["ravel", "flatten", "reshape"])
def test_results_in_the_order_of_memory(method, order):
    def f(x):
        sizes = (-1,) if method == "reshape" else ()
        return getattr(x.T, method)(*sizes, order=order) if (method, order) != ("reshape", "K") else x

    jitted = tj.jit(f)
    x = np.arange(6.0).reshape(2, 3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", tj.UncompiledCallWarning)
        for array in (x, np.asfortranarray(x)):
            np.testing.assert_array_equal(jitted(array), f(array))
    assert len(told) == ((method, order) != ("reshape", "K"))


#: Arrays as they may lie in memory.
LAYOUTS = {
    "rows": lambda: np.arange(6.0).reshape(2, 3),
    "columns": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "part": lambda: np.arange(12.0).reshape(3, 4)[:, 1:3],
    "line": lambda: np.arange(6.0),
    "steps": lambda: np.arange(12.0)[::2],
    "reversed": lambda: np.arange(6.0)[::-1],
}
#: Arrays that functions make of their argument: views of it, or copies, as its order in memory tells.
MADE = {
    "contiguous": np.ascontiguousarray, "raveled": lambda x: x.ravel(), "np.ravel": np.ravel,
    "asarray": lambda x: np.asarray(x, order="C"), "require": lambda x: np.require(x, requirements="C"),
    "astype": lambda x: x.astype(x.dtype, order="C", copy=False), "new axis": lambda x: x[None].ravel(),
    "turned": lambda x: x[::-1].ravel(), "reshaped": lambda x: x.reshape(-1), "T": lambda x: x.T.ravel(),
    "sorted": lambda x: np.sort(x, axis=0), "partitioned": lambda x: np.partition(x, 1, axis=0),
    "transformed": lambda x: np.fft.fft(x, axis=0), "all transformed": lambda x: np.fft.fft2(x),
    "zeros F": lambda x: np.zeros((2, 3), order="F"), "array F": lambda x: np.array(x, order="F"),
    "copy F": lambda x: x.copy(order="F"), "like": lambda x: np.zeros_like(x.T), "product": lambda x: x.T * 2,
    "sum": lambda x: x + x[::-1], "copied": lambda x: x.T.copy(), "np.copy": lambda x: np.copy(x.T),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("made", MADE)
def test_writes_reach_what_they_reach_in_numpy(made, layout):
    def written(x):
        y = MADE[made](x)
        y *= 2
        return y

    def written_line(x):
        y = MADE[made](x)
        y.ravel()[1] = 50.0
        return y

    def written_later(x):
        y = MADE[made](x)
        line = y.reshape(-1)
        y[0] = 70.0
        return line

    if made in ("all transformed",) and LAYOUTS[layout]().ndim == 1:
        return
    for function in (written, written_line, written_later):
        jitted = tj.jit(function)
        for order in ("rows", layout, layout) if LAYOUTS[layout]().ndim == 2 else ("line", layout, layout):
            mine, theirs = LAYOUTS[order](), LAYOUTS[order]()
            np.testing.assert_allclose(jitted(mine), function(theirs), rtol=1e-12, err_msg=order)
            np.testing.assert_array_equal(mine, theirs, err_msg=order)
