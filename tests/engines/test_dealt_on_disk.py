"""Bucketization and slicing past memory: the bytes of memory under a seed, and as fair without one."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from engines.test_disk import TOWN_SCHEMA, policy_of, written
from golden.made_tables import town
from guarantees.combinations import PUBLISHER_SETTINGS
from guarantees.tables import Drawn, tables
from sfumato.anonymizers.dealt import Deals
from sfumato.anonymizers.protocol import Problem, silent
from sfumato.engines import disk
from sfumato.errors import SfumatoError
from sfumato.published.checks import parts as checks_in_parts
from sfumato.release.on_disk import DealingTask, not_on_disk
from sfumato.table.large import batches, coding, memory
from sfumato.table.large.batches import opened_file
from sfumato.table.large.coding import coded_table

DEALS = {
    **{name: each for name, each in PUBLISHER_SETTINGS.items() if isinstance(each, Deals) and not not_on_disk(
        policy_of(TOWN_SCHEMA, [sf.ProbabilisticLDiversity(1.2)], each)
    )},
    "of two": sf.Bucketization(),
    "columns of three": sf.Slicing(column_k=3, columns=2, bucket_size="smallest"),
}  # fmt: skip
MODELS = [
    [sf.ProbabilisticLDiversity(1.2)],
    [sf.ProbabilisticLDiversity(2.0)],
    [sf.TCloseness(0.5)],
    [sf.ProbabilisticLDiversity(1.5), sf.TCloseness(0.8)],
    [sf.DistinctLDiversity(2)],
]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every batch, part and file holds a few records."""
    monkeypatch.setattr(batches, "BYTES", 90)
    monkeypatch.setattr(batches, "ROWS", 5)
    monkeypatch.setattr(coding, "HELD", 700)
    monkeypatch.setattr(memory, "HELD", 200)
    monkeypatch.setattr(memory, "HELD_FOR_A_PART", 20)
    monkeypatch.setattr(checks_in_parts, "BLOCK", 4)
    monkeypatch.setattr(checks_in_parts, "SORTED_AT_ONCE", 6)


def files_of(folder: Path) -> dict[str, bytes]:
    """The tables and texts of a release, a table in parts as one file; but for ``release.json``, which hashes them."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            parts = [part.read_bytes() for part in sorted(path.iterdir())]
            header = parts[0].partition(b"\n")[0] + b"\n"
            found[f"{path.name}.csv"] = header + b"".join(part.removeprefix(header) for part in parts)
        else:
            found[path.name] = path.read_bytes()
    del found["release.json"]
    return found


def released(way: Any, folder: Path) -> Any:
    """What comes of a way: the files, figures and notes; or what is refused."""
    try:
        release = way(folder)
    except SfumatoError as error:
        # What is wrong with a column is said with the name of the file where it is found while reading.
        return type(error), [problem.removeprefix("table.csv: ") for problem in error.problems]
    assert sf.verify(folder).ok
    return files_of(folder), dict(release.report.figures), release.report.notes


def both(path: Path, policy: sf.Policy, out: Path, seed: int = 7) -> tuple[Any, Any]:
    def in_memory(folder: Path) -> Any:
        release = sf.anonymize(sf.read_table(path, policy), policy, seed=seed, threads=1)
        release.save(folder)
        return release

    def on_disk(folder: Path) -> Any:
        return sf.anonymize_on_disk(path, policy, folder, seed=seed, threads=1)

    return released(in_memory, out / "memory"), released(on_disk, out / "disk")


@given(
    tables(sensitive=1),
    st.sampled_from(sorted(DEALS)),
    st.sampled_from(MODELS),
    st.sampled_from(["csv", "parquet"]),
    st.sampled_from([3, 500_000]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_release_is_that_of_memory(drawn: Drawn, setting: str, models: Any, ending: str, part: int):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "PART", part)
        folder = Path(name)
        carried = ("note",) if isinstance(DEALS[setting], sf.Bucketization) else ()
        # Of a column that may be a key this engine says that it was not compared.
        path = written(drawn.frame.drop("id", *({"note"} - {*carried})), folder, ending)
        schema = dataclasses.replace(drawn.schema, identifying=(), insensitive=carried, others="drop")
        one, two = both(path, policy_of(schema, models, DEALS[setting]), folder)
        assert one == two
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]


SCHEMA = sf.Schema(quasi_identifying=["age", "zip", "job"], sensitive=["disease"], others="drop")
WAYS: dict[str, Any] = {"buckets": sf.Bucketization(members="random"), "slices": sf.Slicing()}


@pytest.fixture
def in_parts(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release whose tables all lie in parts."""
    for module, name in ((batches, "ROWS"), (checks_in_parts, "BLOCK")):
        monkeypatch.setattr(module, name, 200)
    monkeypatch.setattr(batches, "BYTES", 1 << 12)
    monkeypatch.setattr(checks_in_parts, "SORTED_AT_ONCE", 300)
    monkeypatch.setattr(disk, "PART", 170)
    town(400).write_csv(tmp_path / "town.csv")
    way = WAYS[request.node.callspec.params["way"]]
    policy = policy_of(SCHEMA, [sf.ProbabilisticLDiversity(2), sf.TCloseness(0.9)], way)
    sf.anonymize_on_disk(tmp_path / "town.csv", policy, tmp_path / "parts")
    return tmp_path / "parts"


BOTH_WAYS = pytest.mark.parametrize("way", WAYS)


@BOTH_WAYS
def test_parts_recount_as_the_whole(way: str, in_parts: Path) -> None:
    mark = json.loads((in_parts / "release.json").read_text())
    assert mark["format"] == 4
    assert all(len(entry["files"]) > 1 for entry in mark["tables"].values())
    streamed, whole = sf.verify(in_parts), sf.verify(in_parts, engine="memory")
    assert streamed.ok
    assert streamed == whole


@pytest.mark.parametrize("way", WAYS)
def test_parquet_has_the_types_of_memory(way: str, tmp_path: Path) -> None:
    path = written(town(50), tmp_path, "parquet")
    policy = policy_of(SCHEMA, [sf.ProbabilisticLDiversity(1.5)], WAYS[way])
    policy = policy.model_copy(update={"output": policy.output.model_copy(update={"format": "parquet"})})
    sf.anonymize(sf.read_table(path, policy), policy, seed=2).save(tmp_path / "memory", format="parquet")
    sf.anonymize_on_disk(path, policy, tmp_path / "disk", seed=2)
    found = sorted((tmp_path / "memory").glob("*.parquet"))
    assert len(found) == (2 if way == "buckets" else 1)
    for table in found:
        assert pl.read_parquet(table).equals(pl.read_parquet(tmp_path / "disk" / table.name), null_equal=True)
        assert pl.read_parquet_schema(table) == pl.read_parquet_schema(tmp_path / "disk" / table.name)
    assert sf.verify(tmp_path / "disk").ok


def signed(folder: Path, path: Path, text: str) -> None:
    """Change a part, and what the release says of it."""
    mark = json.loads((folder / "release.json").read_text())
    path.write_text(text)
    for entry in mark["tables"].values():
        for part in entry["files"]:
            if folder / part["file"] == path:
                part["sha256"] = sha256(path.read_bytes()).hexdigest()
        entry["root"] = sha256("".join(sorted(part["sha256"] for part in entry["files"])).encode()).hexdigest()
    (folder / "release.json").write_text(json.dumps(mark))


def lines_of(folder: Path, way: str) -> tuple[Path, list[list[str]]]:
    """The first part of the table that has the sensitive column."""
    path = folder / ("data" if way == "slices" else "sensitive") / "part-00000.csv"
    return path, [line.split(",") for line in path.read_text().splitlines()]


@BOTH_WAYS
def test_a_value_too_frequent_is_found(way: str, in_parts: Path) -> None:
    """Whoever signs anew what breaks a model is told so, in the words of the whole table."""
    path, rows = lines_of(in_parts, way)
    place = rows[0].index("disease")
    for row in rows[1:]:
        row[place] = rows[1][place]
    signed(in_parts, path, "\n".join(map(",".join, rows)) + "\n")
    streamed, whole = sf.verify(in_parts), sf.verify(in_parts, engine="memory")
    assert not streamed.ok
    assert streamed == whole
    assert any("break" in check.detail or "broken" in check.detail for check in streamed.checks)


@pytest.mark.parametrize("way", ["buckets"])
@pytest.mark.parametrize("count", ["2", "0", "-1", "", "1.5", "many", "9999999999999999999999"])
def test_counts_of_other_records_are_refused(way: str, count: str, in_parts: Path) -> None:
    path, rows = lines_of(in_parts, way)
    assert rows[1][2] != count
    rows[1][2] = count
    signed(in_parts, path, "\n".join(map(",".join, rows)) + "\n")
    for engine in ("auto", "memory"):
        with pytest.raises(sf.VerificationError) as caught:
            sf.verify(in_parts, engine=engine)
        assert "many" not in str(caught.value)


@BOTH_WAYS
@pytest.mark.parametrize("bucket", ["", "1.5", "first", "77777"])
def test_rows_of_other_buckets_are_refused(way: str, bucket: str, in_parts: Path) -> None:
    path, rows = lines_of(in_parts, way)
    rows[1][rows[0].index("bucket")] = bucket
    signed(in_parts, path, "\n".join(map(",".join, rows)) + "\n")
    if way == "slices" and bucket == "77777":
        assert not sf.verify(in_parts).ok
    else:
        with pytest.raises(sf.VerificationError):
            sf.verify(in_parts)


@BOTH_WAYS
@pytest.mark.parametrize("harm", ["changed", "missing", "doubled", "fewer rows"])
def test_other_files_than_were_written(way: str, harm: str, in_parts: Path) -> None:
    path, rows = lines_of(in_parts, way)
    if harm == "missing":
        path.unlink()
        with pytest.raises(sf.VerificationError, match=r"part-00000\.csv"):
            sf.verify(in_parts)
        return
    if harm == "changed":
        path.write_text(path.read_text() + ",".join(rows[-1]) + "\n")
    elif harm == "doubled":
        (path.parent / "part-00099.csv").write_bytes(path.read_bytes())
    else:
        mark = in_parts / "release.json"
        content = json.loads(mark.read_text())
        for entry in content["tables"].values():
            entry["files"][0]["rows"] -= 1
            entry["rows"] -= 1
        mark.write_text(json.dumps(content))
    try:
        assert not sf.verify(in_parts).ok
    except sf.VerificationError:
        assert harm == "changed"


@BOTH_WAYS
@pytest.mark.parametrize("structure", [{}, {"columns": "x"}, {"quasi_identifying": ["age"], "sensitive": "disease"}])
def test_a_damaged_structure_is_said(way: str, structure: dict[str, Any], in_parts: Path) -> None:
    mark = in_parts / "release.json"
    content = json.loads(mark.read_text())
    mark.write_text(json.dumps({**content, "structure": structure}))
    with pytest.raises(sf.VerificationError):
        sf.verify(in_parts)


def test_insensitive_columns_are_sliced_without_a_seed(tmp_path: Path) -> None:
    """They keep their values, in a column of their own; under a seed they would settle ties."""
    frame = town(60)
    path = written(frame, tmp_path, "parquet")
    schema = dataclasses.replace(SCHEMA, insensitive=("born", "place"))
    policy = policy_of(schema, [sf.ProbabilisticLDiversity(2)], sf.Slicing())
    with pytest.raises(sf.PolicyError, match="leave the seed or those columns out"):
        sf.anonymize_on_disk(path, policy, tmp_path / "refused", seed=1)
    assert not (tmp_path / "refused").exists()
    sf.anonymize_on_disk(path, policy, tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    published = pl.read_csv(tmp_path / "out" / "data.csv", infer_schema=False)
    for columns in (["born", "place"], ["disease"]):
        expected = frame.select(pl.col(columns).cast(pl.String)).rows()
        assert Counter(published.select(columns).rows()) == Counter(expected)


@pytest.mark.parametrize("members", ["dealt", "random"])
def test_everybody_is_dealt_fairly_without_a_seed(
    members: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records are not put in order first: who shares a bucket, and who comes first, are drawn all the same.

    Each of three others of the opposite value is the first one's partner as often as any (a third of 300 runs, five
    standard deviations), and each place is as likely.
    """
    frame = pl.DataFrame({"who": list("abcdef"), "ill": ["x", "x", "x", "y", "y", "y"]})
    schema = sf.Schema(quasi_identifying=["who"], sensitive=["ill"])
    policy = policy_of(schema, [sf.ProbabilisticLDiversity(2)], sf.Bucketization(members=members))
    monkeypatch.setattr(disk, "PART", 4)
    large = coded(frame, policy, tmp_path)
    partners, places = Counter[str](), Counter[int]()
    for number in range(300):
        folder = tmp_path / str(number)
        folder.mkdir()
        problem = Problem(large.encoded, policy.to_models(), 0, None, 1, silent)
        solved = DealingTask(policy.to_anonymizer(), policy, problem, large, folder).solved()
        parts = solved.parts["quasi_identifying"]
        rows = pl.concat([parts.columns.frame(numbers) for numbers in parts.numbers()])
        (own,) = rows.filter(pl.col("who") == "a")["bucket"]
        others = rows.filter((pl.col("bucket") == own) & (pl.col("who") > "c"))["who"].to_list()
        partners.update(others[:1] if members == "random" else others)
        places[rows["who"].to_list().index("a")] += 1
    expected = sum(partners.values()) / 3
    assert all(abs(partners[who] - expected) < 5 * (expected * 2 / 3) ** 0.5 for who in "def")
    assert all(abs(places[place] - 50) < 5 * (50 * 5 / 6) ** 0.5 for place in range(6))


def coded(frame: pl.DataFrame, policy: sf.Policy, folder: Path) -> Any:
    """A table on disk, as the engine reads it."""
    (folder / "codes").mkdir()
    source = opened_file(written(frame, folder, "parquet"), policy)
    return coded_table(
        source.source, coding.Coding(source.schema, source.names, source.reading, folder / "codes", 1 << 20)
    )
