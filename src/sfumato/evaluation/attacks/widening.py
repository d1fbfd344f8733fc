"""Several records that one class covers, as one record with more values.

A class covers all records of a person if, in every attribute, its label covers all values that the person has there. So
to know several records is to know more attributes: each attribute several times, with one value a time. Everything that
looks for the classes of one vector of values then looks for the classes of a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.known_records import rank_within
from sfumato.evaluation.attacks.publication import PublishedClasses
from sfumato.evaluation.attacks.register import RegisterAttribute
from sfumato.kernels.linking.linkage import UNKNOWN

Widened = tuple[list[RegisterAttribute], PublishedClasses]


def widened(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> Widened:
    """Repeat attributes, so that one vector holds what is known of a person.

    Parameters
    ----------
    known
        What is known of r records, one entry for each attribute.
    publication
        The classes.
    owner
        int64 (r,): the person of each record.
    people
        Number of people m.

    Returns
    -------
    known : list of RegisterAttribute
        Of m people; `UNKNOWN` fills up. Where everybody has one record, the same as before.
    publication : PublishedClasses
        With a label of each class for each of them.

    Notes
    -----
    Where each label covers one run of codes, the lowest and the highest code stand for all of a person. Cost O(r log r)
    for each attribute, and memory m times the most different values that somebody has.
    """
    repeated, places = [], []
    for place, one in enumerate(known):
        ends = _covers_runs(publication, place)
        columns = _lowest_and_highest(one.codes, owner, people) if ends else _distinct(one.codes, owner, people)
        repeated += [replace(one, codes=np.ascontiguousarray(codes)) for codes in columns.T]
        places += [place] * columns.shape[1]
    return repeated, replace(publication, label_of=np.ascontiguousarray(publication.label_of[:, places]))


def side_by_side(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> Widened:
    """Put all records of a person beside each other, as :func:`widened` does, but keep every record whole.

    For distances, which add up over records: a record that is known twice counts twice.
    """
    rank = rank_within(owner, np.zeros(len(owner)))
    width = int(rank.max(initial=0)) + 1
    repeated = []
    for one in known:
        codes = np.full((people, width), UNKNOWN, dtype=np.int32)
        codes[owner, rank] = one.codes
        repeated += [replace(one, codes=np.ascontiguousarray(column)) for column in codes.T]
    places = np.repeat(np.arange(len(known)), width)
    return repeated, replace(publication, label_of=np.ascontiguousarray(publication.label_of[:, places]))


def _covers_runs(publication: PublishedClasses, place: int) -> bool:
    labels = publication.label_of[:, place]
    return bool((publication.runs[labels + 1] - publication.runs[labels] <= 1).all())


def _lowest_and_highest(codes: NDArray[np.int32], owner: NDArray[np.int64], people: int) -> NDArray[np.int32]:
    known = codes != UNKNOWN
    low, high = np.full(people, np.iinfo(np.int32).max, dtype=np.int32), np.full(people, UNKNOWN, dtype=np.int32)
    np.minimum.at(low, owner[known], codes[known])
    np.maximum.at(high, owner[known], codes[known])
    low = np.minimum(low, high)
    return low[:, None] if (low == high).all() else np.column_stack([low, high])


def _distinct(codes: NDArray[np.int32], owner: NDArray[np.int64], people: int) -> NDArray[np.int32]:
    known = codes != UNKNOWN
    pairs = np.unique(np.column_stack([owner[known], codes[known].astype(np.int64)]), axis=0)
    rank = rank_within(pairs[:, 0], pairs[:, 1])
    columns = np.full((people, int(rank.max(initial=0)) + 1), UNKNOWN, dtype=np.int32)
    columns[pairs[:, 0], rank] = pairs[:, 1]
    return columns
