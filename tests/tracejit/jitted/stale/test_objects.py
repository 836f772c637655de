"""Reads of objects, containers and what is in C: a change is seen, or a warning names what is read."""

from __future__ import annotations

from typing import Any

import pytest

from .programs import Read, check

#: Setup, change, and what is read: an expression.
READS: dict[str, Read] = {
    'proxy get': ("d = {'k': v}; m = types.MappingProxyType(d)", "d['k'] = v", "m.get('k')"),
    'proxy in': (
        'd = {}; m = types.MappingProxyType(d)',
        'd.clear() if v < 1 else d.update(k=1)',
        "float('k' in m)",
    ),
    'proxy len': (
        'd = {}; m = types.MappingProxyType(d)',
        'd.clear() if v < 1 else d.update(k=1)',
        'float(len(m))',
    ),
    'proxy iter': (
        'd = {}; m = types.MappingProxyType(d)',
        'd.clear() if v < 1 else d.update(k=1)',
        'float(len([e for e in m]))',
    ),
    'proxy values': ("d = {'k': v}; m = types.MappingProxyType(d)", "d['k'] = v", 'sum(m.values())'),
    'proxy items': ("d = {'k': v}; m = types.MappingProxyType(d)", "d['k'] = v", "dict(m.items())['k']"),
    'proxy unpack': (
        "d = {'k': v}; m = types.MappingProxyType(d)\ndef h(k): return k",
        "d['k'] = v",
        'h(**m)',
    ),
    'proxy merged': ("d = {'k': v}; m = types.MappingProxyType(d)", "d['k'] = v", "{**m}['k']"),
    'proxy bool': (
        'd = {}; m = types.MappingProxyType(d)',
        'd.clear() if v < 1 else d.update(k=1)',
        '(1.0 if m else 2.0)',
    ),
    'proxy of user dict': (
        (
            'class D(dict):\n    def __missing__(self, i): return k\nk=v\n'
            'm = types.MappingProxyType(D())'
        ),
        'k = v',
        "m['zz']",
    ),
    'proxy or': ("d = {'k': v}; m = types.MappingProxyType(d)", "d['k'] = v", "(m | {})['k']"),
    'proxy copy': ("d = {'k': v}; m = types.MappingProxyType(d)", "d['k'] = v", "m.copy()['k']"),
    'intenum': (
        'class E(enum.IntEnum):\n    A = 1\n    B = 2\nk = E.A',
        'k = E.A if v < 1 else E.B',
        'k * 1.0',
    ),
    'flag': (
        'class E(enum.Flag):\n    A = 1\n    B = 2\nk = E.A',
        'k = E.A if v < 1 else E.B | E.A',
        'float(E.B in k)',
    ),
    'Generator.bit_generator.state': (
        'g = np.random.default_rng(1)',
        'g.bit_generator.state = np.random.default_rng(1 if v < 1 else 2).bit_generator.state',
        "float(g.bit_generator.state['state']['state'] % 1000)",
    ),
    'count repr': ('i = itertools.count(0)', 'next(i)', 'float(repr(i)[6:-1])'),
    'deque rotate': ('q = collections.deque([v0, v1])', 'q.rotate()', 'q[0]'),
    'deque maxlen': (
        'q = collections.deque([1], maxlen=3)',
        'q = collections.deque([1], maxlen=3 if v < 1 else 4)',
        'float(q.maxlen)',
    ),
    'OrderedDict move': (
        'd = collections.OrderedDict(a=v0, b=v1)',
        "d.move_to_end('a' if v > 1 else 'b')",
        'next(iter(d.values()))',
    ),
    'heapq': ('import heapq\nq = [v]', 'q[0] = v', 'heapq.nsmallest(1, q)[0]'),
    'bisect': (
        'import bisect\nq = [1.0, 2.0, 3.0]',
        'q[0] = 1.0 if v < 1 else -1.0; q[1] = 2.0 if v < 1 else 0.0',
        'float(bisect.bisect(q, 1.5))',
    ),
    'array.array': ("import array\na = array.array('d', [v])", 'a[0] = v', 'a[0]'),
    'array len': ("import array\na = array.array('d', [1.0])", 'a.append(1.0)', 'float(len(a))'),
    'bytearray len': ('a = bytearray(1)', 'a.append(1)', 'float(len(a))'),
    'struct.unpack': (
        'import struct\nb = bytearray(8)',
        "struct.pack_into('d', b, 0, v)",
        "struct.unpack('d', b)[0]",
    ),
    'ctypes': ('import ctypes\nc = ctypes.c_double(v)', 'c.value = v', 'c.value'),
    'ctypes array': ('import ctypes\nc = (ctypes.c_double * 1)(v)', 'c[0] = v', 'c[0]'),
    'ctypes struct': (
        "import ctypes\nclass S(ctypes.Structure): _fields_ = [('k', ctypes.c_double)]\nc = S(v)",
        'c.k = v',
        'c.k',
    ),
    'io.StringIO content': (
        "s = io.StringIO('0.5')",
        's.seek(0); s.truncate(); s.write(str(v))',
        'float(s.getvalue())',
    ),
    'io.StringIO tell': ("s = io.StringIO('0.5')", 's.seek(1 if v < 1 else 2)', 'float(s.tell())'),
    'io.BytesIO': (
        "s = io.BytesIO(b'0.5')",
        's.seek(0); s.truncate(); s.write(str(v).encode())',
        'float(s.getvalue())',
    ),
    'configparser': (
        "import configparser\nc = configparser.ConfigParser(); c['a'] = {'k': str(v)}",
        "c['a']['k'] = str(v)",
        "float(c['a']['k'])",
    ),
    'configparser get': (
        "import configparser\nc = configparser.ConfigParser(); c['a'] = {'k': str(v)}",
        "c['a']['k'] = str(v)",
        "c.getfloat('a', 'k')",
    ),
    'argparse.Namespace': ('import argparse\nc = argparse.Namespace(k=v)', 'c.k = v', 'c.k'),
    'SimpleNamespace': ('c = types.SimpleNamespace(k=v)', 'c.k = v', 'c.k'),
    'mmap': ('import mmap\nm = mmap.mmap(-1, 8); m[0] = 1', 'm[0] = int(v*4)', 'float(m[0])'),
    'shelve/dict subclass': (
        'class D(dict):\n    def __getitem__(self, i): return k\nk=v\nd=D()',
        'k = v',
        "d['a']",
    ),
    'dict subclass get': (
        'class D(dict):\n    def get(self, i, d=None): return k\nk=v\nd=D()',
        'k = v',
        "d.get('a')",
    ),
    'list subclass getitem': (
        'class D(list):\n    def __getitem__(self, i): return k\nk=v\nd=D([1.0])',
        'k = v',
        'd[0]',
    ),
    'list subclass iter': (
        'class D(list):\n    def __iter__(self): return iter([k])\nk=v\nd=D([1.0])',
        'k = v',
        '[e for e in d][0]',
    ),
    'list subclass len': (
        'class D(list):\n    def __len__(self): return int(k*4)\nk=v\nd=D([1.0])',
        'k = v',
        'float(len(d))',
    ),
    'dict subclass contains': (
        'class D(dict):\n    def __contains__(self, i): return k > 1\nk=v\nd=D()',
        'k = v',
        "float('a' in d)",
    ),
    'dict subclass iter': (
        'class D(dict):\n    def __iter__(self): return iter([k])\nk=v\nd=D(a=1)',
        'k = v',
        '[e for e in d][0]',
    ),
    'dict subclass items': (
        'class D(dict):\n    def items(self): return [(1, k)]\nk=v\nd=D(a=1)',
        'k = v',
        '[b for a, b in d.items()][0]',
    ),
    'dict subclass values': (
        'class D(dict):\n    def values(self): return [k]\nk=v\nd=D(a=1)',
        'k = v',
        'list(d.values())[0]',
    ),
    'dict subclass len': (
        'class D(dict):\n    def __len__(self): return int(k*4)\nk=v\nd=D(a=1)',
        'k = v',
        'float(len(d))',
    ),
    'dict subclass bool': (
        'class D(dict):\n    def __bool__(self): return k > 1\nk=v\nd=D(a=1)',
        'k = v',
        '(1.0 if d else 2.0)',
    ),
    'tuple subclass': (
        'class D(tuple):\n    def __getitem__(self, i): return k\nk=v\nd=D([1.0])',
        'k = v',
        'd[0]',
    ),
    'tuple subclass attribute': ('class D(tuple): pass\nd=D([1.0]); d.k = v', 'd.k = v', 'd.k'),
    'float subclass attribute': ('class D(float): pass\nd=D(1.0); d.k = v', 'd.k = v', 'd.k'),
    'float subclass op': (
        'class D(float):\n    def __add__(self, o): return k\nk=v\nd=D(1.0)',
        'k = v',
        'd + 1.0',
    ),
    'float subclass classattr': ('class D(float): k = v\nd=D(1.0)', 'D.k = v', 'd.k'),
    'float subclass method': (
        'class D(float):\n    def m(self): return k\nk=v\nd=D(1.0)',
        'k = v',
        'd.m()',
    ),
    'int subclass op': (
        'class D(int):\n    def __mul__(self, o): return k\nk=v\nd=D(1)',
        'k = v',
        'd * 1.0',
    ),
    'str subclass method': ("class D(str):\n    def m(self): return k\nk=v\nd=D('a')", 'k = v', 'd.m()'),
    'str subclass attribute': ("class D(str): pass\nd=D('a'); d.k=v", 'd.k = v', 'd.k'),
    'set subclass': (
        'class D(set):\n    def __contains__(self, o): return k > 1\nk=v\nd=D()',
        'k = v',
        'float(1 in d)',
    ),
    'user dict in': (
        'u = collections.UserDict()',
        'u.data.clear() if v < 1 else u.update(k=1)',
        "float('k' in u)",
    ),
    'json default': (
        (
            'import json\nclass E(json.JSONEncoder):\n    def default(self, o): return k\nk=v\n'
            'o=Plain()'
        ),
        'k = v',
        'float(json.dumps(o, cls=E))',
    ),
    'pickle': (
        'import pickle\nclass C:\n    def __reduce__(self): return float, (k,)\nk=v\no=C()',
        'k = v',
        'pickle.loads(pickle.dumps(o))',
    ),
    'contextlib.ExitStack': (
        (
            'class M:\n    def __enter__(self): return k\n    def __exit__(self, *a): pass\nk=v\n'
            'def h():\n    with contextlib.ExitStack() as s: return s.enter_context(M())'
        ),
        'k = v',
        'h()',
    ),
    'suppress': (
        (
            'E = [ValueError]\ndef h():\n    with contextlib.suppress(E[0]):\n'
            '        raise ValueError\n    return 1.0\ndef g():\n    try: return h()\n'
            '    except ValueError: return 2.0'
        ),
        'E[0] = ValueError if v < 1 else KeyError',
        'g()',
    ),
    'except class var': (
        (
            'E = [ValueError]\ndef g():\n    try: raise ValueError\n    except E[0]: return 1.0\n'
            '    except Exception: return 2.0'
        ),
        'E[0] = ValueError if v < 1 else KeyError',
        'g()',
    ),
    'weakset': (
        'o=Plain(); w = weakref.WeakSet()',
        'w.add(o) if v > 1 else w.discard(o)',
        'float(len(w))',
    ),
    'generator gi_frame': (
        'def gg():\n    a = 1\n    yield a\n    a = 2\n    yield a\ng = gg(); next(g)',
        'next(g, None)',
        'float(g.gi_frame is None)',
    ),
    'exception attribute': ('e = ValueError(v)', 'e.args = (v,)', 'e.args[0]'),
    'itertools.starmap': (
        'l=[(v, 1.0)]',
        'l[0] = (v, 1.0)',
        'list(itertools.starmap(lambda a, b: a*b, l))[0]',
    ),
    'zip strict': ('l=[v]', 'l[0] = v', '[a for a, b in zip(l, [1])][0]'),
    'union': (
        'T = int | str\no = 1.5',
        'T = int | str if v < 1 else int | float',
        'float(isinstance(o, T))',
    ),
    'tuple types': (
        'T = (int, str)\no = 1.5',
        'T = (int, str) if v < 1 else (int, float)',
        'float(isinstance(o, T))',
    ),
    'class of class changed': (
        'class M(type): p = v0\nclass N(type): p = v1\nclass C(metaclass=M): pass',
        'C.__class__ = M if v < 1 else N',
        'C.p',
    ),
    'dict copy': ("d = {'k': v}", "d['k'] = v", "d.copy()['k']"),
}  # fmt: skip
#: Reads that cannot be watched, and the words by which the warning names them.
TOLD: dict[str, str] = {
    "count repr": "i: what an object of count holds",
    "array.array": "a: the elements of an object of array",
    "array len": "a: the elements of an object of array",
    "bytearray len": "a: the elements of an object of bytearray",
    "struct.unpack": "b: the elements of an object of bytearray",
    "ctypes array": "c: what an object of c_double_Array_1 holds",
    "io.StringIO content": "s: what an object of StringIO holds",
    "io.StringIO tell": "s: what an object of StringIO holds",
    "io.BytesIO": "s: what an object of BytesIO holds",
    "mmap": "m: what an object of mmap holds",
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", READS)
def test_a_change_is_seen_or_told_of(name: str, tmp_path: Any) -> None:
    check(READS[name], tmp_path, TOLD.get(name))
