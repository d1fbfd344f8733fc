"""Counts of worlds, and what an attacker believes after trying them.

Letters: c classes, g groups of people who are alike to the attacker, w places for sensitive values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.peoples_worlds import PeopleCells
from sfumato.evaluation.attacks.worlds import WorldCells

Cells = WorldCells | PeopleCells

STEADYING = 2.0
"""Worlds that are added, with the class's shares, because few worlds say little."""


@dataclass(eq=False, repr=False)
class Tally:
    """Counts of the worlds that were tried, cell by cell.

    Attributes
    ----------
    cells : Cells
    tried : int
        Worlds so far.
    brought_back : float
        The shares of classes that came back, added up over the worlds.
    alive : numpy.ndarray
        float64 (g,): worlds that were accepted for each group: all its classes came back.
    all, accepted : numpy.ndarray
        float64 (g, w): how often a member of each group had each value, in all worlds and in those accepted.
    """

    cells: Cells
    tried: int
    brought_back: float
    alive: NDArray[np.float64]
    all: NDArray[np.float64]
    accepted: NDArray[np.float64]

    @classmethod
    def of(cls, cells: Cells) -> Tally:
        """Start without any world."""
        shape = (len(cells.members), cells.width)
        return cls(cells, 0, 0.0, np.zeros(len(cells.members)), np.zeros(shape), np.zeros(shape))

    def add(self, values: NDArray[np.int64], back: NDArray[np.bool_]) -> None:
        """Count one world.

        values : int64 (n,), the value of each record. back : bool (c,), which classes came back.
        """
        there, accepted = self.cells.there(values), self.cells.accepted(back)
        self.tried += 1
        self.brought_back += float(back.mean())
        self.alive += accepted
        self.all += there
        self.accepted += there * accepted[:, None]

    @property
    def exact_belief(self) -> NDArray[np.float64]:
        """Return the share of each value in the accepted worlds, after trying all worlds; float64 (g, w)."""
        left = self.alive[:, None]
        belief: NDArray[np.float64] = np.where(left > 0, self.accepted / np.maximum(left, 1), self.cells.shares)
        return belief

    @property
    def drawn_belief(self) -> NDArray[np.float64]:
        """Estimate the same from drawn worlds, float64 (g, w).

        The excess of accepted worlds over all drawn ones is added to the class's shares. So a class whose worlds are
        all accepted gives exactly its shares, however few worlds were drawn.
        """
        shares, left = self.cells.shares, self.alive[:, None]
        among_accepted = (self.accepted + STEADYING * shares) / (left + STEADYING)
        among_all = (self.all + STEADYING * shares) / (self.tried + STEADYING)
        return np.clip(shares + among_accepted - among_all, 0.0, 1.0)

    @property
    def doubt(self) -> NDArray[np.float64]:
        """Return the standard errors of these beliefs, float64 (g, w)."""
        belief = self.drawn_belief
        more = 1 / (self.alive + STEADYING) - 1 / (self.tried + STEADYING)
        error: NDArray[np.float64] = np.sqrt(belief * (1 - belief) * more[:, None])
        return error
