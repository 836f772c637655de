"""Scheduling passes: named rewrites of the loop form, each with parameters and a checked precondition.

A pass takes a kernel, the index of a loop, and numbers, and returns a kernel that means the same. It raises
`NotApplicable` where its precondition does not hold. A schedule is a list of steps, each a pass and its
arguments, which prints as ``vectorize(j, 8)``. A pass loads with the first schedule that has it.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from ....base.on_use import OnUse
from ..clocks import are_running, at_step
from ..nodes import Kernel
from ..rewriting import NotApplicable as NotApplicable

#: A step of a schedule: the name of a pass and its arguments.
Step: TypeAlias = "tuple[str, tuple[str | int, ...]]"

#: The modules of passes, by their names.
_MODULES: Final = {
    "normalize": ".normalize",
    "forward": ".forward",
    "tile": ".tile",
    "transpose_reads": ".transpose_reads",
    "vectorize": ".vectorize",
    "parallelize": ".parallelize",
    "peel": ".peel",
    "unroll": ".unroll",
    "interleave": ".unroll",
    "poll": ".poll",
    "split": ".split",
    "specialize": ".split",
    "stream": ".stream",
    "ask": ".ask",
    "invert": ".invert",
    "rfactor": ".rfactor",
    "block": ".rfactor",
}
PASSES: Final[Mapping[str, Callable[..., Kernel]]] = OnUse(
    {name: (module, name) for name, module in _MODULES.items()}, __package__
)
#: Passes that add the terms of sums in another order, or with their errors: floats are rounded otherwise.
REORDERS_SUMS: Final[frozenset[str]] = frozenset({"rfactor", "block"})
#: Pattern of a step.
_STEP: Final = r"\s*(\w+)\(([^()]*)\)\s*,?\s*"

#: Arguments that may be 0; all other numbers count something.
_FROM_ZERO: Final = ("first", "parts")


def scheduled(kernel: Kernel, schedule: Iterable[Step]) -> Kernel:
    """`kernel` by the passes of `schedule`, one after the other. Raises NotApplicable."""
    clocks = are_running()
    for name, arguments in schedule:
        apply = PASSES[name]
        if clocks:
            apply = functools.partial(at_step, kernel.name, step_text(name, arguments), apply)
        kernel = apply(kernel, *arguments)
    return kernel


def step_text(name: str, arguments: Iterable[str | int]) -> str:
    """The text of a step of a schedule, ``vectorize(j, 8)``."""
    return f"{name}({', '.join(map(str, arguments))})"


def parse_schedule(text: str) -> list[Step]:
    """The steps of a schedule's text, such as ``vectorize(j, 8) peel(j, 8)``; commas may stand between them.
    Raises NotApplicable for a pass that there is none of, and for arguments that it does not take."""
    steps: list[Step] = []
    step, position = re.compile(_STEP), 0
    while position < len(text.rstrip()):
        match = step.match(text, position)
        if match is None:
            raise NotApplicable(f"expected a pass and its arguments, found {text[position:]!r}")
        name, arguments = match.groups()
        if name not in PASSES:
            raise NotApplicable(f"there is no pass {name!r}; expected one of {', '.join(PASSES)}")
        words = [word.strip() for word in arguments.split(",") if word.strip()]
        values = tuple(int(word) if word.isdigit() else word for word in words)
        if not _takes(name, values):
            raise NotApplicable(f"expected {usage(name)}, got {name}({', '.join(words)})")
        steps.append((name, values))
        position = match.end()
    return steps


def usage(name: str) -> str:
    """The pass `name` with its arguments: ``vectorize(index, lanes: number)``."""
    parts: list[str] = []
    for parameter in _parameters(name):
        text = parameter.name if parameter.annotation != "int" else f"{parameter.name}: number"
        if parameter.kind is parameter.VAR_POSITIONAL:
            text = f"*{text}"
        parts.append(text if parameter.default is parameter.empty else f"[{text}]")
    return f"{name}({', '.join(parts)})"


def _parameters(name: str) -> list[inspect.Parameter]:
    """The parameters of a pass behind the kernel."""
    return list(inspect.signature(PASSES[name]).parameters.values())[1:]


def _takes(name: str, values: tuple[str | int, ...]) -> bool:
    """Whether the pass `name` takes the arguments `values`."""
    parameters = _parameters(name)
    if parameters and parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL:
        rest = parameters.pop()
        parameters += [rest.replace(kind=rest.POSITIONAL_ONLY)] * (len(values) - len(parameters))
    needed = sum(parameter.default is parameter.empty for parameter in parameters)
    return needed <= len(values) <= len(parameters) and all(
        type(value).__name__ in str(parameter.annotation).split(" | ")
        and (value != 0 or parameter.name in _FROM_ZERO)
        for parameter, value in zip(parameters, values, strict=False)
    )
