"""The text of ``JitFunction.explain``."""

from __future__ import annotations

from collections.abc import Sequence

from .paths import Paths, describe
from .signatures import Signature, static_text, type_text


def explain(name: str, signatures: Sequence[tuple[Signature, Paths | None]]) -> str:
    """What was compiled of the function `name`, why, and how: each signature, with the paths it has."""
    count = len(signatures)
    lines = [f"{name}: {count} signature{'s' * (count != 1)} compiled"]
    for number, (one, paths) in enumerate(signatures):
        types = ", ".join(map(type_text, one.leaf_types))
        lines.append(f"  [{number}] ({types}): {one.reason}")
        if one.static:
            lines.append(f"      static: {static_text(one.static)}")
        if paths is None:
            lines += _compiled(one)
            continue
        for path in list(paths.known):
            lines += [*describe(path), *_compiled(path)]
        if paths.shared is not None:
            lines.append(f"      {len(paths.shared.paths)} of these paths share one native function")
            lines += _compiled(paths.shared.signature)
    return "\n".join(lines)


def _compiled(one: Signature) -> list[str]:
    lines = []
    if one.bindings.sources:
        lines.append(f"      captures: {', '.join(map(str, one.bindings.sources))}")
    executable = one.compiled.executable
    phases = {**one.milliseconds, **executable.milliseconds}
    spent = ", ".join(f"{name} {value:.1f}" for name, value in phases.items())
    lines.append(f"      milliseconds: {spent}")
    module = executable.module
    lines.append(f"      kernels: {len(module.kernels)}, arena {module.arena_bytes} bytes")
    if executable.not_lowered:
        lines.append(f"      not compiled, run by their NumPy kernels: {', '.join(executable.not_lowered)}")
    else:
        lines.append("      everything is native code")
    return lines
