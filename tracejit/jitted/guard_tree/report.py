"""Guard trees as data, in the user's words: what is tested of a call, and how it is served."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ...base.records import record
from ...frontend.guards import MissingGuard
from ...frontend.libraries.origins import is_library
from ..recompilation import argument_structures, settings_text
from ..signatures import argument_names, settings, type_text
from ..static_arguments import static_text
from .nodes import GuardTree, Signature, TestKind
from .paths import repeated
from .specializations import UNTRACKED, LeafKind, Specialization

#: Longer outcomes of tests are cut.
_WIDTH: Final = 90


@record
class TreeBranch:
    """A branch of a guard tree.

    Attributes:
        test: what is tested: "structure", "types", "captures", "values" or "gradients"; empty for what no
            branch fits.
        outcome: what must come out, such as ``x: f64[3]``.
        leaf: how calls that get here are served; empty where more is tested.
        branches: what is tested next, in this order.
    """

    test: str
    outcome: str
    leaf: str = ""
    branches: tuple[TreeBranch, ...] = ()

    def lines(self, indent: int) -> Iterator[str]:
        """The branch as text."""
        outcome = self.outcome if len(self.outcome) <= _WIDTH else f"{self.outcome[: _WIDTH - 3]}..."
        served = f" -> {self.leaf}" if self.leaf else ""
        yield f"{' ' * indent}{self.test} {outcome}{served}".replace("  ->", " ->")
        for branch in self.branches:
            yield from branch.lines(indent + 2)


_PATH: Final = TreeBranch("", "", LeafKind.PATH.value)


def tree_report(fn: Callable[..., Any], static: frozenset[int], tree: GuardTree) -> tuple[TreeBranch, ...]:
    """The branches of `tree`, which is that of the function `fn`."""
    branches = []
    with tree.lock:
        for (structure, values, chosen), node in tree.structures.items():
            arguments = argument_structures(fn, static, structure)
            parts = [", ".join(f"{name}: {text}" for name, text in arguments.items()) or "no arguments"]
            parts += [f"static {static_text(values)}"] if values else []
            parts += [settings_text(chosen)] if chosen != settings() else []
            signatures = tuple(_signature(fn, static, signature) for signature in node.types.values())
            branches.append(_branch(TestKind.STRUCTURE, "; ".join(parts), signatures))
    return (*branches, TreeBranch("else", "", LeafKind.TRACE.value))


def _branch(test: TestKind, outcome: str, branches: Sequence[TreeBranch]) -> TreeBranch:
    """A branch that goes on with `branches`: a leaf where the first of them tests nothing."""
    first, *others = branches
    if first.test or first.branches:
        return TreeBranch(test.value, outcome, "", tuple(branches))
    return TreeBranch(test.value, outcome, first.leaf, tuple(others))


def _signature(fn: Callable[..., Any], static: frozenset[int], signature: Signature) -> TreeBranch:
    names = argument_names(fn, static, signature.lead.structure)
    types = ", ".join(
        f"{name}: {type_text(type_)}" for name, type_ in zip(names, signature.lead.leaf_types, strict=True)
    )
    branches: list[TreeBranch] = []
    if signature.shared is not None:
        outcome = f"as on one of {len(signature.shared.together)} paths"
        branches.append(_branch(TestKind.VALUES, outcome, _served(signature.shared, names)))
    for leaf in signature.leaves:
        if not leaf.decisions:
            branches += _captures(leaf, _served(leaf, names))
    paths = [(list(map(str, path.decisions)), path) for path in signature.paths()]
    outcome = f"[{signature.number}] {types or 'no arrays and numbers'}"
    return _branch(TestKind.TYPES, outcome, [*branches, *_values(paths, 0)])


def _captures(leaf: Specialization, following: Sequence[TreeBranch]) -> Sequence[TreeBranch]:
    """The test of what `leaf` reads outside, if it reads anything, and what follows."""
    count = len(leaf.leaf_types)
    read = [f"{name} is {value}" for name, value in watched(leaf)]
    read += [
        f"{source}: {param.type}"
        for source, param in zip(leaf.bindings.sources, leaf.function.params[count:], strict=True)
    ]
    return [_branch(TestKind.CAPTURES, ", ".join(dict.fromkeys(read)), following)] if read else following


def watched(leaf: Specialization) -> Iterator[tuple[str, str]]:
    """The guards, without those on the code and the classes of what is named by others, and on the names of
    builtins and of Python's modules."""
    for guard in leaf.bindings.guards:
        source = guard.source
        implied = bool(source.path) and source.path[-1][1] in ("__code__", "__class__")
        builtin = source.key in vars(builtins) and isinstance(guard, MissingGuard)
        of_python = source.kind == "global" and (builtin or is_library(source.holder.get("__name__")))
        if not (implied or (of_python and not source.path)):
            yield str(source), guard.text()


def _served(leaf: Specialization, names: Sequence[str]) -> list[TreeBranch]:
    """The leaf of calls without gradients, and the test of gradients, where such calls have come."""
    kinds = dict(leaf.kinds)
    branches = [TreeBranch("", "", kinds.pop(UNTRACKED).value)] if UNTRACKED in kinds else []
    inputs = [*names, *map(str, leaf.bindings.sources)]
    for (wrt, recorded), kind in kinds.items():
        verb = "requires a gradient" if len(wrt) == 1 else "require gradients"
        outcome = f"{', '.join(inputs[position] for position in wrt)} {verb}{'' if recorded else ', no_grad'}"
        branches.append(TreeBranch(TestKind.GRADIENTS.value, outcome, kind.value))
    return branches or [TreeBranch("", "", LeafKind.EXECUTABLE.value)]


def _values(paths: Sequence[tuple[list[str], Specialization]], depth: int) -> list[TreeBranch]:
    """The test of the values that `paths` have seen, which have the first `depth` in common."""
    groups: dict[str, list[tuple[list[str], Specialization]]] = {}
    for path in paths:
        groups.setdefault("".join(path[0][depth : depth + 1]), []).append(path)
    branches: list[TreeBranch] = []
    for group in groups.values():
        seen = [texts[depth:] for texts, _ in group]
        steps = enumerate(zip(*seen, strict=False))
        common = next((n for n, step in steps if len(set(step)) > 1), min(map(len, seen)))
        if common:
            outcome = ", ".join(repeated(seen[0][:common]))
            branches.append(_branch(TestKind.VALUES, outcome, _values(group, depth + common)))
        else:
            branches += [each for _, path in group for each in _captures(path, [_PATH])]
    return branches
