"""Guard trees: every kind of leaf is reached and told from the others, and calls that walk down the tree give
what Python gives. ``TRACEJIT_SEED=7 pytest tests/tracejit/jitted/test_guard_tree.py`` walks other programs.
"""

from __future__ import annotations

import ast
import dataclasses
import os
import random
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.jitted.explaining import TreeBranch
from tracejit.jitted.guard_tree import nodes
from tracejit.jitted.guard_tree.nodes import MAX_STALE
from tracejit.jitted.guard_tree.paths import SETTLED
from tracejit.jitted.guard_tree.specializations import LeafKind

from .common import leaf, python_calls

pytestmark = pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
SEED = int(os.environ.get("TRACEJIT_SEED", "1"))
SLOW, WRAPPER = "JitFunction._slow", "Specialization._wrapped"
RUNS = {"ArgumentWrites.begin", "PathRun.results", "trace_call"}
#: Functions of the package that run in a call, by the kind of leaf that serves it: all of the first, and none
#: of the second.
FRAMES: dict[LeafKind, tuple[set[str], set[str]]] = {
    LeafKind.NATIVE: (set(), {SLOW, "CallPlan.record", WRAPPER}),
    LeafKind.RECORDING: ({"CallPlan.record"}, {SLOW}),
    LeafKind.WRAPPED: ({WRAPPER}, {SLOW, "CallPlan.record"}),
    LeafKind.FLAT: ({SLOW, "Specialization.native"}, {"call", *RUNS}),
    LeafKind.EXECUTABLE: ({"call"}, RUNS),
    LeafKind.IN_PLACE: ({"Specialization.run", "ArgumentWrites.begin"}, {"trace_call"}),
    LeafKind.PATH: ({"PathRun.results"}, {"trace_call"}),
    LeafKind.TRACE: ({"trace_call"}, set()),
    LeafKind.PLAIN: ({SLOW}, {"JitFunction._descend"}),
}


def served(call: Callable[[], Any]) -> tuple[LeafKind, Any]:
    """The kind of leaf that serves a call, by the functions that run: there is just one. And the result."""
    results: list[Any] = []
    ran = {name.partition(".<locals>")[0] for name in python_calls(lambda: results.append(call()))}
    if "JitFunction._as_python" in ran:  # whatever was tried before
        return LeafKind.PLAIN, results[0]
    kinds = [kind for kind, (some, none) in FRAMES.items() if some <= ran and not none & ran]
    assert len(kinds) == 1, (kinds, sorted(ran))
    return kinds[0], results[0]


def leaves(branches: Sequence[TreeBranch]) -> Iterator[str]:
    """The leaves of a tree that is shown."""
    for branch in branches:
        yield from [branch.leaf] if branch.leaf else []
        yield from leaves(branch.branches)


def kinds_of_test(branches: Sequence[TreeBranch]) -> Iterator[str]:
    """The tests of a tree that is shown, without the last branch of all."""
    for branch in branches:
        yield from [branch.test] if branch.test != "else" else []
        yield from kinds_of_test(branch.branches)


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


def array(sign: float = 1.0, size: int = 3) -> Any:
    return sign * (1.0 + np.arange(float(size)))


def identity(x: Any, y: Any) -> Any:
    return x * (2.0 if x is y else 3.0) + y


def branching(x: Any) -> Any:
    return x * 2.0 if x.sum() > 0 else x - 1.0


def writing(x: Any) -> Any:
    x[0] = 7.0
    return x * 2.0


MEMBERS = {1, 2}
#: A function and a call of it by kind of leaf, and how often it is called before.
PROGRAMS: dict[LeafKind, list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], int]]] = {
    LeafKind.NATIVE: [
        (lambda x: x * 2.0, lambda: (array(),), 1),
        (lambda d: d["x"], lambda: ({"x": array()},), 1),
    ],
    LeafKind.RECORDING: [(lambda x: x * 2.0, lambda: (leaf([1, 2]),), 1)],
    LeafKind.WRAPPED: [
        (writing, lambda: (array(),), 1),
        (identity, lambda: (array(), array()), 1),
        (branching, lambda: (array(),), SETTLED),
    ],
    LeafKind.FLAT: [(lambda p: p.a * p.b, lambda: (Pair(array(), array()),), 1)],
    LeafKind.EXECUTABLE: [
        (lambda x: x * (2.0 if 1 in MEMBERS else 3.0), lambda: (array(),), 1),
        (lambda x: x + tj.random.rand(), lambda: (array(),), 1),
    ],
    LeafKind.IN_PLACE: [(writing, lambda: (array(size=20_000),), 1)],
    LeafKind.PATH: [(branching, lambda: (array(),), 2), (branching, lambda: (leaf([1, 2]),), 2 * SETTLED)],
    LeafKind.TRACE: [(lambda x: x * 2.0, lambda: (array(),), 0), (branching, lambda: (array(),), 0)],
    LeafKind.PLAIN: [(identity, lambda: (ONE, ONE), 1)],
}
ONE = array()


@pytest.mark.parametrize("kind", LeafKind, ids=lambda kind: kind.name)
def test_every_kind_of_leaf_is_reached_and_shown(kind: LeafKind) -> None:
    for function, arguments, before in PROGRAMS[kind]:
        jitted = tj.jit(function)
        for _ in range(before):
            jitted(*arguments())
        assert served(lambda jitted=jitted, arguments=arguments: jitted(*arguments()))[0] is kind
        shown = set(leaves(jitted.explain().tree))
        assert LeafKind.TRACE.value in shown
        assert kind is LeafKind.PLAIN or kind.value in shown, jitted.explain()
        assert shown <= {each.value for each in LeafKind}


@pytest.mark.filterwarnings("ignore::tracejit.FrozenResultWarning")
def test_states_of_a_thread_serve_calls_as_python() -> None:
    jitted, x = tj.jit(lambda x: x * 2.0), array()
    jitted(x)
    with tj.disable_jit():
        assert served(lambda: jitted(x))[0] is LeafKind.PLAIN
    seen: list[LeafKind] = []

    def outer(x: Any) -> Any:
        kind, result = served(lambda: jitted(x))
        seen.append(kind)
        return result

    tj.jit(outer)(x)
    assert set(seen) == {LeafKind.PLAIN}
    assert served(lambda: jitted(x))[0] is LeafKind.NATIVE


#: Calls that run programs or the user's function, by the module and the name of what is called; each belongs
#: to kinds of leaf. A new one is a new way to serve a call, for `LeafKind`, or stands below another.
WAYS = {
    ("function.py", "_fn"): 2,  # PLAIN, beside what a trace calls (`inlined`)
    ("call_traces.py", "handed_on"): 1,  # TRACE
    ("function.py", "leaf.run"): 1,  # EXECUTABLE and IN_PLACE
    ("specializations.py", "call"): 2,  # EXECUTABLE; of paths together
    ("specializations.py", "pending.run"): 1,  # IN_PLACE
    ("argument_writes.py", "call"): 1,  # IN_PLACE, where what is written keeps its memory
    ("argument_writes.py", "compiled.executable.run"): 1,  # IN_PLACE
    ("paths.py", "call"): 1,  # PATH
    ("paths.py", "check.executable"): 1,  # PATH: its decisions
    ("calls.py", "compiled.executable"): 2,  # below `call`
    ("calls.py", "plan.forward.executable"): 1,  # below `call`
    ("calls.py", "call"): 1,  # a backward pass that is differentiated
    ("calls.py", "run"): 1,  # a backward pass
    ("calls.py", "joint.executable"): 1,  # a backward pass behind a safe choice
    ("entries.py", "make_entry"): 1,  # NATIVE, RECORDING, FLAT
    ("entries.py", "make_passing_entry"): 1,  # WRAPPED
}


def test_there_are_no_other_ways() -> None:
    names = {name.rsplit(".", 1)[-1] for _, name in WAYS}
    ways: Counter[tuple[str, str]] = Counter()
    for path in Path(tj.__file__).with_name("jitted").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                text = ast.unparse(node.func).removeprefix("self.")
                if text.rsplit(".", 1)[-1] in names and text != "merger.run":
                    ways[path.name, text] += 1
    assert dict(ways) == WAYS


def test_all_tests_are_shown_in_order() -> None:
    rate, members = 2.0, [1]

    @tj.jit
    def f(x: Any, n: int = 1) -> Any:
        return x * rate if x.sum() > members[0] else x

    for sign in (1.0, -1.0):
        f(array(sign))
    g = tj.jit(lambda x: x * members[0])
    g(leaf([1, 2]))
    order = [test.value for test in nodes.TestKind]
    for shown in (f.explain().tree, g.explain().tree):
        seen = list(dict.fromkeys(kinds_of_test(shown)))
        assert seen[:2] == order[:2]
    assert set(kinds_of_test(f.explain().tree)) | set(kinds_of_test(g.explain().tree)) == set(order)
    assert "captures members[0] is 1" in g.explain()
    assert "gradients x requires a gradient -> native entry, then a node on the tape" in g.explain()


# -- the shape of the tree -----------------------------------------------------------------------------------


def test_paths_together_look_at_aliases_too() -> None:
    """A native entry served calls whose arguments are one object, with the results of two."""

    def f(x: Any, y: Any) -> Any:
        k = 2.0 if x is y else 3.0
        return x * k if x.sum() > 0 else y * k

    jitted = tj.jit(f)
    for _ in range(2 * SETTLED):
        jitted(ONE, array())
    assert "share one native function" in jitted.explain()
    np.testing.assert_array_equal(jitted(ONE, ONE), 2.0 * ONE)
    np.testing.assert_array_equal(jitted(ONE, array()), 3.0 * ONE)


@pytest.mark.parametrize("branches", [False, True])
def test_what_changes_back_is_not_compiled_again(branches: bool) -> None:
    flag, traces = 0, Counter[int]()

    def f(x: Any) -> Any:
        traces[flag] += 1
        return x * flag if not branches or x.sum() > 0 else x - flag

    jitted = tj.jit(f, max_paths=2)
    for flag in [*range(MAX_STALE + 1)] * 3:
        for sign in (1.0, -1.0) if branches else (1.0,):
            expected = array(sign) * flag if sign > 0 else array(sign) - flag
            np.testing.assert_array_equal(jitted(array(sign)), expected)
    (signature,) = jitted._tree.signatures
    limit = (MAX_STALE + 2) if branches else (MAX_STALE + 1)
    assert len(signature.leaves) <= limit
    if not branches:
        assert set(traces.values()) == {1}
    for flag in range(40):  # noqa: B007
        jitted(array())
    assert len(signature.leaves) <= limit


def test_registrations_forget_what_other_threads_compile() -> None:
    """A call that compiles while the tree is cleared leaves no entry behind."""
    inside, go_on = threading.Event(), threading.Event()

    def f(x: Any) -> Any:
        inside.set()
        go_on.wait(60)
        return x * 2.0

    jitted = tj.jit(f)
    calling = threading.Thread(target=jitted, args=(array(),))
    clearing = threading.Thread(target=jitted.clear_cache)
    calling.start()
    assert inside.wait(60)
    clearing.start()
    go_on.set()
    calling.join()
    clearing.join()
    assert jitted._entry is None
    assert not list(jitted._tree.leaves())
    np.testing.assert_array_equal(jitted(array()), array() * 2.0)


def test_threads_add_leaves() -> None:
    """Threads that call with all types and values at a time, with a tree that is cleared meanwhile."""
    rates = {0: 2.0, 1: 3.0}

    def f(x: Any, number: int) -> Any:
        return x * rates[number] if x.sum() > 0 else x - rates[number]

    jitted = tj.jit(f, static_argnums=1)
    wrong: list[Any] = []
    start = threading.Barrier(4)

    def work(seed: int) -> None:
        chance = random.Random(seed)
        start.wait(60)
        for _ in range(150):
            sign, number, size = chance.choice([1.0, -1.0]), chance.randrange(2), chance.randrange(1, 4)
            x = array(sign, size)
            given = chance.choice([lambda x: x, tj.tensor, lambda x: tj.tensor(x, requires_grad=True)])(x)
            if chance.random() < 0.02:
                jitted.clear_cache()
            got = jitted(given, number)
            expected = x * rates[number] if sign > 0 else x - rates[number]
            if not np.array_equal(np.asarray(got.detach()), expected):
                wrong.append((sign, number, size, got))

    threads = [threading.Thread(target=work, args=(SEED * 10 + number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    tree = jitted._tree
    keys = [signature.key for signature in tree.signatures]
    assert len(set(map(id, keys))) == len(keys)
    for signature in tree.signatures:
        outcomes = [tuple(decision.seen for decision in path.decisions) for path in signature.leaves]
        assert len(set(outcomes)) == len(outcomes), "no path was compiled twice"


# -- a walk --------------------------------------------------------------------------------------------------


class World:
    """Values that a program reads outside its arguments."""

    def __init__(self) -> None:
        self.rate, self.flag, self.members, self.weights = 2.0, True, {1}, np.arange(3.0)

    def change(self, chance: random.Random) -> None:
        what = chance.randrange(5)
        if what == 0:
            self.rate = chance.choice([0.5, 2.0])
        elif what == 1:
            self.flag = not self.flag
        elif what == 2:
            self.members ^= {1}
        elif what == 3:
            self.weights = chance.choice([np.arange(3.0), np.arange(3.0, dtype="f4"), np.float64(2)])


#: Lines of a program: each may be in it.
LINES = [
    "k = k * (2.0 if x is y else 3.0)",
    "k = k * world.rate",
    "k = k * (2.0 if world.flag else 5.0)",
    "k = k * (2.0 if 1 in world.members else 5.0)",
    "k = k + world.weights",
    "x[0] = 7.0",
    "x = x if x.sum() > 0 else x - 1.0",
    "k = k + (1.0 if y[1] > 0 else 2.0)",
]
FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "p": lambda x, y: x,
    "p['a']": lambda x, y: {"a": x},
    "p.a": Pair,
}


def written(chance: random.Random, world: World) -> tuple[Any, str]:
    form = chance.choice(list(FORMS))
    chosen = [line for line in LINES if chance.random() < 0.3]
    text = "\n    ".join(["def program(p, y):", f"x, k = {form}, 1.0", *chosen, "return {'r': x * k + y}"])
    space: dict[str, Any] = {"world": world}
    exec(text, space)
    return space["program"], text


def outcome(function: Any, form: str, x: Any, y: Any, mode: str) -> tuple[list[Any], Any]:
    """Results and what is written, and the gradient."""
    with tj.no_grad() if mode == "no_grad" else tj.enable_grad():
        result = tj.tree_leaves(function(FORMS[form](x, y), y))
    grad: list[Any] = []
    if mode == "grad":
        result[0].sum().backward()
        grad, x.grad = [np.array(x.grad)], None
    return [
        np.array(each.detach() if isinstance(each, tj.Tensor) else each) for each in (*result, x, y)
    ], grad


@pytest.mark.parametrize("number", range(12))
def test_walk(number: int) -> None:
    """Programs at random, each called in all states: results, writes and gradients are those of Python, and
    each call is served by one kind of leaf."""
    chance, world = random.Random(f"{SEED} {number}"), World()
    function, text = written(chance, world)
    form = next(form for form in reversed(FORMS) if f"x, k = {form}," in text)
    jitted, log = tj.jit(function), [f"seed {SEED}, program {number}", text]
    size = 20_000 if "weights" not in text and chance.random() < 0.3 else 3
    modes = ["plain", "no_grad"] if "x[0]" in text else ["plain", "grad", "no_grad"]
    mode = "plain"
    for _ in range(40):
        if chance.random() < 0.2:
            world.change(chance)
        if chance.random() < 0.3:
            mode = chance.choice(modes)
        signs = [chance.choice([1.0, 1.0, -1.0]) for _ in "xy"]
        same = chance.random() < 0.15
        made = []
        for _ in "ab":
            x = tj.tensor(array(signs[0], size), requires_grad=mode != "plain" and "x[0]" not in text)
            made.append((x, x if same else array(signs[1], size)))
        log.append(f"{vars(world)} {mode} {signs} {same}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = outcome(function, form, *made[0], mode)
            kind, got = served(partial(outcome, jitted, form, *made[1], mode))
        log[-1] += f" {kind.name}"
        for value, wanted in zip(*(each[0] + each[1] for each in (got, expected)), strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-12, err_msg="\n".join(log))
    assert set(leaves(jitted.explain().tree)) <= {kind.value for kind in LeafKind}
