"""What a release could give away beside its values: order, seed, paths, times, values that are not published."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import sfumato as sf
import sfumato.anonymizers.mondrian as module

SEED = 918_273_645
ROWS = 4000


def people(rows: int = ROWS) -> pl.DataFrame:
    draw = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": draw.integers(18, 80, rows),
            "wage": np.round(draw.lognormal(8, 1, rows), 1),
            "zip": [f"{number:05}" for number in draw.choice([12345, 12399, 54321, 54399, 99999], rows)],
            "job": draw.choice(["cook", "clerk", "nurse", "smith"], rows, p=[0.7, 0.2, 0.07, 0.03]),
            "disease": draw.choice(["flu", "cold", "gout"], rows),
            "place": np.arange(rows),
        }
    )


SCHEMA = sf.Schema(
    identifying=["name"],
    quasi_identifying={"age": None, "wage": None, "zip": sf.prefixes(3), "job": None},
    sensitive=["disease"],
    insensitive=["place"],
)
MODELS = [sf.KAnonymity(5), sf.DistinctLDiversity(2)]


def released(frame: pl.DataFrame, **settings: Any) -> sf.Release:
    return sf.anonymize(sf.read_table(frame, SCHEMA), MODELS, **settings)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return people()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_same_seed_same_folder_at_any_time_on_any_number_of_threads(frame, format, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SMALLEST_TASK", 100)
    folders = []
    for number, threads in enumerate([1, 1, 2, 4]):
        release = released(frame, seed=SEED, threads=threads)
        folders.append(content(release.save(tmp_path / str(number), format=format)))
        time.sleep(0.02)
    assert folders[0] == folders[1] == folders[2] == folders[3]


def test_the_setting_of_the_environment_changes_nothing_either(frame, monkeypatch):
    monkeypatch.setenv("SFUMATO_THREADS", "1")
    one = released(frame, seed=SEED)
    monkeypatch.setenv("SFUMATO_THREADS", "3")
    assert released(frame, seed=SEED).data.equals(one.data)


def rank_correlation(order: np.ndarray) -> float:
    return float(np.corrcoef(np.arange(len(order)), order)[0, 1])


def test_the_published_order_tells_nothing_of_the_input_order(frame):
    bound = 6 / np.sqrt(ROWS)  # six standard deviations
    release = released(frame)
    places = release.data["place"].to_numpy()
    assert sorted(places.tolist()) == list(range(ROWS))
    assert abs(rank_correlation(places)) < bound
    # Nor do neighbours: a shuffle in blocks or runs would show here.
    assert abs(float(np.corrcoef(places[:-1], places[1:])[0, 1])) < bound
    for column in ("age", "job"):
        numbered = release.data[column].cast(pl.String).rank("dense").to_numpy()
        assert abs(float(np.corrcoef(np.arange(ROWS), numbered)[0, 1])) < bound


def test_without_a_seed_every_run_has_an_order_of_its_own(frame):
    orders = [tuple(released(frame).data["place"].to_list()) for _ in range(3)]
    assert len(set(orders)) == 3


def test_an_order_within_a_class_tells_nothing_either():
    rows = 3000
    frame = pl.DataFrame({"age": [30] * rows, "place": range(rows)})
    schema = sf.Schema(quasi_identifying=["age"], insensitive=["place"])
    release = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(5))
    assert abs(rank_correlation(release.data["place"].to_numpy())) < 6 / np.sqrt(rows)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_no_seed_no_path_no_time_no_user(frame, format, tmp_path):
    source = tmp_path / "hidden-source-folder" / "hidden-input-name.csv"
    source.parent.mkdir()
    frame.write_csv(source)
    table = sf.read_table(source, SCHEMA)
    release = sf.anonymize(table, MODELS, seed=SEED, threads=2)
    folder = release.save(tmp_path / "target-name", format=format)
    today = time.strftime("%Y-%m-%d")
    forbidden = [
        str(SEED),
        "seed ",
        'seed"',
        "hidden",
        "target-name",
        str(tmp_path),
        today,
        os.environ.get("HOME") or "hidden",
    ]
    for name, data in content(folder).items():
        for word in forbidden:
            if name == "data.csv" and word.startswith("seed"):
                continue
            assert word.encode() not in data, (name, word)
        assert b"person" not in data
    assert "threads" not in (folder / "policy.toml").read_text()


def rare(rows: int = 200) -> tuple[pl.DataFrame, list[sf.KAnonymity | sf.ProbabilisticLDiversity]]:
    """A table that can only meet the models by leaving records out; every record has a job of its own."""
    common = rows // 2 + 8
    frame = pl.DataFrame(
        {
            "age": [20 + i % 20 for i in range(rows + 8)],
            "job": [f"lonely{i}x" for i in range(rows + 8)],
            "disease": ["common"] * common + ["rare", "other"] * (rows // 4),
        }
    )
    return frame, [sf.KAnonymity(3), sf.ProbabilisticLDiversity(2)]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_values_of_records_that_were_left_out_are_in_no_file(tmp_path, format):
    frame, models = rare()
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["disease"], insensitive=["job"])
    table = sf.read_table(frame.with_columns(pl.col("job").cast(pl.Categorical)), schema)
    release = sf.anonymize(table, models, suppression_limit=0.1, seed=5)
    assert release.report.suppressed >= 3
    published = set(release.data["job"].cast(pl.String))
    gone = set(frame["job"]) - published
    assert len(gone) == release.report.suppressed
    folder = release.save(tmp_path / "out", format=format)
    for name, data in content(folder).items():
        assert not [word for word in gone if word.encode() in data and name != "data.parquet"], name
    assert set(release.data["job"].dtype.categories) == published
    assert set(release.data["disease"].dtype.categories) == set(release.data["disease"].cast(pl.String))
    if format == "parquet":
        check_parquet(folder / "data.parquet", release.data)


def check_parquet(path: Path, data: pl.DataFrame) -> None:
    """No dictionary, statistic or note in the file says more than the values in it."""
    file = pq.ParquetFile(path)
    assert b"pandas" not in (file.metadata.metadata or {})
    everything = str(file.metadata) + str(file.schema) + str(file.metadata.metadata) + str(file.schema_arrow.metadata)
    assert "Categor" not in everything
    encoded = pq.read_table(path, read_dictionary=data.columns)
    for name in data.columns:
        if data[name].dtype.is_numeric():
            continue
        entries = {word for chunk in encoded[name].chunks for word in chunk.dictionary.to_pylist()}
        assert entries <= {None, *data[name].cast(pl.String)}, name
        for group in range(file.metadata.num_row_groups):
            found = file.metadata.row_group(group).column(data.columns.index(name)).statistics
            assert found is None or {found.min, found.max} <= set(data[name].cast(pl.String))


def test_the_labels_of_a_release_in_memory_are_those_that_it_publishes(frame):
    release = released(frame.head(300), anonymizer=sf.Mondrian())
    for column in release.data:
        if isinstance(column.dtype, pl.Enum):
            assert set(column.dtype.categories) == set(column.drop_nulls().cast(pl.String))
            assert list(column.dtype.categories) == sorted(column.dtype.categories)


def test_a_published_hierarchy_has_the_published_values_alone(tmp_path):
    tree = sf.groups(
        {"acute": ["flu", "cold", "plague-unseen"], "chronic": ["gout", "ebola-unseen"], "x-unseen": ["y"]}
    )
    frame = people(200)
    schema = sf.Schema(
        identifying=["name"], quasi_identifying=["age"], sensitive={"disease": tree}, others="drop", insensitive=[]
    )
    release = sf.anonymize(sf.read_table(frame, schema), [sf.KAnonymity(5), sf.TCloseness(0.8)])
    folder = release.save(tmp_path / "out")
    assert sf.verify(folder).ok
    assert not [name for name, data in content(folder).items() if b"unseen" in data]


def test_a_hierarchy_of_which_no_value_is_published_is_not_described(tmp_path):
    tree = sf.groups({"acute": ["flu", "cold"], "chronic": ["gout"]})
    frame = pl.DataFrame({"age": [30, 30], "disease": pl.Series([None, None], dtype=pl.String)})
    schema = sf.Schema(quasi_identifying=["age"], sensitive={"disease": tree})
    folder = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(2)).save(tmp_path / "out")
    assert sf.verify(folder).ok
    assert "hierarchy" not in json.loads((folder / "release.json").read_text())["sensitive"]["disease"]


def test_with_suppression_the_losses_of_a_folder_are_too_coarse_to_reckon_back(tmp_path):
    frame, models = rare()
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["disease"], others="drop")
    release = sf.anonymize(sf.read_table(frame, schema), models, suppression_limit=0.1, seed=5)
    assert release.report.suppressed
    losses = json.loads((release.save(tmp_path / "out") / "report.json").read_text())["losses"]
    flat = [part for value in losses.values() for part in (value.values() if isinstance(value, dict) else [value])]
    for value in (value for value in flat if isinstance(value, float)):
        assert value == float(f"{value:.2g}")


def test_a_saved_report_is_the_same_whatever_a_class_hides(tmp_path):
    """Somebody who knows every record but one learns nothing about it from the figures of the report."""
    ages = list(range(20, 60, 2))
    seen = set()
    # 27, 29, 31 lie inside the interval of their class and change no border.
    for hidden in (27, 29, 31):
        frame = pl.DataFrame({"age": [*ages, hidden], "sex": ["f", "m"] * 10 + ["f"]})
        table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex"]))
        release = sf.anonymize(table, sf.KAnonymity(10), anonymizer=sf.Mondrian(attribute_choice="widest"), seed=1)
        folder = release.save(tmp_path / str(hidden))
        published = sorted(release.data["age"].cast(pl.String).to_list())
        seen.add((tuple(published), (folder / "report.json").read_text(), (folder / "report.txt").read_text()))
    assert len(seen) == 1
