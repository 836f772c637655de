"""NumPy's names of views (`view_calls`): what is written through them reaches what they show, with its
gradient, eagerly by native calls and by Python functions, and under a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...runtime.programs import python
from ..dispatch.native_calls import native_calls

VIEWS: dict[str, Callable[[Any], Any]] = {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose": lambda x: x.transpose(1, 0, 2),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "squeeze": lambda x: x[:, :, :1].squeeze(),
    "squeeze axis": lambda x: x[:, :1].squeeze(1),
    "moveaxis": lambda x: tj.moveaxis(x, 0, 2),
    "view": lambda x: x.view(),
    "flip": lambda x: tj.flip(x),
    "flip axes": lambda x: tj.flip(x, (0, 2)),
    "split": lambda x: tj.split(x, 3, 1)[1],
    "diagonal": lambda x: x[0].diagonal(),
    "diagonal of planes": lambda x: tj.diagonal(x, 1, 1, 2),
    "diagonal of turned planes": lambda x: tj.diagonal(x.T, -1, 2, 0),
    "several": lambda x: x.swapaxes(0, 1).diagonal(1, 1, 2).T[1:].view(),
}


def written(show: Callable[[Any], Any], x: Any, w: Any) -> Any:
    """`x` times two, with `w` added in place to what `show` shows of it."""
    x = x * 2.0
    other, view = x[1], show(x)
    view += w
    return x, view, other


@pytest.mark.parametrize("name", VIEWS)
def test_writes_reach_what_is_shown(name: str) -> None:
    show = VIEWS[name]
    data = np.arange(24.0).reshape(2, 3, 4)
    numbers = tj.arange(24).reshape(2, 3, 4)
    places = show(numbers).numpy()
    assert np.shares_memory(places, numbers.numpy())
    expected = data * 2.0
    expected.reshape(-1)[places] += 3.0

    def loss(x: Any, w: Any) -> Any:
        return sum((part * part).sum() for part in written(show, x, w))

    gradients = []
    for on in (True, False):
        with native_calls(on):
            x, view, other = written(show, tj.tensor(data), tj.tensor(3.0))
            assert x.numpy().tolist() == expected.tolist()
            assert view.numpy().tolist() == expected.reshape(-1)[places].tolist()
            assert np.shares_memory(view.numpy(), x.numpy())
            gradients.append(tj.grad(loss, (0, 1))(tj.tensor(data), tj.tensor(3.0)))
            leaf, w = tj.tensor(data, requires_grad=True), tj.tensor(3.0, requires_grad=True)
            loss(leaf, w).backward()
            gradients.append((leaf.grad, w.grad))
    traced = tj.jit(lambda x, w: written(show, x, w))(tj.tensor(data), tj.tensor(3.0))
    for part, eager in zip(traced, (x, view, other), strict=True):
        assert part.tolist() == eager.tolist()
    gradients.append(tj.jit(tj.grad(loss, (0, 1)))(tj.tensor(data), tj.tensor(3.0)))
    counts = np.ones(24)
    counts[places] += 1
    counts.reshape(2, 12)[1] += 1
    for by_x, by_w in gradients:
        np.testing.assert_allclose(by_x.numpy(), (4 * expected * counts.reshape(2, 3, 4)), rtol=1e-14)
        np.testing.assert_allclose(
            by_w.numpy(), (2 * expected.reshape(-1) * counts)[places].sum(), rtol=1e-14
        )


def test_a_diagonal_may_be_written_where_its_operand_may() -> None:
    with native_calls(True):
        x = tj.tensor(np.eye(3))
        assert x.diagonal().numpy().flags.writeable
        fixed = tj.broadcast_to(x, (2, 3, 3))
        assert not fixed.numpy().flags.writeable
        assert not fixed[0].diagonal().numpy().flags.writeable


COLLECTED = """
import gc
import tracejit as tj
from tracejit.dispatch import native_ops

native_ops.load()
gc.disable()
base = tj.ones((4, 4))
view = base[0]

class Cycle:
    def __init__(self):
        self.own = self

    def __del__(self):
        global others
        view._aliases = tuple([*view._aliases])  # as writes do
        others = [tuple([object() for _ in view._aliases]) for _ in range(20)]

gc.set_threshold(1, 1, 1)
gc.enable()
for _ in range(2000):
    Cycle()
    aliases = view[None]._aliases
    assert aliases[0] is base and len(aliases) == 5, aliases
print("fine")
"""


def test_what_a_view_has_noted_changes_while_a_view_of_it_is_made() -> None:
    """The collector runs Python code in the midst of native code."""
    assert python(COLLECTED).strip() == "fine"
