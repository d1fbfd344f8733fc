"""What is open is said on every page on which it matters, in the page's own words; nothing is handed over before."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest

import sfumato as sf
from sfumato.studio.draft import Draft
from sfumato.studio.layout import Answer, answers, in_page_words
from sfumato.studio.layout import answered as answered_draft
from sfumato.studio.routes.look import Played
from studio.desks import opened, waited

ROLES = {
    "Name": "insensitive",
    "Alter": "quasi-identifying",
    "PLZ": "quasi-identifying",
    "Kosten": "sensitive",
}
PATHS = [
    *("/", "/layout", "/columns", "/hierarchies?column=2", "/promises", "/runs", "/look", "/look/1/person?row=3"),
    *(
        "/look/1/groups",
        "/look/1/classes",
        "/look/1/seen?one=Alter",
        "/look/1/seen?one=Alter&two=PLZ",
        "/look/1/population?people=500",
        "/look/1/regression?target=Alter&on=PLZ",
        "/look/1?by=class",
        "/review",
        "/compare",
        "/attack",
        "/sign",
        "/history?from=1",
        "/sizes",
        "/sizes/more",
    ),
]


def dirty(path, *, marks=("40",)):
    """Write people with their names, in the form of another country, with a text among numbers."""
    rows = (
        f"Person {row};{marks[row % len(marks)] if row == 40 else 20 + row % 5};{10_000 + row % 12};{row % 7 + 1},50 €"
        for row in range(80)
    )
    path.write_text("\n".join(["Name;Alter;PLZ;Kosten", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def studio(tmp_path):
    with opened(tmp_path, dirty(tmp_path / "leute.csv", marks=("unbekannt",))) as made:
        made.enter()
        for column, role in ROLES.items():
            assert made.post("/setup/column", column=column, what="role", value=role).status_code == 200
        assert made.post("/setup/promises", what="add", name="k-anonymity").status_code == 200
        yield made


def answered(studio):
    """Answer whatever is asked, as somebody does who publishes the names all the same."""
    for option, column, value in (
        ("strays-missing", "Alter", ""),
        ("categorical", "PLZ", ""),
        ("accept", "Name", "identifier"),
    ):
        assert studio.post("/setup/answer", option=option, column=column, value=value).status_code == 200


def released(studio):
    answered(studio)
    assert studio.post("/runs/start", what="release").status_code == 200
    assert waited(studio.desk.jobs, studio.desk.jobs.all[0].number, 120).state == "done"


def test_texts_that_count_as_missing_are_counted_by_records(tmp_path):
    with opened(tmp_path, dirty(tmp_path / "leute.csv", marks=("V57",))) as made:
        made.enter()
        assert made.post("/setup/answer", option="strays-missing", column="Alter", value="").status_code == 200
        assert "1 record of 80 held text that is no number" in made.get("/review").text


def test_a_project_that_goes_with_the_studio_says_so(studio):
    kept = studio.get("/").text
    assert "all is saved" in kept
    assert "the setup is removed" not in kept
    studio.desk.project.folder = studio.desk.project.folder.parent / "sfumato-studio-1" / "project"
    gone = studio.get("/").text
    assert "saved until you quit" in gone
    assert "When you quit, the setup is removed" in gone


def test_nothing_is_complete_while_a_run_would_be_refused(studio):
    for path in ("/promises", "/runs", "/compare"):
        page = studio.get(path).text
        assert "holds a number in all records but 1" in page
        assert "looks like an identifier" in page
        assert "publish it so" in page
        assert "✓ complete" not in page
    assert 'id="run"' not in studio.get("/runs").text
    assert "3 questions open" in studio.get("/columns").text
    # What the page says is what a run says.
    studio.post("/runs/start", what="release")
    assert waited(studio.desk.jobs, 1, 120).state == "failed"
    answered(studio)
    assert studio.desk.hindrances() == []
    page = studio.get("/promises").text
    assert "1 sensitive column is not protected" in page
    assert "✓ complete" not in page
    assert "questions open" not in studio.get("/columns").text
    assert 'id="run"' in studio.get("/runs").text
    studio.post("/setup/promises", what="add", name="distinct-l-diversity")
    assert "✓ complete" in studio.get("/promises").text
    # Answers are taken back where they were given.
    studio.post("/setup/column", column="Alter", what="unsay", value="strays")
    assert "✓ complete" not in studio.get("/promises").text


def test_a_release_with_a_severe_finding_open_is_not_handed_over(studio, tmp_path):
    released(studio)
    for path in ("/runs", "/look", "/sign"):
        assert "is published as it is, although it looks like an identifier" in studio.get(path).text
        assert "No promise covers the sensitive column" in studio.get(path).text
    assert "with something open" in studio.get("/runs").text
    studio.post("/setup/answer", option="accept", column="Name", value="identifier")
    page = studio.get("/sign").text
    assert "cannot be handed over" in page
    assert re.search(r"<button disabled>Copy the release there", page)
    refused = studio.post("/sign/hand-over", run="1", name="given")
    assert refused.status_code == 422
    assert "What is open" in refused.json()["problems"][0]
    assert not (tmp_path / "given").exists()
    studio.post("/setup/answer", option="accept", column="Name", value="identifier")
    assert studio.post("/sign/hand-over", run="1", name="given").status_code == 200
    assert sf.verify(tmp_path / "given").ok


class Fields(HTMLParser):
    """The ids of a page, and the fields without a label."""

    def __init__(self, page):
        super().__init__()
        self.ids, self.labels, self.fields, self._inside = [], set(), [], 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        its = dict(attrs)
        self.ids += [its["id"]] if "id" in its else []
        if tag == "label":
            self._inside += 1
            self.labels.add(its.get("for"))
        if tag in ("input", "select", "textarea") and its.get("type") != "hidden":
            self.fields.append((its.get("id"), bool(self._inside or "aria-label" in its), self.get_starttag_text()))

    def handle_endtag(self, tag):
        self._inside -= tag == "label"

    @property
    def unlabelled(self):
        return [text for name, is_named, text in self.fields if not is_named and name not in self.labels]


def test_filled_pages_have_unique_ids_labelled_fields_and_no_options(studio):
    released(studio)
    studio.post("/setup/hierarchy", column="2", what="draft")
    studio.post("/setup/promises", what="add", name="t-closeness")
    studio.post("/compare/start", methods="mondrian", values="2,3")
    studio.post("/compare/lattice")
    for job in studio.desk.jobs.all:
        waited(studio.desk.jobs, job.number, 120)
    for path in PATHS:
        answer = studio.get(path)
        assert answer.status_code == 200, path
        found = Fields(answer.text)
        assert [name for name, many in Counter(found.ids).items() if many > 1] == [], path
        assert found.unlabelled == [], path
        shown = re.sub(r"<(pre|code|style)[^>]*>.*?</\1>", "", answer.text, flags=re.DOTALL)
        assert re.findall(r".{30} --[a-z].{20}", shown) == [], path


SAID = [
    "column 'a' holds whole numbers of 5 digits each; say what they are: codes, as zip codes are (--categorical a), or "
    'numbers, published as ranges (--set column.a.kind=numeric); in a policy kind = "categorical" or "numeric"',
    "keys may be other spellings: 2 differ. Say whether they are the same person with key-form fold, or different "
    "people with key-form exact (--set columns.key-form=fold; of ratings --set ratings.key-form=fold, of sets and "
    "series --key-form fold; key_form in Python); or answer by kind, such as fold:case",
    "column 'a b' has no role, but it is unique; give it a role (--identifying 'a b' removes it), or say that it is to "
    "be published: --publish 'a b' (in Python publish=['a b'])",
    "Column 'a' is sensitive. Remove it unless it is needed; publish='a' (--publish a) says so.",
    "Column 'a' has 60 categories and no hierarchy: classes publish sets; `sfumato hierarchy TABLE a` drafts one.",
    "with so many nearly every record is unlike all others. `sfumato risk` on them says which to leave out first.",
    "first in row 7; correct them, give their text with --set source.missing=TEXT, make such texts missing values "
    "(--set column.a.strays=missing), or keep all as text: --categorical a",
    "it has several sheets; say which is meant with --set source.sheet=NAME: 'x', 'y'",
    "the last row seems to add up the others; leave it out: --set source.footer-lines=1, or keep it: "
    "--set source.footer-lines=0",
    "the file is cp1252, not utf-8: add --set source.encoding=cp1252",
    "every value of column 'a' reads as a date, in 2 forms; declare them, in this order: "
    '--set \'column.a.dates=["dd.mm.yyyy", "yyyy-mm-dd"]\'; or read it as text: --categorical a',
    "a: It looks like free text. Remove it: --identifying a; Publish it: --accept free-text:a=REASON",
]


@pytest.mark.parametrize("line", SAID)
def test_messages_name_buttons_and_pages_in_place_of_options(line):
    shown = in_page_words(line)
    assert not re.search(r"--[a-z]|sfumato |Python|REASON|TEXT", shown), shown
    assert shown.count("(") == shown.count(")"), shown
    assert "()" not in shown
    assert in_page_words(shown) == shown


def test_answers_are_read_whole_and_without_the_marks_of_the_sentence():
    found = {answer.words for answer in answers(SAID, ["a", "a b"])}
    assert {"1 lines at the end are no records", "0 lines at the end are no records"} <= found
    forms = Answer("dates", "a", "dd.mm.yyyy, yyyy-mm-dd")
    assert forms in answers(SAID, ["a"])
    assert answered_draft(Draft.of_columns(["a"]), forms).settings["a"]["dates"] == ["dd.mm.yyyy", "yyyy-mm-dd"]
    draft = Draft.of_columns(["a"])
    for mark in ("?", "n/a"):
        draft = answered_draft(draft, Answer("missing", "", mark))
    assert draft.rest["source"]["missing"] == ["?", "n/a"]


GUESSED = {"people": 100, "share": 0.3, "low": 0.22, "high": 0.4, "baseline": 0.1}
SUREST = {"people": 10, "share": 0.9, "low": 0.6, "high": 0.98, "baseline": 0.1}
NOBODY = {"people": 0, "share": 0.0, "low": 0.0, "high": 1.0, "baseline": 0.1}


@pytest.mark.parametrize(
    ("success", "more", "judged"),
    [
        (GUESSED, {"allowed": 0.25, "within": True}, "within"),
        (GUESSED, {"allowed": 0.25}, "within"),
        (GUESSED, {"allowed": 0.2}, "beyond"),
        (GUESSED, {"allowed": 0.25, "within": False}, "beyond"),
        (GUESSED, {"allowed": None}, "beyond"),
        (GUESSED, {"verdict": "no better", "allowed": 0.25}, "no better"),
        (GUESSED, {"verdict": "undecided"}, "undecided"),
        (NOBODY, {"curve": {"looks": [{"inside": GUESSED}, {"inside": SUREST}]}}, "beyond"),
        (NOBODY, {"certainty": {"told": 1}}, "beyond"),
    ],
)
def test_an_attack_is_red_only_beyond_what_is_promised_and_shows_on_what_it_rests(success, more, judged):
    shown = Played.result({"verdict": "succeeds", "success": success, **more})
    assert shown.judged == judged
    assert (shown.success is None) == (success is NOBODY)
    # Whoever reads "succeeds" sees figures that do.
    assert (judged == "beyond" and success is NOBODY) == bool(shown.surest)
    assert ("curve" not in more) or "90% are right, by guessing 10%" in shown.surest


def test_a_review_names_what_is_found_and_its_proposal_is_taken_by_one_button(tmp_path, monkeypatch):
    path = tmp_path / "dirty.csv"
    levels = ["Preschool", "9th", "HS-grad", "Bachelors", "Masters", "Doctorate"]
    rows = [
        f"{'?' if row % 9 == 0 else 'nurse'},{20 + row % 40},{levels[row % 6]},{levels[row % 4]},"
        f"{'flu' if row % 2 else 'cold'},{row * 7 % 11},{row % 2}"
        for row in range(120)
    ]
    path.write_text("\n".join(["occupation,age,education,school,disease,odd,sex", *rows]) + "\n", encoding="utf-8")
    with opened(tmp_path, path) as studio:
        studio.enter()
        assert "/review" in studio.get("/columns").text
        page = studio.get("/review").text
        assert "seems to stand for a missing value (14 cells)" in page
        assert "The labels seem to have an order" in page
        assert "“?” is a missing value" in page
        assert "NUMBER" not in page
        studio.post("/setup/column", column="school", what="role", value="insensitive")
        assert "is the setup now" in studio.post("/setup/proposal").text
        draft = studio.desk.draft
        assert not draft.undecided
        # What the steward had said stays.
        assert draft.roles["school"] == "insensitive"
        assert (draft.roles["age"], draft.roles["disease"]) == ("quasi-identifying", "sensitive")
        assert draft.settings["education"]["kind"] == "ordered"
        assert [model["name"] for model in draft.rest["models"]][:2] == ["k-anonymity", "distinct-l-diversity"]
        # An ordered column is counted, and the marks are missing now.
        page = studio.get("/columns").text
        assert "every column has a role" in page
        assert "seems to stand for a missing value" not in page + studio.get("/review").text
        assert studio.desk.profile("occupation").missing == 14
        assert studio.desk.can_run
        # Of a larger table a changed role does not wait for that; the page of promises asks.
        monkeypatch.setattr("sfumato.studio.desk.JUDGED_AT_ONCE", 0)
        assert studio.desk.can_run
        studio.post("/setup/column", column="school", what="role", value="identifying")
        assert not studio.desk.can_run
        assert "seem to have an order" not in studio.get("/review").text
        studio.get("/promises")
        assert studio.desk.can_run
        # A promise that is added asks for no more values than there are.
        studio.post("/setup/promises", what="add", name="entropy-l-diversity")
        assert studio.desk.draft.rest["models"][-1]["l"] == 2
