"""``tj.debug.check_nans``, and compiled gradients under ``detect_anomaly``: op, line and step."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import GradientError, NonFiniteError
from tracejit.ir.registry import OPS
from tracejit.runtime.observing import OBSERVER

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")


def line_of(text: str) -> int:
    """The line of this file that has the comment `text`."""
    lines = Path(__file__).read_text().splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith(f"# {text}")]
    return number


def found(f: Callable[..., Any], *args: Any, **options: Any) -> NonFiniteError:
    with pytest.raises(NonFiniteError) as caught, tj.debug.check_nans(**options):
        f(*args)
    return caught.value


def root(x: Any) -> Any:
    return tj.sqrt(x).sum()  # root


def stepping(x: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        c = c - 1.0
        return c, tj.log(c)  # log in scan

    return tj.scan(step, x, None, length=5)[1].sum()


def choosing(x: Any) -> Any:
    return tj.cond(
        x.sum() > 0,
        lambda x: tj.sqrt(x).sum(),  # sqrt in cond
        lambda x: x.sum(),
        x,
    )


def growing(x: Any) -> Any:
    return tj.while_loop(
        lambda c: c[0] < 10,
        lambda c: (c[0] + 1, tj.exp(c[1])),  # exp in while
        (0, x),
    )


@pytest.mark.parametrize(
    ("f", "arg", "op", "comment", "said"),
    [
        (root, [4.0, -1.0], "sqrt", "root", "made a NaN"),
        (tj.jit(root), [4.0, -1.0], "sqrt", "root", "in the compiled function root"),
        (tj.jit(tj.grad(root)), [4.0, 0.0], "div", "root", "an infinity .*in the gradient of that line"),
        (tj.grad(root), [4.0, 0.0], "div", "root", "in the gradient of that line"),
        (tj.jit(tj.vmap(root)), [[4.0], [-1.0]], "sqrt", "root", r"element \[1, 0\] of f64\[2,1\]"),
        (tj.jit(stepping), 3.5, "log", "log in scan", "in step 3 of the scan"),
        (tj.jit(tj.grad(stepping)), 2.0, "log", "log in scan", "in step 1 of the scan"),
        (stepping, 3.5, "log", "log in scan", "NaN"),
        (tj.jit(growing), 1.0, "exp", "exp in while", "in step 3 of the while"),
        (tj.jit(choosing), [-2.0, 3.0], "sqrt", "sqrt in cond", "in a branch"),
        (tj.jit(tj.grad(choosing)), [0.0, 3.0], "div", "sqrt in cond", "that line, in a branch"),
    ],
)  # fmt: skip
def test_the_op_and_the_users_line(f: Any, arg: Any, op: str, comment: str, said: str) -> None:
    error = found(f, tj.tensor(arg))
    assert error.op == op
    assert (error.location.file, error.location.line) == (__file__, line_of(comment))
    assert f"check_nans: {op} made a" in str(error)
    assert f"{__file__}:{line_of(comment)}" in str(error)
    assert re.search(said, str(error))


@pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])
def test_backward_names_the_forward_line(wrap: Any) -> None:
    f = wrap(root)

    def train() -> None:
        x = tj.tensor([4.0, 0.0], requires_grad=True)
        f(x).backward()

    error = found(train)
    assert error.location.line == line_of("root")
    assert "in the gradient of that line" in str(error)


def test_operands_are_shown_where_it_happened() -> None:
    text = str(found(lambda: tj.tensor([1.0, 0.0, 3.0]) / tj.tensor([2.0, 0.0, 1.0])))
    assert "(element [1] of f64[3]). Operands: x = 0.0; y = 0.0" in text
    text = str(found(lambda: tj.tensor([1e308, 1e308]).sum()))
    assert "sum made an infinity" in text
    assert "x = f64[2] from 1e+308 to 1e+308" in text
    text = str(found(lambda: tj.log(tj.zeros((2, 3)))))
    assert "(element [0, 0] of f64[2,3] and 5 more)" in text


def test_what_is_given_is_not_made() -> None:
    x = tj.tensor([np.nan, np.inf, 1.0])
    with tj.debug.check_nans():
        for f in (lambda x: x * 2 + 1, tj.jit(lambda x: x * 2 + 1), lambda x: tj.full((3,), np.inf) + x):
            assert not np.isfinite(f(x)).all()
        tj.nn.softmax(tj.tensor([[1.0, -np.inf]]))


def test_one_or_the_other() -> None:
    with tj.debug.check_nans(inf=False):
        assert tj.log(tj.tensor(0.0)) == -np.inf
        assert tj.jit(lambda x: tj.log(x))(tj.tensor(0.0)) == -np.inf
    with tj.debug.check_nans(nan=False):
        assert np.isnan(tj.log(tj.tensor(-1.0)))
    assert found(lambda: tj.log(tj.tensor(-1.0)), inf=False).op == "log"
    with pytest.raises(tj.TracejitError, match="leave nothing to look for"):
        tj.debug.check_nans(nan=False, inf=False)


def test_masked_values_of_compiled_code() -> None:
    masked = tj.jit(lambda x: tj.where(x > 0, tj.log(x), 0.0))
    with tj.debug.check_nans():
        assert masked(tj.tensor([1.0, -1.0])).tolist() == [0.0, 0.0]
    assert found(masked, tj.tensor([1.0, -1.0]), every_op=True).op == "log"


def test_callbacks_happen_once() -> None:
    seen: list[float] = []

    @tj.jit
    def f(x: Any) -> Any:
        tj.debug.callback(lambda v: seen.append(float(v)), x)
        return tj.log(x)

    found(f, tj.tensor(-1.0))
    assert seen == [-1.0]


def test_a_custom_gradient() -> None:
    @tj.custom_vjp
    def f(x: Any) -> Any:
        return x * 2

    f.defvjp(lambda x: (x * 2, x), lambda x, ct: (ct / x,))  # custom rule
    for wrap in (lambda g: g, tj.jit):
        error = found(wrap(tj.grad(lambda x: f(x).sum())), tj.tensor([0.0, 1.0]))
        assert error.op == "div"


def test_it_ends_and_nests_and_decorates() -> None:
    with tj.debug.check_nans(inf=False):
        with tj.debug.check_nans():
            pass
        tj.log(tj.tensor(0.0))
    tj.log(tj.tensor(-1.0))
    assert OBSERVER.call is None
    assert all(op.kernel is op.eval for op in OPS if not op.name.startswith("special"))

    @tj.debug.check_nans()
    def decorated() -> Any:
        return tj.log(tj.tensor(-1.0))

    with pytest.raises(NonFiniteError):
        decorated()
    assert not tj.autograd.is_anomaly_enabled()


def test_other_threads_are_not_checked() -> None:
    values: list[Any] = []
    with tj.debug.check_nans():
        thread = threading.Thread(target=lambda: values.append(tj.jit(lambda x: tj.log(x))(tj.tensor(-1.0))))
        thread.start()
        thread.join()
    assert np.isnan(values[0])


@pytest.mark.parametrize(
    ("setting", "code", "said"),
    [
        ("1", 1, "log made an infinity"),
        ("nan", 0, "-inf"),
        ("inf", 1, "log made an infinity"),
        ("0", 0, "-inf"),
    ],
)
def test_the_environment_variable(setting: str, code: int, said: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import threading, tracejit as tj\nf = tj.jit(lambda x: tj.log(x))\n"
        "def work():\n    try:\n        print(f(tj.tensor(0.0)))\n    except tj.NonFiniteError as error:\n"
        "        print(error)\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\nprint(f(tj.tensor(0.0)))\n"
    )
    env = {**os.environ, "TRACEJIT_CHECK_NANS": setting}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=env, timeout=600)
    assert done.returncode == code
    assert said in done.stdout.splitlines()[0]
    assert (f"{script}:2" in done.stderr) == bool(code)


def test_a_setting_that_is_none() -> None:
    env = {**os.environ, "TRACEJIT_CHECK_NANS": "yes"}
    done = subprocess.run([sys.executable, "-c", "import tracejit"], capture_output=True, text=True, env=env)
    assert "TRACEJIT_CHECK_NANS must be 0, 1, nan or inf, got 'yes'" in done.stderr


# -- detect_anomaly ---------------------------------------------------------------------------------


def vanishing(x: Any) -> Any:
    return (tj.sqrt(x) * 0.0).sum()  # vanishing


def test_anomalies_in_compiled_gradients() -> None:
    x = tj.tensor([4.0, 0.0])

    def backward() -> None:
        tj.jit(vanishing)(x.detach().requires_grad_()).backward()

    for run in (lambda: tj.jit(tj.grad(vanishing))(x), backward):
        with (
            pytest.raises(GradientError, match=r"nan.*: div made a NaN") as caught,
            tj.autograd.detect_anomaly(),
        ):
            run()
        assert f"{__file__}:{line_of('vanishing')}, in the gradient of that line" in str(caught.value)
        assert f"called at {__file__}:" in str(caught.value)
    with tj.autograd.detect_anomaly():
        assert np.isnan(tj.jit(lambda x: tj.log(x))(tj.tensor(-1.0))), "forward code is its own business"
    with tj.autograd.detect_anomaly(check_nan=False):
        assert np.isnan(tj.jit(tj.grad(vanishing))(x)).any()
    assert OBSERVER.call is None


def test_the_switch_looks_into_compiled_code_too() -> None:
    tj.autograd.set_detect_anomaly(True)
    try:
        with pytest.raises(GradientError, match="a compiled gradient is nan"):
            tj.jit(tj.grad(vanishing))(tj.tensor([4.0, 0.0]))
    finally:
        tj.autograd.set_detect_anomaly(False)
    assert OBSERVER.call is None
