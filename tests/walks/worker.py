"""Runs trials in a process of its own, and says a line about each: ``python -m tests.walks.worker``."""

from __future__ import annotations

import faulthandler
import json
import resource
import sys
import traceback
import warnings

from ..fuzz.comparing import Mismatch
from .cases import Trial, trial
from .trial import try_case


def failure_of(each: Trial) -> str:
    """Failure of a trial in words, or ""."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try_case(each.case, each.machine, each.threads, each.checked)
    except Mismatch as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-3)}"
    return ""


def main() -> None:
    """Trials of ``SEED`` from number ``FIRST`` on, of the families that follow or of all."""
    faulthandler.enable()
    seed, number, families = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    while True:
        print(json.dumps({"begin": number}), flush=True)
        each = trial(seed, number, families)
        said = {"trial": str(each), "family": each.case.family, "plan": each.plan, "threads": each.threads}
        print(json.dumps(said), flush=True)
        failure = failure_of(each)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)
        print(json.dumps({"failure": failure, "peak": peak}), flush=True)
        number += 1


if __name__ == "__main__":
    main()
