"""No public function loses a gradient silently: each is called with values that are differentiated in every
place that takes one, also inside lists. The gradients of eager code, jitted code, the tape and finite
differences are compared."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import share_of

A = np.array([0.4, 0.9, 0.7])
B = np.array([1.3, 0.6, 0.2])
M = np.array([[1.5, 0.3, 0.2], [0.1, 1.2, 0.4], [0.3, 0.2, 1.7]])
KEY = tj.random.key(7)
nn, random, optim = tj.nn, tj.random, tj.optim


def written(write: Callable[[Any], Any]) -> Any:
    """A tensor of zeros after `write`."""
    target = tj.zeros(3)
    write(target)
    return target


def updated(rule: Any, x: Any) -> Any:
    """The parameters after a step of an optimiser whose gradients are `x`."""
    params = {"w": tj.tensor(B)}
    return rule.update(params, {"w": x}, rule.init(params))[0]["w"]


#: "function: what is differentiated", in functions of an array of three.
CALLS: dict[str, Callable[[Any], Any]] = {
    "array: tensor": lambda x: tj.array(x),
    "array: nested list": lambda x: tj.array([[x[0], 1.0], (x[1], x[2])]),
    "array: tensors and lists": lambda x: tj.array([x, [1.0, 2.0, 3.0]]),
    "array: comprehension": lambda x: tj.array([[v, v * v] for v in x]),
    "tensor: tensor": lambda x: tj.tensor(x),
    "tensor: tuple": lambda x: tj.tensor((x[0], x[1])),
    "tensor: list of tensors": lambda x: tj.tensor([x, x * 2]),
    "asarray: tensor": lambda x: tj.asarray(x),
    "asarray: copy": lambda x: tj.asarray(x, copy=True),
    "asarray: list": lambda x: tj.asarray([x, x]),
    "asarray: list with NumPy numbers": lambda x: tj.asarray([np.float64(1.0), x[0]]),
    "full: value": lambda x: tj.full((2, 3), x),
    "full: element": lambda x: tj.full(3, x[0]),
    "full: list": lambda x: tj.full((2, 2), [x[0], x[1]]),
    "full_like: value": lambda x: tj.full_like(A, x),
    "full_like: list": lambda x: tj.full_like(A, [x[0], x[1], 1.0]),
    "ones_like: shape alone": lambda x: tj.ones_like(x) * x + tj.zeros_like(x) + tj.empty_like(x),
    "copy: tensor": lambda x: tj.copy(x),
    "copy: list": lambda x: tj.copy([x[0], x[1]]),
    "copy: clone": lambda x: x.clone(),
    "copy: copy.copy": lambda x: copy.copy(x),
    "copy: copy.deepcopy": lambda x: copy.deepcopy({"w": [x]})["w"][0],
    "astype: tensor": lambda x: tj.astype(x, tj.float64),
    "linspace: ends": lambda x: tj.linspace(x[0], x[1], 5),
    "linspace: arrays": lambda x: tj.linspace(x, x * 2, 5),
    "linspace: step": lambda x: tj.linspace(x[0], x[1], 5, retstep=True)[1],
    "logspace: ends": lambda x: tj.logspace(x[0], x[1], 4),
    "logspace: base": lambda x: tj.logspace(0.1, 0.5, 4, base=x[1] + 1),
    "geomspace: ends": lambda x: tj.geomspace(x[0], x[1], 4),
    "pad: array": lambda x: tj.pad(x, 1),
    "pad: list": lambda x: tj.pad([x[0], x[1]], 1),
    "pad: edge": lambda x: tj.pad(x, 2, "edge"),
    "pad: value": lambda x: tj.pad(x, 1, constant_values=x[0]),
    "pad: pair of values": lambda x: tj.pad(B, 1, constant_values=(x[0], x[1])),
    "pad: tensor of values": lambda x: tj.pad(M, ((1, 2), (0, 1)), constant_values=x[:2]),
    "pad: a pair for each axis": lambda x: tj.pad(M, 1, constant_values=[[x[0], x[1]], [x[2], 1.0]]),
    "diff: prepend, append": lambda x: tj.diff(B, prepend=x, append=x[:1]),
    "diff: append a number": lambda x: tj.diff(B, append=x[0]),
    "diff: append a list": lambda x: tj.diff(B, append=[x[0]]),
    "quantile: q": lambda x: tj.quantile(B, x[0]),
    "quantile: list of q": lambda x: tj.quantile(B, [x[0], 0.2]),
    "quantile: array": lambda x: tj.quantile(x, [0.3, 0.6]),
    "percentile: q": lambda x: tj.percentile(B, x[0] * 30),
    "clip: bounds": lambda x: tj.clip(B, x[1], None) + tj.clip(B, None, x[2]),
    "clip: array": lambda x: tj.clip(B, x, 1.0),
    "where: both": lambda x: tj.where(B > 0.5, x, x * 2),
    "nan_to_num: instead": lambda x: tj.nan_to_num(tj.tensor([1.0, np.nan, np.inf]), nan=x[0], posinf=x[1]),
    "average: weights": lambda x: tj.average(B, weights=x),
    "average: list of weights": lambda x: tj.average(B, weights=[x[0], x[1], x[2]]),
    "average: sum of weights": lambda x: tj.average(B, weights=x, returned=True)[1],
    "concat: arrays": lambda x: tj.concat([x, B, x]),
    "stack: with arrays": lambda x: tj.stack([x, B]),
    "stack: with numbers": lambda x: tj.stack([x[0], 2.0, x[1]]),
    "stack: iterated": lambda x: tj.stack(list(x)),
    "hstack: scalars": lambda x: tj.hstack([x[0], x]),
    "hstack: lists": lambda x: tj.hstack([[x[0]], [x[1]]]),
    "vstack: with arrays": lambda x: tj.vstack((x, B)),
    "meshgrid: arrays": lambda x: tj.stack(tj.meshgrid(x, B)),
    "atleast_2d: list": lambda x: tj.atleast_2d([x[0], x[1]]),
    "broadcast_to: list": lambda x: tj.broadcast_to([x[0], x[1]], (3, 2)),
    "broadcast_arrays: scalar": lambda x: tj.stack(tj.broadcast_arrays(x, x[0])),
    "einsum: arrays": lambda x: tj.einsum("i,i->", x, B),
    "tensordot: array": lambda x: tj.tensordot(x, B, 1),
    "kron: array": lambda x: tj.kron(x, B),
    "vdot: array": lambda x: tj.vdot(x, B),
    "matmul: matrix": lambda x: M @ x,
    "index_update: value": lambda x: tj.index_update(tj.tensor(B), 1, x[0]),
    "index_update: list": lambda x: tj.index_update(tj.tensor(B), slice(0, 2), [x[0], x[1]]),
    "index_add: value": lambda x: tj.index_add(B, [0, 1], x[:2]),
    "take: list": lambda x: tj.take([x[0], x[1]], [0, 1]),
    "take_along_axis: array": lambda x: tj.take_along_axis(x, np.array([0, 1, 1])),
    "tile: list": lambda x: tj.tile([x[0], x[1]], 2),
    "repeat: list": lambda x: tj.repeat([x[0], x[1]], 2),
    "roll: list": lambda x: tj.roll([x[0], x[1]], 1),
    "flip: list": lambda x: tj.flip([x[0], x[1]]),
    "sum: list": lambda x: tj.sum([x[0], x[1]]),
    "mean: list": lambda x: tj.mean([x, x]),
    "sort: list": lambda x: tj.sort([x[0], x[1]]),
    "max: list": lambda x: tj.max([x[0], x[1]]),
    "cumsum: list": lambda x: tj.cumsum([x[0], x[1]]),
    "median: list": lambda x: tj.median([x[0], x[1], x[2]]),
    "reshape: list": lambda x: tj.reshape([x[0], x[1]], (2, 1)),
    "transpose: list": lambda x: tj.transpose([[x[0], x[1]]]),
    "diag: list": lambda x: tj.diag([x[0], x[1]]),
    "tril: list": lambda x: tj.tril([[x[0], x[1]], [1.0, 2.0]]),
    "partition: array": lambda x: tj.partition(x, 1),
    "split: list": lambda x: tj.split([x[0], x[1]], 2)[0],
    "unstack: list": lambda x: tj.unstack([x[0], x[1]])[0],
    "getitem: list": lambda x: tj.getitem([x[0], x[1]], 0),
    "ptp: list": lambda x: tj.ptp([x[0], x[1]]),
    "logsumexp: list": lambda x: tj.logsumexp([x[0], x[1]]),
    "sinc: list": lambda x: tj.sinc([x[0], x[1]]),
    "modf: array": lambda x: tj.modf(x)[0],
    "ldexp: array": lambda x: tj.ldexp(x, 2),
    "divmod: divisor": lambda x: tj.divmod(B, x)[1],
    "heaviside: value": lambda x: tj.heaviside(tj.tensor([0.0, 1.0, -1.0]), x),
    "trace: product": lambda x: tj.trace(x * M),
    "cond: closure": lambda x: tj.cond(True, lambda: x * 2, lambda: x),
    "cond: list": lambda x: tj.cond(True, lambda v: v[0] * 2, lambda v: v[1], [x[0], x[1]]),
    "switch: operand": lambda x: tj.switch(1, [lambda v: v, lambda v: v * v], x),
    "scan: elements": lambda x: tj.scan(lambda c, v: (c * v, c), 1.0, x)[0],
    "scan: closure": lambda x: tj.scan(lambda c, v: (c * x.sum() * v, c), 1.0, B)[1],
    "scan: init": lambda x: tj.scan(lambda c, v: (c * v, c), x, B)[1],
    "fori_loop: closure": lambda x: tj.fori_loop(0, 3, lambda i, c: c * x[i], 1.0),
    "while_loop: closure": lambda x: tj.while_loop(lambda c: c.sum() < 4.8, lambda c: c * 1.5 + x, x),
    "associative_scan: elements": lambda x: tj.associative_scan(lambda a, b: a * b, x),
    "map: with arrays": lambda x: tj.map(lambda v: v[0] * v[1], (x, B)),
    "vmap: closure": lambda x: tj.vmap(lambda v: v * x)(B),
    "checkpoint: argument": lambda x: tj.checkpoint(lambda v: tj.sin(v), x),
    "tree_map: list": lambda x: tj.tree_map(lambda v: v * 2, [x])[0],
    "setitem: element": lambda x: written(lambda z: tj.setitem(z, 0, x[0])),
    "setitem: list": lambda x: written(lambda z: tj.setitem(z, slice(0, 2), [x[0], x[1]])),
    "setitem: mask": lambda x: written(lambda z: tj.setitem(z, B > 0.5, x[0])),
    "setitem: places": lambda x: written(lambda z: tj.setitem(z, [0, 2], x[:2])),
    "fill_: element": lambda x: tj.zeros(3).fill_(x[0]),
    "fill_: tensor of it": lambda x: tj.zeros(3).fill_(tj.tensor(x[0])),
    "copy_: array": lambda x: tj.zeros(3).copy_(x),
    "copy_: list": lambda x: tj.zeros(2).copy_([x[0], x[1]]),
    "add_: alpha": lambda x: tj.zeros(3).add_(x, alpha=x[0]),
    "masked_fill_: value": lambda x: tj.zeros(3).masked_fill_(B > 0.5, x[0]),
    "clamp_: bound": lambda x: tj.tensor(B).clamp_(x[0], None),
    "pow_: exponent": lambda x: tj.tensor(B).pow_(x),
    "nn.celu: alpha": lambda x: nn.celu(-x, x[0]),
    "nn.hardtanh: bounds": lambda x: nn.hardtanh(B, x[2] - 1, x[2]),
    "nn.huber_loss: delta": lambda x: nn.huber_loss(tj.tensor(B) * 9, A, delta=x[0]),
    "nn.layer_norm: scale, shift": lambda x: nn.layer_norm(B, 3, x, x),
    "nn.layer_norm: eps": lambda x: nn.layer_norm(B, 3, eps=x[0]),
    "nn.leaky_relu: slope": lambda x: nn.leaky_relu(-tj.tensor(B), x[0]),
    "nn.softplus: beta": lambda x: nn.softplus(B, x[0]),
    "nn.cross_entropy: weight": lambda x: nn.cross_entropy(x, 1, weight=x),
    "nn.cross_entropy: probabilities": lambda x: nn.cross_entropy(B, x),
    "nn.cross_entropy: smoothing": lambda x: nn.cross_entropy(B, 1, label_smoothing=x[0]),
    "nn.nll_loss: weight": lambda x: nn.nll_loss(tj.tensor(M), [0, 1, 2], weight=x),
    "nn.binary_cross_entropy: target": lambda x: nn.binary_cross_entropy(A, x),
    "nn.binary_cross_entropy_with_logits: weights": lambda x: nn.binary_cross_entropy_with_logits(
        x, A, x, pos_weight=x
    ),
    "nn.kl_div: target": lambda x: nn.kl_div(B, x),
    "nn.mse_loss: list": lambda x: nn.mse_loss([x[0], x[1]], [1.0, 2.0]),
    "nn.linear: weight, bias": lambda x: nn.linear(A, M * x, x),
    "nn.embedding: list": lambda x: nn.embedding([0, 1], [[x[0]], [x[1]]]),
    "nn.conv1d: weight, bias": lambda x: nn.conv1d(A[None], x[None, None, :2], x[:1]),
    "nn.dropout: array": lambda x: nn.dropout(x, 0.5, key=KEY),
    "random.uniform: bounds": lambda x: random.uniform(KEY, (3,), minval=x, maxval=x * 3),
    "random.lognormal: sigma": lambda x: random.lognormal(KEY, x),
    "random.multivariate_normal: mean, cov": lambda x: random.multivariate_normal(KEY, x, np.eye(3) * x),
    "random.multivariate_normal: list": lambda x: random.multivariate_normal(KEY, [x[0], x[1]], np.eye(2)),
    "random.triangular: corners": lambda x: random.triangular(KEY, x[2] - 1, x[2], x[2] * 2),
    "random.truncated_normal: bounds": lambda x: random.truncated_normal(KEY, -x, x),
    "random.weibull_min: parameters": lambda x: random.weibull_min(KEY, x, B),
    "random.permutation: array": lambda x: random.permutation(KEY, x),
    "random.choice: array": lambda x: random.choice(KEY, x, (2,)),
    "optim.clip_by_global_norm: gradients": lambda x: optim.clip_by_global_norm([x], 0.5)[0][0],
    "optim.clip_by_global_norm: norm": lambda x: optim.clip_by_global_norm([tj.tensor(B)], x[0])[0][0],
    "optim.global_norm: tree": lambda x: optim.global_norm({"a": x, "b": [x[0]]}),
    "optim.sgd: gradients": lambda x: updated(optim.sgd(0.1), x),
    "optim.sgd: rate": lambda x: updated(optim.sgd(x[0]), A),
    "optim.adam: gradients": lambda x: updated(optim.adam(0.1), x),
    "optim.cosine_decay: step": lambda x: optim.cosine_decay(0.1, 10)(x[0]),
}


def loss_of(call: str) -> Callable[[Any], Any]:
    """A scalar function of what the call gives."""

    def loss(x: Any) -> Any:
        result = CALLS[call](x)
        weights = tj.asarray(np.cos(np.arange(result.size)).reshape(result.shape))
        return (result * result * weights).sum()

    return loss


def slope(f: Callable[[Any], Any]) -> Any:
    step = 1e-6
    return np.array([(float(f(A + step * u)) - float(f(A - step * u))) / (2 * step) for u in np.eye(3)])


@pytest.mark.parametrize("call", share_of([*CALLS], 2))
def test_gradients_are_kept(call: str) -> None:
    loss = loss_of(call)
    expected = slope(lambda x: loss(tj.tensor(x)))
    assert np.any(expected != 0)
    tolerance = {"rtol": 1e-5, "atol": 1e-7}
    x = tj.tensor(A)
    gradient = tj.grad(loss)(x)
    np.testing.assert_allclose(gradient.numpy(), expected, **tolerance)
    np.testing.assert_allclose(tj.jit(tj.grad(loss))(x).numpy(), expected, **tolerance)
    np.testing.assert_allclose(tj.grad(tj.jit(loss))(x).numpy(), expected, **tolerance)
    np.testing.assert_allclose(tj.vjp(loss, x)[1](1.0)[0].numpy(), expected, **tolerance)
    if "copy.copy" not in call and "deepcopy" not in call:  # PyTorch's: a leaf of its own
        leaf = tj.tensor(A, requires_grad=True)
        loss(leaf).backward()
        np.testing.assert_allclose(leaf.grad.numpy(), expected, **tolerance)
    hessian = tj.hessian(loss)(x)
    np.testing.assert_allclose(hessian.numpy(), tj.jit(tj.hessian(loss))(x).numpy(), rtol=1e-7, atol=1e-9)
    second = np.array([slope(lambda v, i=i: tj.grad(loss)(tj.tensor(v))[i]) for i in range(3)])
    np.testing.assert_allclose(hessian.numpy(), second, rtol=1e-5, atol=1e-6)


def test_copies_have_memory_of_their_own() -> None:
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    for copied in (tj.tensor(x), tj.array(x), tj.tensor(x, dtype=tj.float64), tj.tensor(x.detach())):
        assert not np.shares_memory(copied.detach().numpy(), x.detach().numpy())
    assert tj.tensor(x.detach()).requires_grad is False
    narrow = tj.tensor(x, dtype=tj.float32)
    assert narrow.dtype == tj.float32
    narrow.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_leaf_where_one_is_asked_for() -> None:
    """``requires_grad=True`` is PyTorch's word for a tensor whose own gradient is to be computed."""
    w = tj.tensor([1.0, 2.0], requires_grad=True)
    for source in (w, w * 3, [w[0], w[1]]):
        leaf = tj.tensor(source, requires_grad=True)
        assert leaf.is_leaf
        (leaf * leaf).sum().backward()
        assert leaf.grad.tolist() == (2 * leaf.detach()).tolist()
    assert w.grad is None


LOSES: dict[str, Callable[[Any], Any]] = {
    "arange(x)": lambda x: tj.arange(x, 3.0).sum() * x,
    "tensor(x, requires_grad=True)": lambda x: tj.tensor(x, requires_grad=True) * x,
}


@pytest.mark.parametrize("name", LOSES)
def test_lost_gradients_warn(name: str) -> None:
    with pytest.warns(tj.LostGradientWarning, match=re.escape(name) + ".*no gradient follows") as seen:
        tj.grad(LOSES[name])(1.0)
    assert {event.filename for event in seen} == {__file__}


def test_a_traced_leaf_warns() -> None:
    with pytest.warns(tj.LostGradientWarning, match="makes a new leaf"):
        tj.jit(tj.grad(lambda x: tj.tensor(x, requires_grad=True) * x))(1.0)


def test_constants_do_not_warn() -> None:
    assert float(tj.grad(lambda x: tj.arange(x.item(), 3.0).sum() * x)(1.0)) == 3.0
    assert float(tj.grad(lambda x: tj.tensor(x.detach(), requires_grad=True) * x)(2.0)) == 2.0
