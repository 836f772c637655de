"""NumPy's own examples, from the docstrings of the installed one, with tracejit in its place.

Each expression is computed by both. `REASONS` has the functions
of whose examples some differ, and why.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import functools
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.surface.namespaces import NUMPYS

pytestmark = pytest.mark.skipif(
    np.__version__[:4] != "2.4.", reason="the reasons are about NumPy 2.4's examples"
)

#: Functions by the reason for which some of their examples differ.
_BY_REASON = {
    "attributes of ndarrays": [
        "atleast_2d",
        "atleast_3d",
    ],
    "records, dates, texts and objects": [
        "argsort",
        "isreal",
        "outer",
        "diff",
        "frombuffer",
        "fromfile",
        "genfromtxt",
        "lexsort",
        "loadtxt",
        "mean",
        "shape",
        "sort",
        "tensordot",
        "unique",
        "zeros",
    ],
    "ndmin=, order= and records": [
        "array",
    ],
    "masked arrays": [
        "array_repr",
    ],
    "subclasses of ndarrays": [
        "asanyarray",
        "asarray",
    ],
    "sets are no arrays": [
        "isin",
    ],
    "a Python number has the default dtype": [
        "ldexp",
    ],
    "a dict of tensors, without files and memory maps": [
        "load",
        "savez",
    ],
    "the input is not overwritten": [
        "median",
        "percentile",
        "quantile",
    ],
    "a partition is a sort": [
        "partition",
    ],
    "poly1d": [
        "polyder",
        "polyint",
        "polyval",
    ],
    "lists are arrays": [
        "trim_zeros",
    ],
    "the order is not specified": [
        "unique_values",
    ],
}
REASONS = {name: reason for reason, names in _BY_REASON.items() for name in names}


class _Library:
    """``np`` in the examples: our names, and NumPy's where we have none."""

    def __getattr__(self, name: str) -> Any:
        theirs = getattr(np, name)
        is_scalar = isinstance(theirs, type) and issubclass(
            theirs, np.generic
        )  # np.uint8(255), and as a dtype
        return getattr(tj, name) if name in tj.__all__ and name != "random" and not is_scalar else theirs


def _names() -> list[str]:
    """The functions that are ours, and have examples in NumPy."""
    parser = doctest.DocTestParser()
    return [
        name
        for name in sorted(tj.__all__)
        if name not in NUMPYS.split()
        and callable(getattr(np, name, None))
        and not isinstance(getattr(tj, name), np.dtype)
        and name not in ("ndarray", "empty", "empty_like")  # a class, and memory that is not yet written
        and parser.get_examples(_text(name))
    ]


def _text(name: str) -> str:
    return getattr(np, name).__doc__ or ""


def _run(source: str, namespace: dict[str, Any]) -> Any:
    """The value of `source`, None where it is no expression."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source, mode="eval")
        except SyntaxError:
            exec(source, namespace)
            return None
        return eval(compile(tree, "example", "eval"), namespace)


class _Identities:
    """``id`` in the examples: the same number for the same object, and no place in memory."""

    def __init__(self) -> None:
        self._objects: list[Any] = []

    def __call__(self, value: Any) -> int:
        for number, known in enumerate(self._objects):
            if known is value:
                return number
        self._objects.append(value)
        return len(self._objects) - 1


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, (tuple, list)) and isinstance(ours, (tuple, list)):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and _same(list(ours.values()), list(theirs.values()))
    if isinstance(ours, tj.Tensor):
        ours = ours.detach().numpy()
    if isinstance(theirs, (np.ndarray, np.generic, int, float)) and isinstance(
        ours, (np.ndarray, np.generic, int, float)
    ):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        return (
            ours.shape == theirs.shape
            and ours.dtype == theirs.dtype
            and bool(np.allclose(ours, theirs, rtol=1e-12, atol=1e-14, equal_nan=True))
        )
    return type(ours) is type(theirs) and (ours == theirs or not isinstance(theirs, (str, bool, np.dtype)))


@functools.cache
def problems(name: str) -> list[str]:
    """The differences in the examples of the function `name`."""
    results = []
    original: dict[str, Any] = {"np": np, "numpy": np, "id": _Identities()}
    replaced: dict[str, Any] = {"np": _Library(), "numpy": _Library(), "id": _Identities()}
    for example in doctest.DocTestParser().get_examples(_text(name)):
        source = re.sub(r"number=\w+", "number=1", example.source.strip())  # `timeit` of thousands of calls
        if "import numpy" in source or "import matplotlib" in source:
            continue
        state = np.random.get_state()
        try:
            theirs = _run(source, original)
        except Exception as error:
            theirs = error
        np.random.set_state(state)
        try:
            ours = _run(source, replaced)
        except Exception as error:
            ours = error
        if isinstance(theirs, Exception) or isinstance(ours, Exception):
            if not (isinstance(theirs, Exception) and isinstance(ours, Exception)):
                results.append(f"{source}: {ours!r}, NumPy: {theirs!r}")
        elif not _same(ours, theirs):
            results.append(f"{source}: {ours!r}, NumPy: {theirs!r}")
    for value in (*original.values(), *replaced.values()):
        if isinstance(value, io.IOBase) or hasattr(value, "fid"):
            value.close()
    return results


@pytest.fixture(autouse=True)
def _folder_for_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some examples write files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", _names())
def test_examples(name: str) -> None:
    different = problems(name)
    if name in REASONS:
        assert different, f"{name}: its examples agree; it needs no reason"
    else:
        assert not different, "\n".join(different)


def test_most_examples_agree() -> None:
    """Examples agree, 95 or more of 100, but for names that an example before did not give."""
    parser = doctest.DocTestParser()
    names = _names()
    examples = sum(len(parser.get_examples(_text(name))) for name in names)
    different = [text for name in names if name in REASONS for text in problems(name)]
    assert sum("NameError" not in text for text in different) < 0.05 * examples
