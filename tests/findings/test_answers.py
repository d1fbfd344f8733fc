"""Findings that stop a release until somebody answers, in every door, and nothing of them in what is handed on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import review as commands
from sfumato.cli.app import app
from sfumato.errors import PolicyError, SchemaError
from sfumato.findings.review import OpenFindings
from sfumato.release.on_disk import anonymize_on_disk

PEOPLE = 200
MARK = "Zq7Wx"
DIVERSE = [sf.KAnonymity(4), sf.DistinctLDiversity(2)]
ROLES = ("--quasi", "age,sex", "--sensitive", "disease", "--set", "columns.insensitive=remark")
MODELS = ("-k", 4, "--model", "distinct-l-diversity:l=2")
# The disk engine holds no insensitive columns, by which k-member tells equal records apart.
MAKER = ("--anonymizer", "mondrian")
ANSWERS = ("--accept", "spellings:disease=they are two", "--accept", "free-text:remark=the study needs it")


def visits(**changes: Any) -> pl.DataFrame:
    rows = range(PEOPLE)
    columns = {
        "age": [20 + i * 7 % 60 for i in rows],
        "sex": ["fm"[i // 3 % 2] for i in rows],
        "disease": [(f"{MARK}", f"{MARK.upper()}", "gout", "angina")[i % 4] for i in rows],
        "remark": [f"{MARK} was seen on day {i} and felt well" for i in rows],
    }
    return pl.DataFrame({**columns, **changes})


def schema(accept: Any = (), **roles: Any) -> sf.Schema:
    given = {"quasi_identifying": ["age", "sex"], "sensitive": ["disease"], "insensitive": ["remark"], **roles}
    return sf.Schema(**given, accept=accept)


def run(*words: object, typed: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato", input=typed)
    return result.exit_code, result.stderr


@pytest.fixture
def table(tmp_path: Path) -> Path:
    visits().write_csv(tmp_path / "visits.csv")
    return tmp_path / "visits.csv"


def test_all_open_findings_stop_a_release_at_once_and_their_own_answers_let_it_through() -> None:
    with pytest.raises(OpenFindings) as stopped:
        sf.anonymize(visits(), DIVERSE, schema=schema())
    keys = [key for finding in stopped.value.findings for key in finding.keys]
    assert keys == ["free-text:remark", "spellings:disease"]
    assert MARK not in str(stopped.value)
    assert MARK.upper() not in str(stopped.value)
    assert sf.anonymize(visits(), DIVERSE, schema=schema(keys), seed=1).report.findings == ()


def test_numbers_beyond_64_bits_are_looked_at_as_any_others() -> None:
    huge = [(1e60, -3.5e19, 4.0, 5.0)[i % 4] for i in range(PEOPLE)]
    table = sf.read_table(visits(age=huge), schema(accept=["free-text:remark"]))
    assert sf.anonymize(table, [sf.KAnonymity(4)]).report.findings


def test_only_what_a_model_counts_is_counted_in_spellings() -> None:
    release = sf.anonymize(visits(), sf.KAnonymity(4), schema=schema(["free-text:remark"]), seed=1)
    assert [(one.name, str(one.severity)) for one in release.report.findings] == [("spellings", "remark")]


def test_publish_answers_what_looks_like_a_person() -> None:
    answered = schema(["spellings:disease"], publish=["remark"])
    assert sf.anonymize(visits(), DIVERSE, schema=answered, seed=1).report.findings == ()


def test_who_was_never_asked_is_told_and_goes_on() -> None:
    release = sf.anonymize(visits(), DIVERSE, schema=schema(None), seed=1)
    assert [one.name for one in release.report.findings] == ["free-text", "spellings"]
    told = release.report.notes[-1]
    assert told.startswith("From the next version on")
    assert "free-text:remark, spellings:disease" in told


@pytest.mark.parametrize(
    ("accept", "says"),
    [(["spelling:disease"], "answers no finding"), (["disease"], "must name findings"), ("x", "must be a list")],
)
def test_an_answer_to_nothing_is_refused(accept: Any, says: str) -> None:
    with pytest.raises((PolicyError, SchemaError), match=says):
        sf.anonymize(visits(), DIVERSE, schema=schema(accept))


def test_memory_and_disk_find_the_same(tmp_path: Path) -> None:
    frame = visits(age=[999 if i == 7 else 20 + i * 7 % 60 for i in range(PEOPLE)], sex=["f", "F", "m", "NA"] * 50)
    frame.write_parquet(tmp_path / "visits.parquet")
    policy = sf.Policy.of(schema(None), DIVERSE, sf.Mondrian(), sf.Recoding(), 0.0)
    here = sf.anonymize(sf.read_table(tmp_path / "visits.parquet", policy), policy, seed=1).report
    there = anonymize_on_disk(tmp_path / "visits.parquet", policy, tmp_path / "release").report
    assert {one.name for one in here.findings} >= {"sentinels", "missing-marks", "spellings", "free-text"}
    assert [one.to_dict() for one in here.findings] == [one.to_dict() for one in there.findings]
    strict = sf.Policy.of(schema(), DIVERSE, sf.Mondrian(), sf.Recoding(), 0.0)
    with pytest.raises(OpenFindings):
        anonymize_on_disk(tmp_path / "visits.parquet", strict, tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_the_command_stops_says_how_to_go_on_and_asks_once(table: Path, tmp_path: Path, engine: str) -> None:
    out, kept = tmp_path / "release", tmp_path / "policy.toml"
    code, err = run("anonymize", table, *ROLES, *MODELS, *MAKER, "--out", out, "--engine", engine)
    assert (code, out.exists(), err.count("\n")) == (2, False, 3)
    assert "add this, and change what is not so: --set column.disease.spellings=merge --identifying remark\n" in err
    assert "--accept spellings:disease=REASON" in err
    assert "--accept free-text:remark=REASON" in err
    code, _ = run(
        "anonymize", table, *ROLES, *MODELS, *MAKER, *ANSWERS, "--out", out, "--engine", engine, "--save-policy", kept
    )
    assert code == 0
    assert sf.Policy.from_file(kept).columns.accept == {
        "spellings:disease": "they are two", "free-text:remark": "the study needs it"
    }  # fmt: skip
    # Next month, without a question; and what is new is asked.
    assert run("anonymize", table, "--policy", kept, "--out", tmp_path / "next", "--engine", engine)[0] == 0
    visits(disease=[f"{MARK} {i}" if i % 2 else "see a@b.org" for i in range(PEOPLE)]).write_csv(table)
    code, err = run("anonymize", table, "--policy", kept, "--out", tmp_path / "third", "--engine", engine)
    assert code == 2
    assert "identifier:disease" in err
    assert "remark" not in err


def test_a_policy_of_the_last_version_goes_on_with_the_findings_beside_the_result(table: Path, tmp_path: Path) -> None:
    kept = tmp_path / "policy.toml"
    sf.Policy.of(schema(None), DIVERSE, sf.Mondrian(), sf.Recoding(), 0.0).to_file(kept)
    result = CliRunner().invoke(app, ["anonymize", str(table), "--policy", str(kept), "--out", str(tmp_path / "r")])
    assert result.exit_code == 0
    assert "From the next version on" in result.stdout


def test_somebody_at_a_terminal_is_asked(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "at_a_terminal", lambda: True)
    out, kept = tmp_path / "release", tmp_path / "policy.toml"
    words = ("anonymize", table, *ROLES, *MODELS, "--out", out, "--save-policy", kept)
    assert run(*words, typed="needed\n\n")[0] == 2
    assert not out.exists()
    assert not kept.exists()
    assert run(*words, typed="needed\nthey are two\n")[0] == 0
    assert set((sf.Policy.from_file(kept).columns.accept or {}).values()) == {"needed", "they are two"}


def test_a_series_goes_on_with_what_its_policy_answers(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "monthly"
    visits().with_columns(who=pl.int_range(PEOPLE)).write_csv(table)
    words = ("series", "start", folder, table, *ROLES, "--person", "who", *MODELS)
    assert run(*words)[0] == 2
    assert not folder.exists()
    assert run(*words, *ANSWERS)[0] == 0
    more = visits(sex=["f", "m"] * 100).with_columns(who=pl.int_range(PEOPLE) + PEOPLE)
    more.write_csv(table)
    assert run("series", "append", folder, table)[0] == 0


@pytest.mark.parametrize("door", ["python", "command", "disk"])
def test_a_folder_says_nothing_that_its_table_does_not(tmp_path: Path, door: str) -> None:
    """Two originals that publish the same table, and of which different things are found: folders are byte-equal."""
    usual = {"age": [20 + i % 50 for i in range(PEOPLE)], "sex": ["f", "m"] * 100, "disease": ["flu", "gout"] * 100}
    odd = {**usual, "age": [999, *usual["age"][1:]], "sex": ["f", "F", "NA", "total"] * 50}
    everybody = {"quasi_identifying": {"age": sf.intervals(5000), "sex": sf.prefixes(0)}, "insensitive": []}
    policy = sf.Policy.of(
        schema(["sentinels:age"], **everybody), [sf.KAnonymity(PEOPLE)], sf.Mondrian(), sf.Recoding(), 0.0
    )
    policy.to_file(kept := tmp_path / "policy.toml")
    folders, said = [], []
    for name, columns in (("usual", usual), ("odd", odd)):
        (tmp_path / name).mkdir()
        source, out = tmp_path / name / "visits.csv", tmp_path / name / "release"
        pl.DataFrame(columns).write_csv(source)
        if door == "python":
            release = sf.anonymize(sf.read_table(source, policy), policy, seed=3)
            release.save(out)
            said.append(" ".join(one.name for one in release.report.findings))
        else:
            engine = ("--engine", "disk") if door == "disk" else ()
            code, err = run("anonymize", source, "--policy", kept, "--out", out, "--seed", 3, *engine)
            assert code == 0
            said.append(err)
        folders.append({file.name: file.read_bytes() for file in out.iterdir()})
    assert "missing-marks" not in said[0]
    assert "missing-marks" in said[1]
    assert folders[0] == folders[1]
    assert b"sentinels:age" in folders[0]["policy.toml"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_marker_of_one_column_is_missing_there_alone(tmp_path: Path, suffix: str) -> None:
    ages = [999 if i % 20 == 0 else 20 + i * 7 % 60 for i in range(PEOPLE)]
    frame = visits(age=ages, disease=["gout", "none"] * 100, pay=[999.0 + i % 5 for i in range(PEOPLE)]).drop("remark")
    source = tmp_path / f"visits.{suffix}"
    frame.write_csv(source) if suffix == "csv" else frame.write_parquet(source)
    marked = {"age": sf.Attribute(missing=["999"]), "sex": None, "pay": None}
    roles = {"quasi_identifying": marked, "sensitive": {"disease": sf.Attribute(missing=["none"])}, "insensitive": []}
    meant = sf.Policy.of(schema(**roles), [sf.KAnonymity(4)], sf.Mondrian(), sf.Recoding(), 0.0)
    meant.to_file(tmp_path / "policy.toml")
    policy = sf.Policy.from_file(tmp_path / "policy.toml")
    assert policy == meant
    table = sf.read_table(source, policy)
    assert [table.frame[name].null_count() for name in ("age", "disease", "pay")] == [10, 100, 0]
    here = sf.anonymize(table, policy, seed=1)
    assert "sentinels" not in {one.name for one in here.report.findings}
    anonymize_on_disk(source, policy, tmp_path / "release", seed=1)
    written = pl.read_csv(tmp_path / "release" / "data.csv", infer_schema=False)
    assert sorted(written.fill_null("").rows()) == sorted(here.data.cast(pl.String).fill_null("").rows())
    assert "999" not in (tmp_path / "release" / "policy.toml").read_text()
    # The review takes the answer, too.
    assert "sentinels" in {one.name for one in sf.review(source).findings}
    assert "sentinels" not in {one.name for one in sf.review(source, policy.to_schema()).findings}


ODD: dict[str, list[str]] = {
    "post code": ["01067", "1068", "01099", "80331"],
    "seen": [f"0{1 + i % 7}/0{1 + i % 5}/2020" for i in range(PEOPLE)],
    "wage": ["1.200", "3.400", "900", "1.100"],
    "born": [f"{1 + i % 28:02}{1 + i % 12:02}{1980 + i % 9}" for i in range(PEOPLE)],
    "height": [*(str(150 + i) for i in range(30)), "tall"],
    "who": [f"p{i}@example.org" for i in range(PEOPLE)],
}
"""Columns about which reading asks; one that is refused as quasi-identifying."""


@pytest.mark.parametrize("way", ["memory", "disk", "series"])
@pytest.mark.parametrize("left_out", ["who", "post code", "seen,wage,born,height,post code"])
def test_one_line_of_answers_is_enough(tmp_path: Path, left_out: str, way: str) -> None:
    odd = {name: values for name, values in ODD.items() if name not in left_out.split(",")}
    columns = {name: [values[i % len(values)] for i in range(PEOPLE)] for name, values in odd.items()}
    table = tmp_path / "odd.csv"
    visits(**columns).with_row_index("key").write_csv(table)
    roles = ["--quasi", ",".join(["age", "sex", *odd]), *ROLES[2:], "--identifying", "key", *MODELS]
    words = ["anonymize", table, *roles, "--out", tmp_path / "release", "--engine", way, "--quiet"]
    if way == "series":
        words = ["series", "start", tmp_path / "series", table, *roles, "--key", "key", "--quiet"]
    code, err = run(*words)
    asked = err.rstrip().split("\n")
    assert code == 2
    assert len(asked) == len(odd) + 3
    *_, line = asked[-1].partition("change what is not so: ")
    code, err = run(*words, *shlex.split(line))
    assert (code, err) == (0, "")
    release = tmp_path / ("series/0001" if way == "series" else "release")
    assert "remark" not in sf.open_release(release).data.columns


def test_a_series_that_was_started_says_what_its_policy_must_answer(tmp_path: Path) -> None:
    columns = {name: [ODD[name][i % len(ODD[name])] for i in range(PEOPLE)] for name in ("seen", "wage")}
    visits(**columns).with_row_index("key").write_csv(tmp_path / "odd.csv")
    roles = ["--quasi", "age,sex,seen,wage", *ROLES[2:], "--identifying", "key", *MODELS, "--key", "key", "--quiet"]
    assert run("series", "start", tmp_path / "series", *roles)[0] == 0
    words = ["series", "append", tmp_path / "series", tmp_path / "odd.csv", "--quiet"]
    code, err = run(*words)
    assert code == 2
    assert "start it anew with --set column.disease.spellings=merge --identifying remark\n" in err
    *_, line = err.rstrip().partition("change what is not so: ")
    code, err = run(*words, *shlex.split(line))
    # What is written was answered; what is left is the policy's.
    assert "'seen'" not in err
    assert "'wage'" not in err
