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
