"""Corruption: the attacker knows the sensitive values of others in the data (Tao, Xiao, Li and Zhang, 2008).

Letters: m people, g groups of published records (classes or buckets), v sensitive values, s sorts of people who fit the
same, p pairs of a sort and a group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.learners import known_from_others, usual_share
from sfumato.evaluation.attacks.linkage import list_pairs
from sfumato.evaluation.attacks.original_values import known_names, number_buckets, number_texts, number_vectors_alike
from sfumato.evaluation.attacks.people import Cohort, cohort_of, generator_of, nothing_shared
from sfumato.evaluation.attacks.placement import (
    join_entries,
    read_publication,
    read_register,
    register_attributes,
    sum_by_code,
)
from sfumato.evaluation.attacks.posterior import sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import SURE, Beliefs, draw_curve
from sfumato.options import Checked, Share
from sfumato.published import BucketizedTables, PublishedTable
from sfumato.published.apart import BUCKET, COUNT
from sfumato.rates import Rate
from sfumato.recoding.choice import Recoding
from sfumato.table.schema import text_of
from sfumato.table.table import Table

_BLOCK_CELLS = 1 << 22
"""Cells of pairs of a person and a group, by values, that are computed at a time."""


_SALT = 0xC0


@dataclass(frozen=True)
class Corruption(Checked):
    """The attack of somebody who knows the sensitive values of others.

    Parameters
    ----------
    corrupted
        Share of the people in the data whose sensitive values the attacker knows, above 0 to 1; who they are is drawn.
        At 1 everybody is a victim whose value alone is not known.

    Raises
    ------
    PolicyError
        When it is no such share.

    Notes
    -----
    *Played.* What is known to belong to others is taken out of the classes or buckets, and the likeliest of the values
    that are left is named; equally likely ones share. Where several groups fit somebody whose value is known, they are
    spread over those that show it, in proportion to how often they do. Of whom no group has a value left, or whom none
    fits, the most frequent value is named.

    *By guessing*: the better of the most frequent value and the likeliest one of the person's groups with all their
    values, the figure ``by_group``: what the release says without corruption. People who are not in the data are looked
    up in the same groups.

    *No promise is about it.* A class of k records with l values each of which k − 1 people are known of tells the last
    one, whatever l is: the paper's point. So nothing is allowed, and only release models that perturb withstand it.

    *Departure.* The paper corrupts the victim's own group and asks what model would hold; here the people are drawn.

    Cost O(p · v) for p pairs of a person and a group that fits, and v values.

    References
    ----------
    Y. Tao, X. Xiao, J. Li, D. Zhang, "On anti-corruption privacy preserving publication", ICDE 2008.
    """

    name: ClassVar[str] = "corruption"
    kinds: ClassVar[frozenset[str]] = frozenset({"generalized-table", "bucketized-tables"})
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)
    on_demand: ClassVar[str] = "whose values its attacker knows is an assumption; name it to play it"

    corrupted: Share = 0.5

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        cohort = cohort_of(target)
        return tuple(self._played(target, cohort, name) for name in sensitive_of(target.published))

    def _played(self, target: Target, cohort: Cohort, sensitive: str) -> AttackResult:
        published = target.published
        assert isinstance(published, (PublishedTable, BucketizedTables))
        if (
            not set(published.quasi_identifying)
            & set(cohort.frame.columns)
            & set(cohort.table.schema.quasi_identifying)
        ):
            raise nothing_shared()
        if not cohort.known.alone:
            return self._unplayed(sensitive, "people have several records, and it takes each value from one")
        groups = groups_of(published, cohort.table, sensitive, target.recoding)
        if groups is None:
            return self._unplayed(sensitive, "groups or values are too many to keep count of")
        code_of = {value: code for code, value in enumerate(groups.values)}
        values = text_of(cohort.frame[sensitive]).to_list()
        truth = np.array([code_of.get(text, -1) for text in values], dtype=np.int64)
        drawn = generator_of(target, _SALT).permutation(cohort.members)
        known = np.zeros(len(truth), dtype=np.bool_)
        known[drawn[: max(1, round(self.corrupted * cohort.members))]] = True
        everybody = self.corrupted == 1 or bool(known[: cohort.members].all())
        left = taken_out(groups, truth, known & (truth >= 0))
        tried = np.flatnonzero(~known | (np.arange(len(truth)) < cohort.members) & everybody)
        return self._scored(target, cohort, sensitive, truth, tried, left)

    def _scored(
        self,
        target: Target,
        cohort: Cohort,
        sensitive: str,
        truth: NDArray[np.int64],
        tried: NDArray[np.int64],
        left: _LeftOver,
    ) -> AttackResult:
        beliefs, plain = left.beliefs(tried, truth), taken_out(left.groups, truth, None).beliefs(tried, truth)
        inside = tried < cohort.members
        people, others = truth[tried[inside]], truth[tried[~inside]]
        usual = usual_share(people, np.arange(len(people)))
        usual_of_others = usual_share(others, np.arange(len(others))) if len(others) else 0.0
        members, outside = (
            Beliefs(beliefs.belief[some], beliefs.right[some], plain.right[some]) for some in (inside, ~inside)
        )
        by_group, of_others = (float(one.guessed.mean()) if one.people else 0.0 for one in (members, outside))  # type: ignore[union-attr]
        population = known_from_others(cohort, sensitive, ranges=max(2, len(left.groups.values)))
        if population is not None:
            chosen = tried[inside]
            population = Beliefs(population.belief[chosen], population.right[chosen])
        certain = members.belief >= 1 - SURE
        return replace(
            self._result(sensitive),
            success=Rate(float(members.right.sum()), members.people, max(usual, by_group)),
            control=Rate(float(outside.right.sum()), outside.people, max(usual_of_others, of_others))
            if outside.people
            else None,
            figures={
                "by_group": by_group,
                "certain": float(certain.mean()) if members.people else 0.0,
                "certain_and_right": float((members.right * certain).mean()) if members.people else 0.0,
            },
            curve=draw_curve(members, outside, population, guessing=(usual, usual_of_others), bound=None),
        )

    def _result(self, sensitive: str) -> AttackResult:
        whose = "everybody else" if self.corrupted == 1 else f"{100 * self.corrupted:.3g} % of the people"
        return AttackResult(
            attack=self.name,
            knows=f"everybody's quasi-identifying values, who is in the data, and the {sensitive} of {whose}",
            goal=f"whose {sensitive} was told from what others leave",
            success=Rate(0.0, 0, 0.0),
            helps="larger classes or buckets; what is published of a sample; or values that are changed at random",
        )

    def _unplayed(self, sensitive: str, why: str) -> AttackResult:
        return replace(self._result(sensitive), notes=(why,), unplayed=why)


@dataclass(frozen=True, eq=False, repr=False)
class _LeftOver:
    """The groups without records of people who are known: `taken` by group and value, by pair, and whose are `own`."""

    groups: _GroupsOfPeople
    taken: NDArray[np.float64]
    taken_room: NDArray[np.float64]
    own: NDArray[np.bool_]

    def beliefs(self, people: NDArray[np.int64], truth: NDArray[np.int64]) -> Beliefs:
        """Name the likeliest value left to each of some people; what is known of themselves is put back."""
        belief, right = np.zeros(len(people)), np.zeros(len(people))
        for some, shares in self._shares(people, truth):
            best = shares.max(axis=1)
            ties = (shares >= best[:, None] - SURE) & (best[:, None] > 0)
            of_truth = np.maximum(truth[people[some]], 0)[:, None]
            hit = np.take_along_axis(ties, of_truth, axis=1)[:, 0] & (truth[people[some]] >= 0)
            belief[some], right[some] = best, hit / np.maximum(ties.sum(axis=1), 1)
        return Beliefs(belief, right)

    def _shares(
        self, people: NDArray[np.int64], truth: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Yield the chances of each value for some people at a time: their places, float64 (some, v)."""
        groups = self.groups
        sorts = int(max(groups.sort_of.max(initial=0), groups.sort.max(initial=0))) + 1
        most = int(np.bincount(groups.sort, minlength=sorts).max(initial=1))
        step = max(1, _BLOCK_CELLS // (len(groups.values) * max(1, most)))
        prior = groups.held.sum(axis=0) / groups.held.sum()
        for start in range(0, len(people), step):
            some = np.arange(start, min(start + step, len(people)))
            who = people[some]
            one, pair = join_entries(groups.sort_of[who], groups.sort, sorts)
            group = groups.group[pair]
            own = np.where(self.own[who[one]], _where_chance(groups, pair, truth[who[one]]), 0.0)
            total = sum_by_code(one, own, len(some))
            own = np.divide(own, total[one], out=np.zeros(len(own)), where=total[one] > 0)
            left = np.maximum(groups.held[group] - self.taken[group], 0.0)
            left[np.arange(len(one)), np.maximum(truth[who[one]], 0)] += own
            room = np.maximum(groups.room[pair] - self.taken_room[pair], 0.0) + own
            all_left = left.sum(axis=1)
            scale = np.divide(room, all_left, out=np.zeros(len(room)), where=all_left > SURE)
            shares = np.zeros((len(some), left.shape[1]))
            np.add.at(shares, one, left * scale[:, None])
            sums = shares.sum(axis=1, keepdims=True)
            # Of whom nothing is left in any group, the attacker says what they would say of anybody.
            yield some, np.divide(shares, sums, out=np.tile(prior, (len(some), 1)), where=sums > SURE)


def _where_chance(groups: _GroupsOfPeople, pair: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many records of a pair's group may be of its sort and have a value, float64, one for each pair."""
    group = groups.group[pair]
    sizes = groups.held.sum(axis=1)
    shown = groups.held[group, np.maximum(value, 0)] * (value >= 0)
    chance: NDArray[np.float64] = shown * groups.room[pair] / np.maximum(sizes[group], 1)
    return chance


def taken_out(groups: _GroupsOfPeople, truth: NDArray[np.int64], known: NDArray[np.bool_] | None) -> _LeftOver:
    """Take the values of people whom the attacker knows out of the groups; None knows nobody.

    truth : int64 (m,), their values. known : bool (m,). Cost O(p) for the pairs of a person and a group.
    """
    taken, taken_room = np.zeros(groups.held.shape), np.zeros(len(groups.sort))
    if known is None:
        return _LeftOver(groups, taken, taken_room, np.zeros(len(truth), dtype=np.bool_))
    width = len(groups.values)
    # People of one sort with one value are spread alike.
    kinds, times = np.unique(groups.sort_of[known] * width + truth[known], return_counts=True)
    sorts = int(max(groups.sort_of.max(initial=0), groups.sort.max(initial=0))) + 1
    kind, pair = join_entries(kinds // width, groups.sort, sorts)
    value, group = kinds[kind] % width, groups.group[pair]
    chance = _where_chance(groups, pair, value)
    total = sum_by_code(kind, chance, len(kinds))
    spread = np.divide(chance * times[kind], total[kind], out=np.zeros(len(kind)), where=total[kind] > 0)
    taken = sum_by_code(group * width + value, spread, taken.size).reshape(taken.shape)
    room = (
        sum_by_code(group, spread, len(taken))[groups.group]
        if groups.shared
        else sum_by_code(pair, spread, len(groups.sort))
    )
    return _LeftOver(groups, taken, room, known)


_MOST_CELLS = 1 << 25
"""Most cells of groups by values that are held."""


@dataclass(frozen=True, eq=False, repr=False)
class _GroupsOfPeople:
    """The groups of a release, and who may be in them.

    `held`, float64 (g, v): records by value. Pairs of a sort of people and a group that may hold it have `room`,
    `shared` by all as in a class, or with rows of their own as in a bucket.
    """

    values: tuple[str | None, ...]
    held: NDArray[np.float64]
    sort_of: NDArray[np.int64]
    sort: NDArray[np.int64]
    group: NDArray[np.int64]
    room: NDArray[np.float64]
    shared: bool


def groups_of(
    published: PublishedTable | BucketizedTables, people: Table, sensitive: str, recoding: Recoding
) -> _GroupsOfPeople | None:
    """Read the groups of a release, and find those of people; None if they are too many.

    Raises InputError when a register's cells are not of the declared kind.
    """
    found = _classes(published, people, sensitive, recoding) if isinstance(published, PublishedTable) else None
    return _buckets(published, people, sensitive) if isinstance(published, BucketizedTables) else found


def _classes(published: PublishedTable, people: Table, sensitive: str, recoding: Recoding) -> _GroupsOfPeople | None:
    names = register_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, names)
    publication = read_publication(published.data, sensitive, known, recoding)
    count, width = len(publication.sizes), len(publication.values)
    pairs = list_pairs(publication, known) if count * width <= _MOST_CELLS else None
    if pairs is None:
        return None
    class_of = np.repeat(np.arange(count), np.diff(publication.starts))
    held = sum_by_code(class_of * width + publication.value_of, publication.counts, count * width).reshape(count, width)
    room = publication.sizes[pairs.owner].astype(np.float64)
    sorts = pairs.vector_of.astype(np.int64)
    return _GroupsOfPeople(publication.values, held, sorts, pairs.vector, pairs.owner, room, True)


def _buckets(published: BucketizedTables, people: Table, sensitive: str) -> _GroupsOfPeople | None:
    names = known_names(published.quasi_identifying, people)
    rows, asked = number_vectors_alike(published.quasi, names, people.frame, names)
    bucket, counted = number_buckets(published.quasi[BUCKET], published.counts[BUCKET])
    values, value_of = number_texts(published.counts[sensitive])
    count, width = int(max(bucket.max(), counted.max())) + 1, len(values)
    if count * width > _MOST_CELLS:
        return None
    records = published.counts[COUNT].cast(pl.Float64).to_numpy()
    held = sum_by_code(counted * width + value_of, records, count * width).reshape(count, width)
    cells, times = np.unique(rows * count + bucket, return_counts=True)
    return _GroupsOfPeople(values, held, asked, cells // count, cells % count, times.astype(np.float64), False)
