"""Keys and the bits they stand for. A key is a ``u64[]`` tensor; used twice, it gives the same numbers twice.

Everything is one function of two words: threefry(key, i) is the i-th child of a key, and the i-th 64 bits of
an array drawn with it. So a key that has children must not be drawn from as well.
"""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np

from ..array.operands import as_tensor, cast, constant_of, is_tracing, run
from ..base.errors import DTypeError, ShapeError, TracejitError
from ..ir.dtypes import BY_NAME
from ..ir.types import Shape, as_shape, contiguous_strides
from ..tensors.tensor import Tensor, wrap

UINT64: Final = BY_NAME["u64"]
_WORD: Final = 1 << 64


def key(seed: Any) -> Tensor:
    """The key of `seed`, an integer from -2**63 to 2**64 - 1: its 64 bits as a ``u64[]`` tensor.

    So different seeds have different keys, but for a negative one and its value modulo 2**64.

    Example:
        >>> import tracejit as tj
        >>> tj.random.key(7)
        tensor(7, dtype=uint64)

    Raises DTypeError for what is not an integer of rank 0. Semantics: ``jax.random.key``, whose key data is
    the same for 64-bit seeds.
    """
    return word_of("random.key", "seed", seed)


def split(key: Any, num: Any = 2) -> Tensor:
    """`num` (an int or a shape) new keys from one, as a ``u64[*num]`` tensor; unpack or index it.

    Example:
        >>> import tracejit as tj
        >>> first, second = tj.random.split(tj.random.key(0))
        >>> second
        tensor(3989946895414531357, dtype=uint64)

    Raises DTypeError for what is not a key, ShapeError for a bad `num`. Semantics: ``jax.random.split``,
    with its values.
    """
    return run("threefry", as_key("random.split", key), counters(as_shape("random.split", num, "num")))


def fold_in(key: Any, data: Any) -> Tensor:
    """A new key from a key and an integer of rank 0, such as the number of a step.

    ``fold_in(key, i)`` is ``split(key, n)[i]``.

    Example:
        >>> import tracejit as tj
        >>> tj.random.fold_in(tj.random.key(0), 1)
        tensor(3989946895414531357, dtype=uint64)

    Raises DTypeError for what is not a key or an integer. Semantics: ``jax.random.fold_in``, with 64 bits of
    `data` where it takes 32.
    """
    return run("threefry", as_key("random.fold_in", key), word_of("random.fold_in", "data", data))


def bits(key: Any, shape: Any = ()) -> Tensor:
    """64 random bits for each element of `shape`, dtype uint64.

    Example:
        >>> import tracejit as tj
        >>> tj.random.bits(tj.random.key(0), 2)
        tensor([7719171245655871230, 3989946895414531357], dtype=uint64)

    Semantics: ``jax.random.bits`` of dtype uint64, with its values.
    """
    return run("threefry", as_key("random.bits", key), counters(as_shape("random.bits", shape)))


def more_bits(name: str, key: Any, shape: Shape) -> Tensor:
    """Another 64 bits for each element, from the other half of the counters."""
    return run("threefry", as_key(name, key), run("bitwise_or", counters(shape), 1 << 63))


def counters(shape: Shape) -> Tensor:
    """The flat position of each element, dtype uint64."""
    if not is_tracing():
        size = int(np.prod(shape, dtype=np.int64))
        return wrap(np.arange(size, dtype=UINT64).reshape(shape))
    # one term per axis, which fuses with what follows; a reshape would not
    total = run("full", value=0, shape=shape, dtype=UINT64)
    for axis, stride in enumerate(contiguous_strides(shape)):
        if shape[axis] > 1:
            along = run("iota", shape=shape, axis=axis, dtype=UINT64)
            total = run("add", total, run("mul", along, stride))
    return total


def as_key(name: str, key: Any) -> Tensor:
    """`key` as a Tensor. Raises DTypeError unless it is a key."""
    if not isinstance(key, (Tensor, np.ndarray, np.generic)) or key.dtype != UINT64:
        type_name = (
            key.dtype.name if isinstance(key, (Tensor, np.ndarray, np.generic)) else type(key).__name__
        )
        raise DTypeError(
            f"{name}: expected a key, a uint64 tensor of rank 0, got {type_name}; "
            "make one with tj.random.key(seed)"
        )
    if key.shape != ():
        raise ShapeError(
            f"{name}: expected one key, of shape (), got shape {key.shape}; unpack several keys, or "
            "map over them with tj.vmap"
        )
    return as_tensor(key)


def word_of(name: str, what: str, value: Any) -> Tensor:
    """An integer of rank 0 as 64 bits."""
    if isinstance(value, (Tensor, np.ndarray)) and value.shape == () and value.dtype.kind in "iu":
        return cast(as_tensor(value), UINT64)
    try:
        number = operator.index(value)
    except TracejitError:
        raise  # a tensor that is no integer says so itself
    except TypeError as error:
        raise DTypeError(f"{name}: expected an integer for {what}, got {value!r}") from error
    if not -(1 << 63) <= number < _WORD:
        raise DTypeError(f"{name}: {what} must be from -2**63 to 2**64 - 1, got {number}")
    return constant_of(np.array(number % _WORD, UINT64))
