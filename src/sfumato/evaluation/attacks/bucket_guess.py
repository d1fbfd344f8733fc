"""Guessing sensitive values from buckets: which buckets may be a person's, and which of their values is likeliest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.answers import Answers
from sfumato.evaluation.attacks.bucket_links import BucketStock, RowChances, learn_links
from sfumato.evaluation.attacks.cohort import nothing_shared
from sfumato.evaluation.attacks.naive_bayes import NaiveBayes, bins_of
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.pieces import Piece, alike, together
from sfumato.kernels.grouping import first_records
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class KnownColumn:
    """Known attributes whose values share rows.

    Letters: n rows, m people.

    Attributes
    ----------
    bucket : numpy.ndarray
        int64 (n,).
    vector, held : numpy.ndarray
        int64 (n,) and (m,): values of all its attributes, equal ones numbered alike.
    codes, told : tuple of numpy.ndarray
        int64 (n,) and (m,) for each attribute: values or ranges of them, numbered from 0.
    sizes : tuple of int
        Numbers of these.
    answer : numpy.ndarray or None
        int64 (n,): the answer of each row, if the sensitive attribute is in this column.
    """

    bucket: NDArray[np.int64]
    vector: NDArray[np.int64]
    held: NDArray[np.int64]
    codes: tuple[NDArray[np.int64], ...]
    told: tuple[NDArray[np.int64], ...]
    sizes: tuple[int, ...]
    answer: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False, repr=False)
class BucketReading:
    """A bucketized or sliced release, read against people.

    Attributes
    ----------
    answers : Answers
    stock : Stock
        Answers that each bucket has.
    columns : tuple of Column
    """

    answers: Answers
    stock: BucketStock
    columns: tuple[KnownColumn, ...]


def read_buckets(pieces: Sequence[Piece], people: Table, sensitive: str, *, ranges: int) -> BucketReading:
    """Read the pieces of a release with buckets.

    Raises
    ------
    InputError
        When release and people share no quasi-identifying attribute.
    """
    numeric = people.frame.schema[sensitive].is_numeric()
    holding = next(piece for piece in pieces if sensitive in piece.label_of)
    told = holding.frame[holding.label_of[sensitive]]
    answers = Answers.of(told, holding.records, numeric=numeric, ranges=ranges)
    buckets = 1 + max(int(piece.bucket.max()) for piece in pieces)
    stock = BucketStock.of(holding.bucket, answers.codes(told), holding.records, buckets, answers.size)
    known = [name for name in people.schema.quasi_identifying if name in people.frame.columns]
    columns = []
    for piece in pieces:
        if names := tuple(name for name in known if name in piece.label_of):
            values = piece.frame[piece.label_of[sensitive]] if sensitive in piece.label_of else None
            columns.append(_column(piece, people.frame, names, None if values is None else answers.codes(values)))
    if not columns:
        raise nothing_shared()
    return BucketReading(answers, stock, tuple(columns))


def _column(
    piece: Piece, people: pl.DataFrame, names: tuple[str, ...], answer: NDArray[np.int64] | None
) -> KnownColumn:
    codes, told, sizes = [], [], []
    for name in names:
        rows, held = together(piece.frame[piece.label_of[name]], people[name])
        size = int(max(rows.max(), held.max())) + 1
        bin_of = bins_of(added(rows, piece.records, size), ordered=people.schema[name].is_numeric())
        codes.append(bin_of[rows])
        told.append(bin_of[held])
        sizes.append(int(bin_of.max()) + 1)
    vector, held = alike(piece, people, names)
    return KnownColumn(piece.bucket, vector, held, tuple(codes), tuple(told), tuple(sizes), answer)


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """Guesses about the first people.

    Attributes
    ----------
    model : NaiveBayes
        What was learnt, for people in no bucket.
    learnt, worlds : polars.DataFrame
        ``person``, ``value``, ``chance``, ``belief``: the likeliest answers of each person, by the learnt links and by
        the buckets alone (random worlds); equally likely ones share the chance. The belief, by the learnt links, is the
        chance that any of the person's known records has the value.
    """

    model: NaiveBayes
    learnt: pl.DataFrame
    worlds: pl.DataFrame

    def right(self, guesses: pl.DataFrame, person: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the chance that each person's guess is right: any of their values is `truth`."""
        asked = pl.DataFrame({"person": person, "value": truth}).unique()
        found = asked.join(guesses, on=["person", "value"])
        people = int(person.max(initial=-1)) + 1
        return added(found["person"].to_numpy(), found["chance"].to_numpy(), people)

    def belief(self, people: int) -> NDArray[np.float64]:
        """Return how sure the attacker is of each person's learnt guess; 0 where no bucket fits."""
        found = np.zeros(people)
        found[self.learnt["person"].to_numpy()] = self.learnt["belief"].to_numpy()
        return found


def guess(
    buckets: BucketReading, told: NDArray[np.int64], person: NDArray[np.int64], *, rounds: int, exact: int
) -> Guesses:
    """Learn the links of each column and guess the values of people.

    Parameters
    ----------
    buckets
        The release, read against records of people.
    told
        int64 (r,): places of the records that are known.
    person
        int64 (r,): whose they are.
    rounds, exact
        As for :func:`sfumato.evaluation.attacks.bucket_links.learn_links`.
    """
    stock, columns = buckets.stock, buckets.columns
    links = [
        learn_links(column.bucket, column.codes, column.sizes, stock, rounds=rounds, exact=exact)
        if column.answer is None
        else None
        for column in columns
    ]
    tables = [
        table
        for column, link in zip(columns, links, strict=True)
        for table in (_crossed(column, stock.values) if link is None else link.tables)
    ]
    prior = added(stock.value_of, stock.counts, stock.values)
    codes = tuple(codes for column in columns for codes in column.told)
    masses = [_masses(column, link, stock) for column, link in zip(columns, links, strict=True)]
    weights = _of_people(*_weights([column.held[told] for column in columns], masses), person)
    model = NaiveBayes(buckets.answers, prior, tuple(tables), codes)
    return Guesses(model, _likeliest(weights, "learnt"), _likeliest(weights, "worlds"))


def _of_people(who_of: NDArray[np.int64], weights: pl.DataFrame, person: NDArray[np.int64]) -> pl.DataFrame:
    """Add up what is believed of the records of each person: ``person``, ``value``, ``learnt``, ``worlds``, ``belief``.

    The belief is the chance that any of the records has the value, by the learnt links.
    """
    held = pl.DataFrame({"who": who_of, "person": person})
    if held["person"].is_unique().all():
        share = (pl.col("learnt") / pl.sum("learnt").over("who")).fill_nan(0.0)
        return held.join(weights.with_columns(belief=share), on="who").drop("who")
    shares = weights.with_columns((pl.col(name) / pl.sum(name).over("who")).fill_nan(0.0) for name in _BOTH)
    any_of_them = 1 - (1 - pl.col("learnt").sort()).product()
    return held.join(shares, on="who").group_by("person", "value").agg(pl.sum(*_BOTH), belief=any_of_them)


def _crossed(column: KnownColumn, values: int) -> list[NDArray[np.float64]]:
    """Count the answers beside the values of a column that has them."""
    assert column.answer is not None
    return [
        added(codes * values + column.answer, np.ones(len(codes)), size * values).reshape(size, values)
        for codes, size in zip(column.codes, column.sizes, strict=True)
    ]


def _masses(column: KnownColumn, links: RowChances | None, stock: BucketStock) -> pl.DataFrame:
    """Return for each vector, bucket and answer the share of the bucket's records with the answer that have the vector.

    ``learnt`` by the links, ``worlds`` by the bucket alone; ``held`` is the number of these records.
    """
    vector, bucket = column.vector, column.bucket
    if links is None:
        rows = pl.DataFrame({"vector": vector, "bucket": bucket, "value": column.answer, "learnt": 1.0, "worlds": 1.0})
    else:
        value, alone = stock.value_of[links.pair], stock.counts[links.pair] / stock.sizes[bucket[links.row]]
        cells = {"vector": vector[links.row], "bucket": bucket[links.row], "value": value}
        rows = pl.DataFrame({**cells, "learnt": links.chance, "worlds": alone})
    held = {"bucket": stock.bucket_of, "value": stock.value_of, "held": stock.counts.astype(np.float64)}
    summed = rows.group_by("vector", "bucket", "value").agg(pl.sum("learnt", "worlds"))
    return summed.join(pl.DataFrame(held), on=["bucket", "value"]).with_columns(
        pl.col("learnt", "worlds") / pl.col("held")
    )


def _weights(
    held: Sequence[NDArray[np.int64]], masses: Sequence[pl.DataFrame]
) -> tuple[NDArray[np.int64], pl.DataFrame]:
    """Weigh each answer for each distinct vector of known values: ``who``, ``value``, ``learnt``, ``worlds``.

    In a bucket, columns are independent given the answer: its records times, for each column, the share of them that
    have the vector. Buckets are added up.
    """
    who_of, count = group_records(np.column_stack(held).astype(np.uint32))
    one_of = first_records(who_of, count)
    who = [pl.DataFrame({"who": np.arange(count), "vector": vectors[one_of]}) for vectors in held]
    places = [mass.select("vector", "bucket").unique() for mass in masses]
    # The column that fits fewest buckets comes first, so that few pairs are held at a time.
    order = sorted(range(len(held)), key=lambda column: _pairs(who[column], places[column]))
    found = who[order[0]].join(places[order[0]], on="vector").select("who", "bucket")
    for column in order[1:]:
        fitting = found.join(who[column], on="who").join(places[column], on=["vector", "bucket"], how="semi")
        found = fitting.select("who", "bucket")
    found = found.join(who[order[0]], on="who").join(masses[order[0]], on=["vector", "bucket"])
    found = found.select("who", "bucket", "value", pl.col("learnt", "worlds") * pl.col("held"))
    for column in order[1:]:
        further = found.join(who[column], on="who").join(masses[column], on=["vector", "bucket", "value"])
        found = further.select(
            "who", "bucket", "value", *(pl.col(name) * pl.col(f"{name}_right") for name in ("learnt", "worlds"))
        )
    return who_of.astype(np.int64), found.group_by("who", "value").agg(pl.sum("learnt", "worlds"))


_BOTH = ("learnt", "worlds")


def _pairs(who: pl.DataFrame, places: pl.DataFrame) -> int:
    return int(who.join(places.group_by("vector").len("fitting"), on="vector")["fitting"].sum())


def _likeliest(weights: pl.DataFrame, by: str) -> pl.DataFrame:
    best = weights.with_columns(best=pl.max(by).over("person"))
    tied = best.filter(pl.col(by) >= pl.col("best") * (1 - SURE), pl.col("best") > 0)
    return tied.select("person", "value", "belief", chance=1 / pl.len().over("person"))
