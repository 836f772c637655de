"""Captures of a jitted function: the place where a call reads each, and the guards on everything else.

A captured tensor or array is read afresh at each call, from where the function finds it: a closure variable,
a global, an element of a container or an attribute of an object that one of these names. So rebinding a name
works as well as changing the tensor. Python numbers that only enter arithmetic are read afresh as well. What
else the function depends on is *guarded*: when it changes, the function is traced again. `frontend` finds out
what a function reads by following its bytecode.
"""

from __future__ import annotations

import warnings
from typing import Any

from ..base.errors import FrozenResultWarning
from ..base.records import record
from ..base.user_code import user_stacklevel
from ..frontend.guards import ChangedGuard, Guard, same_content
from ..frontend.usage import Number, Numbers, Uses
from ..frontend.values import Source
from ..tensors.generator_states import GeneratorState
from ..tracing.traces import Traced


@record(eq=False)
class Bindings:
    """The places where captures are read, the guards, and what is not watched, in words. `changed` are guards
    on what the function itself changes, which are added when it has run."""

    sources: list[Source]
    guards: list[Guard]
    unwatched: tuple[str, ...] = ()
    changed: tuple[Guard, ...] = ()


def bind(uses: Uses, numbers: Numbers, traced: Traced) -> Bindings:
    """The places of what a function that was just traced captured, and the guards."""
    holders = traced.captured
    for tensor in traced.inspected:
        for place in uses.arrays.get(id(tensor), ()):
            uses.inspected.setdefault(place.identity, place)
    sources = []
    for holder in holders:
        if isinstance(holder, Number):
            sources.append(holder.source)
            continue
        if isinstance(holder, GeneratorState):
            sources.append(_generator_source(uses, holder))
            continue
        places = uses.arrays.get(id(holder))
        content = traced.contents.get(id(holder))
        if places is not None:
            sources.append(places[0].source)
        elif content is not None and not same_content(holder, content):
            sources.append(Source("object", content))  # an array of the function's own, which it wrote later
        else:
            sources.append(Source("object", holder))
    itself = "the function itself changes it, while it is traced and not at each call"
    for identity, source in uses.written.items():
        if identity not in uses.possible_writes:  # calls that do write those arrays run as Python
            uses.unwatched[f"{source}: {itself}"] = None
    guards: list[Guard] = []
    changed: list[Guard] = []
    for guard in uses.finish({id(holder) for holder in holders}, numbers.matched):
        if guard.holds() or not _is_written(guard.source, uses.written):
            guards.append(guard)
        elif traced.decisions:  # its paths are not traced again
            uses.beyond[f"{guard.source}: {itself}"] = None
        else:
            changed.append(ChangedGuard(guard.source, guard.expected))
    return Bindings(sources, guards, tuple(uses.unwatched), tuple(changed))


def _generator_source(uses: Uses, state: GeneratorState) -> Source:
    """The place of the state of a generator that was drawn from."""
    place = uses.generators.get(id(state.generator))
    if place is None or place.source.read() is not state.generator:
        return Source("object", state.generator, str(state)).state(state.kind)
    return place.source.state(state.kind)


def _is_written(source: Source, written: dict[Any, Source]) -> bool:
    """Whether the function writes what lies at `source`, or a container on the way to it."""
    kind, holder, key, steps = source.identity
    return any((kind, holder, key, steps[:length]) in written for length in range(len(steps) + 1))


def renewed_at_each_call(name: str, before: Bindings, now: Bindings) -> None:
    """Warn where the function `name` has changed what it reads in two traces, one after the other."""
    if before.changed and now.changed:
        what = ", ".join(dict.fromkeys(str(guard.source) for guard in now.changed))
        _warn(
            f"{name} is traced and compiled at each call, since it changes what it reads outside its "
            f"arguments: {what}. Take it as an argument, and return the new value"
        )


def warn_of_frozen(name: str, uses: Uses) -> None:
    """Warn of calls in the function `name` whose results are constants of the compiled code, and of what it
    may read unseen."""
    for what in uses.beyond:
        _warn(
            f"{name}: not watched: {what}. What it reads outside its arguments there is a constant of the "
            "compiled code. Pass it as an argument, or call f.clear_cache() when it changes"
        )
    for call in uses.frozen:
        _warn(
            f"{name}: {call}() runs while the function is traced; its result is a constant of the compiled "
            "code. Pass it as an argument, or use tj.random for random numbers"
        )


def _warn(text: str) -> None:
    warnings.warn(text, FrozenResultWarning, stacklevel=user_stacklevel())
