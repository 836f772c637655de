"""Functions that write their arguments do the same jitted as eagerly: results, arguments, gradients."""

from __future__ import annotations

import copy
import dataclasses
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def assigns(x: Any) -> Any:
    x[0] = 5.0
    return x.sum()


def adds(x: Any) -> Any:
    x += 1
    return x * 2


def fills_out(x: Any, out: Any) -> None:
    out[:] = x * 2


def returns_out(x: Any, out: Any) -> Any:
    out[...] = tj.sin(x)
    return out


def writes_a_view(x: Any) -> Any:
    v = x[1:]
    v[0] = 3
    return v.sum()


def writes_a_view_of_a_view(x: Any) -> Any:
    v = x.reshape(2, -1).T
    v[0] *= 4.0
    return x[1:] + v.sum()


def writes_rows(x: Any) -> Any:
    m = x.reshape(2, 2)
    for row in m:
        row -= row.mean()
    return m.sum(0)


def writes_by_mask(x: Any) -> Any:
    x[x > 1.5] = 0.0
    x[tj.array([0, 3])] += 2.0
    return x


def writes_twice(x: Any) -> Any:
    before = x * 1.0
    x *= 2
    middle = x.copy()
    x[1:] += before[:-1]
    return before, middle


def swaps(x: Any, y: Any) -> Any:
    old = x.copy()
    x[...] = y
    y[...] = old
    return x - y


def nothing_returned(x: Any) -> None:
    x[-1] = x[0] + 10.0


def writes_leaves(tree: Any) -> Any:
    tree["w"] += 1.0
    tree["layers"][1][0] *= 2.0
    return tree["w"].sum() + tree["layers"][0].sum()


def helper(x: Any) -> None:
    x /= 2.0


def by_a_helper(x: Any) -> Any:
    helper(x)
    helper(x)
    return x.sum()


inner = tj.jit(assigns)


def by_a_jitted_helper(x: Any) -> Any:
    return inner(x) + inner(x[1:])


def branches(x: Any) -> Any:
    if x.sum() > 8.0:
        x -= 3.0
        return x.sum()
    return x.sum() * 2.0


def branches_to_write(x: Any, y: Any) -> Any:
    if x[0] < 2.0:
        x[0] += 1.0
    else:
        y[0] += 1.0
    return x + y


def loops_until(x: Any) -> Any:
    while x.max() < 20.0:
        x *= 2.0
    return x


def draws(x: Any) -> Any:
    x[:] = x + tj.random.randn(4)
    return x.mean()


def in_no_grad(x: Any) -> Any:
    with tj.no_grad():
        x *= 0.5
    return (x * x).sum()


def methods(x: Any) -> Any:
    x.add_(1.0).mul_(2.0).clamp_(min=5.0)
    x[1:3].fill_(7.0)
    return x.neg_()


def takes_default(x: Any, scale: Any = 2.0, *rest: Any, shift: Any = 1.0) -> Any:
    x *= scale
    for one in rest:
        one += shift
    return x + shift


def rebinds_in_dicts(params: Any, gradients: Any) -> Any:
    for name in params:
        params[name] = params[name] - 0.5 * gradients[name]
    return params


def rearranges_lists(items: Any) -> Any:
    items[0], items[1] = items[1], items[0]
    items[2] = items[2] * items[0]
    return items[1]


def keeps_state(state: Any, x: Any) -> Any:
    state["n"] += 1
    state["mean"] = state["mean"] + (x - state["mean"]) / state["n"]
    state["last"] = [x * 1.0, {"n": state["n"]}]
    state.pop("unused", None)
    state["inner"]["same"] = state["inner"]["other"]
    return state["mean"]


@dataclasses.dataclass
class Moments:
    first: Any
    second: Any


def updates_attributes(moments: Any, x: Any) -> Any:
    moments.first = 0.9 * moments.first + 0.1 * x
    moments.second *= 0.5
    return moments.first


def both_ways(tree: Any) -> Any:
    tree["w"] *= 2.0
    tree["w"] = tree["w"] + 1.0
    tree["layers"][0] = tree["layers"][1][0]
    return tree["w"].sum()


def grows_on_a_branch(items: Any, x: Any) -> Any:
    if x.sum() > 11.0:
        items[0] = items[0] + x
    else:
        items[1] = items[1] * x
    return items[0] + items[1]


def fresh(k: int = 0) -> Any:
    return np.array([1.0, 2.0, 3.0, 4.0]) + k


def tree(make: Callable[..., Any]) -> Any:
    return {"w": make(1), "layers": [make(2), [make(3), 1.0]], "none": None}


#: A function, and arguments for a call of it, made by ``make(k)``.
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[Any], tuple[Any, ...]]]] = {
    "assigns": (assigns, lambda make: (make(),)),
    "adds": (adds, lambda make: (make(),)),
    "fills out": (fills_out, lambda make: (make(), make(9))),
    "returns out": (returns_out, lambda make: (make(), make(9))),
    "view": (writes_a_view, lambda make: (make(),)),
    "view of a view": (writes_a_view_of_a_view, lambda make: (make(),)),
    "rows": (writes_rows, lambda make: (make(),)),
    "mask and places": (writes_by_mask, lambda make: (make(),)),
    "twice": (writes_twice, lambda make: (make(),)),
    "swaps": (swaps, lambda make: (make(), make(1))),
    "nothing returned": (nothing_returned, lambda make: (make(),)),
    "leaves of a tree": (writes_leaves, lambda make: (tree(make),)),
    "helper": (by_a_helper, lambda make: (make(),)),
    "jitted helper": (by_a_jitted_helper, lambda make: (make(),)),
    "branch": (branches, lambda make: (make(),)),
    "branch on what is written": (branches_to_write, lambda make: (make(), make(1))),
    "loop": (loops_until, lambda make: (make(),)),
    "random": (draws, lambda make: (make(),)),
    "no_grad": (in_no_grad, lambda make: (make(),)),
    "methods": (methods, lambda make: (make(),)),
    "dict": (rebinds_in_dicts, lambda make: ({"w": make(), "b": make(1)}, {"w": make(2), "b": make(3)})),
    "list": (rearranges_lists, lambda make: ([make(), make(1), make(2)],)),
    "state": (
        keeps_state,
        lambda make: (
            {"n": 0.0, "mean": make(), "unused": make(), "inner": {"same": make(), "other": make(5)}},
            make(1),
        ),
    ),
    "dataclass": (updates_attributes, lambda make: (Moments(make(), make(1)), make(2))),
    "in place and rebound": (both_ways, lambda make: (tree(make),)),
    "list on a branch": (grows_on_a_branch, lambda make: ([make(), make(1)], make())),
    "several, with defaults": (takes_default, lambda make: (make(), 3.0, make(1), make(2))),
}


def arrays(value: Any) -> Any:
    """`value` with tensors as arrays."""
    return tj.tree_map(
        lambda one: np.array(one.detach()) if isinstance(one, tj.Tensor) else np.array(one), value
    )


def same(got: Any, expected: Any, where: str) -> None:
    got, expected = tj.tree_leaves(arrays(got)), tj.tree_leaves(arrays(expected))
    assert len(got) == len(expected), where
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype.newbyteorder("="), where
        # float32: one unit in the last place of a sine
        tolerance = 1e-12 if one.dtype != np.float32 else 2e-7
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=1e-14, err_msg=where)


KINDS: dict[str, Callable[..., Any]] = {
    "tensor": lambda k=0: tj.tensor(fresh(k)),
    "array": fresh,
    "float32": lambda k=0: tj.tensor(fresh(k), dtype=tj.float32),
    "strided array": lambda k=0: np.stack([fresh(k), fresh(9)], 1)[:, 0],
    "reversed": lambda k=0: tj.tensor(fresh(k)[::-1].copy())[::-1],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_arguments_are_written(program: str, kind: str) -> None:
    function, arguments = PROGRAMS[program]
    if kind in ("array", "strided array") and program in ("methods", "mask and places"):
        pytest.skip("an ndarray has no such methods, and takes no tensors as indices")
    compiled = tj.jit(function)
    eager_args, jit_args = arguments(KINDS[kind]), arguments(KINDS[kind])
    for step in range(4):
        tj.random.seed(step)
        expected = function(*eager_args)
        tj.random.seed(step)
        result = compiled(*jit_args)
        if kind != "array" or program != "returns out":
            same(result, expected, f"result of call {step}")
        same(jit_args, eager_args, f"arguments after call {step}")
        with tj.disable_jit():
            tj.random.seed(step)
            third = copy.deepcopy(eager_args)
            compiled(*third)
        tj.random.seed(step)
        fourth = copy.deepcopy(jit_args)
        compiled(*fourth)
        same(fourth, third, "the same under disable_jit")


def loss_of(value: Any) -> Any:
    leaves = [leaf for leaf in tj.tree_leaves(value) if isinstance(leaf, tj.Tensor)]
    return sum(((leaf * leaf).sum() for leaf in leaves), tj.tensor(0.0))


@pytest.mark.parametrize("program", [program for program in PROGRAMS if program != "random"])
def test_gradients_pass_through_written_arguments(program: str) -> None:
    """Of tensors inside a graph, written by the function and read afterwards."""
    function, arguments = PROGRAMS[program]

    def gradients(call: Callable[..., Any]) -> tuple[Any, ...]:
        leaves: list[Any] = []

        def make(k: int = 0) -> Any:
            leaves.append(tj.tensor(fresh(k), requires_grad=True))
            return leaves[-1] * 1.5

        args = arguments(make)
        result = call(*args)
        loss = loss_of(result) + loss_of(tj.tree_map(lambda one: one, args)) * 0.3
        loss.backward()
        # a jitted call reaches all its arguments, with zeros where nothing depends on them
        return loss, [tj.zeros(4) if leaf.grad is None else leaf.grad for leaf in leaves], args

    expected = gradients(function)
    compiled = tj.jit(function)
    for _ in range(2):
        same(gradients(compiled), expected, program)


@pytest.mark.parametrize(
    "program", [program for program in PROGRAMS if program not in ("random", "fills out", "nothing returned")]
)
def test_transforms_leave_the_arguments_that_they_differentiate_alone(program: str) -> None:
    function, arguments = PROGRAMS[program]
    args = tj.tree_map(lambda one: one, arguments(KINDS["tensor"]))
    before = arrays(args)
    argnums = tuple(range(len(args)))

    def loss(*args: Any) -> Any:
        return loss_of(function(*args))

    def slope(args: Any, place: int, index: int) -> float:
        values = []
        for sign in (1, -1):
            leaves = tj.tree_leaves(copy.deepcopy(args))
            if not isinstance(leaves[place], tj.Tensor):
                leaves[place] = leaves[place] + sign * 1e-6
            else:
                leaves[place][index] += sign * 1e-6
            rest = iter(leaves)
            values.append(float(loss(*tj.tree_map(lambda _, rest=rest: next(rest), args))))
        return (values[0] - values[1]) / 2e-6

    gradient = tj.grad(loss, argnums)(*args)
    same(args, before, "grad does not write them")
    leaves = tj.tree_leaves(gradient) if program != "no_grad" else []  # whose slope is not its gradient
    for place, one in enumerate(leaves):
        for index in range(one.size):
            np.testing.assert_allclose(
                one.numpy().ravel()[index], slope(args, place, index), rtol=1e-5, atol=1e-6
            )
    same(tj.jit(tj.grad(loss, argnums))(*args), gradient, "jit(grad)")
    same(tj.grad(tj.jit(loss), argnums)(*args), gradient, "grad(jit)")
    same(tj.vjp(loss, *args)[1](1.0), gradient, "vjp")
    same(tj.jit(lambda *a: tj.vjp(loss, *a)[1](1.0))(*args), gradient, "jit(vjp)")
    same(args, before, "and nobody else does")


def test_containers_keep_what_was_not_touched() -> None:
    """The caller's dict has the same tensors where the function left them, and what it returned."""
    kept, array, inner = tj.ones(2), np.ones(2), [tj.zeros(2)]
    state: Any = {"kept": kept, "array": array, "inner": inner, "changed": kept, "count": 1}

    def f(state: Any) -> Any:
        state["changed"] = state["kept"] * 2.0
        state["count"] += 1
        state["alias"] = state["inner"]
        state["name"] = state["kept"]
        return state["changed"]

    compiled = tj.jit(f)
    result = compiled(state)
    assert state["kept"] is state["name"] is kept
    assert state["array"] is array
    assert state["inner"] is state["alias"] is inner
    assert state["changed"] is result
    assert type(state["count"]) is int
    assert state["count"] == 2
    assert "writes to arguments: state" in compiled.explain()


def test_numbers_in_containers_do_not_compile_again() -> None:
    compiled = tj.jit(keeps_state)
    state: Any = {
        "n": 0,
        "mean": tj.zeros(4),
        "last": [tj.zeros(4), {"n": 0}],
        "inner": {"same": 1.0, "other": 1.0},
    }
    for step in range(5):
        compiled(state, tj.tensor(fresh(step)))
    assert state["n"] == 5
    assert len(compiled.explain().signatures) == 1


class Box:
    def __init__(self, content: Any) -> None:
        self.content = content


tj.register_pytree_node(Box, lambda box: ((box.content,), None), lambda _, children: Box(*children))


def test_registered_nodes_cannot_be_changed() -> None:
    def f(pair: Any) -> Any:
        pair[0].content = pair[0].content + 1.0
        return pair[0].content

    with pytest.raises(
        tj.TracejitError, match=r"f: argument pair\[0\].* is in a Box, which the function changes"
    ):
        tj.jit(f)([Box(tj.ones(2))])
    box = Box(tj.ones(2))
    tj.jit(lambda box: box.content.add_(1.0))(box)
    assert box.content.tolist() == [2.0, 2.0]


def test_donated_containers_are_given_up() -> None:
    compiled = tj.jit(rebinds_in_dicts, donate_argnums=0)
    params = {"w": tj.ones(3)}
    for _ in range(2):
        params = compiled(params, {"w": tj.ones(3)})
    assert params["w"].tolist() == [0.0] * 3


def test_value_semantics_of_transforms() -> None:
    """What a transform differentiates by belongs to the function; other arguments are the caller's."""

    def f(x: Any, y: Any) -> Any:
        x += 1.0
        y += 1.0
        return (x * y).sum()

    for run in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        for make in (fresh, KINDS["tensor"]):
            x, y = make(), make()
            gradient = run(x, y)
            same(gradient, fresh() + 1.0, "gradient")
            same(x, fresh(), "x belongs to the function")
            same(y, fresh() + 1.0, "y does not")


def test_vmap_gives_examples_of_its_own() -> None:
    x = tj.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = [[2.0, 3.0], [4.0, 5.0]]
    for run in (tj.vmap(adds), tj.jit(tj.vmap(adds)), tj.vmap(tj.jit(adds))):
        assert (run(x) / 2).tolist() == expected
        assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_views_and_bases_outside_see_the_write() -> None:
    base = tj.tensor(fresh())
    view = base[1:]
    tj.jit(adds)(view)
    assert base.tolist() == [1.0, 3.0, 4.0, 5.0]
    tj.jit(adds)(base)
    assert view.tolist() == [4.0, 5.0, 6.0]
    array = fresh()
    shared = tj.asarray(array)
    tj.jit(adds)(shared)
    assert array.tolist() == [2.0, 3.0, 4.0, 5.0]


def test_writes_are_counted() -> None:
    w = tj.tensor(fresh(), requires_grad=True)
    x = tj.tensor(fresh())
    loss = (w * x).sum()
    tj.jit(adds)(x)
    with pytest.raises(tj.GradientError, match=r"modified in place by adds \(argument x\)"):
        loss.backward()


def test_leaves_that_require_grad() -> None:
    w = tj.tensor(fresh(), requires_grad=True)
    with pytest.raises(tj.GradientError, match="adds: argument x: a leaf tensor that requires grad"):
        tj.jit(adds)(w)
    with tj.no_grad():
        tj.jit(adds)(w)
    assert w.tolist() == (fresh() + 1).tolist()
    assert w.is_leaf
    loss = tj.jit(in_no_grad)(w)
    assert w.tolist() == ((fresh() + 1) / 2).tolist()
    loss.backward()
    assert w.grad.tolist() == (fresh() + 1).tolist()


def test_an_array_cannot_take_a_gradient() -> None:
    w = tj.tensor(fresh(), requires_grad=True)
    out = np.zeros(4)
    with pytest.raises(
        tj.GradientError, match="argument out is an array, and what is written to it requires"
    ):
        tj.jit(fills_out)(w, out)
    assert out.tolist() == [0.0] * 4
    with tj.no_grad():
        tj.jit(fills_out)(w, out)
    assert out.tolist() == (fresh() * 2).tolist()


def read_only() -> Any:
    array = fresh()
    array.flags.writeable = False
    return array


REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "read-only array": (
        adds,
        (read_only(),),
        "adds: argument x is written in place, but its memory is read-only",
    ),
    "tensor of a read-only array": (adds, (tj.asarray(read_only()),), "argument x .* read-only"),
    "broadcast view": (
        adds,
        (np.lib.stride_tricks.as_strided(np.ones(1), (4,), (0,)),),
        "argument x .* several of its elements share memory",
    ),
    "windows": (
        adds,
        (np.lib.stride_tricks.as_strided(np.ones(5), (4, 2), (8, 8)),),
        "argument x .* several of its elements share memory",
    ),
    "in a loop body": (
        lambda x: tj.fori_loop(0, 3, lambda i, c: c + x.add_(1.0).sum(), 0.0),
        (tj.ones(4),),
        "from outside a loop body, a branch or a mapped function is being written inside it",
    ),
    "in a mapped function": (
        lambda x: tj.vmap(lambda y: y * x.add_(1.0).sum())(x * 1.0),
        (tj.ones(4),),
        "from outside a loop body, a branch or a mapped function is being written inside it",
    ),
    "in a tree": (
        writes_leaves,
        ({"w": read_only(), "layers": [fresh(), [fresh(), 1.0]]},),
        r"argument tree\['w'\]",
    ),
    "number": (lambda x: x.fill_(1.0), (2.0,), "argument x is a Python number"),
    "the same tensor": (
        swaps,
        (tj.ones(4),) * 2,
        "argument . is written in place, and . shares memory with it",
    ),
    "overlapping views": (
        fills_out,
        (*(lambda base: (base[1:], base[:-1]))(np.arange(5.0)),),
        "argument out is written in place, and x shares memory with it",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_written_is_an_error_that_names_it(case: str) -> None:
    function, args, message = REFUSED[case]
    before = arrays(args)
    compiled = tj.jit(function)
    for _ in range(2):
        with pytest.raises(tj.TracejitError, match=message):
            compiled(*args)
        same(args, before, "nothing was changed")


CAPTURED = tj.tensor(fresh())


def test_a_capture_that_shares_memory() -> None:
    def f(x: Any) -> Any:
        x += 1.0
        return x + CAPTURED

    with pytest.raises(tj.TracejitError, match="argument x is written in place, and CAPTURED shares memory"):
        tj.jit(f)(CAPTURED)
    assert CAPTURED.tolist() == fresh().tolist()


def test_interleaved_arguments_are_separate() -> None:
    array = np.arange(8.0)
    tj.jit(swaps)(array[::2], array[1::2])
    assert array.tolist() == [1.0, 0.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0]


def test_layouts() -> None:
    """Of no elements, transposed, with negative strides, of another byte order, and in a file."""
    block = np.arange(24.0).reshape(2, 3, 4)
    for make in (
        lambda: np.zeros((0, 3)),
        lambda: np.zeros((3, 0)).T,
        lambda: block.copy().transpose(2, 0, 1),
        lambda: block.copy()[::-1, ::2, ::-3],
        lambda: np.asfortranarray(block),
        lambda: block.astype(">f8"),
        lambda: block.copy().diagonal(axis1=1, axis2=2).copy()[None],
        lambda: np.float32(block[:, 1:2]),
    ):
        expected, array = make(), make()
        compiled = tj.jit(adds)
        for _ in range(2):
            same(compiled(array), adds(expected), "result")
            assert array.dtype == expected.dtype
            np.testing.assert_array_equal(array, expected)


def test_numbers_and_scalars_are_rebound() -> None:
    """``x += 1`` of what is immutable gives the name another value."""
    f = tj.jit(adds)
    for number in (2.0, np.float64(2.0), np.float32(2.0)):
        assert float(f(number)) == 6.0
        assert number == 2.0
    array, tensor = np.array(2.0), tj.tensor(2.0)
    assert float(f(array)) == float(f(tensor)) == 6.0
    assert float(array) == float(tensor) == 3.0


def scaled_into(n: int, x: Any, *, out: Any) -> Any:
    x *= n
    out[:] = x
    return x


def test_static_and_keyword_arguments() -> None:
    compiled = tj.jit(scaled_into, static_argnums=0)
    x, out = tj.tensor(fresh()), tj.zeros(4)
    for power in (1, 2, 3):
        result = compiled(2, x, out=out)
        assert result.tolist() == out.tolist() == x.tolist() == (fresh() * 2**power).tolist()


def test_donated_arguments_are_given_up() -> None:
    """What they hold after the call nobody reads, so nothing is written but results."""
    compiled = tj.jit(scaled_into, static_argnums=0, donate_argnums=1)
    x, out = tj.tensor(fresh()), tj.zeros(4)
    for power in (1, 2, 3):
        x = compiled(2, x, out=out)
        assert out.tolist() == x.tolist() == (fresh() * 2**power).tolist()
    in_place = tj.jit(adds, donate_argnums=0)
    x = tj.tensor(fresh())
    in_place(x)
    assert in_place(x) is x


def test_an_error_on_another_path_is_none() -> None:
    """A path that is not taken may write what cannot be written."""
    compiled = tj.jit(branches_to_write)
    compiled(fresh(), fresh())  # writes x
    x, y = read_only(), fresh()
    x = x + 1.0
    x.flags.writeable = False
    compiled(x, y)
    assert y.tolist() == [2.0, 2.0, 3.0, 4.0]
    with pytest.raises(tj.TracejitError, match=r"argument x .* read-only"):
        compiled(read_only(), fresh())


def test_failing_calls_write_nothing() -> None:
    def f(x: Any, i: Any) -> Any:
        x += 1.0
        return x[i]

    compiled = tj.jit(f)
    x = tj.tensor(fresh())
    with pytest.raises(tj.OutOfBoundsError):
        compiled(x, np.array([9]))
    assert x.tolist() == fresh().tolist()
    assert compiled(x, np.array([0])).tolist() == [2.0]


def test_threads_write_their_own() -> None:
    compiled = tj.jit(adds)
    results: list[Any] = []

    def work() -> None:
        x = tj.zeros(4)
        for _ in range(50):
            compiled(x)
        results.append(x.tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[50.0] * 4] * 4


def test_explain_names_what_is_written() -> None:
    compiled = tj.jit(swaps)
    compiled(tj.ones(3), tj.zeros(3))
    assert "writes to arguments: x, y" in compiled.explain()
    assert compiled.explain().signatures[0].writes == ("x", "y")


def test_the_program_in_the_documentation() -> None:
    text = (Path(__file__).parents[3] / "docs" / "calls.md").read_text()
    (program,) = [one for one in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "state[" in one]
    exec(compile(program, "calls.md", "exec"), {})


def test_large_arrays_are_written_by_the_program_itself() -> None:
    """Where nothing else reads the argument after its result is written; the value is the same elsewhere."""

    def f(x: Any, y: Any) -> Any:
        x *= 2.0
        y[...] = tj.cumsum(y) + x[::-1]
        return x[:3] + y[:3]

    compiled = tj.jit(f)
    eager = np.arange(50_000.0), np.ones(50_000)
    for args in (
        [one.copy() for one in eager],
        list(map(tj.tensor, eager)),
        [one.repeat(2)[::2] for one in eager],
    ):
        expected = [one.copy() for one in eager]
        for _ in range(3):
            same(compiled(*args), f(*map(tj.asarray, expected)), "result")
            same(args, expected, "arguments")
    (signature,) = compiled.explain().signatures
    assert signature.reused == 2
