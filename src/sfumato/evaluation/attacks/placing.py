"""Find the class of each person in a generalized table, as far as published values and a register show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.errors import InputError
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.publication import PublishedClasses, read_publication
from sfumato.evaluation.attacks.register import RegisterAttribute, read_register, shared_attributes
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import covering_classes
from sfumato.published import Published, PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.schema import Schema

NOWHERE, SEVERAL = -1, -2
"""Used instead of a class: none fits, or more than one does."""

BLOCK_BYTES, BLOCK_PAIRS = 1 << 24, 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Placement:
    """People and their classes in a generalized table.

    Letters: n people, q shared attributes.

    Attributes
    ----------
    publication : Publication
        The classes, and what their labels cover.
    known : tuple of Knowledge
        What the codes of each shared attribute mean.
    told : numpy.ndarray
        int32 (n, q): codes of each person; `UNKNOWN` for an empty cell, which fits every class.
    class_of : numpy.ndarray
        int32 (n,): the one class that fits each person, `NOWHERE`, or `SEVERAL`.
    """

    publication: PublishedClasses
    known: tuple[RegisterAttribute, ...]
    told: NDArray[np.int32]
    class_of: NDArray[np.int32]

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Tell which classes certainly hold exactly the people placed in them, because numbers agree; bool (c,).

        A person who was suppressed, or also fits other classes, makes the classes around them uncertain.
        """
        sizes = self.publication.sizes
        sure: NDArray[np.bool_] = np.bincount(self.class_of[self.class_of >= 0], minlength=len(sizes)) == sizes
        return sure


def generalized(published: Published, attack: str) -> PublishedTable:
    """Return a generalized table as such, or raise InputError."""
    if not isinstance(published, PublishedTable):
        raise InputError(
            f"{attack}: is played against a {PublishedTable.kind}, not a {published.kind}; play an attack that is made "
            "for that kind"
        )
    return published


def place(
    published: PublishedTable, people: pl.DataFrame, schema: Schema, recoding: Recoding, sensitive: str | None = None
) -> Placement:
    """Place people in the classes of a generalized table.

    Parameters
    ----------
    published
        The release.
    people
        n people with original quasi-identifying values.
    schema
        Roles, kinds and hierarchies of the release.
    recoding
        How the table was published.
    sensitive
        The attribute whose values the publication counts in each class; None for attacks that need none.

    Raises
    ------
    InputError
        When the two share no quasi-identifying attribute.

    Notes
    -----
    Cost O(m · c / 64 · q) for m distinct people and c classes.
    """
    shared = shared_attributes(published.data, people, schema)
    if not shared:
        raise InputError(
            "the release and the people share no quasi-identifying attribute, so nothing links them; give the "
            "schema or policy that the release was made with"
        )
    known = tuple(read_register(people, schema, shared))
    publication = read_publication(published.data, sensitive or shared[0], known, recoding)
    told = np.column_stack([each.codes for each in known])
    vector_of, count = group_records(told + 1)
    vectors = np.ascontiguousarray(told[first_records(vector_of, count)])
    only = [_single_bits(fitting) for _, fitting in _fitting(publication, known, vectors)]
    return Placement(publication, known, told, np.concatenate(only)[vector_of])


def candidates(
    placement: Placement, vectors: NDArray[np.int32]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """Pair distinct people with every class that fits them, some people at a time.

    Parameters
    ----------
    placement
        The classes.
    vectors
        int32 (m, q): codes, as in `told` of the placement.

    Yields
    ------
    vector, owner, share : numpy.ndarray
        For each pair its place in `vectors`, its class, and which share of the records that fit the vector the class
        has. All pairs of a vector come together.
    """
    sizes = placement.publication.sizes
    step = max(1, BLOCK_PAIRS // len(sizes))
    for start, fitting in _fitting(placement.publication, placement.known, vectors):
        for first in range(0, len(fitting), step):
            vector, owner = np.nonzero(_bits(fitting[first : first + step]))
            fits_all = np.bincount(vector, weights=sizes[owner])
            yield vector + start + first, owner, sizes[owner] / fits_all[vector]


def fits(publication: PublishedClasses, told: NDArray[np.int32], classes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell for each person whether one class covers them.

    Parameters
    ----------
    publication
        The classes.
    told
        int32 (n, q): codes of n people, `UNKNOWN` if nothing is known.
    classes
        Integers (n,): the class to check for each.

    Returns
    -------
    numpy.ndarray
        bool (n,).

    Notes
    -----
    Cost O(n · q · log r) for r runs.
    """
    # Runs of a label rise, and labels follow each other, so one search finds the run that a code may lie in.
    width = int(max(publication.high.max(initial=0), told.max(initial=0))) + 2
    owner = np.repeat(np.arange(len(publication.runs) - 1), np.diff(publication.runs))
    starts = owner * width + publication.low
    verdict = np.ones(len(told), dtype=np.bool_)
    for column in range(told.shape[1]):
        label, code = publication.label_of[classes, column], told[:, column]
        run = np.searchsorted(starts, label.astype(np.int64) * width + np.maximum(code, 0), side="right") - 1
        inside = (run >= publication.runs[label]) & (np.append(publication.high, -1)[run] >= code)
        verdict &= inside | (code < 0)
    return verdict


def _fitting(
    publication: PublishedClasses, known: tuple[RegisterAttribute, ...], vectors: NDArray[np.int32]
) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Yield which classes fit distinct people, a block at a time: the block's first place, and a bit for each class."""
    coverage = coverage_of(publication, known)
    rows, shifts = coverage.rows, coverage.shifts
    # One more row stands for unknown values, and fits every class.
    everyone = np.zeros((1, -(-len(publication.sizes) // 64) * 8), dtype=np.uint8)
    packed = np.packbits(np.ones(len(publication.sizes), dtype=np.uint8), bitorder="little")
    everyone[0, : len(packed)] = packed
    table = np.concatenate([covering_classes(coverage), everyone.view(np.uint64)])
    step = max(1, BLOCK_BYTES // (8 * table.shape[1]))
    for start in range(0, len(vectors), step):
        block = vectors[start : start + step]
        row = np.where(block >= 0, rows[:-1] + (np.maximum(block, 0) >> shifts), len(table) - 1)
        fitting = np.repeat(table[-1:], len(block), axis=0)
        for column in row.T:
            fitting &= table[column]
        if shifts.any():
            _settle(fitting, publication, block)
        yield start, fitting


def _bits(fitting: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.unpackbits(fitting.view(np.uint8), axis=1, bitorder="little")


def _settle(fitting: NDArray[np.uint64], publication: PublishedClasses, vectors: NDArray[np.int32]) -> None:
    """Remove classes that do not cover a person, but passed because codes share a row of the table."""
    bits = _bits(fitting)
    person, owner = np.nonzero(bits)
    bits[person, owner] = fits(publication, vectors[person], owner)
    fitting[:] = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


def _single_bits(sets: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the number of the only bit of each row of words, int32 (n,); else `NOWHERE` or `SEVERAL`."""
    ones = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    word = (sets != 0).argmax(axis=1)
    chosen = sets[np.arange(len(sets)), word]
    below = np.bitwise_count(chosen - np.uint64(1))
    return np.where(ones == 1, 64 * word + below, np.where(ones == 0, NOWHERE, SEVERAL)).astype(np.int32)
