"""Tables of numbers: what a file says is what its reader gives, bit for bit, and nothing is read before."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tracejit.base.number_tables import Tables, blocks_of

from ..number_tables import block
from ..rotation import SEED


def test_each_float_comes_back(tmp_path: Path) -> None:
    bits = np.random.default_rng(SEED).integers(0, 2**64, 400, dtype=np.uint64)
    numbers = [x for x in bits.view(np.float64).tolist() if math.isfinite(x)]
    numbers += [0.0, -0.0, 5e-324, 2.0**-1022, sys.float_info.max]
    rows = [numbers[:9], numbers[9:20]]
    text = block("ALL", [], [numbers], "of " * 50) + block("ROWS", ["f32", "rows"], rows)
    text += block("ROWS", ["f64", "rows"], rows[:1]) + block("ONE", ["number"], [[0.1]])
    text += block("PART", ["from", "-0.5", "to", "2.0"], [numbers[:4]])
    (tmp_path / "tables.txt").write_text(text)
    tables = Tables(str(tmp_path / "tables.txt"), lambda low, high, row: (low, high, row))
    assert struct.pack(f"{len(numbers)}d", *tables.ALL) == struct.pack(f"{len(numbers)}d", *numbers)
    assert {"f32": tuple(map(tuple, rows)), "f64": (tuple(rows[0]),)} == tables.ROWS
    assert tables.ONE == 0.1
    assert (-0.5, 2.0, tuple(numbers[:4])) == tables.PART
    with pytest.raises(AttributeError, match="no table OTHER"):
        tables.OTHER  # noqa: B018
    assert max(map(len, text.splitlines())) <= 108
    assert [name for name, _, _ in blocks_of(text)] == ["ALL", "ROWS", "ROWS", "ONE", "PART"]


def test_programs_without_functions_read_no_tables() -> None:
    code = """
import sys
opened = []
def note(name, args):
    if name == "open" and str(args[0]).endswith(".txt"):
        opened.append(args[0])
sys.addaudithook(note)
import numpy as np, tracejit as tj
tj.jit(lambda x: (x + 1) @ x)(np.ones(3))
assert not [file for file in opened if "data" in file], opened
tj.jit(tj.sin)(np.ones(3))
assert [file for file in opened if file.endswith("elementary.txt")] == opened[-1:], opened
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2], timeout=300)
