"""Lets the loops of functions be traced as loops while a function is traced."""

from __future__ import annotations

import contextlib
import dis
import itertools
import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any, Final

from ..frontend.bytecode import decode
from ..ir.process.collector import collector_paused
from .reports import MANY_OPERATIONS, LoopReport, Session, tracing_loops

_LOOP_OPCODES: Final = frozenset(
    code for name, code in dis.opmap.items() if name == "FOR_ITER" or "JUMP_BACKWARD" in name
)
# Names in a function's text by which its rewriting knows NumPy's functions; what they name is asked when the
# code runs.

#: Functions that make arrays whose elements are written later.
CREATIONS: Final = frozenset(
    ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like")
)
#: Functions that make arrays of numbers, which may be traced, and objects that do so for an index.
ARRAY_BUILDERS: Final = frozenset(
    ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "full", "vectorize", "r_", "c_")
)
#: Those of them that are indexed.
INDEXED_BUILDERS: Final = frozenset(("r_", "c_"))
#: Functions of NumPy's that write their first argument.
WRITERS: Final = frozenset(("at", "copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"))
#: Functions of ``scipy.special`` that are no ufuncs.
OF_SCIPY: Final = frozenset(
    (
        "comb",
        "factorial",
        "lambertw",
        "log_softmax",
        "logsumexp",
        "multigammaln",
        "polygamma",
        "softmax",
        "zeta",
    )
)
#: Names of functions that have stand-ins everywhere.
WITH_STAND_INS: Final = (
    ARRAY_BUILDERS
    | OF_SCIPY
    | frozenset(name for name in vars(math) if name not in ("floor", "ceil"))
    | {
        *("round", "stack", "tensor", "bool_", "float16", "float32", "float64"),
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    }
)
_OF_MATH: Final = frozenset(name for name, function in vars(math).items() if callable(function))
_LITERALS: Final = frozenset(("LOAD_CONST", "LOAD_SMALL_INT"))
#: What writes an item.
_STORES_ITEMS: Final = dis.opmap["STORE_SUBSCR"]


def has_loops(code: CodeType) -> bool:
    """Whether `code`, or code inside it, has a loop."""
    return not _LOOP_OPCODES.isdisjoint(code.co_code[::2]) or any(
        isinstance(constant, CodeType) and has_loops(constant) for constant in code.co_consts
    )


def needs_stand_ins(code: CodeType) -> bool:
    """Whether `code`, or code inside it, names functions that would ask for the values of what is traced:
    those of ``math`` (unless all are called with literals), SciPy's that are no ufuncs, and NumPy's that make
    arrays of it, or arrays that it is written to."""
    names = frozenset(code.co_names)
    if not (ARRAY_BUILDERS | OF_SCIPY).isdisjoint(names) or ("math" in names and _takes_variables(code)):
        return True
    if not CREATIONS.isdisjoint(names) and (
        _STORES_ITEMS in code.co_code[::2]
        or not WRITERS.isdisjoint(names)
        or any(isinstance(constant, tuple) and "out" in constant for constant in code.co_consts)
    ):
        return True
    return any(isinstance(constant, CodeType) and needs_stand_ins(constant) for constant in code.co_consts)


def _takes_variables(code: CodeType) -> bool:
    """Whether a function of ``math`` that `code` names may get something other than literals."""
    instructions = [step for step in decode(code).instructions if step.name != "PUSH_NULL"]
    for position, step in enumerate(instructions):
        if step.name in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM") and step.argument in _OF_MATH:
            literals = list(
                itertools.takewhile(lambda step: step.name in _LITERALS, instructions[position + 1 :])
            )
            call = instructions[position + 1 + len(literals)]
            if call.name != "CALL" or call.number != len(literals):
                return True
    return False


def to_rewrite(functions: Iterable[FunctionType], others: Container[CodeType]) -> list[FunctionType]:
    """Those of `functions` that are rewritten for a trace: they have loops, need stand-ins, or are among
    `others`."""
    return [
        function
        for function in functions
        if has_loops(function.__code__) or needs_stand_ins(function.__code__) or function.__code__ in others
    ]


@contextlib.contextmanager
def loops_traced(
    mode: str, label: str, rewritten: Sequence[FunctionType], checkpoint_every: int | None = None
) -> Iterator[Callable[[int], tuple[LoopReport, ...]]]:
    """Within, the functions `rewritten` have code in which loops can be traced as loops, by `mode`, and what
    asks NumPy or ``math`` for arrays and numbers gets what is traced. Gives a function that tells what became
    of loops, of the number of operations that were traced; `label` is what messages call the function that is
    traced, and `checkpoint_every` of how many steps gradients keep the first carries."""
    if not rewritten:
        yield lambda operations: ()
        return
    session = Session(mode, label, checkpoint_every)
    with collector_paused():  # what is loaded stays
        rewriting: Any = import_module(".functions", __package__)  # for those who write loops
        import_module(".statements", __package__)
    with rewriting.Converted(rewritten) as converted, tracing_loops(session):
        unread = {
            f"{code.co_filename.replace(chr(92), '/').rsplit('/', 1)[-1]}:{code.co_firstlineno}": reason
            for code, reason in converted.problems.items()
            if has_loops(code)
        }
        for where, reason in unread.items():
            session.note(where, "unrolled", reason)

        def finish(operations: int) -> tuple[LoopReport, ...]:
            if operations > MANY_OPERATIONS:
                for where, reason in unread.items():
                    session.warn(where, operations, reason)
            return session.reports

        yield finish
