"""The families of kernels: which `Lowering` serves which kind of op."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...base.on_use import OnUse
from ...ir.kinds import Kind
from ..lowering.lowering import Lowering

#: The modules of lowerings and their names there, by the kinds that they serve.
_PLACES: Final[dict[Kind, tuple[str, str]]] = {
    Kind.REGION: ("..nest.lowering", "FUSION"),
    Kind.CONTRACTION: ("..kernels.gemm.contraction", "CONTRACTION"),
    Kind.CONVOLUTION: ("..kernels.conv.convolution", "CONVOLUTION"),
    Kind.FOURIER: ("..kernels.fft.fourier", "FOURIER"),
    Kind.TILED: ("..kernels.fft.tiled", "TILED"),
    Kind.CONCAT: ("..kernels.indexing.concatenation", "CONCATENATION"),
    Kind.UPDATE: ("..kernels.indexing.slice_update", "UPDATE"),
    Kind.GATHER: ("..kernels.indexing.gather", "GATHER"),
    Kind.SCATTER: ("..kernels.indexing.scatter", "SCATTER"),
    Kind.CUMULATIVE: ("..kernels.scan.cumulative", "CUMULATIVE"),
    Kind.ARG_REDUCTION: ("..kernels.scan.arg_reduction", "ARG_REDUCTION"),
    Kind.SORT: ("..kernels.sort.sorting", "SORTING"),
    Kind.ARG_SORT: ("..kernels.sort.sorting", "SORTING"),
    Kind.SEARCH: ("..kernels.sort.search", "SEARCHING"),
    Kind.HISTOGRAM: ("..kernels.indexing.bincount", "BINCOUNT"),
    Kind.COMPACTION: ("..kernels.indexing.compaction", "COMPACTION"),
    Kind.LINALG: ("..kernels.linalg.lowering", "LINALG"),
    Kind.SWITCH: ("..control.lowering", "CONTROL_FLOW"),
    Kind.WHILE: ("..control.lowering", "CONTROL_FLOW"),
    Kind.REWIND: ("..control.lowering", "CONTROL_FLOW"),
    Kind.SCAN: ("..control.lowering", "SCAN"),
    Kind.HOST: ("..lowering.lowering", "EXTERNAL"),
}
LOWERINGS: Final[Mapping[Kind, Lowering]] = OnUse(_PLACES, __package__)
