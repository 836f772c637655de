"""Lists that loops make grow under conditions: one compilation for all lengths."""

# ruff: noqa: B905, RUF005 - loops as users write them

import heapq
import os
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, plain, reports
from .growing_lists import function_of

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000
X = np.random.default_rng(3).normal(size=12)
#: Arguments for which conditions hold sometimes, never and always.
DATA = (X, -np.abs(X) - 0.01, np.abs(X) + 0.01, X[::-1].copy())
case = Cases()


def agree_in_one_compilation(function):
    """Assert that `function` gives what Python does for all `DATA`, of arrays and of tensors, and for other
    lengths, without a path or an unrolled loop."""
    jitted = tj.jit(function)
    for data in DATA:
        for argument in (data, tj.tensor(data), data[:5]):
            result, expected = jitted(argument), function(np.asarray(argument))
            assert tj.tree_map(lambda _: 0, result) == tj.tree_map(lambda _: 0, expected)
            for own, value in zip(plain(result), plain(expected), strict=True):
                np.testing.assert_allclose(own, value, rtol=1e-12, atol=1e-14)
    explanation = str(jitted.explain())
    assert "unrolled" not in explanation
    assert "path" not in explanation
    assert "2 signatures compiled" in explanation
    assert {outcome for outcome, _ in reports(jitted)} == {"compiled"}


@case(X)
def elements(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x[i] * 2)
    return out


@case(X)
def places(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(i)
    return out, len(out), np.array(out).sum(), sum(out)


@case(X)
def truths(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x[i] < 1)
    return out, sum(out), any(out), all(out)


@case(X)
def arrays(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    line = np.asarray(out)
    return (
        np.array(out),
        line * 2,
        np.cumsum(out),
        np.sort(out),
        (line**2).sum(),
        np.max(line, initial=0.0),
    )


@case(X)
def two_lists_by_one_condition(x):
    a, b = [], []
    for i in range(len(x)):
        if x[i] > 0:
            a.append(x[i])
            b.append(i)
    return np.array(a) * np.array(b)


@case(X)
def both_sides(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
            out.append(2 * v)
        else:
            out.append(0)
    return out, max(out), min(out), out[-1], out[0], out[4]


@case(X)
def tuples(x):
    out = []
    for i, v in enumerate(x):
        if v > 0:
            out.append((i, v))
        elif v < -0.5:
            out.append((-i, 0.0))
    total = 0.0
    for i, v in out:
        total = 0.5 * total + i * v
    return out, total


@case(X)
def after_break(x):
    out = []
    total = 0.0
    for v in x:
        total += v
        if total > 2:
            break
        out.append(total)
    return out, total


@case(X)
def after_continue(x):
    out = []
    for v in x:
        if v < 0:
            continue
        out.append(v)
    return out


@case(X)
def in_while(x):
    out = []
    i = 0
    while i < len(x):
        if x[i] > 0:
            out.append(i)
        i += 1
    return out, i


@case(X)
def in_while_of_two_tests(x):
    out = []
    i = 0
    while i < len(x) and x[i] < 1:
        out.append(x[i])
        i += 1
    return out, i


@case(X)
def pairs(x):
    out = []
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if abs(x[i] - x[j]) < 0.5:
                out.append((i, j))
    return out, len(out)


@case(X)
def lists_of_steps(x):
    total, count = 0.0, 0
    for i in range(len(x)):
        row = []
        for j in range(i):
            if x[j] < x[i]:
                row.append(x[j])
        total += sum(row)
        count += len(row)
    return total, count


@case(X)
def inner_loops_and_items(x):
    out = []
    for i in range(len(x)):
        out.append(x[i])
        if x[i] > 0:
            for j in range(3):
                out.append(x[i] * j)
        for j in range(2):
            if x[j] > x[i]:
                out.append(x[j])
    return out


@case(X)
def from_list_to_list(x):
    a = []
    for v in x:
        if v > 0:
            a.append(v)
    b = []
    for k, v in enumerate(a):
        if v < 1:
            b.append(v * k)
    total = 0.0
    for v, w in zip(a, reversed(a)):
        total += v * w
    return a, b, total


@case(X)
def two_loops(x):
    out = [1.5]
    for v in x:
        if v > 0:
            out.append(v)
    for v in x:
        if v < 0:
            out.append(v)
        out.append(2 * v)
    out.append(7.0)
    return out, len(out)


@case(X)
def rows(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x * i)
    return out


@case(X)
def copies_of_an_array_that_is_written(x):
    out = []
    u = x * 1.0
    for i in range(4):
        u[i] = 3
        if x[i] > 0:
            out.append(u.copy())
    return out


@case(X)
def numbers_beside_narrow_ones(x):
    y = x.astype(np.float32)
    out = []
    for i in range(len(x)):
        if y[i] > 0:
            out.append(i)
    total = y[0]
    for k in out:
        total = total + k * y[k]
    return total, sum(out) * y[1], out, np.array(out) * y[0]


@case(X)
def extremes_with_nan(x):
    out = []
    for v in x:
        if v > -9:
            out.append(np.sqrt(v))
    return max(out), min(out), max(out, default=0.0)


@case(X)
def defaults(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return max(out, default=0.5), min(out, default=3)


@case(X)
def of_known_places(x):
    out = []
    for i in range(len(x)):
        if i % 3:
            out.append(x[i])
        if i % 4 == 2:
            out.append(i)
    return out, np.array(out)[1:3].reshape(2, 1)


@case(X)
def numpy_scalars(x):
    out = []
    for v in x:
        if v > 0:
            out.append(np.int8(100))
    return out


@pytest.mark.parametrize("function", [function for function, *_ in case], ids=lambda f: f.__name__)
def test_form(function):
    with np.errstate(invalid="ignore"):
        agree_in_one_compilation(function)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 12))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    function = function_of(seed, tmp_path)
    jitted = tj.jit(function)
    generator = np.random.default_rng(seed)
    for size in (9, 14):
        for scale in (1.0, -0.3):
            x = generator.normal(size=size) if scale == 1 else np.full(size, scale)
            for argument in (x, tj.tensor(x)):
                for own, value in zip(plain(jitted(argument, 0.3)), plain(function(x, 0.3)), strict=True):
                    np.testing.assert_allclose(own, value, rtol=1e-10, atol=1e-12)


def _loss(function):
    def loss(x):
        total = 0.0
        for value in tj.tree_leaves(function(x, 0.3)):
            if value.dtype.kind == "f":
                total = total + (value * value).sum()
        return total

    return loss


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 8))
def test_gradients_of_random_programs(seed: int, tmp_path: Path) -> None:
    function = function_of(seed, tmp_path)
    loss, unrolled = _loss(tj.jit(function)), _loss(tj.jit(function, loops="unrolled"))
    x, tangent = np.random.default_rng(seed).normal(size=(2, 9))
    gradient = np.asarray(tj.grad(loss)(x))
    np.testing.assert_allclose(gradient, np.asarray(tj.grad(unrolled)(x)), rtol=1e-9, atol=1e-11)
    forward = tj.jvp(loss, (x,), (tangent,))[1]
    np.testing.assert_allclose(forward, gradient @ tangent, rtol=1e-9, atol=1e-11)


def positive(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return out


def test_gradients_of_items():
    x = tj.tensor(X, requires_grad=True)
    out = tj.jit(positive)(x)
    assert type(out) is list
    (out[0] ** 2 + 3 * out[-1]).backward()
    expected = np.zeros(len(X))
    first, *_, last = np.flatnonzero(X > 0)
    expected[first], expected[last] = 2 * X[first], 3.0
    np.testing.assert_allclose(x.grad.numpy(), expected)


def outside(x):
    return positive(x)[25]


def sliced(x):
    out = positive(x)
    return out[1:3], out[::-1], sorted(out), [2 * v for v in out], out + [1.0]


def changed(x):
    out = positive(x)
    out[0] = 9.0
    out.insert(0, 1.0)
    del out[-1]
    out.extend([1.0, 2.0])
    out.pop()
    out += [3.0]
    return out


def membership(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(i)
    return 3 in out, 100 in out, out.count(3)


def stacked(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return np.stack(out) if out else np.zeros(1)


def heap(x):
    out = positive(x)
    heapq.heapify(out)
    for v in x[:3]:
        heapq.heappush(out, v)
    return out


def truth_value(x):
    out = positive(x)
    if not out:
        return 0.0
    return sum(out) / len(out)


def copied(x):
    out = positive(x)
    again, third = list(out), out.copy()
    again.append(1.0)
    return out, again, third, tuple(out)


def array_that_is_written(x):
    out = []
    u = x * 1.0
    for i in range(4):
        u[i] = 3
        if x[i] > 0:
            out.append(u)
    return out


def row_that_is_written(x):
    out = []
    for i in range(len(x)):
        row = x * i
        if x[i] > 0:
            out.append(row)
        row[0] = 7.0
    return out


def first_item_that_is_written(x):
    u = x * 1.0
    out = [u]
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x * i)
    u[0] = 7.0
    return out


def last_item_that_is_written(x):
    u = x * 1.0
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x * i)
    out.append(u)
    u[0] = 7.0
    return out


def item_that_is_written(x):
    out = []
    for i in range(len(x)):
        if x[i] > -9:
            out.append(x * i)
    row = out[1]
    row[0] = 7.0
    return out, out[1]


def items_that_are_written(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x * i)
    for k, row in enumerate(out):
        row[k % 2] = 7.0
    return out


def items_of_several_types(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x[i])
        else:
            out.append((i, x[i]))
    return out


def strings(x):
    out = []
    for v in x:
        if v > 0:
            out.append("p")
    return len(out)


def length_that_shapes_need(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return np.array(out).reshape(-1, 1), np.zeros(len(out))


def handled(x):
    out = positive(x)
    try:
        return out[25]
    except IndexError:
        return 0.0


def rows_as_array(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x * i)
    return np.array(out)


@pytest.mark.parametrize(
    "function",
    [sliced, changed, membership, heap, truth_value, copied, array_that_is_written, row_that_is_written,
     first_item_that_is_written, last_item_that_is_written, item_that_is_written, items_that_are_written,
     items_of_several_types, strings, length_that_shapes_need, handled, rows_as_array],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
def test_other_uses_do_what_python_does(function):
    jitted = tj.jit(function)
    for x in DATA:
        if function is changed and not positive(x):
            continue
        result, expected = jitted(x), function(x)
        assert tj.tree_map(lambda _: 0, result) == tj.tree_map(lambda _: 0, expected)
        for own, value in zip(plain(result), plain(expected), strict=True):
            np.testing.assert_allclose(own, value)


def test_errors_are_those_of_lists():
    for error, function in ((IndexError, outside), (ValueError, lambda x: max(positive(x)))):
        jitted = tj.jit(function)
        for _ in range(2):
            with pytest.raises(error):
                jitted(-np.abs(X))


def indexing(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(i)
    places = np.array(out, dtype=int)
    return TABLE[places + 9].sum(), TABLE[places - 10].sum(), TABLE[:1][places].sum()


TABLE = np.arange(10.0)


def test_indices_that_are_no_items_are_not_read():
    jitted = tj.jit(indexing)
    for x in (np.array([1.0, -1.0, -1.0]), np.array([-1.0, -1.0]), np.array([-1.0])):
        np.testing.assert_array_equal(jitted(x), indexing(x))
    with pytest.raises(IndexError):
        jitted(np.array([1.0, 1.0, -1.0]))


def test_a_refused_use_is_named():
    jitted = tj.jit(length_that_shapes_need)
    jitted(np.tile(X, 3))
    ((outcome, reason),) = reports(jitted)
    assert outcome == "unrolled"
    assert "the list is used where its length is to be known: reshape" in reason
    with pytest.raises(tj.TraceError, match="under a condition"):
        tj.jit(length_that_shapes_need, loops="compiled")(X)


def test_lists_in_traces_of_others():
    inner = tj.jit(positive)

    @tj.jit
    def outer(x):
        out = inner(x)
        total = 0.0
        for v in out:
            total += v
        return total, len(out), out, np.array(out)

    for x in DATA:
        expected = positive(x)
        total, count, out, array = outer(x)
        assert (int(count), len(out)) == (len(expected), len(expected))
        np.testing.assert_allclose([float(v) for v in out], expected)
        np.testing.assert_allclose(array, expected)
        np.testing.assert_allclose(total, sum(expected))
    assert "path" not in str(outer.explain())


def test_vectorized_lengths():
    def measures(x):
        out = []
        for v in x:
            if v > 0:
                out.append(v)
        return len(out), sum(out), max(out, default=0.0)

    for own, expected in zip(
        tj.jit(tj.vmap(measures))(np.stack(DATA)), zip(*map(measures, DATA), strict=True), strict=True
    ):
        np.testing.assert_allclose(own, expected)


def compared(x):
    a, b = [], positive(x[::-1])
    for v in x:
        if v > 0:
            a.append(v)
    is_list = type(a) is list and isinstance(a, list)
    lists = a == positive(x), a == b, a != b, a < b, a <= b, a > b, a >= b, (1, a) == (1, positive(x))
    return lists, a + b, b + a, is_list


def test_lists_beside_lists():
    jitted = tj.jit(compared)
    for x in DATA:
        (truths, *joined, is_list), (expected, *others, _) = jitted(x), compared(x)
        assert list(map(bool, truths)) == list(map(bool, expected))
        for own, value in zip(joined, others, strict=True):
            np.testing.assert_allclose(own, value)
        assert is_list


class Doubling(list):
    def append(self, value):
        super().append(2 * value)


def doubled(x):
    out = Doubling()
    for v in x:
        if v > 0:
            out.append(v)
    return list(out)


def test_another_class_of_lists_appends_as_it_does():
    jitted = tj.jit(doubled)
    for x in DATA:
        np.testing.assert_allclose(jitted(x), doubled(x))


def returned_early(x):
    out = []
    for v in x:
        if v > 1.5:
            return out
        if v > 0:
            out.append(v)
    return out


def test_lists_that_a_step_returns():
    jitted = tj.jit(returned_early)
    for x in DATA:
        for own, value in zip(jitted(x), returned_early(x), strict=True):
            np.testing.assert_allclose(own, value)
    assert {outcome for outcome, _ in reports(jitted)} == {"compiled"}


def test_lists_of_a_mapped_function_are_refused():
    with pytest.raises(tj.TracejitError):
        tj.jit(tj.vmap(positive))(np.stack(DATA))
