"""The drawings of the docs show what the library does now."""

from __future__ import annotations

import runpy

import pytest

from docs.pages import DOCS

DRAW = runpy.run_path(str(DOCS / "figures" / "draw.py"))


@pytest.mark.parametrize("name", DRAW["FIGURES"])
def test_a_drawing_shows_the_librarys_own_result(name: str) -> None:
    assert (DOCS / "figures" / f"{name}.svg").read_text(encoding="utf-8") == DRAW["drawing"](name)
