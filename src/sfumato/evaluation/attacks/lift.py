"""How much better a release fits a person than chance would: the score of membership inference.

The score is the number of published records that fit a person's values, each divided by how often a record would fit
them if the attributes had nothing to do with each other (with the frequencies of the release itself). Without that
division, people with frequent values would seem to be members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.cohort import nothing_shared
from sfumato.evaluation.attacks.pieces import Piece, alike, pieces_of
from sfumato.evaluation.attacks.spread import read_cells, shared_names
from sfumato.kernels.grouping import first_records
from sfumato.published import Published, PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table


def lift(published: Published, people: Table, *, recoding: Recoding, sensitive: bool) -> NDArray[np.float64]:
    """Score how well a release fits each person.

    Parameters
    ----------
    published
        A release of any kind.
    people
        m people with original values.
    recoding
        How a generalized table was published.
    sensitive
        Whether the sensitive values of the people are known, too.

    Returns
    -------
    numpy.ndarray
        float64 (m,): 0 if no published record fits; 1 if as many fit as by chance.

    Raises
    ------
    InputError
        When release and people share no attribute, or the people's values cannot be read.

    Notes
    -----
    *Generalized*: a class of n' records whose labels cover shares p₁, p₂ … of all records counts n' ÷ (n p₁ p₂ …), and
    the classes that cover a person are added up. *Sliced* (with it bucketized tables, marginals and randomized tables,
    see :mod:`sfumato.evaluation.attacks.pieces`): the matching degree of the person's values over all buckets, as Li,
    Li, Zhang and Molloy (2012) define it, divided by the product of the shares of the single values; an attribute in
    several columns counts once.
    """
    if isinstance(published, PublishedTable):
        names = shared_names(published, people, sensitive=sensitive)
        if not names:
            raise nothing_shared()
        cells = read_cells(published, people, names, recoding)
        return _steadied(cells.sum_fitting(cells.class_weights))
    return _steadied(_of_pieces(pieces_of(published), people, sensitive))


def _steadied(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to ten digits: sums in another order differ in the last digits, and ties must stay ties."""
    digits, exponents = np.frexp(scores)
    return np.ldexp(np.round(digits, 10), exponents)


def _of_pieces(pieces: Sequence[Piece], people: Table, sensitive: bool) -> NDArray[np.float64]:
    wanted = [*people.schema.quasi_identifying, *(people.schema.sensitive if sensitive else ())]
    wanted = [name for name in wanted if name in people.frame.columns]
    telling = [piece for piece in pieces if any(name in piece.label_of for name in wanted)]
    if not telling:
        raise nothing_shared()
    parts, expected, seen = [], np.ones(people.height), set[str]()
    for piece in telling:
        names = tuple(name for name in wanted if name in piece.label_of)
        before = tuple(name for name in names if name in seen)
        parts.append(_part(piece, people.frame, names, before))
        for name in names:
            if name not in seen:
                expected *= _share_of(piece, people.frame, name)
        seen.update(names)
    degree = _degree(telling[0], parts)
    return np.divide(degree, expected, out=np.zeros(len(degree)), where=expected > 0)


@dataclass(frozen=True, eq=False, repr=False)
class _PieceEvidence:
    """What one piece says about the people.

    Attributes
    ----------
    held : numpy.ndarray
        int64 (m,): vector of each person.
    shares : polars.DataFrame
        ``vector``, ``bucket``, ``share``: of the rows in the bucket that agree on what was seen in pieces before, the
        share with the whole vector.
    """

    held: NDArray[np.int64]
    shares: pl.DataFrame

    @property
    def pairs(self) -> int:
        """Return pairs of a person and a bucket that holds the person's vector."""
        buckets = self.shares.group_by("vector").len("buckets")
        return int(pl.DataFrame({"vector": self.held}).join(buckets, on="vector")["buckets"].sum())


def _part(piece: Piece, people: pl.DataFrame, names: tuple[str, ...], before: tuple[str, ...]) -> _PieceEvidence:
    told, held = alike(piece, people, names)
    seen, _ = alike(piece, people, before)
    rows = pl.DataFrame({"vector": told, "bucket": piece.bucket, "seen": seen, "records": piece.records})
    # Equal vectors agree on what was seen before.
    agreeing = rows.group_by("vector", "bucket", "seen").agg(pl.sum("records"))
    among = rows.group_by("bucket", "seen").agg(pl.sum("records").alias("among"))
    shares = agreeing.join(among, on=["bucket", "seen"])
    return _PieceEvidence(held, shares.select("vector", "bucket", share=pl.col("records") / pl.col("among")))


def _share_of(piece: Piece, people: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """Return the share of the records that have each person's value of one attribute."""
    told, held = alike(piece, people, (name,))
    size = int(max(told.max(), held.max())) + 1
    return added(told, piece.records / piece.records.sum(), size)[held]


def _degree(first: Piece, parts: Sequence[_PieceEvidence]) -> NDArray[np.float64]:
    """Add up over the buckets, each by its share of the records, the product of the shares of rows that agree."""
    who_of, count = group_records(np.column_stack([part.held for part in parts]).astype(np.uint32))
    one_of = first_records(who_of, count)
    # The part that fits fewest buckets comes first, so that few pairs are held at a time.
    ordered = sorted(parts, key=lambda part: part.pairs)
    sizes = pl.DataFrame({"bucket": first.bucket, "records": first.records}).group_by("bucket").agg(pl.sum("records"))
    found = pl.DataFrame({"who": np.arange(count), "vector": ordered[0].held[one_of]})
    found = found.join(ordered[0].shares, on="vector").join(sizes, on="bucket")
    found = found.select("who", "bucket", degree=pl.col("share") * pl.col("records") / first.records.sum())
    for part in ordered[1:]:
        held = pl.DataFrame({"who": np.arange(count), "vector": part.held[one_of]})
        found = found.join(held, on="who").join(part.shares, on=["vector", "bucket"])
        found = found.select("who", "bucket", degree=pl.col("degree") * pl.col("share"))
    return added(found["who"].to_numpy(), found["degree"].to_numpy(), count)[who_of]
