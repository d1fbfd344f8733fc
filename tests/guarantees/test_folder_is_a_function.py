"""What a recipient holds is a function of the published tables: no other file tells two originals apart.

The attack: somebody knows every record but one value, makes the release of every value that it could be, and keeps
those with which the folder comes out as it did. All that publish the same tables must remain.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf

ROWS = 60


def people(hidden: dict[str, Any]) -> pl.DataFrame:
    """Some people; `hidden` has the values of the last one, who is the oldest and the richest.

    The one before earns what both have together, less what the last one earns.
    """
    drawn = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "age": drawn.integers(20, 60, ROWS),
            "income": drawn.integers(100, 3_000, ROWS) * 100 + drawn.integers(0, 100, ROWS),
            "sex": ["f", "m"] * (ROWS // 2),
            "disease": ["flu", "cold", "gout"] * (ROWS // 3),
            "weight": drawn.integers(50, 90, ROWS),
        }
    )
    last = {"age": 61, "income": 401_234, "sex": "f", "disease": "flu", "weight": 70} | hidden
    both = last.pop("together", 800_000)
    other = {**last, "income": both - last["income"]} if "together" in hidden else {**last, "income": 399_000}
    return pl.concat([frame, *(pl.DataFrame(person, schema=frame.schema) for person in (other, last))])


RICH = [{"income": income} for income in (400_001, 401_234, 404_444, 412_345, 423_456, 437_999, 449_999, 480_000)]
POOR = [{"income": income} for income in range(100_000, 116_000, 2_000)]
ILL = [{"disease": disease, "weight": weight} for disease in ("flu", "cold", "gout") for weight in (55, 70, 80, 300)]


@dataclass(frozen=True)
class Setting:
    """How a release is made, and what the hidden values of one person could be."""

    models: tuple[Any, ...] = (sf.KAnonymity(3),)
    candidates: list[dict[str, Any]] = field(default_factory=lambda: [*RICH, *POOR])
    attributes: dict[str, Any] = field(default_factory=lambda: {"age": None, "income": None, "sex": None})
    options: dict[str, Any] = field(default_factory=dict)

    def release(self, hidden: dict[str, Any]) -> sf.Release:
        schema = sf.Schema(
            quasi_identifying=self.attributes,
            others="drop",
            sensitive={"disease": None, "weight": sf.Attribute(kind="numeric", hierarchy=sf.intervals(10, 50))},
        )
        return sf.anonymize(sf.read_table(people(hidden), schema), list(self.models), seed=1, **self.options)


TREE = {"age": sf.intervals(10, 20, 40), "income": sf.intervals(50_000, 100_000), "sex": None}
SETTINGS = {
    "mondrian": Setting(),
    "relaxed": Setting(options={"anonymizer": sf.Mondrian(mode="relaxed")}),
    "regions": Setting(options={"anonymizer": sf.Mondrian(extent="region")}),
    "sets": Setting(
        attributes={"age": None, "sex": None},
        options={"recoding": sf.Recoding(forms={"age": "set"})},
        candidates=[{"age": age} for age in range(20, 61)],
    ),
    "means": Setting(
        options={"recoding": sf.Recoding(numeric="mean"), "anonymizer": sf.MDAV()},
        candidates=[{"income": income, "together": 800_000} for income in range(401_000, 420_000, 1_000)],
    ),
    "hierarchies": Setting(attributes=TREE),
    "optimal": Setting(attributes=TREE, options={"anonymizer": sf.Optimal()}),
    "k-member": Setting(options={"anonymizer": sf.KMember()}),
    "refined": Setting(options={"refine": 5, "bound": True}),
    "left out": Setting(
        attributes=TREE,
        options={"anonymizer": sf.Datafly(), "suppression_limit": 0.4},
        candidates=[{"income": income, **ill} for income in (700_000, 900_000, 940_000) for ill in ILL],
    ),
    "compared with the original": Setting(
        models=(sf.KAnonymity(3), sf.TCloseness(0.6, "equal", attribute="disease", reference="original")),
        attributes=TREE,
        options={"anonymizer": sf.Optimal(), "suppression_limit": 0.4},
        candidates=[{"income": 940_000, **ill} for ill in ILL],
    ),
    "stars": Setting(
        attributes=TREE,
        options={
            "anonymizer": sf.Datafly(),
            "suppression_limit": 0.4,
            "recoding": sf.Recoding(suppressed="star"),
        },
        candidates=[{"income": income} for income in range(700_000, 990_000, 20_000)],
    ),
    "t-closeness": Setting(models=(sf.KAnonymity(3), sf.TCloseness(0.5, attribute="weight"))),
    "marginals": Setting(options={"anonymizer": sf.Marginals(columns=(("age", "income"),))}, attributes=TREE),
}


def tables_of(release: sf.Release) -> str:
    """The published tables whatever the order of their rows."""
    return str({name: sorted(map(str, frame.cast(pl.String).rows())) for name, frame in sorted(release.tables.items())})


def others_of(folder: Path) -> str:
    """Everything else in the folder; hashes of the tables follow their order of rows."""
    record = json.loads((folder / "release.json").read_text())
    for facts in record["tables"].values():
        del facts["sha256"]
    texts = {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.name not in files_of(record)}
    return json.dumps([record, texts])


def files_of(record: dict[str, Any]) -> Iterable[str]:
    return ["release.json", *(facts["file"] for facts in record["tables"].values())]


def told_apart(make: Callable[[dict[str, Any]], sf.Release], candidates: list[dict[str, Any]], place: Path) -> None:
    found = defaultdict(list)
    for number, hidden in enumerate(candidates):
        release = make(hidden)
        found[tables_of(release)].append(others_of(release.save(place / str(number))))
    assert max(len(others) for others in found.values()) > 1, "no two originals publish the same tables"
    for others in found.values():
        assert len(set(others)) == 1


@pytest.mark.parametrize("name", SETTINGS)
def test_no_file_tells_two_originals_apart_that_publish_the_same_tables(name, tmp_path):
    setting = SETTINGS[name]
    told_apart(setting.release, setting.candidates, tmp_path)


RARE: list[Any] = [1, 4, 5, 7, 2.5, None]
"""What somebody may have given an issue that nobody else rated; its rating is never published."""


def ratings_with(rare: float | None) -> sf.RatingRelease:
    rows = [(f"u{user}", issue, 1.0 + (user + place) % 3) for user in range(9) for place, issue in enumerate("ab")]
    rows += [] if rare is None else [("u0", "rare", float(rare))]
    frame = pl.DataFrame(rows, schema=["user", "issue", "rating"], orient="row")
    return sf.anonymize_ratings(sf.read_ratings(frame), sf.RatingAnonymity(3, 1), seed=1)


def test_no_file_tells_two_ratings_apart_that_are_not_published(tmp_path):
    found = defaultdict(list)
    for number, rare in enumerate(RARE):
        release = ratings_with(rare)
        folder = sf.save_ratings(release, tmp_path / str(number))
        assert sf.verify(folder).ok
        found[str(sorted(release.to_frame().drop("record").rows()))].append(others_of(folder))
    assert max(map(len, found.values())) > 1
    for others in found.values():
        assert len(set(others)) == 1


def test_how_many_ratings_records_there_were_stays_with_the_steward(tmp_path):
    release = ratings_with(4)
    folder = sf.save_ratings(release, tmp_path / "out")
    told = json.loads((folder / "report.json").read_text())["records"]
    assert set(told) == {"published", "suppression_limit"}
    assert "original" not in (folder / "report.txt").read_text()
    assert "9 original" in str(release.report)


def test_the_steward_has_the_exact_losses(tmp_path):
    release = SETTINGS["mondrian"].release(RICH[0])
    steward, public = release.report.to_dict()["losses"], release.report.for_release().to_dict()["losses"]
    assert {"normalized_ncp", "entropy", "iloss", "precision", "loss_metric"} <= set(steward)
    assert public == {name: steward[name] for name in public}
    assert set(public) == {"records", "classes", "suppressed", "k", "discernibility", "average_class_size"}
    assert "the data steward has them" in (release.save(tmp_path / "out") / "report.txt").read_text()
