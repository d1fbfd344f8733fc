"""Ordered texts: cut in their order by every anonymizer, published as ranges, read back everywhere."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from examples import examples
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Form
from sfumato.cli.app import app
from sfumato.errors import PolicyError, SchemaError, SfumatoError
from sfumato.recoding.parsing import parse
from sfumato.recoding.recode import recode
from sfumato.release.on_disk import anonymize_on_disk
from sfumato.table.encoding import encode

ORDER = ("very low", "low", "medium", "high", "very high")
RANGES = {f"[{ORDER[a]}..{ORDER[b]}]": set(ORDER[a : b + 1]) for a, b in itertools.combinations(range(5), 2)}


def frame_of(height: int = 240, seed: int = 1) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    pains = [ORDER[min(4, max(0, int(value)))] for value in draw.normal(2, 1.3, height)]
    return pl.DataFrame(
        {
            "age": draw.integers(20, 70, height),
            "pain": [None if draw.random() < 0.02 else pain for pain in pains],
            "sex": draw.choice(["f", "m"], height),
            "ill": draw.choice(list("abcd"), height),
        }
    )


PAIN = sf.Attribute(kind="ordered", domain=ORDER)
SCHEMA = sf.Schema(quasi_identifying={"age": None, "pain": PAIN, "sex": None}, sensitive=["ill"])


def covered(label: str | None) -> set[str | None]:
    return {*ORDER, None} if label == "*" else set(RANGES.get(label or "", {label}))


@pytest.mark.parametrize("name", list(ANONYMIZERS))
def test_every_anonymizer_cuts_in_the_order(name: str) -> None:
    table = sf.read_table(frame_of(), SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(4), anonymizer=ANONYMIZERS[name](), suppression_limit=0.1, seed=1)
    labels = set(release.data["pain"].unique().to_list())
    assert labels <= {*ORDER, None, "*", *RANGES}
    assert sf.verify(release).ok


def test_the_range_covers_the_values_of_its_class() -> None:
    frame = frame_of()
    encoded = encode(sf.read_table(frame, SCHEMA))
    assert (encoded.attributes[1].order, encoded.attributes[1].domain_width) == (ORDER, 4.0)
    partition = sf.Mondrian().solve(Problem(encoded, [sf.KAnonymity(4)], 0))
    for recoding in (sf.Recoding(), sf.Recoding(ends="tight"), sf.Recoding(numeric="mean")):
        column = recode(encoded, partition, recoding).columns[1]
        shown = column.labels.gather(column.per_class).to_list()
        held = [set(frame["pain"].filter(partition.class_of == each).to_list()) for each in range(partition.count)]
        for label, values in zip(shown, held, strict=True):
            assert values <= covered(label)
            # The range is the least that covers them.
            assert label == "*" or min(map(len, filter(values.issubset, map(covered, [*ORDER, *RANGES])))) == len(
                covered(label)
            )


@given(st.lists(st.sampled_from(ORDER), min_size=1, max_size=30), st.data())
@examples(100)
def test_labels_are_read_as_a_naive_twin_reads_them(values: list[str], data: Any) -> None:
    frame = pl.DataFrame({"pain": values, "age": range(len(values))})
    schema = sf.Schema(quasi_identifying={"pain": PAIN, "age": None})
    attribute = encode(sf.read_table(frame, schema)).attributes[0]
    label = data.draw(st.sampled_from([*ORDER, *RANGES]))
    found = parse(pl.Series([label]), attribute, Form.INTERVAL)
    there = [text for text in attribute.labels.to_list() if text in covered(label)]
    assert bool(found.readable[0]) == bool(there)
    if there:
        assert attribute.labels.to_list()[int(found.low[0]) : int(found.high[0]) + 1] == there


def test_memory_and_disk_publish_the_same_and_the_policy_withholds_the_order(tmp_path: Path) -> None:
    frame_of(300).write_parquet(tmp_path / "t.parquet")
    for maker in (sf.Mondrian(), sf.KMember()):
        policy = sf.Policy.of(SCHEMA, [sf.KAnonymity(4), sf.DistinctLDiversity(2)], maker, sf.Recoding(), 0.0)
        assert sf.Policy.from_mapping(policy.to_mapping()).to_schema() == SCHEMA
        here, there = tmp_path / f"{maker.name}-memory", tmp_path / f"{maker.name}-disk"
        sf.anonymize(sf.read_table(tmp_path / "t.parquet", policy), policy, seed=1).save(here)
        anonymize_on_disk(tmp_path / "t.parquet", policy, there, seed=1)
        for file in sorted(path.name for path in here.iterdir()):
            assert (here / file).read_bytes() == (there / file).read_bytes(), file
        kept = (here / "policy.toml").read_text()
        assert "ordered" in kept
        assert "medium" not in kept
        with pytest.raises(PolicyError, match="withheld"):
            sf.Policy.from_file(here / "policy.toml").to_schema()


def test_a_recipient_counts_with_the_order_and_without() -> None:
    frame = frame_of()
    release = sf.anonymize(frame, sf.KAnonymity(6), schema=SCHEMA, anonymizer=sf.MDAV(), seed=1)
    true = frame.filter(pl.col("pain") == "high").height
    blind, knows = sf.open_release(release), sf.open_release(release, domain={"pain": ORDER})
    one, other = blind.count({"pain": "high"}), knows.count({"pain": "high"})
    assert one.low <= other.low <= true <= other.high <= one.high
    assert other.high < one.high


def test_utility_attacks_and_risk_take_it_as_a_category_with_ranges() -> None:
    frame = frame_of()
    table = sf.read_table(frame, SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    utility = sf.measure_utility(release, table, seed=1)
    assert "pain" in str(utility)
    assert sf.attack(release, table, seed=1).results
    assert sf.attack(release, table, attacks="downcoding", seed=1).results
    assert "pain" in str(sf.describe(release, table))


@pytest.mark.parametrize("name", list(PUBLISHERS))
def test_other_kinds_of_release_take_it(name: str) -> None:
    maker: Any = PUBLISHERS[name]
    try:
        made = maker()
    except (SfumatoError, TypeError):
        pytest.skip("needs settings")
    models = [sf.ProbabilisticLDiversity(2)] if made.promises else []
    release = sf.anonymize(frame_of(), models, anonymizer=made, schema=SCHEMA, seed=1)
    assert release.save is not None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kind": "ordered"}, "needs its values in order"),
        ({"kind": "ordered", "domain": ("a",)}, "at least two"),
        ({"kind": "ordered", "domain": (1.0, 2.0)}, "list its texts"),
        ({"kind": "ordered", "domain": ("a..b", "c")}, "have '..'"),
        ({"kind": "ordered", "domain": ("a", "b"), "hierarchy": sf.flat()}, "has no hierarchy"),
    ],
)
def test_what_is_no_order_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        sf.Attribute(**settings)


def test_a_value_outside_of_the_order_and_a_series_are_refused(tmp_path: Path) -> None:
    few = sf.Schema(quasi_identifying={"pain": sf.Attribute(kind="ordered", domain=ORDER[:4])}, others="drop")
    with pytest.raises(sf.InputError, match="outside the declared domain") as refused:
        sf.anonymize(frame_of(), sf.KAnonymity(2), schema=few)
    assert "very high" not in str(refused.value)
    with pytest.raises(PolicyError, match="order of texts"):
        sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(2))


def test_the_command_line_takes_the_order_and_a_proposal_writes_it_down(tmp_path: Path) -> None:
    frame_of().rename({"pain": "education"}).write_csv(tmp_path / "t.csv")
    policy = sf.Policy.propose(tmp_path / "t.csv")
    assert policy.to_schema().quasi_identifying["education"] == PAIN
    words = ["anonymize", tmp_path / "t.csv", "--quasi", "age,education", "--others", "drop", "-k", "4"]
    said = ["--set", "column.education.kind=ordered", "--set", f"column.education.domain={','.join(ORDER)}"]
    result = CliRunner().invoke(app, [*map(str, words), *said, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    shown = pl.read_csv(tmp_path / "out" / "data.csv", infer_schema_length=0)["education"]
    assert set(shown.to_list()) <= {*ORDER, None, "*", *RANGES}
