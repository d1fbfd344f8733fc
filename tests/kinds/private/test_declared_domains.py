"""Domains are declared: where values fall, and what is refused."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.hierarchy import HierarchyTable, Intervals, groups, prefixes
from sfumato.kinds.noisy_counts import make as tasks
from sfumato.kinds.noisy_counts.make import private_task
from sfumato.kinds.noisy_counts.policy import Counting
from sfumato.kinds.private.make import DeclaredColumn
from sfumato.table.schema import Kind

MODEL = sf.DifferentialPrivacy(1)


def column(kind: Kind = Kind.CATEGORICAL, bins: Any = None, level: Any = None, *, complete: bool = False, **said: Any):
    return DeclaredColumn("x", kind, sf.Attribute(kind, **said), bins, level, complete=complete)


def test_numbers_fall_into_bins_and_the_ends_take_all_beyond():
    ages = column(Kind.NUMERIC, 4, domain=(0, 100))
    assert ages.domain.labels == ("[0..25)", "[25..50)", "[50..75)", "[75..100]")
    values = pl.Series([-5.0, 0, 24.9, 25, 100, 1e300, float("inf"), None, float("nan")])
    assert ages.codes(values).tolist() == [0, 0, 0, 1, 3, 3, 3, 4, 4]
    borders = column(Kind.NUMERIC, [0, 18, 65.5], complete=True)
    assert borders.domain.labels == ("[0..18)", "[18..65.5]")
    assert borders.codes(pl.Series([17, 18, 99, None])).tolist() == [0, 1, 1, -1]


def test_texts_outside_of_the_domain_count_as_missing():
    sexes = column(domain=("f", "m"))
    assert sexes.codes(pl.Series(["m", "f", "x", None], dtype=pl.Categorical)).tolist() == [1, 0, 2, 2]
    assert column(domain=("f", "m"), complete=True).codes(pl.Series(["m", "x"])).tolist() == [1, -1]


def test_a_hierarchy_that_lists_values_is_a_domain():
    rows = HierarchyTable((("39", "thirties", "*"), ("45", "forties", "*"), ("31", "thirties", "*")))
    assert column(hierarchy=rows).domain.labels == ("31", "39", "45")
    decades = column(Kind.NUMERIC, None, 1, hierarchy=rows)
    assert decades.domain.labels == ("thirties", "forties")
    assert decades.codes(pl.Series([31.0, 45.0, 39.0, 7.0, None])).tolist() == [0, 1, 0, 2, 2]
    jobs = groups({"paid": ["shop", "office"], "unpaid": ["none"]})
    assert column(hierarchy=jobs, level=1).domain.labels == ("paid", "unpaid")
    codes = column(domain=("101", "102", "201"), hierarchy=prefixes(1), level=1)
    assert len(codes.domain.labels) == 2
    assert codes.codes(pl.Series(["201", "102", "999"])).tolist() == [1, 0, 2]


def test_borders_of_a_hierarchy_are_bins():
    steps = Intervals(borders=((0, 10, 20, 40), (0, 20, 40)))
    assert column(Kind.NUMERIC, None, 2, hierarchy=steps).domain.labels == ("[0..20)", "[20..40]")


def test_what_is_true_or_false_needs_no_declaration():
    assert column(Kind.BOOLEAN).codes(pl.Series([True, False, None])).tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "would have to be read off the data"),
        ({"kind": Kind.NUMERIC}, "would have to be read off the data"),
        ({"kind": Kind.NUMERIC, "bins": 5}, "no range that they divide"),
        ({"kind": Kind.NUMERIC, "bins": 0, "domain": (0, 1)}, "bins must be from 1"),
        ({"kind": Kind.NUMERIC, "bins": [1, 1]}, "must rise"),
        ({"kind": Kind.NUMERIC, "bins": [1]}, "at least two borders"),
        ({"kind": Kind.NUMERIC, "bins": "ab"}, "at least two borders"),
        ({"kind": Kind.NUMERIC, "bins": [1, float("nan")]}, "finite"),
        ({"bins": [1, 2]}, "no column of numbers"),
        ({"kind": Kind.DATE}, "is a date"),
        ({"domain": ("a",), "level": 1}, "no hierarchy"),
        ({"domain": ("a", " b")}, "blanks around it"),
        ({"hierarchy": groups({"g": ["a"]}), "level": 9}, "level must be from 0 to 2"),
        ({"kind": Kind.NUMERIC, "hierarchy": Intervals(borders=((0, 1),)), "level": 3}, "level must be from 1 to 1"),
        ({"kind": Kind.NUMERIC, "bins": [0, 1], "level": 1}, "bins and a level"),
        ({"domain": ("a",), "hierarchy": groups({"g": ["b"]})}, "are not in it"),
    ],
)
def test_what_is_no_domain_is_said(settings: dict[str, Any], words: str):
    with pytest.raises(sf.PolicyError, match=f"column 'x'.*{words}"):
        column(
            settings.pop("kind", Kind.CATEGORICAL), settings.pop("bins", None), settings.pop("level", None), **settings
        )


def table(**columns: Any) -> sf.Table:
    frame = pl.DataFrame({"age": [20, 30], "sex": ["f", "m"], "ill": ["no", "yes"], **columns})
    quasi = {
        "age": sf.Attribute("numeric", domain=(0, 100)),
        "sex": sf.Attribute("categorical", domain=("f", "m")),
    }
    schema = sf.Schema(quasi_identifying=quasi, sensitive=["ill"], person="who" if "who" in columns else None)
    return sf.read_table(frame, schema)


def test_all_mistakes_are_told_at_once():
    counting = Counting(
        marginals=(("age", "age"), ("shoe",), ("sex", "ill"), ("ill", "sex")),
        two_way=1,
        bins={"age": 10, "hat": 2},
        complete=("coat",),
    )
    with pytest.raises(sf.PolicyError) as caught:
        private_task(table(), sf.DifferentialPrivacy(1, max_records=2), counting)
    told = "\n".join(caught.value.problems)
    for words in (
        "max_records: bounds", "bins: there is no", "'hat'", "complete: there is no", "'coat'", "two_way: pairs",
        "marginal 1: must name", "marginal 2: there is no", "'shoe'", "two of them have the same", "column 'ill'",
    ):  # fmt: skip
        assert words in told


def test_a_person_needs_a_bound():
    with pytest.raises(sf.PolicyError, match="max_records: is missing"):
        private_task(table(who=[1, 1]), MODEL, Counting(marginals=(("sex",),)))


@pytest.mark.parametrize("two_way", [-1, 3])
def test_pairs_are_as_many_as_form_no_circle(two_way):
    with pytest.raises(sf.PolicyError, match="two_way: must be from 0 to 2"):
        private_task(table(), MODEL, Counting(two_way=two_way))


def test_too_many_cells_are_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tasks, "MOST_CELLS", 30)
    monkeypatch.setattr(tasks, "MOST_IN_ALL", 40)
    counting = Counting(marginals=(("age", "sex"), ("age",)), bins={"age": 10})
    with pytest.raises(sf.PolicyError, match=r"marginal 1 \(age, sex\): has 33 cells, more than 30") as caught:
        private_task(table(), MODEL, counting)
    assert "have 44 cells together, more than 40" in str(caught.value)
    frame = pl.DataFrame({name: ["x"] for name in "abc"})
    schema = sf.Schema(quasi_identifying={name: sf.Attribute("categorical", domain=("x", "y", "z")) for name in "abc"})
    circle = Counting(marginals=(("a", "b"), ("b", "c"), ("c", "a")))
    read = sf.read_table(frame, schema)
    monkeypatch.setattr(tasks, "MOST_IN_ALL", 100)
    with pytest.raises(sf.PolicyError, match=r"circle whose columns \(a, b, c\) have 64 cells together, more than 30"):
        private_task(read, MODEL, circle)


def test_a_kind_that_the_data_decided_is_refused(tmp_path):
    (tmp_path / "in.csv").write_text("sex,ill\n1,no\n2,yes\n")
    domain = sf.Attribute(domain=("1", "2"))
    read = sf.read_table(tmp_path / "in.csv", sf.Schema(quasi_identifying={"sex": domain}, others="drop"))
    with pytest.raises(sf.PolicyError, match="column 'sex': whether it holds numbers or texts was read off the data"):
        private_task(read, MODEL, Counting())


def test_records_without_a_value_count_nowhere_if_a_column_is_complete():
    missing = table(sex=["f", None])
    counting = Counting(marginals=(("sex",), ("age",)), bins={"age": 2}, complete=("sex",))
    task = private_task(missing, MODEL, counting)
    assert task.incomplete == 1
    assert task.counts(("sex",)).tolist() == [1, 0]
    assert task.counts(("age",)).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("pair", "form"), [(["7", "7.0"], None), (["7", "\u00a07"], None), (["A1", "a1"], "fold"), (["007", "7"], "fold")]
)
def test_spellings_of_one_person_count_together(pair: list[str], form: str | None) -> None:
    frame = pl.DataFrame({"sex": ["f", "m", "f"], "who": [*pair, "other"]})
    quasi = {"sex": sf.Attribute("categorical", domain=("f", "m"))}

    def counted(key_form: str | None) -> int:
        read = sf.read_table(frame, sf.Schema(quasi_identifying=quasi, person="who", key_form=key_form))
        task = private_task(read, sf.DifferentialPrivacy(1, max_records=1), Counting(marginals=(("sex",),)))
        return len(task.codes)

    assert counted(form) == 2
    if form is not None:
        assert counted("exact") == 3
        with pytest.raises(sf.InputError, match="key-form fold"):
            counted(None)
