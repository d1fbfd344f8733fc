"""The disk engine publishes what the memory engine does, to the byte under a seed, however small its pieces are."""

from __future__ import annotations

import dataclasses
import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from golden.made_tables import town
from golden.runs import ANONYMIZED
from guarantees.combinations import PUBLISHER_SETTINGS
from guarantees.tables import Drawn, tables
from sfumato.anonymizers import mondrian as mondrian
from sfumato.engines import disk
from sfumato.errors import SfumatoError
from sfumato.policy.parts import People
from sfumato.published.checks import parts as checks_in_parts
from sfumato.release import on_disk
from sfumato.release.on_disk import not_on_disk
from sfumato.table.large import batches, coding, memory

NAMES = ("release.json", "report.json", "report.txt", "policy.toml")
MODELS = [
    [sf.KAnonymity(2)],
    [sf.KAnonymity(3), sf.DistinctLDiversity(2)],
    [sf.KAnonymity(2), sf.EntropyLDiversity(1.3)],
    [sf.KAnonymity(2), sf.TCloseness(0.6)],
    [sf.KAnonymity(2), sf.BasicBetaLikeness(2.0)],
]
STRICT = {
    name: setting for name, setting in ANONYMIZED.items() if isinstance(setting, sf.Mondrian) and setting.order_free
}


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every batch, bucket and file holds a few records, and no table is too small to be cut on disk."""
    monkeypatch.setattr(batches, "BYTES", 90)
    monkeypatch.setattr(batches, "ROWS", 5)
    monkeypatch.setattr(coding, "HELD", 700)
    monkeypatch.setattr(disk, "BLOCK", 4)
    monkeypatch.setattr(disk, "BUCKET", 6)
    monkeypatch.setattr(checks_in_parts, "BLOCK", 4)
    monkeypatch.setattr(checks_in_parts, "SORTED_AT_ONCE", 6)
    for module in (mondrian, disk):
        monkeypatch.setattr(module, "MOST_RETRIED", 0)


@pytest.fixture
def pieces_of_a_town(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tables of hundreds of records: several pieces of everything, not hundreds."""
    monkeypatch.setattr(batches, "BYTES", 2000)
    monkeypatch.setattr(batches, "ROWS", 60)
    for module, name in ((disk, "BUCKET"), (checks_in_parts, "SORTED_AT_ONCE")):
        monkeypatch.setattr(module, "BLOCK", 60)
        monkeypatch.setattr(module, name, 60)


def policy_of(schema: sf.Schema, models: Any, anonymizer: Any = None, recoding: Any = None) -> sf.Policy:
    return sf.Policy.of(schema, models, anonymizer or sf.Mondrian(), recoding or sf.Recoding(), 0.0, 0, People())


def content(folder: Path) -> bytes:
    """The table of a release as one file."""
    if (folder / "data.csv").exists():
        return (folder / "data.csv").read_bytes()
    parts = [path.read_bytes() for path in sorted((folder / "data").iterdir())]
    header = parts[0].partition(b"\n")[0] + b"\n"
    return header + b"".join(part.removeprefix(header) for part in parts)


def releases(path: Path, policy: sf.Policy, out: Path) -> tuple[Any, Any]:
    """What both engines make of a file: bytes and losses, or problems."""

    def in_memory(folder: Path) -> Any:
        release = sf.anonymize(sf.read_table(path, policy), policy, seed=7, threads=1)
        release.save(folder)
        return release.report.losses

    def on_disk(folder: Path) -> Any:
        losses = sf.anonymize_on_disk(path, policy, folder, seed=7, threads=1).report.losses
        assert sf.verify(folder).ok
        return losses

    return made(in_memory, out / "memory"), made(on_disk, out / "disk")


def made(way: Any, folder: Path) -> Any:
    try:
        losses = way(folder)
    except SfumatoError as error:
        return type(error), error.problems
    return content(folder), losses, [(folder / name).read_bytes() for name in NAMES[2:]]


def written(frame: pl.DataFrame, folder: Path, ending: str) -> Path:
    path = folder / f"table.{ending}"
    frame.write_parquet(path) if ending == "parquet" else frame.write_csv(path)
    return path


@given(
    tables(sensitive=1), st.sampled_from(sorted(STRICT)), st.sampled_from(MODELS), st.sampled_from(["csv", "parquet"])
)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_strict_mondrian_cuts_alike(drawn: Drawn, setting: str, models: Any, ending: str):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = written(drawn.frame, folder, ending)
        schema = dataclasses.replace(drawn.schema, insensitive=("note",), others="drop")
        one, two = releases(path, policy_of(schema, models, STRICT[setting]), folder)
        assert one == two
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@given(tables(sensitive=1), st.sampled_from(sorted(ANONYMIZED)), st.sampled_from(["csv", "parquet"]))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_other_anonymizer_publishes_the_same(drawn: Drawn, setting: str, ending: str):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        schema = dataclasses.replace(drawn.schema, insensitive=(), others="drop")
        path = written(drawn.frame, folder, ending)
        one, two = releases(path, policy_of(schema, MODELS[0], ANONYMIZED[setting]), folder)
        if refused(two):
            return
        assert one == two


@pytest.mark.parametrize(
    "hierarchy",
    [sf.intervals(10), sf.groups({"some": ["1", "2"]}), sf.prefixes(1)],
    ids=["intervals", "groups", "prefixes"],
)
@pytest.mark.parametrize(
    "values",
    [[float("nan")] * 3, [1, 2, 30], ["1", "2", "x"], [1.0, 2.0, float("inf")]],
    ids=str,
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_a_hierarchy_refuses_is_said_alike(values: list[Any], hierarchy: Any, ending: str, tmp_path: Path):
    path = written(pl.DataFrame({"age": values, "sex": list("fmf")}), tmp_path, ending)
    one, two = releases(
        path, policy_of(sf.Schema(quasi_identifying={"age": hierarchy, "sex": None}), MODELS[0]), tmp_path
    )
    assert one == two


def refused(made: Any) -> bool:
    """Whether the disk engine said that it does not do this, and how else it is done."""
    return len(made) == 2 and any("--engine memory" in problem for problem in made[1])


TOWN_SCHEMA = sf.Schema(
    quasi_identifying=["age", "wage", "zip", "job"], sensitive=["disease"], insensitive=["born", "place"]
)  # fmt: skip


@pytest.fixture
def town_file(tmp_path: Path, pieces_of_a_town: None) -> Path:
    return written(town(3000), tmp_path, "parquet")


@pytest.mark.parametrize(
    "models", [MODELS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in MODELS[1:])], ids=str
)
@pytest.mark.parametrize("cut", ["median+fallback", pytest.param("anywhere", marks=pytest.mark.slow)])
def test_where_cuts_are_judged_on_a_sample(
    models: Any, cut: Any, town_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(batches, "ROWS", 400)
    monkeypatch.setattr(disk, "PART", 700)
    one, two = releases(town_file, policy_of(TOWN_SCHEMA, models, sf.Mondrian(split_rule=cut)), tmp_path)
    assert one == two
    assert len(list((tmp_path / "disk" / "data").iterdir())) == 5


@pytest.mark.slow
def test_order_is_random_without_a_seed(town_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batches, "ROWS", 400)
    monkeypatch.setattr(disk, "PART", 700)
    policy = policy_of(TOWN_SCHEMA, MODELS[0])
    made = [sf.anonymize_on_disk(town_file, policy, tmp_path / str(number)).folder for number in range(2)]
    one, two = (content(folder).splitlines() for folder in made)
    assert one != two
    assert sorted(one) == sorted(two)


def test_dealing_is_a_fair_shuffle(monkeypatch: pytest.MonkeyPatch):
    """Each of 4 records stands equally often in each place: 4 000 draws, five standard deviations."""
    monkeypatch.setattr(disk, "PART", 2)
    counts = np.zeros((4, 4), dtype=np.int64)
    for _ in range(4000):
        dealer = disk.Dealer(4, None)
        part, place = dealer.deal(slice(0, 4))
        order = [
            int(row)
            for number in range(2)
            for row in np.flatnonzero(part == number)[dealer.order(place[part == number])]
        ]
        counts[np.arange(4), order] += 1
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(4000 * 0.25 * 0.75)


class Killed(BaseException):
    pass


def test_spilled_files_are_private_and_go_with_the_run(
    town_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(batches, "ROWS", 400)
    seen: list[int] = []

    def stopped(what: str, done: int, total: int) -> None:
        for path in tmp_path.glob(".*.spill"):
            seen.append(stat.S_IMODE(path.stat().st_mode))
        if what == "writing":
            raise Killed

    with pytest.raises(Killed):
        sf.anonymize_on_disk(town_file, policy_of(TOWN_SCHEMA, MODELS[0]), tmp_path / "out", progress=stopped)
    assert set(seen) == {0o700}
    assert {path.name for path in tmp_path.iterdir()} == {town_file.name}


KILL = """
import os, signal, sys
import sfumato as sf
def kill(what, done, total):
    if what == "writing":
        os.kill(os.getpid(), signal.SIGKILL)
policy = sf.Policy.from_file(sys.argv[3])
sf.anonymize_on_disk(sys.argv[1], policy, sys.argv[2], progress=kill)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not locked there")
@pytest.mark.parametrize("since", ["nothing", "source", "policy"])
def test_the_next_run_goes_on_from_the_codes_of_a_killed_one(
    since: str, town_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    policy = policy_of(TOWN_SCHEMA, MODELS[1])
    policy.to_file(tmp_path / "policy.toml")
    policy = sf.Policy.from_file(tmp_path / "policy.toml")
    words = [town_file, tmp_path / "out", tmp_path / "policy.toml"]
    killed = subprocess.run([sys.executable, "-c", KILL, *words], env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.glob(".*.spill")
    assert any(left.iterdir())
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    if since == "source":
        os.utime(town_file)
    elif since == "policy":
        policy = policy_of(dataclasses.replace(TOWN_SCHEMA, sensitive=(), insensitive=(), others="drop"), MODELS[0])
    read = on_disk.coded_table
    often: list[object] = []
    monkeypatch.setattr(on_disk, "coded_table", lambda *told: often.append(told) or read(*told))
    sf.anonymize_on_disk(town_file, policy, tmp_path / "out", seed=3)
    assert len(often) == (since != "nothing")
    assert {path.name for path in tmp_path.iterdir()} == {town_file.name, "out", "policy.toml"}
    sf.anonymize(sf.read_table(town_file, policy), policy, seed=3).save(tmp_path / "memory")
    assert content(tmp_path / "out") == content(tmp_path / "memory")


FULL = """
import resource, sys
import sfumato as sf
from sfumato.policy.parts import People
schema = sf.Schema(quasi_identifying=["age", "zip"], others="drop")
policy = sf.Policy.of(schema, [sf.KAnonymity(5)], sf.Mondrian(), sf.Recoding(), 0.0, 0, People())
make = sf.anonymize_on_disk
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    make(sys.argv[1], policy, sys.argv[2])
except sf.InputError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limits there")
def test_a_full_disk_is_one_sentence_and_leaves_nothing(town_file: Path, tmp_path: Path):
    words = [sys.executable, "-c", FULL, town_file, tmp_path / "out"]
    said = subprocess.run(words, env=os.environ, check=True, capture_output=True, text=True).stdout
    assert "what does not fit into memory cannot be written there" in said
    assert {path.name for path in tmp_path.iterdir()} == {town_file.name}


FILLED = [
    (disk, "_deal"),
    (memory.PartFiles, "flush"),
    (checks_in_parts, "_dealt"),
    # Writing to a mapped file for which there is no room would end the program.
    (os, "posix_fallocate"),
]


@pytest.mark.parametrize(("home", "name"), FILLED, ids=[name for _, name in FILLED])
def test_a_disk_that_fills_up_later_leaves_nothing_either(
    home: Any, name: str, town_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*arguments: object) -> None:
        # Polars has the number of the error in its text alone.
        of_polars = OSError("No space left on device (os error 28)")
        raise of_polars if home is memory.PartFiles else OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(batches, "ROWS", 400)
    monkeypatch.setattr(home, name, full)
    with pytest.raises(sf.InputError, match="No space left on device"):
        sf.anonymize_on_disk(town_file, policy_of(TOWN_SCHEMA, MODELS[0]), tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {town_file.name}


def test_a_file_that_changes_is_refused(town_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batches, "ROWS", 400)

    def changing(what: str, done: int, total: int) -> None:
        if what == "writing codes":
            town(2900).write_parquet(town_file)

    with pytest.raises(sf.InputError, match="changed while it was read"):
        sf.anonymize_on_disk(town_file, policy_of(TOWN_SCHEMA, MODELS[0]), tmp_path / "out", progress=changing)
    assert not (tmp_path / "out").exists()


REFUSED = {
    "wishes": {
        "columns": {"quasi-identifying": ["age"], "wished-k": "id", "insensitive": ["job"]},
        "models": [{"name": "k-anonymity", "k": 2}],
    },
    "refine": {"columns": {"quasi-identifying": ["age"]}, "models": [{"name": "k-anonymity", "k": 2}], "refine": 5},
    "values": {"columns": {"quasi-identifying": ["age"]}, "models": [{"name": "subset-k-anonymity", "k": 2, "m": 1}]},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_the_disk_engine_does_not_do_is_said(reason: str, town_file: Path, tmp_path: Path):
    policy = sf.Policy.from_mapping(REFUSED[reason])
    with pytest.raises(sf.PolicyError, match="--engine memory"):
        sf.anonymize_on_disk(town_file, policy, tmp_path / "out")


@pytest.mark.parametrize("setting", PUBLISHER_SETTINGS)
def test_publishers_are_refused_unless_they_deal(setting: str):
    publisher = PUBLISHER_SETTINGS[setting]
    models = [] if not publisher.promises else [sf.ProbabilisticLDiversity(1.2)]
    dealt = isinstance(publisher, sf.Bucketization | sf.Slicing)
    assert bool(not_on_disk(policy_of(TOWN_SCHEMA, models, publisher))) is not dealt


def test_a_budget_that_values_do_not_fit_into(town_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(coding, "WATCHED", 1)
    monkeypatch.setattr("sfumato.release.on_disk.allowed_memory", lambda text: 16)
    with pytest.raises(sf.InputError, match="too many different values"):
        sf.anonymize_on_disk(town_file, policy_of(TOWN_SCHEMA, MODELS[0]), tmp_path / "out")


@pytest.fixture
def in_parts(town_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for module, name in ((batches, "ROWS"), (disk, "BLOCK"), (disk, "BUCKET"), (checks_in_parts, "BLOCK")):
        monkeypatch.setattr(module, name, 400)
    monkeypatch.setattr(batches, "BYTES", 1 << 14)
    monkeypatch.setattr(disk, "PART", 700)
    monkeypatch.setattr(checks_in_parts, "SORTED_AT_ONCE", 1000)
    sf.anonymize_on_disk(town_file, policy_of(TOWN_SCHEMA, MODELS[1]), tmp_path / "parts", seed=1)
    return tmp_path / "parts"


def test_parts_recount_as_the_whole(in_parts: Path):
    from sfumato.release.verify import open_folder

    streamed = sf.verify(in_parts)
    opened = open_folder(in_parts)
    whole, checks = opened.read()
    from sfumato.published.checks.recount import recount
    from sfumato.release.description import described_models

    counted = recount(whole, described_models(opened.description), opened.description.attributes())
    assert streamed.ok
    assert streamed.checks[: len(checks) + len(counted.checks)] == (*checks, *counted.checks)
    assert (streamed.records, streamed.classes, streamed.roles) == (counted.records, counted.classes, counted.roles)


def tampered(folder: Path, way: str) -> None:
    parts = sorted((folder / "data").iterdir())
    if way == "changed":
        parts[1].write_bytes(parts[1].read_bytes().replace(b"1", b"2", 1))
    elif way == "missing":
        parts[2].unlink()
    elif way == "doubled":
        (folder / "data" / "part-00009.csv").write_bytes(parts[0].read_bytes())
    elif way == "exchanged":
        one, two = parts[0].read_bytes(), parts[1].read_bytes()
        parts[0].write_bytes(two)
        parts[1].write_bytes(one)
    elif way == "linked":
        parts[0].rename(folder.parent / "elsewhere.csv")
        parts[0].symlink_to(folder.parent / "elsewhere.csv")
    else:
        (folder / "data").rename(folder.parent / "elsewhere")
        (folder / "data").symlink_to(folder.parent / "elsewhere")


@pytest.mark.parametrize("way", ["changed", "missing", "doubled", "exchanged", "linked", "linked folder"])
def test_tampering_with_parts_is_found(in_parts: Path, way: str):
    tampered(in_parts, way)
    if way == "missing":
        with pytest.raises(sf.VerificationError, match=r"part-00002\.csv"):
            sf.verify(in_parts)
    else:
        assert not sf.verify(in_parts).ok


@pytest.mark.parametrize("file", ["../part.csv", "data/../part.csv", "data/a/b.csv", "data/", "other/part-00001.csv"])
def test_parts_lead_nowhere_else(in_parts: Path, file: str):
    mark = in_parts / "release.json"
    mark.write_text(mark.read_text().replace("data/part-00001.csv", file))
    with pytest.raises(sf.VerificationError, match="damaged"):
        sf.verify(in_parts)


@pytest.mark.parametrize("missing", [False, True], ids=["all", "some missing"])
def test_class_means_have_the_types_of_memory(missing: bool, tmp_path: Path) -> None:
    """In Parquet, where a column of numbers with a ``*`` is text in both."""
    rng = np.random.default_rng(3)
    ages = [None if missing and place % 40 == 0 else int(age) for place, age in enumerate(rng.integers(18, 90, 120))]
    days = pl.Series(rng.integers(0, 9000, 120).astype(np.int32)).cast(pl.Date)
    frame = pl.DataFrame(
        {"age": ages, "height": rng.normal(170, 9, 120).round(1), "born": days, "ward": ["a", "b"] * 60}
    )
    frame.write_parquet(tmp_path / "people.parquet")
    policy = sf.Policy.from_mapping(
        {
            "columns": {"quasi-identifying": ["age", "height", "born"], "sensitive": ["ward"]},
            "models": [{"name": "k-anonymity", "k": 5}],
            "recoding": {"numeric": "mean"},
            "output": {"format": "parquet"},
        }
    )
    table = sf.read_table(tmp_path / "people.parquet", policy)
    sf.anonymize(table, policy, seed=1).save(tmp_path / "memory", format="parquet")
    sf.anonymize_on_disk(tmp_path / "people.parquet", policy, tmp_path / "disk", seed=1)
    found = sorted(path.name for path in (tmp_path / "memory").iterdir())
    assert found == sorted(path.name for path in (tmp_path / "disk").iterdir())
    for name in found:
        assert (tmp_path / "memory" / name).read_bytes() == (tmp_path / "disk" / name).read_bytes()
    written = pl.read_parquet(tmp_path / "disk" / "data.parquet").schema
    assert written["height"] == pl.Float64
    assert written["born"] == pl.Date
    assert (written["age"] == pl.String) is missing
