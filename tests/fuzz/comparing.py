"""Comparing results, and what a failure is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Failure:
    """A failure in a mode. `known` is the reason where it was expected."""

    mode: str
    message: str
    known: str = ""

    @property
    def kind(self) -> str:
        """The mode and the class of the error, which a smaller program must reproduce to fail likewise."""
        return f"{self.mode.split(':')[0]}: {self.message.split(':')[0]}"


class Mismatch(AssertionError):
    """A result that is not what it should be."""


class Skipped(Exception):
    """The mode has nothing to say about this program."""


def difference(got: Any, expected: NDArray[Any], tolerance: float) -> str:
    """Difference between a result and what it should be, in words, or ""."""
    got = np.asarray(got)
    if got.dtype != expected.dtype:
        return f"dtype: {got.dtype} instead of {expected.dtype}"
    if got.shape != expected.shape:
        return f"shape: {got.shape} instead of {expected.shape}"
    if got.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            near = np.abs(got.astype(np.result_type(got, "f8")) - expected) <= tolerance
        same = near | (got == expected) | (np.isnan(got) & np.isnan(expected))
    else:
        same = got == expected
    if same.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(same))[0])
    values = np.atleast_1d(got)[at], np.atleast_1d(expected)[at]
    count = int((~same).sum())
    problem = f"{values[0]!r} instead of {values[1]!r} +- {tolerance:.1e}"
    return f"value: {count} of {got.size} elements, at {at} {problem}"


def compare(
    results: Sequence[Any], expected: Sequence[NDArray[Any]], tolerances: Sequence[float], label: str
) -> None:
    """Mismatch unless all results are what they should be."""
    if len(results) != len(expected):
        raise Mismatch(f"count: {len(results)} results instead of {len(expected)} ({label})")
    for position, (got, array, tolerance) in enumerate(zip(results, expected, tolerances, strict=True)):
        problem = difference(got, array, tolerance)
        if problem:
            raise Mismatch(f"{problem} (result {position}, {label})")
