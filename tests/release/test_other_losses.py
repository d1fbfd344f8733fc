"""The loss without the farthest values, and by the tree of codes: beside the usual one, for the steward alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.release.problem import BY_TREE, FAR

DRAW = random.Random(5)
HEIGHT = 400
COMMUNES = [f"{place:02}{number:03}" for place in range(1, 11) for number in range(1, 9)]


def people(farthest: int | None = 9_999) -> pl.DataFrame:
    ages = [DRAW.randrange(20, 80) for _ in range(HEIGHT)]
    if farthest is not None:
        ages[7] = farthest
    return pl.DataFrame({"age": ages, "commune": [DRAW.choice(COMMUNES) for _ in range(HEIGHT)]})


def made(table: pl.DataFrame, commune: Any = None, **age: Any) -> sf.Release:
    columns = {"age": sf.Attribute(**age), "commune": sf.Attribute(kind="categorical", hierarchy=commune)}
    schema = sf.Schema(quasi_identifying=columns, publish=["commune"])
    return sf.anonymize(table, sf.KAnonymity(5), schema=schema, seed=1, anonymizer=sf.Mondrian())


def test_one_far_value_does_not_hide_what_the_others_lose() -> None:
    table = people()
    release = made(table, sf.prefixes(2))
    # By hand: each interval over the range of all ages but the farthest, and at most all of it.
    inner = table["age"].sort()[-2] - table["age"].min()
    ends = release.data["age"].cast(pl.String).str.extract_groups(r"\[?(\d+)(?:\.\.(\d+)[\])])?").struct.unnest()
    low, high = ends.to_series(0).cast(pl.Float64), ends.to_series(1).cast(pl.Float64)
    widths = ((high.fill_null(low) - low) / inner).clip(upper_bound=1.0)
    commune = release.report.losses.attribute_ncp["commune"]
    assert release.report.other_losses[FAR] == pytest.approx((widths.mean() + commune) / 2, rel=0.02)
    assert release.report.other_losses[FAR] > 5 * release.report.losses.normalized_ncp


def test_nothing_stands_beside_where_no_value_decides_and_a_tree_is_declared() -> None:
    assert not made(people(None), sf.prefixes(2)).report.other_losses
    assert FAR not in made(people(), sf.prefixes(2), domain=(0, 10_000)).report.other_losses


def test_a_set_of_communes_of_several_places_costs_more_than_the_place() -> None:
    table = people(None)
    sets, places = made(table), made(table, sf.prefixes(2))
    charged = sets.report.other_losses[BY_TREE]
    # By hand: the place that holds all members of a set, or everything, over all communes.
    members = sets.data["commune"].cast(pl.String).str.extract_all(r"\d{5}").to_list()
    known = set(table["commune"])

    def cost(cell: list[str]) -> float:
        if len(set(cell)) < 2:
            return 0.0
        keep = next(keep for keep in (2, 0) if len({code[:keep] for code in cell}) == 1)
        return sum(code[:keep] == cell[0][:keep] for code in known) / len(known)

    by_hand = sum(map(cost, members)) / HEIGHT
    assert 2 * charged - sets.report.losses.attribute_ncp["age"] == pytest.approx(by_hand, abs=1e-9)
    assert sets.report.losses.attribute_ncp["commune"] < places.report.losses.attribute_ncp["commune"] < by_hand


def test_the_folder_says_nothing_of_it(tmp_path: Path) -> None:
    release = made(people())
    assert {*release.report.other_losses} == {FAR, BY_TREE}
    assert FAR in str(release.report)
    folder = release.save(tmp_path / "release")
    for path in folder.iterdir():
        assert "farthest" not in path.read_text()
        assert "tree" not in path.read_text() or path.suffix == ".html"
