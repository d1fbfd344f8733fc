"""Membership by shadows: releases of others say which score to expect of somebody who is in none (Carlini, 2022)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UnsatisfiableError
from sfumato.evaluation.attacks.membership import Discrimination, MembershipInference, lift
from sfumato.evaluation.attacks.minimality import models_of
from sfumato.evaluation.attacks.original_values import unread_notes
from sfumato.evaluation.attacks.people import cohort_of, generator_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.options import Checked, Limit, Share
from sfumato.progress import silent
from sfumato.published import Published
from sfumato.rates import Rate
from sfumato.release.anonymize import anonymize
from sfumato.table.table import Table

_FEWEST = 4
"""Fewest people of the control group: half of them make the shadows, half are tried."""

_SALT = 0x5D


@dataclass(frozen=True)
class ShadowMembership(Checked):
    """Membership inference by somebody who makes releases of people whom they know not to be in the data.

    Parameters
    ----------
    shadows
        Releases that are made, 2 or more.
    knows_sensitive
        Whether the attacker knows the sensitive values of the people, too.
    false_positives
        Share of the outsiders that may be taken for members, above 0 to 1.

    Raises
    ------
    PolicyError
        With every wrong option.

    Notes
    -----
    *Idea.* Some people fit every release well, because many are like them, and others none. A score that is high for
    somebody who is in no shadow says nothing; one that is higher than in all shadows does.

    *Played.* One half of the control group are the people whom the attacker knows. Of random halves of them shadow
    releases are made, by the algorithm and models of the release. Everybody in the data and in the other half of the
    control group gets the score of :class:`~sfumato.evaluation.attacks.membership.MembershipInference` against the
    release and against each shadow; of their logarithms (of 1 + score), what counts is how many standard deviations the
    first lies above the mean of the others. Deviations are drawn half towards the one of all people, as few shadows do
    not tell them. Results are those of membership inference; the figure ``auc_without_shadows`` is its area on the same
    people.

    Not played where people have several records, where the algorithm is not known, or where it cannot meet the models
    with so few people.

    *Departure.* Shokri and others train a classifier on shadows; Carlini and others compare with shadows without the
    person ("offline"), which is done here, with one normal distribution each.

    Cost `shadows` runs of the algorithm, and as many scores of everybody.

    References
    ----------
    R. Shokri, M. Stronati, C. Song, V. Shmatikov, "Membership inference attacks against machine learning models", S&P
    2017; N. Carlini and others, "Membership inference attacks from first principles", S&P 2022.
    """

    name: ClassVar[str] = "shadow-membership"
    kinds: ClassVar[frozenset[str]] = MembershipInference.kinds
    needs: ClassVar[tuple[str, ...]] = ("control", "anonymizer")
    on_demand: ClassVar[str] = "it runs the algorithm once for each shadow; name it to play it"

    shadows: Annotated[int, Limit(2)] = 8
    knows_sensitive: bool = True
    false_positives: Share = 0.01

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it: the pair test, and the true positives among few false ones."""
        assert target.control is not None
        cohort = cohort_of(target)
        if not cohort.known.alone:
            return self._unplayed("people have several records, of whom shadows would need as many")
        if cohort.outsiders < _FEWEST:
            return self._unplayed(f"the control group has fewer than {_FEWEST} people, half of whom make the shadows")
        generator = generator_of(target, _SALT)
        order = generator.permutation(cohort.outsiders)
        known, tried = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        try:
            releases = [self._shadow(target, known, generator) for _ in range(self.shadows)]
        except UnsatisfiableError:
            return self._unplayed("the algorithm cannot meet the models with so few people as the control group has")
        people = cohort.table.take(np.concatenate([np.arange(cohort.members), cohort.members + tried]))
        plain = self._scores(target, target.published, people)
        scores = _above(plain, np.stack([self._scores(target, each, people) for each in releases]))
        members, outsiders = scores[: cohort.members], scores[cohort.members :]
        without = Discrimination.of(plain[: cohort.members], plain[cohort.members :]).area
        attack = MembershipInference(self.knows_sensitive, self.false_positives)
        pairs, sure = attack.judged(members, outsiders, unread_notes(target.published, people.frame))
        figures = {name: value for name, value in pairs.figures.items() if name.startswith("auc")}
        return (
            self._named(replace(pairs, figures={**figures, "auc_without_shadows": without})),
            self._named(sure),
        )

    def _shadow(self, target: Target, known: NDArray[np.int64], generator: np.random.Generator) -> Published:
        """Publish a random half of the people whom the attacker knows."""
        assert target.control is not None
        half = np.sort(generator.permutation(known)[: max(1, len(known) // 2)])
        release = anonymize(
            target.control.take(half),
            models_of(target.models, self.name) if target.models else (),
            anonymizer=cast(Any, target.anonymizer),
            recoding=target.recoding if target.published.kind == "generalized-table" else None,
            seed=int(generator.integers(0, 1 << 31)),
            threads=target.threads,
            progress=silent,
        )
        return release.published

    def _scores(self, target: Target, published: Published, people: Table) -> NDArray[np.float64]:
        return np.log1p(lift(published, people, recoding=target.recoding, sensitive=self.knows_sensitive))

    def _named(self, result: AttackResult) -> AttackResult:
        return replace(
            result, attack=self.name, knows=f"{result.knows}, the algorithm, and people who are not in the data"
        )

    def _unplayed(self, why: str) -> tuple[AttackResult, ...]:
        told = AttackResult(
            attack=self.name,
            knows="everybody's values, the algorithm, and people who are not in the data",
            goal="who were told from somebody who is not in the data",
            success=Rate(0.0, 0, 0.5),
            notes=(why,),
            unplayed=why,
        )
        return (told,)


def _above(scores: NDArray[np.float64], shadows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how many standard deviations each score, (m,), lies above those of the shadows, (shadows, m)."""
    variance = shadows.var(axis=0, ddof=1)
    spread = np.sqrt((variance + variance.mean()) / 2)
    excess = scores - shadows.mean(axis=0)
    found: NDArray[np.float64] = np.divide(excess, spread, out=excess.copy(), where=spread > 0)
    return found
