"""Linkage: which records fit a person exactly, how many of them are the person's, and how many chance would find.

A class covers all records of a person if, in every attribute, its label covers all values that the person has there. So
to know several records is to know more attributes: each attribute several times, with one value a time. Everything that
looks for the classes of one vector of values then looks for the classes of a person.

Letters: m people, n published records, c classes, q attributes, v distinct vectors of known values, p pairs of a
distinct vector and a class that covers it.

A class whose labels cover few values has its records close together, so that a person with such values is more likely
to be one of them than one of a class that covers almost everything. Which class a record is truly in is known as far
as what is published determines it; that is for scoring alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.evaluation.attacks.people import (
    KEY,
    OwnRecords,
    Victims,
    key_of,
    known_records,
    rank_within,
    unchanged_columns,
    victims_of,
)
from sfumato.evaluation.attacks.placement import (
    PublishedClasses,
    RegisterAttribute,
    coverage_of,
    distinct_codes,
    held_rows,
    join_entries,
    likeliest_rows,
    read_publication,
    read_register,
    register_attributes,
    sum_by_code,
)
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import SURE, Certainty
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking import UNKNOWN, ClassValues, count_own, covering_classes, fitting_pairs, fitting_weight
from sfumato.models import known_models
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.protocol import least_class_size
from sfumato.numbers import counted
from sfumato.options import Checked
from sfumato.rates import Rate
from sfumato.recoding.choice import Recoding
from sfumato.table.distinct import distinct_of
from sfumato.table.header import columns_of


@dataclass(frozen=True, eq=False, repr=False)
class Links:
    """What m people link to: how many `candidates` the attacker picks from, and how many of them are theirs (`own`).

    `sole`: whether the attacker can tell that none is anybody else's. `prior`: share of records that agree so, on
    average. `expected`: candidates that would be judged their own by chance.
    """

    candidates: NDArray[np.int64]
    own: NDArray[np.int64]
    sole: NDArray[np.bool_]
    prior: NDArray[np.float64]
    expected: NDArray[np.float64]
    records: int
    distances: NDArray[np.float64] | None = None


def exact_links(
    published: pl.DataFrame,
    victims: Victims,
    names: Sequence[str],
    keys: pl.Series,
    recoding: Recoding,
    *,
    together: bool = False,
) -> Links:
    """Count the records whose every value covers the person's, by `keys`; `together`: in one class for all rows."""
    reading = read_links(published, victims, names, keys, recoding)
    if not together and not victims.alone:
        # Codes of what is known need not be those of what is in the data.
        own = read_links(published, replace(victims, frame=victims.own.frame), names, keys, recoding)
        rows = likeliest_rows(reading.known, reading.publication, victims.owner, victims.people)
        held = held_rows(rows, own.publication, own.own, victims, own.known)
        return reading.links(victims, rows.rows, held, rows.sole)
    known, publication = widened(reading.known, reading.publication, victims.owner, victims.people)
    asked = pair_keys(victims, reading.own)
    vectors, vector_of = distinct_vectors([one.codes[asked.person] for one in known], asked.key)
    coverage = coverage_of(publication, known)
    candidates, alike = count_own(
        np.ascontiguousarray(vectors[:, :-1]).astype(np.int32),
        coverage,
        covering_classes(coverage),
        publication.sizes,
        ClassValues(publication.starts, publication.value_of, publication.counts),
        vectors[:, -1].astype(np.int64),
    )
    found = candidates[vector_of][asked.first]
    return reading.links(victims, found, asked.held(alike[vector_of]), as_many_known(found, victims))


@dataclass(frozen=True, eq=False, repr=False)
class LinkReading:
    """What is known of r records, the published classes, and the code of the key of each own record, int64 (o,)."""

    known: list[RegisterAttribute]
    publication: PublishedClasses
    own: NDArray[np.int64]

    def links(
        self, victims: Victims, candidates: NDArray[np.int64], held: NDArray[np.bool_], sole: NDArray[np.bool_]
    ) -> Links:
        """Put together what was found; held : bool (o,), whether each own record is among the candidates."""
        person, people = victims.own.person, victims.people
        shares = np.append(self.publication.totals / max(1, self.publication.records), 0.0)[self.own]
        records = np.bincount(person, minlength=people)
        again = rank_within(person * (len(self.publication.values) + 1) + self.own + 1, np.zeros(len(person)))
        return Links(
            candidates,
            np.bincount(person, held, minlength=people).astype(np.int64),
            sole & (candidates > 0),
            np.bincount(person, shares, minlength=people).astype(np.float64) / np.maximum(records, 1),
            np.bincount(person, _at_least_so_many(candidates[person], shares, again + 1), minlength=people).astype(
                np.float64
            ),
            self.publication.records,
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Asked:
    """Pairs of person and key, or no key, by person; first, int64 (m,), of each person; pair_of, of each own record."""

    person: NDArray[np.int64]
    key: NDArray[np.int64]
    first: NDArray[np.int64]
    pair_of: NDArray[np.int64]

    def held(self, alike: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which own records are among the candidates, if so many of them have each key; bool (o,)."""
        return rank_within(self.pair_of, np.zeros(len(self.pair_of))) < alike[self.pair_of]


def pair_keys(victims: Victims, own: NDArray[np.int64]) -> _Asked:
    """Pair people with the keys of their records, int64 (o,) of their own records."""
    width = int(own.max(initial=-1)) + 2
    absent = np.flatnonzero(~victims.inside)
    cells = np.concatenate([victims.own.person * width + own + 1, absent * width])
    pairs, pair_of = np.unique(cells, return_inverse=True)
    person = pairs // width
    first = np.searchsorted(person, np.arange(victims.people))
    return _Asked(person, pairs % width - 1, first, pair_of[: len(own)].astype(np.int64))


def as_many_known(candidates: NDArray[np.int64], victims: Victims) -> NDArray[np.bool_]:
    """Tell for whom no more records fit than are known of them: then all are theirs."""
    return candidates <= np.bincount(victims.owner, minlength=victims.people)


def _at_least_so_many(
    tries: NDArray[np.int64], chance: NDArray[np.float64], least: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the chance that at least so many of some tries succeed (binomial); least : 1 or above."""
    below = (1 - chance) ** tries
    total, term = below.copy(), below.copy()
    odds = np.divide(chance, 1 - chance, out=np.zeros(len(chance)), where=chance < 1)
    for successes in range(1, int(least.max(initial=1))):
        term = term * np.maximum(tries - successes + 1, 0) / successes * odds
        total += np.where(least > successes, term, 0.0)
    sure = (chance >= 1) & (tries >= least)
    return np.where(sure, 1.0, np.clip(1 - total, 0.0, 1.0))


def read_links(
    published: pl.DataFrame, victims: Victims, names: Sequence[str], keys: pl.Series, recoding: Recoding
) -> LinkReading:
    """Read what is known of the victims, and the published classes with keys instead of sensitive values."""
    known = read_register(victims.frame, victims.schema, names)
    publication = read_publication(columns_of(published, names).with_columns(keys.alias(KEY)), KEY, known, recoding)
    code_of = {value: code for code, value in enumerate(publication.values) if value is not None}
    own = np.array([-1 if key is None else code_of.get(key, -1) for key in victims.own.keys.to_list()], dtype=np.int64)
    return LinkReading(known, publication, own)


def distinct_vectors(
    codes: Sequence[NDArray[np.int32]], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct vectors of codes with the own key last, and which of them each person has."""
    vectors = np.column_stack([*codes, own]).astype(np.int64)
    vector_of, count = group_records((vectors + 1).astype(np.uint32))
    return vectors[first_records(vector_of, count)], vector_of


_Widened = tuple[list[RegisterAttribute], PublishedClasses]


def widened(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> _Widened:
    """Repeat attributes, so that one vector holds what is known of a person; `UNKNOWN` fills up.

    Where each label covers one run of codes, the lowest and the highest stand for all of a person. Cost O(r log r) for
    each attribute, and memory m times the most different values that somebody has.
    """
    repeated, places = [], []
    for place, one in enumerate(known):
        ends = _covers_runs(publication, place)
        columns = _lowest_and_highest(one.codes, owner, people) if ends else _distinct(one.codes, owner, people)
        repeated += [replace(one, codes=np.ascontiguousarray(codes)) for codes in columns.T]
        places += [place] * columns.shape[1]
    return repeated, replace(publication, label_of=np.ascontiguousarray(publication.label_of[:, places]))


def side_by_side(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> _Widened:
    """Put all records of a person beside each other, as :func:`widened` does, but keep every record whole.

    For distances, which add up over records: a record that is known twice counts twice.
    """
    rank = rank_within(owner, np.zeros(len(owner)))
    width = int(rank.max(initial=0)) + 1
    repeated = []
    for one in known:
        codes = np.full((people, width), UNKNOWN, dtype=np.int32)
        codes[owner, rank] = one.codes
        repeated += [replace(one, codes=np.ascontiguousarray(column)) for column in codes.T]
    places = np.repeat(np.arange(len(known)), width)
    return repeated, replace(publication, label_of=np.ascontiguousarray(publication.label_of[:, places]))


def _covers_runs(publication: PublishedClasses, place: int) -> bool:
    labels = publication.label_of[:, place]
    return bool((publication.runs[labels + 1] - publication.runs[labels] <= 1).all())


def _lowest_and_highest(codes: NDArray[np.int32], owner: NDArray[np.int64], people: int) -> NDArray[np.int32]:
    known = codes != UNKNOWN
    low, high = np.full(people, np.iinfo(np.int32).max, dtype=np.int32), np.full(people, UNKNOWN, dtype=np.int32)
    np.minimum.at(low, owner[known], codes[known])
    np.maximum.at(high, owner[known], codes[known])
    low = np.minimum(low, high)
    return low[:, None] if (low == high).all() else np.column_stack([low, high])


def _distinct(codes: NDArray[np.int32], owner: NDArray[np.int64], people: int) -> NDArray[np.int32]:
    known = codes != UNKNOWN
    pairs = np.unique(np.column_stack([owner[known], codes[known].astype(np.int64)]), axis=0)
    rank = rank_within(pairs[:, 0], pairs[:, 1])
    columns = np.full((people, int(rank.max(initial=0)) + 1), UNKNOWN, dtype=np.int32)
    columns[pairs[:, 0], rank] = pairs[:, 1]
    return columns


def known_problems(what: str, known: object) -> list[str]:
    """Return a problem if a value is neither a number of attributes nor names of some."""
    if known is None or (isinstance(known, int) and not isinstance(known, bool) and known >= 1):
        return []
    if isinstance(known, tuple) and known and all(isinstance(name, str) for name in known):
        return [] if len(set(known)) == len(known) else [f"{what}: known names an attribute twice"]
    return [f"{what}: known must be a number of attributes, 1 or above, or the names of some"]


def known_attributes(
    attack: str, known: int | tuple[str, ...] | None, target: Target, published: pl.DataFrame, victims: Victims
) -> tuple[str, ...]:
    """Return the names of what the attacker knows, in declared order.

    Raises PolicyError when an attribute is unknown, or when there are not as many. Raises InputError when release and
    register share nothing.
    """
    shared = register_attributes(published, victims.frame, victims.schema)
    if not shared:
        raise InputError(
            f"{attack}: the register and the release share no quasi-identifying column, so nothing links them; "
            f"the schema names {', '.join(victims.schema.quasi_identifying)}"
        )
    if known is None:
        return shared
    if isinstance(known, int):
        if known > len(shared):
            raise PolicyError(f"{attack}, known: asks for {known} attributes, but there are {len(shared)}")
        return _most_telling(target.original.frame, shared, known)
    raise_all(
        PolicyError,
        (
            f"{attack}, known: {name!r} is not a quasi-identifying attribute of both; these are {', '.join(shared)}"
            for name in known
            if name not in shared
        ),
    )
    return tuple(name for name in shared if name in known)


def _most_telling(frame: pl.DataFrame, names: Sequence[str], count: int) -> tuple[str, ...]:
    """Choose attributes that make most records unique, then most vectors distinct; O(q · count · n)."""
    codes = {name: (distinct := distinct_of(frame[name])).rank_of[distinct.raw].astype(np.uint32) for name in names}
    chosen: list[str] = []
    for _ in range(count):
        left = [name for name in names if name not in chosen]
        chosen.append(max(left, key=lambda name: _told_apart([codes[one] for one in (*chosen, name)])))
    return tuple(name for name in names if name in chosen)


def _told_apart(columns: Sequence[np.ndarray]) -> tuple[int, int]:
    class_of, count = group_records(np.column_stack(columns))
    return int(np.count_nonzero(np.bincount(class_of, minlength=count) == 1)), count


RECORDS: dict[str, Callable[[Any], pl.DataFrame]] = {
    "generalized-table": lambda published: published.data,
    "bucketized-tables": lambda published: published.quasi,
    "randomized-table": lambda published: published.data,
}
"""Kind of release → its table with one row for each record; other kinds have none."""


_JUDGED = (
    "whether a record is somebody's is judged by the values that linking does not use; guessing counts records that "
    "agree by chance"
)


_UNJUDGED = (
    "the release has no values beside the quasi-identifying ones, or the same for all; nobody can tell whether the "
    "nearest record is the right one"
)


def strange_rows(truth: LinkReading, pairs: CoveringPairs | None) -> str | None:
    """Say of how many rows a class holds more of a key than original records fit it; None if of none, or unknown.

    Values were changed then, or the release was not made from the original: a record that fits need not be theirs.
    """
    if pairs is None:
        return None
    sorts, counts = _SortsInClasses.of(truth, pairs), truth.publication.counts
    fitting = sum_by_code(sorts.cell, sorts.times[sorts.sort], len(counts))
    strange = int(np.maximum(counts - fitting, 0).sum())
    return (
        f"no original record fits {counted(strange, 'row')} of the release, changed or of others" if strange else None
    )


def count_outsiders(links: Links, victims: Victims) -> dict[str, float]:
    """Count the people of a register who are not in the data but fit some record."""
    if victims.inside.all():
        return {}
    outside = ~victims.inside
    return {
        "register_not_in_the_data": float(outside.sum()),
        "of_them_fit": float(np.count_nonzero(links.candidates[outside])),
    }


def score_links(
    target: Target,
    links: Links,
    victims: Victims,
    names: Sequence[str],
    *,
    attack: str,
    fit: str,
    figures: Mapping[str, float],
    picks: Picks | None = None,
) -> tuple[AttackResult, ...]:
    """Return two results: who was found with certainty, and who by picking one of the candidate records."""
    inside = victims.inside
    candidates, own, prior = links.candidates[inside], links.own[inside], links.prior[inside]
    people = len(candidates)
    alone = links.sole[inside]
    found = np.maximum(candidates, 1)
    kind = target.published.kind
    # True records are among those that fit unless they are suppressed; unchanged values are always nearest.
    truthful = kind == "bucketized-tables" or (attack == "linkage" and kind == "generalized-table")
    truth = read_truth(target, RECORDS[kind](target.published), victims, names) if truthful else None
    strange = None if truth is None else strange_rows(truth, list_pairs(truth.publication, truth.known))
    certain, picks = truthful and strange is None, None if strange else picks
    chance = np.where(candidates > 0, links.expected[inside] / found, 0.0)
    # Who has more records is found more often by picking any.
    least = len(victims.own.person) / max(1, people * links.records)
    who = "of everybody in the data" if target.register is None else "of the people in a register"
    k = smallest_promised(target.models_of_victims) if kind == "generalized-table" else None
    from_all = float((own / found).sum())
    picked = from_all if picks is None else float((picks.own / np.maximum(picks.rows, 1))[inside].sum())
    where = "" if picks is None else ", in the class that covers least"
    common: dict[str, Any] = {
        "attack": attack,
        "knows": f"{_listed(names)} {who}",
        "helps": "k-anonymity with a larger k, coarser values, or fewer quasi-identifying attributes",
        "notes": (
            *(() if strange is None else (strange,)),
            *(() if certain else (_JUDGED,) if (prior < 1).any() else (_UNJUDGED,)),
        ),
    }
    return (
        AttackResult(
            goal=_only(victims, fit),
            success=Rate(float((alone & (own == candidates)).sum()), people, _mean(alone * prior, least, certain)),
            figures=figures,
            allowed=None if k is None else float(k == 1),
            # Who holds a register does not know who of it is in the data.
            certainty=Certainty.of(alone, (own == candidates).astype(np.float64), np.full(people, links.records > 1))
            if certain and target.register is None
            else None,
            **common,
        ),
        AttackResult(
            goal=f"{'whose' if victims.alone else 'of whom a'} record was found by picking one that {fit}{where}",
            success=Rate(picked, people, _mean(chance, least, certain)),
            figures={} if picks is None else {"picking_from_all_that_fit": from_all / max(1, people)},
            allowed=_allowed_share(target, k),
            **common,
        ),
    )


def smallest_promised(models: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the size of the smallest class that the promises allow; None if none of them says so."""
    return least_class_size(known_models(models))


def _only(victims: Victims, fit: str) -> str:
    if victims.alone:
        return f"whose record is the only one that {fit}"
    return f"whose records are all that {'fit' if fit == 'fits' else 'are nearest'}"


def _allowed_share(target: Target, k: int | None) -> float | None:
    """Return the largest share of a person in the records that fit, as far as the promises bound it."""
    if not target.rows.promised:
        return None if k is None else 1 / k
    # A class of k people may have most of its records from one of them, unless shares are bounded, too.
    models = known_models(target.models)
    bounds = [1 / model.k for model in models if isinstance(model, KAnonymity) and model.shares is not False]
    return min(bounds, default=None)


def _mean(chances: NDArray[np.float64], least: float, certain: bool) -> float:
    return least if certain or not len(chances) else max(least, float(chances.mean()))


def _listed(names: Sequence[str]) -> str:
    return f"the {', '.join(names)}"


@dataclass(frozen=True, eq=False, repr=False)
class Picks:
    """What an attacker picks from who weighs classes by one over their volume.

    `rows`: int64 (m,): rows of the densest classes. `own`: float64 (m,): chance that the person's own is among them.
    """

    rows: NDArray[np.int64]
    own: NDArray[np.float64]


def picks_of(reading: LinkReading, truth: LinkReading, row_of: NDArray[np.int64]) -> Picks | None:
    """Pick among the records of the densest class that fits each person; None: each one is densest, or too many."""
    publication = reading.publication
    pairs, original = list_pairs(publication, reading.known), list_pairs(truth.publication, truth.known)
    if pairs is None or original is None:
        return None
    best = densest_pairs(publication, pairs)
    if best.all():
        return None
    rows = sum_by_code(pairs.vector[best], publication.sizes[pairs.owner[best]], len(pairs.vectors)).astype(np.int64)
    vector, owner = pairs.vector[best], pairs.owner[best]
    person, place = join_entries(pairs.vector_of.astype(np.int64), vector, len(pairs.vectors))
    own = spread_originals(truth, original).chance_in(row_of, person, owner[place])
    return Picks(rows[pairs.vector_of], own)


def densest_pairs(publication: PublishedClasses, pairs: CoveringPairs) -> NDArray[np.bool_]:
    """Tell which of the classes that cover a vector have the smallest volume; bool (p,), several where they are equal.

    The volume is the number of different vectors of the register's values that the labels would cover, over the
    attributes that are known of the vector. ``*`` covers one value more, for all that the register does not have.
    """
    covered = np.concatenate([[0], np.cumsum(publication.high - publication.low + 1)])
    values = covered[publication.runs[1:]] - covered[publication.runs[:-1]]
    volume = np.zeros(len(pairs.vector))
    for label, codes in zip(publication.label_of.T, pairs.vectors.T, strict=True):
        volume += np.where(codes[pairs.vector] == UNKNOWN, 0.0, np.log(np.maximum(values[label[pairs.owner]], 0.5)))
    least = np.full(len(pairs.vectors), np.inf)
    np.minimum.at(least, pairs.vector, volume)
    found: NDArray[np.bool_] = volume <= least[pairs.vector] + SURE
    return found


_MOST_PAIRS = 1 << 22
"""Most pairs of a distinct vector and a class that are held."""


_ROUNDS, _FEWEST_ROUNDS = 500, 20


_STEPS = 1 << 27
"""Pairs times rounds of fitting, about."""


@dataclass(frozen=True, eq=False, repr=False)
class CoveringPairs:
    """All pairs of a distinct vector of values, as each person has it, and a class that covers it, sorted."""

    vector_of: NDArray[np.int32]
    vectors: NDArray[np.int32]
    vector: NDArray[np.int64]
    owner: NDArray[np.int64]


def list_pairs(publication: PublishedClasses, known: Sequence[RegisterAttribute]) -> CoveringPairs | None:
    """List the pairs, or return None if there are more than `_MOST_PAIRS`; cost O(v · c / 64 · q + p)."""
    vectors, vector_of = distinct_codes(known)
    coverage = coverage_of(publication, known)
    table = covering_classes(coverage)
    if fitting_weight(vectors, coverage, table, np.ones(len(publication.sizes))).sum() > _MOST_PAIRS:
        return None
    vector, owner = fitting_pairs(vectors, coverage, table)
    return CoveringPairs(vector_of, vectors, vector, owner)


@dataclass(frozen=True, eq=False, repr=False)
class ClassChances:
    """How likely each sort of original records, of one vector and key, is in each class that may hold it."""

    sort_of: NDArray[np.int64]
    sort: NDArray[np.int64]
    owner: NDArray[np.int64]
    chance: NDArray[np.float64]

    def chance_in(
        self, row_of: NDArray[np.int64], person: NDArray[np.int64], owner: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the chance that each person's record is in one of the classes that are named for them."""
        width = int(max(owner.max(initial=0), self.owner.max(initial=0))) + 1
        there = row_of[person] >= 0
        sort, person, owner = self.sort_of[row_of[person[there]]], person[there], owner[there]
        spread = self.sort * width + self.owner
        place = np.minimum(np.searchsorted(spread, sort * width + owner), max(0, len(spread) - 1))
        if not len(spread):
            return np.zeros(len(row_of))
        hit = spread[place] == sort * width + owner
        return np.minimum(sum_by_code(person[hit], self.chance[place[hit]], len(row_of)), 1.0)


def spread_originals(reading: LinkReading, pairs: CoveringPairs) -> ClassChances:
    """Spread original records over the classes that fit them; for scoring alone.

    Records are never matched one to one. Where several classes fit, chances are those of the most even spread that
    agrees with everything published: each record is somewhere, and each class has as many of a key as it shows
    (iterative proportional fitting). Where keys tell records apart, that is the truth. Those left out are spread, too.
    Nothing that the attacker believes enters. O(p) for each of at most 500 rounds.
    """
    sorts, publication = _SortsInClasses.of(reading, pairs), reading.publication
    key, asked = (
        sorts.key,
        np.bincount(np.maximum(sorts.key, 0), sorts.times * (sorts.key >= 0), len(publication.totals)),
    )
    left_out = np.maximum(asked - publication.totals, 0)
    # A key that no class shows is nowhere, and not among those of the first key who were left out.
    missing = np.where(key >= 0, left_out[np.maximum(key, 0)], 0)
    chance = _most_even(sorts.sort, sorts.cell, sorts.times, publication.counts, missing, key)
    return ClassChances(sorts.sort_of, sorts.sort, sorts.owner, chance)


@dataclass(frozen=True, eq=False, repr=False)
class _SortsInClasses:
    """Sorts of original records, of one vector and key, and the classes that fit them and show that key.

    `sort_of`: of each record. `key`, `times`: of each sort; key −1 where no class shows it. `sort`, `owner`, `cell`:
    all pairs, where `cell` is the place of the class's count of the key.
    """

    sort_of: NDArray[np.int64]
    key: NDArray[np.int64]
    times: NDArray[np.int64]
    sort: NDArray[np.int64]
    owner: NDArray[np.int64]
    cell: NDArray[np.int64]

    @classmethod
    def of(cls, reading: LinkReading, pairs: CoveringPairs) -> _SortsInClasses:
        """Pair sorts with classes; cost O(p log p)."""
        width = len(reading.publication.values)
        numbers = pairs.vector_of.astype(np.int64) * (width + 1) + reading.own + 1
        sorts, sort_of, times = np.unique(numbers, return_inverse=True, return_counts=True)
        key = sorts % (width + 1) - 1
        sort, place = join_entries(sorts // (width + 1), pairs.vector, len(pairs.vectors))
        owner = pairs.owner[place]
        cell = reading.publication.cells_with(owner, key[sort])
        there = (cell >= 0) & (key[sort] >= 0)
        return cls(sort_of.astype(np.int64), key, times, sort[there], owner[there], cell[there])


def _most_even(
    sort: NDArray[np.int64],
    cell: NDArray[np.int64],
    times: NDArray[np.int64],
    counts: NDArray[np.int64],
    left_out: NDArray[np.int64],
    key: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Fit the spread: `times` records of each sort, `counts` records in each cell, `left_out` of each sort's key."""
    chance, missing = np.ones(len(sort)), (left_out > 0).astype(np.float64)
    for _ in range(min(_ROUNDS, max(_FEWEST_ROUNDS, _STEPS // max(1, len(sort))))):
        all_of = sum_by_code(sort, chance, len(times)) + missing
        scale = np.divide(1.0, all_of, out=np.zeros(len(all_of)), where=all_of > 0)
        spread, absent = chance * scale[sort], missing * scale
        held = sum_by_code(cell, spread * times[sort], len(counts))
        gone = sum_by_code(np.maximum(key, 0), absent * times, int(key.max(initial=0)) + 1)[np.maximum(key, 0)]
        fitted = spread * np.divide(counts, held, out=np.zeros(len(held)), where=held > 0)[cell]
        missing = absent * np.divide(left_out, gone, out=np.zeros(len(gone)), where=gone > 0)
        done = np.abs(fitted - chance).max(initial=0.0) < SURE
        chance = fitted
        if done:
            break
    return np.minimum(chance, 1.0)


def read_truth(target: Target, published: pl.DataFrame, victims: Victims, names: Sequence[str]) -> LinkReading:
    """Read a release against all original records with their true values; the classes are those of `names`."""
    original, every = target.original.frame, np.arange(target.original.height)
    columns = unchanged_columns(published, target)
    everybody = Victims(original, victims.schema, every, OwnRecords(original, every, key_of(original, columns)))
    return read_links(published, everybody, names, key_of(published, columns), target.recoding)


def own_rows(victims: Victims) -> NDArray[np.int64]:
    """Return the original record of each person who has one, −1 for others; int64 (m,)."""
    own = victims.own
    row_of = np.full(victims.people, -1, dtype=np.int64)
    row_of[own.person] = np.arange(len(own.person)) if own.rows is None else own.rows
    return row_of


# Linkage: find the records that fit a person's known values (Samarati and Sweeney, 1998).


@dataclass(frozen=True)
class Linkage(Checked):
    """The linking attack.

    Parameters
    ----------
    known
        What the attacker knows of everybody: names of quasi-identifying attributes; a number m for the m that
        distinguish most people of the original, found one after the other; None for all.
    weighs
        Whether the attacker weighs the classes that fit by one over their volume; else all that fit are equal.

    Raises
    ------
    PolicyError
        When `known` is neither.

    References
    ----------
    P. Samarati, L. Sweeney, "Protecting privacy when disclosing information: k-anonymity and its enforcement through
    generalization and suppression", 1998.

    Notes
    -----
    Published records are shuffled, so nobody knows which one is whose. In a generalized or bucketized release, the true
    record is among those that fit, unless it was suppressed; an attacker who picks one of c records is right with a
    chance of 1 ÷ c.

    *Weighing.* Where several classes of a generalized table fit, the person is likelier in one whose labels cover few
    values: its records lie closer together. The attacker picks from the class with the smallest volume, the number of
    different vectors of known values that it covers. That the person's own record is there is judged by
    :func:`~sfumato.evaluation.attacks.linkage.spread_originals`. Every class of a k-anonymous table has k
    records, so that 1/k still bounds it. It is an addition here, and left out for people with several records, and
    where more than 4 million pairs of a person and a class fit.

    *People with several records.* Where all rows of a person lie in one class, those rows fit whose class covers all
    known records. Elsewhere a known record may be any row that fits it; these chances add up, and the attacker picks a
    row of the class where the sum is largest. The guess is right if the row is any of the person's.
    """

    name: ClassVar[str] = "linkage"
    kinds: ClassVar[frozenset[str]] = frozenset(RECORDS)
    needs: ClassVar[tuple[str, ...]] = ()

    known: int | tuple[str, ...] | None = None
    weighs: bool = True

    def _mistakes(self) -> Iterable[str]:
        return known_problems(self.name, self.known)

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it on everybody in the data, or in the register."""
        published = RECORDS[target.published.kind](target.published)
        victims = victims_of(target, published)
        names = known_attributes(self.name, self.known, target, published, victims)
        keys = key_of(published, unchanged_columns(published, target))

        def linked(some: Victims) -> Links:
            return exact_links(published, some, names, keys, target.recoding, together=target.rows.together)

        links = linked(victims)
        figures: dict[str, Any] = count_outsiders(links, victims)
        if target.control is not None:
            known = known_records(target, target.control)
            frame = target.control.frame[known.places]
            others = linked(Victims.outside(frame, target.control.schema, known.owners))
            figures["control_who_fit_one_record"] = float(np.mean(others.candidates == 1))
        picks = self._picks(target, published, victims, names, keys)
        return score_links(target, links, victims, names, attack=self.name, fit="fits", figures=figures, picks=picks)

    def _picks(
        self, target: Target, published: pl.DataFrame, victims: Victims, names: tuple[str, ...], keys: pl.Series
    ) -> Picks | None:
        if not self.weighs or target.published.kind != "generalized-table" or not victims.alone:
            return None
        reading = read_links(published, victims, names, keys, target.recoding)
        truth = reading if target.register is None else read_truth(target, published, victims, names)
        return picks_of(reading, truth, own_rows(victims))
