"""The lowerings of all kinds of ops that have kernels. A kind that is not here is a host call."""

from __future__ import annotations

from typing import Final

from ...ir.registry import Kind
from ..control.lowering import CONTROL_FLOW, SCAN
from ..nest.lowering import FUSION
from .conv.convolution import CONVOLUTION
from .external import EXTERNAL
from .fft.fourier import FOURIER
from .gemm.contraction import CONTRACTION
from .indexing.bincount import BINCOUNT
from .indexing.compaction import COMPACTION
from .indexing.gather import GATHER
from .indexing.movement import CONCATENATION, UPDATE
from .indexing.scatter import SCATTER
from .linalg.lowering import LINALG
from .lowering import Lowering
from .scan.arg_reduction import ARG_REDUCTION
from .scan.cumulative import CUMULATIVE
from .sort.search import SEARCHING
from .sort.sorting import SORTING

LOWERINGS: Final[dict[Kind, Lowering]] = {
    kind: lowering
    for lowering in (
        FUSION, CONTRACTION, CONVOLUTION, FOURIER, CONCATENATION, UPDATE, GATHER, SCATTER, CUMULATIVE,
        ARG_REDUCTION, SORTING, SEARCHING, BINCOUNT, COMPACTION, LINALG, CONTROL_FLOW, SCAN, EXTERNAL,
    )
    for kind in lowering.kinds
}  # fmt: skip
