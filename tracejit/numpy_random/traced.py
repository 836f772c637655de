"""Generators of NumPy's in a trace: their states are tensors that draws write, inputs and results of the
compiled function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..base.errors import UncompilableError
from ..base.loading import Loaded
from ..state import STATE
from ..tensors.generator_states import GeneratorState, kind_of
from ..tensors.tensor import Tensor
from . import arrays
from .bit_generators import BIT_GENERATORS
from .generators import GeneratorDraws, RandomStateDraws

_SEEDS: Final = Loaded("builtins:int", "numpy:integer", "numpy.random:SeedSequence")
_OF_NUMPY: Final = Loaded("numpy.random:rand")
Uncovered: Final = arrays.Uncovered
#: The draws that are compiled, by the class with their methods.
_METHODS: Final = {
    draws: frozenset(name for name in dir(draws) if not name.startswith("_") and name not in draws.NOT_DRAWS)
    for draws in (GeneratorDraws, RandomStateDraws)
}


class NotCompiledError(UncompilableError):
    """A draw that is not compiled, of a generator that is an argument; or a change of a generator's state."""

    advice = "draw before the call and pass what was drawn"


class TracedGenerator:
    """A generator of NumPy's in a trace.

    Attributes:
        kind: the key of its words in `generator_states.LAYOUTS`.
        words: the tensor of its state.
    """

    def __init__(self, kind: str, words: Tensor) -> None:
        self.kind, self.words = kind, words

    def method(self, name: str) -> Callable[..., Any] | None:
        """The draw `name`, None where there is none that is compiled. It raises `Uncovered` for arguments of
        others."""
        draws = RandomStateDraws if self.kind == "RandomState" else GeneratorDraws
        if name not in _METHODS[draws]:
            return None
        method: Callable[..., Any] = getattr(draws(BIT_GENERATORS[self.kind](self.words)), name)
        return method

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        drawn = self.method(name)
        label = f"{'RandomState' if self.kind == 'RandomState' else 'Generator'}.{name}"
        if drawn is None:
            raise NotCompiledError(f"{label} of an argument is not compiled")

        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return drawn(*arguments, **options)
            except Uncovered:
                raise NotCompiledError(f"{label} is not compiled with these arguments") from None

        return call


def making(function: Any) -> Callable[..., Any]:
    """`function`, which makes a generator of NumPy's, and notes that in the trace where it gets a seed."""

    def call(*arguments: Any, **options: Any) -> Any:
        generator = function(*arguments, **options)
        kind = kind_of(generator)
        of_seed = all(isinstance(value, _SEEDS()) for value in (*arguments, *options.values()))
        if (
            of_seed
            and kind is not None
            and STATE.tracer.generator_words(GeneratorState(generator, kind)) is None
        ):
            STATE.tracer.make_generator(GeneratorState(generator, kind))
        return generator

    return call


def setting(function: Any) -> Callable[..., Any]:
    """`function`, which gives a generator another state or returns its state, in a trace."""
    owner = getattr(function, "__self__", None) or _OF_NUMPY()[0].__self__

    def call(*arguments: Any, **options: Any) -> None:
        drawn = traced_draw(getattr(owner, function.__name__))
        if drawn is None:
            raise NotCompiledError(f"{function.__name__} of a generator of NumPy's is not compiled")
        try:
            drawn(*arguments, **options)
        except Uncovered:
            raise NotCompiledError(f"{function.__name__} is not compiled with these arguments") from None

    return call


def traced_draw(function: Any) -> Callable[..., Any] | None:
    """The draw that stands in for `function`, a method of a generator that the running trace has captured or
    can capture; None of anything else. It raises `Uncovered` where it cannot."""
    owner = getattr(function, "__self__", None)
    kind = None if owner is None else kind_of(owner)
    if kind is None or STATE.tracer is None:
        return None
    words = STATE.tracer.generator_words(GeneratorState(owner, kind))
    return None if words is None else TracedGenerator(kind, words).method(function.__name__)
