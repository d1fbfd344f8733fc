"""The drawings of the docs show what the library does now."""

from __future__ import annotations

import re
import runpy

import polars as pl
import pytest

from docs.pages import DOCS

DRAW = runpy.run_path(str(DOCS / "figures" / "draw.py"))


@pytest.mark.parametrize("name", DRAW["FIGURES"])
def test_a_drawing_shows_the_librarys_own_result(name: str) -> None:
    assert (DOCS / "figures" / f"{name}.svg").read_text(encoding="utf-8") == DRAW["drawing"](name)


PICTURES = runpy.run_path(str(DOCS / "figures" / "pictures.py"))["PICTURES"]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_what_a_run_makes(name: str) -> None:
    """Each is of this version, and stands on a page, with words for who does not see it."""
    assert (DOCS / "figures" / f"{name}.svg").read_text(encoding="utf-8") == PICTURES[name]()
    shown = [
        page
        for page in DOCS.rglob("*.md")
        if re.search(rf"!\[[^\]]{{40,}}\]\([./]*figures/{name}\.svg\)", page.read_text())
    ]
    assert shown


WHICH = runpy.run_path(str(DOCS / "figures" / "which_method.py"))


@pytest.mark.parametrize(("asked", "figure", "value"), WHICH["SHOWN"])
def test_the_guide_shows_what_was_measured(asked: str, figure: str, value: int) -> None:
    results = pl.read_csv(DOCS / "figures" / f"which-method-{asked}.csv")
    page = (DOCS / "explanation" / "which-method-when.md").read_text(encoding="utf-8")
    assert WHICH["page_table"](results, asked, figure, value) in page


def test_the_table_of_risks_and_k_is_what_its_script_makes() -> None:
    made = runpy.run_path(str(DOCS / "figures" / "which_k.py"))
    assert made["page_table"]() in (DOCS / "how-to" / "choose-k.md").read_text(encoding="utf-8")
    assert [made["least_k"](threshold) for threshold in (1.0, 0.5, 0.2, 1 / 11, 0.09, 0.01)] == [1, 2, 5, 11, 12, 100]


def test_the_table_of_frontiers_is_what_its_script_makes() -> None:
    made = runpy.run_path(str(DOCS / "figures" / "frontiers.py"))
    results = pl.read_csv(DOCS / "figures" / "frontiers.csv")
    assert made["page_table"](results) in (DOCS / "benchmarks.md").read_text(encoding="utf-8")
