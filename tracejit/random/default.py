"""The default generator: one for the process, behind a lock, for those who do not want to carry keys."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..array.creation import tracked
from ..array.operands import reshaped, run, sliced
from ..base.errors import DTypeError, TraceError
from ..generator import DEFAULT
from ..state import STATE
from ..tensors.tensor import Tensor, wrap
from .distributions import normal, uniform
from .keys import UINT64, key

_WORD: Final = 1 << 64


def seed(seed: Any) -> None:
    """Start the default generator anew, from ``key(seed)``. Until then it runs from seed 0.

    Example:
        >>> import tracejit as tj
        >>> tj.random.seed(3)
        >>> first = tj.random.rand()
        >>> tj.random.seed(3)
        >>> bool(tj.random.rand() == first)
        True

    Raises DTypeError for what is not an integer, TraceError under ``jit``.
    """
    _not_traced("seed")
    DEFAULT.state = int(key(seed).numpy()), 0


def get_state() -> tuple[int, int]:
    """The default generator's state: its key and the number of draws made, to give to `set_state`.

    Example:
        >>> import tracejit as tj
        >>> tj.random.seed(3)
        >>> _ = tj.random.rand()
        >>> tj.random.get_state()
        (3, 1)

    Raises TraceError under ``jit``.
    """
    _not_traced("get_state")
    return DEFAULT.state


def set_state(state: tuple[int, int]) -> None:
    """Put the default generator back to what `get_state` returned.

    Example:
        >>> import tracejit as tj
        >>> before = tj.random.get_state()
        >>> first = tj.random.rand()
        >>> tj.random.set_state(before)
        >>> bool(tj.random.rand() == first)
        True

    Raises DTypeError for what is not a state, TraceError under ``jit``.
    """
    _not_traced("set_state")
    if (
        not isinstance(state, (tuple, list))
        or len(state) != 2
        or not all(type(number) is int and 0 <= number < _WORD for number in state)
    ):
        raise DTypeError(
            f"random.set_state: state must be the two integers that get_state returned, got {state!r}"
        )
    DEFAULT.state = state[0], state[1]


def next_key() -> Tensor:
    """The next key of the default generator: after k draws from seed n, ``fold_in(key(n), k)``.

    In a jitted function each call draws anew: the keys, and their order, are those of the eager run. All
    threads draw from the one generator, and no two get the same key; which gets which is open.

    Example:
        >>> import tracejit as tj
        >>> tj.random.seed(0)
        >>> tj.random.next_key(), tj.jit(lambda: tj.random.next_key())()
        (tensor(7719171245655871230, dtype=uint64), tensor(3989946895414531357, dtype=uint64))

    Raises TraceError in a trace within a trace.
    """
    tracer = STATE.tracer
    if tracer is None:
        return wrap(np.array(DEFAULT.draw(), UINT64))
    value, drawn = tracer.draw(DEFAULT)
    state = wrap(value)
    start, first = (reshaped(sliced(state, 0, place, 1), ()) for place in range(2))
    return run("threefry", start, run("add", first, drawn))


def rand(*shape: int, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform numbers in [0, 1) of the given sizes, drawn with `next_key`; a leaf if `requires_grad`.

    Example:
        >>> import tracejit as tj
        >>> tj.random.rand(2, 3).shape
        (2, 3)

    Semantics: ``numpy.random.rand`` and ``torch.rand``.
    """
    return tracked(uniform(next_key(), _sizes(shape), dtype), requires_grad)


def randn(*shape: int, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Standard normal numbers of the given sizes, drawn with `next_key`; a leaf if `requires_grad`.

    Example:
        >>> import tracejit as tj
        >>> tj.random.randn(2, 3).shape
        (2, 3)

    Semantics: ``numpy.random.randn`` and ``torch.randn``.
    """
    return tracked(normal(next_key(), _sizes(shape), dtype), requires_grad)


def _sizes(shape: tuple[Any, ...]) -> Any:
    """The sizes, which may come as one tuple too."""
    return shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape


def _not_traced(name: str) -> None:
    if STATE.tracer is not None:
        raise TraceError(
            f"random.{name}: a jitted function cannot reach the generator's state, because its Python code "
            "runs only while it is traced; call this outside of it"
        )
