"""Parts of traced tensors that traced integers select: views, as what Python's integers and NumPy's scalars
select in NumPy. An array of rank 0 as an index gives a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.graph import Value
from ...state import STATE
from ...tape.views import IndexedStep, chain_of
from ...tensors.tensor import Tensor, wrap
from .keys import is_integer_symbol


def selects_part(key: Any) -> bool:
    """Whether `key` has traced integers, and nothing that copies."""
    keys = key if type(key) is tuple else (key,)
    bounds = [bound for part in keys for bound in (_bounds(part) if isinstance(part, slice) else (part,))]
    plain = all(is_integer(bound) or bound is None or bound is Ellipsis for bound in bounds)
    if not plain or not any(isinstance(bound, Tensor) for bound in bounds):
        return False
    return all(STATE.tracer.treats_as_scalar(part) for part in keys if isinstance(part, Tensor))


def frozen(key: Any) -> tuple[Any, ...]:
    """`key` as a tuple with the symbols that its traced integers have now, which writes to those change."""
    return tuple(
        [
            slice(*map(_frozen, _bounds(part))) if isinstance(part, slice) else _frozen(part)
            for part in (key if type(key) is tuple else (key,))
        ]
    )


def _frozen(part: Any) -> Any:
    return wrap(part._data) if isinstance(part, Tensor) else part


def _bounds(part: slice) -> tuple[Any, Any, Any]:
    return part.start, part.stop, part.step


def key_of_whole(x: Tensor, key: Any) -> tuple[Tensor, tuple[Any, ...], Value] | None:
    """The base of `x`, the key of ``x[key]`` in that base, and the base's symbol when `x` was made. `x` must
    be a part that integers select, and `key` basic; the result is None otherwise."""
    if type(x._aliases) is not tuple:
        return None
    chain = chain_of(x)
    if chain is None or len(chain[1]) != 1 or not isinstance(step := chain[1][0], IndexedStep):
        return None
    keys = key if type(key) is tuple else (key,)
    plain = all(
        part is None or part is Ellipsis or isinstance(part, slice) or is_integer(part) for part in keys
    )
    if not plain or not all(map(is_integer, step.key)):
        return None
    return chain[0], (*step.key, *keys), step.source


def is_integer(part: Any) -> bool:
    """Whether `part` of a key is one index, known or traced."""
    return is_integer_symbol(part) or (isinstance(part, (int, np.integer)) and not isinstance(part, bool))
