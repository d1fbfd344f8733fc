"""Singling out: a predicate, written down from the release alone, that holds for exactly one record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from sfumato.classes.partition import Form, group_records
from sfumato.evaluation.attacks.downcoding import children_of, label_edges, on_its_grid
from sfumato.evaluation.attacks.original_values import (
    ExactPart,
    TableCells,
    exact_parts,
    number_alike,
    number_part_rows,
    shared_names,
    table_cells,
    unread_notes,
)
from sfumato.evaluation.attacks.people import Cohort, cohort_of, generator_of, nothing_shared
from sfumato.evaluation.attacks.placement import PublishedClasses, RegisterAttribute, forms_of, sum_by_code
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import SURE, Beliefs, draw_curve
from sfumato.kernels.grouping import first_records
from sfumato.options import Checked, Limit
from sfumato.published import PublishedTable, RandomizedTable
from sfumato.randomness import hashed
from sfumato.rates import Rate
from sfumato.recoding.choice import outer_bins
from sfumato.table.distinct import distinct_of
from sfumato.table.encoding import EncodedAttribute
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
    values
        Whether predicates may also ask for a sensitive value that a generalized table publishes beside a class.

    Raises
    ------
    PolicyError
        When that is not such a number.

    Notes
    -----
    *Played.* The attacker sees only the release, and how frequent values are among people who are not in the data. For
    each class, or the smallest groups of records that the release shows, a predicate is written down (see
    :func:`predicates_of`): the region of a class and a member of one of its labels, of which the label tells that it
    occurs (the rarest value of a set, a part of an outer bin of an interval, a child of a node); or the region and one
    of its sensitive values; or values that share a row. The last two are narrowed, if c > 1 records satisfy them
    according to the release, by a random condition of weight 1/c on the whole record, which isolates one of c with
    chance (1 − 1/c)^(c−1), never below 1/e. Of the first two the one of the higher chance is taken. Success is a
    predicate that holds for exactly one of the original records; where people have several, for records of exactly one
    person.

    *Drawn values.* Where values were drawn inside classes that are not published, these are guessed by cutting the rows
    anew, eight times; see the page of this attack.

    *Baseline.* A predicate of weight w (the chance that it holds for somebody of the population) that is written down
    without the release isolates one of n records with chance n·w·(1−w)^(n−1), which is largest, about 37 %, for w =
    1/n. So success counts only against the best such predicate of no more weight. The weight is measured on the control
    group, for all predicates together, and the high end of its interval is taken. Since the chance is concave in the
    weight, that of the mean weight is no less than the mean chance. Without a control group the weight is unknown, and
    success counts against the best predicate of any weight.

    *Control.* How many of the predicates isolate one record of the control group.

    *A strictly finer table* is Cohen's own score: `finer_rows` and `finer_cells` are the shares of the published rows
    and cells that a table which follows from the labels alone tells more finely, `finer_true` how many of these rows
    are right; see :func:`finer_table`. Departure: one attribute of each class is refined, of which it is certain.

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
    values: bool = True

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it: one result."""
        cohort, generator = cohort_of(target), generator_of(target, _SALT)
        built = predicates_of(target, cohort, count=self.predicates, values=self.values, generator=generator)
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
                    "if_labels_told_nothing": float(built.alone.mean()),
                    **({"certain_if_regions_are_apart": float(forced.mean())} if forced.any() else {}),
                    **built.finer,
                    **({"weight": weight.share, "weight_high": weight.interval[1]} if outsiders else {}),
                },
                notes=(*_notes(members, outsiders), *unread_notes(target.published, cohort.frame)),
                helps="labels that do not tell of members (labels = 'declared', full-domain algorithms), and no "
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
            "predicate of any weight; lighter ones may have singled out more than they should; give one",
        )
    if 2 * outsiders < members:
        return (
            f"the control group has {outsiders} people and the data {members}: fewer are isolated among few, for which "
            "the baseline is corrected, the control group's rate is not",
        )
    return ()


@dataclass(frozen=True, eq=False, repr=False)
class _Predicates:
    """Conditions before they are narrowed, the records for which each holds, and the chance that it isolates one."""

    records: NDArray[np.float64]
    chance: NDArray[np.float64]
    alone: NDArray[np.float64]
    person: NDArray[np.int64]
    predicate: NDArray[np.int64]
    finer: Mapping[str, float] = field(default_factory=dict)


def predicates_of(
    target: Target, cohort: Cohort, *, count: int, generator: np.random.Generator, values: bool = True
) -> _Predicates:
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
        return _of_classes(published, target, cohort, values=values)
    drawn = _of_drawn(published, cohort.table, count, generator) if isinstance(published, RandomizedTable) else None
    return drawn or _of_vectors(exact_parts(published), cohort.table, count, generator)


def _of_classes(published: PublishedTable, target: Target, cohort: Cohort, *, values: bool) -> _Predicates:
    people = cohort.table
    names = shared_names(published, people, sensitive=values)
    if not names:
        raise nothing_shared()
    region = shared_names(published, people, sensitive=False) or names
    whole = table_cells(published, people, region, target.recoding)
    parts = whole if region == names else table_cells(published, people, names, target.recoding)
    # The part of each class with fewest records, the first of equals.
    sizes = parts.publication.sizes.astype(np.float64)
    class_of = whole.publication.class_of[first_records(parts.publication.class_of, len(sizes))]
    # Ties and numbers go by what labels say, not by the order of rows.
    order = np.lexsort((*parts.publication.label_of.T, sizes, class_of))
    fewest = order[np.searchsorted(class_of[order], np.arange(len(whole.publication.sizes)))]
    narrowed = narrowing_chance(sizes[fewest])
    members = choose_members(whole, np.arange(people.height) >= cohort.members, target)
    by_member = members.chance > narrowed
    person, owner = whole.pairs_with(np.flatnonzero(by_member))
    owner = np.flatnonzero(by_member)[owner]
    held = members.holds(person, owner, whole.known)
    others, part = parts.pairs_with(fewest[~by_member])
    rank = np.lexsort(whole.publication.label_of.T)
    place_of = np.empty_like(rank)
    place_of[rank] = np.arange(len(rank))
    return _Predicates(
        np.where(by_member, 1.0, sizes[fewest])[rank],
        np.where(by_member, members.chance, narrowed)[rank],
        np.where(by_member, members.alone, narrowed)[rank],
        np.concatenate([person[held], others]),
        place_of[np.concatenate([owner[held], np.flatnonzero(~by_member)[part]])],
        finer_table(whole, np.arange(people.height) < cohort.members, target),
    )


_CUTTINGS = 8
"""How often the classes behind drawn values are guessed."""


_SURELY = 0.75
"""Least chance, by these guesses, of a predicate that is tried."""


_MOST_COMPARED = 1 << 22
"""Most pairs of a region and a row; of more regions so many are drawn."""


def _of_drawn(
    published: RandomizedTable, people: Table, count: int, generator: np.random.Generator
) -> _Predicates | None:
    # Cuts of drawn rows guess the cuts of the classes that they were drawn in. "In this region, with that sensitive
    # value" is kept where most guesses leave one such record when its rows are drawn once more.
    schema = people.schema
    quasi, sensitive = (
        [name for name in names if name in shared and name in people.frame.columns]
        for names, shared in (
            (schema.quasi_identifying, published.quasi_identifying),
            (schema.sensitive, published.sensitive),
        )
    )
    if not (published.classes and quasi and sensitive and published.data.height):
        return None
    pairs = [number_alike(published.data[name], people.frame[name]) for name in (*quasi, *sensitive)]
    rows, held = (np.column_stack(columns) for columns in zip(*pairs, strict=True))
    least, width = max(int(each.get("k", 2)) for each in published.classes), len(quasi)
    cuttings = [_cut_anew(rows, width, least, generator) for _ in range(_CUTTINGS)]
    boxes = np.unique(np.concatenate([found for found, _ in cuttings]), axis=0)
    boxes = boxes[generator.permutation(len(boxes))[: min(4 * count, max(100, _MOST_COMPARED // len(rows)))]]
    ones = np.zeros(len(boxes))
    for _, leaf in cuttings:
        ones += _inside(boxes, _drawn_again(rows, leaf, width, generator)).sum(axis=1) == 1
    # Who was looked at so seldom is certain of nothing.
    chance = (ones + 0.5) / (_CUTTINGS + 1)
    best = np.lexsort((generator.random(len(boxes)), -chance))
    best = best[chance[best] > _SURELY]
    # One predicate for each record, the surest one.
    record = _inside(boxes[best], rows).argmax(axis=1)
    best = best[np.sort(np.unique(record, return_index=True)[1])[:count]]
    if not len(best):
        return None
    predicate, person = np.nonzero(_inside(boxes[best], held))
    return _Predicates(np.ones(len(best)), chance[best], chance[best], person, predicate)


def _cut_anew(
    rows: NDArray[np.int64], width: int, least: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut rows at medians of attributes drawn by their spread: regions with one record of a value, and the last parts.

    A region: int64 (2, columns), its lowest and highest codes. Cost O(log n · n · (q + log n)).
    """
    count, columns = rows.shape
    part = np.zeros(count, dtype=np.int64)
    regions = np.stack([np.zeros((1, columns), np.int64), np.broadcast_to(rows.max(axis=0), (1, columns))], axis=1)
    widths, found = np.maximum(np.ptp(rows[:, :width], axis=0), 1), [regions[:0]]
    for _ in range(3 * int(np.log2(count)) + 1):
        sizes, order = np.bincount(part), np.argsort(part, kind="stable")
        starts, sorted_rows = np.cumsum(sizes) - sizes, rows[order, :width]
        spread = np.maximum.reduceat(sorted_rows, starts) - np.minimum.reduceat(sorted_rows, starts)
        axis = (spread / widths * generator.random(spread.shape)).argmax(axis=1)
        value = rows[np.arange(count), axis[part]]
        middle = value[np.lexsort((value, part))][starts + (sizes - 1) // 2] - generator.integers(2, size=len(sizes))
        above = value > middle[part]
        upper = np.bincount(part[above], minlength=len(sizes))
        cut = np.flatnonzero(np.minimum(upper, sizes - upper) >= least)
        number = np.full(len(sizes), -1)
        number[cut] = len(sizes) + np.arange(len(cut))
        regions = np.concatenate([regions, regions[cut]])
        regions[cut, 1, axis[cut]] = middle[cut]
        regions[number[cut], 0, axis[cut]] = middle[cut] + 1
        part = np.where(above & (number[part] >= 0), number[part], part)
        found += [_with_one(rows, part, regions, column) for column in range(width, columns)] if len(cut) else []
    return np.concatenate(found), part


def _with_one(
    rows: NDArray[np.int64], part: NDArray[np.int64], regions: NDArray[np.int64], column: int
) -> NDArray[np.int64]:
    """Narrow regions to the values of a column that one row of theirs has."""
    pairs, times = np.unique(np.column_stack([part, rows[:, column]]), axis=0, return_counts=True)
    once = pairs[times == 1]
    narrowed: NDArray[np.int64] = regions[once[:, 0]]
    narrowed[:, :, column] = once[:, 1:]
    return narrowed


def _drawn_again(
    rows: NDArray[np.int64], part: NDArray[np.int64], width: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Deal the values of each attribute anew among the rows of a part."""
    again, order = rows.copy(), np.argsort(part, kind="stable")
    for place in range(width):
        again[order, place] = rows[np.lexsort((generator.random(len(rows)), part)), place]
    return again


def _inside(boxes: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which rows lie in which regions: bool (regions, rows)."""
    found = np.ones((len(boxes), len(rows)), dtype=np.bool_)
    for place, codes in enumerate(rows.T):
        found &= (boxes[:, :1, place] <= codes) & (codes <= boxes[:, 1:, place])
    return found


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
        narrowing_chance(records[chosen]),
        np.concatenate([person for person, _ in found]),
        np.concatenate([predicate for _, predicate in found]),
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


# A least label tells that its members occur: every member of a value set, both ends of an interval, at least two
# children of a node. Who asks for the region of a class and for its rarest such member often names exactly one person.
#
# Letters: c classes, k records of a class, m members of a label, w the share of a member among those of its label.


_MOST_WORK = 1 << 24
"""Multiplications for one exact chance; a label that would need more is passed over for another of its class."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelMembers:
    """The member of one label by which each class is asked for, its chance to be one record's; −1: none is told."""

    chance: NDArray[np.float64]
    alone: NDArray[np.float64]
    attribute: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def holds(
        self, person: NDArray[np.int64], owner: NDArray[np.int64], known: Sequence[RegisterAttribute]
    ) -> NDArray[np.bool_]:
        """Tell of pairs of a person and a class whether the person has the member."""
        codes = np.column_stack([each.codes for each in known])[person, self.attribute[owner]]
        found: NDArray[np.bool_] = (self.low[owner] <= codes) & (codes <= self.high[owner])
        return found


def choose_members(cells: TableCells, others: NDArray[np.bool_], target: Target) -> LabelMembers:
    """Choose for each class the member that most probably isolates one record; O(m k²) for a label and a size.

    People who are not in the data show how frequent values are, else the release does; see :func:`member_chances`.
    """
    publication = cells.publication
    classes = len(publication.sizes)
    found = LabelMembers(np.full(classes, -1.0), np.zeros(classes), *np.zeros((3, classes), dtype=np.int64))
    for place, form, attribute, edges in _least_labels(cells, target):
        known = cells.known[place]
        shares = _frequencies(known, others, cells.spreads[place].mass * publication.records)
        for rows, codes, size in _cells(publication, place):
            if form is Form.INTERVAL:
                sides = _sides(codes, attribute, rounded=edges == "rounded")
                members, chances, weights = _end_members(sides, codes, shares, size)
            else:
                members = _members(form, codes, known)
                weights = np.array([shares[low : high + 1].sum() for low, high in members]) / shares[codes].sum()
                chances = member_chances(form, weights, 1.0, size)
            best = int(chances.argmax())
            better = rows[chances[best] > found.chance[rows]]
            found.chance[better], found.attribute[better] = chances[best], place
            found.low[better], found.high[better] = members[best]
            found.alone[better] = _once(weights[best], size)
    # Suppressed records are a class that covers everything; its labels are least of nothing.
    found.chance[_covers_everything(cells)] = -1.0
    return found


def _least_labels(cells: TableCells, target: Target) -> Iterator[tuple[int, Form, EncodedAttribute, str]]:
    """Yield the attributes whose labels tell of members: place, form, the attribute on its grid, what edges tell."""
    for place, (known, form) in enumerate(zip(cells.known, forms_of(cells.known, target.recoding), strict=True)):
        attribute = on_its_grid(target, known.attribute)
        edges = "tight" if form is Form.SET else label_edges(target, form, attribute)
        if form is not Form.MEAN and edges != "free" and not getattr(target.anonymizer, "decides_regions", False):
            yield place, form, attribute, edges


def finer_table(cells: TableCells, inside: NDArray[np.bool_], target: Target) -> dict[str, float]:
    """Write a strictly finer table that follows from the release, and count where it is true (Cohen's score).

    In each class the labels of one attribute are refined, the one that tells most rows: a row for each member of a set,
    for each end or outer bin of an interval, for each child of a node of two. All of them occur, so that the table is
    true whoever the rows are; labels of several attributes at once would have to be matched by chance.

    `inside`: bool, which of the people are in the data. Result: shares of the rows and of the cells that are finer, and
    of these rows the share of which somebody in the region has the finer value. Cost O(pairs of a person and a class).
    """
    publication = cells.publication
    parts: dict[int, tuple[int, list[tuple[int, int]]]] = {}
    for place, form, attribute, edges in _least_labels(cells, target):
        for rows, codes, size in _cells(publication, place):
            told = _sure_parts(form, codes, cells.known[place], attribute, edges)
            if len(told) > size:
                continue
            for row in rows.tolist():
                if len(told) > len(parts.get(row, (0, []))[1]):
                    parts[row] = place, told
    for row in np.flatnonzero(_covers_everything(cells)).tolist():
        parts.pop(row, None)
    if not parts:
        return {}
    chosen = np.array(sorted(parts))
    person, owner = cells.pairs_with(chosen)
    person, owner = person[inside[person]], owner[inside[person]]
    borders = np.searchsorted(np.sort(owner), np.arange(len(chosen) + 1))
    by_class, told_rows, true_rows = person[np.argsort(owner, kind="stable")], 0, 0
    for number, row in enumerate(chosen.tolist()):
        place, told = parts[row]
        own = cells.known[place].codes[by_class[borders[number] : borders[number + 1]]]
        told_rows += len(told)
        true_rows += sum(bool(((own >= low) & (own <= high)).any()) for low, high in told)
    return {
        "finer_rows": told_rows / publication.records,
        "finer_cells": told_rows / (publication.records * len(cells.known)),
        "finer_true": true_rows / told_rows,
    }


def _sure_parts(
    form: Form, codes: NDArray[np.int64], known: RegisterAttribute, attribute: EncodedAttribute, edges: str
) -> list[tuple[int, int]]:
    """Return parts of a label, apart from each other, each of which has a record: its first and last code."""
    if form is Form.INTERVAL:
        sides = _sides(codes, attribute, rounded=edges == "rounded")
        return [(int(side[0]), int(side[-1])) for side in sides] if all(map(len, sides)) else []
    members = _members(form, codes, known)
    return members if form is Form.SET or len(members) == 2 else []


def _covers_everything(cells: TableCells) -> NDArray[np.bool_]:
    publication = cells.publication
    widths = np.append(0, np.cumsum(publication.high - publication.low + 1))[publication.runs]
    sizes = np.array([each.attribute.size for each in cells.known])
    full: NDArray[np.bool_] = np.all(np.diff(widths)[publication.label_of] >= sizes, axis=1)
    return full


def member_chances(form: Form, weights: NDArray[np.float64], total: float, records: int) -> NDArray[np.float64]:
    """Return the chance of each member that exactly one of the records has it, given that the label is least.

    `weights`: float64 (m,): how frequent the members are: the values of a set, or the children of a node.
    `total`: how frequent the label is, above 0. `records`: k, 1 or more.

    *Sets*: all members occur. *Nodes*: two children occur at least. Exact for independent draws; O(m k²) for a set,
    whose rarest member alone is looked at: it has the highest chance. Intervals: see :func:`end_chances`.

    Examples
    --------
    >>> member_chances(Form.SET, np.array([0.2, 0.8]), 1.0, 2).round(3).tolist()
    [1.0, 0.0]
    >>> member_chances(Form.ANCESTOR, np.array([0.5, 0.5]), 1.0, 2).tolist()
    [1.0, 1.0]
    """
    shares, none = weights / total, np.zeros(len(weights))
    if form is Form.SET:
        rarest = int(shares.argmin())
        if len(shares) <= records and len(shares) * records**2 <= _MOST_WORK:
            none[rarest] = _one_of_set(np.delete(shares, rarest), float(shares[rarest]), records)
        return none
    several = 1 - float((shares**records).sum())
    return _once(shares, records) / several if several > 0 else none


def _once(shares: NDArray[np.float64], records: int) -> NDArray[np.float64]:
    """Return k w (1 − w)^(k − 1)."""
    once: NDArray[np.float64] = records * shares * (1 - shares) ** (records - 1)
    return once


def end_chances(inner: NDArray[np.float64], side: float, other: float, records: int) -> NDArray[np.float64]:
    """Return the chance that one record lies in a part of one side of an interval, if both its sides have records.

    `inner`: float64 (m,), how frequent parts of that side are among the values of the interval; `side`, `other`: how
    frequent both sides are, apart from each other. Exact for independent draws.

    Examples
    --------
    >>> end_chances(np.array([0.5]), 0.5, 0.5, 2).tolist()
    [1.0]
    """
    both = 1 - (1 - side) ** records - (1 - other) ** records + max(1 - side - other, 0.0) ** records
    none_there = records * inner * np.maximum(1 - inner - other, 0.0) ** (records - 1)
    return (_once(inner, records) - none_there) / both if both > 0 else np.zeros(len(inner))


_Sides = tuple[NDArray[np.int64], NDArray[np.int64]]


def _sides(codes: NDArray[np.int64], attribute: EncodedAttribute, *, rounded: bool) -> _Sides:
    """Return what of an interval surely has records: its two ends, or the values of its outer bins, if they differ."""
    # A ``*`` over missing values tells of none that can be asked for.
    numbers = attribute.numbers
    if codes[-1] >= attribute.size:
        return codes[:0], codes[:0]
    if not rounded:
        return codes[:1], codes[-1:]
    assert numbers is not None
    (second,), (last,) = outer_bins(attribute, codes[:1], codes[-1:])
    if last < second:
        return codes[:0], codes[:0]
    return codes[numbers[codes] < second], codes[numbers[codes] >= last]


def _end_members(
    sides: _Sides, codes: NDArray[np.int64], shares: NDArray[np.float64], records: int
) -> tuple[list[tuple[int, int]], NDArray[np.float64], NDArray[np.float64]]:
    """Return parts of both sides that begin at their ends: codes, chances and how frequent they are."""
    left, right = sides
    total = shares[codes].sum()
    if not len(left) or not len(right):
        return [(0, 0)], np.array([-1.0]), np.zeros(1)
    up, down = np.cumsum(shares[left]) / total, np.cumsum(shares[right[::-1]]) / total
    chances = [end_chances(up, up[-1], down[-1], records), end_chances(down, down[-1], up[-1], records)]
    parts = [(int(left[0]), code) for code in left.tolist()]
    parts += [(code, int(right[-1])) for code in right[::-1].tolist()]
    return parts, np.concatenate(chances), np.concatenate([up, down])


def _one_of_set(others: NDArray[np.float64], share: float, records: int) -> float:
    """Return the chance that one record has the member, if it and all others occur.

    Members are added one by one: `occur[n]` is the chance that all so far occur among n records that have one of them.
    """
    draws = np.arange(records + 1)
    logs = np.append(0.0, np.cumsum(np.log(draws[1:])))
    ways = logs[:, None] - logs[None, :] - logs[np.abs(draws[:, None] - draws[None, :])]
    occur, total = np.where(draws > 0, 1.0, 0.0), others[0]
    for each in others[1:].tolist():
        total += each
        occur = _joined(occur, each / total, ways)
    once = records * share * (1 - share) ** (records - 1) * occur[records - 1]
    all_occur = _joined(occur, share, ways)[records]
    return float(min(1.0, once / all_occur)) if all_occur > 0 else 0.0


def _joined(occur: NDArray[np.float64], share: float, ways: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a member of a share below 1: it occurs c times, 1 or more, and the others do in what is left."""
    draws = np.arange(len(occur))
    left = draws[:, None] - draws[None, :]
    possible = (left >= 0) & (draws[None, :] > 0)
    chances = np.exp(np.where(possible, ways + draws * np.log(share) + left * np.log1p(-share), -np.inf))
    found: NDArray[np.float64] = (chances * occur[np.maximum(left, 0)]).sum(axis=1)
    return found


def _frequencies(
    known: RegisterAttribute, others: NDArray[np.bool_], published: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how many records have each code, among others or as published; each code counts half a record more."""
    codes = known.codes[others & (known.codes >= 0)]
    found = np.bincount(codes, minlength=len(published)).astype(np.float64) if len(codes) else published
    return found + 0.5


def _cells(publication: PublishedClasses, place: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], int]]:
    """Yield classes with one label and size, the codes of the label, if there are several, and the size."""
    keys = np.column_stack([publication.label_of[:, place].astype(np.int64), publication.sizes])
    pairs, pair_of = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(pair_of.ravel(), kind="stable")
    borders = np.cumsum(np.bincount(pair_of.ravel(), minlength=len(pairs)))[:-1]
    for (label, records), rows in zip(pairs.tolist(), np.split(order, borders), strict=True):
        runs = range(publication.runs[label], publication.runs[label + 1])
        codes = [np.arange(publication.low[run], publication.high[run] + 1) for run in runs]
        covered = np.concatenate(codes) if codes else np.zeros(0, dtype=np.int64)
        if len(covered) > 1 and records > 1:
            yield rows, covered, records


def _members(form: Form, codes: NDArray[np.int64], known: RegisterAttribute) -> list[tuple[int, int]]:
    first, last = int(codes[0]), int(codes[-1])
    hierarchy = known.attribute.hierarchy
    if form is Form.ANCESTOR and hierarchy is not None and last < known.attribute.size:
        child_of = children_of(hierarchy, first, last)
        starts = np.flatnonzero(np.append(True, np.diff(child_of) != 0))
        return [
            (first + int(each[0]), first + int(each[-1])) for each in np.split(np.arange(len(child_of)), starts[1:])
        ]
    return [(code, code) for code in codes.tolist()]
