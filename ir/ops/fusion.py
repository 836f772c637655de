"""The ``fusion`` op: a group of ops that codegen turns into one loop nest. Made by the pass ``fuse``."""

from __future__ import annotations

from ..registry import NONDIFF, Kind, Regions
from .define import define_with_regions, same_as_region

FUSION = define_with_regions(
    "fusion", Kind.REGION, "*inputs",
    doc="the results of its region, computed as one loop nest", vjp=NONDIFF,
    regions=Regions(
        types=same_as_region,
        run=lambda call, regions, operands, attrs: call(regions[0], operands),
    ),
)  # fmt: skip
