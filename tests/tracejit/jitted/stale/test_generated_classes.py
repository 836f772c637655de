"""Reads of enums, data classes and named tuples, and of what classes hold by ``vars`` and `inspect`."""

from __future__ import annotations

from typing import Any

import pytest

from .programs import Read, check

_SETUP_0 = (
    "class E(enum.Enum):\n    A = 0.5\ndef add(n, val):\n"
    "    m = object.__new__(E); m._name_=n; m._value_=val; E._member_map_[n]=m;"
    " E._value2member_map_[val]=m; E._member_names_.append(n); type.__setattr__(E, n, m)\n"
    "def rem(n):\n    m = E._member_map_.pop(n, None)\n"
    "    if m is not None: E._value2member_map_.pop(m._value_);"
    " E._member_names_.remove(n); type.__delattr__(E, n)\ndef byv():\n"
    "    try: return E(2.25).value\n    except ValueError: return 9.0\ndef byn():\n"
    "    try: return E['B'].value\n    except KeyError: return 9.0\n"
)
_SETUP_1 = "@dataclasses.dataclass\nclass C:\n    k: float = 0.5\no = C(v)"
_SETUP_2 = (
    "class P(typing.NamedTuple):\n    k: float\n    z: float = 0.5\n"
    "    def m(self): return self.k * kk\nkk = 1.0\np = P(v)\nimport copy\n"
)
#: Setup, change, and what is read: an expression.
READS: dict[str, Read] = {
    'getattr_static an object': ('o = Plain(); o.k = v', 'o.k = v', "inspect.getattr_static(o, 'k')"),
    'getattr_static class': ('class C: k = v', 'C.k = v', "inspect.getattr_static(C, 'k')"),
    'getattr_static default': (
        'class C: pass',
        'if v > 1: C.k = v\nelse: del C.k',
        "inspect.getattr_static(C, 'k', 3.0)",
    ),
    'getattr_static inherits': (
        'class A: k = v\nclass C(A): pass\no = C()',
        'A.k = v',
        "inspect.getattr_static(o, 'k')",
    ),
    'getattr_static hides': (
        'class A: k = v0\nclass C(A): pass\no = C()',
        'if v > 1: C.k = v\nelse: del C.k',
        "inspect.getattr_static(o, 'k')",
    ),
    'getattr_static property': (
        'class A:\n    k = property(lambda s: v0)\no = A()',
        'A.k = property((lambda s: v0) if v < 1 else (lambda s: v1))',
        "inspect.getattr_static(o, 'k').fget(o)",
    ),
    'getattr_static module': (
        "m = types.ModuleType('m'); m.k = v",
        'm.k = v',
        "inspect.getattr_static(m, 'k')",
    ),
    'getattr_static metaclass': (
        'class M(type): k = v\nclass C(metaclass=M): pass',
        'M.k = v',
        "inspect.getattr_static(C, 'k')",
    ),
    'getmembers an object': ('o = Plain(); o.k = v', 'o.k = v', "dict(inspect.getmembers(o))['k']"),
    'getmembers_static': (
        'class A: k = v\nclass C(A): pass',
        'A.k = v',
        "dict(inspect.getmembers_static(C))['k']",
    ),
    'getmembers inherits': (
        'class A: k = v\nclass C(A): pass\no = C()',
        'A.k = v',
        "dict(inspect.getmembers(o))['k']",
    ),
    'getmembers module': (
        "m = types.ModuleType('m'); m.k = v",
        'm.k = v',
        "dict(inspect.getmembers(m))['k']",
    ),
    'vars of class': ('class C: k = v', 'C.k = v', "vars(C)['k']"),
    '__dict__ of class': ('class C: k = v', 'C.k = v', "C.__dict__['k']"),
    '__dict__ of class get': ('class C: k = v', 'C.k = v', "C.__dict__.get('k')"),
    '__dict__ of class in': (
        'class C: pass',
        'if v > 1: C.k = v\nelse: del C.k',
        "float('k' in C.__dict__)",
    ),
    '__dict__ of class len': ('class C: pass', 'if v > 1: C.k = v\nelse: del C.k', 'float(len(vars(C)))'),
    '__dict__ of class items': ('class C: k = v', 'C.k = v', "dict(vars(C).items())['k']"),
    'vars of module': ("m = types.ModuleType('m'); m.k = v", 'm.k = v', "vars(m)['k']"),
    '__dict__ of module': ("m = types.ModuleType('m'); m.k = v", 'm.k = v', "m.__dict__['k']"),
    'vars get': ('o = Plain(); o.k = v', 'o.k = v', "vars(o).get('k', 1.0)"),
    'vars of a function': ('def h(): pass\nh.k = v', 'h.k = v', "vars(h)['k']"),
    'vars replaced': ('o = Plain(); o.k = v', "o.__dict__ = {'k': v}", 'o.k'),
    'vars replaced vars': ('o = Plain(); o.k = v', "o.__dict__ = {'k': v}", "vars(o)['k']"),
    'vars held': ('o = Plain(); o.k = v; d = vars(o)', 'o.k = v', "d['k']"),
    'vars of slotted': (
        "class C:\n    __slots__=('k', '__dict__')\no=C(); o.z=v",
        'o.z = v',
        "vars(o)['z']",
    ),
    'proxy of class': ('class C: k = v\nm = vars(C)', 'C.k = v', "m['k']"),
    'enum member added by extend': (
        (
            'class E(enum.Enum):\n    A = 1\n    @classmethod\n'
            '    def _missing_(cls, v): return cls.A'
        ),
        (
            "if v > 1 and 'B' not in E._member_map_:\n"
            "    m = object.__new__(E); m._name_='B'; m._value_=2; E._member_map_['B']=m;"
            " E._value2member_map_[2]=m; E._member_names_.append('B')"
        ),
        'float(len(E))',
    ),
    'enum added: len': (_SETUP_0, "add('B', 2.25) if v > 1 else rem('B')", 'float(len(E))'),
    'enum added: list': (_SETUP_0, "add('B', 2.25) if v > 1 else rem('B')", 'sum(e.value for e in E)'),
    'enum added: in': (_SETUP_0, "add('B', 2.25) if v > 1 else rem('B')", "float('B' in E.__members__)"),
    'enum added: hasattr': (_SETUP_0, "add('B', 2.25) if v > 1 else rem('B')", "float(hasattr(E, 'B'))"),
    'enum added: by value': (_SETUP_0, "add('B', 2.25) if v > 1 else rem('B')", 'byv()'),
    'enum added: by name': (_SETUP_0, "add('B', 2.25) if v > 1 else rem('B')", 'byn()'),
    'enum added: __members__': (
        _SETUP_0,
        "add('B', 2.25) if v > 1 else rem('B')",
        'float(len(E.__members__))',
    ),
    'enum added: in value': (
        _SETUP_0,
        "add('B', 2.25) if v > 1 else rem('B')",
        "float(any(e.name == 'B' for e in list(E)))",
    ),
    'enum added: iter': (_SETUP_0, "add('B', 2.25) if v > 1 else rem('B')", '[e.value for e in E][-1]'),
    'enum added: reversed': (_SETUP_0, "add('B', 2.25) if v > 1 else rem('B')", 'next(reversed(E)).value'),
    'enum added: _member_map_': (
        _SETUP_0,
        "add('B', 2.25) if v > 1 else rem('B')",
        'float(len(E._member_map_))',
    ),
    'enum added: max': (
        _SETUP_0,
        "add('B', 2.25) if v > 1 else rem('B')",
        'max(E, key=lambda e: e.value).value',
    ),
    'enum _value_ changed': ('class E(enum.Enum):\n    A = 0.5', 'E.A._value_ = v', 'E.A.value'),
    'enum name changed': (
        'class E(enum.Enum):\n    A = 0.5',
        "E.A._name_ = 'A' if v < 1 else 'BB'",
        'float(len(E.A.name))',
    ),
    'enum aliases': (
        (
            'class E(enum.Enum):\n    A = 0.5\n    B = 2.25\n    def f(self): return table[self]\n'
            'table={E.A: v}'
        ),
        'table[E.A] = v',
        'E.A.f()',
    ),
    'enum _missing_': (
        (
            'class E(enum.Enum):\n    A = 0.5\n    B = 2.25\n    @classmethod\n'
            '    def _missing_(cls, n): return cls(k)\nk = v'
        ),
        'k = v',
        "E('zz').value",
    ),
    'data class: default by class attribute': (
        '@dataclasses.dataclass\nclass C:\n    k: float = 0.5\no = C()',
        'C.k = v',
        'float(C.k)',
    ),
    'data class: default by fields': (
        '@dataclasses.dataclass\nclass C:\n    k: float = 0.5\n',
        "C.__dataclass_fields__['k'].default = v",
        'dataclasses.fields(C)[0].default',
    ),
    'data class: default factory': (
        (
            '@dataclasses.dataclass\nclass C:\n'
            '    k: float = dataclasses.field(default_factory=lambda: k)\nk=v'
        ),
        'k = v',
        'C().k',
    ),
    'data class: kwonly default': (
        '@dataclasses.dataclass(kw_only=True)\nclass C:\n    k: float = 0.5\n',
        "C.__init__.__kwdefaults__ = {'k': v}",
        'C().k',
    ),
    'data class: replace': (_SETUP_1, 'o.k = v', 'dataclasses.replace(o).k'),
    'data class: replace default': (
        (
            '@dataclasses.dataclass\nclass C:\n    k: float = 0.5\n    z: float = 1.0\n'
            '    def __post_init__(self): self.s = self.k * kk\nkk=v\no = C()'
        ),
        'kk = v',
        'dataclasses.replace(o, z=2.0).s',
    ),
    'data class: asdict': (_SETUP_1, 'o.k = v', "dataclasses.asdict(o)['k']"),
    'data class: astuple': (_SETUP_1, 'o.k = v', 'dataclasses.astuple(o)[0]'),
    'data class: astuple nested': (
        '@dataclasses.dataclass\nclass C:\n    k: float = 0.5\no = C([C(v)])',
        'o.k[0].k = v',
        'dataclasses.astuple(o)[0][0][0]',
    ),
    'data class: eq': (
        '@dataclasses.dataclass\nclass C:\n    k: float = 0.5\no = C(v); p = C(0.5)',
        'o.k = v',
        'float(o == p)',
    ),
    'data class: frozen an object setattr': (
        '@dataclasses.dataclass(frozen=True)\nclass C:\n    k: float = 0.5\no = C(v)',
        "object.__setattr__(o, 'k', v)",
        'o.k',
    ),
    'data class: slots': (
        '@dataclasses.dataclass(slots=True)\nclass C:\n    k: float = 0.5\no = C(v)',
        'o.k = v',
        'o.k',
    ),
    'data class: order': (
        '@dataclasses.dataclass(order=True)\nclass C:\n    k: float = 0.5\no = C(v); p = C(1.0)',
        'o.k = v',
        'float(o < p)',
    ),
    'data class: fields len': (
        '@dataclasses.dataclass\nclass C:\n    k: float = 0.5\n',
        (
            "if v > 1: C.__dataclass_fields__['z'] = C.__dataclass_fields__['k']\n"
            "else: C.__dataclass_fields__.pop('z')"
        ),
        'float(len(dataclasses.fields(C)))',
    ),
    'data class: is_dataclass': (
        'class C: pass\no=C()',
        'if v > 1: C.__dataclass_fields__ = {}\nelse: del C.__dataclass_fields__',
        'float(dataclasses.is_dataclass(o))',
    ),
    'data class: InitVar': (
        (
            '@dataclasses.dataclass\nclass C:\n    n: dataclasses.InitVar[float]\n'
            '    def __post_init__(self, n): self.k = n * k\nk=v'
        ),
        'k = v',
        'C(2.0).k',
    ),
    'make_dataclass': (
        "C = dataclasses.make_dataclass('C', [('k', float, v)])",
        "C = dataclasses.make_dataclass('C', [('k', float, v)])",
        'C().k',
    ),
    'make_dataclass defaults': (
        "C = dataclasses.make_dataclass('C', [('k', float, v)])",
        'C.__init__.__defaults__ = (v,)',
        'C().k',
    ),
    'named tuple: _replace': (_SETUP_2, 'p = P(v)', 'p._replace(z=3.0).k'),
    'named tuple: _replace default': (_SETUP_2, 'P.__new__.__defaults__ = (v,)', 'P(1.0).z'),
    'named tuple: _asdict': (_SETUP_2, 'p = P(v)', "p._asdict()['k']"),
    'named tuple: _fields': (
        _SETUP_2, "P._fields = ('k', 'z') if v < 1 else ('k',)", 'float(len(p._fields))',
    ),
    'named tuple: _field_defaults': (_SETUP_2, "P._field_defaults['z'] = v", "P._field_defaults['z']"),
    'named tuple: method': (_SETUP_2, 'kk = v', 'p.m()'),
    'named tuple: _make': (_SETUP_2, 'kk = v', 'P._make([1.0, 2.0]).m()'),
    'named tuple: _replace m': (_SETUP_2, 'kk = v', 'p._replace(k=2.0).m()'),
    'named tuple: index': (_SETUP_2, 'p = P(v)', 'p[0]'),
    'named tuple: unpack': (_SETUP_2, 'p = P(v)', '(lambda a, b: a)(*p)'),
    'named tuple: getattr': (_SETUP_2, 'p = P(v)', "getattr(p, 'k')"),
    'named tuple: m replaced': (_SETUP_2, 'P.m = (lambda s: s.k) if v < 1 else (lambda s: -s.k)', 'p.m()'),
    'named tuple: field replaced': (
        _SETUP_2,
        'P.k = property(lambda s: v0) if v < 1 else property(lambda s: v1)',
        'p.k',
    ),
    'named tuple: _replace replaced': (
        _SETUP_2,
        (
            'P._replace = (lambda s, **k: types.SimpleNamespace(k=v0)) if v < 1 else (lambda'
            ' s, **k: types.SimpleNamespace(k=v1))'
        ),
        'p._replace(k=1.0).k',
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", READS)
def test_a_change_is_seen(name: str, tmp_path: Any) -> None:
    check(READS[name], tmp_path)
