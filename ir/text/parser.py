"""Parses the text form of Functions. The grammar is in docs/ir.md.

Errors carry line, column, the line itself and a caret under the place. Parsing checks names and syntax;
types of results are taken from the text, and `verify` says whether they are right.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from ..dtypes import BY_NAME
from ..errors import ParseError
from ..graph import Function, Instruction, Location, Value
from ..records import record
from ..registry import OPS
from ..types import TensorType

_TOKEN = re.compile(
    r"""(?P<location>\#[^\n]*)
      | (?P<comment>;[^\n]*)
      | (?P<newline>\n)
      | (?P<space>[ \t\r]+)
      | (?P<value>%[A-Za-z0-9_.]+)
      | (?P<function>@[A-Za-z0-9_.<>]+)
      | (?P<number>-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf\b))
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<arrow>->)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<punctuation>[(){}\[\],:=])""",
    re.VERBOSE,
)


@record
class _Token:
    kind: str
    text: str
    offset: int


def parse_function(text: str) -> Function:
    """The one Function in `text`.

    Example:
        >>> f = parse_function("func @id(%x: f64[2]) -> f64[2] { return %x }")
        >>> f.name, str(f.params[0].type)
        ('id', 'f64[2]')

    Raises ParseError.
    """
    parser = _Parser(text)
    function = parser.function()
    parser.expect("end")
    return function


def parse_functions(text: str) -> list[Function]:
    """All Functions in `text`, in order. Raises ParseError."""
    parser = _Parser(text)
    functions = []
    while parser.peek().kind != "end":
        functions.append(parser.function())
    return functions


def parse_type(text: str) -> TensorType:
    """A type such as ``f32[128,64]``. Raises ParseError.

    >>> parse_type("i64[]")
    TensorType(dtype=dtype('int64'), shape=())
    """
    parser = _Parser(text)
    result = parser.type()
    parser.expect("end")
    return result


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[_Token] = []
        self.position = 0
        offset = 0
        while offset < len(text):
            match = _TOKEN.match(text, offset)
            if match is None:
                self.fail(offset, f"unexpected character {text[offset]!r}")
            kind = match.lastgroup or ""
            if kind not in ("space", "comment", "newline"):
                self.tokens.append(_Token(kind, match.group(), offset))
            offset = match.end()
        self.tokens.append(_Token("end", "end of text", len(text)))

    def fail(self, offset: int, message: str) -> NoReturn:
        line = self.text.count("\n", 0, offset) + 1
        start = self.text.rfind("\n", 0, offset) + 1
        source = self.text[start:].split("\n", 1)[0]
        column = offset - start
        raise ParseError(message, line, column + 1, source)

    def peek(self) -> _Token:
        return self.tokens[self.position]

    def take(self) -> _Token:
        token = self.tokens[self.position]
        if token.kind != "end":
            self.position += 1
        return token

    def expect(self, kind: str, text: str | None = None) -> _Token:
        token = self.peek()
        if token.kind != kind or (text is not None and token.text != text):
            self.fail(token.offset, f"expected {text or kind}, found {token.text!r}")
        return self.take()

    def accept(self, text: str) -> bool:
        token = self.peek()
        if token.kind in ("punctuation", "arrow") and token.text == text:
            self.take()
            return True
        return False

    # -- grammar ----------------------------------------------------------------------------------

    def function(self) -> Function:
        self._skip_locations()
        self.expect("word", "func")
        return self.signature_and_body()

    def signature_and_body(self) -> Function:
        name = self.expect("function").text[1:]
        names: dict[str, Value] = {}
        params: list[Value] = []
        self.expect("punctuation", "(")
        while not self.accept(")"):
            if params:
                self.expect("punctuation", ",")
            token = self.expect("value")
            self.expect("punctuation", ":")
            param = Value(self.type(), token.text[1:])
            self._define(names, token, param)
            params.append(param)
        self.expect("arrow")
        result_types = self.result_types()
        self.expect("punctuation", "{")
        body: list[Instruction] = []
        self._skip_locations()
        while self.peek().kind == "value":
            body.append(self.instruction(names))
        returned = self.expect("word", "return")
        results = []
        while self.peek().kind == "value":
            results.append(self._use(names, self.take()))
            if not self.accept(","):
                break
        if [one.type for one in results] != result_types:
            given = ", ".join(str(one.type) for one in results)
            wanted = ", ".join(map(str, result_types))
            self.fail(returned.offset, f"the signature returns ({wanted}), the body ({given})")
        self._skip_locations()
        self.expect("punctuation", "}")
        return Function(name, tuple(params), tuple(body), tuple(results))

    def result_types(self) -> list[TensorType]:
        if not self.accept("("):
            return [self.type()]
        types: list[TensorType] = []
        while not self.accept(")"):
            if types:
                self.expect("punctuation", ",")
            types.append(self.type())
        return types

    def type(self) -> TensorType:
        token = self.expect("word")
        dtype = BY_NAME.get(token.text)
        if dtype is None:
            self.fail(token.offset, f"unknown dtype {token.text!r}; expected one of {', '.join(BY_NAME)}")
        self.expect("punctuation", "[")
        shape: list[int] = []
        while not self.accept("]"):
            if shape:
                self.expect("punctuation", ",")
            size = self.expect("number")
            if not size.text.isdigit():
                self.fail(size.offset, f"a dimension must be a non-negative integer, found {size.text}")
            shape.append(int(size.text))
        return TensorType(dtype, tuple(shape))

    def instruction(self, names: dict[str, Value]) -> Instruction:
        defined: list[tuple[_Token, Value]] = []
        while True:
            token = self.expect("value")
            self.expect("punctuation", ":")
            defined.append((token, Value(self.type())))
            if not self.accept(","):
                break
        self.expect("punctuation", "=")
        word = self.expect("word")
        op = OPS.get(word.text)
        if op is None:
            self.fail(word.offset, f"there is no op named {word.text!r}")
        self.expect("punctuation", "(")
        operands: list[Value] = []
        while not self.accept(")"):
            if operands:
                self.expect("punctuation", ",")
            operands.append(self._use(names, self.expect("value")))
        attrs: dict[str, Any] = {}
        if self.accept("{"):
            while not self.accept("}"):
                if attrs:
                    self.expect("punctuation", ",")
                key = self.expect("word").text
                self.expect("punctuation", "=")
                attrs[key] = self.attribute()
        regions: list[Function] = []
        while self.peek().kind == "function":
            regions.append(self.signature_and_body())
        location = self._location()
        for token, value in defined:
            self._define(names, token, value)
        results = tuple(value for _, value in defined)
        return Instruction(op, tuple(operands), attrs, results, location, tuple(regions))

    def attribute(self) -> Any:
        token = self.take()
        if token.kind == "number":
            if token.text.endswith("inf"):
                return float(token.text)
            return int(token.text) if token.text.lstrip("-").isdigit() else float(token.text)
        if token.kind == "string":
            return token.text[1:-1].replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
        if token.kind == "word":
            if token.text in ("true", "false"):
                return token.text == "true"
            if token.text in ("nan", "inf"):
                return float(token.text)
            if token.text in BY_NAME:
                return BY_NAME[token.text]
        if token.text == "[":
            items: list[Any] = []
            while not self.accept("]"):
                if items:
                    self.expect("punctuation", ",")
                items.append(self.attribute())
            return tuple(items)
        self.fail(token.offset, f"expected an attribute value, found {token.text!r}")

    # -- names and locations ----------------------------------------------------------------------

    def _define(self, names: dict[str, Value], token: _Token, value: Value) -> None:
        if token.text in names:
            self.fail(token.offset, f"{token.text} is defined twice")
        names[token.text] = value

    def _use(self, names: dict[str, Value], token: _Token) -> Value:
        value = names.get(token.text)
        if value is None:
            self.fail(token.offset, f"{token.text} is not defined")
        return value

    def _location(self) -> Location | None:
        """The ``# file:line`` that ends an instruction's line."""
        token = self.peek()
        if token.kind != "location":
            return None
        self.take()
        file, _, line = token.text[1:].strip().rpartition(":")
        return Location(file, int(line)) if file and line.isdigit() else None

    def _skip_locations(self) -> None:
        while self.peek().kind == "location":
            self.take()
