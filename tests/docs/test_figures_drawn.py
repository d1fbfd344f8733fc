"""The drawings of the docs show what the library does now."""

from __future__ import annotations

import runpy

import polars as pl
import pytest

from docs.pages import DOCS

DRAW = runpy.run_path(str(DOCS / "figures" / "draw.py"))


@pytest.mark.parametrize("name", DRAW["FIGURES"])
def test_a_drawing_shows_the_librarys_own_result(name: str) -> None:
    assert (DOCS / "figures" / f"{name}.svg").read_text(encoding="utf-8") == DRAW["drawing"](name)


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
