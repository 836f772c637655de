"""Errors of the parser: what is wrong, where, and a caret under it."""

from __future__ import annotations

import pytest

from tracejit.base.errors import ParseError, VerificationError
from tracejit.ir.text.formatter import format_text
from tracejit.ir.text.parser import MAX_DEPTH, parse_document, parse_function, parse_functions
from tracejit.ir.verifier import verify

HEAD = "func @f(%x: f64[3]) -> f64[3] {\n  "
#: text, the problem, and the text under the caret.
WRONG = {
    "no op": (
        HEAD + "%0: f64[3] = sine(%x)\n return %0 }",
        "no op named 'sine'; did you mean sin?",
        "sine(%x)",
    ),
    "no value": (HEAD + "%0: f64[3] = sin(%y)\n return %0 }", "%y is not defined", "%y)"),
    "defined twice": (HEAD + '%"x": f64[3] = sin(%x)\n return %x }', "is defined twice", '%"x":'),
    "results": (HEAD + "return\n}", r"the signature returns (f64[3]), the body ()", "return"),
    "comma": (HEAD + "return %x,\n}", "expected a value such as %x, found '}'", "}"),
    "dtype": ("func @f(%x: f24[3]) -> () { return }", "unknown dtype 'f24'; expected one of bool, i8", "f24"),
    "size": ("func @f(%x: f64[1e3]) -> () { return }", "non-negative integer, found 1e3", "1e3"),
    "huge size": (f"func @f(%x: f64[{'9' * 30}]) -> () {{ return }}", "non-negative integer", "999"),
    "attribute": (HEAD + "%0: f64[3] = sum(%x) {axes=%x}\nreturn %0 }", "expected an attribute value", "%x}"),
    "attribute twice": (HEAD + "%0: f64[3] = sum(%x) {axes=[], axes=[]}", "axes is given twice", "axes=[]}"),
    "escape": (HEAD + '%0: f64[3] = sum(%x) {a="\\q"}', "unknown escape", '"\\q"'),
    "open string": (HEAD + '%0: f64[3] = sum(%x) {a="b}', "string has no end", '"b}'),
    "no name": ("func @(%x: f64[]) -> () { return }", "expected a name after @", "@("),
    "location": (
        HEAD + "return %x # here\n}",
        "expected a location, # FILE:LINE; comments begin with ;",
        "# here",
    ),
    "character": ("func @f() -> () { return } ?", "unexpected character '?'", "?"),
    "nothing": ("", "expected func, found the end of the text", ""),
    "two of a name": (
        "func @f() -> () { return } func @f() -> () { return }",
        "two functions @f",
        "func @f() -> () { return }",
    ),
    "deep list": (
        HEAD + "%0: f64[3] = sum(%x) {a=" + "[" * 5000,
        f"more than {MAX_DEPTH} regions or lists",
        "[",
    ),
    "old version": (
        "tir 0\nfunc @f() -> () { return }",
        "version 0 of the text form, and this tracejit reads version 1",
        "0",
    ),
    "new version": (
        "; from afar\ntir 2\n",
        "print the program again with this tracejit, or read it with",
        "2",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_names_its_place(name):
    text, problem, under = WRONG[name]
    reader = parse_function if name == "nothing" else parse_functions
    with pytest.raises(ParseError) as caught:
        reader(text)
    error = caught.value
    assert problem in error.problem
    assert "\n" not in error.problem
    assert error.source[error.column - 1 :].startswith(under)
    first, source, caret = str(error).split("\n")
    assert first == f"line {error.line}, column {error.column}: {error.problem}"
    assert source[2:] in error.source
    assert source[caret.index("^") :].startswith(under[:1])


def test_the_caret_is_right_behind_tabs():
    with pytest.raises(ParseError) as caught:
        parse_function("func @f() -> () {\n\t\treturn %x }")
    assert caught.value.caret == "  \t\treturn %x }\n  \t\t       ^"


def test_of_a_long_line_a_part_is_shown():
    data = ", ".join(map(str, range(10_000)))
    with pytest.raises(ParseError) as caught:
        parse_function(f"func @f() -> () {{ %0: i64[2] = constant() {{data=[{data}, ?]}} return }}")
    shown, caret = caught.value.caret.split("\n")
    assert len(shown) <= 162
    assert shown[caret.index("^")] == "?"


def test_deep_regions():
    text = "func @f() -> () {" + "%0: f64[] = fusion() @g() -> () {" * 3000
    with pytest.raises(ParseError, match="more than 100 regions"):
        parse_functions(text)


def test_the_version_may_be_left_out():
    assert [function.name for function in parse_functions("tir 1\nfunc @f() -> () { return }")] == ["f"]
    assert [function.name for function in parse_functions("func @f() -> () { return }")] == ["f"]
    assert parse_function("; a comment\ntir 1 func @f() -> () { return }").name == "f"
    assert parse_functions("tir 1\n") == []


def test_places():
    document = parse_document("\nfunc @f(%x: f64[]) -> f64[] {\n\n  %0: f64[] =\n neg(%x)\n  return %0\n}\n")
    (function,) = document.functions
    lines = [
        document.line(place)
        for place in ((function, "func"), function.body[0], (function, "return"), (function, "end"))
    ]
    assert lines == [2, 4, 6, 7]


def test_an_invalid_function_names_its_instruction():
    function = parse_function(HEAD + "%0: f64[4] = sin(%x)\n return %x }")
    with pytest.raises(VerificationError) as caught:
        verify(function)
    assert caught.value.instruction is function.body[0]
    assert caught.value.problem == "@f in sin: result has type f64[4], expected f64[3]"


def test_the_excerpt_of_a_long_function_is_short():
    lines = [f"  %{i}: f64[3] = sin(%x)" for i in range(5000)]
    lines[2000] = "  %2000: f64[4] = sin(%x)"
    with pytest.raises(VerificationError) as caught:
        verify(parse_function("\n".join(["func @f(%x: f64[3]) -> f64[3] {", *lines, "return %x }"])))
    shown = str(caught.value).split("\n")
    assert len(shown) < 70
    assert shown[1].startswith("func @f(")
    assert "  ; error: result has type f64[4], expected f64[3]" in shown


def test_formatting():
    text = """; what it is

    func  @f( %x:f64[ 3 ],%long_name : f64[3])->f64[3]{ ; the head
    ; before
    %a :f64[3]=neg(%x)    # a.py:3  ; behind
      %bcd: f64[3] = add(%a, %long_name)
    return %bcd
    ; at the end
    }
    ; last
    """
    assert (
        format_text(text)
        == """tir 1

; what it is
func @f(%x: f64[3], %long_name: f64[3]) -> f64[3] {  ; the head
  ; before
  %a: f64[3]   = neg(%x)                                     # a.py:3  ; behind
  %bcd: f64[3] = add(%a, %long_name)
  return %bcd
  ; at the end
}

; last
"""
    )
