"""Runs: what they make, how they end, and what is left of those that were ended."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.studio.jobs import RECORD, Job, Jobs
from studio.desks import opened, people, waited


@pytest.fixture
def studio(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv")) as one:
        yield one.enter()


def run(studio, **fields):
    """Start a job and wait for its end."""
    answer = studio.post("/runs/start", **{"what": "release", **fields})
    assert answer.status_code == 200, answer.text
    return waited(studio.desk.jobs, studio.desk.jobs.all[0].number)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_whole_way_to_a_signed_release(studio, tmp_path):
    studio.set_up()
    job = run(studio)
    assert (job.state, job.code, job.problems) == ("done", 0, [])
    folder = studio.desk.release_folder(job)
    assert sf.verify(folder).ok
    assert studio.desk.staleness(job) == ""
    assert "✓ verified" in studio.get("/runs").text
    look = studio.get("/look")
    assert look.status_code == 200
    assert "k-anonymity (k=3)" in look.text
    rows = studio.get(f"/grid?of={job.number}").json()
    assert rows["names"] == ["age", "sex", "zip", "ward", "sick"]
    found = studio.get("/look/1/person?row=17").text
    policy = studio.desk.policy_of(job)
    original = sf.read_table(studio.desk.project.table, policy).frame
    fits = sf.fits(folder, original[16].drop("ward", "sick"), studio.desk.schema(policy)).height
    assert f"<dt>fits in the release</dt><dd>{fits}</dd>" in found
    assert fits >= 3
    assert 'data-later="/look/1/groups"' in look.text
    assert "averaged over the records" in (groups := studio.get("/look/1/groups").text)
    assert '<th scope="row">sex' in groups
    assert studio.post("/sign/report", run="1").status_code == 200
    report = waited(studio.desk.jobs, 2)
    assert report.state == "done", report.problems
    page = studio.get("/files/2/report.html")
    assert "script-src" not in page.headers["content-security-policy"]
    assert "sandbox" in page.headers["content-security-policy"]
    assert "<script" not in page.text
    sign = studio.get("/sign").text
    assert 'iframe sandbox src="/files/2/report.html"' in sign
    assert "sfumato anonymize" in sign
    assert studio.post("/sign/hand-over", run="1", name="handed-over").status_code == 200
    assert sf.verify(tmp_path / "handed-over").ok
    assert studio.post("/sign/hand-over", run="1", name="handed-over").status_code == 422
    for name in ("../out", "a/b", "", ".."):
        assert studio.post("/sign/hand-over", run="1", name=name).status_code == 422
    # Undoing the setup does not undo a release, which is then stale, and says why.
    studio.post("/history/go", to="undo")
    assert "stale" in studio.get("/runs").text
    assert "k-anonymity (k 5)" in studio.desk.staleness(job)


def test_a_run_is_the_command_line_to_the_byte(studio, tmp_path):
    studio.set_up()
    job = run(studio)
    policy = studio.desk.jobs.folder_of(job.number) / "policy.toml"
    assert job.words == [
        *("anonymize", str(studio.desk.project.table), "--policy", str(policy)),
        *("--out", str(policy.parent / "release"), "--json"),
    ]
    assert policy.read_text(encoding="utf-8") == studio.get("/policy.toml").text
    words = [word if not word.endswith("release") else str(tmp_path / "spare") for word in job.words]
    words += ["--seed", "7"]
    with subprocess.Popen(
        [sys.executable, "-m", "sfumato.studio.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as spare:
        assert spare.stdin is not None
        spare.stdin.write(json.dumps(words) + "\n")
        spare.stdin.flush()
        assert spare.stdout is not None
        spare.stdout.read()
        assert spare.wait(60) == 0
    from sfumato.cli.app import app

    direct = [word if word != str(tmp_path / "spare") else str(tmp_path / "direct") for word in words]
    assert CliRunner().invoke(app, direct).exit_code == 0
    assert files(tmp_path / "spare") == files(tmp_path / "direct")


@pytest.mark.slow
def test_what_cannot_be_met_becomes_choices_that_were_tried(studio):
    studio.set_up(k="500")
    failed = run(studio)
    assert (failed.state, failed.code) == ("failed", 1)
    assert "only 120 record(s)" in " ".join(failed.problems)
    assert not (studio.desk.jobs.folder_of(1) / "release").exists()
    page = studio.get("/runs").text
    assert "What could be relaxed" in page
    assert "k-anonymity with k = 250" in page
    studio.post("/setup/promises", **{"what": "model", "place": "0", "option.k": "130"})
    failed = run(studio)
    assert studio.post("/runs/start", what="tries", run=str(failed.number)).status_code == 200
    tries = [waited(studio.desk.jobs, job.number, 120) for job in studio.desk.jobs.of_kind("try")]
    by_name = {job.title: job for job in tries}
    assert by_name["k-anonymity with k = 65"].state == "done"
    assert by_name["k-anonymity with k = 129"].state == "failed"
    page = studio.get("/runs").text
    assert "would hold" in page
    assert "cannot be met either" in page
    answer = studio.post("/runs/relax", run=str(failed.number), name="k-anonymity with k = 65")
    assert answer.status_code == 200
    assert studio.desk.draft.rest["models"][0]["k"] == 65
    assert run(studio).state == "done"


@pytest.mark.parametrize(
    "wait", [pytest.param(0.0, marks=pytest.mark.slow), pytest.param(0.4, marks=pytest.mark.slow), 1.5]
)
def test_a_run_that_would_take_long_is_cancelled_and_leaves_nothing(tmp_path, wait):
    with opened(tmp_path, people(tmp_path / "people.csv", rows=20_000)) as studio:
        studio.enter().set_up()
        studio.post("/setup/promises", what="method", name="k-member")
        assert studio.post("/runs/start", what="release").status_code == 200
        time.sleep(wait)
        assert studio.post("/runs/cancel", run="1").status_code == 200
        job = waited(studio.desk.jobs, 1)
        assert job.state == "cancelled"
        assert sorted(path.name for path in studio.desk.jobs.folder_of(1).iterdir()) == [RECORD, "policy.toml"]
        # The next one is not kept waiting.
        studio.post("/setup/promises", what="method", name="mondrian")
        assert run(studio).state == "done"


@pytest.mark.slow
def test_jobs_wait_for_each_other_and_can_be_cancelled_while_they_wait(studio):
    studio.set_up()
    for _ in range(3):
        studio.post("/runs/start", what="release")
    studio.post("/runs/cancel", run="2")
    states = {number: waited(studio.desk.jobs, number).state for number in (1, 2, 3)}
    assert states == {1: "done", 2: "cancelled", 3: "done"}


def test_a_watched_run_tells_its_progress_and_its_end(studio):
    studio.set_up()
    studio.post("/runs/start", what="release")
    told = [
        json.loads(line[6:]) for line in studio.get("/runs/1/events").text.splitlines() if line.startswith("data: ")
    ]
    assert told[-1]["state"] == "done"
    assert {"state", "what", "done", "total", "seconds"} == set(told[0])
    assert studio.get("/runs/9/events").status_code == 404


def test_a_server_that_was_killed_left_an_interrupted_run_and_no_process(tmp_path):
    folder = tmp_path / "jobs"
    folder.mkdir()
    jobs = Jobs(folder, spare=False)
    table = people(tmp_path / "people.csv", rows=20_000)
    words = [
        "anonymize",
        str(table),
        "--quasi",
        "age,sex,zip",
        "--set",
        "column.zip.kind=numeric",
        "--sensitive",
        "sick",
        "--others",
        "drop",
    ]
    words += ["--anonymizer", "k-member", "-k", "5", "--out", str(folder / "0001" / "release"), "--json"]
    jobs.add(lambda number, place: Job(number, "release", words, 1, "k-member"))
    process = jobs._running[1]
    time.sleep(0.3)
    # What a killed server leaves: its end of the pipe is closed, and the record says that the job runs.
    (folder / "0001" / "half-written").write_text("x", encoding="utf-8")
    record = (folder / "0001" / RECORD).read_text(encoding="utf-8")
    process.stdin.close()
    process.wait(60)
    waited(jobs, 1)
    (folder / "0001" / RECORD).write_text(record, encoding="utf-8")
    again = Jobs(folder, spare=False)
    assert again.get(1).state == "interrupted"
    assert [path.name for path in (folder / "0001").iterdir()] == [RECORD]
    jobs.close()
    again.close()


@pytest.mark.slow
def test_a_worker_that_dies_is_said_and_the_next_job_runs(studio):
    studio.set_up()
    studio.post("/runs/start", what="release")
    os.kill(studio.desk.jobs._running[1].pid, 9)
    job = waited(studio.desk.jobs, 1)
    assert job.state == "failed"
    assert "ended by itself" in job.problems[0]
    assert run(studio).state == "done"


@pytest.mark.slow
def test_the_spare_process_is_used_and_replaced(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv"), spare=True) as studio:
        studio.enter().set_up()
        first = studio.desk.jobs._ready
        assert run(studio).state == "done"
        deadline = time.monotonic() + 60
        while studio.desk.jobs._ready is None and time.monotonic() < deadline:
            threading.Event().wait(0.05)
        assert studio.desk.jobs._ready is not None
        assert studio.desk.jobs._ready is not first
        spare = studio.desk.jobs._ready
    assert spare.poll() is not None


def test_a_table_that_changes_on_disk_stops_runs_and_is_said(studio):
    studio.set_up()
    job = run(studio)
    people(studio.desk.project.table, seed=2)
    assert studio.post("/runs/start", what="release").status_code == 422
    assert "changed on disk" in studio.get("/").text
    assert studio.desk.staleness(job) == ""


def test_compare_and_attack(studio):
    studio.set_up()
    answer = studio.post("/compare/start", methods=["mondrian", "mdav"], values="2, 5")
    assert answer.status_code == 200, answer.text
    done = waited(studio.desk.jobs, 1, 120)
    assert done.state == "done", done.problems
    page = studio.get("/compare").text
    assert page.count(">make it the setup<") == 4
    assert studio.post("/compare/take", method="mdav", k="5").status_code == 200
    assert studio.desk.draft.rest["anonymizer"] == {"name": "mdav"}
    assert studio.desk.draft.rest["models"] == [{"name": "k-anonymity", "k": 5}]
    assert "stale" in studio.get("/compare").text
    for fields in ({"methods": ["king"], "values": "2"}, {"methods": ["mdav"], "values": "x"}, {"values": "2"}):
        assert studio.post("/compare/start", **fields).status_code == 422
    assert studio.post("/runs/start", what="attack").status_code == 200
    attacked = waited(studio.desk.jobs, 2, 240)
    assert attacked.state == "done", attacked.problems
    page = studio.get("/attack").text
    assert "homogeneity" in page
    assert "succeed beyond what is promised" in page


def test_the_levels_that_keep_the_promises_are_searched_and_drawn(studio):
    studio.set_up()
    assert studio.post("/compare/lattice").status_code == 200
    done = waited(studio.desk.jobs, 1, 120)
    assert done.state == "done", done.problems
    assert done.words[0] == "lattice"
    found = done.result
    # Without hierarchies each column has two levels: its values, and the star.
    assert found["nodes"] == 8
    page = studio.get("/compare").text
    assert "8 choices of levels of age, sex, zip" in page
    drawn = page[page.index('class="plot lattice"') : page.index("Filled: keeps")]
    assert drawn.count("<circle") + drawn.count("<rect") == len(found["known"]) == 8
    assert drawn.count("<rect") == 1
    assert page.count('<td class="small">minimal') == len(found["minimal"])
    # Each choice is walked to, with what it costs and what lies beside it.
    top = studio.get("/compare/node?level-0=1&level-1=1&level-2=1").text
    assert "keeps the promises" in top.partition("</p>")[0]
    assert re.findall(r'data-levels="([\d,]+)"', top) == ["0,1,1", "1,0,1", "1,1,0"]
    finest = studio.get("/compare/node").text
    alone = studio.desk.preview.sizes(studio.desk.attributes(studio.desk.draft)).uniques
    assert f"<dt>records alone</dt><dd>{alone}</dd>" in finest
    assert "breaks them" in finest.partition("</p>")[0]
    assert studio.get("/compare/node?level-0=7").status_code == 404
    studio.post("/setup/column", column="sex", what="role", value="insensitive")
    assert "stale" in studio.get("/compare").text
    # What cannot be met is said, and nothing is drawn of it.
    studio.post("/setup/promises", **{"what": "model", "place": "0", "option.k": "100000"})
    assert studio.post("/compare/lattice").status_code == 200
    assert waited(studio.desk.jobs, 2, 120).state == "failed"
    assert "100000" in studio.get("/compare").text


def test_chosen_levels_are_published_exactly_or_refused_with_the_reason(studio):
    studio.set_up(k="2")
    assert studio.post("/compare/lattice").status_code == 200
    found = waited(studio.desk.jobs, 1, 120).result
    names = [each["name"] for each in found["attributes"]]
    before = studio.desk.head.number
    # Not the one that the search would take.
    levels = next(
        each["levels"]
        for each in found["known"]
        if "satisfies" in each["state"] and each["levels"] != found["chosen"] and 0 in each["levels"][1:]
    )
    page = studio.get("/compare/node?" + "&".join(f"level-{at}={level}" for at, level in enumerate(levels))).text
    assert 'id="publish-levels"' in page
    sent = {"names": names, "levels": list(map(str, levels))}
    assert studio.post("/compare/publish", **sent).status_code == 200
    made = waited(studio.desk.jobs, 2, 120)
    assert made.state == "done", made.problems
    published = sf.open_release(studio.desk.jobs.folder_of(2) / "release")
    assert sf.verify(studio.desk.jobs.folder_of(2) / "release").ok
    heights = [each["height"] for each in found["attributes"]]
    for name, level, height in zip(names, levels, heights, strict=True):
        shown = set(published.data[name].cast(str).to_list())
        original = set(map(str, studio.desk.table.texts(name).to_list()))
        assert (shown == {"*"}, shown == original) == (level == height, level == 0), name
    assert studio.desk.staleness(made) == ""
    # Values as they are break the promise: nothing is published, and the reason is said.
    assert studio.post("/compare/publish", names=names, levels=["0"] * len(names)).status_code == 200
    refused = waited(studio.desk.jobs, 3, 120)
    assert refused.state == "failed"
    assert not (studio.desk.jobs.folder_of(3) / "release").exists()
    assert "the promises do not hold on the given levels" in studio.get("/runs").text
    for _ in range(2):
        studio.post("/history/go", to="undo")
    assert studio.desk.head.number == before
    assert studio.post("/compare/publish", names=["age"], levels=["0"]).status_code == 422
    assert studio.desk.head.number == before


def test_runs_of_the_same_loss_and_risk_share_a_dot():
    from sfumato.studio.routes.compare import _dots

    rows = [
        {"loss": 0.5, "average_risk": 0.1},
        {"loss": None},
        {"loss": 0.5, "average_risk": 0.1},
        {"loss": 0.0, "average_risk": 0.2},
    ]
    drawn = _dots(rows)
    assert (drawn.loss, drawn.risk) == (0.5, 0.2)
    assert drawn.dots == [("1, 2", 1.0, 0.5), ("3", 0.0, 1.0)]


@pytest.mark.slow
def test_the_release_of_last_time_is_attacked_beside(studio, tmp_path):
    studio.set_up()
    run(studio)
    studio.post("/sign/hand-over", run="1", name="last-time")
    assert "last-time" in studio.get("/sign").text
    assert studio.post("/sign/attack", run="1", earlier="elsewhere").status_code == 422
    assert studio.post("/sign/attack", run="1", earlier="last-time").status_code == 200
    attacked = waited(studio.desk.jobs, 2, 240)
    assert attacked.state == "done", attacked.problems
    played = {result["attack"]: result["unplayed"] for result in attacked.result["results"]}
    assert "intersection" in played
    assert "attacked beside last-time" in studio.get("/sign").text


def test_bad_projects_are_refused(tmp_path):
    from sfumato.studio.project import Project

    table = people(tmp_path / "people.csv")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("x", encoding="utf-8")
    with pytest.raises(sf.InputError, match="no project of the studio"):
        Project.opened(tmp_path / "full", table, {})
    with pytest.raises(sf.InputError, match="name the table"):
        Project.opened(tmp_path / "new", None, {})
    with pytest.raises(sf.InputError, match="no such file"):
        Project.opened(tmp_path / "new", tmp_path / "nowhere.csv", {})
    first = Project.opened(tmp_path / "new", table, {})
    if sys.platform != "win32":
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
        with pytest.raises(sf.InputError, match="open in another studio"):
            Project.opened(tmp_path / "new", table, {})
    first.close()
    mark = tmp_path / "new" / "studio.toml"
    mark.write_text(mark.read_text(encoding="utf-8").replace("format = 1", "format = 2"), encoding="utf-8")
    with pytest.raises(sf.InputError, match="another version"):
        Project.opened(tmp_path / "new", table, {})


def test_a_recipient_sees_the_recount_and_no_original(tmp_path):
    from starlette.testclient import TestClient

    from sfumato.studio.verifying import verifying_app

    with opened(tmp_path, people(tmp_path / "people.csv")) as studio:
        studio.enter().set_up()
        folder = studio.desk.release_folder(run(studio))
        app = verifying_app(folder, 8123)
        client = TestClient(app, base_url="http://127.0.0.1:8123")
        assert client.get("/").status_code == 401
        assert client.get(app.address).status_code == 200
        assert "Does this release keep" in client.get("/").text
        assert "It does" in client.get("/recount").text
        assert client.get("/grid").json()["height"] == 120
        assert client.get("/grid?table=x").status_code == 404
        data = folder / "data.csv"
        lines = data.read_text(encoding="utf-8").splitlines()
        data.write_text("\n".join([*lines[:-1], "[1..2]" + lines[-1][lines[-1].index(",") :]]) + "\n", encoding="utf-8")
        broken = client.get("/recount").text
        assert "It does not" in broken
        assert "broken" in broken


def test_the_page_of_runs_names_each_promise_once(studio):
    studio.set_up()
    shown = studio.get("/runs")
    assert (shown.status_code, shown.text.count(", k-anonymity")) == (200, 1)
