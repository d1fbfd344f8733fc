"""The JSON of comparisons is what the page about them says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from studio.desks import people

jsonschema = pytest.importorskip("jsonschema")
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "compare.md"


def documented():
    [schema] = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
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
