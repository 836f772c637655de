"""Reads of classes: a change of what they define, of their bases and their metaclasses is seen."""

from __future__ import annotations

from typing import Any

import pytest

from .programs import Read, check

_SETUP_0 = (
    "class A:\n    p = v0\n    def m(self): return v0\nclass B:\n    p = v1\n"
    "    def m(self): return v1\nclass R(A):\n    def s(self): return super().m()\n"
    "    @property\n    def q(self): return super().p\n    @classmethod\n"
    "    def c(cls): return super().p\no = R()\ndef matched(o):\n    match o:\n"
    "        case B(): return 2.0\n        case _: return 3.0\n@functools.singledispatch\n"
    "def disp(o): return 5.0\n@disp.register\ndef _(o: B): return 7.0\n"
    "class EA(Exception): pass\nclass EB(Exception): pass\nclass ER(EA): pass\n"
    "def caught():\n    try: raise ER\n    except EB: return 2.0\n"
    "    except Exception: return 3.0\n"
)
_SETUP_1 = (
    "class A:\n    p = v0\n    def m(self): return v0\nclass B:\n    p = v1\n"
    "    def m(self): return v1\nclass R(A): pass\nclass S(R): pass\no = S()"
)
_CHANGE_0 = "R.__bases__ = (A if v == v0 else B,)\nER.__bases__ = (EA if v == v0 else EB,)"
#: Setup, change, and what is read: an expression.
READS: dict[str, Read] = {
    'bases: inst attribute': (_SETUP_0, _CHANGE_0, 'o.p'),
    'bases: inst method': (_SETUP_0, _CHANGE_0, 'o.m()'),
    'bases: class attribute': (_SETUP_0, _CHANGE_0, 'R.p'),
    'bases: class method': (_SETUP_0, _CHANGE_0, 'R.m(o)'),
    'bases: super method': (_SETUP_0, _CHANGE_0, 'o.s()'),
    'bases: super attribute': (_SETUP_0, _CHANGE_0, 'o.q'),
    'bases: super classmethod': (_SETUP_0, _CHANGE_0, 'R.c()'),
    'bases: issubclass': (_SETUP_0, _CHANGE_0, 'float(issubclass(R, B))'),
    'bases: isinstance': (_SETUP_0, _CHANGE_0, 'float(isinstance(o, B))'),
    'bases: mro item': (_SETUP_0, _CHANGE_0, 'R.__mro__[1].p'),
    'bases: bases item': (_SETUP_0, _CHANGE_0, 'R.__bases__[0].p'),
    'bases: base': (_SETUP_0, _CHANGE_0, 'R.__base__.p'),
    'bases: mro()': (_SETUP_0, _CHANGE_0, 'R.mro()[1].p'),
    'bases: new inst attribute': (_SETUP_0, _CHANGE_0, 'R().p'),
    'bases: new inst method': (_SETUP_0, _CHANGE_0, 'R().m()'),
    'bases: new super': (_SETUP_0, _CHANGE_0, 'R().s()'),
    'bases: type(o).p': (_SETUP_0, _CHANGE_0, 'type(o).p'),
    'bases: getattr': (_SETUP_0, _CHANGE_0, "getattr(o,'p')"),
    'bases: hasattr': (
        (
            'class A:\n    p = v0\n    def m(self): return v0\nclass B:\n    zz = 1\n    p = v1\n'
            '    def m(self): return v1\nclass R(A):\n    def s(self): return super().m()\n'
            '    @property\n    def q(self): return super().p\n    @classmethod\n'
            '    def c(cls): return super().p\no = R()\ndef matched(o):\n    match o:\n'
            '        case B(): return 2.0\n        case _: return 3.0\n@functools.singledispatch\n'
            'def disp(o): return 5.0\n@disp.register\ndef _(o: B): return 7.0\n'
            'class EA(Exception): pass\nclass EB(Exception): pass\nclass ER(EA): pass\n'
            'def caught():\n    try: raise ER\n    except EB: return 2.0\n'
            '    except Exception: return 3.0\n'
        ),
        'R.__bases__ = (A if v == v0 else B,)',
        "float(hasattr(o, 'zz'))",
    ),
    'bases: getmembers': (_SETUP_0, _CHANGE_0, "dict(inspect.getmembers(R))['p']"),
    'bases: getattr_static': (_SETUP_0, _CHANGE_0, "inspect.getattr_static(o, 'p')"),
    'bases: getattr_static a class': (_SETUP_0, _CHANGE_0, "inspect.getattr_static(R, 'p')"),
    'bases: getmro': (_SETUP_0, _CHANGE_0, 'inspect.getmro(R)[1].p'),
    'bases: isinstance in tuple': (_SETUP_0, _CHANGE_0, 'float(isinstance(o, (int, B)))'),
    'bases: isinstance union': (_SETUP_0, _CHANGE_0, 'float(isinstance(o, int | B))'),
    'bases: super(R, o)': (_SETUP_0, _CHANGE_0, 'super(R, o).p'),
    'bases: super(R, R)': (_SETUP_0, _CHANGE_0, 'super(R, R).p'),
    'bases: match': (_SETUP_0, _CHANGE_0, 'matched(o)'),
    'bases: attrgetter': (_SETUP_0, _CHANGE_0, "operator.attrgetter('p')(o)"),
    'bases: methodcaller': (_SETUP_0, _CHANGE_0, "operator.methodcaller('m')(o)"),
    'bases: map': (_SETUP_0, _CHANGE_0, 'list(map(lambda o: o.m(), [o]))[0]'),
    'bases: inspect.classify': (
        _SETUP_0,
        _CHANGE_0,
        (
            'float([a.defining_class.__name__ for a in inspect.classify_class_attrs(R) if'
            " a.name == 'p'] == ['B'])"
        ),
    ),
    'bases: copy': (_SETUP_0, _CHANGE_0, 'copy.copy(o).p'),
    'bases: object made': (_SETUP_0, _CHANGE_0, "type('Z', (R,), {})().p"),
    'bases: a class attribute of name': (_SETUP_0, _CHANGE_0, 'float(R.__base__ is B)'),
    'bases: __subclasscheck': (_SETUP_0, _CHANGE_0, 'float(o.__class__.__mro__[1] is B)'),
    'bases: __name__': (_SETUP_0, _CHANGE_0, "float(R.__mro__[1].__name__ == 'B')"),
    'bases: in mro': (_SETUP_0, _CHANGE_0, 'float(B in R.__mro__)'),
    'bases: in bases': (_SETUP_0, _CHANGE_0, 'float(B in type(o).__mro__)'),
    'bases: any mro': (_SETUP_0, _CHANGE_0, 'float(any(c is B for c in R.__mro__))'),
    'bases of a base: attribute': (_SETUP_1, 'R.__bases__ = (A if v == v0 else B,)', 'o.p'),
    'bases of a base: isinstance': (
        _SETUP_1,
        'R.__bases__ = (A if v == v0 else B,)',
        'float(isinstance(o, B))',
    ),
    'bases of a base: method': (_SETUP_1, 'R.__bases__ = (A if v == v0 else B,)', 'o.m()'),
    'bases of base: super in S': (
        (
            'class A:\n    p = v0\n    def m(self): return v0\nclass B:\n    p = v1\n'
            '    def m(self): return v1\nclass R(A): pass\nclass S(R):\n'
            '    def s(self): return super().m()\no = S()'
        ),
        'R.__bases__ = (A if v == v0 else B,)',
        'o.s()',
    ),
    'shadow by subclass attribute': (
        'class A: p = v0\nclass S(A): pass\no = S()',
        'if v > 1: S.p = v1\nelse: del S.p',
        'o.p',
    ),
    'shadow method by subclass': (
        'class A:\n    def m(self): return v0\nclass S(A): pass\no = S()',
        'if v > 1: S.m = lambda self: v1\nelse: del S.m',
        'o.m()',
    ),
    'shadow super': (
        (
            'class A:\n    def m(self): return v0\nclass M(A): pass\nclass S(M):\n'
            '    def s(self): return super().m()\no = S()'
        ),
        'if v > 1: M.m = lambda self: v1\nelse: del M.m',
        'o.s()',
    ),
    'shadow super attribute': (
        (
            'class A:\n    m = v0\nclass M(A): pass\nclass S(M):\n'
            '    def s(self): return super().m\no = S()'
        ),
        'if v > 1: M.m = v1\nelse: del M.m',
        'o.s()',
    ),
    'shadow super property': (
        (
            'class A:\n    m = property(lambda self: v0)\nclass M(A): pass\nclass S(M):\n'
            '    def s(self): return super().m\no = S()'
        ),
        'if v > 1: M.m = property(lambda self: v1)\nelse: del M.m',
        'o.s()',
    ),
    'super attribute': (
        'class A:\n    m = v0\nclass S(A):\n    def s(self): return super().m\no = S()',
        'A.m = v',
        'o.s()',
    ),
    'super classattr': (
        (
            'class A:\n    m = v0\nclass S(A):\n    @classmethod\n'
            '    def s(cls): return super().m\no = S()'
        ),
        'A.m = v',
        'S.s()',
    ),
    'super absent': (
        "class A: pass\nclass S(A):\n    def s(self): return hasattr(super(), 'm')\no = S()",
        'if v > 1: A.m = v\nelse: del A.m',
        'float(o.s())',
    ),
    'super getattr': (
        "class A: m = v\nclass S(A):\n    def s(self): return getattr(super(), 'm')\no = S()",
        'A.m = v',
        'float(o.s())',
    ),
    'super slot descriptor': (
        (
            "class A:\n    __slots__=('k',)\nclass S(A):\n    def s(self): return super().k\n"
            'o = S(); o.k=v'
        ),
        'o.k = v',
        'float(o.s())',
    ),
    'super descriptor': (
        (
            'class D:\n    def __get__(self, o, c): return k\nk=v\nclass A:\n    m=D()\n'
            'class S(A):\n    def s(self): return super().m\no = S()'
        ),
        'k = v',
        'float(o.s())',
    ),
    'super __getattr__': (
        (
            'class A:\n    def __getattr__(self, n): return k\nk=v\nclass S(A):\n'
            '    def __getattr__(self, n): return super().__getattr__(n)\no = S()'
        ),
        'k = v',
        'float(o.zz)',
    ),
    'super class __call__': (
        (
            'class M(type):\n    def __call__(cls): return super().__call__()\n'
            'class C(metaclass=M):\n    def __init__(self): self.k = k\nk = v'
        ),
        'k = v',
        'C().k',
    ),
    'super class __call__ keywords': (
        (
            'class M(type):\n    def __call__(cls, *a, **kw): return super().__call__(*a, **kw)\n'
            'class C(metaclass=M):\n    def __init__(self, n): self.k = k*n\nk = v'
        ),
        'k = v',
        'C(2.0).k',
    ),
    'type.__call__': (
        (
            'class M(type):\n    def __call__(cls, *a, **kw): return type.__call__(cls, *a, **kw)\n'
            'class C(metaclass=M):\n    def __init__(self, n): self.k = k*n\nk = v'
        ),
        'k = v',
        'C(2.0).k',
    ),
    'super class __call__ method': (
        (
            'class M(type):\n    def __call__(cls, *a, **kw):\n'
            '        o = super().__call__(*a, **kw)\n        o.setup()\n        return o\n'
            'class C(metaclass=M):\n    def setup(self): self.k = k\nk = v'
        ),
        'k = v',
        'C().k',
    ),
    'singleton metaclass': (
        (
            'class M(type):\n    instances = {}\n    def __call__(cls, *a, **kw):\n'
            '        if cls not in M.instances: M.instances[cls] = super().__call__(*a, **kw)\n'
            '        return M.instances[cls]\nclass C(metaclass=M):\n    k = v\nC()'
        ),
        'C().k = v',
        'C().k',
    ),
    'super __new__ metaclass': (
        (
            'class C:\n    def __new__(cls, *a):\n        o = super().__new__(cls)\n'
            '        o.k = k\n        return o\nk = v'
        ),
        'k = v',
        'C().k',
    ),
    'object.__new__': (
        (
            'class C:\n    def __new__(cls, *a):\n        o = object.__new__(cls)\n'
            '        o.k = k\n        return o\nk = v'
        ),
        'k = v',
        'C().k',
    ),
    'super __init__': (
        (
            'class A:\n    def __init__(self): self.k = k\nclass C(A):\n'
            '    def __init__(self): super().__init__()\nk = v'
        ),
        'k = v',
        'C().k',
    ),
    'A.__init__': (
        (
            'class A:\n    def __init__(self): self.k = k\nclass C(A):\n'
            '    def __init__(self): A.__init__(self)\nk = v'
        ),
        'k = v',
        'C().k',
    ),
    'super metaclass attribute': (
        (
            'class M(type): p = v\nclass N(M):\n    def q(cls): return super().p\n'
            'class C(metaclass=N): pass'
        ),
        'M.p = v',
        'C.q()',
    ),
    'metaclass __call__ replaced': (
        'class M(type):\n    def __call__(cls): return v0\nclass C(metaclass=M): pass',
        'M.__call__ = (lambda cls: v0) if v == v0 else (lambda cls: v1)',
        'C()',
    ),
    'metaclass __call__ added': (
        'class M(type): pass\nclass C(metaclass=M): k = v0',
        'if v > 1: M.__call__ = lambda cls: types.SimpleNamespace(k=v1)\nelse: del M.__call__',
        'C().k',
    ),
    '__init__ added': (
        'class C: k = v0',
        "if v > 1: C.__init__ = lambda self: setattr(self, 'k', v1)\nelse: del C.__init__",
        'C().k',
    ),
    '__new__ added': (
        'class C: k = v0',
        (
            'if v > 1: C.__new__ = lambda cls: types.SimpleNamespace(k=v1)\n'
            'else: C.__new__ = lambda cls: object.__new__(cls)'
        ),
        'C().k',
    ),
    '__getattr__ added': (
        'class C: pass\no = C()',
        'if v > 1: C.__getattr__ = lambda self, n: v1\nelse: del C.__getattr__',
        "getattr(o, 'k', v0)",
    ),
    '__getattribute__ added': (
        'class C: k = v0\no = C()',
        'if v > 1: C.__getattribute__ = lambda self, n: v1\nelse: del C.__getattribute__',
        'o.k',
    ),
    '__len__ replaced': (
        'class C:\n    def __len__(self): return 1\no = C()',
        'C.__len__ = (lambda self: 1) if v < 1 else (lambda self: 2)',
        'float(len(o))',
    ),
    '__call__ replaced': (
        'class C:\n    def __call__(self): return v0\no = C()',
        'C.__call__ = (lambda self: v0) if v < 1 else (lambda self: v1)',
        'o()',
    ),
    '__add__ replaced': (
        'class C:\n    def __add__(self, e): return v0\no = C()',
        'C.__add__ = (lambda self, e: v0) if v < 1 else (lambda self, e: v1)',
        'o + 1',
    ),
    '__lt__ replaced': (
        'class C:\n    def __lt__(self, e): return True\no = C()',
        'C.__lt__ = (lambda self, e: v < 1)',
        'float(o < 1)',
    ),
    '__bool__ replaced': (
        'class C:\n    def __bool__(self): return True\no = C()',
        'C.__bool__ = (lambda self: v < 1)',
        '(1.0 if o else 2.0)',
    ),
    '__bool__ added': (
        'class C: pass\no = C()',
        'if v > 1: C.__bool__ = (lambda self: False)\nelse: del C.__bool__',
        '(1.0 if o else 2.0)',
    ),
    '__eq__ added': (
        'class C: pass\no = C()',
        'if v > 1: C.__eq__ = (lambda self, e: True)\nelse: del C.__eq__',
        '(1.0 if o == 1 else 2.0)',
    ),
    '__float__ replaced': (
        'class C:\n    def __float__(self): return v0\no = C()',
        'C.__float__ = (lambda self: v)',
        'float(o)',
    ),
    '__iter__ replaced': (
        'class C:\n    def __iter__(self): return iter([v0])\no = C()',
        'C.__iter__ = (lambda self: iter([v]))',
        'sum(o)',
    ),
    '__getitem__ replaced': (
        'class C:\n    def __getitem__(self, i): return v0\no = C()',
        'C.__getitem__ = (lambda self, i: v)',
        'o[0]',
    ),
    '__enter__ replaced': (
        (
            'class C:\n    def __enter__(self): return v0\n    def __exit__(self, *a): pass\n'
            'o = C()\ndef ent():\n    with o as e: return e'
        ),
        'C.__enter__ = (lambda self: v)',
        'ent()',
    ),
    '__str__ replaced': (
        'class C:\n    def __str__(self): return str(v0)\no = C()',
        'C.__str__ = (lambda self: str(v))',
        'float(str(o))',
    ),
    '__format__ replaced': (
        'class C:\n    def __format__(self, s): return str(v0)\no = C()',
        'C.__format__ = (lambda self, s: str(v))',
        "float(f'{o}')",
    ),
    '__contains__ replaced': (
        'class C:\n    def __contains__(self, s): return False\no = C()',
        'C.__contains__ = (lambda self, s: v > 1)',
        'float(1 in o)',
    ),
    '__hash__ replaced': (
        'class C:\n    def __hash__(self): return 1\no = C()',
        'C.__hash__ = (lambda self: int(v*4))',
        'float(hash(o))',
    ),
    'descriptor __get__ replaced': (
        'class D:\n    def __get__(self, o, c): return v0\nclass C: p = D()\no = C()',
        'D.__get__ = lambda self, o, c: v',
        'o.p',
    ),
    'descriptor class replaced by data': (
        'class D: pass\nclass C: p = D()\no = C(); C.p.k = 1; o.p = v0',
        (
            'if v > 1: D.__set__ = lambda s, o, v: None; D.__get__ = lambda s, o, c: v1\n'
            'else: del D.__set__, D.__get__'
        ),
        'o.p',
    ),
    'property hides attribute': (
        'class C: pass\no = C(); o.p = v0',
        'if v > 1: C.p = property(lambda self: v1)\nelse: del C.p',
        'o.p',
    ),
    'instance attribute hides classattr': (
        'class C: p = v0\no = C()',
        'if v > 1: o.p = v1\nelse: del o.p',
        'o.p',
    ),
    'classmethod replaced': (
        'class C:\n    @classmethod\n    def m(cls): return v0\no = C()',
        'C.m = classmethod((lambda cls: v0) if v < 1 else (lambda cls: v1))',
        'o.m()',
    ),
    'classmethod->static': (
        'class C:\n    @classmethod\n    def m(cls, n=v0): return n\no = C()',
        'C.m = classmethod(lambda cls, n=v0: n) if v < 1 else staticmethod(lambda n=v1: n)',
        'o.m()',
    ),
    'static->plain': (
        (
            'def h(n=v0): return n if isinstance(n, float) else v1\nclass C: m = staticmethod(h)\n'
            'o = C()'
        ),
        'C.m = staticmethod(h) if v < 1 else h',
        'o.m()',
    ),
    'static->plain by class call': (
        (
            'def h(n=v0): return n if isinstance(n, float) else v1\nclass C: m = staticmethod(h)\n'
            'o = C()'
        ),
        'C.m = staticmethod(h) if v < 1 else classmethod(h)',
        'C.m()',
    ),
    'plain->static': (
        'def h(n=v0): return n if isinstance(n, float) else v1\nclass C: m = h\no = C()',
        'C.m = staticmethod(h) if v > 1 else h',
        'o.m()',
    ),
    'cached_property replaced': (
        'class C:\n    @functools.cached_property\n    def p(self): return v0\no = C()',
        (
            'C.p = functools.cached_property((lambda self: v0) if v < 1 else (lambda self:'
            " v1)); C.p.__set_name__(C, 'p'); o.__dict__.pop('p', None)"
        ),
        'o.p',
    ),
    'cached_property set': (
        'class C:\n    @functools.cached_property\n    def p(self): return v0\no = C()',
        "o.__dict__['p'] = v",
        'o.p',
    ),
    'cached_property of new': (
        'class C:\n    @functools.cached_property\n    def p(self): return k\nk=v',
        'k = v',
        'C().p',
    ),
    'cached_property of nested': (
        (
            'class C:\n    @functools.cached_property\n    def p(self): return k\nk=v\n'
            'o=Plain(); o.c=C()'
        ),
        'k = v; o.c = C()',
        'o.c.p',
    ),
    '__name__ of a class': ('class H: pass', "H.__name__ = 'a' if v < 1 else 'bb'", 'float(len(H.__name__))'),
    '__qualname__ of a class': (
        'class H: pass',
        "H.__qualname__ = 'a' if v < 1 else 'bb'",
        'float(len(H.__qualname__))',
    ),
    '__name__ of type(o)': (
        'class H: pass\no=H()',
        "H.__name__ = 'a' if v < 1 else 'bb'",
        'float(len(type(o).__name__))',
    ),
    '__doc__ of a class': ("class H: 'd'", "H.__doc__ = 'a' if v < 1 else 'bb'", 'float(len(H.__doc__))'),
    '__module__ of a class': (
        'class H: pass',
        "H.__module__ = 'a' if v < 1 else 'bb'",
        'float(len(H.__module__))',
    ),
    'type.__dict__ mro': (
        'class A: k = v\nclass C(A): pass',
        'A.k = v',
        "next(c.__dict__['k'] for c in C.__mro__ if 'k' in c.__dict__)",
    ),
    'object.__getattribute__': ('o = Plain(); o.k = v', 'o.k = v', "object.__getattribute__(o, 'k')"),
    'o.__getattribute__': ('o = Plain(); o.k = v', 'o.k = v', "o.__getattribute__('k')"),
    'type.__getattribute__': ('class C: k = v', 'C.k = v', "type.__getattribute__(C, 'k')"),
    'member descriptor': ("class C:\n    __slots__=('k',)\no=C(); o.k=v", 'o.k = v', 'C.k.__get__(o)'),
    'property fget': ('class C:\n    p = property(lambda self: k)\nk=v\no=C()', 'k = v', 'C.p.fget(o)'),
    'property __get__': (
        'class C:\n    p = property(lambda self: k)\nk=v\no=C()',
        'k = v',
        'C.p.__get__(o)',
    ),
    'types.MethodType': (
        'def h(self): return self.k\no=Plain(); o.k=v',
        'o.k = v',
        'types.MethodType(h, o)()',
    ),
    'abc registered issubclass': (
        'class C(abc.ABC): pass\nclass D: pass',
        'if v > 1: C.register(D)',
        'float(issubclass(D, C))',
    ),
    'callable added': (
        'class D: pass\no=D()',
        'if v > 1: D.__call__ = lambda s: 1\nelse: del D.__call__',
        'float(callable(o))',
    ),
    'protocol runtime': (
        (
            '@typing.runtime_checkable\nclass P(typing.Protocol):\n    def m(self): ...\n'
            'class D: pass\no=D()'
        ),
        'if v > 1: D.m = lambda s: 1\nelse: del D.m',
        'float(isinstance(o, P))',
    ),
    'type alias': (
        'T = list[int]',
        'T = list[int] if v < 1 else list[float]',
        'float(typing.get_args(T)[0] is float)',
    ),
    'setattr class via type': ('class C: k = v\no=C()', "type.__setattr__(C, 'k', v)", 'o.k'),
    '__slots__ descriptor replaced': (
        "class C:\n    __slots__=('k',)\no=C(); o.k=v0\nsl = C.k",
        'C.k = sl if v < 1 else property(lambda s: v1)',
        'o.k',
    ),
    '__class__ cell': (
        'class C:\n    k = v\n    def m(self): return __class__.k\no=C()',
        'C.k = v',
        'o.m()',
    ),
    '__set_name__': (
        (
            'class D:\n    def __set_name__(self, o, n): self.n = k\nk=v\ndef h():\n'
            "    class C: p = D()\n    return vars(C)['p'].n"
        ),
        'k = v',
        'h()',
    ),
    '__prepare__': (
        (
            "class M(type):\n    @classmethod\n    def __prepare__(m, n, b): return {'z': k}\nk=v\n"
            'def h():\n    class C(metaclass=M): pass\n    return C.z'
        ),
        'k = v',
        'h()',
    ),
    'metaclass __new__': (
        (
            'class M(type):\n'
            "    def __new__(m, n, b, d): return super().__new__(m, n, b, {**d, 'z': k})\nk=v\n"
            'def h():\n    class C(metaclass=M): pass\n    return C.z'
        ),
        'k = v',
        'h()',
    ),
    'metaclass __init__': (
        (
            'class M(type):\n    def __init__(c, *a): c.z = k\nk=v\ndef h():\n'
            '    class C(metaclass=M): pass\n    return C.z'
        ),
        'k = v',
        'h()',
    ),
    'type() made': ('k=v\nclass A:\n    def m(self): return k', 'k = v', "type('B', (A,), {})().m()"),
    'types.new_class': (
        'k=v\nclass A:\n    def m(self): return k',
        'k = v',
        "types.new_class('B', (A,))().m()",
    ),
    '__mro_entries__': (
        (
            'class A: p = v0\nclass B: p = v1\nclass E:\n'
            '    def __mro_entries__(self, b): return (A if k < 1 else B,)\ne=E(); k=v\ndef h():\n'
            '    class C(e): pass\n    return C.p'
        ),
        'k = v',
        'h()',
    ),
    '__class__ property': (
        (
            'class A: pass\nclass C:\n    @property\n'
            '    def __class__(self): return A if k > 1 else C\nk=v\no=C()'
        ),
        'k = v',
        'float(isinstance(o, A))',
    ),
    '__subclasscheck__': (
        (
            'class M(type):\n    def __subclasscheck__(c, o): return k > 1\n'
            'class C(metaclass=M): pass\nk=v'
        ),
        'k = v',
        'float(issubclass(int, C))',
    ),
    '__instancecheck__ replaced': (
        (
            'class M(type):\n    def __instancecheck__(c, o): return False\n'
            'class C(metaclass=M): pass'
        ),
        'M.__instancecheck__ = (lambda c, o: v > 1)',
        'float(isinstance(3, C))',
    ),
    '__instancecheck__ added': (
        'class M(type): pass\nclass C(metaclass=M): pass',
        'if v > 1: M.__instancecheck__ = (lambda c, o: True)\nelse: del M.__instancecheck__',
        'float(isinstance(3, C))',
    ),
    'metaclass len replaced': (
        'class M(type):\n    def __len__(c): return 1\nclass C(metaclass=M): pass',
        'M.__len__ = (lambda c: int(v*4))',
        'float(len(C))',
    ),
    'metaclass getattr replaced': (
        'class M(type):\n    def __getattr__(c, n): return v0\nclass C(metaclass=M): pass',
        'M.__getattr__ = (lambda c, n: v)',
        'C.zz',
    ),
    'metaclass property replaced': (
        'class M(type):\n    p = property(lambda c: v0)\nclass C(metaclass=M): pass',
        'M.p = property((lambda c: v0) if v < 1 else (lambda c: v1))',
        'C.p',
    ),
    'metaclass bases': (
        (
            'class A(type): p = v0\nclass B(type): p = v1\nclass M(A): pass\n'
            'class C(metaclass=M): pass'
        ),
        'M.__bases__ = (A if v < 1 else B,)',
        'C.p',
    ),
    'metaclass bases method': (
        (
            'class A(type):\n    def m(c): return v0\nclass B(type):\n    def m(c): return v1\n'
            'class M(A): pass\nclass C(metaclass=M): pass'
        ),
        'M.__bases__ = (A if v < 1 else B,)',
        'C.m()',
    ),
    'metaclass bases super': (
        (
            'class A(type):\n    def m(c): return v0\nclass B(type):\n    def m(c): return v1\n'
            'class M(A):\n    def z(c): return super().m()\nclass C(metaclass=M): pass'
        ),
        'M.__bases__ = (A if v < 1 else B,)',
        'C.z()',
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", READS)
def test_a_change_is_seen(name: str, tmp_path: Any) -> None:
    check(READS[name], tmp_path)
