"""Public modules whose names load at their first use (PEP 562), by a table of where each is defined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..arguments.errors import check_public
from ..base.loading import load_module


class Namespace:
    """A public module: its names, by the modules that define them.

    Messages call functions by `prefix` and name. `modules` are relative to the package and begin with a dot,
    or are not of this project, whose objects are passed on as they are; ``"."`` has names of modules.
    """

    def __init__(self, package: str, prefix: str, modules: Mapping[str, str]) -> None:
        self.package, self.prefix, self.modules = package, prefix, modules
        self.homes = {name: module for module, names in modules.items() for name in names.split()}
        #: Values as they are offered, by what their modules define: two names of a function are one object.
        self._offered: dict[int, Any] = {}

    def load(self, name: str) -> Any:
        """The value of a name, whose errors name it and its arguments."""
        home = self.homes[name]
        if home == ".":
            return load_module(f".{name}", self.package)
        value = getattr(load_module(home, self.package), name)
        if not home.startswith("."):
            return value
        if id(value) not in self._offered:
            label = getattr(value, "__name__", name)
            label = label if label in self.homes else name
            namespace = {"__name__": self.package, label: value}
            check_public(namespace, [label], self.prefix)
            self._offered[id(value)] = namespace[label]
        return self._offered[id(value)]

    def attach(self, namespace: dict[str, Any], hint: Callable[[str], str] = lambda name: "") -> None:
        """Give the module of the globals `namespace` these names. `hint` ends the error about another name.

        A name that is a submodule's, too, loads at once: the import of the submodule would take its place.
        """

        def __getattr__(name: str) -> Any:
            if name not in self.homes:
                raise AttributeError(f"module {self.package!r} has no attribute {name!r}{hint(name)}")
            value = namespace[name] = self.load(name)
            return value

        def __dir__() -> list[str]:
            return [*{*(name for name in namespace if name.startswith("__")), *self.homes}]

        public = [name for name in self.homes if not name.startswith("__")]
        namespace.update({"__getattr__": __getattr__, "__dir__": __dir__, "__all__": public})
        modules = {home.split(".")[1] for home in self.homes.values() if home.startswith(".")}
        for name in self.homes.keys() & modules:
            __getattr__(name)
