"""A naive Bayes classifier trained on a release of any kind.

All it needs is, for each quasi-identifying attribute, the expected number of published records with a value of it and a
sensitive value. A generalized record counts in parts for all values that its label covers; in a bucket, values in
different columns are paired with each other alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.answers import Answers
from sfumato.evaluation.attacks.cohort import nothing_shared
from sfumato.evaluation.attacks.pieces import Piece, pieces_of, together
from sfumato.evaluation.attacks.spread import LabelSpread, TableCells, read_cells, shared_names
from sfumato.published import Published, PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table

BINS = 32
"""Equally filled ranges in which an attribute of many numbers is counted."""


@dataclass(frozen=True, eq=False, repr=False)
class NaiveBayes:
    """The trained classifier, and the people to judge.

    Letters: m people, q attributes, a answers, d values or ranges of an attribute.

    Attributes
    ----------
    answers : Answers
    prior : numpy.ndarray
        float64 (a,): records that have each answer.
    counts : tuple of numpy.ndarray
        float64 (d, a) for each attribute: expected records with value and answer.
    codes : tuple of numpy.ndarray
        int64 (m,) for each attribute: value of each person, −1 where nothing is known of it.
    """

    answers: Answers
    prior: NDArray[np.float64]
    counts: tuple[NDArray[np.float64], ...]
    codes: tuple[NDArray[np.int64], ...]

    def shares(self, rows: NDArray[np.integer] | slice) -> NDArray[np.float64]:
        """Return how likely each answer is for some people: float64 (people, a), sums of 1.

        Each chance of a value, given the answer, is drawn towards the value's share of all records, with the weight of
        one record.
        """
        smoothed = self.prior + 1 / max(1, len(self.prior))
        logs = np.tile(np.log(smoothed / smoothed.sum()), (len(self.codes[0][rows]), 1))
        for counts, codes in zip(self.counts, self.codes, strict=True):
            told = _log_chances(counts, self.prior)
            logs += np.vstack([told, np.zeros(told.shape[1])])[codes[rows]]
        logs -= logs.max(axis=1, keepdims=True)
        shares = np.exp(logs)
        result: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
        return result


def naive_bayes(published: Published, people: Table, sensitive: str, *, recoding: Recoding, ranges: int) -> NaiveBayes:
    """Train on a release and read the people to judge.

    Parameters
    ----------
    published
        A release of any kind with that sensitive attribute.
    people
        Only their quasi-identifying values are read.
    sensitive
        The attribute to predict.
    recoding
        How a generalized table was published.
    ranges
        If there are more distinct numbers than this, they are predicted in as many ranges.

    Raises
    ------
    InputError
        When the release and the people share no quasi-identifying attribute.

    Notes
    -----
    Cost O((n + codes · a) · q) for n published records.
    """
    numeric = people.frame.schema[sensitive].is_numeric()
    if isinstance(published, PublishedTable):
        return _of_labels(published, people, sensitive, recoding, numeric, ranges)
    return _of_pieces(pieces_of(published), people, sensitive, numeric, ranges)


def _of_labels(
    published: PublishedTable, people: Table, sensitive: str, recoding: Recoding, numeric: bool, ranges: int
) -> NaiveBayes:
    names = shared_names(published, people, sensitive=False)
    if not names:
        raise nothing_shared()
    cells = read_cells(published, people, names, recoding, tallied=sensitive)
    column = published.data[sensitive]
    answers = Answers.of(column, np.ones(len(column)), numeric=numeric, ranges=ranges)
    learnt = [
        _binned(_by_answer(cells, spread, answers), spread.mass, each.codes.astype(np.int64), each.attribute.is_numeric)
        for spread, each in zip(cells.spreads, cells.known, strict=True)
    ]
    prior = added(
        answers.codes_of_texts(cells.publication.values), cells.publication.totals.astype(np.float64), answers.size
    )
    return NaiveBayes(answers, prior, tuple(counts for counts, _ in learnt), tuple(codes for _, codes in learnt))


def _by_answer(cells: TableCells, spread: LabelSpread, answers: Answers) -> NDArray[np.float64]:
    """Spread the records of each answer over the codes of one attribute: float64 (d, a)."""
    publication = cells.publication
    class_of = np.repeat(np.arange(len(publication.sizes)), np.diff(publication.starts))
    label, labels = spread.label_of[class_of], len(spread.cover)
    answer_of = answers.codes_of_texts(publication.values)[publication.value_of]
    held = added(label * answers.size + answer_of, publication.counts, labels * answers.size)
    per_label = held.reshape(labels, answers.size)
    return np.column_stack([spread.over_codes(per_label[:, answer]) for answer in range(answers.size)])


def _of_pieces(pieces: tuple[Piece, ...], people: Table, sensitive: str, numeric: bool, ranges: int) -> NaiveBayes:
    holding = next(piece for piece in pieces if sensitive in piece.label_of)
    column = holding.frame[holding.label_of[sensitive]]
    answers = Answers.of(column, holding.records, numeric=numeric, ranges=ranges)
    counts, codes = [], []
    for name in people.schema.quasi_identifying:
        with_both = [piece for piece in pieces if {name, sensitive} <= piece.label_of.keys()]
        with_it = [piece for piece in pieces if name in piece.label_of]
        if name not in people.frame.columns or not with_it:
            continue
        piece = with_both[0] if with_both else with_it[0]
        rows, held = together(piece.frame[piece.label_of[name]], people.frame[name])
        size = int(max(rows.max(initial=0), held.max(initial=0))) + 1
        if with_both:
            answer = answers.codes(piece.frame[piece.label_of[sensitive]])
            table = _crossed(rows, answer, piece.records, size, answers.size)
        else:
            answer = answers.codes(column)
            table = _paired(piece, rows, size, holding, answer, answers.size)
        told = _binned(table, table.sum(axis=1), held, people.frame.schema[name].is_numeric())
        counts.append(told[0])
        codes.append(told[1])
    if not counts:
        raise nothing_shared()
    prior = added(answers.codes(column), holding.records, answers.size)
    return NaiveBayes(answers, prior, tuple(counts), tuple(codes))


def _crossed(
    rows: NDArray[np.int64], answer: NDArray[np.int64], records: NDArray[np.float64], size: int, answers: int
) -> NDArray[np.float64]:
    return added(rows * answers + answer, records, size * answers).reshape(size, answers)


def _paired(
    piece: Piece, rows: NDArray[np.int64], size: int, holding: Piece, answer: NDArray[np.int64], answers: int
) -> NDArray[np.float64]:
    """Pair every value in a bucket with every answer in it: float64 (size, answers)."""
    left = _in_buckets(piece.bucket, rows, piece.records)
    right = _in_buckets(holding.bucket, answer, holding.records)
    in_bucket = pl.DataFrame({"bucket": holding.bucket, "n": holding.records}).group_by("bucket").agg(pl.sum("n"))
    pairs = (
        left.join(right, on="bucket", suffix="_answer")
        .join(in_bucket, on="bucket")
        .group_by("code", "code_answer")
        .agg((pl.col("records") * pl.col("records_answer") / pl.col("n")).sum().alias("expected"))
    )
    table = np.zeros((size, answers))
    # Sums in another order differ in the last digits, which must not decide between answers.
    table[pairs["code"].to_numpy(), pairs["code_answer"].to_numpy()] = pairs["expected"].to_numpy().round(10)
    return table


def _in_buckets(bucket: NDArray[np.int64], code: NDArray[np.int64], records: NDArray[np.float64]) -> pl.DataFrame:
    frame = pl.DataFrame({"bucket": bucket, "code": code, "records": records})
    return frame.group_by("bucket", "code").agg(pl.sum("records"))


def _binned(
    counts: NDArray[np.float64], mass: NDArray[np.float64], codes: NDArray[np.int64], ordered: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Add up the counts of the values in each range, and read the people's codes as ranges."""
    bin_of = bins_of(mass, ordered=ordered)
    binned = np.zeros((int(bin_of.max()) + 1, counts.shape[1]))
    np.add.at(binned, bin_of, counts)
    return binned, np.append(bin_of, -1)[codes]


def bins_of(mass: NDArray[np.float64], *, ordered: bool) -> NDArray[np.int64]:
    """Return the range of each value: `BINS` equally filled ones for many rising values, else one for each value.

    Parameters
    ----------
    mass
        float64 (d,): records with each value, at least one above 0.
    ordered
        Whether the values rise.
    """
    if not ordered or len(mass) <= BINS:
        return np.arange(len(mass))
    middle = np.cumsum(mass) - mass / 2
    bin_of: NDArray[np.int64] = np.minimum(BINS * middle / mass.sum(), BINS - 1).astype(np.int64)
    return bin_of


def _log_chances(counts: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the chance of each value given each answer: float64 (d, a)."""
    held = counts.sum(axis=1)
    overall = (held + 1) / (held.sum() + len(held))
    chances: NDArray[np.float64] = np.log((counts + overall[:, None]) / (counts.sum(axis=0) + 1)[None, :])
    return chances
