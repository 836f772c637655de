"""Errors for invalid requests, which name the argument, the expected value and the given one."""

# Tables of cases read best one to a line.
# ruff: noqa: E501

from __future__ import annotations

import re

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import (
    AxisError,
    ConcretizationError,
    DomainError,
    DTypeError,
    OutOfBoundsError,
    ShapeError,
)

nn = tj.nn
Z, LABELS = np.zeros((2, 3)), np.array([0, 2])
IMAGE, KERNEL = np.zeros((1, 4, 5, 6)), np.zeros((6, 4, 3, 3))

CASES = [
    (lambda: nn.relu([True]), DTypeError, "relu: expected numbers, got bools; convert with x.astype(tj.float32)"),
    (lambda: nn.hardtanh([1.0], 2.0, 1.0), DomainError, "hardtanh: min_val must not be above max_val, got 2.0 and 1.0"),
    (lambda: nn.celu([1.0], 0), DomainError, "celu: alpha must not be 0"),
    (lambda: nn.softplus([1.0], 0), DomainError, "softplus: beta must not be 0"),
    (lambda: nn.gelu([1.0], "erf"), DomainError, "gelu: approximate must be 'none' or 'tanh', got 'erf'"),
    (lambda: nn.softmax(Z, 2), AxisError, "softmax: axis 2 is out of bounds for an array of rank 2"),
    (lambda: nn.log_softmax(Z, dtype=tj.int64), DTypeError, "log_softmax: dtype must be a floating dtype, got int64"),
    (lambda: nn.cross_entropy(Z, [0.0, 1.0]), DTypeError,
     "cross_entropy: targets of shape (2,) must be integer class indices, got f64[2]; convert with target.astype(tj.int64)"),
    (lambda: nn.cross_entropy(Z, np.zeros((2, 3), int)), ShapeError,
     "cross_entropy: scores of shape (2, 3) need targets of shape (2,), got (2, 3)"),
    (lambda: nn.nll_loss(Z, [0, 1, 2]), ShapeError, "nll_loss: scores of shape (2, 3) need targets of shape (2,), got (3,)"),
    (lambda: nn.nll_loss(0.0, 0), ShapeError, "nll_loss: expected scores of shape (N, C), (N, C, ...) or (C,) with C > 0, got ()"),
    (lambda: nn.cross_entropy(Z, [0, 3]), OutOfBoundsError, "cross_entropy: index 3 is out of range for 3 classes"),
    (lambda: nn.nll_loss(Z, [-1, 0]), OutOfBoundsError, "nll_loss: index -1 is out of range for 3 classes"),
    (lambda: nn.cross_entropy(Z, LABELS, np.ones(2)), ShapeError, "cross_entropy: expected a weight for each of 3 classes, got shape (2,)"),
    (lambda: nn.cross_entropy(Z, LABELS, label_smoothing=1.5), DomainError, "cross_entropy: label_smoothing must be in [0, 1], got 1.5"),
    (lambda: nn.cross_entropy(Z, Z, ignore_index=1), DomainError, "cross_entropy: ignore_index has no meaning for targets that are probabilities"),
    (lambda: nn.cross_entropy(Z, LABELS, reduction="avg"), DomainError, "cross_entropy: reduction must be 'mean', 'sum' or 'none', got 'avg'"),
    (lambda: nn.kl_div(Z, Z, "batch"), DomainError, "kl_div: reduction must be 'mean', 'sum', 'none' or 'batchmean', got 'batch'"),
    (lambda: nn.mse_loss(Z, np.zeros((2, 1))), ShapeError,
     "mse_loss: x and target must have one shape, got (2, 3) and (2, 1); reshape or broadcast one of them first"),
    (lambda: nn.huber_loss(Z, Z, delta=0), DomainError, "huber_loss: delta must be positive, got 0"),
    (lambda: nn.binary_cross_entropy(Z, Z, np.ones(2)), ShapeError,
     "binary_cross_entropy: a weight of shape (2,) does not broadcast to x of (2, 3)"),
    (lambda: nn.layer_norm(Z, 2), ShapeError, "layer_norm: the last axes of x must be normalized_shape (2,), got x of (2, 3)"),
    (lambda: nn.layer_norm(Z, 3, np.ones(2)), ShapeError, "layer_norm: expected a weight of shape (3,), got (2,)"),
    (lambda: nn.layer_norm(Z, 3, np.ones(3), np.ones(1)), ShapeError, "layer_norm: expected a bias of shape (3,), got (1,)"),
    (lambda: nn.layer_norm(Z, 3, None, np.ones(1)), ShapeError, "layer_norm: expected a bias of shape (3,), got (1,)"),
    (lambda: nn.normalize([1.0]), AxisError, "normalize: axis 1 is out of bounds"),
    (lambda: nn.linear(Z, np.zeros((3, 2))), ShapeError,
     "linear: expected x (..., in) and weight (out, in), got shapes (2, 3) and (3, 2); the weight is transposed here"),
    (lambda: nn.linear(Z, np.zeros((4, 3)), np.zeros(3)), ShapeError, "linear: expected a bias of shape (4,), got (3,)"),
    (lambda: nn.embedding([3], np.zeros((3, 2))), OutOfBoundsError, "embedding: index 3 is out of range for 3 rows"),
    (lambda: nn.embedding([-1], np.zeros((3, 2))), OutOfBoundsError, "embedding: index -1 is out of range for 3 rows"),
    (lambda: nn.embedding([1.0], np.zeros((3, 2))), DTypeError, "embedding: indices must be integers, got f64[1]; convert with"),
    (lambda: nn.embedding([1], np.zeros(3)), ShapeError, "embedding: expected a weight of shape (rows, width), got (3,)"),
    (lambda: nn.embedding([1], np.zeros((3, 2)), 3), OutOfBoundsError, "embedding: padding_idx 3 is out of range for 3 rows"),
    (lambda: nn.one_hot([3], 3), OutOfBoundsError, "one_hot: index 3 is out of range for 3 classes"),
    (lambda: nn.one_hot([-1]), ShapeError, "one_hot: num_classes must be positive, or -1"),
    (lambda: nn.one_hot([]), ShapeError, "one_hot: no index tells the number of classes; give num_classes"),
    (lambda: nn.conv2d(np.zeros((1, 4, 2, 6)), KERNEL), ShapeError,
     "conv2d: the kernel covers [3, 3] elements, more than the input of [2, 6] padded by [(0, 0), (0, 0)]"),
    (lambda: nn.conv2d(IMAGE, KERNEL, groups=3), ShapeError,
     "conv2d: groups=3 must divide the 4 channels of x and the 6 of the weight"),
    (lambda: nn.conv2d(IMAGE, KERNEL, groups=2), ShapeError,
     "conv2d: x has 4 channels, so with groups=2 the weight (O, C / groups, kh, kw) must have 2 in axis 1, got (6, 4, 3, 3)"),
    (lambda: nn.conv2d(IMAGE, KERNEL, groups=0), DomainError, "conv2d: groups must be a positive int, got 0"),
    (lambda: nn.conv2d(IMAGE, KERNEL[0]), ShapeError, "conv2d: expected a weight of shape (O, C / groups, kh, kw), got (4, 3, 3)"),
    (lambda: nn.conv2d(IMAGE[0, 0], KERNEL), ShapeError, "conv2d: expected x of shape (N, C, H, W), with or without the batch axis, got (5, 6)"),
    (lambda: nn.conv2d(IMAGE, KERNEL, np.zeros(4)), ShapeError, "conv2d: expected a bias of shape (6,), got (4,)"),
    (lambda: nn.conv2d(IMAGE, KERNEL, stride=0), DomainError, "conv2d: stride must be an int or 2 ints, of at least 1, got 0"),
    (lambda: nn.conv2d(IMAGE, KERNEL, stride=(1, 1, 1)), DomainError, "conv2d: stride must be an int or 2 ints, of at least 1, got (1, 1, 1)"),
    (lambda: nn.conv2d(IMAGE, KERNEL, dilation=1.5), DomainError, "conv2d: dilation must be integers, got 1.5"),
    (lambda: nn.conv2d(IMAGE, KERNEL, padding=-1), DomainError, "conv2d: padding must be an int or 2 ints, of at least 0, got -1"),
    (lambda: nn.conv2d(IMAGE, KERNEL, padding="full"), DomainError, "conv2d: padding must be integers, 'same' or 'valid', got 'full'"),
    (lambda: nn.conv2d(IMAGE, KERNEL, padding="same", stride=2), DomainError, "conv2d: padding 'same' needs stride 1, got stride (2, 2)"),
    (lambda: nn.conv1d(IMAGE, KERNEL), ShapeError, "conv1d: expected x of shape (N, C, L), with or without the batch axis, got (1, 4, 5, 6)"),
    (lambda: nn.max_pool2d(IMAGE, 7), ShapeError, "max_pool2d: the window of [7, 7] elements is larger than the input of [5, 6] padded by (0, 0)"),
    (lambda: nn.max_pool2d(IMAGE, 2, padding=2), DomainError,
     "max_pool2d: padding must be at most half of the window of [2, 2] elements, got (2, 2)"),
    (lambda: nn.max_pool2d(IMAGE > 0, 2), DTypeError, "max_pool2d: expected numbers, got bools"),
    (lambda: nn.avg_pool2d(IMAGE, 0), DomainError, "avg_pool2d: kernel_size must be an int or 2 ints, of at least 1, got 0"),
    (lambda: nn.avg_pool2d(IMAGE, 2, divisor_override=0), DomainError, "avg_pool2d: divisor_override must be an int other than 0, got 0"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[2])
def test_message(case):
    call, error, message = case
    with pytest.raises(error, match=re.escape(message)):
        call()


INDEXED = {
    "cross_entropy": lambda i: nn.cross_entropy(Z, i),
    "embedding": lambda i: nn.embedding(i, np.zeros((3, 2))),
    "one_hot": lambda i: nn.one_hot(i, 3),
}


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("bad", [3, -1, -3, 2**62])
def test_compiled_code_checks_indices_too(name, bad):
    with pytest.raises(OutOfBoundsError, match=r"an index is out of bounds for axis \d with size 3"):
        tj.jit(INDEXED[name])(tj.tensor([0, bad]))


def test_one_hot_of_traced_indices_needs_a_number():
    with pytest.raises(ConcretizationError, match="one_hot: the largest index decides the shape"):
        tj.jit(nn.one_hot)(tj.tensor([0, 1]))


def test_only_what_is_there_is_offered():
    assert [name for name in nn.__all__ if not callable(getattr(nn, name))] == []
    with pytest.raises(AttributeError, match="module 'tracejit' has no attribute 'nnn'"):
        _ = tj.nnn
