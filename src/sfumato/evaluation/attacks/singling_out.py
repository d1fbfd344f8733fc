"""Singling out: a predicate, written down from the release alone, that holds for exactly one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.evaluation.attacks.label_predicates import choose_members
from sfumato.evaluation.attacks.original_values import (
    ExactPart,
    exact_parts,
    number_part_rows,
    read_cells,
    shared_names,
    unread_notes,
)
from sfumato.evaluation.attacks.people import Cohort, cohort_of, generator_of, nothing_shared
from sfumato.evaluation.attacks.placement import sum_by_code
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import SURE, Beliefs, draw_curve
from sfumato.kernels.grouping import first_records
from sfumato.options import Checked, Limit
from sfumato.published import PublishedTable
from sfumato.randomness import hashed
from sfumato.rates import Rate
from sfumato.table.distinct import distinct_of
from sfumato.table.header import columns_of
from sfumato.table.table import Table

_SALT = 0x51


@dataclass(frozen=True)
class SinglingOut(Checked):
    """Isolation of records by predicates that are built from the release.

    Parameters
    ----------
    predicates
        Most predicates that are tried on releases of original values, 1 or more. Of a generalized table every class is
        tried, with one predicate.

    Raises
    ------
    PolicyError
        When that is not such a number.

    Notes
    -----
    *Played.* The attacker sees only the release, and how frequent values are among people who are not in the data. For
    each class, or the smallest groups of records that the release shows, a predicate is written down (see
    :func:`predicates_of`): the region of a class and a member of one of its labels, of which the label tells that it
    occurs (the rarest value of a set, an end of an interval, a child of a node); or the region and one of its
    sensitive values; or values that share a row. The last two are narrowed, if c > 1 records satisfy them according to
    the release, by a random condition of weight 1/c on the whole record, which isolates one of c with chance
    (1 − 1/c)^(c−1), never below 1/e. Of the first two the one of the higher chance is taken. Success is a predicate
    that holds for exactly one of the original records; where people have several, for records of exactly one person.

    *Baseline.* A predicate of weight w (the chance that it holds for somebody of the population) that is written down
    without the release isolates one of n records with chance n·w·(1−w)^(n−1), which is largest, about 37 %, for w =
    1/n. So success counts only against the best such predicate of no more weight. The weight is measured on the control
    group, for all predicates together, and the high end of its interval is taken. Since the chance is concave in the
    weight, that of the mean weight is no less than the mean chance. Without a control group the weight is unknown, and
    success counts against the best predicate of any weight.

    *Control.* How many of the predicates isolate one record of the control group.

    *Curve.* Predicates, those first that the release makes surest; they count against the best predicate of any weight.

    Cost O(m · q) for m people, and the pairs of a person and a predicate that holds.

    References
    ----------
    A. Cohen, K. Nissim, "Towards formalizing the GDPR's notion of singling out", PNAS 2020, and its section on
    k-anonymity. A. Cohen, "Attacks on Deidentification's Defenses", USENIX Security 2022. *Departures*: weights are
    measured, not proven negligible; a sensitive value is part of the predicate if it is published beside the class, as
    in the predicates of M. Giomi and others, "A unified framework for quantifying privacy risk in synthetic data",
    PoPETs 2023.
    """

    name: ClassVar[str] = "singling-out"
    kinds: ClassVar[frozenset[str]] = frozenset(
        {"generalized-table", "bucketized-tables", "sliced-table", "marginal-tables", "randomized-table"}
    )
    needs: ClassVar[tuple[str, ...]] = ()

    predicates: Annotated[int, Limit(1)] = 1000

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it: one result."""
        cohort, generator = cohort_of(target), generator_of(target, _SALT)
        built = predicates_of(target, cohort, count=self.predicates, generator=generator)
        inside, outside = _held(built, cohort, generator)
        tried, members, outsiders = len(built.records), cohort.insiders, cohort.outsiders
        weight = Rate(float(outside.sum()), tried * outsiders, 0.0)
        baseline = isolation_chance(members, weight.interval[1])
        forced = built.chance >= 1 - SURE
        return (
            AttackResult(
                attack=self.name,
                knows="how frequent values are, and nothing else but the release",
                goal="singled out, by one predicate for each",
                success=Rate(int((inside == 1).sum()), tried, baseline),
                control=Rate(int((outside == 1).sum()), tried, baseline) if outsiders else None,
                figures={
                    "records_per_predicate": float(built.records.mean()),
                    "expected_by_the_release": float(built.chance.mean()),
                    **({"certain_by_the_release": float(forced.mean())} if forced.any() else {}),
                    **({"weight": weight.share, "weight_high": weight.interval[1]} if outsiders else {}),
                },
                notes=(*_notes(members, outsiders), *unread_notes(target.published, cohort.frame)),
                helps="labels that are not fitted to each class (extent='region', full-domain algorithms), and no "
                "small counts: every sensitive value frequent in its class, columns and marginals whose values repeat",
                curve=draw_curve(
                    Beliefs(built.chance, (inside == 1).astype(np.float64)),
                    Beliefs(built.chance, (outside == 1).astype(np.float64)) if outsiders else None,
                    None,
                    guessing=(isolation_chance(members, 1.0), isolation_chance(max(1, outsiders), 1.0)),
                    bound=None,
                    claims=True,
                ),
            ),
        )


def isolation_chance(records: int, weight: float) -> float:
    """Return the best chance to isolate one of n records by a predicate of at most a weight, without looking.

    `records`: n, 1 or more. `weight`: Largest weight of a predicate, from 0 to 1.

    Examples
    --------
    >>> isolation_chance(2, 1.0), isolation_chance(100, 0.0), isolation_chance(1, 1.0)
    (0.5, 0.0, 1.0)
    """
    best = min(weight, 1 / records)
    return float(records * best * (1 - best) ** (records - 1))


def _held(
    built: _Predicates, cohort: Cohort, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the people in the data, and those who are not, for whom each narrowed predicate holds."""
    schema = cohort.table.schema
    names = [name for name in cohort.frame.columns if name not in schema.identifying]
    numbers = _record_numbers(columns_of(cohort.frame, names))
    salts = generator.integers(0, 1 << 63, len(built.records), dtype=np.uint64)
    drawn = mix_bits(numbers[built.person], salts[built.predicate])
    holds = drawn * built.records[built.predicate] < 1
    person, predicate = cohort.known.person_of[built.person[holds]], built.predicate[holds]
    # A predicate that holds for several records of a person holds for one person.
    pairs = np.unique(person * len(salts) + predicate)
    person, predicate = pairs // max(1, len(salts)), pairs % max(1, len(salts))
    inside = person < cohort.insiders
    counts = (np.bincount(predicate[part], minlength=len(salts)) for part in (inside, ~inside))
    members, outsiders = (count.astype(np.int64, copy=False) for count in counts)
    return members, outsiders


def _notes(members: int, outsiders: int) -> tuple[str, ...]:
    if not outsiders:
        return (
            "without a control group nobody can say how much the predicates weigh: they are compared with the best "
            "predicate of any weight, so that lighter ones may have singled out more than they should; give one",
        )
    if 2 * outsiders < members:
        return (
            f"the control group has {outsiders} people and the data {members}: fewer are isolated among few, for which "
            "the baseline is corrected, the control group's rate is not",
        )
    return ()


@dataclass(frozen=True, eq=False, repr=False)
class _Predicates:
    """Conditions on records, before they are narrowed at random.

    `records`: float64 (p,): published records for which each holds, at least one; 1 for a member of a label, which is
    not narrowed. `chance`: float64 (p,): that it isolates one, as the release tells. `person`, `predicate`: int64: all
    pairs of one of the people and a predicate that holds for them.
    """

    records: NDArray[np.float64]
    chance: NDArray[np.float64]
    person: NDArray[np.int64]
    predicate: NDArray[np.int64]


def predicates_of(target: Target, cohort: Cohort, *, count: int, generator: np.random.Generator) -> _Predicates:
    """Build the predicates of a release, and find the people of a cohort for whom they hold.

    `generator`: Chooses among predicates with equally many records. Raises InputError when release and people share no
    attribute.

    *Generalized*: one for each class, that of the highest chance: its region and the member of a label, or its region
    and the sensitive value of fewest of its records. *Others*: `count` vectors of values that share a row (a row of a
    column of a slice, a row of the quasi-identifying table of buckets, a cell of a marginal), those of the fewest
    records; of vectors with equally many records, those of more attributes come first.
    """
    published = target.published
    if isinstance(published, PublishedTable):
        return _of_classes(published, target, cohort)
    return _of_vectors(exact_parts(published), cohort.table, count, generator)


def _of_classes(published: PublishedTable, target: Target, cohort: Cohort) -> _Predicates:
    people = cohort.table
    names = shared_names(published, people, sensitive=True)
    if not names:
        raise nothing_shared()
    region = shared_names(published, people, sensitive=False) or names
    whole = read_cells(published, people, region, target.recoding)
    parts = whole if region == names else read_cells(published, people, names, target.recoding)
    # The part of each class with fewest records, the first of equals.
    sizes = parts.publication.sizes.astype(np.float64)
    class_of = whole.publication.class_of[first_records(parts.publication.class_of, len(sizes))]
    order = np.lexsort((sizes, class_of))
    fewest = order[np.searchsorted(class_of[order], np.arange(len(whole.publication.sizes)))]
    narrowed = narrowing_chance(sizes[fewest])
    members = choose_members(whole, np.arange(people.height) >= cohort.members, target)
    by_member = members.chance > narrowed
    person, owner = whole.pairs_with(np.flatnonzero(by_member))
    owner = np.flatnonzero(by_member)[owner]
    held = members.holds(person, owner, whole.known)
    others, part = parts.pairs_with(fewest[~by_member])
    return _Predicates(
        np.where(by_member, 1.0, sizes[fewest]),
        np.where(by_member, members.chance, narrowed),
        np.concatenate([person[held], others]),
        np.concatenate([owner[held], np.flatnonzero(~by_member)[part]]),
    )


def narrowing_chance(records: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance that a condition of weight 1/c isolates one of c records; float64 (p,)."""
    chance: NDArray[np.float64] = (1 - 1 / records) ** (records - 1)
    return chance


def _fewest(
    records: NDArray[np.float64], after: NDArray[np.float64], count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the places with the fewest records, then the lowest `after`, then at random."""
    return np.lexsort((generator.random(len(records)), after, records))[:count]


def _of_vectors(pieces: Sequence[ExactPart], people: Table, count: int, generator: np.random.Generator) -> _Predicates:
    vectors = [_vectors(piece, people) for piece in pieces]
    records = np.concatenate([numbers for numbers, _, _ in vectors])
    if not len(records):
        raise nothing_shared()
    width = np.concatenate([np.full(len(numbers), -attributes) for numbers, _, attributes in vectors])
    chosen = _fewest(records, width, count, generator)
    place_of = np.full(len(records), -1, dtype=np.int64)
    place_of[chosen] = np.arange(len(chosen))
    starts = np.cumsum([0, *(len(numbers) for numbers, _, _ in vectors)])
    found = [
        _holding(held, place_of[start:stop])
        for (_, held, _), start, stop in zip(vectors, starts, starts[1:], strict=False)
    ]
    return _Predicates(
        records[chosen],
        narrowing_chance(records[chosen]),
        *(np.concatenate(parts) for parts in zip(*found, strict=True)),
    )


def _vectors(piece: ExactPart, people: Table) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """Return the records of each vector of a piece, the vector of each person (−1: not published), and its width."""
    schema = people.schema
    names = tuple(
        name
        for name in (*schema.quasi_identifying, *schema.sensitive, *schema.insensitive)
        if name in piece.label_of and name in people.frame.columns
    )
    if not names:
        return np.zeros(0), np.full(people.height, -1, dtype=np.int64), 0
    rows, held = number_part_rows(piece, people.frame, names)
    size = int(max(rows.max(initial=-1), held.max(initial=-1))) + 1
    records = sum_by_code(rows, piece.records, size)
    place_of = np.where(records > 0, np.cumsum(records > 0) - 1, -1)
    return records[records > 0], place_of[held], len(names)


def _holding(held: NDArray[np.int64], place_of: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    place = np.append(place_of, -1)[held]
    person = np.flatnonzero(place >= 0)
    return person, place[person]


def _record_numbers(frame: pl.DataFrame) -> NDArray[np.uint64]:
    """Give equal records the same number: uint64 (n,)."""
    # Decimals have as many bits as no array has.
    columns = [distinct_of(each) for each in frame.with_columns(cs.decimal().cast(pl.String)).iter_columns()]
    codes = np.column_stack([column.rank_of[column.raw] for column in columns])
    return group_records(codes.astype(np.uint32))[0].astype(np.uint64)


def mix_bits(numbers: NDArray[np.uint64], salts: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Turn pairs of numbers into numbers from 0 to 1 that look random for each pair."""
    return (hashed(numbers ^ salts) >> np.uint64(11)) / float(1 << 53)
