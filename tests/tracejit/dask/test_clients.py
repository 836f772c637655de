"""Fits, ensembles, progress and cancellation with a client, on the processes of a cluster of this machine."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path

import pytest

from ...emission import CODE
from ...runtime.programs import python

pytest.importorskip("dask.array")
pytest.importorskip("distributed")

_PROGRAM = """
    import io, time
    from contextlib import redirect_stdout
    import dask.array as da
    import numpy as np
    from distributed import Client, progress, wait
    import tracejit as tj, tracejit.dask

    def loss(w, x, y):
        logits = x @ w["slopes"] + w["offset"]
        return tj.logaddexp(0.0, logits).sum() - (y * logits).sum()

    def fit(start):
        slope = tj.grad(lambda v: ((v**2 - 2.0) ** 2).sum())
        return tj.fori_loop(0, 200, lambda i, v: v - 0.05 * slope(v), start)

    def slow(block):
        time.sleep(0.2)
        return block

    if __name__ == "__main__":
        rng = np.random.default_rng(0)
        x = rng.normal(size=(4000, 3))
        y = (x @ np.array([1.0, -2.0, 0.5]) + 0.3 + rng.logistic(size=4000) > 0).astype(float)
        start = {"slopes": np.zeros(3), "offset": np.zeros(())}
        with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as client:
            chunked = [da.from_array(x, chunks=(500, 3)), da.from_array(y, chunks=500)]
            blocks = client.persist(chunked)
            gradient = tj.dask.value_and_grad(loss)
            gradient(start, *blocks)
            fits = client.map(tj.jit(fit), [-1.0, 0.5, 2.0])
            print(sorted(round(float(value), 4) for value in client.gather(fits)))

            def step(w, state, values):
                total, slope = gradient(w, *values)
                return tj.tree_map(lambda p, g: p - 3.0 / 4000 * g, w, slope)

            here, there = start, start
            whole = tj.jit(tj.value_and_grad(loss))
            for _ in range(30):
                here = tj.tree_map(lambda p, g: p - 3.0 / 4000 * g, here, whole(here, x, y)[1])
                there = step(there, None, blocks)
            print(bool(np.allclose(here["slopes"], there["slopes"], rtol=1e-10)))

            many = client.compute(gradient.delayed(start, blocks[0].map_blocks(slow), blocks[1]))
            shown = io.StringIO()
            with redirect_stdout(shown):
                progress(many, notebook=False)
                wait(many)
            print(many.status, "Completed" in shown.getvalue())
            value, slope = many.result()
            print(bool(np.allclose(value, whole(start, x, y)[0])))

            again = blocks[0].map_blocks(slow, token="again")
            last = client.compute(gradient.delayed(start, again, blocks[1]))
            time.sleep(0.1)
            client.cancel(last)
            print(last.status)
            print(float(gradient(start, *blocks)[0]) > 0)  # the workers go on
"""


def test_fits_ensembles_progress_and_cancellation(tmp_path: Path) -> None:
    printed = python(textwrap.dedent(_PROGRAM), TRACEJIT_CACHE="1", TRACEJIT_CACHE_DIR=str(tmp_path))
    assert printed.split("\n") == [
        "[-1.4142, 1.4142, 1.4142]", "True", "finished True", "True", "cancelled", "True", "",
    ]  # fmt: skip


_MACHINES = """
    import os
    import dask.array as da
    import numpy as np
    from distributed import Client
    import tracejit as tj, tracejit.dask

    def loss(w, x):
        return ((x @ w) ** 2).sum()

    def compiled_there():
        import sys
        return "llvmlite.binding" in sys.modules

    def cluster(folder):
        return Client(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50,
                      env={"TRACEJIT_CACHE_DIR": folder})

    if __name__ == "__main__":
        gradient = tj.dask.value_and_grad(loss)
        x = da.ones((100, 3), chunks=(30, 3))
        for folder in os.environ["FOLDERS"].split():  # as of another machine: there is nothing in it
            with cluster(folder) as client:
                print(gradient(np.ones(3), x)[1].tolist(), gradient(np.ones(3), x[:40])[1].tolist())
                scaled = tj.dask.map_blocks(lambda x: tj.exp(x) * 2, x)
                product = tj.dask.blockwise(lambda x, y: tj.tanh(x @ y), "ij", x, "ik", x.T, "kj")
                print(round(float(scaled.sum().compute()), 6), round(float(product.sum().compute()), 6))
                print(any(client.run(compiled_there).values()))
        print(gradient(np.ones(3), x)[1].tolist())  # without a client
"""


def test_machine_code_goes_to_workers_that_share_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CODE, "anew")  # what tests share is not in the cache
    printed = python(
        textwrap.dedent(_MACHINES), FOLDERS=f"{tmp_path / '1'} {tmp_path / '2'}",
        TRACEJIT_CACHE="1", TRACEJIT_CACHE_DIR=str(tmp_path / "here"),
    )  # fmt: skip
    whole, rows = "[600.0, 600.0, 600.0]", "[240.0, 240.0, 240.0]"
    sums = f"{round(600 * math.e, 6)} {round(10000 * math.tanh(3), 6)}"
    assert printed.splitlines() == [f"{whole} {rows}", sums, "False"] * 2 + [whole]
