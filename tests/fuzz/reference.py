"""NumPy as a namespace `xp`, with the functions that tracejit has beside it, written plainly as loops.

What a name means here is what programs must give everywhere. Names that are not defined below are NumPy's.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def __getattr__(name: str) -> Any:
    return getattr(np, name)


def _tree_map(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    if isinstance(tree, (tuple, list)):
        return type(tree)(_tree_map(function, *parts) for parts in zip(tree, *rest, strict=True))
    if isinstance(tree, dict):
        return {key: _tree_map(function, tree[key], *(other[key] for other in rest)) for key in tree}
    return function(tree, *rest)


# -- control flow --------------------------------------------------------------------------------------


def cond(predicate: Any, true_branch: Any, false_branch: Any, *operands: Any) -> Any:
    return switch(0 if predicate else 1, (true_branch, false_branch), *operands)


def switch(index: Any, branches: Sequence[Any], *operands: Any) -> Any:
    results = [branch(*operands) for branch in branches]
    types = {str(_tree_map(lambda x: (np.shape(x), np.asarray(x).dtype), result)) for result in results}
    if len(types) > 1:  # also after captured values were rebound
        raise ValueError(f"branches that return other types: {sorted(types)}")
    return _tree_map(np.array, results[min(max(int(index), 0), len(branches) - 1)])


def _try_step(state: Any, step: Callable[[Any], Any]) -> None:
    """Loops of no steps have steps that are right, too, for what is captured now."""
    before = _tree_map(np.array, state)
    after = _tree_map(np.asarray, step(_tree_map(np.array, state)))
    if _tree_map(np.shape, before) != _tree_map(np.shape, after):
        raise ValueError("a step that changes the shapes of what a loop carries")


def while_loop(predicate: Any, body: Any, state: Any) -> Any:
    state = _tree_map(np.array, state)
    _try_step(state, lambda state: body(state))
    while predicate(state):
        state = _tree_map(np.array, body(state))
    return state


def fori_loop(lower: int, upper: int, body: Any, state: Any, **_: Any) -> Any:
    _try_step(state, lambda state: body(np.int64(lower), state))
    for i in range(int(lower), int(upper)):
        state = _tree_map(np.array, body(np.int64(i), state))
    return _tree_map(np.array, state)


def scan(body: Any, carry: Any, xs: Any, reverse: bool = False, **_: Any) -> Any:
    count = len(xs[0] if isinstance(xs, tuple) else xs)
    rows = []
    for i in range(count)[:: -1 if reverse else 1]:
        carry, row = body(carry, _tree_map(lambda x, at=i: x[at], xs))
        rows.append(row)
    if not rows:
        # shapes and dtypes of the rows come from a step on zeros
        step = _tree_map(lambda x: np.zeros(x.shape[1:], x.dtype), xs)
        _, row = body(carry, step)
        return _tree_map(np.array, carry), _tree_map(
            lambda r: np.zeros((0, *np.shape(r)), np.asarray(r).dtype), row
        )
    return _tree_map(np.array, carry), _tree_map(
        lambda *parts: np.stack(parts), *rows[:: -1 if reverse else 1]
    )


def associative_scan(function: Any, elements: Array, reverse: bool = False, axis: int = 0) -> Array:
    rows = list(np.moveaxis(elements, axis, 0)[:: -1 if reverse else 1])
    for i in range(1, len(rows)):
        rows[i] = function(rows[i - 1], rows[i])
    return np.moveaxis(np.stack(rows[:: -1 if reverse else 1]), 0, axis) if rows else elements.copy()


def map(function: Any, xs: Array, **_: Any) -> Any:
    return np.stack([function(x) for x in xs])


def vmap(function: Any, in_axes: int = 0, out_axes: int = 0) -> Any:
    def mapped(*arguments: Array) -> Array:
        count = arguments[0].shape[in_axes]
        rows = [function(*(np.take(x, i, in_axes) for x in arguments)) for i in range(count)]
        return np.stack(rows, out_axes)

    return mapped


# -- derivatives have no part in values ----------------------------------------------------------------


class _Transparent:
    """A function with a derivative of its own, which values do not need."""

    def __init__(self, function: Any, **_: Any) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def defvjp(self, *_: Any) -> None:
        pass

    defjvp = defvjp


custom_vjp = custom_jvp = _Transparent


def checkpoint(function: Any, *arguments: Any) -> Any:
    return function(*arguments) if arguments else function


def stop_gradient(x: Any) -> Any:
    return x


def jit(function: Any) -> Any:
    return function


# -- arrays --------------------------------------------------------------------------------------------


def asarray(x: Any, dtype: Any = None) -> Array:
    return np.asarray(x, dtype)


def _by_element(function: Callable[[float], float]) -> Callable[[Any], Array]:
    def apply(x: Any) -> Array:
        x = np.asarray(x)
        dtype = x.dtype if x.dtype.kind == "f" else np.dtype("f8")
        return np.array([function(float(e)) for e in x.ravel()], dtype).reshape(x.shape)

    return apply


erf = _by_element(math.erf)
_erfc = _by_element(math.erfc)
erfc = _by_element(math.erfc)


def rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def index_update(x: Array, key: Any, value: Any) -> Array:
    x = x.copy()
    x[key] = value
    return x


def bincount(x: Array, length: int) -> Array:
    return np.bincount(x, minlength=length)[:length]


def diag(x: Array, k: int = 0) -> Array:
    return np.diag(x, k) if x.ndim == 1 else np.diagonal(x, k)


def index_add(x: Array, key: Any, value: Any) -> Array:
    x = x.copy()
    np.add.at(x, key, np.asarray(value, x.dtype) if isinstance(value, int) else value)
    return x


def cummax(x: Array, axis: int | None = None, reverse: bool = False) -> Array:
    return _running(np.maximum, x, axis, reverse)


def cummin(x: Array, axis: int | None = None, reverse: bool = False) -> Array:
    return _running(np.minimum, x, axis, reverse)


def cumsum(x: Array, axis: int | None = None, dtype: Any = None, reverse: bool = False) -> Array:
    axis, x = (0, np.ravel(x)) if axis is None else (axis, np.asarray(x))
    if not reverse:
        return np.cumsum(x, axis, dtype)
    return np.flip(np.cumsum(np.flip(x, axis), axis, dtype), axis)


def _running(ufunc: Any, x: Array, axis: int | None, reverse: bool) -> Array:
    axis, x = (0, np.ravel(x)) if axis is None else (axis, np.asarray(x))
    if not reverse:
        return ufunc.accumulate(x, axis)
    return np.flip(ufunc.accumulate(np.flip(x, axis), axis), axis)


def logsumexp(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    largest = np.max(x, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(x - largest), axis=axis, keepdims=True)) + largest
    return total if keepdims else np.squeeze(total, axis) if axis is not None else total.reshape(())


def broadcast_arrays(*arrays: Array) -> list[Array]:
    shape = np.broadcast_shapes(*(np.shape(x) for x in arrays))
    return [np.broadcast_to(x, shape) for x in arrays]


def tensor(x: Any, dtype: Any = None) -> Array:
    return np.array(x, dtype)


def flatten(x: Array) -> Array:
    return np.asarray(x).flatten()


def index_take(x: Array, key: Any) -> Array:
    return x[key]


# -- linear algebra ------------------------------------------------------------------------------------


def _solve_triangular(a: Array, b: Array, trans: Any = 0, lower: bool = False) -> Array:
    triangle = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(triangle if trans in (0, "N") else np.swapaxes(triangle, -1, -2), b)


def _cho_solve(factor_and_lower: tuple[Array, bool], b: Array) -> Array:
    factor = factor_and_lower[0]
    return np.linalg.solve(factor @ np.conj(np.swapaxes(factor, -1, -2)), b)


def _solve_banded(l_and_u: tuple[int, int], ab: Array, b: Array) -> Array:
    (below, above), n = l_and_u, ab.shape[-1]
    a = np.zeros((n, n), ab.dtype)
    for offset in range(-below, above + 1):
        for i in range(max(0, -offset), min(n, n - offset)):
            a[i, i + offset] = ab[above - offset, i + offset]
    return np.linalg.solve(a, b)


def _solve_toeplitz(c: Array, b: Array) -> Array:
    """Solve without a first row, which is the conjugate of the first column."""
    line = np.concatenate([np.conj(c[:0:-1]), c])
    places = np.arange(len(c))
    return np.linalg.solve(line[places[:, None] - places + len(c) - 1], b)


scipy = types.SimpleNamespace(
    linalg=types.SimpleNamespace(
        solve_triangular=_solve_triangular, cho_solve=_cho_solve, solve_banded=_solve_banded,
        solve_toeplitz=_solve_toeplitz,
    )
)  # fmt: skip


# -- networks ------------------------------------------------------------------------------------------


def _softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def _log_softmax(x: Array, axis: int = -1) -> Array:
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _layer_norm(x: Array, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    shape = shape if isinstance(shape, tuple) else (shape,)
    if x.shape[x.ndim - len(shape) :] != shape:
        raise ValueError("the last axes of x are others")
    axes = tuple(range(-len(shape), 0))
    centred = x - np.mean(x, axis=axes, keepdims=True)
    y = centred / np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + eps)
    return y * (1 if weight is None else weight) + (0 if bias is None else bias)


def _elu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _huber(x: Array, y: Array, delta: float = 1.0) -> Any:
    e = np.abs(x - y)
    return np.mean(np.where(e < delta, 0.5 * e * e, delta * (e - 0.5 * delta)))


def _pair(x: Any) -> tuple[int, int]:
    return (x, x) if isinstance(x, int) else x


def _conv2d(
    x: Array, weight: Array, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Array:  # fmt: skip
    (sy, sx), (py, px), (dy, dx) = _pair(stride), _pair(padding), _pair(dilation)
    x = np.pad(x, ((0, 0), (0, 0), (py, py), (px, px)))
    outputs, channels, ky, kx = weight.shape
    height = (x.shape[2] - dy * (ky - 1) - 1) // sy + 1
    width = (x.shape[3] - dx * (kx - 1) - 1) // sx + 1
    result = np.zeros((x.shape[0], outputs, height, width), x.dtype)
    per = outputs // groups
    for o in range(outputs):
        image = x[:, o // per * channels : (o // per + 1) * channels]
        for i in range(ky):
            for j in range(kx):
                window = image[:, :, i * dy : i * dy + sy * height : sy, j * dx : j * dx + sx * width : sx]
                result[:, o] += np.tensordot(weight[o, :, i, j], window, (0, 1))
    return result if bias is None else result + bias[:, None, None]


def _pool(x: Array, size: int, stride: int | None, fold: Any) -> Array:
    step = stride or size
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), (-2, -1))[..., ::step, ::step, :, :]
    return np.asarray(fold(windows, axis=(-2, -1)), x.dtype)


nn = types.SimpleNamespace(
    softmax=_softmax,
    log_softmax=_log_softmax,
    sigmoid=_sigmoid,
    relu=lambda x: np.maximum(x, 0),
    relu6=lambda x: np.clip(x, 0, 6),
    silu=lambda x: x * _sigmoid(x),
    softplus=lambda x: np.where(x > 20, x, np.logaddexp(x, 0)),
    gelu=lambda x: x * 0.5 * _erfc(x / -math.sqrt(2)),
    elu=_elu,
    celu=lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)),
    leaky_relu=lambda x, slope=0.01: np.where(x > 0, x, slope * x),
    hardtanh=lambda x: np.clip(x, -1, 1),
    log_sigmoid=lambda x: -np.logaddexp(-x, 0),
    layer_norm=_layer_norm,
    linear=lambda x, w, b=None: x @ np.swapaxes(w, -1, -2) + (0 if b is None else b),
    mse_loss=lambda x, y: np.mean((x - y) ** 2),
    l1_loss=lambda x, y: np.mean(np.abs(x - y)),
    huber_loss=_huber,
    cross_entropy=lambda x, t: -np.mean(np.take_along_axis(_log_softmax(x), t[:, None], 1)),
    binary_cross_entropy_with_logits=lambda x, t: np.mean(np.logaddexp(x, 0) - x * t),
    normalize=lambda x, axis=1: x / np.maximum(np.sqrt(np.sum(x * x, axis=axis, keepdims=True)), 1e-12),
    one_hot=lambda i, n: np.eye(n, dtype=np.int64)[i],
    embedding=lambda i, w: w[i],
    conv2d=_conv2d,
    max_pool2d=lambda x, size, stride=None: _pool(x, size, stride, np.max),
    avg_pool2d=lambda x, size, stride=None: _pool(x, size, stride, np.mean),
)


# -- wider sums ----------------------------------------------------------------------------------------


class Wide:
    """The reference with sums of wider floats. What it gives is as far from the reference as NumPy's own sums
    are off, whose roundings of equal terms all go one way; no random drift shows that."""

    def __getattr__(self, name: str) -> Any:
        function = globals()[name] if name in globals() else getattr(np, name)
        if name in ("dot", "inner", "matmul", "tensordot", "vdot", "vecdot"):
            return lambda x, y, *args, **kwargs: _in_wide(function, (x, y), *args, **kwargs)
        if name not in ("average", "cumsum", "mean", "std", "sum", "var"):
            return function

        return lambda x, *args, **kwargs: _in_wide(function, (x,), *args, **kwargs)


def _in_wide(function: Any, operands: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
    arrays = [np.asarray(operand) for operand in operands]
    if any(array.dtype.kind not in "fc" for array in arrays):
        return function(*operands, *args, **kwargs)
    wide = {"f": np.longdouble, "c": np.clongdouble}
    result = np.asarray(function(*[x.astype(wide[x.dtype.kind]) for x in arrays], *args, **kwargs))
    dtype = np.result_type(*arrays)
    return result.astype(dtype if result.dtype.kind == dtype.kind else dtype.type(0).real.dtype)
