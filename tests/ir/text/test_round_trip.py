"""Printing and parsing are inverse: random Functions of every op, any names, attributes and regions."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from tracejit.base.errors import ParseError
from tracejit.ir.dtypes import BY_NAME
from tracejit.ir.graph import Function, Instruction, Location, Value
from tracejit.ir.registry import OPS
from tracejit.ir.text.formatter import format_text
from tracejit.ir.text.lexer import quote, unquote
from tracejit.ir.text.parser import parse_document, parse_function, parse_functions
from tracejit.ir.text.printer import Names, print_function, print_functions
from tracejit.ir.types import TensorType

#: The first seed: other ones by ``TRACEJIT_FUZZ_SEED``.
FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000
DTYPES = list(BY_NAME.values())
ODD_NAMES = [
    "x",
    "x",
    "arg0",
    "0",
    "7",
    "größe",
    "a·b",
    "a b",
    'q"q',
    "back\\n",
    "",
    "line\nbreak",
    "%",
    "x.1",
    "_2",
]
FLOATS = [
    0.0,
    -0.0,
    1.5,
    1e22,
    1e-300,
    5e-324,
    -1.7976931348623157e308,
    float("inf"),
    float("-inf"),
    float("nan"),
]
STRINGS = [
    "",
    "plain",
    'say "yes"',
    "a\\nb",
    "a\nb",
    "tab\t",
    "\x00\x7f",
    "ä☃\u2028\ud800",
    "\\",
    "; no # comment:3",
]
FILES = ["train.py", "my file.py", "a;b.py", "x:3.py", "ünï.py"]


def generators(count: int) -> Iterator[random.Random]:
    """`count` generators of random numbers, each of another seed."""
    for seed in range(FIRST, FIRST + count):
        yield random.Random(seed)


def random_attr(rng: random.Random, depth: int = 0) -> object:
    choice = rng.randrange(7 if depth < 3 else 6)
    if choice == 0:
        return rng.choice([0, 1, -1, 2**63 - 1, -(2**63), 2**64 - 1])
    if choice == 1:
        return rng.choice(FLOATS)
    if choice == 2:
        return rng.random() < 0.5
    if choice == 3:
        return rng.choice(DTYPES)
    if choice == 4:
        return rng.choice(STRINGS)
    if choice == 5:
        return float(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-300, 300))
    return tuple(random_attr(rng, depth + 1) for _ in range(rng.randrange(4)))


def random_type(rng: random.Random) -> TensorType:
    return TensorType(rng.choice(DTYPES), tuple(rng.randrange(100) for _ in range(rng.randrange(4))))


def random_function(rng: random.Random, ops: list, depth: int = 0) -> Function:
    """A Function that need not be valid: the text form does not ask."""
    params = tuple(Value(random_type(rng), rng.choice(ODD_NAMES)) for _ in range(rng.randrange(4)))
    values = list(params)
    body = []
    for op in ops:
        operands = tuple(rng.choice(values) for _ in range(rng.randrange(4))) if values else ()
        names = rng.sample(["axis", "value", "shape", "a_b", "nan", "f32"], 2)
        attrs = {name: random_attr(rng) for name in names} | dict(op.defaults)
        regions = ()
        if depth < 3 and rng.random() < 0.3:
            regions = tuple(
                random_function(rng, rng.sample(list(OPS), 2), depth + 1) for _ in range(rng.randrange(1, 3))
            )
        results = tuple(Value(random_type(rng)) for _ in range(rng.randrange(1, 3)))
        location = Location(rng.choice(FILES), rng.randrange(10_000)) if rng.random() < 0.5 else None
        body.append(Instruction(op, operands, attrs, results, location, regions))
        values += results
    results = tuple(rng.choice(values) for _ in range(rng.randrange(3))) if values else ()
    return Function(rng.choice([*ODD_NAMES, "<lambda>", "f.g"]), params, tuple(body), results)


def assert_same(function: Function, parsed: Function) -> None:
    """Both are the same but for the identity of their values and the names of clashing parameters."""
    assert function.name == parsed.name
    assert [p.type for p in function.params] == [p.type for p in parsed.params]
    assert len(function.body) == len(parsed.body)
    names = [p.hint or f"arg{i}" for i, p in enumerate(function.params)]
    table = dict(zip(function.params, parsed.params, strict=True))
    for name, param in zip(names, parsed.params, strict=True):
        assert param.hint == name or param.hint.startswith(f"{name}_")
        assert param.hint == name or names.count(name) > 1
    for a, b in zip(function.body, parsed.body, strict=True):
        assert a.op is b.op
        assert tuple(table[x] for x in a.operands) == b.operands
        assert list(a.attrs) == list(b.attrs)
        assert repr(dict(a.attrs)) == repr(dict(b.attrs))  # nan equals nan, 0.0 is not -0.0, 1 is not True
        assert [r.type for r in a.results] == [r.type for r in b.results]
        assert str(a.location) == str(b.location)
        assert len(a.regions) == len(b.regions)
        for inner, other in zip(a.regions, b.regions, strict=True):
            assert_same(inner, other)
        table.update(zip(a.results, b.results, strict=True))
    assert tuple(table[x] for x in function.results) == parsed.results


def check(function: Function) -> None:
    text = print_function(function)
    parsed = parse_function(text)
    assert_same(function, parsed)
    assert print_function(parsed) == text


def test_random_functions():
    for rng in generators(150):
        check(random_function(rng, [rng.choice(list(OPS)) for _ in range(rng.randrange(13))]))


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op(op):
    for seed in range(3):
        check(random_function(random.Random(seed), [op, op]))


def test_files_of_several_functions():
    for rng in generators(50):
        functions = [random_function(rng, rng.sample(list(OPS), 3)) for _ in range(3)]
        functions = [Function(f"f{i}", f.params, f.body, f.results) for i, f in enumerate(functions)]
        text = print_functions(functions)
        assert text.startswith("tir 1\n\nfunc @f0(")
        parsed = parse_functions(text)
        for function, same in zip(functions, parsed, strict=True):
            assert_same(function, same)
        assert print_functions(parsed) == text


def test_strings():
    """Strings of letters, of quoted characters, and of code points from everywhere, surrogates included."""
    ranges = [(0, 32), (32, 127), (127, 256), (0x2000, 0x2100), (0xD800, 0xE000), (0, 0x110000)]
    for rng in generators(300):
        text = "".join(
            rng.choice('"\\nux{}0') if rng.random() < 0.3 else chr(rng.randrange(*rng.choice(ranges)))
            for _ in range(rng.randrange(12))
        )
        quoted = quote(text)
        assert "\n" not in quoted
        assert unquote(quoted) == text


def test_text_that_was_damaged_is_a_parse_error_or_parses():
    """The parser reports an error of any text in its own words, with a place in the text."""
    pieces = [*'%@#;:,=(){}[]"-> \n\\', "inf", "nan", "99999999999999999999", "f32", "é"]
    for rng in generators(200):
        text = print_functions([random_function(rng, rng.sample(list(OPS), 3))])
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(pieces) + text[at + rng.randrange(4) :]
        error = None
        try:
            functions = parse_functions(text)
        except ParseError as caught:
            error = caught
        if error is None:
            printed = print_functions(functions)
            assert print_functions(parse_functions(printed)) == printed
            continue
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)
        assert error.source == lines[error.line - 1].rstrip("\r")
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1


def test_formatting_keeps_meaning_names_and_comments():
    for rng in generators(100):
        function = random_function(rng, rng.sample(list(OPS), 4))
        lines = print_function(function).split("\n")
        comments = [f"; comment {i}" for i in range(3)]
        for comment in comments:
            if rng.random() < 0.5:
                lines.insert(rng.randrange(len(lines) + 1), " " * rng.randrange(5) + comment)
            else:
                at = rng.randrange(len(lines))
                lines[at] += f" {comment}"
        text = "\n".join(lines)
        formatted = format_text(text)
        assert format_text(formatted) == formatted
        assert_same(function, parse_function(formatted))
        before, after = parse_document(text), parse_document(formatted)
        assert sorted(before.names.values()) == sorted(after.names.values())
        assert sorted(comment.text for comment in after.comments) == sorted(
            comment.text for comment in before.comments
        )


def test_names_stay_the_same_over_prints():
    document = parse_document("""func @f(%x: f64[]) -> f64[] {
      %a: f64[] = neg(%x)
      %7: f64[] = exp(%a)
      %b: f64[] = add(%a, %7)
      return %b
    }""")
    (function,) = document.functions
    names = Names(document.names)
    shorter = Function("f", function.params, function.body[1:], function.results)
    longer = Function(
        "f",
        function.params,
        (*function.body, Instruction(OPS["neg"], function.results, {}, (Value(function.results[0].type),))),
        function.results,
    )
    assert "%7: f64[] = exp(%?)" in print_function(shorter, names=names)
    assert "%8: f64[] = neg(%b)" in print_function(longer, names=names)
    assert "%7: f64[] = exp(%a)" in print_function(longer, names=names)


def test_a_name_stands_for_one_value_of_a_function():
    """A value that a pass moves out of a region has a name of its own where its name is taken."""
    document = parse_document("""func @f(%x: f64[]) -> f64[] {
      %a: f64[] = fusion(%x) @g(%x: f64[]) -> f64[] {
        %a: f64[] = neg(%x)
        return %a
      }
      return %a
    }""")
    outer = document.functions[0]
    inner = outer.body[0].regions[0].body[0]
    moved = Instruction(inner.op, outer.params, {}, inner.results)
    mixed = Function("f", outer.params, (moved, *outer.body), outer.results)
    text = print_function(mixed, names=Names(document.names))
    assert print_function(parse_function(text)) == print_function(mixed)
