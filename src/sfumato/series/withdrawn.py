"""The recount of a withdrawal: nothing is there that was not there before, and whole classes are gone.

Letters: n rows of the older release, q columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.models.checks import Check, Outcome
from sfumato.numbers import counted
from sfumato.series.appended import appended_labels, new_rows, numbered_classes
from sfumato.series.people import PeopleOfRelease
from sfumato.series.reading import ReadRelease
from sfumato.series.ways import WITHDRAWAL

LEFT = "whoever is in a class that is gone has left, and nobody else"


def recount_withdrawal(earlier: Sequence[ReadRelease], newer: ReadRelease) -> tuple[Check, ...]:
    """Recount a withdrawal from its folder and that of the release before; see :mod:`sfumato.series.withdrawn`.

    Notes
    -----
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
