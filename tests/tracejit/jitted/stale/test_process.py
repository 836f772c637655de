"""Reads of modules, of the process and of settings of libraries: a change is seen, or a warning names it."""

from __future__ import annotations

from typing import Any

import pytest

from .programs import Read, check

_SETUP_0 = (
    "import importlib\n"
    "sys.path.insert(0, str(pathlib.Path(FILE).parent)); sys.dont_write_bytecode = True\n"
    "pathlib.Path(FILE).with_name('made_reload.py').write_text('K = 0.5\\ndef f():"
    " return 0.5\\nclass C:\\n    p = 0.5\\n    def m(self): return 0.5\\n')\n"
    "sys.modules.pop('made_reload', None)\nimport made_reload\n"
    "from made_reload import f as ff\ndef imp():\n    from made_reload import f\n"
    "    return f()"
)
_SETUP_1 = "np.set_printoptions(precision=8); a = np.array([1/3])"
_CHANGE_0 = "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m"
_CHANGE_1 = (
    "pathlib.Path(FILE).with_name('made_reload.py').write_text(f'K = {v}\\ndef f():"
    " return {v}\\nclass C:\\n    p = {v}\\n    def m(self): return {v}\\n')\n"
    "importlib.invalidate_caches(); importlib.reload(made_reload)"
)
_CHANGE_2 = "os.environ['TZ'] = 'UTC' if v < 1 else 'EST5EDT'; time.tzset()"
#: Setup, change, and what is read: an expression.
READS: dict[str, Read] = {
    'sys.modules import': (
        (
            "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m\ndef h():\n"
            '    import made_reads\n    return made_reads.k'
        ),
        _CHANGE_0,
        'h()',
    ),
    'sys.modules import from': (
        (
            "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m\ndef h():\n"
            '    from made_reads import k\n    return k'
        ),
        _CHANGE_0,
        'h()',
    ),
    'sys.modules import from attribute': (
        (
            "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m\ndef h():\n"
            '    from made_reads import k\n    return k'
        ),
        'm.k = v',
        'h()',
    ),
    'importlib.import_module': (
        (
            'import importlib\n'
            "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m"
        ),
        _CHANGE_0,
        "importlib.import_module('made_reads').k",
    ),
    'sys.modules get': (
        "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m",
        _CHANGE_0,
        "sys.modules.get('made_reads').k",
    ),
    'sys.modules in': (
        '',
        (
            "sys.modules['made_reads2'] = sys if v > 1 else sys.modules.pop('made_reads2',"
            " None) and None\nif v < 1: sys.modules.pop('made_reads2', None)"
        ),
        "float('made_reads2' in sys.modules)",
    ),
    'sys.modules deleted': (
        (
            "m = types.ModuleType('made_reads'); m.k = v; sys.modules['made_reads'] = m\ndef h():\n"
            '    try:\n        import made_reads3\n        return made_reads3.k\n'
            '    except ImportError: return 3.0'
        ),
        "sys.modules['made_reads3'] = m\nif v < 1: del sys.modules['made_reads3']",
        'h()',
    ),
    'importlib.reload': (
        (
            'import importlib\n'
            'sys.path.insert(0, str(pathlib.Path(FILE).parent)); sys.dont_write_bytecode = True\n'
            "pathlib.Path(FILE).with_name('made_reload.py').write_text('K = 0.5\\ndef f():"
            " return 0.5\\nclass C:\\n    p = 0.5\\n    def m(self): return 0.5\\n')\n"
            "sys.modules.pop('made_reload', None)\nimport made_reload\n"
            'from made_reload import f as ff'
        ),
        _CHANGE_1,
        'made_reload.K',
    ),
    'importlib.reload a function': (_SETUP_0, _CHANGE_1, 'made_reload.f()'),
    'importlib.reload a class': (_SETUP_0, _CHANGE_1, 'made_reload.C.p'),
    'importlib.reload an object': (_SETUP_0, _CHANGE_1, 'made_reload.C().m()'),
    'importlib.reload import': (_SETUP_0, _CHANGE_1, 'imp()'),
    'importlib.reload vars': (_SETUP_0, _CHANGE_1, "vars(made_reload)['K']"),
    'importlib.reload getattr': (_SETUP_0, _CHANGE_1, "getattr(made_reload, 'K')"),
    'importlib.reload attrgetter': (_SETUP_0, _CHANGE_1, "operator.attrgetter('K')(made_reload)"),
    'importlib.reload importlib': (_SETUP_0, _CHANGE_1, "importlib.import_module('made_reload').K"),
    'module class replaced': (
        (
            'class Mod(types.ModuleType):\n    @property\n    def k(self): return kk\nkk=v\n'
            "m = types.ModuleType('m'); m.__class__ = Mod"
        ),
        'kk = v',
        'm.k',
    ),
    'module class assigned': (
        (
            'class Mod(types.ModuleType):\n    k = v1\n'
            "m = types.ModuleType('m'); m.__dict__.pop('k', 0)\nclass Mod0(types.ModuleType):\n"
            '    k = v0\nm.__class__ = Mod0'
        ),
        'm.__class__ = Mod if v > 1 else Mod0',
        'm.k',
    ),
    'submodule': (
        "m = types.ModuleType('m'); m.s = types.ModuleType('m.s'); m.s.k = v",
        "m.s = types.ModuleType('m.s'); m.s.k = v",
        'm.s.k',
    ),
    'module __getattr__ added': (
        "m = types.ModuleType('m'); m.__getattr__ = lambda n: v0",
        'm.__getattr__ = (lambda n: v0) if v < 1 else (lambda n: v1)',
        'm.zz',
    ),
    'builtins via module': (
        '',
        'builtins.abs = (lambda x: 9.0) if v > 1 else ORIGINAL_ABS',
        'builtins.abs(-2.0)',
    ),
    'os.environ copy': (
        "os.environ['MADE_K'] = str(v)",
        "os.environ['MADE_K'] = str(v)",
        "float(os.environ.copy()['MADE_K'])",
    ),
    'os.environ dict': (
        "os.environ['MADE_K'] = str(v)",
        "os.environ['MADE_K'] = str(v)",
        "float(dict(os.environ)['MADE_K'])",
    ),
    'os.environ len': (
        '',
        "os.environ['MADE_K2'] = '1'\nif v < 1: del os.environ['MADE_K2']",
        'float(len(os.environ))',
    ),
    'os.environ items': (
        "os.environ['MADE_K'] = str(v)",
        "os.environ['MADE_K'] = str(v)",
        "float([b for a, b in os.environ.items() if a == 'MADE_K'][0])",
    ),
    'os.environb': (
        "os.environ['MADE_K'] = str(v)",
        "os.environ['MADE_K'] = str(v)",
        "float(os.environb[b'MADE_K'])",
    ),
    'os.getenvb': (
        "os.environ['MADE_K'] = str(v)",
        "os.environ['MADE_K'] = str(v)",
        "float(os.getenvb(b'MADE_K'))",
    ),
    'os.getenv var name': (
        "os.environ['MADE_K'] = str(v); n = 'MADE_K'",
        "os.environ['MADE_K'] = str(v)",
        'float(os.getenv(n))',
    ),
    'os.getenv keywords': (
        "os.environ['MADE_K'] = str(v); n = 'MADE_K'",
        "os.environ['MADE_K'] = str(v)",
        "float(os.getenv(key='MADE_K'))",
    ),
    'os.getenv default': (
        '',
        "os.environ['MADE_K3'] = '2'\nif v < 1: del os.environ['MADE_K3']",
        "float(os.getenv('MADE_K3', '7'))",
    ),
    'os.getenv default num': ('k = v', 'k = v', "float(os.getenv('MADE_K4', k))"),
    'os.environ get name': (
        "n='MADE_K'; os.environ['MADE_K'] = str(v)",
        'os.environ[n] = str(v)',
        'float(os.environ.get(n))',
    ),
    'os.path.expandvars': (
        "os.environ['MADE_K'] = str(v)",
        "os.environ['MADE_K'] = str(v)",
        "float(os.path.expandvars('$MADE_K'))",
    ),
    'Path.cwd': ('', "os.chdir('/' if v > 1 else HOME)", 'float(len(str(pathlib.Path.cwd())))'),
    'os.path.abspath': ('', "os.chdir('/' if v > 1 else HOME)", "float(len(os.path.abspath('a')))"),
    'Path.resolve': (
        '',
        "os.chdir('/' if v > 1 else HOME)",
        "float(len(str(pathlib.Path('a').absolute())))",
    ),
    'os.getcwdb': ('', "os.chdir('/' if v > 1 else HOME)", 'float(len(os.getcwdb()))'),
    'os.get_terminal_size': (
        "import shutil\nos.environ['COLUMNS'] = '80'",
        "os.environ['COLUMNS'] = '80' if v < 1 else '100'",
        'float(shutil.get_terminal_size().columns)',
    ),
    'sys.path': (
        '',
        "sys.path.append('zz')\nif v < 1: sys.path.remove('zz'); sys.path.remove('zz')",
        'float(len(sys.path))',
    ),
    'sys.argv': ('', "sys.argv = ['a'] if v < 1 else ['a', 'b']", 'float(len(sys.argv))'),
    'sys.maxsize etc': ('sys.made = v', 'sys.made = v', 'sys.made'),
    'sys.getswitchinterval': (
        '',
        'sys.setswitchinterval(0.005 if v < 1 else 0.006)',
        'sys.getswitchinterval()',
    ),
    'sys.getrecursionlimit alias': (
        'from sys import getrecursionlimit as grl',
        'sys.setrecursionlimit(1000 if v < 1 else 1100)',
        'float(grl())',
    ),
    'sys.getrecursionlimit in an object': (
        'o=Plain(); o.g = sys.getrecursionlimit',
        'sys.setrecursionlimit(1000 if v < 1 else 1100)',
        'float(o.g())',
    ),
    'sys.getrecursionlimit map': (
        '',
        'sys.setrecursionlimit(1000 if v < 1 else 1100)',
        'float((lambda g: g())(sys.getrecursionlimit))',
    ),
    'sys.get_int_max_str_digits': (
        '',
        'sys.set_int_max_str_digits(4300 if v < 1 else 5000)',
        'float(sys.get_int_max_str_digits())',
    ),
    'sys.getsizeof': ('o = []', 'o.append(1)', 'float(sys.getsizeof(o))'),
    'sys.intern': ("s='a'", "s = 'a' if v < 1 else 'bb'", 'float(len(sys.intern(s)))'),
    'threading.current_thread.name': (
        '',
        "threading.current_thread().name = 'a' if v < 1 else 'bb'",
        'float(len(threading.current_thread().name))',
    ),
    'threading.local in an object': ('o=Plain(); o.t = threading.local(); o.t.k = v', 'o.t.k = v', 'o.t.k'),
    'lock.locked': ('l = threading.Lock()', 'l.acquire() if v > 1 else l.release()', 'float(l.locked())'),
    'event.is_set': ('l = threading.Event()', 'l.set() if v > 1 else l.clear()', 'float(l.is_set())'),
    'queue': ('import queue\nq = queue.Queue()', 'q.put(1) if v > 1 else q.get()', 'float(q.qsize())'),
    'semaphore': (
        'l = threading.Semaphore(3)',
        'l.acquire() if v > 1 else l.release()',
        'float(l._value)',
    ),
    'decimal getcontext prec': (
        '',
        'decimal.getcontext().prec = 3 if v > 1 else 10',
        'float(decimal.getcontext().prec)',
    ),
    'decimal setcontext': (
        'decimal.setcontext(decimal.Context(prec=10))',
        'decimal.setcontext(decimal.Context(prec=10 if v < 1 else 4))',
        'float(decimal.Decimal(1) / 3)',
    ),
    'decimal setcontext prec': (
        'decimal.setcontext(decimal.Context(prec=10))',
        'decimal.setcontext(decimal.Context(prec=10 if v < 1 else 4))',
        'float(decimal.getcontext().prec)',
    ),
    'decimal rounding': (
        "decimal.setcontext(decimal.Context(prec=2, rounding='ROUND_UP'))",
        "decimal.getcontext().rounding = 'ROUND_UP' if v < 1 else 'ROUND_DOWN'",
        "float(decimal.Decimal('1.23') + 0)",
    ),
    'decimal captured': (
        'decimal.setcontext(decimal.Context(prec=10)); d = decimal.Decimal(1)',
        'decimal.setcontext(decimal.Context(prec=10 if v < 1 else 4))',
        'float(d / 3)',
    ),
    'decimal Emax': (
        'decimal.setcontext(decimal.Context(prec=10, traps=[]))',
        'decimal.getcontext().Emax = 999999 if v < 1 else 2',
        "float(decimal.Decimal('100') * 100)",
    ),
    'decimal traps': (
        (
            'decimal.setcontext(decimal.Context(prec=10, traps=[]))\ndef h():\n'
            '    try: return float(decimal.Decimal(1) / 0)\n    except ArithmeticError: return 3.0'
        ),
        'decimal.getcontext().traps[decimal.DivisionByZero] = v > 1',
        'h()',
    ),
    'decimal flags': (
        'decimal.getcontext().clear_flags()',
        'decimal.getcontext().flags[decimal.Inexact] = v > 1',
        'float(decimal.getcontext().flags[decimal.Inexact])',
    ),
    'decimal localcontext': (
        (
            'decimal.setcontext(decimal.Context(prec=10))\ndef h():\n'
            '    with decimal.localcontext() as c:\n        return float(decimal.Decimal(1) / 3)'
        ),
        'decimal.getcontext().prec = 10 if v < 1 else 4',
        'h()',
    ),
    'decimal context an object': (
        'c = decimal.Context(prec=10)',
        'c.prec = 10 if v < 1 else 4',
        'float(c.divide(decimal.Decimal(1), decimal.Decimal(3)))',
    ),
    'decimal context given': (
        'c = decimal.Context(prec=10); d=decimal.Decimal(2)',
        'c.prec = 10 if v < 1 else 4',
        'float(d.sqrt(c))',
    ),
    'decimal in list sum': (
        "decimal.setcontext(decimal.Context(prec=10)); d = [decimal.Decimal('1.23456')]*3",
        'decimal.getcontext().prec = 10 if v < 1 else 3',
        'float(sum(d))',
    ),
    'decimal quantize by str': (
        "decimal.setcontext(decimal.Context(prec=10)); s='1.23456'",
        'decimal.getcontext().prec = 10 if v < 1 else 3',
        'float(+decimal.Decimal(s))',
    ),
    'decimal DefaultContext': (
        '',
        'decimal.DefaultContext.prec = 10 if v < 1 else 3',
        'float(decimal.DefaultContext.prec)',
    ),
    'locale.localeconv2': (
        'locale._override_localeconv = {}',
        "locale._override_localeconv = {} if v < 1 else {'decimal_point': ',,'}",
        "float(len(locale.localeconv()['decimal_point']))",
    ),
    'locale.str': (
        'locale._override_localeconv = {}',
        "locale._override_localeconv = {} if v < 1 else {'decimal_point': ',,'}",
        'float(len(locale.str(1.5)))',
    ),
    'time.tzname': ("os.environ['TZ'] = 'UTC'; time.tzset()", _CHANGE_2, 'float(time.timezone)'),
    'time.localtime': (
        "os.environ['TZ'] = 'UTC'; time.tzset()",
        _CHANGE_2,
        'float(time.localtime(0).tm_hour)',
    ),
    'datetime.fromtimestamp': (
        "os.environ['TZ'] = 'UTC'; time.tzset()",
        _CHANGE_2,
        'float(datetime.datetime.fromtimestamp(0).hour)',
    ),
    'np.errstate': (
        (
            "np.seterr(divide='ignore')\ndef h():\n    with np.errstate(over='ignore'):\n"
            "        return float(np.geterr()['divide'] == 'warn')"
        ),
        "np.seterr(divide='ignore' if v < 1 else 'warn')",
        'h()',
    ),
    'np.seterr result': (
        "np.seterr(divide='ignore')",
        "np.seterr(divide='ignore' if v < 1 else 'warn')",
        "float(np.seterr()['divide'] == 'warn')",
    ),
    'np.geterrcall': (
        '',
        'np.seterrcall(None if v < 1 else (lambda *a: None))',
        'float(np.geterrcall() is None)',
    ),
    'np.getbufsize': ('', 'np.setbufsize(8192 if v < 1 else 16384)', 'float(np.getbufsize())'),
    'np.array2string': (
        _SETUP_1,
        'np.set_printoptions(precision=8 if v < 1 else 3)',
        'float(np.array2string(a)[1:-1])',
    ),
    'NumPy: str': (_SETUP_1, 'np.set_printoptions(precision=8 if v < 1 else 3)', 'float(str(a)[1:-1])'),
    'NumPy: repr': (_SETUP_1, 'np.set_printoptions(precision=8 if v < 1 else 3)', 'float(len(repr(a)))'),
    'NumPy: fstring': (_SETUP_1, 'np.set_printoptions(precision=8 if v < 1 else 3)', "float(len(f'{a}'))"),
    'NumPy: format': (
        _SETUP_1,
        'np.set_printoptions(precision=8 if v < 1 else 3)',
        "float(len('{}'.format(a)))",
    ),
    'NumPy: percent': (_SETUP_1, 'np.set_printoptions(precision=8 if v < 1 else 3)', "float(len('%s' % a))"),
    'NumPy: str list': (
        'np.set_printoptions(legacy=False); a = [np.float64(1.5)]',
        "np.set_printoptions(legacy=False if v < 1 else '1.25')",
        'float(len(str(a)))',
    ),
    'NumPy: scalar repr': (
        'np.set_printoptions(legacy=False); a = np.float64(1.5)',
        "np.set_printoptions(legacy=False if v < 1 else '1.25')",
        'float(len(repr(a)))',
    ),
    'NumPy: printoptions context': (
        (
            'np.set_printoptions(precision=8); a = np.array([1/3])\ndef h():\n'
            '    with np.printoptions(suppress=True): return float(str(a)[1:-1])'
        ),
        'np.set_printoptions(precision=8 if v < 1 else 3)',
        'h()',
    ),
    'NumPy: array flags': ('a = np.array([1.0])', 'a.flags.writeable = v < 1', 'float(a.flags.writeable)'),
    'NumPy: array shape': ('a = np.ones(4)', 'a.shape = (4,) if v < 1 else (2, 2)', 'float(a.ndim)'),
    'NumPy: array content': ('a = np.array([v])', 'a[0] = v', 'float(a[0])'),
    'NumPy: array dtype': (
        'a = np.array([1.0, 2.0])',
        "a = np.array([1.0, 2.0], 'f4' if v > 1 else 'f8')",
        'float(a.itemsize)',
    ),
    'NumPy: subclass attribute': (
        'class S(np.ndarray): pass\na = np.ones(2).view(S); a.k = v', 'a.k = v', 'a.k',
    ),
    'NumPy: view of buffer': (
        'b = bytearray(8); a = np.frombuffer(b)',
        "np.frombuffer(b, dtype='f8').flags; b[:] = np.array([v]).tobytes()",
        'float(a[0])',
    ),
    'NumPy: object array': ('o=Plain(); o.k=v; a = np.array([o], dtype=object)', 'o.k = v', 'a[0].k'),
    'NumPy: structured': (
        "a = np.zeros(1, dtype=[('k', 'f8')]); a['k'] = v",
        "a['k'] = v",
        "float(a['k'][0])",
    ),
    'NumPy: poly1d': ('p = np.poly1d([1.0, v])', 'p.coeffs[1] = v', 'float(p(2.0))'),
    'np.vectorize': ('g = np.vectorize(lambda e: e * k)\nk=v', 'k = v', 'float(g(2.0))'),
    'logging.getLogger level': (
        "log = logging.getLogger('made'); log.setLevel(10)",
        'log.setLevel(10 if v < 1 else 30)',
        "float(logging.getLogger('made').level)",
    ),
    'logging effective': (
        (
            "log = logging.getLogger('made.sub'); par = logging.getLogger('made');"
            ' log.setLevel(0); par.setLevel(10)'
        ),
        'par.setLevel(10 if v < 1 else 30)',
        'float(log.getEffectiveLevel())',
    ),
    'logging disable': (
        "log = logging.getLogger('made'); log.setLevel(10)",
        'logging.disable(0 if v < 1 else 50)',
        'float(log.isEnabledFor(20))',
    ),
    'logging root level': (
        'logging.root.setLevel(30)',
        'logging.root.setLevel(30 if v < 1 else 10)',
        'float(logging.getLogger().level)',
    ),
    'logging getLevelName': (
        "logging.addLevelName(33, 'a')",
        "logging.addLevelName(33, 'a' if v < 1 else 'bb')",
        'float(len(logging.getLevelName(33)))',
    ),
    'string.Template': (
        "t = string.Template('$k')",
        "t.template = '$k' if v < 1 else '3$k'",
        'float(t.substitute(k=1))',
    ),
    'contextvar token': (
        "c = contextvars.ContextVar('c'); t = c.set(1.0); c.set(v)",
        'c.set(v)',
        'c.get()',
    ),
    'context run': (
        (
            "c = contextvars.ContextVar('c', default=1.0); x_ = contextvars.copy_context();"
            ' x_.run(c.set, v)'
        ),
        'x_.run(c.set, v)',
        'x_.run(c.get)',
    ),
    'context item': (
        (
            "c = contextvars.ContextVar('c', default=1.0); x_ = contextvars.copy_context();"
            ' x_.run(c.set, v)'
        ),
        'x_.run(c.set, v)',
        'x_[c]',
    ),
    'string.Formatter': (
        'class F(string.Formatter):\n    def get_value(self, *a): return k\nk=v\nf_ = F()',
        'k = v',
        "float(f_.format('{0}'))",
    ),
}  # fmt: skip
#: Reads that cannot be watched, and the words by which the warning names them.
TOLD: dict[str, str] = {
    "lock.locked": "l: what an object of lock holds",
    "context run": "x_: what an object of Context holds",
    "context item": "x_: what an object of Context holds",
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", READS)
def test_a_change_is_seen_or_told_of(name: str, tmp_path: Any) -> None:
    check(READS[name], tmp_path, TOLD.get(name))
