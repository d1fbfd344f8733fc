"""The fast and the slow way of reading CSV agree, wherever the check lets the fast one through."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.errors import InputError
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema
from sfumato.table.sources import text_files
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.sources.text_files import count_regular_rows, read_rows

CELLS = ["a", '"a"', '"a,b"', '"a""b"', '""', "", " ", "é", '"x\ny"', '"x\r\ny"', '"""a"""', '"a,""b"""', '"a"",b"']
ODD_CELLS = ['x"y', 'x""y', ' "a"', '"a" ', '"', '""a""', "a,b"]


def pieces(text, size):
    return [text[start : start + size] for start in range(0, len(text), size)]


def test_the_fast_way_is_never_taken_where_it_would_differ(tmp_path):
    path = tmp_path / "people.csv"
    width = st.integers(1, 3)
    cell = st.sampled_from(CELLS) | st.sampled_from([*CELLS, *ODD_CELLS])

    @examples(300)
    @given(
        rows=width.flatmap(lambda width: st.lists(st.tuples(*[cell] * width), min_size=1, max_size=4)),
        line_end=st.sampled_from(["\n", "\r\n"]),
        tail=st.sampled_from(["", "\n", "\r\n\r\n"]),
        strip=st.booleans(),
    )
    def check(rows, line_end, tail, strip):
        width = len(rows[0])
        text = line_end.join(["a,b,c"[: 2 * width - 1], *map(",".join, rows)]) + tail
        path.write_bytes(text.encode())
        layout = CsvFormat(strip=strip)
        source = text_files.csv_source(path, layout)
        fast = source._read_fast(range(width))
        if fast is not None:
            slow = read_rows(source.file, layout, width, range(width))
            assert [plain(column, strip) for column in fast] == [plain(column, strip) for column in slow]

    check()


def plain(column, strip):
    texts = column.cast(pl.String)
    return (texts.str.strip_chars() if strip else texts).replace("", None).to_list()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    ("text", "fields", "rows"),
    [
        ("a,b\n1,2\r\n3,4", 2, 3),
        ('a,"b\n,"\n"1","2"', 2, 2),
        ('"a""",""""\n"a"",b",', 2, 2),
        ('a\n\n"b"', 1, 3),
        ("a,b\n1", 2, None),
        ("a,b\n1\n2,3", 2, None),
        ("a,b\n1,2,3\n4", 2, None),
        ("a,b\n\n1,2", 2, None),
        ('a,b\n1,"2', 2, None),
        ('a,b\n1,"2\n3,4', 2, None),
        ('a,b\n1,2"x"', 2, None),
        ('a,b\n1,""2""', 2, None),
        ('a,b\n1,"2"x', 2, None),
    ],
)
def test_rows_are_counted_across_blocks(text, fields, rows, size):
    assert count_regular_rows(pieces(text.encode(), size), fields, ",", '"') == rows


def test_quotes_may_mean_nothing():
    assert count_regular_rows([b'a,"b\n1,2'], 2, ",", None) == 2


def test_regular_files_are_read_the_fast_way(tmp_path, monkeypatch):
    def refuse(*_):
        raise InputError("the slow way was taken")

    monkeypatch.setattr(text_files, "read_rows", refuse)
    path = tmp_path / "people.csv"
    path.write_bytes(b'a,b\r\n1,"x,""y"", z"\r\n2,\r\n\r\n')
    table = read_table(path, Schema(quasi_identifying=["a", "b"]))
    assert table.frame.rows() == [(1, 'x,"y", z'), (2, None)]
