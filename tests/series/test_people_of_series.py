"""Series by append of people with several records: counted by people, and who is who only in the ledger."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.models.protocol import Outcome
from sfumato.progress import silent
from sfumato.series.append_recount import attest_append, order_of_content
from sfumato.series.ledger import ledger_kept
from sfumato.series.people import tags_of
from sfumato.series.reading import ReadRelease
from sfumato.series.series import overview_of, settle_series

HEADER = ("name", "age", "city", "disease", "row")
Stay = tuple[str, int, str, str, str]
SCHEMA = sf.Schema(person="name", quasi_identifying=["age", "city"], sensitive=["disease"], insensitive=["row"])
MODELS = [sf.KAnonymity(3), sf.DistinctLDiversity(2)]


def stays(people: Sequence[int], seed: int) -> list[Stay]:
    """Invent one to three stays of each person, each with a number that is published, so that a test finds it."""
    drawn = random.Random(seed)
    found = []
    for number in people:
        age, city = 20 + 7 * number % 55, "ABC"[number % 3]
        for stay in range(drawn.choice((1, 1, 2, 3))):
            disease = drawn.choice(("flu", "cold", "gout", "none"))
            found.append((f"p{number}", age + drawn.choice((0, 0, 1)), city, disease, f"{seed}-{number}-{stay}"))
    drawn.shuffle(found)
    return found


def frame(records: Sequence[Stay]) -> pl.DataFrame:
    return pl.DataFrame(records, schema=list(HEADER), orient="row")


def append(series: sf.Series, records: Sequence[Stay], *, seed: int | None = None, leave_out_known: bool = False):
    return series.append(frame(records), seed=seed, progress=silent, leave_out_known=leave_out_known)


@pytest.fixture
def months() -> list[list[Stay]]:
    return [stays(range(40), 1), stays(range(40, 70), 2), stays(range(70, 110), 3)]


@pytest.fixture
def series(months: list[list[Stay]], tmp_path: Path) -> sf.Series:
    made = sf.Series.start(tmp_path / "s", SCHEMA, MODELS, table=frame(months[0]), seed=1, progress=silent)
    for number, month in enumerate(months[1:], 2):
        assert append(made, month, seed=number).number == number
    return made


def classes_of(path: Path, months: Mapping[str, int], owners: Mapping[str, str]) -> list[list[dict[str, str]]]:
    """Return the rows of each class of each batch, with the person of each, whom only the test knows."""
    found = defaultdict(list)
    for row in pl.read_csv(path / "data.csv", infer_schema=False).to_dicts():
        found[months[row["row"]], row["age"], row["city"]].append({**row, "name": owners[row["row"]]})
    return list(found.values())


def test_every_class_of_every_batch_keeps_its_promise_in_people(series: sf.Series, months: list[list[Stay]]) -> None:
    owners = {stay[4]: stay[0] for month in months for stay in month}
    came = {stay[4]: number for number, month in enumerate(months) for stay in month}
    values = {stay[4]: stay[3] for month in months for stay in month}
    for number, path in enumerate(series.releases):
        classes = classes_of(path, came, owners)
        assert sum(map(len, classes)) == sum(map(len, months[: number + 1]))
        for rows in classes:
            records = Counter(row["name"] for row in rows)
            assert len(records) >= 3
            assert max(records.values()) * 3 <= len(rows)
            assert len({row["disease"] for row in rows}) >= 2
            assert all(row["disease"] == values[row["row"]] for row in rows)
        # All stays of a person lie in one class.
        assert sum(len({row["name"] for row in rows}) for rows in classes) == len({o for s, o in owners.items()
                                                                                  if came[s] <= number})  # fmt: skip


def test_folders_say_that_people_are_attested_and_the_ledger_recounts_them(series: sf.Series) -> None:
    found = series.verify()
    assert found.ok
    outcomes = {check.promise: check.outcome for check in found.releases[2].beside}
    assert [outcome for promise, outcome in outcomes.items() if promise.startswith("k-anonymity")] == [
        Outcome.UNDECIDABLE
    ]
    assert "which rows of a class are of one person" in str(found)
    known = series.verify(ledger=True)
    assert known.ok
    assert known.ledger is not None
    held = [check for check in known.ledger if "counted in people" in check.promise]
    assert len(held) == 6
    assert {check.outcome for check in held} == {Outcome.HOLDS}
    assert all(sf.verify(path).ok for path in series.releases)


def test_a_release_of_a_series_has_no_audit_file(series: sf.Series, tmp_path: Path) -> None:
    file = tmp_path / "audit.json"
    file.write_text("{}")
    told = CliRunner().invoke(app, ["verify", str(series.releases[0]), "--audit", str(file)])
    assert told.exit_code == 2
    assert "release 1 of a series, and has no audit file" in told.output
    assert "sfumato verify SERIES --ledger LEDGER" in told.output
    ledger = CliRunner().invoke(app, ["verify", str(series.folder), "--ledger", str(series.ledger)])
    assert ledger.exit_code == 0


def test_reports_say_where_people_can_be_recounted_and_what_is_left_open(series: sf.Series) -> None:
    told = (series.releases[0] / "report.txt").read_text()
    assert "Promises     about people; only who holds the ledger can recount them" in told
    assert "People       " not in told
    assert "Somebody who also knows how many records a person has may conclude more" in told
    step = append(series, stays(range(500, 520), 4))
    assert "about people; recounted from the published table and the ledger" in str(step.report)
    series.withdraw(["p505"], most_lost=0.5)
    told = (series.releases[-1] / "report.txt").read_text()
    assert "only who holds the ledger can recount them" in told
    assert "may conclude more" in told


def test_the_ledger_knows_whose_each_row_is_only_inside_its_class(series: sf.Series, months: list[list[Stay]]) -> None:
    ledger = ledger_kept(series)
    for number, (came, month) in enumerate(zip(ledger.people(), months, strict=True)):
        assert came.pseudonyms is not None
        newer = ReadRelease.of(series.releases[number])
        mine = {stay[4]: stay[0] for stay in month}
        rows = newer.written.filter(pl.col("row").is_in(list(mine)))
        rows = rows[order_of_content(rows)].with_columns(pl.Series("number", came.pseudonyms))
        whose = defaultdict(set)
        for row in rows.to_dicts():
            whose[row["age"], row["city"], row["number"]].add(mine[row["row"]])
        assert all(len(names) == 1 for names in whose.values())
        assert len(whose) == len(set(mine.values())) == len(came.tags)
        # Tags say the class, and no more.
        tags = dict(zip(came.tags.to_list(), came.class_of.tolist(), strict=True))
        assert set(tags) == set(tags_of(pl.Series(list(mine.values())), ledger.key).to_list())


@pytest.mark.parametrize("wrong", ["exchanged", "shorter", "missing", "alike"])
def test_pseudonyms_that_do_not_fit_are_told(wrong: str, series: sf.Series) -> None:
    people = ledger_kept(series).people()
    numbers = people[-1].pseudonyms
    assert numbers is not None
    others = {"exchanged": numbers[::-1].copy(), "shorter": numbers[1:], "missing": None, "alike": numbers * 0 + 1}
    came = replace(people[-1], pseudonyms=others[wrong])
    earlier = [ReadRelease.of(path) for path in series.releases[:-1]]
    checks = attest_append(earlier, ReadRelease.of(series.releases[-1]), [*people[:-1], came])
    assert any(check.outcome is Outcome.BROKEN for check in checks)


def test_same_seed_same_release_whatever_the_order(months: list[list[Stay]], tmp_path: Path) -> None:
    tables = []
    for place, turn in (("a", 1), ("b", -1)):
        made = sf.Series.start(
            tmp_path / place, SCHEMA, MODELS, table=frame(months[0][::turn]), seed=1, progress=silent
        )
        append(made, months[1][::turn], seed=2)
        tables.append([pl.read_csv(path / "data.csv", infer_schema=False).drop("row") for path in made.releases])
    for one, other in zip(*tables, strict=True):
        assert one.sort(one.columns).equals(other.sort(one.columns))


def test_who_comes_again_is_refused_or_left_out(series: sf.Series, months: list[list[Stay]]) -> None:
    again = [*stays(range(35, 45), 4), *stays(range(110, 130), 5)]
    with pytest.raises(sf.InputError) as told:
        append(series, again)
    assert "10 people of 30 are in an earlier release" in str(told.value)
    assert "leave_out_known=True (on the command line --leave-out-known)" in str(told.value)
    step = append(series, again, leave_out_known=True)
    left_out = len(stays(range(35, 45), 4))
    assert step.notes[0] == f"{left_out} records of 10 people left out, who are in an earlier release"
    assert (step.published, step.newcomers) == (20, 20)
    rows = pl.read_csv(series.releases[-1] / "data.csv", infer_schema=False)
    assert not set(rows["row"]) & {stay[4] for stay in again[:left_out]}
    assert series.verify(ledger=True).ok
    with pytest.raises(sf.InputError, match="everybody in it is in an earlier release"):
        append(series, months[0], leave_out_known=True)


@pytest.mark.parametrize("way", ["append", "grow"])
def test_what_is_left_out_leaves_no_trace(way: str, tmp_path: Path) -> None:
    """The release is that of newcomers alone, though others have values that nobody else has."""
    schema = replace(SCHEMA, person=None, identifying=["name"], insensitive=[], others="drop")
    first, new = ([*{stay[0]: stay for stay in stays(range(start, start + 30), 1)}.values()] for start in (0, 100))
    known = [("p1", 91, "Z", "plague", "x"), ("p2", 18, "Y", "pest", "y")]
    found = []
    for place, table in (("a", new), ("b", [known[0], *new, known[1]])):
        series = sf.Series.start(tmp_path / place, schema, MODELS, table=frame(first), way=way, seed=1, progress=silent)
        publish = series.append if way == "append" else series.grow
        step = publish(frame(table), leave_out_known=True, seed=2, progress=silent)
        assert step.notes[:1] == (
            ("2 records of 2 people left out, who are in an earlier release, or wait already",) if place == "b" else ()
        )
        found.append((series.releases[1] / "data.csv").read_bytes())
    assert found[0] == found[1]


def test_who_waits_comes_with_all_records(series: sf.Series) -> None:
    first, later = stays([200, 201], 6), stays(range(201, 215), 7)
    step = append(series, first)
    assert (step.number, step.waiting) == (None, 2)
    assert step.reason == "A class needs at least 3 people, and there are 2 people to come."
    step = append(series, later)
    assert (step.number, step.published, step.newcomers, step.waiting) == (4, 15, 13, 0)
    rows = pl.read_csv(series.releases[-1] / "data.csv", infer_schema=False)
    mine = rows.filter(pl.col("row").is_in([stay[4] for stay in (*first, *later) if stay[0] == "p201"]))
    assert mine.height == sum(stay[0] == "p201" for stay in (*first, *later))
    assert mine.select("age", "city").n_unique() == 1
    assert series.verify(ledger=True).ok


def test_a_class_of_few_people_with_many_records_waits(tmp_path: Path) -> None:
    alone = [("a", 30, "A", "flu", str(number)) for number in range(9)]
    few = [*alone, ("b", 30, "A", "cold", "b"), ("c", 30, "A", "gout", "c")]
    series = sf.Series.start(tmp_path / "s", SCHEMA, MODELS, progress=silent)
    step = append(series, few)
    assert (step.number, step.waiting) == (None, 3)
    assert step.reason
    others = [(f"d{number}", 31, "A", "gout", f"d{number}") for number in range(16)]
    assert append(series, others).number == 1
    assert series.verify(ledger=True).ok


def test_a_person_withdraws_with_all_records(series: sf.Series, months: list[list[Stay]]) -> None:
    step = series.withdraw(["p50"], most_lost=0.5, seed=1)
    rows = pl.read_csv(series.releases[-1] / "data.csv", infer_schema=False)
    assert not set(rows["row"]) & {stay[4] for stay in months[1] if stay[0] == "p50"}
    gone = {stay[4]: stay[0] for month in months for stay in month if stay[4] not in set(rows["row"])}
    assert step.left == len(set(gone.values())) >= 3
    # Nobody is left with a part of their records.
    assert not {stay[0] for month in months for stay in month if stay[4] in set(rows["row"])} & set(gone.values())
    assert append(series, stays(range(300, 330), 8)).number == 5
    found = series.verify(ledger=True)
    assert found.ok, str(found)
    assert "people left (withdrawal)" in str(overview_of(series))


def test_losses_of_all_are_weighted_by_records(series: sf.Series, months: list[list[Stay]]) -> None:
    first, second, _ = overview_of(series).releases
    assert first.loss is not None
    assert second.loss is not None
    assert second.newcomers == 30
    records = [len(month) for month in months[:2]]
    mean = (first.loss * records[0] + second.loss * records[1]) / sum(records)
    assert second.loss_of_all == pytest.approx(mean)


def test_an_encrypted_ledger_keeps_who_is_who(series: sf.Series, tmp_path: Path) -> None:
    from sfumato.series.private_files import write_new_key

    write_new_key(tmp_path / "key")
    encrypted = series.encrypt(tmp_path / "key")
    assert encrypted.verify(ledger=True).ok
    assert append(encrypted, stays(range(400, 420), 9)).number == 4


def test_files_of_rows_are_kept_like_all_others(series: sf.Series) -> None:
    stray = series.ledger / "rows-0badbad0"
    stray.write_bytes(b"of a run that was killed")
    assert series.verify(ledger=True).ok
    assert stray.exists()
    settle_series(series)
    assert not stray.exists()
    files = sorted(path.name for path in series.ledger.iterdir() if path.name.startswith("rows-"))
    assert len(files) == 3
    content = (series.ledger / files[0]).read_bytes()
    for wrong in (content[:-1], None):
        (series.ledger / files[0]).unlink()
        if wrong is not None:
            (series.ledger / files[0]).write_bytes(wrong)
        with pytest.raises(sf.VerificationError, match="was changed or is damaged" if wrong else "is missing"):
            series.verify(ledger=True)


def attacked(releases: Sequence[Path], months: list[list[Stay]], tmp_path: Path) -> sf.series.attacked.SeriesAttacks:
    from sfumato.series.attacks import attack_releases

    tables = []
    for number, month in enumerate(months):
        tables.append(tmp_path / f"{number}.csv")
        frame(month).write_csv(tables[-1])
    return attack_releases(releases, tables)


def test_attackers_who_know_all_records_find_no_more(
    series: sf.Series, months: list[list[Stay]], tmp_path: Path
) -> None:
    found = attacked(series.releases, months, tmp_path)
    assert found.ok
    assert found.promised == 3
    assert found.played[0].cases == 70
    assert all(each.least_rows is None or each.least_rows >= 3 for each in found.played)
    # Later records of people who are there already are not in the series.
    again = [months[0], [*months[1], *stays(range(5), 9)], months[2]]
    assert attacked(series.releases, again, tmp_path).played[0] == found.played[0]


def test_the_control_falls(months: list[list[Stay]], tmp_path: Path) -> None:
    """Releases of everybody so far, each made anew."""
    releases, so_far = [], list[Stay]()
    for number, month in enumerate(months):
        so_far += month
        table = sf.read_table(frame(so_far), SCHEMA)
        release = sf.anonymize(table, MODELS, seed=number, progress=silent)
        releases.append(release.save(tmp_path / f"r{number}"))
    found = attacked(releases, months, tmp_path)
    assert not found.ok
    assert min(found.alone) >= 3


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"people": sf.People(rows="apart")}, "people: a series holds all records of a person in one class"),
        ({"people": sf.People(pseudonyms="published")}, "people: pseudonyms of two batches"),
        ({"anonymizer": sf.Mondrian(blind=True)}, "person: blind cuts count records"),
        ({"anonymizer": sf.Mondrian(extent="region")}, "person: mondrian decides itself what classes publish"),
    ],
)
def test_what_is_refused_at_the_start(changed: dict[str, object], reason: str, tmp_path: Path) -> None:
    said = {"anonymizer": sf.Mondrian(), "people": sf.People(), **changed}
    policy = sf.Policy.of(SCHEMA, MODELS, said["anonymizer"], sf.Recoding(), 0.0, people=said["people"])
    with pytest.raises(sf.PolicyError) as told:
        sf.Series.start(tmp_path / "s", policy)
    assert reason in str(told.value)
    assert not (tmp_path / "s").exists()


def test_the_key_is_the_person(tmp_path: Path) -> None:
    two = replace(SCHEMA, identifying=["row"], insensitive=[])
    with pytest.raises(sf.PolicyError, match="key: the policy says that column 'name' says who a record is about"):
        sf.Series.start(tmp_path / "s", two, MODELS, key="row")


def test_records_without_a_key_are_refused(series: sf.Series) -> None:
    with pytest.raises(sf.InputError, match="1 record of 1 without a key"):
        append(series, [(None, 30, "A", "flu", "x")])  # type: ignore[list-item]


def test_a_series_of_single_records_takes_the_policy_with_a_person(months: list[list[Stay]], tmp_path: Path) -> None:
    """Series were started with a person column before people were counted: they go on."""
    alone = replace(SCHEMA, person=None, identifying=["name"])
    first = list({stay[0]: stay for stay in months[0]}.values())
    series = sf.Series.start(tmp_path / "s", alone, MODELS, table=frame(first), progress=silent)
    policy = sf.Policy.of(SCHEMA, MODELS, sf.Auto(), sf.Recoding(), 0.0)
    second = list({stay[0]: stay for stay in months[1]}.values())
    assert series.append(frame(second), policy=policy, progress=silent).number == 2
    with pytest.raises(sf.InputError) as told:
        append(series, months[2])
    assert "name this column as person" in str(told.value) or "names this column as person" in str(told.value)
    assert all(check.outcome is Outcome.HOLDS for check in series.verify().releases[1].beside)
    # One that counts people tells the other policy.
    other = sf.Series.start(tmp_path / "t", SCHEMA, MODELS, table=frame(months[0]), progress=silent)
    plain = sf.Policy.of(alone, MODELS, sf.Auto(), sf.Recoding(), 0.0)
    with pytest.raises(sf.PolicyError, match="policy, person columns: not what the series was started with"):
        other.append(frame(months[1]), policy=plain, progress=silent)
