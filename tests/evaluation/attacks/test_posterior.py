"""What a release tells about one person: the slicing paper's example, and a look at every record."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.attacks.attacked_tables import (
    PATIENTS,
    SCHEMA,
    bucketized,
    generalized,
    marginals,
    patients,
    people,
    sliced,
)
from examples import examples
from naive import posterior as naive
from sfumato.errors import InputError
from sfumato.evaluation.attacks.posterior import Posterior, posterior, posterior_blocks
from sfumato.published import BucketizedTables, PublishedTable, RandomizedTable, SlicedTable
from sfumato.published.apart import labels_of
from sfumato.recoding import Recoding
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema

QUASI = ("age", "sex", "zip")


def told(known: Posterior, person: int) -> dict[str | None, float]:
    return {value: share for value, share in zip(known.values, known.shares[person].tolist(), strict=True) if share}


class TestSlicingPaper:
    """TKDE table 1; algorithms.md §13."""

    def test_sliced_by_age_and_sex_beside_zip_and_disease(self) -> None:
        known = posterior(sliced(("age", "sex"), ("zip", "disease")), patients())
        assert told(known, 0) == {"dyspepsia": 0.5, "flu": 0.5}
        assert known.shares.max(axis=1).tolist() == [0.5] * 8
        assert known.candidates[0] == 4 * 0.125
        assert known.candidates[5] == 4 * 0.25

    def test_the_sensitive_attribute_in_a_column_of_its_own(self) -> None:
        known = posterior(sliced(QUASI, ("disease",)), patients())
        assert told(known, 0) == {"dyspepsia": 0.25, "flu": 0.5, "bronchitis": 0.25}

    def test_generalized_and_bucketized_tell_the_same_of_two_buckets(self) -> None:
        for published in (generalized(), bucketized()):
            known = posterior(published, patients())
            assert told(known, 0) == {"dyspepsia": 0.25, "flu": 0.5, "bronchitis": 0.25}
            assert told(known, 7) == {"dyspepsia": 0.5, "flu": 0.25, "gastritis": 0.25}
        assert posterior(bucketized(), patients()).candidates.tolist() == [1.0] * 8
        assert posterior(generalized(), patients()).candidates.tolist() == [4.0] * 8

    def test_marginals(self) -> None:
        known = posterior(marginals(("age", "sex"), ("zip", "disease")), patients())
        assert told(known, 0) == {"dyspepsia": 0.5, "flu": 0.5}
        assert known.candidates.tolist() == [1, 1, 1, 1, 1, 2, 2, 1]

    def test_two_marginals_with_the_disease_are_independent_given_it(self) -> None:
        known = posterior(marginals(("sex", "disease"), ("zip", "disease")), patients())
        # Flu: 1 man and 2 women, 1 of zip 47906, of 3; dyspepsia: 3 men, 1 of the zip, of 3.
        assert told(known, 0) == pytest.approx({"dyspepsia": 3 / 4, "flu": 1 / 4})

    def test_somebody_whose_values_nobody_has_fits_nothing(self) -> None:
        stranger = read_table(PATIENTS[:1].with_columns(age=pl.lit(99)), SCHEMA)
        for published in (
            generalized(),
            bucketized(),
            sliced(("age", "sex"), ("zip", "disease")),
            marginals(("age", "sex"), ("zip", "disease")),
        ):
            known = posterior(published, stranger)
            assert known.candidates.tolist() == [0]
            assert not known.shares.any()

    def test_the_prior_is_the_whole_release(self) -> None:
        for published in (generalized(), bucketized(), sliced(QUASI, ("disease",)), marginals(("zip", "disease"))):
            known = posterior(published, patients())
            prior = dict(zip(known.values, known.prior.tolist(), strict=True))
            assert {value: share for value, share in prior.items() if share} == {
                "flu": 3 / 8,
                "dyspepsia": 3 / 8,
                "bronchitis": 1 / 8,
                "gastritis": 1 / 8,
            }


COLUMNS = st.sampled_from(
    [
        (("age", "sex"), ("zip", "disease")),
        (("age",), ("sex", "disease"), ("zip",)),
        (("age", "sex", "zip"), ("disease",)),
        (("age", "sex"), ("sex", "zip"), ("zip", "disease")),
        (("age", "sex", "disease"), ("zip", "disease")),
        (("sex", "disease"), ("sex", "zip", "disease"), ("age",)),
    ]
)


@given(COLUMNS, st.integers(0, 2**32 - 1), st.integers(1, 5))
@examples(60)
def test_sliced_is_what_a_look_at_every_row_says(columns, seed, buckets) -> None:
    generator = np.random.default_rng(seed)
    frame = people(30, seed).select("age", "sex", "zip", "disease").with_columns(pl.col("age") // 20)
    bucket = np.sort(generator.integers(0, buckets, 30))
    series = [pl.Series("bucket", bucket)]
    parts: list[list[list[dict[str, object]]]] = [[] for _ in np.unique(bucket)]
    for column, labels in zip(columns, labels_of(columns), strict=True):
        order = np.lexsort((generator.random(30), bucket))
        rows = frame[order.tolist()]
        series.extend(rows[name].alias(label) for name, label in zip(column, labels, strict=True))
        for place, number in enumerate(np.unique(bucket)):
            parts[place].append(rows.select(column).filter(pl.Series(bucket == number)).to_dicts())
    published = SlicedTable(pl.DataFrame(series), columns, ("disease",))
    known = posterior(published, read_table(frame, SCHEMA))
    for place, person in enumerate(frame.drop("disease").to_dicts()):
        expected = naive.sliced(parts, person, "disease")
        assert told(known, place) == pytest.approx({value: float(share) for value, share in expected.items()})


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
@examples(30)
def test_bucketized_is_what_a_look_at_every_row_says(seed, buckets) -> None:
    frame = people(30, seed).select("age", "sex", "zip", "disease").with_columns(pl.col("age") // 20)
    bucket = pl.Series("bucket", np.random.default_rng(seed).integers(0, buckets, 30) * 7)
    rows = frame.with_columns(bucket)
    counts = rows.group_by("bucket", "disease").len("count").sort("bucket", "disease")
    published = BucketizedTables(rows.drop("disease"), counts, QUASI, "disease")
    known = posterior(published, read_table(frame, SCHEMA))
    for place, person in enumerate(frame.drop("disease").to_dicts()):
        expected = naive.bucketized(rows.to_dicts(), counts.to_dicts(), person, "disease")
        assert told(known, place) == pytest.approx({value: float(share) for value, share in expected.items()})


def covers(name: str, label: object, value: object) -> bool:
    text = str(label)
    if text.startswith("["):
        low, high = text[1:-1].split("..")
        return float(low) <= float(value) <= float(high)  # type: ignore[arg-type]
    return str(value) in text.strip("{}").split("|") or text == "*"


@given(st.integers(0, 2**32 - 1))
@examples(30)
def test_generalized_is_what_a_look_at_every_row_says(seed) -> None:
    generator = np.random.default_rng(seed)
    frame = people(30, seed).select("age", "sex", "zip", "disease")
    low = frame["age"].to_numpy() - generator.integers(0, 8, 30)
    high = frame["age"].to_numpy() + generator.integers(0, 8, 30)
    data = frame.with_columns(
        age=pl.Series([f"[{a}..{b}]" if a < b else str(a) for a, b in zip(low, high, strict=True)]),
        sex=pl.Series(generator.choice(["{f|m}", "f", "m", "*"], 30)),
    )
    known = posterior(PublishedTable(data, QUASI, ("disease",)), read_table(frame, SCHEMA))
    for place, person in enumerate(frame.drop("disease").to_dicts()):
        expected = naive.generalized(data.to_dicts(), person, covers, "disease")
        fitting = sum(expected.values())
        assert known.candidates[place] == fitting
        assert told(known, place) == pytest.approx({value: count / fitting for value, count in expected.items()})


def test_of_class_means_the_nearest_records_count() -> None:
    frame = pl.DataFrame({"x": [1.0, 2, 3, 10, 11, 12], "y": [5.0, 5, 5, 1, 1, 1], "s": [*"aabccc"]})
    means = frame.with_columns(x=pl.Series([2.0] * 3 + [11.0] * 3))
    table = read_table(frame, Schema(quasi_identifying=["x", "y"], sensitive=["s"]))
    known = posterior(PublishedTable(means, ("x", "y"), ("s",)), table, recoding=Recoding(numeric="mean"))
    assert known.candidates.tolist() == [3] * 6
    assert told(known, 0) == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert told(known, 5) == {"c": 1}


def test_blocks_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    import sfumato.evaluation.attacks.posterior as module

    whole = posterior(generalized(), patients())
    monkeypatch.setattr(module, "BLOCK", 15)
    blocks = list(posterior_blocks(generalized(), patients()))
    assert [rows.stop - rows.start for rows, _ in blocks] == [3, 3, 2]
    assert (
        np.concatenate([one.shares[:, : whole.shares.shape[1]] for _, one in blocks]).tolist() == whole.shares.tolist()
    )


class TestBadInput:
    def test_a_sensitive_attribute_that_is_none(self) -> None:
        with pytest.raises(InputError, match="has no sensitive attribute 'age'"):
            posterior(generalized(), patients(), sensitive="age")

    def test_people_with_other_columns(self) -> None:
        others = read_table(pl.DataFrame({"height": [1, 2]}), Schema(quasi_identifying=["height"]))
        with pytest.raises(InputError, match="share no quasi-identifying"):
            posterior(generalized(), others)

    def test_a_kind_that_tells_nothing_of_single_people(self) -> None:
        table = RandomizedTable(PATIENTS, QUASI, ("disease",))
        with pytest.raises(InputError, match="says nothing certain about single people"):
            posterior(table, patients())
