"""Changes of categories, of records and of who has which value: PRAM, swapping, shuffling, sampling.

PRAM: categories are kept, or replaced by others, with known probabilities.

Data swapping, and rank swapping: values change places between records.

Data shuffling: values change places so that ranks hang together as before, and say nothing else of their record.

Sampling: a random part of the records, as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.columns import (
    CATEGORIES,
    EVERY_KIND,
    MEASURED,
    Floats,
    PresentCells,
    attribute_problems,
    draw_bits,
    draw_normal,
    draw_uniform,
    fitting_attributes,
    present_cells,
    publish_changed,
    publish_rows,
    refuse_misfits,
)
from sfumato.anonymizers.randomization.numbers import noise_root
from sfumato.classes.partition import group_records
from sfumato.models.protocol import PrivacyModel, Subject
from sfumato.options import Checked, Limit, ListOfNames, Names, Share
from sfumato.published import RandomizedTable
from sfumato.randomness import another, permutation
from sfumato.table.distinct import distinct_of
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


@dataclass(frozen=True)
class PRAM(Checked):
    """Keep every category with a probability, and publish another one at random otherwise.

    Parameters
    ----------
    retention
        Probability of keeping a category, 0 to 1.
    invariant
        True: otherwise a category is drawn by the frequencies of the attribute, the same one among them, so that
        expected frequencies stay what they were. False: all other categories are equally likely.
    attributes
        Categories and booleans; None: every quasi-identifying one.

    Notes
    -----
    *Guarantee.* None that is syntactic. Attributes are changed one by one, so that links between them fade. A missing
    value is a category. :func:`sfumato.anonymizers.randomization.records.original_counts` undoes the change
    of counts.

    *Complexity.* O(n log d) for each attribute of d categories.

    *Source.* J. M. Gouweleeuw, P. Kooiman, L. C. R. J. Willenborg, P.-P. de Wolf, "Post randomisation for statistical
    disclosure control: theory and implementation", 1998. Departure: the invariant matrix is the simplest one, a mixture
    of keeping and drawing anew.
    """

    name: ClassVar[str] = "pram"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    retention: Annotated[float, Limit(0, 1)] = 0.8
    invariant: bool = True
    attributes: Names | None = None

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit."""
        refuse_misfits(self.name, models, attribute_problems(self.name, table, self.attributes, CATEGORIES))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Draw categories and shuffle the rows."""
        names = fitting_attributes(problem.table, self.attributes, CATEGORIES)
        changed = {name: self._drawn(table.frame[name], place, problem.seed) for place, name in enumerate(names)}
        return publish_changed(table, changed, problem.seed)

    def _drawn(self, column: pl.Series, place: int, seed: int | None) -> pl.Series:
        distinct = distinct_of(column)
        codes = distinct.rank_of[distinct.raw]
        counts = np.append(distinct.counts, distinct.missing) if distinct.missing else distinct.counts
        drawn = post_randomized(codes, counts, self.retention, invariant=self.invariant, seed=another(seed, place))
        example = np.empty(len(counts), dtype=np.int64)
        example[codes] = np.arange(len(codes))
        return column[example[drawn]]


def transition_matrix(counts: NDArray[np.integer], retention: float, *, invariant: bool) -> Floats:
    """Return the probabilities, rows of originals, with which each category is published as each other.

    Not kept, all others are equally likely; `invariant`: one is drawn by the frequencies of the column, so that
    expected ones stay.
    """
    size = len(counts)
    kept = retention * np.eye(size)
    if invariant:
        return kept + (1.0 - retention) * np.asarray(counts / counts.sum())[None, :]
    if size == 1:
        return np.ones((1, 1))
    return kept + (1.0 - retention) / (size - 1) * (1.0 - np.eye(size))


def post_randomized(
    codes: NDArray[np.integer], counts: NDArray[np.integer], retention: float, *, invariant: bool, seed: int | None
) -> NDArray[np.int64]:
    """Draw a category for every record, as :func:`transition_matrix` says, which is never made. Cost O(n log d)."""
    size = len(counts)
    uniform = draw_uniform(2 * len(codes), seed)
    keeps, chosen = uniform[: len(codes)] < retention, uniform[len(codes) :]
    if invariant:
        bounds = np.cumsum(counts) / counts.sum()
        other = np.minimum(np.searchsorted(bounds, chosen, side="right"), size - 1)
    elif size == 1:
        other = np.zeros(len(codes), dtype=np.int64)
    else:
        # One of the other d - 1 categories: so many steps further round.
        other = (codes + 1 + (chosen * (size - 1)).astype(np.int64)) % size
    return np.where(keeps, codes, other).astype(np.int64)


def original_counts(published: Floats, matrix: Floats) -> Floats:
    """Estimate, without bias, how often each category occurred: ``published = original @ matrix``; perhaps below 0."""
    return np.linalg.solve(matrix.T, published).astype(np.float64)


_Records = NDArray[np.int64]


@dataclass(frozen=True)
class Swapping(Checked):
    """Let random pairs of records exchange their values of some attributes.

    Parameters
    ----------
    share
        Share of the records that change places, 0 to 1.
    attributes
        Attributes whose values move together; None: every quasi-identifying one that is not in `keep`.
    keep
        Only records with equal values of these attributes change places, so that what they say together with the
        swapped ones stays true: all tables of `attributes` with `keep` do.

    Notes
    -----
    *Guarantee.* None that is syntactic. Every table of counts of the swapped attributes alone, and with `keep`, stays
    as it was; links to all other attributes are wrong for up to the share of the records. Missing values move, too.

    *Complexity.* O(n log n).

    *Source.* T. Dalenius, S. P. Reiss, "Data-swapping: a technique for disclosure control", 1982. Departure: pairs are
    random, and not chosen by risk.
    """

    name: ClassVar[str] = "swapping"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    share: Share = 0.1
    attributes: Names | None = None
    keep: Annotated[tuple[str, ...], ListOfNames(0)] = ()

    def _mistakes(self) -> Iterator[str]:
        if isinstance(self.attributes, tuple) and isinstance(self.keep, tuple):
            for name in self.attributes:
                if name in self.keep:
                    yield f"{self.name}: attribute {name!r} cannot be swapped and kept"

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit, or where nothing would change."""
        refuse_misfits(self.name, models, self._problems(table))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Exchange values and shuffle the rows."""
        source = swapped_records(self._classes(problem.table), self.share, problem.seed)
        changed = {name: table.frame[name][source] for name in self._moving(problem.table)}
        return publish_changed(table, changed, problem.seed)

    def _moving(self, table: EncodedTable) -> tuple[str, ...]:
        if self.attributes is not None:
            return self.attributes
        return tuple(attribute.name for attribute in table.attributes if attribute.name not in self.keep)

    def _classes(self, table: EncodedTable) -> NDArray[np.integer]:
        if not self.keep:
            return np.zeros(table.height, dtype=np.int64)
        names = [attribute.name for attribute in (*table.attributes, *table.sensitive)]
        codes = np.column_stack([table.codes.astype(np.int64), table.sensitive_codes])
        return group_records(codes[:, [names.index(name) for name in self.keep]])[0]

    def _problems(self, table: EncodedTable) -> Iterator[str]:
        yield from attribute_problems(self.name, table, self.attributes, EVERY_KIND)
        known = {attribute.name for attribute in (*table.attributes, *table.sensitive)}
        for name in self.keep:
            if name not in known:
                yield f"{self.name}: there is no quasi-identifying or sensitive attribute {name!r} to keep"
        if known <= {*self._moving(table), *self.keep}:
            yield (
                f"{self.name}: all attributes would move together, and no record would change; name fewer attributes "
                "to swap"
            )
        elif not self._moving(table):
            yield f"{self.name}: every quasi-identifying attribute is kept; name attributes to swap"


def swapped_records(class_of: NDArray[np.integer], share: float, seed: int | None) -> _Records:
    """Exchange random pairs of records of one class, so that `share` of each changes places on average; an involution.

    The number of pairs is rounded at random, and of an odd class one stays at least. Cost O(n log n).
    """
    order = permutation(len(class_of), another(seed, 0))
    order = order[np.argsort(class_of[order], kind="stable")]
    sizes = np.bincount(class_of)
    starts = np.cumsum(sizes) - sizes
    pairs = np.minimum(sizes // 2, np.floor(share * sizes / 2 + draw_uniform(len(sizes), another(seed, 1))))
    place = np.arange(len(order)) - starts[class_of[order]]
    first = np.flatnonzero((place < 2 * pairs[class_of[order]]) & (place % 2 == 0))
    source = np.arange(len(class_of), dtype=np.int64)
    source[order[first]] = order[first + 1]
    source[order[first + 1]] = order[first]
    return source


@dataclass(frozen=True)
class RankSwapping(Checked):
    """Move every number or date to a record of similar rank, each attribute by itself.

    Parameters
    ----------
    share
        How far a value may move, as a share of the ranks, above 0 to 1; at least one rank.
    attributes
        Numbers and dates; None: every quasi-identifying one.

    Notes
    -----
    *Guarantee.* None that is syntactic. The values of every attribute stay what they were, and none moves further than
    `share` of the ranks. What is missing stays where it is.

    *Complexity.* O(n log n) for each attribute.

    *Source.* R. Moore, "Controlled data-swapping techniques for masking public use microdata sets", 1996. Departure:
    ranks are cut into stretches, from a random first cut, and each stretch is permuted, so that nothing depends on
    which record comes first; no value passes a cut.
    """

    name: ClassVar[str] = "rank-swapping"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    share: Share = 0.05
    attributes: Names | None = None

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit."""
        refuse_misfits(self.name, models, attribute_problems(self.name, table, self.attributes, MEASURED))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Permute every attribute and shuffle the rows."""
        changed = {}
        for place, name in enumerate(fitting_attributes(problem.table, self.attributes, MEASURED)):
            cells = present_cells(table.frame[name])
            source = rank_swapped(cells.numbers, self.share, another(problem.seed, place))
            changed[name] = cells.with_numbers(cells.numbers[source])
        return publish_changed(table, changed, problem.seed)


def rank_swapped(values: NDArray[np.generic], share: float, seed: int | None) -> _Records:
    """Permute records inside stretches of `share` of their ranks, from a random first cut, equal values at random.

    Cost O(n log n).
    """
    count = len(values)
    tie_order = permutation(count, another(seed, 0))
    by_rank = tie_order[np.argsort(values[tie_order], kind="stable")]
    stretch = max(1, int(share * count + 1e-9)) + 1
    shift = int(draw_bits(1, another(seed, 1))[0] % np.uint64(stretch))
    random_order = permutation(count, another(seed, 2))
    stretch_of = (random_order + shift) // stretch
    mixed = random_order[np.argsort(stretch_of, kind="stable")]
    source = np.empty(count, dtype=np.int64)
    source[by_rank] = by_rank[mixed]
    return source


@dataclass(frozen=True)
class Shuffling(Checked):
    """Deal the values of numbers and dates out anew, so that their ranks hang together as they did.

    Parameters
    ----------
    attributes
        Numbers and dates that are shuffled; None: every quasi-identifying one.
    given
        Numbers and dates that stay, and that the shuffled ones go on to hang together with; None: all others.

    Notes
    -----
    *Guarantee.* None that is syntactic. Every column keeps its values. Of a record, its own values of what is shuffled
    decide nothing: the published ones depend on what stays alone, on chance, and on the values and correlations of the
    whole table. Rank correlations, of the shuffled ones with each other and with what stays, are the same on average.
    Other relations are lost. What is missing stays missing, and counts as a middling value where it stays.

    *Complexity.* O(n log n · a + n · a²) for a attributes.

    *Source.* K. Muralidhar, R. Sarathy, "Data shuffling: a new masking approach for numerical data", Management Science
    52(5), 2006. Departure: the correlation of normal scores for the one that follows from rank correlations.
    """

    name: ClassVar[str] = "shuffling"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    attributes: Names | None = None
    given: Names | None = None

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit."""
        refuse_misfits(self.name, models, self._problems(table))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Shuffle the values, and then the rows."""
        names = fitting_attributes(problem.table, self.attributes, MEASURED)
        columns = [present_cells(table.frame[name]) for name in names]
        fixed = [_scores(present_cells(table.frame[name])) for name in self._given(problem.table)]
        drawn = draw_normal(len(table.frame) * len(names), problem.seed).reshape(-1, len(names))
        ranks = _drawn_scores(fixed, [_scores(cells) for cells in columns], drawn)
        changed = [_dealt(cells, ranks[:, place]) for place, cells in enumerate(columns)]
        return publish_changed(table, dict(zip(names, changed, strict=True)), problem.seed)

    def _given(self, table: EncodedTable) -> tuple[str, ...]:
        if self.given is not None:
            return self.given
        shuffled = fitting_attributes(table, self.attributes, MEASURED)
        known = (*table.attributes, *table.sensitive)
        return tuple(each.name for each in known if each.kind in MEASURED and each.name not in shuffled)

    def _problems(self, table: EncodedTable) -> Iterator[str]:
        yield from attribute_problems(self.name, table, self.attributes, MEASURED)
        if self.given is not None:
            yield from attribute_problems(f"{self.name}, given", table, self.given, MEASURED)
            both = set(self.given) & set(fitting_attributes(table, self.attributes, MEASURED))
            yield from (f"{self.name}: {name!r} is shuffled and given; it can be one of both" for name in sorted(both))


def _scores(cells: PresentCells) -> Floats:
    """Return normal scores: the normal number of the same rank, float64 (n,); 0 where missing, ties in the middle."""
    scores = np.zeros(len(cells.column))
    if len(cells.numbers):
        ranks = pl.Series(cells.numbers).rank("average").to_numpy()
        distinct, place = np.unique(ranks, return_inverse=True)
        shares = ((distinct - 0.5) / len(ranks)).tolist()
        scores[cells.places] = np.array([NormalDist().inv_cdf(share) for share in shares])[place]
    return scores


def _drawn_scores(fixed: list[Floats], own: list[Floats], drawn: Floats) -> Floats:
    """Draw normal scores for what is shuffled, given those that stay: float64 (n, a)."""
    # With the lower root of all covariances, those that stay first, scores that stay are the root times numbers that
    # follow from them; the others' own numbers are `drawn`.
    scores = np.column_stack([*fixed, *own])
    centered = scores - scores.mean(axis=0)
    root = noise_root(centered)
    numbers = np.zeros_like(centered)
    for place in range(len(fixed)):
        rest = centered[:, place] - (numbers[:, :place] * root[place, :place]).sum(axis=1)
        if root[place, place] > 0:
            numbers[:, place] = rest / root[place, place]
    numbers[:, len(fixed) :] = drawn
    return np.column_stack([(numbers * root[place]).sum(axis=1) for place in range(len(fixed), scores.shape[1])])


def _dealt(cells: PresentCells, scores: Floats) -> pl.Series:
    """Give the values out by the order of the scores."""
    dealt = np.empty_like(cells.numbers)
    dealt[np.argsort(scores[cells.places], kind="stable")] = np.sort(cells.numbers)
    return cells.with_numbers(dealt)


@dataclass(frozen=True)
class Sampling(Checked):
    """Publish a simple random sample of the records, with all their values.

    Parameters
    ----------
    fraction
        Share of the records that are drawn, above 0 to 1, rounded to whole records; at least one.

    Notes
    -----
    *Guarantee.* None that is syntactic: who is drawn is published in full. An attacker does not know who was drawn, and
    cannot be sure that a record that is unique in the sample is so among all. Every record is as likely to be drawn as
    any other. Counts are estimated by multiplying with the records that each one stands for, which the release says.

    *Complexity.* O(n log n).

    *Source.* L. Willenborg, T. de Waal, "Elements of statistical disclosure control", 2001.
    """

    name: ClassVar[str] = "sampling"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None
    samples: ClassVar[bool] = True

    fraction: Share = 0.5

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError when models are named."""
        refuse_misfits(self.name, models, iter(()))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Draw records and shuffle them."""
        size = max(1, int(self.fraction * table.height + 0.5))
        return publish_rows(table, permutation(table.height, problem.seed)[:size], problem.seed)
