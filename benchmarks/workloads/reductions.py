"""Reductions over either axis, softmax, layernorm and their gradients."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import BYTES, generator, normal

_ROWS: Final = (4096, 1024)
_TALL: Final = (262_144, 16)


def _softmax(lib: Library, *shape: int) -> Function:
    def rows(x: Any) -> Any:
        e = lib.np.exp(x - lib.np.max(x, axis=1, keepdims=True))
        return e / lib.np.sum(e, axis=1, keepdims=True)

    return rows


def _softmax_loss(lib: Library, *shape: int) -> Function:
    softmax = _softmax(lib)
    return lambda x, target: (softmax(x) * target).sum()


def _softmax_numba(nb: Any, *shape: int) -> Function:

    @nb.njit(parallel=True)
    def rows(x: Any) -> Any:
        out = np.empty_like(x)
        for i in nb.prange(x.shape[0]):
            e = np.exp(x[i] - x[i].max())
            out[i] = e / e.sum()
        return out

    compiled: Function = rows
    return compiled


def _layernorm(lib: Library, *shape: int) -> Function:
    def rows(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - lib.np.mean(x, axis=1, keepdims=True)
        variance = lib.np.mean(centred * centred, axis=1, keepdims=True)
        return centred / lib.np.sqrt(variance + 1e-5) * scale + shift

    return rows


def _layernorm_loss(lib: Library, *shape: int) -> Function:
    layernorm = _layernorm(lib)
    return lambda x, scale, shift, target: (layernorm(x, scale, shift) * target).sum()


def _of_rows(gradient: bool) -> list[Workload]:
    size = math.prod
    grad, word = "-grad" * gradient, "value and gradient of " * gradient
    return [
        Workload(
            f"softmax{grad}",
            f"{word}softmax over rows, 4096x1024 f32",
            _softmax_loss if gradient else _softmax,
            lambda *shape: normal(*[shape] * (1 + gradient), dtype="f32"),
            sizes=_ROWS,
            tiny=(5, 19),
            gradient=(0,) if gradient else None,
            numba=None if gradient else _softmax_numba,
            tolerance=1e-4 if gradient else 1e-6,
            traffic=lambda *shape: (2 + gradient) * 4 * size(shape),
        ),
        Workload(
            f"layernorm{grad}",
            f"{word}layernorm of rows, 4096x1024 f32",
            _layernorm_loss if gradient else _layernorm,
            lambda *shape: normal(shape, (shape[1],), (shape[1],), *[shape] * gradient, dtype="f32"),
            sizes=_ROWS,
            tiny=(5, 19),
            gradient=(0, 1, 2) if gradient else None,
            tolerance=1e-3 if gradient else 1e-5,
            traffic=lambda *shape: (2 + gradient) * 4 * size(shape),
        ),
    ]


def _fold(lib: Library, name: str, axis: int | None, shape: Any, dtype: str) -> Function:
    fold = getattr(lib.np, name)
    return lambda x: fold(x) if axis is None else fold(x, axis=axis)


def _folds() -> list[Workload]:
    workloads = []
    for place, axis in (("rows", 1), ("columns", 0)):
        for name in ("mean", "var", "max"):
            workloads.append(_workload_of_fold(name, place, axis, _ROWS, (19, 37), "f32"))
    workloads.append(_workload_of_fold("sum", "tall", 0, _TALL, (37, 3), "f32"))
    workloads.append(_workload_of_fold("max", "tall", 0, _TALL, (37, 3), "f64"))
    workloads.append(_workload_of_fold("sum", "all", None, (10_000_000,), (37,), "f64"))
    workloads.append(_workload_of_fold("max", "all", None, (1_000_000,), (37,), "f32"))
    workloads.append(_workload_of_fold("argmax", "rows", 1, _ROWS, (19, 37), "f32"))
    return workloads


def _workload_of_fold(
    name: str, place: str, axis: int | None, shape: tuple[int, ...], tiny: tuple[int, ...], dtype: str
) -> Workload:
    where = {
        "rows": "each row of",
        "columns": "each column of",
        "tall": "each column of",
        "all": "all of",
    }[place]
    return Workload(
        f"{name}-{place}",
        f"{name} of {where} {'x'.join(map(str, shape))} {dtype}",
        _fold,
        lambda name, axis, shape, dtype: normal(shape, dtype=dtype),
        sizes=(name, axis, shape, dtype),
        tiny=(name, axis, tiny, dtype),
        tolerance=1e-4 if dtype == "f32" else 1e-9,  # sums of millions that nearly cancel
        traffic=lambda name, axis, shape, dtype: math.prod(shape) * BYTES[dtype],
    )


def _normalised(lib: Library, *shape: int) -> Function:
    """Columns of a table to mean 0 and variance 1, as in preparing data."""

    def columns(x: Any) -> Any:
        centred = x - lib.np.mean(x, axis=0)
        return centred / lib.np.sqrt(lib.np.mean(centred * centred, axis=0) + 1e-5)

    return columns


def _table(*shape: int) -> tuple[Any, ...]:
    return (generator().normal(3.0, 2.0, size=shape).astype("f4"),)


WORKLOADS: Final = (
    *_of_rows(gradient=False),
    *_of_rows(gradient=True),
    *_folds(),
    Workload(
        "standardise",
        "columns of 262144x16 f32 to mean 0, variance 1",
        _normalised,
        _table,
        sizes=_TALL,
        tiny=(37, 3),
        tolerance=1e-4,
        traffic=lambda *shape: 2 * 4 * math.prod(shape),
    ),
)
