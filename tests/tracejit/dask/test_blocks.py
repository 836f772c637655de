"""`tracejit.dask` on dask's own threads, and on the processes of a cluster of this machine."""

from __future__ import annotations

import signal
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.dask

from ...runtime.programs import python
from ...support import check_document

da: Any = pytest.importorskip("dask.array")
RNG = np.random.default_rng(4)
X, Y = RNG.normal(size=(23, 3)), RNG.normal(size=23)


def squares(w: Any, x: Any, y: Any, factor: float = 1.0) -> Any:
    return ((x @ w["w"] + w["b"] - y) ** 2).sum() * factor


def test_a_sum_shows_its_tasks() -> None:
    class Bar:
        def __init__(self, iterable: Any = (), *, total: int = 0, desc: str, **options: Any) -> None:
            self.iterable, self.total, self.desc, self.updates, self.closed = iterable, total, desc, 0, False
            bars.append(self)

        def __iter__(self) -> Any:
            return iter(self.iterable)

        def update(self) -> None:
            self.updates += 1

        def close(self) -> None:
            self.closed = True

    bars: list[Bar] = []
    x, y = da.from_array(X, chunks=(5, 3)), da.from_array(Y, chunks=5)
    blocked = tj.dask.value_and_grad(squares)
    with tj.progress(bar=Bar):
        blocked({"w": np.ones(3), "b": 0.5}, x, y)
    shown = [bar for bar in bars if bar.desc == "value_and_grad of squares" and bar.total > 1]
    assert shown
    assert all(bar.updates == bar.total and bar.closed for bar in shown)
    assert shown[-1].total >= 5 + 1, "blocks and their sum"


def test_sums_over_blocks_are_those_of_the_whole() -> None:
    w = {"w": np.array([1.0, 2.0, -1.0]), "b": 0.5}
    value, gradient = tj.value_and_grad(squares)(w, X, Y, 2.0)
    for rows, columns, many in ((5, 3, 8), (5, 2, 2), (23, 3, 8), (1, 1, 3)):
        x, y = da.from_array(X, chunks=(rows, columns)), da.from_array(Y, chunks=rows)
        blocked = tj.dask.value_and_grad(squares, split_every=many)
        for _ in range(2):
            again, slope = blocked(w, x, y, 2.0)
            np.testing.assert_allclose(again, value, rtol=1e-12)
            np.testing.assert_allclose(slope["w"], gradient["w"], rtol=1e-12)
            np.testing.assert_allclose(slope["b"], gradient["b"], rtol=1e-12)


def test_gradients_by_several_arguments() -> None:
    def loss(a: Any, x: Any, b: Any) -> Any:
        return (a * x + b).sum()

    value, (by_a, by_b) = tj.dask.value_and_grad(loss, argnums=(0, 2))(2.0, da.arange(6.0, chunks=4), 1.0)
    assert (float(value), float(by_a), float(by_b)) == (36.0, 15.0, 6.0)


def test_blocks_are_traced_once_for_a_shape() -> None:
    traced = []

    def loss(w: Any, x: Any) -> Any:
        traced.append(x.type)
        return (x * w).sum()

    blocked = tj.dask.value_and_grad(loss)
    for w in (1.0, 2.0, 3.0):
        blocked(w, da.ones(10, chunks=4))
    assert len(traced) == 2


def test_threads_are_given_back() -> None:
    with tj.threads(2):
        tj.dask.value_and_grad(lambda w, x: (w * x).sum())(1.0, da.ones(8, chunks=1))
        assert tj.num_threads() == 2


def test_maps_of_blocks() -> None:
    x = da.from_array(X, chunks=(5, 3))
    result = tj.dask.map_blocks(lambda x, w: tj.sin(x) * w, x, np.arange(3.0))
    assert (result.dtype, result.chunks) == (np.dtype(np.float64), x.chunks)
    np.testing.assert_allclose(result.compute(), np.sin(X) * np.arange(3.0), rtol=1e-14)
    halves = tj.dask.map_blocks(tj.jit(lambda x: x[:, :1].astype("float32")), x, chunks=(x.chunks[0], (1,)))
    assert (halves.dtype, halves.compute().shape) == (np.dtype(np.float32), (23, 1))


def test_errors_name_what_is_wrong() -> None:
    x, y = da.ones((6, 2), chunks=(2, 2)), da.ones(6, chunks=3)
    summed = tj.dask.value_and_grad(squares)
    with pytest.raises(tj.ArgumentError, match="value_and_grad of squares: no argument is a dask array"):
        summed(np.zeros(2), X, Y)
    with pytest.raises(tj.ShapeError, match=r"argument 2 has chunks .* rechunk one of them"):
        summed(np.zeros(2), x, y)
    with pytest.raises(tj.ArgumentError, match="argument 0 is a dask array, and is in argnums"):
        summed(x, x, y)
    with pytest.raises(tj.ArgumentError, match="split_every must be an integer from 2 on, got 1"):
        tj.dask.value_and_grad(squares, split_every=1)
    with pytest.raises(tj.ArgumentError, match="no argument is a dask array"):
        tj.dask.map_blocks(tj.sin, X)
    with pytest.raises(tj.GradientError, match="must return a floating scalar"):
        tj.dask.value_and_grad(lambda w, x: x * w)(1.0, x)


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(tj.TracejitError, match=r"pip install 'tracejit\[dask\]'"):
        tj.dask.value_and_grad(squares)(1.0, X)


def test_a_lost_worker_is_survived() -> None:
    pytest.importorskip("distributed")
    program = f"""
        import os, signal, time
        import dask.array as da
        import numpy as np
        from distributed import Client
        import tracejit as tj, tracejit.dask

        def loss(w, x):
            return (x * w).sum()

        def slow(block):
            time.sleep(0.05)
            return block

        if __name__ == "__main__":
            with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as client:
                summed = tj.dask.value_and_grad(loss)
                x = da.ones(400, chunks=10).map_blocks(slow, dtype=float)
                victim = next(iter(client.run(os.getpid).values()))
                client.loop.call_later(0.5, os.kill, victim, {int(signal.SIGKILL)})
                value, slope = summed(np.full(1, 2.0), x)
                assert victim not in client.run(os.getpid).values()
                print(float(value), slope.tolist())
    """
    assert python(textwrap.dedent(program)).strip() == "800.0 [400.0]"


def test_the_document() -> None:
    check_document("dask.md", least=12)
