"""The floors of the house: every room, lowest first. `tests/test_architecture.py` holds imports to them.

A room is a package with its subpackages, or a module at the root of one of the source folders. Names are
below `tracejit`, whose own ``__init__`` is ``tracejit``. Of two entries that begin a module's name, the
longer is its room.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

#: Every import leads to the same room, or to one that stands before it.
FLOORS = (
    # the ground
    "base", "base.lapack",
    # what programs mean
    "ir.dtypes", "ir.types", "ir.kinds", "ir.registry", "ir.graph", "ir.access", "ir.builder", "ir.dataflow",
    "ir.callbacks", "ir.failures", "ir.transforms", "ir.special", "ir.interpreter", "ir.verifier",
    "ir.content", "ir.text", "ir.ops", "ir.capabilities", "ir.analysis", "ir.grouping", "ir.passes",
    "ir.ops.__main__", "ir",
    # machine code
    "codegen", "codegen.tiers", "codegen.interface", "codegen.llvm", "codegen.maths", "codegen.lowering",
    "codegen.plan", "codegen.loops", "codegen.nest", "codegen.kernels", "codegen.native",
    "codegen.instrument", "codegen.control", "codegen.module", "codegen.export",
    # how it runs
    "runtime", "runtime.cache", "runtime.tiers", "runtime.loading", "runtime.compiling", "runtime.bypass",
    "runtime.interrupts", "runtime.threads", "runtime.loop_kernels", "runtime.native", "runtime.repeats",
    "runtime.compilation", "runtime.denormals", "runtime.executable", "runtime.timing",
    # eager tensors and traces
    "version", "provided", "state", "callback_results", "pytree", "location", "tensors", "generator",
    "arrivals", "sending", "missing_names", "frontend", "tape", "tracing", "arguments",
    "surface", "dispatch",
    # functions of arrays, and functions of functions
    "array", "linalg", "backward", "transforms", "autograd", "control", "callbacks", "tracebacks", "random",
    "fft", "tree", "nn", "emath", "scipy", "numpy_random", "loops", "jitted", "live_graph", "extend",
    "testing", "export", "carried", "optim", "profiling", "debug",
    # the public namespace; what stands on it; and what upper rooms provide for lower ones
    "tracejit", "compat", "dask", "tools", "__main__", "providers",
    "surface.signatures", "surface.stubs", "surface.__main__",
)  # fmt: skip

#: Imports that lead up: (module, room), with the reason.
EXCEPTIONS = {
    ("codegen.lowering.lowering", "codegen.nest"): "the type of the nests that a module's fusions share",
    ("jitted.exporting", "carried"): "the type of a method's result, for editors",
    ("jitted.exporting", "export"): "the types of two methods' results, for editors",
    ("jitted.function", "tools"): "the type of a method's result, for editors",
    ("tracejit", "providers"): "names what upper rooms provide, once everything is there",
}
#: Rooms that no module of a folder imports, though they stand below it: (folder, room).
UNRELATED = (("codegen", "ir.passes"),)
#: Words of machines, which no name and no sentence in `ir` has: passes ask `ir/capabilities.py`.
MACHINE_WORDS = frozenset({"register", "registers", "lane", "lanes", "simd"})
_MACHINES = re.compile(r"\b(lanes?|simd|registers|an? register)\b(?! the| it| all)", re.IGNORECASE)
#: Functions and classes that take names of modules: `load_module`, `LazyModule`,
#: `OnDemand` and `Provided.provide`.
LOADERS = ("load_module", "_load_module", "LazyModule", "OnDemand", "provide")
#: Files that load by name what is not of this project: the user's modules, and optional libraries.
LOADS_OTHERS = (
    "base.lapack.library", "dask.blocks", "tools.cli.loading", "tools.porting.names", "tools.repro.server",
)  # fmt: skip


class Arrow(NamedTuple):
    """An import: its line, the absolute name that it takes, and how."""

    line: int
    target: str
    kind: str


def arrows(text: str, module: str, is_package: bool = False) -> Iterator[Arrow]:
    """The imports of this project in `text`, of the file `module`: at the top, inside functions, for type
    checkers, and by name."""
    package = module.split(".")[: None if is_package else -1]

    def absolute(name: str) -> str:
        level = len(name) - len(name.lstrip("."))
        base = package[: len(package) - level + 1] if level else []
        return ".".join([*base, *filter(None, name[level:].split("."))])

    def visit(node: ast.AST, kind: str) -> Iterator[Arrow]:
        for child in ast.iter_child_nodes(node):
            inner = kind
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inner = "inside a function"
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                inner = "for type checkers"
            elif isinstance(child, ast.Import):
                yield from (Arrow(child.lineno, alias.name, kind) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                source = absolute("." * child.level + (child.module or ""))
                yield from (Arrow(child.lineno, f"{source}.{alias.name}", kind) for alias in child.names)
            elif isinstance(child, ast.Call) and ast.unparse(child.func).split(".")[-1] in LOADERS:
                yield from (Arrow(child.lineno, absolute(name), "by name") for name in _names(child))
            yield from visit(child, inner)

    for arrow in visit(ast.parse(text), "at the top"):
        if arrow.target.split(".")[0] == "tracejit":
            yield arrow


def _names(call: ast.Call) -> Iterator[str]:
    """The module that a call of a loader names: of a name that begins with a text, the package."""
    argument = call.args[0] if call.args else None
    if isinstance(argument, ast.Constant):
        yield str(argument.value)
    elif isinstance(argument, ast.JoinedStr) and isinstance(argument.values[0], ast.Constant):
        yield str(argument.values[0].value)


def loaded_by_name(text: str) -> Iterator[tuple[int, str]]:
    """The lines and names of modules that calls of loaders name in full."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in LOADERS:
            yield from ((node.lineno, name) for name in _names(node) if not name.startswith("."))


def tables(text: str, module: str) -> Iterator[Arrow]:
    """Names of modules in a table, from which `load_module` or `OnUse` takes them: texts that begin with
    dots."""
    tree = ast.parse(text)
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    if called & {"load_module", "OnUse"}:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name = node.value
                if name.startswith("..") and name.strip(".").replace(".", "").isidentifier():
                    level = len(name) - len(name.lstrip("."))
                    base = module.split(".")[:-level]
                    yield Arrow(node.lineno, ".".join([*base, name[level:]]), "by name")


def room_of(name: str) -> str | None:
    """The room of a module, or of a name in it; None where there is none."""
    parts = name.split(".")[1:]
    if not parts:
        return "tracejit"
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in FLOORS:
            return ".".join(parts[:length])
    return None


def upward(text: str, module: str, is_package: bool = False) -> list[str]:
    """Imports of a file that lead to an upper room, without an exception."""
    own = room_of(module)
    wrong = []
    for arrow in [*arrows(text, module, is_package), *tables(text, module)]:
        room = room_of(arrow.target) or "tracejit"
        if own is None or own == room or FLOORS.index(room) < FLOORS.index(own):
            continue
        if (module.partition(".")[2] or "tracejit", room) not in EXCEPTIONS:
            wrong.append(f"{module}:{arrow.line} ({own}) imports {arrow.target} ({room}) {arrow.kind}")
    return wrong


def unrelated(text: str, module: str, is_package: bool = False) -> list[str]:
    """Imports of a file that lead to a room of which its folder knows nothing."""
    folder = module.split(".")[1:2]
    return [
        f"{module}:{arrow.line} imports {arrow.target} {arrow.kind}"
        for arrow in [*arrows(text, module, is_package), *tables(text, module)]
        if any(folder == [own] and room_of(arrow.target) == room for own, room in UNRELATED)
    ]


def names_of_machines(text: str) -> set[str]:
    """The names in a file that speak of registers and lanes."""
    names = {
        getattr(node, field, None)
        for node in ast.walk(ast.parse(text))
        for field in ("id", "attr", "name", "arg", "asname", "module")
    }
    return {name for name in names if isinstance(name, str) and not MACHINE_WORDS.isdisjoint(words(name))}


def sentences_of_machines(text: str) -> list[str]:
    """The lines of a file's texts and comments that speak of registers and lanes. ``Registers`` is a verb,
    too: then its object follows."""
    prose = [
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type in (tokenize.COMMENT, tokenize.STRING)
        for line in token.string.splitlines()
    ]
    return [line.strip() for line in prose if _MACHINES.search(line)]


def words(name: str) -> list[str]:
    """The lower-case words of a name."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\.", "_", name).lower().strip("_").split("_")


def loads_by_itself(text: str, module: str) -> list[str]:
    """The places where a file loads modules of this project by name, other than through `base.loading`."""
    wrong = []
    for node in ast.walk(ast.parse(text)):
        is_call = isinstance(node, ast.Call) and node.args
        if is_call and ast.unparse(node.func).split(".")[-1] in (
            "import_module",
            "_import_module",
            "__import__",
        ):
            name = node.args[0]
            of_others = isinstance(name, ast.Constant) and not str(name.value).startswith((".", "tracejit"))
            if not of_others and module.partition(".")[2] not in (*LOADS_OTHERS, "base.loading"):
                wrong.append(f"{module}:{node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
            key = ast.unparse(node.slice)
            if "tracejit" in key or "__package__" in key or "__name__" in key:
                wrong.append(f"{module}:{node.lineno}: {ast.unparse(node)}")
    return wrong
