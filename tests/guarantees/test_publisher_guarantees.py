"""Every publisher × the models that it promises × every kind of table: a release that holds, or the right error."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from guarantees import recount
from guarantees.combinations import PUBLISHER_SETTINGS, described, models
from guarantees.tables import Drawn, tables
from sfumato.anonymizers import PUBLISHERS, Publisher
from sfumato.models import MODELS, promisable
from sfumato.models.protocol import PrivacyModel
from sfumato.published import KINDS
from sfumato.published.checks.generalized import Outcome
from sfumato.release.table_files import AGREES, WRITTEN

REFUSES: Mapping[str, Callable[[Drawn], bool]] = {"bucketization": lambda drawn: len(drawn.sensitive) != 1}
"""Tables that a publisher refuses, and no others; the rest may refuse what they like, by name."""

EXACT = {"bucketization"}
"""Publishers that find a release whenever all records together satisfy every model."""


def promises(publisher: Any) -> tuple[str, ...]:
    """Names of the models that a publisher can enforce."""
    return promisable(publisher.promises) if publisher.promises else ()


def promised(setting: str) -> list[str]:
    return list(promises(PUBLISHER_SETTINGS[setting]))


# what a reader of the files finds, by hand and kind


Files = Mapping[str, tuple[list[str], list[list[str | None]]]]


def bucketized_by_hand(files: Files, drawn: Drawn, wanted: Sequence[PrivacyModel]) -> None:
    (secret,) = drawn.sensitive
    quasi, counts = (recount.columns_of(*files[name]) for name in ("quasi_identifying", "sensitive"))
    assert Counter(quasi["bucket"]) == sum(
        (Counter({bucket: int(count)}) for bucket, count in zip(counts["bucket"], counts["count"], strict=True)),
        Counter(),
    )
    spread = [place for place, count in enumerate(counts["count"]) for _ in range(int(count))]
    columns = {name: [counts[name][place] for place in spread] for name in ("bucket", secret)}
    for model in map(described, wanted):
        assert recount.holds(model, columns, ["bucket"], drawn.sensitive), model
    # Numbers may be written otherwise than they came, but equal ones stay equal.
    assert sorted(Counter(columns[secret]).values()) == sorted(Counter(drawn.original[secret]).values())
    rows = Counter(zip(*(quasi[name] for name in drawn.quasi), strict=True))
    original = Counter(zip(*(drawn.original[name] for name in drawn.quasi), strict=True))
    assert sorted(rows.values()) == sorted(original.values())


def marginals_by_hand(files: Files, drawn: Drawn, wanted: Sequence[PrivacyModel]) -> None:
    totals = set()
    for header, rows in files.values():
        counts = recount.columns_of(header, rows)["count"]
        records = [row for row, count in zip(rows, counts, strict=True) for _ in range(int(count))]
        columns = recount.columns_of(header, records)
        totals.add(len(records))
        quasi = [name for name in drawn.quasi if name in columns]
        told = {name: described for name, described in drawn.sensitive.items() if name in columns}
        for model in map(described, wanted):
            if model["name"] == "k-anonymity" or (told and model.get("attribute", next(iter(told))) in told):
                assert recount.holds(model, columns, quasi, told), model
    assert totals == {len(drawn.frame)}


BY_HAND: Mapping[str, Callable[[Files, Drawn, Sequence[PrivacyModel]], None]] = {
    "bucketized-tables": bucketized_by_hand,
    "marginal-tables": marginals_by_hand,
}


def check(drawn: Drawn, wanted: Sequence[PrivacyModel], publisher: Publisher, seed: int | None) -> None:
    """Publish; whatever comes out must be right."""
    table = sf.read_table(drawn.frame, drawn.schema)
    feasible = all(recount.one_class_holds(described(model), drawn.original, drawn.sensitive) for model in wanted)
    note(f"{wanted} feasible={feasible}")
    refused = REFUSES.get(publisher.name, lambda drawn: None)(drawn)
    try:
        release = sf.anonymize(table, wanted, anonymizer=publisher, seed=seed, threads=2)
    except (sf.PolicyError, sf.InputError):
        assert refused in (None, True)
        return
    except sf.UnsatisfiableError:
        assert not feasible or publisher.name not in EXACT
        return
    assert not refused
    assert feasible or publisher.name not in EXACT
    check_release(release, drawn, wanted)


def check_release(release: sf.Release, drawn: Drawn, wanted: Sequence[PrivacyModel]) -> None:
    in_memory = sf.verify(release)
    assert in_memory.ok is bool(wanted)
    assert [check.outcome for check in in_memory.checks[: len(wanted)]] == [Outcome.HOLDS] * len(wanted)
    assert not [name for name, frame in release.tables.items() if "id" in frame.columns]
    with tempfile.TemporaryDirectory() as folder:
        for format in ("csv", "parquet"):
            saved = release.save(Path(folder) / format, format=format)
            verification = sf.verify(saved)
            assert verification.ok is bool(wanted), str(verification)
            told = tuple(check for check in verification.checks if check.promise not in (WRITTEN, AGREES))
            assert told[len(release.tables) :] == in_memory.checks
            check_description(saved, release)
        files = {name: recount.read_csv(Path(folder) / "csv" / f"{name}.csv") for name in release.tables}
        BY_HAND.get(release.published.kind, lambda *_: None)(files, drawn, wanted)


def check_description(folder: Path, release: sf.Release) -> None:
    told = json.loads((folder / "release.json").read_text())
    assert KINDS[told["kind"]] is type(release.published)
    assert told["structure"] == json.loads(json.dumps(release.published.structure))
    assert set(told["tables"]) == set(release.tables)
    for name, entry in told["tables"].items():
        frame = release.tables[name]
        assert hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
        assert (entry["rows"], entry["columns"]) == (frame.height, frame.columns)
    public = {"release.json", "report.json", "report.txt", "policy.toml"}
    assert {path.name for path in folder.iterdir()} == public | {entry["file"] for entry in told["tables"].values()}


@pytest.mark.parametrize("name", PUBLISHERS)
def test_every_publisher_is_one(name):
    publisher = PUBLISHERS[name]()
    assert isinstance(publisher, Publisher)
    assert publisher.name == name
    assert publisher.kind in KINDS
    assert bool(publisher.promises) == KINDS[publisher.kind].promising


@pytest.mark.parametrize(("setting", "name"), [(s, name) for s in PUBLISHER_SETTINGS for name in promised(s)])
@given(tables(sensitive=1), st.data(), st.sampled_from([None, 1]))
@examples(25, HealthCheck.data_too_large)
def test_every_model_that_is_promised(setting, name, drawn, data, seed):
    check(drawn, [data.draw(models(name, drawn.sensitive))], PUBLISHER_SETTINGS[setting], seed)


@pytest.mark.parametrize("setting", [setting for setting in PUBLISHER_SETTINGS if promised(setting)])
@given(tables(sensitive=1), st.data())
@examples(40, HealthCheck.data_too_large)
def test_several_models_at_once(setting, drawn, data):
    names = data.draw(st.lists(st.sampled_from(promised(setting)), min_size=2, max_size=4))
    check(drawn, [data.draw(models(name, drawn.sensitive)) for name in names], PUBLISHER_SETTINGS[setting], None)


@given(tables(sensitive=1), st.data())
@examples(25, HealthCheck.data_too_large)
def test_no_model_where_none_is_promised(drawn, data):
    for setting in PUBLISHER_SETTINGS:
        if not promised(setting):
            check(drawn, [], PUBLISHER_SETTINGS[setting], None)


@pytest.mark.parametrize("setting", PUBLISHER_SETTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_what_is_not_promised_is_refused_by_name(setting, name):
    publisher = PUBLISHER_SETTINGS[setting]
    if name in promises(publisher):
        return
    settings: dict[str, Any] = {"values": ["flu"], "p": 0.5}
    settings |= {
        "k": 2,
        "l": 2,
        "t": 0.5,
        "alpha": 0.5,
        "beta": 1,
        "delta": 1,
        "delta_max": 0.5,
        "c": 1,
        "m": 1,
        "risk": 0.5,
        "share": 0.5,
        "benefit": 1,
        "loss": 1,
        "gain": 1,
        "cost": 1,
    }
    settings |= {"fraction": 0.2} if name == "population-uniques" else {}
    model = MODELS[name](**{key: settings[key] for key in MODELS[name].__dataclass_fields__ if key in settings})
    with pytest.raises(sf.PolicyError) as caught:
        sf.anonymize(plain_table(), model, anonymizer=publisher)
    assert name in str(caught.value) or not publisher.promises


def plain_table() -> sf.Table:
    rows = 60
    frame = pl.DataFrame(
        {
            "age": [20 + i % 7 for i in range(rows)],
            "sex": ["f", "m", "m"] * (rows // 3),
            "zip": [str(12300 + i % 5) for i in range(rows)],
            "disease": ["flu", "cold", "gout", "burn"] * (rows // 4),
        }
    )
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex", "zip"], sensitive=["disease"]))


@pytest.mark.parametrize("setting", PUBLISHER_SETTINGS)
def test_same_seed_same_folder_and_none_other_each_time(setting, tmp_path):
    publisher = PUBLISHER_SETTINGS[setting]
    wanted = [sf.ProbabilisticLDiversity(2)] if "probabilistic-l-diversity" in promises(publisher) else []

    def tables_of(seed: int | None, threads: int) -> list[tuple[Any, ...]]:
        release = sf.anonymize(plain_table(), wanted, anonymizer=publisher, seed=seed, threads=threads)
        return [row for frame in release.tables.values() for row in frame.rows()]

    assert tables_of(5, 1) == tables_of(5, 2)
    if publisher.kind != "marginal-tables":
        assert len({tuple(tables_of(None, 1)) for _ in range(3)}) > 1
