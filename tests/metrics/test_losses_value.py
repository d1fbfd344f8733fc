"""The value that holds all losses, the dictionary of metrics, and what they refuse."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest

from recoding.small_tables import ZONES, SmallTable, attributes_of
from sfumato.classes.partition import Form, GeneralizedTable, Partition
from sfumato.errors import InputError, PolicyError
from sfumato.metrics import METRICS, certainty_penalty, measure_losses
from sfumato.metrics.losses import squared_error
from sfumato.recoding import Recoding, publish, recode
from sfumato.recoding.parsing import generalize_published

COLUMNS = {"age": [3, 10, 25, 26], "zone": ["n1", "n2", "sea", None], "word": ["a", "1", "a", "1"]}


def small(class_of: list[int], columns: dict | None = None) -> SmallTable:
    chosen = columns or COLUMNS
    return SmallTable(chosen, class_of, attributes_of(list(chosen), ZONES), ZONES)


def suppressed() -> GeneralizedTable:
    everything = small([0, 0, 0, 0]).encoded()
    return recode(everything, Partition(np.full(4, -1, dtype=np.int32), 0))


def test_the_fully_suppressed_table_loses_everything() -> None:
    losses = measure_losses(suppressed(), 2)

    assert losses.normalized_ncp == losses.entropy == 1.0
    assert losses.utility == losses.precision == 0.0
    assert losses.squared_error == pytest.approx(100.0)
    assert losses.discernibility == 16
    assert losses.minimal_distortion == 12
    assert losses.loss_metric == 12.0
    assert losses.iloss == pytest.approx(4 * (3 / 4 + 5 / 6 + 1 / 2))
    assert losses.average_class_size == math.inf


def test_the_original_table_loses_nothing() -> None:
    losses = measure_losses(small([0, 1, 2, 3]).recoded(), 1)

    assert losses.normalized_ncp == losses.entropy == losses.iloss == losses.loss_metric == 0.0
    assert losses.squared_error == 0.0
    assert losses.minimal_distortion == 0
    assert losses.discernibility == 4
    assert losses.precision == losses.utility == 1.0


def test_it_prints_every_figure_and_attribute() -> None:
    text = str(measure_losses(small([0, 0, 1, -1]).recoded(), 2))

    for word in (
        "4 records in 2 classes, 1 suppressed",
        "NCP",
        "DM",
        "C_avg",
        "ILoss",
        "Prec",
        "SSE/SST",
        "age",
        "zone",
        "word",
    ):
        assert word in text


def test_lines_keep_only_the_digits_asked_for_and_counts_stay_whole() -> None:
    losses = dataclasses.replace(measure_losses(small([0, 0, 1, -1]).recoded(), 2), discernibility=12345)
    text = "\n".join(losses.lines(2))

    assert re.search(r"NCP\) +55%, utility 45%", text)
    assert re.search(r"DM\) +12,345 of at most 16$", text, re.MULTILINE)
    assert not re.search(r"\de[+-]\d", str(dataclasses.replace(losses, iloss=1e9, squared_error=100.0)))


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_takes_a_table_alone_and_agrees_with_the_losses(name: str) -> None:
    table = small([0, 0, 1, 1]).recoded()
    losses = measure_losses(table, 1)
    fields = {"lm": "loss_metric", "squared-error": "squared_error"}

    assert METRICS[name](table) == pytest.approx(getattr(losses, fields.get(name, name.replace("-", "_"))), rel=1e-12)


def test_rules_that_do_not_fit_are_refused() -> None:
    table = small([0, 0, 1, 1]).recoded()
    with pytest.raises(PolicyError, match="'word' has no hierarchy"):
        measure_losses(table, 2, rule="tree")
    with pytest.raises(PolicyError, match="'auto', 'tree' or 'set'"):
        certainty_penalty(table, "leaves")  # type: ignore[arg-type]


def test_what_needs_the_original_records_is_refused_for_published_frames() -> None:
    table = small([0, 0, 1, 1])
    frame = publish(table.recoded(), table.table, np.arange(4))
    back = generalize_published(frame, table.encoded())

    assert measure_losses(back, 2).squared_error is None
    with pytest.raises(InputError, match="shuffled"):
        squared_error(back)
    with pytest.raises(InputError, match="published ancestors do not show"):
        certainty_penalty(back, "set")


def test_published_means_do_not_show_what_they_lost() -> None:
    table, means = small([0, 0, 1, 1]), Recoding(numeric=Form.MEAN)
    frame = publish(table.recoded(means), table.table, np.arange(4))
    back = generalize_published(frame, table.encoded(), means)

    with pytest.raises(InputError, match="'age' is published as class means"):
        measure_losses(back, 2)


def test_squared_error_needs_a_number() -> None:
    words = small([0, 0], {"word": ["a", "1"]}).recoded()
    assert measure_losses(words, 2).squared_error is None
    with pytest.raises(InputError, match="there is none"):
        squared_error(words)


def test_constant_and_empty_columns_lose_only_by_suppression() -> None:
    columns = {"age": [3, 3, 3], "born": [None, None, None]}
    losses = measure_losses(small([0, 0, -1], columns).recoded(), 2)

    assert dict(losses.attribute_ncp) == pytest.approx({"age": 1 / 3, "born": 1 / 3})
    assert losses.entropy == 0.0
    assert losses.squared_error == 0.0
