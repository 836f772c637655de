"""``with tj.profile()``: compiled functions kernel by kernel, all threads, tables and trace files."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.registry import OPS
from tracejit.runtime.observing import OBSERVER


@tj.jit
def model(w: Any, x: Any) -> Any:
    hidden = tj.tanh(x @ w)
    return tj.nn.softmax(hidden, axis=-1)


W, X = tj.ones((30, 5)), tj.ones((20, 30))
#: The kinds of nest for short rows, depending on the number of lanes of a vector.
ROWS = ("row nest", "column nest")


def test_a_function_with_its_nests() -> None:
    expected = model(W, X)
    with tj.profile() as p:
        for _ in range(3):
            result = model(W, X)
    np.testing.assert_array_equal(result, expected)
    (function,) = p.functions
    assert (function.name, function.calls, function.inputs) == ("model", 3, ("f64[30,5]", "f64[20,30]"))
    assert function.where.startswith("test_nests.py:")
    product, softmax = function.nests
    assert (product.kind, product.ops, product.runs) == ("contraction", ("matmul",), 3)
    assert product.cost.flops == 3 * 2 * 20 * 30 * 5
    assert softmax.kind in ROWS
    assert softmax.runs == 3
    assert {"tanh", "exp", "max", "sum", "div"} <= set(softmax.ops)
    assert softmax.cost.bytes == 3 * 2 * 20 * 5 * 8
    assert len(softmax.lines) == 2, "tanh and softmax stand on two lines"
    assert 0 < product.milliseconds + softmax.milliseconds == function.kernel_milliseconds
    assert function.kernel_milliseconds < function.milliseconds < p.milliseconds_on
    assert 0 < product.best <= product.milliseconds / 3
    assert product.gflops == pytest.approx(product.cost.flops / product.milliseconds / 1e6)
    assert function.compile_milliseconds == 0, "it was compiled before"


def test_compiling_is_told_from_running() -> None:
    f = tj.jit(lambda x: tj.exp(x) + 1)
    with tj.profile() as p:
        f(X)
    (function,) = p.functions
    assert function.compile_milliseconds > function.milliseconds
    assert p.instrument_milliseconds > 0
    data = p.as_dict()
    parts = [data[f"{part}_milliseconds"] for part in ("compiled", "eager", "compile", "instrument", "rest")]
    assert sum(parts) == pytest.approx(p.milliseconds_on, rel=0.2)


def test_forward_and_backward_of_a_jitted_function() -> None:
    w = tj.ones((30, 5)).requires_grad_()
    with tj.profile() as p:
        model(w, X).sum().backward()
    assert sorted(function.name for function in p.functions) == ["model", "model_backward"]
    assert "sum" in {name for name, _, _ in p.eager}


def test_every_thread_is_seen_and_told_apart() -> None:
    model(W, X)
    begun = threading.Barrier(3)

    def work() -> None:
        begun.wait(10)
        for _ in range(5):
            model(W, X)
        tj.log(tj.ones(5))

    with tj.profile() as p:
        threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (function,) = p.functions
    assert function.calls == 15
    assert [nest.runs for nest in function.nests] == [15, 15]
    assert {kernel.thread for kernel in p.kernels} == {"worker 0", "worker 1", "worker 2"}
    assert {event.thread_name for event in p.events} == {"worker 0", "worker 1", "worker 2"}


def test_nothing_is_left_behind() -> None:
    p = tj.profile()

    def fail() -> None:
        with p:
            model(W, X)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(p.functions) == 1, "what ran before the error"
    assert OBSERVER.call is None
    assert all(op.kernel is op.eval for op in OPS if not op.name.startswith("special"))
    before = len(p.kernels)
    model(W, X)
    assert len(p.kernels) == before
    with pytest.raises(tj.TracejitError, match="has run already"), p:
        pass


def test_profiles_may_overlap() -> None:
    first, second = tj.profile(), tj.profile()
    with first:
        model(W, X)
        second.__enter__()
        model(W, X)
    model(W, X)
    second.__exit__()
    assert [profile.functions[0].calls for profile in (first, second)] == [2, 2]
    with tj.profile() as outer:
        inner = tj.profile(model, W, X)
    assert inner.functions[0].calls == outer.functions[0].calls == 1


def test_bad_arguments() -> None:
    with pytest.raises(
        tj.TracejitError, match="expected a function, or nothing in a with statement, got int"
    ):
        tj.profile(3)  # type: ignore[arg-type]
    with pytest.raises(tj.TracejitError, match="expected a function to call with the arguments, got None"):
        tj.profile(None, 3)


def test_errors_of_the_compiled_code_are_the_users() -> None:
    f = tj.jit(lambda x, i: x[i])
    with tj.profile(), pytest.raises(tj.OutOfBoundsError):
        f(tj.ones(3), tj.asarray([7]))


def test_a_loop_stands_over_its_kernels() -> None:
    @tj.jit
    def iterate(x: Any) -> Any:
        return tj.fori_loop(0, 50, lambda i, c: tj.tanh(c @ x), x)

    with tj.profile() as p:
        iterate(tj.ones((40, 40)) * 0.01)
    (function,) = p.functions
    loop, product, _ = function.nests
    assert (loop.kind, loop.runs, product.parent, product.runs) == ("loop", 1, 0, 50)
    assert function.cost.flops == loop.cost.flops, "the loop's, and its kernels' no second time"
    assert "    k0 contraction" in p.table()


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    with tj.profile() as p:
        model(W, X)
        tj.exp(tj.ones(7))
    text = str(p)
    head = text.splitlines()[0].split()
    assert head == ["compiled", "calls", "ms", "%", "best", "us", "GFLOP/s", "GB/s", "what", "where"]
    assert "@model" in text
    assert "(f64[30,5], f64[20,30])" in text
    assert "k0 contraction" in text
    assert "f64[7]" in text
    assert "GB/s (" in p.summary()
    assert "... and 1 more" in p.table(limit=1)
    assert tj.profile(lambda: None).table() == "nothing ran"


def test_as_dict_is_json() -> None:
    with tj.profile() as p:
        model(W, X)
        tj.exp(tj.ones(7))
    data = json.loads(json.dumps(p.as_dict()))
    (function,) = data["functions"]
    product, softmax = function["nests"]
    assert product["kind"] == "contraction"
    assert softmax["kind"] in ROWS
    assert data["flops"] == function["flops"] == sum(nest["flops"] for nest in function["nests"])
    assert {call["op"] for call in data["eager"]} == {"full", "exp"}


# -- trace files ------------------------------------------------------------------------------------


def test_the_trace_file_follows_the_format(tmp_path: Path) -> None:
    """Google's "Trace Event Format": complete events have name, cat, ph, ts, dur, pid, tid; times in us."""
    f = tj.jit(lambda w, x: tj.nn.softmax(x @ w))
    with tj.profile() as p:
        thread = threading.Thread(target=lambda: [f(W, X), time.sleep(0.01), f(W, X)], name="worker")
        thread.start()
        tj.exp(tj.ones(1000))
        thread.join()
    path = tmp_path / "trace.json"
    p.save_trace(path)
    trace = json.loads(path.read_text())
    assert set(trace) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert trace["displayTimeUnit"] in ("ms", "ns")
    metadata = [event for event in trace["traceEvents"] if event["ph"] == "M"]
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(metadata) + len(events) == len(trace["traceEvents"])
    names = {event["tid"]: event["args"]["name"] for event in metadata if event["name"] == "thread_name"}
    assert sorted(names.values()) == ["MainThread", "worker"]
    for event in events:
        assert {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"} == set(event)
        assert isinstance(event["pid"], int)
        assert event["tid"] in names
        assert 0 <= event["ts"] <= p.milliseconds_on * 1e3
        assert 0 <= event["dur"] <= p.milliseconds_on * 1e3
    calls = [event for event in events if event["cat"] == "function"]
    assert len(calls) == 2
    assert calls[1]["ts"] - calls[0]["ts"] >= 10_000, "microseconds"
    kernels = [event for event in events if event["cat"] == "kernel"]
    assert [names[kernel["tid"]] for kernel in kernels] == ["worker"] * 4
    assert {event["name"] for event in events if event["cat"] == "compile"} == {
        "compile lambda",
        "instrument lambda",
    }
    assert "exp" in {event["name"] for event in events if event["cat"] == "eager"}


def test_events_of_a_thread_nest(tmp_path: Path) -> None:
    """Events of a thread nest, as the format requires: one of two holds the other, or they do not overlap."""
    f = tj.jit(lambda x: tj.fori_loop(0, 20, lambda i, c: tj.tanh(c @ x), x))
    with tj.profile() as p:
        for _ in range(3):
            f(tj.ones((40, 40)) * 0.01).sum()
    p.save_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    events = [
        (event["ts"], event["ts"] + event["dur"]) for event in trace["traceEvents"] if event["ph"] == "X"
    ]
    assert len(events) > 100
    open_until: list[float] = []
    for begin, end in sorted(events, key=lambda event: (event[0], -event[1])):
        while open_until and open_until[-1] <= begin + 0.01:
            open_until.pop()
        assert not open_until or end <= open_until[-1] + 0.01
        open_until.append(end)


def test_too_many_events_are_said_to_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tracejit.profiling.profiles.KEPT", 10)
    with tj.profile() as p:
        for _ in range(20):
            tj.exp(1.0)
    assert len(p.kernels) == len(p.events) == 10
    assert p.dropped == 10
    ((calls, _, _),) = p.eager.values()
    assert calls == 20
    assert "10 events are not in the trace" in p.summary()
    p.save_trace(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["otherData"] == {"dropped events": 10}
