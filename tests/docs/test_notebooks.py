"""The example notebooks show what they showed when they were written, and become pages of the site."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import nbformat
import pytest

from docs.notebooks import NOTEBOOKS, ROOT, VARIES, executed, shown

SITE = ROOT / "docs" / "site"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_did(path: Path, sail: str) -> None:
    written = nbformat.read(path, as_version=4)
    nbformat.validate(written)
    assert shown(executed(path, sail)) == shown(written)


def test_most_cells_are_compared() -> None:
    cells = [cell for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells]
    assert sum(VARIES in cell.metadata.get("tags", []) for cell in cells) == 1
    assert not any(output.output_type == "error" for cell in cells for output in cell.get("outputs", []))


def test_notebooks_become_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(SITE), *sys.path])
    turn = runpy.run_path(str(SITE / "notebooks.py"))["turn_into_pages"]
    (tmp_path / "page.md").write_text("[first](notebooks/first-release.ipynb#make-the-release) and (a.ipynb.txt)")
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for path in NOTEBOOKS:
        (folder / path.name).write_bytes(path.read_bytes())
    turn(tmp_path)
    assert (
        tmp_path / "page.md"
    ).read_text() == "[first](notebooks/first-release.md#make-the-release) and (a.ipynb.txt)"
    for path in NOTEBOOKS:
        page = (folder / path.name).with_suffix(".md").read_text()
        assert page.startswith("# ")
        blocks = page.split("\n\n")
        outputs = [block for block in blocks if block.startswith('<div class="notebook-output">')]
        assert outputs
        assert all("\n" not in block and block.count("<div") == block.count("</div>") for block in outputs)
        assert ".ipynb)" not in page


def test_every_notebook_is_reachable() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    assert all(f"(notebooks/{path.name})" in index for path in NOTEBOOKS)
