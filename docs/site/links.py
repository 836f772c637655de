"""Every link inside the site leads somewhere: pages, pictures, scripts, and places in pages.

Links to other hosts are not followed: the gate may have no network. `outside` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Page(HTMLParser):
    """The links of a page, and the places in it that can be linked."""

    text: str
    links: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser for each tag."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def read(site: Path) -> dict[Path, Page]:
    """The pages of the site."""
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def broken(site: Path) -> Iterator[str]:
    """A line for each link that leads nowhere."""
    site = site.resolve()
    pages = read(site)
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            name = path.relative_to(site)
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{name}: {link} leads to no file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                yield f"{name}: {link} leads to no place in {target.relative_to(site)}"


def outside(site: Path) -> list[str]:
    """The addresses on other hosts that the site links."""
    return sorted({link for page in read(site).values() for link in page.links if urlsplit(link).netloc})
