"""The estimator for pipelines: scikit-learn's own checks, whose records stand in which row, and what may not leak."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import sfumato as sf
from sfumato.sklearn import Anonymizer

BY_DESIGN = dict.fromkeys(
    ("check_transformer_general", "check_transformer_data_not_an_array"),
    "training records are published, those to be predicted are not",
)


def records(seed: int = 0, n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.integers(20, 80, n).astype(float),
            "town": draw.choice(["Ay", "Bo", "Cy"], n),
            "height": draw.normal(170, 10, n).round(),
        }
    )
    return frame, (frame["age"] + 30 * (frame["town"] == "Ay") > 60).to_numpy().astype(int)


def test_it_passes_the_checks_of_scikit_learn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(Anonymizer(seed=1), on_fail=None, expected_failed_checks=BY_DESIGN)
    assert [each["check_name"] for each in found if each["status"] == "failed"] == []
    assert sum(each["status"] == "passed" for each in found) >= 40


@pytest.mark.parametrize("way", [None, sf.MDAV(), sf.Mondrian(mode="relaxed"), sf.KMember()])
def test_each_row_holds_what_is_published_of_its_record(way):
    given = np.random.default_rng(3).integers(0, 60, (150, 2)).astype(float)
    step = Anonymizer(sf.KAnonymity(4), anonymizer=way, seed=2)
    made = step.fit_transform(given)
    published = sf.open_release(step.release_).to_polars(cells="bounds").to_numpy()
    middles = (published[:, ::2] + published[:, 1::2]) / 2
    for record, cells in zip(given, made, strict=True):
        alike = published[(middles == cells).all(axis=1)]
        assert ((alike[:, ::2] <= record) & (record <= alike[:, 1::2])).all(axis=1).any()
    assert Counter(map(tuple, made.tolist())) == Counter(map(tuple, middles.tolist()))
    assert min(Counter(map(tuple, made.tolist())).values()) >= 4


def test_frames_with_categories_go_through_a_pipeline():
    frame, target = records()
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [1]), remainder="passthrough")
    whole = make_pipeline(Anonymizer(sf.KAnonymity(3), seed=1), encode, DecisionTreeClassifier(random_state=0))
    assert cross_val_score(whole, frame, target, cv=3).mean() > 0.8
    step = clone(whole).fit(frame, target)[0]
    assert set(step.fit_transform(frame)[:, 1]) <= {"Ay", "Bo", "Cy"}
    assert list(step.get_feature_names_out()) == ["age", "town", "height"]
    assert step.release_.report.verification.ok
    assert step.get_params()["models"] == sf.KAnonymity(3)


def test_the_target_can_be_what_is_sensitive():
    frame, target = records()
    step = Anonymizer([sf.KAnonymity(4), sf.DistinctLDiversity(2)], sensitive_target=True, seed=1).fit(frame, target)
    assert step.release_.classes["distinct y"].min() == 2
    with pytest.raises(sf.PolicyError, match="needs y"):
        step.fit(frame)
    with pytest.raises(sf.PolicyError, match="publishes no classes"):
        Anonymizer(sf.DistinctLDiversity(2), anonymizer=sf.Bucketization(), sensitive_target=True).fit(frame, target)
    with pytest.raises(sf.SfumatoError, match="k-anonymity"):
        Anonymizer(sf.KAnonymity(500)).fit(frame)


def test_missing_values_stay_missing_and_the_same_seed_gives_the_same():
    frame, _ = records()
    frame.loc[::7, "age"] = np.nan
    one, two = (Anonymizer(sf.KAnonymity(3), seed=5).fit_transform(frame) for _ in range(2))
    assert [str(row) for row in one.tolist()] == [str(row) for row in two.tolist()]
