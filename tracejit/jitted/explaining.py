"""Explanations that ``JitFunction.explain`` returns: what was compiled, why, and how, as text and as data."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ..base.records import record
from ..ir.graph import Instruction
from ..ir.ops.fusion import INTERPRETED
from ..ir.ops.linalg.undetermined import GRADIENT_WARNING
from ..ir.passes.loops.rerolling import rerolled_loops
from ..ir.registry import Kind
from ..loops.reports import LoopReport
from ..provided import REPORTS
from ..runtime.cache.store import CACHE
from ..runtime.executable import Executable
from .guard_tree.nodes import GuardTree, Signature
from .guard_tree.report import TreeBranch, tree_report, watched
from .guard_tree.specializations import LeafKind, Specialization
from .recompilation import Change, Reason
from .signatures import argument_names, type_text
from .static_arguments import static_text

#: Lines are at most so long, where that is ours to say.
_WIDTH: Final = 110
#: Most of a list of arguments, captures or guards that are printed; the report has all of them.
_MAX_LISTED: Final = 40


@record
class HostCallReport:
    """An op that is not compiled: its NumPy kernel, or the user's function, is called from native code.

    Attributes:
        op: its name.
        where: the user's line, as ``model.py:12``; empty where it is not known.
        why: what is missing.
    """

    op: str
    where: str
    why: str


@record
class ProgramReport:
    """One native program of a signature.

    Attributes:
        label: "forward", "forward, keeping what gradients need", "backward", or "shared by N paths".
        milliseconds: compile time by phase.
        kernels: how many kernels it calls.
        arena_bytes: bytes for intermediate values.
        host_calls: what it does not do in native code.
        from_disk: whether its machine code was found in the cache on disk (docs/cache.md).
        tier: "baseline" while the optimized code is compiled in the background (docs/tiers.md), else "full".
        problem: why the optimized code could not be compiled; empty otherwise.
        fallbacks: what the compiler failed on, and what was done instead: the texts of its warnings.
        flush_denormals: whether calls take denormal numbers for zero.
        rerolled: which traced operations repeat others so often that they are compiled as loops.
        copies: what lines copy at each step of a loop, why, and what to write: (the user's line, text).
    """

    label: str
    milliseconds: dict[str, float]
    kernels: int
    arena_bytes: int
    host_calls: tuple[HostCallReport, ...]
    from_disk: bool
    tier: str = "optimized"
    problem: str = ""
    fallbacks: tuple[str, ...] = ()
    flush_denormals: bool = False
    rerolled: tuple[str, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()


@record
class PathReport:
    """One path through the Python code of a signature.

    Attributes:
        reason: why it was compiled.
        hits: the calls that took it.
        decisions: what Python code saw, in order: (value, the user's line).
        programs: its native programs.
    """

    reason: str
    hits: int
    decisions: tuple[tuple[Any, str], ...]
    programs: tuple[ProgramReport, ...]


@record
class SignatureReport:
    """Report on the programs compiled for arguments of certain types.

    Attributes:
        arguments: the name and type of each leaf, such as ``("p['w']", "f64[3]")``.
        static: the static arguments, as text; empty without.
        reason: why it was compiled.
        changes: how it differs from the nearest signature before it.
        earlier: why it had been compiled before, where it was compiled again.
        captures: what the function closes over and reads at each call.
        guards: what it closes over and took for constants; each change compiles again.
        unwatched: what it reads that is not watched, so that a change goes unnoticed.
        native_entry: whether calls go straight to native code, without Python.
        programs: its native programs; empty where it has paths.
        paths: where Python code branches on values, one for each way through.
        donated: how many arrays are donated.
        reused: how many of those have memory that a result may take over.
        writes: the arguments that the function writes.
        loops: the outcome of each loop in the function.
    """

    arguments: tuple[tuple[str, str], ...]
    static: str
    reason: str
    changes: tuple[Change, ...]
    earlier: tuple[str, ...]
    captures: tuple[str, ...]
    guards: tuple[tuple[str, str], ...]
    unwatched: tuple[str, ...]
    native_entry: bool
    programs: tuple[ProgramReport, ...]
    paths: tuple[PathReport, ...] = ()
    donated: int = 0
    reused: int = 0
    writes: tuple[str, ...] = ()
    loops: tuple[LoopReport, ...] = ()

    @property
    def milliseconds(self) -> float:
        """The time of compiling all of its programs."""
        every = [*self.programs, *(program for path in self.paths for program in path.programs)]
        return sum(sum(report.milliseconds.values()) for report in every)


class Explanation(str):
    """The text, which prints as it is, with the same as data.

    Attributes:
        name: the function's.
        where: where it is defined, as ``model.py:12``; empty where that is not known.
        signatures: a `SignatureReport` for each signature, in the order they were compiled.
        tree: the guard tree: what is tested of a call, in order, and how it is served.
    """

    name: str
    where: str
    signatures: tuple[SignatureReport, ...]
    tree: tuple[TreeBranch, ...]

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The HTML for notebooks."""
        html: str = REPORTS().explanation_html(self)
        return html

    def as_dict(self) -> dict[str, Any]:
        """The explanation as a dict that JSON can hold."""
        return {
            "name": self.name,
            "where": self.where,
            "tree": _plain(self.tree),
            "signatures": [
                {**_plain(signature), "total_milliseconds": signature.milliseconds}
                for signature in self.signatures
            ],
        }


def _plain(value: Any) -> Any:
    """Records as dicts, whatever they hold."""
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict) or not hasattr(value, "__slots__"):
        return value
    return {name: _plain(getattr(value, name)) for name in value.__slots__}


def explain(
    fn: Callable[..., Any],
    name: str,
    static: frozenset[int],
    tree: GuardTree,
) -> Explanation:
    """Explain the compilation of the function `fn`: what was compiled, why, and how, by signature and
    path."""
    signatures = list(tree.signatures)
    count, where = len(signatures), _definition(fn)
    reports = tuple(_report(fn, static, signature) for signature in signatures)
    lines = [f"{name}: {count} signature{'s' * (count != 1)} compiled"]
    if where and reports:
        spent = sum(report.milliseconds for report in reports)
        lines.append(f"  defined at {where}; compiled in {spent:.0f} ms in all")
    if CACHE.problem and not CACHE.switched_off:
        lines.append(f"  compiled code is not kept on disk: {CACHE.problem}")
    elif CACHE.failure:
        lines.append(f"  the last compiled code was not kept on disk: {CACHE.failure}")
    branches = tree_report(fn, static, tree)
    if reports:
        lines += ["  tests of a call, in order:", *[line for each in branches for line in each.lines(4)]]
    for number, (report, signature) in enumerate(zip(reports, signatures, strict=True)):
        lines += _lines(number, report, signature)
    explanation = Explanation("\n".join(lines))
    explanation.name, explanation.where, explanation.signatures = name, where, reports
    explanation.tree = branches
    return explanation


def _definition(fn: Any) -> str:
    code = getattr(inspect.unwrap(fn), "__code__", None)
    if code is None:
        return ""
    return f"{code.co_filename.replace(chr(92), '/').rsplit('/', 1)[-1]}:{code.co_firstlineno}"


# -- data ------------------------------------------------------------------------------------------


def _report(fn: Callable[..., Any], static: frozenset[int], signature: Signature) -> SignatureReport:
    lead, shared = signature.lead, signature.shared
    names = argument_names(fn, static, lead.structure)
    programs = () if lead.decisions else tuple(_programs(lead))
    if shared is not None:
        programs = tuple(_programs(shared, f"shared by {len(shared.together)} paths"))
    paths = [
        PathReport(
            str(path.reason),
            path.hits,
            tuple((each.seen, str(each.location or "")) for each in path.decisions),
            tuple(_programs(path)),
        )
        for path in signature.paths()
    ]
    return SignatureReport(
        tuple(zip(names, map(type_text, lead.leaf_types), strict=True)),
        static_text(lead.static) if lead.static else "",
        str(lead.reason),
        lead.reason.changes if isinstance(lead.reason, Reason) else (),
        tuple(map(str, lead.earlier)),
        tuple(map(str, lead.bindings.sources)),
        tuple(watched(lead)),
        lead.bindings.unwatched,
        bool(lead.entries),
        programs,
        tuple(paths),
        len(lead.donated),
        len(lead.compiled.made_executable.reuses) if lead.compiled.made_executable else 0,
        () if lead.writes is None else lead.writes.names(),
        lead.loops,
    )


def _programs(leaf: Specialization, label: str = "forward") -> Iterator[ProgramReport]:
    """The programs that exist; nothing is compiled for a report."""
    for what, compiled in leaf.compiled.made():
        executable = compiled.made_executable
        if executable is not None:
            traced = {"trace": leaf.tracing} if what == "forward" and leaf.tracing else {}
            yield _program(label if what == "forward" else what, executable, traced)


def _program(label: str, executable: Executable, traced: dict[str, float]) -> ProgramReport:
    # the module is made anew where the machine code was found on disk
    calls = executable.module.host_calls if executable.not_lowered else []
    return ProgramReport(
        label,
        {**traced, **executable.milliseconds},
        executable.kernels,
        executable.arena_bytes,
        tuple(_host_call(call.instruction) for call in calls if call.instruction.op is not GRADIENT_WARNING),
        executable.found,
        executable.tier,
        executable.problem,
        tuple(executable.fallbacks),
        executable.flush_denormals,
        tuple(map(str, rerolled_loops(executable.source))),
        tuple([(str(copy.location or ""), copy.text) for copy in executable.copies_at_steps()]),
    )


def _host_call(instruction: Instruction) -> HostCallReport:
    op = instruction.op
    dtypes = ", ".join(dict.fromkeys(operand.dtype.name for operand in instruction.operands))
    if op is INTERPRETED:
        inside = [inner for inner in instruction.regions[0].body if inner.op.kind is not Kind.VIEW]
        names = ", ".join(dict.fromkeys(instruction.op.name for instruction in inside))
        return HostCallReport(names, str(instruction.location or ""), "the compiler failed on it")
    if "callback" in instruction.attrs:
        why = "it is a Python function"
    elif op.emit is not None:
        why = f"its machine code is not for {dtypes}"
    else:
        why = "it has no machine code"
    return HostCallReport(op.name, str(instruction.location or ""), why)


# -- text ------------------------------------------------------------------------------------------


def _lines(number: int, report: SignatureReport, signature: Signature) -> Iterator[str]:
    types = _listed([f"{name}: {text}" for name, text in report.arguments])
    if len(types) + len(report.reason) <= _WIDTH:
        yield f"  [{number}] ({types}): {report.reason}"
    else:
        yield f"  [{number}] {report.reason}"
        yield from _wrapped(f"arguments: {types}")
    for reason in reversed(report.earlier):
        yield f"      compiled before: {reason}"
    if report.static:
        yield f"      static: {report.static}"
    if report.captures:
        yield from _wrapped(f"captures: {_listed([*_counted(report.captures)])}")
    if report.donated:
        yield f"      donated arrays: {report.donated}, memory reused by results: {report.reused}"
    if report.writes:
        yield from _wrapped(f"writes to arguments: {_listed(report.writes)}")
    for loop in report.loops:
        yield from _wrapped(str(loop))
    if report.guards:
        yield from _wrapped(f"guards: {_listed([f'{name} is {value}' for name, value in report.guards])}")
    for name in report.unwatched:
        yield f"      not watched: {name}"
    for path in report.paths:
        times = "once" if path.hits == 1 else f"{path.hits} times"
        yield f"      path taken {times}: {path.reason}"
        yield from _program_lines(path.programs)
    if signature.shared is not None:
        yield f"      {len(signature.shared.together)} of these paths share one native function"
    yield from _program_lines(report.programs)
    if not report.paths and not report.native_entry and LeafKind.WRAPPED not in signature.lead.kinds.values():
        yield "      calls go through Python: there is no native entry for these arguments and captures"


def _listed(parts: Sequence[str]) -> str:
    """`parts` with commas between them, of very many the first ones."""
    more = len(parts) - _MAX_LISTED
    return ", ".join(parts) if more <= 0 else f"{', '.join(parts[:_MAX_LISTED])} and {more} more"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 8, break_long_words=False
    )


def _counted(names: Sequence[str]) -> Iterator[str]:
    """The distinct names, each with its number of occurrences."""
    for name in dict.fromkeys(names):
        count = names.count(name)
        yield name if count == 1 else f"{name} ({count} times)"


def _program_lines(programs: Sequence[ProgramReport]) -> Iterator[str]:
    for program in programs:
        if len(programs) > 1 or program.label != "forward":
            yield f"      {program.label}:"
        spent = ", ".join(f"{name} {value:.1f}" for name, value in program.milliseconds.items())
        yield f"      milliseconds: {spent}; {sum(program.milliseconds.values()):.1f} together"
        origin = "; found in the cache on disk" if program.from_disk else ""
        yield f"      kernels: {program.kernels}, arena {program.arena_bytes} bytes{origin}"
        if program.problem:
            yield f"      calls run baseline code; optimized code could not be compiled: {program.problem}"
        elif program.tier == "baseline":
            yield "      calls run baseline code until the optimized code is compiled"
        if program.flush_denormals:
            yield "      denormal numbers count as zero"
        for text in [*_counted(program.rerolled), *program.fallbacks]:
            yield from _wrapped(text)
        for where, text in program.copies:
            yield from _wrapped(f"{where}: {text}" if where else text)
        if not program.host_calls:
            yield "      everything is native code"
            continue
        ops = ", ".join(each.op for each in program.host_calls)
        yield f"      not compiled, run by their NumPy kernels: {ops}"
        for each in dict.fromkeys(program.host_calls):
            yield f"        {each.op}{' at ' + each.where if each.where else ''}: {each.why}"
