"""Results whose length depends on values: with gradients, in containers, under traces."""

import pickle

import numpy as np

import tracejit as tj

X = np.array([1.0, -2.0, 3.0, 0.5, -1.0, 3.0])


@tj.jit
def positive(x):
    return x[x > 0]


def test_lengths_follow_the_values():
    for x in (X, -X, np.abs(X), X * 0, X):
        result = positive(x)
        assert isinstance(result, tj.Tensor)
        np.testing.assert_array_equal(result, x[x > 0])


def test_one_compilation_serves_all_lengths():
    function = tj.jit(lambda x: x[x > 0] * 2)
    for x in (X, -X, np.abs(X)):
        function(x)
    assert "1 signature compiled" in str(function.explain())


def test_containers():
    def f(x):
        (places,) = np.nonzero(x > 0)
        return {"places": places, "parts": [x[x > 0], (x.sum(), x[x < -9])]}

    result, expected = tj.jit(f)(X), f(X)
    np.testing.assert_array_equal(result["places"], expected["places"])
    np.testing.assert_array_equal(result["parts"][0], expected["parts"][0])
    assert result["parts"][1][1].shape == (0,)


def test_few_elements_do_not_keep_the_memory_of_all():
    x = np.zeros(100_000)
    x[7] = 1.0
    result = positive(x).numpy()
    while result.base is not None:
        result = result.base
    assert result.nbytes < 1000


def test_backward():
    for _ in range(3):
        x = tj.tensor(X, requires_grad=True)
        result = tj.jit(lambda x: x[x > 0] ** 2)(x)
        assert result.requires_grad
        (result * tj.arange(4.0)).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0, 6.0, 2.0, 0.0, 18.0]


def test_transforms():
    def loss(x):
        return (positive(x) ** 3).sum()

    expected = np.where(X > 0, 3 * X**2, 0)
    for gradient in (tj.grad(loss), tj.jit(tj.grad(loss)), tj.grad(tj.jit(loss))):
        np.testing.assert_allclose(gradient(X), expected)
    tangents = tj.jvp(lambda x: positive(x) ** 2, (X,), (np.ones(6),))[1]
    np.testing.assert_allclose(tangents, 2 * X[X > 0])


def test_calls_of_jitted_functions_in_traces():
    @tj.jit
    def outer(x):
        part = positive(x)
        return part * 2, part.sum(), part.size

    doubled, total, size = outer(X)
    np.testing.assert_array_equal(doubled, X[X > 0] * 2)
    assert (total.item(), int(size)) == (7.5, 4)


def test_conditional_numbers_of_rows():
    def f(a):
        rows = a[a[:, 0] > 0]
        return rows, rows.mean(0), a[:, a[0] > 0]

    a = np.random.default_rng(0).normal(size=(7, 5))
    for part, expected in zip(tj.jit(f)(a), f(a), strict=True):
        np.testing.assert_allclose(part, expected)


def test_types():
    text = str(positive.result_types(X))
    assert "CutArray" in text
    assert "(6,)" in text


def test_pickled_functions():
    again = pickle.loads(pickle.dumps(positive))
    np.testing.assert_array_equal(again(X), X[X > 0])


def test_wrapped_calls_that_write_their_arguments():
    def f(x):
        x[x < 0] = 0.0
        return x[x > 0]

    ours, theirs = X.copy(), X.copy()
    np.testing.assert_array_equal(tj.jit(f)(ours), f(theirs))
    np.testing.assert_array_equal(ours, theirs)
