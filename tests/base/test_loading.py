"""Loading on first use: lazy modules, provided functions, and objects known by name."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from tracejit.base.loading import LazyMethods, LazyModule, Loaded, Provided


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that is not among the loaded ones yet."""
    module = ModuleType("tracejit_late")
    module.__dict__.update(Thing=type("Thing", (), {"method": len}), function=max)
    monkeypatch.delitem(sys.modules, "tracejit_late", raising=False)
    return module


def test_objects_are_known_once_their_module_is_loaded(
    late: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Loaded("tracejit_late:Thing", "tracejit_late:Thing.method", "builtins:min")
    thing = late.Thing()
    assert known() == (min,)
    assert not isinstance(thing, Loaded("tracejit_late:Thing")())
    assert (known.holds(len), known.name_of(len)) == (False, None)
    monkeypatch.setitem(sys.modules, "tracejit_late", late)
    assert set(known()) == {min, late.Thing, len}
    assert isinstance(thing, Loaded("tracejit_late:Thing")())
    assert (known.holds(len), known.name_of(len)) == (True, "tracejit_late:Thing.method")


def test_a_module_that_runs_still_has_not_all_its_objects(
    late: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Loaded("tracejit_late:later")
    monkeypatch.setitem(sys.modules, "tracejit_late", late)
    assert known() == ()
    monkeypatch.setattr(late, "later", len, raising=False)
    assert known() == (len,)


def test_a_lazy_module_loads_at_its_first_use_and_has_what_it_has(
    late: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    lazy = LazyModule("tracejit_late")
    with pytest.raises(ModuleNotFoundError):
        lazy.function  # noqa: B018
    monkeypatch.setitem(sys.modules, "tracejit_late", late)
    assert lazy.function is max
    monkeypatch.setattr(late, "function", min)
    assert lazy.function is min
    with pytest.raises(AttributeError):
        lazy.nothing  # noqa: B018


def test_lazy_methods_are_the_functions_of_a_module_once_they_are_looked_up(
    late: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice(owner: object, value: int) -> int:
        return 2 * value

    methods = LazyMethods(LazyModule("tracejit_late"))

    class Owner:
        renamed = methods.twice
        unused = methods.nothing

    class Heir(Owner):
        pass

    monkeypatch.setattr(late, "twice", twice, raising=False)
    monkeypatch.setitem(sys.modules, "tracejit_late", late)
    assert Heir().renamed(3) == 6
    assert vars(Owner)["renamed"] is twice
    assert Owner.renamed is twice
    assert "renamed" not in vars(Heir)
    with pytest.raises(AttributeError):
        Owner().unused  # noqa: B018


def test_what_nobody_provides_is_an_error() -> None:
    asked = Provided[object]("a thing")
    with pytest.raises(LookupError, match="nothing provides a thing"):
        asked()
    asked.provide("builtins", None, "len")
    assert asked() is len


def _run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_objects_of_loaded_modules_are_old_at_once() -> None:
    _run("""
import gc
from tracejit.base.loading import load_module
gc.collect()
young = [[]]
module = load_module("colorsys")
functions = vars(module)
assert gc.isenabled() and gc.get_freeze_count() == 0
assert any(held is functions for held in gc.get_objects(generation=2))
young = [[]]
assert load_module("colorsys") is module  # nothing was loaded
assert any(held is young for held in gc.get_objects(generation=0))
""")


def test_frozen_objects_stay_frozen() -> None:
    _run("""
import gc
from tracejit.base.loading import load_module
gc.collect()
gc.freeze()
count = gc.get_freeze_count()
load_module("colorsys")
assert gc.get_freeze_count() == count > 0 and gc.isenabled()
""")
