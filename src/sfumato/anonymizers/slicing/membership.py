"""What a sliced table discloses of records and people: their sensitive values, and whether they are in it at all.

Membership is told from matching buckets of records against those of people who might have been in the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.models.protocol import shares
from sfumato.progress import Progress, silent
from sfumato.published.apart import Columns
from sfumato.published.checks.slice_layout import SliceLayout, matching_cost, measure_vectors, number_rows, slice_index
from sfumato.randomness import another, permutation
from sfumato.table.encoding import EncodedTable

_FAKES = 10_000

_MOST_LOOKED_AT = 1 << 28

_NORMAL_95 = 1.959963984540054

_MOST_DISCLOSED = 1 << 29
"""Pairs of a record and a bucket that are looked at at most; beyond, records are drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class SliceDisclosure:
    """Identity and attribute disclosure of a sliced table: records, and matching buckets, of each combination.

    `measures`: float64 (V,) for each rule: highest share of a sensitive value, or distance to the whole table.
    `complete`: whether all records were looked at, or some, drawn at random.
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
    most: int = _MOST_DISCLOSED,
) -> SliceDisclosure:
    """Measure what each record has to fear, over all buckets that match it; beyond `most` pairs some are drawn."""
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


@dataclass(frozen=True, eq=False, repr=False)
class _MembershipDisclosure:
    """How well records are told from fakes by numbers of matching buckets; `auc` .5 is guessing, (0, 1) unknown."""

    originals: NDArray[np.int64]
    fakes: NDArray[np.int64]
    auc: float
    interval: tuple[float, float]

    @property
    def figures(self) -> dict[str, float]:
        """Summaries, for a report."""
        figures = {"mean_matching_buckets": float(self.originals.mean()), "fakes": float(len(self.fakes))}
        if len(self.fakes):
            figures["mean_matching_buckets_of_fakes"] = float(self.fakes.mean())
            figures["membership_auc"] = self.auc
            figures["membership_auc_low"], figures["membership_auc_high"] = self.interval
        return figures


def membership_disclosure(
    layout: SliceLayout,
    table: EncodedTable,
    columns: Columns,
    bucket_of: NDArray[np.int64],
    count: int,
    *,
    seed: int | None = None,
    most: int = _FAKES,
) -> _MembershipDisclosure:
    """Compare records with fakes: people whose values can be put together from a bucket, and who are in no record.

    The attacker knows quasi-identifying values, and says "in the table" the sooner the more buckets match. A fake takes
    a row of a random record's bucket for one column after the other, among those that agree with what is there; `auc`
    is 0.5 where none is drawn. Cost O(most · w · n log n) at worst. *Source.* Li, Li, Zhang, Molloy, TKDE 2012, who
    compare the two distributions; the AUC and its interval (DeLong 1988) are ours.
    """
    index = slice_index(layout.arrays, bucket_of, count, layout.part_sizes)
    drawn = permutation(table.height, another(seed, 0))[:most]
    fakes = _fakes(layout, table, columns, bucket_of, seed, most)
    vectors = np.concatenate([layout.vectors[layout.vector_of[drawn]], fakes])
    affordable = np.cumsum(matching_cost(index, vectors)) <= _MOST_LOOKED_AT
    if not affordable.all():
        share = max(1, int(most * affordable.mean() / 2))
        return membership_disclosure(layout, table, columns, bucket_of, count, seed=seed, most=share)
    matches = measure_vectors(index, vectors).matches
    originals, of_fakes = matches[: len(drawn)], matches[len(drawn) :]
    auc, interval = area_under_curve(originals, of_fakes)
    return _MembershipDisclosure(originals, of_fakes, auc, interval)


def area_under_curve(higher: NDArray[np.int64], lower: NDArray[np.int64]) -> tuple[float, tuple[float, float]]:
    """Return how often a score of `higher` is above one of `lower`, ties counted half, and 95% around it.

    The interval is DeLong's on the logit scale, so that it stays between 0 and 1; where all pairs agree it is one of
    the Wilson kind for the smaller of both numbers. Cost O(m log m) for m scores.
    """
    if not len(higher) or not len(lower):
        return 0.5, (0.0, 1.0)
    above = _placements(higher, lower)
    area = float(above.mean())
    fewer = min(len(higher), len(lower))
    if fewer < 2:
        return area, (0.0, 1.0)
    below = 1.0 - _placements(lower, higher)
    spread = math.sqrt(above.var(ddof=1) / len(above) + below.var(ddof=1) / len(below))
    if spread == 0 or not 0 < area < 1:
        margin = _NORMAL_95**2 / (fewer + _NORMAL_95**2)
        return area, (max(0.0, area - margin), min(1.0, area + margin))
    logit, width = math.log(area / (1 - area)), _NORMAL_95 * spread / (area * (1 - area))
    return area, (_expit(logit - width), _expit(logit + width))


def _placements(scores: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each score the share of others below it, those that are equal counted half."""
    ordered = np.sort(others)
    below, up_to = np.searchsorted(ordered, scores, side="left"), np.searchsorted(ordered, scores, side="right")
    placed: NDArray[np.float64] = (below + up_to) / (2.0 * len(others))
    return placed


def _expit(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0


def _fakes(
    layout: SliceLayout,
    table: EncodedTable,
    columns: Columns,
    bucket_of: NDArray[np.int64],
    seed: int | None,
    most: int,
) -> NDArray[np.int32]:
    """Draw vectors of parts that no record has; int32 (f, w), f at most `most`."""
    combined = _combinations(layout, table, columns, bucket_of, seed, most)
    height = len(layout.vectors)
    numbers = number_rows(np.concatenate([layout.vectors, combined]))
    return combined[~np.isin(numbers[height:], numbers[:height])]


def _combinations(
    layout: SliceLayout,
    table: EncodedTable,
    columns: Columns,
    bucket_of: NDArray[np.int64],
    seed: int | None,
    most: int,
) -> NDArray[np.int32]:
    """Draw vectors of parts that the columns of a bucket make up; those that cannot be finished are left out."""
    place_of = {attribute.name: place for place, attribute in enumerate(table.attributes)}
    held = [[place_of[name] for name in column if name in place_of] for column in columns]
    buckets = bucket_of[permutation(len(bucket_of), another(seed, 1))[:most]]
    values = np.zeros((len(buckets), len(table.attributes)), dtype=np.int64)
    parts = np.zeros((len(buckets), layout.arrays.parts.shape[1]), dtype=np.int32)
    possible = np.ones(len(buckets), dtype=np.bool_)
    past: set[int] = set()
    for column, own in enumerate(own for own in held if own):
        known = sorted(past & set(own))
        rows, found = _drawn_rows(
            np.column_stack([bucket_of, table.codes[:, known]]),
            np.column_stack([buckets, values[:, known]]),
            another(seed, 2 + column),
        )
        possible &= found
        values[:, own] = table.codes[rows][:, own]
        parts[:, column] = layout.arrays.parts[rows, column]
        past.update(own)
    return parts[possible]


def _drawn_rows(
    keys: NDArray[np.int64], counts: NDArray[np.int64], seed: int | None
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Draw for each wanted key a row that has it, and tell which have any."""
    numbers = number_rows(np.concatenate([keys, counts]))
    own, asked = numbers[: len(keys)], numbers[len(keys) :]
    shuffled = permutation(len(keys), seed)
    order = shuffled[np.argsort(own[shuffled], kind="stable")]
    first = np.searchsorted(own[order], asked, side="left")
    size = np.searchsorted(own[order], asked, side="right") - first
    turn = permutation(len(asked), another(seed, 1)) % np.maximum(size, 1)
    return order[np.minimum(first + turn, len(order) - 1)], size > 0
