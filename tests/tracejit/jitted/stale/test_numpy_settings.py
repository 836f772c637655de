"""Reads of NumPy's error state and print options, and of what ufuncs wrap: a change is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .programs import Read, check

#: Setup, change, and what is read: an expression.
READS: dict[str, Read] = {
    "seterr raise divide": (
        (
            "np.seterr(divide='ignore')\n"
            "a=np.zeros(1)\n"
            "def h():\n"
            "    try: return float(np.isinf(1.0/a)[0])\n"
            "    except FloatingPointError: return 3.0"
        ),
        "np.seterr(divide='ignore' if v<1 else 'raise')",
        "h()",
    ),
    "seterr raise ufunc": (
        (
            "np.seterr(all='ignore')\n"
            "a=np.zeros(1)\n"
            "def h():\n"
            "    try: return float(np.isinf(np.divide(1.0,a))[0])\n"
            "    except FloatingPointError: return 3.0"
        ),
        "np.seterr(all='ignore' if v<1 else 'raise')",
        "h()",
    ),
    "seterr raise log": (
        (
            "np.seterr(all='ignore')\n"
            "a=np.zeros(1)\n"
            "def h():\n"
            "    try: return float(np.isinf(np.log(a))[0])\n"
            "    except FloatingPointError: return 3.0"
        ),
        "np.seterr(all='ignore' if v<1 else 'raise')",
        "h()",
    ),
    "seterr raise scalar": (
        (
            "np.seterr(all='ignore')\n"
            "a=np.float64(0)\n"
            "def h():\n"
            "    try: return float(np.isinf(1.0/a))\n"
            "    except FloatingPointError: return 3.0"
        ),
        "np.seterr(all='ignore' if v<1 else 'raise')",
        "h()",
    ),
    "seterr raise made": (
        (
            "np.seterr(all='ignore')\n"
            "def h():\n"
            "    a=np.zeros(2)\n"
            "    try: return float(np.isinf(1.0/a)[0])\n"
            "    except FloatingPointError: return 3.0"
        ),
        "np.seterr(all='ignore' if v<1 else 'raise')",
        "h()",
    ),
    "seterr call": (
        (
            "np.seterr(all='ignore')\n"
            "c=[0.0]\n"
            "def cb(k,f): c[0]=5.0\n"
            "np.seterrcall(cb)\n"
            "def h():\n"
            "    a=np.zeros(2)\n"
            "    c[0]=1.0\n"
            "    1.0/a\n"
            "    return c[0]"
        ),
        "np.seterr(all='ignore' if v<1 else 'call')",
        "h()",
    ),
    "seterr raise method": (
        (
            "np.seterr(all='ignore')\n"
            "a=np.array([1e308,1e308])\n"
            "def h():\n"
            "    try: return float(np.isinf(a.sum()))\n"
            "    except FloatingPointError: return 3.0"
        ),
        "np.seterr(all='ignore' if v<1 else 'raise')",
        "h()",
    ),
    "errstate raise inside": (
        (
            "np.seterr(all='ignore')\n"
            "a=np.zeros(1)\n"
            "m='ignore'\n"
            "def h():\n"
            "    with np.errstate(all=m):\n"
            "        try: return float(np.isinf(1.0/a)[0])\n"
            "        except FloatingPointError: return 3.0"
        ),
        "m = 'ignore' if v<1 else 'raise'",
        "h()",
    ),
    "print made str": (
        ("np.set_printoptions(precision=8)\ndef h(): return float(len(str(np.array([1/3]))))"),
        "np.set_printoptions(precision=8 if v<1 else 3)",
        "h()",
    ),
    "print made repr": (
        ("np.set_printoptions(precision=8)\ndef h():\n    a=np.ones(2)/3\n    return float(len(repr(a)))"),
        "np.set_printoptions(precision=8 if v<1 else 3)",
        "h()",
    ),
    "print made f": (
        ("np.set_printoptions(precision=8)\ndef h():\n    a=np.ones(2)/3\n    return float(len(f'{a}'))"),
        "np.set_printoptions(precision=8 if v<1 else 3)",
        "h()",
    ),
    "print made %": (
        ("np.set_printoptions(precision=8)\ndef h():\n    a=np.ones(2)/3\n    return float(len('%s' % a))"),
        "np.set_printoptions(precision=8 if v<1 else 3)",
        "h()",
    ),
    "print made format": (
        (
            "np.set_printoptions(precision=8)\n"
            "def h():\n"
            "    a=np.ones(2)/3\n"
            "    return float(len('{}'.format(a)))"
        ),
        "np.set_printoptions(precision=8 if v<1 else 3)",
        "h()",
    ),
    "print made list": (
        ("np.set_printoptions(precision=8)\ndef h():\n    a=np.ones(2)/3\n    return float(len(str([a])))"),
        "np.set_printoptions(precision=8 if v<1 else 3)",
        "h()",
    ),
    "print made __str__": (
        (
            "np.set_printoptions(precision=8)\n"
            "def h():\n"
            "    a=np.ones(2)/3\n"
            "    return float(len(a.__str__()))"
        ),
        "np.set_printoptions(precision=8 if v<1 else 3)",
        "h()",
    ),
    "print made array2string": (
        (
            "np.set_printoptions(precision=8)\n"
            "def h():\n"
            "    a=np.ones(2)/3\n"
            "    return float(len(np.array2string(a)))"
        ),
        "np.set_printoptions(precision=8 if v<1 else 3)",
        "h()",
    ),
    "print computed": (
        ("np.set_printoptions(precision=8)\nb=np.ones(2)/3\ndef h():\n    return float(len(str(b*2)))"),
        "np.set_printoptions(precision=8 if v<1 else 3)",
        "h()",
    ),
    "print join map": (
        (
            "np.set_printoptions(precision=8)\n"
            "def h():\n"
            "    a=[np.ones(2)/3]\n"
            "    return float(len(''.join(map(str,a))))"
        ),
        "np.set_printoptions(precision=8 if v<1 else 3)",
        "h()",
    ),
    "frompyfunc": (
        ("k=v\ng=np.frompyfunc(lambda e: e*k, 1, 1)\na=np.ones(1)"),
        "k=v",
        "float(g(a)[0])",
    ),
    "frompyfunc made": (
        ("k=v\ndef h():\n    g=np.frompyfunc(lambda e: e*k, 1, 1)\n    return float(g(np.ones(1))[0])"),
        "k=v",
        "h()",
    ),
    "frompyfunc obj": (
        (
            "class C:\n"
            "    def __call__(self,e): return e*self.k\n"
            "o=C(); o.k=v\n"
            "g=np.frompyfunc(o, 1, 1)\n"
            "a=np.ones(1)"
        ),
        "o.k=v",
        "float(g(a)[0])",
    ),
    "frompyfunc reduce": (
        ("k=v\ng=np.frompyfunc(lambda a,b: a+b*k, 2, 1)\na=np.ones(3)"),
        "k=v",
        "float(g.reduce(a))",
    ),
    "frompyfunc in attr": (
        ("k=v\no=Plain();o.g=np.frompyfunc(lambda e: e*k, 1, 1)\na=np.ones(1)"),
        "k=v",
        "float(o.g(a)[0])",
    ),
    "frompyfunc scalar": (
        ("k=v\ng=np.frompyfunc(lambda e: e*k, 1, 1)"),
        "k=v",
        "float(g(2.0))",
    ),
    "frompyfunc map": (
        ("k=v\ng=np.frompyfunc(lambda e: e*k, 1, 1)"),
        "k=v",
        "float(list(map(g,[2.0]))[0])",
    ),
    "vectorize": (
        ("k=v\ng=np.vectorize(lambda e: e*k)\na=np.ones(1)"),
        "k=v",
        "float(g(a)[0])",
    ),
}


@pytest.mark.parametrize("name", READS)
def test_a_change_is_seen(name: str, tmp_path: Any) -> None:
    check(READS[name], tmp_path, uncompiled="NumPy's error state")


def test_texts_of_errors_are_not_watched() -> None:
    def f(x: Any, n: int) -> Any:
        y = np.zeros(3)
        if x.ndim != 1:
            raise ValueError(f"expected a vector, got {x.shape} and {y}")
        assert n, f"got {x.shape}"
        return x + y

    jitted = tj.jit(f)
    jitted(np.ones(3), 2)
    assert "print options" not in jitted.explain()
