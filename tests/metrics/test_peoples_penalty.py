"""The loss of people: each person's records are averaged first."""

from __future__ import annotations

from statistics import mean

import numpy as np
import polars as pl
import pytest

import sfumato as sf


def visits(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame({"who": draw.integers(0, 12, 40), "age": draw.integers(20, 40, 40), "row": np.arange(40)})


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rows", ["together", "apart"])
def test_it_is_the_mean_of_the_means_of_each_persons_records(seed: int, rows: str):
    frame = visits(seed)
    schema = sf.Schema(quasi_identifying=["age"], insensitive=["row"], person="who")
    release = sf.anonymize(
        sf.read_table(frame, schema), sf.KAnonymity(2), people=sf.People(rows=rows), recoding=sf.Recoding(ends="tight"),
        suppression_limit=0.2,
    )  # fmt: skip
    width = frame["age"].max() - frame["age"].min()
    lost = dict.fromkeys(range(40), 1.0)
    for row, text in zip(release.data["row"], release.data["age"], strict=True):
        low, _, high = str(text).strip("[]").partition("..")
        lost[row] = (int(high or low) - int(low)) / width
    expected = mean(mean(lost[row] for row in group["row"]) for _, group in frame.group_by("who"))
    assert release.report.peoples_ncp == pytest.approx(expected)
    assert release.report.to_dict()["losses"]["peoples_ncp"] == float(f"{expected:.6g}")
    assert "information loss of people" in str(release.report)
    assert "peoples_ncp" not in release.report.for_release().to_dict()["losses"]
    assert "of people (NCP)" not in str(release.report.for_release())


def test_with_one_record_each_it_is_that_of_records():
    frame = visits(0).with_columns(who=pl.int_range(40))
    release = sf.anonymize(
        sf.read_table(frame, sf.Schema(quasi_identifying=["age"], person="who", others="drop")), sf.KAnonymity(3)
    )
    assert release.report.peoples_ncp == pytest.approx(release.report.losses.normalized_ncp)
