"""What is signed and handed over: the receipt, what was decided on the way, and the release of last time."""

from __future__ import annotations

import hashlib
import json
import re

import polars as pl
import pytest

import sfumato as sf
from sfumato.evidence.context import Decision, read_decisions
from sfumato.evidence.release_report import receipt
from studio.desks import ROLES, opened, people, waited


@pytest.fixture
def studio(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv")) as one:
        yield one.enter()


def run(studio, **fields):
    assert studio.post("/runs/start", **{"what": "release", **fields}).status_code == 200
    job = waited(studio.desk.jobs, studio.desk.jobs.all[0].number)
    assert job.state == "done", job.problems
    return job


def hostile_release(folder):
    bad = "<script>alert(1)</script>"
    frame = pl.DataFrame({bad: [1, 1, 2, 2], "sick": ["<b>x", "y", "<b>x", "y"]})
    schema = sf.Schema(quasi_identifying=[bad], sensitive=["sick"])
    sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(2)).save(folder)
    return folder


def test_a_receipt_says_how_to_check_what_is_promised_and_what_is_not_protected(tmp_path):
    # Such a name is refused where a release is made; a receiver may still rename the folder.
    folder = hostile_release(tmp_path / "release").rename(tmp_path / "re<l>ease")
    page = receipt(folder)
    assert "<script" not in page
    assert not re.search(r"\ssrc=|href=|url\(|https?:", page)
    assert "re&lt;l&gt;ease" in page
    assert "sfumato verify" in page
    assert "looks like at least 2 people" in page
    assert "What it does not protect against" in page
    assert "knows more may learn more" in page
    for path in folder.iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() in page
    data = folder / "data.csv"
    data.write_bytes(data.read_bytes().replace(b"y", b"z"))
    with pytest.raises(sf.VerificationError):
        receipt(folder)


def test_what_was_decided_is_in_the_internal_report_alone(tmp_path):
    folder = hostile_release(tmp_path / "release")
    log = [Decision("2026-01-02 03:04:05", "age: <quasi>", 727, 0.0123), Decision("2026-01-03 03:04:05", "k 5")]
    made = sf.report(folder, decisions=log)
    page = made.html()
    assert "age: &lt;quasi&gt;" in page
    assert "727" in page
    assert "1.23" in page
    assert "How it came to this" not in made.html("public")
    assert made.to_dict("public")["decisions"] == []
    without = sf.report(folder).html()
    assert "No log of decisions was given" in without
    assert "age: &lt;quasi&gt;" not in without


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '[{"made": "x"}]', '[{"made": 1, "change": "x"}]', '[{"made": "", "change": "", "loss": "x"}]'],
)
def test_what_is_no_list_of_decisions_is_refused(tmp_path, text):
    path = tmp_path / "decisions.json"
    path.write_text(text, encoding="utf-8")
    if text != "{}":
        with pytest.raises(sf.InputError, match="no list of decisions"):
            read_decisions(path)
    else:
        assert read_decisions(path) == []


def test_two_states_differ_in_words_people_and_loss(studio):
    studio.set_up()
    first = studio.desk.head.number
    lossy = run(studio)
    studio.post("/setup/promises", what="model", place="0", **{"option.k": "20"})
    second = studio.desk.head.number
    lossier = run(studio)
    studio.post("/setup/column", column="zip", what="role", value="insensitive")
    third = studio.desk.head.number
    losses = [job.result["losses"]["normalized_ncp"] for job in (lossy, lossier)]
    assert losses[0] < losses[1]
    page = studio.get(f"/history?from={first}&to={second}").text
    assert "promises: k-anonymity (k 20)" in page
    assert f"({100 * (losses[1] - losses[0]):+.1f} points)" in page
    page = studio.get(f"/history?from={second}&to={third}").text
    counts = []
    for quasi in (["age", "sex", "zip"], ["age", "sex"]):
        kinds = {name: sf.Attribute(kind="numeric") if name == "zip" else None for name in quasi}
        table = sf.read_table(studio.desk.project.table, sf.Schema(quasi_identifying=kinds, others="drop"))
        counts.append(sf.risk(table).sample_uniques)
    assert f"people who stand alone: {counts[0]:,} → {counts[1]:,}" in page
    assert "points" not in page
    assert studio.get(f"/history?from={first}").status_code == 200
    assert studio.get("/history?from=99").status_code == 404


@pytest.mark.slow
def test_the_internal_report_of_the_studio_has_the_way_to_the_release(studio):
    studio.set_up()
    lossy = run(studio)
    studio.post("/setup/promises", what="model", place="0", **{"option.k": "20"})
    studio.post("/sign/report", run=str(lossy.number))
    report = waited(studio.desk.jobs, 2, 240)
    assert report.state == "done", report.problems
    log = json.loads((studio.desk.jobs.folder_of(2) / "decisions.json").read_text(encoding="utf-8"))
    assert log[-1]["loss"] == pytest.approx(lossy.result["losses"]["normalized_ncp"])
    entries = studio.desk.project.history.entries[: lossy.entry]
    assert [entry["change"] for entry in log] == [entry.note for entry in entries]
    assert log[0]["unique"] is None
    assert log[-1]["unique"] == studio.desk.preview.sizes(studio.desk.attributes(studio.desk.draft)).uniques
    assert "How it came to this" in studio.get("/files/2/report.html").text
    assert studio.get("/files/2/decisions.json").status_code == 404


def test_a_release_is_handed_over_with_its_receipt(studio, tmp_path):
    studio.set_up()
    run(studio)
    assert "sfumato verify people-release" in studio.get("/sign/1/receipt").text
    assert "sandbox" in studio.get("/sign/1/receipt").headers["content-security-policy"]
    assert studio.get("/sign/9/receipt").status_code == 404
    assert studio.post("/sign/hand-over", run="1", name="given").status_code == 200
    page = (tmp_path / "given-receipt.html").read_text(encoding="utf-8")
    assert "sfumato verify given" in page
    for row in (tmp_path / "people.csv").read_text(encoding="utf-8").splitlines()[1:]:
        assert row.split(",")[0] not in page
    assert sf.verify(tmp_path / "given").ok
    (tmp_path / "again-receipt.html").write_text("mine", encoding="utf-8")
    studio.post("/sign/earlier", earlier="")
    assert studio.post("/sign/hand-over", run="1", name="again").status_code == 422
    assert not (tmp_path / "again").exists()


def test_next_time_what_changed_is_listed_and_nothing_is_handed_over_unplayed(tmp_path):
    folder = tmp_path / "first"
    folder.mkdir()
    with opened(folder, people(folder / "people.csv")) as studio:
        studio.enter().set_up()
        run(studio)
        studio.post("/sign/hand-over", run="1", name="last-time")
    (tmp_path / "next").mkdir()
    table = people(tmp_path / "next" / "people.csv", rows=130, seed=2)
    frame = pl.read_csv(table).rename({"ward": "station"})
    frame.write_csv(table)
    (folder / "last-time").rename(tmp_path / "next" / "last-time")
    with opened(tmp_path / "next", table) as studio:
        studio.enter()
        roles = {("station" if name == "ward" else name): role for name, role in ROLES.items()}
        studio.set_up(roles)
        run(studio)
        assert "Was one of these made of the same people?" in studio.get("/sign").text
        refused = studio.post("/sign/hand-over", run="1", name="given")
        assert refused.status_code == 422
        assert "Say first which of them" in refused.text
        assert studio.post("/sign/earlier", earlier="../first").status_code == 422
        assert studio.post("/sign/earlier", earlier="last-time").status_code == 200
        page = studio.get("/sign").text
        assert "column &#39;ward&#39; is gone" in page
        assert "120 records were published, and the table has 130 now" in page
        assert "Attack this release and last-time together first." in page
        assert studio.post("/sign/hand-over", run="1", name="given").status_code == 422
        assert "is not in this table" in studio.post("/sign/replay", earlier="last-time").text
    # It is still known after a restart.
    with opened(tmp_path / "next") as studio:
        assert studio.desk.project.earlier == "last-time"


def test_the_policy_of_last_time_becomes_the_setup(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv")) as studio:
        studio.enter().set_up(k="7")
        run(studio)
        studio.post("/sign/hand-over", run="1", name="last-time")
        (tmp_path / "new").mkdir()
        (tmp_path / "last-time").rename(tmp_path / "new" / "last-time")
    table = people(tmp_path / "new" / "people.csv", seed=3)
    frame = pl.read_csv(table).with_columns(more=pl.lit("x"))
    frame.write_csv(table)
    with opened(tmp_path / "new", table) as studio:
        studio.enter()
        answer = studio.post("/sign/replay", earlier="last-time")
        assert answer.status_code == 200, answer.text
        draft = studio.desk.draft
        assert draft.rest["models"] == [{"name": "k-anonymity", "k": 7}]
        assert draft.roles["age"] == "quasi-identifying"
        assert draft.roles["sick"] == "sensitive"
        assert "more" in draft.undecided
        assert draft.settings["zip"]["kind"] == "numeric"


@pytest.mark.slow
def test_after_the_attack_on_both_the_release_is_handed_over(studio, tmp_path):
    studio.set_up()
    run(studio)
    studio.post("/sign/hand-over", run="1", name="last-time")
    studio.post("/sign/earlier", earlier="last-time")
    assert studio.post("/sign/hand-over", run="1", name="given").status_code == 422
    assert studio.post("/sign/attack", run="1", earlier="last-time").status_code == 200
    attacked = waited(studio.desk.jobs, 2, 240)
    assert attacked.state == "done", attacked.problems
    assert studio.post("/sign/hand-over", run="1", name="given").status_code == 200
    assert sf.verify(tmp_path / "given").ok


STATED = {
    **{"recipient": "the institute", "purpose": "a study", "other-data": "none"},
    **{f"controls.{name}": "none" for name in ("access", "contract", "training", "audit")},
    **{
        f"{way}.{key}": value
        for way in ("attempt", "recognition", "breach")
        for key, value in {"probability": "0.3", "owner": "A. Steward", "source": "the contract"}.items()
    },
    **{"threshold.quantity": "maximum", "threshold.attempt": "without", "threshold.attacker": "prosecutor"},
}


def test_what_is_stated_of_a_recipient_goes_into_the_report_and_into_no_release(studio):
    studio.set_up()
    job = run(studio)
    wrong = studio.post("/sign/recipient/state", **{**STATED, "attempt.probability": "often", "purpose": ""})
    assert (wrong.status_code, wrong.json()["problems"]) == (422, ["attempt.probability: must be a number"])
    assert studio.post("/sign/recipient/state", **{**STATED, "answer:iso-27559 9.4": "us"}).status_code == 422
    named = {"author.name": "A. Steward", "author.role": "office", "author.day": "2026-11-30"}
    answered = {**STATED, **named, "answer:iso-27559 9.4": "the office asks for the file back"}
    assert studio.post("/sign/recipient/state", **answered).status_code == 200
    # The form shows what was stated, and stating that again changes nothing.
    kept = studio.desk.project.folder / "recipient.json"
    before, shown = kept.read_bytes(), studio.get("/sign/recipient").text
    sent = dict(re.findall(r'<input id="[^"]*" name="([^"]*)" value="([^"]*)"', shown))
    sent |= {"answer:iso-27559 9.4": "the office asks for the file back", "threshold.quantity": "maximum"}
    assert studio.post("/sign/recipient/state", **sent).status_code == 200
    assert json.loads(kept.read_bytes()) == json.loads(before)
    fields = {"run": str(job.number), "edition": "internal"}
    assert studio.post("/sign/report", **fields).status_code == 200
    made = waited(studio.desk.jobs, studio.desk.jobs.all[0].number)
    assert made.state == "done", made.problems
    page = studio.get(f"/files/{made.number}/report.html").text
    assert "For the institute, the risk" in page
    assert "the office asks for the file back" in page
    folder = studio.desk.release_folder(job)
    assert not any(b"institute" in path.read_bytes() for path in folder.iterdir())
    assert studio.post("/sign/recipient/forget").status_code == 200
    assert "Nobody has said who gets it" in studio.get("/sign").text
