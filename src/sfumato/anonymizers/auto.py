"""The anonymizer that fits the number of records and the policy, taken before any work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.partition import Partition
from sfumato.options import Checked, Names

MANY = 50_000
"""Records above which classes are cut, not grown."""
PAIRS = 100_000_000
"""Pairs of records that growing may have to compare: where there are more, blocks are grown one by one."""
LEAST_BLOCK = 2_000
EFFORTS = ((250_000, 244), (400_000, 100), (math.inf, 28))
"""Small changes that are proposed for each record, up to so many cells: what ends where refinement is cold."""
RANKS = 0.5
"""Share of a number's place that is its rank: where numbers are uneven, loss alone leaves counts far off."""
FEW, FEW_PROPOSALS = 1_000, 25_000
"""So few records need so few in all: on a new machine nothing has to be compiled for them."""


@dataclass(frozen=True)
class Auto(Checked):
    """Take the anonymizer that fits: k-member for few records, Mondrian for many.

    Parameters
    ----------
    strata
        Quasi-identifying columns in whose values all records of a class agree: k-member takes them. None: classes may
        mix any.
    blind
        Cut without a look at sensitive values, as Mondrian does.

    Raises
    ------
    PolicyError
        With every option that is out of range, and when both are asked for: no anonymizer has both.

    Notes
    -----
    *Guarantee.* That of the anonymizer that is taken, which the policy of the release names.

    *Choice.* By the numbers of records and columns and the policy alone: up to 50,000 records :class:`KMember`, above
    :class:`Mondrian` with cuts anywhere. Whatever cannot do all that the policy asks is passed over. Neither the engine
    nor memory, threads or time decide, and effort is counted in tries: the same records give the same release
    everywhere.

    *Places of numbers.* Half of the place of a number is its rank, as `ranks` of k-member says.

    *Effort of k-member.* Blocks of at most 10^8 / n records, but 2,000 or more; 244 changes proposed for each record
    up to 250,000 quasi-identifying cells, 100 up to 400,000, 28 above; 25,000 in all, and 100 for each at most, where
    there are no more than 1,000 records.

    *Sources.* Ours (decision record 52).
    """

    name: ClassVar[str] = "auto"
    decides_regions: ClassVar[bool] = False

    strata: Names | None = None
    blind: bool = False

    def _mistakes(self) -> Iterator[str]:
        if self.strata and self.blind:
            yield "auto: no anonymizer has both strata and blind cuts; leave one out"

    def choice(
        self, records: int | None, columns: int, admits: Callable[[Anonymizer], bool] = lambda _: True
    ) -> Anonymizer:
        """Return what is taken for so many records, None for any number: the first that `admits` takes, or Mondrian.

        `columns`: quasi-identifying ones.
        """
        makers = self._makers(MANY + 1 if records is None else records, columns)
        usual: Anonymizer = ANONYMIZERS["mondrian"](blind=self.blind)
        return next((maker for maker in makers if admits(maker)), usual)

    def _makers(self, records: int, columns: int) -> Iterator[Anonymizer]:
        """Return what comes into question, the one with the least loss first; only what is looked at is loaded."""
        if self.strata:
            yield _grown(records, columns, self.strata)
            return
        if not self.blind and records <= MANY:
            yield _grown(records, columns)
        yield ANONYMIZERS["mondrian"](split_rule="anywhere", blind=self.blind)

    def solve(self, problem: Problem) -> Partition:
        """Partition the records with what is taken for a policy that asks for nothing but the problem's models."""
        from sfumato.anonymizers.best import solution  # it loads what it tries, which may not be needed

        return solution(self.choice(problem.table.height, len(problem.table.attributes)), problem)


def _grown(records: int, columns: int, strata: Names | None = None) -> Anonymizer:
    """Return k-member with an effort that tables of that size have time for."""
    few = min(100, FEW_PROPOSALS // max(1, records))
    rounds = few if records <= FEW else next(most for limit, most in EFFORTS if records * columns <= limit)
    block = max(LEAST_BLOCK, min(MANY, PAIRS // max(1, records)))
    made: Anonymizer = ANONYMIZERS["k-member"](ranks=RANKS, refine=rounds, block_size=block, strata=strata)
    return made
