"""Saved-tensor hooks around jitted functions: packing, on the CPU, on disk."""

from __future__ import annotations

import gc
import os

import pytest

import tracejit as tj
from tracejit.state import STATE
from tracejit.tape.recording import _observers

from ...autograd.functions import Cube
from .common import cubes, graph, leaf, total


def test_what_a_jitted_call_saves_goes_through_hooks():
    """The residuals of the compiled backward, and the arguments that are no leaves, for a second gradient."""
    log = []

    def pack(t):
        log.append(t.tolist())
        return t.tolist()

    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(pack, tj.tensor):
        y = total(x)
    assert sorted(log) == [[1.0, 2.0], [1.0, 4.0]]  # x and x^2
    (g,) = tj.autograd.grad(y, [x], create_graph=True)
    assert g.tolist() == [3.0, 12.0]
    assert tj.autograd.grad(g.sum(), [x])[0].tolist() == [6.0, 12.0]
    log.clear()
    with graph.saved_tensors_hooks(pack, tj.tensor):
        y = total(x * 1)
    assert sorted(log) == [[1.0, 2.0], [1.0, 2.0], [1.0, 4.0]]
    (g,) = tj.autograd.grad(y, [x], create_graph=True)
    assert tj.autograd.grad(g.sum(), [x])[0].tolist() == [6.0, 12.0]


def test_unpack_decides_what_backward_works_with():
    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t * 10):
        y = total(x)
    y.backward()  # ct x^2 + ct x x + ct x x of the residuals x^2 and x: 10 x^2 + 2 * 100 x^2
    assert x.grad.tolist() == [210.0, 840.0]


@pytest.mark.parametrize("keep", [graph.save_on_cpu, graph.save_on_disk])
def test_second_gradients_through_packed_leaves(keep):
    for f in (lambda x: x**3, lambda x: x * x * x, Cube.apply, cubes):
        x = leaf(2.0)
        with keep():
            y = f(x).sum()
        (g,) = tj.autograd.grad(y, [x], create_graph=True)
        assert (g.item(), tj.autograd.grad(g.sum(), [x])[0].item()) == (12.0, 12.0)


def test_save_on_disk_removes_its_files(tmp_path):
    x = leaf(1.0, 2.0)
    with graph.save_on_disk(tmp_path):
        used, dropped = total(x), total(x)
    assert len(os.listdir(tmp_path)) == 4
    used.backward()
    assert len(os.listdir(tmp_path)) == 2
    del dropped
    gc.collect()
    assert os.listdir(tmp_path) == []
    assert x.grad.tolist() == [3.0, 12.0]


def test_save_on_disk_in_a_directory_that_is_not_there(tmp_path):
    x = leaf(1.0, 2.0)
    where = tmp_path / "nowhere"
    with (
        pytest.raises(tj.GradientError, match=r"save_on_disk: cannot make a file in .*nowhere .*pass a dir"),
        graph.save_on_disk(where),
    ):
        x * x
    assert STATE.saved_hooks is None
    assert _observers == [0]
    total(x).backward()
    assert x.grad.tolist() == [3.0, 12.0]
