"""Lay out the pages of the site: README, docs/ and the API reference, as they stand to each other in the repository."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from api import api_pages, places
from notebooks import turn_into_pages
from searching import pages_of, write_index

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

PROJECT_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
# Title in the navigation and folder of docs/. Decisions are pages, and in no menu.
FOLDERS = {
    "Tutorials": "tutorials",
    "Notebooks": "notebooks",
    "How-to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
}
# Pages that come first in their folder, in the order in which they are read; the others follow by title.
READING_ORDER = ("first-release", "the-studio", "from-table-to-signed-report", "publish-every-month")


def lay_out(pages: Path) -> None:
    """Copy and generate every page into a folder, and write `zensical.toml` beside it."""
    shutil.copytree(ROOT / "docs", pages / "docs", ignore=shutil.ignore_patterns("site", "__pycache__"))
    for name in ("README.md", "LICENSE", "NOTICE", *PROJECT_PAGES):
        shutil.copy(ROOT / name, pages / name)
    for name in ("site.css", "search.js"):
        shutil.copy(HERE / name, pages / name)
    turn_into_pages(pages / "docs")
    written = api_pages()
    for path, text in written.items():
        target = pages / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
    _configure(pages, list(written))
    write_index(pages_of(pages), pages / "search-index.js")


def _configure(pages: Path, api: list[str]) -> None:
    settings: dict[str, Any] = tomllib.loads((HERE / "zensical.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    project |= {"docs_dir": pages.name, "site_dir": "site", "nav": _navigation(pages, api)}
    python = project["plugins"]["mkdocstrings"]["handlers"]["python"]
    python["paths"] = [str(ROOT / "src")]
    python["options"]["extensions"] = [{str(HERE / "roles.py"): {"places": places()}}]
    (pages.parent / "zensical.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")


def _navigation(pages: Path, api: list[str]) -> list[dict[str, Any]]:
    """Return sections with their pages; an entry without a title takes that of its page."""
    sections = {title: _pages_of(pages / "docs" / folder, pages) for title, folder in FOLDERS.items()}
    return [
        {"Sfumato": ["README.md", "docs/index.md", "docs/install.md", "docs/everything.md", "docs/benchmarks.md"]},
        *({title: found} for title, found in sections.items()),
        {"API": api},
        {"Project": list(PROJECT_PAGES)},
    ]


def _pages_of(folder: Path, pages: Path) -> list[Any]:
    found: list[Any] = sorted((str(path.relative_to(pages)) for path in folder.glob("*.md")), key=_title_order(pages))
    # Some folders hold nothing but pictures.
    inner = [path for path in sorted(folder.iterdir()) if path.is_dir() and any(path.rglob("*.md"))]
    return [*found, *({path.name.capitalize(): _pages_of(path, pages)} for path in inner)]


def _title_order(pages: Path) -> Any:
    def title(name: str) -> tuple[int, str]:
        stem = Path(name).stem
        place = READING_ORDER.index(stem) if stem in READING_ORDER else len(READING_ORDER)
        return place, (pages / name).read_text(encoding="utf-8").splitlines()[0].lower()

    return title
