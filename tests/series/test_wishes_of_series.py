"""Series by append in which people wish for a k or an l of their own: each class of a batch promises a step."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.models.protocol import Outcome
from sfumato.progress import silent
from sfumato.series.append_recount import new_rows, newcomer_checks
from sfumato.series.reading import ReadRelease

HEADER = ("name", "age", "city", "disease", "own")
Wisher = tuple[str, int, str, str, int | None]
SCHEMA = sf.Schema(
    identifying=["name"], quasi_identifying=["age", "city"], sensitive=["disease"], wished_k="own", others="drop"
)
STEPS = (1, 2, 3, 5, 10, 20, 50, 100)


def step_of(wish: int) -> int:
    return next(step for step in STEPS if step >= wish)


def wishers(
    count: int, *, first: int = 0, seed: int = 0, wishes: Sequence[int | None] = (None, None, 4, 7)
) -> list[Wisher]:
    drawn = random.Random(seed)
    return [
        (f"p{number}", drawn.randint(20, 79), drawn.choice("ABC"), drawn.choice(("flu", "cold", "gout")), own)
        for number in range(first, first + count)
        for own in [drawn.choice(wishes) if drawn.random() < 0.3 else None]
    ]


def frame(people: Sequence[Wisher]) -> pl.DataFrame:
    return pl.DataFrame(people, schema=[*HEADER[:4], ("own", pl.Int64)], orient="row")


def started(place: Path, people: Sequence[Wisher], schema: sf.Schema = SCHEMA, **said: object) -> sf.Series:
    return sf.Series.start(place, schema, sf.KAnonymity(2), table=frame(people), seed=1, progress=silent, **said)


def rows_of(path: Path) -> Counter[tuple[str, ...]]:
    return Counter(pl.read_csv(path / "data.csv", infer_schema=False).rows())


def test_every_class_has_the_people_that_somebody_in_it_wishes_for(tmp_path: Path) -> None:
    months = [wishers(60, first=60 * number, seed=number) for number in range(3)]
    series = started(tmp_path / "s", months[0])
    for number, month in enumerate(months[1:], 2):
        assert series.append(frame(month), seed=number, progress=silent).number == number
    before: Counter[tuple[str, ...]] = Counter()
    for path, month in zip(series.releases, months, strict=True):
        rows = rows_of(path)
        classes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for (age, city, _, promised), times in (rows - before).items():
            classes[age, city][promised] += times
        assert not before - rows
        for (age, city), promised in classes.items():
            (step,) = promised
            assert promised.total() >= int(step) >= 1
            inside = [own for _, old, town, _, own in month if own and covers(age, old) and covers(city, town)]
            assert int(step) in {1, *map(step_of, inside)}
        # Whoever wishes is covered by classes that promise it, or by none that does not: the own class is among them.
        for _, old, town, _, own in month:
            if own:
                steps = [int(step) for (age, city), promised in classes.items()
                         if covers(age, old) and covers(city, town) for step in promised]  # fmt: skip
                assert max(steps) >= step_of(own)
        before = rows
    found = series.verify(ledger=True)
    assert found.ok
    assert all(
        check.outcome is Outcome.HOLDS for check in found.releases[2].beside if check.promise.startswith("k-anonymity")
    )


def covers(label: str, value: object) -> bool:
    if label.startswith("["):
        low, high = label[1:-1].split("..")
        return float(low) <= float(str(value)) <= float(high)
    return str(value) in (label[1:-1].split("|") if label.startswith("{") else [label])


@pytest.mark.parametrize("promised", ["50", "7"])
def test_a_class_that_promises_more_is_told(promised: str, tmp_path: Path) -> None:
    """Too much, or what is no step."""
    series = started(tmp_path / "s", wishers(30))
    series.append(frame(wishers(20, first=30, seed=2)), seed=2, progress=silent)
    older, newer = (ReadRelease.of(path) for path in series.releases)
    _, fresh = new_rows(older.published.data, newer.published.data)
    newcomers = replace(newer.published, data=newer.published.data[fresh])
    assert [check.outcome for check in newcomer_checks(newcomers, newer.description)] == [Outcome.HOLDS]
    wrong = replace(newcomers, data=newcomers.data.with_columns(pl.lit(promised).alias("promised_k")))
    assert [check.outcome for check in newcomer_checks(wrong, newer.description)] == [Outcome.BROKEN]


def test_who_waits_keeps_the_wish(tmp_path: Path) -> None:
    series = started(tmp_path / "s", wishers(30))
    few = [("a", 30, "A", "flu", 9), ("b", 31, "A", "cold", None), ("c", 32, "A", "cold", None)]
    step = series.append(frame(few), progress=silent)
    assert (step.number, step.waiting) == (None, 3)
    # The reason names no wish.
    assert step.reason
    assert "9" not in step.reason
    others = [(f"d{number}", 30 + number, "A", "gout", None) for number in range(12)]
    assert series.append(frame(others), seed=3, progress=silent).published == 15
    new = rows_of(series.releases[-1]) - rows_of(series.releases[-2])
    (mine,) = {row[:2] + row[3:] for row in new if row[3] == "10"}
    assert sum(times for row, times in new.items() if (row[0], row[1]) == mine[:2]) >= 10
    assert series.verify(ledger=True).ok


def ruled(*rules: dict[str, object]) -> sf.Policy:
    schema = replace(SCHEMA, wished_k=None)
    policy = sf.Policy.of(schema, [sf.KAnonymity(2), sf.DistinctLDiversity(1)], sf.Mondrian(), sf.Recoding(), 0.0)
    return sf.Policy.from_mapping({**policy.to_mapping(), "wishes": list(rules)})


def test_a_rule_is_about_those_who_come(tmp_path: Path) -> None:
    """A later month may have nobody whom it is about, which a note says; a first one may not."""
    rule = {"k": 8, "column": "city", "value": "A"}
    nobody = [person for person in wishers(40, wishes=[None]) if person[2] != "A"]
    with pytest.raises(sf.PolicyError, match="wishes: no record has the value of column 'city' that a rule is about"):
        sf.Series.start(tmp_path / "t", ruled(rule), table=frame(nobody), progress=silent)
    first = wishers(40, wishes=[None])
    series = sf.Series.start(tmp_path / "s", ruled(rule), table=frame(first), seed=1, progress=silent)
    later = [(f"q{name}", *others) for name, *others in nobody]
    step = series.append(frame(later), seed=2, progress=silent)
    assert step.notes == ("wishes: nobody who came has the value of column 'city' that a rule is about",)
    new = rows_of(series.releases[1]) - rows_of(series.releases[0])
    assert {row[3] for row in new} == {"1"}
    assert "10" in {row[3] for row in rows_of(series.releases[0])}
    assert "wishes" not in (series.releases[1] / "policy.toml").read_text()
    assert series.verify(ledger=True).ok


def test_an_l_of_ones_own(tmp_path: Path) -> None:
    schema = replace(SCHEMA, wished_k=None, wished_l="own")
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(1)]
    months = [wishers(50, first=50 * number, seed=number, wishes=[2, 3]) for number in range(2)]
    series = sf.Series.start(tmp_path / "s", schema, models, table=frame(months[0]), seed=1, progress=silent)
    assert series.append(frame(months[1]), seed=2, progress=silent).number == 2
    new = rows_of(series.releases[1]) - rows_of(series.releases[0])
    classes: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for age, city, disease, promised in new.elements():
        classes[age, city].append((disease, promised))
    assert all(len({disease for disease, _ in rows}) >= max(int(step) for _, step in rows) for rows in classes.values())
    assert {"3"} <= {step for rows in classes.values() for _, step in rows}
    assert series.verify(ledger=True).ok


@pytest.mark.parametrize(
    ("schema", "models", "reason"),
    [
        (SCHEMA, [sf.DistinctLDiversity(2)], "wished k: belongs to k-anonymity; add that model"),
        (replace(SCHEMA, wished_l="row"), [sf.KAnonymity(2)], "wished l: belongs to distinct-l-diversity"),
        (
            replace(SCHEMA, wished_k=None, wished_l="own"),
            [sf.KAnonymity(2), sf.DistinctLDiversity(1), sf.ProbabilisticLDiversity(1)],
            "wished l: as a share (probabilistic-l-diversity) it may hold in two classes and not in both together",
        ),
    ],
)
def test_what_is_refused_at_the_start(schema: sf.Schema, models: list[object], reason: str, tmp_path: Path) -> None:
    with pytest.raises(sf.PolicyError) as told:
        sf.Series.start(tmp_path / "s", schema, models)
    assert reason in str(told.value)


def test_people_with_several_records_wish_too(tmp_path: Path) -> None:
    """The largest wish of a person counts, in people."""
    schema = replace(SCHEMA, identifying=(), person="name")
    stays = [*wishers(40), *((name, age, city, disease, None) for name, age, city, disease, _ in wishers(40))]
    series = sf.Series.start(tmp_path / "s", schema, sf.KAnonymity(2), table=frame(stays), seed=1, progress=silent)
    known = series.verify(ledger=True)
    assert known.ok
    # Everybody has two rows, so that a class has half as many people.
    classes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for age, city, _, promised in rows_of(series.releases[0]).elements():
        classes[age, city].append(promised)
    assert all(len(rows) >= 2 * int(max(rows, key=int)) for rows in classes.values())
    assert {step for rows in classes.values() for step in rows} & {"5", "10"}


def test_a_larger_wish_under_the_same_label_is_kept_by_both_together(tmp_path: Path) -> None:
    """Two batches whose classes publish the same: a reader of the last release sees one that keeps the larger step."""
    first = [(f"a{number}", 30, "A", "flu", 3 if number == 0 else None) for number in range(4)]
    second = [(f"b{number}", 30, "A", "cold", 10 if number == 0 else None) for number in range(12)]
    series = started(tmp_path / "s", first)
    assert series.append(frame(second), progress=silent).number == 2
    assert rows_of(series.releases[1]) == {("30", "A", "flu", "3"): 4, ("30", "A", "cold", "10"): 12}
    assert sf.verify(series.releases[1]).ok
    assert series.verify(ledger=True).ok
