"""The walk over linear algebra, transforms, convolutions and special functions: every public one, of real and
of complex arguments, jitted as it is eagerly, and with derivatives to second order against differences.

Functions and arguments come from the enumeration of wrong arguments (`bad_input`), whose right ones these
are: a new public function is walked as soon as it is public. Derivatives are of a fixed weighted sum of real
and imaginary parts, along a fixed direction.
"""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .bad_input.library_arguments import OF_LIBRARIES
from .bad_input.valid_calls import Call, public_calls

LIBRARIES = ("linalg", "fft", "emath", "scipy.linalg", "scipy.fft", "scipy.signal", "scipy.special")
CALLS = {call.name: call for call in public_calls() if call.name.rpartition(".")[0] in LIBRARIES}
#: Same objects under SciPy's names.
TWICE = {f"scipy.fft.{name.removeprefix('fft.')}" for name in CALLS if name.startswith("fft.")}
NAMES = [name for name in CALLS if name not in TWICE]
#: Results that Python computes of sizes alone, or whose slope is 0 or jumps; with the reason.
WITHOUT_SLOPE = {
    "fft.fftfreq": "a constant",
    "fft.rfftfreq": "a constant",
    "linalg.matrix_rank": "an integer",
    "scipy.fft.next_fast_len": "an integer",
    "scipy.signal.choose_conv_method": "a word",
}
#: The derivatives of linear algebra are those of `linalg/test_every_gradient.py`, whose table is complete.
WITH_A_TABLE = ("linalg.", "scipy.linalg.")
STEP = 1e-5


def is_hermitian(x: Any) -> bool:
    return bool(
        x.ndim >= 2 and x.shape[-1] == x.shape[-2] and np.array_equal(x, np.conj(np.swapaxes(x, -1, -2)))
    )


def hermitian(x: Any) -> Any:
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def varied(name: str, x: Any, kind: str) -> Any:
    """`x` as real or complex numbers ("f" or "c"), equal elements a little apart, so that no singular value
    or eigenvalue occurs twice; Hermitian where it was."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    result = x + 0.02 * rng.standard_normal(x.shape) if x.dtype.kind == "f" or kind == "c" else x.real
    if kind == "c" and x.dtype.kind == "f":
        result = result + 0.125j * rng.standard_normal(x.shape)
    return hermitian(result) if is_hermitian(x) else result


def arguments_of(call: Call, kind: str) -> tuple[dict[str, Any], list[str]]:
    """The right arguments, their arrays of this kind ("f" or "c"); the names of arrays that have slopes."""
    arguments = call.arguments()
    names = []
    for name, value in arguments.items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc" and value.size:
            arguments[name] = varied(name, value, kind)
            names.append(name)
    return arguments, names


def inexact_leaves(result: Any) -> list[Any]:
    return [
        leaf for leaf in tj.tree_leaves(result) if isinstance(leaf, tj.Tensor) and leaf.dtype.kind in "fc"
    ]


def loss_of(call: Call, arguments: dict[str, Any], names: list[str]) -> Any:
    """A real number of the results, as a function of the arrays called `names`."""

    def loss(*arrays: Any) -> Any:
        result = call.call_public({**arguments, **dict(zip(names, arrays, strict=True))})
        total: Any = 0.0
        for number, leaf in enumerate(inexact_leaves(result)):
            weights = np.cos(np.arange(leaf.size) * 1.3 + number).reshape(leaf.shape) + 0.3
            # absolute values: eigenvectors and factors are determined up to a phase
            part = tj.abs(leaf) ** 2 if call.name in PHASES else tj.real(leaf) + 0.7 * tj.imag(leaf)
            total = total + tj.sum(part * weights)
        return total

    return loss


#: Functions whose results are determined up to a phase.
PHASES = ("linalg.eig", "linalg.eigh", "linalg.svd", "linalg.qr", "scipy.linalg.schur")


def outcome(call: Call, arguments: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call.call_public(arguments)


def refuses_complex(call: Call, arguments: dict[str, Any]) -> bool:
    """Whether the function has no complex meaning, and says so."""
    try:
        outcome(call, arguments)
    except tj.DTypeError as error:
        return "complex" in str(error)
    return False


def cases() -> list[tuple[str, str]]:
    return [(name, kind) for name in NAMES for kind in "fc"]


@pytest.mark.parametrize(("name", "kind"), cases())
def test_jitted_is_eager(name: str, kind: str) -> None:
    call = CALLS[name]
    arguments, names = arguments_of(call, kind)
    if not names:
        assert kind == "c" or name in WITHOUT_SLOPE or not any(map(is_array, arguments.values()))
        return
    if kind == "c" and refuses_complex(call, arguments):
        return
    expected = tj.tree_leaves(outcome(call, arguments))
    arrays = [arguments[name] for name in names]

    @tj.jit
    def compiled(*arrays: Any) -> Any:
        result = call.call_public({**arguments, **dict(zip(names, arrays, strict=True))})
        return [leaf for leaf in tj.tree_leaves(result) if isinstance(leaf, tj.Tensor)]

    results = compiled(*arrays)
    for got, want in zip(results, [leaf for leaf in expected if isinstance(leaf, tj.Tensor)], strict=True):
        got, want = np.asarray(got), np.asarray(want)
        assert got.shape == want.shape
        assert got.dtype == want.dtype or name.startswith("linalg.eig")
        scale = 1.0 + np.abs(want).max(initial=0.0)
        assert np.allclose(got, want, rtol=1e-10, atol=1e-11 * scale, equal_nan=True), name


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, kind in cases() if not name.startswith(WITH_A_TABLE)]
)
def test_derivatives_to_second_order(name: str, kind: str) -> None:
    if name in WITHOUT_SLOPE:
        return
    call = CALLS[name]
    arguments, names = arguments_of(call, kind)
    if not names:
        return
    if kind == "c" and refuses_complex(call, arguments):
        return
    if not inexact_leaves(outcome(call, arguments)):
        return
    loss = loss_of(call, arguments, names)
    arrays = [arguments[name] for name in names]
    places = tuple(range(len(arrays)))
    rng = np.random.default_rng(3)
    tangents = []
    for x in arrays:
        t = rng.standard_normal(x.shape)
        if x.dtype.kind == "c":
            t = t + 1j * rng.standard_normal(x.shape)
        # functions of symmetric matrices have no slope in other directions
        tangents.append((hermitian(t) if is_hermitian(x) else t).astype(x.dtype))

    def along(gradients: Any) -> float:
        return sum(float(np.sum(np.asarray(g) * t).real) for g, t in zip(gradients, tangents, strict=True))

    def moved(step: float) -> list[Any]:
        return [x + step * t for x, t in zip(arrays, tangents, strict=True)]

    gradient = tj.grad(loss, argnums=places)
    slope = along(gradient(*arrays))
    differences = (float(loss(*moved(STEP))) - float(loss(*moved(-STEP)))) / (2 * STEP)
    scale = 1.0 + abs(slope) + abs(float(loss(*arrays)))
    assert abs(slope - differences) < 1e-6 * scale, f"{slope} instead of {differences}"
    assert abs(along(tj.jit(gradient)(*arrays)) - slope) < 1e-9 * scale
    _, forward = tj.jvp(loss, tuple(arrays), tuple(tangents))
    assert abs(float(forward) - slope) < 1e-9 * scale
    product = tj.hvp(loss, tuple(arrays), tuple(tangents))
    bend = along(product if isinstance(product, (tuple, list)) else (product,))
    differences = (along(gradient(*moved(STEP))) - along(gradient(*moved(-STEP)))) / (2 * STEP)
    assert abs(bend - differences) < 1e-5 * (scale + abs(bend)), f"{bend} instead of {differences}, order 2"


def test_every_function_of_the_libraries_is_walked() -> None:
    assert set(OF_LIBRARIES) <= set(CALLS)
