"""States of finalizers, and the folder for temporary files: a change is seen."""

from __future__ import annotations

from typing import Any

import pytest

from .programs import Read, check

#: Setup, change, and what is read: an expression.
READS: dict[str, Read] = {
    "finalize alive": (
        ("class C: pass\no=C()\nz=weakref.finalize(o, int)"),
        ("if v>1: o=None\nelse:\n    o=C(); z=weakref.finalize(o,int)"),
        "float(z.alive)",
    ),
    "finalize alive attr": (
        ("class C: pass\no=C()\np=Plain();p.z=weakref.finalize(o, int)"),
        "o=None",
        "float(p.z.alive)",
    ),
    "finalize peek": (
        ("class C: pass\no=C()\nz=weakref.finalize(o, int)"),
        "o=None",
        "float(z.peek() is None)",
    ),
    "finalize atexit": (
        ("class C: pass\no=C()\nz=weakref.finalize(o, int)"),
        "z.atexit = v<1",
        "float(z.atexit)",
    ),
    "finalize detach": (
        ("class C: pass\no=C()\nz=weakref.finalize(o, int)"),
        "z.detach()",
        "float(z.alive)",
    ),
    "tempdir": (
        ("import tempfile\ntempfile.tempdir='/tmp'"),
        "tempfile.tempdir='/tmp' if v<1 else '/var/tmp'",
        "float(len(tempfile.tempdir))",
    ),
    "gettempdir": (
        ("import tempfile\ntempfile.tempdir='/tmp'"),
        "tempfile.tempdir='/tmp' if v<1 else '/var/tmp'",
        "float(len(tempfile.gettempdir()))",
    ),
    "gettempdirb": (
        ("import tempfile\ntempfile.tempdir='/tmp'"),
        "tempfile.tempdir='/tmp' if v<1 else '/var/tmp'",
        "float(len(tempfile.gettempdirb()))",
    ),
    "gettempdir TMPDIR": (
        ("import tempfile\ntempfile.tempdir=None\nos.environ['TMPDIR']='/tmp'"),
        ("tempfile.tempdir=None\nos.environ['TMPDIR']='/tmp' if v<1 else '/var/tmp'"),
        "float(len(tempfile.gettempdir()))",
    ),
    "gettempprefix": (
        ("import tempfile\ntempfile.template='tmp'"),
        "tempfile.template='tmp' if v<1 else 'tmpp'",
        "float(len(tempfile.gettempprefix()))",
    ),
}


@pytest.mark.parametrize("name", READS)
def test_a_change_is_seen(name: str, tmp_path: Any) -> None:
    check(READS[name], tmp_path)
