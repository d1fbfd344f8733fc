"""Level tables and hierarchy files: layouts, matching with a column, round trips, and broken files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.errors import HierarchyError
from sfumato.hierarchy import HierarchyTable, hierarchy_from_paths, hierarchy_text, read_hierarchy, write_hierarchy

ROWS = (("10", "low", "*"), ("9", "low", "*"), ("20", "high", "*"))


def written(folder: Path, content: str | bytes) -> Path:
    file = folder / "hierarchy.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize(
    "content",
    [
        "10;low;*\n9;low;*\n20;high;*\n",
        "10,low,*\n9,low,*\n20,high,*",
        "10\tlow\t*\r\n9\tlow\t*\r\n20\thigh\t*\r\n",
        "\ufeff10;low;*\n\n9;low;*\n20;high;*\n\n",
        '"10";"low";*\n9;low;*\n20;"high";"*"\n',
        "10;low\n9;low\n20;high\n",
    ],
)
def test_layouts_that_say_the_same(tmp_path: Path, content: str) -> None:
    assert read_hierarchy(written(tmp_path, content)) == HierarchyTable(ROWS)


def test_a_separator_inside_labels_does_not_mislead(tmp_path: Path) -> None:
    by_comma = read_hierarchy(written(tmp_path, "1,[1;5),*\n2,[1;5),*\n"))
    assert by_comma.rows == (("1", "[1;5)", "*"), ("2", "[1;5)", "*"))
    by_semicolon = read_hierarchy(written(tmp_path, "a;x, y;*\nb;x, y;*\n"))
    assert by_semicolon.rows == (("a", "x, y", "*"), ("b", "x, y", "*"))


def test_any_other_separator_can_be_named(tmp_path: Path) -> None:
    file = written(tmp_path, "10|low|*\n9|low|*\n20|high|*\n")
    assert read_hierarchy(file, separator="|") == HierarchyTable(ROWS)


def test_a_single_column_becomes_flat(tmp_path: Path) -> None:
    assert read_hierarchy(written(tmp_path, "a\nb\n")).rows == (("a", "*"), ("b", "*"))
    assert read_hierarchy(written(tmp_path, "a\n")).rows == (("a", "*"),)


def test_another_name_for_everything_is_kept() -> None:
    assert HierarchyTable((("a", "all"), ("b", "all"))).build(pl.Series(["a"]), name="x").levels[1].labels == ("all",)


def test_numbers_match_by_value_and_unused_rows_stay_leaves() -> None:
    table = HierarchyTable((("40.0", "old", "*"), ("039", "young", "*"), ("7", "young", "*"), ("1e2", "old", "*")))
    tree = table.build(pl.Series([39, 40, None]), name="age")
    assert tree.leaves == ("7", "39", "40", "100")
    assert tree.levels[1].labels == ("young", "old")
    assert table.build(pl.Series([39.0, 40.0]), name="age") == tree


def test_texts_match_as_written_but_come_in_the_order_of_numbers() -> None:
    assert HierarchyTable(ROWS).build(pl.Series(["9", "10"]), name="x").leaves == ("9", "10", "20")
    with pytest.raises(HierarchyError):
        HierarchyTable(ROWS).build(pl.Series(["9.0"]), name="x")


def test_a_row_that_is_no_number_keeps_the_order_of_the_file() -> None:
    rows = (("?", "none", "*"), *ROWS)
    assert HierarchyTable(rows).build(pl.Series([9, 10]), name="x").leaves == ("?", "10", "9", "20")


def test_booleans_match_in_any_case() -> None:
    table = HierarchyTable((("True", "*"), ("FALSE", "*")))
    assert table.build(pl.Series([True, False]), name="x").leaves == ("true", "false")


def test_one_number_in_two_rows_is_refused() -> None:
    table = HierarchyTable((("39", "a", "*"), ("39.0", "b", "*")))
    assert table.build(pl.Series(["39"]), name="age").size == 2
    with pytest.raises(HierarchyError, match="1 row\\(s\\) repeat an original value"):
        table.build(pl.Series([39]), name="age")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no rows"),
        ("\n\n", "no rows"),
        ("marked;a;*\nb;*\n", "1 row(s) have a different number of levels than row 1, first in row 2"),
        ("marked;a;*\nmarked;a;*\n", "1 row(s) repeat an original value, first in row 2"),
        ("a;marked;x;*\nb;marked;y;*\n", "have two parents, first in row 2"),
        ("marked;;*\nb;c;*\n", "1 label(s) of level 1 are empty, first in row 1"),
        ("a;marked;*\nmarked;b;*\n", "ambiguous"),
        ("marked;*;*\nb;c;*\n", "level 1 has the label '*'"),
        ('a;"marked;*\nb;c;*\n', "broken quotes"),
        ('a;*\n"mar"ked;*\n', "row 2 has broken quotes"),
        (b"mark\xe9d;*\n", "not UTF-8"),
        ("a;*\n" + "marked" * 50_000 + ";*\n", "row 2 has broken quotes or a cell that is too long"),
    ],
)
def test_broken_files_are_told_by_row_never_by_value(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(HierarchyError) as caught:
        read_hierarchy(written(tmp_path, content))
    message = str(caught.value)
    assert said in message
    assert "hierarchy.csv" in message
    assert "mark" not in message.replace(str(tmp_path), "")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.csv", tmp_path, "nul\0.csv"):
        with pytest.raises(HierarchyError):
            read_hierarchy(path)
    with pytest.raises(HierarchyError, match="cannot be written"):
        write_hierarchy(hierarchy_from_paths(ROWS), tmp_path)


@pytest.mark.parametrize("separator", ["", ";;", '"', "\n", "\r", 5])
def test_separators_that_cannot_separate(tmp_path: Path, separator: Any) -> None:
    with pytest.raises(HierarchyError, match="must be one character"):
        read_hierarchy(written(tmp_path, "a;*\n"), separator=separator)


@pytest.mark.parametrize("rows", ["abc", 5, [5], ["abc"], [("a", 5)], [("a", None)], [], [()]])
def test_rows_of_the_wrong_shape(rows: Any) -> None:
    with pytest.raises(HierarchyError):
        HierarchyTable(rows)


def test_missed_values_are_counted_never_shown() -> None:
    with pytest.raises(HierarchyError) as caught:
        HierarchyTable(ROWS).build(pl.Series([9, 4711, 4712]), name="age")
    assert "'age': 2 of 3 distinct value(s) are not in it" in str(caught.value)
    assert "471" not in str(caught.value)


@given(
    st.lists(st.text(min_size=1).filter(lambda text: text != "*"), min_size=2, unique=True), st.sampled_from(";,\t|")
)
@examples(80)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, leaves: list[str], separator: str
) -> None:
    groups = [f"group{separator}\n{position // 2}\r" for position in range(len(leaves))]
    tree = hierarchy_from_paths(list(zip(leaves, groups, ["*"] * len(leaves), strict=True)))
    file = tmp_path_factory.getbasetemp() / "round-trip.csv"
    write_hierarchy(tree, file, separator=separator)
    assert file.read_bytes().decode() == hierarchy_text(tree, separator=separator)
    table = read_hierarchy(file, separator=separator)
    assert hierarchy_from_paths(table.rows) == tree


def test_files_name_themselves_in_a_policy_and_rows_spell_themselves_out(tmp_path: Path) -> None:
    file = written(tmp_path, "a;*\nb;*\n")
    assert read_hierarchy(file).to_policy() == {"kind": "file", "path": str(file)}
    assert read_hierarchy("hierarchy.csv", separator=";", folder=tmp_path).to_policy() == {
        "kind": "file",
        "path": "hierarchy.csv",
        "separator": ";",
    }
    assert HierarchyTable(ROWS).to_policy() == {"kind": "table", "rows": [list(row) for row in ROWS]}
    assert read_hierarchy(file) == HierarchyTable((("a", "*"), ("b", "*")))
