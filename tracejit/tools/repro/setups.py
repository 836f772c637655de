"""Loading what registers ops and kernels, in whichever process needs them."""

from __future__ import annotations

import importlib
import os
import runpy
import sys


def load_setup(setup: str) -> None:
    """Run the ``.py`` file, or import the module, `setup`; what it raises reaches the caller."""
    if setup.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(setup)))
        runpy.run_path(setup, run_name="tracejit_setup")
    else:
        sys.path.insert(0, os.getcwd())
        importlib.import_module(setup)
