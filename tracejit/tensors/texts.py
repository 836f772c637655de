"""The text of tensors: NumPy's of the elements, which follows ``np.set_printoptions``.

A traced tensor has no elements. Its text says so where it is only shown: printed, logged, or in the message
of an error. Everywhere else the text is a value that the function may compute with: a number tells its own,
and a call that asks for the text of an array runs as Python.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from ..base.errors import ConcretizationError, DTypeError
from ..base.user_code import is_user_file
from ..ir.dtypes import BOOL, INT64, complex_dtype, default_dtype
from ..ir.graph import Value
from ..state import STATE
from .array_callers import frame_above
from .python_values import is_integer, is_number, is_of_call, plain_value, runs_as_python, users_frame

Array = np.ndarray[Any, Any]
#: A Tensor, whose module builds on this one.
Tensor: TypeAlias = Any

#: Functions and methods that show their arguments to a reader.
_SHOWING: Final = frozenset(
    ("print", "pprint", "debug", "info", "warn", "warning", "error", "critical", "exception", "log", "write")
)
#: Modules whose code makes texts for readers.
_SHOWING_MODULES: Final = ("logging", "pprint", "reprlib", "traceback", "warnings")
#: Parts of an expression around a text that make a longer text.
_AROUND: Final = (
    ast.JoinedStr, ast.FormattedValue, ast.Constant, ast.BinOp, ast.Starred, ast.keyword, ast.List, ast.Tuple
)  # fmt: skip
_MAKING: Final = frozenset(("str", "repr", "format", "join"))


def text_of(x: Tensor) -> str:
    """``str(x)``"""
    if not isinstance(x._data, Value):
        return repr(x)
    return _text(x, str) if is_number(x._data) or _is_users(frame_above(1)) else traced_text(x)


def represented(x: Tensor) -> str:
    """``repr(x)`` of a traced tensor."""
    return _text(x, repr) if _is_users(frame_above(2)) else traced_text(x)


def _is_users(frame: Any) -> bool:
    """Whether the function that is traced asks for a text at `frame`, and not this package for a message."""
    return is_user_file(frame.f_code.co_filename)


def asked_repr(value: Any) -> str:
    """``repr(value)``, which the function that is traced asks for."""
    return _text(value, repr) if isinstance(getattr(value, "_data", None), Value) else repr(value)


def _text(x: Tensor, text: Callable[[Any], str]) -> str:
    """The `text` of the traced `x`: ``str`` or ``repr`` of what it is where the function runs as it is."""
    asked, frame = f"{text.__name__}(x)", users_frame()[1]
    if is_number(x._data) or _is_value(frame):
        if not x.shape:
            return text(plain_value(x, asked, "tj.debug.print"))
        raise runs_as_python(asked, frame)
    return traced_text(x)


def formatted(x: Tensor, spec: str) -> str:
    """``format(x, spec)``"""
    if not spec and not is_integer(x._data):
        is_asked = is_number(x._data) or (isinstance(x._data, Value) and _is_users(frame_above(1)))
        return _text(x, str) if is_asked else repr(x)
    instead = "tj.debug.print, or the value outside of it"
    decides = is_number(x._data) or (isinstance(x._data, Value) and _is_value(users_frame()[1]))
    try:
        data = x._concrete(f"formatting with {spec!r}", instead, decides=decides)
    except ConcretizationError as error:
        if STATE.unformatted is None:
            raise
        STATE.unformatted.append(error)
        return repr(x)
    if data.size != 1:
        raise DTypeError(f"only a tensor of one element can be formatted with {spec!r}, got {x.type}")
    return format(data.item(), spec)


def shown(asked: str, text: str) -> str:
    """`text` in place of the elements of what is traced, where it is only shown. A call that has `asked` for
    it runs as Python elsewhere."""
    frame = users_frame()[1]
    if _is_value(frame):
        raise runs_as_python(asked, frame)
    return text


def _is_value(frame: Any) -> bool:
    """Whether the text that the code at `frame` makes of a traced tensor may be computed with: in a call that
    has values, where it is not only shown."""
    return STATE.tracer is not None and is_of_call() and not _is_shown(frame)


def _is_shown(frame: Any) -> bool:
    """Whether the text that the code at `frame` is making is only shown to a reader."""
    if frame.f_globals.get("__name__", "").partition(".")[0] in _SHOWING_MODULES:
        return True
    code = frame.f_code
    position = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    lines = linecache.getlines(code.co_filename, frame.f_globals)
    if None in position or not lines:
        return False
    first, last, start, end = position
    node, parents = _innermost("".join(lines), (first, start), (last, end))
    while node is not None:
        parent = parents.get(node)
        if isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in _SHOWING or isinstance(parent, ast.Raise):
                return True
            if name not in _MAKING:
                return False
        elif isinstance(parent, ast.Assert):
            return parent.msg is node
        elif not isinstance(node, _AROUND):
            return False
        node = parent
    return False


def _innermost(source: str, start: Any, end: Any) -> tuple[ast.AST | None, dict[ast.AST, ast.AST]]:
    """The innermost expression of `source` from `start` to `end`, which are lines and columns, and the
    parents of all."""
    found: ast.AST | None = None
    expressions, parents = _expressions(source)
    for node in expressions:  # those inside come behind those around
        first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        if first <= start and end <= last:
            found = node
    return found, parents


@functools.lru_cache(maxsize=16)
def _expressions(source: str) -> tuple[list[Any], dict[ast.AST, ast.AST]]:
    """The expressions of `source`, and the parents of its nodes."""
    parents: dict[ast.AST, ast.AST] = {}
    expressions = []
    try:
        tree = ast.parse(source)
    except SyntaxError:  # no module: a cell of a notebook with commands, say
        return [], {}
    for node in ast.walk(tree):
        parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
        if isinstance(node, (ast.expr, ast.Raise)):
            expressions.append(node)
    return expressions, parents


#: The beginning of the text of a traced tensor.
_TRACED: Final = "tensor(<traced "


def traced_text(x: Tensor) -> str:
    """``repr(x)`` of a traced tensor."""
    return f"{_TRACED}{x.type}>)"


def shows_traced(text: str) -> bool:
    """Whether a `text` shows a traced tensor in the place of a value."""
    return _TRACED in text


_PREFIX: Final = "tensor("


def tensor_text(data: Array, suffix: str) -> str:
    """``tensor(...)`` of `data` with what its elements do not tell, and `suffix`, such as
    ``requires_grad=True``, after them."""
    suffixes = [f"size={data.shape}"] if data.size == 0 and data.shape != (0,) else []
    own = default_dtype()
    usual = (own,) if data.size == 0 else (own, BOOL, INT64, complex_dtype(own))
    if data.dtype not in usual:
        suffixes.append(f"dtype={data.dtype.name}")
    if suffix:
        suffixes.append(suffix)
    behind = "," if suffixes else ")"
    elements = np.array2string(data, separator=", ", prefix=_PREFIX, suffix=behind) if data.size else "[]"
    text = _PREFIX + elements
    width = np.get_printoptions()["linewidth"]
    last_line = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last_line + len(suffix) + 2 > width:
            text += ",\n" + " " * len(_PREFIX) + suffix
            last_line = len(_PREFIX) + len(suffix)
        else:
            text += ", " + suffix
            last_line += len(suffix) + 2
    return text + ")"
