"""The picture of the public benchmark: its script prints the table of the page from what was measured."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_the_page_is_what_the_script_prints_and_each_release_has_a_name_in_the_picture(
    tmp_path, monkeypatch, capsys
):
    described = importlib.util.spec_from_file_location("board", DOCS / "figures" / "board.py")
    board = importlib.util.module_from_spec(described)
    described.loader.exec_module(board)
    monkeypatch.setattr(board, "HERE", tmp_path)
    for name in ("board.csv", "board_all.csv"):
        (tmp_path / name).write_bytes((DOCS / "figures" / name).read_bytes())
    board.main()
    printed, everything = capsys.readouterr().out.split("\n\n")
    page = (DOCS / "explanation" / "the-public-benchmark.md").read_text()
    assert all(table.strip() in page for table in (printed, everything))
    drawn = (tmp_path / "board.svg").read_text()
    assert len(board.LABELS) == printed.count("\n") - 1
    assert all(f">{name}<" in drawn for name in board.LABELS)
