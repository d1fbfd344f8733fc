"""Worked examples of the papers, to the printed digit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from sfumato.classes.partition import Form, GeneralizedTable, Partition
from sfumato.hierarchy import HierarchyTable
from sfumato.metrics import (
    average_class_size,
    certainty_penalty,
    changed_cells,
    discernibility,
    iloss,
    loss_metric,
    measure_losses,
    minimal_distortion,
    normalized_certainty_penalty,
    precision,
    utility,
)
from sfumato.metrics.losses import squared_error
from sfumato.recoding import TIGHT, Recoding, recode
from sfumato.recoding.parsing import generalize_published
from sfumato.table.encoding import encode
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table


def table_of(columns: dict[str, list], attributes: dict[str, Attribute] | None = None) -> Table:
    given = {name: (attributes or {}).get(name, Attribute()) for name in columns}
    text = {name for name, values in columns.items() if isinstance(values[0], str)}
    frame = pl.DataFrame({n: pl.Series(v, dtype=pl.Categorical if n in text else None) for n, v in columns.items()})
    kinds = {name: Kind.CATEGORICAL if name in text else Kind.NUMERIC for name in columns}
    return Table(frame, Schema(quasi_identifying=given), kinds)


def recoded(table: Table, class_of: Sequence[int], recoding: Recoding | None = None) -> GeneralizedTable:
    return recode(encode(table), Partition(np.array(class_of, dtype=np.int32), max(class_of) + 1), recoding or TIGHT)


def labels_of(table: GeneralizedTable) -> list[tuple[str | None, ...]]:
    return list(zip(*(column.labels.gather(column.per_class).to_list() for column in table.columns), strict=True))


# The thesis's tables 2-2 to 2-5: original and published values with how often they occur.
ORIGINAL = [("A", "X", 1), ("A", "Y", 11), ("B", "X", 7), ("B", "Y", 4), ("B", "Z", 5), ("C", "X", 20), ("C", "Y", 35)]
ORIGINAL += [("D", "Y", 21)]
GLOBAL = [("A", "{X|Y}", 12), ("B", "{X|Y}", 11), ("B", "Z", 5), ("C", "{X|Y}", 55), ("D", "{X|Y}", 21)]
MULTIDIMENSIONAL = [
    ("A", "{X|Y}", 12),
    ("B", "{X|Y}", 11),
    ("B", "Z", 5),
    ("C", "X", 20),
    ("C", "Y", 35),
    ("D", "Y", 21),
]
LOCAL = [("A", "{X|Y}", 5), ("A", "Y", 7), ("B", "X", 6), ("B", "{X|Y}", 5), ("B", "Z", 5), *MULTIDIMENSIONAL[3:]]


@pytest.mark.parametrize(
    ("rows", "dm", "c_avg", "total", "normalized"),
    [
        (GLOBAL, 3756, 4.16, 66, 0.31731),
        (MULTIDIMENSIONAL, 2356, 3.4667, 15.333, 0.073718),
        (LOCAL, 2226, 2.6, 6.6667, 0.032051),
    ],
)
def test_the_three_recodings_of_the_thesis(
    rows: list[tuple[str, str, int]], dm: int, c_avg: float, total: float, normalized: float
) -> None:
    def expanded(counted: list[tuple[str, str, int]]) -> dict[str, list]:
        pairs = [(first, second) for first, second, count in counted for _ in range(count)]
        return {"first": [pair[0] for pair in pairs], "second": [pair[1] for pair in pairs]}

    published = generalize_published(pl.DataFrame(expanded(rows)), encode(table_of(expanded(ORIGINAL))))

    assert sorted(published.sizes.tolist()) == sorted(count for _, _, count in rows)
    assert discernibility(published, 5) == dm
    assert round(average_class_size(published, 5), 4) == c_avg
    assert certainty_penalty(published) == pytest.approx(total, abs=5e-4)
    assert round(normalized_certainty_penalty(published), 6) == pytest.approx(normalized, abs=5e-6)


PEOPLE = {"age": [25, 35, 40, 65], "sex": ["M", "M", "F", "F"], "zip": ["1", "1", "1", "1"]}


def test_the_suppressed_person_of_the_thesis() -> None:
    table = recoded(table_of(PEOPLE, {"age": Attribute(domain=(10, 100))}), [0, 0, 0, -1])

    losses = measure_losses(table, 3)

    assert losses.ncp == pytest.approx(3 * (15 / 90 + 1) + 3)
    assert losses.ncp == pytest.approx(6.5)
    assert round(losses.normalized_ncp, 7) == 0.5416667
    assert round(losses.utility, 7) == 0.4583333
    assert utility(table) == losses.utility
    assert losses.discernibility == 13
    assert losses.minimal_distortion == 9
    assert dict(losses.changed) == {"age": 4, "sex": 4, "zip": 1}


def test_without_a_declared_domain_the_data_gives_the_width() -> None:
    table = recoded(table_of(PEOPLE), [0, 0, 0, -1])

    assert certainty_penalty(table) == pytest.approx(3 * 1.375 + 3)


def test_ten_people_whose_sex_is_generalized() -> None:
    tree = HierarchyTable((("Male", "People"), ("Female", "People")))
    sexes = ["Male", "Female"] * 5
    table = recoded(table_of({"sex": sexes}, {"sex": Attribute(hierarchy=tree)}), [0] * 10)

    assert minimal_distortion(table) == 10
    assert changed_cells(table) == {"sex": 10}
    assert precision(table) == 0.0


@pytest.mark.parametrize(
    ("values", "ncp", "ill", "lm"), [(["a", "c"], 0.6, 0.4, 0.5), (["a", "a"], 0, 0, 0), (["a", "e"], 1, 0.8, 1)]
)
def test_three_metrics_of_a_node_with_three_of_five_leaves(
    values: list[str], ncp: float, ill: float, lm: float
) -> None:
    rows = tuple((leaf, "abc" if leaf in "abc" else "de", "any") for leaf in "abcde")
    table = recoded(table_of({"x": values}, {"x": Attribute(hierarchy=HierarchyTable(rows[:5]))}), [0, 0])

    assert certainty_penalty(table) / 2 == pytest.approx(ncp)
    assert iloss(table) / 2 == pytest.approx(ill)
    assert loss_metric(table) / 2 == pytest.approx(lm)


def test_the_mondrian_partition_of_the_thesis() -> None:
    columns = {
        "zip": [23111, 23112, 23111, 23110, 23112, 23111],
        "gender": ["F", "M", "F", "F", "M", "F"],
        "age": [35, 35, 36, 37, 37, 38],
    }
    table = recoded(table_of(columns), [0, 2, 0, 1, 2, 1])

    assert labels_of(table) == [
        ("23111", "F", "[35..36]"),
        ("[23110..23111]", "F", "[37..38]"),
        ("23112", "M", "[35..37]"),
    ]
    assert round(normalized_certainty_penalty(table), 6) == 0.203704
    assert discernibility(table, 2) == 12


PLAYERS = {"height": [176, 177, 169, 170, 188, 183, 180], "weight": [70, 71, 64, 63, 80, 78, 77]}
MEANS = Recoding(numeric=Form.MEAN)


def test_the_cluster_means_of_the_soccer_players() -> None:
    table = recoded(table_of(PLAYERS), [0, 0, 1, 1, 2, 2, 0], MEANS)

    assert labels_of(table) == [("177.6667", "72.6667"), ("169.5", "63.5"), ("185.5", "79")]
    assert discernibility(table, 2) == 17
    assert normalized_certainty_penalty(table) == pytest.approx((3 * 4 + 2 * 1 + 2 * 5) / (14 * 19) + 27 / (14 * 17))


def test_the_same_players_with_the_seventh_among_the_tallest() -> None:
    # The digits printed for the partition above belong to this one.
    table = recoded(table_of(PLAYERS), [0, 0, 1, 1, 2, 2, 2], MEANS)

    assert round(normalized_certainty_penalty(table), 7) == 0.1598850
    assert discernibility(table, 2) == 17


def test_the_merged_cluster_of_the_soccer_players() -> None:
    table = recoded(table_of(PLAYERS), [0, 0, 0, 0, 1, 1, 1], MEANS)

    assert labels_of(table)[1] == ("183.6667", "78.3333")
    assert discernibility(table, 2) == 25


def test_squared_error_of_two_pairs() -> None:
    # Means 1 and 9, mean of all 5: within the pairs 1 + 1 + 1 + 1, in all 25 + 9 + 9 + 25.
    table = recoded(table_of({"x": [0, 2, 8, 10]}), [0, 0, 1, 1])

    assert squared_error(table) == pytest.approx(100 * 4 / 68)
