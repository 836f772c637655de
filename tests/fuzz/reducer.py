"""Makes a failing program small: delta debugging over statements, results, captures, arguments and sizes.

A value whose statement is taken away becomes an argument, with random elements or with those that it had. So
any slice of a program is a program.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reference
from .measuring import measured
from .program import HEADER, Argument, Program, Statement

#: Arrays of up to so many elements may stand in a program's text.
LITERAL = 60


def reduce_program(program: Program, fails: Callable[[Program], bool], seconds: float = 60.0) -> Program:
    """The smallest program found in about `seconds` for which `fails` holds, as it does for `program`."""
    end = time.monotonic() + seconds
    edits = (
        fewer_results,
        fewer_statements,
        fewer_captures,
        fewer_arguments,
        plain_layouts,
        smaller_sizes,
        plain_values,
    )
    size = 0
    while size != measure(program) and time.monotonic() < end:
        size = measure(program)
        for edit in edits:
            program = exhaust(edit, program, fails, end)
    return program


def measure(program: Program) -> int:
    """The size of its text."""
    return len(program.source())


def exhaust(
    edit: Callable[[Program], Iterator[Program]],
    program: Program,
    fails: Callable[[Program], bool],
    end: float,
) -> Program:
    """Apply an edit while one of its proposals still fails."""
    progress = True
    while progress:
        progress = False
        for proposal in edit(program):
            if time.monotonic() > end:
                return program
            try:
                smaller = measured(proposal)
            except Exception:  # not a program: its text does not run
                continue
            if fails(smaller):
                program, progress = smaller, True
                break
    return program


# -- edits ---------------------------------------------------------------------------------------------


def fewer_results(program: Program) -> Iterator[Program]:
    if len(program.results) > 1:
        for name in program.results:
            yield program.with_(results=(name,), tolerances=(0.0,))
        for i in range(len(program.results)):
            yield program.with_(results=program.results[:i] + program.results[i + 1 :])
    # what a result is computed from may be wrong already
    for statement in program.statements:
        if set(statement.targets) & set(program.results):
            for name in sorted(statement.names() - set(statement.targets)):
                if name.startswith("v"):
                    yield program.with_(results=(name,), tolerances=(0.0,))


def fewer_statements(program: Program) -> Iterator[Program]:
    """Remove runs of statements, long ones first; what they defined becomes an argument where it is used."""
    count = len(program.statements)
    arrays = snapshots(program)
    length = count
    while length:
        for start in range(count - length, -1, -1):
            kept = program.statements[:start] + program.statements[start + length :]
            lost = [name for s in program.statements[start : start + length] for name in s.targets]
            for literal in (False, True):
                yield from with_arguments(program, kept, lost, arrays, literal)
        length //= 2


def with_arguments(
    program: Program,
    statements: tuple[Statement, ...],
    lost: list[str],
    arrays: dict[str, NDArray[Any]],
    literal: bool,
) -> Iterator[Program]:
    """The program of these statements, with arguments for what is no longer defined."""
    needed = {name for s in statements for name in s.names()} | set(program.results)
    missing = [name for name in lost if name in needed]
    if literal and not missing:
        return
    if literal and any(arrays[name].size > LITERAL for name in missing):
        return
    renamed = {name: f"a{100 + int(name[1:])}" for name in missing}
    added = tuple(
        Argument(new, written(arrays[name], literal), arrays[name].dtype.name, arrays[name].shape)
        for name, new in renamed.items()
    )
    results = tuple(dict.fromkeys(renamed.get(name, name) for name in program.results))
    yield program.with_(
        arguments=program.arguments + added,
        statements=tuple(rename(s, renamed) for s in statements),
        results=results,
    )


def rename(statement: Statement, names: dict[str, str]) -> Statement:
    text = re.sub(r"\b[av]\d+\b", lambda match: names.get(match[0], match[0]), statement.text)
    return Statement(text, statement.targets, statement.step)


def written(array: NDArray[Any], literal: bool) -> str:
    """The text of an array: its elements, or random ones of its shape and dtype."""
    if literal:
        elements = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        return f"np.array({elements}, '{array.dtype}').reshape({array.shape})"
    rng = f"np.random.default_rng({array.size})"
    if array.dtype.kind == "c":
        return f"({rng}.normal(size={array.shape}) + 1j).astype('{array.dtype}')"
    if array.dtype.kind == "f" and not (array == np.rint(array)).all():
        return f"{rng}.normal(size={array.shape}).astype('{array.dtype}')"
    if array.dtype.kind == "b":
        return f"{rng}.random({array.shape}) < 0.5"
    low = 0 if array.dtype.kind == "u" else -5
    return f"{rng}.integers({low}, 6, {array.shape}).astype('{array.dtype}')"


def fewer_captures(program: Program) -> Iterator[Program]:
    """Remove captures that no statement reads."""
    text = "\n".join(s.text for s in program.statements)
    kept = tuple(c for c in program.captures if re.search(rf"\b(read_|reading_)?{c.name}\b", text))
    if len(kept) < len(program.captures):
        yield program.with_(captures=kept, rebound_tolerances=program.rebound_tolerances if kept else None)


def fewer_arguments(program: Program) -> Iterator[Program]:
    """Remove arguments that nobody reads."""
    needed = {name for s in program.statements for name in s.names()} | set(program.results)
    kept = tuple(a for a in program.arguments if a.name in needed)
    if len(kept) < len(program.arguments):
        yield program.with_(arguments=kept)


def plain_layouts(program: Program) -> Iterator[Program]:
    for i, argument in enumerate(program.arguments):
        match = re.fullmatch(r"laid_out\((.*), '[\w ]+'\)", argument.expression)
        if match:
            yield replaced(program, i, match[1], argument.shape)


def plain_values(program: Program) -> Iterator[Program]:
    """Arguments of ones, or of whole numbers counted up."""
    for i, argument in enumerate(program.arguments):
        if "np.ones" not in argument.expression and "np.arange" not in argument.expression:
            yield replaced(program, i, f"np.ones({argument.shape}, '{argument.dtype}')", argument.shape)
            count = int(np.prod(argument.shape))
            if argument.dtype != "bool" and count < 100:
                text = f"np.arange({count}).reshape({argument.shape}).astype('{argument.dtype}')"
                yield replaced(program, i, text, argument.shape)


def smaller_sizes(program: Program) -> Iterator[Program]:
    """One size, wherever it occurs in shapes and statements, replaced by a smaller one."""
    sizes = sorted({n for a in program.arguments for n in a.shape if n > 1}, reverse=True)
    for size in sizes:
        for smaller in dict.fromkeys((1, 2, 3, size // 4, size // 2, size * 3 // 4, size - 1)):
            if 0 < smaller < size:
                yield with_size(program, size, smaller)


def with_size(program: Program, size: int, smaller: int) -> Program:
    number = re.compile(rf"(?<![\w.]){size}(?![\w.])")
    arguments = tuple(
        Argument(
            a.name,
            number.sub(str(smaller), a.expression),
            a.dtype,
            tuple(smaller if n == size else n for n in a.shape),
        )
        for a in program.arguments
    )
    statements = tuple(
        Statement(number.sub(str(smaller), s.text), s.targets, s.step) for s in program.statements
    )
    return program.with_(arguments=arguments, statements=statements)


def replaced(program: Program, position: int, expression: str, shape: tuple[int, ...]) -> Program:
    old = program.arguments[position]
    arguments = list(program.arguments)
    arguments[position] = Argument(old.name, expression, old.dtype, shape)
    return program.with_(arguments=tuple(arguments))


def snapshots(program: Program) -> dict[str, NDArray[Any]]:
    """Each value as it was when it was defined."""
    names: dict[str, Any] = {"xp": reference}
    exec(HEADER, names)
    arrays = {}
    with np.errstate(all="ignore"):
        for argument in program.arguments:
            names[argument.name] = eval(argument.expression, names)
        for capture in program.captures:
            exec(capture.setup, names)
        for statement in program.statements:
            exec(statement.text, names)
            arrays.update({name: np.array(names[name]) for name in statement.targets})
    return arrays
