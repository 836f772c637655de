"""``tj.debug``: what is printed, when, in which order, and that passes keep it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.dataflow import has_effect, without_effects
from tracejit.ir.passes import run_passes
from tracejit.ir.text.parser import parse_function
from tracejit.ir.text.printer import print_function


def shown(x: Any) -> Any:
    tj.debug.print("x={x}", x=x)
    y = tj.exp(x)
    tj.debug.print("{} then {:.2f} {name}", y.shape, y.sum(), name="text")
    tj.debug.print("{{}} {0[1]} {0[0]!r:>6}", ("a", 1))
    return y


@pytest.mark.parametrize("f", [shown, tj.jit(shown)], ids=["eager", "jit"])
def test_formats(f: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        f(tj.tensor([0.0, 1.0]))
        lines = capsys.readouterr().out.splitlines()
        assert lines == ["x=[0. 1.]", "(2,) then 3.72 text", "{} 1    'a'"]


@pytest.mark.parametrize(
    ("fmt", "args", "kwargs", "message"),
    [
        ("{} {}", (1,), {}, "does not fit 1 positional arguments"),
        ("{x}", (), {"y": 1}, r"does not fit 0 positional arguments and the names \['y'\]"),
        ("done", (1,), {}, "does not use argument 0; write a format with {} rather than an f-string"),
        ("{x}", (), {"x": 1, "y": 2}, "does not use argument 'y'"),
        ("{", (), {}, "does not fit"),
        (3, (), {}, "expected a format string, got int"),
    ],
)
def test_formats_are_checked_when_written(fmt: Any, args: Any, kwargs: Any, message: str) -> None:
    for f in (tj.debug.print, tj.jit(lambda: tj.debug.print(fmt, *args, **kwargs)).trace):
        with pytest.raises(tj.TracejitError, match=message):
            f(*([fmt, *args] if f is tj.debug.print else []), **(kwargs if f is tj.debug.print else {}))


def test_callback_keeps_structure_and_constants() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        tj.debug.callback(lambda *args, **kwargs: seen.append((args, kwargs)), [x, "a"], k={"y": x * 2}, n=3)
        return x

    for g in (f, tj.jit(f)):
        seen.clear()
        g(tj.tensor([1.0]))
        (((pair,), named),) = seen
        assert (type(pair[0]), pair[0].tolist(), pair[1]) == (np.ndarray, [1.0], "a")
        assert (named["k"]["y"].tolist(), named["n"]) == ([2.0], 3)
    with pytest.raises(tj.TracejitError, match=r"debug\.callback: expected a function, got str"):
        tj.debug.callback("x")  # type: ignore[arg-type]


def test_order_and_number_are_those_of_the_program() -> None:
    """Prints go through every pass: equal prints, inputs that are ready early or late, dead values."""
    seen: list[str] = []

    def note(name: str, x: Any) -> None:
        tj.debug.callback(lambda v: seen.append(f"{name}{float(np.sum(v)):g}"), x)

    @tj.jit
    def f(x: Any) -> Any:
        a = tj.exp(x * 0)
        note("a", a)
        late = tj.pure_callback(lambda v: v, a, a)  # nothing fuses across a call of Python
        note("x", x)
        note("x", x)
        b = late + a
        note("b", b)
        note("x", x)
        tj.sin(b)  # dead
        note("dead", tj.cumsum(b * 2))
        return a * 2 + late

    for _ in range(2):
        seen.clear()
        f(tj.ones(2))
        assert seen == ["a2", "x2", "x2", "b4", "x2", "dead12"]


def test_a_function_that_returns_nothing() -> None:
    seen: list[float] = []
    f = tj.jit(lambda x: tj.debug.callback(lambda v: seen.append(float(v)), x))
    assert f(1.0) is None
    assert f(2.0) is None
    assert seen == [1.0, 2.0]


def test_exceptions_arrive_and_stop_what_follows() -> None:
    seen: list[float] = []

    def check(x: Any) -> None:
        if x < 0:
            raise FloatingPointError("negative")
        seen.append(float(x))

    @tj.jit
    def f(x: Any) -> Any:
        tj.debug.callback(check, x)
        tj.debug.callback(seen.append, x)
        return x

    f(1.0)
    with pytest.raises(FloatingPointError, match="negative"):
        f(-1.0)
    f(2.0)
    assert [float(event) for event in seen] == [1.0, 1.0, 2.0, 2.0]


ORDERS = {
    "eager": lambda f: f,
    "jit": tj.jit,
    "grad": tj.grad,
    "jit grad": lambda f: tj.jit(tj.grad(f)),
    "grad jit": lambda f: tj.grad(tj.jit(f)),
    "grad grad jit": lambda f: tj.grad(tj.grad(tj.jit(f))),
    "grad jit grad": lambda f: tj.grad(tj.jit(tj.grad(f))),
    "jit grad grad": lambda f: tj.jit(tj.grad(tj.grad(f))),
}


@pytest.mark.parametrize("order", ORDERS)
def test_once_in_every_order_of_transforms(order: str) -> None:
    seen: list[float] = []

    def f(x: Any) -> Any:
        y = x * x
        tj.debug.callback(lambda v: seen.append(float(v)), y)
        return tj.asarray(y * x)

    g = ORDERS[order](f)
    for count in (1, 2):
        assert g(2.0).item() == {0: 8.0, 1: 12.0, 2: 12.0}[order.count("grad")]
        assert seen == [4.0] * count


def test_inside_functions_with_regions() -> None:
    seen: list[float] = []

    def f(x: Any) -> Any:
        tj.debug.callback(lambda v: seen.append(float(v)), x)
        return tj.sin(x)

    assert tj.jit(lambda x: tj.checkpoint(f, x))(1.0).item() == pytest.approx(np.sin(1.0))
    assert seen == [1.0]
    seen.clear()
    tj.jit(lambda x: (tj.checkpoint(f, x), x * 2)[1])(1.0)  # its value is not used
    assert seen == [1.0]


def test_passes_and_text() -> None:
    f = tj.jit(lambda x: tj.debug.print("{}", x))
    function = f.trace(tj.ones(2))
    (instruction,) = function.body
    assert has_effect(instruction)
    assert without_effects(function).body == ()
    assert [instruction.op.name for instruction in run_passes(function).body] == ["debug_callback"]
    text = print_function(function, locations=False)
    assert '= debug_callback(%x) {callback="print#' in text
    assert print_function(parse_function(text), locations=False) == text


def test_what_it_looked_at_is_not_kept_alive() -> None:
    f = tj.jit(lambda x: (tj.debug.print("{}", x), x)[1])
    function = f.trace(tj.ones(2))
    cells = function.body[0].attrs["callback"].callback.__closure__
    assert not [cell for cell in cells if isinstance(cell.cell_contents, tj.Tensor)]


@pytest.mark.parametrize("seed", range(12))
def test_order_in_random_programs(seed: int) -> None:
    """Elementwise ops, reductions, Python calls and regions between the effects: fusion moves all those."""
    rng = np.random.default_rng(seed)
    seen: list[tuple[int, float]] = []
    steps = [(int(rng.integers(6)), rng.integers(1 << 30, size=2), int(rng.integers(3))) for _ in range(25)]

    def f(x: Any) -> Any:
        values = [x, tj.cos(x), x.sum() * tj.ones(4)]
        for number, (kind, picks, effect) in enumerate(steps):
            a, b = (values[int(pick) % len(values)] for pick in picks)
            report = (
                lambda a=a, b=b: a * 0.5 + b,
                lambda a=a, b=b: tj.sin(a) - b.sum(),
                lambda a=a, b=b: tj.pure_callback(lambda v, w: v - w, a, a, b),
                lambda a=a, b=b: tj.cumsum(a) * 0.1 + b,
                lambda b=b, number=number: tj.checkpoint(lambda v: note(-number, v) * 0.9, b),
                lambda a=a, b=b: a.max() * b[::-1],
            )[kind]()
            values.append(report)
            if effect == 0:
                note(number, values[int(picks[0]) % len(values)])
        return values[-1]

    def note(number: int, value: Any) -> Any:
        tj.debug.callback(lambda v: seen.append((number, float(np.sum(v)))), value)
        return value

    x = tj.tensor([0.1, 0.7, -0.4, 0.2])
    want = f(x)
    expected = list(seen)
    compiled = tj.jit(f)
    for _ in range(2):
        seen.clear()
        got = compiled(x)
        assert [number for number, _ in seen] == [number for number, _ in expected]
        assert np.allclose([value for _, value in seen], [value for _, value in expected], rtol=1e-12)
        assert np.allclose(got, want, rtol=1e-12)
