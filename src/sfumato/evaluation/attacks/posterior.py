"""What a release tells about one person's sensitive value: a distribution over the published values.

One function for every kind of release, so attacks need not know the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.evaluation.attacks.exact_posterior import bucketized_tallies, marginal_tallies
from sfumato.evaluation.attacks.fitting_posterior import generalized_tallies
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.record_groups import RecordGroups, sums_under
from sfumato.evaluation.attacks.sliced_posterior import sliced_tallies
from sfumato.evaluation.attacks.tallies import Tallies
from sfumato.published import BucketizedTables, MarginalTables, Published, PublishedTable, SlicedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.kinds import text_of
from sfumato.table.table import Table

BLOCK = 1 << 23
"""Most cells of people × values that are computed at a time."""


TELLING = frozenset({"generalized-table", "bucketized-tables", "sliced-table", "marginal-tables"})
"""Kinds of release that give a distribution of everybody's sensitive value."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What an attacker believes about each person's sensitive value.

    Letters: m people, v published values.

    Attributes
    ----------
    values : tuple of str or None
        The published values as text; None is the missing value. Their places are the codes of everything else.
    shares : numpy.ndarray
        float64 (m, v): belief in each value; sums to 1, or is all 0 if no published record fits.
    candidates : numpy.ndarray
        float64 (m,): records that fit; an expected number if the release does not show more.
    prior : numpy.ndarray
        float64 (v,): share of each value in the whole release.
    groups : RecordGroups or None
        Where people have several records: what each of these says. `shares` is then the chance that a value is among a
        person's, and need not add up to 1.
    """

    values: tuple[str | None, ...]
    shares: NDArray[np.float64]
    candidates: NDArray[np.float64]
    prior: NDArray[np.float64]
    groups: RecordGroups | None = None

    @property
    def usual(self) -> NDArray[np.float64]:
        """Return what would be believed without knowing which records fit, float64 (m, v)."""
        if self.groups is None:
            return np.broadcast_to(self.prior, self.shares.shape)
        known = self.groups.known[:, None]
        return np.where(known == 1, self.prior, 1 - (1 - self.prior) ** known)

    @property
    def rows(self) -> NDArray[np.float64]:
        """Return the chance that one record of each person, drawn at random, has each value; float64 (m, v)."""
        return self.shares if self.groups is None else self.groups.rows

    @property
    def of_records(self) -> NDArray[np.float64]:
        """Return what is believed of each known record, float64 (r, v)."""
        return self.shares if self.groups is None else self.groups.shares[self.groups.group_of]

    def without(self, out: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the beliefs of somebody who knows that people do not have some values, bool (m, v); not scaled."""
        return np.where(out, 0.0, self.shares) if self.groups is None else self.groups.believed(out)

    def summed(self, node_of: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
        """Return the beliefs that a value is under each of some nodes, float64 (m, nodes); node_of : int64 (v,)."""
        if self.groups is not None:
            return self.groups.under(node_of, nodes).believed()
        return sums_under(self.shares, node_of, nodes)

    def codes_of(self, column: pl.Series) -> NDArray[np.int64]:
        """Return the code of each value of an original column, int64; −1 if no published record has it."""
        code_of = {value: code for code, value in enumerate(self.values)}
        return np.array([code_of.get(text, -1) for text in text_of(column).to_list()], dtype=np.int64)


def sensitive_of(published: Published) -> tuple[str, ...]:
    """Name the sensitive attributes of a release of any kind."""
    named: str | tuple[str, ...] = getattr(published, "sensitive", ())
    return (named,) if isinstance(named, str) else tuple(named)


def posterior(
    published: Published, people: Table, *, sensitive: str | None = None, recoding: Recoding | None = None
) -> Posterior:
    """Compute what a release says about each person's sensitive value.

    Parameters
    ----------
    published
        A release of any kind except a randomized one.
    people
        m people with original quasi-identifying values (nothing else of them is read), and with the schema of the
        release.
    sensitive
        The sensitive attribute; None takes the first one.
    recoding
        How a generalized table was published.

    Returns
    -------
    Posterior

    Raises
    ------
    InputError
        When the release has no such sensitive attribute, shares no quasi-identifying attribute with the people, or is
        of a kind that says nothing about single people.

    Notes
    -----
    *Generalized*: all records whose every value covers the person's; of class means, which cover nobody, the nearest
    records, as :class:`~sfumato.evaluation.attacks.nearest_linkage.NearestLinkage` finds them. *Bucketized*: the
    sensitive counts of the buckets that hold the person's values, weighed by how many rows with them each bucket has.
    *Sliced*: the matching buckets of Li, Li, Zhang and Molloy (2012), section 4; an attribute that is in several
    columns counts once. *Marginal*: the records of the marginal with the sensitive attribute that have the person's
    values; where several have it, they are taken to be independent given it.

    Memory is m · v numbers; :func:`posterior_blocks` takes people a block at a time.
    """
    name = checked(published, people, sensitive)
    kind = next((kind for kind in _TALLIES if isinstance(published, kind)), None)
    if kind is None:
        raise InputError(f"a {published.kind} says nothing certain about single people; play another attack")
    tallies: Tallies = _TALLIES[kind](published, people, name, recoding or Recoding())
    weights = tallies.weights
    total = weights.sum(axis=1)
    shares = weights / np.where(total > 0, total, 1)[:, None]
    counts = tallies.counts
    return Posterior(tallies.values, shares, tallies.candidates, counts / max(1, counts.sum()))


def posterior_blocks(
    published: Published, people: Table, *, sensitive: str | None = None, recoding: Recoding | None = None
) -> Iterator[tuple[slice, Posterior]]:
    """Yield the posterior of some people at a time, with their places, with memory below 64 MiB a copy.

    Parameters, errors and rules are those of :func:`posterior`.
    """
    name = checked(published, people, sensitive)
    values = value_count(published, name)
    size = max(1, BLOCK // max(1, values))
    for start in range(0, people.height, size):
        rows = slice(start, min(start + size, people.height))
        some = people.take(rows)
        yield rows, posterior(published, some, sensitive=name, recoding=recoding)


def told_blocks(target: Target, people: Table, sensitive: str) -> Iterator[tuple[slice, Posterior]]:
    """Yield what the target's release says about some people at a time, with their places.

    For its original and control group the answer is kept if one block has room for all, because most attacks ask for
    it; nobody may change it, therefore.
    """
    recoding, published = target.recoding, target.published
    cells = people.height * value_count(published, checked(published, people, sensitive))
    known = people is target.original or people is target.control
    if not known or not 0 < cells <= BLOCK:
        yield from posterior_blocks(published, people, sensitive=sensitive, recoding=recoding)
        return

    def work() -> Posterior:
        return posterior(published, people, sensitive=sensitive, recoding=recoding)

    yield slice(0, people.height), target.remembered.once(sensitive, (published, people, recoding), work, cells)


_TALLIES: dict[type[Any], Callable[..., Tallies]] = {
    PublishedTable: generalized_tallies,
    BucketizedTables: bucketized_tallies,
    SlicedTable: sliced_tallies,
    MarginalTables: marginal_tallies,
}


def checked(published: Published, people: Table, sensitive: str | None) -> str:
    """Return the sensitive attribute, or raise InputError if nothing can be learnt of it about these people."""
    known = sensitive_of(published)
    problems = []
    if not known:
        problems.append("the release has no sensitive attribute, so there is nothing to learn about anybody")
    elif sensitive is not None and sensitive not in known:
        problems.append(f"sensitive: the release has no sensitive attribute {sensitive!r}; it has {', '.join(known)}")
    if not people.schema.quasi_identifying.keys() & _attributes_of(published):
        problems.append(
            "the release and the people share no quasi-identifying attribute, so nothing links them; give the "
            "schema or policy that the release was made with"
        )
    raise_all(InputError, problems)
    return sensitive or known[0]


def _attributes_of(published: Published) -> set[str]:
    columns: tuple[tuple[str, ...], ...] | None = getattr(published, "columns", None)
    if columns is not None:
        return {name for column in columns for name in column}
    return set(getattr(published, "quasi_identifying", ()))


def value_count(published: Published, sensitive: str) -> int:
    """Return how many values of an attribute a release has."""
    return max(frame[sensitive].n_unique() for frame in published.tables.values() if sensitive in frame.columns)
