"""The report: what stands in it, what the public edition leaves out, and what it refuses."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import drawing
from sfumato.evidence import content as page
from sfumato.evidence.content import promise_in_words
from sfumato.evidence.release_report import doubts_of, summary_of
from sfumato.evidence.standards import annex_section, texts
from sfumato.evidence.subgroups import starred_shares, suppressed_subgroups
from sfumato.models import MODELS as KNOWN
from sfumato.published import KINDS as KNOWN_KINDS

PLACES = ["Aa", "Ab", "Ba", "Bb"]


def people(count: int, seed: int = 3) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draw.integers(20, 70, count),
            "place": draw.choice(PLACES, count, p=[0.4, 0.3, 0.2, 0.1]),
            "illness": draw.choice(["flu", "cold", "gout", "cough"], count),
            "visits": draw.integers(0, 9, count),
        }
    )


SCHEMA = sf.Schema(
    quasi_identifying={"age": sf.intervals(5, 20), "place": sf.prefixes(1)},
    sensitive=["illness"],
    insensitive=["visits"],
)


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return sf.read_table(people(400), SCHEMA)


@pytest.fixture(scope="module")
def release(table: sf.Table) -> sf.Release:
    models = [sf.KAnonymity(5), sf.DistinctLDiversity(2)]
    return sf.anonymize(table, models, anonymizer=sf.Datafly(), suppression_limit=0.1, seed=1)


@pytest.fixture(scope="module")
def report(release: sf.Release, table: sf.Table) -> sf.ReleaseReport:
    control = sf.read_table(people(200, 9), SCHEMA)
    return sf.report(release, table, control=control, bound=True, seed=1)


class Page(HTMLParser):
    """Collects what a page would load or run, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_everything_is_measured_and_agrees_with_the_verbs(report, release, table):
    told = report.to_dict()
    assert told["losses"]["normalized_ncp"] == pytest.approx(release.report.losses.normalized_ncp, rel=1e-5)
    assert told["risk"]["before"]["highest"] == sf.risk(table).prosecutor.highest
    assert told["risk"]["after"]["highest"] == sf.risk(release).prosecutor.highest
    assert told["bound"]["normalized_ncp"] == sf.lower_bound(table, 5)
    assert told["records"] == {"original": 400, "published": release.data.height}
    assert [promise["outcome"] for promise in told["promises"]][:2] == ["holds", "holds"]
    assert {"linkage", "homogeneity"} <= {result["attack"] for result in told["attacks"]["results"]}
    assert told["attacks"]["control"] == 200
    assert [column["role"] for column in told["columns"]] == [
        "quasi-identifying", "quasi-identifying", "sensitive", "insensitive",
    ]  # fmt: skip
    assert json.loads(json.dumps(told)) == told


def test_what_was_left_out_and_what_is_published_of_each_column_is_named(release, table):
    dropping = sf.Schema(
        quasi_identifying=SCHEMA.quasi_identifying, sensitive=["illness"], insensitive=["visits"], others="drop"
    )
    original = sf.read_table(people(400).with_columns(ward=pl.lit("x"), mail=pl.lit("y")), dropping)
    made = sf.report(release, original, attacks=False, seed=1)
    assert "left out: ward, mail." in " ".join(Page(made.html()).words)
    assert {one["name"]: one["published"] for one in made.to_dict()["columns"]} == {
        name: release.data[name].n_unique() for name in release.data.columns
    }
    after, sizes = made.to_dict()["risk"]["after"], release.data.group_by("age", "place").len()["len"]
    assert (after["classes"], after["smallest"]) == (len(sizes), sizes.min())
    public = made.to_dict("public")
    assert (public["dropped"], public["subgroups"]) == ([], [])


def test_the_page_needs_nothing_else(report):
    for edition in ("internal", "public"):
        shown = Page(report.html(edition))
        assert "script" not in shown.tags
        assert all(link.startswith("#") for link in shown.loads)
        text = " ".join(shown.words)
        for part in ("What is promised", "Attacks", "does not protect against", "Signed", "k-anonymity"):
            assert part in text
    assert shown.tags.count("svg") == 0
    assert len(report.html().encode()) < 2_000_000


def test_ids_of_drawings_do_not_collide(report):
    text = report.html()
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)) > 50
    used = re.findall(r"url\(#([^)]+)\)|xlink:href=\"#([^\"]+)\"", text)
    assert {first or second for first, second in used} <= set(ids)


def test_curves_of_beliefs_are_drawn(report, release, table):
    results = report.to_dict()["attacks"]["results"]
    held = {result["attack"] for result in results if "curve" in result}
    assert {"attribute-inference", "homogeneity", "background-knowledge"} <= held
    page = report.html()
    assert "An average hides who is found" in page
    assert "on people not in the data" in page
    assert "Nobody to compare with (minimality): people who are not in the data are in no class." in page
    assert "there is no control group" not in page
    assert report.to_dict("public")["attacks"] is None
    alone = sf.report(release, table, seed=1).html()
    held = "attribute-inference, background-knowledge, homogeneity, singling-out"
    shown = re.search(r"Nobody to compare with \(([a-z, -]+)\): there is no control group", alone)
    assert shown is not None
    assert ", ".join(sorted(shown[1].split(", "))) == held


def test_the_public_edition_says_nothing_that_was_counted_on_the_original(report):
    told = report.to_dict("public")
    for part in ("losses", "bound", "utility"):
        assert told[part] is None
    assert told["described"] == []
    assert set(told["risk"]) == {"after"}
    assert told["records"]["original"] is None
    assert all(column["distinct"] is None for column in told["columns"])
    assert told["suppression"]["subgroups"] == []
    assert told["attacks"] is None
    text = json.dumps(told)
    internal = report.to_dict()
    for figure in (internal["losses"]["normalized_ncp"], internal["bound"]["normalized_ncp"]):
        assert str(figure) not in text
    assert "steward alone" not in report.html("public")
    assert "steward alone" in report.html()
    assert "standard deviation before" not in report.html("public")


def test_means_before_and_after_are_for_the_steward(report):
    described = report.to_dict()["described"]
    assert described
    for column in described:
        assert set(column["before"]) == set(column["after"]) == {"mean", "deviation", "gini"}
        assert column["before"]["deviation"] > 0
    page = report.html()
    assert "standard deviation before" in page
    assert f"<td>{described[0]['column']}</td>" in page


def test_small_counts_are_masked():
    from sfumato.evidence.release_report import public_edition

    above = [{"threshold": "0.2", "source": "", "records": 3, "share": 0.01}]
    risk = {"highest": 0.5, "average": 0.1, "unique": 9, "records": 300, "classes": 40, "above": above}
    content: dict[str, Any] = dict.fromkeys(("attacks", "suppression", "losses", "bound", "utility"))
    content |= {"records": {"original": 310, "published": 300}, "columns": [], "earlier": [], "published_policy": ""}
    told = public_edition({**content, "risk": {"after": risk}})
    assert told["risk"]["after"]["unique"] == "fewer than 10"
    assert told["risk"]["after"]["above"][0]["records"] == "fewer than 10"
    assert told["records"]["published"] == 300


def test_a_folder_is_recounted_and_a_changed_one_refused(release, table, tmp_path):
    folder = release.save(tmp_path / "release")
    told = sf.report(folder, table, attacks=False, seed=1).to_dict()
    assert list(told["files"]) == ["data.csv"]
    assert told["attacks"] is None
    data = folder / "data.csv"
    data.write_text(data.read_text().replace("flu", "cold", 1))
    with pytest.raises(sf.VerificationError, match="no report is written"):
        sf.report(folder, table)
    with pytest.raises(sf.VerificationError, match="no such release folder"):
        sf.report(tmp_path / "nothing", table)


def test_without_an_original_only_the_release_is_told(release):
    told = sf.report(release).to_dict()
    assert (told["attacks"], told["utility"], told["losses"] is None) == (None, None, False)
    assert set(told["risk"]) == {"after"}
    assert "No attack was played." in told["summary"]
    assert sf.report(release).html()


def test_other_kinds_have_a_report_too(table):
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=sf.Bucketization(), seed=1)
    made = sf.report(release, table, attacks=False, seed=1)
    told = made.to_dict()
    assert told["kind"]["name"] == "bucketized-tables"
    assert set(release.published.limits) < set(told["limits"])
    assert "after" not in told["risk"]
    assert made.html()
    assert made.html("public")


def test_a_table_without_any_value_has_a_report():
    frame = pl.DataFrame({"age": [None] * 6, "place": ["Aa"] * 6}, schema={"age": pl.Int64, "place": pl.String})
    nothing = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], insensitive=["place"]))
    made = sf.report(sf.anonymize(nothing, sf.KAnonymity(2), seed=1), nothing, attacks=False, seed=1)
    assert made.to_dict()["utility"] is None
    assert made.html()


def test_verdicts_are_three_and_stand_on_the_page(release, table):
    """Thirty people who are not in the data are too few to judge some attacks by."""
    report = sf.report(release, table, control=sf.read_table(people(30, 9), SCHEMA), seed=1)
    results = report.to_dict()["attacks"]["results"]
    ranks = {"succeeds": 0, "undecided": 1, "no better": 2}
    order = [ranks[result["verdict"]] for result in results if result["unplayed"] is None]
    assert order == sorted(order)
    assert {0, 1, 2} == set(order)
    internal, public = report.html(), report.html("public")
    for words in (">succeeds<", ">undecided<", ">does no better than guessing<"):
        assert words in internal
        assert words not in public
    assert "would decide it" in internal
    legend = internal.split("<h2>Attacks that were played</h2>")[1].split("</figure>")[0]
    for words in ("succeeds", "does no better than guessing", "undecided"):
        assert f">{words}</text>" in legend
    assert "What the steward&#39;s attacks found depends on the original." in public


@pytest.mark.parametrize(
    ("results", "said", "doubts"),
    [
        ([], "None of 0 attacks succeeds.", False),
        (["no better"], "None of 1 attack succeeds.", False),
        (["undecided"], "None of 1 attack is known to succeed; undecided: one.", True),
        (
            ["succeeds", "undecided"],
            "1 of 2 attacks succeeds; no promise limits one; undecided: two.",
            True,
        ),
        (["unplayed", "no better"], "None of 1 attack succeeds.", False),
        # One attack of three scores.
        (
            ["no better", "succeeds", "two: undecided"],
            "1 of 2 attacks succeeds; no promise limits two.",
            True,
        ),
    ],
)
def test_the_summary_says_what_is_undecided(results, said, doubts):
    told = [
        {
            "attack": name,
            "knows": "",
            "verdict": "undecided" if verdict == "unplayed" else verdict,
            "headline": verdict,
            "succeeds": verdict == "succeeds",
            "is_allowed": False,
            "unplayed": "of time" if verdict == "unplayed" else None,
        }
        for name, verdict in zip(("one", "two", "two"), (one.removeprefix("two: ") for one in results), strict=False)
    ]
    content = {"attacks": {"results": told}, "promises": [], "earlier": [], "risk": None, "losses": None}
    assert said in summary_of(content)
    assert doubts_of(content) == doubts


@pytest.mark.slow
def test_earlier_releases_are_intersected(release, table):
    other = sf.anonymize(table, sf.KAnonymity(2), seed=2)
    told = sf.report(release, table, earlier=[other], seed=1).to_dict()
    assert told["earlier"][0]["holds"] is True
    assert told["earlier"][0]["attacks"][0]["attack"] == "intersection"
    assert "intersecting the two" in sf.report(release, table, earlier=[other], seed=1).html()


def test_what_is_wrong_is_said(release, table, tmp_path):
    with pytest.raises(sf.InputError, match="original: is not a Table"):
        sf.report(release, people(10))  # type: ignore[arg-type]
    with pytest.raises(sf.InputError, match="no such release folder"):
        sf.report(release, table, earlier=[tmp_path / "gone"])
    made = sf.report(release, attacks=False)
    with pytest.raises(sf.PolicyError, match="edition"):
        made.html("secret")  # type: ignore[arg-type]
    target = made.save(tmp_path / "report.html")
    with pytest.raises(sf.InputError, match="already exists"):
        made.save(target)
    assert made.save(target, overwrite=True) == target
    assert json.loads(made.save(tmp_path / "report.json", "public").read_text())["edition"] == "public"
    with pytest.raises(sf.InputError, match="cannot be written"):
        made.save(tmp_path / "nowhere" / "report.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.json"]


@pytest.mark.parametrize(("module", "name"), [(page, "import_module"), (drawing, "import_module")])
def test_missing_libraries_are_named(release, table, monkeypatch, module, name):
    def missing(wanted: str) -> Any:
        raise ImportError(wanted)

    monkeypatch.setattr(module, name, missing)
    with pytest.raises(sf.PolicyError, match=r"sfumato\[report\]"):
        sf.report(release, table, attacks=False, seed=1).html()


def test_suppressed_subgroups_are_those_that_were_left_out():
    frame = people(400).with_columns(place=pl.when(pl.int_range(400) < 40).then(pl.lit("Bb")).otherwise(pl.lit("Aa")))
    table = sf.read_table(frame, SCHEMA)
    kept = frame.filter(pl.col("place") != "Bb").with_columns(age=pl.lit("*"))
    published = KNOWN_KINDS["generalized-table"](kept, ("age", "place"), ("illness",))
    found = {
        group.group: group
        for group in suppressed_subgroups(published, table, sf.Recoding(), 10)
        if group.attribute == "place"
    }
    assert found["Bb"].suppressed == 1
    assert found["Aa"].suppressed == pytest.approx(0)
    assert [found["Aa"].records, found["Bb"].records] == [360, 40]
    assert starred_shares(published) == {"age": 1.0, "place": 0.0}
    few = suppressed_subgroups(published, table, sf.Recoding(), 41)
    assert "Bb" not in {group.group for group in few}


def test_every_model_and_kind_has_words():
    assert all(model.in_words for model in KNOWN.values())
    assert set(texts("kinds")) == set(KNOWN_KINDS)
    assert "at least 5 people" in promise_in_words({"name": "k-anonymity", "k": 5})
    assert promise_in_words({"name": "something-new", "x": 1}) == "something-new"
    assert promise_in_words({"name": "k-anonymity"}) == "k-anonymity"


def test_markup_in_texts_stays_text(table, release, tmp_path):
    own = tomllib.loads(release.policy)
    policy = sf.Policy.from_mapping({**own, "purpose": "<script>alert(1)</script>"})
    text = sf.report(release, policy=policy, attacks=False).html()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_a_policy_that_says_otherwise_than_the_release_is_refused(release):
    own = tomllib.loads(release.policy)
    other = {"suppression-limit": 0.75, "refine": 3, "models": [{"name": "k-anonymity", "k": 25}]}
    for name, value in {**other, "anonymizer": {"name": "kaca"}}.items():
        with pytest.raises(sf.PolicyError, match=f"policy, {name}: not what the policy.toml of the release says"):
            sf.report(release, policy=sf.Policy.from_mapping({**own, name: value}), attacks=False)


def test_it_is_saved_beside_and_renamed(release, tmp_path, monkeypatch):
    made = sf.report(release, attacks=False)

    def full(self: Path, *_: Any, **__: Any) -> None:
        raise OSError(28, "full")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(sf.InputError, match="No space left"):
        made.save(tmp_path / "report.json")
    assert list(tmp_path.iterdir()) == []


def test_the_public_edition_says_nothing_that_was_counted_of_people():
    frame = people(60).with_columns(who=pl.int_range(60) // 2)
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["illness"], person="who", others="drop")
    made = sf.report(sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(3)))
    editions = {edition: made.to_dict(edition)["promises"][0] for edition in ("internal", "public")}
    assert editions["internal"]["achieved"]
    assert editions["public"] == {**editions["internal"], "achieved": []}
    assert "one row for each person" not in made.html("internal").lower()


def test_attacks_on_people_say_what_they_count(table, release):
    frame = people(60).with_columns(who=pl.int_range(60) // 2)
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["illness"], person="who", others="drop")
    original = sf.read_table(frame, schema)
    told = "Counted are people, by all records that are known of them"
    made = sf.report(sf.anonymize(original, sf.KAnonymity(3), seed=1), original, seed=1)
    assert told in made.html()
    attacks = made.to_dict()["attacks"]
    assert (attacks["people"], attacks["records"]) == (30, 60)
    counted = {result["attack"]: result["counts"] for result in attacks["results"]}
    assert counted["linkage"] == "people"
    assert told not in sf.report(release, table, seed=1).html()


def test_a_column_that_repeats_like_a_key_is_told_of(tmp_path):
    frame = people(200).with_columns(client=pl.Series([f"c{row // 3}" for row in range(200)]))
    schema = sf.Schema(identifying=["client"], quasi_identifying=["age", "place"], sensitive=["illness"], others="drop")
    original = sf.read_table(frame, schema)
    folder = sf.anonymize(original, sf.KAnonymity(5), seed=1).save(tmp_path / "out")
    made = sf.report(folder, original, attacks=False, seed=1)
    told = made.to_dict()
    assert told["doubts"]
    assert "Column 'client' repeats: 200 records have 67 values." in str(made)
    # Counted by hand: no two classes cover a record, so that every class is known.
    noted = next(note for note in sf.anonymize(original, sf.KAnonymity(5), seed=1).report.notes if "repeats" in note)
    smallest, few = re.findall(r"the smallest class has (\d+) people, and (\d+) of \d+ classes", noted)[0]
    assert f"The smallest has {smallest} people, and {few} have fewer than 5." in str(made)
    assert "If every record is another person" in str(made)
    page = made.html()
    assert "highest risk of a record" in page
    assert "Every record is taken for another person here" in page
    assert not re.search("highest risk of a person|people above|people who look like", page)
    public = " ".join(made.to_dict("public")["summary"])
    assert "If every record is another person" in public
    assert "A person who has several may be found with a higher chance." in public
    assert not {"client", "67"} & {*public.split()}
    assert "highest risk of a person" in sf.report(folder, attacks=False, seed=1).html()


def test_columns_that_no_promise_speaks_of_are_listed_in_both_editions():
    frame = people(300).with_columns(contact=pl.Series([f"secret{number}@x.org" for number in range(300)]))

    def reported(**roles: Any) -> sf.ReleaseReport:
        table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], others="drop", **roles))
        return sf.report(sf.anonymize(table, sf.KAnonymity(5), seed=1), table, seed=1, attacks=False)

    named = reported(insensitive=["visits", "contact"])
    looks = {column["name"]: column["looks"] for column in named.content["unprotected"]}
    assert looks["visits"] is None
    assert "e-mail" in looks["contact"]
    assert doubts_of(named.content)
    assert any("visits, contact" in sentence for sentence in summary_of(named.content))
    shown = {edition: " ".join(Page(named.html(edition)).words) for edition in ("internal", "public")}
    assert all("published as they are" in text and "secret" not in text for text in shown.values())
    assert "e-mail" in shown["internal"]
    assert "e-mail" not in shown["public"]
    approved = reported(insensitive=["visits"], publish=["contact"])
    assert [column["looks"] for column in approved.content["unprotected"]] == [None, None]
    assert not doubts_of(approved.content)


def test_a_promise_is_said_to_cover_a_column_only_where_one_does(table):
    made = {name: sf.anonymize(table, models, seed=1) for name, models in _PROMISES.items()}
    for name, words in (("k alone", "no promise covers it"), ("l, too", "a promise covers it")):
        for edition in ("internal", "public"):
            columns = sf.report(made[name], table, attacks=False).to_dict(edition)["columns"]
            (illness,) = (column for column in columns if column["name"] == "illness")
            assert words in illness["treatment"]


_PROMISES = {"k alone": [sf.KAnonymity(5)], "l, too": [sf.KAnonymity(5), sf.DistinctLDiversity(2)]}


def test_sections_are_numbered_and_answers_point_to_those_that_are_there(report):
    for edition in ("internal", "public"):
        text = report.html(edition)
        numbers = re.findall(r"<h2>(A\d+) ", text)
        assert numbers == [f"A{place}" for place in range(1, 19)]
        assert annex_section("glossary") == numbers[-1]
        assert "in the annex" not in text
        named = {*re.findall(r"section (A\d+)", f"{text}{report.short_html(edition)}")}
        assert named
        assert named <= {*numbers}


def test_a_column_that_no_promise_protects_is_guessed_too(report, release, table):
    played = {one["attack"]: one for one in report.to_dict()["attacks"]["results"]}
    visits = played["attribute-inference: visits"]
    assert visits["success"]["people"] == 400
    assert visits["control"]["people"] == 200
    assert visits["success"]["baseline"] == pytest.approx(max(Counter(table.frame["visits"]).values()) / 400)
    inference = next(one for one in report.to_dict()["answers"] if one["question"] == "inference")
    assert "attribute-inference: visits" in inference["attacks"]


def test_files_are_listed_by_who_gets_them(release, table, tmp_path):
    folder = release.save(tmp_path / "out")
    made = sf.report(folder, table, attacks=False, seed=1)
    goes = {one["name"] for one in made.to_dict()["goes"]}
    assert goes == {path.name for path in folder.iterdir()}
    annex = made.save(tmp_path / "evidence.html")
    kept = made.beside({"the annex": annex, "the log of decisions": None}, annex)
    assert {"what": "the annex", "name": "evidence.html"} in kept.to_dict()["stays"]
    assert sha256(annex.read_bytes()).hexdigest() in kept.short_html()
    assert "evidence.html" not in kept.short_html("public")
    assert kept.to_dict("public")["stays"] == []


def test_the_worst_stands_beside_guessing_and_what_nobody_promised(report):
    """The naive twin looks at all people, and at the smallest share of the surest that has twenty."""
    content = report.to_dict()
    for one in content["attacks"]["results"]:
        looks = [look["inside"] for look in one.get("curve", {"looks": []})["looks"] if look["surest"]]
        first = next((look for look in looks if look["people"] >= 20), None)
        shares = [each["share"] for each in (one["success"], first) if each and each["people"]]
        if one["basis"] is not None and one["attack"] != "homogeneity":
            assert one["basis"]["share"] == pytest.approx(max(shares), abs=1e-3)
    told = [one for one in content["attacks"]["results"] if one["succeeds"] and one["basis"]]
    worst = max(told, key=lambda one: one["basis"]["share"] - one["basis"]["baseline"])["basis"]
    assert f"Farthest above guessing: of {worst['who']}, " in report.short_html()
