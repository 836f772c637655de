"""Runs Functions in another process, by the interpreter and natively, and says how they differ."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np

from ...base.errors import TracejitError
from ...base.records import record
from ...ir.graph import Function
from ...ir.passes import Pass, apply_pass
from ...ir.passes.algebra.cleanup import dce
from ...ir.text.printer import print_functions

Array = np.ndarray[Any, Any]
_DCE: Final = Pass("dce", dce)


@record(eq=False)
class Case:
    """A Function and the arrays to run it on, one for each parameter."""

    function: Function
    inputs: tuple[Array, ...]

    @property
    def size(self) -> tuple[int, int, int]:
        """The size by which cases are compared: instructions, then elements and steps, then numbers that are
        not 0 or 1."""
        values = [value for instruction in self.function.instructions() for value in instruction.results]
        elements = sum(value.type.size for value in [*self.function.params, *values])
        steps = sum(instruction.attrs.get("length", 0) for instruction in self.function.instructions())
        odd = sum(int(np.count_nonzero((input_ != 0) & (input_ != 1))) for input_ in self.inputs)
        count = sum(1 for _ in self.function.instructions())
        return count + len(self.function.params) + len(self.function.results), elements + steps, odd

    def tidied(self) -> Case:
        """This case without unused instructions and parameters."""
        function = apply_pass(_DCE, self.function)
        used = {operand for instruction in function.instructions() for operand in instruction.operands} | set(
            function.results
        )
        kept = [i for i, param in enumerate(function.params) if param in used]
        params = tuple(function.params[i] for i in kept)
        smaller = Function(function.name, params, function.body, function.results)
        return Case(smaller, tuple(self.inputs[i] for i in kept))

    def text(self, notes: Sequence[str] = ()) -> str:
        """The text of the ``.tir`` file, with `notes` as comments."""
        head, rest = print_functions([self.function]).split("\n", 1)
        return "\n".join([head, *(f"; {note}" for note in notes), rest])

    def write(self, tir: Path, npz: Path, notes: Sequence[str] = ()) -> None:
        """Write both files; the arrays are called ``arr_0``, ``arr_1``, ... in the order of parameters."""
        tir.write_text(self.text(notes), encoding="utf-8")
        np.savez(npz, *self.inputs)


def check_writable(function: Function) -> None:
    """Raise TracejitError where text cannot hold `function`."""
    for instruction in function.instructions():
        if "callback" in instruction.attrs:
            where = f" at {instruction.location}" if instruction.location else ""
            raise TracejitError(
                f"the program calls a Python function ({instruction.op.name}{where}), which text cannot "
                "hold; take the call out, or give its result as an argument"
            )


@record
class Verdict:
    """The outcome of a trial.

    Attributes:
        kind: "agrees", "differs", "crash", "error" (native code raised and the interpreter did not, or did
            not compile), "timeout", or "unusable" (no valid Function).
        detail: in a line.
    """

    kind: str
    detail: str

    @property
    def is_wrong(self) -> bool:
        """Whether something is wrong with native code."""
        return self.kind in ("differs", "crash", "error", "timeout")

    def like(self, other: Verdict) -> bool:
        """Whether it is the same trouble: of one kind, and of the same error or signal."""
        if self.kind != other.kind:
            return False
        return self.kind in ("differs", "timeout") or self._class() == other._class()

    def _class(self) -> str:
        return self.detail.split(":")[0]

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


class Trials:
    """A process that tries Functions; a context manager.

    `setup` are ``.py`` files or modules that register ops and kernels, loaded there first. `rtol` is what
    results may differ by, relative to the largest magnitude in each, by default that of ``tracejit run``;
    `timeout` is in seconds, for one trial. With `check` accesses are checked, as by ``TRACEJIT_CHECK=1``.
    Raises TracejitError where the setup fails.

    Example:
        >>> import numpy as np, tracejit as tj
        >>> case = Case(tj.trace(lambda x: tj.exp(x), tj.ones(3)), (np.ones(3),))
        >>> with Trials() as trials:
        ...     trials.run(case).kind
        'agrees'
    """

    def __init__(
        self,
        setup: Sequence[str] = (),
        *,
        rtol: float | None = None,
        timeout: float = 60.0,
        check: bool = False,
    ) -> None:
        self.rtol, self.timeout, self.count = rtol, timeout, 0
        self._folder = tempfile.TemporaryDirectory(prefix="tracejit-")
        env = {
            **os.environ,
            "TRACEJIT_CACHE": "0",
            "TRACEJIT_CHECK": "1" if check else os.environ.get("TRACEJIT_CHECK", "0"),
        }
        package = str(Path(__file__).resolve().parents[3])
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [package, env.get("PYTHONPATH", "")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tracejit.tools.repro.server", *setup],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip
        ready = self._answer()
        if ready.kind != "ready":
            self.close()
            raise TracejitError(
                f"loading {', '.join(setup) or 'tracejit'} for a trial failed: {ready.detail}"
            )

    def run(self, case: Case) -> Verdict:
        """Try a case."""
        self.count += 1
        path = Path(self._folder.name) / "inputs.npz"
        np.savez(path, *case.inputs)
        request = {"tir": case.text(), "inputs": str(path), "rtol": self.rtol, "timeout": self.timeout}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Verdict:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            return Verdict("setup failed", f"the process ended with code {self._process.wait()}")
        answer = json.loads(line)
        return Verdict(answer["kind"], answer["detail"])

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()

    def __enter__(self) -> Trials:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
