"""Labels whose order is beyond doubt are cut in it, and published as ranges, by every anonymizer."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS
from sfumato.evaluation.attacks.play import _columns_of_ranges
from sfumato.findings.meaning import safe_order
from sfumato.release.on_disk import anonymize_on_disk

STEPS = ["very low", "low", "medium", "high", "very high"]
AGES = ["0-17", "18-34", "35-49", "50-64", "65+"]
MODELS = [sf.KAnonymity(6)]


def survey(**changes: list[str]) -> pl.DataFrame:
    rows = range(120)
    columns = {"pain": [STEPS[(i * i + i // 7) % 5] for i in rows], "age": [AGES[(i * 3 + i // 5) % 5] for i in rows]}
    return pl.DataFrame({**columns, "ill": [("flu", "gout", "hiv")[i % 3] for i in rows], **changes})


def schema(**quasi: sf.Attribute | None) -> sf.Schema:
    return sf.Schema(quasi_identifying={"pain": None, "age": None, **quasi}, sensitive=["ill"])


def skips(cells: pl.Series, order: list[str]) -> int:
    """Count cells of several labels that are no range of the order."""
    ends = [re.fullmatch(r"\[(.*)\.\.(.*)\]", cell) for cell in cells.cast(pl.String)]
    several = [cell not in order and cell != "*" for cell in cells]
    fine = [e is not None and e[1] in order and order.index(e[1]) < order.index(e[2]) for e in ends]
    return sum(is_set and not is_range for is_set, is_range in zip(several, fine, strict=True))


@pytest.mark.parametrize("name", [name for name in ANONYMIZERS if name != "auto"])
def test_no_anonymizer_skips_a_step(name: str) -> None:
    release = sf.anonymize(survey(), MODELS, schema=schema(), anonymizer=ANONYMIZERS[name](), seed=1)
    assert release.report.verification.ok
    assert skips(release.data["pain"], STEPS) == skips(release.data["age"], AGES) == 0


def test_the_policy_of_a_folder_says_nothing_and_memory_and_disk_agree(tmp_path: Path) -> None:
    survey().write_csv(tmp_path / "survey.csv")
    policy = sf.Policy.of(schema(), MODELS, sf.Mondrian(), sf.Recoding(), 0.0)
    here = sf.anonymize(tmp_path / "survey.csv", policy, seed=1)
    here.save(tmp_path / "here")
    there = anonymize_on_disk(tmp_path / "survey.csv", policy, tmp_path / "there", seed=1)
    assert here.report.findings == there.report.findings == ()
    for file in ("data.csv", "policy.toml"):
        assert (tmp_path / "here" / file).read_bytes() == (tmp_path / "there" / file).read_bytes()
    # Whether labels have an order hangs on all that occur, also on such as are not published.
    assert "ordered" not in (tmp_path / "here/policy.toml").read_text()
    assert "[medium..high]" in (tmp_path / "here/data.csv").read_text()
    assert sf.verify(tmp_path / "here").ok
    assert sum("cut in it" in note for note in here.report.notes) == 2
    assert sf.attack(here, original=sf.read_table(tmp_path / "survey.csv", schema()), attacks=["linkage"]) != ()
    assert _columns_of_ranges(here.published) == {"pain", "age"}


def test_who_declares_a_kind_is_obeyed() -> None:
    plain = sf.Attribute(kind="categorical")
    release = sf.anonymize(survey(), MODELS, schema=schema(pain=plain, age=plain), anonymizer=sf.Mondrian(), seed=1)
    assert not release.data["pain"].cast(pl.String).str.contains(r"\.\.").any()


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["b+", "a", "c"], None), (["A11", "V02", "B7"], None), (["1 = yes", "2 = no", "3 = other"], None),
        (["north", "south", "east"], None), (["type 1", "type 2", "other"], None), (["BMW 3", "VW 2", "Fiat 5"], None),
        (["Bachelors", "Masters", "Doctorate"], None), (["often", "always", "never"], ("never", "often", "always")),
        (["> 50", "<= 20", "21-50"], ("<= 20", "21-50", "> 50")), (["x..y", "low", "high"], None),
    ],
)  # fmt: skip
def test_only_what_is_beyond_doubt_is_an_order(labels: list[str], order: tuple[str, ...] | None) -> None:
    assert safe_order(pl.Series(labels)) == order


def test_an_order_of_a_frame_counts_unless_it_is_that_of_the_alphabet() -> None:
    zones = ["outer", "middle", "inner"]
    frame = survey(pain=[zones[(i * i + i // 7) % 3] for i in range(120)])
    asked = [frame.with_columns(pl.col("pain").cast(pl.Enum(order))) for order in (zones, sorted(zones))]
    releases = [sf.anonymize(each, MODELS, schema=schema(), seed=1) for each in asked]
    assert [("pain" in " ".join(each.report.notes)) for each in releases] == [True, False]
