"""Texts of several kernels: their places, comments and schedules, and errors of our own for all other
texts."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest

from tracejit.base.errors import ParseError
from tracejit.codegen.loops.parser import parse_kernel, parse_kernels
from tracejit.codegen.loops.passes import parse_schedule, scheduled
from tracejit.codegen.loops.printer import lines_of, print_kernel

from .changed_texts import changed_text, outcome_of

TEXTS = int(os.environ.get("TRACEJIT_LOOP_TEXTS", "800"))
SEED = int(os.environ.get("TRACEJIT_LOOP_SEED", "0"))
TWO = """; of the first
kernel @f(n >= 1, b0: out f64[n]) {
  for i in 0:n {
    if 0 <= i - 2 {
      store b0[i], 0.0:f64
    } else {
      store b0[i], 1.0:f64  ; elsewhere
    }
  }
}

; vectorize(i, 8)
; peel(i, 8)
kernel @g(b0: out f64[3]) {
  store b0[1], 2.0:f64
}
"""


def test_every_line_has_its_place() -> None:
    document = parse_kernels(TWO)
    assert [kernel.name for kernel in document.kernels] == ["f", "g"]
    source = TWO.splitlines()
    for kernel in document.kernels:
        for line, anchor in lines_of(kernel):
            assert source[document.line(anchor) - 1].split("  ;")[0] == line
    assert [comment.text for comment in document.comments][1] == "; elsewhere"


def test_comments_above_a_kernel_are_its_schedule() -> None:
    first, second = parse_kernels(TWO).kernels
    assert first.schedule == ()
    assert second.schedule == ("vectorize(i, 8)", "peel(i, 8)")
    kernel = parse_kernel("kernel @f(b0: out f64[20]) { for i in 0:20 { store b0[i], 0.0:f64 } }")
    text = print_kernel(scheduled(kernel, parse_schedule("vectorize(i, 8) peel(i, 8)")))
    assert print_kernel(parse_kernel(text)) == text


def test_two_kernels_of_one_name() -> None:
    with pytest.raises(ParseError, match="line 2, column 1: there are two kernels @f"):
        parse_kernels("kernel @f() {}\nkernel @f() {}")


def test_changed_texts_are_refused_or_stay_within_their_buffers() -> None:
    counts = Counter[str]()
    for number in range(TEXTS):
        text = changed_text(np.random.default_rng([SEED, number]))
        try:
            counts[outcome_of(text)] += 1
        except Exception as error:
            raise AssertionError(f"text {number} of seed {SEED}:\n{text}") from error
    assert min(counts[outcome] for outcome in ("malformed", "invalid", "run")) > TEXTS / 10, counts
