"""What a new member of a series recounts: series that grow, and those of kept labels.

The recount of *grow*: each release beside every earlier one, for the forward, cross and backward attack.

Letters: p pairs of classes of two releases that meet, c classes of the newer one.

The recount of *m-invariance*: classes are m-unique, by the folder; people keep their signatures, by the ledger.

Letters: n rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SfumatoError
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import DistinctLDiversity, ProbabilisticLDiversity
from sfumato.models.protocol import Check, Outcome, PrivacyModel
from sfumato.numbers import counted, percent
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import RowsOfClasses
from sfumato.release.description import build_model
from sfumato.series.labels import Labelled, arrivals, recipients
from sfumato.series.people import PeopleOfRelease, known_among
from sfumato.series.reading import ReadRelease
from sfumato.series.recount import (
    PairRecount,
    Places,
    Released,
    SensitiveValues,
    follow_all,
    follow_chains,
    holds_on,
    join_releases,
    recount_pair,
)
from sfumato.table.schema import text_of

Marks = NDArray[np.bool_]
Classes = NDArray[np.int32]

PROMISE = "beside release {}: forward, cross and backward attack leave everybody enough rows"
ARRIVALS = "every class says with which releases its people came"
TELLS_NOTHING = "beside published values, months of arrival tell nothing"
NODES = "labels of hierarchies lie under each other as the release says"
FITS = "the releases can be compared"


@dataclass(frozen=True, eq=False, repr=False)
class _Recounting:
    """All releases up to the newest one, and what was promised of them."""

    releases: Sequence[Released]
    models: Sequence[PrivacyModel]
    values: SensitiveValues
    # whether somebody came with the first and with the last release that a class names; else there may be nobody
    exact_months: bool
    _pairs: dict[int, PairRecount] = field(default_factory=dict)

    @classmethod
    def of(cls, earlier: Sequence[ReadRelease], newer: ReadRelease) -> _Recounting:
        """Read releases, the oldest first; what was read and counted of them is kept as long as the newest one is."""
        known = _KNOWN.get(newer)
        if known is None or known[0] != tuple(earlier):
            # No more than one is kept: pairs of large releases take room.
            _KNOWN.clear()
            known = _KNOWN[newer] = tuple(earlier), cls._read(earlier, newer)
        return known[1]

    @classmethod
    def _read(cls, earlier: Sequence[ReadRelease], newer: ReadRelease) -> _Recounting:
        labelled = [Labelled.read(each) for each in (*earlier, newer)]
        releases = recipients(labelled)
        models = [model for entry in newer.description.models if (model := build_model(entry)) is not None]
        rows = RowsOfClasses.of(newer.published.data, newer.published.quasi_identifying, newer.description.attributes())
        most = max(int(each.value_of.max(initial=-1)) for each in releases) + 1
        codes = np.zeros((most, len(rows.sensitive)), dtype=np.int64)
        codes[releases[-1].value_of] = rows.codes
        return cls(releases, models, SensitiveValues(rows.sensitive, codes), not labelled[-1].values)

    def pair(self, older: int) -> PairRecount:
        """Return the recount of an earlier release and the newest; ``InputError`` when they do not belong together."""
        if older not in self._pairs:
            self._pairs[older] = recount_pair(self.releases[older], self.releases[-1])
        return self._pairs[older]

    def breaks(self, left: Places) -> Marks:
        """Tell which lists of rows break a model; empty ones are nobody's, and break none."""
        return ~holds_on(left, self.models, self.values)


_KNOWN: WeakKeyDictionary[ReadRelease, tuple[tuple[ReadRelease, ...], _Recounting]] = WeakKeyDictionary()
"""A release is recounted as its recipient will, and again with everybody in their classes."""


def recount_grown(earlier: Sequence[ReadRelease], newer: ReadRelease) -> tuple[Check, ...]:
    """Recount a release of a growing series from its folder and those of all before it.

    *Guarantee.* A pair of releases holds where every pair of their classes that meet leaves rows that satisfy every
    model, to who is in both and to who came between them. Where rows publish values, nobody may be in a pair of classes
    that leaves less: what is certain is told as broken (a class all of whose pairs fail, or whose newcomers are left
    too little), and the rest is the steward's word, who has recounted the pairs in which somebody is.
    """
    try:
        checks = (*_months(Labelled.read(newer), len(earlier) + 1), *_nodes(earlier, newer))
        if not earlier:
            return checks
        recounting = _Recounting.of(earlier, newer)
    except SfumatoError as error:
        return tuple(Check(FITS, Outcome.BROKEN, detail=problem) for problem in error.problems)
    return (*checks, *(_beside(recounting, number) for number in range(len(earlier))))


def _months(newer: Labelled, number: int) -> tuple[Check, ...]:
    """Check what a release says of arrivals; raises VerificationError where that cannot be."""
    low, high = arrivals(newer.arrived, number)
    said = Check(ARRIVALS, Outcome.HOLDS)
    if not newer.values:
        return (said,)
    if not low.any() and (high == number - 1).all():
        return said, Check(TELLS_NOTHING, Outcome.HOLDS)
    detail = (
        "the months of arrival are exact, as those of earlier versions were: with the values they can tell more than "
        "is counted"
    )
    return said, Check(TELLS_NOTHING, Outcome.UNDECIDABLE, detail=detail, required=False)


def _nodes(earlier: Sequence[ReadRelease], newer: ReadRelease) -> tuple[Check, ...]:
    """Say on whose word labels of hierarchies lie under each other; what was said before must still be said."""
    now, before = (Labelled.read(each).covers for each in (newer, [newer, *earlier][-1]))
    if not now and not before:
        return ()
    lost = before.keys() - now.keys()
    for name in before.keys() & now.keys():
        lost |= {name for label, below in before[name].items() if not set(below) <= set(now[name].get(label, ()))}
    if lost:
        detail = f"the release before says something else of column(s) {', '.join(sorted(map(repr, lost)))}"
        return (Check(NODES, Outcome.BROKEN, detail=detail),)
    detail = "the hierarchy is not published; release.json says it of the labels that are"
    return (Check(NODES, Outcome.UNDECIDABLE, detail=detail, required=False),)


def _beside(recounting: _Recounting, number: int) -> Check:
    promise = PROMISE.format(number + 1)
    older, newer = recounting.releases[number], recounting.releases[-1]
    try:
        found = recounting.pair(number)
    except InputError as error:
        return Check(promise, Outcome.BROKEN, detail=" ".join(error.problems))
    both, new = found.both_rows > 0, found.new_rows > 0
    fails, lacks = recounting.breaks(found.both), recounting.breaks(found.new)
    certain = int(_without_any(found.older, both & ~fails, older.boxes.count).sum())
    certain += _newer_broken(
        recounting, number, _without_any(found.newer, both & ~fails, newer.boxes.count), lacks | ~new
    )
    if certain:
        detail = f"{counted(certain, 'class')} in which somebody is leaves too little to its people"
        return Check(promise, Outcome.BROKEN, detail=detail)
    least = f"{_least(found, both & ~fails, new & ~lacks)}; {_how(found)}"
    if fails.any():
        detail = f"{counted(int(fails.sum()), 'pair')} of classes leave less if somebody is in them; of others, {least}"
        return Check(promise, Outcome.UNDECIDABLE, detail=detail, required=False)
    return Check(promise, Outcome.HOLDS, detail=least)


def _newer_broken(recounting: _Recounting, number: int, nobody_stays: Marks, nobody_comes: Marks) -> int:
    """Count the newer classes that leave too little to somebody who is certainly in them."""
    # `nobody_stays`, `nobody_comes`: whoever was in the older release, or was not, is left too little in the class.
    if not recounting.exact_months:
        return int((nobody_stays & nobody_comes).sum())
    first, last = recounting.releases[-1].boxes.low[:, -1], recounting.releases[-1].boxes.high[:, -1]
    return int((nobody_stays & (first <= number)).sum() + (nobody_comes & (last > number)).sum())


def _without_any(classes: NDArray[np.int64], good: Marks, count: int) -> Marks:
    """Tell which classes have no pair that is good."""
    return np.asarray(np.bincount(classes[good], minlength=count) == 0)


def _least(found: PairRecount, both: Marks, new: Marks) -> str:
    """Say how many rows are left at least by each attack."""
    rows = [values[some].min(initial=2**62) for values, some in ((found.both_rows, both), (found.new_rows, new))]
    forward, backward = ("nobody" if each == 2**62 else f"{each:,}" for each in rows)
    return f"forward and cross {forward}, backward {backward} rows at least"


def _how(found: PairRecount) -> str:
    shape = "nested classes, " if found.nested else ""
    return shape + (f"flows in {counted(found.flows, 'group')}" if found.flows else "closed forms")


def classes_by_release(people: Sequence[PeopleOfRelease], tags: pl.Series) -> Classes:
    """Return the class of some people in each release, −1 where they are not in it; int32 (n, releases)."""
    asked, columns = pl.DataFrame({"tag": tags}), [np.zeros((len(tags), 0), dtype=np.int32)]
    for each in people:
        known = pl.DataFrame({"tag": each.tags, "class": each.class_of})
        join_releases = asked.join(known, on="tag", how="left", maintain_order="left")["class"]
        columns.append(join_releases.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int32)[:, None])
    return np.concatenate(columns, axis=1)


def came_with(classes: Classes) -> NDArray[np.int64]:
    """Return the release with which each person came, from 0; −1 for who is in none."""
    there = classes >= 0
    if not classes.shape[1]:
        return np.full(len(classes), -1, dtype=np.int64)
    return np.where(there.any(axis=1), there.argmax(axis=1), -1).astype(np.int64)


def attest_grown(
    earlier: Sequence[ReadRelease], newer: ReadRelease, people: Sequence[PeopleOfRelease]
) -> tuple[Check, ...]:
    """Check that the ledger has everybody's class, that nobody left, and recount for the people who really are there.

    Every pair of classes in which somebody is is recounted, and everybody's whole way from class to class.
    """
    number, now = len(people), people[-1]
    classes = classes_by_release(people, now.tags)
    checks = [_in_their_classes(newer, classes, now, number)]
    if earlier:
        gone = len(people[-2].tags) - known_among(people[-2].tags, [now.tags])
        stays = f"everybody of release {number - 1} is in release {number}"
        checks.append(_said(stays, not gone, counted(gone, "person")))
    if not earlier or any(check.outcome is not Outcome.HOLDS for check in checks):
        return tuple(checks)
    recounting = _Recounting.of(earlier, newer)
    if not recounting.exact_months and join_releases(recounting.releases):
        return (*checks, *_together(recounting, classes))
    failing = [_failing(recounting, classes, older) for older in range(number - 1)]
    # Of rows that say nothing beside their class a history leaves as many as its steps, and those are all recounted.
    if not any(failing) and not recounting.exact_months:
        left = follow_all(recounting.releases, classes, recounting.pair(number - 2))
        failing.append(int(recounting.breaks(left.left)[left.history_of].sum()))
    promise = f"release {number} and those before leave everybody who is there enough rows"
    return (*checks, _said(promise, not any(failing), f"{counted(max(failing), 'person')} are left too few"))


def _together(recounting: _Recounting, classes: Classes) -> tuple[Check, ...]:
    """Recount what all releases together leave to everybody who is there."""
    _, empty = follow_chains(recounting.releases, classes)
    number, broken = len(recounting.releases), counted(int(empty.sum()), "pair")
    fits = f"whatever classes people went through, all labels up to release {number} have values in common"
    left = follow_all(recounting.releases, classes, as_they_went=True)
    few = int(recounting.breaks(left.left)[left.history_of].sum())
    promise = f"all releases up to release {number} together leave everybody who is there enough rows"
    return (
        _said(fits, not empty.any(), f"not those of {broken} of classes with the ones before"),
        _said(promise, not few, f"{counted(few, 'person')} are left too few"),
    )


def _said(promise: str, holds: bool, detail: str) -> Check:
    return Check(promise, Outcome.HOLDS) if holds else Check(promise, Outcome.BROKEN, detail=detail)


def _in_their_classes(newer: ReadRelease, classes: Classes, now: PeopleOfRelease, number: int) -> Check:
    promise = f"the ledger has one person for every row of release {number}, in its class"
    shown = Labelled.read(newer)
    sizes, said = np.bincount(shown.class_of), np.bincount(now.class_of)
    alike = now.tags.n_unique() == len(now.tags) and np.array_equal(sizes, said)
    if alike:
        came, (low, high) = came_with(classes), arrivals(shown.arrived, number)
        first, last = np.full(len(sizes), number), np.full(len(sizes), -1)
        np.minimum.at(first, classes[:, -1], came)
        np.maximum.at(last, classes[:, -1], came)
        alike = bool((low <= first).all() and (last <= high).all())
        alike &= shown.values or (np.array_equal(first, low) and np.array_equal(last, high))
    return _said(promise, alike, "people are missing, or classes have other sizes or came with other releases")


def _failing(recounting: _Recounting, classes: Classes, older: int) -> int:
    """Count the people whom an older release and the newest one leave too little."""
    found = recounting.pair(older)
    before, now = classes[:, older].astype(np.int64), classes[:, -1].astype(np.int64)
    width = int(found.older.max(initial=0)) + 1
    keys, stays = found.newer * width + found.older, before >= 0
    wanted = now[stays] * width + before[stays]
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    bad = (recounting.breaks(found.both) | (found.both_rows == 0))[at] | (keys[at] != wanted)
    lacks = recounting.breaks(found.new) | (found.new_rows == 0)
    return int(bad.sum() + lacks[now[~stays]].sum())


CLASS, FAKES, VALUE, ROWS = " class", " counterfeits", " value", " rows"
"""Names of columns here, which no table has."""
WAY = "m-invariance"
SAME_WAY = "every release before it was made by m-invariance"
NUMBERED = "every row has the number of its class and of the counterfeits in it"
COUNTED = "each class has one number of counterfeits, and a row that is none"
ALIKE = "the rows of a class publish the same quasi-identifying values"


def m_of(models: Iterable[PrivacyModel]) -> int:
    """Return the m that models ask for: the largest k or l. 0 where there is none."""
    asked = [0]
    for model in models:
        if isinstance(model, KAnonymity):
            asked.append(model.k)
        elif isinstance(model, (DistinctLDiversity, ProbabilisticLDiversity)):
            asked.append(math.ceil(model.l))
    return max(asked)


def recount_invariant(earlier: Sequence[ReadRelease], newer: ReadRelease) -> tuple[Check, ...]:
    """Recount a release of a series that is m-invariant, from its folder.

    *Guarantee.* If all checks hold, every class has at least m rows with different sensitive values, counterfeits among
    them. That people kept the signature of their class cannot be recounted from folders, as nobody knows who is who: it
    is attested. Cost O(n log n).
    """
    m = m_of(model for entry in newer.description.models if (model := build_model(entry)) is not None)
    others = sum(each.place is None or each.place.way != WAY for each in earlier)
    same = _check(SAME_WAY, not others, f"{counted(others, 'release')} was not")
    classes = invariant_classes(newer.published)
    if classes is None:
        return same, Check(NUMBERED, Outcome.BROKEN, detail="the columns are missing, or are no whole numbers")
    unique = (classes[ROWS] == classes[VALUE].list.len()) & (classes[ROWS] >= max(m, 2))
    counts = (classes["fewest"] == classes["most"]) & (classes["fewest"] >= 0) & (classes["most"] < classes[ROWS])
    fakes, rows = int(classes["most"].sum()), int(classes[ROWS].sum())
    return (
        same,
        _of_classes(f"every class has at least {m:,} rows, all with different sensitive values", unique),
        _of_classes(ALIKE, classes["labels"] == 1),
        _of_classes(COUNTED, counts, f"{fakes:,} of {rows:,} rows, {percent(fakes / rows, 2)}, are counterfeits"),
    )


def _check(promise: str, holds: bool, detail: str) -> Check:
    return Check(promise, Outcome.HOLDS) if holds else Check(promise, Outcome.BROKEN, detail=detail)


def _of_classes(promise: str, holds: pl.Series, detail: str = "") -> Check:
    wrong = len(holds) - int(holds.fill_null(False).sum())
    if wrong:
        return Check(promise, Outcome.BROKEN, detail=f"not in {counted(wrong, 'class')} of {len(holds):,}")
    return Check(promise, Outcome.HOLDS, detail=detail)


def invariant_classes(published: PublishedTable) -> pl.DataFrame | None:
    """Return rows, sorted different values, counterfeits and labels by class; None where it numbers none."""
    if published.class_number is None or published.counterfeits is None or len(published.sensitive) != 1:
        return None
    numbers, fakes = (_whole(published.data[name]) for name in (published.class_number, published.counterfeits))
    if numbers.null_count() or fakes.null_count():
        return None
    texts = {name: text_of(published.data[name]) for name in published.quasi_identifying}
    frame = pl.DataFrame(
        {CLASS: numbers, FAKES: fakes, VALUE: text_of(published.data[published.sensitive[0]]), **texts}
    )
    return (
        frame.group_by(CLASS)
        .agg(
            pl.len().alias(ROWS),
            pl.col(VALUE).drop_nulls().unique().sort(),
            pl.col(FAKES).min().alias("fewest"),
            pl.col(FAKES).max().alias("most"),
            pl.struct(list(texts)).n_unique().alias("labels"),
        )
        .sort(CLASS)
    )


def _whole(column: pl.Series) -> pl.Series:
    """Return whole numbers, which a file may have as text; null for anything else."""
    return text_of(column).cast(pl.Int64, strict=False)


def attest_invariant(
    earlier: Sequence[ReadRelease], newer: ReadRelease, people: Sequence[PeopleOfRelease]
) -> tuple[Check, ...]:
    """Check that the ledger has just the people of every class, and that everybody kept the signature.

    `people` are everybody of every release up to this one. Cost O(n) for n rows of all releases together.
    """
    number = len(people)
    kept = f"everybody in release {number} who was in an earlier one is in a class of the same sensitive values"
    fits = f"the ledger has one person for every row of release {number} that is no counterfeit, in its class"
    found = [invariant_classes(each.published) for each in (*earlier, newer)]
    if any(each is None for each in found) or len(found) != number:
        return (Check(kept, Outcome.BROKEN, detail="a release does not number its classes"),)
    classes = [each for each in found if each is not None]
    before: dict[bytes, tuple[str, ...]] = {}
    for those, there in zip(people[:-1], classes[:-1], strict=True):
        before = {**_signatures(those, there), **before}
    now = _signatures(people[-1], classes[-1])
    changed = sum(tag in before and before[tag] != signature for tag, signature in now.items())
    return (
        _check(fits, _fits(people[-1], classes[-1]), "people are missing, there twice, or in other classes"),
        _check(kept, not changed, f"{counted(changed, 'person')} of {len(now):,} changed it"),
    )


def _signatures(people: PeopleOfRelease, classes: pl.DataFrame) -> dict[bytes, tuple[str, ...]]:
    by_class = {
        number: tuple(values) for number, values in zip(classes[CLASS].to_list(), classes[VALUE].to_list(), strict=True)
    }
    numbers = people.class_of.tolist()
    return {tag: by_class.get(number, ()) for tag, number in zip(people.tags.to_list(), numbers, strict=True)}


def _fits(people: PeopleOfRelease, classes: pl.DataFrame) -> bool:
    counts = pl.DataFrame({CLASS: pl.Series(people.class_of).cast(pl.Int64)}).group_by(CLASS).len().sort(CLASS)
    real = classes.select(CLASS, (pl.col(ROWS).cast(pl.Int64) - pl.col("most")).alias("len"))
    return people.tags.n_unique() == len(people.tags) and counts.cast(pl.Int64).equals(real)
