"""The benchmark of attacks on a small census; nothing here looks at a time."""

from __future__ import annotations

from benchmarks.attack_job import RELEASES, attacked
from benchmarks.census import census


def test_every_linkage_and_every_release_is_attacked() -> None:
    figures = list(attacked(census(330), 300, repeats=1))
    assert len(figures) == 6 + len(RELEASES)
    assert all(figure.value > 0 for figure in figures)
