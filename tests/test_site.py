"""The documentation site, as far as it can be checked without Sphinx: its sources are complete."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import tracejit as tj
from tracejit.tools.picture import to_svg

from .test_docstrings import names

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.append(str(DOCS.parent))  # behind what is installed

from docs.site import docstrings, links, reference, sources  # noqa: E402
from docs.site.diagrams import DIAGRAMS, modules_of  # noqa: E402


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages as Sphinx gets them, but for the gallery."""
    folder = tmp_path_factory.mktemp("site") / "pages"
    sources.copy(folder)
    reference.write(folder / "reference")
    return folder


def test_every_public_name_has_a_place_in_the_reference(site: Path) -> None:
    described = "".join(path.read_text() for path in (site / "reference").glob("*.rst"))
    names = re.findall(r"^\.\. [\w:]+:: tracejit\.(\S+)$", described, re.MULTILINE)
    assert len(names) == len(set(names)), "described once"
    expected = {name for name in tj.__all__ if reference.has_entry(name)}
    for namespace in reference.NAMESPACES:
        expected |= {f"{namespace}.{name}" for name in reference.public_names(namespace)}
    assert expected <= set(names), sorted(expected - set(names))
    assert len(expected) > 850


def test_every_described_name_has_an_example(site: Path) -> None:
    """The examples are correct: tests/test_doctests.py runs them."""
    assert reference.without_example(site / "reference") == []


def test_a_name_without_example_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text(
        ".. autofunction:: tracejit.exp\n.. autofunction:: docs.site.reference.words\n"
    )
    assert reference.without_example(tmp_path) == ["docs.site.reference.words"]


def test_every_namespace_has_a_page() -> None:
    inside = {name for name in tj.__all__ if not reference.has_entry(name)} - {"Tensor", "ndarray", "scipy"}
    assert inside <= set(reference.NAMESPACES)


def test_every_document_is_in_one_table_of_contents(site: Path) -> None:
    """Sphinx warns of documents that are in none; this says so without Sphinx."""
    listed = []
    for page in site.rglob("*.md"):
        for options, table in re.findall(
            r"^```{toctree}\n((?::[^\n]*\n)*)(.*?)^```", page.read_text(), re.M | re.S
        ):
            for entry in table.split():
                pattern = (page.parent / entry).resolve().relative_to(site).as_posix()
                matches = site.glob(pattern + ".*") if ":glob:" in options else [site / pattern]
                listed += [match.relative_to(site).with_name(match.name.split(".md")[0]) for match in matches]
    names = [path.as_posix().removesuffix(".ipynb") for path in listed]
    assert len(names) == len(set(names)), "a document stands in one place"
    documents = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.md")}
    assert documents - {"index"} <= set(names), sorted(documents - {"index"} - set(names))


def test_links_between_documents_lead_somewhere(site: Path) -> None:
    for page in site.rglob("*.md"):
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\((?!\w+://|#)([^)#\s]+)", text):
            place = (page.parent / target).resolve()
            gallery = place.is_relative_to(site / "gallery")
            assert gallery or place.exists(), f"{page.relative_to(site)}: {target}"


def test_notebooks_have_no_outputs() -> None:
    notebooks = sorted((DOCS / "notebooks").glob("*.ipynb"))
    assert len(notebooks) >= 5
    for path in notebooks:
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells), path.name
        assert any("assert" in "".join(cell["source"]) for cell in cells), f"{path.name} checks nothing"


def test_broken_links_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#place">b</a><img src="c.png"><a href="https://d.org/x">'
    )
    (tmp_path / "b.html").write_text('<p id="other">')
    assert list(links.broken(tmp_path)) == [
        "a.html: b.html#place leads to no place in b.html",
        "a.html: c.png leads to no file",
    ]
    (tmp_path / "b.html").write_text('<p id="place">')
    (tmp_path / "c.png").touch()
    assert list(links.broken(tmp_path)) == []
    assert links.outside(tmp_path) == ["https://d.org/x"]


def test_docstrings_become_markup() -> None:
    text = "|x| of `axis`s and *args, ``f(*x)``s; see docs/loops.md."
    expected = r"\|x\| of `axis`\ s and \*args, ``f(*x)``\ s; see :doc:`loops </loops>`."
    assert docstrings.prose(text) == expected
    assert docstrings.prose(">>> x * y | z") == ">>> x * y | z"


def test_a_link_to_what_is_no_page_is_an_error() -> None:
    origin = DOCS / "loops.md"
    assert sources.linked("[e](../examples/ising.py)", origin, DOCS, DOCS) == "[e](gallery/ising.md)"
    with pytest.raises(ValueError, match="no page of the site"):
        sources.linked("[e](../ir/graph.py)", origin, DOCS, DOCS)


def test_diagrams_are_current() -> None:
    for name, make in DIAGRAMS.items():
        drawn = (DOCS / "images" / name).read_text()
        assert drawn == to_svg(make()), "run python -m docs.site.diagrams"


@pytest.mark.parametrize("page", ["life-of-a-loop", "states-of-a-call"])
def test_pages_of_decisions_name_modules_that_exist(page: str) -> None:
    text = (DOCS / "explanation" / f"{page}.md").read_text()
    modules = re.findall(r"`([\w/]+\.py)`", text) + modules_of(DIAGRAMS[f"{page}.svg"]())
    assert len(modules) > 20
    assert set(modules) <= names()
    rows = [int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]
    assert rows == list(range(1, len(rows) + 1))
