"""Folders of anonymous sets: what they hold, what a recipient recounts, what tampering comes to."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from naive.sets import is_anonymous
from sfumato.errors import InputError, PolicyError, UnsatisfiableError, VerificationError
from sfumato.hierarchy import HierarchyTable
from sfumato.kinds.sets import check as set_check

TREE = HierarchyTable(tuple((f"i{number}", f"g{number // 3}", "*") for number in range(9)))


def table(people: int = 60) -> pl.DataFrame:
    draw = np.random.default_rng(4)
    who = np.repeat(np.arange(people), 3)
    chances = 1 / np.arange(1, 10)
    what = draw.choice(9, 3 * people, p=chances / chances.sum())
    age = draw.integers(20, 60, people)
    return pl.DataFrame({"klient": who, "what": [f"i{number}" for number in what], "age": age[who]})


def released(*, beside: bool = False, hierarchy: object = TREE, **more: Any) -> sf.SetRelease:
    schema = sf.Schema(quasi_identifying=["age"]) if beside else None
    sets = sf.read_sets(table(), hierarchy=hierarchy, schema=schema)  # type: ignore[arg-type]
    return sf.anonymize_sets(sets, sf.KmAnonymity(4, 2), seed=1, **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return sf.save_sets(released(), tmp_path / "release")


@pytest.fixture
def with_ages(tmp_path: Path) -> Path:
    return sf.save_sets(released(beside=True, class_size=20), tmp_path / "release")


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / "release.json").read_text())
    edit(content)
    (folder / "release.json").write_text(json.dumps(content))


def rewrite(folder: Path, text: str, name: str = "sets") -> None:
    """Change a table as somebody would who knows how to hide it."""
    (folder / f"{name}.csv").write_text(text)
    sha256, rows = hashlib.sha256(text.encode()).hexdigest(), len(text.splitlines()) - 1
    change(folder, lambda content: content["tables"][name].update(sha256=sha256, rows=rows))


def broken(folder: Path) -> str:
    found = sf.verify(folder)
    assert not found.ok
    return "\n".join(str(check) for check in found.checks)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_folder_is_recounted(tmp_path: Path, format: Any):
    release = released()
    sf.save_sets(release, tmp_path / "out", format=format)
    assert sf.verify(tmp_path / "out").ok
    assert sf.verify(release).ok
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        f"sets.{format}", "release.json", "policy.toml", "report.json", "report.txt",
    }  # fmt: skip


def test_classes_beside_the_sets_are_recounted(with_ages: Path):
    found = sf.verify(with_ages)
    assert found.ok
    assert found.roles is not None
    assert found.roles.quasi_identifying == ("age",)
    records = pl.read_csv(with_ages / "records.csv").join(pl.read_csv(with_ages / "sets.csv"), on="record", how="left")
    for (_,), part in records.group_by("age"):
        sets = [frozenset(items.drop_nulls()) for items in part.group_by("record").agg("item")["item"]]
        assert len(sets) >= 20
        assert is_anonymous(sets, 4, 2)


def test_empty_sets_stay_and_are_counted(tmp_path: Path):
    frame = pl.DataFrame({"who": [1, 2, 3, 4], "what": ["a", "a", None, "b"]})
    release = sf.anonymize_sets(sf.read_sets(frame), sf.KmAnonymity(2, 1), seed=1)
    assert release.published.height == 4
    assert release.loss.emptied == 1
    sf.save_sets(release, tmp_path / "out")
    assert sf.verify(tmp_path / "out").records == 4


def test_a_verifier_loads_no_maker(with_ages: Path):
    program = (
        "import sys, sfumato\n"
        f"assert sfumato.verify({str(with_ages)!r}).ok\n"
        "found = [name for name in sys.modules if name.startswith('sfumato.anonymizers')]\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_rare_combination_is_found(folder: Path):
    text = (folder / "sets.csv").read_text()
    rewrite(folder, text + "1,planted\n")
    assert "km-anonymity (k=4, m=2) (achieved k=1" in broken(folder)


def test_an_item_beside_one_that_it_is_part_of_is_found(tmp_path: Path):
    frame = pl.DataFrame({"who": [1, 2, 3, 4, 5, 6], "what": ["i0", "i1", "i3", "i3", "i4", "i4"]})
    release = sf.anonymize_sets(sf.read_sets(frame, hierarchy=TREE), sf.KmAnonymity(2, 1), seed=1)
    assert release.published.names == ("g0", "i3", "i4")
    sf.save_sets(release, tmp_path / "out")
    rewrite(tmp_path / "out", (tmp_path / "out" / "sets.csv").read_text().replace("i4", "g1"))
    assert "item within a class" in broken(tmp_path / "out")
    change(tmp_path / "out", lambda content: content["structure"].update(broader={"i3": "g0", "g0": "i3"}))
    assert "in a circle" in broken(tmp_path / "out")


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content.update(models=[{"name": "km-anonymity", "k": 2, "m": 1}]),
        lambda content: content["structure"].update(quasi_identifying=[]),
        lambda content: content["structure"].update(records=1),
        lambda content: content["structure"].update(records=61),
        lambda content: content["structure"].update(records=True),
        lambda content: content["structure"].update(broader=[]),
        lambda content: content.update(models=[]),
        lambda content: content.update(models=[{"name": "km-anonymity", "k": 0, "m": 1}]),
        lambda content: content.update(models=[{"name": "unheard-of"}]),
        lambda content: content.update(format=99),
        lambda content: content.update(suppression_limit=0.5),
        lambda content: content["tables"]["sets"].update(file="../sets.csv"),
        lambda content: content["tables"].pop("records"),
        lambda content: content.update(kind="ratings"),
    ],
)
def test_a_changed_description_is_not_believed(with_ages: Path, edit: Callable[[dict[str, Any]], object]):
    change(with_ages, edit)
    try:
        is_ok = sf.verify(with_ages).ok
    except VerificationError:
        is_ok = False
    assert not is_ok


@pytest.mark.parametrize(
    "text", ["record,item\n1.5,a\n", "record,item\n,a\n", "record,thing\n1,a\n", "record,item\n99,a\n"]
)
def test_a_changed_table_is_not_read(folder: Path, text: str):
    rewrite(folder, text)
    with pytest.raises(VerificationError):
        sf.verify(folder)


def test_nothing_of_the_stewards_is_in_the_folder(with_ages: Path):
    text = "".join(path.read_text() for path in with_ages.iterdir())
    assert "klient" not in text
    report = json.loads((with_ages / "report.json").read_text())
    assert "figures" not in report
    assert not report["notes"]
    published = set(pl.read_csv(with_ages / "sets.csv")["item"])
    # Names below what is published would tell what somebody has.
    assert not ({f"i{number}" for number in range(9)} - published) & set(text.replace('"', " ").split())


def test_figures_are_for_the_steward():
    release = released(beside=True)
    report = release.report
    assert report.figures["ncp"] == release.loss.ncp > 0
    assert 0 <= report.figures["columns_ncp"] <= 1
    assert "information loss (NCP)" in str(release)
    assert release.to_dict()["loss"]["held"] == release.loss.held  # type: ignore[index]


def test_items_like_formulas_are_escaped(tmp_path: Path):
    frame = pl.DataFrame({"who": [1, 2, 3, 4], "what": ["=a", "=a", "b", "b"]})
    release = sf.anonymize_sets(sf.read_sets(frame), sf.KmAnonymity(2, 1), seed=1)
    sf.save_sets(release, tmp_path / "kept")
    sf.save_sets(release, tmp_path / "escaped", formulas="escape")
    assert "'=a" in (tmp_path / "escaped" / "sets.csv").read_text()
    assert sf.verify(tmp_path / "escaped").ok
    with pytest.raises(PolicyError, match="beginning with"):
        sf.save_sets(release, tmp_path / "refused", formulas="refuse")


def test_a_policy_says_what_a_call_says(tmp_path: Path):
    (tmp_path / "goods.csv").write_text("".join(f"i{number};g{number // 3}\n" for number in range(9)))
    (tmp_path / "sets.toml").write_text(
        'purpose = "study"\n[sets]\nhierarchy = "goods.csv"\n[columns]\nquasi-identifying = ["age"]\n'
        '[model]\nk = 4\nm = 2\n[change]\nclass-size = 20\n[anonymizer]\nname = "k-member"\n'
    )
    policy = sf.SetPolicy.from_file(tmp_path / "sets.toml")
    policy.to_file(tmp_path / "again.toml")
    assert sf.SetPolicy.from_file(tmp_path / "again.toml") == policy
    release = sf.anonymize_sets(sf.read_sets(table(), **policy.reading()), policy, seed=1)
    sf.save_sets(release, tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    told = (tmp_path / "out" / "policy.toml").read_text()
    assert "withheld" in told
    assert "goods.csv" not in told
    same = released(beside=True, class_size=20, anonymizer=sf.KMember())
    assert same.to_frame().equals(release.to_frame())
    with pytest.raises(PolicyError, match="class_size: the policy says another one"):
        sf.anonymize_sets(sf.read_sets(table(), **policy.reading()), policy, class_size=5)
    with pytest.raises(PolicyError, match="other columns beside the sets"):
        sf.anonymize_sets(sf.read_sets(table(), hierarchy=TREE), policy)
    assert "columns" in sf.SetPolicy.json_schema()["properties"]


def test_a_policy_names_every_mistake():
    with pytest.raises(PolicyError) as caught:
        sf.SetPolicy.from_mapping(
            {"model": {"k": 0, "m": 2}, "sets": {"form": "flat"}, "change": {"method": "x"}, "y": 1}
        )
    assert len(caught.value.problems) == 4


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": sf.KmAnonymity(2, 9)}, ["m is 9, but the largest set has 3 items"]),
        ({"method": "optimal", "hierarchy": None}, ["generalizes items, which have no hierarchy"]),
        ({"class_size": 9}, ["class_size is about columns beside the sets"]),
        ({"anonymizer": sf.Mondrian}, ["anonymizer makes no classes"]),
        ({"anonymizer": sf.Bucketization()}, ["anonymizer makes no classes"]),
        ({"method": "magic", "seed": -1, "class_size": "9"}, ["method must be", "class_size must be", "seed"]),
        (
            {"model": sf.KmAnonymity(99, 9), "method": "apriori", "hierarchy": None, "class_size": 9},
            ["m is 9", "no hierarchy", "beside the sets", "less than k = 99", "60 records, fewer than k = 99"],
        ),
    ],
)  # fmt: skip
def test_wrong_settings_are_told_together(settings: dict[str, Any], said: list[str]):
    settings = {"model": sf.KmAnonymity(2, 2), "hierarchy": TREE, **settings}
    sets = sf.read_sets(table(), hierarchy=settings.pop("hierarchy"))
    with pytest.raises(PolicyError) as caught:
        sf.anonymize_sets(sets, settings.pop("model"), **settings)
    told = "\n".join(caught.value.problems)
    assert all(words in told for words in said)


def test_what_cannot_be_met_is_said():
    sets = sf.read_sets(table(), hierarchy=TREE)
    with pytest.raises(UnsatisfiableError, match="60 records, fewer than k = 61"):
        sf.anonymize_sets(sets, sf.KmAnonymity(61, 1))
    few = sf.read_sets(pl.DataFrame({"who": [1, 2, 3], "what": ["i1", None, None]}), hierarchy=TREE)
    with pytest.raises(UnsatisfiableError, match="1 set with any item, fewer than k = 2"):
        sf.anonymize_sets(few, sf.KmAnonymity(2, 1), method="apriori")
    for method in ("mixed", "suppress"):
        with pytest.raises(UnsatisfiableError, match="no item could be published"):
            sf.anonymize_sets(few, sf.KmAnonymity(2, 1), method=method)  # type: ignore[arg-type]
    empty = sf.read_sets(pl.DataFrame({"who": [1], "what": [None]}, schema_overrides={"what": pl.String}))
    with pytest.raises(PolicyError, match="every set is empty"):
        sf.anonymize_sets(empty, sf.KmAnonymity(1, 1))


def test_a_series_and_a_plain_use_refuse_sets(folder: Path):
    with pytest.raises(VerificationError, match="of a release of sets, which can be verified"):
        sf.measure(table(), str(folder))  # type: ignore[arg-type]


def test_what_nobody_could_recount_is_not_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(set_check, "MOST_COMBINATIONS", 5)
    with pytest.raises(InputError, match="too many to count; lower m"):
        released(hierarchy=None)
