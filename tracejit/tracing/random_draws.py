"""Draws of random numbers by NumPy and Python while a function is traced: every call would get them again.

``np.random.rand()``, ``rng.normal()`` of a `numpy.random.Generator`, and ``random.random()`` take numbers
from a state. Where a trace has changed the state of one that the function reaches, it has drawn from it.
NumPy and Python each have one that everybody reaches, as functions of SciPy do. Where a function makes a
generator without a seed, the system draws that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np

from ..base.errors import TraceError
from ..base.loading import Loaded, load_module
from ..frontend.libraries.library import GENERATORS
from ..frontend.usage import Uses

T = TypeVar("T")

#: Functions of ``np.random`` and ``random``, by the labels of these: methods of the generators behind them.
_GLOBAL: Final = {"np.random": ("numpy.random", "rand"), "random": ("random", "random")}
_OF_NUMPY: Final = Loaded("numpy.random:rand")
_SYSTEM: Final = Loaded("random:SystemRandom")
_GENERATOR: Final = Loaded("numpy.random:Generator")
_BIT_GENERATOR: Final = Loaded("numpy.random:BitGenerator")
_RANDOM_STATE: Final = Loaded("numpy.random:RandomState")


def refuse_draws(name: str, uses: Uses, trace: Callable[..., T], *arguments: Any) -> T:
    """The result of ``trace(*arguments)``, the trace of the function `name`, which reads `uses`. Of those
    calls in ``uses.frozen`` go that are of generators it has not drawn from. Raises TraceError where it has
    drawn, after which the states are what they were."""
    for maker in uses.unseeded:
        raise _error(name, f"{maker}() without a seed")
    generators = _generators(uses)
    before = {call: _state(generator) for call, generator in generators.items()}
    result = trace(*arguments)
    for call, generator in generators.items():
        if not _equal(_state(generator), before[call]):
            for other, state in before.items():
                _restore(generators[other], state)
            raise _error(name, call)
        uses.frozen.pop(call.removesuffix("()"), None)
    return result


def reached_generators(uses: Uses) -> frozenset[int]:
    """The identities of the generators of NumPy's that the function reaches, and whose states it does not
    set. Nor does it read them by a copy or by the bit generator: while it is traced, these states are those
    before its draws."""
    owners = [place.value for place in uses.generators.values()]
    owners += [function.__self__ for function in _OF_NUMPY()]
    owners += [owner for owner in uses.frozen.values() if isinstance(owner, GENERATORS())]
    kept = [owner for owner in owners if (id(_bits(owner)), "state") not in uses.stores]
    read = uses.copied | {
        key for key, place in uses.generators.items() if isinstance(place.value, _BIT_GENERATOR())
    }
    return frozenset(id(owner) for owner in kept if read.isdisjoint((id(owner), id(_bits(owner)))))


def _error(name: str, call: str) -> TraceError:
    return TraceError(
        f"{name}: {call} draws random numbers while the function is traced, and each call would "
        "get these again. Draw them before the call, and pass them as an argument, or use tj.random"
    )


def _generators(uses: Uses) -> dict[str, Any]:
    """The generators that may be drawn from, by what messages call them, those first that calls are known
    of."""
    generators = {
        f"{call}()": owner for call, owner in uses.frozen.items() if isinstance(owner, GENERATORS())
    }
    generators |= {str(place.source): place.value for place in uses.generators.values()}
    if uses.hands_over:
        for key, (module, function) in _GLOBAL.items():
            owner = getattr(load_module(module), function).__self__
            generators[f"a function that it calls, from the state of {key},"] = owner
    # nothing tells of the system's own numbers
    return {call: owner for call, owner in generators.items() if not isinstance(owner, _SYSTEM())}


def _bits(generator: Any) -> Any:
    return generator.bit_generator if isinstance(generator, _GENERATOR()) else generator


def _state(generator: Any) -> Any:
    generator = _bits(generator)
    if isinstance(generator, _BIT_GENERATOR()):
        # the children that `spawn` makes
        return generator.state, getattr(generator.seed_seq, "n_children_spawned", 0)
    if isinstance(generator, _RANDOM_STATE()):
        return generator.get_state(legacy=False)
    return generator.getstate()


def _restore(generator: Any, state: Any) -> None:
    generator = _bits(generator)
    if isinstance(generator, _BIT_GENERATOR()):
        generator.state = state[0]
    elif isinstance(generator, _RANDOM_STATE()):
        generator.set_state(state)
    else:
        generator.setstate(state)


def _equal(state: Any, other: Any) -> bool:
    if isinstance(state, dict):
        return all(_equal(value, other[key]) for key, value in state.items())
    if isinstance(state, tuple) and isinstance(state[0], dict):  # others hold numbers alone
        return len(state) == len(other) and all(map(_equal, state, other))
    return bool(np.array_equal(state, other)) if isinstance(state, np.ndarray) else bool(state == other)
