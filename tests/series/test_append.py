"""Append, by hand and over random series: old rows stay, and newcomers are by themselves."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from series.tables import HEADER, SCHEMA, chain_is_whole, classes, covers, new_rows, people, rows_of, write_csv

TIGHT = sf.Recoding(ends="tight")
FIRST = [("a", 30, "A", "flu"), ("b", 31, "A", "cold"), ("c", 50, "B", "flu"), ("d", 52, "B", "gout")]
SECOND = [("e", 31, "A", "flu"), ("f", 33, "A", "gout")]


def frame(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(HEADER), orient="row")


def policy(*models: object, recoding: sf.Recoding = TIGHT, format: str = "csv") -> sf.Policy:
    made = sf.Policy.of(SCHEMA, list(models), sf.Mondrian(), recoding, 0.0)
    return made.model_copy(update={"output": made.output.model_copy(update={"format": format})})


def test_two_batches_by_hand(tmp_path: Path) -> None:
    series = sf.Series.start(tmp_path / "s", policy(sf.KAnonymity(2)), table=frame(FIRST))
    before = Counter(
        {
            ("[30..31]", "A", "flu"): 1,
            ("[30..31]", "A", "cold"): 1,
            ("[50..52]", "B", "flu"): 1,
            ("[50..52]", "B", "gout"): 1,
        }
    )
    assert rows_of(series.releases[0]) == before
    step = series.append(frame(SECOND))
    assert (step.number, step.published, step.waiting) == (2, 2, 0)
    came = Counter({("[31..33]", "A", "flu"): 1, ("[31..33]", "A", "gout"): 1})
    assert rows_of(series.releases[1]) == before + came
    assert series.verify(ledger=True).ok


def test_whoever_could_join_an_old_class_gets_one_of_newcomers(tmp_path: Path) -> None:
    """Two newcomers whose values an old class covers: their label is their own, even if it is the same text."""
    series = sf.Series.start(tmp_path / "s", policy(sf.KAnonymity(2)), table=frame(FIRST))
    series.append(frame([("e", 30, "A", "flu"), ("f", 31, "A", "flu")]))
    assert rows_of(series.releases[1])[("[30..31]", "A", "flu")] == 3
    assert new_rows(series.folder, 2) == Counter({("[30..31]", "A", "flu"): 2})
    assert series.verify(ledger=True).ok


def test_a_batch_is_named_once_in_what_is_wrong_with_it(tmp_path: Path) -> None:
    towns = sf.groups({"known": ["A", "B"]})
    schema = sf.Schema(quasi_identifying={"age": None, "town": towns}, person="id")
    older, newer = (
        pl.DataFrame(rows, schema=["id", "age", "town"], orient="row")
        for rows in ([("a", 30, "A"), ("b", 31, "B")], [("c", 30, "A"), ("d", 31, "far")])
    )
    series = sf.Series.start(
        tmp_path / "s", sf.Policy.of(schema, [sf.KAnonymity(2)], sf.Mondrian(), TIGHT, 0.0), table=older
    )
    with pytest.raises(sf.SfumatoError) as error:
        series.append(newer)
    assert error.value.problems[0] == "table: hierarchy of 'town': 1 of 2 distinct value(s) are not in it; add them"


def test_fewer_than_k_wait_and_come_with_the_next(tmp_path: Path) -> None:
    series = sf.Series.start(tmp_path / "s", policy(sf.KAnonymity(2)), table=frame(FIRST))
    step = series.append(frame(SECOND[:1]))
    assert (step.number, step.published, step.waiting) == (None, 0, 1)
    assert "at least 2 people" in str(step)
    assert len(series.releases) == 1
    step = series.append(frame(SECOND[1:]))
    assert (step.number, step.newcomers, step.published, step.waiting) == (2, 1, 2, 0)
    assert new_rows(series.folder, 2) == Counter({("[31..33]", "A", "flu"): 1, ("[31..33]", "A", "gout"): 1})
    assert series.verify(ledger=True).ok


def test_who_is_too_much_alike_waits(tmp_path: Path) -> None:
    models = sf.KAnonymity(2), sf.DistinctLDiversity(2)
    series = sf.Series.start(tmp_path / "s", policy(*models), table=frame(FIRST))
    step = series.append(frame([("e", 31, "A", "flu"), ("f", 33, "A", "flu"), ("g", 33, "A", "flu")]))
    assert (step.number, step.waiting) == (None, 3)
    assert "distinct-l-diversity" in str(step.reason)
    step = series.append(frame([("h", 60, "C", "none")]))
    assert (step.number, step.published, step.waiting) == (2, 4, 0)
    (one,) = classes(new_rows(series.folder, 2), HEADER[1:], ("age", "city"))
    assert one == Counter({("flu",): 3, ("none",): 1})


def test_a_series_may_be_started_without_people(tmp_path: Path) -> None:
    series = sf.Series.start(tmp_path / "s", policy(sf.KAnonymity(2)))
    assert series.releases == ()
    assert not series.verify().ok
    assert series.append(frame(FIRST[:1])).waiting == 1
    assert series.append(frame(FIRST[1:])).number == 1
    assert series.verify(ledger=True).ok


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_cells_that_are_hard_to_write_stay_as_they_are(
    format: str, large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large tables are mixed and written label by label."""
    if large:
        monkeypatch.setattr("sfumato.table.writing.MANY", 1)
    schema = sf.Schema(identifying=["name"], quasi_identifying=["age"], sensitive=["pay"], insensitive=["note", "day"])
    made = sf.Policy.of(schema, [sf.KAnonymity(2)], sf.Mondrian(), TIGHT, 0.0)
    made = made.model_copy(update={"output": made.output.model_copy(update={"format": format})})
    notes = ["", None, 'he said "no",\nand left', " blank ", "=1+1", "ü"]

    def table(first: int) -> pl.DataFrame:
        days = pl.Series([None, 1, 2, 3, 4, 5], dtype=pl.Int32)
        count = len(notes)
        return pl.DataFrame(
            {
                "name": range(first, first + count),
                "age": [30, 30, 30, None, None, 41],
                "pay": [1.5, 2.0, None, 1e20, 0.1, -3.0],
                "note": notes,
                "day": days,
            }
        )

    series = sf.Series.start(tmp_path / "s", made, table=table(0))
    series.append(table(10))
    step = series.append(table(20))
    assert len(step.notes) == (format == "csv")
    assert not step.notes or "column note: 1 cell beginning with =" in step.notes[0]
    assert series.verify(ledger=True).ok
    if format == "csv":
        once = rows_of(series.releases[0])
        assert rows_of(series.releases[2]) == once + once + once
    else:
        tables = [pl.read_parquet(path / "data.parquet") for path in series.releases]
        assert tables[2].sort(pl.all()).equals(pl.concat([tables[0]] * 3, how="vertical_relaxed").sort(pl.all()))


def test_the_same_seed_makes_the_same_tables_in_whatever_order_people_come(tmp_path: Path) -> None:
    found = []
    for run in range(2):
        series = sf.Series.start(tmp_path / f"s{run}", policy(sf.KAnonymity(3)), table=frame(people(40)), seed=5)
        batch = people(30, first=100, seed=1)
        random.Random(run).shuffle(batch)
        series.append(frame(batch), seed=6)
        found.append((series.releases[1] / "data.csv").read_bytes())
    assert found[0] == found[1]


def test_the_order_of_rows_says_nothing_of_when_they_came(tmp_path: Path) -> None:
    series = sf.Series.start(tmp_path / "s", policy(sf.KAnonymity(2)), table=frame(people(100)))
    series.append(frame(people(100, first=100, seed=1)))
    older = rows_of(series.releases[0])
    lines = (series.releases[1] / "data.csv").read_text().splitlines()[1:]
    known = [line in {",".join((age, city, disease)) for age, city, disease in older} for line in lines]
    # Rows that were there before are spread over the whole table.
    assert 20 < sum(known[:100]) < 90


@examples(20)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 4))
def test_who_knows_somebody_and_when_he_came_finds_k_rows(
    seed: int, k: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The attacker takes the older releases out of the newer ones, and looks for the rows that fit a person."""
    folder = tmp_path_factory.mktemp("series")
    series, months = sf.Series.start(folder / "s", policy(sf.KAnonymity(k))), []
    for month in range(3):
        batch = people(12, first=100 * month, seed=seed + month)
        assert series.append(frame(batch)).number == month + 1
        months.append(batch)
    for came, batch in enumerate(months):
        rows = rows_of(series.releases[came]) - (rows_of(series.releases[came - 1]) if came else Counter())
        for name, age, city, _ in batch:
            fitting = sum(n for (one, other, _), n in rows.items() if covers(one, age) and covers(other, city))
            assert fitting >= k, name
    # Releases further apart tell no more: what came in between is hidden among more.
    assert rows_of(series.releases[2]) - rows_of(series.releases[0]) == new_rows(series.folder, 2) + new_rows(
        series.folder, 3
    )


@examples(40)
@given(data=st.data())
def test_whatever_comes_every_batch_keeps_every_promise(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Recounted from the CSV files alone: old rows stay; among the new ones every class has k people and l values."""
    folder = tmp_path_factory.mktemp("series")
    k, l = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 3))  # noqa: E741
    models = [sf.KAnonymity(k), *([sf.DistinctLDiversity(l)] if l > 1 else [])]
    recoding = sf.Recoding(ends=data.draw(st.sampled_from(["rounded", "tight"])))
    series = sf.Series.start(folder / "s", policy(*models, recoding=recoding))
    came = published = 0
    for month in range(data.draw(st.integers(1, 5))):
        count = data.draw(st.integers(1, 25))
        batch = people(count, first=1000 * month, seed=data.draw(st.integers(0, 10**6)))
        step = series.append(write_csv(folder / f"{month}.csv", batch))
        came, published = came + count, published + step.published
        assert came == published + step.waiting
    releases = series.releases
    assert sum(rows_of(releases[-1]).values() if releases else ()) == published
    for number in range(1, len(releases) + 1):
        fresh = new_rows(series.folder, number)
        for one in classes(fresh, HEADER[1:], ("age", "city")):
            assert sum(one.values()) >= k
            assert len(one) >= l
    if releases:
        assert chain_is_whole(series.folder)
        assert series.verify(ledger=True).ok
        assert all(sf.verify(path).ok for path in releases)
