"""Dirty files as people have them: each is read rightly, or refused with the sentence that cures it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gallery.case import Case, check
from gallery.format_cases import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_dirty_file_is_read_rightly_or_refused_with_its_cure(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_the_gallery_is_large_and_every_case_another_one() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 25
