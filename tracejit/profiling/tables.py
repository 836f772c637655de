"""A profile as text, and as what JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..codegen.module.costs import Cost
from .records import FunctionProfile, NestProfile

if TYPE_CHECKING:
    from .profiles import Profile

_HEAD = ("compiled", "calls", "ms", "%", "best us", "GFLOP/s", "GB/s", "what", "where")
#: Names and lists of types are cut to this many characters.
_WIDTH = 44


def table(profile: Profile, limit: int) -> str:
    """Compiled functions with their nests, then eager kernels; the slowest `limit` of each."""
    parts = [text for rows, rest in sections(profile, limit) for text in (aligned(rows), rest) if text]
    return "\n\n".join(parts) or "nothing ran"


def sections(profile: Profile, limit: int) -> list[tuple[list[tuple[str, ...]], str]]:
    """The tables, each as rows of cells under a row of names, with what is said of rows left out."""
    parts = []
    functions = profile.functions
    if functions:
        rows: list[tuple[str, ...]] = [_HEAD]
        total = max(profile.milliseconds, 1e-9)
        for function in functions[:limit]:
            rows += _function_rows(function, total, limit)
        more = len(functions) - limit
        parts.append((rows, f"... and {more} more compiled functions" if more > 0 else ""))
    if profile.eager:
        more = len(profile.eager) - limit
        parts.append((_eager_rows(profile, limit), f"... and {more} more" if more > 0 else ""))
    return parts


def _function_rows(function: FunctionProfile, total: float, limit: int) -> list[tuple[str, ...]]:
    cost = function.cost
    types = _cut(", ".join(function.inputs))
    rows: list[tuple[str, ...]] = [
        (
            f"@{function.name}", f"{function.calls}", f"{function.milliseconds:.3f}",
            f"{100 * function.milliseconds / total:.0f}", "", *_rates(cost, function.kernel_milliseconds),
            f"({types})", function.where,
        )
    ]  # fmt: skip
    chosen = sorted(function.nests, key=lambda nest: -nest.milliseconds)[:limit]
    for nest in function.nests:
        if nest not in chosen or (nest.runs == 0 and len(function.nests) > limit):
            continue
        indent = "  " * (1 + _depth(nest, function.nests))
        share = f"{100 * nest.milliseconds / total:.0f}"
        best = f"{nest.best * 1e3:.1f}" if nest.runs else ""
        rows.append(
            (
                f"{indent}{nest.name.rsplit('_', 1)[-1]} {nest.kind}", f"{nest.runs}",
                f"{nest.milliseconds:.3f}", share, best, *_rates(nest.cost, nest.milliseconds),
                _cut(", ".join(nest.ops)), _lines(nest.lines),
            )
        )  # fmt: skip
    if len(function.nests) > len(chosen):
        rows.append((f"  ... and {len(function.nests) - len(chosen)} more", *[""] * 8))
    between = function.milliseconds - function.kernel_milliseconds
    rows.append(
        (
            "  around its kernels", "", f"{between:.3f}", f"{100 * between / total:.0f}", "", "", "",
            "the call itself", "",
        )
    )  # fmt: skip
    return rows


def _depth(nest: NestProfile, nests: Sequence[NestProfile]) -> int:
    return 0 if nest.parent is None else 1 + _depth(nests[nest.parent], nests)


def _rates(cost: Cost, milliseconds: float) -> tuple[str, str]:
    """GFLOP/s and GB/s; at least these where a loop's steps are not known."""
    if not milliseconds:
        return "", ""
    more = "" if cost.exact else ">"
    return tuple(
        f"{more}{number / milliseconds / 1e6:.2f}" if number else "" for number in (cost.flops, cost.bytes)
    )  # type: ignore[return-value]


def _lines(lines: Sequence[str]) -> str:
    """``model.py:12-14`` for neighbouring lines of one file."""
    by_file: dict[str, list[int]] = {}
    for text in lines:
        file, _, line = text.rpartition(":")
        by_file.setdefault(file, []).append(int(line))
    return ", ".join(
        f"{file}:{min(numbers)}" + (f"-{max(numbers)}" if len(numbers) > 1 else "")
        for file, numbers in by_file.items()
    )


def _eager_rows(profile: Profile, limit: int) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("eager", "calls", "ms", "bytes", "backend", "inputs")]
    slowest = sorted(profile.eager.items(), key=lambda item: -item[1][1])
    for (name, backend, inputs), (calls, milliseconds, nbytes) in slowest[:limit]:
        rows.append((name, f"{calls}", f"{milliseconds:.3f}", f"{nbytes}", backend, _cut(", ".join(inputs))))
    return rows


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns: the first and those of words to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    numbers = [
        i > 0 and all(_is_number(row[i]) for row in rows[1:]) and any(row[i] for row in rows[1:])
        for i in range(len(widths))
    ]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numbers, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _is_number(cell: str) -> bool:
    return not cell or cell.lstrip(">-").replace(".", "", 1).isdigit()


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def summary(profile: Profile) -> str:
    """The summary of a profile: the time by part, and the rates achieved."""
    data = as_dict(profile)
    lines = [
        f"{data['milliseconds_on']:.1f} ms: compiled functions {data['compiled_milliseconds']:.1f}, "
        f"eager kernels {data['eager_milliseconds']:.1f}, compiling {data['compile_milliseconds']:.1f}, "
        f"compiling with clocks {data['instrument_milliseconds']:.1f}, "
        f"the rest (Python, tracing) {data['rest_milliseconds']:.1f}"
    ]
    if data["kernel_milliseconds"]:
        lines.append(
            f"in compiled kernels: {data['kernel_milliseconds']:.1f} ms, {data['gflops']:.2f} GFLOP/s, "
            f"{data['gbytes']:.2f} GB/s ({data['flops']:.3g} flops, {data['bytes']:.3g} bytes)"
        )
    lines.append(f"new bytes {profile.new_bytes}, peak bytes {profile.peak_bytes}")
    lines += [f"@{function.name}: {text}" for function in profile.functions for text in function.fallbacks]
    lines += [text for function in profile.functions for text in _denormals(function)]
    lines += [f"@{function.name}: {text}" for function in profile.functions for text in function.copies]
    if profile.dropped:
        lines.append(f"{profile.dropped} events are not in the trace: there were too many")
    return "\n".join(lines)


def _denormals(function: FunctionProfile) -> list[str]:
    """A line about the kernels that met denormal numbers, the slowest first; empty without any."""
    parents = {nest.parent for nest in function.nests}
    kernels = [nest for i, nest in enumerate(function.nests) if nest.denormal_runs and i not in parents]
    if not kernels:
        return []
    kernels.sort(key=lambda nest: -nest.milliseconds)
    named = ", ".join(f"{nest.name.rsplit('_', 1)[-1]} ({_lines(nest.lines)})" for nest in kernels[:3])
    more = f" and {len(kernels) - 3} more" if len(kernels) > 3 else ""
    spent = sum(nest.milliseconds for nest in kernels)
    return [
        f"@{function.name}: {named}{more}, {spent:.1f} ms together, met denormal numbers, which slow "
        "most CPUs down; tj.jit(flush_denormals=True) takes them for zero"
    ]


def as_dict(profile: Profile) -> dict[str, Any]:
    """Totals without single events. Times of threads at work at once add up."""
    functions = profile.functions
    cost = sum((function.cost for function in functions), Cost())
    kernels = sum(function.kernel_milliseconds for function in functions)
    compiled = sum(function.milliseconds for function in functions)
    eager = sum(spent for _, spent, _ in profile.eager.values())
    compiling = sum(function.compile_milliseconds for function in functions)
    accounted = compiled + eager + compiling + profile.instrument_milliseconds
    return {
        "milliseconds_on": profile.milliseconds_on,
        "compiled_milliseconds": compiled,
        "kernel_milliseconds": kernels,
        "eager_milliseconds": eager,
        "compile_milliseconds": compiling,
        "instrument_milliseconds": profile.instrument_milliseconds,
        "rest_milliseconds": max(0.0, profile.milliseconds_on - accounted),
        "flops": cost.flops,
        "bytes": cost.bytes,
        "gflops": cost.flops / kernels / 1e6 if kernels else 0.0,
        "gbytes": cost.bytes / kernels / 1e6 if kernels else 0.0,
        "new_bytes": profile.new_bytes,
        "peak_bytes": profile.peak_bytes,
        "dropped": profile.dropped,
        "functions": [_function_dict(function) for function in functions],
        "eager": [
            {
                "op": name, "backend": backend, "inputs": list(inputs), "calls": calls,
                "milliseconds": milliseconds, "bytes": nbytes,
            }
            for (name, backend, inputs), (calls, milliseconds, nbytes) in profile.eager.items()
        ],
    }  # fmt: skip


def _function_dict(profile: FunctionProfile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "inputs": list(profile.inputs),
        "where": profile.where,
        "calls": profile.calls,
        "milliseconds": profile.milliseconds,
        "kernel_milliseconds": profile.kernel_milliseconds,
        "compile_milliseconds": profile.compile_milliseconds,
        "flops": profile.cost.flops,
        "bytes": profile.cost.bytes,
        "nests": [_nest_dict(nest) for nest in profile.nests],
        "fallbacks": list(profile.fallbacks),
        "copies": list(profile.copies),
    }


def _nest_dict(nest: NestProfile) -> dict[str, Any]:
    return {
        "name": nest.name,
        "kind": nest.kind,
        "ops": list(nest.ops),
        "lines": list(nest.lines),
        "parent": nest.parent,
        "runs": nest.runs,
        "milliseconds": nest.milliseconds,
        "best_milliseconds": nest.best,
        "denormal_runs": nest.denormal_runs,
        "flops": nest.cost.flops,
        "transcendentals": nest.cost.transcendentals,
        "bytes": nest.cost.bytes,
        "exact": nest.cost.exact,
        "gflops": nest.gflops,
        "gbytes": nest.gbytes,
    }
