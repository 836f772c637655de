"""An exception at any of the points where Python lets the handler of a signal in, chosen and not awaited.

Handlers run where a function begins, and after each call of a C function. A profiler sees both, so a test can
raise at the n-th of them, and at those of functions that take and give back locks, where it matters most.
"""

from __future__ import annotations

import pytest

from ..rotation import share_of
from .programs import python

PROGRAM = """
import faulthandler, random, sys, threading, types
faulthandler.dump_traceback_later(280, exit=True)
import numpy as np
import tracejit as tj
from tracejit.runtime.tiers import BACKGROUND

class Stop(BaseException): pass
lost, left_early = [], []
def unraisable(arguments):
    # Python closes a generator that was left early, of ``any`` or ``all``, in a frame that nobody called
    is_generator = isinstance(arguments.object, types.GeneratorType)
    (left_early if is_generator else lost).append(str(arguments))
sys.unraisablehook = unraisable
x = np.linspace(0.1, 1, 50)

def functions(k):
    f = tj.jit(lambda x: tj.sin(x) @ x * k + tj.cumsum(x))
    return f, tj.jit(tj.grad(lambda x: (tj.exp(x) * k).sum()))

def check(f, g, k):
    np.testing.assert_allclose(np.asarray(f(x)), np.sin(x) @ x * k + np.cumsum(x))
    np.testing.assert_allclose(np.asarray(g(x)), np.exp(x) * k)

def at_point(number, names):
    left = [number]
    def profile(frame, event, argument):
        if event not in ("call", "c_return"):
            return
        left[0] -= 1
        if left[0] <= 0 and (not names or frame.f_code.co_name in names):
            sys.setprofile(None)
            raised.append(frame.f_code)
            raise Stop
    return profile

points = [0]
def count(frame, event, argument):
    points[0] += event in ("call", "c_return")

check(*functions(0.25), 0.25)  # what is imported at first use is no part of it
first = functions(0.5)
sys.setprofile(count)
for f in first:
    f(x)
sys.setprofile(None)

random.seed(SEED)
stopped, raised = 0, []
for number in range(ROUNDS):
    k = 1.5 + number
    f, g = functions(k)
    try:
        sys.setprofile(at_point(random.randrange(points[0]), NAMES))
        f(x), g(x)
    except Stop:
        stopped += 1
    finally:
        sys.setprofile(None)
    check(f, g, k)
    if number % 10 == 0:
        outcome = []
        other = threading.Thread(target=lambda: outcome.append(check(*functions(k + 0.25), k + 0.25)))
        other.start()
        other.join(60)
        assert outcome, "another thread waits for ever"
        assert BACKGROUND.wait(60)
assert stopped > ROUNDS / 3, stopped
assert not lost and stopped + len(left_early) == len(raised), (stopped, len(raised), lost, left_early)
print("fine")
"""

#: Functions between whose steps a lock is taken or given back, or a thread is begun.
LOCKING = (
    "__enter__",
    "__exit__",
    "__call__",
    "close",
    "begin",
    "noted",
    "submit",
    "wait",
    "_begin",
    "interruptibly",
)


@pytest.mark.parametrize(("names", "rounds"), share_of([((), 25), (LOCKING, 25)], 2))
def test_an_exception_at_a_point(names: tuple[str, ...], rounds: int) -> None:
    """The next calls are right, other threads and the background compile, and nothing is freed twice."""
    program = PROGRAM.replace("SEED", "7").replace("ROUNDS", str(rounds)).replace("NAMES", repr(names))
    assert python(program, 300, TRACEJIT_TIERS="1", TRACEJIT_CACHE="0").strip() == "fine"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "seed"), share_of([(names, seed) for seed in range(3) for names in ((), LOCKING)], 2)
)
def test_exceptions_at_many_points(names: tuple[str, ...], seed: int) -> None:
    program = PROGRAM.replace("SEED", str(seed)).replace("ROUNDS", "120").replace("NAMES", repr(names))
    assert python(program, 600, TRACEJIT_TIERS="1", TRACEJIT_CACHE="0").strip() == "fine"
