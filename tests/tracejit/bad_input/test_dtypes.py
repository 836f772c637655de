"""Dtypes that tracejit does not have, by every way in."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.state import STATE

UNSUPPORTED = {
    "object": np.array([1, None, 3], object),
    "strings": np.array(["a", "b", "c"]),
    "bytes": np.array([b"a", b"b", b"c"]),
    "long complex": np.zeros(3, "G"),
    "long double": np.zeros(3, np.longdouble),
    "datetime": np.zeros(3, "M8[s]"),
    "timedelta": np.zeros(3, "m8[s]"),
    "structured": np.zeros(3, [("a", "f4")]),
}
WAYS_IN = {
    "tensor": tj.tensor,
    "asarray": tj.asarray,
    "function": tj.exp,
    "operand": lambda v: tj.ones(3) + v,
    "reflected": lambda v: v + tj.ones(3),
    "compare": lambda v: tj.ones(3) < v,
    "argument": lambda v: tj.jit(lambda x: x)(v),
    "in a tree": lambda v: tj.jit(lambda x: x)({"a": [v]}),
    "captured": lambda v: tj.jit(lambda x: x + v)(tj.ones(3)),
    "result": lambda v: tj.jit(lambda x: v)(tj.ones(3)),
    "dtype": lambda v: tj.zeros(3, dtype=v.dtype),
    "astype": lambda v: tj.ones(3).astype(v.dtype),
    "setitem": lambda v: tj.ones(3).__setitem__(slice(None), v),
    "gradient": lambda v: tj.grad(lambda x: 1.0)(v),
    "index": lambda v: tj.ones(3)[v],
}


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_dtypes(name, way):
    with pytest.raises(TypeError) as caught:
        WAYS_IN[way](UNSUPPORTED[name])
    assert isinstance(caught.value, tj.TracejitError)
    assert STATE.tracer is None
    text = str(caught.value)
    assert len(text) > 20


def test_the_error_names_the_argument_and_what_is_supported():
    @tj.jit
    def f(x):
        return x

    with pytest.raises(
        tj.DTypeError, match=r"f: argument args\[0\]\['a'\]\[1\]: dtype .*complex256.* is not supported.*f64"
    ):
        f({"a": [1.0, np.zeros(3, "G")]})
