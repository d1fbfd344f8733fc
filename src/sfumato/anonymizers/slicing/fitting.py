"""What tables, options and models of slicing, overlapping or not, must fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.anonymizers.slicing.partitioning import BucketPartition
from sfumato.errors import PolicyError
from sfumato.models import promisable
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import says
from sfumato.published import SlicedTable
from sfumato.published.sliced import Columns
from sfumato.table.encoding import EncodedTable

MOST_COLUMNS = 5
"""Columns where the number is not said."""


def as_column(column: object) -> tuple[str, ...]:
    """Settle one column of a list as a tuple; what is no column becomes an empty one."""
    return tuple(column) if isinstance(column, (list, tuple)) else ()


def usual_columns(attributes: int) -> int:
    """Return how many columns there are where nobody says so."""
    return min(MOST_COLUMNS, max(2, (attributes + 1) // 2), attributes)


def whole(value: object, least: int) -> bool:
    """Tell whether an option is a whole number, `least` or above."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def column_problems(what: str, columns: int | Columns | None, table: EncodedTable) -> Iterator[str]:
    """Say what does not fit between listed columns (or their number) and a table."""
    sensitive = [attribute.name for attribute in table.sensitive]
    known = [*(attribute.name for attribute in table.attributes), *sensitive]
    if not sensitive:
        yield f"{what}: needs a sensitive column, whose values are to be protected; give one that role"
    reserved = SlicedTable.whole_numbers
    yield from (
        f"{what}: publishes a column {name!r} of its own; rename that of the table"
        for name in known
        if name in reserved
    )
    if isinstance(columns, tuple):
        listed = [name for column in columns for name in column]
        for name in listed:
            if name not in known:
                yield f"{what}: columns name {name!r}, which is no quasi-identifying or sensitive attribute"
        for name in known:
            if name not in listed:
                yield f"{what}: columns do not hold {name!r}; every attribute stands in one of them"
    elif columns is not None and columns > len(known):
        yield f"{what}: {columns} columns are more than there are attributes ({len(known)}); ask for fewer"


def model_problems(what: str, advice: str, table: EncodedTable, models: Sequence[PrivacyModel]) -> Iterator[str]:
    """Say which models cannot be promised, with `advice` at the end, or do not fit the sensitive columns."""
    names = [attribute.name for attribute in table.sensitive]
    for model in models:
        if "slices" not in says(model).speaks_of:
            yield (
                f"{model.name}: a sliced table has no equivalence classes, and cannot promise it; {what} can promise "
                f"{' and '.join(promisable('slices'))}{advice}"
            )
            continue
        try:
            model.rules(names)
        except PolicyError as error:
            # What is missing is said once, for all models.
            yield from error.problems if names else ()


def single_value_problems(what: str, table: EncodedTable) -> Iterator[str]:
    """Name sensitive attributes that have one value only."""
    for place, attribute in enumerate(table.sensitive):
        codes = table.sensitive_codes[:, place]
        if bool(np.all(codes == codes[0])):
            yield (
                f"{what}: sensitive column {attribute.name!r} has one value only, which everybody has; "
                "nothing can hide it: leave the column out"
            )


def bucket_sizes(buckets: BucketPartition) -> dict[str, float]:
    """Return how many buckets there are and how large, for a report."""
    sizes = np.bincount(buckets.bucket_of)
    return {
        "buckets": buckets.count,
        "smallest_bucket": int(sizes.min()),
        "mean_bucket": float(sizes.mean()),
        "largest_bucket": int(sizes.max()),
    }
