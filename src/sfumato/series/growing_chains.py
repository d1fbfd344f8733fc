"""Chains of classes as the moves of a growing table read them, so that no cut is tried that would break one.

The recount decides about chains (:mod:`sfumato.series.recount.joined`); what is here only keeps moves from being made
that it would take back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.layout import space_of
from sfumato.kernels.series.growing import Chains
from sfumato.kernels.types import SET
from sfumato.series.recount.joined import Chains as Joined
from sfumato.series.recount.released import Boxes, runs
from sfumato.table.encoding import EncodedAttribute, EncodedTable

Numbers = NDArray[np.int64]

_NO_LIST, _NO_TABLE = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
NO_CHAINS = Chains(_NO_LIST, _NO_LIST, _NO_TABLE, _NO_TABLE, np.zeros((0, 0), dtype=np.uint64), _NO_LIST)


@dataclass(frozen=True, eq=False, repr=False)
class KnownChains:
    """Chains of classes to the last release, in codes of the table.

    Letters: n people, c classes of the last release, h chains.

    Attributes
    ----------
    class_of : numpy.ndarray
        int64 (n,): class in the last release, −1 newcomers.
    starts : numpy.ndarray
        int64 (c + 1,): where the chains to each class start.
    boxes : Boxes
        What each covers, h of them.
    """

    class_of: Numbers
    starts: Numbers
    boxes: Boxes

    @classmethod
    def of(
        cls, chains: Joined, class_of: Numbers, points: Boxes, holders: Numbers, attributes: Sequence[EncodedAttribute]
    ) -> KnownChains:
        """Read chains in codes.

        Parameters
        ----------
        chains
            To the last release.
        class_of
            See the class.
        points
            What some people would publish alone.
        holders
            int64 (attributes, codes): which of them has the code, −1 nobody.
        attributes
            Of the table.
        """
        order = np.argsort(chains.class_of, kind="stable")
        starts = np.searchsorted(chains.class_of[order], np.arange(int(class_of.max(initial=-1)) + 2))
        boxes = chains.boxes.take(order)
        low, high = (np.zeros((len(order), len(attributes)), dtype=np.int64) for _ in range(2))
        sets = {}
        for index, kind in enumerate(space_of(attributes).kinds.tolist()):
            covered = np.zeros((len(order), attributes[index].size + 1), dtype=np.bool_)
            codes = np.flatnonzero(holders[index] >= 0)
            covered[:, codes] = boxes.covers(points.take(holders[index, codes]), index)
            # A chain between two codes, or of codes that nobody has alone: the recount will tell.
            covered[~covered.any(axis=1)] = True
            if kind == SET:
                sets[index] = covered
            else:
                low[:, index] = covered.argmax(axis=1)
                high[:, index] = covered.shape[1] - 1 - covered[:, ::-1].argmax(axis=1)
        return cls(class_of, starts.astype(np.int64), Boxes(low, high, sets))

    @cached_property
    def _ends(self) -> tuple[Numbers, Numbers]:
        low, high = self.boxes.hulls
        return low.astype(np.int64), high.astype(np.int64)

    def to(self, rows: Numbers) -> Chains:
        """Return the chains to the classes of some people."""
        classes, local = np.unique(self.class_of[rows], return_inverse=True)
        newcomers = int(len(classes) > 0 and classes[0] < 0)
        classes = classes[newcomers:]
        ends, chain = runs(self.starts[classes], np.diff(self.starts)[classes])
        low, high = self._ends
        shapes = self.boxes.shapes
        return Chains(local - newcomers, ends, low[chain], high[chain], shapes.members[chain], shapes.words)


def holders_of(table: EncodedTable) -> tuple[Numbers, NDArray[np.int32]]:
    """Choose somebody for each code of each attribute.

    Returns which of those who were chosen has the code, int64 (attributes, codes), −1 nobody; and a class for each
    of them alone, int32 (n,), −1 for all others.
    """
    width = 1 + max((attribute.size for attribute in table.attributes), default=0)
    holders = np.full((len(table.attributes), width), -1, dtype=np.int64)
    alone, count = np.full(table.height, -1, dtype=np.int32), 0
    for index in range(len(table.attributes)):
        free = np.flatnonzero(alone < 0)
        codes, first = np.unique(table.codes[free, index], return_index=True)
        holders[index, codes] = np.arange(count, count + len(codes))
        alone[free[first]] = holders[index, codes]
        count += len(codes)
    return holders, alone
