"""``tj.jit`` as decorator and as function, of functions, methods and other callables."""

from __future__ import annotations

import functools

import pytest

import tracejit as tj

from .common import same


def test_decorator_function_and_decorator_with_arguments():
    @tj.jit
    def one(x):
        return x + 1

    @tj.jit(static_argnums=1)
    def two(x, n):
        return x * n

    @tj.jit()
    def three(x):
        return x - 1

    x = tj.tensor([1.0, 2.0])
    same(one(x), [2, 3])
    same(two(x, 3), [3, 6])
    same(three(x), [0, 1])
    same(tj.jit(lambda a: a * 2)(x), [2, 4])


def test_the_wrapper_keeps_name_and_docstring():
    @tj.jit
    def area(x):
        """The area."""
        return x

    assert area.__name__ == "area"
    assert area.__doc__ == "The area."
    assert "area" in repr(area)


def test_partials_builtins_and_callable_objects():
    class Scale:
        def __call__(self, x):
            return x * 5

    x = tj.tensor([1.0, 2.0])
    same(tj.jit(functools.partial(lambda a, b: a * b, 2.0))(x), [2, 4])
    same(tj.jit(tj.square)(x), [1, 4])
    same(tj.jit(Scale())(x), [5, 10])


def test_jit_of_something_else_than_a_function():
    with pytest.raises(tj.TracejitError, match="expected a function, got int"):
        tj.jit(3)


def test_calls_with_wrong_arguments_raise_what_python_raises():
    f = tj.jit(lambda x: x)
    for call in (lambda: f(), lambda: f(1, 2), lambda: f(y=1)):
        with pytest.raises(TypeError, match="argument"):
            call()
    same(f(1.0), 1.0)
    with pytest.raises(TypeError, match="argument"):
        f(1.0, 2.0)


class Model:
    def __init__(self, scale):
        self.scale = scale

    @tj.jit
    def plain(self, x):
        return x * self.scale

    @functools.partial(tj.jit, static_argnums=0)
    def static(self, x):
        return x * self.scale

    @staticmethod
    @tj.jit
    def apart(x):
        return x * 2


def test_methods():
    model = Model(3)
    x = tj.tensor([1.0, 2.0])
    same(model.plain(x), [3, 6])
    same(model.static(x), [3, 6])
    same(Model(4).static(x), [4, 8])
    same(model.static(x), [3, 6])
    same(Model.apart(x), [2, 4])
    same(tj.jit(model.static)(x), [3, 6])


def test_keyword_and_default_arguments():
    @tj.jit
    def f(x, y=3, *, z=1.0):
        return x * y + z

    x = tj.tensor([1.0, 2.0])
    for _ in range(3):
        same(f(x), [4, 7])
        same(f(x, 2), [3, 5])
        same(f(x, y=2), [3, 5])
        same(f(z=10.0, x=x), [13, 16])
        same(f(x, 2, z=0.0), [2, 4])
    same(tj.jit(lambda *a, **k: a[0] + a[1] + k["b"])(1.0, 2.0, b=3.0), 6.0)
