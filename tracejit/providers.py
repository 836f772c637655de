"""Modules that provide what lower rooms ask of upper ones (`provided.py`). They load at the first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
provided.FORI_LOOP.provide(".control.loops", __package__, "fori_loop")
provided.TRACED_SLICES.provide(".array.selection.slices", __package__)
provided.SIZED.provide(".array.selection.sized", __package__)
provided.ELEMENT_ORDER.provide(".array.assembly.element_order", __package__)
provided.LOOK_FOR_ANOMALIES.provide(".profiling.nonfinite", __package__, "look_for_anomalies")
provided.MISSING.provide(".missing_names", __package__, "missing")
provided.LIVE_GRAPH.provide(".live_graph", __package__, "graph_of")
provided.DUMPING.provide(".tools.dumping", __package__)
provided.PICTURE.provide(".tools.picture", __package__)
provided.TENSOR_HTML.provide(".tools.notebooks.tensors", __package__, "tensor_html")
provided.REPORTS.provide(".tools.notebooks.reports", __package__)
provided.VIEW.provide(".tools.viewer", __package__, "view")
provided.CARRIED.provide(".carried", __package__, "carried")
provided.EXPORTING.provide(".export.methods", __package__)

if TYPE_CHECKING:  # what is provided is what is asked for
    from collections.abc import Callable

    from .array.aggregates import nan_aware
    from .array.assembly import element_order
    from .array.numpy_calls import options, signatures, ufunc_methods
    from .array.selection import masked_calls, masked_selection, sized, slices
    from .carried import carried
    from .codegen.lowering import capabilities as code_capabilities
    from .control.loops import fori_loop
    from .export import methods
    from .live_graph import graph_of
    from .loops.scipy_functions import handed_on
    from .missing_names import missing
    from .profiling.nonfinite import look_for_anomalies
    from .tools import dumping, picture
    from .tools.notebooks import reports
    from .tools.notebooks.tensors import tensor_html
    from .tools.viewer import view

    CODE: capabilities.Capabilities = code_capabilities
    HANDED_ON: Callable[[Any], Any] = handed_on
    MASKED_CALLS: provided.MaskedCalls = masked_calls
    NUMPY_SIGNATURES: provided.NumpySignatures = signatures
    NUMPY_OPTIONS: provided.NumpyOptions = options
    UFUNC_METHODS: provided.UfuncMethods = ufunc_methods
    NAN_AWARE: provided.NanAware = nan_aware
    MASKED_SELECTION: provided.MaskedSelection = masked_selection
    FORI_LOOP: Callable[..., Any] = fori_loop
    TRACED_SLICES: provided.TracedSlices = slices
    SIZED: provided.Sized = sized
    ELEMENT_ORDER: provided.ElementOrder = element_order
    LOOK_FOR_ANOMALIES: Callable[[bool], None] = look_for_anomalies
    MISSING: Callable[[str, str], Exception] = missing
    LIVE_GRAPH: Callable[[Any], Any] = graph_of
    DUMPING: provided.Dumping = dumping
    PICTURE: provided.LiveGraphPictures = picture
    TENSOR_HTML: Callable[[Any], str] = tensor_html
    REPORTS: provided.Reports = reports
    VIEW: Callable[..., Any] = view
    CARRIED: Callable[[Any, provided.Arguments], Any] = carried
    EXPORTING: provided.Exporting = methods
