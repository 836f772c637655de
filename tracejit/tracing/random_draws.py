"""Draws of random numbers by NumPy and Python while a function is traced: every call would get them again.

``np.random.rand()``, ``rng.normal()`` of a `numpy.random.Generator`, and ``random.random()`` take numbers
from a state. Where a trace has changed the state of one that the function reaches, it has drawn from it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np

from ..ir.errors import TraceError

T = TypeVar("T")

_GENERATORS: Final = (np.random.Generator, np.random.RandomState, random.Random)


def refuse_draws(name: str, owners: dict[str, Any], trace: Callable[..., T], *arguments: Any) -> T:
    """The result of ``trace(*arguments)``, the trace of the function `name`. `owners` are what it may call
    methods of, by the names of the calls; generators go, which it has not drawn from. Raises TraceError where
    it has, after which the states are what they were."""
    generators = {call: owner for call, owner in owners.items() if isinstance(owner, _GENERATORS)}
    if not generators:
        return trace(*arguments)
    before = {call: _state(generator) for call, generator in generators.items()}
    result = trace(*arguments)
    for call, generator in generators.items():
        if not _equal(_state(generator), before[call]):
            for other, state in before.items():
                _restore(generators[other], state)
            raise TraceError(
                f"{name}: {call}() draws random numbers while the function is traced, and each call would "
                "get these again. Draw them before the call, and pass them as an argument, or use tj.random"
            )
        del owners[call]
    return result


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return None if isinstance(generator, random.SystemRandom) else generator.getstate()


def _restore(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    elif state is not None:
        generator.setstate(state)


def _equal(state: Any, other: Any) -> bool:
    if isinstance(state, dict):
        return all(_equal(value, other[key]) for key, value in state.items())
    return bool(np.array_equal(state, other)) if isinstance(state, np.ndarray) else bool(state == other)
