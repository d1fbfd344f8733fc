"""The benchmark of the optimal search, on a table of a few rows."""

from __future__ import annotations

import polars as pl
import pytest
from benchmarks.results import SkippedJob
from benchmarks.settings import Settings

from benchmarks import lattice_job
from sfumato.hierarchy.level_table import HierarchyTable

HIERARCHY = HierarchyTable((("a", "ab", "*"), ("b", "ab", "*"), ("c", "c+", "*")))


def test_every_bar_has_its_figure():
    frame = pl.DataFrame({"x": list("abcaabbcc") * 8, "y": list("aaabbbccc") * 8})
    hierarchies = {"x": HIERARCHY, "y": HIERARCHY}
    figures = list(lattice_job.compare(frame, hierarchies, rows=200, repeats=1))
    assert [figure.bar is not None and figure.at_most for figure in figures] == [True] * 9
    assert sum("ARX" in figure.detail for figure in figures) == 9
    assert sum("of 9 nodes counted" in figure.detail for figure in figures) == 5
    assert "optimum none" not in figures[0].detail


def test_without_the_data_it_says_how_to_get_it():
    with pytest.raises(SkippedJob, match="SFUMATO_DATA"):
        list(lattice_job.run(Settings(data=None)))
