"""What count tables say together: the joint distribution of largest entropy that agrees with them.

It is fitted by iterative proportional fitting, over every combination that the tables allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.published import MarginalTables
from sfumato.published.bucketized import COUNT
from sfumato.published.checks.marginals.marginals import ordered_sets
from sfumato.table.exact_names import columns_of, exactly

_Floats = NDArray[np.float64]

_TOLERANCE = 1e-9
"""Largest difference to a count, as a share of all records, at which fitting ends."""

ROUNDS = 10_000

_MOST_ROWS = 5_000_000

_WEIGHT = "expected"

_ROW = "row of table {}"


@dataclass(frozen=True, eq=False, repr=False)
class _FittedTable:
    """What fitting came to.

    `weights`, float64 (m,): expected records of every combination. `rounds`: passes over all tables. `difference`:
    largest difference to a count that is left, as a share of all records.
    """

    weights: _Floats
    rounds: int
    difference: float

    @property
    def converged(self) -> bool:
        """Whether every count is met."""
        return self.difference <= _TOLERANCE


def fit(cells: Sequence[NDArray[np.integer]], counts: Sequence[_Floats], *, rounds: int = ROUNDS) -> _FittedTable:
    """Fit weights of combinations to count tables, one after the other, until all agree.

    Letters: m combinations that can occur, c cells of a table.

    `cells`: for each table, integers (m,): the cell that every combination falls into. `counts`: for each table,
    float64 (c,): its counts, above 0; all tables count the same records. `rounds`: passes after which it gives up.
    Returns: of tables whose sets form no circle after two passes; of others when the tolerance is reached.

    Starts from equal weights, so that the limit has the largest entropy. Cost O(m) for each table and pass; memory
    O(m). *Source.* W. E. Deming, F. F. Stephan, "On a least squares adjustment of a sampled frequency table when the
    expected marginal totals are known", 1940.
    """
    total = float(counts[0].sum())
    weights = np.full(len(cells[0]), total / max(len(cells[0]), 1))
    difference = np.inf
    done = 0
    while done < rounds and difference > _TOLERANCE:
        for cell, count in zip(cells, counts, strict=True):
            held = np.bincount(cell, weights, len(count))
            weights *= np.divide(count, held, out=np.zeros_like(held), where=held > 0)[cell]
        difference = _largest_difference(weights, cells, counts) / total
        done += 1
    return _FittedTable(weights, done, float(difference))


def _largest_difference(weights: _Floats, cells: Sequence[NDArray[np.integer]], counts: Sequence[_Floats]) -> float:
    return max(
        float(np.abs(np.bincount(cell, weights, len(count)) - count).max(initial=0.0))
        for cell, count in zip(cells, counts, strict=True)
    )


def inferred_joint(published: MarginalTables, *, most: int = _MOST_ROWS) -> pl.DataFrame:
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
    return columns_of(joined, names).with_columns(pl.Series(_WEIGHT, fitted.weights))


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
