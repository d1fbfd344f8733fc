"""Membership inference: decide who was in the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.evaluation.attacks.cohort import Cohort, cohort_of
from sfumato.evaluation.attacks.discrimination import Discrimination, accepted
from sfumato.evaluation.attacks.fitting_posterior import covered_by_one
from sfumato.evaluation.attacks.lift import lift
from sfumato.evaluation.attacks.nearness import nearness
from sfumato.evaluation.attacks.pieces import unread_notes
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.options import Checked, Share
from sfumato.published import PublishedTable, RandomizedTable
from sfumato.rates import Rate
from sfumato.table.table import Table


@dataclass(frozen=True)
class MembershipInference(Checked):
    """The attack that separates people who are in the data from people who are not, by how well the release fits them.

    Parameters
    ----------
    knows_sensitive
        Whether the attacker knows the sensitive values of the people, too: the strongest attacker.
    false_positives
        Share of the outsiders that may be taken for members, above 0 to 1.

    Raises
    ------
    PolicyError
        With every wrong option.

    Notes
    -----
    *Played.* Everybody in the data and in the control group gets a score, :func:`sfumato.evaluation.attacks.lift.lift`:
    published records that fit, divided by those expected by chance. In a randomized table, people whom no record fits
    are ranked below, by how near the nearest one is, :func:`sfumato.evaluation.attacks.nearness.nearness`. There are
    two results.

    *People with several records* get the geometric mean of the scores of those that are known, and 0 if the release
    lets no record be one of these, or if all rows of a person lie in one class and none covers them.

    *The pair test*: of a member and an outsider, the attacker names the one with the higher score as the member. The
    rate is the area under the ROC curve (AUC), by guessing ½. Wilson's interval is taken as if as many pairs had been
    tried as the smaller group has people. By Birnbaum's bound on the variance of the area, that is too wide rather than
    too narrow; the figures ``auc_low`` and ``auc_high`` hold the narrower interval of Hanley and McNeil, as Newcombe
    solves it.

    *The sure ones*: true positives where `false_positives` of the control group pass, as N. Carlini and others
    ("Membership inference attacks from first principles", S&P 2022) recommend; an average hides who is found. By
    guessing as many members pass as outsiders.

    Cost that of the score, and O(n log n).

    References
    ----------
    R. Shokri and others, "Membership inference attacks against machine learning models", S&P 2017; for released counts
    N. Homer and others, 2008. The score follows their likelihood ratio , with what a release discloses.
    """

    name: ClassVar[str] = "membership-inference"
    kinds: ClassVar[frozenset[str]] = frozenset(
        {"generalized-table", "bucketized-tables", "sliced-table", "marginal-tables", "randomized-table"}
    )
    needs: ClassVar[tuple[str, ...]] = ("control",)

    knows_sensitive: bool = True
    false_positives: Share = 0.01

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it: the pair test, and the true positives among few false ones."""
        if target.control is None:
            raise InputError(
                "membership-inference: needs a control group, people who could have been in the data but are not; "
                "leave some records out of the release and give them as control"
            )
        cohort = cohort_of(target)
        members, outsiders = cohort.both(self._of_people(target, cohort))
        notes = unread_notes(target.published, cohort.frame)
        return self.judged(members, outsiders, notes)

    def judged(
        self, members: NDArray[np.float64], outsiders: NDArray[np.float64], notes: tuple[str, ...]
    ) -> tuple[AttackResult, AttackResult]:
        """Judge scores of people in the data and of others, float64 each: the pair test, and the sure ones."""
        return self._pairs(members, outsiders, notes), self._sure(members, outsiders)

    def _of_people(self, target: Target, cohort: Cohort) -> NDArray[np.float64]:
        """Score people: the geometric mean over their known records, below 0 if no published record fits one."""
        known = cohort.known
        told = cohort.table if len(known.told) == cohort.table.height else cohort.table.take(known.told)
        scores = self._scores(target, told)
        if known.alone:
            return scores
        owner = known.owners
        unfit = scores <= 0
        logs = np.log(np.where(unfit, 1.0, scores))
        found = np.exp(np.bincount(owner, logs, minlength=known.people) / known.counts)
        below = np.bincount(owner, np.where(unfit, scores, 0.0), minlength=known.people) / known.counts
        found = np.where(np.bincount(owner, unfit, minlength=known.people) > 0, below, found)
        if target.rows.together and isinstance(target.published, PublishedTable):
            return np.where(covered_by_one(target.published, told, owner, known.people, target.recoding), found, 0.0)
        return found

    def _scores(self, target: Target, people: Table) -> NDArray[np.float64]:
        scores = lift(target.published, people, recoding=target.recoding, sensitive=self.knows_sensitive)
        unfit = scores == 0
        if not isinstance(target.published, RandomizedTable) or not unfit.any():
            return scores
        some = people.take(np.flatnonzero(unfit))
        scores[unfit] = nearness(target.published, some, sensitive=self.knows_sensitive, threads=target.threads)
        return scores

    def _pairs(
        self, members: NDArray[np.float64], outsiders: NDArray[np.float64], notes: tuple[str, ...]
    ) -> AttackResult:
        told = Discrimination.of(members, outsiders)
        low, high = told.interval
        smaller = min(told.members, told.outsiders)
        fitting = {"fitting_members": (members > 0).mean(), "fitting_outsiders": (outsiders > 0).mean()}
        return AttackResult(
            attack=self.name,
            knows=self._knows,
            goal="who were told from somebody who is not in the data",
            success=Rate(told.area * smaller, smaller, 0.5),
            figures={"auc": told.area, "auc_low": low, "auc_high": high, **fitting},
            notes=notes,
            helps=_HELPS,
        )

    def _sure(self, members: NDArray[np.float64], outsiders: NDArray[np.float64]) -> AttackResult:
        true, false = accepted(members, outsiders, self.false_positives)
        allowed, share = self.false_positives * len(outsiders), 100 * self.false_positives
        few = f"the control group is small: {allowed:.3g} of its people may pass, so that the border is unsure"
        return AttackResult(
            attack=self.name,
            knows=self._knows,
            goal=f"who were found while {share:g} % of those not in the data were taken for members",
            success=Rate(true, len(members), self.false_positives),
            control=Rate(false, len(outsiders), self.false_positives),
            notes=(few,) if allowed < _ENOUGH else (),
            helps=_HELPS,
        )

    @property
    def _knows(self) -> str:
        return "everybody's quasi-identifying" + (" and sensitive" if self.knows_sensitive else "") + " values"


_ENOUGH = 5
"""Fewest false positives for which the border is certain."""

_HELPS = (
    "larger classes, a release of a small sample of the population, or labels without gaps between classes: "
    "global-mondrian, or mondrian with extent 'region'; what fits members alone gives them away"
)
