"""The benchmark of sets runs on a few baskets; nothing here looks at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.baskets import baskets, write_baskets
from benchmarks.results import SkippedJob
from benchmarks.settings import Settings

import sfumato as sf
from benchmarks import sets_job


def test_baskets_hold_different_goods_a_few_of_which_are_popular():
    rows = np.concatenate(list(baskets(2000, goods=50, size=5)))
    assert rows.shape == (2000, 5)
    assert all(len(set(row)) == 5 for row in rows.tolist())
    counts = np.sort(np.bincount(rows.ravel(), minlength=50))[::-1]
    assert counts[:5].sum() > 10 * counts[-5:].sum() > 0
    assert all(len(set(row)) == 3 for part in baskets(50, goods=3, size=3) for row in part.tolist())


def test_baskets_are_read_with_their_shelves(tmp_path: Path):
    bought, shelves = write_baskets(tmp_path, 300, goods=200, size=4)
    sets = sf.read_sets(bought, hierarchy=sf.read_hierarchy(shelves))
    assert (sets.height, len(sets.names), set(sets.sizes.tolist())) == (300, 200, {4})
    assert sets.hierarchy is not None
    assert sets.hierarchy.height == 3


def test_films_need_their_data(tmp_path: Path):
    with pytest.raises(SkippedJob, match=r"movies\.csv is not here"):
        list(sets_job.run_films(Settings(data=tmp_path)))


def test_films_stand_under_their_genre_and_decade(tmp_path: Path):
    path = tmp_path / "movies.csv"
    path.write_text("movieId,title,genres\n1,Alien (1979),Horror|Sci-Fi\n2,Brazil,Comedy\n")
    assert sets_job.by_genre(path).rows == (
        ("1", "Horror 1970s", "Horror", "*"),
        ("2", "Comedy ???0s", "Comedy", "*"),
    )
