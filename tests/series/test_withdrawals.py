"""People who withdraw: their classes are gone as a whole, and nothing else is told; recounted from the files alone."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from examples import examples
from series.tables import HEADER, SCHEMA, Person, chain_is_whole, new_rows, people, rows_of, write_csv
from series.test_bad_input import listing
from series.test_chain import bind, broken
from series.test_worlds import worlds
from sfumato.cli.app import app
from sfumato.series.append_recount import attest_withdrawal
from sfumato.series.ledger import ledger_kept
from sfumato.series.people import PeopleOfRelease
from sfumato.series.reading import ReadRelease

Row = tuple[str, ...]


def frame(some: list[Person]) -> pl.DataFrame:
    return pl.DataFrame(some, schema=list(HEADER), orient="row")


def labels(rows: Counter[Row]) -> set[tuple[str, str]]:
    """Return the labels of rows: ages and cities."""
    return {(row[0], row[1]) for row in rows}


@pytest.fixture
def series(tmp_path: Path) -> sf.Series:
    made = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=frame(people(40)))
    made.append(frame(people(20, first=100, seed=1)))
    made.append(frame(people(2, first=200, seed=2)))
    return made


def test_the_class_goes_as_a_whole(series: sf.Series) -> None:
    before = rows_of(series.releases[-1])
    step = series.withdraw(["p7"], most_lost=0.5)
    after = rows_of(series.releases[-1])
    assert step.number == 3
    assert not after - before
    gone = before - after
    assert sum(gone.values()) == step.left >= 3
    assert len(labels(gone)) == 1
    assert not labels(gone) & labels(after)
    assert step.notes[0].startswith("1 person withdrew; everybody of the same 1 class left with them, ")
    found = series.verify(ledger=True)
    assert found.ok, str(found)
    assert "holds: classes are gone as a whole, with every row that publishes the same" in str(found)
    assert "holds: whoever is in a class that is gone has left, and nobody else" in str(found)
    assert "everybody who withdrew is in one of the classes that are gone" in series.verify().attested
    assert chain_is_whole(series.folder)
    assert sf.verify(series.releases[-1]).ok


def test_the_series_goes_on(series: sf.Series) -> None:
    series.withdraw(["p7", "p105"], most_lost=0.5)
    step = series.append(frame(people(9, first=300, seed=3)))
    assert (step.number, step.published) == (4, 11)
    assert sum(new_rows(series.folder, 4).values()) == 11
    assert series.withdraw(pl.DataFrame({"name": ["p301"]}), most_lost=0.9).number == 5
    assert series.verify(ledger=True).ok
    for name in ("p7", "p105", "p301"):
        with pytest.raises(sf.InputError, match="1 person of 3 is in an earlier release"):
            series.append(frame([(name, 20, "A", "flu"), *people(2, first=900)]))


def test_who_left_with_others_cannot_come_back(series: sf.Series) -> None:
    """Whoever was in the class is known: coming back alone would show that it was not for the own sake."""
    tags = series.withdraw(["p7"], most_lost=0.5).left
    refused = 0
    for number in range(40):
        try:
            series.withdraw([f"p{number}"], most_lost=0)
        except sf.InputError as error:
            assert "1 person of 1 is not there any more" in str(error)  # noqa: PT017
            refused += 1
        except sf.UnsatisfiableError:
            pass
    assert refused == tags


def test_equal_labels_of_several_batches_go_together(tmp_path: Path) -> None:
    schema = sf.Schema(identifying=["name"], quasi_identifying=["city"], sensitive=["disease"], others="drop")
    made = sf.Series.start(tmp_path / "s", schema, sf.KAnonymity(2), table=frame(people(30)))
    made.append(frame(people(30, first=100, seed=1)))
    before = rows_of(made.releases[-1])
    step = made.withdraw(["p105"], most_lost=1)
    gone = before - rows_of(made.releases[-1])
    (city,) = {row[0] for row in gone}
    assert step.left == sum(count for row, count in before.items() if row[0] == city)
    assert made.verify(ledger=True).ok


def test_who_waits_is_forgotten(series: sf.Series) -> None:
    before = sorted(os.listdir(series.folder))
    step = series.withdraw(["p200"])
    assert (step.number, step.waiting, step.left) == (None, 1, 0)
    assert step.notes == ("1 person of those who waited will not come",)
    assert sorted(os.listdir(series.folder)) == before
    assert series.withdraw(["p201"]).waiting == 0
    assert not list(series.ledger.glob("waiting-*"))
    assert series.verify(ledger=True).ok
    # Nothing was ever published of them.
    assert series.append(frame(people(3, first=200, seed=2))).number == 3


def test_both_at_once(series: sf.Series) -> None:
    step = series.withdraw(["p200", "p7"], most_lost=0.5)
    assert (step.number, step.waiting) == (3, 1)
    assert series.verify(ledger=True).ok


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (["nobody"], "1 person of 1 is not in any release; check the keys"),
        (["p7", "x", "y"], "2 people of 3 are not in any release"),
        ([], "0 records without a key; name everybody who withdraws"),
        (pl.DataFrame({"name": ["p7", None]}), "1 record without a key"),
        (pl.DataFrame({"nome": ["p7"]}), "has no column 'name', which says who withdraws"),
        (["p7"], "rows would go"),
        ([f"p{number}" for number in (*range(40), *range(100, 120))], "nobody would be left"),
    ],
)
def test_what_is_refused_changes_nothing(keys: object, words: str, series: sf.Series) -> None:
    before = listing(series)
    with pytest.raises(sf.SfumatoError) as caught:
        series.withdraw(keys, most_lost=0.01 if words == "rows would go" else 1)
    assert words in " ".join(caught.value.problems)
    assert "p7" not in str(caught.value)
    assert listing(series) == before


def test_somebody_who_left_before(series: sf.Series) -> None:
    series.withdraw(["p7"], most_lost=0.5)
    with pytest.raises(sf.InputError, match="1 person of 1 is not there any more"):
        series.withdraw(["p7"], most_lost=0.5)


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_what_is_no_share(share: float, series: sf.Series) -> None:
    with pytest.raises(sf.PolicyError, match="most lost: must be a share"):
        series.withdraw(["p7"], most_lost=share)


def test_ways_that_cannot(tmp_path: Path) -> None:
    grown = sf.Series.start(tmp_path / "g", SCHEMA, sf.KAnonymity(3), table=frame(people(12)), way="grow")
    with pytest.raises(sf.PolicyError, match="is a series of the way 'grow'; the recount of BCF-anonymity takes"):
        grown.withdraw(["p1"])
    with pytest.raises(sf.PolicyError, match="way: there is no such way; there are append, grow, m-invariance"):
        sf.Series.start(tmp_path / "w", SCHEMA, sf.KAnonymity(3), table=frame(people(12)), way="withdrawal")


def tampered(series: sf.Series, keep: int) -> str:
    """Put the first rows of the class that is gone back into the last release, as whoever made it could."""
    older, newer = ((path / "data.csv").read_text().splitlines(keepends=True) for path in series.releases[-2:])
    gone = sorted((Counter(older) - Counter(newer)).elements())
    (series.releases[-1] / "data.csv").write_text("".join([*newer, *gone[:keep]]))
    bind(series.releases[-1])
    return broken(series)


def test_a_class_without_one_row_is_found(series: sf.Series) -> None:
    step = series.withdraw(["p7"], most_lost=0.5)
    found = tampered(series, step.left - 1)
    assert "every row that publishes the same: broken; 1 class is there in part" in found


def test_a_withdrawal_of_nobody_and_other_rows_are_found(series: sf.Series) -> None:
    step = series.withdraw(["p7"], most_lost=0.5)
    assert "some class is gone: broken; the release is the one before" in tampered(series, step.left)
    data = series.releases[-1] / "data.csv"
    data.write_text(data.read_text() + "20,A,flu\n" * 3)
    bind(series.releases[-1])
    assert "every row is one of release 2: broken; 3 rows cannot be found there" in broken(series)


def test_a_withdrawal_that_stands_first_or_elsewhere_is_found(series: sf.Series, tmp_path: Path) -> None:
    series.withdraw(["p7"], most_lost=0.5)
    for path in series.releases[:2]:
        path.rename(tmp_path / path.name)
    assert "broken" in str(series.verify())
    grown = sf.Series.start(tmp_path / "g", SCHEMA, sf.KAnonymity(3), table=frame(people(12)), way="grow")
    mark = grown.releases[0] / "release.json"
    content = json.loads(mark.read_text())
    content["series"]["way"] = "withdrawal"
    mark.write_text(json.dumps(content))
    assert "was made by another way than series.json says" in str(grown.verify())


def test_the_ledger_knows_who_left(series: sf.Series) -> None:
    """A ledger that lost somebody of the class is told."""
    series.withdraw(["p7"], most_lost=0.5)
    known, releases = ledger_kept(series).people(), [ReadRelease.of(path) for path in series.releases]
    (check,) = attest_withdrawal(releases[:-1], releases[-1], known)
    assert str(check.outcome) == "holds"
    less = PeopleOfRelease(known[-1].tags[1:], known[-1].class_of[1:])
    (check,) = attest_withdrawal(releases[:-1], releases[-1], [*known[:-1], less])
    assert str(check.outcome) == "broken"


def test_a_full_disk_changes_nothing(series: sf.Series, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync
    for calls in (0, 1, 2):
        left = [calls]

        def full(descriptor: int, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(28, "full")
            real(descriptor)

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(sf.InputError, match="No space left on device"):
                series.withdraw(["p7"], most_lost=0.5)
        assert series.verify(ledger=True).ok
        assert len(series.releases) == 2
    assert series.withdraw(["p7"], most_lost=0.5).number == 3
    assert series.verify(ledger=True).ok


@examples(25)
@given(data=st.data())
def test_in_all_worlds_everybody_has_k_rows_and_l_values_left(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The attacker knows everybody, when they came, who withdrew, and who left with them: worlds that fit all of it."""
    folder: Path = tmp_path_factory.mktemp("worlds")
    k, l = data.draw(st.integers(2, 3)), data.draw(st.integers(1, 2))  # noqa: E741
    models = [sf.KAnonymity(k), sf.DistinctLDiversity(l)] if l > 1 else [sf.KAnonymity(k)]
    first = people(data.draw(st.integers(4, 7)), seed=data.draw(st.integers(0, 10**6)))
    second = people(data.draw(st.integers(3, 6)), first=100, seed=data.draw(st.integers(0, 10**6)))
    try:
        series = sf.Series.start(folder / "s", SCHEMA, models, table=frame(first))
    except sf.UnsatisfiableError:
        return
    batches = [first]
    if series.append(frame(second)).number is not None:
        batches.append(second)
    inside = [person[0] for batch in batches for person in batch]
    withdrew = data.draw(st.lists(st.sampled_from(inside), min_size=1, max_size=2, unique=True))
    batch_rows = [list(new_rows(series.folder, number).elements()) for number in range(1, len(batches) + 1)]
    try:
        series.withdraw(withdrew, most_lost=1)
    except sf.UnsatisfiableError:
        return
    gone = labels(rows_of(series.releases[-2]) - rows_of(series.releases[-1]))
    for batch, rows in zip(batches, batch_rows, strict=True):
        found = [
            world
            for world in worlds(batch, rows)
            if all(rows[place][:2] in gone for place, person in zip(world, batch, strict=True) if person[0] in withdrew)
        ]
        assert found
        for place in range(len(batch)):
            left = {world[place] for world in found}
            assert len(left) >= k
            assert len({rows[row][2] for row in left}) >= l


def test_a_class_without_one_row_would_tell_all() -> None:
    """Why classes go as a whole: the row that is missing is that of who withdrew."""
    before, after = Counter(flu=2, fever=1), Counter(flu=2)
    assert list((before - after).elements()) == ["fever"]


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "a.csv", people(40))
    (tmp_path / "gone.csv").write_text("name\np7\n")

    def run(*words: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, [*(["series"] if words[0] != "verify" else []), *words], prog_name="sfumato")
        assert result.exit_code == code, result.output
        return " ".join(result.output.split())

    run("start", "s", "a.csv", "--identifying", "name", "--quasi", "age,city", "--sensitive", "disease", "-k", "3")
    assert "more than the 1% that are allowed" in run("withdraw", "s", "gone.csv", "--most-lost", "0.01", code=1)
    said = run("withdraw", "s", "gone.csv", "--most-lost", "0.5")
    assert "left 1 person withdrew; everybody of the same 1 class left with them" in said
    assert "left (withdrawal)" in run("show", "s")
    assert json.loads(run("show", "s", "--json"))["releases"][1]["way"] == "withdrawal"
    run("verify", "s", "--ledger", "s.ledger")
