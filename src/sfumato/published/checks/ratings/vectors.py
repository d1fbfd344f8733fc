"""Records that rated the same non-sensitive issues in the same way, and the sums of their sensitive ratings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.ratings.rows import hash_masks, hash_vectors, number_vectors, summed_ratings
from sfumato.table.ratings.ratings import Ratings


@dataclass(frozen=True, eq=False, repr=False)
class Sums:
    """Sums over the sensitive ratings of the records of each vector, as compressed rows.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (v + 1,).
    issues : numpy.ndarray
        int32 (entries,): number of the sensitive issue, ``0 .. q-1``.
    sums : numpy.ndarray
        int64 (entries, 3): ratings, sum of their codes, sum of the squares of their codes.
    """

    starts: NDArray[np.int64]
    issues: NDArray[np.int32]
    sums: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Vectors:
    """Records by their ratings of the non-sensitive issues.

    Letters: n records, v vectors, b masks (sets of issues that somebody rated).

    Attributes
    ----------
    vector_of : numpy.ndarray
        Integers (n,): vector of each record.
    mask_of : numpy.ndarray
        Integers (v,), rising: mask of each vector.
    example : numpy.ndarray
        int64 (v,): a record with that vector.
    weights : numpy.ndarray
        int64 (v,): records with that vector.
    """

    vector_of: NDArray[np.integer]
    mask_of: NDArray[np.integer]
    example: NDArray[np.int64]
    weights: NDArray[np.int64]


def vectors_of(ratings: Ratings) -> Vectors:
    """Group records by what they rated, and by how.

    Hashes only say which records are compared: groups are exact. Cost O(z + n log n); 40 bytes a record.
    """
    # Any keys give the same groups, but predictable ones would let somebody make input that is slow to group.
    keys = np.random.default_rng().integers(0, 1 << 62, size=len(ratings.names), dtype=np.int64)
    keys[ratings.sensitive] = 0
    arrays = (ratings.starts, ratings.issues, ratings.codes, ratings.sensitive)
    masks = hash_masks(ratings.starts, ratings.issues, keys)
    by_mask = np.argsort(masks, kind="stable")
    shared = _shared(masks[by_mask])
    hashes = np.zeros(ratings.height, dtype=np.int64)
    hashes[by_mask[shared]] = hash_vectors(by_mask[shared], *arrays)
    order = by_mask.copy()
    among = by_mask[shared]
    order[shared] = among[np.lexsort((hashes[among], masks[among]))]
    vector_of, mask_of, example = _numbered(*number_vectors(order, masks, hashes, *arrays))
    return Vectors(vector_of, mask_of, example, np.bincount(vector_of, minlength=len(example)).astype(np.int64))


def _shared(rising: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which of some rising numbers occur more than once."""
    repeated = np.zeros(len(rising), dtype=np.bool_)
    equal = rising[1:] == rising[:-1]
    repeated[1:] |= equal
    repeated[:-1] |= equal
    return repeated


def _numbered(
    vector_of: NDArray[np.integer], mask_of: NDArray[np.integer], example: NDArray[np.int64]
) -> tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.int64]]:
    """Renumber vectors so that those of a mask are adjacent if masks share a hash."""
    if np.all(mask_of[1:] >= mask_of[:-1]):
        return vector_of, mask_of, example
    by_mask = np.argsort(mask_of, kind="stable")
    place_of = np.empty_like(by_mask)
    place_of[by_mask] = np.arange(len(by_mask))
    return place_of[vector_of], mask_of[by_mask], example[by_mask]


def one_vector(height: int) -> Vectors:
    """Take all records as one vector, which is right if a missing and a given rating are proximate."""
    nothing = np.zeros(1, dtype=np.int64)
    return Vectors(np.zeros(height, dtype=np.int64), nothing, nothing, np.array([height], dtype=np.int64))


def each_record(height: int) -> Vectors:
    """Take every record as a vector of its own."""
    places = np.arange(height)
    return Vectors(places, places, places, np.ones(height, dtype=np.int64))


def sums_of(ratings: Ratings, vectors: Vectors, wanted: NDArray[np.bool_]) -> Sums:
    """Sum the sensitive ratings of the vectors that are `wanted`, bool (v,); the others get none.

    Cost O(n + ratings of the wanted vectors).
    """
    members = np.argsort(vectors.vector_of, kind="stable")
    kept = wanted[vectors.vector_of[members]]
    starts = np.append(0, np.cumsum(np.where(wanted, vectors.weights, 0)))
    number_of = np.where(ratings.sensitive, np.cumsum(ratings.sensitive) - 1, -1).astype(np.int32)
    count = int(ratings.sensitive.sum())
    return Sums(
        *summed_ratings(
            starts.astype(np.int64), members[kept], ratings.starts, ratings.issues, ratings.codes, number_of, count
        )
    )
