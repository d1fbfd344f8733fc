"""What a release tells about the sensitive values of people, from all records of theirs that an attacker knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.agreeing import distinct_people
from sfumato.evaluation.attacks.fitting_posterior import candidate_sets, generalized_tallies
from sfumato.evaluation.attacks.known_records import KnownRecords, known_records
from sfumato.evaluation.attacks.posterior import (
    BLOCK,
    Posterior,
    checked,
    posterior,
    told_blocks,
    value_count,
)
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.record_groups import OwnValues, RecordGroups
from sfumato.published import Published, PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Told:
    """What a release tells about some people.

    Attributes
    ----------
    known : Posterior
    own : OwnValues
        Their true values, for scoring.
    """

    known: Posterior
    own: OwnValues


def told_people(target: Target, table: Table, sensitive: str) -> Iterator[Told]:
    """Yield what the target's release says about some people of a table at a time.

    If somebody has several records, an attacker uses all that are known of them. Answers are kept as
    :func:`~sfumato.evaluation.attacks.posterior.told_blocks` keeps them.
    """
    known = known_records(target, table)
    if known.alone:
        for rows, one in told_blocks(target, table, sensitive):
            yield Told(one, OwnValues.of_each(table.frame[sensitive][rows]))
        return
    published, values = target.published, value_count(target.published, checked(target.published, table, sensitive))
    cells = len(known.told) * values
    kept = (table is target.original or table is target.control) and 0 < cells <= BLOCK
    for some, places in blocks_of_people(known, values):
        part = table.take(places)
        own = OwnValues(some.person_of, part.frame[sensitive], some.people)

        def work(part: Table = part, some: KnownRecords = some) -> Posterior:
            return peoples_posterior(published, part, some, sensitive, target.recoding, together=target.rows.together)

        given = (published, table, target.recoding)
        one = target.remembered.once(f"{sensitive} of people", given, work, 3 * cells) if kept else work()
        yield Told(one, own)


def blocks_of_people(known: KnownRecords, values: int) -> Iterator[tuple[KnownRecords, NDArray[np.int64]]]:
    """Yield so many people at a time that beliefs fit into memory, and the places of their records."""
    block_of = np.cumsum(known.counts * values) // (BLOCK + 1)
    starts = np.flatnonzero(np.append(True, block_of[1:] != block_of[:-1]))
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), known.people], strict=True):
        yield known.of_people(slice(start, stop))


def peoples_posterior(
    published: Published, table: Table, known: KnownRecords, sensitive: str, recoding: Recoding, *, together: bool
) -> Posterior:
    """Compute what a release says about each person's sensitive values.

    Parameters
    ----------
    published
        A release of any kind except a randomized one.
    table
        The records of m people.
    known
        Which of them are known, and whose they are.
    sensitive
        The sensitive attribute.
    recoding
        How a generalized table was published.
    together
        Whether all rows of a person lie in one class: then those rows fit whose class covers all known records. Else
        each record is looked up by itself, and records that fit the same rows are drawn from them together.

    Returns
    -------
    Posterior
        `shares` is the chance that a value is among the person's; it need not add up to 1.
    """
    told = table.take(known.told)
    if together and isinstance(published, PublishedTable):
        values, prior, found = _one_group(published, told, known, sensitive, recoding)
    else:
        values, prior, found = _groups(published, told, known, sensitive, recoding)
    return Posterior(values, found.believed(), found.fitting, prior, found)


_Found = tuple[tuple[str | None, ...], NDArray[np.float64], RecordGroups]


def _one_group(
    published: PublishedTable, told: Table, known: KnownRecords, sensitive: str, recoding: Recoding
) -> _Found:
    tallies = generalized_tallies(published, told, sensitive, recoding, known.owners, known.people)
    total = tallies.weights.sum(axis=1)
    shares = tallies.weights / np.where(total > 0, total, 1)[:, None]
    prior = tallies.counts / max(1, tallies.counts.sum())
    everybody = np.arange(known.people)
    groups = RecordGroups(everybody, known.counts, shares, tallies.candidates, known.owners)
    return tallies.values, prior, groups


def _groups(published: Published, told: Table, known: KnownRecords, sensitive: str, recoding: Recoding) -> _Found:
    """Look each record up by itself; records of a person that fit the same published ones are one group."""
    one = posterior(published, told, sensitive=sensitive, recoding=recoding)
    alike = candidate_sets(published, told, recoding) if isinstance(published, PublishedTable) else None
    group_of = distinct_people(told)[1].astype(np.int64) if alike is None else alike
    width = int(group_of.max(initial=0)) + 1
    cells, first, place, times = np.unique(
        known.owners * width + group_of, return_index=True, return_inverse=True, return_counts=True
    )
    groups = RecordGroups(
        cells // width, times.astype(np.int64), one.shares[first], one.candidates[first], place.astype(np.int64)
    )
    return one.values, one.prior, groups
