"""Reconstruction: solve what is published for everybody's sensitive value (Dinur and Nissim, 2003)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.answers import usual_share
from sfumato.evaluation.attacks.cohort import nothing_shared
from sfumato.evaluation.attacks.pieces import pieces_of
from sfumato.evaluation.attacks.possible_tables import needed, possible_tables
from sfumato.evaluation.attacks.posterior import sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.tallies import numbered
from sfumato.evaluation.attacks.verdicts import Certainty
from sfumato.options import Checked, Limit
from sfumato.rates import Rate
from sfumato.table.kinds import text_of


@dataclass(frozen=True)
class Reconstruction(Checked):
    """The attack that looks for what all tables have in common that agree with a release.

    Parameters
    ----------
    most
        Most variables of the integer program, 1 or more; on larger releases it is not played.

    Raises
    ------
    PolicyError
        When `most` is out of range; when scipy is not installed.

    Notes
    -----
    *Played.* The attacker knows everybody's quasi-identifying values and asks which tables of these people show all
    counts, rows and buckets that are published. Someone is told if they have one value in all of these tables. That is
    certainty: it needs no belief about how likely tables are, and no promise bounds it.

    *Scored.* Claims that are right; by guessing, everybody has the most frequent value. `one_table` is the share of the
    people who have the value that they have in the first table that was found.

    Not played if somebody is left out of the release or has several records, or if the program is larger than `most`.

    *Cost.* One integer program for each group of people with equal values, which can take exponential time: at most
    2,000 branches each; who is not settled then counts as not told.

    References
    ----------
    I. Dinur, K. Nissim, "Revealing information while preserving privacy", PODS 2003; by solvers, with exact counts:
    S. Garfinkel, J. Abowd, C. Martindale, "Understanding database reconstruction attacks on public data", 2018.
    """

    name: ClassVar[str] = "reconstruction"
    kinds: ClassVar[frozenset[str]] = frozenset({"marginal-tables", "sliced-table", "bucketized-tables"})
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)
    on_demand: ClassVar[str] = "it solves integer programs, which suits small tables; name it to play it"

    most: Annotated[int, Limit(1)] = 20_000

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        needed()
        return tuple(self._played(target, name) for name in sensitive_of(target.published))

    def _played(self, target: Target, sensitive: str) -> AttackResult:
        pieces, people = pieces_of(target.published), target.original.frame
        shown = {name for piece in pieces for name in piece.label_of}
        names = [name for name in target.original.schema.quasi_identifying if name in shown and name in people.columns]
        if not names:
            raise nothing_shared()
        if len(np.unique(target.original.person_of)) < people.height:
            return self._unplayed(sensitive, "people have several records")
        if any(round(float(piece.records.sum())) != people.height for piece in pieces):
            return self._unplayed(sensitive, "some people are left out of the release, or of one of its tables")
        told = [text_of(piece.frame[piece.label_of[sensitive]]) for piece in pieces if sensitive in piece.label_of]
        values, _ = numbered(pl.concat([each.alias(sensitive) for each in told]))
        tables = possible_tables(pieces, people, names, sensitive, values, self.most)
        if tables is None:
            return self._unplayed(sensitive, f"the integer program has more than {self.most:,} variables")
        found = tables.certain()
        if found is None:
            return self._unplayed(sensitive, "no table was found that agrees with everything published")
        code_of = {value: code for code, value in enumerate(values)}
        truth = np.array([code_of.get(text, -1) for text in text_of(people[sensitive]).to_list()], dtype=np.int64)
        return self._scored(sensitive, truth, found[0][tables.group_of], found[1][tables.group_of], len(tables.group))

    def _scored(
        self,
        sensitive: str,
        truth: NDArray[np.int64],
        named: NDArray[np.int64],
        likeliest: NDArray[np.int64],
        variables: int,
    ) -> AttackResult:
        made, right = named >= 0, (named == truth).astype(np.float64)
        usual = usual_share(truth, np.arange(len(truth)))
        several = np.full(len(truth), len(np.unique(truth)) > 1)
        return replace(
            self._result(sensitive),
            success=Rate(float(right[made].sum()), int(made.sum()), usual),
            figures={
                "claimed": float(made.mean()),
                "one_table": float((likeliest == truth).mean()),
                "variables": float(variables),
            },
            certainty=Certainty.of(made, right, several),
        )

    def _result(self, sensitive: str) -> AttackResult:
        return AttackResult(
            attack=self.name,
            knows="everybody's quasi-identifying values, and who is in the data",
            goal=f"whose {sensitive} is the same in all tables that agree with everything published",
            success=Rate(0.0, 0, 0.0),
            helps="fewer or coarser tables, larger buckets, or noise in the counts",
        )

    def _unplayed(self, sensitive: str, why: str) -> AttackResult:
        return replace(self._result(sensitive), notes=(why,), unplayed=why)
