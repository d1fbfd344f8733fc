"""The recount of *m-invariance*: classes are m-unique, by the folder; people keep their signatures, by the ledger.

Letters: n rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import polars as pl

from sfumato.models.checks import Check, Outcome
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import DistinctLDiversity, ProbabilisticLDiversity
from sfumato.models.protocol import PrivacyModel
from sfumato.numbers import counted, percent
from sfumato.published import PublishedTable
from sfumato.release.description import build_model
from sfumato.series.people import PeopleOfRelease
from sfumato.series.reading import ReadRelease
from sfumato.table.schema import text_of

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
    """Return a row for each class by its number: rows, the sorted different values, counterfeits, different labels.

    None where the release does not number its classes.
    """
    if published.class_number is None or published.counterfeits is None or len(published.sensitive) != 1:
        return None
    numbers, fakes = (_whole(published.data[name]) for name in (published.class_number, published.counterfeits))
    if numbers.null_count() or fakes.null_count():
        return None
    texts = {name: text_of(published.data[name]) for name in published.quasi_identifying}
    frame = pl.DataFrame(
        {
            CLASS: numbers,
            FAKES: fakes,
            VALUE: text_of(published.data[published.sensitive[0]]),
            **texts,
        }
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
