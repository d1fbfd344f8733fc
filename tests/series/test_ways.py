"""A way to publish is one entry of the registry: a toy that looks at all releases, keeps something, lets some wait."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from series.tables import SCHEMA, people, write_csv
from sfumato.models.protocol import Check, Outcome
from sfumato.series.append_making import append
from sfumato.series.append_recount import recount_append
from sfumato.series.batch import Batch
from sfumato.series.description import WAYS, Way
from sfumato.series.next_release import Made, Running, Work
from sfumato.series.people import PeopleOfRelease
from sfumato.series.reading import ReadRelease
from sfumato.series.step import Step, next_step

SEEN: list[bytes | None] = []


def make(work: Work, batch: Batch, earlier: Sequence[ReadRelease]) -> Made:
    """Append but for the last two people, who wait, and count the releases for the next maker."""
    SEEN.append(work.kept)
    few = batch.table.height - 2
    some = Batch(
        batch.table.take(slice(0, few)),
        batch.encoded.take(np.arange(few)),
        batch.tags[:few],
        batch.policy,
        batch.frozen,
        few,
    )
    made = append(work, some, earlier[-1:])
    class_of = np.concatenate([made.class_of, [-1, -1]])
    return replace(made, class_of=class_of, kept=str(len(earlier) + 1).encode())


def recount(earlier: Sequence[ReadRelease], newer: ReadRelease) -> tuple[Check, ...]:
    counted = Check(f"{len(earlier)} releases stand before it", Outcome.HOLDS)
    return (counted, *recount_append(earlier[-1:], newer))


def attest(earlier: Sequence[ReadRelease], newer: ReadRelease, people: Sequence[PeopleOfRelease]) -> tuple[Check, ...]:
    return (Check(f"{len(people)} releases of people, {len(earlier)} before", Outcome.HOLDS),)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    SEEN.clear()
    here = __name__
    way = Way(f"{here}:make", f"{here}:recount", f"{here}:attest", ("toys are harmless",), history=True)
    monkeypatch.setitem(WAYS, "toy", way)


def add(series: sf.Series, table: Path) -> Step:
    return next_step(series, table, "toy", Running())


@pytest.mark.usefixtures("toy")
def test_another_way_is_one_entry(tmp_path: Path) -> None:
    series = sf.Series.start(
        tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=write_csv(tmp_path / "0.csv", people(20)), way="toy"
    )
    for month in (1, 2):
        step = add(series, write_csv(tmp_path / f"{month}.csv", people(20, first=100 * month, seed=month)))
        assert (step.number, step.newcomers, step.waiting) == (month + 1, 20, 2)
        assert step.published == 20
    assert SEEN == [None, b"1", b"2"]
    place = json.loads((series.releases[2] / "release.json").read_text())["series"]
    assert (place["way"], place["number"]) == ("toy", 3)
    found = series.verify(ledger=True)
    assert found.ok
    assert "toys are harmless" in found.attested
    assert found.releases[2].beside[0].promise == "2 releases stand before it"
    assert "3 releases of people, 2 before" in [check.promise for check in found.ledger or ()]
    # What the last maker left, three files of people, who waits, the ledger and its lock: nothing else.
    assert len(list(series.ledger.iterdir())) == 8


@pytest.mark.usefixtures("toy")
def test_a_history_with_a_gap_decides_nothing(tmp_path: Path) -> None:
    series = sf.Series.start(
        tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=write_csv(tmp_path / "0.csv", people(20)), way="toy"
    )
    for month in (1, 2):
        add(series, write_csv(tmp_path / f"{month}.csv", people(20, first=100 * month, seed=month)))
    (series.releases[0] / "release.json").write_text("{")
    (check,) = series.verify().releases[2].beside
    assert check.outcome is Outcome.UNDECIDABLE
    assert check.detail == "a release before it cannot be read"


@pytest.mark.usefixtures("toy")
def test_a_series_keeps_its_way(tmp_path: Path) -> None:
    first = write_csv(tmp_path / "0.csv", people(20))
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=first)
    more = write_csv(tmp_path / "1.csv", people(20, first=100))
    for way in ("toy", "grow"):
        with pytest.raises(sf.PolicyError, match="is a series of the way 'append'; use sfumato series append"):
            next_step(series, more, way, Running())
    with pytest.raises(sf.PolicyError, match="way: there is no such way; there are append, grow, m-invariance, toy"):
        sf.Series.start(tmp_path / "t", SCHEMA, sf.KAnonymity(3), table=first, way="other")
    assert len(series.releases) == 1
    assert not (tmp_path / "t").exists()
