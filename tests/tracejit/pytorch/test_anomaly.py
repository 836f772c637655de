"""Anomaly detection: as in PyTorch, with its numbers."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import numpy as np

import tracejit as tj

from .common import leaf, refuses, values


@contextmanager
def quietly():
    """Silence the warning that anomaly detection is slow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_anomaly_detection_finds_nan():
    x = leaf(-1.0, 4.0)
    with quietly(), tj.autograd.detect_anomaly():
        y = tj.sqrt(x)
        with refuses(tj.GradientError, "SqrtBackward", "nan"):
            y.sum().backward()
    assert x.grad is None


def test_anomaly_detection_names_the_line():
    with quietly(), tj.autograd.detect_anomaly():
        y = tj.sqrt(leaf(-1.0))  # this line
        with open(__file__) as source:
            line = next(i for i, text in enumerate(source, 1) if "# this line" in text)
        with refuses(tj.GradientError, f"test_anomaly.py:{line}"):
            y.sum().backward()


def test_anomaly_detection_may_leave_nan_alone():
    x = leaf(-1.0)
    with quietly(), tj.autograd.detect_anomaly(check_nan=False):
        tj.sqrt(x).sum().backward()
    assert str(values(x.grad)) == "[nan]"


def test_anomaly_detection_is_off_outside():
    with quietly(), tj.autograd.detect_anomaly():
        pass
    x = leaf(-1.0)
    with np.errstate(invalid="ignore"):
        tj.sqrt(x).sum().backward()
    assert str(values(x.grad)) == "[nan]"


@np.errstate(invalid="ignore")
def test_set_detect_anomaly():
    with quietly():
        tj.autograd.set_detect_anomaly(True)
    try:
        with quietly(), refuses(tj.GradientError, "nan"):
            tj.sqrt(leaf(-1.0)).sum().backward()
    finally:
        tj.autograd.set_detect_anomaly(False)
    tj.sqrt(leaf(-1.0)).sum().backward()
    with quietly(), tj.autograd.set_detect_anomaly(True), refuses(tj.GradientError, "nan"):
        tj.sqrt(leaf(-1.0)).sum().backward()
    tj.sqrt(leaf(-1.0)).sum().backward()


def test_anomaly_detection_lets_right_gradients_through():
    x = leaf(2.0)
    with quietly(), tj.autograd.detect_anomaly():
        (x * x).sum().backward()
    assert values(x.grad) == [4]
