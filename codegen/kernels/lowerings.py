"""The lowerings of all kinds of ops that have kernels. A kind that is not here is a host call.

A family of kernels loads when a function has a kernel of it: most first calls need two or three.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from ...ir.registry import Kind
from .lowering import Lowering

#: The modules of lowerings and their names there, by the kinds that they serve.
_PLACES: Final[dict[Kind, tuple[str, str]]] = {
    Kind.REGION: ("..nest.lowering", "FUSION"),
    Kind.CONTRACTION: (".gemm.contraction", "CONTRACTION"),
    Kind.CONVOLUTION: (".conv.convolution", "CONVOLUTION"),
    Kind.FOURIER: (".fft.fourier", "FOURIER"),
    Kind.TILED: (".fft.tiled", "TILED"),
    Kind.CONCAT: (".indexing.movement", "CONCATENATION"),
    Kind.UPDATE: (".indexing.movement", "UPDATE"),
    Kind.GATHER: (".indexing.gather", "GATHER"),
    Kind.SCATTER: (".indexing.scatter", "SCATTER"),
    Kind.CUMULATIVE: (".scan.cumulative", "CUMULATIVE"),
    Kind.ARG_REDUCTION: (".scan.arg_reduction", "ARG_REDUCTION"),
    Kind.SORT: (".sort.sorting", "SORTING"),
    Kind.ARG_SORT: (".sort.sorting", "SORTING"),
    Kind.SEARCH: (".sort.search", "SEARCHING"),
    Kind.HISTOGRAM: (".indexing.bincount", "BINCOUNT"),
    Kind.COMPACTION: (".indexing.compaction", "COMPACTION"),
    Kind.LINALG: (".linalg.lowering", "LINALG"),
    Kind.SWITCH: ("..control.lowering", "CONTROL_FLOW"),
    Kind.WHILE: ("..control.lowering", "CONTROL_FLOW"),
    Kind.REWIND: ("..control.lowering", "CONTROL_FLOW"),
    Kind.SCAN: ("..control.lowering", "SCAN"),
    Kind.HOST: (".external", "EXTERNAL"),
}


class _Lowerings(Mapping[Kind, Lowering]):
    def __init__(self) -> None:
        self._loaded: dict[Kind, Lowering] = {}

    def __getitem__(self, kind: Kind) -> Lowering:
        lowering = self._loaded.get(kind)
        if lowering is None:
            module, name = _PLACES[kind]
            lowering = self._loaded[kind] = getattr(import_module(module, __package__), name)
        return lowering

    def __iter__(self) -> Iterator[Kind]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


LOWERINGS: Final[Mapping[Kind, Lowering]] = _Lowerings()
