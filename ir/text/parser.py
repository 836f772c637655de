"""Parses the text form of Functions. The grammar is in docs/ir.md.

Errors carry line, column, the line itself and a caret under the place. Parsing checks names and syntax;
types of results are taken from the text, and `verify` says whether they are right.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Final, NoReturn, TypeAlias

from ...base.records import field, record
from ..dtypes import BY_NAME
from ..graph import Function, Instruction, Location, Value
from ..registry import OPS
from ..types import TensorType
from . import VERSION
from .lexer import Token, fail, line_of, tokenize, unquote

#: Most regions and lists inside each other, so that no text exhausts Python's stack.
MAX_DEPTH: Final = 100

#: A place that is printed as a line: an instruction, or a Function's head, return or closing brace.
Anchor: TypeAlias = Instruction | tuple[Function, str]


@record(eq=False)
class Document:
    """Text that was parsed.

    Attributes:
        functions: its Functions, in order.
        text: the text itself.
        names: what the text calls the values.
        places: the offset at which each line of the Functions begins.
        comments: the comments, from ``;`` to the end of their lines.
    """

    functions: list[Function]
    text: str
    names: dict[Value, str] = field(default_factory=dict)
    places: dict[Anchor, int] = field(default_factory=dict)
    comments: list[Token] = field(default_factory=list)

    def line(self, place: Anchor) -> int:
        """The line of `place` in the text, from 1."""
        return line_of(self.text, self.places[place])


def parse_function(text: str) -> Function:
    """The one Function in `text`.

    Example:
        >>> f = parse_function("func @id(%x: f64[2]) -> f64[2] { return %x }")
        >>> f.name, str(f.params[0].type)
        ('id', 'f64[2]')

    Raises ParseError.
    """
    parser = _Parser(text)
    parser.version()
    function = parser.function()
    parser.expect("end")
    return function


def parse_functions(text: str) -> list[Function]:
    """All Functions in `text`, in order. Raises ParseError."""
    return parse_document(text).functions


def parse_document(text: str) -> Document:
    """All of `text`: its Functions, their names and places, and comments. Raises ParseError.

    Example:
        >>> made = parse_document("func @id(%x: f64[2]) -> f64[2] {\\n  return %x ; itself\\n}")
        >>> [one.text for one in made.comments], made.line((made.functions[0], "return"))
        (['; itself'], 2)
    """
    parser = _Parser(text)
    parser.version()
    functions: list[Function] = []
    while parser.peek().kind != "end":
        place = parser.peek()
        functions.append(parser.function())
        if functions[-1].name in {function.name for function in functions[:-1]}:
            parser.fail(place.offset, f"there are two functions @{functions[-1].name}")
    return Document(functions, text, parser.names, parser.places, parser.comments)


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
        self.tokens, self.comments = tokenize(text)
        self.position = self.depth = 0
        self.names: dict[Value, str] = {}
        self.places: dict[Anchor, int] = {}

    def fail(self, offset: int, message: str) -> NoReturn:
        fail(self.text, offset, message)

    def peek(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.tokens[self.position]
        if token.kind != "end":
            self.position += 1
        return token

    def expect(self, kind: str, text: str | None = None) -> Token:
        token = self.peek()
        if token.kind != kind or (text is not None and token.text != text):
            actual = token.text if kind == "end" or token.kind == "end" else repr(token.text)
            self.fail(token.offset, f"expected {text or _KINDS[kind]}, found {actual}")
        return self.take()

    def accept(self, text: str) -> bool:
        token = self.peek()
        if token.kind in ("punctuation", "arrow") and token.text == text:
            self.take()
            return True
        return False

    # -- grammar ----------------------------------------------------------------------------------

    def version(self) -> None:
        """The first line, which may state the version of the text form."""
        token = self.peek()
        if (token.kind, token.text) != ("word", "tir"):
            return
        self.take()
        number = self.expect("number")
        if number.text != str(VERSION):
            self.fail(
                number.offset,
                f"this is version {number.text} of the text form, and this tracejit reads version {VERSION}: "
                "print the program again with this tracejit, or read it with the one that wrote it",
            )

    def function(self) -> Function:
        start = self.peek().offset
        self.expect("word", "func")
        return self.signature_and_body(start)

    def signature_and_body(self, start: int | None = None) -> Function:
        head = self.expect("function")
        name = self._name(head)
        self._deeper(head)
        names: dict[str, Value] = {}
        params: list[Value] = []
        self.expect("punctuation", "(")
        while not self.accept(")"):
            if params:
                self.expect("punctuation", ",")
            token = self.expect("value")
            self.expect("punctuation", ":")
            param = Value(self.type(), self._name(token))
            self._define(names, token, param)
            params.append(param)
        self.expect("arrow")
        result_types = self.result_types()
        self.expect("punctuation", "{")
        body: list[Instruction] = []
        while self.peek().kind == "value" or self._begins_instruction_without_results():
            body.append(self.instruction(names))
        returned = self.expect("word", "return")
        results = []
        if self.peek().kind == "value":
            results.append(self._use(names, self.take()))
            while self.accept(","):
                results.append(self._use(names, self.expect("value")))
        if [result.type for result in results] != result_types:
            returned_types = ", ".join(str(result.type) for result in results)
            declared_types = ", ".join(map(str, result_types))
            self.fail(
                returned.offset, f"the signature returns ({declared_types}), the body ({returned_types})"
            )
        end = self.expect("punctuation", "}")
        self.depth -= 1
        function = Function(name, tuple(params), tuple(body), tuple(results))
        if start is not None:
            self.places[function, "func"] = start
        self.places[function, "return"] = returned.offset
        self.places[function, "end"] = end.offset
        return function

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
            if not size.text.isdigit() or len(size.text) > 18:
                self.fail(size.offset, f"a dimension must be a non-negative integer, found {size.text}")
            shape.append(int(size.text))
        return TensorType(dtype, tuple(shape))

    def _begins_instruction_without_results(self) -> bool:
        word, after = self.peek(), self.tokens[min(self.position + 1, len(self.tokens) - 1)]
        return word.kind == "word" and word.text != "return" and after.text == "("

    def instruction(self, names: dict[str, Value]) -> Instruction:
        defined: list[tuple[Token, Value]] = []
        while self.peek().kind == "value" or defined:
            token = self.expect("value")
            self.expect("punctuation", ":")
            defined.append((token, Value(self.type())))
            if not self.accept(","):
                break
        if defined:
            self.expect("punctuation", "=")
        word = self.expect("word")
        op = OPS.get(word.text)
        if op is None:
            near = get_close_matches(word.text, [op.name for op in OPS], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.fail(word.offset, f"there is no op named {word.text!r}{hint}")
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
                key = self.expect("word")
                if key.text in attrs:
                    self.fail(key.offset, f"attribute {key.text} is given twice")
                self.expect("punctuation", "=")
                attrs[key.text] = self.attribute()
        for name, value in op.defaults.items():
            attrs.setdefault(name, value)
        regions: list[Function] = []
        while self.peek().kind == "function":
            regions.append(self.signature_and_body())
        location = self._location()
        for token, value in defined:
            self._define(names, token, value)
        results = tuple(value for _, value in defined)
        instruction = Instruction(op, tuple(operands), attrs, results, location, tuple(regions))
        self.places[instruction] = defined[0][0].offset if defined else word.offset
        return instruction

    def attribute(self) -> Any:
        token = self.take()
        if token.kind == "number":
            if len(token.text) > 400:
                self.fail(token.offset, f"a number of {len(token.text)} digits")
            if token.text.endswith("inf"):
                return float(token.text)
            return int(token.text) if token.text.lstrip("-").isdigit() else float(token.text)
        if token.kind == "string":
            return self._unquoted(token, token.text)
        if token.kind == "word":
            if token.text in ("true", "false"):
                return token.text == "true"
            if token.text in ("nan", "inf"):
                return float(token.text)
            if token.text in BY_NAME:
                return BY_NAME[token.text]
            if token.text == "complex":
                return self._complex()
        if token.text == "[":
            items: list[Any] = []
            self._deeper(token)
            while not self.accept("]"):
                if items:
                    self.expect("punctuation", ",")
                items.append(self.attribute())
            self.depth -= 1
            return tuple(items)
        self.fail(token.offset, f"expected an attribute value, found {token.text!r}")

    def _complex(self) -> complex:
        """The parts of a complex number, behind its word."""
        parts: list[float] = []
        for before in ("(", ","):
            start = self.expect("punctuation", before)
            part = self.attribute()
            if type(part) not in (int, float):
                self.fail(start.offset, f"a part of a complex number must be a number, found {part!r}")
            parts.append(float(part))
        self.expect("punctuation", ")")
        return complex(*parts)

    # -- names and locations ----------------------------------------------------------------------

    def _define(self, names: dict[str, Value], token: Token, value: Value) -> None:
        name = self._name(token)
        if name in names:
            self.fail(token.offset, f"{token.text} is defined twice")
        names[name] = value
        self.names[value] = name

    def _use(self, names: dict[str, Value], token: Token) -> Value:
        value = names.get(self._name(token))
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
        if not file:
            self.fail(token.offset, "expected a location, # FILE:LINE")
        return Location(file, int(line))

    def _name(self, token: Token) -> str:
        """The name that a token stands for."""
        return self._unquoted(token, token.text[1:]) if token.text[1:2] == '"' else token.text[1:]

    def _unquoted(self, token: Token, text: str) -> str:
        try:
            return unquote(text)
        except ValueError as error:
            self.fail(token.offset, str(error))

    def _deeper(self, token: Token) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(token.offset, f"more than {MAX_DEPTH} regions or lists inside each other")


#: The names of the kinds of tokens in messages.
_KINDS: Final = {
    "value": "a value such as %x",
    "function": "a function's name such as @f",
    "number": "a number",
    "word": "a word",
    "punctuation": "punctuation",
    "arrow": "->",
    "end": "the end of the text",
}
