"""Guarded values: which values are meant, what is refused, whom suppression leaves out, and what a folder shows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from examples import examples
from models.small_tables import HIERARCHY, TREE, Column, encode, statistics_of
from naive.models import is_guarded
from sfumato.anonymizers.feasibility import balanced_records
from sfumato.anonymizers.protocol import Problem
from sfumato.cli.app import app
from sfumato.models.compiled import MOST_GUARDS, compile_rules
from sfumato.table.schema import Kind

DISEASES = ("gu", "ga", "sc", "fl", "fl", None)


def shares(model: sf.GuardedValues, class_of: list[int], column: Column) -> list[float]:
    statistics = statistics_of(class_of, column)
    return model.measure(statistics.sensitive["s"], statistics.sizes).tolist()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["acid"], [2 / 3, 0]),
        (["stomach"], [1, 0]),
        (["stomach", "gu"], [1, 0]),
        (["acid", "fl"], [2 / 3, 2 / 3]),
        (["br"], [0, 0]),
        (["*"], [1, 1]),
    ],
)
def test_a_node_stands_for_all_values_under_it(labels: list[str], expected: list[float]) -> None:
    """By hand: the first class is gu, ga, sc; the second fl, fl and a missing value, which only the root guards."""
    column = Column("s", Kind.CATEGORICAL, DISEASES, HIERARCHY)
    assert shares(sf.GuardedValues(labels, 0.5), [0, 0, 0, 1, 1, 1], column) == expected


def test_without_a_hierarchy_labels_are_values() -> None:
    column = Column("s", Kind.CATEGORICAL, DISEASES)
    assert shares(sf.GuardedValues(["gu", "fl"], 0.5), [0, 0, 0, 1, 1, 1], column) == [1 / 3, 2 / 3]
    # A star is a text like others there.
    assert shares(sf.GuardedValues(["*"], 0.5), [0, 0], Column("s", Kind.CATEGORICAL, ("*", "a"))) == [0.5]


def test_what_has_no_labels_is_refused() -> None:
    numbers = Column("s", Kind.NUMERIC, (5, 10, None))
    model = sf.GuardedValues(["5"], 0.5)
    for use in (lambda: shares(model, [0, 0, 0], numbers), lambda: compile_rules([model], encode(numbers))):
        with pytest.raises(sf.PolicyError, match="'s' has numbers or dates, which have no labels; give it a hierarchy"):
            use()
    # Nothing but missing values: nothing to guard.
    assert shares(model, [0], Column("s", Kind.NUMERIC, (None,))) == [0]


def test_labels_that_guard_nothing_are_counted_and_not_shown() -> None:
    column = Column("s", Kind.CATEGORICAL, DISEASES, HIERARCHY)
    with pytest.raises(sf.PolicyError, match="2 guarded values of 3 are no label of 's'") as caught:
        compile_rules([sf.GuardedValues(["acid", "Acid", "HIV"], 0.5)], encode(column))
    assert "Acid" not in str(caught.value)
    with pytest.raises(sf.PolicyError, match="1 guarded value of 1 is no label of 's'"):
        compile_rules([sf.GuardedValues(["acid"], 0.5)], encode(replace(column, hierarchy=None)))


def test_too_many_bounds_are_refused() -> None:
    column = encode(Column("s", Kind.CATEGORICAL, DISEASES, HIERARCHY))
    model = sf.GuardedValues(["acid"], 0.5)
    compile_rules([model] * MOST_GUARDS, column)
    with pytest.raises(sf.PolicyError, match="63 bounds on guarded values; at most 62"):
        compile_rules([model] * (MOST_GUARDS + 1), column)


@given(st.lists(st.sampled_from(HIERARCHY.leaves), min_size=1, max_size=40), st.sampled_from([0.1, 0.25, 0.5, 0.9]))
@examples(100)
def test_as_few_as_possible_are_left_out_and_none_that_is_not_guarded(values: list[str], p: float) -> None:
    column = Column("s", Kind.CATEGORICAL, tuple(values), HIERARCHY)
    table, model = encode(column), sf.GuardedValues(["lungs"], p)
    choices = balanced_records(Problem(table, (model,), table.height, 1, 1))
    guarded = np.array([is_guarded(value, ["lungs"], TREE) for value in values])
    enough = [gone for gone in range(len(values)) if guarded.sum() - gone <= (p + 1e-12) * (len(values) - gone)]
    if not enough or guarded.all():
        assert not choices
    else:
        assert len(values) - len(choices[0]) == enough[0]
        assert guarded[np.setdiff1d(np.arange(len(values)), choices[0])].all()


PATIENTS = pl.DataFrame(
    {
        "age": [20 + i % 30 for i in range(90)],
        "ill": [("=flu", "cough", "ulcer", "rash", "burn", "rash")[i % 6] for i in range(90)],
    }
)
ORGANS = sf.groups({"lungs": ["=flu", "cough"], "stomach": ["ulcer"], "skin": ["rash", "burn"]})
MODELS = [sf.GuardedValues(["lungs"], 0.4), sf.GuardedValues(["ulcer", "=flu"], 0.5, "ill"), sf.KAnonymity(3)]


def released(folder: Path, **saving: str) -> Path:
    schema = sf.Schema(quasi_identifying=["age"], sensitive={"ill": sf.Attribute(hierarchy=ORGANS)})
    return sf.anonymize(sf.read_table(PATIENTS, schema), MODELS, seed=1).save(folder, **saving)  # type: ignore[arg-type]


def test_several_bounds_on_one_attribute_are_kept_and_recounted_from_the_file(tmp_path: Path) -> None:
    folder = released(tmp_path / "out")
    assert sf.verify(folder).ok
    shown = pl.read_csv(folder / "data.csv").group_by("age").agg(pl.col("ill"))
    for own in shown["ill"].to_list():
        assert sum(value in ("=flu", "cough") for value in own) <= 0.4 * len(own)
        assert sum(value in ("=flu", "ulcer") for value in own) <= 0.5 * len(own)
    entry = json.loads((folder / "release.json").read_text())["models"][0]
    assert entry == {"name": "guarded-values", "values": ["lungs"], "p": 0.4}


def test_escaped_values_are_guarded_all_the_same(tmp_path: Path) -> None:
    plain, escaped = sf.verify(released(tmp_path / "a")), sf.verify(released(tmp_path / "b", formulas="escape"))
    assert escaped.ok
    assert [check.achieved for check in plain.checks[1:4]] == [check.achieved for check in escaped.checks[1:4]]


@pytest.mark.parametrize("change", [{"values": ["skin"]}, {"p": 0.9}])
def test_a_promise_that_was_changed_is_not_good(tmp_path: Path, change: dict[str, object]) -> None:
    folder = released(tmp_path / "out")
    content = json.loads((folder / "release.json").read_text())
    content["models"][0].update(change)
    (folder / "release.json").write_text(json.dumps(content))
    assert "policy.toml and release.json name the same models" in str(sf.verify(folder))
    assert not sf.verify(folder).ok


def test_the_command_line_takes_lists(tmp_path: Path) -> None:
    PATIENTS.write_csv(tmp_path / "table.csv")
    target = ["--out", str(tmp_path / "out"), "--save-policy", str(tmp_path / "p")]
    words = ["--quasi", "age", "--sensitive", "ill", *target]
    model = 'guarded-values:values=["ulcer", "=flu"],p=0.5'
    done = CliRunner().invoke(
        app, ["anonymize", str(tmp_path / "table.csv"), *words, "-k", "3", "--model", model, "--details"]
    )
    assert done.exit_code == 0, done.output
    assert "guarded-values (values=['ulcer', '=flu'], p=0.5): holds" in done.output
    assert sf.Policy.from_file(tmp_path / "p").to_models()[1] == sf.GuardedValues(("ulcer", "=flu"), 0.5)


def test_slices_cannot_promise_it() -> None:
    table = sf.read_table(PATIENTS, sf.Schema(quasi_identifying=["age"], sensitive=["ill"]))
    with pytest.raises(sf.PolicyError, match="guarded-values: a sliced table"):
        sf.anonymize(table, sf.GuardedValues(["ulcer"], 0.5), anonymizer=sf.Slicing())
