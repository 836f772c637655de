"""The default generator: its state, and that jitted functions draw what they would draw eagerly."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import DTypeError, TraceError

r = tj.random
_ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    state = r.get_state()
    yield
    r.set_state(state)


def values(results):
    return [np.asarray(result.detach()).tolist() for result in results]


def sequence(f, calls=4):
    """The results of `f`, call by call with eager draws between, from seed 5; and the state after them."""
    r.seed(5)
    results = []
    for i in range(calls):
        results.append(values(f(float(i))))
        results.append(r.next_key().item())
    return results, r.get_state()


# -- eager ------------------------------------------------------------------------------------------


def test_draw_k_is_child_k_of_the_seed():
    r.seed(9)
    assert [r.next_key().item() for _ in range(5)] == r.split(r.key(9), 5).tolist()
    assert r.get_state() == (9, 5)


def test_seeds_are_those_of_key():
    r.seed(-1)
    assert r.get_state() == (2**64 - 1, 0)
    r.seed(np.array(3, np.int8))
    assert r.get_state() == (3, 0)
    with pytest.raises(DTypeError, match="integer for seed"):
        r.seed(1.5)


def test_state_is_restored():
    r.seed(3)
    r.rand(2)
    state = pickle.loads(pickle.dumps(r.get_state()))
    first = r.randn(4).tolist()
    r.seed(77)
    r.set_state(state)
    assert r.randn(4).tolist() == first


@pytest.mark.parametrize("bad", [None, 3, (1,), (1, 2, 3), (1.0, 2), (-1, 0), (0, 2**64), (True, 0)])
def test_bad_states(bad):
    with pytest.raises(DTypeError, match=r"random\.set_state: state must be the two integers"):
        r.set_state(bad)


def test_rand_and_randn_draw_one_key():
    r.seed(4)
    keys = r.split(r.key(4), 4)
    assert r.rand(2, 3).tolist() == r.uniform(keys[0], (2, 3)).tolist()
    assert r.randn(5, dtype="float32").tolist() == r.normal(keys[1], 5, "float32").tolist()
    assert r.rand().shape == ()
    assert r.randn((2, 2)).shape == (2, 2)


def test_a_fresh_process_starts_from_seed_0():
    code = "import tracejit as tj; print(tj.random.get_state())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=_ROOT)
    assert done.stdout == "(0, 0)\n"


# -- jitted -----------------------------------------------------------------------------------------


def three_draws(x):
    first = r.next_key()
    return first, r.rand(3) * x, r.next_key()


def test_jitted_draws_are_the_eager_ones_from_the_first_call():
    jitted = tj.jit(three_draws)
    eager = sequence(three_draws)
    assert eager[1] == (5, 16)
    assert sequence(jitted) == eager
    assert sequence(jitted) == eager  # and once compiled
    with tj.disable_jit():
        assert sequence(jitted) == eager
    assert "3 draws a call" in jitted.explain()
    assert jitted._entry is None  # a native entry that can only fail would be in the way


def test_no_call_repeats_a_draw():
    draw = tj.jit(lambda: r.rand(4))
    assert len({tuple(draw().tolist()) for _ in range(20)}) == 20


def test_state_is_restored_around_a_jitted_call():
    draw = tj.jit(lambda x: r.randn(3) + x)
    for _ in range(2):
        state = r.get_state()
        first = draw(1.0).tolist()
        r.set_state(state)
        assert draw(1.0).tolist() == first
        assert r.get_state()[1] == state[1] + 1


def test_jit_in_jit():
    inner = tj.jit(lambda: r.next_key())

    def outer(x):
        return inner(), r.rand(2) + x, inner()

    assert sequence(outer) == sequence(tj.jit(outer)) == sequence(tj.jit(outer))


def test_several_signatures():
    def f(x):
        return r.rand(*x.shape), r.next_key()

    def run(f):
        r.seed(1)
        shapes = [(2,), (3,), (2,), (2, 2), (3,)]
        return [values(f(np.ones(shape))) for shape in shapes], r.get_state()

    jitted = tj.jit(f)
    assert run(jitted) == run(f) == run(jitted)


flag = True
weight = tj.tensor([1.0])


def test_a_broken_guard_takes_no_draws():
    """The signature that no longer holds must not claim keys before the new one does."""

    def f():
        return r.next_key() if flag else r.next_key() + r.next_key()

    def run(f):
        global flag
        r.seed(1)
        results = []
        for draws in (True, False, True, True, False):
            flag = draws
            results.append(f().item())
        return results, r.get_state()

    jitted = tj.jit(f)
    assert run(jitted) == run(f) == run(jitted)


def test_a_capture_of_another_type_takes_no_draws():
    def f():
        return (r.rand(2) * weight,)

    def run(f):
        global weight
        r.seed(1)
        results = []
        for size in ([1.0], [2.0], [1.0, 2.0], [3.0]):
            weight = tj.tensor(size)
            results.append(values(f()))
        return results, r.get_state()

    jitted = tj.jit(f)
    assert run(jitted) == run(f) == run(jitted)


def test_a_branch_without_draws_may_have_a_native_entry():
    f = tj.jit(lambda x: x + r.rand(*x.shape) if x.ndim else x + 1)
    r.seed(0)
    for _ in range(3):
        f(np.ones(2))
        f(np.array(1.0))
    assert r.get_state() == (0, 3)
    assert f(np.ones(2)).tolist() != f(np.ones(2)).tolist()


def test_looking_inside_draws_nothing():
    state = r.get_state()
    f = tj.jit(three_draws)
    function = f.trace(1.0)
    assert [str(param.type) for param in function.params] == ["f64[]", "u64[2]"]
    assert "threefry" in f.lower(1.0).as_text("fused")
    assert "define" in f.lower(1.0).as_text("llvm")
    assert r.get_state() == state


def test_an_error_while_tracing_draws_nothing():
    def f(x):
        r.next_key()
        raise ValueError("mine")

    state = r.get_state()
    with pytest.raises(ValueError, match="mine"):
        tj.jit(f)(1.0)
    assert r.get_state() == state


def test_gradients():
    """The forward run and its gradient see one draw: d/dx sum(u x^2) = 2 sum(u) x."""

    def f(x):
        return (r.rand(4) * x * x).sum()

    r.seed(2)
    totals = [float(r.rand(4).sum()) for _ in range(6)]
    want = [total * 2 * 3.0 for total in totals]
    jitted = tj.jit(f)

    def by_backward(f):
        x = tj.tensor(3.0, requires_grad=True)
        f(x).backward()
        return x.grad.item()

    jit_grad, value_and_grad = tj.jit(tj.grad(f)), tj.jit(tj.value_and_grad(f))
    for gradient in [
        lambda: tj.grad(f)(3.0).item(),
        lambda: tj.grad(jitted)(3.0).item(),
        lambda: jit_grad(3.0).item(),
        lambda: by_backward(f),
        lambda: by_backward(jitted),
        lambda: value_and_grad(3.0)[1].item(),
    ]:
        r.seed(2)
        assert [gradient() for _ in range(6)] == pytest.approx(want, rel=1e-14)
        assert r.get_state() == (2, 6)


def test_second_gradients_see_the_draw_of_the_forward_run():
    """The compiled backward with create_graph computes the forward part again, from the same keys."""
    f = tj.jit(lambda x: (r.rand(4) * x**3).sum())
    r.seed(2)
    total = float(r.rand(4).sum())
    r.seed(2)
    assert tj.grad(tj.grad(f))(2.0).item() == pytest.approx(12 * total, rel=1e-14)
    assert r.get_state() == (2, 1)


@pytest.mark.parametrize("call", [lambda: r.seed(1), lambda: r.get_state(), lambda: r.set_state((0, 0))])
def test_the_state_is_out_of_reach_under_jit(call):
    def f(x):
        call()
        return x

    with pytest.raises(TraceError, match="cannot reach the generator's state"):
        tj.jit(f)(1.0)


def test_a_trace_within_a_trace_is_refused():
    def f(x):
        tj.jit(lambda: r.next_key()).trace()
        return x

    with pytest.raises(TraceError, match="inside a trace within a trace"):
        tj.jit(f)(1.0)


def test_threads_share_the_generator():
    r.seed(9)
    keys: list[int] = []
    jitted = tj.jit(lambda: (r.next_key(), r.next_key()))

    def work():
        for _ in range(100):
            keys.extend(result.item() for result in jitted())
            keys.append(r.next_key().item())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for runner in threads:
        runner.join()
    assert r.get_state() == (9, 1200)
    assert set(keys) == set(r.split(r.key(9), 1200).tolist())


def test_the_command_line_shows_such_functions(tmp_path):
    (tmp_path / "noisy.py").write_text(
        "import tracejit as tj\n\n\ndef noisy(x):\n    return x + tj.random.randn(3)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tracejit", "dump", f"{tmp_path / 'noisy.py'}:noisy", "--arg", "f64[3]"],
        capture_output=True, text=True, check=True, cwd=_ROOT,
    )  # fmt: skip
    assert "func @noisy(%x: f64[3], %generator: u64[2]) -> f64[3] {" in done.stdout


@pytest.mark.parametrize("draw", [tj.random.rand, tj.random.randn])
def test_draws_are_leaves_that_require_grad_where_asked(draw):
    tj.random.seed(0)
    x = draw(3, requires_grad=True)
    tj.random.seed(0)
    plain = draw(3)
    assert (x.requires_grad, x.is_leaf, plain.requires_grad) == (True, True, False)
    assert x.tolist() == plain.tolist()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]
