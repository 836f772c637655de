"""Programs for the tests of signals, run in separate processes: a signal comes while something goes on."""

from __future__ import annotations

import os

from .programs import python

PRELUDE = '''
import os, signal, sys, threading, time
import numpy as np
import tracejit as tj

# a shell that starts a process in the background has it ignore Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Seconds of processor time that no native loop takes to let a signal in. What other processes take does not
#: count, and what waits for ever ends with the program's time.
PATIENCE = 20.0

def interrupted(run, after=0.3, number=signal.SIGINT, error=KeyboardInterrupt, began=None):
    """Run it, send a signal after some time, or once it `began`; returns the processor time it took to raise.

    It is sent again where Python has lost it: what a handler raises in ``__del__`` is printed, no more."""
    sent, ended, ready = [], threading.Event(), threading.Event()
    def send():
        ready.wait()
        began.wait(60) if began else ended.wait(after)
        while not ended.is_set():
            sent.append(time.process_time())
            os.kill(os.getpid(), number)
            ended.wait(PATIENCE + 5)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        ready.set()
        run()
    except error:
        took = time.process_time() - sent[-1]
    else:
        raise AssertionError("it was not interrupted")
    finally:
        ended.set()
        thread.join()
    assert took < PATIENCE, took
    return took
'''


def run(program: str, timeout: float = 600, **environment: str) -> None:
    """Run `program` in a process of its own; it fails where that fails, or does not end."""
    ended = python(
        f"{PRELUDE}\n{program}\nprint('fine')", timeout, **{"TRACEJIT_NUM_THREADS": "2", **environment}
    )
    assert ended.strip().endswith("fine"), ended


def tiers() -> list[dict[str, str]]:
    """Settings under which code is compiled well at once, and quickly first."""
    return [{"TRACEJIT_TIERS": "0"}, {"TRACEJIT_TIERS": "always"}]


assert "TRACEJIT_CACHE" in os.environ
