"""Diagrams of the explanations, drawn by tracejit's own pictures of graphs: ``python -m docs.site.diagrams``
writes them to ``docs/images``.

A box has a state or a decision and the module that takes it, an arrow its outcome.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tracejit.tools.picture import Picture, PictureEdge, PictureNode, to_svg

IMAGES = Path(__file__).resolve().parents[1] / "images"
_KINDS = {"(": "parameter", "?": "op", "!": "call", "=": "result"}
#: Arrow from the source's id, over the outcome, to the target's id.
_Arrow = tuple[str, str, str]


def _picture(title: str, boxes: Sequence[str], arrows: Sequence[_Arrow]) -> Picture:
    """The picture of `boxes`, ``ID KIND TITLE | LINE | ...``. The kinds are the keys of `_KINDS`: a start, a
    decision, an action and an end. An outcome stands at the head of an arrow that is its target's only one,
    else at the tail."""
    nodes = []
    for box in boxes:
        head, *lines = [part.strip() for part in box.split("|")]
        name, kind, label = head.split(maxsplit=2)
        nodes.append(PictureNode(name, (label, *lines), _KINDS[kind]))
    entering = Counter(target for _, _, target in arrows)
    edges = [
        PictureEdge(source, target, port=outcome)
        if entering[target] == 1
        else PictureEdge(source, target, outcome)
        for source, outcome, target in arrows
    ]
    return Picture(tuple(nodes), tuple(edges), title=title)


def states_of_a_call() -> Picture:
    """The states of a call of a jitted function."""
    return _picture(
        "A call of a jitted function",
        [
            "call ( f(*args, **kwargs)",
            "entry ? native entry: fits? | codegen/native/entry/table.py | structure, types, guards",
            "chain ? earlier entries, at most 5: fits? | jitted/function.py",
            "slow ? slow path: traced or disabled? | jitted/function.py",
            "structure ? entry of this structure: fits? | jitted/signatures.py",
            "alias ? two names for what is written? | jitted/aliasing.py",
            "guards ? signature with guards that hold? | jitted/captures.py",
            "compile ! trace and compile | jitted/call_traces.py, jitted/calls.py",
            "paths ? has it decisions on values? | jitted/paths.py",
            "enter ! make its native entry | jitted/entries.py",
            "shared ? paths together: belongs to one? | jitted/shared_paths.py",
            "path ? last path: decisions as traced? | jitted/paths.py",
            "following ! next path, compiled if it is new | jitted/paths.py",
            "python = plain Python | jitted/function.py",
            "native = machine code, from the entry | runtime/native/entry.py",
            "executable = machine code, from Python | jitted/calls.py",
        ],
        [
            ("call", "", "entry"),
            ("entry", "yes", "native"),
            ("entry", "no", "chain"),
            ("chain", "yes", "native"),
            ("chain", "no", "slow"),
            ("slow", "yes", "python"),
            ("slow", "no", "structure"),
            ("structure", "yes", "native"),
            ("structure", "no", "alias"),
            ("alias", "yes", "python"),
            ("alias", "no", "guards"),
            ("guards", "yes", "paths"),
            ("guards", "no", "compile"),
            ("compile", "", "paths"),
            ("paths", "no", "enter"),
            ("paths", "yes", "shared"),
            ("enter", "fits", "native"),
            ("enter", "", "executable"),
            ("shared", "yes", "native"),
            ("shared", "no", "path"),
            ("path", "yes", "executable"),
            ("path", "no", "following"),
            ("following", "decisions hold", "executable"),
            ("following", "", "python"),
        ],
    )


def life_of_a_loop() -> Picture:
    """The decisions on a loop, from Python's statement to machine code."""
    return _picture(
        "The life of a loop",
        [
            "statement ( for, while | in a jitted function",
            "source ? can its body be a function? | loops/source/syntax.py",
            "worth ? more than 64 operations in all? | loops/running.py",
            "attempt ? can a step be traced once? | loops/attempts.py",
            "unrolled ! step by step, as Python | loops/running.py",
            "reroll ? the same ops eight times over? | ir/passes/loops/rerolling.py",
            "arrays ? steps independent, or folds? | ir/passes/array_loops/conversion.py",
            "operations ! operations on arrays | ir/passes/array_loops/conversion.py",
            "kind ? number of steps known? | ir/passes/array_loops/counted_loops.py",
            "scan ! scan",
            "while ! while",
            "small ? is its state small? | codegen/lowering/element_code.py",
            "fuse ! its step is fused into nests | ir/passes/fusion/fuse.py",
            "writer ? first writer that takes it | codegen/control/lowering.py",
            "straight = straight-line code",
            "lanes = lanes of vectors, tasks | control/scalar_maps.py, lane_maps.py",
            "registers = scalar code, carries in registers | control/register_loops.py",
            "elements = a map, each element all steps | kernels/scan/element_loop.py",
            "memory = steps over memory | control/regions.py",
            "nest = loop nests | nest/fusions.py",
        ],
        [
            ("statement", "", "source"),
            ("source", "no", "unrolled"),
            ("source", "yes", "worth"),
            ("worth", "no", "unrolled"),
            ("worth", "yes", "attempt"),
            ("attempt", "no", "unrolled"),
            ("attempt", "yes", "kind"),
            ("kind", "yes", "arrays"),
            ("kind", "no", "while"),
            ("arrays", "yes", "operations"),
            ("arrays", "no", "scan"),
            ("unrolled", "", "reroll"),
            ("reroll", "yes", "scan"),
            ("reroll", "no", "straight"),
            ("scan", "", "small"),
            ("while", "", "small"),
            ("small", "yes", "writer"),
            ("small", "no", "fuse"),
            ("fuse", "", "writer"),
            ("writer", "1, 2", "lanes"),
            ("writer", "3", "registers"),
            ("writer", "4", "elements"),
            ("writer", "else", "memory"),
            ("operations", "fused", "nest"),
            ("straight", "fused", "nest"),
        ],
    )


DIAGRAMS = {"states-of-a-call.svg": states_of_a_call, "life-of-a-loop.svg": life_of_a_loop}


def modules_of(picture: Picture) -> list[str]:
    """The modules that the boxes name."""
    return [name for node in picture.nodes for line in node.lines for name in re.findall(r"[\w/]+\.py", line)]


if __name__ == "__main__":
    for name, make in DIAGRAMS.items():
        to_svg(make(), IMAGES / name)
