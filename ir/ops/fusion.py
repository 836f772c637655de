"""The ``fusion`` op, a group of ops that codegen turns into one loop nest, made by the pass ``fuse``; and the
``interpreted`` op, a part of a program that the compiler failed on, made by ``recovery``."""

from __future__ import annotations

from typing import Any

from ..registry import NONDIFF, Kind, Regions
from ..transforms.batching import all_mapped, inline_batched
from .define import define_with_regions, same_as_region


def _run(call: Any, regions: Any, operands: Any, attrs: Any) -> Any:
    return call(regions[0], operands)


def _batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """What was fused, batched: the pass will find its groups again."""
    return all_mapped(b, *inline_batched(b, instruction.regions[0], operands, mapped, size), size)


FUSION = define_with_regions(
    "fusion", Kind.REGION, "*inputs",
    doc="the results of its region, computed as one loop nest", vjp=NONDIFF, batch=_batch,
    regions=Regions(types=same_as_region, run=_run),
)  # fmt: skip

INTERPRETED = define_with_regions(
    "interpreted", Kind.HOST, "*inputs",
    doc="the results of its region, computed by the NumPy kernels of the ops in it", vjp=NONDIFF,
    batch=_batch, regions=Regions(types=same_as_region, run=_run),
)  # fmt: skip
