"""What a least label tells: chances are those of all draws, and certain ones are true."""

from __future__ import annotations

from itertools import product
from math import factorial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.inference_tables import target
from examples import examples
from sfumato.classes.generalized import Form
from sfumato.evaluation.attacks.original_values import read_cells
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.singling_out import choose_members, end_chances, member_chances
from sfumato.published import PublishedTable
from sfumato.recoding.choice import Recoding

SHARES = st.lists(st.integers(1, 9), min_size=2, max_size=4)


@given(SHARES, st.integers(1, 5))
@examples(80)
def test_chances_are_those_of_all_draws(weights: list[int], records: int) -> None:
    """All draws of k values are listed, and those kept of which the label is the least one."""
    shares = np.array(weights, dtype=float)
    for form in (Form.SET, Form.ANCESTOR):
        members = list(range(len(weights)))
        alone, least = np.zeros(len(members)), 0.0
        for draw in product(range(len(weights)), repeat=records):
            occurs = set(draw)
            if len(occurs) < (len(weights) if form is Form.SET else 2):
                continue
            chance = float(np.prod(shares[list(draw)] / shares.sum()))
            least += chance
            alone += [chance * (draw.count(member) == 1) for member in members]
        found = member_chances(form, shares[members], float(shares.sum()), records)
        if least == 0:
            assert not found.any() or form is Form.ANCESTOR
            continue
        expected = alone / least
        if form is Form.SET:
            rarest = int(shares.argmin())
            assert found[rarest] == pytest.approx(expected[rarest])
            assert expected[rarest] == pytest.approx(expected.max())
            continue
        assert found == pytest.approx(expected)


@given(SHARES, SHARES, st.integers(0, 5), st.integers(2, 5))
@examples(60)
def test_chances_of_ends_are_those_of_all_draws(left: list[int], right: list[int], middle: int, records: int) -> None:
    """Both sides of an interval have records; the attacker asks for a part of the left one, from its end on."""
    weights = np.array([*left, middle, *right], dtype=float) / (sum(left) + middle + sum(right))
    sides, both, alone = len(left), 0.0, np.zeros(len(left))
    for counts in product(range(records + 1), repeat=len(left) + 2):
        if sum(counts) != records or not sum(counts[:sides]) or not counts[-1]:
            continue
        shares = [*weights[: sides + 1], weights[sides + 1 :].sum()]
        parts = [share**count / factorial(count) for share, count in zip(shares, counts, strict=True)]
        chance = factorial(records) * np.prod(parts)
        both += chance
        alone += [chance * (sum(counts[: part + 1]) == 1) for part in range(sides)]
    inner = np.cumsum(weights[:sides])
    assert end_chances(inner, inner[-1], weights[sides + 1 :].sum(), records) == pytest.approx(alone / both)


def test_chances_of_large_classes_are_those_of_a_binomial() -> None:
    """Two members of 1,000 records: the rare one occurs once, given that both occur; no figure underflows."""
    share, records = 0.002, 1000
    once = records * share * (1 - share) ** (records - 1)
    both = 1 - (1 - share) ** records - share**records
    found = member_chances(Form.SET, np.array([share, 1 - share]), 1.0, records)
    assert found[0] == pytest.approx(once / both)


def test_without_others_a_member_is_not_certain_by_its_rarity() -> None:
    frame = pl.DataFrame({"age": [1] * 30 + [2] * 30, "kind": ["a"] * 29 + ["b"] + ["a"] * 30})
    original = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "kind"]))
    shown = frame.select(pl.col("age").cast(pl.String), kind=pl.Series(["{a|b}"] * 30 + ["a"] * 30))
    release = PublishedTable(shown, ("age", "kind"), ())
    cells = read_cells(release, original, ("age", "kind"), Recoding())
    chance = choose_members(cells, np.zeros(60, dtype=np.bool_), target(release, original)).chance.max()
    assert 0.3 < chance < 0.999


def test_as_many_members_as_records_are_one_each() -> None:
    frame = pl.DataFrame({"age": [20, 21, 40, 40, 41], "sex": ["f", "m", "f", "m", "m"]})
    schema = sf.Schema(quasi_identifying=["age", "sex"])
    original = sf.read_table(frame, schema)
    ages = ["[20..21]"] * 2 + ["[40..41]"] * 3
    release = PublishedTable(pl.DataFrame({"age": ages, "sex": ["{f|m}"] * 5}), ("age", "sex"), ())
    cells = read_cells(release, original, ("age", "sex"), Recoding())
    found = choose_members(cells, np.zeros(5, dtype=np.bool_), target(release, original))
    two = int(cells.publication.sizes.argmin())
    assert found.chance[two] == pytest.approx(1)
    assert found.chance[1 - two] < 1


@pytest.mark.parametrize("ends", ["tight", "rounded"])
def test_a_star_over_missing_values_tells_of_no_lowest_and_highest_value(ends) -> None:
    frame = pl.DataFrame({"age": [*range(20, 59), None] * 2, "sex": ["f"] * 40 + ["m"] * 40})
    original = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex"]))
    shown = pl.DataFrame({"age": ["*"] * 40 + ["[20..59]"] * 40, "sex": frame["sex"]})
    release, recoding = PublishedTable(shown, ("age", "sex"), ()), Recoding(ends=ends)
    cells = read_cells(release, original, ("age", "sex"), recoding)
    found = choose_members(cells, np.ones(80, dtype=np.bool_), Target(release, original, recoding=recoding))
    starred = int(cells.publication.class_of[0])
    assert found.chance[starred] == -1
    assert found.chance[1 - starred] > 0


def test_regions_tell_nothing_of_members() -> None:
    """What the anonymizer decides for the whole table has no least labels."""
    frame = pl.DataFrame({"age": [20, 21, 40, 41] * 5, "sex": ["f", "m"] * 10})
    original = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex"]))
    release = sf.anonymize(original, [sf.KAnonymity(4)], anonymizer=sf.Mondrian(extent="region"))
    cells = read_cells(release.published, original, ("age", "sex"), Recoding())
    on = Target(release.published, original, anonymizer=sf.Mondrian(extent="region"))
    assert (choose_members(cells, np.zeros(20, dtype=np.bool_), on).chance == -1).all()
