"""Collect the sources, run Sphinx with warnings as errors, and follow every link of what comes out."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import time
from pathlib import Path

from . import gallery, links, reference, sources, spelling

#: Modules that are imported to build, and the name by which pip knows each.
NEEDED = {
    "sphinx": "sphinx",
    "myst_nb": "myst-nb",
    "furo": "furo",
    "matplotlib": "matplotlib",
    "codespell_lib": "codespell",
}


def build(output: Path) -> int:
    """Write the site to `output`; 0 if it was built without a warning and without a broken link."""
    absent = [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]
    if absent:
        print(f"not installed: {', '.join(absent)}. Run pip install '.[docs]'", file=sys.stderr)
        return 2
    start = time.perf_counter()
    output = output.resolve()
    pages = output.with_name(f"{output.name}-sources")
    for folder in (output, pages):
        shutil.rmtree(folder, ignore_errors=True)
    sources.copy(pages)
    reference.write(pages / "reference")
    gallery.write(pages / "gallery")
    from sphinx.cmd.build import main as sphinx

    configuration = Path(__file__).parent
    arguments = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(configuration), str(pages), str(output)]
    if status := sphinx(arguments):
        return status
    problems = [*links.broken(output), *spelling.misspelled()]
    for problem in problems:
        print(problem, file=sys.stderr)
    count = sum(1 for _ in output.rglob("*.html"))
    print(f"{count} pages in {output}, {time.perf_counter() - start:.0f} s, {len(problems)} problems")
    return 1 if problems else 0
