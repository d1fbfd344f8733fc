"""Record order: the order of a release discloses the order of the original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.evaluation.attacks.linkage import RECORDS
from sfumato.evaluation.attacks.people import KEY, key_of
from sfumato.evaluation.attacks.placement import (
    coverage_of,
    distinct_codes,
    read_publication,
    read_register,
    register_attributes,
    sum_by_code,
)
from sfumato.evaluation.attacks.posterior import sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Counted, Target
from sfumato.kernels.linking import covering_classes, fitting_pairs
from sfumato.published import SlicedTable
from sfumato.published.apart import BUCKET, labels_of
from sfumato.rates import Rate
from sfumato.recoding.choice import Recoding
from sfumato.table.header import columns_of, exactly
from sfumato.table.schema import text_of
from sfumato.table.table import Table

_KNOWS = "the order of the records in the original, and everybody's quasi-identifying values"
_HELPS = "a random order of records, drawn for the release as a whole"


@dataclass(frozen=True)
class RecordOrder:
    """The attack of somebody who knows in which order the original was written, such as by day of admission.

    References
    ----------
    Named as a side door in most guides to statistical disclosure control; the two tests are additions here.

    Notes
    -----
    *Pairs.* Each published record gets the mean position in the original of the people whom it fits and who have its
    other values. Records from both halves of the release are paired in order, and a pair is right if the earlier record
    comes before the later one; in a random order half of the pairs are. If the original is sorted by values that are
    published, and the release is too, this succeeds without disclosing anything new.

    *Places.* In each class of records with equal quasi-identifying values, the people whom it alone fits are paired
    with its records in the order of both. A guess is right if the record has the person's sensitive value. In a random
    order that happens as often as the class's values make it. Classes that do not hold as many people as records are
    left out.

    *Counted* are records, each taken for a person, where people have several: rows are what has an order.

    *Sliced*: rows are read as records; a guess is right if the row with the person's values in all other columns has
    their sensitive value as well.

    Cost O(n · q) and sorting.
    """

    name: ClassVar[str] = "record-order"
    kinds: ClassVar[frozenset[str]] = frozenset({*RECORDS, "sliced-table"})
    counts: ClassVar[Counted] = "records"
    needs: ClassVar[tuple[str, ...]] = ()
    reads_order: ClassVar[bool] = True

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it on everybody in the data."""
        if isinstance(target.published, SlicedTable):
            return tuple(_rows_of_slices(target, target.published, name) for name in sensitive_of(target.published))
        frame = RECORDS[target.published.kind](target.published)
        classes = _row_classes(frame, target.original, target.recoding)
        sensitive = [name for name in sensitive_of(target.published) if name in frame.columns]
        return (
            _pairs(target, frame, classes, sensitive),
            *(_places(target, frame, classes, name) for name in sensitive),
        )


def _result(goal: str, success: Rate, **figures: float) -> AttackResult:
    common: dict[str, Any] = {"attack": RecordOrder.name, "knows": _KNOWS, "helps": _HELPS}
    return AttackResult(goal=goal, success=success, figures=figures, **common)


def _pairs(target: Target, frame: pl.DataFrame, classes: _RowClasses, sensitive: list[str]) -> AttackResult:
    """Compare the order of pairs of published records with that of the people whom they may be."""
    position = _mean_positions(target, frame, classes, sensitive)
    known = np.flatnonzero(np.isfinite(position))
    half = len(known) // 2
    apart = position[known[half : 2 * half]] - position[known[:half]]
    right = float((apart > 0).sum() + (apart == 0).sum() / 2)
    return _result(
        "whose records stand in the order of the original, of two at a time", Rate(right, half, 0.5), pairs=float(half)
    )


def _mean_positions(
    target: Target, frame: pl.DataFrame, classes: _RowClasses, sensitive: list[str]
) -> NDArray[np.float64]:
    """Return the mean place in the original of the people whom each published record may be; NaN if nobody is."""
    keys = [key_of(frame, sensitive), key_of(target.original.frame, sensitive)]
    numbers = pl.concat(keys).rank("dense").to_numpy().astype(np.int64)
    rows, people = numbers[: frame.height], numbers[frame.height :]
    fitted = np.flatnonzero(classes.class_of_person >= 0)
    width = int(numbers.max()) + 1
    cells = classes.class_of_person[fitted] * width + people[fitted]
    size = classes.count * width
    total, many = sum_by_code(cells, fitted.astype(np.float64), size), sum_by_code(cells, np.ones(len(fitted)), size)
    here = classes.class_of_row * width + rows
    positions: NDArray[np.float64] = np.where(many[here] > 0, total[here] / np.maximum(many[here], 1), np.nan)
    return positions


def _places(target: Target, frame: pl.DataFrame, classes: _RowClasses, name: str) -> AttackResult:
    """Pair people with the records of their class in the order of both."""
    numbers = pl.concat([text_of(frame[name]), text_of(target.original.frame[name])]).rank("dense").fill_null(0)
    values = numbers.to_numpy().astype(np.int64)
    rows, people = values[: frame.height], values[frame.height :]
    held = np.bincount(classes.class_of_row, minlength=classes.count)
    fitted = np.bincount(classes.class_of_person[classes.class_of_person >= 0], minlength=classes.count)
    whole = (held == fitted) & (held > 1)
    rows_at = _by_class(classes.class_of_row, whole)
    people_at = _by_class(classes.class_of_person, whole)
    right = rows[rows_at] == people[people_at]
    return _result(
        f"whose {name} stands at their place in their class",
        Rate(
            float(right.sum()), len(right), _by_chance(classes.class_of_row[rows_at], rows[rows_at], people[people_at])
        ),
    )


def _by_class(class_of: NDArray[np.int64], whole: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the members of whole classes, class after class, each in its original order."""
    chosen = np.flatnonzero((class_of >= 0) & whole[class_of])
    return chosen[np.argsort(class_of[chosen], kind="stable")]


def _by_chance(class_of: NDArray[np.int64], rows: NDArray[np.int64], people: NDArray[np.int64]) -> float:
    """Return how often a random order in each class would pair somebody with their value."""
    if not len(rows):
        return 0.0
    width = int(max(rows.max(), people.max())) + 1
    size = (int(class_of.max()) + 1) * width
    held, wanted = (np.bincount(class_of * width + values, minlength=size) for values in (rows, people))
    sizes = np.bincount(class_of)
    per_class = (held * wanted).reshape(-1, width).sum(axis=1) / np.maximum(sizes, 1)
    return float(per_class.sum() / len(rows))


def _rows_of_slices(target: Target, published: SlicedTable, name: str) -> AttackResult:
    """Read the rows of a sliced table as records, as if columns had not been permuted."""
    quasi = target.original.schema.quasi_identifying
    found: dict[str, str] = {}
    for column, labels in zip(published.columns, labels_of(published.columns), strict=True):
        if name in column:
            found.setdefault(name, labels[column.index(name)])
            continue
        for attribute, label in zip(column, labels, strict=True):
            if attribute in quasi:
                found.setdefault(attribute, label)
    names = [attribute for attribute in found if attribute != name]
    if not names:
        raise InputError(
            "record-order: all known attributes share the column of the sensitive one; play another attack"
        )
    original = target.original.frame
    table = pl.DataFrame(
        [published.data[BUCKET], *(text_of(published.data[label]).alias(one) for one, label in found.items())]
    )
    people = pl.DataFrame([text_of(original[one]) for one in (*names, name)]).with_row_index("person")
    joined = people.join(table, on=exactly(*names), how="inner", nulls_equal=True, suffix=" told")
    right = joined.with_columns(right=exactly(name).eq_missing(exactly(f"{name} told")))
    shares = right.group_by("person").agg(pl.col("right").mean())["right"]
    in_bucket = table.group_by(exactly(BUCKET, name)).len("held").join(table.group_by(BUCKET).len("all"), on=BUCKET)
    chance = (
        joined.join(in_bucket, on=exactly(BUCKET, name), how="left", nulls_equal=True)
        .with_columns(chance=(pl.col("held") / pl.col("all")).fill_null(0.0))
        .group_by("person")
        .agg(pl.col("chance").mean())["chance"]
    )
    baseline = float(np.mean(chance.to_numpy())) if len(chance) else 0.0
    success = Rate(float(shares.sum()), len(shares), baseline)
    return _result(f"whose {name} stands in the row of their other values", success)


@dataclass(frozen=True, eq=False, repr=False)
class _RowClasses:
    """Classes of n published rows with equal values, and of m people.

    `class_of_row`: int64 (n,). `class_of_person`: int64 (m,): the only class that fits each person; −1 if none does, or
    several.
    """

    class_of_row: NDArray[np.int64]
    class_of_person: NDArray[np.int64]
    count: int


def _row_classes(frame: pl.DataFrame, people: Table, recoding: Recoding) -> _RowClasses:
    """Group published rows, and find the class of each person.

    Raises InputError when release and people share no quasi-identifying attribute.
    """
    names = register_attributes(frame, people.frame, people.schema)
    if not names:
        raise InputError("the release and the people share no quasi-identifying attribute, so nothing links them")
    known = read_register(people.frame, people.schema, names)
    alone = columns_of(frame, names).with_columns(pl.lit("").alias(KEY))
    publication = read_publication(alone, KEY, known, recoding)
    vectors, vector_of = distinct_codes(known)
    coverage = coverage_of(publication, known)
    person_of, class_of = fitting_pairs(vectors, coverage, covering_classes(coverage))
    found = np.full(len(vectors), -1, dtype=np.int64)
    found[person_of] = class_of
    found[np.bincount(person_of, minlength=len(vectors)) != 1] = -1
    return _RowClasses(publication.class_of.astype(np.int64), found[vector_of], len(publication.sizes))
