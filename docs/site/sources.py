"""Copies of the documents, whose links to files of the repository become links to pages of the site."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Files at the root of the repository and of other folders, and the pages that they become.
PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks/index.md",
    "benchmarks/results.md": "benchmarks/results.md",
    "benchmarks/explored.md": "benchmarks/explored.md",
    "benchmarks/results.svg": "benchmarks/results.svg",
    "benchmarks": "benchmarks/index.md",
    "examples": "gallery/index.md",
    "docs/decisions": "developing/index.md",
}
_LINK = re.compile(r"(?<=\]\()(?!\w+://|#)([^)#\s]+)")


def copy(target: Path) -> None:
    """Write all documents to the folder `target`."""
    hidden = shutil.ignore_patterns("site", "__pycache__", ".ipynb_checkpoints", "*.py")
    shutil.copytree(ROOT / "docs", target, ignore=hidden)
    for page in target.rglob("*.md"):
        origin = ROOT / "docs" / page.relative_to(target)
        page.write_text(linked(page.read_text(), origin, page.parent, target))
    for name, place in PAGES.items():
        origin, page = ROOT / name, target / place
        if not origin.is_file():
            continue
        page.parent.mkdir(parents=True, exist_ok=True)
        if origin.suffix == ".md":
            page.write_text(linked(origin.read_text(), origin, page.parent, target))
        else:
            shutil.copyfile(origin, page)


def linked(text: str, origin: Path, folder: Path, target: Path) -> str:
    """`text` of the file `origin`, with the links of a page in `folder` of the site `target`."""

    def place(match: re.Match[str]) -> str:
        path = (origin.parent / match[1]).resolve()
        page = page_of(path)
        if page is None:
            raise ValueError(f"{origin.relative_to(ROOT)} links {match[1]}, which is no page of the site")
        return Path(os.path.relpath(target / page, folder)).as_posix()

    fenced = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(place, part) for part in fenced)


def page_of(path: Path) -> str | None:
    """The page or picture of the site that a file of the repository becomes."""
    name = path.relative_to(ROOT).as_posix()
    if name in PAGES:
        return PAGES[name]
    if path.parent == ROOT / "examples" and path.suffix == ".py":
        return f"gallery/{path.stem}.md"
    if path.is_relative_to(ROOT / "docs"):
        return path.relative_to(ROOT / "docs").as_posix()
    return None
