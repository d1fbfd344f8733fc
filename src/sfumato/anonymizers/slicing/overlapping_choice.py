"""Which overlapping columns a table is sliced into, so that its records as one bucket keep the models."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import polars as pl

from sfumato.anonymizers.slicing.joined_cuts import code_frame
from sfumato.anonymizers.slicing.overlapping_columns import OverlappingColumns, without_nested
from sfumato.errors import UnsatisfiableError
from sfumato.kernels.predicates import SLACK
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import says, speak_of
from sfumato.published.checks.slices.joined import joined_shares, linked_columns
from sfumato.published.checks.slices.sharing import places_of
from sfumato.published.sliced import BUCKET, Columns
from sfumato.table.encoding import EncodedTable
from sfumato.table.exact_names import exactly

Problems = Callable[[Columns], list[str]]
"""What all records as one bucket break in some columns; empty where every model holds."""


@dataclass(frozen=True)
class OverlappingChoice:
    """Columns that one bucket of all records keeps the models with.

    Attributes
    ----------
    columns : tuple of tuple of str
    copies_dropped : int
        Copies of sensitive attributes that are left out.
    moved : tuple of str
        Attributes that had to leave the column of a sensitive one.
    """

    columns: Columns
    copies_dropped: int = 0
    moved: tuple[str, ...] = ()


def settle_columns(found: OverlappingColumns, sensitive: Collection[str], problems: Problems) -> OverlappingChoice:
    """Take from columns what gives sensitive values away: first copies of these, then what stands beside them.

    What belongs least to its column goes first; beside sensitive attributes, what stands in another column, too, goes
    before what does not. An attribute that is left in no column joins the other column that it belongs to most, or has
    one of its own. Columns that are empty or lie inside others in the end are left out.

    Raises
    ------
    UnsatisfiableError
        When all records as one bucket break a model even with the sensitive attributes alone.
    """
    copies, moved = 0, []
    while broken := problems(found.columns):
        copy = _weakest_copy(found, sensitive)
        if copy is not None:
            found = _taken(found, *copy)
            copies += 1
            continue
        neighbour = _weakest_neighbour(found, sensitive)
        if neighbour is None:
            raise UnsatisfiableError(*broken)
        found = _moved(_taken(found, *neighbour), neighbour[1], sensitive)
        moved.append(neighbour[1])
    return OverlappingChoice(without_nested(found).columns, copies, tuple(moved))


def joined_problems(columns: Columns, table: EncodedTable, models: Collection[PrivacyModel]) -> list[str]:
    """Say for which sensitive attributes that stand in several columns the joined check fails in one bucket."""
    unknown = [attribute.name for attribute in table.sensitive]
    found = []
    for name in unknown:
        if len(linked_columns(columns, unknown, name)) == 1:
            continue
        shares = joined_shares(_in_one_bucket(code_frame(table), columns), columns, unknown, name)
        if shares is None:
            found.append(
                f"overlapping-slicing: columns that share {name!r} go round in a circle, or are too long to join"
            )
        elif float(shares.to_series(-1).max()) > least_bound(models, name) + SLACK:  # type: ignore[arg-type]
            found.append(f"overlapping-slicing: columns joined on {name!r} give its values away")
    return found


def least_bound(models: Collection[PrivacyModel], attribute: str) -> float:
    """Return the largest share of a value of a sensitive attribute that every model admits."""
    bounds = (says(model).allowed_guess(attribute) for model in speak_of("joins", list(models)))
    return min((bound for bound in bounds if bound is not None), default=1.0)


def _in_one_bucket(frame: pl.DataFrame, columns: Columns) -> list[pl.DataFrame]:
    """Return a frame for each column with ``bucket``."""
    bucket = pl.lit(0, pl.Int64).alias(BUCKET)
    return [frame.select(bucket, exactly(*column)) for column in columns]


def _weakest_copy(found: OverlappingColumns, sensitive: Collection[str]) -> tuple[int, str] | None:
    copies = [
        (found.degrees[place][name], place, name)
        for name in sorted(sensitive)
        if len(places_of(found.columns, name)) > 1
        for place in places_of(found.columns, name)
    ]
    return min(copies)[1:] if copies else None


def _weakest_neighbour(found: OverlappingColumns, sensitive: Collection[str]) -> tuple[int, str] | None:
    neighbours = [
        (len(places_of(found.columns, name)) == 1, found.degrees[place][name], place, name)
        for place, column in enumerate(found.columns)
        if set(column) & set(sensitive)
        for name in column
        if name not in sensitive
    ]
    return min(neighbours)[2:] if neighbours else None


def _taken(found: OverlappingColumns, place: int, name: str) -> OverlappingColumns:
    left = tuple(other for other in found.columns[place] if other != name)
    return OverlappingColumns((*found.columns[:place], left, *found.columns[place + 1 :]), found.degrees)


def _moved(found: OverlappingColumns, name: str, sensitive: Collection[str]) -> OverlappingColumns:
    """Give an attribute that stands in no column another one."""
    if places_of(found.columns, name):
        return found
    open_places = [place for place, column in enumerate(found.columns) if not set(column) & set(sensitive)]
    if not open_places:
        return OverlappingColumns((*found.columns, (name,)), (*found.degrees, {**found.degrees[0], name: 1.0}))
    best = max(open_places, key=lambda place: found.degrees[place][name])
    grown = (*found.columns[best], name)
    return OverlappingColumns((*found.columns[:best], grown, *found.columns[best + 1 :]), found.degrees)
