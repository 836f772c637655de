"""Rows of the table: activations."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp

import tracejit as tj

from .elementary import ONE, ZERO
from .entries import Entry, by_sign, constant, unary

_ALPHA = 1.6732632423543772848170429916717
_SCALE = 1.0507009873554804934193349852946


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def sigmoid_slope(x: Any) -> Any:
    return sigmoid(x) * sigmoid(-x)


def sigmoid_bend(x: Any) -> Any:
    return -sigmoid_slope(x) * mp.tanh(x / 2)


def density(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def ncdf(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def log_sigmoid(x: Any) -> Any:
    return -mp.log1p(mp.exp(-x))


def _curve(order: int, scale: float, alpha: float, width: float = 1.0) -> Any:
    """scale alpha (e^(x / width) - 1) below 0, scale x above."""

    def below(x: Any) -> Any:
        if order == 0:
            return mp.mpf(scale) * alpha * mp.expm1(x / width)
        return mp.mpf(scale) * alpha * mp.exp(x / width) / mp.mpf(width) ** order

    above = (lambda x: x * scale, constant(scale), ZERO)[order]
    return by_sign(below, above, mp.mpf(0) if order == 0 else None)


def _gelu_tanh(order: int) -> Any:
    def truth(x: Any) -> Any:
        c = 2 * mp.sqrt(2 / mp.pi)
        h, slope, bend = c * (x + 0.044715 * x**3), c * (1 + 3 * 0.044715 * x**2), c * 6 * 0.044715 * x
        if order == 0:
            return x * sigmoid(h)
        if order == 1:
            return sigmoid(h) + x * sigmoid_slope(h) * slope
        return 2 * sigmoid_slope(h) * slope + x * (sigmoid_bend(h) * slope**2 + sigmoid_slope(h) * bend)

    return truth


def _softplus(order: int) -> Any:
    curve = (lambda x: mp.log1p(mp.exp(x)), sigmoid, sigmoid_slope)[order]
    line = (lambda x: x, ONE, ZERO)[order]
    return lambda x: line(x) if x > 20 else curve(x)


def _between(low: float, high: float) -> tuple[Any, Any, Any]:
    return (
        lambda x: min(max(x, low), high),
        lambda x: None if x in (low, high) else mp.mpf(int(low < x < high)),
        ZERO,
    )


ENTRIES: list[Entry] = [
    unary("nn.relu", tj.nn.relu, lambda x: max(x, 0), lambda x: mp.mpf(int(x > 0)), ZERO),
    unary("nn.relu6", tj.nn.relu6, *_between(0, 6)),
    unary("nn.hardtanh", tj.nn.hardtanh, *_between(-1, 1)),
    unary("nn.leaky_relu", tj.nn.leaky_relu, lambda x: x if x > 0 else x * mp.mpf(0.01),
          lambda x: mp.mpf(1 if x > 0 else 0.01), ZERO),
    unary("nn.elu", tj.nn.elu, *[_curve(order, 1.0, 1.0) for order in range(3)]),
    unary("nn.selu", tj.nn.selu, *[_curve(order, _SCALE, _ALPHA) for order in range(3)]),
    unary("nn.celu", lambda x: tj.nn.celu(x, 2.0), *[_curve(order, 1.0, 2.0, 2.0) for order in range(3)]),
    unary("nn.sigmoid", tj.nn.sigmoid, sigmoid, sigmoid_slope, sigmoid_bend),
    unary("nn.silu", tj.nn.silu, lambda x: x * sigmoid(x), lambda x: sigmoid(x) + x * sigmoid_slope(x),
          lambda x: 2 * sigmoid_slope(x) + x * sigmoid_bend(x), near=(-1.2784645, 2.3993573, -2.3993573)),
    unary("nn.gelu", tj.nn.gelu, lambda x: x * ncdf(x), lambda x: ncdf(x) + x * density(x),
          lambda x: density(x) * (2 - x * x), near=(math.sqrt(2), -math.sqrt(2), -38.0, -0.7517916)),
    unary("nn.gelu of tanh", lambda x: tj.nn.gelu(x, "tanh"), *map(_gelu_tanh, range(3)), near=(-2.2,)),
    unary("nn.softplus", tj.nn.softplus, *map(_softplus, range(3)), near=(20.0,)),
    unary("nn.log_sigmoid", tj.nn.log_sigmoid, log_sigmoid, lambda x: sigmoid(-x),
          lambda x: -sigmoid_slope(x)),
]  # fmt: skip
