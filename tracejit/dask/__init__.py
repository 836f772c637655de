"""Jitted functions over `dask.array`: blocks on several processes or machines, data larger than memory.

`value_and_grad` adds up a function and its gradient over blocks of rows, and `map_blocks` runs a jitted
function on each block. Needs the extra ``dask``; ``import tracejit.dask`` loads it. docs/dask.md has more.
"""

from .blocks import map_blocks
from .sums import value_and_grad

__all__ = ["map_blocks", "value_and_grad"]
