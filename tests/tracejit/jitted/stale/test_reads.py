"""Each way in which Python code reads what lies outside: a change is seen, or a warning names what is read.

A case says how what is read is set up with the value ``v``, how it is changed, and what the function reads.
It runs as Python and jitted before and after the change, and after the change back. Where it cannot be
watched, `tj.FrozenResultWarning` must name it.
"""

from __future__ import annotations

import functools
import time
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ....rotation import SEED
from .programs import Read, check, outcomes

X = np.array([1.0, 2.0, 3.0])
_OBJECTS = (
    "class C:\n    def __init__(self, n): self.n = n\n    def a(self): return self.n * (k - 1)\n"
    "    def s(self): return k\nk = v\nl = [C(1.0), C(2.0)]\nd = {'x': l[0]}; e = set(l); many = l * 200"
)

#: Setup, change, and what is read: an expression.
READS: dict[str, Read] = {
    # -- names
    "global": ("k = v", "k = v", "k"),
    "global that hides a builtin": ("", "abs = (lambda x: v) if v > 1 else builtins.abs", "abs(-2.0)"),
    "replaced builtin": (
        "def reset(): pass", "builtins.abs = (lambda x: 9.0) if v > 1 else ORIGINAL_ABS", "abs(-2.0)",
    ),
    "new builtin": ("builtins.made_k = v", "builtins.made_k = v", "made_k"),
    "closure": (
        "def make():\n    k = v\n    def get(): return k\n    def put(n):\n        nonlocal k\n"
        "        k = n\n"
        "    return get, put\nget, put = make()",
        "put(v)", "get()",
    ),
    "deleted global": (
        "k = v\ndef read():\n    try: return k\n    except NameError: return 5.0",
        "if v > 1: del k\nelse: k = v", "read()",
    ),
    # -- modules
    "replaced function of math": (
        "", "math.floor = (lambda x: 9.0) if v > 1 else ORIGINAL_FLOOR", "math.floor(2.5)",
    ),
    "constant of math": ("", "math.pi = 3.0 if v > 1 else ORIGINAL_PI", "math.pi"),
    "replaced function of numpy": (
        "", "np.hypot = (lambda x, y: 9.0) if v > 1 else ORIGINAL_HYPOT", "np.hypot(3.0, 4.0)",
    ),
    "name taken from math": (
        "from math import floor", "floor = (lambda x: 9.0) if v > 1 else ORIGINAL_FLOOR", "floor(2.5)",
    ),
    "replaced function of the library": (
        "", "tj.square = (lambda x: x * 5.0) if v > 1 else ORIGINAL_SQUARE", "tj.square(2.0)",
    ),
    "replaced method of the standard library": (
        "q = fractions.Fraction(1, 2)",
        "fractions.Fraction.limit_denominator = (lambda self, n: 9.0) if v > 1 else ORIGINAL_LIMIT",
        "float(q.limit_denominator(10))",
    ),
    "module attribute": ("m = types.ModuleType('m'); m.k = v", "m.k = v", "m.k"),
    "module __getattr__": (
        "k = v\nm = types.ModuleType('m'); m.__getattr__ = lambda name: k", "k = v", "m.anything",
    ),
    "attribute set in a library's module": ("string.made_k = v", "string.made_k = v", "string.made_k"),
    "sys.modules": (
        "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m",
        "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m",
        "sys.modules['made_reads'].k",
    ),
    # -- attributes
    "instance attribute": ("o = Plain(); o.k = v", "o.k = v", "o.k"),
    "class attribute": ("class C: k = v", "C.k = v", "C.k"),
    "slots": ("class C:\n    __slots__ = ('k',)\no = C(); o.k = v", "o.k = v", "o.k"),
    "property": ("class C:\n    p = property(lambda self: k)\nk = v\no = C()", "k = v", "o.p"),
    "replaced property": (
        "class C:\n    p = property(lambda self: v0)\no = C()",
        "C.p = property((lambda self: v0) if v == v0 else (lambda self: v1))", "o.p",
    ),
    "property of the metaclass": (
        "class M(type):\n    @property\n    def p(cls): return k\nclass C(metaclass=M): pass\nk = v",
        "k = v", "C.p",
    ),
    "attribute of the metaclass": (
        "class M(type): p = v\nclass C(metaclass=M): pass", "M.p = v", "C.p",
    ),
    "method of the metaclass": (
        "class M(type):\n    def p(cls): return k\nclass C(metaclass=M): pass\nk = v", "k = v", "C.p()",
    ),
    "__getattr__ of the metaclass": (
        "class M(type):\n    def __getattr__(cls, name): return k\nclass C(metaclass=M): pass\nk = v",
        "k = v", "C.anything",
    ),
    "__getitem__ of the metaclass": (
        "class M(type):\n    def __getitem__(cls, name): return k\nclass C(metaclass=M): pass\nk = v",
        "k = v", "C[1]",
    ),
    "__len__ of the metaclass": (
        "class M(type):\n    def __len__(cls): return int(k)\nclass C(metaclass=M): pass\nk = v",
        "k = v", "len(C)",
    ),
    "__call__ of the metaclass": (
        "class M(type):\n    def __call__(cls): return k\nclass C(metaclass=M): pass\nk = v", "k = v", "C()",
    ),
    "__iter__ of the metaclass": (
        "class M(type):\n    def __iter__(cls): return iter([k])\nclass C(metaclass=M): pass\nk = v",
        "k = v", "list(C)[0]",
    ),
    "__contains__ of the metaclass": (
        "class M(type):\n    def __contains__(cls, e): return k > 1\nclass C(metaclass=M): pass\nk = v",
        "k = v", "float(3 in C)",
    ),
    "__instancecheck__": (
        "class M(type):\n    def __instancecheck__(cls, o): return k > 1\nclass C(metaclass=M): pass\nk = v",
        "k = v", "float(isinstance(3, C))",
    ),
    "__instancecheck__ and __str__ of the metaclass": (
        "class M(type):\n    def __instancecheck__(cls, o): return True\n"
        "    def __str__(cls): return str(k)\nclass C(metaclass=M): pass\nk = v",
        "k = v", "isinstance(3, C) * float('%s' % C)",
    ),
    "__subclasshook__ by register": (
        "class C(abc.ABC): pass\nclass D: pass\no = D()", "if v > 1: C.register(D)",
        "float(isinstance(o, C))",
    ),
    "__class_getitem__": (
        "class C:\n    def __class_getitem__(cls, i): return k\nk = v", "k = v", "C[0]",
    ),
    "__getattr__": ("class C:\n    def __getattr__(self, name): return k\nk = v\no = C()", "k = v", "o.any"),
    "__getattribute__": (
        "class C:\n    def __getattribute__(self, name): return k\nk = v\no = C()", "k = v", "o.any",
    ),
    "descriptor": (
        "class D:\n    def __get__(self, o, cls): return k\nclass C: p = D()\nk = v\no = C()", "k = v", "o.p",
    ),
    "data descriptor": (
        "class D:\n    def __get__(self, o, cls): return k\n    def __set__(self, o, value): pass\n"
        "class C: p = D()\nk = v\no = C()", "k = v", "o.p",
    ),
    "descriptor with state": (
        "class D:\n    def __get__(self, o, cls): return self.k\nd = D(); d.k = v\nclass C: p = d\no = C()",
        "d.k = v", "o.p",
    ),
    "dynamic class attribute": (
        "class C:\n    p = types.DynamicClassAttribute(lambda self: k)\nk = v\no = C()", "k = v", "o.p",
    ),
    "replaced class": (
        "class A: p = v0\nclass B: p = v1\no = A()", "o.__class__ = A if v == v0 else B", "o.p",
    ),
    "bases": (
        "class A: p = v0\nclass B: p = v1\nclass R(A): pass\no = R()",
        "R.__bases__ = (A if v == v0 else B,)", "o.p",
    ),
    "dataclass default": (
        "@dataclasses.dataclass\nclass C:\n    k: float = 0.5", "C.__init__.__defaults__ = (v,)", "C().k",
    ),
    "enum attribute": ("class E(enum.Enum):\n    A = 1\nE.A.k = v", "E.A.k = v", "E.A.k"),
    "enum by value": (
        "class E(enum.Enum):\n    A = 0.5\n    B = 2.25\nk = v", "k = v", "E(k).value",
    ),
    "enum by name": (
        "class E(enum.Enum):\n    A = 0.5\n    B = 2.25\nk = 'A'", "k = 'A' if v < 1 else 'B'", "E[k].value",
    ),
    "vars": ("o = Plain(); o.k = v", "o.k = v", "vars(o)['k']"),
    "__dict__": ("o = Plain(); o.k = v", "o.k = v", "o.__dict__['k']"),
    "hasattr": ("o = Plain()", "if v > 1: o.k = 1\nelse: del o.k", "(2.0 if hasattr(o, 'k') else 3.0)"),
    "dir": (
        "o = Plain()", "if v > 1: o.k = 1\nelse: del o.k", "(2.0 if 'k' in dir(o) else 3.0)",
    ),
    "__dir__": (
        "class C:\n    def __dir__(self): return ['a'] * int(k * 4)\nk = v\no = C()", "k = v",
        "float(len(dir(o)))",
    ),
    "__dir__ of a new object": (
        "class C:\n    def __dir__(self): return ['a'] * int(k * 4)\nk = v", "k = v", "float(len(dir(C())))",
    ),
    "__dir__ of the metaclass": (
        "class M(type):\n    def __dir__(cls): return ['a'] * int(k * 4)\nclass C(metaclass=M): pass\nk = v",
        "k = v", "float(len(dir(C)))",
    ),
    "__dir__ of a module": (
        "k = v\nm = types.ModuleType('m'); m.__dir__ = lambda: ['a'] * int(k * 4)", "k = v",
        "float(len(dir(m)))",
    ),
    "dir of a class": (
        "class C: pass", "if v > 1: C.k = 1\nelse: del C.k", "(2.0 if 'k' in dir(C) else 3.0)",
    ),
    "dir of an object whose class changes": (
        "class C: pass\no = C()", "if v > 1: C.k = 1\nelse: del C.k", "(2.0 if 'k' in dir(o) else 3.0)",
    ),
    "dir of a module": (
        "m = types.ModuleType('m')", "if v > 1: m.k = 1\nelse: del m.k", "(2.0 if 'k' in dir(m) else 3.0)",
    ),
    "__repr__ by a format": (
        "class C:\n    def __repr__(self): return str(k)\nk = v\no = C()", "k = v", "float(f'{o!r}')",
    ),
    "__repr__ by a percent sign": (
        "class C:\n    def __repr__(self): return str(k)\nk = v\no = C()", "k = v", "float('%r' % o)",
    ),
    "__repr__ by str": (
        "class C:\n    def __repr__(self): return str(k)\nk = v\no = C()", "k = v", "float(str(o))",
    ),
    "__repr__ of an element": (
        "class C:\n    def __repr__(self): return str(k)\nk = v\no = [C()]", "k = v",
        "float(str(o)[1:-1])",
    ),
    "__sizeof__": (
        "class C:\n    def __sizeof__(self): return int(k * 4)\nk = v\no = C()", "k = v",
        "float(sys.getsizeof(o))",
    ),
    "__reduce__": (
        "class C:\n    def __reduce__(self): return float, (k,)\nk = v\no = C()", "k = v", "copy.copy(o)",
    ),
    "__getstate__": (
        "class C:\n    def __getstate__(self): return {'k': k}\nk = v\no = C()", "k = v", "copy.copy(o).k",
    ),
    "__setstate__": (
        "class C:\n    def __init__(self): self.n = 1\n    def __setstate__(self, n): self.k = k\n"
        "k = v\no = C()", "k = v", "copy.copy(o).k",
    ),
    "operator.attrgetter": ("o = Plain(); o.k = v; g = operator.attrgetter('k')", "o.k = v", "g(o)"),
    "operator.itemgetter": ("d = {'k': v}; g = operator.itemgetter('k')", "d['k'] = v", "g(d)"),
    "operator.methodcaller": (
        "class C:\n    def m(self): return k\nk = v\no = C(); g = operator.methodcaller('m')", "k = v",
        "g(o)",
    ),
    # -- special methods
    **{
        f"__{name}__": (
            f"class C:\n    def __{name}__(self{more}): return {given}\nk = v\no = C()", "k = v", read,
        )
        for name, more, given, read in (
            ("call", "", "k", "o()"), ("len", "", "int(k * 4)", "float(len(o))"),
            ("bool", "", "k > 1", "(2.0 if o else 3.0)"), ("iter", "", "iter([k])", "[e for e in o][0]"),
            ("contains", ", e", "k > 1", "(2.0 if 1 in o else 3.0)"), ("getitem", ", i", "k", "o[0]"),
            ("index", "", "int(k > 1)", "[2.0, 3.0][o]"), ("int", "", "int(k * 4)", "float(int(o))"),
            ("float", "", "k", "float(o)"), ("eq", ", other", "k > 1", "(2.0 if o == 3 else 3.0)"),
            ("lt", ", other", "k > 1", "(2.0 if o < 3 else 3.0)"), ("add", ", other", "k", "o + 1"),
            ("radd", ", other", "k", "1 + o"), ("mul", ", other", "k", "o * 2"), ("neg", "", "k", "-o"),
            ("abs", "", "k", "abs(o)"), ("round", "", "k", "round(o)"), ("str", "", "str(k)",
            "float(str(o))"),
            ("repr", "", "str(k)", "float(repr(o))"), ("format", ", s", "str(k)", "float(f'{o}')"),
            ("hash", "", "int(k * 4)", "float(hash(o))"), ("enter", "", "k", "entered(o)"),
            ("reversed", "", "iter([k])", "next(reversed(o))"), ("next", "", "k", "next(o)"),
            ("missing", ", i", "k", "o[0]"), ("divmod", ", i", "(k, k)", "divmod(o, 2)[0]"),
            ("pow", ", i", "k", "o ** 2"), ("matmul", ", i", "k", "o @ 2"), ("and", ", i", "k", "o & 2"),
            ("invert", "", "k", "~o"), ("floor", "", "k", "math.floor(o)"), ("trunc", "", "k",
            "math.trunc(o)"),
            ("length_hint", "", "int(k * 4)", "float(operator.length_hint(o))"),
            ("copy", "", "[k]", "copy.copy(o)[0]"), ("fspath", "", "str(k)", "float(os.fspath(o))"),
            ("array", ", dtype=None, copy=None", "np.array([k])", "np.asarray(o)[0]"),
        )
        if name not in ("missing", "next", "enter")
    },
    "__missing__": ("class C(dict):\n    def __missing__(self, i): return k\nk = v\no = C()", "k = v",
        "o[0]"),
    "__next__": (
        "class C:\n    def __iter__(self): return self\n    def __next__(self): return k\nk = v\no = C()",
        "k = v", "next(o)",
    ),
    "__enter__": (
        "class C:\n    def __enter__(self): return k\n    def __exit__(self, *a): pass\nk = v\no = C()\n"
        "def entered(o):\n    with o as e: return e", "k = v", "entered(o)",
    ),
    "__new__": ("class C:\n    def __new__(cls): return k\nk = v", "k = v", "C()"),
    "__init__": ("class C:\n    def __init__(self): self.k = k\nk = v", "k = v", "C().k"),
    "__init_subclass__": (
        "class C:\n    def __init_subclass__(cls): cls.k = k\nk = v\ndef made():\n    class D(C): pass\n"
        "    return D.k", "k = v", "made()",
    ),
    "__eq__ and __hash__ of a key": (
        "class E:\n    def __init__(self, n): self.n = n\n    def __hash__(self): return 1\n"
        "    def __eq__(self, other): return k > 1\nk = v\nd = {E(1): 2.0}", "k = v", "d.get(E(2), 3.0)",
    ),
    "__eq__ of elements": (
        "class K:\n    def __eq__(self, other): return k > 1\n    __hash__ = None\nk = v\nl = [K()]",
        "k = v", "(2.0 if 5 in l else 3.0)",
    ),
    "__lt__ in sorted": (
        "class K:\n    def __init__(self, n): self.n = n\n"
        "    def __lt__(self, other): return (self.n < other.n) == (k > 1)\n"
        "k = v\nl = [K(1.0), K(2.0)]", "k = v", "sorted(l)[0].n",
    ),
    "key of sorted": ("l = [1.0, 2.0]\nk = v", "k = v", "sorted(l, key=lambda e: e * (k - 1))[0]"),
    "__length__ of a sequence that reads a global": (
        "class C:\n    def __len__(self): return 2 if k > 1 else 1\n    def __getitem__(self, i):\n"
        "        if i >= len(self): raise IndexError\n        return 1.5\nk = v\no = C()", "k = v", "sum(o)",
    ),
    # -- functions
    "default": ("def h(k=v): return k", "h.__defaults__ = (v,)", "h()"),
    "code": (
        "def h(): return v0\ndef g(): return v1", "h.__code__, g.__code__ = g.__code__, h.__code__", "h()",
    ),
    "attribute of a function": ("def h(): return h.k\nh.k = v", "h.k = v", "h()"),
    "partial": ("h = functools.partial(lambda k: k, v)", "h = functools.partial(lambda k: k, v)", "h()"),
    "partialmethod": (
        "class C:\n    def m(self, n): return k * n\n    p = functools.partialmethod(m, 2.0)\nk = v\no = C()",
        "k = v", "o.p()",
    ),
    "wraps": (
        "def deco(f):\n    @functools.wraps(f)\n    def inner(): return f() * k\n    return inner\n"
        "@deco\ndef h(): return 2.0\nk = v", "k = v", "h()",
    ),
    "singledispatch": (
        "@functools.singledispatch\ndef h(e): return 2.0\n@h.register\ndef _(e: str): return k\nk = v",
        "k = v", "h('a')",
    ),
    "singledispatch after register": (
        "@functools.singledispatch\ndef h(e): return v0",
        "h.register(str, (lambda e: v0) if v == v0 else (lambda e: v1))",
        "h('a')",
    ),
    "singledispatchmethod after register": (
        "class C:\n    @functools.singledispatchmethod\n    def h(self, e): return v0\no = C()",
        "C.__dict__['h'].register(str, (lambda self, e: v0) if v == v0 else (lambda self, e: v1))",
        "o.h('a')",
    ),
    "cache after cache_clear": (
        "@functools.cache\ndef h(): return k\nk = v", "k = v; h.cache_clear()", "h()",
    ),
    "cache that is not cleared": ("@functools.cache\ndef h(): return k\nk = v", "k = v", "h()"),
    "lru_cache after cache_clear": (
        "@functools.lru_cache(maxsize=3)\ndef h(n): return k * n\nk = v", "k = v; h.cache_clear()", "h(2.0)",
    ),
    "cache cleared after the change": (
        "@functools.cache\ndef h(): return k\nk, then = v, [v]",
        "k = v; then.append(v)\nif len(then) > 2: h.cache_clear()", "h()",
    ),
    "lru_cache cleared after the change": (
        "@functools.lru_cache\ndef h(n): return k * n\nk, then = v, [v]",
        "k = v; then.append(v)\nif len(then) > 2: h.cache_clear()", "h(2.0)",
    ),
    "cache cleared and filled again": (
        "@functools.cache\ndef h(n): return k * n\nk, then = v, [v]",
        "k = v; then.append(v)\nif len(then) > 2:\n    h.cache_clear()\n    for _ in range(9): h(2)", "h(2)",
    ),
    "lru_cache that others fill": (
        "@functools.lru_cache(maxsize=1)\ndef h(n): return k * n\nk, then = v, [v]",
        "k = v; then.append(v)\nif len(then) > 2: h(5)", "h(2)",
    ),
    "lru_cache that others fill, and again": (
        "@functools.lru_cache(maxsize=1)\ndef h(n): return k * n\nk, then = v, [v]",
        "k = v; then.append(v)\nif len(then) > 2: h(5), h(2)", "h(2)",
    ),
    "cached method cleared after the change": (
        "class C:\n    @functools.cache\n    def h(self, n): return k * n\no = C()\nk, then = v, [v]",
        "k = v; then.append(v)\nif len(then) > 2: C.h.cache_clear()", "o.h(2)",
    ),
    "cache in a cache cleared after the change": (
        "@functools.cache\ndef g(): return k\n@functools.cache\ndef h(n): return g() * n\n"
        "k, then = v, [v]",
        "k = v; then.append(v)\nif len(then) > 2: g.cache_clear(); h.cache_clear()", "h(2)",
    ),
    "cache handed over": (
        "@functools.cache\ndef h(n): return k * n\nk, then = v, [v]",
        "k = v; then.append(v)\nif len(then) > 2: h.cache_clear()", "sum(map(h, (2, 3)))",
    ),
    "cached_property": (
        "class C:\n    @functools.cached_property\n    def p(self): return k\nk = v\no = C()",
        "k = v; o.__dict__.pop('p', None)", "o.p",
    ),
    "reduce": ("l = [v, 2.0]", "l[0] = v", "functools.reduce(operator.add, l)"),
    "cmp_to_key": (
        "l = [1.0, 2.0]\nk = v\nkey = functools.cmp_to_key(lambda a, b: (a - b) * (k - 1))", "k = v",
        "sorted(l, key=key)[0]",
    ),
    "generator function": ("def h():\n    yield k\nk = v", "k = v", "next(h())"),
    "context manager": (
        "@contextlib.contextmanager\ndef h():\n    yield k\nk = v\ndef entered():\n"
        "    with h() as e: return e",
        "k = v", "entered()",
    ),
    "total_ordering": (
        "@functools.total_ordering\nclass C:\n    def __eq__(self, o): return False\n"
        "    def __lt__(self, o): return k > 1\nk = v\no = C()", "k = v", "(2.0 if o <= 3 else 3.0)",
    ),
    # -- functions that others call with objects
    **{
        name: (_OBJECTS, "k = v", read)
        for name, read in (
            ("key of sorted that calls a method", "sorted(l, key=lambda o: o.a())[0].n"),
            ("key that calls a method of many", "sorted(many, key=lambda o: o.a())[0].n"),
            ("key that calls a method of elements of a set", "sorted(e, key=lambda o: o.a())[0].n"),
            ("key of max that calls a method", "max(l, key=lambda o: o.a()).n"),
            ("key of items that calls a method", "sorted(d.items(), key=lambda p: p[1].a())[0][1].s()"),
            ("reduce that calls a method", "functools.reduce(lambda t, o: t + o.s(), l, 0.0)"),
            ("groupby that calls a method", "next(itertools.groupby(l, key=lambda o: o.s()))[0]"),
            (
                "takewhile that calls a method",
                "float(len(list(itertools.takewhile(lambda o: o.a() > 0, l))))",
            ),
            (
                "accumulate that calls a method",
                "list(itertools.accumulate(l, lambda t, o: t + o.s(), initial=0.0))[-1]",
            ),
            ("partial that calls a method", "functools.partial(lambda o: o.s(), l[0])()"),
            (
                "map of a partial that calls a method",
                "list(map(functools.partial(lambda o, q: o.s() + q, l[0]), [1.0]))[0]",
            ),
            ("json that calls a method", "float(json.dumps(l[0], default=lambda o: o.s()))"),
            ("methodcaller that is made there", "list(map(operator.methodcaller('s'), l))[0]"),
        )
    },
    "attrgetter that is made there": (
        "class C:\n    def __getattr__(self, name): return k\nk = v\no = C()", "k = v",
        "operator.attrgetter('z')(o)",
    ),
    # -- objects behind others
    "weak reference": ("o = Plain(); o.k = v; r = weakref.ref(o)", "o.k = v", "r().k"),
    "weak reference of another": (
        "o = Plain(); o.k = v; r = weakref.ref(o)", "o = Plain(); o.k = v; r = weakref.ref(o)", "r().k",
    ),
    "dead weak reference": (
        "o = Plain(); r = weakref.ref(o)",
        "o = None if v > 1 else Plain(); r = r if v > 1 else weakref.ref(o)",
        "(2.0 if r() is None else 3.0)",
    ),
    "weak proxy": ("o = Plain(); o.k = v; r = weakref.proxy(o)", "o.k = v", "r.k"),
    "weak method": (
        "class C:\n    def m(self): return self.k\no = C(); o.k = v; r = weakref.WeakMethod(o.m)",
        "o.k = v", "r()()",
    ),
    "weak value dictionary": (
        "o = Plain(); o.k = v; d = weakref.WeakValueDictionary(a=o)", "o.k = v", "d['a'].k",
    ),
    "weak key dictionary": (
        "o = Plain(); d = weakref.WeakKeyDictionary(); d[o] = v", "d[o] = v", "d[o]",
    ),
    "context variable": (
        "c = contextvars.ContextVar('c'); c.set(v)", "c.set(v)", "c.get()",
    ),
    "context variable with a default": (
        "c = contextvars.ContextVar('c', default=v)", "c.set(v)", "c.get()",
    ),
    "context variable in an object": (
        "o = Plain(); o.c = contextvars.ContextVar('c'); o.c.set(v)", "o.c.set(v)", "o.c.get(3.0)",
    ),
    "copied context": (
        "c = contextvars.ContextVar('c'); c.set(v)", "c.set(v)", "contextvars.copy_context()[c]",
    ),
    "thread-local": ("t = threading.local(); t.k = v", "t.k = v", "t.k"),
    "mapping proxy": ("d = {'k': v}; m = types.MappingProxyType(d)", "d['k'] = v", "m['k']"),
    "dict view": ("d = {'k': v}; m = d.values()", "d['k'] = v", "list(m)[0]"),
    "dict items view": ("d = {'k': v}; m = d.items()", "d['k'] = v", "dict(m)['k']"),
    "ChainMap": ("d = {'k': v}; c = collections.ChainMap({}, d)", "d['k'] = v", "c['k']"),
    "Counter": ("c = collections.Counter(a=1)", "c['a'] = int(v * 4)", "float(c['a'])"),
    "defaultdict factory": (
        "d = collections.defaultdict(lambda: k)\nk = v", "k = v; d.clear()", "d['new']",
    ),
    "deque": ("q = collections.deque([v])", "q[0] = v", "q[0]"),
    "UserDict": ("u = collections.UserDict(k=v)", "u['k'] = v", "u['k']"),
    "UserList": ("u = collections.UserList([v])", "u[0] = v", "u[0]"),
    "bytearray": ("b = bytearray([1])", "b[0] = int(v * 4)", "float(b[0])"),
    "memoryview": ("b = bytearray([1]); m = memoryview(b)", "b[0] = int(v * 4)", "float(m[0])"),
    "StringIO": ("s = io.StringIO('1')", "s = io.StringIO(str(v))", "float(s.getvalue())"),
    "Decimal context": (
        "decimal.getcontext().prec = 10", "decimal.getcontext().prec = 3 if v > 1 else 10",
        "float(decimal.Decimal(1) / 3)",
    ),
    "iterator": ("i = itertools.cycle([v0, v1])", "pass", "next(i)"),
    "itertools.count": ("i = itertools.count(1.0)", "pass", "next(i)"),
    "generator object": ("i = (e for e in [1.0] * 1 + [2.0] * 50)", "pass", "next(i)"),
    "regular expression": ("p = re.compile('a')", "p = re.compile('a' if v < 1 else 'b')",
        "float(bool(p.match('a')))"),
    "named tuple": (
        "P = collections.namedtuple('P', 'k'); p = P(v)", "p = P(v)", "p.k",
    ),
    "struct sequence": ("", "", "float(sys.version_info[0])"),
    # -- the process
    "os.environ": ("os.environ['MADE_K'] = str(v)", "os.environ['MADE_K'] = str(v)",
        "float(os.environ['MADE_K'])"),
    "os.environ.get": (
        "os.environ['MADE_K'] = str(v)", "os.environ['MADE_K'] = str(v)",
        "float(os.environ.get('MADE_K', '0'))",
    ),
    "os.getenv": ("os.environ['MADE_K'] = str(v)", "os.environ['MADE_K'] = str(v)",
        "float(os.getenv('MADE_K'))"),
    "in os.environ": (
        "os.environ['MADE_K'] = '1'",
        "os.environ.pop('MADE_K', 0) if v > 1 else os.environ.setdefault('MADE_K', '1')",
        "(2.0 if 'MADE_K' in os.environ else 3.0)",
    ),
    "time.time": ("", "", "time.time()"),
    "time.perf_counter": ("", "", "time.perf_counter()"),
    "datetime.now": ("", "", "datetime.datetime.now().timestamp()"),
    "os.getcwd": ("", "os.chdir('/' if v > 1 else HOME)", "float(len(os.getcwd()))"),
    "file": (
        "pathlib.Path(FILE).write_text(str(v))", "pathlib.Path(FILE).write_text(str(v))",
        "float(open(FILE).read())",
    ),
    "pathlib": (
        "pathlib.Path(FILE).write_text(str(v))", "pathlib.Path(FILE).write_text(str(v))",
        "float(pathlib.Path(FILE).read_text())",
    ),
    "os.path.exists": (
        "pathlib.Path(FILE).write_text('')",
        "pathlib.Path(FILE).unlink(missing_ok=True) if v > 1 else pathlib.Path(FILE).write_text('')",
        "(2.0 if os.path.exists(FILE) else 3.0)",
    ),
    "sys.flags": ("", "", "float(sys.flags.optimize)"),
    "recursion limit": (
        "sys.setrecursionlimit(1000)", "sys.setrecursionlimit(1000 if v < 1 else 1100)",
        "float(sys.getrecursionlimit())",
    ),
    "numpy error state": (
        "np.seterr(divide='ignore')", "np.seterr(divide='ignore' if v < 1 else 'warn')",
        "(2.0 if np.geterr()['divide'] == 'warn' else 3.0)",
    ),
    "numpy print options": (
        "np.set_printoptions(precision=8)", "np.set_printoptions(precision=8 if v < 1 else 3)",
        "float(np.get_printoptions()['precision'])",
    ),
    "logging level": (
        "log = logging.getLogger('made')", "log.setLevel(10 if v > 1 else 30)", "float(log.isEnabledFor(10))",
    ),
    "inspect.signature": (
        "def h(a, b=1): pass", "def h(a, b=1, c=2): pass" , "float(len(inspect.signature(h).parameters))",
    ),
    "inspect.getmembers": (
        "class C: k = v", "C.k = v", "dict(inspect.getmembers(C))['k']",
    ),
    "caller's frame": ("k = v", "k = v", "sys._getframe().f_globals['k']"),
    "globals()": ("k = v", "k = v", "globals()['k']"),
    "eval": ("k = v", "k = v", "eval('k')"),
    "warnings filters": ("", "", "float(len(warnings.filters) > -1)"),
    "default dtype": (
        "tj.set_default_dtype(tj.float64)", "tj.set_default_dtype(tj.float64 if v < 1 else tj.float32)",
        "float(tj.ones(1).dtype == tj.float32)",
    ),
    "json": ("s = '[0.5]'", "s = '[%r]' % v", "json.loads(s)[0]"),
    "copy": ("o = Plain(); o.k = v", "o.k = v", "copy.copy(o).k"),
    "deepcopy": ("o = Plain(); o.k = [v]", "o.k[0] = v", "copy.deepcopy(o).k[0]"),
    "type annotations": (
        "class C: k: float = 0.5", "C.__annotations__['n'] = int\nif v < 1: del C.__annotations__['n']",
        "float(len(typing.get_type_hints(C)))",
    ),
    "__subclasses__": (
        "class C: pass\nkept = []", "kept = [type('D', (C,), {})] if v > 1 else []\nimport gc; gc.collect()",
        "float(len(C.__subclasses__()))",
    ),
    "id": ("a = Plain(); b = Plain(); o = a", "o = a if v < 1 else b", "(2.0 if id(o) == id(a) else 3.0)"),
    "string": ("s = 'a'", "s = 'a' if v < 1 else 'bb'", "float(len(s))"),
    "bytes": ("s = b'a'", "s = b'a' if v < 1 else b'bb'", "float(len(s))"),
    "frozenset": ("s = frozenset([v])", "s = frozenset([v])", "max(s)"),
    "range": ("r = range(3)", "r = range(3 if v < 1 else 4)", "float(sum(r))"),
    "slice": ("r = slice(0, 2); l = [1.0, 2.0, 4.0]", "r = slice(0, 2 if v < 1 else 3)", "sum(l[r])"),
    "Ellipsis or None": ("r = None", "r = None if v < 1 else ...", "(2.0 if r is ... else 3.0)"),
    "complex number": ("c = complex(v)", "c = complex(v)", "c.real"),
    "decimal number": ("c = decimal.Decimal(v)", "c = decimal.Decimal(v)", "float(c)"),
    "fraction": ("c = fractions.Fraction(v)", "c = fractions.Fraction(v)", "float(c)"),
    "datetime": (
        "c = datetime.timedelta(seconds=v)", "c = datetime.timedelta(seconds=v)", "c.total_seconds()",
    ),
    "match": (
        "class P:\n    __match_args__ = ('k',)\np = P(); p.k = v\ndef matched(p):\n    match p:\n"
        "        case P(k=0.5): return 2.0\n        case _: return 3.0", "p.k = v", "matched(p)",
    ),
}  # fmt: skip

#: Reads that cannot be watched, and the words by which the warning names them.
TOLD = {
    "copied context": "contextvars.copy_context()",
    "bytearray": "b: the elements of an object of bytearray",
    "memoryview": "m: the elements of an object of memoryview",
    "StringIO": "s: what an object of StringIO holds",
    "iterator": "next()",
    "itertools.count": "next()",
    "generator object": "next()",
    "time.time": "time.time()",
    "time.perf_counter": "time.perf_counter()",
    "datetime.now": "datetime.now()",
    "file": "io.open()",
    "pathlib": "pathlib.read_text()",
    "os.path.exists": "genericpath.exists()",
    "caller's frame": "sys._getframe()",
    "eval": "what eval reads",
    "__subclasses__": "C.__subclasses__()",
}
#: Names that are not watched, according to docs/captures.md: in NumPy, in this library, in Python's classes.
CONSTANT = (
    "replaced function of numpy",
    "replaced function of the library",
    "replaced method of the standard library",
)
#: Reads with equal values before and after.
STEADY = ("cache that is not cleared", "struct sequence", "sys.flags", "warnings filters")


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", [name for name in READS if name not in CONSTANT])
def test_a_change_is_seen_or_told_of(name: str, tmp_path: Any) -> None:
    check(READS[name], tmp_path, TOLD.get(name), steady=name in STEADY)


@pytest.mark.parametrize("name", CONSTANT)
def test_what_is_taken_for_a_constant(name: str, tmp_path: Any) -> None:
    results, _ = outcomes(READS[name], tmp_path)
    assert len({result.tobytes() for _, result in results}) == 1


def test_a_warning_comes_once() -> None:
    @tj.jit
    def now(x: Any) -> Any:
        return x * time.time()

    with pytest.warns(tj.FrozenResultWarning, match=r"now: time\.time\(\) runs while"):
        now(X)
    now(X)  # where a warning is an error


def test_a_weak_reference_is_not_held() -> None:
    class Target:
        k = 2.0

    target = Target()
    reference = weakref.ref(target)
    jitted = tj.jit(lambda x: x if reference() is None else x * reference().k)
    np.testing.assert_array_equal(jitted(X), 2 * X)
    del target
    assert reference() is None
    np.testing.assert_array_equal(jitted(X), X)


@pytest.mark.parametrize("maxsize", [None, 8])
def test_new_entries_of_a_cache_trace_nothing(maxsize: int | None) -> None:
    @functools.lru_cache(maxsize=maxsize)
    def rate(n: int) -> float:
        return n * 0.5

    jitted = tj.jit(lambda x: x * rate(3))
    np.testing.assert_array_equal(jitted(X), 1.5 * X)
    for n in range(4, 8):
        rate(n)
        np.testing.assert_array_equal(jitted(X), 1.5 * X)
    assert rate.cache_info().hits == 0  # no trace asked for it again
    rate.cache_clear()
    np.testing.assert_array_equal(jitted(X), 1.5 * X)
    assert rate.cache_info().misses == 1


def _walk(seed: int) -> None:
    """Random calls, changes, clears and evictions: a jitted function gives what Python then gives."""
    random = np.random.default_rng(seed)
    maxsize = (None, 1, 2, 3, 128)[int(random.integers(5))]
    interned = bool(random.integers(2))
    scale = 3

    @functools.lru_cache(maxsize=maxsize)
    def rate(n: int) -> float:
        return int(scale > n) if interned else scale * 0.5 * n

    functions = [lambda x: x * rate(2), lambda x: x * rate(2) + rate(4)]
    jitted = [tj.jit(function) for function in functions]
    done = []
    for _ in range(40):
        step, key = int(random.integers(6)), int(random.integers(1, 7))
        done.append((step, key))
        if step == 0:
            scale = key
        elif step == 1:
            rate(key)
        elif step == 2 and key < 3:
            rate.cache_clear()
        else:
            which = key % 2 if maxsize != 1 else 0  # two keys would evict each other in every call
            result = np.asarray(jitted[which](X))
            # a call that traced has filled the cache, another one has left it as it was
            np.testing.assert_array_equal(result, functions[which](X), f"seed {seed}, steps {done}")


@pytest.mark.parametrize("seed", range(SEED, SEED + 7))
def test_a_walk_through_a_cache(seed: int) -> None:
    _walk(seed)
