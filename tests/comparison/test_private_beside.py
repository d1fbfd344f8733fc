"""Releases under differential privacy in comparisons: the same counts, without noise the exact ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.evaluation.utility.answers import Questions
from sfumato.evaluation.utility.joint import Original
from sfumato.kinds.private.measure import private_joint

pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")


def table(people: int = 4000) -> sf.Table:
    draw = np.random.default_rng(7)
    age = draw.integers(0, 100, people)
    ill = np.where(draw.random(people) < 0.1 + 0.6 * (age > 60), "flu", "none")
    sex = np.where(draw.random(people) < 0.5, "f", "m")
    quasi = {
        "age": sf.Attribute("numeric", hierarchy=sf.intervals(1, 20), domain=(0, 99)),
        "sex": sf.Attribute("categorical", domain=("f", "m")),
    }
    secret = {"ill": sf.Attribute("categorical", domain=("none", "flu", "cold"))}
    return sf.read_table(
        pl.DataFrame({"age": age, "sex": sex, "ill": ill}), sf.Schema(quasi_identifying=quasi, sensitive=secret)
    )


TABLE = table()
COLUMNS: dict[str, Any] = {
    "quasi-identifying": {
        "age": {"kind": "numeric", "hierarchy": {"kind": "intervals", "widths": [1, 20]}, "domain": [0, 99]},
        "sex": {"kind": "categorical", "domain": ["f", "m"]},
    },
    "sensitive": {"ill": {"kind": "categorical", "domain": ["none", "flu", "cold"]}},
}


def counts(epsilon: float, bins: int = 100, **more: Any) -> sf.PrivatePolicy:
    counting = {"bins": {"age": bins}, "marginals": [["age", "sex", "ill"]], **more}
    return sf.PrivatePolicy.from_mapping({"columns": COLUMNS, "model": {"epsilon": epsilon}, "counting": counting})


def sample(epsilon: float, delta: float = 1e-5, **settings: Any) -> sf.PrivateSamplePolicy:
    model = {"epsilon": epsilon, "delta": delta}
    return sf.PrivateSamplePolicy.from_mapping({"columns": COLUMNS, "model": model, "sampling": settings})


def errors(release: Any) -> np.ndarray[Any, Any]:
    original = Original.of(TABLE)
    questions = Questions.about(sf.query_workload(TABLE, 100, seed=3), original.domains)
    return questions.errors(private_joint(release, original))


def test_counts_with_hardly_any_noise_answer_exactly():
    assert errors(sf.publish_privately(TABLE, counts(1e6))).max() < 0.01


def test_a_sample_of_single_values_answers_as_the_sample_does():
    # Levels of single years and nearly no k: what is left is the error of drawing half of the records.
    release = sf.publish_private_sample(TABLE, sample(5.0, 0.3, levels={"age": 0, "sex": 0, "ill": 0}))
    assert release.budget.k <= 3
    joint = private_joint(release, Original.of(TABLE))
    assert joint.sizes.sum() == pytest.approx(release.published.data.height / release.budget.share)
    assert np.median(errors(release)) < 0.2


def test_cells_are_spread_over_the_values_in_them():
    coarse = np.median(errors(sf.publish_privately(TABLE, counts(1e6, bins=2))))
    fine = np.median(errors(sf.publish_privately(TABLE, counts(1e6, bins=20))))
    assert fine < coarse


def test_they_stand_beside_others_that_lose_as_much(tmp_path: Path):
    ways = {"hardly any noise": counts(1e6), "counts": counts(0.01), "sample": sample(2.0)}
    found = sf.compare(
        TABLE,
        anonymizers=["mondrian"],
        vary={"k": [2, 1000]},
        figures=sf.Figures(queries=40, private=ways),
        repetitions=2,
        seed=1,
    )
    assert found.private["release"].to_list() == [label for label in ways for _ in range(2)]
    assert (found.private["status"] == "done").all()
    told = str(found)
    assert (
        "hardly any noise (ε = 1e+06, δ = 0): counts are off by 0% (median); no worse are mondrian up to k = 2\n"
        in told
    )
    # So much noise that even huge classes lose less.
    assert "no worse are mondrian up to k = 1,000\n" in told
    assert "sample (ε = 2, δ = 1e-05): counts are off by" in told
    found.save(tmp_path / "out", drawings=False)
    assert pl.read_csv(tmp_path / "out" / "private.csv").height == 6
    assert "counts are off by" in found._repr_html_()


def test_what_cannot_be_made_says_why():
    ways = {"early": sample(0.005), "small": sample(1.0, 1e-9)}
    few = sf.read_table(TABLE.frame.head(40), TABLE.schema)
    figures = sf.Figures(queries=10)
    with pytest.warns(DeprecationWarning, match=r"figures=sfumato\.Figures\(private="):
        found = sf.compare(few, anonymizers=["mondrian"], vary={"k": [2]}, figures=figures, private=ways, seed=1)
    assert (found.private["status"] == "refused").all()
    assert "early (ε = 0.005, δ = 1e-05): epsilon: leaves the sample less" in str(found)
    assert "the sample has no records" in str(found)
    with pytest.raises(PolicyError, match="private: 'x' is neither"):
        sf.compare(TABLE, anonymizers=["mondrian"], figures=sf.Figures(private={"x": sf.KAnonymity(2)}))  # type: ignore[dict-item]
    with pytest.raises(PolicyError, match="private: must be a mapping"):
        sf.compare(TABLE, anonymizers=["mondrian"], figures=sf.Figures(private=[sample(1.0)]))  # type: ignore[arg-type]
