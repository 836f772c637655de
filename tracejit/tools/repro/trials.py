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

import numpy as np

from ...base.errors import TracejitError
from ...base.records import record
from .cases import Case


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
