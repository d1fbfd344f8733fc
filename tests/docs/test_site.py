"""The documentation site: every public name has its place, and the checker sees what is dead."""

from __future__ import annotations

import json
import runpy
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

import sfumato
from docs.pages import DOCS

API = runpy.run_path(str(DOCS / "site" / "api.py"))
LINKS = runpy.run_path(str(DOCS / "site" / "links.py"))
PAGES = API["api_pages"]()


def test_every_public_name_is_on_one_page_of_the_reference() -> None:
    shown = Counter(line.removeprefix("::: ") for text in PAGES.values() for line in text.splitlines() if ":::" in line)
    assert shown == Counter(API["places"]().values())
    assert set(API["places"]()) == set(API["names"]())
    assert {name.partition(".")[0] for name in API["names"]()} == set(sfumato.__all__)


def test_the_overview_says_what_every_name_is() -> None:
    rows = [line.split(" | ") for line in PAGES["api/index.md"].splitlines() if line.startswith("| [")]
    assert sorted(row[0].split("`")[1] for row in rows) == sorted(API["names"]())
    assert [row[0] for row in rows if not row[1].removesuffix(" |").strip()] == []


def test_chosen_names_are_public() -> None:
    assert [name for names in API["GROUPS"].values() for name in names if name not in sfumato.__all__] == []


def _site(folder: Path, body: str) -> list[str]:
    (folder / "inner").mkdir()
    (folder / "inner" / "page.html").write_text('<h1 id="title">Page</h1><a href="../index.html">home</a>')
    (folder / "style.css").write_text("")
    (folder / "index.html").write_text(f'<link rel="stylesheet" href="style.css">{body}')
    return LINKS["problems"](folder)


@pytest.mark.parametrize(
    "body",
    [
        '<a href="inner/page.html#title">there</a>',
        '<a href="https://example.org/nowhere">elsewhere</a>',
        '<h2 id="here">Here</h2><a href="#here">here</a>',
    ],
)
def test_links_that_lead_somewhere_are_no_problem(body: str, tmp_path: Path) -> None:
    assert _site(tmp_path, body) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<a href="inner/none.html">x</a>', "index.html: dead link inner/none.html"),
        ('<a href="inner/page.html#none">x</a>', "index.html: dead link inner/page.html#none"),
        ('<a href="#none">x</a>', "index.html: dead link #none"),
        ('<img src="none.svg">', "index.html: dead link none.svg"),
        (
            '<script src="https://example.org/a.js"></script>',
            "index.html: loads https://example.org/a.js from elsewhere",
        ),
        ("<p>[`anonymize`][sfumato.none]</p>", "index.html: a reference was not resolved: [sfumato.none]"),
    ],
)
def test_dead_links_and_loads_from_elsewhere_are_told(body: str, said: str, tmp_path: Path) -> None:
    assert _site(tmp_path, body) == [said]


def test_a_site_without_pages_is_a_problem(tmp_path: Path) -> None:
    assert len(LINKS["problems"](tmp_path)) == 1


def test_the_search_names_the_right_page_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script of the site ranks what people type, as it does in a browser; a slip and a plural are forgiven."""
    monkeypatch.syspath_prepend(DOCS / "site")
    searching = __import__("searching")
    searching.write_index(searching.pages_of(DOCS.parent), tmp_path / "index.js")
    lines = [line for line in (Path(__file__).parent / "searches.txt").read_text().splitlines() if line[0] != "#"]
    asked = [line.partition(" | ")[0] for line in lines] + ["hierarchys", "mondriaan", "missing value", "", "?", "qqqq"]
    first = "(words) => (sfumatoIndex.pages[(rank(sfumatoIndex, words)[0] || [-1])[0]] || [''])[0]"
    script = f"console.log(JSON.stringify({json.dumps(asked)}.map({first})))"
    texts = (DOCS / "site" / "search.js").read_text(), (tmp_path / "index.js").read_text(), script
    (tmp_path / "run.js").write_text("\n".join(texts))
    node, _ = compute_driver_executable()
    told = json.loads(subprocess.check_output([node, tmp_path / "run.js"]))
    found = [place.partition(".html")[0].removeprefix("docs/") for place in told]
    wrong = [line for line, place in zip(lines, found, strict=False) if place not in line.partition(" | ")[2].split()]
    assert len(wrong) <= 0.1 * len(lines), wrong
    assert found[len(lines) :] == ["how-to/hierarchies", "reference/mondrian", "how-to/missing-values", "", "", ""]
