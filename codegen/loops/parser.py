"""Parser of the text of the loop form. Errors name line, column and problem, as those of the IR's text do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

from ...base.records import field, record
from ...ir.dtypes import BY_NAME
from ...ir.registry import OPS
from ...ir.text.lexer import Token, fail, line_of, unquote
from .affine import Affine, affine, variable
from .nodes import (
    HINTS,
    KINDS,
    LANES,
    SERIAL,
    TASKS,
    Accumulate,
    Aligned,
    Alloc,
    Buffer,
    Call,
    Carry,
    Compute,
    Condition,
    Constant,
    Fail,
    Fence,
    Fold,
    For,
    Holds,
    If,
    InRange,
    Invert,
    Kernel,
    Let,
    Load,
    Node,
    Operand,
    Poll,
    Prefetch,
    Quotient,
    Store,
    Total,
    While,
)
from .printer import Anchor

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<comment>;[^\n]*)
      | (?P<value>%[\w.]+)
      | (?P<kernel>@(?:[\w.<>]+|"(?:[^"\\\n]|\\.)*"))
      | (?P<number>[0-9]+(?:\.(?!\.)[0-9]*)?(?:[eE][-+]?[0-9]+)?)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<punctuation>\.\.|<=|>=|[(){}\[\],:=<*+-])""",
    re.VERBOSE,
)


#: A comment that names a step of a schedule, as `print_kernel` writes them.
_STEP: Final = re.compile(r"; (\w+\([^()]*\))[ \t\r]*")


@record(eq=False)
class KernelDocument:
    """Text of kernels that was parsed.

    Attributes:
        kernels: its kernels, in order.
        text: the text itself.
        places: the offset at which each line of the kernels begins.
        comments: the comments, from ``;`` to the end of their lines.
    """

    kernels: list[Kernel]
    text: str
    places: dict[Anchor, int] = field(default_factory=dict)
    comments: list[Token] = field(default_factory=list)

    def line(self, place: Anchor) -> int:
        """The line of `place` in the text, from 1."""
        return line_of(self.text, self.places[place])


def parse_kernel(text: str) -> Kernel:
    """The one kernel in `text`, with the schedule that comments above it name. Raises ParseError."""
    parser = _Parser(text)
    kernel = parser.kernel()
    parser.expect("")
    return kernel


def parse_kernels(text: str) -> KernelDocument:
    """All of `text`: its kernels, their places, and comments. Raises ParseError."""
    parser = _Parser(text)
    kernels: list[Kernel] = []
    while parser.next:
        place = parser.position
        kernels.append(parser.kernel())
        if kernels[-1].name in {kernel.name for kernel in kernels[:-1]}:
            parser.position = place
            parser.fail(f"there are two kernels @{kernels[-1].name}")
    return KernelDocument(kernels, text, parser.places, parser.comments)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        #: Kind, text and offset of each token; the last one is the end.
        self.tokens: list[tuple[str, str, int]] = []
        self.comments: list[Token] = []
        offset = 0
        while offset < len(text):
            match = _TOKEN.match(text, offset)
            if match is None:
                fail(text, offset, f"unexpected character {text[offset]!r}")
            if match.lastgroup == "comment":
                self.comments.append(Token("comment", match.group(), offset))
            elif match.lastgroup != "space":
                self.tokens.append((match.lastgroup or "", match.group(), offset))
            offset = match.end()
        self.tokens.append(("end", "", len(text)))
        self.position = 0
        self.places: dict[Anchor, int] = {}
        #: The offset of the brace that closed the last block.
        self.closed = 0

    # -- tokens -----------------------------------------------------------------------------------

    @property
    def next(self) -> str:
        return self.tokens[self.position][1]

    @property
    def offset(self) -> int:
        return self.tokens[self.position][2]

    def fail(self, problem: str) -> NoReturn:
        fail(self.text, self.offset, problem)

    def take(self, kind: str, what: str) -> str:
        """The text of the next token, which must be of `kind`."""
        found, text, _ = self.tokens[self.position]
        if found != kind:
            self.fail(f"expected {what}, found {text!r}" if text else f"expected {what}, found the end")
        self.position += 1
        return text

    def expect(self, text: str) -> None:
        if not self.accept(text) and (text or self.next):
            self.fail(f"expected {text!r}, found {self.next!r}" if text else f"unexpected {self.next!r}")

    def accept(self, text: str) -> bool:
        if self.next != text or not text:
            return False
        self.position += 1
        return True

    # -- kernels ----------------------------------------------------------------------------------

    def kernel(self) -> Kernel:
        schedule, start = self.schedule(), self.offset
        self.expect("kernel")
        name = self.take("kernel", "a kernel's @name")[1:]
        name = unquote(name) if name[:1] == '"' else name
        self.expect("(")
        symbols: list[tuple[str, int]] = []
        buffers: list[Buffer] = []
        while not self.accept(")"):
            if symbols or buffers:
                self.expect(",")
            word = self.take("word", "a symbol or a buffer")
            if self.accept(">="):
                symbols.append((word, self.integer()))
                continue
            self.expect(":")
            out = self.accept("out")
            dtype, size = self.array()
            buffers.append(Buffer(word, dtype, size, out))
        kernel = Kernel(name, tuple(buffers), self.block(), tuple(symbols), schedule)
        self.places[kernel], self.places[kernel, "end"] = start, self.closed
        return kernel

    def schedule(self) -> tuple[str, ...]:
        """The steps that comments between the last token and the next one name, a line each."""
        begin = self.tokens[self.position - 1][2] if self.position else -1
        between = [comment.text for comment in self.comments if begin < comment.offset < self.offset]
        steps = [_STEP.fullmatch(text) for text in between]
        return tuple([step[1] for step in steps if step is not None])

    def array(self) -> tuple[str, Affine]:
        dtype = self.dtype()
        self.expect("[")
        size = self.expression()
        self.expect("]")
        return dtype, size

    def dtype(self) -> str:
        if self.next not in BY_NAME:
            self.fail(f"expected a dtype, found {self.next!r}")
        return self.take("word", "a dtype")

    def block(self) -> tuple[Node, ...]:
        self.expect("{")
        nodes: list[Node] = []
        while self.next != "}":
            nodes.append(self.node())
        self.closed = self.offset
        self.position += 1
        return tuple(nodes)

    # -- statements -------------------------------------------------------------------------------

    def node(self) -> Node:
        start = self.offset
        node = self.statement()
        self.places[node] = start
        return node

    def statement(self) -> Node:
        kind, text, _ = self.tokens[self.position]
        if kind == "value":
            return self.definition()
        statements: dict[str, Callable[[], Node]] = {
            "for": self.loop, "while": self.while_loop, "if": self.conditional, "store": self.store,
            "alloc": self.alloc, "call": self.call, "fail": self.failure, "poll": Poll, "fence": Fence,
            "prefetch": self.prefetch,
        }  # fmt: skip
        if text not in statements:
            self.fail(f"expected a statement, found {text!r}")
        self.position += 1
        return statements[text]()

    def definition(self) -> Node:
        names = [self.name()]
        while self.accept(","):
            names.append(self.name())
        self.expect(":")
        dtype = self.dtype()
        self.expect("=")
        if self.accept("load"):
            buffer, index = self.place()
            guard, mask = self.where()
            return Load(tuple(names), dtype, buffer, index, guard, mask, self.hint())
        if self.accept("accumulate"):
            total, error, operand = self.exactly(self.operands(), 3)
            if len(names) != 2:
                self.fail("accumulate defines two values, a sum and its error")
            return Accumulate((names[0], names[1]), dtype, total, error, operand)
        if len(names) > 1:
            self.fail("one value is defined by everything but a load and accumulate")
        (name,) = names
        if self.accept("index"):
            self.expect("(")
            index = self.expression()
            self.expect(")")
            return Let(name, dtype, index)
        if self.accept("holds"):
            self.expect("(")
            conditions = self.inside()
            self.expect(")")
            return Holds(name, conditions)
        fold = self.accept("fold")
        word = self.take("word", "an operation")
        if word not in ("invert", "quotient", "total") and word not in OPS:
            self.position -= 1
            self.fail(f"there is no op named {word!r}")
        operands = self.operands()
        if fold:
            accumulator, operand = self.exactly(operands, 2)
            return Fold(name, dtype, OPS[word], accumulator, operand)
        if word == "invert":
            return Invert(name, dtype, *self.exactly(operands, 1))
        if word == "total":
            return Total(name, dtype, *self.exactly(operands, 2))
        if word == "quotient":
            operand, inverse = self.exactly(operands, 2)
            if not isinstance(inverse, str):
                self.fail("a quotient takes the name of an inverted divisor before this")
            return Quotient(name, dtype, operand, inverse)
        op = OPS[word]
        if op.params and op.params[-1][0] != "*":
            self.exactly(operands, len(op.params))
        return Compute(name, dtype, op, operands, self.attributes())

    def exactly(self, operands: tuple[Operand, ...], count: int) -> tuple[Operand, ...]:
        if len(operands) != count:
            self.fail(f"expected {count} operands before this, found {len(operands)}")
        return operands

    def attributes(self) -> dict[str, Any]:
        attrs: dict[str, Any] = {}
        if not self.accept("{"):
            return attrs
        while not self.accept("}"):
            if attrs:
                self.expect(",")
            key = self.take("word", "an attribute")
            self.expect("=")
            attrs[key] = self.constant()
        return attrs

    def loop(self) -> For:
        index, end = self.take("word", "an index"), ""
        if self.accept(".."):
            end = self.take("word", "the end of a part")
        self.expect("in")
        lo = self.bound("max")
        self.expect(":")
        hi = self.bound("min")
        step = self.integer() if self.accept("step") else 1
        kind = self.take("word", "a kind of loop") if self.next in KINDS else SERIAL
        if (kind == TASKS) != bool(end):
            self.fail("a loop of tasks, and no other one, names the end of a part: for t..u in")
        width = self.integer() if kind == LANES else 0
        heads = self.carries()
        body, closed = self.block(), self.closed
        loop = For(index, lo, hi, step, kind, body, self.carried(heads), end, width)
        self.places[loop, "end"] = closed
        return loop

    def while_loop(self) -> While:
        heads = self.carries()
        body, closed = self.block(), self.closed
        carried = self.carried(heads)
        self.expect("if")
        loop = While(carried, body, self.operand())
        self.places[loop, "end"] = closed
        return loop

    def carries(self) -> list[tuple[str, str, Operand]]:
        heads: list[tuple[str, str, Operand]] = []
        if self.accept("with"):
            while not heads or self.accept(","):
                name = self.name()
                self.expect(":")
                dtype = self.dtype()
                self.expect("=")
                heads.append((name, dtype, self.operand()))
        return heads

    def carried(self, heads: list[tuple[str, str, Operand]]) -> tuple[Carry, ...]:
        carried: list[Carry] = []
        for name, dtype, first in heads:
            self.expect("," if carried else "next")
            following = self.operand()
            self.expect("as")
            carried.append(Carry(name, dtype, first, following, self.name()))
        return tuple(carried)

    def conditional(self) -> If:
        condition, then, closed = self.condition(), self.block(), self.closed
        node = If(condition, then, self.block() if self.accept("else") else ())
        if node.otherwise:
            self.places[node, "else"] = closed
        self.places[node, "end"] = self.closed
        return node

    def store(self) -> Store:
        buffer, index = self.place()
        values: list[Operand] = []
        while self.accept(","):
            values.append(self.operand())
        if not values:
            self.fail("expected a value to store")
        guard, mask = self.where()
        return Store(buffer, index, tuple(values), guard, mask, self.hint())

    def prefetch(self) -> Prefetch:
        buffer, index = self.place()
        return Prefetch(buffer, index, self.accept("near"))

    def alloc(self) -> Alloc:
        name = self.take("word", "a name")
        self.expect(":")
        return Alloc(name, *self.array(), self.accept("shared"))

    def call(self) -> Call:
        callee = self.take("word", "an instruction")
        self.expect("(")
        places: list[tuple[str, Affine, int]] = []
        while not self.accept(")"):
            if places:
                self.expect(",")
            buffer, index = self.place()
            self.expect("by")
            places.append((buffer, index, self.integer()))
        self.expect("sizes")
        sizes = [self.integer()]
        while self.accept(","):
            sizes.append(self.integer())
        return Call(callee, tuple(places), tuple(sizes))

    def failure(self) -> Fail:
        message = unquote(self.take("string", "a message"))
        self.expect("unless")
        condition = self.condition()
        if isinstance(condition, Aligned):
            self.fail("a kernel does not fail for where its memory lies")
        return Fail(condition, message)

    # -- conditions -------------------------------------------------------------------------------

    def condition(self) -> Condition:
        if self.tokens[self.position][0] == "value":
            return self.name()
        if not self.accept("aligned"):
            return self.inside()
        self.expect("(")
        places = [self.place()]
        while self.accept(","):
            places.append(self.place())
        self.expect(")")
        apart = []
        while self.accept("and"):
            place = self.place()
            self.expect("apart")
            self.expect("from")
            apart.append((place, self.place()))
        return Aligned(tuple(places), tuple(apart))

    def inside(self) -> tuple[InRange, ...]:
        conditions: list[InRange] = []
        while not conditions or (self.next == "and" and self.tokens[self.position + 1][0] == "number"):
            if conditions:
                self.expect("and")
            self.expect("0")
            self.expect("<=")
            index = self.expression()
            conditions.append(InRange(index, self.expression() if self.accept("<") else None))
        return tuple(conditions)

    def where(self) -> tuple[tuple[InRange, ...], Operand | None]:
        guard: tuple[InRange, ...] = ()
        if not self.accept("where"):
            return guard, None
        if self.tokens[self.position][0] == "number":
            guard = self.inside()
            if not self.accept("and"):
                return guard, None
        return guard, self.operand()

    def hint(self) -> str:
        if not self.accept("{"):
            return ""
        if self.next not in HINTS:
            self.fail(f"expected a hint, found {self.next!r}")
        hint = self.take("word", "a hint")
        self.expect("}")
        return hint

    # -- operands and expressions -----------------------------------------------------------------

    def name(self) -> str:
        return self.take("value", "a %value")[1:]

    def operands(self) -> tuple[Operand, ...]:
        self.expect("(")
        operands: list[Operand] = []
        while not self.accept(")"):
            if operands:
                self.expect(",")
            operands.append(self.operand())
        return tuple(operands)

    def operand(self) -> Operand:
        if self.tokens[self.position][0] == "value":
            return self.name()
        value = self.constant()
        self.expect(":")
        return Constant(value, self.dtype())

    def constant(self) -> Any:
        negative = self.accept("-")
        kind, text, _ = self.tokens[self.position]
        self.position += 1
        if kind == "number":
            number = int(text) if text.isdigit() else float(text)
            return -number if negative else number
        if kind == "string":
            return unquote(text)
        if text in ("inf", "nan"):
            return -float(text) if negative else float(text)
        if text in ("true", "false"):
            return text == "true"
        if text in BY_NAME:
            return BY_NAME[text]
        if text == "[":
            items: list[Any] = []
            while not self.accept("]"):
                if items:
                    self.expect(",")
                items.append(self.constant())
            return tuple(items)
        self.position -= 1
        self.fail(f"expected a constant, found {text!r}")

    def place(self) -> tuple[str, Affine]:
        buffer = self.take("word", "a buffer")
        self.expect("[")
        index = self.expression()
        self.expect("]")
        return buffer, index

    def bound(self, which: str) -> tuple[Affine, ...]:
        if not self.accept(which):
            return (self.expression(),)
        self.expect("(")
        bounds = [self.expression()]
        while self.accept(","):
            bounds.append(self.expression())
        self.expect(")")
        return tuple(bounds)

    def expression(self) -> Affine:
        total, sign = affine(0), -1 if self.accept("-") else 1
        while True:
            total = total.plus(self.term(), sign)
            if self.next not in ("+", "-"):
                return total
            sign = 1 if self.next == "+" else -1
            self.position += 1

    def term(self) -> Affine:
        product = self.factor()
        while self.accept("*"):
            product = product.times(self.factor())
        return product

    def factor(self) -> Affine:
        kind, text, _ = self.tokens[self.position]
        if kind == "number" or text == "-":
            return affine(self.integer())
        if kind not in ("word", "value"):
            self.fail(f"expected an expression, found {text!r}")
        self.position += 1
        return variable(text)

    def integer(self) -> int:
        negative = self.accept("-")
        text = self.take("number", "an integer")
        if not text.isdigit():
            self.position -= 1
            self.fail(f"expected an integer, found {text!r}")
        return -int(text) if negative else int(text)
