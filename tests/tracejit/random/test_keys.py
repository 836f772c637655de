"""Keys, their children and their bits: JAX's values, where it has them."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import DTypeError, ShapeError

r = tj.random


@pytest.mark.parametrize(
    ("seed", "data"),
    [(0, 0), (7, 7), (2**64 - 1, 2**64 - 1), (-5, 2**64 - 5), (-(2**63), 2**63), (np.int32(-5), 2**64 - 5)],
)
def test_key_is_the_seed(seed, data):
    key = r.key(seed)
    assert key.item() == data
    assert (key.dtype, key.shape) == (tj.uint64, ())
    assert tj.jit(lambda: r.key(seed))().item() == data


def test_key_of_a_traced_seed():
    assert tj.jit(r.key)(-5).item() == 2**64 - 5
    assert tj.jit(r.key)(np.array(3, np.int8)).item() == 3


@pytest.mark.parametrize("seed", [1.5, "1", None, 2**64, -(2**63) - 1, [1], np.ones(2, int), np.array(1.0)])
def test_bad_seeds(seed):
    with pytest.raises(DTypeError, match=r"(random.key.*seed|index)"):
        r.key(seed)


# Read from jax 0.10.2 (x64, jax_threefry_partitionable): key_data, with its words joined, and bits of uint64.
SEED = 2**40 + 3
CHILDREN = [
    [8175041411427140867, 8152055432657374039, 17553935170961941357],
    [3739036583016669278, 11386760547789901462, 14020045478222519661],
]


def test_bits_split_and_fold_in_are_jax_values():
    key = r.key(SEED)
    assert r.bits(key, (2, 3)).tolist() == CHILDREN
    assert r.split(key, (2, 3)).tolist() == CHILDREN
    assert r.fold_in(key, 12345).item() == 6729687796624853334
    assert r.bits(r.key(0), 2).tolist() == [7719171245655871230, 3989946895414531357]
    assert r.bits(key).item() == CHILDREN[0][0]


def test_the_same_under_jit():
    key = r.key(SEED)
    assert tj.jit(lambda k: r.bits(k, (2, 3)))(key).tolist() == CHILDREN
    assert tj.jit(lambda k: r.split(k, 6))(key).tolist() == [*CHILDREN[0], *CHILDREN[1]]
    assert tj.jit(lambda k, i: r.fold_in(k, i))(key, 12345).item() == 6729687796624853334
    assert tj.jit(lambda: r.bits(key, (2, 3)))().tolist() == CHILDREN  # captured
    assert tj.jit(lambda k: r.bits(k, (3, 0)))(key).shape == (3, 0)
    cube = r.bits(key, (3, 4, 5))
    assert tj.jit(lambda k: r.bits(k, (3, 4, 5)))(key).tolist() == cube.tolist()
    assert cube.tolist()[2][3][4] == r.fold_in(key, 59).item()


def test_children_unpack():
    first, second = r.split(r.key(SEED))
    assert [first.item(), second.item()] == CHILDREN[0][:2]
    first, second = tj.jit(lambda k: tuple(r.split(k)))(r.key(SEED))
    assert [first.item(), second.item()] == CHILDREN[0][:2]


@pytest.mark.parametrize("draw", [r.bits, r.split, r.uniform, r.normal, lambda k: r.fold_in(k, 1)])
def test_what_is_no_key(draw):
    for bad in (0, 1.5, None, np.array(0), tj.tensor(1.0)):
        with pytest.raises(DTypeError, match=r"expected a key.*tj.random.key\(seed\)"):
            draw(bad)
    with pytest.raises(ShapeError, match=r"expected one key, of shape \(\), got shape \(2,\)"):
        draw(r.split(r.key(0)))


def test_bad_shapes():
    with pytest.raises(ShapeError, match=r"random\.bits: negative"):
        r.bits(r.key(0), (2, -1))
    with pytest.raises(ShapeError, match=r"random\.split: num must be integers"):
        r.split(r.key(0), 2.5)


def test_bits_do_not_depend_on_threads():
    draw = tj.jit(lambda k: r.bits(k, 300_000))
    with tj.threads(1):
        sample = draw(r.key(3)).numpy().copy()
    assert np.array_equal(sample, draw(r.key(3)).numpy())
    assert np.array_equal(sample, r.bits(r.key(3), 300_000).numpy())


def test_bits_are_balanced():
    """Each of the 64 bits is set in half of 2**16 words, within 4.5 standard deviations of 2**7."""
    words = r.bits(r.key(1), 1 << 16).numpy()
    counts = np.array([int((words >> np.uint64(i) & np.uint64(1)).sum()) for i in range(64)])
    assert np.abs(counts - (1 << 15)).max() < 4.5 * 128


NAMES = {
    "normal": ((3,),),
    "uniform": (),
    "gumbel": (),
    "randint": ((), 0, 3),
    "bernoulli": (),
    "permutation": (3,),
    "categorical": ([0.0, 1.0],),
    "gamma": (1.0,),
    "beta": (1.0, 2.0),
    "dirichlet": ([1.0, 2.0],),
    "poisson": (1.0,),
    "binomial": (3, 0.5),
    "geometric": (0.5,),
    "rademacher": (),
    "choice": (3,),
    "multivariate_normal": ([0.0], [[1.0]]),
    "wald": (1.0,),
    "ball": (2,),
    "triangular": (0.0, 1.0, 2.0),
    "truncated_normal": (-1.0, 1.0),
}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_key_is_said_by_the_function_that_was_called(name):
    draw = getattr(r, name)
    draw(r.key(0), *NAMES[name])
    with pytest.raises(
        DTypeError, match=rf"^random\.{name}: expected a key, a uint64 tensor of rank 0, got int; make"
    ):
        draw(0, *NAMES[name])
    with pytest.raises(
        ShapeError, match=rf"^random\.{name}: expected one key, of shape \(\), got shape \(2,\); .*vmap"
    ):
        draw(r.split(r.key(0)), *NAMES[name])


def test_names_of_other_libraries():
    with pytest.raises(AttributeError, match=r"has no attribute 'PRNGKey'; use tj\.random\.key"):
        r.PRNGKey(0)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = r.nothing
