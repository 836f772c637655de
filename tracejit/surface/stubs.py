"""Stubs of the public packages, for type checkers and editors: written from the table, read by no program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ..ir.registry import OPS
from . import namespaces
from .elementwise import ELEMENTWISE
from .namespace import Namespace
from .reductions import REDUCTIONS
from .rows import Row
from .signatures import signatures
from .special import SPECIAL

#: The packages that a table describes.
NAMESPACES: Final = tuple(value for value in vars(namespaces).values() if isinstance(value, Namespace))

_ROOT: Final = Path(__file__).parents[1]
_HEAD: Final = """\
# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations
"""
_TYPES: Final = """
from typing import Any

from ...tensors.tensor import Tensor
"""
_METHODS: Final = """
from collections.abc import Callable

METHODS: dict[str, Callable[..., Tensor]]
IN_PLACE: dict[int, dict[str, Callable[..., Tensor]]]
"""
#: Options of elementwise functions, as `dispatch` generates them.
_OPTIONS: Final = (
    "/, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', "
    "subok: Any = True"
)


def stubs() -> dict[Path, str]:
    """The text of each stub, by its file."""
    texts = {_file(namespace.package) / "__init__.pyi": _package(namespace) for namespace in NAMESPACES}
    reductions = "".join(_function(row, row.declared) for row in REDUCTIONS)
    texts[_file("tracejit.array") / "reductions.pyi"] = f"{_HEAD}{_TYPES.replace('...', '..')}{reductions}"
    special = "".join(_function(row, row.declared) for row in SPECIAL)
    texts[_file("tracejit.scipy.special") / "functions.pyi"] = f"{_HEAD}{_TYPES}{special}"
    elementwise = "".join(
        _function(row, ", ".join([*(f"{name}: Any" for name in OPS[row.runs].params), _OPTIONS]))
        for row in ELEMENTWISE
    )
    texts[_file("tracejit.array.elementwise") / "ufuncs.pyi"] = f"{_HEAD}{_TYPES}{_METHODS}{elementwise}"
    texts[_file("tracejit.tensors") / "signatures.pyi"] = f"{_HEAD}\n{signatures()}"
    return texts


def _file(package: str) -> Path:
    return _ROOT.joinpath(*package.split(".")[1:])


def _package(namespace: Namespace) -> str:
    """The stub of a package: imports from where its names are defined."""
    modules: dict[str, list[str]] = {}
    for name, home in namespace.homes.items():
        modules.setdefault(home, []).append(name)
    imports = "".join(line for home, names in modules.items() for line in _imports(home, names))
    return f"{_HEAD}\n__all__: list[str]\n{imports}"


def _imports(home: str, names: Iterable[str]) -> Iterator[str]:
    yield f"\nfrom {home} import (\n"
    yield from (f"    {name} as {name},\n" for name in sorted(names))
    yield ")\n"


def _function(row: Row, parameters: str) -> str:
    """The declaration of a row's function, and of its other names."""
    name, *others = row.names.split()
    meaning = row.meaning.partition("\n\n")[0].replace("\n", " ")
    declared = f'\ndef {name}({parameters}) -> Tensor:\n    """{meaning}"""\n'
    return declared + "".join(f"{other} = {name}\n" for other in others)


def write() -> None:
    """Write all stubs."""
    for path, text in stubs().items():
        path.write_text(text)
