"""Modules that are compiled in pieces: every function is defined in one of them."""

from __future__ import annotations

import re

import pytest

from tracejit.codegen.llvm.pieces import _CUT, _SMALL, PIECE, cut

#: Lines of a function of about 20,000 characters.
_LINES = 500


def _function(name: str, lines: int) -> str:
    body = "\n".join([f"  %v{number} = add i64 {number}, {name[1:]}   ; filler" for number in range(lines)])
    return f"define internal void @{name}() nounwind {{\nentry:\n{body}\n  ret void\n}}"


@pytest.mark.parametrize("small", [0, 1, 3])
@pytest.mark.parametrize("large", [8, 9, 12, 15])
def test_each_function_is_in_one_piece_and_no_piece_is_small(large: int, small: int) -> None:
    names = [f"f{number}" for number in range(large + small)]
    functions = [_function(name, _LINES if number < large else 1) for number, name in enumerate(names)]
    calls = "\n".join(f"  call void @{name}()" for name in names)
    text = "\n".join([*functions, f"define i32 @main() nounwind {{\nentry:\n{calls}\n  ret i32 0\n}}"])
    assert len(text) >= _CUT
    pieces = cut(text)
    defined = [re.findall(r"^define .*@(\w+)\(", piece, re.MULTILINE) for piece in pieces]
    assert sorted(name for names_ in defined for name in names_) == sorted([*names, "main"])
    assert defined[-1] == ["main"]
    assert all(len(piece) >= _SMALL for piece in pieces[:-1])
    assert all(len(piece) < 2 * PIECE for piece in pieces)
