"""The recounts of *append* and of *withdrawal*: older rows stand, newcomers keep every promise, whole classes are gone.

Letters: n rows of the newer release, q columns.

Letters: n rows of the older release, q columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.models.protocol import Check, Outcome
from sfumato.numbers import counted
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import group_rows
from sfumato.published.checks.recount import recount
from sfumato.release.description import Description, described_models
from sfumato.series.description import WITHDRAWAL
from sfumato.series.people import PeopleOfRelease, known_among
from sfumato.series.reading import ReadRelease
from sfumato.table.distinct import as_categories

Rows = NDArray[np.int64]


def recount_append(earlier: Sequence[ReadRelease], newer: ReadRelease) -> tuple[Check, ...]:
    """Recount an appended release from its folder and that of the one before; see :mod:`sfumato.series.append_recount`.

    *Guarantee.* If all checks hold, then for whoever was in the older release nothing new is published; and who came
    with the newer one is in a class of newcomers that satisfies every model, whatever is known of the others. That
    nobody came twice is not in the folders: the steward attests it. Cost O(n · q + n log n).
    """
    if not earlier:
        return ()
    older = earlier[-1]
    kept = rows_kept(newer)
    if sorted(older.published.data.columns) != sorted(newer.published.data.columns):
        return (Check(kept, Outcome.BROKEN, detail="the releases have other columns"),)
    missing, fresh = new_rows(older.published.data, newer.published.data)
    if missing:
        detail = f"{counted(missing, 'row')} of {older.published.data.height:,} cannot be found again"
        return (Check(kept, Outcome.BROKEN, detail=detail),)
    if not len(fresh):
        nothing = Check("there are new rows", Outcome.BROKEN, detail="the release adds nothing to the one before")
        return (Check(kept, Outcome.HOLDS), nothing)
    newcomers = replace(newer.published, data=newer.published.data[fresh])
    return (Check(kept, Outcome.HOLDS), *newcomer_checks(newcomers, newer.description))


def rows_kept(newer: ReadRelease) -> str:
    """Say what an appended release promises of the rows of the one before."""
    return f"the rows of release {_number(newer) - 1} are there, unchanged"


def newcomer_checks(
    newcomers: PublishedTable, description: Description, people: NDArray[np.int32] | None = None
) -> tuple[Check, ...]:
    """Recount every promise of a release among the rows of newcomers alone.

    `people`, int32 (n,), tells apart the people of each class, where they may have several records and who is who is
    known. Where it is not, such promises are attested.
    """
    whom = description.attested if people is None else people
    found = recount(newcomers, described_models(description), description.attributes(), whom)
    where = f"among the {counted(newcomers.data.height, 'new row')}"
    return tuple(replace(check, promise=f"{check.promise} {where}") for check in found.checks)


def _number(release: ReadRelease) -> int:
    return release.place.number if release.place else 0


def new_rows(older: pl.DataFrame, newer: pl.DataFrame) -> tuple[int, Rows]:
    """Take the rows of one table out of another, equal ones as often as they occur.

    `older`, `newer`: tables with the same columns, in any order, of published values. Returns: `missing`: Rows of the
    older table that the newer one does not have; `fresh`: int64, rising: the rows of the newer table that are left. Of
    equal rows the first ones are taken out. Cost O(n · q + n log n).
    """
    both = [_one_below_the_other(older[name], newer[name]) for name in newer.columns]
    group_of, count = group_rows(both)
    before, after = group_of[: older.height], group_of[older.height :]
    occurs, stays = np.bincount(before, minlength=count), np.bincount(after, minlength=count)
    missing = int(np.maximum(occurs - stays, 0).sum())
    fresh = occurs[after] == 0
    # Only of rows that stand in both, and more often in the newer table, some are new and some are not.
    mixed = np.flatnonzero(((occurs > 0) & (stays > occurs))[after])
    fresh[mixed] = _repetition(after[mixed]) >= occurs[after[mixed]]
    return missing, np.flatnonzero(fresh)


def _one_below_the_other(older: pl.Series, newer: pl.Series) -> pl.Series:
    """Put two columns together as categories that are equal where their texts are."""
    categories = isinstance(older.dtype, pl.Categorical) and isinstance(newer.dtype, pl.Categorical)
    if categories:
        return pl.concat([older, newer.cast(older.dtype)])
    return as_categories([pl.concat([older.cast(pl.String), newer.cast(pl.String)])])[0]


def _repetition(groups: NDArray[np.int32]) -> Rows:
    """Return for each row how many rows of its group stand before it; int64 (n,)."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    firsts = np.flatnonzero(np.diff(ordered, prepend=-1))
    place = np.empty(len(groups), dtype=np.int64)
    place[order] = np.arange(len(groups)) - np.repeat(firsts, np.diff(np.append(firsts, len(groups))))
    return place


def appended_labels(published: PublishedTable) -> list[pl.Series]:
    """Return the quasi-identifying columns as categories or an Enum."""
    columns = [published.data[name] for name in published.quasi_identifying]
    return [
        column
        if isinstance(column.dtype, (pl.Categorical, pl.Enum))
        else as_categories([column.cast(pl.String)])[0].alias(column.name)
        for column in columns
    ]


def numbered_classes(published: PublishedTable) -> NDArray[np.int64]:
    """Return the class of each published row, int64 (n,), numbered from 0 in the order of labels. Cost O(n · q)."""
    names = list(published.quasi_identifying)
    columns = appended_labels(published)
    numbers, count = group_rows(columns)
    firsts = np.zeros(count, dtype=np.int64)
    firsts[numbers[::-1]] = np.arange(len(numbers))[::-1]
    texts = pl.DataFrame([column[firsts].cast(pl.String) for column in columns])
    order = texts.select(pl.arg_sort_by(names, nulls_last=False)).to_series().to_numpy()
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    return rank[numbers]


def order_of_content(rows: pl.DataFrame) -> Rows:
    """Return the places of rows in the order of what they hold, int64 (n,); equal ones may stand either way."""
    return rows.select(pl.arg_sort_by(sorted(rows.columns))).to_series().to_numpy().astype(np.int64)


def attest_append(
    earlier: Sequence[ReadRelease], newer: ReadRelease, people: Sequence[PeopleOfRelease]
) -> tuple[Check, ...]:
    """Check that the ledger has a person for every new row, in its class, and nobody who was there before.

    Where people have several records every promise is recounted among the new rows, by people.
    """
    *before, came = people
    if newer.description.people is None:
        known: tuple[Check, ...] = (_in_their_classes(earlier, newer, came),)
    else:
        known = tuple(_recounted_people(earlier, newer, came))
    if not before:
        return known
    again = known_among(came.tags, [each.tags for each in before])
    promise = f"nobody who came with release {_number(newer)} is in an earlier one"
    alone = Check(promise, Outcome.BROKEN, detail=counted(again, "person")) if again else Check(promise, Outcome.HOLDS)
    return alone, *known


def _recounted_people(earlier: Sequence[ReadRelease], newer: ReadRelease, came: PeopleOfRelease) -> Iterator[Check]:
    """Hold the pseudonyms of a ledger against the new rows and its people, and recount what people are promised."""
    promise = f"the ledger says which of the rows that came with release {_number(newer)} are of one person"
    fresh = np.arange(newer.published.data.height)
    if earlier:
        _, fresh = new_rows(earlier[-1].written, newer.written)
    if came.pseudonyms is None or len(came.pseudonyms) != len(fresh):
        rows = counted(0 if came.pseudonyms is None else len(came.pseudonyms), "row")
        yield Check(promise, Outcome.BROKEN, detail=f"it knows {rows}, the release {counted(len(fresh), 'new row')}")
        return
    numbers = np.empty(len(fresh), dtype=np.int32)
    numbers[order_of_content(newer.written[fresh])] = came.pseudonyms
    newcomers = replace(newer.published, data=newer.published.data[fresh])
    pairs = np.unique(np.column_stack([numbered_classes(newcomers), numbers]), axis=0)
    same = np.array_equal(np.bincount(pairs[:, 0]), np.bincount(came.class_of))
    yield (
        Check(promise, Outcome.HOLDS)
        if same
        else Check(promise, Outcome.BROKEN, detail="it has other numbers of people in their classes")
    )
    for check in newcomer_checks(newcomers, newer.description, numbers):
        yield replace(check, promise=f"{check.promise} of release {_number(newer)}, counted in people")


def _in_their_classes(earlier: Sequence[ReadRelease], newer: ReadRelease, came: PeopleOfRelease) -> Check:
    promise = f"the ledger has one person for every row that came with release {_number(newer)}, in its class"
    fresh = np.arange(newer.published.data.height)
    if earlier:
        _, fresh = new_rows(earlier[-1].published.data, newer.published.data)
    sizes = np.bincount(numbered_classes(replace(newer.published, data=newer.published.data[fresh])))
    said = np.bincount(came.class_of)
    if len(sizes) == len(said) and bool((sizes == said).all()):
        return Check(promise, Outcome.HOLDS)
    detail = f"it has {counted(len(came.tags), 'person')} in {counted(len(said), 'class')}"
    there = f"the release {counted(len(fresh), 'new row')} in {counted(len(sizes), 'class')}"
    return Check(promise, Outcome.BROKEN, detail=f"{detail}, {there}, or classes of other sizes")


LEFT = "whoever is in a class that is gone has left, and nobody else"


def recount_withdrawal(earlier: Sequence[ReadRelease], newer: ReadRelease) -> tuple[Check, ...]:
    """Recount a withdrawal from its folder and that of the release before; see :mod:`sfumato.series.append_recount`.

    *Guarantee.* If all checks hold, the release can be computed from the one before and from which labels are gone. So
    it adds nothing about anybody but this: somebody of these classes withdrew. Whoever did is hidden in the class as
    before, and so are all others of it. Cost O(n · q + n log n).
    """
    if not earlier:
        return (Check("a release stands before it", Outcome.BROKEN, detail="it is the first one"),)
    older, number = earlier[-1].published, earlier[-1].place.number if earlier[-1].place else 0
    kept = f"every row is one of release {number}"
    if sorted(older.data.columns) != sorted(newer.published.data.columns):
        return (Check(kept, Outcome.BROKEN, detail="the releases have other columns"),)
    strange, gone = new_rows(newer.published.data.select(older.data.columns), older.data)
    there = pl.DataFrame(appended_labels(newer.published)).cast(pl.String)
    away = pl.DataFrame(appended_labels(older)).cast(pl.String)[gone]
    cut = away.unique().join(there.unique(), on=away.columns, how="inner", nulls_equal=True).height
    return (
        _said(kept, not strange, f"{counted(strange, 'row')} cannot be found there"),
        _said("some class is gone", bool(len(gone)), "the release is the one before"),
        _said(
            "classes are gone as a whole, with every row that publishes the same",
            not cut,
            f"{counted(cut, 'class')} is there in part",
        ),
    )


def attest_withdrawal(
    earlier: Sequence[ReadRelease], newer: ReadRelease, people: Sequence[PeopleOfRelease]
) -> tuple[Check, ...]:
    """Check that just those have left, by the ledger, who are in the classes that are gone."""
    published = earlier[-1].published
    _, gone = new_rows(newer.published.data.select(published.data.columns), published.data)
    labels = pl.DataFrame(appended_labels(published)).cast(pl.String)[gone].unique()
    members = members_of(labels, earlier, people[:-1])
    return (_said(LEFT, set(members.to_list()) == set(people[-1].tags.to_list()), "the ledger names other people"),)


def _said(promise: str, holds: bool, detail: str) -> Check:
    return Check(promise, Outcome.HOLDS) if holds else Check(promise, Outcome.BROKEN, detail=detail)


class _Arrivals(NamedTuple):
    """Who came with a release, and the labels of their classes, which are numbered in their order."""

    people: PeopleOfRelease
    labels: pl.DataFrame

    def labels_of_people(self) -> pl.DataFrame:
        return self.labels[self.people.class_of.astype(np.int64)]


def _arrivals(releases: Sequence[ReadRelease], people: Sequence[PeopleOfRelease]) -> Iterator[_Arrivals]:
    """Yield who came with each release but withdrawals."""
    before: ReadRelease | None = None
    for release, came in zip(releases, people, strict=True):
        if release.place is not None and release.place.way != WITHDRAWAL:
            fresh = np.arange(release.published.data.height)
            if before is not None:
                _, fresh = new_rows(
                    before.published.data.select(release.published.data.columns), release.published.data
                )
            yield _Arrivals(came, _labels_of_classes(release, fresh))
        before = release


def _labels_of_classes(release: ReadRelease, fresh: NDArray[np.int64]) -> pl.DataFrame:
    batch = replace(release.published, data=release.published.data[fresh])
    class_of = numbered_classes(batch)
    firsts = np.zeros(int(class_of.max(initial=-1)) + 1, dtype=np.int64)
    firsts[class_of[::-1]] = np.arange(len(class_of))[::-1]
    return pl.DataFrame(appended_labels(batch)).cast(pl.String)[firsts]


def gone_before(releases: Sequence[ReadRelease], people: Sequence[PeopleOfRelease]) -> pl.Series:
    """Return the tags of everybody who has left already."""
    left = [
        came.tags
        for release, came in zip(releases, people, strict=True)
        if release.place is not None and release.place.way == WITHDRAWAL
    ]
    return pl.concat(left) if left else pl.Series("tag", [], dtype=pl.Binary)


def labels_of_tags(tags: pl.Series, releases: Sequence[ReadRelease], people: Sequence[PeopleOfRelease]) -> pl.DataFrame:
    """Return the labels of the classes in which some people are; one row each."""
    found = [
        each.labels_of_people().filter(each.people.tags.is_in(tags.implode())) for each in _arrivals(releases, people)
    ]
    return pl.concat(found).unique()


def members_of(labels: pl.DataFrame, releases: Sequence[ReadRelease], people: Sequence[PeopleOfRelease]) -> pl.Series:
    """Return the tags of everybody who is, in the last of some releases, in a class of certain labels."""
    found = []
    for each in _arrivals(releases, people):
        shown = each.labels_of_people().with_columns(each.people.tags.alias(" tag"))
        found.append(shown.join(labels, on=labels.columns, how="semi", nulls_equal=True)[" tag"])
    tags = pl.concat(found)
    return tags.filter(~tags.is_in(gone_before(releases, people).implode()))
