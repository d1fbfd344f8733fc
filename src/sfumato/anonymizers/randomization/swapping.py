"""Data swapping, and rank swapping: values change places between records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.columns import (
    EVERY_KIND,
    MEASURED,
    attribute_problems,
    draw_bits,
    draw_uniform,
    fitting_attributes,
    present_cells,
    publish_changed,
    refuse_misfits,
)
from sfumato.classes.partition import group_records
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject
from sfumato.options import Checked, ListOfNames, Names, Share
from sfumato.published import RandomizedTable
from sfumato.randomness import another, permutation
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table

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
    """Exchange random pairs of records of one class.

    `class_of`: integers (n,) from 0: records change places with others of their class alone. `share`: share of the
    records of each class that change places, 0 to 1, on average: the number of pairs is rounded up or down at random,
    and of an odd class one record stays at least. `seed`: as :func:`sfumato.randomness.permutation` takes it. Returns:
    int64 (n,): the record whose values each record gets; an involution. Cost O(n log n).
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
    """Permute records inside short stretches of their ranks.

    Ranks are cut into stretches of as many records as may lie between two that change places, from a random first cut,
    and each stretch is permuted at random; equal values get ranks in random order. `values`: sortable (n,), none
    missing. `share`: how far a value may move, as a share of the n ranks; at least one rank. `seed`: as
    :func:`sfumato.randomness.permutation` takes it. Returns: int64 (n,): the record whose value each record gets. Cost
    O(n log n).
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
