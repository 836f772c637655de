"""Every public function with each wrong argument in the place of each right one: our error, or a result."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Sequence

import numpy as np
import pytest

import tracejit as tj

from ...rotation import share_of
from .enumeration import MODES, Case, cases, problems_of, sampled
from .valid_calls import public_calls

#: Cases of each mode from which a normal run and a slow one take a share.
SAMPLE, LARGER = 600, 2500
SEED = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0"))


def test_the_right_arguments_are_right() -> None:
    wrong = {}
    for call in public_calls():
        with tj.extend.isolated(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                call.call_public(call.arguments())
            except tj.TracejitError as error:
                wrong[call.name] = str(error)
            finally:
                tj.autograd.set_detect_anomaly(False)
                tj.flush_denormals(False)
    assert wrong.pop("unregister_op").endswith("is not an op that was registered at run time")
    assert not wrong


@pytest.mark.parametrize("mode", MODES)
def test_a_sample(mode: str) -> None:
    check_sample(share_of(sample_of(mode, SAMPLE), 2))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_larger_sample(mode: str) -> None:
    check_sample(share_of(sample_of(mode, LARGER), 5))


def sample_of(mode: str, count: int) -> list[Case]:
    return sampled([case for case in cases(public_calls()) if case.mode == mode], count, SEED)


def check_sample(selection: Sequence[Case]) -> None:
    problems = [f"{case}: {problem}" for case, problem in problems_of(selection)]
    assert not problems, "\n".join(problems)


def test_public_functions_are_found_by_pickle() -> None:
    for function in (
        tj.pad,
        tj.sum,
        tj.nn.softmax,
        tj.random.normal,
        tj.scan,
        tj.optim.adam,
        tj.autograd.grad,
    ):
        assert pickle.loads(pickle.dumps(function)) is function


def test_what_a_users_function_raises_goes_through() -> None:
    class Mine(TypeError):
        pass

    def fails(*args: object) -> None:
        raise Mine("mine")

    x = tj.ones(3)
    for call in (
        lambda: tj.scan(fails, 0.0, x),
        lambda: tj.tree_map(fails, [1.0]),
        lambda: tj.vjp(fails, x),
        lambda: tj.checkpoint(fails, x),
        lambda: tj.cond(True, fails, fails, x),
    ):
        with pytest.raises(Mine, match=r"^mine$"):
            call()


def test_mistakes_of_ours_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """An AttributeError where all arguments are right is no fault of the user's."""
    monkeypatch.setattr(tj.Tensor, "ndim", property(lambda x: x.nothing))
    with pytest.raises(AttributeError, match="nothing"):
        tj.flip(tj.ones(3))


@pytest.mark.parametrize(
    ("mistake", "error", "message"),
    [
        (lambda: tj.pad([1.0], None), tj.TracejitError, "pad: pad_width must be integers, got None"),
        (lambda: tj.pad([1.0], 1, constant_values=[None]), TypeError, "pad: .*constant_values"),
        (lambda: tj.zeros(3, "text"), tj.DTypeError, "zeros: .*text"),
        (lambda: tj.hstack(5), tj.DTypeError, "hstack: arrays must be a list or tuple of arrays, got 5"),
        (
            lambda: tj.roll([1, 2], "a"),
            tj.TracejitError,
            "roll: shift must be an integer .*, got 'a' of type str",
        ),
        (lambda: tj.roll([1, 2], np.ones((1,) * 40)), tj.ShapeError, "roll: shift and axis must be integers"),
        (lambda: tj.linspace(0, 1, 2.5), tj.ArgumentError, "linspace: num must be an integer, got 2.5"),
        (lambda: tj.nn.elu([1.0], alpha="a"), tj.TracejitError, "nn.elu: .*alpha.*'a'"),
        (lambda: tj.random.normal(3), tj.TracejitError, "random.normal: expected a key, .*got int"),
        (lambda: tj.register_op(None), tj.TracejitError, "register_op: None is not a name"),
        (lambda: tj.extend.OpCall(None), tj.ArgumentError, "OpCall: op must be an op, .*got None"),
        (lambda: tj.ones(3) - "a", tj.DTypeError, "subtract: argument y: expected numbers, got 'a'"),
        (lambda: tj.ones(2) + tj.ones(3), tj.ShapeError, r"^add: shapes \(2,\) and \(3,\)"),
        (lambda: tj.ones(2).sum(axis="a"), tj.AxisError, "sum: axis must be an integer, got 'a'"),
        (lambda: tj.array_split([1, 2], 10**30), tj.ShapeError, "array_split: indices_or_sections must be"),
        (lambda: tj.zeros(10**30), tj.ShapeError, "zeros: an array of shape .* is too large"),
        (lambda: tj.pytree.is_container(5), tj.ArgumentError, "is_container: cls must be a class, got 5"),
        (
            lambda: tj.pytree.count_leaves(5),
            tj.ArgumentError,
            "count_leaves: shape must be that of a TreeDef",
        ),
    ],
)
def test_messages(mistake: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mistake()  # type: ignore[operator]


def test_numbers_of_steps_that_change_nothing_are_no_steps() -> None:
    assert tj.diff([1.0, 2.0, 4.0], n=10**30).shape == (0,)
    assert tj.round([1.25, -2.5], 10**30).tolist() == [1.25, -2.5]
    assert tj.round([15, -22], -(10**30)).tolist() == [0, 0]
    assert tj.round([1.25, float("inf")], -400).tolist() == [0.0, float("inf")]


@pytest.mark.parametrize(
    "error", [tj.ShapeError, tj.AxisError, tj.DTypeError, tj.DomainError, tj.GradientError]
)
def test_errors_about_tensors_are_runtime_errors_as_in_pytorch(error: type[Exception]) -> None:
    assert issubclass(error, RuntimeError)
    assert issubclass(error, tj.TracejitError)
