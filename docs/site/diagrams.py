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
            "entry ? one of 6 native entries: all tests? | codegen/native/entry/table.py",
            "wrapped ? Python around it: aliases, path? | guard_tree/specializations.py",
            "slow ? traced or disabled? | jitted/function.py",
            "structure ? STRUCTURE: seen before? | guard_tree/nodes.py | its latest entry fits?",
            "types ? TYPES: seen before? | jitted/signatures.py",
            "captures ? CAPTURES: do guards hold? | jitted/captures.py",
            "alias ? two names for one object? | jitted/aliasing.py",
            "gradients ? GRADIENTS: as before? | guard_tree/specializations.py",
            "values ? VALUES: as the trace saw? | guard_tree/paths.py",
            "following ! the next path, compiled if it is new | guard_tree/nodes.py",
            "trace ! TRACE: compile, add a leaf | jitted/call_traces.py",
            "enter ! write the branch as a table | guard_tree/entries.py",
            "native = NATIVE, RECORDING | machine code from the call on",
            "around = WRAPPED | machine code within Python",
            "flat = FLAT | machine code on leaves",
            "executable = EXECUTABLE, IN_PLACE | machine code from Python",
            "path = PATH | machine code of one path",
            "python = PLAIN | the function itself",
        ],
        [
            ("call", "", "entry"),
            ("entry", "yes", "native"),
            ("entry", "yes, wrapped", "wrapped"),
            ("wrapped", "yes", "around"),
            ("wrapped", "no", "slow"),
            ("entry", "no", "slow"),
            ("slow", "yes", "python"),
            ("slow", "no", "structure"),
            ("structure", "entry fits", "flat"),
            ("structure", "no", "types"),
            ("types", "yes", "captures"),
            ("types", "no", "trace"),
            ("captures", "yes", "alias"),
            ("captures", "no", "trace"),
            ("trace", "", "alias"),
            ("alias", "yes", "python"),
            ("alias", "no", "gradients"),
            ("alias", "no, paths", "values"),
            ("gradients", "no", "enter"),
            ("gradients", "yes", "executable"),
            ("enter", "fits", "flat"),
            ("enter", "", "executable"),
            ("values", "yes", "path"),
            ("values", "no", "following"),
            ("following", "values hold", "path"),
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
