"""State after `tj.extend.isolated`: it leaves nothing but the marks of ops that are gone."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.content import NoContent, content
from tracejit.ir.registry import OPS


def test_code_of_ops_that_are_as_they_were_is_kept_on_disk_again() -> None:
    function = tj.trace(lambda x: x * x, np.ones(3))
    before = content(function)
    marks = set(OPS.foreign)
    with tj.extend.isolated():
        tj.register_gradient("mul", lambda ctx, ct: (ct, ct), override=True)
        with pytest.raises(NoContent, match="the op mul was registered or changed"):
            content(function)
    assert content(function) == before
    assert OPS.foreign == marks


def test_graphs_with_ops_that_are_gone_or_new_are_not() -> None:
    with tj.extend.isolated():
        op = tj.register_op("cube", inputs="x", elementwise=True)
        tj.register_kernel("cube", "numpy", lambda x: x**3)
        first = tj.trace(lambda x: op(x), np.ones(3))
    with pytest.raises(NoContent):
        content(first)
    with tj.extend.isolated():
        tj.register_op("cube", inputs="x", elementwise=True)
        with pytest.raises(NoContent):
            content(first)
