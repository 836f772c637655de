"""The house rules of DESIGN section 3 and STYLE, read off the source with ``ast`` alone."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

import pytest

import tracejit as tj
from tests.floors import (
    EXCEPTIONS,
    FLOORS,
    LOADS_OTHERS,
    arrows,
    loaded_by_name,
    loads_by_itself,
    names_of_machines,
    room_of,
    sentences_of_machines,
    tables,
    unrelated,
    upward,
    words,
)
from tracejit.surface.stubs import NAMESPACES

ROOT = Path(__file__).parent.parent
LAYERS = ("base", "ir", "codegen", "runtime", "tracejit")  # lower to higher
#: Imports from outside the package that each layer may have, beside the standard library.
OUTSIDE = {
    "base": {"numpy"},
    "ir": {"numpy"},
    "codegen": {"numpy", "llvmlite"},
    "runtime": {"numpy"},
    "tracejit": {"numpy"},
}
MAX_MODULES = 20
#: Files that may import each other, for type checkers alone included.
MAX_CIRCLE = 2
#: Steps from a class to the furthest of its bases.
MAX_INHERITANCE = 3
#: Classes to which upper rooms attach methods.
ATTACHED = ("Tensor", "TracejitError")
#: Names that users and the field give to two classes: PyTorch's ``autograd.Function`` beside the IR's, an
#: instruction of Python's bytecode, a kernel that a user registers.
DOUBLED = {"Function", "Instruction", "Kernel"}
#: Names of nodes that two forms have: loops and LLVM's operations, or loops and analyses of the IR.
DOUBLED |= {"Affine", "Call", "Carry", "Compute", "Constant", "Fence", "Fold", "Load", "Store", "While"}
#: Folders whose modules are commands, which may import what they run when they run it.
COMMANDS = ("tracejit/tools/cli", "tracejit/tools/demo")


@cache
def sources() -> tuple[Path, ...]:
    """Every source file, found through the root folders and not through the links in tracejit/."""
    links = {ROOT / "tracejit" / layer for layer in LAYERS[:4]}
    paths = (path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py")))
    return tuple(path for path in paths if not any(link in path.parents for link in links))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def module_of(path: Path) -> list[str]:
    """The dotted name parts of the package that holds `path`'s relative imports."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    parts = parts if parts[0] == "tracejit" else ["tracejit", *parts]
    return parts[:-1]


def imported(path: Path, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Absolute names of the modules (or names of modules) that an import takes."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = module_of(path)
    base = base[: len(base) - node.level + 1] if node.level else []
    prefix = [*base, *(node.module.split(".") if node.module else [])]
    if prefix == ["tracejit"] or node.module is None:
        yield from (".".join([*prefix, alias.name]) for alias in node.names)
    else:
        yield ".".join(prefix)


def statements(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements in `node` at any depth, and whether they stand inside a function."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            yield child, inside
            yield from statements(child, inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))


@cache
def imports(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, str], ...]:
    """The imports of a file, and the modules that they take."""
    taken = [node for node, _ in statements(parsed(path)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return tuple((statement, name) for statement in taken for name in imported(path, statement))


def taken(path: Path) -> Iterator[tuple[int, str]]:
    """The lines and names of modules that a file imports, or loads by their full names."""
    yield from ((node.lineno, name) for node, name in imports(path))
    yield from loaded_by_name(path.read_text())


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] != "tracejit":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS[:4] else "tracejit"


def test_sources_are_found() -> None:
    assert len(sources()) > 80
    assert {path.relative_to(ROOT).parts[0] for path in sources()} == set(LAYERS)


def test_nothing_imports_upward() -> None:
    """Imports lead to the same room or a lower floor, wherever they stand."""
    wrong = [
        problem
        for path in sources()
        for problem in upward(path.read_text(), module_name(path), path.stem == "__init__")
    ]
    assert not wrong, "\n".join(wrong)


def test_every_room_stands_on_one_floor() -> None:
    modules = {module_name(path) for path in sources()}
    assert len(FLOORS) == len(set(FLOORS))
    homeless = {name for name in modules if room_of(name) is None}
    assert not homeless, f"in no room: {homeless}"
    rooms = {room_of(name) for name in modules}
    assert rooms == set(FLOORS), f"no longer there: {set(FLOORS) - rooms}"


def test_exceptions_are_few_and_needed() -> None:
    assert len(EXCEPTIONS) <= 5
    used = {
        (module_name(path).partition(".")[2] or "tracejit", room_of(arrow.target))
        for path in sources()
        for arrow in arrows(path.read_text(), module_name(path), path.stem == "__init__")
    }
    assert set(EXCEPTIONS) <= used, f"no longer needed: {set(EXCEPTIONS) - used}"


def test_modules_are_loaded_by_name_in_one_place() -> None:
    wrong = [
        problem for path in sources() for problem in loads_by_itself(path.read_text(), module_name(path))
    ]
    assert not wrong, "\n".join(wrong)
    assert {f"tracejit.{name}" for name in LOADS_OTHERS} <= {module_name(path) for path in sources()}


@pytest.mark.parametrize(
    "text",
    [
        "from .jitted import jit",
        "def f():\n    from .jitted import jit",
        "if TYPE_CHECKING:\n    from .jitted.jit import jit",
        'from .base.loading import load_module\nload_module(".jitted.jit", __package__)',
        'PLACE.provide(".jitted.jit", __package__)',
        'TABLE = {"x": "..jitted.jit"}\nload_module(TABLE["x"], __package__)',
        'TABLE = OnUse({"x": ("..jitted.jit", "jit")}, __package__)',
        'JIT = LazyModule(".jitted.jit", __package__)',
        "import tracejit.jitted.jit",
        "from tracejit.jitted import jit",
    ],
)
def test_an_import_that_leads_up_is_seen(text: str) -> None:
    module = "tracejit.tape.nodes" if "..jitted" in text else "tracejit.state"
    assert upward(text, module)
    assert not upward(text.replace("jitted", "base"), module)


@pytest.mark.parametrize(
    "text",
    [
        'import_module(".jitted", __package__)',
        'importlib.import_module("tracejit.jitted")',
        "import_module(name)",
        'sys.modules["tracejit"]',
        '__import__("tracejit.jitted")',
    ],
)
def test_loading_by_name_elsewhere_is_seen(text: str) -> None:
    assert loads_by_itself(text, "tracejit.tape.nodes")
    assert not loads_by_itself('importlib.import_module("tqdm.auto")', "tracejit.tape.nodes")


def test_codegen_knows_no_passes() -> None:
    """Analyses that passes and codegen share are in `ir/analysis`."""
    wrong = [
        problem
        for path in sources()
        for problem in unrelated(path.read_text(), module_name(path), path.stem == "__init__")
    ]
    assert not wrong, "\n".join(wrong)


def test_ir_knows_no_machine() -> None:
    """Passes ask for capabilities of code generation (`ir/capabilities.py`), in words of programs."""
    files = [path for path in sources() if path.relative_to(ROOT).parts[0] == "ir"]
    wrong = [
        f"{name_of(path)}: {name}"
        for path in files
        for name in [*names_of_machines(path.read_text()), *{path.stem, path.parent.name}]
        if names_of_machines(name)
    ]
    wrong += [
        f"{name_of(path)}: {line}" for path in files for line in sentences_of_machines(path.read_text())
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "from ...ir.passes.cleanup import dce",
        "from ...ir import passes",
        "def f():\n    from tracejit.ir.passes import PIPELINE",
        "if TYPE_CHECKING:\n    import tracejit.ir.passes.cleanup",
        'load_module("...ir.passes.cleanup", __package__)',
    ],
)
def test_an_import_of_passes_in_codegen_is_seen(text: str) -> None:
    assert unrelated(text, "tracejit.codegen.nest.schedule")
    assert not unrelated(text, "tracejit.runtime.native.schedule")
    assert not unrelated(text.replace("passes", "analysis"), "tracejit.codegen.nest.schedule")


@pytest.mark.parametrize(
    "text",
    [
        "from .register_state import f",
        "MAX_LANES = 4",
        "def fits(): return shape.lanes",
        "def f(lane_count): pass",
        "class RegisterState: pass",
        "import tracejit.ir.lanes.affine",
    ],
)
def test_a_name_of_the_machine_is_seen(text: str) -> None:
    assert names_of_machines(text)
    assert not names_of_machines("planes = registry.registered(MAX_PLANES)")


@pytest.mark.parametrize(
    "text",
    [
        "#: Lanes run along the last axis.\nX = 1",
        '"""Loops that\nare compiled to registers."""',
        "x = 1  # in a register",
    ],
)
def test_a_sentence_about_the_machine_is_seen(text: str) -> None:
    assert sentences_of_machines(text)
    assert not sentences_of_machines('"""Registers the op `name` in the registry; see planes."""')


@pytest.mark.parametrize("layer", LAYERS)
def test_dependencies_are_numpy_and_llvmlite(layer: str) -> None:
    wrong = []
    for path in sources():
        if path.relative_to(ROOT).parts[0] != layer:
            continue
        for line, name in taken(path):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names and top != "tracejit" and top not in OUTSIDE[layer]:
                wrong.append(f"{name_of(path)}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_llvmlite_is_imported_in_one_place() -> None:
    users = {name_of(path) for path in sources() for _, name in taken(path) if name.startswith("llvmlite")}
    assert users == {"codegen/llvm/loading.py"}


def inner_imports(tree: ast.Module) -> Iterator[int]:
    """The lines of imports inside functions."""
    for node, inside in statements(tree):
        if inside and isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node.lineno


def test_imports_stand_at_the_top() -> None:
    """Modules that few programs need load by `base.loading`."""
    wrong = [
        f"{name_of(path)}:{line}"
        for path in sources()
        for line in inner_imports(parsed(path))
        if not name_of(path).startswith(COMMANDS)
    ]
    assert not wrong, "imported inside functions: " + ", ".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    import json",
        "class A:\n    def f(self):\n        if self:\n            from . import b",
    ],
)
def test_an_import_inside_a_function_is_seen(text: str) -> None:
    assert list(inner_imports(ast.parse(text)))
    assert not list(
        inner_imports(ast.parse("if TYPE_CHECKING:\n    import json\nelse:\n    from . import b"))
    )


def test_folders_are_small() -> None:
    counts = Counter(path.parent for path in sources())
    large = {name_of(folder): count for folder, count in counts.items() if count > MAX_MODULES}
    assert not large, f"over {MAX_MODULES} modules: {large}"


def module_name(path: Path) -> str:
    """The dotted name of a source file."""
    parts = [*module_of(path), *([] if path.stem == "__init__" else [path.stem])]
    return ".".join(parts)


def dependencies() -> dict[str, set[str]]:
    """The modules that each module imports: anywhere in it, for type checkers, and by name."""
    modules = {module_name(path): path for path in sources()}
    result: dict[str, set[str]] = {}
    for name, path in modules.items():
        taken = result[name] = set[str]()
        text = path.read_text()
        for arrow in [*arrows(text, name, path.stem == "__init__"), *tables(text, name)]:
            target = arrow.target
            while target not in modules:
                target = target.rpartition(".")[0]
            taken.add(target)
        taken.discard(name)
    return result


def circles(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """The strongly connected components of more than one module (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> Iterator[list[str]]:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                yield from visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                yield component

    for node in sorted(graph):
        if node not in index:
            yield from visit(node)


def test_import_circles_are_small() -> None:
    large = [component for component in circles(dependencies()) if len(component) > MAX_CIRCLE]
    assert not large, f"more than {MAX_CIRCLE} files import each other: {large}"


def test_a_circle_is_seen() -> None:
    """The exceptions to the floors count, too."""
    graph = dependencies()
    upper, lower = "tracejit.jitted.jit", "tracejit.jitted.function"
    assert lower in graph[upper]
    graph["tracejit.state"] |= {upper}
    large = [component for component in circles(graph) if len(component) > MAX_CIRCLE]
    assert any({"tracejit.state", upper, lower} <= set(component) for component in large)
    assert [sorted(c) for c in circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()})] == [
        ["a", "b", "c"]
    ]


def classes() -> Iterator[tuple[str, Path]]:
    """Public classes and where they are defined."""
    for path in sources():
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, path


def constants() -> Iterator[tuple[str, Path]]:
    """Constants of modules, and where they are defined."""
    for path in sources():
        for node in parsed(path).body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                for name in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(name, ast.Name) and name.id.isupper():
                        yield name.id, path


def test_a_class_name_has_one_meaning() -> None:
    homes: dict[str, list[str]] = {}
    for name, path in classes():
        homes.setdefault(name, []).append(name_of(path))
    doubled = {name: paths for name, paths in homes.items() if len(paths) > 1 and name not in DOUBLED}
    assert not doubled, doubled


def test_names_keep_to_the_glossary() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text()
    replaced = dict(
        re.findall(r"^\| (\w+) \| (.+) \|$", text[text.index("| not | but |") :], re.MULTILINE)[1:]
    )
    assert "brief" in replaced
    names = [(path.stem, path) for path in sources()] + list(classes()) + list(constants())
    wrong = [
        f"{name_of(path)}: {name}: say {replaced[word]!r} for {word!r}"
        for name, path in names
        for word in words(name)
        if word in replaced
    ]
    assert not wrong, "\n".join(wrong)


def test_public_names_are_there_once() -> None:
    assert len(tj.__all__) == len(set(tj.__all__))
    assert [name for name in dir(tj) if not name.startswith("__")] == sorted(tj.__all__)


def repeated(modules: Mapping[str, str]) -> set[str]:
    """Names that stand twice in the table of a package."""
    counts = Counter(name for names in modules.values() for name in names.split())
    return {name for name, count in counts.items() if count > 1}


def listed(text: str, names: Container[str]) -> Iterator[str]:
    """The public `names` that a file lists: in ``__all__``, or as it takes them from other modules."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound = [alias.asname or alias.name for alias in node.names]
            yield from (f"{node.lineno}: {name}" for name in bound if name in names)


def test_a_public_name_stands_once() -> None:
    """The tables of `tracejit/surface` have it: no package lists it again, nor the module that defines it."""
    wrong: list[str] = []
    for namespace in NAMESPACES:
        wrong += [f"{namespace.package}: {name} stands twice" for name in repeated(namespace.modules)]
        package = ROOT.joinpath(*namespace.package.split("."))
        wrong += [
            f"{namespace.package}:{place}"
            for place in listed((package / "__init__.py").read_text(), namespace.homes)
        ]
        for home in namespace.modules:
            path = package.joinpath(*home[1:].split(".")).with_suffix(".py")
            if re.match(r"\.\w", home) and path in sources():
                wrong += [f"{name_of(path)}:{place}" for place in listed(path.read_text(), ())]
    assert not wrong, "\n".join(wrong)


def test_a_name_that_stands_twice_is_seen() -> None:
    assert repeated({".arithmetic": "add sub", ".others": "sub"}) == {"sub"}
    assert list(listed('from .arithmetic import add\n\n__all__ = ["add"]', ["add"])) == [
        "1: add",
        "3: __all__ = ['add']",
    ]
    assert not list(listed("from .methods import bind as _bind", ["bind"]))


def test_names_come_from_below() -> None:
    """A package offers what stands in its own room or on a lower floor."""
    floors = {namespace.package: FLOORS.index(room_of(namespace.package) or "") for namespace in NAMESPACES}
    wrong = [
        f"{namespace.package} offers {home}"
        for namespace in NAMESPACES
        for home in namespace.modules
        if home.startswith(".") and home != "."
        if FLOORS.index(room_of(resolve_name(home, namespace.package)) or "") > floors[namespace.package]
    ]
    assert not wrong, "\n".join(wrong)


def test_modules_have_docstrings() -> None:
    missing = [
        name_of(path) for path in sources() if parsed(path).body and ast.get_docstring(parsed(path)) is None
    ]
    assert not missing, missing


def public_definitions(path: Path) -> Iterator[tuple[str, ast.AST]]:
    for node in parsed(path).body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        if not any(ast.unparse(decorator).endswith("overload") for decorator in node.decorator_list):
            yield node.name, node


@pytest.mark.parametrize("layer", LAYERS)
def test_public_definitions_have_docstrings(layer: str) -> None:
    missing = [
        f"{name_of(path)}: {name}"
        for path in sources()
        if path.relative_to(ROOT).parts[0] == layer
        for name, node in public_definitions(path)
        if ast.get_docstring(node) is None  # type: ignore[arg-type]
    ]
    assert not missing, "\n".join(missing)


def test_codegen_switches_on_kind_not_on_name() -> None:
    """DESIGN section 4: ``op.name == ...`` in codegen would be a second place to know an op."""
    allowed = {"full", "iota"}  # the two inline creations, which are index maps rather than code
    wrong = []
    for path in sources():
        if path.relative_to(ROOT).parts[0] != "codegen":
            continue
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Attribute):
                continue
            if ast.unparse(node.left).endswith("op.name"):
                literals = {
                    constant.value for constant in ast.walk(node) if isinstance(constant, ast.Constant)
                }
                if not literals <= allowed:
                    wrong.append(f"{name_of(path)}:{node.lineno}: {ast.unparse(node)}")
    assert not wrong, "\n".join(wrong)


def test_no_code_makes_pointers_of_integers() -> None:
    """LLVM follows what a pointer points into; through an integer it can not."""
    wrong = [
        f"{name_of(path)}:{node.lineno}"
        for path in sources()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant)
        if isinstance(node.value, str)
        if "inttoptr" in node.value or "ptrtoint" in node.value
    ]
    assert not wrong, "\n".join(wrong)


#: Kinds of structured ops, which only the files beside their kernels and gradients have to know.
STRUCTURED = (
    "SORT", "ARG_SORT", "SEARCH", "HISTOGRAM", "COMPACTION", "CONVOLUTION", "CUMULATIVE", "ARG_REDUCTION",
    "FOURIER",
)  # fmt: skip


def test_structured_kinds_are_known_in_one_place_each() -> None:
    """A structured op is its kind, its record and its lowering; other code asks for traits."""
    wrong = []
    for path in sources():
        name = name_of(path)
        if name in ("ir/kinds.py", "codegen/module/families.py"):
            continue
        if name.startswith(("ir/ops/", "codegen/kernels/")):
            continue
        wrong += [
            f"{name}:{node.lineno}: {ast.unparse(node)}"
            for node in ast.walk(parsed(path))
            if isinstance(node, ast.Attribute)
            and node.attr in STRUCTURED
            and ast.unparse(node.value) == "Kind"
        ]
    assert not wrong, "\n".join(wrong)


def test_no_property_is_computed_under_a_lock() -> None:
    """Properties take no lock: with `functools.cached_property` of Python 3.11, a forked child hangs."""
    decorators = ("@functools.cached_property", "@cached_property")
    using = [
        name_of(path)
        for path in sources()
        if any(line.strip().startswith(decorators) for line in path.read_text().splitlines())
    ]
    assert not using, f"use base.process.locks.computed_once in {using}"


def base_names(node: ast.ClassDef) -> Iterator[str]:
    """The names of a class's bases: of ``module.Base[T]`` it is ``Base``."""
    for base in node.bases:
        named = base.value if isinstance(base, ast.Subscript) else base
        yield named.attr if isinstance(named, ast.Attribute) else ast.unparse(named)


def depth(name: str, bases: Mapping[str, set[str]], seen: tuple[str, ...] = ()) -> int:
    """The number of steps of a class from the furthest of its bases that are ours. Of classes with one name
    it is that of the deepest."""
    steps = bases[name] & bases.keys() - {name, *seen}
    return max((1 + depth(base, bases, (*seen, name)) for base in steps), default=0)


def too_deep(trees: Iterable[ast.Module]) -> list[str]:
    """Classes that inherit over more than `MAX_INHERITANCE` steps."""
    bases: dict[str, set[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, set()).update(base_names(node))
    return [name for name in bases if depth(name, bases) > MAX_INHERITANCE]


def test_inheritance_is_at_most_three_deep() -> None:
    """Deeper than that parts are put together: a class that holds others."""
    assert not too_deep(map(parsed, sources()))


def test_deep_inheritance_is_seen() -> None:
    """Generic bases, bases of other modules, and classes that share their name count."""
    chain = "class A: ...\nclass B(A): ...\nclass C(b.B, Protocol): ...\nclass D(C[int]): ..."
    assert not too_deep([ast.parse(chain)])
    assert too_deep([ast.parse(chain), ast.parse("class E(d.D): ...\nclass A: ...")]) == ["E"]
    assert too_deep([ast.parse(chain), ast.parse("class B: ...\nclass E(D[str]): ...")]) == ["E"]


def parts_of_classes(text: str) -> Iterator[str]:
    """Places where a file holds a part of a class that another file defines: a function that takes ``self``
    outside a class, but for methods that upper rooms attach to `Tensor` and to errors; and an object that
    takes over another one's attributes."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.args.args and node.args.args[0].arg == "self":
            owner = node.args.args[0].annotation
            if owner is None or ast.unparse(owner).strip("'\"") not in ATTACHED:
                yield f"{node.lineno}: {node.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            taken = [ast.unparse(part) for part in (node.func.value, *node.args)]
            if len(taken) > 1 and all(re.match(r"vars\(|.*\.__dict__$", part) for part in taken):
                yield f"{node.lineno}: {ast.unparse(node)}"


def test_no_class_is_spread_over_files() -> None:
    wrong = [f"{name_of(path)}:{part}" for path in sources() for part in parts_of_classes(path.read_text())]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "def write(self, nest): ...",
        "def write(self: NestWriter, nest: Nest) -> None: ...",
        "class A:\n    def f(self, parent):\n        vars(self).update(vars(parent))",
        "self.__dict__.update(parent.__dict__)",
    ],
)
def test_a_part_of_a_class_is_seen(text: str) -> None:
    assert list(parts_of_classes(text))
    assert not list(parts_of_classes("class A:\n    def f(self): ...\ndef g(self: Tensor): ..."))
