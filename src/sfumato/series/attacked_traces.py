"""Record tracing on several releases: rows are followed from each release to the next one by their values.

Letters: n people, z places (classes and values that they have), v values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.series.meeting import Lists, Ways, rows_on_ways
from sfumato.series.covering import Covering
from sfumato.series.recount.at_once import at_once
from sfumato.series.recount.edges import edges_between
from sfumato.series.recount.meeting import meeting
from sfumato.series.recount.released import Released, runs

Left = NDArray[np.float64]
Numbers = NDArray[np.int64]


class _Step(NamedTuple):
    """Between two releases: which places a row can go from and to, and how many rows of each newer place are old."""

    older: Numbers
    newer: Numbers
    fixed: Numbers


class Traces:
    """The ways that rows can have gone through all releases.

    Notes
    -----
    A row goes on only where some world lets it: no value changes, classes meet, and every older row has a place in the
    newer release. Whoever came with a release has none of the rows there that are old in every world.
    """

    def __init__(self, releases: Sequence[Released]) -> None:
        """Work out each step.

        Raises
        ------
        InputError
            When two neighbours do not belong together.
        """
        self.places = [each.places for each in releases]
        self.steps = [_step(older, newer) for older, newer in pairwise(releases)]
        self.width = 1 + max(int(each.value_of.max(initial=0)) for each in self.places)

    def left(self, covers: Sequence[Covering], came: int) -> Left:
        """Return the rows of each value that are left to people who came with one release; float64 (n, v).

        Parameters
        ----------
        covers
            For each release, which of its classes cover each person.
        came
            The release, from 0.

        Notes
        -----
        Of each value as many rows as in the release that leaves fewest: those on some way through all releases, from
        the one with which the person came, along classes that cover the person. Cost O(n v), and the edges between the
        classes that cover a person.
        """
        found = np.zeros((covers[0].count, self.width))
        if not len(self._release_of):
            return found
        person, place = (np.zeros(0, dtype=np.int64) for _ in range(2))
        for each, places, first in zip(covers[came:], self.places[came:], self._firsts[came:], strict=False):
            owner, at = runs(places.starts[each.class_of], np.diff(places.starts)[each.class_of])
            person, place = np.append(person, each.person[owner]), np.append(place, at + first)
        order = np.lexsort((place, person))
        rows = np.concatenate([places.rows for places in self.places])
        if came:
            rows[self._release_of == came] -= self.steps[came - 1].fixed
        starts = np.searchsorted(person[order], np.arange(len(found) + 1)).astype(np.int64)
        values = np.concatenate([places.value_of for places in self.places])
        rows_on_ways(Lists(starts, place[order]), Ways(self._release_of, values, rows, self._onward), came, found)
        return found

    @cached_property
    def _firsts(self) -> Numbers:
        """The number of the first place of each release, all releases together, and how many there are."""
        return np.cumsum([0, *(len(places.rows) for places in self.places)])

    @cached_property
    def _release_of(self) -> Numbers:
        return np.repeat(np.arange(len(self.places)), np.diff(self._firsts))

    @cached_property
    def _onward(self) -> Lists:
        nothing = np.zeros(0, dtype=np.int64)
        older = np.concatenate([nothing, *(step.older + self._firsts[at] for at, step in enumerate(self.steps))])
        newer = np.concatenate([nothing, *(step.newer + self._firsts[at] for at, step in enumerate(self.steps, 1))])
        order = np.argsort(older, kind="stable")
        starts = np.searchsorted(older[order], np.arange(len(self._release_of) + 1)).astype(np.int64)
        return Lists(starts, newer[order])


def _step(older: Released, newer: Released) -> _Step:
    edges = edges_between(older.places, newer.places, meeting(older.boxes, newer.boxes))
    counted = at_once(edges)
    some = counted.together > 0
    return _Step(edges.older[some], edges.newer[some], counted.fixed)
