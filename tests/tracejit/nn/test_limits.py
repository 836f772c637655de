"""Infinities, NaN, huge and empty arguments, ties, padding, and second derivatives."""

# Tables of cases read best one to a line.
# ruff: noqa: E501

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit as tj

nn = tj.nn
INF, NAN = math.inf, math.nan


def both(function):
    """The function itself, and compiled."""
    return [function, tj.jit(function)]


def slope(function, *args):
    return tj.grad(lambda *each: tj.sum(function(*each)))(*[tj.tensor(argument) for argument in args])


AT_INFINITY = {  # at -inf, +inf, -1e30, 1e30
    "relu": (0.0, INF, 0.0, 1e30),
    "relu6": (0.0, 6.0, 0.0, 6.0),
    "hardtanh": (-1.0, 1.0, -1.0, 1.0),
    "leaky_relu": (-INF, INF, -1e28, 1e30),
    "elu": (-1.0, INF, -1.0, 1e30),
    "selu": (-1.7580993408473766, INF, -1.7580993408473766, 1.0507009873554805e30),
    "celu": (-1.0, INF, -1.0, 1e30),
    "sigmoid": (0.0, 1.0, 0.0, 1.0),
    "softplus": (0.0, INF, 0.0, 1e30),
    "log_sigmoid": (-INF, 0.0, -1e30, 0.0),
    "silu": (NAN, INF, 0.0, 1e30),
    "gelu": (NAN, INF, 0.0, 1e30),
}
SLOPES = dict.fromkeys(("relu", "elu", "celu", "sigmoid", "softplus", "silu", "gelu"), (0.0, 1.0)) | {
    "relu6": (0.0, 0.0), "hardtanh": (0.0, 0.0), "leaky_relu": (0.01, 1.0), "sigmoid": (0.0, 0.0),
    "selu": (0.0, 1.0507009873554805), "log_sigmoid": (1.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", AT_INFINITY)
@pytest.mark.parametrize("mode", [0, 1])
def test_far_out(name, mode):
    function = both(getattr(nn, name))[mode]
    with np.errstate(invalid="ignore"):  # 0 times infinity
        result = function(tj.tensor([-INF, INF, -1e30, 1e30]))
        unknown = function(tj.tensor([NAN]))
    np.testing.assert_allclose(result.numpy(), AT_INFINITY[name], rtol=1e-15)
    assert np.isnan(unknown.numpy()).all()
    np.testing.assert_allclose(slope(function, [-1e5, 1e5]).numpy(), SLOPES[name], rtol=1e-15)


def test_tails_keep_relative_precision():
    # mpmath: sigmoid(-40), log_sigmoid(40), softplus(-40), gelu(-10), sigmoid(-100)
    x = tj.tensor
    for function, at, expected in (
        (nn.sigmoid, -40.0, 4.248354255291589e-18),
        (nn.log_sigmoid, 40.0, -4.248354255291589e-18),
        (nn.softplus, -40.0, 4.248354255291589e-18),
        (nn.gelu, -10.0, -7.619853024160527e-23),
        (nn.sigmoid, -100.0, 3.720075976020836e-44),
    ):
        for way in both(function):
            np.testing.assert_allclose(way(x(at)).item(), expected, rtol=1e-14)
    # 0.5 x (1 + tanh(u)) in 50 digits
    np.testing.assert_allclose(nn.gelu(x(-5.0), "tanh").item(), -2.2917961966295061e-07, rtol=1e-12)


@pytest.mark.parametrize("mode", [0, 1])
def test_slopes_at_kinks(mode):
    zero = [0.0]
    for name, expected in (("relu", 0.0), ("leaky_relu", 0.01), ("relu6", 0.0), ("sigmoid", 0.25),
                         ("log_sigmoid", 0.5), ("silu", 0.5), ("softplus", 0.5), ("gelu", 0.5), ("elu", 1.0)):  # fmt: skip
        assert slope(both(getattr(nn, name))[mode], zero).item() == pytest.approx(expected, rel=1e-15)
    assert slope(nn.relu6, [6.0]).item() == 0.0
    assert slope(nn.hardtanh, [-1.0, 1.0]).tolist() == [0.0, 0.0]
    assert slope(nn.l1_loss, [1.0], [1.0]).item() == 0.0


@pytest.mark.parametrize("mode", [0, 1])
def test_softmax_with_infinities(mode):
    soft, log_soft = both(nn.softmax)[mode], both(nn.log_softmax)[mode]
    rows = tj.tensor([[-INF, 0.0, 0.0], [1e308, -1e308, 1e308]])
    with np.errstate(over="ignore"):
        assert soft(rows).tolist() == [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]
    half = -math.log(2.0)
    assert log_soft(rows[:1]).tolist() == [[-INF, half, half]]
    with np.errstate(invalid="ignore"):
        for row in ([-INF, -INF], [INF, 0.0]):
            assert np.isnan(soft(tj.tensor(row)).numpy()).all()
            assert np.isnan(log_soft(tj.tensor(row)).numpy()).all()


def test_softmax_of_nothing_and_one():
    assert nn.softmax(tj.zeros((0, 3))).shape == (0, 3)
    assert nn.log_softmax(tj.zeros((3, 0))).shape == (3, 0)
    assert nn.softmax(5.0).item() == 1.0
    assert nn.log_softmax(5.0).item() == 0.0
    assert nn.softmax([1, 2], dtype=tj.float32).dtype == np.float32


@pytest.mark.parametrize("mode", [0, 1])
def test_cross_entropy_at_infinity(mode):
    loss = both(lambda x, t: nn.cross_entropy(x, t, reduction="none"))[mode]
    x = tj.tensor([[-INF, 0.0, 0.0], [-INF, 0.0, 0.0]])
    assert loss(x, tj.tensor([1, 0])).tolist() == [math.log(2.0), INF]
    gradient = tj.grad(lambda x: tj.sum(loss(x, tj.tensor([1, 2]))))(x)
    assert gradient.tolist() == [[0.0, -0.5, 0.5], [0.0, 0.5, -0.5]]
    # an ignored sample counts 0 whatever its scores
    bad = tj.tensor([[NAN, INF, 0.0], [0.0, 0.0, 0.0]])
    with np.errstate(invalid="ignore"):
        ignored = both(lambda x, t: nn.cross_entropy(x, t, reduction="none"))[mode](bad, tj.tensor([-100, 1]))
    np.testing.assert_allclose(ignored.numpy(), [0.0, math.log(3.0)], rtol=1e-15)


def test_float32_scores_of_ten_thousand():
    x = tj.tensor(np.array([[10000.0, 9999.0]], np.float32))
    for loss in both(nn.cross_entropy):
        assert loss(x, tj.tensor([0])).item() == pytest.approx(0.3132616875, rel=1e-6)


def test_losses_of_nothing():
    with np.errstate(invalid="ignore"):
        assert np.isnan(nn.cross_entropy(tj.zeros((0, 3)), []).item())
        assert np.isnan(nn.cross_entropy(tj.zeros((2, 3)), [1, 1], ignore_index=1).item())
    assert nn.cross_entropy(tj.zeros((0, 3)), [], reduction="sum").item() == 0.0
    assert nn.nll_loss(tj.zeros((0, 3, 2)), tj.zeros((0, 2), dtype=int), reduction="none").shape == (0, 2)
    assert nn.mse_loss(tj.zeros((0,)), tj.zeros((0,)), "sum").item() == 0.0


def test_huber_of_what_has_no_square():
    x = tj.tensor([1e300, -1e300])
    assert nn.huber_loss(x, 0.0, "none").tolist() == [1e300, 1e300]
    assert slope(nn.huber_loss, [1e300], [0.0]).item() == 1.0


@pytest.mark.parametrize("mode", [0, 1])
def test_binary_cross_entropy_on_the_bounds(mode):
    x, t = tj.tensor([0.0, 1.0, 0.0, 1.0]), tj.tensor([1.0, 0.0, 0.0, 1.0])
    loss = both(lambda x, t: nn.binary_cross_entropy(x, t, reduction="none"))[mode]
    assert loss(x, t).tolist() == [100.0, 100.0, 0.0, 0.0]
    assert slope(loss, x, t).tolist() == [-1e12, 1e12, 0.0, 0.0]
    # in the target the slope is that of the limited logarithms
    results = tj.grad(lambda t: tj.sum(loss(x, t)))(t)
    assert results.tolist() == [100.0, -100.0, 100.0, -100.0]


@pytest.mark.parametrize("mode", [0, 1])
def test_max_pool_takes_the_first_maximum(mode):
    pool = both(lambda x: nn.max_pool2d(x, 2))[mode]
    assert slope(pool, [[[3.0, 3.0], [3.0, 3.0]]]).tolist() == [[[1.0, 0.0], [0.0, 0.0]]]
    assert slope(pool, [[[1.0, 3.0], [3.0, 2.0]]]).tolist() == [[[0.0, 1.0], [0.0, 0.0]]]
    assert np.isnan(pool(tj.tensor([[[1.0, NAN], [3.0, 2.0]]])).numpy()).all()
    assert pool(tj.tensor([[[-INF, -INF], [-INF, -INF]]])).tolist() == [[[-INF]]]
    assert pool(tj.tensor([[[-5, -3], [-9, -7]]])).tolist() == [[[-3]]]


def test_integers():
    assert nn.relu(tj.tensor([-1, 2])).dtype == np.int64
    assert nn.relu6(tj.tensor([-1, 9])).tolist() == [0, 6]
    assert nn.sigmoid(tj.tensor([0])).dtype == np.float64
    assert nn.avg_pool2d(tj.tensor([[[1, 2], [3, 4]]]), 2).tolist() == [[[2.5]]]
    assert nn.max_pool2d(tj.tensor([[[-1, -2], [-3, -4]]]), 3, 1, 1).tolist() == [[[-1, -1], [-1, -1]]]
    assert nn.conv2d(tj.tensor([[[1, 2], [3, 4]]]), tj.tensor([[[[1, 1], [1, 1]]]])).tolist() == [[[10]]]


def test_embedding_and_one_hot():
    table = [[0.0, 1.0], [2.0, 3.0]]
    assert nn.embedding([], table).shape == (0, 2)
    assert nn.embedding(1, table).tolist() == [2.0, 3.0]
    assert nn.one_hot([0, 2]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert nn.one_hot(1, 2).tolist() == [0, 1]
    assert nn.one_hot([0, 1], 2).dtype == np.int64
    assert nn.one_hot([], 3).shape == (0, 3)


@pytest.mark.parametrize("mode", [0, 1])
def test_empty_batches(mode):
    x = tj.zeros((0, 2, 5, 5))
    assert both(lambda x: nn.conv2d(x, np.ones((3, 2, 3, 3)), padding=1))[mode](x).shape == (0, 3, 5, 5)
    assert both(lambda x: nn.max_pool2d(x, 2))[mode](x).shape == (0, 2, 2, 2)
    assert both(lambda x: nn.avg_pool2d(x, 3, 2, 1))[mode](x).shape == (0, 2, 3, 3)
    assert both(lambda x: nn.layer_norm(x, 5))[mode](x).shape == x.shape
    assert both(lambda x: nn.linear(x, np.ones((4, 5))))[mode](x).shape == (0, 2, 5, 4)
    assert both(nn.normalize)[mode](x).shape == x.shape


def test_where_a_call_is_its_own_reference():
    """conv1d is conv2d with one row, and a convolution with equal weights the mean of a pool."""
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(2, 3, 9)), rng.normal(size=(4, 3, 3))
    flat = nn.conv1d(x, w, stride=2, padding=1).numpy()
    np.testing.assert_array_equal(
        flat, nn.conv2d(x[:, :, None], w[:, :, None], None, (1, 2), (0, 1)).numpy()[:, :, 0]
    )
    image = rng.normal(size=(2, 3, 7, 8))
    mean = nn.conv2d(image, np.full((3, 1, 3, 2), 1 / 6), stride=(2, 1), groups=3)
    np.testing.assert_allclose(
        mean.numpy(), nn.avg_pool2d(image, (3, 2), (2, 1)).numpy(), rtol=1e-13, atol=1e-14
    )


def test_gradients_to_second_order(check_gradients, rng):
    x = rng.normal(size=7)
    for name in (
        "elu",
        "selu",
        "celu",
        "sigmoid",
        "silu",
        "softplus",
        "log_sigmoid",
        "gelu",
        "softmax",
        "log_softmax",
    ):
        check_gradients(getattr(nn, name), x)
    check_gradients(lambda a: nn.gelu(a, "tanh"), x)
    scores, target = rng.normal(size=(3, 4)), np.array([2, 0, 3])
    check_gradients(lambda a: nn.cross_entropy(a, target, label_smoothing=0.2), scores)
    check_gradients(lambda a, w: nn.nll_loss(a, target, w), scores, rng.uniform(0.5, 2.0, 4))
    check_gradients(nn.cross_entropy, scores, rng.uniform(size=(3, 4)))
    p, t = rng.uniform(0.1, 0.9, 5), rng.uniform(0.1, 0.9, 5)
    for name in (
        "mse_loss",
        "huber_loss",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "kl_div",
    ):
        check_gradients(getattr(nn, name), p, t)
    check_gradients(lambda a, w, b: nn.layer_norm(a, 4, w, b), scores, rng.normal(size=4), rng.normal(size=4))
    for order in (1.0, 2.0, 3.0):
        check_gradients(lambda a, p=order: nn.normalize(a, p), scores)


def test_window_gradients(check_gradients, rng):
    x, w, b = rng.normal(size=(1, 2, 4, 4)), rng.normal(size=(2, 1, 2, 3)), rng.normal(size=2)
    check_gradients(
        lambda *a: nn.conv2d(*a, stride=(1, 2), padding=1, dilation=(2, 1), groups=2), x, w, b, second=False
    )
    check_gradients(lambda a: tj.square(nn.conv2d(a, w, padding="same", groups=2)), x, second=False)
    check_gradients(lambda a: tj.square(nn.max_pool2d(a, 3, 2, 1)), x)
    check_gradients(lambda a: tj.square(nn.avg_pool2d(a, 3, 2, 1, count_include_pad=False)), x)
