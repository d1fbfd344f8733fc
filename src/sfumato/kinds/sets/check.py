"""Published sets, whether every few of their items are held by k records, and the recount of a folder of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, VerificationError, raise_all
from sfumato.kernels.ratings.rows import rows_of
from sfumato.kernels.sets import combination_keys, relabelled_rows
from sfumato.kinds.sets.sets import Sets, named_items
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.of_kinds import KmAnonymity
from sfumato.models.protocol import Achieved, Check, Outcome, promise_words
from sfumato.numbers import counted, figure
from sfumato.options import Count, check_arguments
from sfumato.parallel import each
from sfumato.progress import thread_count
from sfumato.published.checks.generalized import Verification
from sfumato.published.protocol import Roles, named
from sfumato.release.agreement import Difference, role_names
from sfumato.release.description import listed_names, number_of_records
from sfumato.release.own_kinds import OwnDescription, OwnKind, names_above
from sfumato.table.distinct import distinct_of

TABLE, RECORDS, RECORD, ITEM = "sets", "records", "record", "item"
"""Names of the tables, and of the columns that are not the steward's."""


@dataclass(frozen=True, eq=False, repr=False)
class PublishedSets:
    """Published sets. Letters: n records, d published items, z items in all sets."""

    starts: NDArray[np.int64]  # (n + 1,)
    items: NDArray[np.int32]  # (z,): rising inside a record, below d
    names: tuple[str, ...]  # published items, sorted
    beside: pl.DataFrame | None = None  # labels of the quasi-identifying columns of each record, as text
    # for published items and what stands above them: the next coarser item
    broader: Mapping[str, str] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """Number of records."""
        return len(self.starts) - 1

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name: a row for each item of a record, and one for each record if columns stand beside."""
        numbers = np.arange(1, self.height + 1)
        held = pl.Series(np.repeat(numbers, np.diff(self.starts)))
        tables = {TABLE: pl.DataFrame({RECORD: held, ITEM: named_items(self.names, self.items)})}
        if self.beside is not None:
            tables[RECORDS] = pl.DataFrame({RECORD: numbers}).hstack(self.beside)
        return tables

    @property
    def structure(self) -> dict[str, Any]:
        """What a recipient needs beside the tables."""
        columns = [] if self.beside is None else self.beside.columns
        return {"records": self.height, "quasi_identifying": columns, "broader": dict(self.broader)}

    @cached_property
    def class_of(self) -> NDArray[np.int64]:
        """The class of each record, from 0: records that are published alike beside the sets; int64 (n,)."""
        if self.beside is None:
            return np.zeros(self.height, dtype=np.int64)
        return set_classes(self.beside)

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> PublishedSets:
        """Put the tables of a release together; ``VerificationError`` when they contradict each other or it."""
        count, beside = structure["records"], tables.get(RECORDS)
        if beside is not None:
            numbers = beside[RECORD].to_numpy()
            if not np.array_equal(np.sort(numbers), np.arange(1, count + 1)):
                raise VerificationError("release.json: counts other records than there are; it was changed")
            beside = beside[np.argsort(numbers)].select(structure["quasi_identifying"])
        held = tables[TABLE]
        record_of = held[RECORD].to_numpy()
        if held.height and not (record_of.min() >= 1 and record_of.max() <= count):
            raise VerificationError("release.json: counts fewer records than there are; it was changed")
        found = distinct_of(held[ITEM])
        if found.missing:
            raise VerificationError("an item of the published sets is empty; the release was changed")
        names = tuple(found.values.cast(pl.String).to_list())
        items = found.rank_of.astype(np.int32)[found.raw]
        starts, order = rows_of((record_of - 1).astype(np.int32), items, count, len(names))
        itself = np.arange(len(names), dtype=np.int32)
        return cls(*relabelled_rows(starts, items[order], itself), names, beside, structure["broader"])


def set_classes(frame: pl.DataFrame) -> NDArray[np.int64]:
    """Return a number for each row from 0 on, equal rows alike; a missing value is one of its own. int64 (rows,)."""
    numbers = frame.with_columns(pl.all().to_physical()).with_row_index("\0row")
    first = pl.col("\0row").min().over(frame.columns)
    _, class_of = np.unique(numbers.select(first).to_series().to_numpy(), return_inverse=True)
    return class_of.astype(np.int64)


# Counting combinations of items by writing all of them down and sorting.
#
# Nothing here is shared with the makers, which walk a count tree: a mistake in one would have to be made again in the
# other.


MOST_COMBINATIONS = 4_000_000_000
"""Combinations in all sets that are still counted."""
_CHUNK = 4_000_000
"""Combinations that are sorted at once."""
_LARGE = 40_000_000
"""Combinations with one first item from which on the second one splits them up, too."""


@dataclass(frozen=True)
class SizeCount:
    """Combinations of one number of items that occur in some record; within a class, where there are several."""

    size: int
    combinations: int  # different ones
    least: int | None  # records that hold the rarest one; None if no set is so large
    rare: int  # different ones that fewer than k records hold

    def to_dict(self) -> dict[str, int | None]:
        """Return plain values, for JSON."""
        return {"size": self.size, "combinations": self.combinations, "least": self.least, "rare": self.rare}


def combinations_in(starts: NDArray[np.int64], size: int) -> float:
    """Return how many combinations of `size` items all sets hold together, repeated ones counted each time."""
    sizes = np.diff(starts).astype(np.float64)
    total = np.ones_like(sizes)
    for part in range(size):
        total = total * np.maximum(sizes - part, 0) / (part + 1)
    return float(total.sum())


def refuse_too_many(starts: NDArray[np.int64], size: int) -> None:
    """Raise InputError when all sets hold more than :data:`MOST_COMBINATIONS` combinations of `size` items."""
    total = combinations_in(starts, size)
    if total > MOST_COMBINATIONS:
        raise InputError(
            f"the sets hold {figure(total, 3)} combinations of {counted(size, 'item')}, too many to count; lower m"
        )


def count_combinations(
    starts: NDArray[np.int64], items: NDArray[np.int32], class_of: NDArray[np.int64], m: int, k: int, threads: int = 1
) -> tuple[SizeCount, ...]:
    """Count all combinations of 1 to `m` items of a class, and in how many records each occurs.

    Raises where there are more than :data:`MOST_COMBINATIONS` of one size. Cost O(c log c) for c combinations in all
    sets; memory O(z) and a few million numbers for each thread.
    """
    base = int(items.max()) + 1 if len(items) else 1
    for size in range(1, m + 1):
        refuse_too_many(starts, size)
        if base ** (size - 1) * _CHUNK >= 2**63:
            raise InputError(f"combinations of {counted(size, 'item')} among {base:,} cannot be numbered; lower m")
    sizes = np.diff(starts)
    stops = np.repeat(starts[1:], sizes)
    heads = np.repeat(class_of * base, sizes) + items
    places = _sorted_places(heads)
    heads, count = heads[places], partial(_counted, items=items, base=base, k=k)
    return (
        _summed(1, [_of_runs(heads, 1, k)]),
        *(_summed(size, each(count, _chunks(places, heads, stops, items, size), threads)) for size in range(2, m + 1)),
    )


def _sorted_places(heads: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return places in the order of what stands there, equal ones as they are; plain numbers sort much faster."""
    bits = len(heads).bit_length()
    if not len(heads) or int(heads.max()) >= 1 << (62 - bits):
        return np.argsort(heads, kind="stable")
    keys = heads << bits
    keys |= np.arange(len(heads))
    keys.sort()
    keys &= (1 << bits) - 1
    return keys


def _summed(size: int, found: Sequence[SizeCount]) -> SizeCount:
    least = min((part.least for part in found if part.least is not None), default=None)
    return SizeCount(size, sum(part.combinations for part in found), least, sum(part.rare for part in found))


def _of_runs(keys: NDArray[np.int64], size: int, k: int) -> SizeCount:
    """Count how often each of some numbers, not falling, is there."""
    if not len(keys):
        return SizeCount(size, 0, None, 0)
    ends = np.append(np.flatnonzero(keys[1:] != keys[:-1]) + 1, len(keys))
    holders = np.diff(ends, prepend=0)
    return SizeCount(size, len(holders), int(holders.min()), int(np.count_nonzero(holders < k)))


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Places at which combinations of `size` items begin; those of one head are all here."""

    places: NDArray[np.int64]
    heads: NDArray[np.int64]
    stops: NDArray[np.int64]
    size: int
    total: int


def _chunks(
    places: NDArray[np.int64], heads: NDArray[np.int64], stops: NDArray[np.int64], items: NDArray[np.int32], size: int
) -> Iterator[_Chunk]:
    """Split places, sorted by head, between heads; what one head begins too often is split by the next item."""
    sums = np.append(0, np.cumsum(_begun(places, stops, size)))
    ends = np.append(np.flatnonzero(np.diff(heads)) + 1, len(heads))
    first = 0
    while first < len(places):
        fitting = ends[(sums[ends] - sums[first] <= _CHUNK) & (ends > first)]
        last = int(fitting[-1]) if len(fitting) else int(ends[np.searchsorted(ends, first, side="right")])
        total, these = int(sums[last] - sums[first]), places[first:last]
        if total > _LARGE and size > 2:
            following = np.concatenate([np.arange(place + 1, stops[place]) for place in these.tolist()])
            order = np.argsort(items[following], kind="stable")
            yield from _chunks(following[order], items[following[order]].astype(np.int64), stops, items, size - 1)
        elif total:
            numbers = np.cumsum(np.diff(heads[first:last], prepend=heads[first]) != 0)
            yield _Chunk(these, numbers, stops[these], size, total)
        first = last


def _begun(places: NDArray[np.int64], stops: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return how many combinations begin at each place."""
    behind, begun = stops[places] - places - 1, np.ones(len(places), dtype=np.int64)
    for part in range(size - 1):
        begun = begun * np.maximum(behind - part, 0) // (part + 1)
    return begun


def _counted(chunk: _Chunk, *, items: NDArray[np.int32], base: int, k: int) -> SizeCount:
    keys = combination_keys(chunk.places, chunk.heads, chunk.stops, items, chunk.size, base, chunk.total)
    keys.sort()
    return _of_runs(keys, chunk.size, k)


# What became of the promises of published sets, recounted from them alone.


ONE_MEANING = "no item stands beside one that it is part of"


def set_verification(published: PublishedSets, models: Sequence[KmAnonymity], threads: int = 1) -> Verification:
    """Recount every promise of published sets; ``InputError`` when there are too many combinations to count."""
    class_of = published.class_of
    members = np.bincount(class_of)
    checks = [_meaning(published)]
    for model in models:
        if published.beside is not None:
            checks.append(_of_classes(model, int(members.min())))
        counts = count_combinations(published.starts, published.items, class_of, model.m, model.k, threads)
        checks.append(_of_combinations(model, counts, None if published.beside is None else len(members)))
    quasi = () if published.beside is None else tuple(published.beside.columns)
    return Verification(tuple(checks), published.height, len(members), "class", Roles(quasi_identifying=quasi))


def _of_classes(model: KmAnonymity, smallest: int) -> Check:
    outcome = Outcome.HOLDS if smallest >= model.k else Outcome.BROKEN
    return Check(promise_words(KAnonymity(model.k)), outcome, (Achieved("k", smallest),))


def _of_combinations(model: KmAnonymity, counts: Sequence[SizeCount], classes: int | None) -> Check:
    """Judge the model by the rarest combination of each size."""
    least = min((count.least for count in counts if count.least is not None), default=None)
    achieved = () if least is None else (Achieved("k", least),)
    where = "" if classes is None else f" inside of {counted(classes, 'class')}"
    rare = sum(count.rare for count in counts)
    if not rare:
        told = f"{counted(sum(count.combinations for count in counts), 'combination')}{where}"
        return Check(promise_words(model), Outcome.HOLDS, achieved, told)
    told = f"{counted(rare, 'combination')} of at most {counted(model.m, 'item')}{where} occur in fewer records"
    return Check(promise_words(model), Outcome.BROKEN, achieved, told)


def _meaning(published: PublishedSets) -> Check:
    """Tell whether each item can be published in one way only within a class: who knows it knows where to look."""
    try:
        above = {name: names_above(name, published.broader, "items") for name in published.names}
    except VerificationError as error:
        return Check(ONE_MEANING, Outcome.BROKEN, detail=str(error))
    numbers = {name: place for place, name in enumerate(published.names)}
    over = [(numbers[name], numbers[node]) for name, nodes in above.items() for node in nodes if node in numbers]
    if not over:
        return Check(ONE_MEANING, Outcome.HOLDS)
    classes = np.repeat(published.class_of, np.diff(published.starts)) * len(numbers)
    there = np.unique(classes + published.items)
    clashing = sum(
        len(np.intersect1d(there[there % len(numbers) == low] - low, there[there % len(numbers) == high] - high))
        for low, high in over
    )
    if not clashing:
        return Check(ONE_MEANING, Outcome.HOLDS)
    return Check(ONE_MEANING, Outcome.BROKEN, detail=f"{counted(clashing, 'item')} within a class")


@dataclass(frozen=True)
class SetCheck:
    """Which k sets have for each number of items that an attacker may know; made by :func:`sfumato.check_sets`.

    Attributes
    ----------
    records, items, empty : int
        Records, different items, and records with the empty set.
    classes : int or None
        Classes of records that are alike in the columns beside the sets; None without such columns.
    smallest : int
        Records of the smallest class; all records without such columns.
    sizes : tuple of SizeCount
        For 1, 2, ... items; ends where there are too many combinations to count.
    uncounted : mapping of int to float
        How many combinations were too many, by number of items.
    """

    records: int
    items: int
    empty: int
    classes: int | None
    smallest: int
    sizes: tuple[SizeCount, ...]
    uncounted: tuple[tuple[int, float], ...] = ()

    def k_of(self, m: int) -> int:
        """Return the largest k for which k^m-anonymity holds.

        Raises
        ------
        InputError
            When combinations of `m` items were not counted.
        """
        if not 1 <= m <= len(self.sizes):
            raise InputError(f"combinations of {counted(m, 'item')} were not counted; ask for them with m")
        found = [size.least for size in self.sizes[:m] if size.least is not None]
        return min([self.smallest, *found])

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        return {
            "records": self.records,
            "items": self.items,
            "empty": self.empty,
            "classes": self.classes,
            "smallest_class": self.smallest,
            "k": {str(size.size): self.k_of(size.size) for size in self.sizes},
            "sizes": [size.to_dict() for size in self.sizes],
            "uncounted": {str(size): total for size, total in self.uncounted},
        }

    def __str__(self) -> str:
        """Return a line for each number of items."""
        within = "" if self.classes is None else f" in {counted(self.classes, 'class')} of {self.smallest:,} and more"
        lines = [f"{counted(self.records, 'set')} of {counted(self.items, 'item')}{within}, {self.empty:,} empty"]
        lines += [self._line(size) for size in self.sizes]
        lines += [
            f"  m = {size}: not counted, as the sets hold {figure(total, 3)} combinations of {size} items"
            for size, total in self.uncounted
        ]
        return "\n".join(lines)

    def _line(self, size: SizeCount) -> str:
        told = f"{size.rare:,} of {counted(size.combinations, 'combination')} of {counted(size.size, 'item')}"
        return f"  m = {size.size}: k = {self.k_of(size.size):,}; {told} in a single record"


@check_arguments
def check_sets(sets: Sets, m: Count = 3, *, threads: int | None = None) -> SetCheck:
    """Say which k sets have for 1 to `m` items that an attacker may know.

    Parameters
    ----------
    sets
        As :func:`sfumato.read_sets` returns them, published or not. Items are taken as they are; where columns stand
        beside the sets, combinations are counted inside of classes of equal values there.
    m
        Largest number of items.
    threads
        Upper bound; None takes ``SFUMATO_THREADS``, or all cores.

    Returns
    -------
    SetCheck

    Raises
    ------
    PolicyError
        When `m` is no whole number of at least 1, or there are no sets.

    Notes
    -----
    Cost O(c log c) for c combinations of at most `m` items in all sets. Beyond 4 billion they are not counted, which
    the result says.
    """
    class_of = _classes_beside(sets)
    # Larger combinations than the largest set there are none.
    m = min(m, max(1, int(sets.sizes.max())))
    totals = [combinations_in(sets.starts, size) for size in range(1, m + 1)]
    most = next((fitting for fitting, total in enumerate(totals) if total > MOST_COMBINATIONS), m)
    found = count_combinations(sets.starts, sets.items, class_of, most, 2, thread_count(threads))
    members = np.bincount(class_of)
    return SetCheck(
        sets.height,
        int(np.count_nonzero(sets.holders)),
        int(np.count_nonzero(sets.sizes == 0)),
        None if sets.beside is None else len(members),
        int(members.min()),
        found,
        tuple(enumerate(totals[most:], most + 1)),
    )


def _classes_beside(sets: Sets) -> NDArray[np.int64]:
    if sets.beside is None:
        return np.zeros(sets.height, dtype=np.int64)
    return set_classes(sets.beside.frame.select(list(sets.beside.schema.quasi_identifying)))


# The kind as its verifier knows it: what ``release.json`` says of sets, and how they are put together.


MOST_EMPTY = 20_000_000
"""Records with the empty set that a verifier believes in: they take memory, but no line of a file."""


@dataclass(frozen=True)
class SetStructure:
    """What ``release.json`` says: records, also those with the empty set; columns beside; what stands above an item."""

    records: int
    quasi_identifying: tuple[str, ...]
    broader: Mapping[str, str]


class SetKind(OwnKind[SetStructure, PublishedSets]):
    """A table with a line for each item of a record, and perhaps one with the columns beside the sets."""

    name = TABLE
    model = KmAnonymity
    numbers: ClassVar = {RECORD: pl.Int64}
    suppresses = True
    evidence = "sfumato.kinds.sets.attack:evidence"
    release = "sfumato.kinds.sets.release:SetRelease"
    meaning = "a set of items for each person, in random order; items are made coarser or left out"
    promise = "Whoever knows {m} items of a person, or fewer, finds {k} records at least that hold them."
    unplayed: ClassVar = {
        "inference": "no attack of this program guesses items that are not known; a learner trained on the sets would",
        "linkability": "releases of sets are not joined with others",
    }
    tallies = frozenset({RECORD})

    def read_structure(self, content: Mapping[str, Any]) -> SetStructure:
        """Read how many records there are, the columns beside the sets, and the coarser items."""
        structure, broader = content["structure"], content["structure"]["broader"]
        if content["sensitive"] != {}:
            raise ValueError
        columns = listed_names(structure["quasi_identifying"])
        if not isinstance(broader, dict) or not all(isinstance(name, str) for name in broader.values()):
            raise TypeError
        return SetStructure(number_of_records(structure["records"]), columns, broader)

    def columns(self, structure: SetStructure) -> dict[str, tuple[str, ...]]:
        """Return the tables and their columns."""
        beside = {RECORDS: (RECORD, *structure.quasi_identifying)} if structure.quasi_identifying else {}
        return {TABLE: (RECORD, ITEM), **beside}

    def assemble(self, tables: Mapping[str, pl.DataFrame], description: OwnDescription[SetStructure]) -> PublishedSets:
        """Put the sets together, also those that are empty."""
        for name, table in tables.items():
            if table.schema[RECORD] != pl.Int64 or table[RECORD].null_count():
                file = description.facts[name].file
                raise InputError(f"{file}: numbers of records are no whole numbers; it was changed")
        held, told, problems = tables[TABLE], description.structure, []
        if RECORDS not in tables and told.records - held.height > MOST_EMPTY:
            problems.append("release.json: counts more empty sets than can be believed; it was changed")
        if RECORDS in tables and tables[RECORDS].height != told.records:
            problems.append("release.json: counts other records than there are; it was changed")
        raise_all(VerificationError, problems)
        beside = {name: table.with_columns(pl.exclude(RECORD).cast(pl.String)) for name, table in tables.items()}
        return PublishedSets.assemble({**beside, TABLE: held}, asdict(told))

    def recount(self, shown: PublishedSets, models: Sequence[Any], structure: SetStructure) -> Verification:
        """Count every combination of items that a model speaks of."""
        return set_verification(shown, models, thread_count(None))

    def differences(self, policy: Mapping[str, Any], structure: SetStructure) -> Iterator[Difference]:
        """Compare which columns stand beside the sets."""
        said = role_names(policy.get("columns", {}).get("quasi-identifying", []))
        if set(said) != set(structure.quasi_identifying):
            told = named(structure.quasi_identifying) or "none"
            yield Difference("quasi-identifying columns", named(said) or "none", told)


SETS = SetKind()
