"""Rows of the small mixed tables, in the order of the distinct records, as the clustering twins read them."""

from __future__ import annotations

from collections.abc import Sequence

from anonymizers.clustering.clustering_tables import PATHS, Row, encoded, problem
from naive.mixed import Category, Kind, Number, Tree, sort_key
from sfumato.anonymizers.clustering.distinct import Distance, DistinctRecords, collapse_records
from sfumato.anonymizers.feasibility import feasible
from sfumato.models import KAnonymity


def laid_out(data: Sequence[Row], k: int, distance: Distance) -> tuple[DistinctRecords, list[Row], list[Kind]]:
    """Return the distinct records, the rows of all records in their order, and the attributes.

    Colours become the texts of their codes: these number plain categories by frequency, the twins sort texts.
    """
    table = encoded(data)
    (start,) = feasible(problem(table, KAnonymity(k)))
    records = collapse_records(start, distance)
    missing = table.attributes[2].size
    codes = table.codes[:, 2].tolist()
    colours = [None if code == missing else str(code) for code in codes]
    rows = [(*data[row][:2], colours[row]) for row in records.rows]
    low, width = table.attributes[0].domain_low, table.attributes[0].domain_width
    return (
        records,
        rows,
        [Number(low, low + width), Tree(list(PATHS.values())), Category(sorted(set(colours), key=sort_key))],
    )


def members(class_of: Sequence[int]) -> list[list[int]]:
    """Rows of every class, classes by their lowest row."""
    classes: dict[int, list[int]] = {}
    for row, number in enumerate(class_of):
        classes.setdefault(int(number), []).append(row)
    return sorted(classes.values())


def contents(rows: Sequence[object], class_of: Sequence[int]) -> list[list[str]]:
    """What the classes consist of, whatever row has which number."""
    return sorted(sorted(repr(rows[row]) for row in one) for one in members(class_of))
