"""What a series refuses, each with a sentence, before anything is worked out or written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from series.tables import HEADER, SCHEMA, people, write_csv
from sfumato.series.private_files import ledger_lock

MANY = people(30)


@pytest.fixture
def series(tmp_path: Path) -> sf.Series:
    return sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=write_csv(tmp_path / "first.csv", MANY))


def refused(series: sf.Series, table: object, kind: type[sf.SfumatoError] = sf.SfumatoError) -> tuple[str, ...]:
    """Return why a table is refused; folder and ledger are as they were."""
    before = listing(series)
    with pytest.raises(kind) as caught:
        series.append(table)
    assert listing(series) == before
    assert series.verify(ledger=True).ok
    return caught.value.problems


def listing(series: sf.Series) -> dict[str, bytes]:
    files = [path for folder in (series.folder, series.ledger) for path in folder.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files}


def test_somebody_who_was_there_before(series: sf.Series, tmp_path: Path) -> None:
    batch = [*people(10, first=100), MANY[3], MANY[7]]
    (problem,) = refused(series, write_csv(tmp_path / "b.csv", batch))
    assert "column 'name': 2 people of 12 are in an earlier release; hand in newcomers alone" in problem
    assert "p3" not in problem


@pytest.mark.parametrize("name", [" p3 ", "p3"])
def test_blanks_around_a_key_do_not_make_another_person(name: str, series: sf.Series) -> None:
    batch = pl.DataFrame([(name, 30, "A", "flu"), *people(5, first=100)], schema=list(HEADER), orient="row")
    assert "1 person of 6 is in an earlier release" in refused(series, batch)[0]


def test_keys_in_other_unicode_forms_and_types_are_the_same_people(tmp_path: Path) -> None:
    def table(names: list[object]) -> pl.DataFrame:
        count = len(names)
        return pl.DataFrame({"name": names, "age": [30] * count, "city": ["A"] * count, "disease": ["flu"] * count})

    first = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(2), table=table(["Zo\u00eb", "b"]))
    assert "1 person of 2 is" in refused(first, table(["Zoe\u0308", "c"]))[0]
    numbers = sf.Series.start(tmp_path / "n", SCHEMA, sf.KAnonymity(2), table=table([17, 18]))
    assert "1 person of 2 is" in refused(numbers, table([17.0, 19.0]))[0]
    assert "1 person of 2 is" in refused(numbers, table(["18", "19"]))[0]
    assert "1 person of 2 is" in refused(numbers, table(["18.0", "19.0"]))[0]
    assert "2 differ from another only in leading zeros" in refused(numbers, table(["018", "0019"]))[0]
    assert numbers.append(table(["018", "0019"]), key_form="exact").number == 2


def test_somebody_who_waits_already(series: sf.Series, tmp_path: Path) -> None:
    waiting = people(2, first=100)
    assert series.append(write_csv(tmp_path / "b.csv", waiting)).waiting == 2
    (problem,) = refused(series, write_csv(tmp_path / "c.csv", [waiting[0], *people(8, first=200)]))
    assert "1 person of 9 is among those who wait for the next release already" in problem


def test_somebody_with_two_records_or_without_a_key(series: sf.Series, tmp_path: Path) -> None:
    batch = people(10, first=100)
    batch = [*batch, batch[0], ("", 30, "A", "flu"), ("", 31, "A", "flu")]
    nameless, twice = refused(series, write_csv(tmp_path / "b.csv", batch))
    assert "2 records of 13 without a key" in nameless
    assert "1 record of 13 with a key that another one has" in twice


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    schema = sf.Schema(
        identifying=["name"],
        quasi_identifying={
            "age": sf.Attribute(domain=(0, 99)),
            "city": sf.groups({"north": ["A", "B"], "south": ["C"]}),
        },
        sensitive=["disease"],
    )
    series = sf.Series.start(tmp_path / "s", schema, sf.KAnonymity(3), table=write_csv(tmp_path / "first.csv", MANY))
    batch = [*people(10, first=100), ("x", 130, "A", "flu"), ("y", 30, "nowhere", "flu")]
    found = "\n".join(refused(series, write_csv(tmp_path / "b.csv", batch)))
    assert "column 'age': 1 record(s) have a value outside the declared domain" in found
    assert "hierarchy of 'city': 1 of" in found
    assert "a series keeps the columns, kinds, hierarchies and domains that it was started with" in found
    assert "nowhere" not in found
    assert "130" not in found
    mixed = [("x", "old", "A", "flu", "1"), *((*person, "1") for person in MANY[:3])]
    found = "\n".join(refused(series, write_csv(tmp_path / "c.csv", mixed, (*HEADER, "extra"))))
    assert "new column(s): 'extra'; the series was started without them" in found
    assert "column 'age' is declared numeric, but 1 record(s) do not hold a number" in found
    assert "3 people of 4 are in an earlier release" in found


def test_a_missing_column(series: sf.Series, tmp_path: Path) -> None:
    batch = [(name, age, disease) for name, age, _, disease in people(5, first=100)]
    found = "\n".join(refused(series, write_csv(tmp_path / "b.csv", batch, ("name", "age", "disease"))))
    assert "missing column(s): 'city'" in found


def test_the_key_is_missing(series: sf.Series, tmp_path: Path) -> None:
    batch = [person[1:] for person in people(5, first=100)]
    assert "missing column(s): 'name'" in refused(series, write_csv(tmp_path / "b.csv", batch, HEADER[1:]))[0]


def test_a_first_row_that_is_a_record_is_not_shown(series: sf.Series, tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    write_csv(path, people(5, first=100)[1:], people(5, first=100)[0])
    assert not any("p100" in problem or "p101" in problem for problem in refused(series, path))


def test_new_columns_are_refused_even_where_others_are_dropped(tmp_path: Path) -> None:
    schema = sf.Schema(identifying=["name"], quasi_identifying=["age", "city"], sensitive=["disease"], others="drop")
    series = sf.Series.start(tmp_path / "s", schema, sf.KAnonymity(3), table=write_csv(tmp_path / "first.csv", MANY))
    batch = [(*person, "1") for person in people(5, first=100)]
    found = refused(series, write_csv(tmp_path / "b.csv", batch, (*HEADER, "extra")))
    assert "new column(s): 'extra'" in found[0]


def test_another_type(series: sf.Series, tmp_path: Path) -> None:
    batch = [(name, f"{age}.5", city, disease) for name, age, city, disease in people(5, first=100)]
    found = refused(series, write_csv(tmp_path / "b.csv", batch))
    assert "column 'age' holds numbers with fractions, and whole numbers in the series so far; convert it" in found[0]


def test_whole_numbers_may_follow_fractions(tmp_path: Path) -> None:
    def table(first: int, ages: list[float] | list[int]) -> pl.DataFrame:
        rows = [(f"p{first + place}", age, "A", "flu") for place, age in enumerate(ages)]
        return pl.DataFrame(rows, schema=list(HEADER), orient="row")

    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(2), table=table(0, [30.5, 30.5]))
    series.append(table(10, [31, 31]))
    lines = (series.releases[1] / "data.csv").read_text().splitlines()
    assert sorted(lines[1:]) == ["30.5,A,flu", "30.5,A,flu", "31.0,A,flu", "31.0,A,flu"]


def test_a_changed_policy(series: sf.Series, tmp_path: Path) -> None:
    batch = write_csv(tmp_path / "b.csv", people(5, first=100))
    other = sf.Schema(identifying=["name"], quasi_identifying={"age": None, "city": sf.flat()}, sensitive=["disease"])
    said = sf.Policy.of(other, [sf.KAnonymity(2)], sf.Auto(), sf.Recoding(), 0.0)
    with pytest.raises(sf.PolicyError) as caught:
        series.append(batch, policy=said)
    models, columns = caught.value.problems
    assert "policy, models: not what the series was started with" in models
    assert "policy, quasi-identifying columns" in columns
    same = sf.Policy.of(SCHEMA, [sf.KAnonymity(3)], sf.Auto(), sf.Recoding(), 0.0)
    assert series.append(batch, policy=same).number == 2


def test_a_hierarchy_file_that_changes_later_changes_nothing(tmp_path: Path) -> None:
    hierarchy = tmp_path / "city.csv"
    hierarchy.write_text("A,north\nB,north\nC,south\n")
    mapping = {
        "columns": {
            "identifying": ["name"],
            "quasi-identifying": {"age": {}, "city": {"hierarchy": str(hierarchy)}},
            "sensitive": ["disease"],
        },
        "models": [{"name": "k-anonymity", "k": 3}],
    }
    policy = sf.Policy.from_mapping(mapping)
    series = sf.Series.start(tmp_path / "s", policy, table=write_csv(tmp_path / "first.csv", MANY))
    hierarchy.write_text("A,east\nB,east\nC,west\nD,west\n")
    found = refused(series, write_csv(tmp_path / "b.csv", [*people(5, first=100), ("x", 30, "D", "flu")]))
    assert "hierarchy of 'city'" in found[0]
    batch = write_csv(tmp_path / "c.csv", people(25, first=100))
    with pytest.raises(sf.PolicyError, match="quasi-identifying column 'city': not what the series was started with"):
        series.append(batch, policy=policy)
    series.append(batch)
    assert "east" not in (series.releases[1] / "data.csv").read_text()


def test_two_appends_at_once(series: sf.Series, tmp_path: Path) -> None:
    with (
        ledger_lock(series.ledger),
        pytest.raises(sf.InputError, match=f"another run is working on this series .process {os.getpid()} "),
    ):
        series.append(write_csv(tmp_path / "b.csv", people(5, first=100)))
    assert series.append(write_csv(tmp_path / "b.csv", people(5, first=100))).number == 2


def test_a_lock_that_a_killed_run_has_left_is_told_of(series: sf.Series, tmp_path: Path) -> None:
    (series.ledger / "lock").write_text("process 12345 on elsewhere")
    step = series.append(write_csv(tmp_path / "b.csv", people(5, first=100)))
    assert step.notes == ("an earlier run (process 12345 on elsewhere) was killed; the series is whole",)


# What no series can hold, and the reason.


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (sf.TCloseness(0.3), "t-closeness does not judge each class by itself"),
        (sf.BasicBetaLikeness(1.0), "basic-beta-likeness does not judge"),
        (sf.EnhancedBetaLikeness(1.0), "enhanced-beta-likeness does not judge"),
        (sf.DeltaDisclosure(1.0), "delta-disclosure does not judge"),
        (sf.SubsetKAnonymity(3, 2), "subset-k-anonymity does not judge"),
        (sf.WildcardKAnonymity(3), "wildcard-k-anonymity does not judge"),
    ],
)
def test_models_that_look_at_the_whole_table(model: object, reason: str, tmp_path: Path) -> None:
    with pytest.raises(sf.PolicyError, match=reason):
        sf.Series.start(tmp_path / "s", SCHEMA, [sf.KAnonymity(3), model])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "model",
    [
        sf.DistinctLDiversity(2),
        sf.EntropyLDiversity(2),
        sf.ProbabilisticLDiversity(2),
        sf.RecursiveLDiversity(c=3, l=2),
        sf.AlphaKAnonymity(alpha=0.7, k=3),
        sf.GuardedValues(["gout"], 0.6),
    ],
)
def test_models_that_judge_a_class_by_itself(model: object, tmp_path: Path) -> None:
    series = sf.Series.start(
        tmp_path / "s", SCHEMA, [sf.KAnonymity(3), model], table=write_csv(tmp_path / "first.csv", MANY)
    )
    assert series.append(write_csv(tmp_path / "b.csv", people(40, first=100, seed=1))).number == 2
    assert series.verify(ledger=True).ok


@pytest.mark.parametrize(
    ("anonymizer", "models", "reason"),
    [
        (sf.Bucketization(), [sf.ProbabilisticLDiversity(2)], "bucketization makes no classes"),
        (sf.Slicing(), [sf.ProbabilisticLDiversity(2)], "slicing makes no classes"),
        (sf.Marginals(), [sf.KAnonymity(3)], "marginals makes no classes"),
        (sf.Sampling(), [], "sampling makes no classes"),
    ],
)
def test_other_kinds_of_releases(anonymizer: object, models: list[object], reason: str, tmp_path: Path) -> None:
    policy = sf.Policy.of(SCHEMA, models, anonymizer, sf.Recoding(), 0.0)
    with pytest.raises(sf.PolicyError, match=reason):
        sf.Series.start(tmp_path / "s", policy)


def test_what_else_is_refused(tmp_path: Path) -> None:
    policy = sf.Policy.of(SCHEMA, [sf.KAnonymity(3)], sf.Mondrian(), sf.Recoding(), 0.1)
    with pytest.raises(sf.PolicyError, match="suppression-limit: a series leaves nobody out"):
        sf.Series.start(tmp_path / "s", policy)
    wishing = sf.Schema(identifying=["name"], quasi_identifying=["age"], sensitive=["disease"], wished_k="city")
    for way, reason in (("grow", "is counted in rows; rows do not tell"), ("m-invariance", "has one row of each")):
        with pytest.raises(sf.PolicyError, match=f"wishes: a series of {way} keeps none: .*{reason}"):
            sf.Series.start(tmp_path / "s", wishing, sf.KAnonymity(3), table=frame(MANY), way=way)
    apart = sf.Policy.of(
        sf.Schema(person="name", quasi_identifying=["age"], sensitive=["disease"]),
        [sf.KAnonymity(3)],
        sf.Mondrian(),
        sf.Recoding(),
        0.0,
        people=sf.People(rows="apart"),
    )
    with pytest.raises(sf.PolicyError, match="people: a series holds all records of a person in one class"):
        sf.Series.start(tmp_path / "s", apart)
    with pytest.raises(sf.PolicyError, match="people: a series of grow holds one record of each person: what several"):
        sf.Series.start(tmp_path / "s", apart, way="grow")


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(sf.PolicyError, match=r"models\[0\]: is not a privacy model"):
        sf.Series.start(tmp_path / "s", SCHEMA, [5])
    with pytest.raises(sf.PolicyError, match="models: name at least one privacy model"):
        sf.Series.start(tmp_path / "s", SCHEMA)
    with pytest.raises(sf.PolicyError, match="policy: give a Policy, or a Schema with models"):
        sf.Series.start(tmp_path / "s", {"k": 5})
    policy = sf.Policy.of(SCHEMA, [sf.KAnonymity(3)], sf.Mondrian(), sf.Recoding(), 0.0)
    with pytest.raises(sf.PolicyError, match="models: the policy names them already"):
        sf.Series.start(tmp_path / "s", policy, sf.KAnonymity(3))
    series = sf.Series.start(tmp_path / "s", policy)
    with pytest.raises(sf.PolicyError, match="seed: must be a whole number"):
        series.append(frame(MANY), seed=-1)


def test_the_key_must_be_clear(tmp_path: Path) -> None:
    nobody = sf.Schema(quasi_identifying=["age", "city"], sensitive=["disease"], others="drop")
    with pytest.raises(sf.PolicyError, match="key: name the identifying column that says who"):
        sf.Series.start(tmp_path / "s", nobody, sf.KAnonymity(3))
    with pytest.raises(sf.PolicyError, match="key: column 'city' is not identifying"):
        sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), key="city")
    two = sf.Schema(identifying=["name", "city"], quasi_identifying=["age"], sensitive=["disease"])
    with pytest.raises(sf.PolicyError, match="key: name the identifying column"):
        sf.Series.start(tmp_path / "s", two, sf.KAnonymity(3))
    assert sf.Series.start(tmp_path / "s", two, sf.KAnonymity(3), key="name").releases == ()


@pytest.mark.parametrize("way", ["grow", "m-invariance"])
def test_a_person_column_is_a_key_where_everybody_has_one_record(way: str, tmp_path: Path) -> None:
    schema = sf.Schema(person="name", quasi_identifying=["age", "city"], sensitive=["disease"])
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(2), sf.ProbabilisticLDiversity(2)]
    twice = frame([*MANY, MANY[0]])
    with pytest.raises(sf.InputError, match=r"1 record of .* with a key that another one has; a series holds one"):
        sf.Series.start(tmp_path / "s", schema, models, table=twice, way=way)
    series = sf.Series.start(tmp_path / "s", schema, models, table=frame(MANY), way=way)
    assert sf.verify(series.releases[0]).ok
    assert json.loads((series.releases[0] / "release.json").read_text())["format"] == 2


def test_a_start_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(sf.UnsatisfiableError, match="at least 3 people, and there are 2 people"):
        sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=frame(MANY[:2]))
    with pytest.raises(sf.SchemaError, match="missing column"):
        sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=frame(MANY).drop("city"))
    assert os.listdir(tmp_path) == []


def frame(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(HEADER), orient="row")


def test_places_that_are_taken_or_public(series: sf.Series, tmp_path: Path) -> None:
    with pytest.raises(sf.InputError, match="already holds a series; append to it"):
        sf.Series.start(series.folder, SCHEMA, sf.KAnonymity(3))
    with pytest.raises(sf.InputError, match="is the ledger of another series"):
        sf.Series.start(tmp_path / "t", SCHEMA, sf.KAnonymity(3), ledger=series.ledger)
    with pytest.raises(sf.InputError, match="the ledger is yours alone"):
        sf.Series.start(tmp_path / "t", SCHEMA, sf.KAnonymity(3), ledger=tmp_path / "t" / "ledger")
    with pytest.raises(sf.InputError, match="the ledger is yours alone"):
        sf.Series.start(tmp_path / "t", SCHEMA, sf.KAnonymity(3), ledger=series.folder / "ledger")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(sf.InputError, match="is not empty and no ledger"):
        sf.Series.start(tmp_path / "t", SCHEMA, sf.KAnonymity(3), ledger=tmp_path / "other")
    assert not (tmp_path / "t").exists()


def test_a_series_is_no_release_nor_the_other_way_round(series: sf.Series) -> None:
    with pytest.raises(sf.VerificationError, match="is a series of releases; recount it with sfumato verify"):
        sf.verify(series.folder)
    with pytest.raises(sf.InputError, match="it is a single release"):
        sf.Series.open(series.releases[0])
