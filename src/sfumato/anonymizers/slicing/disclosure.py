"""What a sliced table discloses of the records it was made of, for those who have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.models.rule_traits import shares
from sfumato.progress import Progress, silent
from sfumato.published.checks.slices.layout import SliceLayout
from sfumato.published.checks.slices.matching import matching_cost, measure_vectors, slice_index
from sfumato.randomness import permutation

MOST_LOOKED_AT = 1 << 29
"""Pairs of a record and a bucket that are looked at at most; beyond, records are drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class SliceDisclosure:
    """Identity and attribute disclosure of a sliced table.

    Letters: V distinct combinations of values, r rules.

    Attributes
    ----------
    weights : numpy.ndarray
        int64 (V,): records that have each combination.
    matches : numpy.ndarray
        int64 (V,): buckets that match it. One bucket: whoever knows the values knows the bucket.
    measures : mapping of str to numpy.ndarray
        float64 (V,) for each rule: highest share of a sensitive value, or distance to the whole table.
    complete : bool
        Whether all records were looked at, or some of them, drawn at random.
    """

    weights: NDArray[np.int64]
    matches: NDArray[np.int64]
    measures: Mapping[str, NDArray[np.float64]]
    complete: bool

    @property
    def figures(self) -> dict[str, float]:
        """Summaries over records, for a report."""
        total = self.weights.sum()
        return {
            "fewest_matching_buckets": float(self.matches.min()),
            "mean_matching_buckets": float((self.matches * self.weights).sum() / total),
            "records_with_one_matching_bucket": float(self.weights[self.matches == 1].sum() / total),
            **{name: float(values.max()) for name, values in self.measures.items()},
        }


def disclosure_of(
    layout: SliceLayout,
    bucket_of: NDArray[np.int64],
    count: int,
    *,
    seed: int | None = None,
    progress: Progress = silent,
    threads: int = 1,
    most: int = MOST_LOOKED_AT,
) -> SliceDisclosure:
    """Measure what each record has to fear, over all buckets that match it.

    Parameters
    ----------
    layout
        Columns and rules of the original table.
    bucket_of, count
        Bucket of each record.
    seed
        For drawing records; None draws from the operating system.
    progress, threads
        As everywhere.
    most
        Pairs of a combination and a bucket to look at; where that is not enough, combinations are drawn.
    """
    index = slice_index(layout.arrays, bucket_of, count, layout.part_sizes)
    order = permutation(len(layout.vectors), seed)
    affordable = int(np.searchsorted(np.cumsum(matching_cost(index, layout.vectors[order])), most, side="right"))
    chosen = np.sort(order[: max(affordable, 1)])
    measured = measure_vectors(index, layout.vectors[chosen], progress, threads)
    rules = layout.arrays.rules
    measures = {}
    for rule, bounds_share in enumerate(shares(rules)):
        what = "highest_share" if bounds_share else "largest_distance"
        measures[f"{what}_{layout.attributes[rules.attributes[rule]]}"] = measured.values[:, rule]
    return SliceDisclosure(layout.weights[chosen], measured.matches, measures, len(chosen) == len(order))
