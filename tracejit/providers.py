"""Modules that provide what lower rooms ask of upper ones (`provided.py`). They load at the first use."""

from __future__ import annotations

from . import provided
from .ir import capabilities

capabilities.CODE.provide(".codegen.lowering.capabilities", __package__)
provided.NAMESPACE.provide("tracejit", None)
provided.HANDED_ON.provide(".loops.scipy_functions", __package__, "handed_on")
provided.MASKED_CALLS.provide(".array.selection.masked_calls", __package__)
provided.NUMPY_SIGNATURES.provide(".array.numpy_calls.signatures", __package__)
provided.NUMPY_OPTIONS.provide(".array.numpy_calls.options", __package__)
provided.UFUNC_METHODS.provide(".array.numpy_calls.ufunc_methods", __package__)
provided.NAN_AWARE.provide(".array.aggregates.nan_aware", __package__)
provided.MASKED_SELECTION.provide(".array.selection.masked_selection", __package__)
provided.SIZED.provide(".array.selection.sized", __package__)
provided.ELEMENT_ORDER.provide(".array.assembly.element_order", __package__)
provided.NONFINITE.provide(".profiling.nonfinite", __package__)
provided.MISSING.provide(".missing_names", __package__, "missing")
provided.LIVE_GRAPH.provide(".live_graph", __package__, "graph_of")
provided.DUMPING.provide(".tools.dumping", __package__)
provided.PICTURE.provide(".tools.picture", __package__)
provided.TENSOR_HTML.provide(".tools.notebooks.tensors", __package__, "tensor_html")
provided.REPORTS.provide(".tools.notebooks.reports", __package__)
provided.VIEW.provide(".tools.viewer", __package__, "view")
provided.CARRIED.provide(".carried", __package__, "carried")
provided.EXPORTING.provide(".export.exporting", __package__)
provided.EXPORTED_PROGRAMS.provide(".export.programs", __package__)
provided.POINTING.provide(".export.pointing", __package__)
