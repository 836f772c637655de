"""Pauses of the cyclic garbage collector."""

from __future__ import annotations

import gc
import os
import threading
import warnings
import weakref

import pytest

from tracejit.base.process.collector import collect_young, collector_paused


def test_it_is_off_within_and_on_after() -> None:
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


class Knot:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_new_objects_are_looked_at_unless_it_is_off() -> None:
    with collector_paused():
        knot = weakref.ref(Knot())
        collect_young()
        assert knot() is not None
    collect_young()
    assert knot() is None


def fail_while_paused() -> None:
    with collector_paused():
        raise KeyboardInterrupt


def test_it_is_on_after_an_exception() -> None:
    with pytest.raises(KeyboardInterrupt):
        fail_while_paused()
    assert gc.isenabled()


def test_who_turned_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_is_on_after_pauses_of_several_threads() -> None:
    paused, leave = threading.Event(), threading.Event()

    def pause() -> None:
        with collector_paused():
            paused.set()
            leave.wait(120)

    thread = threading.Thread(target=pause)
    thread.start()
    assert paused.wait(120)
    with collector_paused():
        leave.set()
        thread.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.parametrize("forks", ["another thread", "the pausing thread"])
def test_it_is_on_in_a_child_that_is_born_in_a_pause(forks: str) -> None:
    paused, leave = threading.Event(), threading.Event()
    codes: list[int] = []

    def pause() -> None:
        with collector_paused():
            child = os.fork() if forks == "the pausing thread" else -1
            paused.set()
            if child > 0:
                codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            elif child < 0:
                leave.wait(120)
        if child == 0:
            os._exit(7 if gc.isenabled() else 8)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a process of several threads forks
        thread = threading.Thread(target=pause)
        thread.start()
        assert paused.wait(120)
        if forks == "another thread":
            child = os.fork()
            if child == 0:
                os._exit(7 if gc.isenabled() else 8)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        leave.set()
        thread.join()
    assert codes == [7]
