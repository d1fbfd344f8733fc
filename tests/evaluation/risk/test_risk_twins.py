"""Risk measures against their plain twins, on small random tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evaluation.risk.risk_tables import Row, frame_of, names, tables
from examples import examples
from naive import risk as naive
from sfumato.evaluation.risk.adversaries import keys_of
from sfumato.evaluation.risk.measure import risk
from sfumato.evaluation.risk.report import RiskReport


def measured(rows: list[Row], **options: object) -> RiskReport:
    return risk(frame_of(rows), quasi_identifying=names(rows), threads=1, **options)  # type: ignore[arg-type]


@examples(60)
@given(tables())
def test_prosecutor_marketer_and_sample_uniques(rows):
    report = measured(rows)
    highest, average = naive.prosecutor(rows)
    risks = [1 / size for size in naive.class_sizes(rows)]
    assert report.prosecutor.highest == pytest.approx(float(highest))
    assert report.prosecutor.average == report.marketer == pytest.approx(float(average))
    assert report.sample_uniques == sum(size == 1 for size in naive.class_sizes(rows))
    for threshold in report.thresholds:
        above = report.prosecutor.above(threshold)
        assert above.share == pytest.approx(naive.share_above(risks, threshold.value))
        expected = [row for row, one in enumerate(risks, 1) if one > threshold.value + 1e-12]
        assert report.rows_above(threshold.name).tolist() == expected
        classes = report.classes_above(threshold.name)
        assert len(classes) == above.classes == len({rows[row - 1] for row in expected})
        assert classes["records"].sum() == above.records


@examples(60)
@given(tables(), st.data())
def test_journalist_with_a_population(rows, data):
    more = data.draw(st.lists(st.sampled_from(rows), max_size=20))
    report = measured(rows, population=frame_of([*more, *rows]))
    highest, average, marketer = naive.journalist(rows, [*more, *rows])
    assert report.journalist is not None
    assert report.journalist.highest == pytest.approx(float(highest))
    assert report.journalist.average == pytest.approx(float(average))
    assert report.marketer == pytest.approx(float(marketer))
    assert report.journalist.average <= report.prosecutor.average + 1e-12


@examples(60)
@given(tables(), st.data())
def test_individual_and_household_risk(rows, data):
    weights = data.draw(st.lists(st.floats(1, 200), min_size=len(rows), max_size=len(rows)))
    homes = data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    frame = frame_of(rows).with_columns(w=np.array(weights), home=np.array(homes))
    report = risk(frame, quasi_identifying=names(rows), weights="w", household="home", threads=1)
    expected = naive.individual(rows, weights)
    assert report.individual is not None
    assert report.individual.risks[report.keys.class_of] == pytest.approx(expected, rel=1e-6)
    assert report.household == pytest.approx(naive.household(expected, homes), rel=1e-6)


@examples(60)
@given(tables(), st.data())
def test_special_uniques(rows, data):
    size = data.draw(st.integers(1, len(rows[0])))
    found = measured(rows, special_uniques=size, sampling_fraction=0.3).special_uniques
    assert found is not None
    columns = [tuple(bit for bit in range(5) if int(bits) >> bit & 1) for bits in found.columns]
    assert len(set(zip(found.record.tolist(), columns, strict=True))) == len(columns)
    assert set(zip(found.record.tolist(), columns, strict=True)) == naive.minimal_uniques(rows, size)
    assert found.scores.tolist() == naive.special_scores(rows, size)
    for row in range(1, len(rows) + 1):
        own = {tuple(int(name[1:]) for name in held) for held in found.of_record(row)}
        assert own == {held for place, held in naive.minimal_uniques(rows, size) if place == row - 1}


@examples(60)
@given(tables(), st.data())
def test_combinations(rows, data):
    size = data.draw(st.integers(1, len(rows[0])))
    threads = data.draw(st.sampled_from([1, 3]))
    found = risk(frame_of(rows), quasi_identifying=names(rows), combinations=size, threads=threads).combinations
    assert found is not None
    told = {tuple(int(name[1:]) for name in one.columns): one for one in found.ranked()}
    every = [held for count in range(1, size + 1) for held in combinations(range(len(rows[0])), count)]
    assert sorted(told) == sorted(every)
    assert len(found) == len(every)
    for columns, one in told.items():
        assert one.distinction == pytest.approx(naive.distinction(rows, columns))
        assert one.separation == pytest.approx(naive.separation(rows, columns))
        assert one.uniques == sum(naive.is_alone(rows, place, columns) for place in range(len(rows)))


@examples(40)
@given(tables())
def test_more_columns_never_tell_less_apart(rows):
    found = measured(rows, combinations=len(rows[0])).combinations
    assert found is not None
    for one, other in combinations(range(len(found)), 2):
        small, large = (one, other) if found.members[one].sum() <= found.members[other].sum() else (other, one)
        if (found.members[small] <= found.members[large]).all():
            assert found.distinction[small] <= found.distinction[large]
            assert found.separation[small] <= found.separation[large]
            assert found.uniques[small] <= found.uniques[large]


@examples(40)
@given(tables(), st.data())
def test_smallest_combinations_reach_the_distinction_and_no_part_of_them_does(rows, data):
    found = measured(rows, combinations=len(rows[0])).combinations
    assert found is not None
    wanted = data.draw(st.sampled_from(sorted(found.distinction.tolist())))
    reaching = {frozenset(one.columns) for one in found.ranked() if one.distinction >= wanted}
    smallest = {frozenset(one.columns) for one in found.smallest(wanted)}
    assert smallest == {columns for columns in reaching if not any(other < columns for other in reaching)}


@examples(40)
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_records_only_moves_their_rows(rows, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    report = measured(rows, sampling_fraction=0.2)
    other = measured([rows[place] for place in order], sampling_fraction=0.2)
    one, two = report.to_dict(), other.to_dict()
    for part in ("prosecutor", "journalist", "special_uniques"):
        for entry in [one[part], two[part], *one[part].get("above", []), *two[part].get("above", [])]:
            entry.pop("first_rows", None)
    assert _rounded(one) == _rounded(two)
    moved = report.to_frame().drop("row")[order]
    assert moved.equals(other.to_frame().drop("row"))


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_rounded(held) for held in value]
    return round(value, 9) if isinstance(value, float) else value


@examples(60)
@given(tables(20), st.sampled_from([0.04, 0.1, 0.25, 0.5, 1.0]))
def test_zayatz(rows, fraction):
    report = measured(rows, sampling_fraction=fraction)
    assert report.population is not None
    expected = naive.zayatz(report.keys.records.tolist(), fraction)
    assert report.population.zayatz == pytest.approx(expected, rel=1e-8, abs=1e-12)


@examples(60)
@given(tables(), st.sampled_from(["pitman", "zayatz", "snb"]), st.floats(0.01, 1))
def test_population_uniqueness_is_a_share(rows, model, fraction):
    found = measured(rows, sampling_fraction=fraction).population
    assert found is not None
    estimate = getattr(found, model)
    assert estimate is None or 0 <= estimate <= 1
    assert found.chosen == "pitman" or fraction > 0.1
    assert 0 <= found.share <= 1


@examples(40)
@given(tables())
def test_missing_values_and_stars_are_values_of_their_own(rows):
    renamed = [tuple({None: "missing", "*": "star"}.get(cell, cell) for cell in row) for row in rows]
    assert (
        keys_of([frame_of(rows)[name] for name in names(rows)]).class_of.tolist()
        == keys_of([frame_of(renamed)[name] for name in names(rows)]).class_of.tolist()
    )


@examples(40)
@given(tables())
def test_wildcards_count_every_record_that_a_star_may_stand_for(rows):
    assume(any("*" in row for row in rows))
    report = measured(rows, wildcards=True)
    alike = [
        sum(all(a == b or "*" in (a, b) for a, b in zip(row, other, strict=True)) for other in rows) for row in rows
    ]
    assert report.prosecutor.risks[report.keys.class_of] == pytest.approx([1 / count for count in alike])
    assert report.sample_uniques == sum(count == 1 for count in alike)
