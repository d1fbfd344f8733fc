"""Every metric equals its plain twin on random tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from examples import examples
from naive import metrics as naive
from recoding.small_tables import SmallTable, small_tables
from sfumato.classes.statistics import SensitiveCounts
from sfumato.metrics import (
    attribute_penalties,
    average_class_size,
    certainty_penalty,
    changed_cells,
    classification_metric,
    discernibility,
    entropy_loss,
    iloss,
    loss_metric,
    minimal_distortion,
    normalized_certainty_penalty,
    normalized_entropy,
    precision,
    utility,
)
from sfumato.metrics.losses import squared_error
from sfumato.recoding import Recoding
from sfumato.table.schema import Kind


@given(small_tables())
@examples(60)
def test_losses_by_the_tree(small: SmallTable) -> None:
    table, twins = small.recoded(), small.twins()

    assert certainty_penalty(table) == pytest.approx(naive.ncp(twins, small.classes))
    assert normalized_certainty_penalty(table) == pytest.approx(naive.gcp(twins, small.classes))
    assert utility(table) == pytest.approx(naive.utility(twins, small.classes))
    assert iloss(table) == pytest.approx(naive.iloss(twins, small.classes))
    assert loss_metric(table) == pytest.approx(naive.lm(twins, small.classes))
    sums = naive.attribute_losses(naive.ncp_cell, twins, small.classes)
    assert attribute_penalties(table) == pytest.approx({name: loss / table.height for name, loss in sums.items()})


@given(small_tables())
@examples(60)
def test_losses_by_value_sets(small: SmallTable) -> None:
    table, twins = small.recoded(), small.twins()

    assert certainty_penalty(table, "set") == pytest.approx(naive.ncp(twins, small.classes, "set"))
    assert iloss(table, "set") == pytest.approx(naive.iloss(twins, small.classes, "set"))
    assert loss_metric(table, "set") == pytest.approx(naive.lm(twins, small.classes, "set"))


@given(small_tables(names=("age", "zone")))
@examples(30)
def test_sets_of_an_attribute_with_a_hierarchy_lose_by_its_tree(small: SmallTable) -> None:
    table = small.recoded(Recoding(forms={"zone": "set"}, ends="tight"))  # type: ignore[arg-type,dict-item]

    assert certainty_penalty(table) == pytest.approx(naive.ncp(small.twins(), small.classes))
    assert certainty_penalty(table, "tree") == certainty_penalty(table)
    assert precision(table) == pytest.approx(naive.prec(small.twins(), small.classes))


@given(small_tables(names=("age", "income", "born")))
@examples(30)
def test_means_lose_as_much_as_the_ranges_of_their_classes(small: SmallTable) -> None:
    means, ranges = small.recoded(Recoding(numeric="mean", ends="tight")), small.recoded()  # type: ignore[arg-type]

    for metric in (certainty_penalty, iloss, loss_metric, entropy_loss, precision, minimal_distortion, squared_error):
        assert metric(means) == pytest.approx(metric(ranges)), metric.__name__


@given(small_tables())
@examples(40)
def test_sizes_and_changed_cells(small: SmallTable) -> None:
    table, twins = small.recoded(), small.twins()

    for k in (1, 2, 3):
        assert discernibility(table, k) == naive.dm(small.classes, table.height, k)
        assert average_class_size(table, k) == pytest.approx(naive.c_avg(small.classes, k))
    changed = {name: sum(counts) for name, counts in naive.md(twins, small.classes).items()}
    assert changed_cells(table) == changed
    assert minimal_distortion(table) == sum(changed.values())
    assert precision(table) == pytest.approx(naive.prec(twins, small.classes))


@given(small_tables())
@examples(40)
def test_entropy(small: SmallTable) -> None:
    table, twins = small.recoded(), small.twins()

    assert entropy_loss(table) == pytest.approx(naive.entropy_loss(twins, small.classes), abs=1e-9)
    assert normalized_entropy(table) == pytest.approx(naive.normalized_entropy(twins, small.classes), abs=1e-9)


@given(small_tables(names=("age", "income"), missing=False))
@examples(40)
def test_squared_error(small: SmallTable) -> None:
    varying = {name: column for name, column in small.columns.items() if len(set(column)) > 1}

    expected = naive.sse_sst(varying, small.classes) if varying else 0.0

    assert squared_error(small.recoded()) == pytest.approx(expected, abs=1e-9)


@given(small_tables(names=("word", "zone"), missing=False))
@examples(40)
def test_classification(small: SmallTable) -> None:
    labels = small.columns["word"]

    measured = classification_metric(small.recoded(), counts_of(labels, small.classes))

    assert measured == pytest.approx(naive.cm(labels, small.classes))


def counts_of(labels: list[str], classes: list[list[int]]) -> SensitiveCounts:
    values = sorted(set(labels))
    counted = [[sum(labels[index] == value for index in records) for value in values] for records in classes]
    present = [[(value, count) for value, count in enumerate(row) if count] for row in counted]
    starts = np.cumsum([0, *map(len, present)], dtype=np.int64)
    flat = np.array([pair for row in present for pair in row])
    totals = np.array(counted).sum(axis=0)
    return SensitiveCounts("word", Kind.CATEGORICAL, starts, flat[:, 0].astype(np.int32), flat[:, 1], totals)
