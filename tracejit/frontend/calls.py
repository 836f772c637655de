"""Follows calls: into functions of the user's, by what is known of those of libraries."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterable
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

from ..ir.registry import OPS, Kind
from ..tensor import Tensor
from . import library
from .execution import Execution
from .guards import Guard, is_constant
from .lookup import Lookup, is_library, is_own
from .sources import MISSING, Source
from .values import (
    TRACED,
    UNKNOWN,
    Bound,
    Cell,
    Closure,
    Constant,
    Group,
    Iteration,
    Parent,
    Place,
    Transformed,
    choice_of,
    join,
    options,
)

#: How many instructions are followed for one trace, and how deep calls go.
_MOST_STEPS: Final = 400_000
_DEEPEST: Final = 60
#: How often a function is followed inside itself.
_MOST_RECURSIONS: Final = 3


class TooLongError(Exception):
    """More code than is followed."""


class Reader(Lookup):
    """Follows a function and what it calls; `uses` tells what that reads."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = 0
        self._running: list[CodeType] = []
        self._done: dict[Any, Any] = {}

    def step(self) -> None:
        """Count an instruction. Raises TooLongError after too many."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise TooLongError

    # -- operators ---------------------------------------------------------------------------------

    def binary(self, left: Any, right: Any, operator: str, site: tuple[CodeType, int]) -> Any:
        """``left operator right``"""
        tensors = _all_tensors(left), _all_tensors(right)
        if not any(tensors):
            for value in (left, right):
                self.escape(value)
            return UNKNOWN
        for value, is_tensor in zip((left, right), tensors, strict=True):
            if not is_tensor:
                self._combine(value, operator, site)
        return TRACED

    def _combine(self, value: Any, operator: str, site: tuple[CodeType, int]) -> None:
        """`value` meets a tensor."""
        alternatives = options(value)
        numbers = [one for one in alternatives if isinstance(one, Place) and type(one.value) is float]
        if len(numbers) == len(alternatives) and operator not in ("**", "**="):
            for place in numbers:
                self.uses.operand(*site, place)
            return
        self.uses.mixed(site)
        for option in alternatives:
            if not (isinstance(option, Place) and isinstance(option.value, np.ndarray)):
                self.escape(option)

    def unary(self, value: Any) -> Any:
        """``-value`` and its like."""
        if _all_tensors(value):
            return TRACED
        self.escape(value)
        return UNKNOWN

    def test(self, value: Any) -> None:
        """The truth of `value` decides something."""
        for option in options(value):
            if not isinstance(option, Place):
                continue
            if isinstance(option.value, (dict, list, tuple, set, frozenset)):
                self.uses.structure(option)
            elif is_constant(option.value) or isinstance(option.value, np.ndarray):
                self.uses.inspect(option)
            elif not isinstance(option.value, Tensor):
                method = getattr(type(option.value), "__bool__", None) or getattr(
                    type(option.value), "__len__", None
                )
                if method is None:
                    self.uses.guard(Guard, option.attribute("__class__", None), type(option.value))
                elif isinstance(method, FunctionType):
                    self.call(self.attribute(option, method.__name__), [], {}, None, None)
                else:
                    self.escape(option)

    def identify(self, value: Any) -> None:
        """Which object `value` is decides something, mostly whether it is None."""
        for option in options(value):
            if not isinstance(option, Place) or isinstance(option.value, (Tensor, np.ndarray)):
                continue
            if is_constant(option.value) or isinstance(option.value, (type, FunctionType)):
                self.uses.same(option)
            else:
                self.uses.guard(Guard, option.attribute("__class__", None), type(option.value))

    def search(self, container: Any) -> None:
        """``x in container``, ``len(container)``"""
        for option in options(container):
            if isinstance(option, Place) and isinstance(option.value, (dict, set, frozenset)):
                self.uses.structure(option)
            else:
                self.escape(option)

    def slice(self, parts: list[Any]) -> Any:
        """``start:stop:step``"""
        known = []
        for part in parts:
            value = self._known_key(part)
            if value is MISSING:
                self.escape(part)
                return UNKNOWN
            known.append(value)
        return Constant(slice(*known))

    def store_attribute(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value``"""
        self.escape(value)
        for option in options(owner):
            if isinstance(option, Place):
                self.written(option.attribute(name, None))

    def store_item(self, owner: Any, key: Any, value: Any) -> None:
        """``owner[key] = value``"""
        self.escape(key)
        for option in options(owner):
            if isinstance(option, Group):
                self.escape(value)
            elif isinstance(option, Place):
                self.escape(value)
                self.written(option)
            else:
                self.escape(value)

    def written(self, place: Place) -> None:
        """The function itself writes what lies at `place`, or in it."""
        self.uses.written.add(place.identity)

    # -- containers that the code builds -------------------------------------------------------------

    def mapping(self, keys: list[Any], values: list[Any]) -> Group:
        """``{key: value, ...}``"""
        known = [key.value for key in keys if isinstance(key, Constant)]
        if len(known) == len(keys):
            return Group("dict", tuple(values), tuple(known))
        for key in keys:
            self.escape(key)
        return Group("list", tuple(values))

    def extended(self, target: Any, added: Any) -> Any:
        """A list that the code builds, with the elements of `added` as well."""
        if isinstance(added, Group) and isinstance(target, Group) and added.kind != "dict":
            return Group("list", (*target.items, *added.items)[:64]) if len(target.items) < 64 else target
        if isinstance(added, Place) and isinstance(added.value, (list, tuple)) and isinstance(target, Group):
            return Group("list", (*target.items, *self.unpack(added, len(added.value))))
        element = self.iterate(added)
        if isinstance(target, Group) and len(target.items) < 8:
            return Group("list", (*target.items, element))
        for option in options(element):
            self.escape(option)
        return target

    def updated(self, target: Any, added: Any) -> Any:
        """A dict that the code builds, with the items of `added` as well."""
        if not isinstance(target, Group):
            self.escape(added)
            return UNKNOWN
        keys, items = target.keys or (), target.items
        if isinstance(added, Group) and added.keys is not None:
            return Group("dict", (*items, *added.items), (*keys, *added.keys))
        if isinstance(added, Place) and isinstance(added.value, dict):
            self.uses.structure(added)
            names = tuple(added.value)
            values = [self._at(added, name) for name in names]
            return Group("dict", (*items, *values), (*keys, *names))
        self.escape(added)
        return Group("list", (*items, TRACED if added is TRACED else UNKNOWN))

    # -- calls ---------------------------------------------------------------------------------------

    def parent(self, cls: Any, owner: Any) -> Any:
        """``super(cls, owner)``"""
        value = cls.value if isinstance(cls, (Place, Constant)) else None
        return Parent(value, owner) if isinstance(value, type) else UNKNOWN

    def enter(self, manager: Any, run: Execution, i: Any) -> Any:
        """What ``with manager as x`` binds."""
        return self.call(self.attribute(manager, "__enter__"), [], {}, run, i)

    def call_unpacked(self, callee: Any, positional: Any, named: Any, run: Execution, i: Any) -> Any:
        """``callee(*positional, **named)``"""
        arguments: list[Any] = []
        keywords: dict[str, Any] = {}
        if isinstance(positional, Group):
            arguments = list(positional.items)
        elif isinstance(positional, Place) and isinstance(positional.value, (list, tuple)):
            arguments = self.unpack(positional, len(positional.value))
        elif isinstance(positional, Constant) and isinstance(positional.value, tuple):
            arguments = list(map(Constant, positional.value))
        else:
            keywords["*"] = self.iterate(positional)
        if isinstance(named, Group) and named.keys is not None:
            keywords |= {key: item for key, item in zip(named.keys, named.items, strict=True)}
        elif isinstance(named, Place) and isinstance(named.value, dict):
            self.uses.structure(named)
            keywords |= {key: self._at(named, key) for key in named.value}
        elif named is not None:
            keywords["*"] = self.values_or_unknown(named)
        return self.call(callee, arguments, keywords, run, i)

    def values_or_unknown(self, named: Any) -> Any:
        """The values of keyword arguments whose names are not known."""
        if named is TRACED:
            return TRACED
        self.escape(named)
        return UNKNOWN

    def call(self, callee: Any, positional: list[Any], named: dict[str, Any], run: Any, i: Any) -> Any:
        """What ``callee(*positional, **named)`` gives. A name "*" stands for arguments that are not known."""
        return join(*[self._call(option, positional, named, run, i) for option in options(callee)])

    def _call(self, callee: Any, positional: list[Any], named: dict[str, Any], run: Any, i: Any) -> Any:
        if isinstance(callee, Closure):
            return self._follow(callee.code, callee.module, callee.cells, callee, positional, named)
        if isinstance(callee, Bound):
            return self._call_bound(callee, positional, named, run, i)
        if isinstance(callee, Transformed):
            return self._call_transformed(callee, positional, named, run, i)
        if isinstance(callee, Place):
            return self._call_place(callee, positional, named, run, i)
        if isinstance(callee, Constant):
            return self._call_library(callee.value, positional, named, run, i)
        return self._hand_over(positional, named)

    def _hand_over(self, positional: Iterable[Any], named: dict[str, Any]) -> Any:
        for value in (*positional, *named.values()):
            self.escape(value)
        return UNKNOWN

    def _call_place(
        self, callee: Place, positional: list[Any], named: dict[str, Any], run: Any, i: Any
    ) -> Any:
        value = callee.value
        frozen = None if isinstance(value, FunctionType) else library.frozen_source(value)
        if frozen is not None or (value is np.random.default_rng and not (positional or named)):
            self.uses.frozen[frozen or "np.random.default_rng"] = None
            return self._hand_over(positional, named)
        if isinstance(value, MethodType):
            owner = callee.attribute("__self__", value.__self__)
            function = callee.attribute("__func__", value.__func__)
            if callee.settled:  # a method object does not change
                names = getattr(value.__func__, "__code__", None)
                label = names.co_varnames[0] if names is not None and names.co_argcount else "self"
                owner = Place(Source("object", value.__self__, label), value.__self__, settled=True)
                name = getattr(value.__func__, "__name__", "f")
                function = Place(Source("object", value.__func__, name), value.__func__, settled=True)
            return self.call(function, [owner, *positional], named, run, i)
        if isinstance(value, functools.partial):
            self.uses.structure(callee.attribute("args", value.args))
            self.uses.structure(callee.attribute("keywords", value.keywords))
            first = [self._at(callee.attribute("args", value.args), k) for k in range(len(value.args))]
            keywords = {
                name: self._at(callee.attribute("keywords", value.keywords), name) for name in value.keywords
            }
            function = callee.attribute("func", value.func)
            return self.call(function, [*first, *positional], {**keywords, **named}, run, i)
        if isinstance(value, FunctionType) and not is_library(value.__module__):
            self.uses.same(callee)
            wrapped = getattr(value, "__rules__", ())
            for rule in wrapped:
                self.call(Place(Source("object", rule), rule, settled=True), [], {"*": TRACED}, None, None)
            return self._follow_function(callee, value, positional, named)
        if isinstance(value, (FunctionType, types.BuiltinFunctionType, np.ufunc)):
            self.uses.same(callee)
            return self._call_library(value, positional, named, run, i, callee)
        if isinstance(value, type):
            return self._construct(callee, value, positional, named, run, i)
        inner = getattr(value, "_fn", None) if is_own(type(value).__module__) else None
        if callable(inner):  # a jitted function
            self.uses.same(callee)
            place = Place(Source("object", inner, getattr(inner, "__name__", "f")), inner, settled=True)
            return self.call(place, positional, named, run, i)
        if is_own(type(value).__module__):
            self.uses.same(callee)
            return self._call_library(value, positional, named, run, i, callee)
        method = self._attribute(callee, "__call__")
        return (
            self.call(method, positional, named, run, i)
            if isinstance(method, Bound)
            else self._hand_over([callee, *positional], named)
        )

    def _construct(
        self, callee: Place, cls: type, positional: list[Any], named: dict[str, Any], run: Any, i: Any
    ) -> Any:
        self.uses.same(callee)
        if is_own(cls.__module__) or is_library(cls.__module__):
            return self._call_library(cls, positional, named, run, i, callee)
        initializer = getattr(cls, "__init__", None)
        if isinstance(initializer, FunctionType):
            self.call(
                self._class_function(cls, "__init__", initializer), [UNKNOWN, *positional], named, run, i
            )
        else:
            self._hand_over(positional, named)
        if any(is_own(base.__module__) for base in cls.__mro__):
            self._follow_methods(cls)
        return UNKNOWN

    def _follow_methods(self, cls: type) -> None:
        """A class of this library that the user derived from: the library calls its methods."""
        for name, raw in list(vars(cls).items()):
            function = getattr(raw, "__func__", raw)
            if isinstance(function, FunctionType):
                self.call(self._class_function(cls, name, function), [], {"*": TRACED}, None, None)

    def _call_bound(
        self, bound: Bound, positional: list[Any], named: dict[str, Any], run: Any, i: Any
    ) -> Any:
        owner, name = bound.owner, bound.name
        if bound.function is not None:
            return self.call(bound.function, [owner, *positional], named, run, i)
        if owner is TRACED or (isinstance(owner, Place) and isinstance(owner.value, Tensor)):
            if name == "items":
                return Iteration(Group("tuple", (UNKNOWN, TRACED)))
            self._give_library(name, positional, named, run, i)
            return UNKNOWN if name in library.GIVES_OTHERS else TRACED
        if isinstance(owner, Constant):
            if isinstance(owner.value, str):
                self._hand_over(positional, named)
                return UNKNOWN
            return self._call_library(getattr(owner.value, name, None), positional, named, run, i)
        if isinstance(owner, Group):
            return self._call_on_group(owner, name, positional, named)
        if isinstance(owner, Place):
            return self._call_on_container(owner, name, positional, named)
        self.escape(owner)
        return self._hand_over(positional, named)

    def _call_on_group(self, group: Group, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
        if name == "items" and group.keys is not None:
            pairs = zip(map(Constant, group.keys), group.items, strict=True)
            return Iteration(choice_of([Group("tuple", pair) for pair in pairs]))
        if name == "values":
            return Iteration(choice_of(group.items))
        if name == "get" and positional:
            return join(self._item_of_group(group, positional[0]), *positional[1:])
        return self._hand_over(positional, named)

    def _call_on_container(
        self, owner: Place, name: str, positional: list[Any], named: dict[str, Any]
    ) -> Any:
        value = owner.value
        if isinstance(value, dict):
            if name == "items":
                self.uses.structure(owner)
                if len(value) <= 256:
                    pairs = [Group("tuple", (Constant(key), self._at(owner, key))) for key in value]
                    return Iteration(choice_of(pairs))
                return Iteration(Group("tuple", (UNKNOWN, self.values_of(owner))))
            if name == "values":
                return Iteration(self.values_of(owner))
            if name in ("get", "setdefault", "pop") and positional:
                return join(self.item(owner, positional[0]), *positional[1:])
        if name in library.STRUCTURAL and isinstance(value, dict):
            self.uses.structure(owner)
            return Iteration(self.iterate(owner)) if name == "keys" else UNKNOWN
        if name in library.MUTATING:
            self.written(owner)
            if name == "pop":
                self.escape(owner)
            return self._hand_over(positional, named)
        frozen = library.frozen_source(getattr(value, name, None)) if not isinstance(value, Tensor) else None
        if frozen is not None:
            self.uses.frozen[frozen] = None
            return self._hand_over(positional, named)
        self.escape(owner)
        return self._hand_over(positional, named)

    def _call_transformed(
        self, made: Transformed, positional: list[Any], named: dict[str, Any], run: Any, i: Any
    ) -> Any:
        result = self.call(made.function, positional, named, run, i)
        if made.name in library.GIVES_TENSORS:
            return TRACED
        return Group("tuple", (TRACED, TRACED)) if made.name == "value_and_grad" else result

    # -- functions of libraries ------------------------------------------------------------------------

    def _call_library(
        self, function: Any, positional: list[Any], named: dict[str, Any], run: Any, i: Any, place: Any = None
    ) -> Any:
        name = getattr(function, "__name__", "")
        module = getattr(function, "__module__", None)
        if module == "builtins" or (isinstance(function, type) and function.__module__ == "builtins"):
            return self._call_builtin(name, positional, named, run, i)
        frozen = library.frozen_source(function)
        if frozen is not None:
            self.uses.frozen[frozen] = None
        if not is_own(module) and not is_own(type(function).__module__):
            if module == "functools" and name == "partial" and positional:
                return self._partial(positional, named)
            return self._hand_over(positional, named)
        inner = self._user_functions(function)
        if inner:
            kind = getattr(getattr(function, "__code__", None), "co_qualname", "").partition(".")[0]
            kind = {"_make": "jit"}.get(kind, kind)
            for user_function in inner:
                made = Transformed(kind, Place(Source("object", user_function), user_function, settled=True))
                self._call_transformed(made, positional, named, run, i)
            return TRACED if kind in library.GIVES_TENSORS else UNKNOWN
        if name in library.TRANSFORMS and positional:
            for value in (*positional[1:], *named.values()):
                self.escape(value)
            return Transformed(name, positional[0])
        self._give_library(name, positional, named, run, i)
        return UNKNOWN if name in library.GIVES_OTHERS or name.startswith("tree_") else TRACED

    def _partial(self, positional: list[Any], named: dict[str, Any]) -> Any:
        """``functools.partial(f, ...)``; its arguments are handed over, as calls may change them."""
        self._hand_over(positional[1:], named)
        self.call(positional[0], [], {"*": UNKNOWN}, None, None)
        return UNKNOWN

    def _user_functions(self, function: Any) -> list[Any]:
        """The user's functions that a function made by the library calls."""
        wrapped = getattr(function, "__wrapped__", None)
        rules = list(getattr(function, "__rules__", ()))
        if wrapped is not None:
            return [wrapped, *rules]
        cells = getattr(function, "__closure__", None) or ()
        found = []
        for cell in cells:
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            module = getattr(content, "__module__", None)
            if isinstance(content, (FunctionType, MethodType, functools.partial)) and not is_library(module):
                found.append(content)
        return found + rules

    def _give_library(
        self, name: str, positional: list[Any], named: dict[str, Any], run: Any, i: Any
    ) -> None:
        """Arguments of a function of this library: it reads arrays as inputs, and calls functions."""
        arguments = [*positional, *named.values()]
        functions = [value for value in arguments if self._is_function(value)]
        others = [value for value in arguments if not self._is_function(value)]
        traced = name in library.CONTROL or all(_all_tensors(value) for value in others)
        for value in functions:
            self.call(value, [], {"*": TRACED if traced else UNKNOWN}, None, None)
        elementwise = run is not None and name in OPS and OPS[name].kind is Kind.ELEMENTWISE and name != "pow"
        for value in others:
            if elementwise and value is not TRACED:
                self._combine(value, name, run.site(i))
            else:
                self._give(value)

    def _give(self, value: Any) -> None:
        """Hand `value` to the library: as `escape`, but arrays at the top are read as inputs."""
        for option in options(value):
            if isinstance(option, Place) and isinstance(option.value, np.ndarray):
                self.uses.handed_over(option)
            elif isinstance(option, Group):
                for item in option.items:
                    self._give(item)
            else:
                self.escape(option)

    def _is_function(self, value: Any) -> bool:
        return any(
            isinstance(option, (Closure, Transformed, Parent))
            or (isinstance(option, Bound) and option.function is not None)
            or (
                isinstance(option, Place)
                and callable(option.value)
                and not isinstance(option.value, (type, Tensor))
            )
            for option in options(value)
        )

    def _call_builtin(self, name: str, positional: list[Any], named: dict[str, Any], run: Any, i: Any) -> Any:
        if name == "super" and run is not None:
            return self._super(positional, run)
        if name in library.TYPE_ONLY:
            for value in positional:
                self.identify(value)
            return UNKNOWN
        if name == "len" and len(positional) == 1:
            for option in options(positional[0]):
                if isinstance(option, Place) and isinstance(option.value, (dict, list, tuple, set)):
                    self.uses.structure(option)
                else:
                    self.call(self.attribute(option, "__len__"), [], {}, run, i)
            return UNKNOWN
        if name in ("getattr", "hasattr") and len(positional) > 1:
            return self._get_attribute(name, positional)
        if name == "type" and len(positional) == 1:
            return self.attribute(positional[0], "__class__") if isinstance(positional[0], Place) else UNKNOWN
        if name == "zip":
            return Iteration(Group("tuple", tuple(map(self.iterate, positional))))
        if name == "enumerate" and positional:
            return Iteration(Group("tuple", (UNKNOWN, self.iterate(positional[0]))))
        if name in ("reversed", "iter", "sorted", "list", "tuple", "set") and positional and not named:
            return Iteration(self.iterate(positional[0]))
        if name == "next" and positional:
            return self.iterate(positional[0])
        if name in ("map", "filter") and len(positional) > 1:
            elements = [self.iterate(value) for value in positional[1:]]
            result = self.call(positional[0], elements, {}, run, i)
            return Iteration(result if name == "map" else elements[0])
        if name == "dict" and not positional:
            return self.mapping([Constant(key) for key in named], list(named.values()))
        return self._hand_over(positional, named)

    def _get_attribute(self, name: str, positional: list[Any]) -> Any:
        key = self._known_key(positional[1])
        if not isinstance(key, str):
            self.escape(positional[0])
            return UNKNOWN
        found = self.attribute(positional[0], key)
        if name == "hasattr":
            return UNKNOWN
        return join(found, *positional[2:])

    def _super(self, positional: list[Any], run: Execution) -> Any:
        if positional:
            return self.parent(*positional[:2]) if len(positional) > 1 else UNKNOWN
        cell = run.cells.get("__class__")
        cls = None if cell is None else cell.value
        names = run.code.co_varnames
        if cls is None or not names:
            return UNKNOWN
        owner = run.cells[names[0]].value if names[0] in run.code.co_cellvars else run.locals.get(names[0])
        return self.parent(cls, UNKNOWN if owner is None else owner)

    # -- following functions ---------------------------------------------------------------------------

    def _follow_function(
        self, place: Place, function: FunctionType, positional: list[Any], named: dict[str, Any]
    ) -> Any:
        code = function.__code__
        if not is_library(function.__module__):
            self.uses.guard(Guard, place.attribute("__code__", code), code)
        cells: dict[str, Cell] = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            cells[name] = Cell(self.place(Place(Source("cell", cell, name), content)))
        defaults = place.attribute("__defaults__", function.__defaults__)
        keyword_defaults = place.attribute("__kwdefaults__", function.__kwdefaults__)
        closure = Closure(
            code,
            function.__globals__,
            cells,
            tuple(
                [self.place(defaults.item(k, value)) for k, value in enumerate(function.__defaults__ or ())]
            ),
            {
                name: self.place(keyword_defaults.item(name, value))
                for name, value in (function.__kwdefaults__ or {}).items()
            },
        )
        return self._follow(code, function.__globals__, cells, closure, positional, named)

    def _follow(
        self,
        code: CodeType,
        module: dict[str, Any],
        cells: dict[str, Cell],
        closure: Closure,
        positional: list[Any],
        named: dict[str, Any],
    ) -> Any:
        arguments = bind(code, closure, positional, named)
        if len(self._running) > _DEEPEST or self._running.count(code) > _MOST_RECURSIONS:
            return self._hand_over(arguments.values(), {})
        key: Any = (code, tuple(arguments.items()), tuple([(name, id(cell)) for name, cell in cells.items()]))
        try:
            if key in self._done:
                return self._done[key]
        except TypeError:
            key = None
        self._running.append(code)
        try:
            result = Execution(self, code, module, arguments, cells).run()
        finally:
            self._running.pop()
        if key is not None:
            self._done[key] = result
        return result


def bind(code: CodeType, closure: Closure, positional: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """The parameters of `code` with their values: arguments, else defaults."""
    rest = named.get("*")
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    arguments: dict[str, Any] = dict(zip(names[: code.co_argcount], positional, strict=False))
    more = {}
    for name, value in named.items():
        if name in names:
            arguments[name] = value
        elif name != "*":
            more[name] = value
    first_default = code.co_argcount - len(closure.defaults)
    for position, name in enumerate(names):
        if name in arguments:
            continue
        if position >= code.co_argcount:
            value = closure.keyword_defaults.get(name, UNKNOWN)
        else:
            value = closure.defaults[position - first_default] if position >= first_default else UNKNOWN
        arguments[name] = value if rest is None else rest if value is UNKNOWN else join(rest, value)
    place = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        extra = Group("tuple", tuple(positional[code.co_argcount :]))
        arguments[code.co_varnames[place]] = extra if rest is None else Iteration(join(rest, *extra.items))
        place += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        arguments[code.co_varnames[place]] = Group("dict", tuple(more.values()), tuple(more))
    return arguments


def _all_tensors(value: Any) -> bool:
    """Whether `value` is a tensor, or containers of tensors, for certain."""
    return all(
        option is TRACED or (isinstance(option, Place) and isinstance(option.value, Tensor))
        for option in options(value)
    )
