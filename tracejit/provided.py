"""Functions and modules that lower rooms ask of upper ones. `tracejit/providers.py` names where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .base.loading import Provided

#: The public namespace: `tracejit` itself.
NAMESPACE: Final = Provided[Any]("the public namespace")
#: `handed_on`, which replaces a function of math or SciPy by the one here.
HANDED_ON: Final = Provided[Callable[[Any], Any]]("replacements for functions of math and SciPy")
#: The module that calls functions with what traced masks select.
MASKED_CALLS: Final = Provided[Any]("calls with selections")
#: The module that reads arguments by the names of NumPy's parameters.
NUMPY_SIGNATURES: Final = Provided[Any]("NumPy's signatures")
#: The module of options that NumPy's functions share: ``out=``, ``where=``, ``dtype=``.
NUMPY_OPTIONS: Final = Provided[Any]("NumPy's options")
#: Methods of NumPy's ufuncs: ``reduce``, ``accumulate``, ``at``.
UFUNC_METHODS: Final = Provided[Any]("methods of ufuncs")
#: Reductions that leave out NaN, and their options.
NAN_AWARE: Final = Provided[Any]("reductions without NaN")
#: Elements that a traced mask selects.
MASKED_SELECTION: Final = Provided[Any]("selections by traced masks")
#: Results whose size is given, where it would follow from values.
SIZED: Final = Provided[Any]("results of a given size")
#: Elements in the order in which they lie in memory.
ELEMENT_ORDER: Final = Provided[Any]("orders of elements")
#: The module that looks for NaN and infinity in programs as they run.
NONFINITE: Final = Provided[Any]("checks for NaN")
#: The error for a NumPy function without a counterpart.
MISSING: Final = Provided[Callable[[str, str], Exception]]("errors about missing names")
#: `graph_of`, which makes the live graph of a tensor.
LIVE_GRAPH: Final = Provided[Callable[[Any], Any]]("live graphs")
#: The module of pictures of graphs.
PICTURE: Final = Provided[Any]("pictures")
#: Notebooks' view of a tensor.
TENSOR_HTML: Final = Provided[Callable[[Any], str]]("notebooks' view of tensors")
#: The module of notebooks' views of explanations, stages and profiles.
REPORTS: Final = Provided[Any]("notebooks' views of reports")
#: The viewer's `view`.
VIEW: Final = Provided[Callable[..., Any]]("the viewer")
#: `carried`, which makes a function that pickles take along with its machine code.
CARRIED: Final = Provided[Callable[..., Any]]("functions with their machine code")
#: The module that writes modules to files when the environment asks for it.
DUMPING: Final = Provided[Any]("dumps by environment variable")
#: The modules that write functions for programs in C.
EXPORTING: Final = Provided[Any]("object files")
EXPORTED_PROGRAMS: Final = Provided[Any]("exported programs")
POINTING: Final = Provided[Any]("function pointers")
