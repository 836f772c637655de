"""The formatter of the loop form's text: one layout, and every comment stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracejit.base.errors import ParseError
from tracejit.codegen.loops.formatter import format_kernels
from tracejit.codegen.loops.parser import parse_kernels
from tracejit.codegen.loops.printer import print_kernel

FOLDER = Path(__file__).parents[2] / "filetests" / "loops"
WILD = """; a file
kernel @f( n>=1,b0:f64[n + n],  ; read
 b1:out f64[2*n]){
; each
for i in 0 : 2*n { %x:f64 = load b0[i*1]
  if 0<=i-2 { ; not the first two
    store b1[i],%x
    ; done
  } else { store b1[i], 1.50:f64 } ; the others
  ; the end of an iteration
} }
; behind all
"""
TIDY = """; a file
kernel @f(n >= 1, b0: f64[2*n], b1: out f64[2*n]) {  ; read
  ; each
  for i in 0:2*n {
    %x: f64 = load b0[i]
    if 0 <= i - 2 {  ; not the first two
      store b1[i], %x
      ; done
    } else {
      store b1[i], 1.5:f64
    }  ; the others
    ; the end of an iteration
  }
}

; behind all
"""


def test_the_layout() -> None:
    assert format_kernels(WILD) == TIDY
    assert format_kernels(TIDY) == TIDY


def test_cases_stay_what_they_mean() -> None:
    count = 0
    for path in sorted(FOLDER.rglob("*.loops")):
        text = path.read_text()
        try:
            document = parse_kernels(text)
        except ParseError:
            continue
        formatted = format_kernels(text)
        again = parse_kernels(formatted)
        assert [print_kernel(kernel) for kernel in again.kernels] == [
            print_kernel(kernel) for kernel in document.kernels
        ]
        comments = [comment.text.rstrip() for comment in document.comments]
        assert [comment.text for comment in again.comments] == comments, path
        assert format_kernels(formatted) == formatted, path
        count += 1
    assert count > 200


def test_what_does_not_parse() -> None:
    with pytest.raises(ParseError, match="line 1, column 8"):
        format_kernels("kernel f() {}")
