"""The tutorial prints what its readers are told, and what PyTorch does but for digits and nodes' names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit as tj

_ROOT = Path(__file__).parents[2]

#: PyTorch 2.15 prints this for float64, with four digits, <AddBackward0> and the like for its nodes, an
#: address in ``print(y.grad_fn)``, and other random numbers.
EXPECTED = """\
tensor([[1., 1.],
        [1., 1.]], requires_grad=True)
tensor([[3., 3.],
        [3., 3.]], grad_fn=<AddBackward>)
<AddBackward>
tensor([[27., 27.],
        [27., 27.]], grad_fn=<MulBackward>) tensor(27., grad_fn=<MeanBackward>)
False
True
<SumBackward>
tensor([[4.5, 4.5],
        [4.5, 4.5]])
tensor([ 985.10048188,  -83.97384979, -361.98577666],
       grad_fn=<MulBackward>)
tensor([5.12e+01, 5.12e+02, 5.12e-02])
True
True
False
True
False
tensor(True)
"""


def test_output() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(_ROOT / "examples" / "autograd_tutorial.py")],
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.stderr == ""
    assert ran.stdout == EXPECTED


def test_the_mean_and_its_gradient() -> None:
    x = tj.ones((2, 2), requires_grad=True)
    y = x + 2
    out = (y * y * 3).mean()
    assert out.item() == 27
    out.backward()
    assert x.grad.tolist() == [[4.5, 4.5], [4.5, 4.5]]


def test_requires_grad_in_place_starts_a_graph() -> None:
    a = tj.tensor([2.0, 3.0])
    a = (a * 3) / (a - 1)
    assert not a.requires_grad
    a.requires_grad_(True)
    b = (a * a).sum()
    assert b.grad_fn.name() == "SumBackward"
    b.backward()
    assert a.grad.tolist() == [12, 9]


@pytest.mark.parametrize(
    ("start", "doublings"),
    [
        ([3.0, 4.0, 0.0], 8),  # 5 * 2^7 = 640, 5 * 2^8 = 1280
        ([300.0, 400.0, 0.0], 1),  # 2 * 500 is not below 1000
        ([1000.0, 0.0, 0.0], 1),
    ],
)
def test_a_loop_that_looks_at_data(start: list[float], doublings: int) -> None:
    x = tj.tensor(start, requires_grad=True)
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    assert y.tolist() == [number * 2**doublings for number in start]
    y.backward(tj.tensor([0.1, 1.0, 0.0001]))
    assert x.grad.tolist() == [0.1 * 2**doublings, 2**doublings, 0.0001 * 2**doublings]


def test_what_is_cut_off() -> None:
    x = tj.random.randn(3, requires_grad=True)
    assert (x**2).requires_grad
    with tj.no_grad():
        assert not (x**2).requires_grad
    y = x.detach()
    assert not y.requires_grad
    assert x.eq(y).all()
