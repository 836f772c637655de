"""Argument specs of the command line."""

from __future__ import annotations

import pytest

from tracejit.ir.text.parser import parse_type
from tracejit.tools.cli.errors import UsageError
from tracejit.tools.cli.specs import parse_spec

F3, SCALAR = parse_type("f64[3]"), parse_type("f64[]")
SPECS = {
    "f64[3]": F3,
    " f64 [ 3 ] ": F3,
    "f64[]": SCALAR,
    "float": 1.0,
    "int": 1,
    "bool": True,
    "none": None,
    "true": True,
    "2": 2,
    "-2.5e1": -25.0,
    "{w: f64[3], b: f64[]}": {"w": F3, "b": SCALAR},
    "{}": {},
    "[f64[3], [f64[], 1]]": [F3, [SCALAR, 1]],
    "(f64[3],)": (F3,),
    "(f64[3], {a: (f64[], int)})": (F3, {"a": (SCALAR, 1)}),
    "()": (),
}


@pytest.mark.parametrize("text", SPECS)
def test_specs(text):
    value = parse_spec(text)
    assert value == SPECS[text]
    assert type(value) is type(SPECS[text])


WRONG = {
    "": "expected a type",
    "f64": r"f64 needs a shape: f64\[3\], or f64\[\] for a scalar",
    "f64[3": "the bracket after f64 is not closed",
    "q8[2]": "unknown dtype 'q8'",
    "f64[-1]": "non-negative integer, found -1",
    "f64[1.5]": "non-negative integer, found 1.5",
    "f64[3] f64[]": "expected the end at column 8",
    "word": "there is no type 'word'",
    "{w f64[3]}": "expected a name and a colon",
    "{w: f64[3]": "expected , or }",
    "{w: f64[3], w: f64[]}": "w is there twice",
    "[f64[3]": "expected , or ]",
    "(f64[3]]": r"expected , or \)",
    "(,)": "expected a type at column 2",
    "{1: f64[]}": "expected a name and a colon",
}


@pytest.mark.parametrize("text", WRONG)
def test_malformed_specs(text):
    with pytest.raises(UsageError, match=WRONG[text]) as caught:
        parse_spec(text)
    assert "\n" not in str(caught.value)
    assert "Types are f32[128,64]" in str(caught.value)
