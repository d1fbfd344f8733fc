"""Read every finished page: each link leads somewhere, and nothing is loaded from another machine."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
# Says where a page belongs, and loads nothing.
_NAMES_ONLY = {"canonical", "next", "prev"}
# What the generator leaves where a name of the API is not on any page.
_UNRESOLVED = re.compile(r"\[sfumato\.[\w.]+\]")


@dataclass
class Page(HTMLParser):
    """The targets, links and loads of one page."""

    anchors: set[str] = field(default_factory=lambda: {"", "__top"})
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element names or needs."""
        values = {key: value or "" for key, value in attrs}
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        needed = values.get(_LOADS.get(tag, ""))
        if needed and values.get("rel") not in _NAMES_ONLY:
            self.loads.append(needed)

    def handle_data(self, data: str) -> None:
        """Note references that stayed text."""
        self.unresolved += _UNRESOLVED.findall(data)


def problems(site: Path) -> list[str]:
    """Return a sentence for every dead link, and for everything that is loaded from elsewhere."""
    pages = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    found = [problem for path in pages for problem in _of_page(path, site)]
    return [*found, *([] if pages else [f"{site.name}: no pages"])]


def _of_page(path: Path, site: Path) -> list[str]:
    page, name = _read(path), path.relative_to(site)
    outside = [f"{name}: loads {load} from elsewhere" for load in page.loads if _is_outside(load)]
    inside = [link for link in (*page.links, *page.loads) if not _is_outside(link)]
    dead = [f"{name}: dead link {link}" for link in inside if not _leads_somewhere(path, link)]
    return [*outside, *dead, *(f"{name}: a reference was not resolved: {text}" for text in page.unresolved)]


def _is_outside(link: str) -> bool:
    parts = urlsplit(link)
    return parts.scheme not in ("", "file") or bool(parts.netloc)


def _leads_somewhere(path: Path, link: str) -> bool:
    parts = urlsplit(link)
    target = path.parent / unquote(parts.path) if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        return False
    return target.suffix != ".html" or unquote(parts.fragment) in _read(target).anchors


@cache
def _read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page
