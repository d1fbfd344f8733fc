"""The person role on the command line: exit codes, files, sentences; no traceback, no value of the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from guarantees.test_people_guarantees import stays
from sfumato.cli.app import app

MARK = "geheim"
ROLES = ["--person", "id", "--quasi", "age,city", "--sensitive", "ill", "--others", "drop", "-k", "3"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    frame = stays(0).with_columns(pl.format("{}{}", pl.lit(MARK), "id").alias("id"))
    frame.write_csv(tmp_path / "stays.csv")
    return tmp_path / "stays.csv"


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
    assert MARK not in result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def test_anonymize_and_verify_with_and_without_the_audit_file(table, tmp_path):
    code, out, err = run("anonymize", table, *ROLES, "--out", tmp_path / "out")
    assert code == 0
    assert "out.audit.json is private" in " ".join(out.split())
    assert err == ""
    for path in (tmp_path / "out").iterdir():
        assert MARK not in path.read_text()
    assert MARK not in (tmp_path / "out.audit.json").read_text()
    code, out, _ = run("verify", tmp_path / "out")
    assert code == 0
    assert "attested, not recountable from the release" in " ".join(out.split())
    assert "✓ k-anonymity" not in out
    assert "– k-anonymity" in out
    code, out, _ = run("verify", tmp_path / "out", "--audit", tmp_path / "out.audit.json")
    assert code == 0
    assert "✓ k-anonymity" in out


@pytest.mark.parametrize("pseudonyms", ["audit", "published"])
def test_the_risk_of_a_release_says_whether_people_are_counted(table, tmp_path, pseudonyms):
    run("anonymize", table, *ROLES, "--set", f"people.pseudonyms={pseudonyms}", "--out", tmp_path / "out")
    _, out, _ = run("risk", tmp_path / "out")
    sentence = "The risks above count records: the release does not say"
    assert (sentence in " ".join(out.split())) == (pseudonyms == "audit")
    _, out, _ = run("risk", tmp_path / "out", "--json")
    told = json.loads(out)
    assert ("people_unnumbered" in told, "people" in told) == (pseudonyms == "audit", pseudonyms == "published")


def test_json_tells_the_steward_of_people_and_nobody_else(table, tmp_path):
    _, out, _ = run("anonymize", table, *ROLES, "--out", tmp_path / "out", "--set", "output.format=parquet", "--json")
    told = json.loads(out)
    assert told["people"]["smallest_class"] >= 3
    assert told["risk"]["of"] == "people"
    kept = json.loads((tmp_path / "out" / "report.json").read_text())
    assert not {"people", "risk"} & kept.keys()
    _, out, _ = run("verify", tmp_path / "out", "--audit", tmp_path / "out.audit.json", "--json")
    assert json.loads(out)["people"] == told["people"]


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_the_original_is_never_taken_for_the_audit_file(table, tmp_path, overwrite):
    before = table.read_bytes()
    code, _, err = run("anonymize", table, *ROLES, "--out", tmp_path / "out", "--audit", table, *overwrite)
    assert code == 2
    assert "no audit file" in err
    assert table.read_bytes() == before
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("audit", "words"),
    [
        ("out/audit.json", "in no release folder"),
        ("nowhere/audit.json", "cannot be written"),
        (".", "cannot be written"),
        ("policy.toml", "--save-policy"),
    ],
)
def test_where_the_audit_file_cannot_lie_is_said_before_the_work(table, tmp_path, monkeypatch, audit, words):
    monkeypatch.setattr("sfumato.cli.anonymize._release", lambda *_, **__: pytest.fail("worked"))
    target = ["--out", tmp_path / "out", "--save-policy", tmp_path / "policy.toml"]
    code, _, err = run("anonymize", table, *ROLES, *target, "--audit", tmp_path / audit)
    assert code == 2
    assert words in err
    assert {path.name for path in tmp_path.iterdir()} == {"stays.csv"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (["--person", "who"], "'who'"),
        (["--person", "age"], "age"),
        (["-k", "26"], "there are only"),
        (["-k", "24", "--suppression", "0.2"], "k = 24"),
        (["--anonymizer", "bucketization", "-l", "2"], "person: bucketization"),
        (["--anonymizer", "datafly"], "person: datafly"),
        (["--set", "extent=region"], "person: mondrian"),
        (["--set", "blind=true"], "person: blind"),
    ],
)
def test_mistakes_are_sentences(table, tmp_path, changed, words):
    code, _, err = run("anonymize", table, *ROLES, *changed, "--out", tmp_path / "out")
    assert code in (1, 2)
    assert words in err
    assert {path.name for path in tmp_path.iterdir()} == {"stays.csv"}


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": 1, "file": "data.csv", "sha256": "", "pseudonyms": [1]}']
)
def test_a_damaged_audit_file_is_a_sentence(table, tmp_path, content):
    run("anonymize", table, *ROLES, "--out", tmp_path / "out")
    (tmp_path / "out.audit.json").write_text(content)
    code, out, err = run("verify", tmp_path / "out", "--audit", tmp_path / "out.audit.json")
    assert code == 1
    assert "out.audit.json" in out + err


@pytest.mark.parametrize("person", ["3", "true", '["id", 1]', "{ id = 1 }", '"age"', '"nobody"'])
def test_policy_files_that_say_it_wrongly(table, tmp_path, person: Any):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        f'models = [{{ name = "k-anonymity", k = 3 }}]\n[columns]\nquasi-identifying = ["age"]\n'
        f'others = "drop"\nperson = {person}\n'
    )
    code, _, err = run("anonymize", table, "--policy", policy, "--out", tmp_path / "out")
    assert code in (1, 2)
    assert "person" in err or "nobody" in err


def test_check_and_risk_count_people(table):
    for command in ("check", "risk"):
        code, out, err = run(command, table, *ROLES[:-2])
        assert code == 0, err
        assert "people" in out


def test_an_audit_file_without_people(table, tmp_path):
    roles = ["--quasi", "age,city", "--sensitive", "ill", "--others", "drop", "-k", "3"]
    code, _, err = run("anonymize", table, *roles, "--out", tmp_path / "out", "--audit", tmp_path / "audit.json")
    assert code == 2
    assert "--audit: recounts people" in err
    assert not (tmp_path / "out").exists()


def test_pseudonyms_are_published_and_recounted_by_everybody(table, tmp_path):
    asked = [
        "--set",
        "people.pseudonyms=published",
        "--set",
        "people.known-values=2",
        "--set",
        "people.fingerprint-k=2",
        "--suppression",
        "0.9",
    ]
    policy, folder = tmp_path / "policy.toml", tmp_path / "out"
    code, out, err = run("anonymize", table, *ROLES, *asked, "--out", folder, "--save-policy", policy, "--details")
    assert code == 0
    assert "recounted from the published table\n" in out
    assert "Fingerprints (" in out
    assert "audit" not in err
    assert {path.name for path in tmp_path.iterdir()} == {"stays.csv", "out", "policy.toml"}
    code, out, _ = run("verify", folder)
    assert code == 0
    assert "✓ fingerprints  fingerprint_k=2, known_values=2" in out
    code, out, _ = run("verify", folder, "--json")
    assert json.loads(out)["people"]["smallest_class"] >= 3
    code, out, _ = run("anonymize", table, "--policy", policy, "--out", tmp_path / "again", "--json")
    assert code == 0
    assert {each["fingerprint_k"] for each in json.loads(out)["fingerprints"]} == {2}
    code, out, _ = run("attack", folder, "--original", table, "--set", "fingerprint.known=1", "--details")
    assert code == 0
    assert "everybody's class, and 1 value of ill" in out


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        (
            ["--set", "people.pseudonyms=published", "--audit", "a.json"],
            2,
            "--audit: the release says itself who is who",
        ),
        (
            ["--set", "people.pseudonyms=published", "--set", "people.fingerprint-k=20"],
            1,
            "would have to be suppressed",
        ),
        (["--set", "people.pseudonyms=published", "--set", "people.fingerprint-k=0"], 2, "--set people.fingerprint-k"),
        (["--set", "people.pseudonyms=published", "--set", "people.known-values=4"], 2, "--set people.known-values"),
        (["--set", "people.pseudonyms=everywhere"], 2, "--set people.pseudonyms"),
        (["--set", "people.fingerprint-k=2"], 2, "pseudonyms='published' alone"),
    ],
)
def test_mistakes_about_pseudonyms_are_sentences(table, tmp_path, changed, code, words):
    found, _, err = run("anonymize", table, *ROLES, *changed, "--out", tmp_path / "out")
    assert (found, words in err) == (code, True), err
    assert {path.name for path in tmp_path.iterdir()} == {"stays.csv"}


def test_attack_counts_people_and_takes_what_is_known_of_them(table, tmp_path):
    release = tmp_path / "out"
    assert run("anonymize", table, *ROLES, "--seed", "1", "--out", release)[0] == 0
    told = {}
    for known in ("all", "one", "2"):
        words = ["attack", release, "--original", table, "--attack", "linkage", "--seed", "1", "--json"]
        code, out, _ = run(*words, "--records-known", known)
        assert code == 0
        told[known] = json.loads(out)
    people = stays(0)["id"].n_unique()
    for known, played in told.items():
        assert (played["people"], played["records"]) == (people, stays(0).height)
        assert str(played["records_known"]) == known
        assert all(result["success"]["people"] == people for result in played["results"])
        assert all(result["counts"] == "people" for result in played["results"])
    assert run("attack", release, "--original", table, "--records-known", "some")[0] == 2


def test_attack_takes_registers_and_controls_by_person(table, tmp_path):
    release, register = tmp_path / "out", tmp_path / "register.csv"
    frame = pl.read_csv(table)
    assert run("anonymize", table, *ROLES, "--seed", "1", "--out", release)[0] == 0
    frame.select("id", "age", "city").write_csv(register)
    words = ["attack", release, "--original", table, "--attack", "linkage", "--seed", "1", "--json"]
    without, named = (json.loads(run(*words, *more)[1]) for more in ([], ["--register", register]))
    for one, other in zip(without["results"], named["results"], strict=True):
        assert one["success"] == pytest.approx(other["success"])
    controls = tmp_path / "others.csv"
    frame.with_columns(pl.format("{}x", "id").alias("id")).write_csv(controls)
    words = ["attack", release, "--original", table, "--attack", "membership-inference", "--seed", "1", "--json"]
    assert json.loads(run(*words, "--control", controls)[1])["control"] == frame["id"].n_unique()
    frame.drop("id").write_csv(controls)
    assert json.loads(run(*words, "--control", controls)[1])["control"] == frame.height


def test_attacking_what_a_policy_would_publish_holds_people_out(table, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'models = [{ name = "k-anonymity", k = 3 }]\n[columns]\nperson = "id"\nquasi-identifying = ["age", "city"]\n'
        'sensitive = ["ill"]\nothers = "drop"\n'
    )
    words = ["attack", table, "--policy", policy, "--hold-out", "0.25", "--attack", "linkage", "--seed", "1", "--json"]
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    played, people = json.loads(out), pl.read_csv(table)["id"].n_unique()
    assert played["people"] + played["control"] == people
    register = tmp_path / "register.csv"
    pl.read_csv(table).select("id", "age", "city").write_csv(register)
    code, out, _ = run(*words, "--register", register)
    assert code == 0
    named = json.loads(out)["results"]
    assert named[0]["success"]["people"] == played["people"]
    assert named[0]["figures"]["register_not_in_the_data"] == played["control"]
