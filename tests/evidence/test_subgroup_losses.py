"""Who loses most, held against a reader who looks for everybody in the published table by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random
from statistics import mean

import polars as pl
import pytest

import sfumato as sf
from sfumato.evidence.subgroups import cell_changes, subgroup_losses
from sfumato.table.encoding import encode


def table_of(seed: int, records: int = 60) -> tuple[pl.DataFrame, sf.Table]:
    chance = Random(seed)
    frame = pl.DataFrame(
        {
            "age": [chance.choice((20, 25, 31, 47, 60, 90)) for _ in range(records)],
            "ward": [chance.choice("abcd") for _ in range(records)],
            "ill": [chance.choice("xyz") for _ in range(records)],
        }
    )
    roles = sf.Schema(quasi_identifying=["age", "ward"], sensitive=["ill"])
    return frame, sf.read_table(frame, roles)


def covers(age: str, ward: str, person: dict[str, object]) -> bool:
    low, high = age.strip("[]").split("..") if ".." in age else (age, age)
    return float(low) <= person["age"] <= float(high) and person["ward"] in ward.strip("{}").split("|")


def lost(age: str, ward: str, width: float, wards: int) -> float:
    low, high = age.strip("[]").split("..") if ".." in age else (age, age)
    many = len(ward.strip("{}").split("|"))
    return ((float(high) - float(low)) / width + (many / wards if many > 1 else 0)) / 2


@pytest.mark.parametrize("limit", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_averages_are_those_of_a_search_by_hand(seed, limit):
    frame, table = table_of(seed)
    release = sf.anonymize(
        table,
        [sf.KAnonymity(6)],
        anonymizer=sf.MDAV() if seed else sf.Mondrian(),
        recoding=sf.Recoding(ends="tight"),
        suppression_limit=limit,
        seed=1,
    )
    classes = release.data.select("age", "ward").unique().rows()
    width, wards = frame["age"].max() - frame["age"].min(), frame["ward"].n_unique()
    losses, chances, sizes = defaultdict(list), defaultdict(list), Counter(release.data.select("age", "ward").rows())
    for person in frame.to_dicts():
        fitting = [each for each in classes if covers(*each, person)]
        if len(fitting) < 2:
            share = lost(*fitting[0], width, wards) if fitting else 1.0
            losses["age", str(person["age"])].append(share)
            losses["ward", person["ward"]].append(share)
            chances["ward", person["ward"]].append(1 / sizes[fitting[0]] if fitting else 0.0)
    expected = {group: (len(each), pytest.approx(mean(each))) for group, each in losses.items() if len(each) >= 5}
    assert expected
    found = subgroup_losses(release.published, table, sf.Recoding(ends="tight"), 5)
    assert {(one.attribute, one.group): (one.records, one.lost) for one in found} == expected
    assert [pytest.approx(mean(chances["ward", one.group])) for one in found if one.attribute == "ward"] == [
        one.found for one in found if one.attribute == "ward"
    ]
    assert [one.lost for one in found] == sorted((one.lost for one in found), reverse=True)


def test_of_class_means_nothing_is_said():
    _, table = table_of(1)
    recoding = sf.Recoding(numeric="mean")
    release = sf.anonymize(table, [sf.KAnonymity(3)], anonymizer=sf.MDAV(), recoding=recoding)
    assert subgroup_losses(release.published, table, recoding, 5) == ()


@pytest.mark.parametrize("seed", range(4))
def test_what_was_done_to_cells_is_what_a_reader_counts(seed):
    _, table = table_of(seed)
    release = sf.anonymize(table, [sf.KAnonymity(6)], anonymizer=sf.MDAV() if seed % 2 else sf.Mondrian(), seed=1)
    ages, wards = release.data["age"].to_list(), release.data["ward"].to_list()
    spans = sorted(
        float(high) - float(low) for low, high in (one.strip("[]").split("..") for one in ages if ".." in one)
    )
    many = sorted(len(one.strip("{}").split("|")) for one in wards if "|" in one)
    for name, widths, found in (("age", spans, "intervals"), ("ward", many, "groups")):
        changes = cell_changes(release.data[name], None)
        stars = (release.data[name] == "*").sum() / 60
        assert getattr(changes, found) == pytest.approx(len(widths) / 60)
        assert (changes.suppressed, changes.changed) == pytest.approx((stars, len(widths) / 60 + stars))
        assert (changes.typical, changes.largest) == (
            (widths[len(widths) // 2], widths[-1]) if widths else (None, None)
        )


def test_nodes_of_a_hierarchy_are_groups_of_so_many_values():
    frame = pl.DataFrame({"ward": ["a1", "a2", "a3", "b1"] * 5})
    table = sf.read_table(frame, sf.Schema(quasi_identifying={"ward": sf.prefixes(1)}))
    attribute = encode(table).attributes[0]
    changes = cell_changes(pl.Series("ward", ["a*", "a*", "b1", "*"]), attribute)
    assert (changes.groups, changes.suppressed, changes.typical, changes.largest) == (0.5, 0.25, 3, 3)
    # Nobody who may not see the original tells a node from a value.
    assert cell_changes(pl.Series("ward", ["a", "a", "b1", "*"]), None).groups == 0
