"""Adding a model takes its file and its line in the registry; what a model says of itself is true."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.classes.statistics import ClassStatistics, class_statistics
from sfumato.models import MODELS, promisable
from sfumato.models.protocol import TRAITS, WholeTableModel, says
from sfumato.table.encoding import encode
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema

SETTINGS: dict[str, Any] = {"values": ["HIV"], "p": 0.3}
SETTINGS |= {
    "k": 2,
    "l": 2,
    "t": 0.3,
    "alpha": 0.4,
    "beta": 1,
    "delta": 1,
    "c": 2,
    "m": 1,
    "delta_max": 0.6,
    "risk": 0.6,
    "share": 0.5,
    "benefit": 10,
    "loss": 30,
    "gain": 8,
    "cost": 2,
}


def model_of(name: str) -> Any:
    fields = MODELS[name].__dataclass_fields__  # type: ignore[attr-defined]
    more = {"fraction": 0.2} if name == "population-uniques" else {}
    return MODELS[name](**{key: SETTINGS[key] for key in fields if key in SETTINGS}, **more)


def test_a_new_model_goes_all_the_way(tmp_path):
    walk = Path(__file__).with_name("new_model_walk.py")
    # Kernels run as they are written: compiling them says nothing of a model.
    done = subprocess.run(
        [sys.executable, walk, tmp_path],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_subjects_are_those_of_the_models():
    assert promisable("slices") == ("probabilistic-l-diversity", "t-closeness")
    assert promisable("joins") == ("probabilistic-l-diversity",)
    assert promisable("sizes") == ("k-anonymity",)
    assert promisable("values") == ("subset-k-anonymity", "wildcard-k-anonymity")
    assert set(promisable("marginals")) == {"k-anonymity", *promisable("buckets")}
    assert promisable("classes") == tuple(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_sentences_hold_the_parameters(name):
    model = model_of(name)
    sentence = says(model).sentence()
    assert sentence not in ("", name)
    assert "{" not in sentence


def statistics_of(classes: list[list[str]]) -> ClassStatistics:
    values = [value for members in classes for value in members]
    frame = pl.DataFrame({"q": values, "s": values})
    table = encode(read_table(frame, Schema(quasi_identifying=["q"], sensitive=["s"])))
    class_of = np.repeat(np.arange(len(classes), dtype=np.int32), [len(members) for members in classes])
    found = class_statistics(class_of, len(classes), table.sensitive_codes, table.sensitive)
    return replace(found, population=2 * found.sizes)


@pytest.mark.parametrize("name", MODELS)
@given(classes=st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), min_size=2, max_size=4))
@settings(max_examples=40, deadline=None)
def test_what_a_model_says_of_classes_is_true(name, classes):
    model = model_of(name)
    holds = model.holds(statistics_of(classes))
    least = says(model).least_class_size()
    if least is not None:
        assert all(len(members) >= least for members, good in zip(classes, holds, strict=True) if good)
    guess = says(model).allowed_guess("s")
    if guess is not None:
        shares = [max(map(members.count, members)) / len(members) for members in classes]
        assert all(share <= guess + 1e-9 for share, good in zip(shares, holds, strict=True) if good)
    if says(model).survives_suppression and holds[0]:
        assert model.holds(statistics_of(classes[:1])).all()
    if says(model).survives_merging and holds.all():
        assert model.holds(statistics_of([[value for members in classes for value in members]])).all()


@pytest.mark.parametrize("name", MODELS)
def test_rules_that_compare_with_the_table_do_not_survive_suppression(name):
    model = model_of(name)
    if "values" not in says(model).speaks_of and not isinstance(model, WholeTableModel):
        relative = any(TRAITS[rule.code].relative for rule in model.rules(["s"]))
        assert says(model).survives_suppression is not relative
