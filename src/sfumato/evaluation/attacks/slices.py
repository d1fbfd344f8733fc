"""What sliced tables tell who knows more: worlds that an algorithm's cuts allow.

Letters: n records, people or rows, s sensitive attributes, b buckets, k rows of a bucket, g groups of records whose
values may be exchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.slicing.partitioning import CutTable, cut_space, publish_slices
from sfumato.classes.partition import group_records
from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.evaluation.attacks.original_values import exact_parts, number_alike
from sfumato.evaluation.attacks.worlds import WorldCells, every_world, random_worlds, world_cells, world_count
from sfumato.kernels.slices.cuts import UNEVEN, CutSpace, EvenCuts, Exchanging, attributes_cut, exchange, place_borders
from sfumato.published.sliced import SlicedTable, column_of
from sfumato.table.table import Table

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
        """Tell which groups' buckets have the same people in a world, with the published columns.

        Returns bool (g,) for each sensitive attribute.
        """
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
        told = len(np.unique(np.column_stack([strata, values]), axis=0)) == count
        if not told or len(even.attribute_of) * count > _MOST_BORDERS:
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
    told = np.column_stack([column[np.lexsort((column, bucket))] for column in numbers])
    borders = np.flatnonzero(np.diff(np.sort(bucket))) + 1
    return Counter(part.tobytes() for part in np.split(told, borders))


def sliced_values(game: SliceGame, world: NDArray[np.int64], attribute: int) -> NDArray[np.int64]:
    """Return the values of a sensitive attribute in a world, int64 (n,)."""
    codes: NDArray[np.int64] = game.problem.table.sensitive_codes[world[:, attribute], attribute].astype(np.int64)
    return codes
