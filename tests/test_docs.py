"""The documents say what is: the table of ops is the registry's, and README's program prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .support import check_document

ROOT = Path(__file__).resolve().parent.parent


def test_the_table_of_ops_is_current() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "tracejit.ir.ops"], capture_output=True, text=True, check=True
    ).stdout
    assert (ROOT / "docs" / "ops.md").read_text() == printed, "run python -m tracejit.ir.ops > docs/ops.md"


def test_the_readme_names_the_ops_without_native_code() -> None:
    rows = re.findall(r"^\| `(\w+)\(.*\| (\w+) \|$", (ROOT / "docs" / "ops.md").read_text(), re.MULTILINE)
    sentence = re.search(r"has no native code yet \(([^)]*)\)", (ROOT / "README.md").read_text())
    assert sentence is not None
    assert set(re.findall("`(.*?)`", sentence[1])) == {op for op, native in rows if native == "no"}
    partly = {op for op, native in rows if native == "floats" and not op.startswith("special")}
    assert partly == {"pow", "reciprocal"}, "the sentence speaks of powers and reciprocals of integers"


@pytest.mark.parametrize("library", ["numpy", "jax", "pytorch", "numba", "casadi", "tensorflow-js"])
def test_the_examples_for_those_who_come_from_other_libraries(library: str) -> None:
    check_document(f"coming-from-{library}.md", least=12)
    text = (ROOT / "docs" / f"coming-from-{library}.md").read_text()
    assert re.findall("^## (.*)", text, re.MULTILINE)[-3:] == ["You write", "What differs", "Times"]
    assert f"(coming-from-{library}.md)" in (ROOT / "docs" / "coming-from.md").read_text()


def test_the_examples_for_those_who_come_from_autograd() -> None:
    check_document("coming-from-autograd.md", least=10)


def test_the_example_of_platforms() -> None:
    check_document("platforms.md", least=5)


def test_the_example_of_arrays_of_other_libraries() -> None:
    check_document("coming-from.md", least=4)


@pytest.mark.parametrize(
    "name",
    [
        "index.md",
        *(
            f"tutorials/{name}.md"
            for name in ("first-ten-minutes", "fit-a-model", "loop-with-gradient", "look-inside")
        ),
        *(
            f"explanation/{name}.md"
            for name in ("trace-to-code", "numerics", "guards", "life-of-a-loop", "states-of-a-call")
        ),
    ],
)
def test_the_examples_of_tutorials_and_explanations(name: str) -> None:
    check_document(name, least=7)


def test_the_programs_of_the_readme() -> None:
    programs = re.findall(r"```python\n(import.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(programs) == 2
    for program in programs:
        process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        promised = re.findall(r"print\(.*\)\s+# (.*)", program)
        assert len(promised) == 2
        assert process.stdout.splitlines() == promised


def test_the_readme_names_files_that_exist() -> None:
    for document in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / document).read_text()):
            if not target.startswith("http"):
                assert (ROOT / target).exists(), f"{document}: {target}"


def test_the_rooms_of_the_architecture() -> None:
    """Each package is in its table, with modules that are there to be read first; it stays short."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) <= 200
    rows = re.findall(r"^\| (\W*`\w+/.*?) \| (.*) \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) > 30
    rooms = {name.rstrip("/") for places, _, _ in rows for name in re.findall(r"`([\w/.]+)`", places)}
    for places, _, modules in rows:
        room = ROOT / re.findall(r"`([\w/.]+)`", places)[0]
        for module in re.findall(r"`([\w/.]+\.py)`", modules):
            assert (room / module).exists(), f"{room}/{module}"
    packages = {
        path.parent.relative_to(ROOT).as_posix()
        for layer in ("base", "ir", "codegen", "runtime", "tracejit")
        for path in (ROOT / layer).glob("*/__init__.py")
        if not path.parent.is_symlink()
    }
    besides = {f"tracejit/{name}" for name in re.findall(r"`(\w+)/`", text)}
    assert packages <= rooms | besides, packages - rooms - besides


def test_the_examples_of_calls_from_c() -> None:
    check_document("c.md", least=10)


def test_numbers_of_decisions_are_written_or_withdrawn() -> None:
    written = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")]
    index = (ROOT / "docs" / "developing" / "index.md").read_text()
    withdrawn = re.findall(r"^\| (\d{4}) \| withdrawn", index, re.MULTILINE)
    numbers = sorted(map(int, written + withdrawn))
    assert numbers == list(range(1, len(numbers) + 1))


def test_sections_of_the_changelog_are_short() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert releases
    for release in releases:
        headings = re.findall(r"^### (.*)", release, re.MULTILINE)
        assert len(set(headings)) == len(headings)
        assert len(release.splitlines()) <= 120
