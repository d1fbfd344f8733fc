"""Which class a record is likeliest in, where several fit: the one that covers least besides.

A class whose labels cover few values has its records close together, so that a person with such values is more likely
to be one of them than one of a class that covers almost everything.

Letters: m people, c classes, p pairs of a distinct vector of known values and a class that covers it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.links import Reading
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.publication import PublishedClasses
from sfumato.evaluation.attacks.scattered_rows import joined
from sfumato.evaluation.attacks.whereabouts import Pairs, pairs_of, whereabouts
from sfumato.kernels.linking.linkage import UNKNOWN


def densest(publication: PublishedClasses, pairs: Pairs) -> NDArray[np.bool_]:
    """Tell which of the classes that cover a vector have the smallest volume; bool (p,), several where they are equal.

    The volume is the number of different vectors of the register's values that the labels would cover, over the
    attributes that are known of the vector. ``*`` covers one value more, for all that the register does not have.
    """
    covered = np.concatenate([[0], np.cumsum(publication.high - publication.low + 1)])
    values = covered[publication.runs[1:]] - covered[publication.runs[:-1]]
    volume = np.zeros(len(pairs.vector))
    for label, codes in zip(publication.label_of.T, pairs.told.T, strict=True):
        volume += np.where(codes[pairs.vector] == UNKNOWN, 0.0, np.log(np.maximum(values[label[pairs.owner]], 0.5)))
    least = np.full(len(pairs.told), np.inf)
    np.minimum.at(least, pairs.vector, volume)
    found: NDArray[np.bool_] = volume <= least[pairs.vector] + SURE
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Picks:
    """What an attacker picks from who weighs classes by one over their volume.

    Attributes
    ----------
    rows : numpy.ndarray
        int64 (m,): rows of the densest classes.
    own : numpy.ndarray
        float64 (m,): chance that the person's own is among them.
    """

    rows: NDArray[np.int64]
    own: NDArray[np.float64]


def picks_of(reading: Reading, truth: Reading, row_of: NDArray[np.int64]) -> Picks | None:
    """Pick among the records of the densest class that fits each person.

    Parameters
    ----------
    reading
        The release, read against what is known of m people, one record of each.
    truth
        The same, read against all original records.
    row_of
        int64 (m,): the original record of each person, −1 for who has none.

    Returns
    -------
    Picks or None
        None if every class that fits anybody is one of the densest, or if too many classes fit.
    """
    publication = reading.publication
    pairs, original = pairs_of(publication, reading.known), pairs_of(truth.publication, truth.known)
    if pairs is None or original is None:
        return None
    best = densest(publication, pairs)
    if best.all():
        return None
    rows = added(pairs.vector[best], publication.sizes[pairs.owner[best]], len(pairs.told)).astype(np.int64)
    vector, owner = pairs.vector[best], pairs.owner[best]
    person, place = joined(pairs.vector_of.astype(np.int64), vector, len(pairs.told))
    own = whereabouts(truth, original).chance_in(row_of, person, owner[place])
    return Picks(rows[pairs.vector_of], own)
