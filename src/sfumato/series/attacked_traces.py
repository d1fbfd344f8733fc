"""Record tracing on several releases: rows are followed from each release to the next one by their values.

Letters: n people, z places (classes and values that they have), v values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.series.covering import Covering
from sfumato.series.recount.at_once import at_once
from sfumato.series.recount.edges import edges_between
from sfumato.series.recount.meeting import meeting
from sfumato.series.recount.released import Places, Released, runs

Left = NDArray[np.float64]
Numbers = NDArray[np.int64]


class _Step(NamedTuple):
    """Between two releases: where a row can go, and how many rows of each newer place are old.

    `onward` and `back` list the places of the other release: where those of each place start, and which they are.
    """

    onward: tuple[Numbers, Numbers]
    back: tuple[Numbers, Numbers]
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
        count = covers[0].count
        inside = [_inside(each, places) for each, places in zip(covers, self.places, strict=True)]
        own = self.places[came].rows - (self.steps[came - 1].fixed if came else 0)
        heights = [max(1, len(places.rows)) for places in self.places]
        reached = [inside[came][own[inside[came] % heights[came]] > 0]]
        for number in range(came, len(self.steps)):
            there = _along(reached[-1], self.steps[number].onward, heights[number], heights[number + 1])
            reached.append(np.intersect1d(inside[number + 1], there, assume_unique=True))
        for number in range(len(self.steps) - 1, came - 1, -1):
            here = number - came
            there = _along(reached[here + 1], self.steps[number].back, heights[number + 1], heights[number])
            reached[here] = np.intersect1d(reached[here], there, assume_unique=True)
        found = np.full((count, self.width), np.inf)
        for number, keys in enumerate(reached, came):
            rows = own if number == came else self.places[number].rows
            person, place = np.divmod(keys, heights[number])
            at = person * self.width + self.places[number].value_of[place]
            summed = np.bincount(at, weights=rows[place], minlength=count * self.width)
            found = np.minimum(found, summed.reshape(count, self.width))
        return found


def _step(older: Released, newer: Released) -> _Step:
    edges = edges_between(older.places, newer.places, meeting(older.boxes, newer.boxes))
    counted = at_once(edges)
    some = counted.together > 0
    older, newer = edges.older[some], edges.newer[some]
    sizes = len(edges.older_places.rows), len(edges.newer_places.rows)
    return _Step(_listed(older, newer, sizes[0]), _listed(newer, older, sizes[1]), counted.fixed)


def _listed(origin: Numbers, target: Numbers, count: int) -> tuple[Numbers, Numbers]:
    order = np.argsort(origin, kind="stable")
    return np.searchsorted(origin[order], np.arange(count + 1)).astype(np.int64), target[order]


def _inside(covers: Covering, places: Places) -> Numbers:
    """Return the places that classes of each person have, as keys: the person · all places + the place; sorted."""
    owner, place = runs(places.starts[covers.class_of], np.diff(places.starts)[covers.class_of])
    return covers.person[owner] * max(1, len(places.rows)) + place


def _along(keys: Numbers, edges: tuple[Numbers, Numbers], height: int, target_height: int) -> Numbers:
    """Return to which places some places of people lead; keys, sorted."""
    starts, targets = edges
    person, place = np.divmod(keys, height)
    owner, at = runs(starts[place], starts[place + 1] - starts[place])
    return np.unique(person[owner] * target_height + targets[at])
