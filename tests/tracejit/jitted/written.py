"""Functions that write their arguments, and what the tests of them share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

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
    for operand in rest:
        operand += shift
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
        lambda leaf: np.array(leaf.detach()) if isinstance(leaf, tj.Tensor) else np.array(leaf), value
    )


def same(got: Any, expected: Any, where: str) -> None:
    got, expected = tj.tree_leaves(arrays(got)), tj.tree_leaves(arrays(expected))
    assert len(got) == len(expected), where
    for leaf, other in zip(got, expected, strict=True):
        assert leaf.dtype == other.dtype.newbyteorder("="), where
        # float32: one unit in the last place of a sine
        tolerance = 1e-12 if leaf.dtype != np.float32 else 2e-7
        np.testing.assert_allclose(leaf, other, rtol=tolerance, atol=1e-14, err_msg=where)


KINDS: dict[str, Callable[..., Any]] = {
    "tensor": lambda k=0: tj.tensor(fresh(k)),
    "array": fresh,
    "float32": lambda k=0: tj.tensor(fresh(k), dtype=tj.float32),
    "strided array": lambda k=0: np.stack([fresh(k), fresh(9)], 1)[:, 0],
    "reversed": lambda k=0: tj.tensor(fresh(k)[::-1].copy())[::-1],
}


def read_only() -> Any:
    array = fresh()
    array.flags.writeable = False
    return array
