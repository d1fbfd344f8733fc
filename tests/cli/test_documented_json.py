"""The JSON of comparisons, attacks and searches is what their pages say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from studio.desks import people

jsonschema = pytest.importorskip("jsonschema")
DOCS = Path(__file__).parents[2] / "docs"


def documented(page="how-to/compare.md"):
    [schema] = re.findall(r"```json\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    return jsonschema.Draft202012Validator(json.loads(schema))


@pytest.mark.parametrize(
    ("varied", "name"),
    [(["-k", "3,500"], "k"), (["-k", "3", "-l", "1,2"], "l"), (["-k", "3", "--records", "30"], "records")],
)
def test_what_compare_prints_is_what_the_page_says(tmp_path, varied, name):
    table = people(tmp_path / "people.csv", 60)
    words = [*("compare", str(table), "--quasi", "age,sex", "--sensitive", "sick", "--others", "drop", "--json")]
    words += ["--anonymizers", "mondrian,bucketization", "--queries", "0", "--repetitions", "2", *varied]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    runs = json.loads(found.stdout)
    documented().validate(runs)
    assert all(name in run for run in runs)
    assert {run["status"] for run in runs} >= {"done", "refused"}


def test_the_schema_refuses_what_is_no_run():
    run = {"anonymizer": "mondrian", "k": 2, "repetition": 0, "status": "done", "reason": "", "seconds": 1.0}
    whole = {**run, "cpu_seconds": 1.0, "loss": 0.5, "average_risk": 0.5, "highest_risk": 1.0}
    assert documented().is_valid([whole])
    for wrong in (run, {**whole, "status": "lost"}, {**whole, "loss": "x"}, {**whole, "average_risk": 2}, {"k": 1}):
        assert not documented().is_valid([wrong])


@pytest.fixture
def released(tmp_path):
    table = people(tmp_path / "people.csv", 80)
    policy = tmp_path / "policy.toml"
    policy.write_text(
        """[columns]
others = "drop"
sensitive = ["sick"]
[columns.quasi-identifying]
age = {hierarchy = {kind = "intervals", widths = [10, 20, 40]}}
sex = {}
[[models]]
name = "k-anonymity"
k = 5
""",
        encoding="utf-8",
    )
    words = ["anonymize", str(table), "--policy", str(policy), "--out", str(tmp_path / "release")]
    assert CliRunner().invoke(app, words).exit_code == 0
    return table, policy, tmp_path / "release"


@pytest.mark.parametrize(
    "words",
    [
        "attack RELEASE --original TABLE --policy POLICY",
        "attack TABLE --policy POLICY --hold-out 0.2 --attack linkage,attribute-inference",
        "attack RELEASE --original TABLE --policy POLICY --attack corruption,noisy-linkage",
    ],
)
def test_what_attack_prints_is_what_the_page_says(released, words):
    table, policy, release = released
    place = {"TABLE": str(table), "POLICY": str(policy), "RELEASE": str(release)}
    found = CliRunner().invoke(app, [*(place.get(word, word) for word in words.split()), "--json"])
    assert found.exit_code == 0, found.output
    played, schema = json.loads(found.stdout), documented("how-to/attack-a-release.md")
    schema.validate(played)
    assert played["results"]
    for key, wrong in (("people", -1), ("results", {}), ("unplayed", ["x"])):
        assert not schema.is_valid({**played, key: wrong})
    first = played["results"][0]
    for key, wrong in (("verdict", "perhaps"), ("success", {}), ("allowed", 2)):
        assert not schema.is_valid({**played, "results": [{**first, key: wrong}]})


@pytest.mark.parametrize("method", ["mondrian", "incognito", "optimal", "samarati", "datafly"])
def test_what_lattice_prints_is_what_the_page_says(released, method):
    table, policy, _ = released
    policy.write_text(policy.read_text() + f'[anonymizer]\nname = "{method}"\n', encoding="utf-8")
    found = CliRunner().invoke(app, ["lattice", str(table), "--policy", str(policy), "--json"])
    assert found.exit_code == 0, found.output
    searched, schema = json.loads(found.stdout), documented("reference/incognito.md")
    schema.validate(searched)
    assert searched["chosen"] in [node["levels"] for node in searched["known"]]
    assert sum(searched["counts"].values()) == searched["nodes"] == 2 * 5
    assert not schema.is_valid({**searched, "chosen": [-1, 0]})
