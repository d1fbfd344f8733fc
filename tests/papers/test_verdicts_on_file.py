"""No verdict of a paper changes unnoticed."""

from __future__ import annotations

import os

import pytest

from papers.verdicts import of_paper, on_file
from sfumato.papers.reproduce import PAPERS

DATA = pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA names no folder with the Adult data")


@pytest.mark.slow
@DATA
@pytest.mark.parametrize("paper", list(PAPERS))
def test_verdicts_are_those_on_file(paper: str) -> None:
    assert of_paper(paper) == on_file()[paper]
