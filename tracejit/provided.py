"""Functions that lower rooms ask of upper ones. `tracejit/providers.py` names where they are.

A protocol lists the functions of a module that are asked for; tensors are `Any` here, below their room.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias

from .base.loading import Provided

Function: TypeAlias = Callable[..., Any]
Arguments: TypeAlias = tuple[Any, ...]


class MaskedCalls(Protocol):
    """Calls of functions with what traced masks select."""

    def call_of_selections(
        self, name: str, function: Function, args: Arguments, options: Mapping[str, Any], /
    ) -> Callable[[], Any] | None: ...
    def element(self, x: Any, key: Any, /) -> Any: ...
    def sliced(self, x: Any, part: slice, /) -> Any: ...


class NumpySignatures(Protocol):
    """Arguments by the names of NumPy's parameters."""

    def as_numpy_call(
        self, name: str, function: Function, args: Arguments, options: dict[str, Any], /
    ) -> Callable[[], Any] | None: ...


class NumpyOptions(Protocol):
    """Options that NumPy's functions share: ``out=``, ``where=``, ``dtype=``."""

    def call_elementwise(
        self, function: Function, inputs: Arguments, out: Any, where: Any, dtype: Any, casting: Any, /
    ) -> Any: ...
    def call_with_options(
        self, function: Function, ufunc: Any, inputs: Arguments, options: dict[str, Any], /
    ) -> Any: ...
    def write_out(self, name: str, out: Any, value: Any, /) -> Any: ...


class UfuncMethods(Protocol):
    """Methods of NumPy's ufuncs: ``reduce``, ``accumulate``, ``at``."""

    def run_method(self, method: str, name: str, inputs: Arguments, options: dict[str, Any], /) -> Any: ...


class NanAware(Protocol):
    """Reductions that leave out elements, and their options."""

    def reduce_with_options(
        self, name: str, x: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any, /
    ) -> Any: ...
    def variance_of_selected(
        self, x: Any, axis: Any, ddof: Any, keepdims: bool, where: Any, mean: Any, /
    ) -> Any: ...


class MaskedSelection(Protocol):
    """Elements that a traced mask selects; plans are those of keys."""

    def distinct(self, x: Any, axis: int | None, equal_nan: bool, /) -> tuple[Any, ...]: ...
    def places(self, x: Any, /) -> tuple[Any, ...]: ...
    def rows_of_places(self, x: Any, /) -> Any: ...
    def selected(self, x: Any, plan: Any, /) -> Any: ...
    def written_through(self, view: Any, plan: Any, value: Any, mode: str, name: str, /) -> Any: ...


class TracedSlices(Protocol):
    """Slices between traced ends."""

    def common(self, counts: Sequence[Any], /) -> Any: ...
    def moved(self, x: Any, mask: Any, /) -> Any: ...
    def read(self, x: Any, first: Any, axis: int, part: slice, source: tuple[Any, Any], /) -> Any: ...
    def write(self, name: str, x: Any, key: Any, value: Any, mode: str, cut: Any, /) -> Any: ...


class Sized(Protocol):
    """Results whose size is given, where it would follow from values."""

    def nonzero(self, name: str, x: Any, size: Any, fill_value: Any, /) -> tuple[Any, ...]: ...
    def repeat(self, x: Any, repeats: Any, axis: int, total: Any, /) -> Any: ...
    def unique(
        self, name: str, x: Any, axis: int | None, size: Any, fill_value: Any, /, *, equal_nan: bool
    ) -> tuple[Any, ...]: ...


class ElementOrder(Protocol):
    """Elements in the order in which they lie in memory."""

    def reshape_in_order(self, x: Any, shape: Any, order: Any, copy: bool | None, /) -> Any: ...


class LiveGraphPictures(Protocol):
    """Pictures of live graphs."""

    def live_dot(self, *roots: Any) -> str: ...
    def live_svg(self, *roots: Any, path: str | os.PathLike[str] | None, legend: bool) -> str: ...


class Reports(Protocol):
    """Notebooks' views of explanations, stages and profiles."""

    def explanation_html(self, explanation: Any, /) -> str: ...
    def lowered_html(self, lowered: Any, /) -> str: ...
    def profile_html(self, profile: Any, /) -> str: ...


class Dumping(Protocol):
    """Files of what is compiled, where the environment asks for them."""

    def dump_by_environment(self) -> None: ...


class Exporting(Protocol):
    """Methods of jitted functions that write them for programs in C."""

    def export(
        self,
        function: Any,
        path: str | os.PathLike[str],
        specs: Sequence[Any],
        grad: bool | int | Sequence[int],
        jacobian: bool | int | Sequence[int],
        hvp: bool | int | Sequence[int],
        casadi: int | None,
        target: str | Sequence[str],
        kind: str,
        /,
    ) -> Any: ...
    def function_pointer(self, function: Any, specs: Sequence[Any], signature: str | None, /) -> Any: ...


#: The public namespace: `tracejit` itself.
NAMESPACE: Final = Provided[ModuleType]("the public namespace")
#: `handed_on`, which replaces a function of math or SciPy by the one here.
HANDED_ON: Final = Provided[Callable[[Any], Any]]("replacements for functions of math and SciPy")
MASKED_CALLS: Final = Provided[MaskedCalls]("calls with selections")
NUMPY_SIGNATURES: Final = Provided[NumpySignatures]("NumPy's signatures")
NUMPY_OPTIONS: Final = Provided[NumpyOptions]("NumPy's options")
UFUNC_METHODS: Final = Provided[UfuncMethods]("methods of ufuncs")
NAN_AWARE: Final = Provided[NanAware]("reductions without NaN")
FORI_LOOP: Final = Provided[Callable[..., Any]]("loops along integers")
TRACED_SLICES: Final = Provided[TracedSlices]("slices between traced ends")
MASKED_SELECTION: Final = Provided[MaskedSelection]("selections by traced masks")
SIZED: Final = Provided[Sized]("results of a given size")
ELEMENT_ORDER: Final = Provided[ElementOrder]("orders of elements")
#: Begins and ends the search for NaN and infinity in programs as they run.
LOOK_FOR_ANOMALIES: Final = Provided[Callable[[bool], None]]("checks for NaN")
#: The error for a NumPy function without a counterpart.
MISSING: Final = Provided[Callable[[str, str], Exception]]("errors about missing names")
#: `graph_of`, which makes the live graph of a tensor.
LIVE_GRAPH: Final = Provided[Callable[[Any], Any]]("live graphs")
PICTURE: Final = Provided[LiveGraphPictures]("pictures")
#: Notebooks' view of a tensor.
TENSOR_HTML: Final = Provided[Callable[[Any], str]]("notebooks' view of tensors")
REPORTS: Final = Provided[Reports]("notebooks' views of reports")
#: The viewer's `view`.
VIEW: Final = Provided[Callable[..., Any]]("the viewer")
#: `carried`, which makes a function that pickles take along with its machine code.
CARRIED: Final = Provided[Callable[[Any, Arguments], Any]]("functions with their machine code")
DUMPING: Final = Provided[Dumping]("dumps by environment variable")
EXPORTING: Final = Provided[Exporting]("object files and function pointers")
