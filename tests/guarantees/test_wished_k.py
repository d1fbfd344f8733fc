"""A k of one's own: every class has as many people as the one in it who wishes for most, recounted from outside."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS
from sfumato.table.person_keys import STEPS, read_wishes, steps_of

QUASI = ("age", "city")
LONG = ("k-member",)
"""What takes most of a minute; another clustering that grows classes, OKA, is tried in every run."""
WAYS = ("mondrian", "k-member", "k-means", "mdav", "v-mdav", "oka", "caat", "kaca", "utility-recoding", "sbc")


def table_of(seed: int, *, people: bool) -> tuple[pl.DataFrame, sf.Table]:
    drawn = random.Random(seed)
    height = drawn.randint(8, 50)
    frame = pl.DataFrame(
        {
            "who": [drawn.randint(0, height if people else 10**9) for _ in range(height)],
            "age": [drawn.randint(20, 60) for _ in range(height)],
            "city": [drawn.choice("abcd") for _ in range(height)],
            "ill": [drawn.choice("xyz") for _ in range(height)],
            "own": [drawn.choice([None] * 12 + [2, 3, 4, 7]) for _ in range(height)],
            "row": list(range(height)),
        },
        schema_overrides={"own": pl.Int64},
    )
    roles: dict[str, Any] = {"person": "who"} if people else {"identifying": ["who"]}
    schema = sf.Schema(quasi_identifying=QUASI, sensitive=["ill"], insensitive=["row"], wished_k="own", **roles)
    return frame, sf.read_table(frame, schema)


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("way", [pytest.param(way, marks=pytest.mark.slow if way in LONG else ()) for way in WAYS])
def test_classes_are_as_large_as_anybody_in_them_wishes(way: str, people: bool) -> None:
    released = 0
    for seed in range(6):
        frame, table = table_of(seed, people=people)
        try:
            release = sf.anonymize(table, sf.KAnonymity(2), anonymizer=ANONYMIZERS[way](), suppression_limit=0.2)
        except sf.UnsatisfiableError:
            continue
        released += 1
        classes = defaultdict(list)
        for row in release.data.iter_rows(named=True):
            classes[tuple(str(row[name]) for name in QUASI)].append(row)
        for rows in classes.values():
            mine = frame[[row["row"] for row in rows]]
            wished = mine["own"].fill_null(1).max()
            promised = {row["promised_k"] for row in rows}
            assert mine["who"].n_unique() >= max(promised) >= wished
            assert len(promised) == 1
            assert promised <= {*STEPS}
        assert sf.verify(release).ok
    assert released


def test_the_release_does_not_hold_the_wishes(tmp_path: Path) -> None:
    _, table = table_of(1, people=False)
    release = sf.anonymize(table, sf.KAnonymity(2))
    release.save(tmp_path / "release")
    assert "own" not in release.data.columns
    assert sf.verify(tmp_path / "release").ok
    text = (tmp_path / "release" / "data.csv").read_text(encoding="utf-8").splitlines()
    small = min(row["promised_k"] for row in release.data.iter_rows(named=True))
    head = text[0].split(",").index("promised_k")
    cells = [line.split(",") for line in text[1:]]
    # Somebody raises what a class promises: it has too few.
    for cell in cells:
        cell[head] = "100" if cell[head] == str(small) else cell[head]
    (tmp_path / "release" / "data.csv").write_text("\n".join([text[0], *map(",".join, cells)]) + "\n", encoding="utf-8")
    outcome = str(sf.verify(tmp_path / "release"))
    assert "broken: k-anonymity (k=2)" in outcome


@pytest.mark.parametrize("promised", ["4", "-5", "0", "1.5", "", "many"])
def test_a_promise_that_is_no_step_is_broken(tmp_path: Path, promised: str) -> None:
    _, table = table_of(1, people=False)
    folder = sf.anonymize(table, sf.KAnonymity(2)).save(tmp_path / "release")
    head, *rows = (folder / "data.csv").read_text(encoding="utf-8").splitlines()
    place = head.split(",").index("promised_k")
    cells = [row.split(",") for row in rows]
    for cell in cells:
        cell[place] = promised if cell == cells[0] else cell[place]
    (folder / "data.csv").write_text("\n".join([head, *map(",".join, cells)]) + "\n", encoding="utf-8")
    assert "broken: k-anonymity (k=2)" in str(sf.verify(folder))


def test_wishes_are_rounded_up_to_steps() -> None:
    wishes = np.array([1, 2, 3, 4, 6, 11, 21, 51, 99, 100, 101, 250])
    assert steps_of(wishes).tolist() == [1, 2, 3, 5, 10, 20, 50, 100, 100, 100, 200, 300]


@pytest.mark.parametrize("values", [[2, 0], [2, -1], [2.5, 2.0], ["2", "many"], [True, None]])
def test_wishes_that_are_no_whole_numbers(values: list[Any]) -> None:
    column = pl.Series("own", values)
    if column.dtype == pl.Boolean:
        assert read_wishes(column).tolist() == [1, 1]
        return
    with pytest.raises(
        sf.InputError, match=r"column 'own': 1 record\(s\) wish for a k that is no whole number"
    ) as caught:
        read_wishes(column)
    assert "many" not in str(caught.value)


def test_a_wish_above_all_people() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "own": [None, 50, None]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], wished_k="own"))
    with pytest.raises(sf.UnsatisfiableError, match="somebody wishes for more people than the 3 there are"):
        sf.anonymize(table, sf.KAnonymity(1))


def test_wishes_of_the_policy() -> None:
    frame = pl.DataFrame({"age": list(range(40)), "ward": ["a"] * 37 + ["psychiatry"] * 3})
    policy = sf.Policy.from_mapping(
        {
            "columns": {"quasi-identifying": ["age"], "insensitive": ["ward"]},
            "models": [{"name": "k-anonymity", "k": 2}],
            "wishes": [{"k": 20, "column": "ward", "value": "psychiatry"}],
        }
    )
    release = sf.anonymize(sf.read_table(frame, policy), policy)
    assert set(release.data.filter(pl.col("ward") == "psychiatry")["promised_k"]) == {20}
    assert 1 in set(release.data["promised_k"])
    assert "psychiatry" not in release.policy
    other = policy.model_copy(update={"wishes": (policy.wishes[0].model_copy(update={"column": "wing"}),)})
    with pytest.raises(sf.PolicyError, match="column 'wing' is not in the table, or has no role"):
        sf.anonymize(sf.read_table(frame, policy), other)


def test_a_rule_that_is_about_nobody_is_refused_without_naming_the_value() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ward": ["psychiatry", "a", "a", "a"]})
    columns = {"quasi-identifying": ["age", "ward"]}
    models = [{"name": "k-anonymity", "k": 2}]
    rules = [{"k": 3, "column": "ward", "value": value} for value in ("psychiatry", "Psychiatry")]
    for rule in rules:
        policy = sf.Policy.from_mapping({"columns": columns, "models": models, "wishes": [rule]})
        table = sf.read_table(frame, policy.to_schema())
        if rule["value"] == "psychiatry":
            assert sf.anonymize(table, policy).data["promised_k"].max() == 3
            continue
        with pytest.raises(
            sf.PolicyError, match="no record has the value of column 'ward' that a rule is about"
        ) as told:
            sf.anonymize(table, policy)
        assert "sychiatry" not in str(told.value)


def test_what_cannot_keep_wishes() -> None:
    frame, table = table_of(3, people=False)
    with pytest.raises(sf.PolicyError, match="belongs to k-anonymity"):
        sf.anonymize(table, sf.DistinctLDiversity(2))
    with pytest.raises(sf.PolicyError, match="bucketization"):
        sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=sf.Bucketization())
    taken = sf.Schema(quasi_identifying=QUASI, insensitive=["promised_k"], wished_k="own", others="drop")
    named = sf.read_table(frame.rename({"row": "promised_k"}), taken)
    with pytest.raises(sf.PolicyError, match="has a column 'promised_k' of its own"):
        sf.anonymize(named, sf.KAnonymity(2))


def test_what_classes_promise_is_not_taken_for_any_column(tmp_path: Path) -> None:
    _, table = table_of(1, people=False)
    folder = sf.anonymize(table, sf.KAnonymity(2)).save(tmp_path / "release")
    content = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    del content["structure"]["promised"]
    (folder / "release.json").write_text(json.dumps(content), encoding="utf-8")
    assert "name the same wishes" in str(sf.verify(folder))
    assert not sf.verify(folder).ok
