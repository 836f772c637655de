"""Functions that handle errors of what is compiled mean what Python says."""

from __future__ import annotations

import contextlib
import math
import random
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rotation import SEED

X = np.arange(1.0, 9.0)


def outcome(f: Any, *args: Any) -> Any:
    """The result or error of a call, and the arrays afterwards."""
    copies = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
    try:
        result = np.asarray(f(*copies)).tolist()
    except Exception as error:
        kind = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
        result = str(error) if str(error) in OF_NUMBERS else kind
    return result, [a.tolist() for a in copies if isinstance(a, np.ndarray)]


#: Errors of Python's numbers, which compiled code gives infinities and NaN for where nothing handles them.
OF_NUMBERS = ("ZeroDivisionError", "math domain error")


def uncompiled(f: Any, *calls: tuple[Any, ...], handled: bool = True) -> int:
    """The number of warnings that say that calls run as Python; each call is right, twice."""
    jitted = tj.jit(f)
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always", tj.UncompiledCallWarning)
        for args in calls * 2:
            expected, result = outcome(f, *args), outcome(jitted, *args)
            if isinstance(expected[0], str) and not handled:
                expected, result = expected[:1], result[:1]  # such calls write nothing if they are compiled
            assert result == expected or (expected[0] in OF_NUMBERS and not np.isfinite(result[0])), args
    return sum(issubclass(each.category, tj.UncompiledCallWarning) for each in caught)


def in_except(x, t):
    i = 0
    try:
        while x[i] < t:
            i += 1
    except IndexError:
        i = -1
    return i


def in_suppress(x, t):
    i = 0
    with contextlib.suppress(IndexError):
        while x[i] < t:
            i += 1
    return i


def in_bare_except(x, t):
    i = 0
    try:
        while x[i] < t:
            i += 1
    except:  # noqa: E722 - what is tested
        return -2
    return i


def in_finally(x, t):
    i = 0
    try:
        while x[i] < t:
            i += 1
    finally:
        x[0] = -5.0
    return i


def in_returning_finally(x, t):
    i = 0
    try:
        while x[i] < t:
            i += 1
    finally:
        return i  # noqa: B012 - what is tested


def in_outer_except(x, t):
    i = 0
    try:
        try:
            while x[i] < t:
                i += 1
        except ZeroDivisionError:
            i = -1
    except LookupError as error:
        i = -2 if error.args else -3
    return i


def search(x, t):
    i = 0
    while x[i] < t:
        i += 1
    return i


def in_caller(x, t):
    try:
        return search(x, t)
    except Exception:
        return -1


@contextlib.contextmanager
def ending(result):
    try:
        yield
    except IndexError:
        result.append(1.0)


@contextlib.contextmanager
def passing():
    before = np.geterr()
    try:
        yield
    except ValueError:
        raise
    np.seterr(**before)


class Ending:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return error[0] is not None


class Passing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.seen = error


def in_ending_generator(x, t):
    i, seen = 0, []
    with ending(seen):
        while x[i] < t:
            i += 1
    return i + 100 * len(seen)


def in_ending_object(x, t):
    i = 0
    with np.errstate(all="ignore"), Ending() as _:
        while x[i] < t:
            i += 1
    return i


def in_element(x, t):
    try:
        return x[int(t)]
    except IndexError:
        return -1.0


HANDLED = [
    in_except, in_suppress, in_bare_except, in_finally, in_returning_finally, in_outer_except, in_caller,
    in_ending_generator, in_ending_object, in_element,
]  # fmt: skip


@pytest.mark.parametrize("f", HANDLED)
def test_an_index_out_of_range_comes_to_its_handler(f: Any) -> None:
    assert uncompiled(f, (X, 3.0), (X, 100.0)) == 1


def other_class(x, t):
    i = 0
    try:
        while x[i] < t:
            i += 1
    except (ZeroDivisionError, KeyError):
        i = -1
    return i


def other_suppressed(x, t):
    i = 0
    with contextlib.suppress(ValueError, TypeError), np.errstate(all="ignore"):
        while x[i] < t:
            i += 1
    return i


def passing_on(x, t):
    i = 0
    with passing(), Passing(), warnings.catch_warnings():
        while x[i] < t:
            i += 1
    return i


def before_it(x, t):
    try:
        i = len(x) - len(x)
    except IndexError:
        i = -1
    while x[i] < t:
        i += 1
    return i


def always_inside(x, t):
    total = 0.0
    try:
        for i in range(len(x)):
            total += x[i] * t
    except IndexError:
        total = -1.0
    return total


@pytest.mark.parametrize("f", [other_class, other_suppressed, passing_on, before_it, always_inside, search])
def test_what_nothing_handles_is_compiled(f: Any) -> None:
    assert uncompiled(f, (X, 3.0), (X, 100.0)) == 0


def divides(x, t):
    total = 0.0
    try:
        for i in range(len(x)):
            total += x[i] + 1.0 / (t - 3.0)
    except ZeroDivisionError:
        total = -1.0
    return total


def divides_integers(x, n):
    total = 0
    try:
        for i in range(len(x)):
            total += 7 // (n - i)
    except ArithmeticError:
        total = -1
    return total


def divides_elements(x, t):
    total = 0.0
    try:
        for i in range(len(x)):
            total += x[i] / 2.0
    except ZeroDivisionError:
        total = -1.0
    return total * t


def root(x, t):
    total = 0.0
    try:
        for i in range(len(x)):
            total += math.sqrt(x[i] - t)
    except ValueError:
        total = -1.0
    return total


def factor(x, t):
    try:
        return np.linalg.cholesky(np.eye(4) * t)[0, 0]
    except np.linalg.LinAlgError:
        return -1.0


def inverse(x, t):
    with contextlib.suppress(ValueError):
        return np.linalg.inv(np.ones((3, 3)) * t + np.eye(3) * (t - 3.0))[0, 0]
    return -1.0


def host(x, t):
    def check(v):
        if v > 3.5:
            raise OSError("too large")
        return v

    try:
        return tj.pure_callback(check, tj.TensorType(tj.float64, ()), t * 1.0)
    except OSError:
        return -1.0


def test_other_errors_come_to_their_handlers() -> None:
    assert uncompiled(divides, (X, 2.0), (X, 3.0)) == 1
    assert uncompiled(divides_integers, (X, 9), (X, 3)) == 1
    assert uncompiled(divides_elements, (X, 2.0)) == 0
    assert uncompiled(root, (X, 0.5), (X, 3.0)) == 1
    assert uncompiled(factor, (X, 2.0), (X, -1.0)) == 1
    assert uncompiled(inverse, (X, 2.0), (X, 3.0)) == 1
    jitted = tj.jit(host)
    with pytest.warns(tj.UncompiledCallWarning, match="the function handles an error"):
        assert [float(jitted(X, t)) for t in (3.0, 4.0, 2.0)] == [3.0, -1.0, 2.0]


def test_loops_that_must_be_compiled_raise() -> None:
    with pytest.raises(tj.TracejitError, match=r"in_except: the function handles an error .*\(gather: "):
        tj.jit(in_except, loops="compiled")(X, 3.0)


def test_gradients_of_functions_that_handle_errors() -> None:
    def f(x, n):
        total = 0.0
        try:
            for i in range(n):
                total += x[i] * x[i]
        except IndexError:
            total = total * 10.0
        return total

    jitted = tj.jit(f)
    with pytest.warns(tj.UncompiledCallWarning):
        jitted(X, 3)
    for n, factor in ((3, 1.0), (12, 10.0)):
        w = tj.tensor(X, requires_grad=True)
        jitted(w, n).backward()
        expected = np.where(np.arange(8) < n, 2.0 * X * factor, 0.0)
        np.testing.assert_allclose(np.asarray(w.grad), expected)


#: Statements that a random program wraps a loop in: the first line, and the lines behind the loop.
WRAPS = (
    ("try:", ("except IndexError:", "    total += 100.0")),
    ("try:", ("except (LookupError, ValueError) as error:", "    total -= 7.0")),
    ("try:", ("except ZeroDivisionError:", "    total = -1.0")),
    ("try:", ("except Exception:", "    return total * 2.0")),
    ("try:", ("finally:", "    x[1] += 1.0")),
    ("try:", ("except KeyError:", "    total = -3.0", "finally:", "    total += 1.0")),
    ("try:", ("except IndexError:", "    raise ValueError('index') from None")),
    ("with contextlib.suppress(IndexError):", ()),
    ("with contextlib.suppress(ValueError, ZeroDivisionError):", ()),
    ("with np.errstate(all='ignore'):", ()),
    ("if True:", ()),
)
LOOPS = (
    ("for i in range(n):", "    total += x[i]"),
    ("for i in range(len(x)):", "    total += x[i] / 2.0"),
    ("i = 0", "while x[i] < t:", "    i += 1", "    total += 0.5"),
    ("for i in range(4):", "    total += 1.0 / (t - 5.0)"),
    ("for i in range(n):", "    x[i] += 1.0"),
    ("for i in range(4):", "    total += math.log(t - 4.0 + i)"),
)


def program(rng: random.Random) -> str:
    """A function with a loop in one to three wraps, perhaps after another such loop."""
    lines = ["total = 0.0"]
    for _ in range(rng.randint(1, 2)):
        block = list(rng.choice(LOOPS))
        for _ in range(rng.randint(1, 2)):
            first, rest = rng.choice(WRAPS)
            block = [first, *[f"    {line}" for line in block], *rest]
        lines += block
    return "def f(x, t, n):\n" + "".join(f"    {line}\n" for line in [*lines, "return total"])


@pytest.mark.parametrize("number", range(60))
def test_random_programs_that_handle_errors(number: int, tmp_path: Any) -> None:
    source = program(random.Random(f"{SEED} {number}"))
    file = tmp_path / "random_program.py"
    file.write_text(source)
    names: dict[str, Any] = {"contextlib": contextlib, "np": np, "math": math}
    exec(compile(source, str(file), "exec"), names)
    print(source)
    assert uncompiled(names["f"], (X, 3.0, 3), (X, 5.0, 20), (X, 100.0, 8), handled=False) <= 3


def text_or_zeros(x):
    try:
        return x + len(np.array2string(x))
    except Exception:
        return x * 0.0


def sorted_or_zeros(x):
    try:
        return np.unique(x)
    except TypeError:
        return x * 0.0


def bytes_or_zeros(x):
    with contextlib.suppress(Exception):
        return x + len(x.tobytes())
    return x * 0.0


@pytest.mark.parametrize("function", [text_or_zeros, sorted_or_zeros, bytes_or_zeros])
@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
def test_errors_of_the_trace_alone_are_not_the_functions(function):
    """A handler of the function does not see an error that there is only while it is traced."""
    x = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(tj.jit(function)(x)), function(x))


def is_in(x, z):
    w = z
    try:
        if z in x[:, -1]:
            w = z + 1.0
    except Exception:
        w = z - 100.0
    return w


def test_membership_decides_as_python_does():
    x = np.arange(6.0).reshape(2, 3)
    jitted = tj.jit(is_in)
    for z in (2.0, 0.5, 5.0, 2.0):
        assert float(jitted(x, z)) == is_in(x, z)
    assert tj.jit(lambda x: x + (4.0 in x))(x).tolist() == (x + 1.0).tolist()


def text_or_an_error(x):
    try:
        return x + len(np.array2string(x))
    except Exception:
        raise ValueError("no text") from None


def _halved(r):
    for _ in range(3):
        e = r * 0.5
        c = e[::-1]
    return e, c


def parts_or_an_error(x):
    u = x * 0.5
    try:
        for i in range(3):
            u[i - 1] = 1.5
            row = u[::-1]
            row, other = _halved(row)
            other[-2] = 2.0
    except Exception:
        raise ValueError("not written") from None
    return u + row


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize("function", [text_or_an_error, parts_or_an_error])
def test_handlers_that_raise_another_error(function, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    x = np.array([1.0, 3.0, -2.0])
    jitted = tj.jit(function)
    for _ in range(2):
        np.testing.assert_allclose(jitted(x), function(x))


TABLE = np.arange(6.0)


def writes_a_part(x, t):
    """A write that only the trace refuses, to an array from outside."""
    try:
        TABLE[1:][1:] += x[0]
    except Exception:
        t = -t
    return t


def test_writes_that_the_trace_refuses_happen():
    results = []
    for f in (writes_a_part, tj.jit(writes_a_part)):
        TABLE[:] = np.arange(6.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tj.UncompiledCallWarning)
            results.append((float(f(X, 2.0)), TABLE.tolist()))
    assert results[0] == results[1]
