"""What pyproject.toml cannot say: the description for package indexes, and the project's addresses.

An index has no files that relative links could lead to. A build that is told where the repository is, by
``TRACEJIT_REPOSITORY`` (as ``https://host/owner/tracejit``), has the project's URLs, and absolute links in
the description. The project has no public address as yet: without one, links to files become the files'
names, and pictures are left out.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from setuptools import setup


def described(text: str, repository: str = "") -> str:
    """The README `text` with links and pictures of the `repository`; without one, without those that only a
    checkout has."""
    if repository:
        text = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\1{repository}/raw/main/", text)
        return re.sub(r"(?<!!)(\[[^]]*\]\()(?!https?:|#)", rf"\1{repository}/blob/main/", text)
    text = re.sub(r"^!\[[^]]*\]\((?!https?:)[^)]*\)\n+", "", text, flags=re.MULTILINE)

    def name(match: re.Match[str]) -> str:
        words, path = match[1], match[2].split("#")[0]
        return f"`{path}`" if words.strip("/") == path.strip("/") else f"{words} (`{path}`)"

    return re.sub(r"\[([^]]*)\]\((?!https?:|#)([^)]*)\)", name, text)


def addresses(repository: str) -> dict[str, str]:
    """The project's URLs by what they are called, where there is a `repository`."""
    pages = {
        "Source": "",
        "Documentation": "/tree/main/docs",
        "Changelog": "/blob/main/CHANGELOG.md",
        "Issues": "/issues",
    }
    return {name: repository + page for name, page in pages.items()} if repository else {}


if __name__ == "__main__":
    where = os.environ.get("TRACEJIT_REPOSITORY", "").rstrip("/")
    readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    setup(
        long_description=described(readme, where),
        long_description_content_type="text/markdown",
        project_urls=addresses(where),
    )
