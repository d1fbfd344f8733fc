"""Models about single published values against their plain twins, and against what they promise."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.models import supports_subsets, supports_wildcards
from sfumato.classes.statistics import ClassStatistics
from sfumato.models.protocol import PrivacyModel
from sfumato.published.checks.generalized import published_statistics, verify_table

cells = st.sampled_from(["x", "y", "*", "*", None])
tables = st.integers(1, 4).flatmap(lambda q: st.lists(st.tuples(*[cells] * q), min_size=1, max_size=12))


def frame_of(rows: list[tuple[str | None, ...]]) -> pl.DataFrame:
    return pl.DataFrame(
        {f"a{place}": pl.Series([row[place] for row in rows], dtype=pl.String) for place in range(len(rows[0]))}
    )


def achieved(model: PrivacyModel, rows: list[tuple[str | None, ...]]) -> float:
    frame = frame_of(rows)
    statistics = published_statistics(frame, frame.columns, {}, values=True)
    (value,) = model.achieved(statistics)
    return value.value


@given(tables, st.integers(1, 5))
@examples(150)
def test_subsets_are_counted_like_their_twin(rows, keys):
    assert achieved(sf.SubsetKAnonymity(2, keys), rows) == supports_subsets(rows, m=keys)


@given(tables)
@examples(150)
def test_wildcards_are_counted_like_their_twin(rows):
    assert achieved(sf.WildcardKAnonymity(2), rows) == supports_wildcards(rows)


@given(tables, st.integers(1, 4), st.integers(1, 4))
@examples(100)
def test_k_anonymity_implies_both(rows, k, keys):
    frame = frame_of(rows)
    strong, *weak = (
        verify_table(frame, frame.columns, {}, [model]).ok
        for model in (sf.KAnonymity(k), sf.SubsetKAnonymity(k, keys), sf.WildcardKAnonymity(k))
    )
    assert not strong or all(weak)


def test_without_published_values_classes_of_k_are_asked_for():
    statistics = ClassStatistics(np.array([2, 3]), {})
    for model in (sf.SubsetKAnonymity(3, 1), sf.WildcardKAnonymity(3)):
        assert model.holds(statistics).tolist() == [False, True]
        assert model.achieved(statistics)[0].value == 2
        assert "only 5 record(s); lower k" in (replace(model, k=9).explain(statistics) or "")
        assert model.explain(statistics) is None


def test_a_table_without_classes_satisfies_everything():
    empty = ClassStatistics(np.zeros(0, dtype=np.int64), {}, np.zeros((0, 2), dtype=np.int32))
    for model in (sf.SubsetKAnonymity(3, 2), sf.WildcardKAnonymity(3)):
        assert model.holds(empty).tolist() == []
        assert model.achieved(empty)[0].value == math.inf


def test_the_star_that_gives_a_person_away():
    """The example of decision record 4: both weaker models hold where k-anonymity does not."""
    frame = pl.DataFrame({"age": ["30"] * 6, "sex": ["male"] * 5 + ["*"]})
    verdicts = [
        verify_table(frame, ["age", "sex"], {}, [model]).ok
        for model in (sf.KAnonymity(5), sf.SubsetKAnonymity(5, 2), sf.WildcardKAnonymity(5))
    ]
    assert verdicts == [False, True, True]


@pytest.mark.parametrize("settings", [{"k": 0, "m": 0}, {"k": 1.5, "m": "two"}, {"k": True, "m": None}])
def test_wrong_parameters_are_all_named(settings):
    with pytest.raises(sf.PolicyError) as caught:
        sf.SubsetKAnonymity(**settings)
    assert len(caught.value.problems) == 2
    with pytest.raises(sf.PolicyError):
        sf.WildcardKAnonymity(settings["k"])


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_folder_is_recounted_by_the_same_rule(tmp_path: Path, format: str):
    rows = [tuple(row) for row in np.random.default_rng(1).choice(list("abc*"), size=(60, 3)).tolist()]
    table = sf.read_table(frame_of(rows), sf.Schema(quasi_identifying=["a0", "a1", "a2"]))
    models = [sf.SubsetKAnonymity(4, 2), sf.WildcardKAnonymity(4)]
    release = sf.anonymize(table, models, anonymizer=sf.Mondrian())
    folder = release.save(tmp_path / "release", format=format)
    verification = sf.verify(folder)
    assert verification.ok
    in_memory = sf.verify(release).checks
    assert tuple(check for check in verification.checks if check in in_memory) == in_memory
