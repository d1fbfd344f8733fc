"""A third party recounts finished releases: pycanon reads the published file and finds what was promised.

Known faults of pycanon that this file goes around: rows with a missing quasi-identifying value are dropped (here they
get a text), entropy l is cut down and off by one, recursive c is another's, and δ skips values that a class lacks.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pycanon import anonymity

import sfumato as sf
from guarantees.combinations import EACH_ANONYMIZER, SETTINGS
from sfumato.models.protocol import PrivacyModel

MODELS: dict[str, list[PrivacyModel]] = {
    "k": [sf.KAnonymity(6)],
    "alpha": [sf.AlphaKAnonymity(0.7, 4)],
    "l": [sf.KAnonymity(3), sf.DistinctLDiversity(3)],
    "entropy": [sf.EntropyLDiversity(2.2)],
    "t": [sf.TCloseness(0.2)],
    "beta": [sf.BasicBetaLikeness(1.0)],
    "enhanced": [sf.EnhancedBetaLikeness(1.2)],
    "delta": [sf.DeltaDisclosure(1.0)],
    "several": [sf.KAnonymity(4), sf.TCloseness(0.3, attribute="wage"), sf.DistinctLDiversity(2, attribute="disease")],
}


def hospital(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(150, 400))
    return pl.DataFrame(
        {
            "age": draw.integers(18, 90, rows),
            "zip": draw.choice(["12345", "12399", "54321", "54388"], rows, p=[0.6, 0.2, 0.15, 0.05]),
            "job": pl.Series(draw.choice(["cook", "clerk", "nurse", "-"], rows)).replace("-", None),
            "disease": draw.choice(["flu", "cold", "gout", "burn"], rows, p=[0.4, 0.3, 0.2, 0.1]),
            "wage": draw.integers(1, 9, rows) ** 2,
        }
    )


def adult() -> pl.DataFrame:
    if "SFUMATO_DATA" not in os.environ:
        pytest.skip("SFUMATO_DATA is not set: the Adult file is not at hand")
    path = Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data"
    names = ["age", "class", "weight", "zip", "wage", "job", "work", "relation", "race", "sex", "gain", "loss", "hours"]
    names += ["country", "salary"]
    frame = pl.read_csv(path, has_header=False, n_rows=1500, new_columns=names, infer_schema=False)
    frame = frame.with_columns(pl.all().str.strip_chars())
    return frame.select(pl.col("age", "wage").cast(pl.Int64), "zip", "job", pl.col("relation").alias("disease")).select(
        "age", "zip", "job", "disease", "wage"
    )


def pandas_view(path: Path) -> pd.DataFrame:
    """The published file as pycanon can read it: no missing quasi-identifying value, an index that counts from 0."""
    types = {"age": str, "zip": str, "job": str, "disease": str, "wage": int}
    frame = pd.read_csv(path, dtype=types, keep_default_na=False)
    return frame.replace({"job": {"": "(missing)"}}).reset_index(drop=True)


def agree(frame: pd.DataFrame, models: list[PrivacyModel]) -> None:
    quasi = ["age", "zip", "job"]
    assert len(models)
    for model in models:
        columns = [model.parameters().get("attribute")] if model.parameters().get("attribute") else ["disease", "wage"]
        for column in columns:
            check(frame, quasi, model, column)


def check(frame: pd.DataFrame, quasi: list[str], model: PrivacyModel, column: str) -> None:
    secret = [column]
    match model:
        case sf.KAnonymity(k=k):
            assert anonymity.k_anonymity(frame, quasi) >= k
        case sf.AlphaKAnonymity(alpha=alpha, k=k):
            share, smallest = anonymity.alpha_k_anonymity(frame, quasi, secret)
            assert share <= alpha + 1e-12
            assert smallest >= k
        case sf.DistinctLDiversity(l=distinct):
            assert anonymity.l_diversity(frame, quasi, secret) >= distinct
        case sf.EntropyLDiversity(l=entropy):
            assert anonymity.entropy_l_diversity(frame, quasi, secret) >= math.floor(entropy) - 1
        case sf.TCloseness(t=t):
            assert anonymity.t_closeness(frame, quasi, secret) <= t + 1e-9
        case sf.BasicBetaLikeness(beta=beta):
            assert anonymity.basic_beta_likeness(frame, quasi, secret) <= beta + 1e-9
        case sf.EnhancedBetaLikeness(beta=beta):
            assert anonymity.enhanced_beta_likeness(frame, quasi, secret) <= beta + 1e-9
        case sf.DeltaDisclosure(delta=delta):
            assert anonymity.delta_disclosure(frame, quasi, secret) <= delta + 1e-9
        case _:
            raise AssertionError(model.name)


SOURCES = ["hospital 0", "hospital 1", "adult"]


@pytest.fixture(scope="module", params=SOURCES)
def table(request: pytest.FixtureRequest) -> sf.Table:
    frame = adult() if request.param == "adult" else hospital(int(request.param.split()[1]))
    zips = None if request.param == "adult" else sf.prefixes(3, 1)
    schema = sf.Schema(quasi_identifying={"age": None, "zip": zips, "job": None}, sensitive=["disease", "wage"])
    return sf.read_table(frame, schema)


@pytest.mark.parametrize("promise", MODELS)
def test_pycanon_finds_the_promise_kept(table, promise, tmp_path):
    models = MODELS[promise]
    release = sf.anonymize(table, models)
    folder = release.save(tmp_path / "out")
    agree(pandas_view(folder / "data.csv"), models)


@pytest.mark.parametrize("setting", EACH_ANONYMIZER)
def test_pycanon_agrees_on_what_was_reached(setting, tmp_path):
    table = sf.read_table(
        hospital(3), sf.Schema(quasi_identifying=["age", "zip", "job"], sensitive=["disease", "wage"])
    )
    models = [sf.KAnonymity(4), sf.DistinctLDiversity(2), sf.TCloseness(0.5)]
    release = sf.anonymize(table, models, anonymizer=SETTINGS[setting])
    frame = pandas_view(release.save(tmp_path / "out") / "data.csv")
    quasi = ["age", "zip", "job"]
    size, distinct, distance = (check.achieved for check in sf.verify(release).checks[:3])
    assert size[0].value == anonymity.k_anonymity(frame, quasi)
    assert [value.value for value in distinct] == [
        anonymity.l_diversity(frame, quasi, [c]) for c in ("disease", "wage")
    ]
    theirs = [anonymity.t_closeness(frame, quasi, [column]) for column in ("disease", "wage")]
    assert [value.value for value in distance] == pytest.approx(theirs, rel=1e-9)
