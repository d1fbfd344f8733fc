from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.kinds.ratings.policy import RatingPolicy

MARK = "geheim-4711"

FULL = """
purpose = "a study"
suppression-limit = 0.1
threads = 2

[source]
separator = ";"
missing = ["?"]

[ratings]
user = "who"
issue = "what"
rating = "stars"
scale = [0.5, 5, 0.5]

[sensitive]
file = "hidden.txt"

[model]
k = 2
epsilon = 1
l = 0.5
nulls = "g"

[change]
keep = 1
invent = true

[output]
format = "parquet"
"""

MAPPINGS: dict[str, dict[str, Any]] = {
    "source": {"separator": ";", "encoding": "latin1"},
    "ratings": {"form": "wide", "user": "id", "issues": ["a*", "b"], "scale": [-10, 10]},
    "sensitive": {"names": ["b"], "share": 0.25, "drawn": "most-rated"},
    "change": {"method": "plan", "keep": 3, "invent": True},
    "output": {"format": "parquet"},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(FULL)
    (tmp_path / "hidden.txt").write_text("s\n")
    return path


def test_reads_and_anonymizes_as_it_says(file: Path, tmp_path: Path) -> None:
    policy = sf.RatingPolicy.from_file(file)
    table = tmp_path / "films.csv"
    rows = [f"{user};{issue};{1 + (user * place) % 4}" for user in range(8) for place, issue in enumerate("abs")]
    table.write_text("\n".join(["who;what;stars", *rows, "8;a;?"]))
    ratings = policy.read(table)
    assert (ratings.height, ratings.sensitive.tolist()) == (9, [False, False, True])
    release = policy.anonymize(ratings, seed=1)
    assert release.model == policy.to_model() == sf.RatingAnonymity(2, 1, 0.5, nulls="g")
    same = sf.anonymize_ratings(ratings, policy.to_model(), keep=1, invent=True, suppression_limit=0.1, seed=1)
    assert release.to_frame().equals(same.to_frame())


def test_goes_through_files(file: Path, tmp_path: Path) -> None:
    policy = RatingPolicy.from_file(file)
    other = tmp_path / "deeper"
    other.mkdir()
    policy.to_file(other / "copy.toml")
    assert RatingPolicy.from_mapping(policy.to_mapping()) == policy
    again = RatingPolicy.from_file(other / "copy.toml")
    assert again.sensitive.build().file is not None
    assert Path(str(again.sensitive.file)).resolve() == (tmp_path / "hidden.txt").resolve()


@examples(40)
@given(st.sets(st.sampled_from(sorted(MAPPINGS))), st.integers(1, 50), st.floats(0, 9, allow_nan=False))
def test_every_policy_equals_what_it_writes(parts: set[str], k: int, epsilon: float) -> None:
    mapping = {"model": {"k": k, "epsilon": epsilon}, **{part: MAPPINGS[part] for part in parts}}
    policy = RatingPolicy.from_mapping(mapping)
    assert RatingPolicy.from_mapping(policy.to_mapping()) == policy
    assert "seed" not in policy.to_toml()


def test_the_published_edition_withholds_the_stewards(file: Path) -> None:
    text = RatingPolicy.from_file(file).published()
    for withheld in ("who", "what", "stars", "hidden", "separator", "threads", "sensitive"):
        assert withheld not in text
    assert "k = 2" in text
    assert "keep = 1" in text


def test_every_mistake_at_once_and_no_value() -> None:
    mapping = {
        "suppression-limit": 1,
        "threads": 0,
        "source": {"separator": MARK, "strip": False},
        "ratings": {"form": MARK, "scale": [5, 1], "odd": 1},
        "sensitive": {"share": 1, "drawn": MARK},
        "model": {"k": 0, "epsilon": -1},
        "change": {"keep": 0, "invent": MARK},
        "output": {"format": MARK},
        "seed": 3,
    }
    with pytest.raises(sf.PolicyError) as error:
        RatingPolicy.from_mapping(mapping)
    text = str(error.value)
    for key in (
        "suppression-limit",
        "threads",
        "source.separator",
        "ratings.form",
        "ratings.scale",
        "ratings.odd",
        "sensitive.share",
        "sensitive.drawn",
        "model.k",
        "model.epsilon",
        "change.keep",
        "change.invent",
        "output.format",
        "seed",
    ):
        assert f"{key}:" in text
    assert MARK not in text


def test_blanks_cannot_be_kept() -> None:
    with pytest.raises(sf.PolicyError, match="leave strip out"):
        RatingPolicy.from_mapping({"source": {"strip": False}, "model": {"k": 1, "epsilon": 0}})


def test_odd_values() -> None:
    for mapping in ({}, {"model": 3}, {"model": {"k": 1, "epsilon": 0}, "sensitive": {"file": 3}}):
        with pytest.raises(sf.PolicyError):
            RatingPolicy.from_mapping(mapping)
    policy = RatingPolicy.from_mapping({"model": {"k": 1, "epsilon": 0}, "sensitive": {"names": ["gone"]}})
    with pytest.raises(sf.InputError, match="gone"):
        policy.read(pl.DataFrame({"u": [1], "i": ["a"], "r": [3]}))


def test_schema_for_editors() -> None:
    schema = RatingPolicy.json_schema()
    assert {"model", "ratings", "sensitive", "change"} <= set(schema["properties"])
    json.dumps(schema)
