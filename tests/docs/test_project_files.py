"""The files beside the code agree with each other."""

from __future__ import annotations

import re
import tomllib
from hashlib import sha256

import pytest

from docs.pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_the_same_everywhere():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.findall(r"^## \[(\d[^\]]*)\] - (\S+)$", changelog, re.MULTILINE)[0]
    cited = [re.findall(rf"^{key}: (.+)$", citation, re.MULTILINE) for key in ("version", "date-released")]
    assert (PROJECT["version"],) == newest[:1]
    assert cited == [[newest[0]], [newest[1]]]


def test_the_licence_is_the_official_text():
    text = (ROOT / "LICENSE").read_bytes()
    assert sha256(text).hexdigest() == "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
    assert PROJECT["license"] == "Apache-2.0"


@pytest.mark.parametrize("name", PROJECT["license-files"])
def test_files_of_the_licence_are_there(name):
    assert (ROOT / name).read_text(encoding="utf-8").strip()


CHECKED = {
    "k-anonymity; l-diversity; t-closeness": "tests/guarantees/test_guarantees.py",
    "sets of items (k^m-anonymity)": "tests/kinds/sets",
    "microaggregation; noise and swapping": "tests/anonymizers/randomization",
    "differential privacy": "tests/kinds/private_sample",
    "several records of a person; series of releases": "tests/series",
    "recipients recount promises; attacks with control groups": "tests/evaluation/attacks",
}
"""Row of README's table → the tests that hold what it says of Sfumato."""


def test_every_row_beside_others_is_held_by_tests_and_the_page_is_short():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| (?:yes|counts|people)", text, re.MULTILINE)
    assert rows == [*CHECKED]
    assert [place for place in CHECKED.values() if not (ROOT / place).exists()] == []
    assert text.count("\n") <= 90
