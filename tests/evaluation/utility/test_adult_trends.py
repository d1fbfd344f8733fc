"""What the literature says of kinds of releases, on the Adult data."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers.slicing.correlation import correlation
from sfumato.evaluation.utility.answers import estimated_answers, exact_answers, relative_errors, summarize
from sfumato.evaluation.utility.joint import original_joint, read_joint
from sfumato.evaluation.utility.measure import correlations
from sfumato.evaluation.utility.queries import domains_of
from sfumato.table.encoding import encode

DATA = os.environ.get("SFUMATO_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="SFUMATO_DATA names no folder with the Adult data")

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary",
)  # fmt: skip
QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")


@pytest.fixture(scope="module")
def adult() -> sf.Table:
    """The complete records."""
    assert DATA is not None
    path = Path(DATA) / "adult" / "adult.data"
    frame = pl.read_csv(path, has_header=False, new_columns=list(COLUMNS)).with_columns(
        pl.col(pl.String).str.strip_chars()
    )
    complete = frame.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))
    return sf.read_table(complete, sf.Schema(quasi_identifying=list(QUASI), sensitive=["occupation"], others="drop"))


@pytest.fixture(scope="module")
def releases(adult: sf.Table) -> dict[str, sf.Release]:
    anonymizers = {
        "generalized": sf.Mondrian(),
        "sliced": sf.Slicing(bucket_size="smallest"),
        "bucketized": sf.Bucketization(members="random"),
    }
    model = sf.ProbabilisticLDiversity(5)
    return {name: sf.anonymize(adult, model, anonymizer=each, seed=1) for name, each in anonymizers.items()}


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_buckets_answer_best_and_slices_better_than_generalization(adult, releases, dimensions):
    workload = sf.query_workload(adult, 500, dimensions=dimensions, selectivity=0.05, seed=2)
    exact = exact_answers(workload, adult)
    errors = {
        name: summarize(
            relative_errors(workload, exact, estimated_answers(workload, release.published, adult), adult)
        ).median
        for name, release in releases.items()
    }
    assert errors["bucketized"] < 0.12
    assert errors["bucketized"] < errors["sliced"] < errors["generalized"]
    assert errors["generalized"] > 3 * errors["bucketized"]


@pytest.mark.slow
def test_slices_keep_more_association_than_generalization(adult, releases):
    domains = domains_of(encode(adult))
    original = original_joint(domains)
    kept = {
        name: correlations(original, read_joint(release.published, domains), domains).kept
        for name, release in releases.items()
    }
    assert kept["bucketized"] > kept["generalized"] + 0.2
    assert kept["sliced"] > kept["generalized"] + 0.2


def test_associations_before_are_those_of_the_original_table(adult):
    domains = domains_of(encode(adult))
    original = original_joint(domains)
    expected = correlation(adult)
    for pair in correlations(original, original, domains).associations:
        assert pair.before == pytest.approx(expected.of(*pair.attributes))
