"""Texts of kernels with tokens changed at random, taken from `tests/filetests/loops`.

Whatever the text, the parser and the verifier raise errors of their own or take it, and no kernel that they
take leaves its buffers.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np

from tracejit.base.errors import ParseError
from tracejit.codegen.loops.interpreter import InterpretedFailure, interpret_kernel
from tracejit.codegen.loops.nodes import Kernel, While
from tracejit.codegen.loops.parser import parse_kernels
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.rewriting import statements_in
from tracejit.codegen.loops.verifier import LoopFormError, verify_kernel
from tracejit.ir.dtypes import BY_NAME

from ...loop_cases import arrays_for

_FOLDER = Path(__file__).parents[2] / "filetests" / "loops"
#: The most elements of buffers, and iterations of loops, of what is interpreted.
_MOST = 4000


_TOKEN = re.compile(r'"[^"]*"|@"[^"]*"|[@%]?[\w.]+|\n|<=|>=|[^\s\w]')


@cache
def _texts() -> list[list[str]]:
    """The tokens of every kernel in the cases."""
    texts = []
    for path in sorted(_FOLDER.rglob("*.loops")):
        lines = [line for line in path.read_text().splitlines() if not line.startswith(";")]
        texts.append(_TOKEN.findall("\n".join(lines)))
    return texts


def _kind(token: str) -> str:
    """Tokens of one kind may stand in each other's place."""
    if token[:1] in "%@" or token.isdigit():
        return token[:1] if token[:1] in "%@" else "number"
    return "dtype" if token in BY_NAME else "word" if token.isidentifier() else token


def changed_text(rng: np.random.Generator) -> str:
    """The text of a case with one to three tokens of it changed, left out, repeated, or taken from another
    place."""
    texts = _texts()
    tokens = list(texts[int(rng.integers(len(texts)))])
    others = tokens if rng.random() < 0.7 else texts[int(rng.integers(len(texts)))]
    for _ in range(int(rng.integers(1, 4))):
        place, what = int(rng.integers(len(tokens))), rng.random()
        if what < 0.1:
            del tokens[place]
        elif what < 0.2:
            tokens.insert(place, tokens[place])
        elif what < 0.5 and any(token.isdigit() for token in tokens):
            numbers = [number for number, token in enumerate(tokens) if token.isdigit()]
            place = numbers[int(rng.integers(len(numbers)))]
            tokens[place] = str(max(0, int(tokens[place]) + int(rng.integers(-3, 4))))
        else:
            alike = [token for token in others if what > 0.95 or _kind(token) == _kind(tokens[place])]
            tokens[place] = alike[int(rng.integers(len(alike)))] if alike else tokens[place]
    return " ".join(tokens)


def outcome_of(text: str) -> str:
    """``malformed``, ``invalid``, ``valid``, or ``run``, after the kernel ran within its buffers."""
    try:
        document = parse_kernels(text)
    except ParseError:
        return "malformed"
    for kernel in document.kernels:
        try:
            verify_kernel(kernel)
        except LoopFormError as error:
            if error.node is not None and error.node not in document.places:
                raise AssertionError(f"{error} is in no line of the text") from error
            return "invalid"
        printed = print_kernel(kernel)
        (again,) = parse_kernels(printed).kernels
        assert print_kernel(again) == printed
        if not _runs_shortly(kernel):
            return "valid"
        for size in (1, 6):
            symbols = {name: max(least, size) for name, least in kernel.symbols}
            try:
                interpret_kernel(kernel, arrays_for(kernel, size, symbols), symbols)
            except InterpretedFailure:
                continue
    return "run"


def _runs_shortly(kernel: Kernel) -> bool:
    """Whether `kernel` ends, and does so soon, as far as that is seen."""
    symbols = {name: max(least, 6) for name, least in kernel.symbols}
    sizes = [buffer.size.value(symbols) for buffer in kernel.buffers]
    steps = 1
    for node in statements_in(kernel.body):
        if isinstance(node, While):
            return False
        for bound in getattr(node, "hi", ()):
            steps *= max(1, abs(bound.constant)) * 6 ** len(bound.names)
    return all(0 <= size <= _MOST for size in sizes) and steps <= _MOST
