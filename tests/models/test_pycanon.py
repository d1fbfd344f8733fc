"""A third party agrees: pycanon on random tables and on pieces of Adult, for every model that it gets right.

Left out because pycanon (1.0 to 1.3) goes other ways: recursive c starts from the rarest value, t of a constant numeric
attribute divides by zero. Where it skips what a definition forbids, ours must be stricter, never weaker.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pycanon import anonymity

from examples import seeds
from models.small_tables import Column, statistics_of
from sfumato import models
from sfumato.classes.partition import group_records
from sfumato.classes.statistics import ClassStatistics
from sfumato.models.protocol import PrivacyModel
from sfumato.table.schema import Kind

QUASI = ["q1", "q2"]


def random_table(seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    size = int(draw.integers(30, 200))
    skew = draw.dirichlet(np.full(int(draw.integers(2, 7)), 1.0))
    disease = np.array(list("abcdefg"))[draw.choice(len(skew), size, p=skew)]
    frame = pd.DataFrame(
        {
            "q1": np.array(["x", "y", "z"])[draw.integers(0, 3, size)],
            "q2": draw.integers(0, 3, size),
            "disease": disease,
            "wage": draw.integers(0, 8, size) ** 2,
        }
    )
    # Pycanon reads the rows of a class by position: the index must count from 0.
    return frame.reset_index(drop=True)


def adult_piece(first: int) -> pd.DataFrame:
    if "SFUMATO_DATA" not in os.environ:
        pytest.skip("SFUMATO_DATA is not set: the Adult file is not at hand")
    names = ["age", "workclass", "weight", "education", "years", "marital", "occupation", "relation", "race", "sex"]
    path = Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data"
    frame = pd.read_csv(
        path, header=None, usecols=range(10), names=names, skipinitialspace=True, na_values="?"
    ).dropna()
    piece = frame.iloc[first : first + 1500].reset_index(drop=True)
    return piece.rename(columns={"sex": "q1", "marital": "q2", "occupation": "disease", "years": "wage"})


def ours(frame: pd.DataFrame) -> ClassStatistics:
    quasi = np.column_stack([pd.factorize(frame[name])[0] for name in QUASI]).astype(np.uint8)
    class_of, _ = group_records(quasi)
    disease = Column("disease", Kind.CATEGORICAL, tuple(frame["disease"].tolist()))
    wage = Column("wage", Kind.NUMERIC, tuple(frame["wage"].tolist()))
    return statistics_of(class_of.tolist(), disease, wage)


def value(model: PrivacyModel, statistics: ClassStatistics) -> float:
    return model.achieved(statistics)[-1].value


@pytest.fixture(params=[*seeds(10), "adult 0", pytest.param("adult 15000", marks=pytest.mark.slow)])
def table(request: pytest.FixtureRequest) -> tuple[pd.DataFrame, ClassStatistics]:
    which = request.param
    frame = random_table(which) if isinstance(which, int) else adult_piece(int(which.removeprefix("adult ")))
    return frame, ours(frame)


def test_k(table: tuple[pd.DataFrame, ClassStatistics]) -> None:
    frame, statistics = table
    assert value(models.KAnonymity(1), statistics) == anonymity.k_anonymity(frame, QUASI)


@pytest.mark.parametrize("attribute", ["disease", "wage"])
def test_shares_and_distinct_values(table: tuple[pd.DataFrame, ClassStatistics], attribute: str) -> None:
    frame, statistics = table
    alpha, k = anonymity.alpha_k_anonymity(frame, QUASI, [attribute])
    found = models.AlphaKAnonymity(1, 1, attribute=attribute).achieved(statistics)
    assert [each.value for each in found] == [k, pytest.approx(alpha, rel=1e-12)]
    distinct = anonymity.l_diversity(frame, QUASI, [attribute])
    assert value(models.DistinctLDiversity(1, attribute=attribute), statistics) == distinct


@pytest.mark.parametrize("attribute", ["disease", "wage"])
def test_distance_to_the_whole_table(table: tuple[pd.DataFrame, ClassStatistics], attribute: str) -> None:
    frame, statistics = table
    t = anonymity.t_closeness(frame, QUASI, [attribute])
    assert value(models.TCloseness(1, attribute=attribute), statistics) == pytest.approx(t, rel=1e-9)


@pytest.mark.parametrize("attribute", ["disease", "wage"])
def test_gains(table: tuple[pd.DataFrame, ClassStatistics], attribute: str) -> None:
    frame, statistics = table
    basic = anonymity.basic_beta_likeness(frame, QUASI, [attribute])
    assert value(models.BasicBetaLikeness(1, attribute=attribute), statistics) == pytest.approx(basic, rel=1e-9)
    # Pycanon caps gains that no beta allows, where ours are infinite.
    enhanced = anonymity.enhanced_beta_likeness(frame, QUASI, [attribute])
    own = value(models.EnhancedBetaLikeness(1, attribute=attribute), statistics)
    shares = frame[attribute].value_counts(normalize=True).sort_index()
    gains = pd.crosstab([frame[name] for name in QUASI], frame[attribute], normalize="index") / shares - 1
    hopeless = (gains > -np.log(shares) + 1e-12).any(axis=None)
    assert own == (math.inf if hopeless else pytest.approx(enhanced, rel=1e-9))


@pytest.mark.parametrize("attribute", ["disease", "wage"])
def test_disclosure(table: tuple[pd.DataFrame, ClassStatistics], attribute: str) -> None:
    frame, statistics = table
    theirs = anonymity.delta_disclosure(frame, QUASI, [attribute])
    own = value(models.DeltaDisclosure(1, attribute=attribute), statistics)
    # Pycanon skips values that a class lacks.
    lacking = frame.groupby(QUASI)[attribute].nunique().min() < frame[attribute].nunique()
    assert own == (math.inf if lacking else pytest.approx(theirs, rel=1e-9))


@pytest.mark.parametrize("attribute", ["disease", "wage"])
def test_entropy_is_theirs_before_it_is_cut_down(table: tuple[pd.DataFrame, ClassStatistics], attribute: str) -> None:
    frame, statistics = table
    own = value(models.EntropyLDiversity(1, attribute=attribute), statistics)
    assert math.floor(own + 1e-9) - 1 <= anonymity.entropy_l_diversity(frame, QUASI, [attribute]) <= own + 1e-9
