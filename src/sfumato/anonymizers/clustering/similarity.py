"""A table as similarity-based clustering sees it: values in order, a tree of prefixes, contingency tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernels.clustering.prefix_tree import Measure, PrefixTree
from sfumato.kernels.clustering.similarity import Chain, distances_from
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.kinds import is_measured
from sfumato.table.schema import Kind

ChainRule = Literal["previous", "all"]
Sort = Literal["values", "random"]
Normalize = Literal["sum", "by-type"]

FEW = 32
"""Distinct records that are looked at one by one: by measurement, of little influence between 16 and 64."""


@dataclass(frozen=True, eq=False, repr=False)
class ValueOrder:
    """The values of one attribute that occur, in the order in which records are sorted.

    Attributes
    ----------
    attribute : EncodedAttribute
    codes : numpy.ndarray
        int64 (v,): code of each value; numbers rising, categories by their text, the missing value last.
    numbers : numpy.ndarray or None
        float64 (v,): the number behind each value, NaN for the missing one; None for categories.
    """

    attribute: EncodedAttribute
    codes: NDArray[np.int64]
    numbers: NDArray[np.float64] | None

    @property
    def width(self) -> float:
        """Largest difference of numbers; 1 where there is none, which nothing is divided by then."""
        if self.numbers is None or not len(present := self.numbers[~np.isnan(self.numbers)]):
            return 1.0
        return float(present.max() - present.min()) or 1.0


@dataclass(frozen=True, eq=False, repr=False)
class SimilarityTable:
    """Everything that the kernel works on. Letters: n records, q attributes.

    Attributes
    ----------
    levels : tuple of ValueOrder
        Categories by rising number of values, then numbers; the declared order among equals.
    order : numpy.ndarray
        int64 (n,): row of the table at each place: the order in which records have their turn.
    tree : PrefixTree
    measure : Measure
    chain : Chain
    """

    levels: tuple[ValueOrder, ...]
    order: NDArray[np.int64]
    tree: PrefixTree
    measure: Measure
    chain: Chain

    @property
    def height(self) -> int:
        """Number of records n."""
        return len(self.order)

    def copy(self) -> SimilarityTable:
        """Return a table whose records can leave while they stay in this one."""
        tree, chain = self.tree, self.chain
        tree = tree._replace(
            alive=tree.alive.copy(), right=tree.right.copy(), left=tree.left.copy(), gone=tree.gone.copy()
        )
        return replace(
            self, tree=tree, chain=chain._replace(counts=chain.counts.copy(), pair_counts=chain.pair_counts.copy())
        )


def similarity_table(
    table: EncodedTable,
    rows: NDArray[np.int64],
    k: int,
    *,
    chain: ChainRule = "previous",
    sort: Sort = "values",
    sort_by: Sequence[str] = (),
    normalize: Normalize = "sum",
    sensitive: NDArray[np.unsignedinteger] | None = None,
    seed: int | None = None,
) -> SimilarityTable:
    """Sort some rows of a table and count them for the first time.

    Parameters
    ----------
    table, rows
        Which rows, int64.
    k
        Fewest records that frequencies are taken from.
    chain, sort, sort_by, normalize
        As in :class:`~sfumato.anonymizers.clustering.sbc.SBC`.
    sensitive
        unsigned (n, s): sensitive codes of all rows of the table that models look at; None: no model does.
    seed
        For the order of equal records, or of all; None draws it from the operating system.

    Notes
    -----
    Cost O(q n log n) time, O(q n) memory. Nothing depends on the order of the input.
    """
    levels = _levels(table, rows)
    if seed is not None and (sensitive is not None or sort == "random"):
        # What is shuffled by a seed must not depend on the order of the input.
        known = () if sensitive is None else sensitive[rows].T
        rows = rows[np.lexsort((*known, *_ranks(levels, table, rows).T[::-1]))]
    shuffled = rows[permutation(len(rows), seed)]
    ranks = _ranks(levels, table, shuffled)
    by_values = np.lexsort(ranks.T[::-1])
    ranks = ranks[by_values]
    # Sorting is stable, so that equal records keep their random order either way.
    listed = np.argsort(by_values) if sort == "random" else _sorted_by(sort_by, levels, ranks)
    places = np.empty(len(rows), dtype=np.int64)
    places[listed] = np.arange(len(rows))
    order = shuffled[by_values[listed]]
    tree = _planted(ranks, places)
    measure = _measure(levels, normalize)
    return SimilarityTable(levels, order, tree, measure, _counted(ranks, tree, measure, k, chain))


def _sorted_by(names: Sequence[str], levels: Sequence[ValueOrder], ranks: NDArray[np.int32]) -> NDArray[np.int64]:
    """Sort records, given in the order of all values, by some attributes first."""
    columns = {level.attribute.name: column for column, level in enumerate(levels)}
    if not names:
        return np.arange(len(ranks))
    order: NDArray[np.int64] = np.lexsort([ranks[:, columns[name]] for name in reversed(names)])
    return order


def value_distances(
    table: EncodedTable, first: int, k: int, *, chain: ChainRule = "previous"
) -> Mapping[str, Mapping[str | None, float]]:
    """Return how far the values of the categorical attributes are from those of one record, all records being left.

    Parameters
    ----------
    table
        Attributes and records.
    first
        Row of the record to measure from, counted from 0.
    k, chain
        As in :func:`similarity_table`.

    Returns
    -------
    Mapping
        For each categorical attribute, in the order of the chain, the distance of each value (None: missing), the most
        similar first.
    """
    laid = similarity_table(table, np.arange(table.height), k, chain=chain, seed=0)
    place = int(np.flatnonzero(laid.order == first)[0])
    distances_from(int(laid.tree.record_at[place]), laid.tree, laid.measure, laid.chain)
    return {
        level.attribute.name: _described(level, laid, place)
        for place, level in enumerate(laid.levels[: laid.measure.categories])
    }


def _described(level: ValueOrder, laid: SimilarityTable, place: int) -> dict[str | None, float]:
    start = int(laid.measure.offsets[place])
    labels = [*level.attribute.labels.to_list(), None]
    similar = laid.chain.order[start : start + int(laid.chain.cards[place])]
    return {labels[level.codes[value - start]]: float(laid.measure.apart[value]) for value in similar}


def _levels(table: EncodedTable, rows: NDArray[np.int64]) -> tuple[ValueOrder, ...]:
    orders = [
        _value_order(attribute, np.unique(table.codes[rows, place]).astype(np.int64))
        for place, attribute in enumerate(table.attributes)
    ]
    categories = [order for order in orders if order.numbers is None]
    numbers = [order for order in orders if order.numbers is not None]
    return (*sorted(categories, key=lambda order: len(order.codes)), *numbers)


def _value_order(attribute: EncodedAttribute, codes: NDArray[np.int64]) -> ValueOrder:
    numbers = numbers_of(attribute)
    present = codes[codes < attribute.size]
    if numbers is None:
        texts = attribute.labels.gather(present).arg_sort().to_numpy()
        return ValueOrder(attribute, np.concatenate([present[texts], codes[len(present) :]]), None)
    present = present[np.argsort(numbers[present], kind="stable")]
    known = np.concatenate([present, codes[len(present) :]])
    return ValueOrder(attribute, known, np.append(numbers, np.nan)[known])


def numbers_of(attribute: EncodedAttribute) -> NDArray[np.float64] | None:
    """Return the number behind each code, float64 (size,), also under a hierarchy; None for categories."""
    if attribute.numbers is not None or not is_measured(attribute.kind):
        return attribute.numbers
    labels = attribute.labels
    if attribute.kind is Kind.DATE:
        numbers = labels.str.to_date(strict=False).to_physical().cast(pl.Float64)
    else:
        numbers = labels.cast(pl.Float64, strict=False)
    return None if numbers.null_count() else numbers.to_numpy()


def _ranks(levels: Sequence[ValueOrder], table: EncodedTable, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the places of the values of some rows in their order, int32 (n, q), attributes by level."""
    places = {attribute.name: place for place, attribute in enumerate(table.attributes)}
    ranks = np.empty((len(rows), len(levels)), dtype=np.int32)
    for column, level in enumerate(levels):
        rank_of = np.zeros(level.attribute.size + 1, dtype=np.int32)
        rank_of[level.codes] = np.arange(len(level.codes))
        ranks[:, column] = rank_of[table.codes[rows, places[level.attribute.name]]]
    return ranks


def _planted(ranks: NDArray[np.int32], places: NDArray[np.int64]) -> PrefixTree:
    """Build the tree of sorted records; `places` is the place of each."""
    height, width = ranks.shape
    differs = np.zeros(height, dtype=np.bool_)
    differs[0] = True
    starts = [np.zeros(1, dtype=np.int64)]
    parents = [np.full(1, -1, dtype=np.int64)]
    above = np.zeros(height, dtype=np.int64)
    base = 1
    firsts = []
    for level in range(width):
        differs[1:] |= ranks[1:, level] != ranks[:-1, level]
        start = np.flatnonzero(differs)
        nodes = base + np.cumsum(differs) - 1
        firsts.append(nodes[starts[-1]])
        parents.append(above[start])
        starts.append(start)
        above, base = nodes, base + len(start)
    ends = [np.append(start[1:], height) for start in starts]
    return PrefixTree(
        few=FEW,
        codes=np.concatenate([[0], *(ranks[start, level] for level, start in enumerate(starts[1:]))]).astype(np.int32),
        first=np.concatenate([*firsts, np.full(len(starts[-1]) + 1, base)]).astype(np.int64),
        parents=np.concatenate(parents).astype(np.int32),
        alive=np.concatenate([end - start for start, end in zip(starts, ends, strict=True)]).astype(np.int64),
        right=np.arange(base + 1, dtype=np.int64),
        left=np.arange(base + 1, dtype=np.int64),
        lowest=np.concatenate([np.minimum.reduceat(places, start) for start in starts]).astype(np.int64),
        leaf_low=np.concatenate([above[start] for start in starts]).astype(np.int32),
        leaf_high=np.concatenate([above[end - 1] + 1 for end in ends]).astype(np.int32),
        values=ranks[starts[-1]],
        starts=np.append(starts[-1], height).astype(np.int64),
        places=places.astype(np.int64),
        gone=np.zeros(len(starts[-1]), dtype=np.int64),
        record_at=_record_at(places, above - (base - len(starts[-1]))),
    )


def _record_at(places: NDArray[np.int64], records: NDArray[np.int64]) -> NDArray[np.int32]:
    record_at = np.empty(len(places), dtype=np.int32)
    record_at[places] = records
    return record_at


def _measure(levels: Sequence[ValueOrder], normalize: Normalize) -> Measure:
    categories = sum(level.numbers is None for level in levels)
    offsets = np.cumsum([0, *(len(level.codes) for level in levels)], dtype=np.int64)
    empty = [np.zeros(len(level.codes)) if level.numbers is None else level.numbers for level in levels]
    alike = [categories if level.numbers is None else len(levels) - categories for level in levels]
    return Measure(
        categories=categories,
        offsets=offsets,
        apart=np.zeros(offsets[-1]),
        numbers=np.concatenate(empty),
        widths=np.array([level.width for level in levels]),
        weights=1.0 / np.array(alike) if normalize == "by-type" else np.ones(len(levels)),
        own=np.zeros(len(levels), dtype=np.int64),
    )


def _counted(ranks: NDArray[np.int32], tree: PrefixTree, measure: Measure, k: int, rule: ChainRule) -> Chain:
    """Count values, and pairs of values of neighbours in the chain."""
    offsets, size = measure.offsets, int(measure.offsets[-1])
    weights, distinct = np.diff(tree.starts), ranks[tree.starts[:-1]]
    pair_of = np.zeros((len(distinct), max(measure.categories, 1)), dtype=np.int32)
    befores, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    counts: list[NDArray[np.number]] = [np.zeros(0, dtype=np.int64)]
    for level in range(1, measure.categories if rule == "previous" else 0):
        wide = offsets[level + 1] - offsets[level]
        pairs, numbers = np.unique(distinct[:, level - 1] * wide + distinct[:, level], return_inverse=True)
        pair_of[:, level] = sum(map(len, befores)) + numbers
        befores.append(offsets[level - 1] + pairs // wide)
        values.append(pairs % wide)
        counts.append(np.bincount(numbers, weights))
    own = [
        np.bincount(ranks[:, level], minlength=offsets[level + 1] - offsets[level]) for level in range(len(offsets) - 1)
    ]
    return Chain(
        all_before=rule == "all",
        k=k,
        counts=np.concatenate(own).astype(np.int64),
        pair_starts=np.searchsorted(np.concatenate(befores), np.arange(size + 1)).astype(np.int64),
        pair_values=np.concatenate(values).astype(np.int32),
        pair_counts=np.concatenate(counts).astype(np.int64),
        pair_of=pair_of,
        order=np.zeros(size, dtype=np.int64),
        cards=np.zeros(len(offsets) - 1, dtype=np.int64),
        row=np.zeros(size, dtype=np.int64),
    )
