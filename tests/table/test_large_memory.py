"""Sizes of memory: how they are written, and what a file would take."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.table.large import memory
from sfumato.table.large.memory import LEAST, estimated_need, free_memory, memory_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4 * 10**9),
        (" 1.5 gb ", 1_500_000_000),
        ("2GiB", 2 << 30),
        ("512MiB", 512 << 20),
        ("300000000", 3 * 10**8),
    ],
)
def test_sizes(text: str, size: int):
    assert memory_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "4 apples", "-4GB", "1e9", "4GBs", "nan"])
def test_what_is_no_size(text: str):
    with pytest.raises(sf.PolicyError, match="must be a size such as 4GB"):
        memory_size(text)


def test_less_than_any_run_takes():
    with pytest.raises(sf.PolicyError, match="at least 256MiB"):
        memory_size("100MB")


def test_estimates_grow_with_the_table_however_well_it_is_packed(tmp_path: Path):
    for rows in (1_000, 2_000):
        frame = pl.DataFrame({"a": [1] * rows, "b": ["same"] * rows})
        frame.write_parquet(tmp_path / f"{rows}.parquet")
        frame.write_csv(tmp_path / f"{rows}.csv")
    for ending in ("parquet", "csv"):
        one, two = (estimated_need([tmp_path / f"{rows}.{ending}"]) - LEAST for rows in (1_000, 2_000))
        assert 0 < one < two
    assert estimated_need([tmp_path / "2000.parquet"]) - LEAST == 2 * (
        estimated_need([tmp_path / "1000.parquet"]) - LEAST
    )


def test_free_memory_is_some():
    free = free_memory()
    assert free is None or free > 0


GROUPS = {
    "second version": ("0::/run.scope", "run.scope", "memory.max", "memory.current"),
    "second version, from inside": ("0::/", "", "memory.max", "memory.current"),
    "first version": (
        "9:cpu:/other\n8:memory:/run",
        "memory/run",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
    ),
    "first version, from inside": (
        "8:memory:/not/here",
        "memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
    ),
}


@pytest.mark.parametrize("case", GROUPS)
@pytest.mark.parametrize(
    ("limit", "stat", "left"), [("1000", "inactive_file 300\n", 600), ("1000", "", 300), ("max", "", None)]
)
def test_what_a_control_group_has_left(
    case: str, limit: str, stat: str, left: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of 1000 bytes 700 are used; files that were only read are given back."""
    said, folder, most, used = GROUPS[case]
    place = tmp_path / "groups" / folder
    place.mkdir(parents=True)
    (place / most).write_text(limit if case.startswith("second") or limit != "max" else str(2**63 - 4096))
    (place / used).write_text("700")
    (place / "memory.stat").write_text(stat)
    (tmp_path / "own").write_text(said + "\n")
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
    assert memory._group() == left


def test_the_tightest_of_all_groups_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for folder, limit in ((tmp_path / "a", "5000"), (tmp_path / "a" / "b", "9000")):
        folder.mkdir()
        for name, text in (("memory.max", limit), ("memory.current", "1000"), ("memory.stat", "")):
            (folder / name).write_text(text)
    (tmp_path / "own").write_text("0::/a/b\n")
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    assert memory._group() == 4000


def test_without_groups_nobody_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "none")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "nothing")
    assert memory._group() is None
