"""Minimality: learn from what a known algorithm did not publish (Wong, Fu, Wang and Pei, 2007)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import comb, factorial, prod
from typing import Annotated, Any, ClassVar, Protocol, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.slicing.partitioning import CutTable, cut_space, publish_slices
from sfumato.classes.partition import Partition, group_records
from sfumato.errors import InputError, PolicyError, UnsatisfiableError, raise_all
from sfumato.evaluation.attacks.original_values import exact_parts, number_alike
from sfumato.evaluation.attacks.placement import Placement, place_people, require_generalized
from sfumato.evaluation.attacks.protocol import AttackResult, Counted, Target
from sfumato.evaluation.attacks.verdicts import SURE, BeliefCurve, Beliefs, allowed_guess, draw_curve
from sfumato.kernels.grouping import first_records
from sfumato.kernels.slices.cuts import UNEVEN, CutSpace, EvenCuts, Exchanging, attributes_cut, exchange, place_borders
from sfumato.models import known_model
from sfumato.models.protocol import PrivacyModel, of_population, says, whole_table_models
from sfumato.numbers import counted
from sfumato.options import Checked, Limit, Share
from sfumato.published import BucketizedTables, PublishedTable
from sfumato.published.apart import SlicedTable, column_of
from sfumato.randomness import GOLDEN
from sfumato.rates import Rate
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.folding import unfolded, without_unread_columns
from sfumato.release.people import carried
from sfumato.table.encoding import EncodedTable, PeopleApart, encode
from sfumato.table.folding import distinct_numbers, fold, numbered_by_content
from sfumato.table.header import exactly
from sfumato.table.row_order import canonical_order, content_hash
from sfumato.table.schema import text_of
from sfumato.table.table import Table

# Worlds that a published table leaves open: who has which value, in classes, in bundles and in sliced tables.


@dataclass(frozen=True, eq=False, repr=False)
class WorldCells:
    """Groups of people by the values of their class, so that beliefs fit into one small table.

    `place`, int64 (c · v,): place of each value, row-major by class, among those of the class, −1 for others; `width`:
    the most of a class.
    """

    group_of: NDArray[np.int32]
    class_of_group: NDArray[np.int32]
    members: NDArray[np.int64]
    place: NDArray[np.int64]
    width: int
    counts: NDArray[np.int64]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Return the share of each value in the class of each group, float64 (g, w): the belief by random worlds."""
        of_class = self.counts / self.counts.sum(axis=1, keepdims=True)
        chosen: NDArray[np.float64] = of_class[self.class_of_group]
        return chosen

    def there(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the members of each group who have the value of each place, float64 (g, w)."""
        size = len(self.members) * self.width
        sums = np.bincount(self.group_of.astype(np.int64) * self.width + self._places(values), minlength=size)
        return sums.reshape(len(self.members), self.width) / self.members[:, None]

    def accepted(self, back: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell of which groups the class came back, bool (g,)."""
        return back[self.class_of_group]

    def claimable(self, belief: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which values may be claimed, bool (g, w): the likeliest one, as everybody has one."""
        likeliest: NDArray[np.bool_] = np.arange(self.width) == belief.argmax(axis=1)[:, None]
        return likeliest

    def right(self, named: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell who has the value `named`, int64 (g,), of their group; truth : int64 (n,), everybody's value."""
        right: NDArray[np.bool_] = named[self.group_of] == self._places(truth)
        return right

    def certainty(self, belief: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the belief in everybody's own value, float64 (n,)."""
        return belief[self.group_of, self._places(truth)]

    def _places(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of the value of each person in their class, int64 (n,)."""
        classes = self.class_of_group[self.group_of].astype(np.int64)
        places: NDArray[np.int64] = self.place[classes * (len(self.place) // len(self.counts)) + values]
        return places


def world_cells(
    classes: NDArray[np.int32], codes: NDArray[np.integer], values: NDArray[np.int64], value_count: int
) -> WorldCells:
    """Set up the table of groups and values, which the published table shows in each class, in any order."""
    group_of, groups = group_records(np.column_stack([classes, codes.astype(np.int64)]))
    count = int(classes.max()) + 1
    per_class = np.bincount(classes * value_count + values, minlength=count * value_count)
    rank = np.cumsum((per_class > 0).reshape(count, value_count), axis=1) - 1
    place = np.where(per_class > 0, rank.ravel(), -1)
    width = int(place.max()) + 1
    counts = np.zeros((count, width), dtype=np.int64)
    present = np.flatnonzero(per_class)
    counts[present // value_count, place[present]] = per_class[present]
    members = np.bincount(group_of, minlength=groups)
    return WorldCells(group_of, classes[first_records(group_of, groups)], members, place, width, counts)


def world_count(cells: WorldCells, most: int) -> int:
    """Count the different worlds, or return ``most + 1`` if there are more."""
    worlds = 1
    for counts in cells.counts:
        placed = 0
        for count in counts.tolist():
            placed += count
            worlds *= comb(placed, count)
            if worlds > most:
                return most + 1
    return worlds


def every_world(classes: NDArray[np.int32], kinds: NDArray[np.integer]) -> Iterator[NDArray[np.int64]]:
    """Yield every world once: whose place, in the same class, each takes; equal `kinds` make no difference."""
    members = [np.flatnonzero(classes == each) for each in range(int(classes.max()) + 1)]
    choices = [list(_arrangements(kinds[people].tolist(), people.tolist())) for people in members]
    for chosen in product(*choices):
        world = np.empty(len(classes), dtype=np.int64)
        for people, sources in zip(members, chosen, strict=True):
            world[people] = sources
        yield world


def random_worlds(
    classes: NDArray[np.int32], worlds: int, generator: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield worlds drawn at random, as :func:`every_world` does; cost O(n log n) each."""
    by_class = np.argsort(classes, kind="stable")
    for _ in range(worlds):
        world = np.empty(len(classes), dtype=np.int64)
        world[by_class] = np.lexsort((generator.random(len(classes)), classes))
        yield world


def survivors(classes: NDArray[np.int32], again: Partition, content: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell which classes a solution reproduces, bool (c,), as nobody can tell apart records of equal content.

    `content`: uint64 (n,): a hash of all that a record holds; two different classes are taken for one with a chance of
    about 2^-64.
    """
    inside = again.class_of >= 0
    before = _contents_of(classes, content)
    after = _contents_of(again.class_of[inside], content[inside])
    names, numbers, times = np.unique(before, return_inverse=True, return_counts=True)
    after = np.sort(after)
    found = np.searchsorted(after, names, "right") - np.searchsorted(after, names, "left")
    back: NDArray[np.bool_] = (found >= times)[numbers]
    return back


def _contents_of(classes: NDArray[np.integer], content: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return one number for the content of each class, uint64 (c,): a sum, which no order of records changes."""
    # Half a hash at a time: sums of them are exact in float64 below two million records.
    high, low = (np.bincount(classes, half) for half in (content >> np.uint64(32), content & np.uint64(2**32 - 1)))
    return high.astype(np.uint64) * np.uint64(GOLDEN) + low.astype(np.uint64)


def _arrangements(kinds: Sequence[Hashable], sources: list[int]) -> Iterator[list[int]]:
    """Yield the different orders of `sources`; those of one kind are interchangeable."""
    if not sources:
        yield []
        return
    past = set()
    for place, kind in enumerate(kinds):
        if kind in past:
            continue
        past.add(kind)
        rest_kinds, rest = [*kinds[:place], *kinds[place + 1 :]], sources[:place] + sources[place + 1 :]
        for tail in _arrangements(rest_kinds, rest):
            yield [sources[place], *tail]


@dataclass(frozen=True, eq=False, repr=False)
class Bundles:
    """The records of each person in each class; `published`: whether a reader sees which rows are a bundle."""

    of_record: NDArray[np.int32]
    class_of: NDArray[np.int64]
    owner: NDArray[np.int64]
    sizes: NDArray[np.int64]
    published: bool

    @classmethod
    def of(cls, classes: NDArray[np.int32], owner: NDArray[np.int64], published: bool) -> Bundles:
        """Bundle records by class, int32 (n,), and owner, int64 (n,), from 0. published : whether readers see them."""
        of_record, count = group_records(np.column_stack([classes.astype(np.int64), owner]))
        first = first_records(of_record, count)
        sizes = np.bincount(of_record, minlength=count)
        return cls(of_record, classes[first].astype(np.int64), owner[first], sizes, published)

    @property
    def block_of(self) -> NDArray[np.int64]:
        """Return numbers that are equal for bundles which worlds exchange, int64 (u,): as many records of one class."""
        return np.unique(np.column_stack([self.class_of, self.sizes]), axis=0, return_inverse=True)[1].ravel()

    def shares(self, values: NDArray[np.int64], width: int) -> NDArray[np.float64]:
        """Return the chance of each bundle to have each value in a random world, float64 (u, w).

        values : int64 (n,), below `width`. Cost O(u · w) for each record of the largest bundle.
        """
        if self.published:
            has = np.unique(self.of_record * np.int64(width) + values)
            block = self.block_of
            having = np.bincount(block[has // width] * width + has % width, minlength=(int(block.max()) + 1) * width)
            found: NDArray[np.float64] = having.reshape(-1, width)[block] / np.bincount(block)[block, None]
            return found
        counts = np.bincount(
            self.class_of[self.of_record] * width + values, minlength=(self.class_of.max() + 1) * width
        )
        rows = np.bincount(self.class_of, self.sizes)[self.class_of]
        others = rows[:, None] - counts.reshape(-1, width)[self.class_of]
        without = np.ones(others.shape)
        for drawn in range(int(self.sizes.max())):
            some = self.sizes > drawn
            without[some] *= np.maximum(others[some] - drawn, 0) / (rows[some] - drawn)[:, None]
        return 1.0 - without


@dataclass(frozen=True, eq=False, repr=False)
class _PeopleCells:
    """Groups of people by sensitive values: what :class:`WorldCells` is for records; `classes` of each group once."""

    group_of: NDArray[np.int32]
    members: NDArray[np.int64]
    width: int
    shares: NDArray[np.float64]
    owner: NDArray[np.int64]
    starts: NDArray[np.int64]
    classes: NDArray[np.int64]

    def there(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the members of each group who have each value, float64 (g, w)."""
        has = distinct_numbers(self.owner * self.width + values)
        size = len(self.members) * self.width
        sums = np.bincount(
            self.group_of[has // self.width].astype(np.int64) * self.width + has % self.width, minlength=size
        )
        return sums.reshape(len(self.members), self.width) / self.members[:, None]

    def accepted(self, back: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell of which groups all classes came back, bool (g,)."""
        return np.logical_and.reduceat(back[self.classes], self.starts)

    def claimable(self, belief: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which values may be claimed, bool (g, w): all, as somebody may have several."""
        return np.ones(belief.shape, dtype=np.bool_)

    def right(self, named: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell who has, in some record, the value that is named of their group, bool (p,)."""
        return np.bincount(self.owner, named[self.group_of[self.owner]] == truth) > 0

    def certainty(self, belief: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the belief in everybody's own values, the mean of their different ones, float64 (p,)."""
        has = distinct_numbers(self.owner * self.width + truth)
        person = has // self.width
        found: NDArray[np.float64] = np.bincount(person, belief[self.group_of[person], has % self.width]) / np.bincount(
            person
        )
        return found


def people_cells(bundles: Bundles, codes: NDArray[np.integer], values: NDArray[np.int64]) -> _PeopleCells:
    """Set up the table of groups and values, of the records of each person in each class."""
    width = int(values.max()) + 1
    owner = bundles.owner[bundles.of_record]
    group_of = _alike(owner, np.column_stack([bundles.class_of[bundles.of_record], codes.astype(np.int64)]))
    first = np.unique(group_of, return_index=True)[1]
    # Of each group, the bundles of one person.
    chosen = np.flatnonzero(first[group_of[bundles.owner]] == bundles.owner)
    chosen = chosen[np.argsort(group_of[bundles.owner[chosen]], kind="stable")]
    starts = np.flatnonzero(np.diff(group_of[bundles.owner[chosen]], prepend=-1))
    without = 1.0 - bundles.shares(values, width)[chosen]
    shares = 1.0 - np.multiply.reduceat(without, starts)
    return _PeopleCells(group_of, np.bincount(group_of), width, shares, owner, starts, bundles.class_of[chosen])


def _alike(owner: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int32]:
    """Give people whose records are alike, in whatever order, one number; int32 (p,)."""
    order = np.argsort(owner, kind="stable")
    starts = np.flatnonzero(np.diff(owner[order], prepend=-1))
    # Sums of 64 bits run over, which makes them no worse.
    content = np.add.reduceat(content_hash(columns.astype(np.uint64))[order], starts)
    return np.unique(content, return_inverse=True)[1].astype(np.int32)


def bundled_count(bundles: Bundles, kinds: NDArray[np.int64], most: int) -> int:
    """Count the different worlds that exchange bundles, or return ``most + 1`` if there are more.

    kinds : int64 (n,), equal for records whose exchange makes no difference.
    """
    worlds = 1
    for units in _blocks(bundles, kinds):
        worlds *= _orders([sort for _, sort in units]) * prod(_orders(sort) for _, sort in units)
        if worlds > most:
            return most + 1
    return worlds


def every_bundled_world(bundles: Bundles, kinds: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield every world once that exchanges bundles: for each record, the place of the record whose values it takes."""
    blocks = list(_blocks(bundles, kinds))
    for chosen in product(*(list(_dealt(units, kinds)) for units in blocks)):
        world = np.empty(len(kinds), dtype=np.int64)
        for units, sources in zip(blocks, chosen, strict=True):
            world[np.concatenate([rows for rows, _ in units])] = sources
        yield world


def random_bundled_worlds(bundles: Bundles, worlds: int, generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield worlds drawn at random, as :func:`every_bundled_world` does; cost O(n log n) each."""
    block = bundles.block_of[bundles.of_record]
    slots = np.lexsort((bundles.of_record, block))
    for _ in range(worlds):
        turn = generator.random(len(bundles.sizes))[bundles.of_record]
        world = np.empty(len(block), dtype=np.int64)
        world[slots] = np.lexsort((generator.random(len(block)), turn, block))
        yield world


_Unit = tuple[list[int], tuple[int, ...]]
"""The records of a bundle, and of which kinds they are."""


def _blocks(bundles: Bundles, kinds: NDArray[np.int64]) -> Iterator[list[_Unit]]:
    """Yield the bundles that worlds exchange with each other."""
    rows: list[list[int]] = [[] for _ in bundles.sizes]
    for record in np.lexsort((kinds, bundles.of_record)).tolist():
        rows[bundles.of_record[record]].append(record)
    block_of = bundles.block_of
    for block in range(int(block_of.max()) + 1):
        yield [(rows[unit], tuple(kinds[rows[unit]].tolist())) for unit in np.flatnonzero(block_of == block)]


def _dealt(units: Sequence[_Unit], kinds: NDArray[np.int64]) -> Iterator[list[int]]:
    """Yield all ways to give the records of bundles to each other's places, as one list of records."""
    sorts = [sort for _, sort in units]
    for order in _arrangements(sorts, list(range(len(units)))):
        inside = (list(_arrangements(list(units[unit][1]), units[unit][0])) for unit in order)
        for rows in product(*inside):
            yield [record for part in rows for record in part]


def _orders(kinds: Sequence[object]) -> int:
    """Count the different orders of things, some of which are alike."""
    return factorial(len(kinds)) // prod(factorial(count) for count in Counter(kinds).values())


Cells = WorldCells | _PeopleCells


_STEADYING = 2.0
"""Worlds that are added, with the class's shares, because few worlds say little."""


@dataclass(eq=False, repr=False)
class WorldTally:
    """Counts of the worlds that were tried: those in which all classes of a group came back, and values in these."""

    cells: Cells
    tried: int
    brought_back: float
    alive: NDArray[np.float64]
    all: NDArray[np.float64]
    accepted: NDArray[np.float64]

    @classmethod
    def of(cls, cells: Cells) -> WorldTally:
        """Start without any world."""
        shape = (len(cells.members), cells.width)
        return cls(cells, 0, 0.0, np.zeros(len(cells.members)), np.zeros(shape), np.zeros(shape))

    def add(self, values: NDArray[np.int64], back: NDArray[np.bool_]) -> None:
        """Count one world: the value of each record, int64 (n,), and which classes came back, bool (c,)."""
        there, accepted = self.cells.there(values), self.cells.accepted(back)
        self.tried += 1
        self.brought_back += float(back.mean())
        self.alive += accepted
        self.all += there
        self.accepted += there * accepted[:, None]

    @property
    def exact_belief(self) -> NDArray[np.float64]:
        """Return the share of each value in the accepted worlds, after trying all worlds; float64 (g, w)."""
        left = self.alive[:, None]
        belief: NDArray[np.float64] = np.where(left > 0, self.accepted / np.maximum(left, 1), self.cells.shares)
        return belief

    @property
    def drawn_belief(self) -> NDArray[np.float64]:
        """Estimate the same from drawn worlds, float64 (g, w).

        The excess of accepted worlds over all drawn ones is added to the class's shares. So a class whose worlds are
        all accepted gives exactly its shares, however few worlds were drawn.
        """
        shares, left = self.cells.shares, self.alive[:, None]
        among_accepted = (self.accepted + _STEADYING * shares) / (left + _STEADYING)
        among_all = (self.all + _STEADYING * shares) / (self.tried + _STEADYING)
        return np.clip(shares + among_accepted - among_all, 0.0, 1.0)

    @property
    def doubt(self) -> NDArray[np.float64]:
        """Return the standard errors of these beliefs, float64 (g, w)."""
        belief = self.drawn_belief
        more = 1 / (self.alive + _STEADYING) - 1 / (self.tried + _STEADYING)
        error: NDArray[np.float64] = np.sqrt(belief * (1 - belief) * more[:, None])
        return error


_MOST_BORDERS = 1 << 26
"""Borders of strata in cuts that are kept at most."""


_WARM, _COLD = 0.2, 2.0
"""Coldness of a walk at the start and at the end, see :func:`sfumato.kernels.slices.cuts.exchange`."""


_MODULUS = 2**31 - 1


class _Cuts(Protocol):
    """An algorithm that slices."""

    def cut(self, problem: Problem, table: Table) -> CutTable:
        """Choose columns and buckets."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class SliceGame:
    """The records of a sliced table; `group_of`: whose values may be exchanged, in one bucket with one known column."""

    solver: _Cuts
    problem: Problem
    table: Table
    made: CutTable
    published: SlicedTable
    names: tuple[str, ...]
    group_of: NDArray[np.int32]

    @property
    def records(self) -> int:
        """Number of records n."""
        return len(self.group_of)

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """Numbers of what is exchanged with each sensitive attribute, int64 (n, s): all values of its column."""
        codes = self.problem.table.sensitive_codes.astype(np.int64)
        return np.column_stack([group_records(np.ascontiguousarray(codes[:, own]))[0] for own in self._companions])

    @cached_property
    def _companions(self) -> tuple[list[int], ...]:
        """Of each sensitive attribute those that stand in its column, itself among them."""
        homes = [column_of(self.made.columns, name) for name in self.names]
        return tuple([place for place, other in enumerate(homes) if other == home] for home in homes)

    def cells(self, attribute: int) -> WorldCells:
        """Set up what is believed of a sensitive attribute."""
        values = self.problem.table.sensitive_codes[:, attribute].astype(np.int64)
        return world_cells(self.group_of[:, attribute], self.problem.table.codes, values, int(values.max()) + 1)

    def every_world(self, most: int) -> Iterator[NDArray[np.int64]] | None:
        """Return all worlds, or None if there are more than `most`: of each record and attribute whose value it has."""
        leaders, total = self._leaders(), 1
        for place in leaders:
            kinds = self.kinds[:, place]
            joint = world_cells(
                self.group_of[:, place], np.zeros((len(kinds), 1), np.int64), kinds, int(kinds.max()) + 1
            )
            total *= world_count(joint, most)
            if total > most:
                return None
        each = [every_world(self.group_of[:, place], self.kinds[:, place]) for place in leaders]
        return (self._joined(leaders, chosen) for chosen in product(*each))

    def random_worlds(self, worlds: int, seed: int | None) -> Iterator[NDArray[np.int64]]:
        """Draw worlds, likewise int64 (n, s)."""
        generator, leaders = np.random.default_rng(seed), self._leaders()
        each = [random_worlds(self.group_of[:, place], worlds, generator) for place in leaders]
        return (self._joined(leaders, chosen) for chosen in zip(*each, strict=True))

    def _leaders(self) -> list[int]:
        """Return one sensitive attribute of each column that has any."""
        return sorted({own[0] for own in self._companions})

    def _joined(self, leaders: Sequence[int], chosen: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        of_leader = dict(zip(leaders, chosen, strict=True))
        return np.column_stack([of_leader[own[0]] for own in self._companions])

    def leads_here(self, world: NDArray[np.int64]) -> bool:
        """Tell whether the algorithm publishes the very same in a world. For small tables."""
        problem, table = self._in_world(world)
        made = _cut_again(self.solver, problem, table)
        return made is not None and same_slices(sliced(table, made, 0), self.published)

    @cached_property
    def groups(self) -> list[int]:
        """Number of groups of each sensitive attribute."""
        return [int(column.max()) + 1 for column in self.group_of.T]

    def buckets_back(self, world: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
        """Tell which groups' buckets have the same people in a world; bool (g,) for each sensitive attribute."""
        made = _cut_again(with_columns(self.solver, self.made), *self._in_world(world))
        before = self.made.buckets
        if made is None:
            return [np.zeros(count, dtype=np.bool_) for count in self.groups]
        now = made.buckets.bucket_of
        one = np.zeros(before.count, dtype=np.int64)
        one[before.bucket_of] = now
        whole = np.bincount(before.bucket_of, minlength=before.count) == np.bincount(now)[one]
        whole[before.bucket_of[now != one[before.bucket_of]]] = False
        found = [np.zeros(count, dtype=np.bool_) for count in self.groups]
        for place, of_group in enumerate(found):
            of_group[self.group_of[:, place]] = whole[before.bucket_of]
        return found

    def _in_world(self, world: NDArray[np.int64]) -> tuple[Problem, Table]:
        encoded, frame = self.problem.table, self.table.frame
        codes = np.take_along_axis(encoded.sensitive_codes, world, axis=0)
        moved = frame.with_columns(frame[name][world[:, place]] for place, name in enumerate(self.names))
        problem = replace(self.problem, table=replace(encoded, sensitive_codes=np.ascontiguousarray(codes)))
        return problem, replace(self.table, frame=moved)

    def walk(self, settling: int, sweeps: int, seed: int) -> Iterator[NDArray[np.int64]] | None:
        """Search worlds in which even cuts fall as they did; None where there is none, or too many borders.

        Each sweep proposes as many exchanges as there are records, ever colder; those after `settling` are handed out.
        """
        even = self._even_cuts()
        if even is None or len(self.names) > 1:
            return None
        strata, count = self._strata
        values = self.problem.table.sensitive_codes[:, 0].astype(np.int64)
        is_determined = len(np.unique(np.column_stack([strata, values]), axis=0)) == count
        if not is_determined or len(even.attribute_of) * count > _MOST_BORDERS:
            return None
        value_of = np.zeros(count, dtype=np.int64)
        value_of[strata] = values
        (dealt,) = random_worlds(self.group_of[:, 0], 1, np.random.default_rng(seed))
        return self._walked(even, strata[dealt], value_of, settling, sweeps, seed)

    def _walked(
        self,
        even: EvenCuts,
        strata: NDArray[np.int64],
        value_of: NDArray[np.int64],
        settling: int,
        sweeps: int,
        seed: int,
    ) -> Iterator[NDArray[np.int64]]:
        group_of = self.group_of[:, 0].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(np.bincount(group_of))]).astype(np.int64)
        borders = np.full((len(even.attribute_of), len(value_of)), -1, dtype=np.int32)
        state = Exchanging(strata, group_of, starts, np.argsort(group_of, kind="stable"), borders)
        drawn = np.array([1 + seed % (_MODULUS - 1)], dtype=np.int64)
        for sweep in range(settling + sweeps):
            place_borders(even, state.strata, state.borders)
            share = min(1.0, sweep / max(1, settling))
            exchange(even, state, self.records, _WARM + (_COLD - _WARM) * share, drawn)
            if sweep >= settling:
                yield value_of[state.strata]

    @cached_property
    def _strata(self) -> tuple[NDArray[np.int64], int]:
        """Number the finest strata: sensitive value and what is known beside it."""
        finest = self._space.strata[0].astype(np.int64)
        return finest, int(finest.max()) + 1

    @cached_property
    def _space(self) -> CutSpace:
        return cut_space(self.problem.table, self.made.layout, self.made.columns, getattr(self.solver, "split", ""))

    def _even_cuts(self) -> EvenCuts | None:
        made = self.made.buckets
        if made.order is None or made.cuts is None or not len(made.cuts) or not self._space.balanced.any():
            return None
        strata, count = self._strata
        attribute_of = attributes_cut(made.order, made.cuts, self._space, strata, count)
        even = attribute_of != UNEVEN
        cuts = np.ascontiguousarray(made.cuts[even])
        if not len(cuts):
            return None
        codes = self.problem.table.codes.astype(np.int64)
        sorted_cuts = [
            _by_code(made.order, cut, codes[:, attribute])
            for cut, attribute in zip(cuts, attribute_of[even], strict=True)
        ]
        first_of = np.full(made.count, len(made.order), dtype=np.int64)
        np.minimum.at(first_of, made.bucket_of[made.order], np.arange(len(made.order)))
        above = [np.flatnonzero((cuts[:, 0] <= first) & (first < cuts[:, 2])) for first in first_of]
        owner = np.repeat(np.arange(made.count), [len(each) for each in above])
        flat = np.concatenate(above)
        return EvenCuts(
            attribute_of[even],
            _starts(np.diff(cuts[:, ::2], axis=1).ravel()),
            np.concatenate([rows for rows, _ in sorted_cuts]),
            np.concatenate([sides for _, sides in sorted_cuts]),
            _starts(np.array([len(each) for each in above])),
            flat,
            (first_of[owner] >= cuts[flat, 1]).astype(np.int64),
            made.bucket_of,
            codes,
        )


def _by_code(
    order: NDArray[np.int64], cut: NDArray[np.int64], codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return the records of a cut by rising code, and their halves; those of the first half before equal ones."""
    rows = order[cut[0] : cut[2]]
    sides = (np.arange(cut[0], cut[2]) >= cut[1]).astype(np.int8)
    place = np.lexsort((sides, codes[rows]))
    return rows[place], sides[place]


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def open_slice_game(solver: Any, problem: Problem, table: Table, published: SlicedTable) -> SliceGame | str:
    """Set up the game, or say why there is none, in words that finish "not played, because ..."."""
    if not callable(getattr(solver, "cut", None)):
        return "the algorithm that was given makes no slices"
    if table.people is not None and len(np.unique(table.people)) < table.height:
        return "people have several records, and values are exchanged between records"
    unknown = tuple(name for name in table.schema.sensitive if name in published.sensitive)
    if unknown != tuple(table.schema.sensitive):
        return "the release lacks a sensitive attribute of the original"
    if any(sum(name in column for column in published.columns) > 1 for name in unknown):
        return "a sensitive attribute stands in several columns, so that values cannot be exchanged one by one"
    made = _cut_again(cast(_Cuts, solver), problem, table)
    if made is None:
        return "the algorithm finds no slices for the original; it is another"
    again = sliced(table, made, 0)
    if not same_slices(again, published):
        return "the algorithm does not bring back the published buckets; it is another, or has other options"
    parts, homes = made.layout.arrays.parts, made.layout.attributes
    group_of = []
    for name in unknown:
        place = int(made.layout.arrays.homes[homes.index(name)]) if name in homes else _home(made, table, name)
        known = parts[:, place].astype(np.int64) if place >= 0 else np.zeros(len(parts), np.int64)
        group_of.append(group_records(np.column_stack([made.buckets.bucket_of, known]))[0])
    return SliceGame(cast(_Cuts, solver), problem, table, made, again, unknown, np.column_stack(group_of))


def _home(made: CutTable, table: Table, name: str) -> int:
    """Return the part beside a sensitive attribute that no model looks at; −1 for none."""
    known = [any(other in table.schema.quasi_identifying for other in column) for column in made.columns]
    home = column_of(made.columns, name)
    return sum(known[:home]) if known[home] else -1


def _cut_again(solver: _Cuts, problem: Problem, table: Table) -> CutTable | None:
    """Run the algorithm; None where it finds no slices."""
    try:
        return solver.cut(problem, table)
    except (InputError, PolicyError, UnsatisfiableError):
        return None


def with_columns(solver: _Cuts, made: CutTable) -> _Cuts:
    """Return the algorithm with the published columns, so that worlds do not choose others."""
    fixed = {"columns": made.columns, **({"alpha": None} if hasattr(solver, "alpha") else {})}
    return cast(_Cuts, replace(cast(Any, solver), **fixed))


def sliced(table: Table, made: CutTable, seed: int) -> SlicedTable:
    """Publish what was cut."""
    columns = (*made.columns, *((table.schema.insensitive,) if table.schema.insensitive else ()))
    return publish_slices(table, columns, made.buckets.bucket_of, seed, made.recoded)


def same_slices(one: SlicedTable, other: SlicedTable) -> bool:
    """Tell whether two sliced tables say the same, whatever the order of rows and the numbers of buckets."""
    if one.columns != other.columns or one.data.shape != other.data.shape:
        return False
    first, second = (_numbers(each, one, other) for each in (0, 1))
    return _content(one, first) == _content(other, second)


def _numbers(which: int, one: SlicedTable, other: SlicedTable) -> list[NDArray[np.int64]]:
    """Return numbers of the rows of each column, one for equal ones of both tables."""
    found = []
    for piece, twin in zip(exact_parts(one), exact_parts(other), strict=True):
        codes = [
            np.concatenate(number_alike(piece.frame[label], twin.frame[twin.label_of[name]]))
            for name, label in piece.label_of.items()
        ]
        _, numbers = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
        found.append(np.split(numbers.ravel(), 2)[which])
    return found


def _content(table: SlicedTable, numbers: Sequence[NDArray[np.int64]]) -> Counter[bytes]:
    bucket = exact_parts(table)[0].bucket
    columns = np.column_stack([column[np.lexsort((column, bucket))] for column in numbers])
    borders = np.flatnonzero(np.diff(np.sort(bucket))) + 1
    return Counter(part.tobytes() for part in np.split(columns, borders))


def sliced_values(game: SliceGame, world: NDArray[np.int64], attribute: int) -> NDArray[np.int64]:
    """Return the values of a sensitive attribute in a world, int64 (n,)."""
    codes: NDArray[np.int64] = game.problem.table.sensitive_codes[world[:, attribute], attribute].astype(np.int64)
    return codes


# Run the algorithm of a release again, as an attacker who knows it does.


class Solver(Protocol):
    """An algorithm that returns a partition."""

    def solve(self, problem: Any) -> Partition:
        """Partition the records."""
        ...


def solver_of(anonymizer: object | None, attack: str, does: str = "solve") -> Solver:
    """Return the algorithm of a target, or raise PolicyError when it is unknown or cannot be run: it lacks a method."""
    if anonymizer is None or isinstance(anonymizer, type) or not callable(getattr(anonymizer, does, None)):
        raise PolicyError(
            f"{attack}: the attacker runs the algorithm of the release again; give it as anonymizer, e.g. Mondrian()"
        )
    return cast(Solver, anonymizer)


def models_of(entries: Sequence[Mapping[str, Any]], attack: str) -> tuple[PrivacyModel, ...]:
    """Build the promised models, or raise PolicyError when there are none or one is unknown."""
    built = [known_model(entry) for entry in entries]
    problems = (
        [f"{attack}: {built.count(None)} promised model(s) are not known to this version"] if None in built else []
    )
    if not entries:
        problems.append(f"{attack}: the attacker knows what was promised; give the models of the release")
    known = tuple(model for model in built if model is not None)
    if whole_table_models(known) or of_population(known):
        problems.append(
            f"{attack}: is not played on promises about a population, or about figures of the whole table: what the "
            "algorithm refuses then follows from more than each class"
        )
    if any(says(model).needs_original for model in known):
        problems.append(
            f"{attack}: is not played on promises that compare with all original records: what the algorithm refuses "
            "then follows from records that nobody sees"
        )
    raise_all(PolicyError, problems)
    return known


@dataclass(frozen=True, eq=False, repr=False)
class Behind:
    """Who the records are about; `carried`: a hash of what they hold besides codes, by which people are ordered."""

    numbers: NDArray[np.int32]
    together: bool
    carried: NDArray[np.uint64]

    def take(self, rows: NDArray[np.int64]) -> Behind:
        """Return the people behind some of the records."""
        return replace(self, numbers=self.numbers[rows], carried=self.carried[rows])

    def exchanged(self, world: NDArray[np.int64]) -> Behind:
        """Return the same people with other records' values: what a record holds beside its codes goes with these."""
        return replace(self, carried=self.carried[world])


def rerun(solver: Solver, problem: Problem, behind: Behind | None = None) -> Partition | None:
    """Return the solution, or None when the models cannot be met.

    As a release is made: records are in canonical order; where promises are about people, their records are folded into
    one or classes are judged by people.
    """
    try:
        if behind is None:
            return _solved(solver, problem)
        problem = replace(problem, table=without_unread_columns(problem))
        if not behind.together:
            numbers = numbered_by_content(problem.table, behind.numbers, (behind.carried, None))
            return _solved(solver, replace(problem, table=replace(problem.table, apart=PeopleApart(numbers, None))))
        folded = fold(problem.table, behind.numbers, behind.carried)
        # People stand in an order that depends on their records alone.
        return unfolded(solver.solve(replace(problem, table=folded.table)), folded)
    except UnsatisfiableError:
        return None


def _solved(solver: Solver, problem: Problem) -> Partition:
    if getattr(solver, "order_free", False) and not problem.suppression_limit:
        return solver.solve(problem)
    order = canonical_order(problem.table)
    return solver.solve(replace(problem, table=problem.table.take(order))).put_back(order)


EFFORT, _FEWEST_WORLDS, _MOST_WORLDS = 400_000, 20, 500
"""Records in all worlds together, and fewest and most worlds, that are drawn by default."""

_FLOOR = 5
"""How many times the effort the fewest worlds may take."""

_FEW = 1_000
"""Records up to which the labels of every world are written, whatever it costs."""

_RECOGNIZED = 0.5
"""Least share of the classes that a run on the original reproduces if the algorithm is the right one."""

_LOOKS_AT_NONE = "no promised model looks at sensitive values, so that the algorithm tells nothing of them"
_DRAWN = (
    "the members of buckets are drawn: each division into buckets with these counts is equally likely; the algorithm "
    "tells nothing of who has which value"
)
_PARTS = (
    "the members of buckets are drawn inside parts of alike people; what the cuts between these parts may tell is not "
    "reckoned with"
)
_HARDLY = (
    "hardly any drawn world brings a bucket back, and the cuts do not spread one sensitive attribute evenly; what "
    "somebody could learn who searches longer is not known"
)

FEWEST_BACK = 4.0
"""Drawn worlds that must bring a class back, on average; fewer say nothing beside those that beliefs begin with."""

_ALONE = "people who are not in the data are in no class"

_WALKS, _SETTLING, _SWEEPS = 3, 100, 50
"""Searches for worlds that even cuts leave open; exchanges proposed for each record before and while counting."""

HARDLY = 0.05
"""Share of the buckets that drawn worlds must bring back on average; below it they say nothing."""

_SPREADS = 3.0
"""Standard errors of a drawn share by which a belief must rise before anything is claimed."""


@dataclass(frozen=True)
class Minimality(Checked):
    """The minimality attack.

    An algorithm that generalizes no more than it must shows, by every cut that it did not make, that the cut would have
    broken the model. The attacker takes the worlds that the release leaves open (who of each class has which of its
    sensitive values), runs the algorithm in each, and believes those that give the same classes.

    Parameters
    ----------
    worlds
        Worlds to draw if there are too many to try all of them. None: as many as `effort` allows, from 20 to 500.
    effort
        Records of all drawn worlds together. If 20 worlds hold more than five times as many and `worlds` is None, the
        attack is not played on classes. The same records have the same verdict on every machine.
    exhaustive
        Up to this many worlds, every one is tried, and only those count in which *all* classes come out again. Drawn
        worlds count class by class: almost none reproduces all classes of a large table.
    rise
        By how much the belief in somebody's value must rise above its share in their class for a claim, above 0.

    Raises
    ------
    PolicyError
        With every option that is out of range.

    References
    ----------
    R. C.-W. Wong, A. W.-C. Fu, K. Wang, J. Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007.

    Notes
    -----
    *Departure.* The paper derives formulas for recodings of its own kind. Here the algorithm itself is run, which
    covers all algorithms whose result does not depend on randomness that the attacker lacks. An algorithm that does not
    reproduce the published classes even from the original is not run any further. If it does, the attacker is assumed
    to know everybody's class, though published values may fit several.

    *People with several records.* Where promises are about people, the algorithm is run as the release was made: with
    their records folded into one, or with classes that are judged by people. A world deals the rows of each class out
    to the records of its people; where pseudonyms are published, whole bundles of rows to people who have as many. The
    attacker knows everybody's quasi-identifying values, and so how many records each has. A claim is that somebody has
    a value in some record, and people are counted. Where promises are about records, each of these is taken for a
    person, and records are counted. Where classes keep what people wish for (a k of one's own), it is not played: the
    attacker does not know the wishes.

    *Slices*, overlapping or not. The attacker knows everybody's bucket, too. A world exchanges sensitive values between
    records of a bucket that agree in what is known of their column. Few worlds are all tried, and count where the very
    same is published. Where there are more and cuts are at medians, worlds are drawn and count bucket by bucket, with
    the published columns. Where cuts spread every sensitive value evenly over both halves, hardly any drawn world would
    bring a bucket back. There the attacker searches for worlds in which few records with a value lie on the wrong side
    of the border that it has in each cut, by simulated annealing from random worlds, with borders that are estimated
    anew in every one; several searches must agree. That uses the cuts that were made and not those that were refused,
    and is played for one sensitive attribute.

    *Buckets.* Their members are drawn, and each division into buckets with the same counts is equally likely whoever
    has which value. So there is nothing to play, and a note says so.

    *Cost.* One run of the algorithm for each world; O(n depth) for each of a few hundred steps of a search.
    """

    name: ClassVar[str] = "minimality"
    kinds: ClassVar[frozenset[str]] = frozenset({"generalized-table", "sliced-table", "bucketized-tables"})
    counts: ClassVar[Counted] = "records"
    counts_as_promised: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("sensitive", "anonymizer")

    worlds: Annotated[int, Limit(1)] | None = None
    exhaustive: Annotated[int, Limit(0)] = 5000
    rise: Share = 0.1
    effort: Annotated[int, Limit(1)] = EFFORT

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute.

        Raises
        ------
        InputError
            When the release is of a kind that has no classes or buckets, or shares no quasi-identifying attribute with
            the people.
        PolicyError
            When the algorithm or the models are not given, or the original does not say whom promises are about.
        """
        if isinstance(target.published, (SlicedTable, BucketizedTables)):
            return self._play_buckets(target.published, target)
        published = require_generalized(target.published, self.name)
        solver = solver_of(target.anonymizer, self.name)
        models = models_of(target.models, self.name)
        names = tuple(name for name in target.original.schema.sensitive if name in published.data.columns)
        if not names:
            raise InputError("minimality: the release has no sensitive attribute, so there is nothing to learn")
        placement = place_people(published, target.original.frame, target.original.schema, target.recoding, names[0])
        if not _looks_at(models, names):
            return tuple(self._unplayed(name, (_LOOKS_AT_NONE,)) for name in names)
        if published.promised or published.promised_l:
            note = "classes keep what people wish for, which the attacker does not know; the algorithm needs it"
            return tuple(self._unplayed(name, (note,)) for name in names)
        game = open_class_game(published, placement, solver, models, target)
        if not game.records:
            note = "nobody is in one sure class alone, so that there are no worlds to try"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        if game.comes_back().mean() < _RECOGNIZED:
            note = "the algorithm does not bring back the published classes; it rests on random choices, or is another"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        return self._played(game, names, target)

    def _played(self, game: _ClassGame, names: Sequence[str], target: Target) -> tuple[AttackResult, ...]:
        values = [game.sensitive[:, column].astype(np.int64) for column in range(len(names))]
        cells = [found for column in values if (found := game.cells(column)) is not None]
        if len(cells) < len(values):
            note = "classes hold too many different values to keep a belief in each; play it on part of the table"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        everything = game.every_world(self.exhaustive)
        drawn = None if everything is not None else self._count_of(game.records)
        if drawn == 0:
            note = "the algorithm takes too long to be run in many worlds; say how many with worlds"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        whole, tallies = drawn is None, [WorldTally.of(each) for each in cells]
        worlds = everything if everything is not None else game.random_worlds(drawn or 0, target.seed)
        for number, world in enumerate(worlds, 1):
            target.progress("minimality: trying worlds", number, number)
            back = game.comes_back(world)
            accepted = np.full(game.count, back.all()) if whole else back
            for tally, column in zip(tallies, values, strict=True):
                tally.add(column[world], accepted)
        if not whole and tallies[0].brought_back < FEWEST_BACK:
            return tuple(self._unplayed(name, (*game.notes, _too_few(tallies[0]))) for name in names)
        return tuple(
            self._scored(name, _beliefs_from(tally, whole), column, target, (game.everybody, game.notes))
            for name, tally, column in zip(names, tallies, values, strict=True)
        )

    def _play_buckets(self, published: SlicedTable | BucketizedTables, target: Target) -> tuple[AttackResult, ...]:
        models = models_of(target.models, self.name)
        if isinstance(published, BucketizedTables):
            members = getattr(target.anonymizer, "members", "dealt")
            return (self._unplayed(published.sensitive, (_PARTS if members == "alike" else _DRAWN,)),)
        solver = solver_of(target.anonymizer, self.name, "cut")
        names = tuple(name for name in target.original.schema.sensitive if name in published.sensitive)
        if not _looks_at(models, names):
            return tuple(self._unplayed(name, (_LOOKS_AT_NONE,)) for name in names)
        problem = Problem(encode(target.original), models, seed=target.seed, threads=target.threads)
        game = open_slice_game(solver, problem, target.original, published)
        if isinstance(game, str):
            return tuple(self._unplayed(name, (game,)) for name in names)
        beliefs = self._learnt(game, target)
        if beliefs is None:
            return tuple(self._unplayed(name, (_HARDLY,)) for name in names)
        notes = ("everybody's bucket is taken to be known",)
        return tuple(
            self._scored(name, learnt, sliced_values(game, own, attribute), target, (game.records, notes))
            for own in [np.tile(np.arange(game.records)[:, None], (1, len(names)))]
            for attribute, (name, learnt) in enumerate(zip(names, beliefs, strict=True))
        )

    def _learnt(self, game: SliceGame, target: Target) -> list[_WorldBeliefs] | None:
        """Return what is believed of each sensitive attribute; None where drawn worlds say nothing."""
        worlds = self._count_of(game.records) or _FEWEST_WORLDS
        everything = game.every_world(self.exhaustive)
        if everything is not None:
            return [_beliefs_from(tally, True) for tally in self._tallied(game, everything, target, whole=True)]
        walked = [self._walked(game, number, target) for number in range(_WALKS)]
        if None not in walked:
            return [_of_walks([each for each in walked if each is not None])]
        tallies = self._tallied(game, game.random_worlds(worlds, target.seed), target, whole=False)
        if tallies[0].brought_back < HARDLY * tallies[0].tried:
            return None
        return [_beliefs_from(tally, False) for tally in tallies]

    def _tallied(
        self, game: SliceGame, worlds: Iterator[NDArray[np.int64]], target: Target, *, whole: bool
    ) -> list[WorldTally]:
        places = range(len(game.names))
        tallies = [WorldTally.of(game.cells(place)) for place in places]
        for number, world in enumerate(worlds, 1):
            target.progress("minimality: trying worlds", number, number)
            same = game.leads_here(world) if whole else None
            back = game.buckets_back(world) if same is None else [np.full(one, same) for one in game.groups]
            for attribute, tally in zip(places, tallies, strict=True):
                tally.add(sliced_values(game, world, attribute), back[attribute])
            tried, came = tallies[0].tried, tallies[0].brought_back
            if not whole and tried == _FEWEST_WORLDS and came < HARDLY * tried:
                break
        return tallies

    def _walked(self, game: SliceGame, number: int, target: Target) -> WorldTally | None:
        """Count the worlds of one walk, after it has settled."""
        worlds = game.walk(_SETTLING, _SWEEPS, (target.seed or 0) * _WALKS + number)
        if worlds is None:
            return None
        tally = WorldTally.of(game.cells(0))
        for step, values in enumerate(worlds):
            target.progress("minimality: walking through worlds", step + 1, _SWEEPS)
            tally.add(values, np.ones(game.groups[0], dtype=np.bool_))
        return tally

    def _count_of(self, records: int) -> int:
        """Return how many worlds to draw; 0 where the fewest are too many."""
        if self.worlds is not None or _FEWEST_WORLDS * records > _FLOOR * self.effort:
            return self.worlds or 0
        return min(_MOST_WORLDS, max(_FEWEST_WORLDS, self.effort // records))

    def _scored(
        self,
        name: str,
        beliefs: _WorldBeliefs,
        truth: NDArray[np.int64],
        target: Target,
        about: tuple[int, tuple[str, ...]],
    ) -> AttackResult:
        """Judge what was believed; `about` is how many people there are, and notes."""
        everybody, notes = about
        cells, shares, belief, doubt = beliefs.cells, beliefs.cells.shares, beliefs.belief, beliefs.doubt
        group, rises = np.arange(len(belief)), belief - shares
        enough: NDArray[np.bool_] = rises >= np.maximum(self.rise, _SPREADS * doubt) - SURE
        claims = cells.claimable(belief) & enough
        claim = np.where(claims, belief, -1.0).argmax(axis=1)
        claimed = claims[group, claim]
        made, usual = claimed[cells.group_of], shares[group, claim]
        right = cells.right(claim, truth)[made]
        baseline = (usual[cells.group_of][made] if made.any() else shares.max(axis=1)[cells.group_of]).mean()
        figures = {
            "claimed": float(made.sum() / everybody),
            "highest_rise": float(rises[group, claim][claimed].max(initial=0.0)),
            "average_certainty": float(cells.certainty(belief, truth).mean()),
            "average_certainty_by_class": float(cells.certainty(shares, truth).mean()),
            "worlds": float(beliefs.worlds),
            "worlds_left": beliefs.left,
        }
        result = self._result(name, Rate(float(right.sum()), int(made.sum()), float(baseline)), figures, notes)
        named = np.where(claimed, claim, shares.argmax(axis=1))
        surest = np.where(claimed, belief[group, claim], shares.max(axis=1))
        bound = allowed_guess(target.models, name)
        return replace(result, curve=_curve(cells, surest, cells.right(named, truth), bound))

    def _unplayed(self, name: str, notes: tuple[str, ...]) -> AttackResult:
        unplayed = self._result(name, Rate(0.0, 0, 0.0), {"claimed": 0.0}, notes)
        return replace(unplayed, unplayed=notes[-1])

    def _result(self, name: str, rate: Rate, figures: dict[str, float], notes: tuple[str, ...]) -> AttackResult:
        return AttackResult(
            self.name,
            "everybody's quasi-identifying values, who is in the data, and the algorithm with its options and models",
            f"whose {name} was told more surely than by their class, and rightly",
            rate,
            None,
            figures,
            notes,
            "an algorithm that does not look at sensitive values when it forms classes or buckets: most with "
            "blind=True, slices with split='blind'; or a larger k, or a stricter model than the one that is needed",
        )


@dataclass(frozen=True, eq=False, repr=False)
class _WorldBeliefs:
    """What the worlds say: `belief`, float64 (g, w); `left`, how many brought a class or bucket back, on average."""

    cells: Cells
    belief: NDArray[np.float64]
    doubt: NDArray[np.float64] | float
    worlds: int
    left: float


def _beliefs_from(tally: WorldTally, whole: bool) -> _WorldBeliefs:
    belief, doubt = (tally.exact_belief, 0.0) if whole else (tally.drawn_belief, tally.doubt)
    return _WorldBeliefs(tally.cells, belief, doubt, tally.tried, tally.brought_back)


def _too_few(tally: WorldTally) -> str:
    """Say that drawn worlds brought back too little to learn from."""
    return (
        f"a class comes back in {tally.brought_back:.1f} of {tally.tried} drawn worlds on average, and "
        f"{FEWEST_BACK:g} are needed; what somebody could learn who searches longer is not known"
    )


def _of_walks(tallies: Sequence[WorldTally]) -> _WorldBeliefs:
    """Believe the mean of several walks, and doubt it as far as they differ."""
    beliefs = np.stack([tally.exact_belief for tally in tallies])
    doubt = beliefs.std(axis=0, ddof=1) / np.sqrt(len(tallies))
    worlds = sum(tally.tried for tally in tallies)
    return _WorldBeliefs(tallies[0].cells, beliefs.mean(axis=0), doubt, worlds, float(worlds))


def _looks_at(models: Sequence[PrivacyModel], names: Sequence[str]) -> bool:
    return any(rule.attribute for model in models for rule in model.rules(names))


def _curve(cells: Cells, surest: NDArray[np.float64], right: NDArray[np.bool_], bound: float | None) -> BeliefCurve:
    """Rank people by the belief in what is named of them, the class's own share where it did not rise."""
    group = cells.group_of
    people = Beliefs(surest[group], right.astype(np.float64), cells.shares.max(axis=1)[group])
    return draw_curve(people, None, None, guessing=(0.0, 0.0), bound=bound, alone=_ALONE, claims=True)


_MOST_CELLS = 1 << 25
"""Most beliefs that are kept at a time: people by values of a class."""


@dataclass(frozen=True, eq=False, repr=False)
class _ClassGame:
    """The records in sure classes, as the algorithm sees them, and the people behind them, where these are promised.

    `bundled`: whether a reader sees which rows are of one person. `recoding`: None where not everybody's class is
    known.
    """

    solver: Solver
    problem: Problem
    behind: Behind | None
    classes: NDArray[np.int32]
    count: int
    everybody: int
    bundled: bool
    notes: tuple[str, ...]
    recoding: Recoding | None = None

    @property
    def records(self) -> int:
        """Number of records n."""
        return len(self.classes)

    @property
    def sensitive(self) -> NDArray[np.unsignedinteger]:
        """Sensitive codes, (n, s)."""
        return self.problem.table.sensitive_codes

    @cached_property
    def bundles(self) -> Bundles:
        """The records of each person in each class."""
        assert self.behind is not None
        owner = np.unique(self.behind.numbers, return_inverse=True)[1].ravel()
        return Bundles.of(self.classes, owner, self.bundled)

    def cells(self, values: NDArray[np.int64]) -> Cells | None:
        """Set up what is believed of a sensitive attribute; None if that is too much to keep. values : int64 (n,)."""
        codes, width = self.problem.table.codes, int(values.max()) + 1
        if self.behind is not None:
            return people_cells(self.bundles, codes, values) if len(self.bundles.sizes) * width <= _MOST_CELLS else None
        cells = world_cells(self.classes, codes, values, width)
        return cells if len(cells.members) * cells.width <= _MOST_CELLS else None

    def every_world(self, most: int) -> Iterator[NDArray[np.int64]] | None:
        """Return all worlds, or None if there are more than `most`."""
        kinds = np.unique(self.sensitive, axis=0, return_inverse=True)[1].ravel()
        if self.bundled:
            few = bundled_count(self.bundles, kinds, most) <= most
            return every_bundled_world(self.bundles, kinds) if few else None
        joint = world_cells(self.classes, np.zeros((len(kinds), 1), dtype=np.int64), kinds, int(kinds.max()) + 1)
        return every_world(self.classes, kinds) if world_count(joint, most) <= most else None

    def random_worlds(self, worlds: int, seed: int | None) -> Iterator[NDArray[np.int64]]:
        """Draw worlds."""
        generator = np.random.default_rng(seed)
        if self.bundled:
            return random_bundled_worlds(self.bundles, worlds, generator)
        return random_worlds(self.classes, worlds, generator)

    def comes_back(self, world: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Run the algorithm in a world, or in the true one if None; tell which classes it reproduces, bool (c,)."""
        problem, behind = self.problem, self.behind
        table = problem.table
        if world is not None:
            table = replace(table, sensitive_codes=np.ascontiguousarray(self.sensitive[world]))
            problem = replace(problem, table=table)
            behind = None if behind is None else behind.exchanged(world)
        again = rerun(self.solver, problem, behind)
        if again is None:
            return np.zeros(self.count, dtype=np.bool_)
        if self.recoding is not None and (again.count != self.count or self.records <= _FEW):
            # Classes with equal labels are one to who reads them. Of many it hardly happens that as many fall together
            # as others are cut anew.
            read = recode_as_published(self.problem.table, again, self.recoding)
            again = Partition(read.class_of, len(read.sizes))
        return survivors(self.classes, again, self._content(table.sensitive_codes))

    def _content(self, sensitive: NDArray[np.unsignedinteger]) -> NDArray[np.uint64]:
        """Hash what records hold in a world, uint64 (n,); several records of a person are told apart."""
        mixed = [self._hash_of_codes, content_hash(sensitive)] if self.behind is None else [np.arange(self.records)]
        return content_hash(np.column_stack([part.astype(np.uint64) for part in mixed]))

    @cached_property
    def _hash_of_codes(self) -> NDArray[np.uint64]:
        return content_hash(self.problem.table.codes)


def open_class_game(
    published: PublishedTable,
    placement: Placement,
    solver: Solver,
    models: Sequence[PrivacyModel],
    target: Target,
) -> _ClassGame:
    """Find the records that are in sure classes, and set up what the algorithm is run on.

    Raises PolicyError when promises are about people, and the original does not say who they are.
    """
    table = encode(target.original)
    problem = Problem(table, models, seed=target.seed, threads=target.threads)
    behind = _behind(target, table)
    granted = _granted(published, rerun(solver, problem, behind), table, target.recoding)
    placed, sure = (placement.class_of, placement.filled) if granted is None else granted
    rows = np.flatnonzero((placed >= 0) & sure[np.maximum(placed, 0)])
    number = (np.cumsum(sure) - 1).astype(np.int32)
    left_out = table.height - len(rows)
    chosen = replace(
        table,
        codes=np.ascontiguousarray(table.codes[rows]),
        sensitive_codes=np.ascontiguousarray(table.sensitive_codes[rows]),
    )
    return _ClassGame(
        solver,
        replace(problem, table=chosen),
        None if behind is None else behind.take(rows),
        number[placed[rows]],
        int(sure.sum()),
        table.height if behind is None else int(target.original.person_of.max()) + 1,
        behind is not None and published.pseudonyms is not None,
        (f"{counted(left_out, 'record')} of no sure class left out",) if left_out else (),
        None if granted is None else target.recoding,
    )


def _behind(target: Target, table: EncodedTable) -> Behind | None:
    """Return who the records are about; None where promises are about records, or everybody has one."""
    people = target.original.people
    if not target.rows.promised:
        return None
    if people is None:
        raise PolicyError(
            "minimality: the release promises something to people, and the original does not say who they are; read it "
            "with its person column"
        )
    if len(np.unique(people)) == len(people):
        return None
    return Behind(people, target.rows.together, carried(table, target.original))


@dataclass(frozen=True, eq=False, repr=False)
class ClassesAgain:
    """The class of each original record and of each published row, int64, −1 for none; of equal labels it is one."""

    of_record: NDArray[np.int64]
    of_row: NDArray[np.int64]


def classes_again(published: PublishedTable, target: Target) -> ClassesAgain | None:
    """Return everybody's class, if the algorithm makes exactly the published ones; None where nobody can tell."""
    if target.rows.promised:
        return None
    with suppress(InputError, PolicyError):
        solver, models = solver_of(target.anonymizer, "minimality"), models_of(target.models, "minimality")
        table = encode(target.original)
        partition = rerun(solver, Problem(table, models, seed=target.seed, threads=target.threads))
        granted = _granted(published, partition, table, target.recoding)
        if granted is None or partition is None:
            return None
        recoded = recode_as_published(table, partition, target.recoding)
        names = [column.attribute.name for column in recoded.columns]
        classes = pl.DataFrame(
            [text_of(column.labels.gather(column.per_class)).alias(column.attribute.name) for column in recoded.columns]
        )
        rows = published.data.select(text_of(published.data[name]).alias(name) for name in names)
        numbers = group_texts(pl.concat([classes, rows]))
        of_class, of_row = numbers[: classes.height], numbers[classes.height :]
        of_record = np.where(recoded.class_of >= 0, of_class[np.maximum(recoded.class_of, 0)], -1)
        # Rows of records that were left out stand in no class.
        return ClassesAgain(of_record, np.where(np.isin(of_row, of_class), of_row, -1))
    return None


def group_texts(frame: pl.DataFrame) -> NDArray[np.int64]:
    """Give equal rows of texts one number, int64 (n,), from 0."""
    codes = [column.cast(pl.Categorical).to_physical().fill_null(2**32 - 1).to_numpy() for column in frame]
    return group_records(np.column_stack(codes).astype(np.uint32))[0].astype(np.int64)


def _granted(
    published: PublishedTable, partition: Partition | None, table: EncodedTable, recoding: Recoding
) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
    """Return everybody's class if the algorithm makes exactly the published classes from the original, else None."""
    # Published values may overlap, so labels alone do not identify the classes. But an attacker who can run the
    # algorithm on everybody can search for the classes that give these labels. That search is not played; it is assumed
    # to succeed.
    if partition is None:
        return None
    recoded = recode_as_published(table, partition, recoding)
    names = [attribute.name for attribute in table.attributes]
    if not set(names) <= set(published.data.columns):
        return None
    again = pl.DataFrame(
        [column.labels.gather(column.per_class).alias(column.attribute.name) for column in recoded.columns]
    ).with_columns(pl.Series("", recoded.sizes, dtype=pl.Int64))
    texts = published.data.select(text_of(published.data[name]).alias(name) for name in names)
    counts = texts.group_by(exactly(*names)).len("").cast({"": pl.Int64})
    every = exactly(*again.columns)
    if not again.sort(every).equals(counts.select(every).sort(every)):
        return None
    return recoded.class_of, np.ones(len(recoded.sizes), dtype=np.bool_)
