"""Worlds that a published table leaves open: who has which value, in classes, in bundles and in sliced tables.

Where people have several records, the published rows of a class do not say which are of one person. So the worlds are
all ways to deal the rows of a class out to the records of its people; where pseudonyms are published, whole bundles of
rows go to people who have as many.

Letters: n records, p people, c classes, g groups of people who are alike to the attacker (whose records have the same
quasi-identifying values in the same classes), w sensitive values or places for them, u bundles (the records of a person
in a class).

Letters: n records, people or rows, s sensitive attributes, b buckets, k rows of a bucket, g groups of records whose
values may be exchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import comb, factorial, prod
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.slicing.partitioning import CutTable, cut_space, publish_slices
from sfumato.classes.partition import Partition, group_records
from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.evaluation.attacks.original_values import exact_parts, number_alike
from sfumato.kernels.grouping import first_records
from sfumato.kernels.slices.cuts import UNEVEN, CutSpace, EvenCuts, Exchanging, attributes_cut, exchange, place_borders
from sfumato.published.apart import SlicedTable, column_of
from sfumato.table.folding import distinct_numbers
from sfumato.table.row_order import content_hash
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class WorldCells:
    """Groups of people by the values of their class, so that beliefs fit into one small table.

    `group_of`: int32 (n,): group of each person. `class_of_group`: int32 (g,): class of each group. `members`: int64
    (g,): people in each group. `place`: int64 (c · v,): place of each sensitive value (row-major by class) among those
    of the class, −1 for others. `width`: Number of places w: the most different values that a class has. `counts`:
    int64 (c, w): how often each value occurs in its class.
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
    """Set up the table of groups and values.

    `classes`: int32 (n,): class of each person, ``0 .. c-1``. `codes`: Integers (n, q): quasi-identifying values.
    `values`: int64 (n,): sensitive values that the published table shows in each person's class, in any order inside a
    class. `value_count`: Number of sensitive values v.
    """
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
    """Yield every world once: for each person, the place of a person of the same class whose values they take.

    `classes`: int32 (n,). `kinds`: Integers (n,): equal for people with the same sensitive values, whose exchange makes
    no difference.
    """
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


def survivors(classes: NDArray[np.int32], count: int, again: Partition) -> NDArray[np.bool_]:
    """Tell which classes a solution reproduces, with the same people; bool (c,)."""
    of_class = np.zeros(count, dtype=np.int64)
    of_class[classes] = again.class_of
    together = np.ones(count, dtype=np.bool_)
    together[classes[again.class_of != of_class[classes]]] = False
    kept = of_class >= 0
    sizes = np.bincount(classes, minlength=count)
    back: NDArray[np.bool_] = together & kept & (again.sizes[np.where(kept, of_class, 0)] == sizes)
    return back


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
    """The records of each person in each class.

    `of_record`: int32 (n,): the bundle of each record. `class_of`, `owner`, `sizes`: int64 (u,): the class, the person,
    and the number of records of each bundle. `published`: Whether a reader sees which rows are a bundle.
    """

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
    """Groups of people by sensitive values: what :class:`~sfumato.evaluation.attacks.worlds.WorldCells` is for records.

    `group_of`: int32 (p,): group of each person. `members`: int64 (g,): people in each group. `width`: Number of
    sensitive values w. `shares`: float64 (g, w): the chance to have each value in a random world. `owner`: int64 (n,):
    the person of each record. `starts`, `classes`: int64: where the classes of each group begin, and the classes, each
    once.
    """

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
    """Set up the table of groups and values.

    `bundles`: The records of each person in each class. `codes`: Integers (n, q): quasi-identifying values. `values`:
    int64 (n,): sensitive values.
    """
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
    """Counts of the worlds that were tried, cell by cell.

    `brought_back`: The shares of classes that came back, added up over the worlds. `alive`: float64 (g,): worlds that
    were accepted for each group: all its classes came back. `all`, `accepted`: float64 (g, w): how often a member of
    each group had each value, in all worlds and in those accepted.
    """

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
    """The records of a sliced table, as the algorithm sees them.

    `made`: What the algorithm makes of the original. `names`: Sensitive attributes, length s. `group_of`: int32 (n, s):
    of each sensitive attribute the records whose values may be exchanged: those of one bucket that agree in what is
    known of its column.
    """

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
        """Search worlds in which even cuts fall as they did; of one sensitive attribute everybody's value in each.

        Each sweep proposes as many exchanges as there are records; after `settling` ones it is as cold as it gets, and
        the `sweeps` after these are handed out. It starts with the values of each bucket dealt out at random. None
        where there is no even cut, or too many borders.
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
