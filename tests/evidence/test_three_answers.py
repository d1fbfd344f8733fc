"""Three answers: every attack stands under its question, and a question that nothing answers says why."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.evidence.content import QUESTIONS, answers_content
from sfumato.evidence.of_kinds import _joined
from sfumato.kinds.private_sample.policy import PrivateSamplePolicy
from sfumato.registry import OWN_KINDS, loaded
from sfumato.series.attacks import Played, attack_releases

TABLES = {"columns": {"quasi-identifying": ["a"]}, "models": [{"name": "k-anonymity", "k": 2}]}
CONTEXT = """
[context]
recipient = "everybody"
purpose = "study"
public = true
other-data = "none"
"""


def baskets(folder: Path, odd: str = "crisps") -> Path:
    goods = ["ale", "rolls", "lager", "rye", "crisps"]
    rows = [f"p{one},{goods[(one + shift) % 4]}" for one in range(24) for shift in range(1 + one % 3)]
    file = folder / f"{odd}.csv"
    file.write_text("\n".join(["customer,good", *rows, *(f"p{one},{odd}" for one in range(2))]) + "\n")
    return file


@pytest.fixture(scope="module")
def sold(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    home = tmp_path_factory.mktemp("sold")
    policy = home / "sets.toml"
    policy.write_text("[model]\nk = 3\nm = 1\n" + CONTEXT)
    file = baskets(home)
    release = sf.anonymize_sets(sf.read_sets(file), sf.KmAnonymity(3, 1), seed=1)
    return sf.save_sets(release, home / "release"), file, policy


def answers(content: dict[str, Any]) -> dict[str, Any]:
    return {one["question"]: one for one in content["answers"]}


def test_sets_are_attacked_and_what_is_not_says_why(sold):
    folder, file, policy = sold
    made = sf.report(folder, file, policy=policy, seed=1)
    content, public = made.to_dict(), made.to_dict("public")
    found = answers(content)
    assert [one["attack"] for one in found["singling out"]["played"]] == ["known-items"] * 4
    assert found["singling out"]["played"][0]["success"]["baseline"] == pytest.approx(1 / 24)
    for name in ("linkability", "inference"):
        assert found[name]["sentence"].startswith("Not played: ")
        assert not found[name]["is_played"]
    assert "What was made is the release, record for record." in " ".join(content["limits"])
    # The person most at risk is bounded by the promise, and stands beside what the recipient may accept.
    before, after = content["context"]["success"]
    assert (before["stage"], after["stage"]) == ("before", "after")
    assert before["maximum"] == pytest.approx(1 / 2)  # two people have the rarest good
    assert after["maximum"] == pytest.approx(1 / 3)
    knows = found["singling out"]["played"][0]["knows"]
    assert "1 of a person's items" in content["context"]["knows"]
    assert all("quasi-identifying columns and no others" not in one for one in content["summary"])
    assert f"known-items ({knows}" in " ".join(content["summary"])
    assert content["context"]["verdict"]["outcome"] == "exceeded"
    other = sf.report(folder, baskets(folder.parent, "wine"), policy=policy, seed=1)
    # Another original that publishes the same: nothing for others depends on it.
    assert other.to_dict("public") == public
    assert other.html("public") == made.html("public")
    third = sf.report(folder, baskets(folder.parent, "ale"), policy=policy, seed=1).to_dict()
    assert "differs from the release" in " ".join(third["limits"])
    for page in (made.html(), made.short_html(), made.short_html("public")):
        assert "Singling out" in page
    assert "known-items" not in made.html("public")


def test_what_is_for_tables_is_refused(sold):
    folder, file, _ = sold
    with pytest.raises(sf.PolicyError, match="bound: is for releases of tables"):
        sf.report(folder, file, bound=True)
    with pytest.raises(sf.PolicyError, match="control: no attack on sets"):
        sf.report(folder, file, control=file)
    with pytest.raises(sf.PolicyError, match="policy: name the file"):
        sf.report(folder, file, policy=sf.Policy.from_mapping(TABLES))


def test_every_kind_finds_evidence_and_says_its_limits():
    for kind in OWN_KINDS.values():
        assert kind.evidence
        assert loaded(kind.release).limits
    assert set(QUESTIONS) == {"singling out", "linkability", "inference", "membership"}


def test_each_attack_on_a_table_stands_under_one_question():
    rows = {"age": [20 + one % 4 for one in range(40)], "ill": [["flu", "cough", "gout"][one % 3] for one in range(40)]}
    table = sf.read_table(pl.DataFrame(rows), sf.Schema(quasi_identifying=["age"], sensitive=["ill"]))
    release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    content = sf.report(release, table, seed=1).to_dict()
    listed = [one["attack"] for each in content["answers"] for one in (*each["played"], *each["unplayed"])]
    results, unplayed = content["attacks"]["results"], content["attacks"]["unplayed"]
    known = {name for question in QUESTIONS.values() for name in question.attacks}
    assert sorted(listed) == sorted(
        [*(one["attack"] for one in results), *(name for name in unplayed if name in known)]
    )
    nothing = answers(sf.report(release).to_dict())
    assert nothing["inference"]["sentence"] == (
        "Not played: who is right is known by the original alone. The steward plays it with --original."
    )


def test_an_attack_with_two_scores_is_one_attack():
    """What is guessed beside sensitive columns is named, and no count says more than there is."""
    success = {"people": 9, "share": 0.5, "low": 0.4, "high": 0.6, "baseline": 0.3}
    same = {"knows": "", "goal": "", "success": success, "allowed": None, "surest": "", "notes": [], "unplayed": None}
    same["guessing"] = 0.3
    played = [
        {**same, "attack": attack, "headline": headline, "succeeds": headline == "succeeds", "is_allowed": allowed}
        for attack, headline, allowed in (
            ("homogeneity", "succeeds", False),
            ("homogeneity", "succeeds", False),
            ("skewness", "succeeds", True),
            ("attribute-inference: flag", "does no better than guessing", False),
        )
    ]
    content = {
        "attacks": {"results": played, "unplayed": {}},
        "columns": [{"name": "ill", "role": "sensitive"}],
        "kind": {"name": "generalized-table"},
        "records": {"original": 9},
        "earlier": [],
    }
    found = {one["question"]: one for one in answers_content(content)}["inference"]
    assert found["sentence"] == "2 of 3 attacks succeed; no promise limits homogeneity."
    assert found["limits"][0] == "These attacks are about ill, flag alone."


FOREIGN = {
    "columns": {"identifying": ["name"], "quasi-identifying": ["age", "town"], "sensitive": ["ill"], "others": "drop"},
    "models": [{"name": "k-anonymity", "k": 3}],
}


LEDGER = "the ledger of the series"


def people(folder: Path, odd: int = 31) -> tuple[Path, Path]:
    """Write an original, and a table that another program published of it: ages in tens, towns left out."""
    ages = [odd, *(20 + one % 20 for one in range(1, 60))]
    ill = [["flu", "cough", "gout"][one % 3] for one in range(60)]
    original, file = folder / f"original-{odd}.csv", folder / "foreign.csv"
    towns = [["Ulm", "Bonn"][one % 2] for one in range(60)]
    pl.DataFrame({"name": [f"p{one}" for one in range(60)], "age": ages, "town": towns, "ill": ill}).write_csv(original)
    bands = [f"[{age // 10 * 10}..{age // 10 * 10 + 9}]" for age in ages]
    pl.DataFrame({"age": bands, "ill": ill}).write_csv(file)
    return original, file


def test_a_file_of_another_program_gets_the_same_answers(tmp_path):
    policy = sf.Policy.from_mapping(FOREIGN)
    made = {}
    for odd in (31, 38):
        original, file = people(tmp_path, odd)
        made[odd] = sf.report(file, policy.read(original), policy=policy, seed=1)
    content = made[31].to_dict()
    assert [one["outcome"] for one in content["promises"]] == ["holds"]
    found = answers(content)
    assert found["singling out"]["is_played"]
    assert found["inference"]["is_played"]
    sizes = pl.read_csv(file).group_by("age").len()["len"]
    assert content["risk"]["after"]["highest"] == pytest.approx(1 / sizes.min())
    # Two originals that publish the same file: nothing for others tells them apart.
    assert made[31].content["risk"]["before"] != made[38].content["risk"]["before"]
    assert made[31].to_dict("public") == made[38].to_dict("public")
    assert made[31].html("public") == made[38].html("public")
    said = "Nobody promises anything of this file. Recounted from it, it keeps what the policy asks: k-anonymity"
    for edition in ("internal", "public"):
        assert made[31].to_dict(edition)["summary"][0].startswith(said)
        assert "This release promises" not in made[31].html(edition) + made[31].short_html(edition)
    # Nobody is told to recount a folder that is not there.
    assert "sfumato verify FOLDER" not in made[31].html() + made[31].short_html()


def test_a_file_that_does_not_keep_what_is_asked_excuses_no_attack(tmp_path):
    original, file = people(tmp_path)
    policy = sf.Policy.from_mapping({**FOREIGN, "models": [{"name": "k-anonymity", "k": 59}]})
    content = sf.report(file, policy.read(original), policy=policy, seed=1).to_dict()
    assert content["summary"][0] == "The file does not keep what the policy asks: k-anonymity (k=59)."
    assert content["doubts"]
    assert {one["allowed"] for one in content["attacks"]["results"]} == {None}


def test_a_file_with_names_or_unknown_columns_is_refused_and_values_at_random_are_taken_for_such(tmp_path):
    original, file = people(tmp_path)
    policy = sf.Policy.from_mapping(FOREIGN)
    pl.read_csv(original).with_columns(pl.lit(1).alias("more")).write_csv(file)
    with pytest.raises(sf.InputError, match=r"publishes 'name'.*\n.*5 \(by number\)"):
        sf.report(file, policy.read(original), policy=policy)
    pl.read_csv(original).select(pl.col("age") + 1, "town", "ill").write_csv(file)
    noisy = {"columns": FOREIGN["columns"], "anonymizer": {"name": "noise"}}
    found = sf.report(file, policy.read(original), policy=sf.Policy.from_mapping(noisy), seed=1).to_dict()
    assert found["kind"]["name"] == "randomized-table"
    assert answers(found)["singling out"]["is_played"]
    with pytest.raises(sf.InputError, match="give the original and a policy"):
        sf.report(file)


def test_a_series_is_answered_by_what_joins_its_releases(tmp_path):
    original, _ = people(tmp_path)
    months = []
    for number, rows in enumerate((slice(0, 30), slice(30, 45), slice(45, 60)), 1):
        months.append(tmp_path / f"month-{number}.csv")
        months[-1].write_text("\n".join([(lines := original.read_text().splitlines())[0], *lines[1:][rows]]) + "\n")
    policy = sf.Policy.from_mapping(FOREIGN)
    series = sf.Series.start(tmp_path / "series", policy, table=months[0], key="name")
    for month in months[1:]:
        series.append(month)
    made = sf.report(tmp_path / "series", months, policy=policy, seed=1)
    found = answers(made.to_dict())["linkability"]
    twin = attack_releases(series.releases, months, policy)
    assert {(one["attack"], one["success"]["people"], one["success"]["successes"]) for one in found["played"]} == {
        (f"series: {one.attack}", one.cases, one.below) for one in twin.played if one.cases
    }
    assert found["sentence"] == "None of 5 attacks succeeds."
    assert made.content["records"] == {"original": 60, "published": 60}
    assert made.content["one_each"].startswith("The original has one record per person, if name says")
    assert [one["name"] for one in made.content["columns"] if one["role"] == "identifying"] == ["name"]
    assert [one["name"] for one in made.content["stays"]] == [*(month.name for month in months), LEDGER]
    assert [*made.content["files"]] == ["0003/data.csv"]
    assert [one["release"] for one in made.content["earlier"]] == ["0001", "0002"]
    assert "intersection" not in made.content["attacks"]["unplayed"]
    assert "No earlier release" not in made.short_html()
    assert "last of 3 releases" in made.to_dict("public")["limits"][0]
    with pytest.raises(sf.InputError, match="is a series; give the policy"):
        sf.report(tmp_path / "series")
    # Where rows are fewer than promised, the attack succeeds, whatever its interval.
    fallen = _joined(Played("tracing", 50, 1, 1, below=1), twin)
    assert (fallen.verdict, fallen.is_allowed) == ("succeeds", False)


DECLARED = """[columns]
others = "drop"
quasi-identifying = { age = { domain = [0, 100] }, sex = { domain = ["f", "m"] } }
sensitive = { ill = { domain = ["flu", "cough"] } }
[model]
epsilon = 2
delta = 1e-4
[sampling]
bins = { age = 4 }
"""


def patients(folder: Path, first: int) -> Path:
    rows = [
        f"{one * 7 % 100},{'fm'[one % 2]},{['flu', 'cough'][one * 5 % 3 // 2]}" for one in range(first, first + 400)
    ]
    file = folder / f"{first}.csv"
    file.write_text("\n".join(["age,sex,ill", *rows]) + "\n")
    return file


def test_a_private_sample_is_held_against_its_groups_and_against_people_outside(tmp_path):
    """Who is picked is bounded by the smallest group; what holds of people outside as well is no success."""
    (tmp_path / "policy.toml").write_text(DECLARED + CONTEXT)
    policy = PrivateSamplePolicy.from_mapping(tomllib.loads(DECLARED))
    original, outside = patients(tmp_path, 0), patients(tmp_path, 7000)
    release = sf.publish_private_sample(sf.read_table(original, policy), policy)
    folder = sf.save_private_sample(release, tmp_path / "sample")
    made = sf.report(folder, original, policy=tmp_path / "policy.toml", control=outside, seed=1)
    least = 1 / release.published.smallest()
    played = {one["attack"]: one for one in made.content["attacks"]["results"]}
    assert (played["linkage"]["allowed"], played["attribute-inference"]["allowed"]) == (least, None)
    assert played["membership-inference"]["success"]["people"] > 0
    assert played["attribute-inference"]["control"]["people"] == 400
    assert made.content["context"]["verdict"]["outcome"] == ("kept" if least <= 0.09 else "exceeded")
    assert "The steward answers for it." in made.to_dict()["summary"][0]
    assert [one["name"] for one in made.content["stays"]] == ["0.csv", "7000.csv"]
    assert "7000.csv" not in made.html("public")
