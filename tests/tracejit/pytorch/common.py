"""Helpers that the tests of PyTorch's behaviour share."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

import tracejit as tj


def leaf(*numbers, dtype=None):
    """A tensor that requires grad."""
    return tj.tensor(list(numbers), dtype=dtype, requires_grad=True)


def values(tensor):
    """The elements as nested lists."""
    return tensor.detach().tolist()


@contextmanager
def refuses(error, *words):
    """The block raises `error`, and its message has all of `words`."""
    with pytest.raises(error) as failure:
        yield
    text = str(failure.value)
    missing = [word for word in words if word.lower() not in text.lower()]
    assert not missing, f"no {missing} in {text!r}"
