"""The BCF recount of two releases: forward, cross and backward attack.

Somebody knows a person's quasi-identifying values, and with which release the person came. For every class E of the
older release and F of the newer that meet:

* *Forward*: a person who is in both looks for the own row in E. Of the rows of E only those that can stand in F can be
  it. *Cross*: the same for the row in F. Value for value both leave the same number of rows, the most that can be in
  both at once; so one number serves both.
* *Backward*: a person who came with the newer release looks for the own row in F. Rows that are old in every world are
  not it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.series.recount.at_once import at_once
from sfumato.series.recount.edges import edges_between
from sfumato.series.recount.meeting import meeting
from sfumato.series.recount.released import Places, Released

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class PairRecount:
    """What two releases together leave of each other's classes.

    Letters: p pairs of classes that meet, c classes of the newer release.

    Attributes
    ----------
    older, newer : numpy.ndarray
        int64 (p,): the classes of each pair, sorted by newer, then older class.
    both : Places
        Of each pair, the rows that remain to a person who is in both, by value; its classes are the p pairs.
    new : Places
        Of each newer class, the rows that remain to a person who came with it, by value.
    nested : bool
        Whether every newer class meets at most one older class.
    flows : int
        Groups of classes and values that no closed form decides; they were counted by flows.
    """

    older: Numbers
    newer: Numbers
    both: Places
    new: Places
    nested: bool
    flows: int

    @property
    def both_rows(self) -> Numbers:
        """Rows that remain of each pair to who is in both; int64 (p,). 0: nobody is, as no value is in both."""
        return _summed(self.both)

    @property
    def new_rows(self) -> Numbers:
        """Rows that remain of each newer class to who came with it; int64 (c,). 0: nobody did, as all rows are old."""
        return _summed(self.new)

    @property
    def least(self) -> int | None:
        """The fewest rows that remain to anybody: the k for which the pair is BCF-anonymous; None: to nobody any."""
        found = np.concatenate([self.both_rows, self.new_rows])
        return int(found[found > 0].min()) if (found > 0).any() else None


def recount_pair(older: Released, newer: Released, pairs: tuple[Numbers, Numbers] | None = None) -> PairRecount:
    """Count what two releases together leave, exactly: by closed forms, and by flows where these are not exact.

    Parameters
    ----------
    older, newer
    pairs
        The pairs of classes between which rows may go, sorted by newer, then older class; None: all that meet.

    Raises
    ------
    InputError
        When not every row of the older release can be in the newer one: the releases do not belong together.

    Notes
    -----
    *Guarantee.* The counts are those of all worlds (see :mod:`sfumato.series.recount.at_once`), for every person that
    the releases do not exclude: pairs of classes in which nobody really is only make the least number smaller. What is
    counted are rows that remain, against an attacker who knows one person. Values that remain in different numbers are
    no chances. Who knows the quasi-identifying values of everybody in the table may exclude more
    (explanation *What two releases tell*).

    *Complexity.* O((n + e) log n) time for n rows and e pairs of a value and two classes that meet and have it, where
    closed forms do; beyond, one flow for each of them.

    *Source.* B. C. M. Fung, K. Wang, A. W.-C. Fu, J. Pei, "Anonymity for continuous data publishing", EDBT 2008.
    Departures: flows; one number for forward and cross; pairs of which nothing remains are of nobody.
    """
    pairs = meeting(older.boxes, newer.boxes) if pairs is None else pairs
    edges = edges_between(older.places, newer.places, pairs)
    counted = at_once(edges)
    order = np.lexsort((newer.places.value_of[edges.newer], edges.pair))
    values = newer.places.value_of[edges.newer]
    kept = order[counted.together[order] > 0]
    both = Places(edges.pair[kept], values[kept], counted.together[kept], len(pairs[0]))
    left = newer.places.rows - counted.fixed
    some = left > 0
    new = Places(newer.places.class_of[some], newer.places.value_of[some], left[some], newer.boxes.count)
    nested = bool((np.bincount(pairs[1], minlength=1) <= 1).all())
    return PairRecount(*pairs, both, new, nested, counted.flows)


def _summed(places: Places) -> Numbers:
    return np.bincount(places.class_of, weights=places.rows, minlength=places.count).astype(np.int64)
