"""Jitted functions that a trace calls, and whose code becomes a part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..pytree import flatten
from ..state import STATE
from ..tape.views import base_of
from ..tensors.tensor import Tensor


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Python `function` behind a jitted one, as a trace calls it. Its results have memory of their own,
    apart from arguments, from one another and from what is outside, as those of compiled calls have."""

    def call(*args: Any, **kwargs: Any) -> Any:
        tracer = STATE.tracer
        begin = len(tracer.body)
        taken = {id(base_of(leaf)) for leaf in flatten((args, kwargs))[0] if isinstance(leaf, Tensor)}
        results, structure = flatten(function(*args, **kwargs), exact=True)
        made = {value for step in tracer.body[begin:] for value in step.results}
        for position, result in enumerate(results):
            if isinstance(result, Tensor):
                base = base_of(result)
                if id(base) in taken or base._data not in made:
                    results[position] = result.copy()
                taken.add(id(base))
        return structure.unflatten(results)

    return call
