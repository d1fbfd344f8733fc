"""Risk for a named recipient: figures against arithmetic, two recipients, and what the edition for others rests on."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.evaluation.attacks import BackgroundKnowledge, Homogeneity
from sfumato.evidence.context import abridge, context_content, log_decision, log_in_words, log_problem, read_decisions
from sfumato.evidence.standards import page_questions

STATED = {"owner": "A. Steward, data office", "source": "the contract of 2026"}
BASE = {
    "columns": {
        "quasi-identifying": {
            "age": {"hierarchy": {"kind": "intervals", "widths": [10]}},
            "town": {"hierarchy": {"kind": "prefixes", "keep": [1]}},
        },
        "sensitive": ["ill"],
        "others": "drop",
    },
    "models": [{"name": "k-anonymity", "k": 5}],
    "anonymizer": {"name": "datafly"},
}


def context(*probabilities: float, **more: Any) -> dict[str, Any]:
    ways = zip(("attempt", "recognition", "breach"), probabilities, strict=False)
    named = {
        "controls": dict.fromkeys(("access", "contract", "training", "audit"), "none"),
        **{way: {"probability": probability, **STATED} for way, probability in ways},
    }
    return {
        "recipient": "the institute",
        "purpose": "a study of coughs",
        "other-data": "a register of voters",
        **(named if probabilities else {"public": True}),
        **more,
    }


def policy(stated: dict[str, Any] | None = None, **more: Any) -> sf.Policy:
    return sf.Policy.from_mapping({**BASE, **more, **({"context": stated} if stated else {})})


def people(shift: int = 0) -> pl.DataFrame:
    """Return people whose ages and towns differ with the shift, in the same intervals and prefixes."""
    rows = [
        (20 + 10 * (i % 3) + (i + shift) % 10, f"{'AB'[i % 2]}{(i // 2 + shift) % 4}", "abc"[i % 5 % 3])
        for i in range(57)
    ]
    return pl.DataFrame(rows, schema=["age", "town", "ill"], orient="row")


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return sf.read_table(people(), policy())


@pytest.fixture(scope="module")
def folder(table: sf.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sf.anonymize(table, policy(), seed=1).save(tmp_path_factory.mktemp("out") / "release")


def found(folder: Path, table: sf.Table, stated: dict[str, Any], edition: Any = "internal") -> dict[str, Any]:
    made = sf.report(folder, table, policy=policy(stated), attacks=False, seed=1)
    content: dict[str, Any] = made.to_dict(edition)["context"]
    return content


def test_products_are_those_of_arithmetic(folder, table):
    """The naive twin counts rows of the published file, and multiplies."""
    sizes = Counter((age, town) for age, town, _ in pl.read_csv(folder / "data.csv").iter_rows())
    records = sum(sizes.values())
    maximum, average = 1 / min(sizes.values()), len(sizes) / records
    before = Counter(table.frame.select("age", "town").iter_rows())
    content = found(folder, table, context(0.3, 0.125, 0.25))
    success = {(one["view"], one["stage"]): (one["maximum"], one["average"]) for one in content["success"]}
    assert success == {
        ("prosecutor", "after"): pytest.approx((maximum, average)),
        ("prosecutor", "before"): pytest.approx((1 / min(before.values()), len(before) / table.frame.height)),
    }
    for one in content["products"]:
        chance = {"attempt": 0.3, "recognition": 0.125, "breach": 0.25}[one["way"]]
        alone = success[one["view"], one["stage"]]
        assert (one["maximum"], one["average"]) == pytest.approx((chance * alone[0], chance * alone[1]))
    assert len(content["products"]) == 3 * len(success)


def test_a_journalist_is_estimated_at_both_ends_of_the_population(folder, table):
    """The naive twin adds up 1 / F over the negative binomial; the higher end is compared."""
    sizes = Counter((age, town) for age, town, _ in pl.read_csv(folder / "data.csv").iter_rows())
    records = sum(sizes.values())

    def expected(size: int, share: float) -> float:
        chance, total = share**size, 0.0
        for drawn in range(size, 4_000):
            total += chance / drawn
            chance *= drawn / (drawn + 1 - size) * (1 - share)
        return total

    stated = {"least": 100, "most": 400, **STATED}
    own = {"value": 0.09, "quantity": "maximum", "attempt": "without", "attacker": "journalist", **STATED}
    content = found(folder, table, context(0.3, 0.1, 0.5, population=stated, threshold=own))
    after = {
        one["population"]: (one["maximum"], one["average"])
        for one in content["success"]
        if one["view"] == "journalist" and one["stage"] == "after"
    }
    for people_there in (100, 400):
        risks = {key: expected(size, records / people_there) for key, size in sizes.items()}
        average = sum(risks[key] * size for key, size in sizes.items()) / records
        assert after[people_there] == pytest.approx((max(risks.values()), average), rel=1e-6)
    decisive = next(one for one in content["thresholds"] if one["name"] == "own")
    assert decisive["figure"] == pytest.approx(after[100][0])
    assert content["verdict"]["outcome"] == ("kept" if after[100][0] <= 0.09 else "exceeded")
    assert any("100 and for 400 people" in sentence for sentence in content["verdict"]["sentences"])


def test_attacks_that_succeed_stand_beside_the_verdict(folder, table):
    """Each is multiplied by its own way: what is done on purpose is no recognition, however likely that is."""
    stated = policy(context(0.5, 0.9, 0.1))
    counted = sf.report(folder, table, policy=stated, attacks=False, seed=1).to_dict()
    success = {"people": 50, "share": 0.5, "low": 0.4, "high": 0.6, "baseline": 0.3}
    verdicts = {"singling-out": "succeeds", "linkage": "succeeds", "skewness": "undecided"}
    played = [{"attack": name, "verdict": verdict, "success": success} for name, verdict in verdicts.items()]
    found = context_content(stated.context, {**counted, "attacks": {"results": played}})
    told = (
        "Attacks whose success, times the chance of their own way, is above 20%: linkage 45% (recognition; "
        "guessing 27%); singling-out 25% (attempt; guessing 15%); skewness 25% (attempt; guessing 15%). "
        "They do not decide: the threshold is for the counted chance to find a person, not for what attacks tell."
    )
    assert told in found["verdict"]["sentences"]
    assert told not in counted["context"]["verdict"]["sentences"]
    ways = {one["attack"]: {way: each["share"] for way, each in one["products"].items()} for one in found["attacks"]}
    assert ways == {
        "singling-out": {"attempt": 0.25, "breach": 0.05},
        "linkage": {"attempt": 0.25, "recognition": 0.45, "breach": 0.05},
        "skewness": {"attempt": 0.25, "breach": 0.05},
    }


def test_what_speaks_against_a_verdict_stands_beside_it(folder, table):
    """The naive twin counts rows, and takes the ways for independent."""
    own = {"value": 0.09, "quantity": "maximum", "attempt": "with", **STATED}
    sizes = Counter((age, town) for age, town, _ in pl.read_csv(folder / "data.csv").iter_rows())
    most, records = 1 / min(sizes.values()), sum(sizes.values())
    above = sum(size for size in sizes.values() if 1 / size > 0.09) / records
    for chances in ((0.3, 0.1, 0.1), (0.6, 0.6, 0.6)):
        said = found(folder, table, context(*chances, threshold=own))["verdict"]["sentences"]
        together = 1 - (1 - most * chances[0]) * (1 - most * chances[1]) * (1 - most * chances[2])
        above_or_not = "above" if together > 0.09 else "not above"
        words = f"all would come to {100 * together:.3g}%, which is {above_or_not} the threshold."
        assert said[2].endswith(words)
        count = f"{above * records:.0f} ({100 * above:.3g}%) of the records"
        assert f"Once somebody tries, {count} are found with a chance above 9%." in said[3]
        beside = f"and are exceeded: 9% for the public ({100 * most:.3g}% of the person most at risk)"
        assert any(beside in sentence for sentence in said)


def test_no_name_is_cut_inside_parentheses(folder, table):
    long = f"the institute of health ({'with many researchers ' * 5})"
    first = found(folder, table, {**context(0.3, 0.1, 0.1), "recipient": long})["verdict"]["sentences"][0]
    assert first.startswith("For the institute of health, the risk")
    assert abridge("one (two three) four (five six)", 27) == "one (two three) four …"
    assert abridge("one (two (three) four)", 18) == "one …"
    assert abridge("one two", 7) == "one two"


@pytest.mark.parametrize(
    ("keys", "outcome", "words"),
    [
        (range(57), "kept", "one record per person, if patient says who somebody is: all 57 values differ (counted)"),
        ([i // 3 for i in range(57)], "not counted", "name the column that says who they are (columns.person)"),
        (None, "kept", "Nobody named a column that says who people are (columns.person)."),
    ],
    ids=["unique", "repeats", "none"],
)
def test_records_are_people_only_where_a_column_says_so(folder, keys, outcome, words):
    frame = people() if keys is None else people().with_columns(pl.Series("patient", [*keys]))
    roles = {**BASE["columns"], **({} if keys is None else {"identifying": ["patient"]})}
    stated = {**context(0.3, 0.1, 0.1), "threshold": {"value": 0.9, "quantity": "maximum", "attempt": "with", **STATED}}
    meant = policy(stated, columns=roles)
    made = sf.report(folder, sf.read_table(frame, meant), policy=meant, attacks=False, seed=1)
    verdict = made.to_dict()["context"]["verdict"]
    assert verdict["outcome"] == outcome
    assert any(words in sentence for sentence in verdict["sentences"])
    assert "values differ" not in made.html("public")


def test_law_is_answered_by_a_person_or_by_nobody(folder, table):
    def law(**more: Any) -> dict[str, Any]:
        made = sf.report(folder, table, policy=policy(context(0.3, 0.1, 0.1, **more)), attacks=False, seed=1)
        found: dict[str, Any] = made.to_dict()["law"]
        short = made.short_html()
        assert all(label in short for label in found["open"])
        assert all(one["answer"] in short for part in found["answered"].values() for one in part)
        return found

    nobody = law()
    assert [one["answer"] for one in nobody["first"]] == ["", "", ""]
    assert (nobody["answered"], nobody["signers"]) == ({}, {})
    assert len(nobody["open"]) == len(page_questions())
    person = {"name": "N. Officer", "role": "data protection officer", "day": "2026-11-02"}
    told = law(
        answers=[
            {"question": "wp29 basis", "answer": "Article 9.", **person},
            {"question": "gdpr 44", "answer": "Germany; no handing on", **person},
        ],
        unanswered={**person, "day": "2027-01-02"},
    )
    basis, anonymous, accepted = told["first"]
    assert (basis["answer"], basis["by"]) == ("Article 9.", "a")
    assert told["signers"] == {"a": "N. Officer, data protection officer, 2026-11-02"}
    assert told["answered"]["Law and responsibility"][0]["answer"] == "Germany; no handing on"
    assert told["until"] == "N. Officer, data protection officer, is to answer by 2027-01-02."
    assert "Figures do not decide what the law asks." in " ".join(anonymous["figures"])
    assert not accepted["by"]
    assert len(told["open"]) == len(nobody["open"]) - 2


def test_an_answer_that_names_nobody_is_the_authors():
    author = {"name": "A. Steward", "role": "data office", "day": "2026-11-02"}
    alone = {"question": "gdpr 44", "answer": "Germany"}
    stated = context(0.3, 0.1, 0.1, author=author, answers=[alone])
    given = policy(stated).context
    assert given is not None
    assert [(one.name, one.role, one.day) for one in given.answers] == [tuple(author.values())]
    for wrong in ({**stated, "author": None}, {**stated, "answers": [{**alone, "name": "B. Officer"}]}):
        with pytest.raises(
            sf.PolicyError, match="answers: to 'gdpr 44' must say name, role and day; or state an author"
        ):
            policy({key: one for key, one in wrong.items() if one is not None})


def test_recognition_is_of_one_reader_or_of_all(folder, table):
    """Of one of three it is that of any; where nobody says so, the page asks, and says what would follow."""
    limit = {"value": 0.03, "quantity": "maximum", "attempt": "with", **STATED}

    def stated(of: str | None, **more: Any) -> dict[str, Any]:
        section = context(0.1, 0.1, 0.1, threshold=limit, **more)
        section["recognition"] |= {} if of is None else {"of": of}
        return found(folder, table, section)

    one, every = stated("one", readers=3), stated("all", readers=3)
    assert one["ways"]["recognition"]["probability"] == pytest.approx(1 - 0.9**3)
    assert "27.1% for all together, 10% for each of 3" in one["ways"]["recognition"]["source"]
    assert (one["verdict"]["outcome"], every["verdict"]["outcome"]) == ("exceeded", "kept")
    (held,) = one["doubts"]
    assert (
        "may hold was not joined with the release: a register of voters. Other columns may stand there, too (ill)"
        in held
    )
    assert one["doubts"] == every["doubts"] == stated(None, readers=1)["doubts"]
    doubt, _ = stated(None, readers=3)["doubts"]
    assert "27.1% for all, and the threshold is exceeded" in doubt
    assert "how many people open the file" in stated(None)["doubts"][0]
    with pytest.raises(sf.PolicyError, match="readers: is missing"):
        stated("one")


def test_a_log_says_where_its_times_come_from(tmp_path):
    file, log = tmp_path / "policy.toml", tmp_path / "log.json"
    for k in (5, 10):
        file.write_text(f'[[models]]\nname = "k-anonymity"\nk = {k}\n')
        log_decision(file, log, "A. Steward", "a reason", "2026-11-03")
    decided = [one.to_dict() for one in read_decisions(log)]
    assert {one["day"] for one in decided} == {"2026-11-03"}
    assert "All 2 versions were recorded within" in log_in_words(decided)
    later = [decided[0], {**decided[1], "made": "2199-01-01T00:00:00+00:00"}]
    assert "were recorded within" not in log_in_words(later)
    for day in ("2199-01-01", "3 May"):
        with pytest.raises(sf.PolicyError, match="on: must be a day until today"):
            log_decision(file, log, "A. Steward", "a reason", day)


def test_a_population_that_cannot_be_is_refused(folder, table):
    with pytest.raises(sf.PolicyError, match=r"population\.least: is above most"):
        policy(context(0.1, 0.1, 0.1, population={"least": 5, "most": 4, **STATED}))
    own = {"value": 0.09, "quantity": "maximum", "attempt": "without", "attacker": "journalist", **STATED}
    with pytest.raises(sf.PolicyError, match="population: is missing"):
        policy(context(0.1, 0.1, 0.1, threshold=own))
    with pytest.raises(sf.PolicyError, match="below the 57 records"):
        found(folder, table, context(0.1, 0.1, 0.1, population={"least": 5, "most": 400, **STATED}))


def test_a_threshold_is_compared_with_what_it_was_made_for_alone(folder, table):
    own = {"value": 0.04, "quantity": "average", "attempt": "without", **STATED}
    content = found(folder, table, context(0.3, 0.1, 0.5, threshold=own))
    after = next(one for one in content["success"] if one["stage"] == "after")
    for one in content["thresholds"]:
        figure = after[one["quantity"]] * (0.5 if one["attempt"] == "with" else 1)
        assert one["figure"] == pytest.approx(figure)
        assert one["outcome"] == ("kept" if figure <= one["value"] else "exceeded")
    made_for = {one["name"]: (one["quantity"], one["attempt"]) for one in content["thresholds"]}
    assert made_for == {
        "own": ("average", "without"),
        "0.09": ("maximum", "without"),
        "0.2": ("maximum", "without"),
        "0.05": ("average", "with"),
    }
    # An average decides nothing: the usual threshold for a named recipient does.
    assert content["verdict"]["threshold"] == "0.2"


def test_two_recipients_have_two_verdicts(folder, table):
    own = {"value": 0.09, "quantity": "maximum", "attempt": "with", **STATED}
    success = found(folder, table, context(0.3, 0.1, 0.1))["thresholds"][0]["success"]
    assert 0.09 < success <= 0.2
    careful = found(folder, table, context(0.3, 0.1, 0.2, threshold=own))["verdict"]
    careless = found(folder, table, context(0.3, 0.1, 1.0, threshold=own))["verdict"]
    assert [one["outcome"] for one in (careful, careless)] == ["kept", "exceeded"]
    largest = f"{100 * 0.09 / success:.3g}%"
    for one, assumed in ((careful, "30%"), (careless, "100%")):
        rests = f"The threshold is kept only while no way to it is likelier than {largest}; assumed is {assumed}."
        assert any(rests in sentence for sentence in one["sentences"])
    # Without a threshold of one's own: for the public an attempt is certain.
    named, public = (found(folder, table, stated)["verdict"] for stated in (context(0.3, 0.1, 0.2), context()))
    assert [(one["threshold"], one["outcome"]) for one in (named, public)] == [("0.2", "kept"), ("0.09", "exceeded")]


def test_a_risk_that_was_not_counted_keeps_no_threshold():
    """A person with several records is not counted by records."""
    frame = people().with_columns(client=pl.Series([f"c{i // 3}" for i in range(57)]))
    columns = {**BASE["columns"], "identifying": ["client"]}
    repeating = policy(context(0.01, 0.01, 0.01), columns=columns)
    original = sf.read_table(frame, repeating)
    made = sf.report(sf.anonymize(original, repeating, seed=1), original, policy=repeating, attacks=False, seed=1)
    verdict = made.to_dict()["context"]["verdict"]
    assert verdict["outcome"] == "not counted"
    assert "several" in verdict["sentences"][0]
    assert made.to_dict()["doubts"]


def test_a_population_gives_the_journalist(tmp_path):
    people().vstack(people(3)).write_csv(tmp_path / "everybody.csv")
    stated = policy(context(0.5, 0.1, 0.1), population=str(tmp_path / "everybody.csv"))
    original = sf.read_table(people(), stated)
    release = sf.anonymize(original, policy(), seed=1).save(tmp_path / "release")
    made = sf.report(release, original, policy=stated, attacks=False, seed=1)
    rows = {(one["view"], one["stage"]): one["maximum"] for one in made.to_dict()["context"]["success"]}
    assert rows["journalist", "after"] == pytest.approx(rows["prosecutor", "after"] / 2)
    assert "journalist" not in json.dumps(made.to_dict("public"))


def test_the_edition_for_others_is_the_same_for_two_originals_that_publish_the_same(folder, table, tmp_path):
    """Exact ages and towns differ, what is published does not: equal bytes, as page and as values."""
    ends = {"least": 100, "most": 400, **STATED}
    own = {"value": 0.09, "quantity": "maximum", "attempt": "without", "attacker": "journalist", **STATED}
    stated = policy(context(0.3, 0.1, 0.2, population=ends, threshold=own))
    other = sf.read_table(people(7).with_columns(client=pl.Series([str(i // 3) for i in range(57)])), with_client())
    assert not table.frame.select("age", "town").equals(other.frame.select("age", "town"))
    again = sf.anonymize(other, policy(), seed=1).data
    assert again.sort(pl.all()).equals(sf.anonymize(table, policy(), seed=1).data.sort(pl.all()))
    editions, own = [], []
    for number, original in enumerate((table, other)):
        made = sf.report(folder, original, policy=stated, bound=bool(number), seed=number)
        places = [tmp_path / f"{number}.{kind}" for kind in ("html", "json")]
        editions.append([made.save(place, "public").read_bytes() for place in places] + [made.short_html("public")])
        own.append(made.html())
    assert editions[0] == editions[1]
    assert own[0] != own[1]  # the steward's edition is about the original


def with_client() -> sf.Policy:
    return policy(columns={**BASE["columns"], "identifying": ["client"]})


def test_other_kinds_rest_on_what_is_published_too():
    """The same release, reported with an original, and with one that has a column that repeats."""
    more = {"anonymizer": {"name": "bucketization"}, "models": [{"name": "probabilistic-l-diversity", "l": 2}]}
    stated = policy(context(0.3, 0.1, 0.2), **more)
    original = sf.read_table(people(), stated)
    release = sf.anonymize(original, stated, seed=1)
    other = sf.read_table(people().with_columns(client=pl.Series([str(i // 3) for i in range(57)])), with_client())
    editions = [sf.report(release, one, policy=stated, attacks=False, seed=1) for one in (original, other)]
    assert editions[0].html("public") == editions[1].html("public")
    assert editions[0].short_html("public") == editions[1].short_html("public")
    assert editions[0].html() != editions[1].html()
    # Who knows the quasi-identifying values finds the row: they are published as they are.
    assert editions[0].to_dict("public")["context"]["verdict"]["outcome"] == "exceeded"
    assert editions[0].content["risk"]["after"]["highest"] == editions[0].content["risk"]["before"]["highest"]


def test_a_release_holds_nothing_of_its_context(table, tmp_path):
    stated = policy(context(0.3, 0.1, 0.2))
    assert sf.Policy.from_mapping(stated.to_mapping()) == stated
    for made, name in ((stated, "one"), (policy(), "other")):
        sf.anonymize(table, made, seed=1).save(tmp_path / name)
    one, other = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "other"))
    assert one.keys() == other.keys()
    assert all("institute" not in text.decode() for text in one.values())
    assert one["policy.toml"] == other["policy.toml"]


def test_the_short_report_counts_what_it_leaves_out(tmp_path):
    """Thirty columns and long texts have no room on four pages; what is cut stands in the annex."""
    names = [f"column_{number}_with_a_long_name" for number in range(30)]
    frame = people().with_columns(pl.lit(number % 3).alias(name) for number, name in enumerate(names))
    long = "somebody whose office has a long name, and who keeps a register; " * 12
    stated = policy(context(0.3, 0.1, 0.2, **{"other-data": long}), columns={**BASE["columns"], "insensitive": names})
    original = sf.read_table(frame, stated)
    made = sf.report(sf.anonymize(original, stated, seed=1), original, policy=stated, attacks=False, seed=1)
    short, annex = made.short_html(), made.html()
    rows = short.split("<h2>Data and context</h2>")[1].split("</table>")[0].count("<tr>") - 1
    assert f"{33 - rows} more columns: in the annex." in short
    assert sum(name in short.split("<h2>Data and context</h2>")[1] for name in names) == rows - 3
    assert all(name in annex for name in names)
    assert long.strip() not in short
    assert long.strip() in annex
    for title in ("What is released, and to whom", "What holds", "What was attacked, and found", "What is open"):
        assert title in short
    assert "Nobody has said who gets the release" not in short
    assert "No earlier release of these people was named" in short
    verdict = made.to_dict()["context"]["verdict"]
    assert all(sentence in short for sentence in verdict["sentences"])
    nobody = sf.report(sf.anonymize(original, stated, seed=1), original, attacks=False, seed=1)
    assert "Nobody has said who gets the release, and how likely an attempt is." in nobody.short_html()


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["evidence", *map(str, words)], prog_name="sfumato")
    return result.exit_code, result.stdout, result.stderr


def test_the_form_is_refused_until_it_is_filled_in(folder, tmp_path):
    policy().to_file(tmp_path / "policy.toml")
    people().write_csv(tmp_path / "people.csv")
    form = tmp_path / "institute.toml"
    assert run("init", "--policy", tmp_path / "policy.toml", "--out", form)[0] == 0
    words = ("write", folder, "--original", tmp_path / "people.csv", "--policy", form, "--no-attacks")
    code, _, err = run(*words)
    assert code == 2
    missing = ("recipient", "purpose", "controls.audit", "attempt.probability", "breach.owner", "recognition.source")
    assert all(f"context.{key}: is missing" in err for key in missing)
    filled = re.sub(
        r"^# (?=[a-z-]+ = )(?!public|purpose-columns|value|quantity|attempt =)",
        "",
        form.read_text(),
        flags=re.MULTILINE,
    )
    filled = filled.replace("probability = …", "probability = 0.2")
    form.write_text(filled.rsplit("# [context.population]", 1)[0])
    code, out, err = run(*words, "--out", tmp_path / "page.html", "--short", tmp_path / "short.html")
    assert "How to check it" in (tmp_path / "short.html").read_text()
    for wrong in (tmp_path / "short.html", tmp_path / "short.json", tmp_path / "no" / "short.html"):
        assert run(*words, "--short", wrong)[0] == 2
    assert run(*words, "--out", tmp_path / "new.html", "--short", tmp_path / "new.html")[0] == 2
    assert (code, "the risk keeps to 20%" in out) == (0, True), err
    assert "Risk for this recipient" in (tmp_path / "page.html").read_text()
    assert run("init", "--policy", form)[0] == 2  # it has the section
    assert run("init", "--policy", tmp_path / "policy.toml", "--out", folder / "x.toml")[0] == 2
    assert run("init", "--out", form)[0] == 2
    shown = run("init")[1]
    assert all(f'# question = "{one.question}"' in shown for one in page_questions())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attempt": {"probability": 0, **STATED}}, "context.attempt.probability: must be above 0"),
        ({"attempt": {"probability": 1.5, **STATED}}, "context.attempt.probability: must be at most 1"),
        ({"attempt": {"probability": 0.5, "owner": " ", "source": "x"}}, "context.attempt.owner: is empty"),
        ({"public": True}, "context.attempt: means nothing for the public; leave it out"),
        ({"breach": None}, "context.breach: is missing; or say public = true"),
        ({"breech": 1}, "context.breech: unknown key; did you mean 'breach'?"),
        ({"threshold": {"value": 0.1, **STATED}}, "context.threshold.quantity: is missing"),
    ],
)
def test_mistakes_are_named_where_they_are(changes, message):
    with pytest.raises(sf.PolicyError) as caught:
        policy({**context(0.3, 0.1, 0.2), **changes})
    assert message in str(caught.value)


def test_the_short_report_is_a_word_file(folder, table, tmp_path):
    docx = pytest.importorskip("docx")
    stated = policy(context(0.3, 0.1, 0.2))
    made = sf.report(folder, table, policy=stated, attacks=False, seed=1)
    written = made.save(tmp_path / "sign.docx", short=True)
    document = docx.Document(str(written))
    texts = [paragraph.text for paragraph in document.paragraphs]
    cells = [cell.text.strip() for one in document.tables for row in one.rows for cell in row.cells]
    assert {*made.to_dict()["context"]["verdict"]["sentences"]} <= {*texts}
    assert {"What is released, and to whom", "Data and context", "Risk and attacks"} <= {*texts}
    assert {"age", "town", "ill", "threshold"} <= {*cells}
    assert any(text.endswith("Signature of a second person") for text in cells)
    for unshown in ("<", "{", "font-size"):
        assert not any(unshown in text for text in texts)
    again = sf.report(folder, table, policy=stated, attacks=False, seed=1).save(tmp_path / "again.docx", short=True)
    assert again.read_bytes() == written.read_bytes()
    with pytest.raises(sf.PolicyError, match="only the short report"):
        made.save(tmp_path / "annex.docx")


def test_slow_attacks_are_cut(folder, table, monkeypatch):
    """One that sleeps is cut after half of the time, the one after it after half of the rest; the others are played."""

    def sleep(self: Any, target: Any) -> Any:
        time.sleep(9)
        raise AssertionError

    for attack in (Homogeneity, BackgroundKnowledge):
        monkeypatch.setattr(attack, "play", sleep)
    attacks = sf.report(folder, table, policy=policy(), attacks=3.0, seed=1).to_dict()["attacks"]
    assert attacks["unplayed"]["homogeneity"].startswith("was stopped after ")
    assert "background-knowledge" in attacks["unplayed"]
    assert attacks["results"]
    assert not {one["attack"] for one in attacks["results"]} & {"homogeneity", "background-knowledge"}
    with pytest.raises(sf.PolicyError, match="within: must be seconds"):
        sf.attack(folder, table, within=0)


def test_a_log_holds_every_change_and_refuses_a_policy_that_went_on(folder, tmp_path):
    """Versions of a policy, and the log: what was changed is what differs, setting by setting."""
    file, log, runner = tmp_path / "policy.toml", tmp_path / "log.json", CliRunner()
    versions = [policy(), policy(models=[{"name": "k-anonymity", "k": 6}]), policy(context(0.3, 0.1, 0.05))]
    said = []
    for number, one in enumerate(versions):
        file.write_text(one.to_toml())
        words = ["evidence", "log", str(file), "--to", str(log), "--by", "A. Steward", "--why", f"reason {number}"]
        result = runner.invoke(app, words)
        assert result.exit_code == 0
        said.append(result.output)
        again = runner.invoke(app, words)
        assert (again.exit_code, "nothing was changed" in again.output) == (2, True)
    decided = read_decisions(log)
    assert [one.change for one in decided[:2]] == ["first version", "models.1.k from 5 to 6"]
    # Every setting that is new or was changed is named, and no other; a section that is new as a whole by its name.
    before, after = (one.settings or {} for one in decided[1:])
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    named = {part.split(" = ")[0].split(" from ")[0] for part in decided[2].change.split("; ")}
    assert named == {path for path in changed if not path.startswith("context.")} | {"the section context is new"}
    assert any(path.startswith("context.") for path in changed)
    assert [(one.by, one.why) for one in decided] == [("A. Steward", f"reason {number}") for number in range(3)]
    assert log_problem(decided, file) is None
    file.write_text(versions[1].to_toml())
    words = ["evidence", "write", str(folder), "--policy", str(file), "--decisions", str(log)]
    result = runner.invoke(app, words)
    assert (result.exit_code, "was changed after the last entry" in " ".join(result.output.split())) == (2, True)
    with pytest.raises(sf.PolicyError, match="by: is missing"):
        log_decision(file, log, " ", "why")


@pytest.mark.parametrize(("day", "is_due"), [("2020-01-01", True), ("2999-01-01", False), (None, False)])
def test_another_look_is_due_when_its_day_has_come(folder, table, day, is_due):
    more = {} if day is None else {"review-by": day}
    made = sf.report(folder, table, policy=policy(context(0.3, 0.1, 0.05, **more)), attacks=False, seed=1)
    review = made.to_dict()["review"]
    assert (review["day"], review["is_due"]) == (day, is_due)
    assert len(review["events"]) == 5
    for edition in ("internal", "public"):
        assert (day or "Another recipient") in made.html(edition)
    with pytest.raises(sf.PolicyError, match="review-by"):
        policy(context(0.3, 0.1, 0.05, **{"review-by": "next spring"}))


def test_what_the_purpose_needs_names_every_pair_and_what_it_does_not():
    """Two columns that are published as they are keep their association; what is not named is listed."""
    columns = {**BASE["columns"], "insensitive": ["flag"]}
    frame = people().with_columns(flag=pl.Series(["yes" if i % 4 < 2 else "no" for i in range(57)]))
    stated = policy({**context(0.3, 0.1, 0.1), "purpose-columns": ["town", "ill", "flag"]}, columns=columns)
    original = sf.read_table(frame, stated)
    made = sf.report(sf.anonymize(original, stated, seed=1), original, policy=stated, attacks=False, seed=1)
    figures = made.to_dict()["purpose_figures"]
    pairs = {frozenset(one["columns"]): one for one in figures["pairs"]}
    assert pairs.keys() == {frozenset(pair) for pair in (("town", "ill"), ("town", "flag"), ("ill", "flag"))}
    kept = pairs[frozenset(("ill", "flag"))]
    assert kept["before"] > 0
    assert kept["after"] == pytest.approx(kept["before"])
    assert figures["unnamed"] == ["age"]
    page = made.short_html()
    assert "Published, though the purpose does not name them: age." in page
    assert "not answered; a person must judge (ema-0070 T utility c)" in page


def test_the_page_to_sign_says_what_is_accepted_and_what_is_older(folder, table):
    """What whoever signs accepts stands above the line; answers that are older than the figures stand in one."""
    by = {"name": "B. Officer", "role": "data office", "day": "2020-01-01"}
    said = [
        {"question": name, "answer": "So it is.", **by} for name in ("wp29 anonymous", "gdpr 35", "iso-27559 9.2.4")
    ]
    stated = policy(context(0.3, 0.1, 0.2, answers=said))
    made = sf.report(folder, table, policy=stated, attacks=False, seed=1)
    page = made.short_html()
    most = made.content["context"]["success"][-1]["maximum"]
    declared = page[page.index("Whoever signs confirms") : page.index('<div class="sign">')]
    assert f"with a chance of {100 * most:.3g}%, or {100 * most * 0.3:.3g}%" in declared
    assert page.count("Answered before the figures were made") == 1
    assert "wp29 anonymous (B. Officer, 2020-01-01); gdpr 35 (B. Officer, 2020-01-01)." in page
    assert "Other releases: So it is. (B. Officer, data office)." in page
