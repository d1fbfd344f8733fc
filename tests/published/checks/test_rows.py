"""Equal rows are found exactly, however much their texts look alike."""

from __future__ import annotations

from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.published.checks import generalized as module
from sfumato.published.checks.generalized import group_rows, verify_table
from sfumato.table.distinct import as_categories

# Many of one length, some that begin or end alike, and the missing value beside the empty text.
ALIKE = st.sampled_from([None, "", "é", "aa", "ab", "ba", "a long text, 1", "a long text, 2", "b long text, 1"])
ROWS = st.lists(st.tuples(ALIKE, ALIKE, ALIKE), min_size=1, max_size=20)


def numbered(rows: list[tuple[str | None, ...]]) -> list[int]:
    seen: dict[tuple[str | None, ...], int] = {}
    return [seen.setdefault(row, len(seen)) for row in rows]


@pytest.mark.parametrize("as_text", [0, 1, 2, 3])
@given(rows=ROWS)
@examples(50)
def test_rows_are_grouped_as_by_plain_comparison(as_text: int, rows: list[tuple[str | None, ...]]) -> None:
    columns = [pl.Series(str(index), values, dtype=pl.String) for index, values in enumerate(zip(*rows, strict=True))]
    with patch.object(module, "_PIECE", 4), patch("sfumato.parallel.SMALL", 1):
        class_of, count = group_rows([*columns[:as_text], *as_categories(columns[as_text:])])

    assert class_of.tolist() == numbered(rows)
    assert count == len(set(rows))


@given(rows=ROWS)
@examples(50)
def test_comparing_long_texts_comes_to_the_same_as_numbering_them(rows: list[tuple[str | None, ...]]) -> None:
    data = pl.DataFrame(rows, schema=dict.fromkeys("abc", pl.String), orient="row")
    verdicts = []
    for length in (0, 1 << 30):
        with patch("sfumato.published.checks.generalized.LONG_TEXT", length):
            verdicts.append(verify_table(data, "abc", {}, [sf.KAnonymity(1)]))

    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u00a0", "\u3000"])
def test_a_blank_long_text_is_a_missing_value(blank: str) -> None:
    data = pl.DataFrame({"a": [blank, None, "x" * 40, "x" * 40, "~" * 40, "~" * 40]})

    verification = verify_table(data, ["a"], {}, [sf.KAnonymity(2)])

    assert (verification.classes, verification.ok) == (3, True)


def test_no_rows() -> None:
    assert group_rows([pl.Series("a", [], dtype=pl.String)])[1] == 0
