"""A folder with published pseudonyms: what it says, and that nothing in it can be changed unseen."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from guarantees.test_people_guarantees import schema, stays
from naive import fingerprints as naive
from sfumato.models.protocol import Outcome

PUBLISHED = sf.People(pseudonyms="published")
LIMITED = sf.People(pseudonyms="published", known_values=2, fingerprint_k=2)
PERSON = "person_in_class"
Change = Callable[[pl.DataFrame], pl.DataFrame]


def table(**roles: object) -> sf.Table:
    return sf.read_table(stays(0, 200, 60), schema(person="id", **roles))


@pytest.fixture(scope="module")
def release() -> sf.Release:
    models = [sf.KAnonymity(3), sf.DistinctLDiversity(2, attribute="ill")]
    return sf.anonymize(table(), models, people=LIMITED, suppression_limit=0.5, seed=1)


@pytest.fixture
def folder(release: sf.Release, tmp_path: Path) -> Path:
    return release.save(tmp_path / "release")


def outcomes(folder: Path) -> dict[str, Outcome]:
    return {check.promise: check.outcome for check in sf.verify(folder).checks}


def rewritten(folder: Path, change: Change) -> Path:
    """Change the data as somebody would who can also write the hash."""
    data = folder / "data.csv"
    change(pl.read_csv(data, infer_schema_length=0)).write_csv(data)
    edited(folder, lambda mark: mark["tables"]["data"].update(sha256=hashlib.sha256(data.read_bytes()).hexdigest()))
    return folder


def edited(folder: Path, change: Callable[[dict], object], name: str = "release.json") -> Path:
    content = json.loads((folder / name).read_text())
    change(content)
    (folder / name).write_text(json.dumps(content))
    return folder


def test_it_says_what_it_holds(release, folder):
    mark = json.loads((folder / "release.json").read_text())
    assert (mark["format"], mark["people"]) == (3, "published")
    assert mark["structure"]["pseudonyms"] == {"column": PERSON, "known_values": 2, "fingerprint_k": 2}
    assert {path.name for path in folder.parent.iterdir()} == {"release"}
    verified = sf.verify(folder)
    assert verified.ok
    assert verified.roles is not None
    assert verified.roles.unprotected == ()
    assert "holds: fingerprints (fingerprint_k=2, known_values=2)" in str(verified)
    told = json.loads((folder / "report.json").read_text())
    assert told["people"] == verified.to_dict()["people"]
    assert told["risk"]["of"] == "people"
    assert "fingerprints" not in told
    assert "Fingerprints (" in str(release.report)
    assert "Fingerprints (" not in (folder / "report.txt").read_text()


def test_the_report_counts_what_anybody_can_count():
    made = sf.anonymize(table(), sf.KAnonymity(3), people=sf.People(pseudonyms="published", known_values=2))
    told = made.report.to_dict()["fingerprints"]
    assert [each["attribute"] for each in told] == ["ill", "cost", None]
    classes = [group for _, group in made.data.group_by("age", "city")]
    for each, names in zip(told, (["ill"], ["cost"], ["ill", "cost"]), strict=True):
        found = []
        for group in classes:
            items = [(person, (name, value)) for name in names for person, value in zip(group[PERSON], group[name])]  # noqa: B905
            sets = naive.sets_of([person for person, _ in items], [item for _, item in items])
            found += naive.found_in_class(sets, 2).values()
        assert each["people"] == len(found)
        assert each["alone"] == sum(one.fewest == 1 for one in found)
        assert each["chance"] == pytest.approx(float(sum(one.chance for one in found) / len(found)), abs=1e-6)
        assert each["guess"] == pytest.approx(sum(1 / one.company for one in found) / len(found), abs=1e-6)
    assert told[2]["alone"] > told[0]["alone"] > 0


def swap_to_fewer(frame: pl.DataFrame) -> pl.DataFrame:
    """Give all but one record of the class with the fewest people to its first person, so that it has two people."""
    sizes = frame.group_by("age", "city").agg(pl.col(PERSON).cast(pl.Int64).max().alias("people"))
    own = frame.join(sizes.sort("people", "age", "city").head(1), on=["age", "city"], how="left")[
        "people"
    ].is_not_null()
    return frame.with_columns(
        pl.when(own & (pl.col(PERSON).cast(pl.Int64) > 2)).then(pl.lit("1")).otherwise(PERSON).alias(PERSON)
    )


def test_joined_people_break_the_promise(folder):
    assert outcomes(rewritten(folder, swap_to_fewer))["k-anonymity (k=3)"] is Outcome.BROKEN


def test_so_does_one_number_for_everybody(folder):
    found = outcomes(rewritten(folder, lambda frame: frame.with_columns(pl.lit("1").alias(PERSON))))
    assert found["k-anonymity (k=3)"] is Outcome.BROKEN
    # The only person of a class is not told from others by anything.
    assert found["fingerprints (fingerprint_k=2, known_values=2)"] is Outcome.BROKEN


def test_who_are_split_break_the_limit_of_fingerprints(folder):
    """Every record a person of its own: more people than there are, whom fewer values tell apart."""
    number = pl.int_range(1, pl.len() + 1).over("age", "city").cast(pl.String)
    found = sf.verify(rewritten(folder, lambda frame: frame.with_columns(number.alias(PERSON))))
    assert not found.ok
    assert "it says something else about the people" in str(found)


GLOBAL = {
    "numbers that go on over classes": pl.int_range(1, pl.len() + 1).cast(pl.String),
    "a gap": pl.when(pl.col(PERSON) == "1").then(pl.lit("999")).otherwise(PERSON),
    "zero": pl.when(pl.col(PERSON) == "1").then(pl.lit("0")).otherwise(PERSON),
    "a negative number": pl.format("-{}", PERSON),
    "a fraction": pl.format("{}.0", PERSON),
    "a leading zero": pl.format("0{}", PERSON),
    "a sign": pl.format("+{}", PERSON),
    "a blank": pl.format(" {}", PERSON),
    "a text": pl.lit("x"),
    "a huge number": pl.lit("9" * 30),
    "nothing": pl.when(pl.col(PERSON) == "1").then(None).otherwise(PERSON),
}


@pytest.mark.parametrize("what", GLOBAL)
def test_other_numbers_are_no_pseudonyms(folder, what):
    found = sf.verify(rewritten(folder, lambda frame: frame.with_columns(GLOBAL[what].alias(PERSON))))
    broken = [
        check for check in found.checks if check.promise == f"{PERSON} numbers the people of every class from 1 on"
    ]
    assert [check.outcome for check in broken] == [Outcome.BROKEN]
    assert not found.ok
    assert found.people is None
    assert "holds: k-anonymity" not in str(found)


CHANGES: dict[str, Callable[[dict], object]] = {
    "people are records": lambda mark: (mark.pop("people"), mark.update(format=2)),
    "of an audit file": lambda mark: mark.update(people="audit"),
    "somewhere else": lambda mark: mark.update(people="elsewhere"),
    "the column is not named": lambda mark: mark["structure"].pop("pseudonyms"),
    "another column": lambda mark: mark["structure"]["pseudonyms"].update(column="cost"),
    "no column": lambda mark: mark["structure"]["pseudonyms"].update(column="nobody"),
    "a number for a column": lambda mark: mark["structure"]["pseudonyms"].update(column=3),
    "a lower limit": lambda mark: mark["structure"]["pseudonyms"].update(fingerprint_k=1),
    "no limit": lambda mark: mark["structure"]["pseudonyms"].pop("fingerprint_k"),
    "fewer known values": lambda mark: mark["structure"]["pseudonyms"].update(known_values=1),
    "four known values": lambda mark: mark["structure"]["pseudonyms"].update(known_values=4),
    "a truth": lambda mark: mark["structure"]["pseudonyms"].update(known_values=True),
    "another key": lambda mark: mark["structure"]["pseudonyms"].update(known=1),
    "a list": lambda mark: mark["structure"].update(pseudonyms=[PERSON]),
    "nothing": lambda mark: mark["structure"].update(pseudonyms=None),
    "neither": lambda mark: (mark.pop("people"), mark.update(format=2), mark["structure"].pop("pseudonyms")),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_description_that_was_changed_convinces_nobody(folder, what):
    edited(folder, CHANGES[what])
    try:
        verified = sf.verify(folder)
    except sf.VerificationError:
        return
    assert not verified.ok


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('pseudonyms = "published"', 'pseudonyms = "audit"'),
        ("fingerprint-k = 2", "fingerprint-k = 3"),
        ("known-values = 2", "known-values = 3"),
        ("known-values = 2", "known-values = 2\nknown_values = 2"),
    ],
)
def test_nor_does_a_policy_that_was_changed(folder, old, new):
    path = folder / "policy.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    found = sf.verify(edited(folder, lambda mark: mark["files"].update({"policy.toml": digest})))
    assert not found.ok
    assert "pseudonyms" in str(found) or "damaged" in str(found)


@pytest.mark.parametrize("asked", [LIMITED, PUBLISHED])
@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx", "sav", "dta"])
@pytest.mark.parametrize("suppressed", ["remove", "star"])
def test_all_forms_are_verified(tmp_path, asked, format, suppressed):
    made = sf.anonymize(
        table(), sf.KAnonymity(3), people=asked, suppression_limit=0.7, recoding=sf.Recoding(suppressed=suppressed),
        refine=20,
    )  # fmt: skip
    folder = made.save(tmp_path / "release", format=format)
    assert sf.verify(folder).ok
    assert sf.verify(made).ok
    assert sf.verify(folder).to_dict()["people"]["count"] == made.report.people.people


def test_formulas_are_escaped_beside_numbers(tmp_path):
    frame = stays(0, 200, 60).with_columns(pl.format("={}", "ill").alias("ill"))
    made = sf.anonymize(sf.read_table(frame, schema(person="id")), sf.KAnonymity(3), people=PUBLISHED)
    folder = made.save(tmp_path / "release", formulas="escape")
    assert sf.verify(folder).ok
    assert "'=x" in (folder / "data.csv").read_text()


def test_a_wished_k_stands_beside_it(tmp_path):
    frame = stays(0, 200, 60).with_columns(own=pl.lit(1))
    roles = sf.Schema(quasi_identifying=["age", "city"], sensitive=["ill", "cost"], person="id", wished_k="own")
    limited = sf.People(pseudonyms="published", fingerprint_k=2)
    made = sf.anonymize(sf.read_table(frame, roles), sf.KAnonymity(3), people=limited, suppression_limit=0.6)
    assert made.data.columns == ["age", "city", "ill", "cost", "promised_k", PERSON]
    assert sf.verify(made.save(tmp_path / "release")).ok


def test_where_everybody_has_one_record_the_limit_is_kept_as_well(tmp_path):
    frame = stays(0, 200, 60).with_columns(id=pl.int_range(pl.len()))
    rare = sf.read_table(frame.with_columns(ill=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("r")).otherwise("ill")),
        schema(person="id"))  # fmt: skip
    limited = sf.People(pseudonyms="published", fingerprint_k=2)
    with pytest.raises(sf.UnsatisfiableError, match="would have to be suppressed"):
        sf.anonymize(rare, sf.KAnonymity(3), people=limited)
    made = sf.anonymize(rare, sf.KAnonymity(3), people=limited, suppression_limit=0.9)
    assert made.report.suppressed
    assert sf.verify(made.save(tmp_path / "release")).ok


def test_audit_files_are_neither_needed_nor_taken(release, folder, tmp_path):
    assert release.audit is None
    with pytest.raises(sf.PolicyError, match="no audit file is needed"):
        release.save(tmp_path / "other", audit=tmp_path / "audit.json")
    with pytest.raises(sf.VerificationError, match="says itself who is who"):
        sf.verify(folder, audit=tmp_path / "audit.json")


def test_a_column_of_that_name_is_refused():
    frame = stays(0, 200, 60).rename({"cost": PERSON})
    roles = sf.Schema(quasi_identifying=["age", "city"], sensitive=["ill", PERSON], person="id")
    with pytest.raises(sf.PolicyError, match=f"the release has a column '{PERSON}' of its own"):
        sf.anonymize(sf.read_table(frame, roles), sf.KAnonymity(3), people=PUBLISHED)


def test_other_mistakes_are_sentences():
    nothing = sf.Schema(quasi_identifying=["age", "city"], person="id", others="drop")
    with pytest.raises(sf.PolicyError, match="no column is sensitive"):
        sf.anonymize(
            sf.read_table(stays(0), nothing), sf.KAnonymity(3),
            people=sf.People(pseudonyms="published", fingerprint_k=2),
        )  # fmt: skip
    with pytest.raises(sf.PolicyError, match="name the column that says who they are"):
        sf.anonymize(sf.read_table(stays(0), schema(identifying=["id"])), sf.KAnonymity(3), people=PUBLISHED)
    with pytest.raises(sf.PolicyError, match="bucketization"):
        sf.anonymize(table(), sf.ProbabilisticLDiversity(1.2), anonymizer=sf.Bucketization(), people=PUBLISHED)


def test_too_many_sets_are_said(monkeypatch, release, folder):
    monkeypatch.setattr("sfumato.classes.statistics.MOST_SUBSETS", 10)
    found = sf.verify(folder)
    assert not found.ok
    assert "not verifiable from the release: fingerprints" in str(found)
    with pytest.raises(sf.PolicyError, match="lower known_values"):
        sf.anonymize(table(), sf.KAnonymity(3), people=LIMITED)
    made = sf.anonymize(table(), sf.KAnonymity(3), people=PUBLISHED)
    assert "not counted; more than" in str(made.report)


def test_the_folder_does_not_depend_on_who_is_who_in_two_classes(tmp_path):
    """Two originals that publish the same table: numbers say nothing that goes beyond a class."""
    frame = stays(0, 200, 60)
    renamed = frame.with_columns(pl.format("x{}", "id").alias("id"))
    one, two = (
        sf.anonymize(sf.read_table(each, schema(person="id")), sf.KAnonymity(3), people=PUBLISHED, seed=3).save(
            tmp_path / str(place)
        )
        for place, each in enumerate((frame, renamed))
    )
    assert {path.name: path.read_bytes() for path in one.iterdir()} == {
        path.name: path.read_bytes() for path in two.iterdir()
    }


def test_a_copy_of_the_folder_is_as_good(folder, tmp_path):
    assert sf.verify(shutil.copytree(folder, tmp_path / "copy")).ok


def test_risks_of_people_are_measured_on_the_folder(release: sf.Release, folder: Path) -> None:
    """Counted by hand from the rows: people of a class, and the largest share of one."""
    classes: dict[tuple[str, ...], list[str]] = {}
    quasi = release.published.quasi_identifying
    for row in pl.read_csv(folder / "data.csv", infer_schema_length=0).iter_rows(named=True):
        classes.setdefault(tuple(str(row[name]) for name in quasi), []).append(row[PERSON])
    highest = max(max(map(rows.count, rows)) / len(rows) for rows in classes.values())
    for what in (release, folder):
        found = sf.risk(what).people
        assert found is not None
        assert found.people == sum(len({*rows}) for rows in classes.values())
        assert found.fewest == min(len({*rows}) for rows in classes.values())
        assert found.highest == pytest.approx(highest)
        assert found.average == pytest.approx(len(classes) / found.people)
    assert sf.risk(folder, quasi_identifying=quasi[:1]).people is None


def test_risks_of_damaged_numbers_are_refused(folder: Path) -> None:
    rewritten(folder, lambda data: data.with_columns(pl.lit("x").alias(PERSON)))
    with pytest.raises(sf.InputError, match=f"column '{PERSON}': does not number people"):
        sf.risk(folder)
