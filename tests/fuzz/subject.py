"""A program that is run: its functions in any namespace, fresh arguments, and NumPy's results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reference
from .program import Program

Array = NDArray[Any]


class Subject:
    """A program with its reference results and their tolerances.

    `module` gives the namespace of the program's module, a new one each time where captures should be.
    """

    def __init__(
        self,
        module: Callable[[], dict[str, Any]],
        tolerances: Sequence[float],
        rebound_tolerances: Sequence[float] | None = None,
        features: Collection[str] = (),
    ) -> None:
        self._module = module
        self.tolerances, self.rebound_tolerances = tuple(tolerances), rebound_tolerances
        self.features = frozenset(features)
        self.dtypes = [x.dtype for x in self.arguments()]
        self.expected: list[Array]
        self.expected_rebound: list[Array] | None = None
        self._run_reference()

    @classmethod
    def of(cls, program: Program) -> Subject:
        code = compile(program.source(), "<fuzz>", "exec")

        def module() -> dict[str, Any]:
            namespace: dict[str, Any] = {"__name__": "fuzz_program"}
            exec(code, namespace)
            return namespace

        return cls(module, program.tolerances, program.rebound_tolerances, program.features)

    def _run_reference(self) -> None:
        function, rebind = self.fresh(reference)
        with np.errstate(all="ignore"):
            self.expected_arguments = self.arguments()
            self.expected = [np.array(x) for x in function(*self.expected_arguments)]
            if self.rebound_tolerances is not None:
                rebind()
                self.expected_rebound = [np.array(x) for x in function(*self.arguments())]

    def fresh(self, xp: Any) -> tuple[Callable[..., Any], Callable[[], None]]:
        """The program in the namespace `xp`, and its `rebind`."""
        return self._module()["make"](xp)  # type: ignore[no-any-return]

    def arguments(self) -> list[Array]:
        return self._module()["arguments"]()  # type: ignore[no-any-return]

    def has(self, *features: str) -> bool:
        """Whether the program has one of these features."""
        return not self.features.isdisjoint(features)

    # -- what gradients are of ----------------------------------------------------------------------

    @functools.cached_property
    def float_positions(self) -> list[int]:
        """The arguments that may be differentiated."""
        return [i for i, dtype in enumerate(self.dtypes) if dtype.kind in "fc"]

    @functools.cached_property
    def precision(self) -> str:
        """The precision of the narrowest of all floats: "half", "single" or "double"."""
        dtypes = {x.str[1:] for x in (*self.dtypes, *(x.dtype for x in self.expected))}
        if "f2" in dtypes or self.has("float16"):
            return "half"
        return "single" if not dtypes.isdisjoint(("f4", "c8")) or self.has("float32") else "double"

    @property
    def double(self) -> bool:
        """Whether all floats are float64, so that differences say something."""
        return self.precision == "double"

    def loss(self, function: Callable[..., Any], xp: Any) -> Callable[..., Any]:
        """A weighted sum of the program's float results, and of the real and the imaginary parts of complex
        ones, as a function of its float and complex arguments."""
        weights = [
            np.cos(np.arange(x.size) + 1.0).reshape(x.shape).astype(x.real.dtype)
            if x.dtype.kind in "fc"
            else None
            for x in self.expected
        ]

        plain = self.arguments()

        def weighted(*floats: Any) -> Any:
            arguments = [xp.asarray(x.copy()) for x in plain]
            for position, x in zip(self.float_positions, floats, strict=True):
                arguments[position] = x
            total: Any = 0.0
            for result, expected, weight in zip(function(*arguments), self.expected, weights, strict=True):
                if weight is None:
                    continue
                part = result
                if expected.dtype.kind == "c":
                    total = total + xp.sum(xp.imag(result) * (weight + 0.5))
                    part = xp.real(result)
                total = total + xp.sum(part * weight)
            return total

        return weighted
