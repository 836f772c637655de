"""The gallery: every program of ``examples/``, what it prints, and a picture where it has one."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
#: Examples that need what the site does not.
NEEDS = {"dask_regression": "dask"}


@dataclass(frozen=True)
class Shown:
    """An example: its source, title and introduction, and the output of its run."""

    name: str
    source: str
    title: str
    introduction: str
    output: str
    picture: bool


def names() -> list[str]:
    """The examples that are single files."""
    return sorted(path.stem for path in EXAMPLES.glob("*.py"))


def run(name: str, folder: Path) -> Shown:
    """Run an example in a process of its own; pictures go to `folder`. Raises where it fails."""
    source = (EXAMPLES / f"{name}.py").read_text()
    title, _, introduction = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")
    package = NEEDS.get(name)
    if package and importlib.util.find_spec(package) is None:
        output = f"(not run: it needs {package})"
    else:
        command = [sys.executable, "-m", "docs.site.draw", name]
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": paths, "MPLBACKEND": "agg", "TRACEJIT_NUM_THREADS": "1"}
        process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if process.returncode:
            raise RuntimeError(f"examples/{name}.py failed:\n{process.stdout}{process.stderr}")
        output = process.stdout.rstrip()
    return Shown(name, source, title.rstrip("."), introduction, output, (folder / f"{name}.png").exists())


def write(folder: Path) -> None:
    """Run all examples, and write a page of each and a page of all to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        shown = list(pool.map(lambda name: run(name, folder), names()))
    for example in shown:
        (folder / f"{example.name}.md").write_text(page(example))
    (folder / "index.md").write_text(overview(shown))


def page(example: Shown) -> str:
    """The page of an example."""
    parts = [f"# {example.title}", example.introduction.replace("``", "`")]
    if example.picture:
        parts.append(f"![{example.title}]({example.name}.png)")
    if example.output:
        parts += ["## What it prints", f"```text\n{example.output}\n```"]
    parts += ["## The program", f"`examples/{example.name}.py`:", f"```python\n{example.source}```"]
    return "\n\n".join(filter(None, parts)) + "\n"


def overview(shown: list[Shown]) -> str:
    """The page of all examples: those with pictures first."""
    pictured = "\n".join(
        f'<a href="{example.name}.html"><img src="../_images/{example.name}.png" alt="">{example.title}</a>'
        for example in shown
        if example.picture
    )
    rest = "\n".join(f"- [{example.title}]({example.name}.md)" for example in shown if not example.picture)
    toctree = "\n".join(example.name for example in shown)
    return (
        "# Gallery\n\nThe programs of `examples/`, run when this site was built. Each checks its results."
        "\n\n"
        f'<div class="gallery">\n{pictured}\n</div>\n\n## More programs\n\n{rest}\n\n'
        f"```{{toctree}}\n:hidden:\n{toctree}\n```\n"
    )
