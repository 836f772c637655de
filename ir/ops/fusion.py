"""The ``fusion`` op: a group of ops that codegen turns into one loop nest. Made by the pass ``fuse``."""

from __future__ import annotations

from ..errors import TracejitError
from ..registry import NONDIFF, Attrs, Kind
from ..types import TensorType
from .define import define


def _infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    raise TracejitError("fusion: the result types are those of its region")


def _evaluate(*operands: object) -> object:
    raise TracejitError("fusion: the interpreter runs its region")


FUSION = define(
    "fusion", Kind.REGION, "*inputs", infer=_infer, eval=_evaluate, vjp=NONDIFF,
    doc="the results of its region, computed as one loop nest",
)  # fmt: skip
