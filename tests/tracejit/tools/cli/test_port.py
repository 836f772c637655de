"""``tracejit port``: imports of HIPS autograd, changed at their positions."""

from __future__ import annotations

import io
import runpy

import pytest

from tracejit.tools.porting import ported

PROGRAM = '''\
"""Fits a line: é."""
import os, autograd.numpy as np  # NumPy
import autograd.numpy.random as npr
from autograd import (
    grad,
    value_and_grad as both,
)
from autograd.misc import flatten; from autograd.scipy.stats import norm
if True:
    import autograd.scipy.signal
    import autograd, json
import autograder
from .autograd import local
text = "import autograd"
'''
PORTED = '''\
"""Fits a line: é."""
import os, tracejit.compat.autograd.numpy as np  # NumPy
import tracejit.compat.autograd.numpy.random as npr
from tracejit.compat.autograd import (
    grad,
    value_and_grad as both,
)
from tracejit.compat.autograd.misc import flatten; from tracejit.compat.autograd.scipy.stats import norm
if True:
    from tracejit.compat import autograd
    from tracejit.compat import autograd; import json
import autograder
from .autograd import local
text = "import autograd"
'''
RUNS = """\
import autograd
import autograd.scipy.special, json
import autograd.numpy as np
from autograd import grad
result = [float(grad(autograd.scipy.special.expit)(0.0)), autograd.numpy.sum(np.ones(3)), json.dumps(1)]
"""


def test_imports_change_and_nothing_else():
    assert ported(PROGRAM) == PORTED
    assert ported(PORTED) == PORTED


def test_ported_programs_run(tmp_path, cli):
    file = tmp_path / "program.py"
    file.write_text(RUNS)
    shown = cli("port", str(file))
    assert shown.code == 0
    assert "-import autograd\n" in shown.out
    assert "+from tracejit.compat import autograd\n" in shown.out
    assert file.read_text() == RUNS
    assert cli("port", "--write", str(file)).code == 0
    assert runpy.run_path(str(file))["result"] == [0.25, 3.0, "1"]
    again = cli("port", str(file))
    assert (again.code, again.out) == (0, "")
    assert "nothing to change" in again.err


MISSING = """\
import autograd.numpy as np
import autograd.scipy as sc
from autograd.tracer import Node, getval
from autograd.core import VJPNode
import autograd.extend as ext
f = np.sum
g = np.nonsense(np.linalg.nonsense2)
h = ext.Box, sc.special.gammasgn, sc.special.gamma
k = np.apply_along_axis, np.busday_count
"""


def test_names_that_are_missing_are_reported(tmp_path, cli):
    file = tmp_path / "program.py"
    file.write_text(MISSING)
    shown = cli("port", str(file))
    assert shown.code == 1
    reports = [line.removeprefix(f"{file}:") for line in shown.err.splitlines()]
    assert [report.partition(": ")[0:3:2] for report in reports] == [
        ("3", "autograd.tracer.Node: tj.make_ir(f)(x) and tj.graph_of(y) show what is computed"),
        ("4", "autograd.core: its functions for users are in autograd.extend"),
        ("7", "autograd.numpy.linalg.nonsense2 is missing"),
        ("7", "autograd.numpy.nonsense is missing"),
        ("8", "autograd.extend.Box: make the class a pytree with tj.register_pytree_node, or a dataclass"),
        ("8", "autograd.scipy.special.gammasgn is missing"),
        ("9", "autograd.numpy.busday_count: it takes arrays alone: neither derivatives nor tj.jit follow it"),
    ]


def test_standard_input_and_errors(tmp_path, cli, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("import autograd\n"))
    assert cli("port", "--write", "-").out == "from tracejit.compat import autograd\n"
    file = tmp_path / "wrong.py"
    file.write_text("import autograd\nx = = 3\n")
    shown = cli("port", str(file))
    assert shown.code == 1
    assert f"{file}:2:5: invalid syntax" in shown.err
    assert cli("port", str(tmp_path / "none.py")).code in (1, 2)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_end_as_they_did(newline):
    assert ported(f"x = 1{newline}import autograd.numpy as np{newline}") == (
        f"x = 1{newline}import tracejit.compat.autograd.numpy as np{newline}"
    )
