"""Loading what registers ops and kernels, in whichever process needs them."""

from __future__ import annotations

import importlib
import os
import runpy
import sys


def load_setup(one: str) -> None:
    """Run the ``.py`` file, or import the module, `one`; what it raises reaches the caller."""
    if one.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(one)))
        runpy.run_path(one, run_name="tracejit_setup")
    else:
        sys.path.insert(0, os.getcwd())
        importlib.import_module(one)
