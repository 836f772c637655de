"""Kernels in the loop form as the viewer lists them: the schedule, and lines that know their ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.tools.viewer.document import ViewedFunction, document_of


def stage_of(f: Any, *arrays: Any) -> tuple[dict[str, Any], list[tuple[str, list[str]]]]:
    """The document of `f`, and its lines of loops, each with the names of its ops."""
    document = document_of(ViewedFunction("f", tj.trace(f, *arrays), []), timing=False)
    (stage,) = [stage for stage in document["stages"] if stage["id"] == "loops"]
    ops = [op[0] for op in document["ops"]]
    groups = [[ops[number] for number in group] for group in document["groups"]]
    return document, [
        (line, groups[group]) for line, group in zip(stage["lines"], stage["groups"], strict=True)
    ]


def test_a_map_is_its_schedule_and_its_loops() -> None:
    _, lines = stage_of(lambda x: np.exp(x) * 2, np.zeros(1000))
    texts = [line for line, _ in lines]
    assert texts[0].startswith("map nest k0: for [1000]")
    assert "; normalize()" in texts
    begin = next(number for number, text in enumerate(texts) if text.startswith("kernel @k0("))
    assert texts[begin - 1].startswith("; b0: %x, b1: %")
    assert all(text.startswith("; ") for text in texts[1:begin])
    assert texts[-1] == "}"


def test_lines_are_for_the_ops_that_they_compute_or_are_read_by() -> None:
    _, lines = stage_of(lambda x, y: (np.exp(x), np.sin(y)), np.zeros(1000), np.zeros(1000))
    by_text = [(line.strip(), set(ops)) for line, ops in lines]
    assert any("= exp(" in text and ops == {"exp"} for text, ops in by_text)
    loads = [ops for text, ops in by_text if "= load " in text]
    assert {"exp"} in loads
    assert {"sin"} in loads
    assert all({"exp", "sin"} >= ops and ops for _, ops in by_text)


def test_values_have_the_names_of_other_stages() -> None:
    document, lines = stage_of(lambda x: np.exp(np.sin(x)), np.zeros(1000))
    (trace,) = [stage for stage in document["stages"] if stage["id"] == "trace"]
    name = next(line.split(":")[0].strip() for line in trace["lines"] if "= sin(" in line)
    assert any(f"exp({name})" in line for line, _ in lines)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(np.exp, id="one kernel"),
        pytest.param(lambda x: np.exp(x) * 2, id="two kernels of equal code"),
    ],
)
def test_equal_kernels_are_listed_for_their_own_ops(step: Any) -> None:
    def f(x: Any) -> Any:
        return np.cumsum(step(np.cumsum(step(x))))

    document, lines = stage_of(f, np.zeros(1000))
    (stage,) = [stage for stage in document["stages"] if stage["id"] == "loops"]
    kernels = [kernel for kernel in document["kernels"] if "map" in kernel["kind"]]
    assert len(kernels) == 2
    for kernel in kernels:
        own = set(document["groups"][kernel["group"]])
        begin = kernel["at"]["loops"]
        end = next(number for number in range(begin, len(lines)) if lines[number][0] == "}")
        groups = [document["groups"][group] for group in stage["groups"][begin : end + 1]]
        assert {op for group in groups for op in group} == own
        assert any("= exp(" in text and ops == ["exp"] for text, ops in lines[begin:end])
