"""Record tracing on several releases: rows are followed from each release to the next one by their values.

Letters: n people, z places (classes and values that they have), v values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.series.recount.at_once import at_once
from sfumato.series.recount.edges import edges_between
from sfumato.series.recount.meeting import meeting
from sfumato.series.recount.released import Released

Left = NDArray[np.float64]
Marks = NDArray[np.bool_]
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

    def left(self, covers: Sequence[Marks], came: int) -> Left:
        """Return the rows of each value that are left to people who came with one release; float64 (n, v).

        Parameters
        ----------
        covers
            For each release, which of its classes cover each person; bool (n, c).
        came
            The release, from 0.

        Notes
        -----
        Of each value as many rows as in the release that leaves fewest: those on some way through all releases, from
        the one with which the person came, along classes that cover the person. Cost O(n · edges).
        """
        inside = [each[:, places.class_of] for each, places in zip(covers, self.places, strict=True)]
        own = self.places[came].rows - (self.steps[came - 1].fixed if came else 0)
        reached = [inside[came] & (own > 0)]
        for number in range(came, len(self.steps)):
            step = self.steps[number]
            reached.append(
                inside[number + 1] & _along(reached[-1], step.older, step.newer, inside[number + 1].shape[1])
            )
        for number in range(len(self.steps) - 1, came - 1, -1):
            step, here = self.steps[number], number - came
            reached[here] &= _along(reached[here + 1], step.newer, step.older, reached[here].shape[1])
        found = np.full((len(inside[0]), self.width), np.inf)
        for number, marks in enumerate(reached, came):
            rows = own if number == came else self.places[number].rows
            found = np.minimum(found, marks @ self._by_value(number, rows))
        return found

    def _by_value(self, number: int, rows: Numbers) -> Left:
        table = np.zeros((len(rows), self.width))
        table[np.arange(len(rows)), self.places[number].value_of] = rows
        return table


def _step(older: Released, newer: Released) -> _Step:
    edges = edges_between(older.places, newer.places, meeting(older.boxes, newer.boxes))
    counted = at_once(edges)
    open_edges = counted.together > 0
    return _Step(edges.older[open_edges], edges.newer[open_edges], counted.fixed)


def _along(marks: Marks, origin: Numbers, target: Numbers, count: int) -> Marks:
    """Return which places some marked place leads to; bool (n, count)."""
    found = np.zeros((len(marks), count), dtype=np.bool_)
    if not len(target):
        return found
    order = np.argsort(target, kind="stable")
    heads = np.flatnonzero(np.diff(target[order], prepend=-1))
    found[:, target[order][heads]] = np.logical_or.reduceat(marks[:, origin[order]], heads, axis=1)
    return found
