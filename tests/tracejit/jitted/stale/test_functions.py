"""Reads of functions: a change of defaults, code, cells and partial arguments, and of caches, is seen."""

from __future__ import annotations

from typing import Any

import pytest

from .programs import Read, check

_SETUP_0 = "def mk():\n    k = v0\n    def get(): return k\n    return get\nh = mk()"
#: Setup, change, and what is read: an expression.
READS: dict[str, Read] = {
    '__kwdefaults__': ('def h(*, k=v): return k', "h.__kwdefaults__ = {'k': v}", 'h()'),
    '__kwdefaults__ item': ('def h(*, k=v): return k', "h.__kwdefaults__['k'] = v", 'h()'),
    '__defaults__ None': (
        'def h(*a): return k(*a)\ndef k(n=v0): return n',
        'k.__defaults__ = (v,)',
        'h()',
    ),
    '__defaults__ added': ('def h(n=v0): return n', 'h.__defaults__ = (v,) ', '(lambda: h())()'),
    '__kwdefaults__ added': ('def h(n=v0, *, z=0.0): return n + z', "h.__kwdefaults__ = {'z': v}", 'h()'),
    'defaults longer': (
        (
            'def h(a, b=1.0): return a + b\ndef g(*a):\n    try: return h(*a)\n'
            '    except TypeError: return 9.0'
        ),
        'h.__defaults__ = (v, 1.0) if v > 1 else (1.0,)',
        'g()',
    ),
    '__code__': (
        'def h(): return v0\ndef g(): return v1\nhc, gc_ = h.__code__, g.__code__',
        'h.__code__ = hc if v < 1 else gc_',
        'h()',
    ),
    '__code__.replace': (
        'def h(): return 0.5\nhc=h.__code__',
        'h.__code__ = hc.replace(co_consts=(None, v))',
        'h()',
    ),
    '__code__ of method': (
        'class C:\n    def m(self): return v0\ndef g(self): return v1\nmc = C.m.__code__\no=C()',
        'C.m.__code__ = mc if v < 1 else g.__code__',
        'o.m()',
    ),
    '__code__ of property': (
        (
            'class C:\n    @property\n    def m(self): return v0\ndef g(self): return v1\n'
            'mc = C.m.fget.__code__\no=C()'
        ),
        'C.m.fget.__code__ = mc if v < 1 else g.__code__',
        'o.m',
    ),
    '__code__ of __init__': (
        (
            'class C:\n    def __init__(self): self.k = v0\ndef g(self): self.k = v1\n'
            'mc = C.__init__.__code__'
        ),
        'C.__init__.__code__ = mc if v < 1 else g.__code__',
        'C().k',
    ),
    '__code__ of lambda given to map': (
        'h = lambda e: e * v0\ng = lambda e: e * v1\nhc=h.__code__',
        'h.__code__ = hc if v < 1 else g.__code__',
        'list(map(h, [1.0]))[0]',
    ),
    '__code__ of key': (
        'h = lambda e: e\ng = lambda e: -e\nhc=h.__code__',
        'h.__code__ = hc if v < 1 else g.__code__',
        'sorted([1.0, 2.0], key=h)[0]',
    ),
    '__defaults__ of key': (
        'h = lambda e, s=1: e*s',
        'h.__defaults__ = (1,) if v < 1 else (-1,)',
        'sorted([1.0, 2.0], key=h)[0]',
    ),
    '__code__ read': (
        'def h(): return v0\ndef g(a): return v1\nhc=h.__code__',
        'h.__code__ = hc if v < 1 else g.__code__',
        'float(h.__code__.co_argcount)',
    ),
    '__name__ of a function': (
        'def h(): pass', "h.__name__ = 'a' if v < 1 else 'bb'", 'float(len(h.__name__))',
    ),
    '__doc__ of a function': ("def h(): 'a'", "h.__doc__ = 'a' if v < 1 else 'bb'", 'float(len(h.__doc__))'),
    '__wrapped__': (
        (
            'def h(): return v0\ndef g(): return v1\n@functools.wraps(h)\n'
            'def w(): return w.__wrapped__()'
        ),
        'w.__wrapped__ = h if v < 1 else g',
        'w()',
    ),
    'inspect.unwrap': (
        'def h(): return v0\ndef g(): return v1\n@functools.wraps(h)\ndef w(): return 1.0',
        'w.__wrapped__ = h if v < 1 else g',
        'inspect.unwrap(w)()',
    ),
    '__annotations__ of a function': (
        'def h(a: int): pass',
        "h.__annotations__['a'] = int if v < 1 else float",
        "float(h.__annotations__['a'] is float)",
    ),
    'get_type_hints a function': (
        'def h(a: int): pass',
        "h.__annotations__['a'] = int if v < 1 else float",
        "float(typing.get_type_hints(h)['a'] is float)",
    ),
    'signature a function defaults': (
        'def h(a=v): pass',
        'h.__defaults__ = (v,)',
        "inspect.signature(h).parameters['a'].default",
    ),
    'signature kwdefaults': (
        'def h(*, a=v): pass',
        "h.__kwdefaults__ = {'a': v}",
        "inspect.signature(h).parameters['a'].default",
    ),
    'getclosurevars': (
        _SETUP_0,
        'h.__closure__[0].cell_contents = v',
        "inspect.getclosurevars(h).nonlocals['k']",
    ),
    'cell_contents assigned': (_SETUP_0, 'h.__closure__[0].cell_contents = v', 'h()'),
    'cell_contents read': (
        _SETUP_0,
        'h.__closure__[0].cell_contents = v',
        'h.__closure__[0].cell_contents',
    ),
    'cell emptied': (
        (
            'def mk():\n    k = v0\n    def get():\n        try: return k\n'
            '        except NameError: return v1\n    return get\nh = mk()'
        ),
        'if v > 1: del h.__closure__[0].cell_contents\nelse: h.__closure__[0].cell_contents = v0',
        'h()',
    ),
    'cell filled later': (
        (
            'def mk():\n    def get():\n        try: return k\n'
            '        except NameError: return v0\n    if 0: k = 1\n    return get\nh = mk()'
        ),
        'if v < 1: del h.__closure__[0].cell_contents\nelse: h.__closure__[0].cell_contents = v1',
        'h()',
    ),
    'cell of cell an object': ('c = types.CellType(v)', 'c.cell_contents = v', 'c.cell_contents'),
    'partial attribute': (
        'o=Plain(); o.h = functools.partial(lambda k: k, v)',
        'o.h = functools.partial(lambda k: k, v)',
        'o.h()',
    ),
    'partial keywords': ('h = functools.partial(lambda k=0: k, k=v)', "h.keywords['k'] = v", 'h()'),
    'partial setstate': (
        'h = functools.partial(lambda k: k, v)',
        'h.__setstate__((h.func, (v,), {}, {}))',
        'h()',
    ),
    'partial setstate func': (
        'h = functools.partial(lambda k: k, 2.0)',
        'h.__setstate__(((lambda k: k) if v < 1 else (lambda k: -k), (2.0,), {}, {}))',
        'h()',
    ),
    'partial read args': (
        'h = functools.partial(lambda k: k, v)',
        'h.__setstate__((h.func, (v,), {}, {}))',
        'h.args[0]',
    ),
    'partial read keywords': (
        'h = functools.partial(lambda k: k, k=v)',
        "h.keywords['k'] = v",
        "h.keywords['k']",
    ),
    'partial read func': (
        'h = functools.partial(lambda k: k, 2.0)',
        'h.__setstate__(((lambda k: k) if v < 1 else (lambda k: -k), (2.0,), {}, {}))',
        'h.func(1.0)',
    ),
    'partial to map': (
        'h = functools.partial(lambda k, e: k * e, v)',
        'h.__setstate__((h.func, (v,), {}, {}))',
        'list(map(h, [1.0]))[0]',
    ),
    'partialmethod keywords': (
        'class C:\n    def m(self, n): return n\n    p = functools.partialmethod(m, n=v)\no = C()',
        "C.__dict__['p'].keywords['n'] = v",
        'o.p()',
    ),
    'partialmethod replaced': (
        'class C:\n    def m(self, n): return n\n    p = functools.partialmethod(m, v)\no = C()',
        'C.p = functools.partialmethod(C.m, v)',
        'o.p()',
    ),
    'partialmethod replaced new': (
        'class C:\n    def m(self, n): return n\n    p = functools.partialmethod(m, v)\no = C()',
        'C.p = functools.partialmethod(C.m, v)',
        'C().p()',
    ),
    'cache_info value': (
        '@functools.lru_cache\ndef h(n): return n',
        '[h(e) for e in range(int(v * 4))]',
        'float(h.cache_info().misses)',
    ),
    'cache_info hits': (
        '@functools.lru_cache\ndef h(n): return n\nh(1)',
        '[h(1) for e in range(int(v * 4))]',
        'float(h.cache_info().hits)',
    ),
    'cache_info currsize': (
        '@functools.cache\ndef h(n): return n',
        'h.cache_clear(); [h(e) for e in range(int(v * 4))]',
        'float(h.cache_info()[3])',
    ),
    'cache_parameters': (
        '@functools.lru_cache(maxsize=3)\ndef h(n): return n',
        'h = functools.lru_cache(maxsize=3 if v < 1 else 4)(h.__wrapped__)',
        "float(h.cache_parameters()['maxsize'])",
    ),
    'cache_info by helper': (
        '@functools.lru_cache\ndef h(n): return n\ndef info(): return h.cache_info().misses',
        '[h(e) for e in range(int(v * 4))]',
        'float(info())',
    ),
    'cache_info getattr': (
        '@functools.lru_cache\ndef h(n): return n',
        '[h(e) for e in range(int(v * 4))]',
        "float(getattr(h, 'cache_info')().misses)",
    ),
    'cache_info bound': (
        '@functools.lru_cache\ndef h(n): return n\ninfo = h.cache_info',
        '[h(e) for e in range(int(v * 4))]',
        'float(info().misses)',
    ),
    'cache_info of method': (
        'class C:\n    @functools.lru_cache\n    def h(self, n): return n\no = C()',
        '[o.h(e) for e in range(int(v * 4))]',
        'float(C.h.cache_info().misses)',
    ),
    'cache_info attrgetter': (
        '@functools.lru_cache\ndef h(n): return n',
        '[h(e) for e in range(int(v * 4))]',
        "float(operator.methodcaller('cache_info')(h).misses)",
    ),
    'a function __get__': ('def h(self): return self.k\no=Plain(); o.k=v', 'o.k = v', 'h.__get__(o)()'),
    'h.__call__': ('def h(): return k\nk=v', 'k = v', 'h.__call__()'),
    'operator.call': ('def h(): return k\nk=v', 'k = v', 'operator.call(h)'),
    'attrgetter dotted': (
        "o = Plain(); o.s = Plain(); o.s.k = v; g = operator.attrgetter('s.k')",
        'o.s.k = v',
        'g(o)',
    ),
    'attrgetter several': (
        "o = Plain(); o.a = 1.0; o.k = v; g = operator.attrgetter('a', 'k')",
        'o.k = v',
        'g(o)[1]',
    ),
    'attrgetter property': (
        "class C:\n    p = property(lambda s: k)\nk=v\no=C(); g = operator.attrgetter('p')",
        'k = v',
        'g(o)',
    ),
    'attrgetter replaced': (
        "o = Plain(); o.a = v0; o.b = v1; g = operator.attrgetter('a')",
        "g = operator.attrgetter('a' if v < 1 else 'b')",
        'g(o)',
    ),
    'attrgetter in an object': (
        "o = Plain(); o.a = v0; o.b = v1; o.g = operator.attrgetter('a')",
        "o.g = operator.attrgetter('a' if v < 1 else 'b')",
        'o.g(o)',
    ),
    'attrgetter map': (
        "o = Plain(); o.k = v; g = operator.attrgetter('k')",
        'o.k = v',
        'list(map(g, [o]))[0]',
    ),
    'attrgetter sorted class attribute': (
        'class C: k = v\no = C(); p = Plain(); p.k = 1.0',
        'C.k = v',
        "sorted([o, p], key=operator.attrgetter('k'))[0].k",
    ),
    'attrgetter map property': (
        "class C:\n    p = property(lambda s: k)\nk=v\no=C(); g = operator.attrgetter('p')",
        'k = v',
        'list(map(g, [o]))[0]',
    ),
    'attrgetter class attribute': ("class C: k = v\no=C(); g = operator.attrgetter('k')", 'C.k = v', 'g(o)'),
    'attrgetter map class attribute': (
        "class C: k = v\no=C(); g = operator.attrgetter('k')",
        'C.k = v',
        'list(map(g, [o]))[0]',
    ),
    'itemgetter several': (
        "d = {'k': v, 'a': 1.0}; g = operator.itemgetter('a', 'k')",
        "d['k'] = v",
        'g(d)[1]',
    ),
    'itemgetter replaced': (
        "d = {'k': v0, 'a': v1}; g = operator.itemgetter('k')",
        "g = operator.itemgetter('k' if v < 1 else 'a')",
        'g(d)',
    ),
    'itemgetter user getitem': (
        (
            'class C:\n    def __getitem__(self, i): return k\nk=v\n'
            "o=C(); g = operator.itemgetter('k')"
        ),
        'k = v',
        'g(o)',
    ),
    'itemgetter list': ('l = [v]; g = operator.itemgetter(0)', 'l[0] = v', 'g(l)'),
    'methodcaller args': (
        (
            'class C:\n    def m(self, n): return n * k\nk=v\n'
            "o=C(); g = operator.methodcaller('m', 2.0)"
        ),
        'k = v',
        'g(o)',
    ),
    'methodcaller keywords': (
        (
            'class C:\n    def m(self, n): return n * k\nk=v\n'
            "o=C(); g = operator.methodcaller('m', n=2.0)"
        ),
        'k = v',
        'g(o)',
    ),
    'methodcaller replaced': (
        "class C:\n    def m(self, n): return n\no=C(); g = operator.methodcaller('m', v)",
        "g = operator.methodcaller('m', v)",
        'g(o)',
    ),
    'methodcaller map': (
        "class C:\n    def m(self): return k\nk=v\no=C(); g = operator.methodcaller('m')",
        'k = v',
        'list(map(g, [o]))[0]',
    ),
    'operator.getitem': ("d = {'k': v}", "d['k'] = v", "operator.getitem(d, 'k')"),
    'operator.contains': (
        "d = {'k': v}",
        'd.clear() if v > 1 else d.update(k=1)',
        "float(operator.contains(d, 'k'))",
    ),
    'operator.truth': (
        "d = {'k': v}",
        'd.clear() if v > 1 else d.update(k=1)',
        'float(operator.truth(d))',
    ),
    '__import__': (
        "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m",
        "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m",
        "__import__('made_reads').k",
    ),
    '__builtins__': (
        '',
        'builtins.abs = (lambda x: 9.0) if v > 1 else ORIGINAL_ABS',
        "__builtins__['abs'](-2.0)",
    ),
    'functools.reduce __init__': ('k=v', 'k = v', 'functools.reduce(lambda a, b: a * b, [2.0], k)'),
    'cmp_to_key an object': (
        'h = functools.cmp_to_key(lambda a, b: (a-b) * k)\nk=1',
        'k = 1 if v < 1 else -1',
        'float(h(1.0) < h(2.0))',
    ),
    'code const via method on class dict': (
        "class C:\n    def m(self): return v0\no=C(); d = {'m': C.m}",
        "d['m'] = (lambda s: v)",
        "d['m'](o)",
    ),
    'lambda in default': ('def h(g=lambda: k): return g()\nk=v', 'k = v', 'h()'),
    'nested closure': (
        (
            'def mk():\n    k = v0\n    def a():\n        def b(): return k\n        return b()\n'
            '    def put(n):\n        nonlocal k\n        k = n\n    return a, put\na, put = mk()'
        ),
        'put(v)',
        'a()',
    ),
    'global in class body': ('k=v\ndef h():\n    class C: z = k\n    return C.z', 'k = v', 'h()'),
    'star args': ('l=[v]\ndef h(*a): return a[0]', 'l[0] = v', 'h(*l)'),
    'comprehension cond': ('k=v', 'k = v', 'float(len([e for e in range(4) if e > k]))'),
    'assert': (
        (
            'k=v\ndef h():\n    try:\n        assert k < 1\n        return 1.0\n'
            '    except AssertionError: return 2.0'
        ),
        'k = v',
        'h()',
    ),
    'fstring spec': ('k=3', 'k = 3 if v < 1 else 5', "float(f'{1/3:.{k}f}')"),
    'walrus': ('k=v', 'k = v', '(z := k) * z'),
    'yield from': ('def a():\n    yield k\ndef h():\n    yield from a()\nk=v', 'k = v', 'next(h())'),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", READS)
def test_a_change_is_seen(name: str, tmp_path: Any) -> None:
    check(READS[name], tmp_path)
