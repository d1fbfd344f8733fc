"""Growing series whose columns publish nodes of hierarchies: recipients get no tree, and recount nevertheless."""

from __future__ import annotations

import json
import random
import shutil
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from benchmarks.series_fuzz import Fuzz
from benchmarks.series_recount import NODES

import sfumato as sf
from series.tables import HEADER, Person, write_csv
from sfumato.hierarchy import hierarchy_from_paths
from sfumato.models.protocol import Outcome
from sfumato.series.attacks import attack_releases
from sfumato.series.description import KEY
from sfumato.series.grow_recount import NODES as LIE_UNDER
from sfumato.series.grow_recount import recount_grown
from sfumato.series.labels import Labelled, LabelReader, covered_labels, nodes_under, recipients
from sfumato.series.reading import ReadRelease
from sfumato.series.recount import meeting
from sfumato.table.schema import Kind

CITIES = sf.groups({node: list(cities) for node, cities in NODES.items()})
QUASI = {"age": sf.Attribute(), "city": sf.Attribute(hierarchy=CITIES)}
BARE = sf.Schema(identifying=["name"], quasi_identifying=QUASI, others="drop")
VALUED = sf.Schema(identifying=["name"], quasi_identifying=QUASI, sensitive=["disease"])
TREE = hierarchy_from_paths(
    [("A", "A", "north", "*"), ("B", "b", "north", "*"), ("C", "c", "south", "*"), ("D", "c", "south", "*")]
)


def people(count: int, first: int, seed: int) -> list[Person]:
    draw = random.Random(seed)
    return [
        (f"p{first + number}", draw.randint(20, 60), draw.choice("ABCD"), draw.choice(["flu", "cold"]))
        for number in range(count)
    ]


def started(folder: Path, schema: sf.Schema) -> sf.Series:
    first, *later = (write_csv(folder / f"{month}.csv", people(18, 18 * month, seed=month)) for month in range(3))
    series = sf.Series.start(folder / "s", schema, sf.KAnonymity(4), table=first, way="grow", seed=1)
    for table in later:
        series.grow(table, seed=1)
    return series


def said(release: Path) -> dict:
    return json.loads((release / "release.json").read_text(encoding="utf-8"))[KEY].get("covers", {})


@pytest.mark.parametrize("schema", [BARE, VALUED], ids=["bare", "valued"])
def test_folders_are_recounted_without_the_tree(schema: sf.Schema, tmp_path: Path) -> None:
    series = started(tmp_path, schema)
    found = series.verify(ledger=True)
    assert found.ok, str(found)
    (check,) = (each for each in found.releases[2].beside if each.promise == LIE_UNDER)
    assert check.outcome is Outcome.UNDECIDABLE
    seen = [set(pl.read_csv(path / "data.csv")["city"]) for path in series.releases]
    assert "north" in seen[0] | seen[1] | seen[2]
    for number, release in enumerate(series.releases):
        published = set().union(*seen[: number + 1])
        # Of the tree, recipients learn nothing about labels that nobody publishes.
        assert said(release)["city"] == {
            node: below
            for node, cities in NODES.items()
            if node in published and (below := sorted(published & set(cities)))
        }


def test_labels_meet_for_recipients_as_in_the_tree(tmp_path: Path) -> None:
    series = started(tmp_path, VALUED)
    read = [Labelled.read(ReadRelease.of(path)) for path in series.releases]
    without = recipients(read)
    kinds = {"age": Kind.NUMERIC, "city": Kind.CATEGORICAL}
    tree = CITIES.build(pl.Series(list("ABCD")), name="city")
    known = LabelReader.of(kinds, [each.labels for each in read], {}, {"city": nodes_under(tree)})
    with_tree = [known.boxes(each.labels.select(list(kinds))) for each in read]
    for older, newer in ((0, 1), (0, 2), (1, 2)):
        pairs = zip(*meeting(with_tree[older], with_tree[newer]), strict=True)
        # Months are those of all classes, so that these decide nothing.
        assert set(pairs) == set(zip(*meeting(without[older].boxes, without[newer].boxes), strict=True))


def test_labels_under_each_other_are_those_whose_values_are() -> None:
    labels = ["A", "b", "B", "north", "C", "*"]
    below = covered_labels(TREE, labels)
    assert below == {"B": ("b",), "b": ("B",), "north": ("A", "B", "b")}
    under = {label: {label, *below.get(label, ())} for label in labels[:-1]}
    leaves = {label: set(values) for label, values in nodes_under(TREE).items()}
    for one, other in product(labels[:-1], repeat=2):
        assert bool(under[one] & under[other]) == bool(leaves[one] & leaves[other])


def test_what_a_later_release_says_otherwise_is_told(tmp_path: Path) -> None:
    series = started(tmp_path, VALUED)
    *earlier, newer = map(ReadRelease.of, series.releases)
    path = tmp_path / "other"
    shutil.copytree(newer.path, path)
    mark = json.loads((path / "release.json").read_text(encoding="utf-8"))
    for covers in ({}, {"city": {}}):
        mark[KEY]["covers"] = covers
        (path / "release.json").write_text(json.dumps(mark), encoding="utf-8")
        (check,) = (each for each in recount_grown(earlier, ReadRelease.of(path)) if each.promise == LIE_UNDER)
        assert check.outcome is Outcome.BROKEN
        assert "'city'" in check.detail
    mark[KEY]["covers"] = {"city": 3}
    (path / "release.json").write_text(json.dumps(mark), encoding="utf-8")
    with pytest.raises(sf.VerificationError, match="damaged"):
        ReadRelease.of(path)


def test_attacks_know_the_tree_from_the_policy(tmp_path: Path) -> None:
    series = started(tmp_path, VALUED)
    tables = [tmp_path / f"{month}.csv" for month in range(3)]
    policy = sf.Policy.of(VALUED, [sf.KAnonymity(4)], sf.Mondrian(), sf.Recoding(), 0.0, 0)
    found = attack_releases(series.releases, tables, policy)
    assert sum(each.cases for each in found.played) > 0
    assert all(each.below == 0 for each in found.played)


def test_a_value_outside_of_the_tree_is_told_before_anything_is_computed(tmp_path: Path) -> None:
    series = started(tmp_path, VALUED)
    before = len(series.releases)
    with pytest.raises(sf.SfumatoError, match="city"):
        series.grow(pl.DataFrame([("x", 30, "Z", "flu")], schema=list(HEADER), orient="row"))
    assert len(series.releases) == before


def test_small_series_withstand_all_worlds(tmp_path: Path) -> None:
    fuzz, number = Fuzz(tmp_path), 0
    while fuzz.outcomes["grow: with a hierarchy"] < 6:
        fuzz.try_one("grow", number)
        number += 1
    assert not fuzz.broken
