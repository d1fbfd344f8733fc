"""Scores of linking attacks: who was found, who would have been by chance, and where each record truly may be.

Letters: m people, n published records, c classes, q attributes, v distinct vectors of known values, p pairs of a
distinct vector and a class that covers it.

A class whose labels cover few values has its records close together, so that a person with such values is more likely
to be one of them than one of a class that covers almost everything. Which class a record is truly in is known as far
as what is published determines it; that is for scoring alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.links import (
    LinkReading,
    Links,
    exact_links,
    known_attributes,
    known_problems,
    read_links,
)
from sfumato.evaluation.attacks.people import OwnRecords, Victims, key_columns, key_of, known_records, victims_of
from sfumato.evaluation.attacks.placement import join_entries
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.publication import PublishedClasses, coverage_of, sum_by_code
from sfumato.evaluation.attacks.register import RegisterAttribute, distinct_codes
from sfumato.evaluation.attacks.verdicts import SURE, Certainty
from sfumato.kernels.linking.linkage import UNKNOWN, covering_classes, fitting_pairs, fitting_weight
from sfumato.models import known_models
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.says import least_class_size
from sfumato.options import Checked
from sfumato.rates import Rate

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
    "the release has no values beside the quasi-identifying ones, or the same for all, so that nobody can tell whether "
    "the nearest record is the right one"
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
    """Return two results: who was found with certainty, and who by picking one of the candidate records.

    `links`: Of m people. `names`: What the attacker knows of them. `attack`, `fit`: Name of the attack, and the words
    for how its records match a person. `picks`: What is picked from, if that is not every candidate.
    """
    inside = victims.inside
    candidates, own, prior = links.candidates[inside], links.own[inside], links.prior[inside]
    people = len(candidates)
    alone = links.sole[inside]
    found = np.maximum(candidates, 1)
    kind = target.published.kind
    # True records are among those that fit unless they are suppressed; unchanged values are always nearest.
    certain = kind == "bucketized-tables" or (attack == "linkage" and kind == "generalized-table")
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
        "notes": () if certain else (_JUDGED,) if (prior < 1).any() else (_UNJUDGED,),
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
    """Pick among the records of the densest class that fits each person.

    `reading`: The release, read against what is known of m people, one record of each. `truth`: The same, read against
    all original records. `row_of`: int64 (m,): the original record of each person, −1 for who has none. Result: None if
    every class that fits anybody is one of the densest, or if too many classes fit.
    """
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
    """All pairs of a distinct vector of values and a class that covers it.

    `vector_of`: int32 (m,): the vector of each person. `vectors`: int32 (v, q): codes, `UNKNOWN` where
    nothing is known. `vector`, `owner`: int64 (p,), sorted: the vector and the class of each pair.
    """

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
    """How likely each original record is in each class, as far as what is published determines it.

    `sort_of`: int64 (records,): records with one vector and one key are of one sort. `sort`, `owner`: int64, sorted:
    all pairs of a sort and a class that may hold it. `chance`: float64: chance that a record of the sort is in the
    class.
    """

    sort_of: NDArray[np.int64]
    sort: NDArray[np.int64]
    owner: NDArray[np.int64]
    chance: NDArray[np.float64]

    def chance_in(
        self, row_of: NDArray[np.int64], person: NDArray[np.int64], owner: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the chance that each person's record is in one of the classes that are named for them.

        `row_of`: int64 (m,): the original record of each person, −1 for who has none. `person`, `owner`: int64: all
        pairs of a person and a class that is named, each once. Result: float64 (m,).
        """
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

    `reading`: The release, read against all original records, with the keys of these.

    Published and original records are never matched one to one. Where several classes fit a record, its chances are
    those of the most even spread that agrees with everything published: each record is somewhere, and each class has
    as many records of a key as it shows (iterative proportional fitting). Where keys tell records apart, that is the
    truth. Records that were left out are spread, too. Nothing of what the attacker believes enters.

    Cost O(p) for each of at most 500 rounds, fewer where pairs are many. Each ends with as many records in each class
    as it shows.
    """
    publication, width = reading.publication, len(reading.publication.values)
    numbers = pairs.vector_of.astype(np.int64) * (width + 1) + reading.own + 1
    sorts, sort_of, times = np.unique(numbers, return_inverse=True, return_counts=True)
    key = sorts % (width + 1) - 1
    sort, place = join_entries(sorts // (width + 1), pairs.vector, len(pairs.vectors))
    owner = pairs.owner[place]
    cell = publication.cells_with(owner, key[sort])
    there = (cell >= 0) & (key[sort] >= 0)
    sort, owner, cell = sort[there], owner[there], cell[there]
    asked = np.bincount(np.maximum(key, 0), times * (key >= 0), minlength=width)
    left_out = np.maximum(asked - publication.totals, 0)
    # A key that no class shows is nowhere, and not among those of the first key who were left out.
    missing = np.where(key >= 0, left_out[np.maximum(key, 0)], 0)
    chance = _most_even(sort, cell, times, publication.counts, missing, key)
    return ClassChances(sort_of.astype(np.int64), sort, owner, chance)


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
    columns = key_columns(published, target)
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
    :func:`~sfumato.evaluation.attacks.linkage_scores.spread_originals`. Every class of a k-anonymous table has k
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
        keys = key_of(published, key_columns(published, target))

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
