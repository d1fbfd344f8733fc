"""Questions of standards: none is left out, a figure answers only where the edition has it, a person only by name."""

# ruff: noqa: F811

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from evidence.test_context import STATED, context, folder, people, policy, table  # noqa: F401
from sfumato.evidence import standards as module
from sfumato.evidence.standards import STATUSES, glossary_of, standards

AUTHOR = {"name": "A. Steward", "role": "data office", "day": "2026-11-02"}
ANSWER = {**AUTHOR, "name": "B. Officer", "question": "iso-27559 9.4", "answer": "The file is asked back."}


def asked(
    folder: Path, table: Any, stated: dict[str, Any] | None, edition: Any = "internal"
) -> dict[str, dict[str, str]]:
    made = sf.report(folder, table, policy=policy(stated), attacks=False, seed=1)
    found = made.to_dict(edition)["standards"]
    entries = {entry["question"]: entry for standard in found for entry in standard["questions"]}
    counts = Counter(entry["status"] for entry in entries.values())
    assert counts == sum((Counter(standard["counts"]) for standard in found), Counter())
    assert len(entries) == sum(len(standard.questions) for standard in standards())
    assert all(entry["answer"] for entry in entries.values() if entry["status"] != STATUSES[2])
    return entries


def test_names_are_unique_and_every_source_is_known():
    questions = [one for standard in standards() for one in standard.questions]
    assert len({one.name for one in questions}) == len(questions) >= 150
    sources = {one.source for one in questions if one.source}
    assert sources <= {*module._COUNTS, *module._STATES}
    assert not set(module._COUNTS) & set(module._STATES)
    assert {*module._COUNTS, *module._STATES} <= sources, "what no question asks is not needed"
    assert all(one.ask.endswith("?") and len(one.ask.split()) <= 20 for one in questions)


def test_figures_are_those_of_the_page(folder, table):
    made = sf.report(folder, table, policy=policy(context(0.3, 0.1, 0.2)), attacks=False, seed=1).to_dict()
    entries = {one["question"]: one for standard in made["standards"] for one in standard["questions"]}
    highest = 100 * made["risk"]["after"]["highest"]
    assert f"{highest:.3g}% of the person most at risk." == entries["iso-27559 7.3.2 a"]["answer"]
    (source,) = (one["source"] for one in made["context"]["thresholds"] if one["name"] == "0.2")
    decided = made["context"]["verdict"]["sentences"][0]
    assert entries["iso-27559 8.2.2 c"]["answer"] == f"{decided} Its source: {source}."
    assert entries["iso-27559 7.2.4 b"]["answer"] == "age, town."
    assert f"{100 * made['losses']['normalized_ncp']:.3g}%" in entries["iso-27559 8.3.3 b"]["answer"]
    # No attack was played, no earlier release was named: that is no answer.
    assert {entries[name]["status"] for name in ("iso-27559 8.2.3 a", "iso-27559 9.2.4", "wp29 inference a")} == {
        STATUSES[2]
    }


def test_a_person_answers_by_name_alone(folder, table):
    nobody = asked(folder, table, context(0.3, 0.1, 0.2))
    assert nobody["iso-27559 6.1 b"]["status"] == STATUSES[2]
    assert nobody["iso-27559 6.1 b"]["answer"] == "a study of coughs"
    somebody = asked(folder, table, context(0.3, 0.1, 0.2, author=AUTHOR, answers=[ANSWER]))
    assert somebody["iso-27559 6.1 b"]["by"] == "A. Steward, data office, 2026-11-02"
    assert somebody["iso-27559 9.4"]["answer"] == "The file is asked back."
    assert somebody["iso-27559 9.4"]["by"].startswith("B. Officer")
    assert asked(folder, table, None)["iso-27559 6.1 b"] == {
        **nobody["iso-27559 6.1 b"],
        "answer": "",
        "by": "",
    }
    # Words beside a figure do not take its place.
    beside = asked(folder, table, context(0.3, 0.1, 0.2, answers=[{**ANSWER, "question": "iso-27559 7.3.2 a"}]))
    assert beside["iso-27559 7.3.2 a"]["status"] == STATUSES[0]
    assert beside["iso-27559 7.3.2 a"]["answer"].endswith("at risk. The file is asked back.")


def test_what_a_source_does_not_say_is_not_answered(folder, table):
    """Who accepts a risk, until when it is accepted, and who checks results is not told by what stands there."""
    stated = context(0.3, 0.1, 0.2, author=AUTHOR, review="each May", answers=[ANSWER])
    entries = asked(folder, table, stated)
    for name, lacks in (("wp29 residual risk", "who accepts it"), ("nist-800-188 3.5 e", "who checks what is made of")):
        assert entries[name]["status"] == STATUSES[2]
        assert entries[name]["answer"]
        assert lacks in entries[name]["by"]
    assert entries["hipaa time limit"]["status"] == STATUSES[2]
    # The same question of another standard has the same answer.
    assert entries["nist-800-188 3.2.4"]["answer"] == "The file is asked back."
    assert entries["nist-800-188 3.2.4"]["by"].endswith("; answered with iso-27559 9.4")
    assert "answered with" not in entries["iso-27559 9.4"]["by"]
    assert entries["iso-27559 9.3.2 a"]["answer"] == "each May"
    assert (entries["wp29 not once for all"]["status"], entries["wp29 not once for all"]["by"]) == (
        STATUSES[2],
        "does not say who looks for new risks",
    )
    accepted = {**ANSWER, "question": "wp29 residual risk", "answer": "The board accepts it."}
    more = asked(folder, table, {**stated, "review-by": "2027-05-01", "answers": [accepted]})
    assert more["hipaa time limit"]["answer"] == "Until 2027-05-01."
    assert more["wp29 residual risk"]["status"] == STATUSES[0]
    assert more["wp29 residual risk"]["answer"].endswith("The board accepts it.")
    assert more["wp29 residual risk"]["by"] == "counted; B. Officer, data office, 2026-11-02"
    assert more["nist-800-188 3.2.4"]["status"] == STATUSES[2]
    # What the policy names as sources of its chances answers by which scale they were set.
    assert entries["iso-27559 6.2.1 d"]["status"] == STATUSES[1]
    none = {**ANSWER, "question": "iso-27559 9.2.4", "answer": "There are none."}
    sisters = asked(folder, table, {**stated, "answers": [none]})
    for name in ("hipaa several datasets", "wp29 linkability b", "nist-800-188 4.3 d"):
        assert sisters[name]["answer"] == "There are none."
        assert sisters[name]["by"].endswith("answered with iso-27559 9.2.4")


def test_what_the_page_knows_of_itself_is_answered(folder, table):
    inside, outside = (asked(folder, table, context(0.3, 0.1, 0.2), edition) for edition in ("internal", "public"))
    # That no result was given does not say that nobody tried.
    assert inside["nist-800-188 4.6 c"]["status"] == inside["iso-27559 8.2.3 d"]["status"] == STATUSES[2]
    assert inside["wp29 inference b"]["answer"] == "None.", "k-anonymity is about no sensitive column"
    assert inside["hipaa mitigation c"]["answer"].startswith("0 records left out; cells that are *: ")
    assert inside["nist-800-188 4.2 b"]["answer"] == "Alone: the policy names none. Together: age, town."
    assert inside["wp29 original"]["answer"].startswith("Yes: ")
    assert outside["wp29 original"]["status"] == STATUSES[2]
    assert inside["ema-0070 T variables c"]["answer"].startswith("age: ")
    assert "ill" not in inside["ema-0070 T variables c"]["answer"]


def test_the_annex_explains_the_words_that_occur(folder, table):
    assert glossary_of("<p>the prosecutor; K-Anonymity</p><style>shadow</style>").keys() == {
        "prosecutor",
        "k-anonymity",
    }
    page = sf.report(folder, table, policy=policy(context(0.3, 0.1, 0.2)), attacks=False, seed=1).html()
    assert "<li>prosecutor: somebody who knows that the person is in the table</li>" in page
    assert "<li>shadow: " not in page


def test_a_population_is_stated_and_what_it_gives_is_counted(folder, table):
    ends = {"least": 100, "most": 400, **STATED}
    found = asked(folder, table, context(0.3, 0.1, 0.2, population=ends, author=AUTHOR))
    for name in ("iso-27559 7.3.3 b", "ema-0070 T risk d"):
        assert found[name]["status"] == STATUSES[1]
        assert found[name]["answer"].startswith("100 to 400 people, by A. Steward")
    counted = found["hipaa assess risk d"]
    assert counted["status"] == STATUSES[0]
    assert counted["answer"].startswith("Estimated; 100 people: ")
    assert found["wp29 randomization"]["answer"] == "Nothing: values were made coarser or left out."
    assert found["hipaa free text"]["answer"] == "No insensitive column is published."


def test_the_edition_for_others_answers_nothing_from_the_original(folder, table):
    inside, outside = (asked(folder, table, context(0.3, 0.1, 0.2), edition) for edition in ("internal", "public"))
    for name in ("iso-27559 8.2.2 a", "iso-27559 8.3.3 b", "hipaa mitigation a", "iso-27559 8.3.3 c"):
        assert (inside[name]["status"], outside[name]["status"]) == (STATUSES[0], STATUSES[2]), name
    other = sf.read_table(people(3), policy())
    again = sf.anonymize(other, policy(), seed=1).save(folder.parent / "again")
    assert asked(again, other, context(0.3, 0.1, 0.2), "public") == outside


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{**ANSWER, "question": "iso-27559 99"}], "no standard asks 'iso-27559 99'"),
        ([ANSWER, ANSWER], "'iso-27559 9.4' is answered twice"),
    ],
)
def test_answers_to_nothing_are_refused(folder, table, answers, message):
    with pytest.raises(sf.PolicyError, match=message):
        asked(folder, table, context(0.3, 0.1, 0.2, answers=answers))


def test_a_day_is_a_day():
    with pytest.raises(sf.PolicyError, match=r"context\.author\.day: must be a day"):
        policy(context(0.3, 0.1, 0.2, author={**AUTHOR, "day": "soon"}))
