"""Jitted functions over `dask.array`: blocks on several processes or machines, data larger than memory.

`value_and_grad` adds up a function and its gradient over blocks of rows, `map_blocks` and `blockwise` run a
jitted function on blocks, and `compiled` fuses the elementwise operations of a graph. Needs the extra
``dask``; ``import tracejit.dask`` loads it. docs/dask.md has more.
"""

from .blocks import blockwise, map_blocks
from .fusing import compiled, optimize
from .sums import value_and_grad

__all__ = ["blockwise", "compiled", "map_blocks", "optimize", "value_and_grad"]
