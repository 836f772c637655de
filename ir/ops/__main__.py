"""``python -m tracejit.ir.ops``: the table of ops, for docs/ops.md."""

from __future__ import annotations

from ..passes.dtypes.complex_planes import STRUCTURE
from ..registry import OPS, Nondiff, Op


def table() -> str:
    """Render every op with its operands, attributes and meaning, as Markdown."""
    lines = [
        "# Ops",
        "",
        "Written from the op records by `python -m tracejit.ir.ops`.",
    ]
    for kind in sorted({op.kind.value for op in OPS}):
        lines += ["", f"## {kind}", "", "| op | meaning | gradient | native |", "|---|---|---|---|"]
        lines += [_row(op) for op in sorted(OPS, key=lambda op: op.name) if op.kind.value == kind]
    return "\n".join(lines)


def _row(op: Op) -> str:
    attrs = f" {{{', '.join(op.attrs)}}}" if op.attrs else ""
    call = f"`{op.name}({', '.join(op.params)}){attrs}`"
    gradient = "no" if isinstance(op.vjp, Nondiff) else "yes"
    native = "yes"
    if op.kind.value == "elementwise":
        without = "yes" if op.name in STRUCTURE else "no"  # `complex` is written by other ops
        native = without if op.emit is None else ("floats" if op.emit_kinds == "f" else "yes")
    return f"| {call} | {op.doc.replace('|', chr(92) + '|')} | {gradient} | {native} |"


if __name__ == "__main__":
    print(table())
