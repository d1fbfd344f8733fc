"""What count tables say together: every combination that they allow, and how many records it is expected to have."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.marginals.fitting import fit
from sfumato.errors import InputError
from sfumato.published.bucketized import COUNT
from sfumato.published.checks.marginals.structure import ordered_sets
from sfumato.published.marginal import MarginalTables
from sfumato.table.exact_names import columns_of, exactly

MOST_ROWS = 5_000_000
WEIGHT = "expected"
_ROW = "row of table {}"


def inferred_joint(published: MarginalTables, *, most: int = MOST_ROWS) -> pl.DataFrame:
    """Return the joint distribution of largest entropy, over the combinations that all tables allow.

    That is what an attacker concludes who takes what is not published for independent.

    Parameters
    ----------
    published
        Count tables that agree on what they share.
    most
        Combinations at most.

    Returns
    -------
    polars.DataFrame
        All attributes, and ``expected``: records that a combination is expected to have.

    Raises
    ------
    InputError
        When there are more combinations than `most`, or the tables contradict each other.
    """
    joined: pl.DataFrame | None = None
    for place in ordered_sets(published.columns):
        frame = published.marginals[place].drop(COUNT).with_row_index(_ROW.format(place))
        joined = frame if joined is None else _join(joined, frame, most)
    assert joined is not None
    cells = [joined[_ROW.format(place)].to_numpy() for place in range(len(published.columns))]
    fitted = fit(cells, [frame[COUNT].cast(pl.Float64).to_numpy() for frame in published.marginals])
    if not fitted.converged:
        raise InputError("marginal tables: their counts contradict each other")
    names = [name for name in joined.columns if not name.startswith("row of table")]
    return columns_of(joined, names).with_columns(pl.Series(WEIGHT, fitted.weights))


def _join(joined: pl.DataFrame, frame: pl.DataFrame, most: int) -> pl.DataFrame:
    shared = [name for name in frame.columns if name in joined.columns]
    size = int(np.dot(*_matches(joined, frame, shared))) if shared else joined.height * frame.height
    if size > most:
        raise InputError(f"marginal tables: together they allow {size:,} combinations, more than {most:,}")
    if not shared:
        return joined.join(frame, how="cross")
    return joined.join(frame, on=exactly(*shared), nulls_equal=True)


def _matches(
    joined: pl.DataFrame, frame: pl.DataFrame, shared: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many rows of either have each combination of what both share."""
    one, other = (each.group_by(exactly(*shared)).len(name) for each, name in ((joined, "one"), (frame, "other")))
    both = one.join(other, on=exactly(*shared), nulls_equal=True)
    return both["one"].cast(pl.Int64).to_numpy(), both["other"].cast(pl.Int64).to_numpy()
