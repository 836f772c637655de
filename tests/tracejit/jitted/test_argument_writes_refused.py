"""Errors for arguments that cannot be written, which name the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .written import adds, arrays, fresh, read_only, same, writes_leaves


class Box:
    def __init__(self, content: Any) -> None:
        self.content = content


tj.register_pytree_node(Box, lambda box: ((box.content,), None), lambda _, children: Box(*children))


def test_registered_nodes_cannot_be_changed() -> None:
    def f(pair: Any) -> Any:
        pair[0].content = pair[0].content + 1.0
        return pair[0].content

    with pytest.raises(
        tj.TracejitError, match=r"f: argument pair\[0\].* is in a Box, which the function changes"
    ):
        tj.jit(f)([Box(tj.ones(2))])
    box = Box(tj.ones(2))
    tj.jit(lambda box: box.content.add_(1.0))(box)
    assert box.content.tolist() == [2.0, 2.0]


REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "read-only array": (
        adds,
        (read_only(),),
        "adds: argument x is written in place, but its memory is read-only",
    ),
    "tensor of a read-only array": (adds, (tj.asarray(read_only()),), "argument x .* read-only"),
    "broadcast view": (
        adds,
        (np.lib.stride_tricks.as_strided(np.ones(1), (4,), (0,)),),
        "argument x .* several of its elements share memory",
    ),
    "windows": (
        adds,
        (np.lib.stride_tricks.as_strided(np.ones(5), (4, 2), (8, 8)),),
        "argument x .* several of its elements share memory",
    ),
    "in a loop body": (
        lambda x: tj.fori_loop(0, 3, lambda i, c: c + x.add_(1.0).sum(), 0.0),
        (tj.ones(4),),
        "from outside a loop body, a branch or a mapped function is being written inside it",
    ),
    "in a mapped function": (
        lambda x: tj.vmap(lambda y: y * x.add_(1.0).sum())(x * 1.0),
        (tj.ones(4),),
        "from outside a loop body, a branch or a mapped function is being written inside it",
    ),
    "in a tree": (
        writes_leaves,
        ({"w": read_only(), "layers": [fresh(), [fresh(), 1.0]]},),
        r"argument tree\['w'\]",
    ),
    "number": (lambda x: x.fill_(1.0), (2.0,), "argument x is a Python number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_written_is_an_error_that_names_it(case: str) -> None:
    function, args, message = REFUSED[case]
    before = arrays(args)
    compiled = tj.jit(function)
    for _ in range(2):
        with pytest.raises(tj.TracejitError, match=message):
            compiled(*args)
        same(args, before, "nothing was changed")


CAPTURED = tj.tensor(fresh())


def test_a_capture_that_shares_memory() -> None:
    def f(x: Any) -> Any:
        x += 1.0
        return x + CAPTURED

    with pytest.warns(tj.UncompiledCallWarning, match="x is written in place, and CAPTURED shares memory"):
        assert tj.jit(f)(CAPTURED).tolist() == (2 * (fresh() + 1)).tolist()
    assert CAPTURED.tolist() == (fresh() + 1).tolist()
