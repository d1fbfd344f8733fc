"""Whatever is changed in a release folder after it was written, verifying it never ends well."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.hierarchy import HierarchyTable
from sfumato.models.protocol import Outcome

KINDS = ("generalized", "sliced", "bucketized", "marginals", "randomized", "ratings")
PROMISING = tuple(kind for kind in KINDS if kind != "randomized")
Change = Callable[[Path], object]


def table() -> sf.Table:
    rows = 60
    frame = pl.DataFrame(
        {
            "age": [20 + i % 7 for i in range(rows)],
            "sex": ["f", "m", "m"] * (rows // 3),
            "visits": list(range(rows)),
            "disease": ["flu", "cold", "gout", "burn"] * (rows // 4),
        }
    )
    roles = {"quasi_identifying": ["age", "sex"], "sensitive": ["disease"], "insensitive": ["visits"]}
    return sf.read_table(frame, sf.Schema(**roles))


def rating_release() -> sf.RatingRelease:
    rows = [(user, issue, 1 + (user + place) % 3) for user in range(9) for place, issue in enumerate("abs")]
    frame = pl.DataFrame(rows, schema=["u", "i", "r"], orient="row")
    return sf.anonymize_ratings(sf.read_ratings(frame, scale=(1, 5), sensitive="s"), sf.RatingAnonymity(3, 1), seed=1)


def saved(kind: str, folder: Path) -> Path:
    """Write a release folder of a kind."""
    if kind == "ratings":
        return sf.save_ratings(rating_release(), folder)
    models, anonymizer = {
        "generalized": ([sf.KAnonymity(3), sf.DistinctLDiversity(2)], None),
        "sliced": ([sf.ProbabilisticLDiversity(2)], sf.Slicing()),
        "bucketized": ([sf.ProbabilisticLDiversity(2)], sf.Bucketization(members="random")),
        "marginals": ([sf.KAnonymity(3)], sf.Marginals(columns=(("age", "disease"),))),
        "randomized": ([], sf.Swapping()),
    }[kind]
    return sf.anonymize(table(), models, anonymizer=anonymizer, seed=1).save(folder)


def as_before(folder: Path) -> Path:
    """Write release.json as it was before it knew the files beside the tables."""
    content = json.loads((folder / "release.json").read_text())
    content.pop("files", None)
    (folder / "release.json").write_text(json.dumps(content))
    return folder


def edit(name: str, change: Callable[[dict[str, Any]], object]) -> Change:
    def changed(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        change(content)
        (folder / name).write_text(json.dumps(content))

    return changed


def replace(name: str, old: str, new: str) -> Change:
    def changed(folder: Path) -> None:
        text = (folder / name).read_text()
        assert re.search(old, text)
        (folder / name).write_text(re.sub(old, new, text, count=1))

    return changed


def append(name: str, text: str) -> Change:
    def changed(folder: Path) -> None:
        with (folder / name).open("a") as file:
            file.write(text)

    return changed


def rehash(folder: Path) -> None:
    """What a careful forger does as well."""

    def change(content: dict[str, Any]) -> None:
        for name in content["files"]:
            content["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()

    edit("release.json", change)(folder)


def refused(folder: Path) -> str:
    """Return what is said of a folder that must not verify, by the library and on the command line."""
    done = CliRunner().invoke(app, ["verify", str(folder)])
    assert done.exit_code == 1, done.output
    try:
        verification = sf.verify(folder)
    except sf.VerificationError as error:
        return str(error)
    assert not verification.ok
    assert verification.to_dict()["ok"] is False
    return str(verification)


@pytest.mark.parametrize("kind", PROMISING)
def test_what_is_written_holds(kind, tmp_path):
    verification = sf.verify(saved(kind, tmp_path / "out"))
    assert verification.ok
    said = [str(check) for check in verification.checks]
    names = "policy.toml, report.json, report.txt"
    assert f"holds: {names} are the files that were written, and there are no others" in said


@pytest.mark.parametrize("kind", PROMISING)
def test_an_old_folder_holds_and_says_what_it_cannot_show(kind, tmp_path):
    verification = sf.verify(as_before(saved(kind, tmp_path / "out")))
    assert verification.ok
    said = [check for check in verification.checks if check.promise.startswith("policy.toml, report.json, report.txt")]
    assert [check.outcome for check in said] == [Outcome.UNDECIDABLE]
    assert "release.json has no hashes of them" in said[0].detail


# files beside the tables

BESIDE = ("policy.toml", "report.json", "report.txt")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BESIDE)
def test_a_file_beside_the_tables_that_was_changed(kind, name, tmp_path):
    folder = saved(kind, tmp_path / "out")
    append(name, " \n")(folder)
    assert f"broken: {name} is the file that was written" in refused(folder)


@pytest.mark.parametrize("name", BESIDE)
def test_a_file_beside_the_tables_that_is_missing(name, tmp_path):
    folder = saved("generalized", tmp_path / "out")
    (folder / name).unlink()
    assert f"broken: {name} is the file that was written (it is missing)" in refused(folder)


@pytest.mark.parametrize("name", BESIDE)
def test_a_list_that_leaves_a_file_out(name, tmp_path):
    folder = saved("generalized", tmp_path / "out")
    edit("release.json", lambda content: content["files"].pop(name))(folder)
    assert "damaged" in refused(folder)
    (folder / name).unlink()
    assert "damaged" in refused(folder)


@pytest.mark.parametrize("given", [None, 5, [], "x", {"../x": "0"}, {"release.json": "0"}, {"data.csv": "0"}, {"a": 5}])
def test_a_list_of_files_that_is_none(given, tmp_path):
    folder = saved("generalized", tmp_path / "out")
    edit("release.json", lambda content: content.update(files=given))(folder)
    assert "damaged" in refused(folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("name", ["patients.csv", ".hidden", "report.html", "a\nholds: everything"])
def test_a_file_that_nobody_listed(kind, old, name, tmp_path):
    folder = saved(kind, tmp_path / "out")
    if old:
        as_before(folder)
    (folder / name).write_text("x")
    said = refused(folder)
    assert "which release.json does not list" in said
    assert "\nholds: everything" not in said


def test_a_folder_in_the_folder(tmp_path):
    folder = saved("generalized", tmp_path / "out")
    (folder / "more").mkdir()
    assert "which release.json does not list" in refused(folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("old", [False, True])
def test_a_file_that_is_a_link(kind, old, tmp_path):
    folder = saved(kind, tmp_path / "out")
    if old:
        as_before(folder)
    for path in sorted(folder.iterdir()):
        elsewhere = path.rename(tmp_path / path.name)
        path.symlink_to(elsewhere)
        assert "is a link" in refused(folder)
        path.unlink()
        elsewhere.rename(path)


def test_a_pipe_is_not_waited_for(tmp_path):
    folder = as_before(saved("generalized", tmp_path / "out"))
    for name in BESIDE:
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert "is no file" in refused(folder)
        (folder / name).unlink()
        (folder / name).write_text("")


# what the files say


@pytest.mark.parametrize(
    ("kind", "key", "weaker"),
    [
        ("generalized", '"models"', '"models": [{"name": "k-anonymity", "k": 1}],'),
        ("generalized", '"k"', '"k": 1,'),
        ("generalized", '"structure"', '"structure": {"quasi_identifying": [], "sensitive": []},'),
        ("ratings", '"k"', '"k": 1,'),
        ("ratings", '"sensitive"', '"sensitive": [],'),
        ("randomized", '"kind"', '"kind": "generalized-table",'),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_key_of_release_json_that_is_there_twice(kind, key, weaker, first, tmp_path):
    folder = saved(kind, tmp_path / "out")
    text = (folder / "release.json").read_text()
    where = text.index(f"{key}:")
    end = where + len(re.match(rf"{key}: (\[.*?\n  \]|\{{.*?\n  \}}|[^\n]*?),?\n", text[where:], re.S)[0])
    entry = text[where:end].rstrip().removesuffix(",")
    twice = f"{weaker} {entry}" if first else f"{entry}, {weaker.removesuffix(',')}"
    more = "," if text[where:end].rstrip().endswith(",") else ""
    (folder / "release.json").write_text(text[:where] + twice + more + text[end:])
    assert "names a key twice" in refused(folder)


def test_a_key_of_the_report_that_is_there_twice(tmp_path):
    folder = as_before(saved("generalized", tmp_path / "out"))
    replace("report.json", '"anonymizer"', '"records": 5, "anonymizer"')(folder)
    assert "report.json is damaged" in refused(folder)


def test_a_key_of_the_policy_that_is_there_twice(tmp_path):
    folder = as_before(saved("generalized", tmp_path / "out"))
    text = (folder / "policy.toml").read_text()
    (folder / "policy.toml").write_text(f"suppression-limit = 0.5\nsuppression-limit = 0.0\n{text}")
    assert "policy.toml is damaged" in refused(folder)
    for spelled in ("suppression_limit = 0.5\nsuppression-limit = 0.0\n",):
        (folder / "policy.toml").write_text(f"{spelled}{text}")
        assert "policy.toml is damaged" in refused(folder)


WEAKER: dict[str, Change] = {
    "a quasi-identifying column called insensitive": edit(
        "release.json", lambda content: content["structure"].update(quasi_identifying=["age"])
    ),
    "a sensitive column called insensitive": edit(
        "release.json",
        lambda content: (
            content["structure"].update(sensitive=[]),
            content.update(sensitive={}, models=content["models"][:1]),
        ),
    ),
    "a model dropped": edit("release.json", lambda content: content["models"].pop()),
    "a model lowered": edit("release.json", lambda content: content["models"][0].update(k=2)),
    "nothing promised": edit("release.json", lambda content: content.update(kind="randomized-table", models=[])),
    "another suppression limit": edit("release.json", lambda content: content.update(suppression_limit=0.9)),
    "another kind of values": edit(
        "release.json", lambda content: content["sensitive"].update(disease={"kind": "date"})
    ),
}


@pytest.mark.parametrize("what", WEAKER)
@pytest.mark.parametrize("lost", [(), ("policy.toml",), ("report.json",)])
def test_an_old_folder_whose_release_json_promises_less(what, lost, tmp_path):
    """The policy notices it, and so does the report: it is enough that one of them is there."""
    folder = as_before(saved("generalized", tmp_path / "out"))
    WEAKER[what](folder)
    for name in lost:
        (folder / name).unlink()
    refused(folder)


CLAIMS: dict[str, Change] = {
    "records": edit("report.json", lambda content: content["verification"].update(records=61)),
    "published records": edit("report.json", lambda content: content["records"].update(published=10_000)),
    "classes": edit("report.json", lambda content: content["verification"].update(classes=1)),
    "roles": edit("report.json", lambda content: content["verification"]["roles"].update(unprotected=[])),
    "an achieved value": edit(
        "report.json", lambda content: content["verification"]["checks"][0].update(achieved=["k=99"])
    ),
    "a promise": edit(
        "report.json", lambda content: content["verification"]["checks"][0].update(promise="k-anonymity (k=99)")
    ),
    "one more promise": edit(
        "report.json",
        lambda content: content["verification"]["checks"].append(
            {"promise": "t-closeness (t=0.01)", "outcome": "holds", "achieved": [], "detail": ""}
        ),
    ),
    "one promise less": edit("report.json", lambda content: content["verification"]["checks"].pop()),
    "an outcome": edit("report.json", lambda content: content["verification"]["checks"][0].update(outcome="broken")),
    "the limit": edit("report.json", lambda content: content["records"].update(suppression_limit=0.5)),
    "no verification": edit("report.json", lambda content: content.pop("verification")),
    "no JSON": append("report.json", "}"),
    "a list": lambda folder: (folder / "report.json").write_text("[]"),
    "deep": lambda folder: (folder / "report.json").write_text("[" * 100_000),
}


@pytest.mark.parametrize("forged", [False, True])
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_report_that_claims_what_was_not_recounted(claim, forged, tmp_path):
    folder = saved("generalized", tmp_path / "out")
    CLAIMS[claim](folder)
    (rehash if forged else as_before)(folder)
    assert "report.json" in refused(folder)


@pytest.mark.parametrize("kind", PROMISING)
def test_a_report_of_another_release(kind, tmp_path):
    """Hashes hold, and still the report does not belong here."""
    folder = saved(kind, tmp_path / "out")
    other = saved("generalized" if kind != "generalized" else "sliced", tmp_path / "other")
    (folder / "report.json").write_bytes((other / "report.json").read_bytes())
    rehash(folder)
    assert "report.json says what was recounted" in refused(folder)


def test_ratings_whose_sensitive_issue_becomes_a_plain_one(tmp_path):
    folder = as_before(saved("ratings", tmp_path / "out"))
    edit("release.json", lambda content: content.update(sensitive=[]))(folder)
    assert "report.json" in refused(folder)


def test_a_sensitive_column_whose_kind_the_policy_says(tmp_path):
    """How far values lie apart depends on it, and with that t-closeness."""
    frame = pl.DataFrame({"age": [20, 21] * 20, "grade": [str(1 + i % 4) for i in range(40)]})
    schema = sf.Schema(quasi_identifying=["age"], sensitive={"grade": sf.Attribute(kind="categorical")})
    release = sf.anonymize(sf.read_table(frame, schema), [sf.KAnonymity(3), sf.TCloseness(0.9)], seed=1)
    folder = as_before(release.save(tmp_path / "out"))
    assert sf.verify(folder).ok
    (folder / "report.json").unlink()
    edit("release.json", lambda content: content["sensitive"]["grade"].update(kind="numeric"))(folder)
    assert "kind" in refused(folder)


# releases that promise nothing


def test_a_release_that_promises_nothing_is_not_called_good(tmp_path):
    folder = saved("randomized", tmp_path / "out")
    said = refused(folder)
    assert "not promised: any privacy model" in said
    assert "broken" not in said
    assert "not promised: any privacy model" in str(sf.verify(sf.anonymize(table(), [], anonymizer=sf.Swapping())))
    assert json.loads((folder / "report.json").read_text())["verification"]["ok"] is False
    assert "any privacy model: not promised" in (folder / "report.txt").read_text()


def test_an_old_folder_that_promises_nothing(tmp_path):
    folder = as_before(saved("randomized", tmp_path / "out"))
    edit("report.json", lambda content: content["verification"].update(ok=True, checks=[]))(folder)
    said = refused(folder)
    assert "broken" not in said
    assert "not promised" in said


def test_a_page_about_a_release_that_promises_nothing_is_still_made(tmp_path):
    folder = saved("randomized", tmp_path / "out")
    assert sf.report(folder, attacks=False).to_dict("public")


# what could be read in two ways


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [2.0, "2", [2], True])
def test_a_format_that_is_no_whole_number(kind, number, tmp_path):
    folder = saved(kind, tmp_path / "out")
    edit("release.json", lambda content: content.update(format=number))(folder)
    assert "release.json: is of a format" in refused(folder)


def test_a_limit_that_is_no_number(tmp_path):
    folder = saved("generalized", tmp_path / "out")
    edit("release.json", lambda content: content.update(suppression_limit=False))(folder)
    assert "damaged" in refused(folder)


UNUSED = {
    "another kind": {"kind": "flat"},
    "no kind": {"kind": None},
    "more than rows": {"more": 1},
    "numbers": {"rows": [["flu", 1, "*"], ["cold", "1", "*"], ["gout", 2, "*"], ["burn", 2, "*"]]},
    "nothing": {"rows": [["flu", None, "*"], ["cold", None, "*"], ["gout", "b", "*"], ["burn", "b", "*"]]},
    "a mapping": {"rows": [{"flu": 1, "a": 1, "*": 1}, ["cold", "a", "*"], ["gout", "b", "*"], ["burn", "b", "*"]]},
    "no root": {"rows": [["flu"], ["cold"], ["gout"], ["burn"]]},
    "a value twice": {"rows": [["flu", "a", "*"], ["flu", "b", "*"], ["cold", "a", "*"], ["gout", "b", "*"]]},
    "no rows": {"rows": []},
}


@pytest.mark.parametrize("change", UNUSED.values(), ids=UNUSED)
def test_a_hierarchy_that_no_model_reads_and_that_has_two_readings(change, tmp_path):
    rows = (("flu", "a", "*"), ("cold", "a", "*"), ("gout", "b", "*"), ("burn", "b", "*"))
    tree = sf.Attribute(hierarchy=HierarchyTable(rows))
    schema = sf.Schema(quasi_identifying=["age", "sex"], sensitive={"disease": tree}, others="drop")
    release = sf.anonymize(sf.read_table(table().frame, schema), [sf.KAnonymity(3), sf.DistinctLDiversity(2)])
    folder = release.save(tmp_path / "out")
    assert sf.verify(folder).ok
    edit("release.json", lambda content: content["sensitive"]["disease"]["hierarchy"].update(change))(folder)
    assert "damaged" in refused(folder)


def test_a_hierarchy_that_the_policy_does_not_know(tmp_path):
    folder = saved("generalized", tmp_path / "out")
    tree = {"kind": "table", "rows": [[name, "*"] for name in ("flu", "cold", "gout", "burn")]}
    edit("release.json", lambda content: content["sensitive"]["disease"].update(hierarchy=tree))(folder)
    assert "hierarchy of disease" in refused(folder)
