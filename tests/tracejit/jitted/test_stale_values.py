"""Reads of a jitted function outside its arguments are never stale, wherever the value lies, whatever it is.

Each case is a small program. It runs eagerly and jitted, before and after a change of what it reads, and
after the change back; twice each time, so that the native entry takes a turn.
"""

from __future__ import annotations

import types

import numpy as np
import pytest

import tracejit as tj

_SETUP = """
import collections, dataclasses, functools, types, typing
class Plain: pass
class Slots:
    __slots__ = ("k", "inner")
@dataclasses.dataclass(slots=True)
class SlotData:
    k: object
@dataclasses.dataclass
class Data:
    k: object
class Point(typing.NamedTuple):
    k: object
class Base:
    def base_value(self): return self.k
class Derived(Base):
    def value(self): return super().base_value()
    @property
    def prop(self): return self.k
    @classmethod
    def of_class(cls): return cls.shared
    @staticmethod
    def of_static(): return static_value
    def __getattr__(self, name):
        if name == "dynamic": return self.k
        raise AttributeError(name)
    def __getitem__(self, key): return self.k
    def __iter__(self):
        yield self.k
    def __call__(self): return self.k
"""

#: Set-up of a program with the value `v`, change of `v`, and the function's read of it.
PLACES = {
    "global": ("k = v", "k = v", "k"),
    "attribute": ("o = Plain(); o.k = v", "o.k = v", "o.k"),
    "nested attribute": ("o = Plain(); o.sub = Plain(); o.sub.k = v", "o.sub.k = v", "o.sub.k"),
    "rebound owner": ("o = Plain(); o.k = v", "o = Plain(); o.k = v", "o.k"),
    "dict item": ("d = {'lr': v}", "d['lr'] = v", "d['lr']"),
    "dict get": ("d = {'lr': v}", "d['lr'] = v", "d.get('lr')"),
    "dict of int keys": ("d = {1: v}", "d[1] = v", "d[1]"),
    "list item": ("l = [None, v]", "l[1] = v", "l[1]"),
    "last list item": ("l = [v]", "l.append(v)", "l[-1]"),
    "tuple": ("t = (0, v)", "t = (0, v)", "t[1]"),
    "unpacked tuple": ("t = (v, 0)", "t = (v, 0)", "unpack(t)"),
    "deque": ("q = collections.deque([v])", "q[0] = v", "q[0]"),
    "slots": ("o = Slots(); o.k = v", "o.k = v", "o.k"),
    "slots in slots": ("o = Slots(); o.inner = Slots(); o.inner.k = v", "o.inner.k = v", "o.inner.k"),
    "slots dataclass": ("o = SlotData(v)", "o.k = v", "o.k"),
    "dataclass": ("o = Data(v)", "o.k = v", "o.k"),
    "named tuple": ("p = Point(v)", "p = Point(v)", "p.k"),
    "namespace": ("n = types.SimpleNamespace(k=v)", "n.k = v", "n.k"),
    "module": ("m = types.ModuleType('settings'); m.k = v", "m.k = v", "m.k"),
    "dict in a module": (
        "m = types.ModuleType('settings'); m.params = {'w': v}", "m.params['w'] = v",
        "m.params['w']",
    ),
    "class attribute": ("class C: k = v", "C.k = v", "C.k"),
    "class attribute by an instance": ("class C: k = v\no = C()", "C.k = v", "o.k"),
    "inherited class attribute": ("class B: k = v\nclass C(B): pass\no = C()", "B.k = v", "o.k"),
    "shadowed class attribute": ("class C: k = v\no = C()", "o.k = v", "o.k"),
    "method": ("o = Derived(); o.k = v", "o.k = v", "o.value()"),
    "property": ("o = Derived(); o.k = v", "o.k = v", "o.prop"),
    "class method": ("Derived.shared = v; o = Derived()", "Derived.shared = v", "o.of_class()"),
    "static method": ("static_value = v; o = Derived()", "static_value = v", "o.of_static()"),
    "__getattr__": ("o = Derived(); o.k = v", "o.k = v", "o.dynamic"),
    "__getitem__": ("o = Derived(); o.k = v", "o.k = v", "o[3]"),
    "__iter__": ("o = Derived(); o.k = v", "o.k = v", "next(iter(o))"),
    "__call__": ("o = Derived(); o.k = v", "o.k = v", "o()"),
    "getattr": ("o = Plain(); o.k = v", "o.k = v", "getattr(o, 'k')"),
    "getattr by a name made up": ("o = Plain(); o.k = v", "o.k = v", "getattr(o, 'K'.lower())"),
    "vars": ("o = Plain(); o.k = v", "o.k = v", "vars(o)['k']"),
    "helper": ("k = v\ndef helper(): return k", "k = v", "helper()"),
    "helper of a helper": ("k = v\ndef a(): return k\ndef b(): return a()", "k = v", "b()"),
    "jitted helper": ("k = v\n@tj.jit\ndef helper(x): return x * 0 + k", "k = v", "helper(x)"),
    "object in a helper": ("o = Plain(); o.k = v\ndef helper(p): return p.k", "o.k = v", "helper(o)"),
    "default argument": ("def helper(k=v): return k", "helper.__defaults__ = (v,)", "helper()"),
    "keyword-only default": ("def helper(*, k=v): return k", "helper.__kwdefaults__ = {'k': v}", "helper()"),
    "dict as default argument": ("d = {'k': v}\ndef helper(d=d): return d['k']", "d['k'] = v", "helper()"),
    "replaced helper": ("def helper(k=v): return k", "def helper(k=v): return k", "helper()"),
    "partial keyword": (
        "h = functools.partial(lambda k: k, k=v)", "h = functools.partial(lambda k: k, k=v)", "h()",
    ),
    "changed partial": ("h = functools.partial(lambda k: k, k=v)", "h.keywords['k'] = v", "h()"),
    "partial argument": (
        "h = functools.partial(lambda k: k, v)", "h = functools.partial(lambda k: k, v)", "h()",
    ),
    "keywords by stars": ("d = {'k': v}\ndef helper(k): return k", "d['k'] = v", "helper(**d)"),
    "arguments by star": ("l = [v]\ndef helper(k): return k", "l[0] = v", "helper(*l)"),
    "deep dict": (
        "d = {'a': {'b': {'c': {'d': {'e': {'f': v}}}}}}", "d['a']['b']['c']['d']['e']['f'] = v",
        "d['a']['b']['c']['d']['e']['f']",
    ),
    "long list": ("l = [0] * 6000; l[5990] = v", "l[5990] = v", "l[5990]"),
    "object in a list": ("o = Plain(); o.k = v; l = [o]", "o.k = v", "l[0].k"),
    "object in a loop": ("o = Plain(); o.k = v; l = [o]", "o.k = v", "[p.k for p in l][0]"),
    "other local name": ("o = Plain(); o.k = v", "o.k = v", "(lambda p: p.k)(o)"),
    "index by a value": ("l = [v, 0]; i = 0", "l[0] = v", "l[i]"),
    "other index": ("l = [v0, v1]; i = 0", "i = 1 - i", "l[i]"),
    "mapped": ("l = [v]", "l[0] = v", "list(map(lambda e: e, l))[0]"),
    "conditional expression": ("k = v; on = True", "k = v", "(k if on else 0)"),
    "generator": ("l = [v]", "l[0] = v", "next(e for e in l)"),
    "globals()": ("k = v", "k = v", "globals()['k']"),
    "thread-local": ("import threading; t = threading.local(); t.k = v", "t.k = v", "t.k"),
    "cached helper": (
        "@functools.lru_cache\ndef helper(k=v): return k",
        "@functools.lru_cache\ndef helper(k=v): return k", "helper()",
    ),
    "enumeration": (
        "import enum\nclass E(enum.Enum):\n    A = (v,)\ne = E.A",
        "class E(enum.Enum):\n    A = (v,)\ne = E.A", "e.value[0]",
    ),
    "default dict": ("d = collections.defaultdict(float); d['k'] = v", "d['k'] = v", "d['k']"),
    "ordered dict": ("d = collections.OrderedDict(k=v)", "d['k'] = v", "d['k']"),
    "chained map": ("d = {'k': v}; c = collections.ChainMap(d)", "d['k'] = v", "c['k']"),
    "set": ("s = {v}", "s.clear(); s.add(v)", "list(s)[0]"),
    "imported in the function": (
        "import sys; m = types.ModuleType('made_settings'); sys.modules['made_settings'] = m; m.k = v",
        "m.k = v", "imported()",
    ),
}  # fmt: skip

#: Values at first and then; and the expression that the function computes with them.
VALUES = {
    "float": (0.5, 2.25, "x * K"),
    "float in Python arithmetic": (0.5, 2.25, "x * (1 - K)"),
    "sign of zero": (0.0, -0.0, "tj.copysign(x, K)"),
    "int, float, bool": (1, 1.0, "tj.arange(3) * K"),
    "bool that decides": (True, False, "x + 1 if K else x - 1"),
    "string that decides": ("a", "b", "x + 1 if K == 'a' else x - 1"),
    "None": (None, 3.0, "x if K is None else x * K"),
    "int as a shape": (2, 3, "tj.ones(K) * x[0]"),
    "tensor": (tj.tensor([1.0, 2.0, 3.0]), tj.tensor([4.0, 5.0, 6.0]), "x * K"),
    "array": (np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), "x * K"),
    "array that NumPy computes with": (np.array([1.0, 2.0]), np.array([4.0, 5.0]), "x * np.sum(K * 2)"),
    "array copied into a tensor": (np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), "x * tj.tensor(K)"),
    "array made into a tensor": (np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), "x * tj.array(K)"),
    "shape of a tensor": (tj.ones(2), tj.ones(4), "x * K.shape[0]"),
    "value of a tensor": (tj.tensor(2.0), tj.tensor(5.0), "x * float(K)"),
    "NumPy scalar": (np.float32(0.5), np.float32(2.0), "x * K"),
    "function": (tj.sin, tj.cos, "K(x)"),
}
#: Values that a set cannot hold, or that are told apart by other means there.
_UNHASHABLE = (np.ndarray, tj.Tensor)


def _run(text: str, names: dict[str, object]) -> None:
    exec(compile(text, "made", "exec", dont_inherit=True), names)


def _program(place: str, value: str) -> types.SimpleNamespace:
    setup, change, read = PLACES[place]
    before, after, use = VALUES[value]
    names: dict[str, object] = {
        "__name__": "made", "tj": tj, "np": np, "v": before, "v0": before, "v1": after,
    }  # fmt: skip
    _run(_SETUP + setup, names)
    helpers = "def unpack(t):\n    k, _ = t\n    return k\n"
    helpers += "def imported():\n    import made_settings\n    return made_settings.k\n"
    _run(helpers + f"def f(x):\n    K = {read}\n    return {use}", names)

    def bind(number: int) -> None:
        names["v"] = (before, after)[number]
        _run(change, names)

    return types.SimpleNamespace(f=names["f"], bind=bind)


def _cases() -> list[tuple[str, str]]:
    cases = []
    for place in PLACES:
        for value, (before, _, _) in VALUES.items():
            if place == "set" and isinstance(before, _UNHASHABLE):
                continue
            if value == "function" and "class" in place and "dataclass" not in place:
                continue  # a function in a class is a method
            if place == "jitted helper" and value not in ("float", "tensor", "array", "NumPy scalar"):
                continue
            cases.append((place, value))
    return cases


@pytest.mark.parametrize(("place", "value"), _cases())
def test_jit_sees_what_eager_sees(place: str, value: str) -> None:
    program = _program(place, value)
    x = tj.tensor([1.0, 2.0, 3.0])
    jitted = tj.jit(program.f)
    for step in (None, 1, 0, 1):
        if step is not None:
            program.bind(step)
        expected = program.f(x)
        for _ in range(2):
            result = jitted(x)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))
            np.testing.assert_array_equal(np.signbit(np.asarray(result)), np.signbit(np.asarray(expected)))
