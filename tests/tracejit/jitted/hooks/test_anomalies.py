"""Anomaly detection: which line a NaN of a jitted function is blamed on."""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import tracejit as tj
from tracejit.tape.recording import _observers

from .common import jit, leaf, total


@contextmanager
def anomaly_at(node, function, offset):
    """The block raises, and names `node` and the line `offset` lines into `function`."""
    line = function.__code__.co_firstlineno + offset
    with pytest.raises(tj.GradientError) as failure, tj.autograd.detect_anomaly():
        yield
    assert f"function '{node}' returned nan values in its 0th output" in str(failure.value)
    assert re.search(rf"{os.path.basename(__file__)}:{line}\b", str(failure.value))
    assert not tj.autograd.is_anomaly_enabled()
    assert _observers == [0]


nothing = jit(lambda x: (tj.sqrt(x) * 0).sum())


def test_a_nan_in_a_jitted_function_names_the_line_of_its_call():
    def run(x):
        y = x * 1
        return nothing(y)

    with anomaly_at("JitBackward", run, 2):
        run(leaf(0.0)).backward()


def test_a_nan_in_a_function_names_the_line_that_applied_it():
    class Bad(tj.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, ct):
            return ct * tj.nan

    def run(x):
        return Bad.apply(x)

    with anomaly_at("BadBackward", run, 1):
        run(leaf(0.0)).sum().backward()


def test_anomaly_detection_in_generators_and_threads():
    @tj.autograd.detect_anomaly()
    def running():
        while True:
            yield tj.autograd.is_anomaly_enabled()

    generator = running()
    assert [next(generator), tj.autograd.is_anomaly_enabled(), next(generator)] == [True, False, True]
    generator.close()
    results = []

    def other():
        results.append(tj.autograd.is_anomaly_enabled())
        x = leaf(0.0)
        nothing(x).backward()
        results.append(bool(np.isnan(x.grad.item())))

    with tj.autograd.detect_anomaly():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert results == [False, True]
    assert _observers == [0]


def test_no_anomaly_where_gradients_are_numbers():
    x = leaf(1.0, 2.0)
    with tj.autograd.detect_anomaly():
        total(x).backward()
    assert x.grad.tolist() == [3.0, 12.0]
