"""What all releases tell together, where worlds of every step can follow each other.

Worlds of each two releases need not fit each other: a row that went from class E to F, and on from F to G, needs values
that all three labels cover. Here a step may take rows only from class to class as somebody really went, which is known
to the steward. If then every *chain* of such steps has values in common, a world of one step can follow any world of
the step before, and what is left by all releases together is what the steps leave. Whoever does not know who went where
has more worlds, and is left no less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.series.recount.released import Boxes, Released, runs

Numbers = NDArray[np.int64]
Classes = NDArray[np.int32]
Pairs = tuple[Numbers, Numbers]


def steps_of(before: Classes, now: Classes) -> Pairs:
    """Return the pairs of classes in which somebody is; int64 (p,) twice, sorted by newer, then older class.

    before, now : int32 (n,), the class of each person in two releases, −1 for who is in none.
    """
    stays = (before >= 0) & (now >= 0)
    width = int(before.max(initial=0)) + 1
    newer, older = np.divmod(np.unique(now[stays].astype(np.int64) * width + before[stays]), width)
    return older, newer


@dataclass(frozen=True, eq=False, repr=False)
class Chains:
    """What the labels of all chains of steps to the classes of a release cover together.

    Letters: h chains; those that cover the same are one.

    Attributes
    ----------
    class_of : numpy.ndarray
        int64 (h,): the class in which each ends.
    boxes : Boxes
        What its labels have in common; not empty.
    """

    class_of: Numbers
    boxes: Boxes

    @classmethod
    def first(cls, release: Released) -> Chains:
        """Return the chains of a first release: its classes."""
        return cls(np.arange(release.boxes.count), release.boxes)

    def onward(self, steps: Pairs, newer: Boxes, newcomers: Numbers) -> tuple[Chains, NDArray[np.bool_]]:
        """Follow the chains into one more release; also tell of which steps some chain has nothing in common.

        Parameters
        ----------
        steps
            See :func:`steps_of`.
        newer
            The labels of the newer release.
        newcomers
            The classes of it in which somebody is who was in no release before.

        Returns
        -------
        (Chains, numpy.ndarray)
            The chains that have something in common, and bool (p,).
        """
        older, into = steps
        order = np.argsort(self.class_of, kind="stable")
        starts = np.searchsorted(self.class_of[order], older)
        ends = np.searchsorted(self.class_of[order], older, side="right")
        step, at = runs(starts, ends - starts)
        boxes, some = _in_common(self.boxes.take(order[at]), newer.take(into[step]))
        empty = np.zeros(len(older), dtype=np.bool_)
        empty[step[~some]] = True
        followed = into[step][some]
        # A class that is reached by a chain needs none of newcomers: theirs covers all of it.
        begun = np.setdiff1d(newcomers, followed)
        together = _together(boxes.take(np.flatnonzero(some)), newer.take(begun))
        return _different(np.append(followed, begun), together), empty


def chains_to(releases: Sequence[Released], classes: Classes) -> Chains:
    """Follow all chains to the last of some releases; chains that break are dropped.

    classes : int32 (n, releases)
    """
    return follow_chains(releases, classes)[0]


def follow_chains(releases: Sequence[Released], classes: Classes) -> tuple[Chains, NDArray[np.bool_]]:
    """Follow all chains to the last of some releases; also tell which of its steps have a chain that breaks."""
    now, empty = Chains.first(releases[0]), np.zeros(0, dtype=np.bool_)
    for number in range(1, len(releases)):
        steps = steps_of(classes[:, number - 1], classes[:, number])
        came = np.unique(classes[classes[:, number - 1] < 0, number])
        now, empty = now.onward(steps, releases[number].boxes, came[came >= 0].astype(np.int64))
    return now, empty


def joined(releases: Iterable[Released]) -> bool:
    """Tell whether the months of arrival tell nothing in any of some releases: all worlds of steps are counted then."""
    return all(
        not release.boxes.low[:, -1].any() and bool((release.boxes.high[:, -1] == number).all())
        for number, release in enumerate(releases)
    )


def _in_common(one: Boxes, other: Boxes) -> tuple[Boxes, NDArray[np.bool_]]:
    """Return what boxes have in common, one by one, and where that is anything; elsewhere the box is one of the two."""
    low, high = np.maximum(one.low, other.low), np.minimum(one.high, other.high)
    sets = {index: members & other.sets[index] for index, members in one.sets.items()}
    ranged = [index for index in range(one.width) if index not in sets]
    some = (low[:, ranged] <= high[:, ranged]).all(axis=1)
    for members in sets.values():
        some &= members.any(axis=1)
    kept = some[:, None]
    shown = {index: np.where(kept, members, one.sets[index]) for index, members in sets.items()}
    return Boxes(np.where(kept, low, one.low), np.where(kept, high, one.high), shown), some


def _together(one: Boxes, other: Boxes) -> Boxes:
    sets = {index: np.concatenate([members, other.sets[index]]) for index, members in one.sets.items()}
    return Boxes(np.concatenate([one.low, other.low]), np.concatenate([one.high, other.high]), sets)


def _different(class_of: Numbers, boxes: Boxes) -> Chains:
    """Keep one of the chains that end in one class and cover the same."""
    low, high = boxes.low.astype(np.float64), boxes.high.astype(np.float64)
    low[:, list(boxes.sets)] = high[:, list(boxes.sets)] = 0
    everything = np.column_stack([class_of, low, high, *boxes.sets.values()]).astype(np.float64)
    kept = np.sort(np.unique(everything, axis=0, return_index=True)[1])
    return Chains(class_of[kept].astype(np.int64), boxes.take(kept))
