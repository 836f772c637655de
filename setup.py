"""What pyproject.toml cannot say: the description for package indexes.

An index has no files that relative links could lead to; the project has no public address for absolute ones.
So links to files become the files' names, and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup


def described(text: str) -> str:
    """The README `text` without links and pictures that only a checkout has."""
    text = re.sub(r"^!\[[^]]*\]\((?!https?:)[^)]*\)\n+", "", text, flags=re.MULTILINE)

    def name(match: re.Match[str]) -> str:
        words, path = match[1], match[2].split("#")[0]
        return f"`{path}`" if words.strip("/") == path.strip("/") else f"{words} (`{path}`)"

    return re.sub(r"\[([^]]*)\]\((?!https?:|#)([^)]*)\)", name, text)


if __name__ == "__main__":
    readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    setup(long_description=described(readme), long_description_content_type="text/markdown")
