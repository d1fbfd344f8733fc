"""Texts as categories: in pieces, on threads, and which texts a column of categories has."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.table import distinct
from sfumato.table.distinct import as_categories, dense_ranks, private_categorical, text_order, texts_of

TEXTS = st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "", " ", "long " * 5]), st.text(max_size=3)))


@given(TEXTS, TEXTS)
@examples(60)
def test_pieces_on_threads_hold_the_same_texts(first: list[str | None], second: list[str | None]) -> None:
    columns = [pl.Series("first", first, dtype=pl.String), pl.Series("second", second, dtype=pl.String)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct, "_PIECE", 3)
        patch.setattr("sfumato.parallel.SMALL", 1)
        categories = as_categories(columns)

    assert [column.name for column in categories] == ["first", "second"]
    assert [column.cast(pl.String).to_list() for column in categories] == [first, second]
    for column, texts in zip(categories, (first, second), strict=True):
        assert isinstance(column.dtype, pl.Categorical)
        assert set(texts_of(column)) - {None} == set(texts) - {None}


def test_no_column_has_no_categories() -> None:
    assert as_categories([]) == []


def test_texts_of_a_part_are_at_least_its_own() -> None:
    column = pl.Series(["a", "b", "c", "a", "c"]).cast(private_categorical())

    assert {"a", "c"} <= set(texts_of(column.filter(column.cast(pl.String) != "b")))
    assert set(texts_of(column.slice(2, 1))) == {"c"}


def test_numbers_that_were_never_given_out_are_no_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    column = pl.Series(["a", "b", "a", "b"]).cast(private_categorical())
    monkeypatch.setattr(distinct, "_bounds", lambda numbers: (0, 3))

    assert set(texts_of(column)) == {"a", "b"}


@given(st.lists(st.text(max_size=4), unique=True))
@examples(60)
def test_few_and_many_texts_are_ordered_alike(texts: list[str]) -> None:
    series = pl.Series(texts, dtype=pl.String)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.table.distinct.FEW", -1)
        many = text_order(series).tolist()

    assert text_order(series).tolist() == many
    assert [texts[place] for place in many] == sorted(texts)


@given(TEXTS)
@examples(60)
def test_few_and_many_texts_are_numbered_alike(texts: list[str | None]) -> None:
    series = pl.Series(texts, dtype=pl.String)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.table.distinct.FEW", -1)
        many = dense_ranks(series).tolist()

    rising = sorted({text for text in texts if text is not None})
    assert dense_ranks(series).tolist() == many
    assert many == [0 if text is None else 1 + rising.index(text) for text in texts]
