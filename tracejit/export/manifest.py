"""Manifests: what is to be known of exported functions, as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from ..codegen.llvm.target import Target
from .compiling import CompiledPrograms, locations_of
from .programs import ExportedProgram
from .prototypes import CParameter, CPrototype


def manifest_text(
    version: str,
    compiled: CompiledPrograms,
    programs: Sequence[ExportedProgram],
    targets: Sequence[Target],
) -> str:
    """The text of ``name.json``."""
    document = {
        "name": compiled.name,
        "tracejit": version,
        "targets": [
            {"triple": target.triple, "cpu": target.cpu, "features": target.features} for target in targets
        ],
        "functions": [
            _function_entry(program, prototype)
            for program, prototype in zip(programs, compiled.prototypes, strict=True)
        ],
        "statuses": list(compiled.messages),
        "exports": list(compiled.exports),
        "undefined": list(compiled.emission.undefined),
    }
    return json.dumps(document, indent=2) + "\n"


def _function_entry(program: ExportedProgram, prototype: CPrototype) -> dict[str, Any]:
    lines = {(os.path.basename(place.file), place.line) for place in locations_of([program.function])}
    return {
        "name": prototype.name,
        "computes": prototype.summary,
        "declaration": prototype.declaration,
        "arguments": [_parameter_entry(parameter) for parameter in prototype.arguments],
        "results": [_parameter_entry(parameter) for parameter in prototype.results],
        "workspace_bytes": prototype.workspace_bytes,
        "captured": [
            {"dtype": array.dtype.name, "shape": list(array.shape), "source": source}
            for array, source in zip(program.captured, program.sources, strict=True)
        ],
        "lines": [f"{file}:{line}" for file, line in sorted(lines)],
    }


def _parameter_entry(parameter: CParameter) -> dict[str, Any]:
    described = {
        "name": parameter.name,
        "dtype": parameter.dtype,
        "c_type": parameter.c_type,
        "shape": list(parameter.shape),
    }
    if parameter.path:
        described["path"] = parameter.path
    if parameter.note:
        described["note"] = parameter.note
    return described
