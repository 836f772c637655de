"""Bases of exception classes, by which ``except`` clauses take errors: a change is seen."""

from __future__ import annotations

from typing import Any

import pytest

from .programs import Read, check

#: Setup, change, and what is read: an expression.
READS: dict[str, Read] = {
    "except bases": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class E(A): pass\n"
            "def h():\n"
            "    try:\n"
            "        raise E()\n"
            "    except A: return 1.0\n"
            "    except Exception: return 2.0\n"
            ""
        ),
        "E.__bases__ = (A,) if v < 1 else (B,)",
        "h()",
    ),
    "except bases deep": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class M(A): pass\n"
            "class E(M): pass\n"
            "def h():\n"
            "    try:\n"
            "        raise E()\n"
            "    except A: return 1.0\n"
            "    except Exception: return 2.0\n"
            ""
        ),
        "M.__bases__ = (A,) if v < 1 else (B,)",
        "h()",
    ),
    "except tuple": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class E(A): pass\n"
            "def h():\n"
            "    try:\n"
            "        raise E()\n"
            "    except (KeyError, A): return 1.0\n"
            "    except Exception: return 2.0\n"
            ""
        ),
        "E.__bases__ = (A,) if v < 1 else (B,)",
        "h()",
    ),
    "except global tuple": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class E(A): pass\n"
            "T=(KeyError,A)\n"
            "def h():\n"
            "    try:\n"
            "        raise E()\n"
            "    except T: return 1.0\n"
            "    except Exception: return 2.0\n"
            ""
        ),
        "E.__bases__ = (A,) if v < 1 else (B,)",
        "h()",
    ),
    "except tuple replaced": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class E(A): pass\n"
            "T=(KeyError,A)\n"
            "def h():\n"
            "    try:\n"
            "        raise E()\n"
            "    except T: return 1.0\n"
            "    except Exception: return 2.0\n"
            ""
        ),
        "T = (KeyError,A) if v < 1 else (KeyError,)",
        "h()",
    ),
    "except attr": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class E(A): pass\n"
            "o=Plain(); o.A=A\n"
            "def h():\n"
            "    try:\n"
            "        raise E()\n"
            "    except o.A: return 1.0\n"
            "    except Exception: return 2.0\n"
            ""
        ),
        "E.__bases__ = (A,) if v < 1 else (B,)",
        "h()",
    ),
    "except instance raised": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class E(A): pass\n"
            "e=E()\n"
            "def h():\n"
            "    try: raise e\n"
            "    except A: return 1.0\n"
            "    except Exception: return 2.0"
        ),
        "E.__bases__ = (A,) if v < 1 else (B,)",
        "h()",
    ),
    "except in helper": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class E(A): pass\n"
            'def g(): raise E("x")\n'
            "def h():\n"
            "    try: g()\n"
            "    except A: return 1.0\n"
            "    except Exception: return 2.0"
        ),
        "E.__bases__ = (A,) if v < 1 else (B,)",
        "h()",
    ),
    "except suppress": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class E(A): pass\n"
            "def h():\n"
            "    try:\n"
            "        with contextlib.suppress(A): raise E()\n"
            "        return 1.0\n"
            "    except Exception: return 2.0"
        ),
        "E.__bases__ = (A,) if v < 1 else (B,)",
        "h()",
    ),
    "except star": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class E(A): pass\n"
            "def h():\n"
            "    r=3.0\n"
            "    try:\n"
            "        raise E()\n"
            "    except* A: r= 1.0\n"
            "    except* Exception: r= 2.0\n"
            "    return r"
        ),
        "E.__bases__ = (A,) if v < 1 else (B,)",
        "h()",
    ),
    "isinstance e": (
        (
            "class A(Exception): pass\n"
            "class B(Exception): pass\n"
            "class E(A): pass\n"
            "def h():\n"
            "    try: raise E()\n"
            "    except Exception as e: return float(isinstance(e, A))"
        ),
        "E.__bases__ = (A,) if v < 1 else (B,)",
        "h()",
    ),
}


@pytest.mark.parametrize("name", READS)
def test_a_change_is_seen(name: str, tmp_path: Any) -> None:
    check(READS[name], tmp_path)
