"""Records that are left out: the disk engine leaves out those that memory does, and no trace of them stays."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from engines.test_disk import MODELS, _small_pieces, pieces_of_a_town, refused, releases, written
from golden.made_tables import town
from golden.runs import ANONYMIZED
from guarantees.tables import Drawn, tables
from sfumato.engines import disk
from sfumato.policy.parts import People

__all__ = ["_small_pieces", "pieces_of_a_town"]

SUPPRESSED = ["remove", "star"]
SCHEMA = sf.Schema(quasi_identifying=["age", "zip", "job"], sensitive=["disease"], others="drop")


def policy_of(schema: sf.Schema, models: Any, anonymizer: Any, limit: float, suppressed: str) -> sf.Policy:
    recoding = sf.Recoding(suppressed=suppressed)  # type: ignore[arg-type]
    return sf.Policy.of(schema, models, anonymizer, recoding, limit, 0, People())


@given(
    tables(sensitive=1), st.sampled_from(sorted(ANONYMIZED)), st.sampled_from(MODELS), st.sampled_from([0.2, 0.5, 0.9]),
    st.sampled_from(SUPPRESSED), st.booleans(), st.sampled_from(["csv", "parquet"]),
)  # fmt: skip
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_same_records_are_left_out(
    drawn: Drawn, setting: str, models: Any, limit: float, suppressed: str, carried: bool, ending: str
):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        schema = dataclasses.replace(drawn.schema, insensitive=("note",) if carried else (), others="drop")
        policy = policy_of(schema, models, ANONYMIZED[setting], limit, suppressed)
        one, two = releases(written(drawn.frame, folder, ending), policy, folder)
        if refused(two):
            return
        assert one == two
        if len(one) == 3:
            # Kinds and hierarchies of sensitive columns, too, are those of what is left.
            assert (folder / "disk" / "release.json").read_bytes() == (folder / "memory" / "release.json").read_bytes()


WAYS: dict[str, Any] = {
    "datafly": sf.Datafly(),
    "optimal": sf.Optimal(),
    "incognito": sf.Incognito(),
    "global mondrian": sf.GlobalMondrian(),
}


@pytest.mark.usefixtures("pieces_of_a_town")
@pytest.mark.parametrize("suppressed", SUPPRESSED)
@pytest.mark.parametrize("way", WAYS)
def test_a_town_in_parts(way: str, suppressed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disk, "PART", 100)
    path = written(town(400), tmp_path, "csv")
    policy = policy_of(SCHEMA, [sf.KAnonymity(6)], WAYS[way], 0.25, suppressed)
    one, two = releases(path, policy, tmp_path)
    assert one == two
    report = sf.anonymize_on_disk(path, policy, tmp_path / "again").report
    assert report.published == 400 - (report.suppressed if suppressed == "remove" else 0)
    assert 6 <= report.suppressed <= 100 or way == "global mondrian"
    assert report.smallest_class >= 6


def frequent(tmp_path: Path) -> Path:
    """Of 40 records 30 have one disease, so that some must go before half of them may; their notes differ."""
    rows = pl.int_range(40, eager=True)
    frame = pl.DataFrame(
        {"age": rows % 4, "disease": ["flu" if row < 30 else f"rare {row % 5}" for row in rows], "note": rows % 7}
    )
    return written(frame, tmp_path, "parquet")


@pytest.mark.parametrize("carried", [(), ("note",)], ids=["alone", "beside other columns"])
def test_mondrian_leaves_frequent_values_out(carried: tuple[str, ...], tmp_path: Path):
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["disease"], insensitive=carried, others="drop")
    models = [sf.KAnonymity(2), sf.ProbabilisticLDiversity(2)]
    policy = policy_of(schema, models, sf.Mondrian(), 0.6, "remove")
    path = frequent(tmp_path)
    one, two = releases(path, policy, tmp_path)
    if carried:
        # Which of the records that are alike go would be told by their notes.
        assert len(one) == 3
        assert refused(two)
        assert "leaving some records out" in two[1][0]
        return
    assert one == two
    assert sf.anonymize_on_disk(path, policy, tmp_path / "again").report.suppressed >= 20


def test_types_are_those_of_what_is_left(tmp_path: Path):
    """Only the records that go have a fraction; what stays are whole numbers to every reader."""
    rows = ["age,zip,wage", *(f"{30 + n % 2},a,{n % 3}" for n in range(12)), *(f"{90 + n},b{n},0.5" for n in range(5))]
    path = tmp_path / "in.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    schema = sf.Schema(quasi_identifying=["age", "zip"], sensitive=["wage"])
    policy = policy_of(schema, [sf.KAnonymity(5)], sf.Optimal(), 0.5, "remove")
    one, two = releases(path, policy, tmp_path)
    assert one == two
    assert b"0.5" not in one[0]
    assert b",0\n" in one[0]


def test_a_kind_that_hangs_on_who_is_left_out_is_asked_for(tmp_path: Path):
    rows = ["age,job", *(f"{30 + n % 2},{n % 3}" for n in range(24)), *(f"{90 + n},none{n}" for n in range(5))]
    path = tmp_path / "in.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    policy = policy_of(sf.Schema(quasi_identifying=["age", "job"]), [sf.KAnonymity(4)], sf.Optimal(), 0.5, "remove")
    one, two = releases(path, policy, tmp_path)
    assert one == two
    assert len(one) == 2
    assert "only by records that are left out" in one[1][0]
