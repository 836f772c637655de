"""Laws of docstrings and of comments on attributes (``#:``): they open with a verb or a noun phrase, modules'
docstrings have one subject, and the files and modules that they name exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: Folders of the project's Python.
FOLDERS = ("base", "ir", "codegen", "runtime", "tracejit", "tests", "benchmarks", "docs", "examples")
#: Function words that begin neither a verb phrase nor a noun phrase. They are a closed class of words, so the
#: list is whole. Determiners are left out (``No operand is read``), and ``Whether``, which describes a flag.
OPENERS = frozenset(
    """
    what whatever which whichever who whoever whom whose where wherever when whenever why how however
    as if that those these them they it its he his she her we us our ours their theirs you your my
    of in on at by for from with without within into onto to than then through under over above below between
    beside besides before after against about across along among around behind beyond during except inside
    outside near out per since toward towards until up upon via while
    and but or nor so yet because although though unless also again too not never always often twice once just
    there here such nothing something anything everything none other others alike eagerly mostly usually
    sometimes is are was were be been being
    """.split()  # noqa: SIM905
)
#: Openers of two words.
PHRASES = frozenset({"the same", "one of", "one that", "one which", "some of", "all that"})
#: A path or a file's name, and a module or what is in it by its full name.
_PATH = re.compile(r"(?<![\w/.~<-])((?:[\w-]+/)*[\w-]+\.(?:py|pyi|md|sh|toml|ipynb|css))(?![\w/(*-]|\.\w)")
_MODULE = re.compile(r"`((?:tracejit|ir|codegen|runtime|tests|benchmarks)(?:\.\w+)+)")
#: Names of files that no file has: examples of users' files.
EXAMPLES = frozenset({"file.py", "script.py", "model.py", "train.py"})


@cache
def sources() -> tuple[Path, ...]:
    """Every Python file of the project, once: links to folders are not followed."""
    paths = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    return tuple(path for path in paths if not any(parent.is_symlink() for parent in path.parents))


@cache
def names() -> frozenset[str]:
    """Paths of the project's files from its root, and from each folder on the way."""
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix]
    parts = (path.relative_to(ROOT).parts for path in files)
    return frozenset("/".join(part[start:]) for part in parts for start in range(len(part)))


def docstrings(node: ast.AST) -> Iterator[tuple[ast.AST, int, str]]:
    """Each docstring in a module or statement, with its owner and line."""
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        text = ast.get_docstring(node)
        if text is not None:
            yield node, node.body[0].lineno, text
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        statements = getattr(node, field, ())
        if isinstance(statements, list):  # the body of a lambda is an expression
            for statement in statements:
                yield from docstrings(statement)


def opener(text: str) -> str | None:
    """The word or the two words at which a docstring must not begin, if it does."""
    first, second = ([*text.lower().split()[:2], "", ""])[:2]
    if first.rstrip(".,:;") in OPENERS:
        return first
    phrase = f"{first} {second.rstrip('.,:;')}"
    return phrase if phrase in PHRASES else None


def resolves(name: str) -> bool:
    """Whether a module of that name exists, or one that has the rest of the name in its text."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        stem = ROOT.joinpath(*parts[:end])
        module = stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")
        if module.exists():
            rest = parts[end : end + 1]
            return not rest or re.search(rf"\b{rest[0]}\b", module.read_text()) is not None
    return False


def absent(text: str) -> list[str]:
    """The paths and modules that `text` names and that do not exist."""
    paths = [name for name in _PATH.findall(text) if name not in names() and name not in EXAMPLES]
    return paths + [name for name in _MODULE.findall(text) if not resolves(name)]


def faults(source: str) -> list[str]:
    """The faults of a module's docstrings and comments, each with its line."""
    lines = []
    for node, line, text in docstrings(ast.parse(source)):
        if word := opener(text):
            lines.append(f"{line}: begins with {word!r}: {text.splitlines()[0]}")
        if isinstance(node, ast.Module) and "; and " in " ".join(text.split()):
            lines.append(f"{line}: the module's docstring joins two subjects with '; and'")
        lines += [f"{line}: there is no {name}" for name in absent(text)]
    before = ""
    for number, text in enumerate(map(str.strip, source.splitlines()), 1):
        if text.startswith("#: ") and not before.startswith("#:") and (word := opener(text[3:])):
            lines.append(f"{number}: begins with {word!r}: {text}")
        if text.startswith("#"):
            lines += [f"{number}: there is no {name}" for name in absent(text)]
        before = text
    return lines


def test_docstrings_keep_the_laws() -> None:
    assert len(sources()) > 1500
    broken = [f"{path.relative_to(ROOT)}:{fault}" for path in sources() for fault in faults(path.read_text())]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    "docstring",
    [
        "What became of a function.",
        "Those of a loop that is written in registers.",
        "That by powers of a generator.",
        "The same written.",
        "Of an element.",
        "Where the steps have an operand from, as most of them do.",
        "As `captured_now`, of a fresh trace.",
        "And convolutions of single channels.",
        "How many there are.",
        "Twice.",
        "One of `options`.",
    ],
)
def test_openers_that_are_no_noun_phrase_are_found(docstring: str) -> None:
    source = f'"""Tables."""\n\ndef f() -> None:\n    """{docstring}"""\n'
    assert [fault.split(":")[:2] for fault in faults(source)] == [
        ["4", f" begins with {opener(docstring)!r}"]
    ]


@pytest.mark.parametrize(
    "docstring",
    [
        "Write a vector of each half.", "The size of an element.", "No operand is read.", "`x` in float64.",
        "Whether it is empty.", "``while`` loops.", "One row of the table.", "Each operand, cast.",
    ],
)  # fmt: skip
def test_verbs_and_noun_phrases_are_fine(docstring: str) -> None:
    assert not faults(f'"""{docstring}"""')


def test_comments_on_attributes_open_as_docstrings_do() -> None:
    (fault,) = faults("#: How many there are,\n#: of these.\nCOUNT = 1\n")
    assert fault.startswith("1: begins with 'how'")
    assert not faults("#: Number of these,\n#: of all.\nCOUNT = 1  # what else\n# and one more\n")


def test_two_subjects_are_found() -> None:
    assert len(faults('"""Gradient clipping; and\ngroups of parameters."""')) == 1
    assert not faults('"""Modules."""\n\n\nclass Pair:\n    """A left side; and a right one."""\n')


@pytest.mark.parametrize(
    "name",
    [
        "across.py", "`nest/across.py`", "docs/decisions/0099-none.md", "`codegen.products`",
        "``tracejit.dispatch.apply``", "`ir.passes.loops.rerolling.nothing_of_that_name`",
    ],
)  # fmt: skip
def test_files_and_modules_that_do_not_exist_are_found(name: str) -> None:
    message = f"1: there is no {name.strip('`')}"
    assert faults(f'"""Rows, see {name}."""') == [message]
    assert len(faults(f"#: Rows, see {name}.\nROWS = 1")) == 1


@pytest.mark.parametrize(
    "name",
    [
        "`loops.py`", "rerolling.py", "docs/testing.md", "`passes/__init__.py`", "`codegen.llvm.loops`",
        "``ir.registry.OPS``", "TensorFlow.js",
    ],
)  # fmt: skip
def test_files_and_modules_that_exist_are_fine(name: str) -> None:
    assert not faults(f'"""Rows, see {name}."""')
