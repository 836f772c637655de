"""``tj.nn`` is there after ``import tracejit``, but loads only when it is used."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import tracejit as tj
assert not [name for name in sys.modules if name.startswith("tracejit.nn")]
assert "nn" in tj.__all__
print(tj.nn.relu([-1.0, 2.0]).tolist(), tj.nn is sys.modules["tracejit.nn"])
"""


def test_loads_at_first_use():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "[0.0, 2.0] True\n"
